/* SPDX-License-Identifier: MIT
 *
 * Turns the description of a server, the JSON text of a configuration of the kind "server", into
 * one URL: what the description says beside the address becomes a part of the URL. So everything
 * that takes a URL works with a description, too.
 */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/buf.h"
#include "core/error.h"
#include "core/url.h"

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* ---- Types --------------------------------------------------------------- */

static int check_number(const json_t *described, const char *name, json_int_t most)
{
    const json_t *member = json_object_get(described, name);
    if (!member || (json_is_integer(member) && json_integer_value(member) >= 0 &&
                    json_integer_value(member) <= most))
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "\"%s\" is not a whole number from 0 to %lld", name,
                     (long long)most);
}

/* Rejects members of a wrong type, which would be ignored otherwise. */
static int check_types(const json_t *described)
{
    static const char *const texts[] = {
        "url",           "host",        "user",          "username",     "password",
        "password_file", "tls_ca_file", "tls_cert_file", "tls_key_file", "namespace"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const json_t *member = json_object_get(described, texts[i]);
        if (member && !json_is_string(member))
            return tkl__fail(TKL_EINVAL, "\"%s\" is not a string", texts[i]);
    }
    const json_t *tls = json_object_get(described, "tls");
    if (tls && !json_is_boolean(tls))
        return tkl__fail(TKL_EINVAL, "\"tls\" is neither true nor false");
    int rc = check_number(described, "port", 65535);
    if (rc == TKL_OK)
        rc = check_number(described, "db", INT_MAX);
    if (rc == TKL_OK)
        rc = check_number(described, "timeout_ms", INT_MAX);
    return rc == TKL_OK ? check_number(described, "pool_size", INT_MAX) : rc;
}

/* ---- The URL ------------------------------------------------------------- */

/* Builds the address from its parts: "rediss://host:port/db". */
static int add_address(const json_t *described, const char *host, tkl__buf *out)
{
    bool is_ipv6 = strchr(host, ':') != NULL;
    json_int_t port = json_integer_value(json_object_get(described, "port"));
    json_int_t db = json_integer_value(json_object_get(described, "db"));
    char rest[64];
    if (*host == '\0' || strpbrk(host, "/@?#,%[] \t\r\n"))
        return tkl__fail(TKL_EINVAL, "\"host\" is not the name or address of a machine");
    tkl__buf_addz(out, json_is_true(json_object_get(described, "tls")) ? "rediss://" : "redis://");
    tkl__buf_addz(out, is_ipv6 ? "[" : "");
    tkl__buf_addz(out, host);
    snprintf(rest, sizeof rest, "%s:%d/%d", is_ipv6 ? "]" : "", port > 0 ? (int)port : 6379,
             (int)db);
    tkl__buf_addz(out, rest);
    return TKL_OK;
}

static int find_address(const json_t *described, tkl__buf *out)
{
    static const char *const parts[] = {"host", "port", "db", "tls"};
    const char *url =
        json_is_string(described) ? json_string_value(described) : text_of(described, "url");
    const char *host = text_of(described, "host");
    if (!url && !host)
        return tkl__fail(TKL_EINVAL, "neither a URL nor an object with \"url\" or \"host\"");
    if (!url)
        return add_address(described, host, out);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (json_object_get(described, parts[i]))
            return tkl__fail(TKL_EINVAL, "\"%s\" does not go with \"url\"", parts[i]);
    tkl__buf_addz(out, url);
    return TKL_OK;
}

/* Appends the address with user and password in it: "redis://user:password@host". */
static int add_credentials(const char *address, const char *user, const char *password,
                           tkl__buf *out)
{
    const char *slashes = strstr(address, "://");
    if (!user && !password) {
        tkl__buf_addz(out, address);
        return TKL_OK;
    }
    if (!slashes)
        return tkl__fail(TKL_EINVAL, "a private server has neither a user nor a password");
    const char *host = slashes + 3;
    const char *at = memchr(host, '@', strcspn(host, "/?"));
    if (at)
        return tkl__fail(TKL_EINVAL, "a user or password is in the URL, and beside it");
    tkl__buf_add(out, address, (size_t)(host - address));
    tkl__url_escape(out, user ? user : "", ":@/");
    if (password) {
        tkl__buf_addz(out, ":");
        tkl__url_escape(out, password, ":@/");
    }
    tkl__buf_addz(out, "@");
    tkl__buf_addz(out, host);
    return TKL_OK;
}

