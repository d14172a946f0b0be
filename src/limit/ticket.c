/* SPDX-License-Identifier: MIT
 *
 * Refund, renew and reset.
 */
#include "core/error.h"
#include "core/token.h"
#include "limit/limit.h"
#include "limit/scripts.h"

/* Runs a script on the key of a subject. TKL_NOTFOUND when it answers 0. */
static int run_on(const tkl_limit *limit, tkl_bytes subject, const tkl__script *script,
                  const tkl__args *args, bool retry_safe)
{
    tkl__buf buf;
    tkl_reply *reply = NULL;
    tkl__buf_init(&buf);
    int rc = tkl__limit_key(limit, subject, &buf);
    tkl_bytes key = {buf.data, buf.len};
    if (rc == TKL_OK)
        rc = tkl__eval(limit->client, script, &(tkl__keys){&key, 1}, args,
                       tkl__limit_deadline(limit), retry_safe, &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) == 0)
        rc = tkl__no(TKL_NOTFOUND);
    tkl_reply_free(reply);
    tkl__buf_free(&buf);
    return tkl__limit_explain(rc);
}

static int check_ticket(const tkl__limit_rule *rule, int64_t quantity, const char *ticket)
{
    if (quantity < 0)
        return tkl__limit_check_quantity(rule, quantity);
    if (tkl__limit_has_tickets(rule) && (!ticket || !tkl__is_token(ticket)))
        return tkl__fail(TKL_EINVAL, "the ticket of the answer is needed");
    return TKL_OK;
}

/* Limits a quantity to the capacity: no holder can have taken more. */
static int64_t at_most(const tkl__limit_rule *rule, int64_t quantity)
{
    return quantity < rule->capacity ? quantity : rule->capacity;
}

int tkl_limit_refund(tkl_limit *limit, tkl_bytes key, int64_t quantity, const char *ticket)
{
    const tkl__limit_rule *rule = &limit->rule;
    tkl__args args;
    int rc = check_ticket(rule, quantity, ticket);
    if (rc != TKL_OK || quantity == 0)
        return rc;
    tkl__args_init(&args);
    tkl__args_str(&args, rule->kind);
    tkl__args_int(&args, at_most(rule, quantity));
    tkl__args_str(&args, rule->unit_text);
    tkl__args_str(&args, rule->rate_text);
    tkl__args_str(&args, tkl__limit_has_tickets(rule) ? ticket : "");
    rc = run_on(limit, key, &tkl__lua_limit_refund, &args, false);
    tkl__args_free(&args);
    return rc;
}

int tkl_limit_renew(tkl_limit *limit, tkl_bytes key, int64_t quantity, const char *ticket)
{
    const tkl__limit_rule *rule = &limit->rule;
    tkl__args args;
    if (rule->algorithm != TKL_LIMIT_CONCURRENCY)
        return tkl__fail(TKL_EINVAL, "only slots of a concurrency limit can be renewed");
    int rc = check_ticket(rule, quantity, ticket);
    if (rc != TKL_OK || quantity == 0)
        return rc;
    tkl__args_init(&args);
    tkl__args_int(&args, at_most(rule, quantity));
    tkl__args_str(&args, rule->unit_text);
    tkl__args_str(&args, ticket);
    rc = run_on(limit, key, &tkl__lua_limit_renew, &args, true);
    tkl__args_free(&args);
    return rc;
}

int tkl_limit_reset(tkl_limit *limit, tkl_bytes key)
{
    tkl__args none;
    tkl__args_init(&none);
    int rc = run_on(limit, key, &tkl__lua_limit_reset, &none, true);
    tkl__args_free(&none);
    return rc;
}
