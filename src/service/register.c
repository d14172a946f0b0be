/* SPDX-License-Identifier: MIT
 *
 * Registrations, renewed by the keeper.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/keeper.h"
#include "core/options.h"
#include "core/script.h"
#include "core/token.h"
#include "service/scripts.h"
#include "service/service.h"

#define LEASE_MS     10000
#define LEASE_MIN_MS 100
#define RETRY_US     1000000 /* longest pause after a renewal that failed */

/* Arguments of service/register; service/renew gets the first RENEWAL of them. */
enum { ID, TOKEN, LEASE, RENEWAL, INFO = RENEWAL, AGAIN, MOST, ARGUMENTS };

struct tkl_registration {
    tkl_service *service;
    unsigned process;
    tkl__kept kept;
    char token[TKL_TOKEN_SIZE];
    char lease_text[24], most_text[24];
    char *text; /* owns the id and the info */
    tkl_bytes args[ARGUMENTS];
    int64_t lease_us, timeout_ms;
    int64_t asked_at;         /* when the current renewal was sent */
    int64_t due;              /* when the next renewal is due; used by the keeper's thread only */
    _Atomic int64_t until;    /* end of the lease, by the local clock */
    bool is_listed;           /* result of the last request; used by the keeper's thread only */
    _Atomic bool is_replaced; /* another registration has the id */
};

/* ---- The scripts --------------------------------------------------------- */

/* Registers an instance again if the server has lost it. A full server refuses that, but still
 * renews the instances that it has. */
static tkl__invocation run_register(tkl_registration *r)
{
    return (tkl__invocation){.script = r->is_listed ? &tkl__lua_service_renew
                                                    : &tkl__lua_service_register,
                             .keys = r->service->keys.items,
                             .nkeys = r->service->keys.count,
                             .args = r->args,
                             .nargs = r->is_listed ? RENEWAL : ARGUMENTS,
                             .retry_safe = true};
}

/* Notes the reply of the script. The lease counts from the time of sending. */
static int settle_lease(tkl_registration *r, int64_t sent_at, int64_t said)
{
    enum { FULL = -1, REPLACED, LISTED, LOST };
    r->is_listed = said == LISTED;
    switch (said) {
    case LISTED:
        r->until = sent_at + r->lease_us;
        return TKL_OK;
    case LOST:
        return tkl__fail(TKL_NOTFOUND, "the server has lost this registration");
    case REPLACED:
        r->is_replaced = true;
        return tkl__fail(TKL_NOTOWNER, "another registration has this id");
    default:
        return tkl__fail(TKL_FULL, "the service has %d instances", TKL_SERVICE_INSTANCES_MAX);
    }
}

static int run_renewal(tkl_registration *r)
{
    tkl_client *client = r->service->client;
    tkl__invocation call = run_register(r);
    tkl_reply *reply = NULL;
    int64_t sent_at = tkl__lease_now();
    int rc = tkl__run(client, &call, tkl__deadline(client, r->timeout_ms), &reply);
    if (rc == TKL_OK)
        rc = settle_lease(r, sent_at, tkl_reply_int(reply));
    tkl_reply_free(reply);
    return rc;
}

/* ---- The keeper's callbacks ---------------------------------------------- */

static tkl_registration *registration_of(tkl__kept *kept)
{
    return (tkl_registration *)(void *)((char *)kept - offsetof(tkl_registration, kept));
}

static bool keeper_prepare(tkl__kept *kept, tkl__invocation *call)
{
    tkl_registration *r = registration_of(kept);
    r->asked_at = tkl__lease_now();
    *call = run_register(r);
    return true;
}

static void keeper_done(tkl__kept *kept, int rc, const tkl_reply *reply)
{
    tkl_registration *r = registration_of(kept);
    int64_t third = r->lease_us / 3, pause = third < RETRY_US ? third : RETRY_US;
    if (rc == TKL_OK)
        rc = settle_lease(r, r->asked_at, tkl_reply_int(reply));
    r->due = tkl__now() + (rc == TKL_OK ? third : rc == TKL_NOTFOUND ? 0 : pause);
    if (r->is_replaced)
        r->due = TKL__FOREVER;
}

static int64_t keeper_due(tkl__kept *kept)
{
    return registration_of(kept)->due;
}

static int64_t keeper_patience(tkl__kept *kept)
{
    return registration_of(kept)->lease_us / 3;
}

/* ---- Registrations ------------------------------------------------------- */

