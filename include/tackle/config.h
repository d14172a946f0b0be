/* SPDX-License-Identifier: MIT
 *
 * Configuration as JSON, by kind and component: "limits" of "search", "server" of "sessions".
 *
 *     tkl_config *config;
 *     tkl_config_value *value;
 *     TKL_TRY(tkl_config_open(client, tkl_str("limits"), tkl_str("search"), NULL, &config));
 *     TKL_TRY(tkl_config_set(config, tkl_str("{\"results\": 50}"), NULL, NULL));
 *     if (tkl_config_read(config, &value, NULL) == TKL_OK)       // from memory
 *         use(value->json);
 *     tkl_config_value_free(value);
 *
 * Every change has a version: 1, 2, 3 and so on. The server publishes each change, so readers know
 * it at once. While the server is down, readers have the last known value and its age.
 *
 * Threads: all handles may be used by several threads. The first read of a handle starts a thread
 * of the library that follows the changes. fork(): a child may go on using a handle; its first read
 * starts a thread of its own. Callbacks: none. Keys: a configuration stays until tkl_config_drop();
 * its version number stays for another day.
 */
#ifndef TACKLE_CONFIG_H
#define TACKLE_CONFIG_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_config tkl_config;

#define TKL_CONFIG_KIND_MAX  64      /* bytes of a kind: letters, digits, '_', '-' and '.' */
#define TKL_CONFIG_VALUE_MAX 1048576 /* bytes of a value */

typedef struct tkl_config_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    int64_t history;    /* number of versions that are kept, 1 to 1000; 0: 10 */
    const char *author; /* shown in the history, up to 255 bytes; copied. NULL: none */
    TKL_RESERVED(8);
} tkl_config_options;

/* No I/O. `component`: any bytes, 1 to TKL_NAME_MAX with the kind; copied. `options` may be NULL.
 */
TKL_API int tkl_config_open(tkl_client *client, tkl_bytes kind, tkl_bytes component,
                            const tkl_config_options *options, tkl_config **config)
    TKL_NONNULL(1, 5) TKL_CHECK;
/* Frees the handle, not the configuration. NULL is fine. Values that were read stay valid. */
TKL_API void tkl_config_close(tkl_config *config);

/* ---- Values -------------------------------------------------------------- */

/* A value, which callers must not change: several readers may share it. Free it with
 * tkl_config_value_free(). */
typedef struct tkl_config_value {
    tkl_bytes json;     /* the JSON text as it was set */
    int64_t version;    /* from 1 */
    int64_t changed_ms; /* when it was set, in Unix milliseconds by the server's clock */
    tkl_bytes author;   /* author of this version; may be empty */
    TKL_RESERVED(4);
} tkl_config_value;

TKL_API void tkl_config_value_free(tkl_config_value *value); /* NULL is fine */

/* Reads the current value from the server, in one round trip. TKL_NOTFOUND: it was never set, or
 * was dropped. */
TKL_API int tkl_config_get(tkl_config *config, tkl_config_value **value)
    TKL_NONNULL(1, 2) TKL_CHECK;

/* Reads the value from memory; only the first read of a handle does I/O. *age_ms (may be NULL): 0
 * while the handle follows the server and learns every change at once (lost data of the server
 * within 4 seconds); otherwise how long ago the value was last known to be current. TKL_NOTFOUND:
 * never set, or dropped; *age_ms is set, too. If the server was never reached, the error of the
 * last attempt. */
TKL_API int tkl_config_read(tkl_config *config, tkl_config_value **value, int64_t *age_ms)
    TKL_NONNULL(1, 2) TKL_CHECK;

/* Waits until the value differs from `seen`, the value of an earlier call (NULL: none). TKL_OK:
 * *value is the new value. TKL_NOTFOUND: it was dropped. TKL_EMPTY: it did not change in time.
 * Values differ by version, time or text, because a server that has lost its data starts again with
 * version 1. Quick changes may be skipped; the history has them. `wait_ms`: 0 does not wait,
 * negative waits for ever. */
TKL_API int tkl_config_watch(tkl_config *config, const tkl_config_value *seen, int64_t wait_ms,
                             tkl_config_value **value) TKL_NONNULL(1, 4) TKL_CHECK;

/* ---- Changes ------------------------------------------------------------- */

typedef struct tkl_config_set_options {
    int64_t if_version; /* set the value only if this is the current version, else TKL_CONFLICT;
                           TKL_NONE: only if there is no value; 0: in any case */
    int64_t timeout_ms; /* time-out of this call; 0: the handle's */
    TKL_RESERVED(8);
} tkl_config_set_options;

/* Sets a value. *version (may be NULL) is the new version. TKL_EINVAL: the value is not JSON, or
 * longer than TKL_CONFIG_VALUE_MAX. TKL_CONFLICT: the current version is not `if_version`; *version
 * is the current one. */
TKL_API int tkl_config_set(tkl_config *config, tkl_bytes json,
                           const tkl_config_set_options *options, int64_t *version)
    TKL_NONNULL(1) TKL_CHECK;

/* Removes it, with its history. TKL_NOTFOUND: there is none. */
TKL_API int tkl_config_drop(tkl_config *config) TKL_NONNULL(1) TKL_CHECK;

