/* SPDX-License-Identifier: MIT
 *
 * Finds the server that is used when the caller names none: in the environment, then in a
 * configuration file.
 *
 *     # the server of all our machines
 *     url           = rediss://db.example.org
 *     user          = deploy
 *     password-file = /etc/tackle/password
 *     ca            = /etc/ssl/our-ca.pem
 *     namespace     = shop
 *
 * A file is a URL written over several lines: each other setting becomes a parameter of the URL. So
 * everything that takes a URL works with a file, too. The first file that exists counts as a whole.
 * With a URL of the caller or of the environment no file is read: its password and its user are for
 * its own server.
 *
 * A user who can write the file chooses the server that gets the password and the data. So a file
 * is refused if anybody but the user or root may write or replace it.
 */
#include "core/default.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/url.h"
#include "server/server.h"

/* Larger files are refused: a mistake, not a configuration. */
#define CONFIG_MAX 65536

/* The value of an environment variable; NULL if it is not set or empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* ---- Folders of the user ------------------------------------------------- */

/* "$variable/tackle/name", or "~/otherwise/tackle/name". A relative path in the variable does not
 * count: the XDG standard says so. False: the path is too long. */
static bool user_path(const char *xdg, const char *otherwise, const char *name, char path[PATH_MAX])
{
    char text[4096];
    struct passwd user, *found = NULL;
    const char *base = variable(xdg), *home = variable("HOME");
    if (base && *base == '/')
        return snprintf(path, PATH_MAX, "%s/tackle%s", base, name) < PATH_MAX;
    if (!home || *home != '/') {
        getpwuid_r(getuid(), &user, text, sizeof text, &found);
        home = found ? user.pw_dir : "/";
    }
    return snprintf(path, PATH_MAX, "%s/%s/tackle%s", home, otherwise, name) < PATH_MAX;
}

/* Turns the buffer into a string of its own, and frees the buffer. */
static int finish_text(tkl__buf *buf, char **text)
{
    tkl__buf_add(buf, "", 1);
    *text = buf->failed ? NULL : strdup(buf->data);
    tkl__buf_free(buf);
    return *text ? TKL_OK : tkl__nomem();
}

/* Appends "embedded:" and the user's data folder. */
static int add_private_url(tkl__buf *out)
{
    char path[PATH_MAX];
    if (!user_path("XDG_DATA_HOME", ".local/share", "", path))
        return tkl__fail(TKL_EINVAL, "the path of the home directory is too long");
    tkl__buf_addz(out, "embedded:");
    tkl__url_escape(out, path, "");
    return TKL_OK;
}

/* ---- The text of a file -------------------------------------------------- */

typedef enum setting_kind {
    URL,
    WORD,
    PATH, /* may be relative to the folder of the file */
} setting_kind;

