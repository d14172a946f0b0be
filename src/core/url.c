/* SPDX-License-Identifier: MIT
 *
 * URL -> target. Errors name the part that is wrong and never quote the URL itself, since it
 * may hold a password.
 */
#include "core/url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/options.h"
#include "server/server.h"

#define DEFAULT_PORT       6379
#define DEFAULT_TIMEOUT_MS 5000
#define DEFAULT_IDLE_MS    60000
#define DEFAULT_POOL_SIZE  32
#define DEFAULT_REPLY_MAX  (INT64_C(1) << 30)
#define POOL_SIZE_MAX      10000

/* ---- Pieces of text ------------------------------------------------------ */

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Copies a text with %XX decoded. A NUL byte is refused: no part of a URL may contain one. */
static int decode(const char *what, const char *text, size_t len, char **out)
{
    char *copy = malloc(len + 1);
    if (!copy)
        return tkl__nomem();
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '%') {
            int high = i + 2 < len ? hex(text[i + 1]) : -1;
            int low = i + 2 < len ? hex(text[i + 2]) : -1;
            if (high < 0 || low < 0 || (high == 0 && low == 0)) {
                free(copy);
                return tkl__fail(TKL_EINVAL, "bad percent-escape in the URL's %s", what);
            }
            c = (char)(high * 16 + low);
            i += 2;
        }
        copy[n++] = c;
    }
    copy[n] = '\0';
    free(*out);
    *out = copy;
    return TKL_OK;
}

static int parse_number(const char *what, const char *text, size_t len, int max, int *out)
{
    int value = 0;
    if (len == 0)
        return tkl__fail(TKL_EINVAL, "the URL's %s is empty", what);
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return tkl__fail(TKL_EINVAL, "the URL's %s is not a number", what);
        value = value * 10 + (text[i] - '0');
        if (value > max)
            return tkl__fail(TKL_EINVAL, "the URL's %s is larger than %d", what, max);
    }
    *out = value;
    return TKL_OK;
}

static int set_text(char **field, const char *value)
{
    if (!value)
        return TKL_OK;
    char *copy = strdup(value);
    if (!copy)
        return tkl__nomem();
    free(*field);
    *field = copy;
    return TKL_OK;
}