static int check_instance(const tkl_service_instance *instance,
                          const tkl_registration_options *options)
{
    int rc = TKL__CHECK_RESERVED(options);
    if (rc == TKL_OK)
        rc = TKL__CHECK_RESERVED(instance);
    if (rc == TKL_OK && options->lease_ms != 0)
        rc = tkl__check_number("lease_ms", options->lease_ms, LEASE_MIN_MS,
                               TKL__SERVICE_LEASE_MAX_MS);
    if (rc == TKL_OK)
        rc = tkl__check_number("timeout_ms", options->timeout_ms, 0, TKL__MS_MAX);
    const char *wrong = tkl__service_instance_check(instance);
    return rc == TKL_OK && wrong ? tkl__fail(TKL_EINVAL, "%s", wrong) : rc;
}

/* Copies the id and the info. */
static int copy_texts(tkl_registration *r, const tkl_service_instance *instance)
{
    tkl_bytes id = instance->id.len > 0 ? instance->id : instance->address;
    tkl__buf info;
    tkl__buf_init(&info);
    tkl__service_instance_pack(instance, &info);
    r->text = info.failed ? NULL : malloc(id.len + info.len);
    if (r->text) {
        memcpy(r->text, id.data, id.len);
        memcpy(r->text + id.len, info.data, info.len);
        r->args[ID] = (tkl_bytes){r->text, id.len};
        r->args[INFO] = (tkl_bytes){r->text + id.len, info.len};
    }
    tkl__buf_free(&info);
    return r->text ? TKL_OK : tkl__nomem();
}

static int fill_registration(tkl_registration *r, const tkl_service_instance *instance,
                             int64_t lease_ms)
{
    r->process = tkl__fork_generation();
    r->lease_us = lease_ms * 1000;
    r->kept = (tkl__kept){.prepare = keeper_prepare,
                          .done = keeper_done,
                          .due = keeper_due,
                          .patience = keeper_patience};
    tkl__token_new(r->token);
    snprintf(r->lease_text, sizeof r->lease_text, "%lld", (long long)lease_ms);
    snprintf(r->most_text, sizeof r->most_text, "%d", TKL_SERVICE_INSTANCES_MAX);
    r->args[TOKEN] = tkl_str(r->token);
    r->args[LEASE] = tkl_str(r->lease_text);
    r->args[AGAIN] = tkl_str("0");
    r->args[MOST] = tkl_str(r->most_text);
    return copy_texts(r, instance);
}

int tkl_service_register(tkl_service *service, const tkl_service_instance *instance,
                         const tkl_registration_options *options, tkl_registration **registration)
{
    static const tkl_registration_options defaults;
    *registration = NULL;
    if (!options)
        options = &defaults;
    int rc = check_instance(instance, options);
    if (rc != TKL_OK)
        return rc;
    tkl_registration *made = calloc(1, sizeof *made);
    if (!made)
        return tkl__nomem();
    made->service = service;
    made->timeout_ms = options->timeout_ms ? options->timeout_ms : service->timeout_ms;
    rc = fill_registration(made, instance, options->lease_ms ? options->lease_ms : LEASE_MS);
    if (rc == TKL_OK)
        rc = run_renewal(made);
    made->args[AGAIN] = tkl_str("1");
    if (rc == TKL_OK)
        rc = tkl__keep(service->client, &made->kept, tkl__now() + made->lease_us / 3);
    if (rc == TKL_OK) {
        *registration = made;
        return TKL_OK;
    }
    free(made->text);
    free(made);
    return rc;
}

static int deregister_instance(tkl_registration *r)
{
    tkl_client *client = r->service->client;
    tkl__args args;
    tkl_reply *reply = NULL;
    tkl__args_init(&args);
    tkl__args_bytes(&args, r->args[ID]);
    tkl__args_str(&args, r->token);
    int rc = tkl__eval(client, &tkl__lua_service_deregister, &r->service->keys, &args,
                       tkl__deadline(client, r->timeout_ms), true, &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) < 0)
        rc = tkl__fail(TKL_NOTOWNER, "another registration has this id");
    tkl_reply_free(reply);
    tkl__args_free(&args);
    return rc;
}

int tkl_registration_close(tkl_registration *registration)
{
    if (!registration)
        return TKL_OK;
    int rc = TKL_OK;
    if (registration->process == tkl__fork_generation()) {
        tkl__unkeep_wait(registration->service->client, &registration->kept);
        rc = deregister_instance(registration);
    }
    free(registration->text);
    free(registration);
    return rc;
}

tkl_registration_state tkl_registration_look(tkl_registration *registration)
{
    if (registration->is_replaced)
        return TKL_REGISTRATION_REPLACED;
    return tkl__lease_now() < registration->until ? TKL_REGISTRATION_LISTED : TKL_REGISTRATION_AWAY;
}

const char *tkl_registration_state_name(tkl_registration_state state)
{
    static const char *const names[] = {"listed", "away", "replaced"};
    return (int)state >= 0 && state <= TKL_REGISTRATION_REPLACED ? names[state] : "unknown";
}
