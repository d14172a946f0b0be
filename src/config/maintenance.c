/* SPDX-License-Identifier: MIT
 *
 * The maintenance flag: a configuration whose JSON is read once for every version.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/error.h"

struct tkl_maintenance {
    tkl_config *config;
    pthread_mutex_t mutex; /* guards the following fields */
    unsigned process;
    tkl_maintenance_state state; /* contents of its version */
    bool good;                   /* it is {"on": true, ...} or {"on": false, ...} */
};

int tkl_maintenance_open(tkl_client *client, tkl_bytes name, const tkl_config_options *options,
                         tkl_maintenance **maintenance)
{
    *maintenance = NULL;
    tkl_maintenance *made = calloc(1, sizeof *made);
    if (!made)
        return tkl__nomem();
    pthread_mutex_init(&made->mutex, NULL);
    made->process = tkl__fork_generation();
    int rc = tkl_config_open(client, tkl_str("maintenance"), name, options, &made->config);
    if (rc == TKL_OK)
        *maintenance = made;
    else
        tkl_maintenance_close(made);
    return rc;
}

void tkl_maintenance_close(tkl_maintenance *maintenance)
{
    if (!maintenance)
        return;
    tkl_config_close(maintenance->config);
    free(maintenance);
}

int tkl_maintenance_set(tkl_maintenance *maintenance, bool on, tkl_bytes reason)
{
    if (reason.len >= sizeof maintenance->state.reason)
        return tkl__fail(TKL_EINVAL, "a reason has up to %zu bytes",
                         sizeof maintenance->state.reason - 1);
    json_t *text = json_stringn(reason.len > 0 ? reason.data : "", reason.len);
    if (!text || (reason.len > 0 && memchr(reason.data, '\0', reason.len))) {
        json_decref(text);
        return tkl__fail(TKL_EINVAL, "the reason is not UTF-8 text");
    }
    json_t *object = json_pack("{s:b, s:o}", "on", on, "reason", text);
    char *json = object ? json_dumps(object, JSON_COMPACT) : NULL;
    int rc = json ? tkl_config_set(maintenance->config, tkl_str(json), NULL, NULL) : tkl__nomem();
    free(json);
    json_decref(object);
    return rc;
}

static void parse_maintenance(const tkl_config_value *value, tkl_maintenance *m)
{
    json_error_t error;
    json_t *object = json_loadb(value->json.data, value->json.len, JSON_DECODE_ANY, &error);
    const char *reason = json_string_value(json_object_get(object, "reason"));
    m->good = json_is_boolean(json_object_get(object, "on"));
    m->state = (tkl_maintenance_state){.on = json_is_true(json_object_get(object, "on")),
                                       .since_ms = value->changed_ms,
                                       .version = value->version};
    if (reason)
        strncpy(m->state.reason, reason, sizeof m->state.reason - 1);
    json_decref(object);
}

/* Compares the time, too: a server that has lost its data starts with version 1 again. */
static bool is_parsed(const tkl_maintenance *m, const tkl_config_value *value)
{
    return m->state.version == value->version && m->state.since_ms == value->changed_ms;
}

static void lock_follower(tkl_maintenance *m)
{
    if (m->process != tkl__fork_generation()) { /* a forked child: the parent may hold the lock */
        pthread_mutex_init(&m->mutex, NULL);
        m->process = tkl__fork_generation();
    }
    pthread_mutex_lock(&m->mutex);
}

int tkl_maintenance_read(tkl_maintenance *maintenance, tkl_maintenance_state *state)
{
    tkl_config_value *value;
    int64_t age_ms;
    int rc = tkl_config_read(maintenance->config, &value, &age_ms);
    if (!value) {
        *state = (tkl_maintenance_state){.age_ms = age_ms};
        return rc < 0 ? rc : TKL_OK;
    }
    lock_follower(maintenance);
    if (!is_parsed(maintenance, value))
        parse_maintenance(value, maintenance);
    *state = maintenance->state;
    bool good = maintenance->good;
    pthread_mutex_unlock(&maintenance->mutex);
    tkl_config_value_free(value);
    state->age_ms = age_ms;
    return good ? TKL_OK
                : tkl__fail(TKL_EDAMAGED, "the flag is not an object in which \"on\" is true or "
                                          "false");
}
