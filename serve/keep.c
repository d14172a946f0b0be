/* SPDX-License-Identifier: MIT */
#include "keep.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"

enum {
    RENEWALS = 3, /* tries within a lease */
    RETRY_MS = 250,
};

static const struct {
    const char *component, *verb;
    const char *name; /* the field of the result with the name of the lock, semaphore or queue */
} kept_verbs[] = {
    {"lock", "acquire", "name"},
    {"sem", "acquire", "name"},
    {"queue", "claim", "queue"},
};

/* The field with the name in results of the route; NULL: requests cannot keep what it gives. */
static const char *name_field(const serve_route *route)
{
    for (size_t i = 0; i < sizeof kept_verbs / sizeof *kept_verbs; i++)
        if (strcmp(route->component->name, kept_verbs[i].component) == 0 &&
            route->verb->name != NULL && strcmp(route->verb->name, kept_verbs[i].verb) == 0)
            return kept_verbs[i].name;
    return NULL;
}

bool serve_can_keep(const serve_route *route)
{
    return name_field(route) != NULL;
}

static void set_if_there(json_t *object, const char *field, json_t *value)
{
    if (value != NULL)
        json_object_set(object, field, value);
}

/* The fields that name the holder: {"name": ..., "token": ...}, and more for a job. */
static json_t *holder_fields(const serve_route *route, const json_t *fields, const json_t *result)
{
    json_t *holder = json_object();
    set_if_there(holder, "name", json_object_get(result, name_field(route)));
    set_if_there(holder, "token", json_object_get(result, "token"));
    set_if_there(holder, "id", json_object_get(result, "id"));
    set_if_there(holder, "partitions", json_object_get(fields, "partitions"));
    return holder;
}

/* Calls another verb of the route's component. The caller of the first verb may call this one, too:
 * both write. */
static void call_verb(tkl_client *client, const serve_route *route, const char *verb,
                      const json_t *fields, serve_answer *answer)
{
    char path[64], why[SERVE_WHY_SIZE];
    serve_route other;
    serve_caller caller = {0};
    snprintf(path, sizeof path, "/v1/%s/%s", route->component->name, verb);
    *answer = (serve_answer){0};
    if (serve_route_find(path, &other, why))
        serve_call(client, &other, fields, &caller, answer);
    else
        serve_answer_error(answer, 500, TKL_EBUG, why);
}

/* Sleeps until the moment. False: the operation is cancelled. */
static bool sleep_until(int64_t moment_ms)
{
    int64_t left;
    int code = TKL_OK;
    while (code == TKL_OK && (left = moment_ms - cli_now_ms()) > 0)
        code = tkl_loop_sleep(left);
    return code == TKL_OK;
}

/* Renews until the operation is cancelled (true), or until the lease is lost (false); *last is then
 * the answer that says so. A renewal that fails for another reason is repeated as long as the lease
 * may last. */
static bool renew_on(tkl_client *client, const serve_route *route, const json_t *fields,
                     int64_t lease_ms, serve_answer *last)
{
    int64_t ends_ms = cli_now_ms() + lease_ms, next_ms = cli_now_ms() + lease_ms / RENEWALS;
    while (sleep_until(next_ms)) {
        int64_t began_ms = cli_now_ms();
        serve_answer_free(last);
        call_verb(client, route, "renew", fields, last);
        if (last->status < 300) {
            ends_ms = began_ms + lease_ms;
            next_ms = began_ms + lease_ms / RENEWALS;
        } else if (last->status < 500 || cli_now_ms() >= ends_ms) {
            return false;
        } else {
            next_ms = cli_now_ms() + RETRY_MS;
        }
    }
    return true;
}

void serve_keep(tkl_client *client, const serve_route *route, const json_t *fields,
                const char *text, serve_stream *stream)
{
    json_t *result = json_loads(text, 0, NULL);
    json_t *holder = holder_fields(route, fields, result), *renewal = json_copy(holder);
    json_int_t lease_ms = json_integer_value(json_object_get(result, "lease_ms"));
    char lease[32];
    serve_answer answer = {0};
    snprintf(lease, sizeof lease, "%lldms", (long long)lease_ms);
    json_object_set_new(renewal, "lease", json_string(lease));
    if (renew_on(client, route, renewal, lease_ms, &answer)) {
        serve_answer_free(&answer);
        call_verb(client, route, "release", holder, &answer);
    } else if (answer.body != NULL) {
        int code = serve_stream_add(stream, "ended", NULL, answer.body);
        (void)code; /* a client that is gone hears nothing */
    }
    serve_answer_free(&answer);
    json_decref(result);
    json_decref(holder);
    json_decref(renewal);
}
