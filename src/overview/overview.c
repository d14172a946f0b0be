/* SPDX-License-Identifier: MIT
 *
 * Everything at once: one batch asks for the names in the registers of all components, for the
 * numbers of the names that the last overview had, and for INFO. So a view that looks every second
 * costs one round trip a second for each master, and knows new names a second later.
 *
 * Replies are read in the order of asking: first the registers of all kinds, then INFO, then the
 * details of each kind. `names_at` and `at` are the two positions.
 */
#include <tackle/overview.h>

#include <stdlib.h>

#include "core/error.h"
#include "core/instances.h"
#include "core/letters.h"
#include "core/options.h"
#include "core/register.h"
#include "counter/counter.h"
#include "hold/hold.h"
#include "pipeline/pipeline.h"
#include "queue/overview.h"

#define MAX_DEFAULT 200
/* Precision of the series of counters. */
#define SECOND_MS 1000

/* The public result and what it points into. */
typedef struct overview {
    tkl_overview public; /* first: the user's pointer points to it */
    tkl_counter_summary *counters;
    tkl_reply *replies; /* with the text of INFO */
    tkl_names *missing;
} overview;

/* ---- Counters ------------------------------------------------------------ */

static void ask_counters(tkl__batch *batch, const tkl_overview *last)
{
    for (size_t i = 0; last && i < last->counter_count; i++)
        tkl__counter_ask(batch, last->counters[i].name, SECOND_MS);
}

static tkl_counter_summary *find_counter(const overview *o, tkl_bytes name)
{
    for (size_t i = 0; i < o->public.counter_count; i++)
        if (tkl__same_bytes(o->counters[i].name, name))
            return &o->counters[i];
    return NULL;
}

static int read_counters(const tkl__batch *batch, size_t *names_at, size_t *at,
                         const tkl_overview *last, overview *o)
{
    tkl__names names = {0};
    int rc = tkl__instances_heard(batch, names_at, "counter", &names);
    if (rc == TKL_OK && !(o->counters = calloc(names.count + 1, sizeof *o->counters)))
        rc = tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < names.count; i++) {
        o->counters[o->public.counter_count++] =
            (tkl_counter_summary){.name = names.items[i], .code = TKL_ENOTSENT};
        names.items[i] = (tkl_bytes){NULL, 0}; /* the overview has it */
    }
    o->public.counters = o->counters;
    tkl__names_free(&names);
    for (size_t i = 0; last && i < last->counter_count; i++, (*at)++) {
        tkl_counter_summary *item = find_counter(o, last->counters[i].name);
        tkl_counter_series *series = NULL;
        if (!item)
            continue;
        item->code = tkl__batch_code(batch, *at);
        if (item->code == TKL_OK)
            item->code = tkl__counter_heard(tkl__batch_reply(batch, *at), SECOND_MS, &series);
        item->series = series;
    }
    return rc;
}

/* ---- One trip ------------------------------------------------------------ */

/* The components with a register, in the order of asking. */
static const char *const components[] = {"queue", "lock", "sem", "leader", "counter"};

/* Returns the number of replies of the registers. */
static size_t ask_all(tkl__batch *batch, const tkl_overview *last, int64_t max)
{
    for (size_t i = 0; i < sizeof components / sizeof *components; i++)
        tkl__register_ask(batch, components[i], max);
    size_t registers = batch->count;
    TKL__BATCH_WORDS(batch, tkl_str("INFO"), tkl_str("default"));
    if (last) {
        tkl__queue_overview_ask(batch, last->queues);
        tkl__hold_overview_ask(batch, "lock", last->locks);
        tkl__hold_overview_ask(batch, "sem", last->semaphores);
        tkl__hold_overview_ask(batch, "leader", last->leaders);
        ask_counters(batch, last);
    }
    return registers;
}

/* Reads one kind of holds: locks, semaphores or leaders. */
static void read_holds(const tkl__batch *batch, size_t *names_at, size_t *at, const char *component,
                       const tkl_hold_overview *last, const tkl_hold_overview **holds,
                       tkl_result *result)
{
    tkl_hold_overview *read;
    int rc = tkl__hold_overview_heard(batch, names_at, at, component, last, &read);
    *holds = read;
    tkl__result_set(result, rc);
}

