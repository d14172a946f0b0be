/* SPDX-License-Identifier: MIT
 *
 * Rate limits: handles and keys.
 *
 * One key per limit and subject, ns:limit:{subject}:name: the braces put all limits of a subject
 * into one slot, so that they can be checked as one on a cluster, too. All times are microseconds
 * of the server's clock. The content of the key, and when it expires:
 *
 * gcra, bucket: a string, "<kind> <unit> <stamp> <debt>". A quantity that was taken becomes a debt,
 * which shrinks evenly. The textbook keeps the moment at which the debt ends (tat), in fractions;
 * but a double holds a moment only to a quarter of a microsecond, and a thousand small errors let a
 * fast rate pass. So the key has the debt, scaled to a whole number: with `count` in `period`
 * microseconds, in lowest terms, one is a debt of `period` (the unit), and in a microsecond the
 * debt shrinks by `count` (the rate). A quantity fits when the debt with it is at most capacity x
 * unit. That is the textbook's comparison times count, in whole numbers. The key expires when the
 * debt ends. If the unit is not the rule's, the rule was changed; the quantity owed stays the same.
 * While slices are lent out (slice.c), " <epoch> <before> <latest>" follows.
 *
 * window, concurrency: a sorted set of "<kind>:<ticket>:<i>" by the end of their lives. The ticket
 *   is random, so members never collide, and a repeated request finds its own. The entries of a
 *   ticket are numbered from 1 without a gap: giving back takes the last ones. The key expires with
 *   the last entry.
 *
 * approx: a string, "approx <period> <index> <count> <count before>" of the stretch of time number
 *   index. The stretch before it counts by the part that a window ending now still covers. The key
 *   expires when neither stretch counts.
 *
 * The rule of the last check that wrote is kept with the state, for operators (show.c): a string
 * ends with " / <count> <period in ms> <capacity>", a sorted set begins with the element "<kind>
 * rule <count> <period in ms> <capacity>", whose score is below every time. Checks do not read it.
 *
 * A rule with `count_denied` also counts what it denies, up to a limit that is used up: the debt
 * becomes the whole capacity, a counter at most the count, and of a window only the last `count`
 * entries stay. So nothing grows with the number of attempts. Entries of denied attempts have "-"
 * before the ticket: a repeated request must not take them for its own.
 *
 * The kind tells the algorithms apart: one does not touch another's key. The scripts check the
 * stored state before they write, since another program may have changed it (stored.inc.lua).
 */
#include "limit/limit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/name.h"
#include "core/options.h"

#define MAX_AT_ONCE 1000 /* entries of a window written in one go */

static int keep_bytes(tkl__buf *buf, tkl_bytes *out)
{
    char *copy = buf->failed ? NULL : malloc(buf->len);
    if (copy)
        memcpy(copy, buf->data, buf->len);
    *out = (tkl_bytes){copy, buf->len};
    tkl__buf_free(buf);
    return copy ? TKL_OK : tkl__nomem();
}

static int make_parts(tkl_limit *limit, tkl_bytes name)
{
    tkl__buf buf;
    tkl__buf_init(&buf);
    tkl__buf_addf(&buf, "%s:limit:{", limit->client->target.ns);
    int rc = keep_bytes(&buf, &limit->before);
    if (rc != TKL_OK)
        return rc;
    tkl__buf_init(&buf);
    tkl__buf_addz(&buf, "}:");
    tkl__name_escape(&buf, name);
    return keep_bytes(&buf, &limit->after);
}

int tkl__limit_check_name(tkl_bytes name, const char *what)
{
    if (name.len >= 1 && name.len <= TKL_NAME_MAX)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "the %s of a limit has 1 to %d bytes, not %zu", what, TKL_NAME_MAX,
                     name.len);
}

static int read_options(tkl_limit *limit, const tkl_limit_options *options)
{
    int rc = TKL__CHECK_RESERVED(options);
    if (rc == TKL_OK && options)
        rc = tkl__check_number("timeout_ms", options->timeout_ms, 0, TKL__MS_MAX);
    limit->timeout_ms = options ? options->timeout_ms : 0;
    limit->counted = options && options->counted;
    return rc;
}

int tkl_limit_open(tkl_client *client, tkl_bytes name, const tkl_limit_rule *rule,
                   const tkl_limit_options *options, tkl_limit **out)
{
    *out = NULL;
    int rc = tkl__limit_check_name(name, "name");
    if (rc != TKL_OK)
        return rc;
    tkl_limit *limit = calloc(1, sizeof *limit);
    if (!limit)
        return tkl__nomem();
    limit->client = client;
    rc = read_options(limit, options);
    if (rc == TKL_OK)
        rc = tkl__limit_rule_make(rule, &limit->rule);
    if (rc == TKL_OK)
        rc = make_parts(limit, name);
    if (rc == TKL_OK)
        rc = tkl__limit_counts_open(limit);
    if (rc == TKL_OK)
        *out = limit;
    else
        tkl_limit_close(limit);
    return rc;
}

void tkl_limit_close(tkl_limit *limit)
{
    if (!limit)
        return;
    tkl__limit_counts_close(limit);
    free((char *)(uintptr_t)limit->before.data);
    free((char *)(uintptr_t)limit->after.data);
    free(limit);
}

int tkl__limit_key(const tkl_limit *limit, tkl_bytes subject, tkl__buf *out)
{
    int rc = tkl__limit_check_name(subject, "key");
    if (rc != TKL_OK)
        return rc;
    tkl__buf_add(out, limit->before.data, limit->before.len);
    tkl__name_escape(out, subject);
    tkl__buf_add(out, limit->after.data, limit->after.len);
    return out->failed ? tkl__nomem() : TKL_OK;
}

int tkl__limit_check_quantity(const tkl__limit_rule *rule, int64_t quantity)
{
    if (quantity < 0)
        return tkl__fail(TKL_EINVAL, "a quantity is 0 or more, not %" PRId64, quantity);
    if (tkl__limit_has_tickets(rule) && quantity > MAX_AT_ONCE && quantity <= rule->capacity)
        return tkl__fail(TKL_EINVAL, "this algorithm takes at most %d at once", MAX_AT_ONCE);
    return TKL_OK;
}

int64_t tkl__limit_deadline(const tkl_limit *limit)
{
    return tkl__deadline(limit->client, limit->timeout_ms);
}

int tkl__limit_explain(int rc)
{
    if (rc != TKL_ETYPE)
        return rc;
    return tkl__fail(rc, "another algorithm keeps this limit of this key; reset it first");
}

const char *tkl_limit_algorithm_name(tkl_limit_algorithm algorithm)
{
    static const char *const names[] = {"gcra", "bucket", "window", "window-approx", "concurrency"};
    return TKL__ENUM_NAME((int)algorithm, names);
}