/* One object: free it with tkl_config_values_free(). */
typedef struct tkl_config_values {
    const tkl_config_value *items; /* do not free single items */
    size_t count;
} tkl_config_values;

/* The last versions, newest first, `max` at most (0: all that are kept). */
TKL_API int tkl_config_history(tkl_config *config, size_t max, tkl_config_values **values)
    TKL_NONNULL(1, 3) TKL_CHECK;
TKL_API void tkl_config_values_free(tkl_config_values *values); /* NULL is fine */

/* The names of all configurations, as "kind:component". */
TKL_API int tkl_config_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- A client by component ------------------------------------------------ */

/* The kind of configuration that names the server of a component: its URL as a JSON string, or an
 * object with "url", or with "host" and perhaps "port" (6379), "db" (0) and "tls" (false). It may
 * also have "user" (or "username"), "password", "password_file", "tls_ca_file", "tls_cert_file",
 * "tls_key_file", "namespace" (strings), "timeout_ms" and "pool_size" (whole numbers). Other members
 * are ignored. tkl_config_set() checks all this: TKL_EINVAL.
 */
#define TKL_CONFIG_SERVER "server"

/* Reads from the server of `client` which server the component has now: a URL for tkl_open() with
 * everything that the configuration says, but the size of the pool. It may have a password. Free it
 * with tkl_config_url_free(). TKL_NOTFOUND: no server is configured. TKL_EINVAL: the configuration
 * does not describe one. */
TKL_API int tkl_config_url(tkl_client *client, tkl_bytes component, char **url)
    TKL_NONNULL(1, 3) TKL_CHECK;
TKL_API void tkl_config_url_free(char *url); /* wipes it; NULL is fine */

typedef struct tkl_config_client tkl_config_client;

/* No I/O. `client` is connected to the server that has the configuration. `options` may be NULL. */
TKL_API int tkl_config_client_open(tkl_client *client, tkl_bytes component,
                                   const tkl_config_options *options, tkl_config_client **source)
    TKL_NONNULL(1, 4) TKL_CHECK;
/* Closes the clients, which all must have been returned. NULL is fine. */
TKL_API void tkl_config_client_close(tkl_config_client *source);

/* Lends the client for the server that the configuration names. When the configuration changes, and
 * the new server answers, later callers get a client for the new server. The old client is closed
 * when its last borrower has returned it, so no call is cut off. Borrow it for one piece of work,
 * not for ever. Only the first call does I/O. TKL_NOTFOUND: no server is configured. TKL_EINVAL:
 * the configuration is invalid, and no earlier one was valid. */
TKL_API int tkl_config_client_borrow(tkl_config_client *source, tkl_client **client)
    TKL_NONNULL(1, 2) TKL_CHECK;
/* Returns a borrowed client. Close all handles that use it before. */
TKL_API void tkl_config_client_return(tkl_config_client *source, tkl_client *client)
    TKL_NONNULL(1, 2);

typedef struct tkl_config_client_info {
    int64_t version;   /* version of the configuration in use; 0: none yet */
    int64_t newest;    /* the newest version that was seen */
    int64_t age_ms;    /* age of `newest`, see tkl_config_read() */
    char problem[256]; /* why the newest is not in use; "" when it is */
    TKL_RESERVED(4);
} tkl_config_client_info;

/* No I/O except for the first call. */
TKL_API int tkl_config_client_show(tkl_config_client *source, tkl_config_client_info **info)
    TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_config_client_info_free(tkl_config_client_info *info); /* NULL is fine */

/* ---- Maintenance --------------------------------------------------------- */

typedef struct tkl_maintenance tkl_maintenance;

/* A flag that programs can read very often, from memory. It is stored as the configuration of kind
 * "maintenance" and component `name`: {"on": true, "reason": "..."}. No I/O. `options` may be
 * NULL. */
TKL_API int tkl_maintenance_open(tkl_client *client, tkl_bytes name,
                                 const tkl_config_options *options, tkl_maintenance **maintenance)
    TKL_NONNULL(1, 4) TKL_CHECK;
TKL_API void tkl_maintenance_close(tkl_maintenance *maintenance); /* NULL is fine */

typedef struct tkl_maintenance_state {
    bool on;          /* off when it was never set */
    int64_t since_ms; /* when it was switched, in Unix milliseconds; 0: never */
    int64_t version;  /* version of the configuration; 0: never set */
    int64_t age_ms;   /* see tkl_config_read() */
    char reason[256]; /* "" when none was given */
    TKL_RESERVED(4);
} tkl_maintenance_state;

/* `reason`: up to 255 bytes of UTF-8 without NUL. */
TKL_API int tkl_maintenance_set(tkl_maintenance *maintenance, bool on, tkl_bytes reason)
    TKL_NONNULL(1) TKL_CHECK;
/* Reads the flag from memory, as tkl_config_read(). TKL_EDAMAGED: the configuration is not such a
 * flag; *state says "off". */
TKL_API int tkl_maintenance_read(tkl_maintenance *maintenance, tkl_maintenance_state *state)
    TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