/* Settings of a file are called like parameters of a URL. */
static const struct {
    const char *name;
    setting_kind kind;
} kinds[] = {
    {"url", URL}, {"user", WORD}, {"password-file", PATH}, {"ca", PATH}, {"namespace", WORD},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* One value for each kind; NULL: not in the file. */
typedef struct settings {
    char *values[KINDS];
} settings;

static tkl_bytes trimmed(const char *from, const char *to)
{
    while (from < to && strchr(" \t\r", *from))
        from++;
    while (from < to && strchr(" \t\r", to[-1]))
        to--;
    return (tkl_bytes){from, (size_t)(to - from)};
}

/* Reads "name = value" from one line. */
static int take_line(const char *path, int number, tkl_bytes row, settings *s)
{
    const char *equals = memchr(row.data, '=', row.len), *end = row.data + row.len;
    if (!equals)
        return tkl__fail(TKL_EINVAL, "%s: line %d is not of the form NAME = VALUE", path, number);
    tkl_bytes name = trimmed(row.data, equals), value = trimmed(equals + 1, end);
    for (size_t i = 0; i < KINDS; i++) {
        if (!tkl__same_bytes(tkl_str(kinds[i].name), name))
            continue;
        if (s->values[i])
            return tkl__fail(TKL_EINVAL, "%s: line %d: %s is there twice", path, number,
                             kinds[i].name);
        if (value.len == 0)
            return tkl__fail(TKL_EINVAL, "%s: line %d: %s has no value", path, number,
                             kinds[i].name);
        s->values[i] = strndup(value.data, value.len);
        return s->values[i] ? TKL_OK : tkl__nomem();
    }
    return tkl__fail(TKL_EINVAL,
                     "%s: line %d: unknown setting '%.*s' (there are url, user, password-file, ca "
                     "and namespace)",
                     path, number, (int)(name.len < 64 ? name.len : 64), name.data);
}

static int read_settings(const char *path, tkl_bytes text, settings *s)
{
    int rc = TKL_OK, number = 0;
    if (text.len > 0 && memchr(text.data, '\0', text.len))
        return tkl__fail(TKL_EINVAL, "%s: not a text", path);
    for (const char *at = text.data, *end = at + text.len; rc == TKL_OK && at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        tkl_bytes row = trimmed(at, newline ? newline : end);
        number++;
        if (row.len > 0 && *row.data != '#')
            rc = take_line(path, number, row, s);
        at = newline ? newline + 1 : end;
    }
    return rc;
}

/* Appends the URL of the file. "embedded:" without a folder is the user's own private server, the
 * same for all programs: one in memory would be alone in each of them. */
static int add_url(const char *path, const char *url, tkl__buf *out)
{
    static const char embedded[] = "embedded:";
    const size_t len = sizeof embedded - 1;
    bool is_private = strncmp(url, embedded, len) == 0;
    char next = is_private ? url[len] : '\0';
    if (is_private && next != '\0' && next != '?' && next != '/')
        return tkl__fail(TKL_EINVAL, "%s: the folder of embedded: must begin with a slash", path);
    if (!is_private || next == '/') {
        tkl__buf_addz(out, url);
        return TKL_OK;
    }
    int rc = add_private_url(out);
    tkl__buf_addz(out, url + len);
    return rc;
}

static int join_settings(const char *path, const settings *s, char **url)
{
    tkl__buf out;
    const char *folder_end = strrchr(path, '/');
    tkl__buf_init(&out);
    int rc = add_url(path, s->values[0], &out);
    char joint = strchr(s->values[0], '?') ? '&' : '?';
    for (size_t i = 1; rc == TKL_OK && i < KINDS; i++) {
        const char *value = s->values[i];
        if (!value)
            continue;
        tkl__buf_add(&out, &joint, 1);
        tkl__buf_addz(&out, kinds[i].name);
        tkl__buf_addz(&out, "=");
        if (kinds[i].kind == PATH && *value != '/' && folder_end) {
            char folder[PATH_MAX];
            snprintf(folder, sizeof folder, "%.*s/", (int)(folder_end - path), path);
            tkl__url_escape(&out, folder, "");
        }
        tkl__url_escape(&out, value, "");
        joint = '&';
    }
    if (rc == TKL_OK)
        return finish_text(&out, url);
    tkl__buf_free(&out);
    return rc;
}

int tkl__config_url(const char *path, tkl_bytes text, char **url)
{
    settings s = {0};
    *url = NULL;
    int rc = read_settings(path, text, &s);
    if (rc == TKL_OK && !s.values[0])
        rc = tkl__fail(TKL_EINVAL, "%s: it has no url", path);
    if (rc == TKL_OK)
        rc = join_settings(path, &s, url);
    for (size_t i = 0; i < KINDS; i++) {
        if (s.values[i])
            explicit_bzero(s.values[i], strlen(s.values[i]));
        free(s.values[i]);
    }
    return rc;
}

/* ---- The file ------------------------------------------------------------ */

static int refuse_file(const char *path, const char *why)
{
    return tkl__fail(TKL_EAUTH, "%s is not used: %s", path, why);
}

static int check_file(const char *path, const struct stat *file)
{
    char folder[PATH_MAX];
    struct stat above;
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    if (!S_ISREG(file->st_mode))
        return refuse_file(path, "it is not a regular file");
    if (!tkl__own_is_trusted(file->st_uid))
        return refuse_file(path, "it belongs to another user");
    if (file->st_mode & (S_IWGRP | S_IWOTH))
        return refuse_file(path, "others may write it: look what is in it, then chmod go-w");
    if (stat(*folder ? folder : "/", &above) == 0 &&
        (!tkl__own_is_trusted(above.st_uid) || tkl__own_others_may_change(&above)))
        return refuse_file(path, "others may write the folder that it is in");
    if (file->st_size > CONFIG_MAX)
        return refuse_file(path, "it is too large");
    return TKL_OK;
}

/* Whether the file is out of reach because the folders of another user are closed to us. A program
 * that runs as another user than its HOME says has no file there. */
static bool is_out_of_reach(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    return access(folder, X_OK) != 0;
}

/* TKL_NOTFOUND: there is no such file. */
static int read_file(const char *path, char **url)
{
    struct stat st;
    char *text = malloc(CONFIG_MAX + 1);
    int fd = text ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (!text)
        return tkl__nomem();
    if (fd < 0) {
        int reason = errno;
        free(text);
        if (reason == ENOENT || reason == ENOTDIR || (reason == EACCES && is_out_of_reach(path)))
            return TKL_NOTFOUND;
        errno = reason;
        return tkl__fail_errno(reason == EACCES ? TKL_EAUTH : TKL_EIO, "%s", path);
    }
    int rc = fstat(fd, &st) == 0 ? check_file(path, &st) : tkl__fail_errno(TKL_EIO, "%s", path);
    ssize_t len = rc == TKL_OK ? pread(fd, text, CONFIG_MAX, 0) : 0;
    if (len < 0)
        rc = tkl__fail_errno(TKL_EIO, "%s", path);
    if (rc == TKL_OK)
        rc = tkl__config_url(path, (tkl_bytes){text, (size_t)len}, url);
    close(fd);
    explicit_bzero(text, CONFIG_MAX);
    free(text);
    return rc;
}

/* A mistake in the URL is reported here, with the name of the file. */
static int check_url(const char *path, const char *url)
{
    tkl__target target;
    int rc = tkl__target_parse(url, NULL, &target);
    tkl__target_free(&target);
    return rc == TKL_OK ? TKL_OK : tkl__fail_in(rc, "%s", path);
}

/* Reads the first file that exists into *url, and its path into *source. TKL_NOTFOUND: there is
 * none. */
static int find_file(const char *system_config, char **url, char **source)
{
    const char *named = variable("TACKLE_CONFIG");
    char path[PATH_MAX];
    int rc = TKL_NOTFOUND;
    if (named && strcmp(named, "/dev/null") == 0)
        return TKL_NOTFOUND;
    if (named && *named != '/')
        return tkl__fail(TKL_EINVAL, "TACKLE_CONFIG must begin with a slash");
    if (named) {
        snprintf(path, sizeof path, "%s", named);
        rc = read_file(path, url);
        if (rc == TKL_NOTFOUND)
            rc = tkl__fail(TKL_EIO, "%s, which TACKLE_CONFIG names, does not exist", path);
    } else if (user_path("XDG_CONFIG_HOME", ".config", "/config", path))
        rc = read_file(path, url);
    if (rc == TKL_NOTFOUND) {
        snprintf(path, sizeof path, "%s", system_config);
        rc = read_file(path, url);
    }
    if (rc == TKL_OK)
        rc = check_url(path, *url);
    if (rc == TKL_OK && !(*source = strdup(path)))
        rc = tkl__nomem();
    return rc;
}

/* ---- The public functions ------------------------------------------------ */

/* The struct that callers see, and the strings that it points to. */
typedef struct found {
    tkl_default_server server; /* first: callers free it by this address */
    char *url, *source;
} found;

void tkl_default_server_free(tkl_default_server *server)
{
    found *f = (found *)server;
    if (!f)
        return;
    if (f->url)
        explicit_bzero(f->url, strlen(f->url));
    free(f->url);
    free(f->source);
    free(f);
}

static int find_server(const char *system_config, found *f)
{
    static const char *const variables[] = {"TACKLE_URL", "REDIS_URL"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = variable(variables[i]);
        if (!value)
            continue;
        f->url = strdup(value);
        f->source = strdup(variables[i]);
        return f->url && f->source ? TKL_OK : tkl__nomem();
    }
    int rc = find_file(system_config, &f->url, &f->source);
    if (rc != TKL_NOTFOUND)
        return rc;
    tkl__buf url;
    tkl__buf_init(&url);
    f->server.is_fallback = true;
    f->source = strdup("");
    rc = add_private_url(&url);
    if (rc == TKL_OK)
        rc = finish_text(&url, &f->url);
    else
        tkl__buf_free(&url);
    return rc == TKL_OK && !f->source ? tkl__nomem() : rc;
}

int tkl__default_server_read(const char *system_config, tkl_default_server **server)
{
    tkl__begin();
    *server = NULL;
    found *f = calloc(1, sizeof *f);
    if (!f)
        return tkl__nomem();
    int rc = find_server(system_config, f);
    f->server.url = f->url;
    f->server.source = f->source;
    if (rc == TKL_OK)
        *server = &f->server;
    else
        tkl_default_server_free(&f->server);
    return rc;
}

int tkl_default_server_read(tkl_default_server **server)
{
    return tkl__default_server_read(TKL__SYSTEM_CONFIG, server);
}