static void wipe(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

/* ---- user:password@host:port,host:port ----------------------------------- */

static int parse_userinfo(tkl__target *target, const char *text, size_t len)
{
    const char *colon = memchr(text, ':', len);
    size_t name = colon ? (size_t)(colon - text) : len;
    int rc = TKL_OK;
    if (name > 0)
        rc = decode("user", text, name, &target->username);
    if (rc == TKL_OK && colon)
        rc = decode("password", colon + 1, len - name - 1, &target->password);
    return rc;
}

static int add_addr(tkl__target *target, char *host, int port)
{
    if (!tkl__grow(&target->addrs, target->naddrs, sizeof *target->addrs)) {
        free(host);
        return tkl__nomem();
    }
    target->addrs[target->naddrs++] = (tkl__addr){host, port};
    return TKL_OK;
}

/* "host", "host:port", "[v6]", "[v6]:port". */
static int parse_host(tkl__target *target, const char *text, size_t len, int default_port)
{
    const char *end = text + len;
    const char *host = text;
    const char *host_end;
    const char *rest;
    if (len > 0 && *text == '[') {
        host = text + 1;
        host_end = memchr(text, ']', len);
        if (!host_end)
            return tkl__fail(TKL_EINVAL, "the URL's host lacks a ']'");
        rest = host_end + 1;
    } else {
        rest = memchr(text, ':', len);
        rest = rest ? rest : end;
        host_end = rest;
    }
    int port = default_port;
    if (rest < end) {
        if (*rest != ':')
            return tkl__fail(TKL_EINVAL, "unexpected text after ']' in the URL");
        int rc = parse_number("port", rest + 1, (size_t)(end - rest - 1), 65535, &port);
        if (rc != TKL_OK)
            return rc;
        if (port == 0)
            return tkl__fail(TKL_EINVAL, "the URL's port is 0");
    }
    char *name = NULL;
    int rc = host == host_end ? set_text(&name, "localhost")
                              : decode("host", host, (size_t)(host_end - host), &name);
    return rc == TKL_OK ? add_addr(target, name, port) : rc;
}

static int parse_authority(tkl__target *target, const char *text, size_t len)
{
    const char *at = memrchr(text, '@', len);
    if (at) {
        int rc = parse_userinfo(target, text, (size_t)(at - text));
        if (rc != TKL_OK)
            return rc;
        len -= (size_t)(at + 1 - text);
        text = at + 1;
    }
    int port = target->scheme == TKL__SENTINEL ? 26379 : DEFAULT_PORT;
    for (;;) {
        const char *comma = memchr(text, ',', len);
        size_t one = comma ? (size_t)(comma - text) : len;
        if (one == 0 && (comma || target->naddrs > 0))
            return tkl__fail(TKL_EINVAL, "the URL's list of hosts has an empty host");
        int rc = parse_host(target, text, one, port);
        if (rc != TKL_OK || !comma)
            return rc;
        text += one + 1;
        len -= one + 1;
    }
}

/* ---- The path: /db, /name/db --------------------------------------------- */

static int parse_path(tkl__target *target, const char *text, size_t len)
{
    if (target->scheme == TKL__SENTINEL) {
        const char *slash = memchr(text, '/', len);
        size_t name = slash ? (size_t)(slash - text) : len;
        if (name == 0)
            return tkl__fail(TKL_EINVAL, "a sentinel URL needs a master name: "
                                         "redis+sentinel://host:port/name");
        int rc = decode("master name", text, name, &target->master);
        if (rc != TKL_OK || !slash)
            return rc;
        text = slash + 1;
        len -= name + 1;
    }
    if (len == 0)
        return TKL_OK;
    if (target->scheme == TKL__CLUSTER)
        return tkl__fail(TKL_EINVAL, "a cluster has only database 0: leave out the URL's path");
    return parse_number("database", text, len, 1 << 20, &target->db);
}

/* ---- The query ----------------------------------------------------------- */

void tkl__url_escape(tkl__buf *out, const char *text, const char *also)
{
    char escape[4];
    for (; *text; text++)
        if (strchr("%?#&=+", *text) || strchr(also, *text) || (unsigned char)*text <= ' ') {
            snprintf(escape, sizeof escape, "%%%02X", (unsigned char)*text);
            tkl__buf_addz(out, escape);
        } else
            tkl__buf_add(out, text, 1);
}

static int parse_timeout(tkl__target *target, const char *text)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"", 1000}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    char *unit;
    errno = 0;
    long long value = strtoll(text, &unit, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (unit != text && errno == 0 && value > 0 && value < INT64_MAX / units[i].ms &&
            strcmp(unit, units[i].unit) == 0) {
            target->timeout_ms = value * units[i].ms;
            return TKL_OK;
        }
    return tkl__fail(TKL_EINVAL, "the URL's timeout must be a duration such as 500ms or 5s");
}

static int parse_verify(tkl__target *target, const char *value)
{
    if (strcmp(value, "no") != 0 && strcmp(value, "yes") != 0)
        return tkl__fail(TKL_EINVAL, "the URL's verify must be yes or no");
    target->no_verify = value[0] == 'n';
    return TKL_OK;
}

static int check_durability(const char *word)
{
    return tkl__durability_known(word)
               ? TKL_OK
               : tkl__fail(TKL_EINVAL,
                           "durability must be none, snapshot, lazy, everysec or always");
}

static int apply_parameter(tkl__target *target, const char *key, const char *value,
                           char **password_file)
{
    const struct {
        const char *key;
        char **field;
    } texts[] = {
        {"ca", &target->ca_file},         {"cadir", &target->ca_dir},
        {"cert", &target->cert_file},     {"key", &target->key_file},
        {"name", &target->name},          {"servername", &target->server_name},
        {"password-file", password_file}, {"user", &target->username},
        {"namespace", &target->ns},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0)
            return set_text(texts[i].field, value);
    if (strcmp(key, "timeout") == 0)
        return parse_timeout(target, value);
    if (strcmp(key, "verify") == 0)
        return parse_verify(target, value);
    if (strcmp(key, "db") == 0 && target->scheme != TKL__CLUSTER)
        return parse_number("database", value, strlen(value), 1 << 20, &target->db);
    if (strcmp(key, "durability") == 0 && target->scheme == TKL__EMBEDDED) {
        int rc = check_durability(value);
        return rc == TKL_OK ? set_text(&target->durability, value) : rc;
    }
    return tkl__fail(TKL_EINVAL, "unknown parameter '%.64s' in the URL", key);
}

static int parse_query(tkl__target *target, const char *text, char **password_file)
{
    while (*text) {
        size_t len = strcspn(text, "&");
        const char *equals = memchr(text, '=', len);
        if (!equals)
            return tkl__fail(TKL_EINVAL, "a parameter in the URL's query lacks '='");
        char *key = NULL;
        char *value = NULL;
        int rc = decode("query", text, (size_t)(equals - text), &key);
        if (rc == TKL_OK)
            rc = decode("query", equals + 1, (size_t)(text + len - equals - 1), &value);
        if (rc == TKL_OK)
            rc = apply_parameter(target, key, value, password_file);
        free(key);
        free(value);
        if (rc != TKL_OK)
            return rc;
        text += len + (text[len] == '&');
    }
    return TKL_OK;
}