/* Appends the other members as parameters. */
static void add_parameters(const json_t *described, bool with_files, const char *address,
                           tkl__buf *out)
{
    static const struct {
        const char *member, *parameter;
    } texts[] = {
        {"password_file", "password-file"}, {"tls_ca_file", "ca"},
        {"tls_cert_file", "cert"},          {"tls_key_file", "key"},
        {"namespace", "namespace"},
    };
    json_int_t timeout_ms = json_integer_value(json_object_get(described, "timeout_ms"));
    const char *joint = strchr(address, '?') ? "&" : "?";
    for (size_t i = with_files ? 0 : 1; i < sizeof texts / sizeof *texts; i++) {
        const char *value = text_of(described, texts[i].member);
        if (!value)
            continue;
        tkl__buf_addz(out, joint);
        tkl__buf_addz(out, texts[i].parameter);
        tkl__buf_addz(out, "=");
        tkl__url_escape(out, value, "");
        joint = "&";
    }
    if (timeout_ms > 0) {
        char number[32];
        snprintf(number, sizeof number, "%stimeout=%dms", joint, (int)timeout_ms);
        tkl__buf_addz(out, number);
    }
}

/* Frees a buffer that may hold a password. */
static void free_secret(tkl__buf *buf)
{
    if (buf->data)
        explicit_bzero(buf->data, buf->len);
    tkl__buf_free(buf);
}

static int describe_url(const json_t *described, bool with_files, char **url)
{
    const char *user = text_of(described, "user");
    tkl__buf address, out;
    tkl__buf_init(&address);
    tkl__buf_init(&out);
    int rc = check_types(described);
    if (rc == TKL_OK && user && text_of(described, "username"))
        rc = tkl__fail(TKL_EINVAL, "\"user\" and \"username\" are the same: use one of them");
    if (rc == TKL_OK)
        rc = find_address(described, &address);
    tkl__buf_add(&address, "", 1);
    if (rc == TKL_OK && address.failed)
        rc = tkl__nomem();
    if (rc == TKL_OK)
        rc = add_credentials(address.data, user ? user : text_of(described, "username"),
                             text_of(described, "password"), &out);
    if (rc == TKL_OK)
        add_parameters(described, with_files, address.data, &out);
    tkl__buf_add(&out, "", 1);
    *url = rc == TKL_OK && !out.failed ? strdup(out.data) : NULL;
    if (rc == TKL_OK && !*url)
        rc = tkl__nomem();
    free_secret(&address);
    free_secret(&out);
    return rc;
}

int tkl__config_server_read(tkl_bytes json, bool with_files, char **url, int *pool_size)
{
    json_error_t error;
    json_t *described = json_loadb(json.data, json.len, JSON_DECODE_ANY, &error);
    *url = NULL;
    if (!described)
        return tkl__fail(TKL_EINVAL, "not the description of a server: %s", error.text);
    int rc = describe_url(described, with_files, url);
    *pool_size = (int)json_integer_value(json_object_get(described, "pool_size"));
    json_decref(described);
    return rc;
}

/* Checks a description. Does not look for the password file, which is on the machines of the
 * readers. */
int tkl__config_server_check(tkl_bytes json)
{
    tkl__target target;
    char *url;
    int pool_size = 0;
    int rc = tkl__config_server_read(json, false, &url, &pool_size);
    if (rc == TKL_OK)
        rc = tkl__target_parse(url, &(tkl_options){.pool_size = pool_size}, &target);
    if (rc == TKL_OK)
        tkl__target_free(&target);
    tkl_config_url_free(url);
    return rc;
}

void tkl_config_url_free(char *url)
{
    if (url)
        explicit_bzero(url, strlen(url));
    free(url);
}

int tkl_config_url(tkl_client *client, tkl_bytes component, char **url)
{
    tkl_config *config;
    tkl_config_value *value = NULL;
    int pool_size;
    *url = NULL;
    int rc = tkl_config_open(client, tkl_str(TKL_CONFIG_SERVER), component, NULL, &config);
    if (rc != TKL_OK)
        return rc;
    rc = tkl_config_get(config, &value);
    if (rc == TKL_OK)
        rc = tkl__config_server_read(value->json, true, url, &pool_size);
    tkl_config_value_free(value);
    tkl_config_close(config);
    return rc;
}