static void read_all(const tkl__batch *batch, size_t registers, const tkl_overview *last,
                     overview *o)
{
    static const tkl_overview nothing;
    const tkl_overview *before = last ? last : &nothing;
    tkl_overview *now = &o->public;
    tkl_queue_overview *queues;
    size_t names_at = 0, at = registers + 1;
    now->server = tkl_reply_str(tkl__batch_reply(batch, registers));
    if (tkl__result_set(&now->server_result, tkl__batch_code(batch, registers)) != TKL_OK)
        now->server = "";
    int rc = tkl__queue_overview_heard(batch, &names_at, &at, before->queues, &queues);
    now->queues = queues;
    tkl__result_set(&now->queues_result, rc);
    read_holds(batch, &names_at, &at, "lock", before->locks, &now->locks, &now->locks_result);
    read_holds(batch, &names_at, &at, "sem", before->semaphores, &now->semaphores,
               &now->semaphores_result);
    read_holds(batch, &names_at, &at, "leader", before->leaders, &now->leaders,
               &now->leaders_result);
    rc = read_counters(batch, &names_at, &at, before, o);
    tkl__result_set(&now->counters_result, rc);
}

/* Whether a server answered at all, even with an error. */
static bool is_answered(const tkl__batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        int code = tkl__batch_code(batch, i);
        if (code != TKL_ENOTSENT && code != TKL_ETIMEOUT && code != TKL_EUNKNOWN)
            return true;
    }
    return false;
}

/* One round trip. */
static int read_once(tkl_client *client, int64_t max, const tkl_overview *last, int64_t deadline,
                     tkl_overview **result)
{
    tkl__batch batch;
    tkl__batch_init(&batch, client);
    size_t registers = ask_all(&batch, last, max);
    int rc = tkl__batch_run(&batch, deadline);
    overview *o = NULL;
    if (batch.replies && is_answered(&batch))
        rc = (o = calloc(1, sizeof *o)) ? TKL_OK : tkl__nomem(); /* each part has its result */
    if (o) {
        read_all(&batch, registers, last, o);
        o->replies = tkl__batch_take(&batch);
        *result = &o->public;
    }
    tkl__batch_free(&batch);
    return rc;
}

/* Adds the servers that are missing. `rc`: whether there is an overview. */
static int end_view(tkl_client *client, int rc, tkl_overview **result)
{
    tkl_error before;
    tkl_names *missing;
    tkl_error_last(rc, &before);
    int ended = tkl_lenient_end(client, &missing);
    if (rc != TKL_OK || ended != TKL_OK) {
        tkl_names_free(missing);
        tkl_overview_free(*result);
        *result = NULL;
        return rc != TKL_OK ? tkl__first_tell(&before) : ended;
    }
    overview *o = (overview *)(void *)*result;
    o->missing = missing;
    o->public.missing = missing->items;
    o->public.missing_count = missing->count;
    return TKL_OK;
}

int tkl_overview_read(tkl_client *client, const tkl_overview_options *options,
                      const tkl_overview *last, tkl_overview **result)
{
    static const tkl_overview_options defaults;
    const tkl_overview_options *o = options ? options : &defaults;
    tkl_overview *names = NULL;
    *result = NULL;
    int rc = TKL__CHECK_OPTIONS(o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX},
                                {"max", o->max, 0, TKL_OVERVIEW_MAX});
    if (rc != TKL_OK)
        return rc;
    int64_t deadline = tkl__deadline(client, o->timeout_ms), max = o->max ? o->max : MAX_DEFAULT;
    tkl_lenient_begin();
    if (!last) {
        rc = read_once(client, max, NULL, deadline, &names);
        last = names;
    }
    if (rc == TKL_OK)
        rc = read_once(client, max, last, deadline, result);
    tkl_overview_free(names);
    return end_view(client, rc, result);
}

void tkl_overview_free(tkl_overview *result)
{
    overview *o = (overview *)(void *)result;
    if (!o)
        return;
    tkl_queue_overview_free((tkl_queue_overview *)(uintptr_t)result->queues);
    tkl_hold_overview_free((tkl_hold_overview *)(uintptr_t)result->locks);
    tkl_hold_overview_free((tkl_hold_overview *)(uintptr_t)result->semaphores);
    tkl_hold_overview_free((tkl_hold_overview *)(uintptr_t)result->leaders);
    for (size_t i = 0; i < result->counter_count; i++) {
        free((char *)(uintptr_t)o->counters[i].name.data);
        tkl_counter_series_free((tkl_counter_series *)(uintptr_t)o->counters[i].series);
    }
    free(o->counters);
    tkl_names_free(o->missing);
    tkl_reply_free(o->replies);
    free(o);
}