/* ---- Schemes ------------------------------------------------------------- */

static int parse_embedded(tkl__target *target, const char *rest, size_t len)
{
    target->scheme = TKL__EMBEDDED;
    return len > 0 ? decode("directory", rest, len, &target->dir) : TKL_OK;
}

static int parse_unix(tkl__target *target, const char *rest, size_t len)
{
    target->scheme = TKL__STANDALONE;
    char *path = NULL;
    const char *at = memchr(rest, '@', len);
    if (at && *rest != '/') {
        int rc = parse_userinfo(target, rest, (size_t)(at - rest));
        if (rc != TKL_OK)
            return rc;
        len -= (size_t)(at + 1 - rest);
        rest = at + 1;
    }
    if (len == 0 || *rest != '/')
        return tkl__fail(TKL_EINVAL, "a unix URL needs an absolute path: unix:///path/to/socket");
    int rc = decode("path", rest, len, &path);
    return rc == TKL_OK ? add_addr(target, path, 0) : rc;
}

static int parse_network(tkl__target *target, const char *rest, size_t len)
{
    const char *slash = memchr(rest, '/', len);
    size_t authority = slash ? (size_t)(slash - rest) : len;
    int rc = parse_authority(target, rest, authority);
    if (rc != TKL_OK)
        return rc;
    return slash ? parse_path(target, slash + 1, len - authority - 1)
                 : parse_path(target, rest + len, 0);
}

static const struct {
    const char *prefix;
    tkl__scheme scheme;
    bool tls;
} networks[] = {
    {"redis://", TKL__STANDALONE, false},        {"valkey://", TKL__STANDALONE, false},
    {"rediss://", TKL__STANDALONE, true},        {"valkeys://", TKL__STANDALONE, true},
    {"redis+cluster://", TKL__CLUSTER, false},   {"valkey+cluster://", TKL__CLUSTER, false},
    {"rediss+cluster://", TKL__CLUSTER, true},   {"valkeys+cluster://", TKL__CLUSTER, true},
    {"redis+sentinel://", TKL__SENTINEL, false}, {"valkey+sentinel://", TKL__SENTINEL, false},
    {"rediss+sentinel://", TKL__SENTINEL, true}, {"valkeys+sentinel://", TKL__SENTINEL, true},
};

static const char *after(const char *url, const char *prefix)
{
    size_t len = strlen(prefix);
    return tkl__same_letters(url, prefix, len) ? url + len : NULL;
}

static int parse_url(tkl__target *target, const char *url, char **password_file)
{
    size_t len = strcspn(url, "?");
    const char *end = url + len;
    const char *rest;
    int rc = TKL_EINVAL;
    if ((rest = after(url, "embedded:")))
        rc = parse_embedded(target, rest, (size_t)(end - rest));
    else if ((rest = after(url, "unix://")))
        rc = parse_unix(target, rest, (size_t)(end - rest));
    for (size_t i = 0; !rest && i < sizeof networks / sizeof *networks; i++)
        if ((rest = after(url, networks[i].prefix))) {
            target->scheme = networks[i].scheme;
            target->tls = networks[i].tls;
            rc = parse_network(target, rest, (size_t)(end - rest));
        }
    if (!rest)
        return tkl__fail(TKL_EINVAL, "the URL must start with redis://, rediss://, valkey://, "
                                     "valkeys://, unix://, redis+cluster://, redis+sentinel:// "
                                     "or embedded:");
    return rc == TKL_OK && *end == '?' ? parse_query(target, end + 1, password_file) : rc;
}

/* ---- Options, password, defaults ----------------------------------------- */

static int read_password_file(tkl__target *target, const char *path)
{
    char text[4096];
    FILE *file = fopen(path, "re");
    if (!file)
        return tkl__fail_errno(TKL_EIO, "password file %s", path);
    bool read = fgets(text, sizeof text, file) != NULL;
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed || !read)
        return tkl__fail(TKL_EIO, "password file %s: %s", path,
                         failed ? "cannot be read" : "empty");
    text[strcspn(text, "\r\n")] = '\0';
    int rc = set_text(&target->password, text);
    explicit_bzero(text, sizeof text);
    return rc;
}

/* The first password found wins: option, option's file, URL, URL's file, environment. */
static int find_password(tkl__target *target, const tkl_options *options, const char *url_file)
{
    if (options->password)
        return set_text(&target->password, options->password);
    if (options->password_file)
        return read_password_file(target, options->password_file);
    if (target->password)
        return TKL_OK;
    if (url_file)
        return read_password_file(target, url_file);
    bool private_server = target->scheme == TKL__EMBEDDED;
    return private_server ? TKL_OK : set_text(&target->password, getenv("TACKLE_PASSWORD"));
}

static int apply_options(tkl__target *target, const tkl_options *options)
{
    const struct {
        char **field;
        const char *value;
    } texts[] = {
        {&target->username, options->username},
        {&target->ca_file, options->tls_ca_file},
        {&target->ca_dir, options->tls_ca_dir},
        {&target->cert_file, options->tls_cert_file},
        {&target->key_file, options->tls_key_file},
        {&target->server_name, options->tls_server_name},
        {&target->ns, options->ns},
        {&target->name, options->name},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int rc = set_text(texts[i].field, texts[i].value);
        if (rc != TKL_OK)
            return rc;
    }
    target->no_verify |= options->tls_no_verify;
    target->always_sleep = options->always_sleep;
    target->no_register |= options->no_register;
    target->on_event = options->on_event;
    target->event_arg = options->event_arg;
    target->on_trace = options->on_trace;
    target->trace_arg = options->trace_arg;
    target->reply_max = options->reply_max != 0 ? options->reply_max : DEFAULT_REPLY_MAX;
    if (options->timeout_ms != 0)
        target->timeout_ms = options->timeout_ms;
    if (options->idle_ms != 0)
        target->idle_ms = options->idle_ms;
    if (options->pool_size != 0)
        target->pool_size = options->pool_size;
    return TKL_OK;
}

static int apply_defaults(tkl__target *target)
{
    if (target->timeout_ms == 0)
        target->timeout_ms = DEFAULT_TIMEOUT_MS;
    if (target->idle_ms == 0)
        target->idle_ms = DEFAULT_IDLE_MS;
    if (target->pool_size == 0)
        target->pool_size = DEFAULT_POOL_SIZE;
    const char *registers = getenv("TACKLE_REGISTER");
    target->no_register |= registers && strcmp(registers, "no") == 0;
    return target->ns ? TKL_OK : set_text(&target->ns, "tackle");
}

/* 0 means the default for every option. */
static int check_options(const tkl_options *options)
{
    return TKL__CHECK_OPTIONS(options, {"timeout_ms", options->timeout_ms, 0, TKL__MS_MAX},
                              {"idle_ms", options->idle_ms, 0, TKL__MS_MAX},
                              {"pool_size", options->pool_size, 0, POOL_SIZE_MAX},
                              {"reply_max", options->reply_max, TKL_NONE, INT64_MAX});
}

static int check_target(const tkl__target *target)
{
    if (*target->ns == '\0' || strlen(target->ns) > 256 || strpbrk(target->ns, "{}"))
        return tkl__fail(TKL_EINVAL, "the namespace must have 1 to 256 bytes and no braces");
    for (const char *c = target->name ? target->name : ""; *c; c++)
        if (*c < '!' || *c > '~')
            return tkl__fail(TKL_EINVAL,
                             "the client name may hold no spaces or control characters");
    if (!target->cert_file != !target->key_file)
        return tkl__fail(TKL_EINVAL, "a client certificate needs both its file and its key's file");
    return TKL_OK;
}

int tkl__target_parse(const char *url, const tkl_options *options, tkl__target *target)
{
    static const tkl_options none;
    char *password_file = NULL;
    *target = (tkl__target){0};
    options = options ? options : &none;
    int rc = check_options(options);
    if (rc != TKL_OK)
        return rc;
    rc = parse_url(target, url, &password_file);
    if (rc == TKL_OK)
        rc = apply_options(target, options);
    if (rc == TKL_OK)
        rc = find_password(target, options, password_file);
    if (rc == TKL_OK)
        rc = apply_defaults(target);
    if (rc == TKL_OK)
        rc = check_target(target);
    free(password_file);
    if (rc != TKL_OK)
        tkl__target_free(target);
    return rc;
}

void tkl__target_free(tkl__target *target)
{
    for (size_t i = 0; i < target->naddrs; i++)
        free(target->addrs[i].host);
    free(target->addrs);
    wipe(target->password);
    char *texts[] = {target->username,    target->master, target->dir,       target->durability,
                     target->ca_file,     target->ca_dir, target->cert_file, target->key_file,
                     target->server_name, target->ns,     target->name};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    *target = (tkl__target){0};
}
