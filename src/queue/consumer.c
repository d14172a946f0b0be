/* SPDX-License-Identifier: MIT
 *
 * Consumers: claiming from several queues and partitions, and reporting.
 */
#include "queue/consumer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/options.h"
#include "core/rounds.h"
#include "queue/record.h"
#include "queue/scripts.h"

#define LEASE_MS 10000
#define LATE_MAX 3 /* claims made again when all jobs of the last one came too late */

/* ---- Opening and closing ------------------------------------------------- */

static int check_queues(tkl_queue *const *queues, size_t count)
{
    if (count == 0)
        return tkl__fail(TKL_EINVAL, "a consumer needs a queue");
    for (size_t i = 1; i < count; i++)
        if (queues[i]->client != queues[0]->client)
            return tkl__fail(TKL_EINVAL, "the queues of a consumer must be of one client");
    return TKL_OK;
}

static int set_options(tkl_consumer *c, const tkl_consumer_options *options)
{
    int64_t lease_ms = options && options->lease_ms ? options->lease_ms : LEASE_MS;
    int rc = TKL__CHECK_RESERVED(options);
    if (rc == TKL_OK && options)
        rc = tkl__check_number("timeout_ms", options->timeout_ms, 0, TKL__MS_MAX);
    if (rc != TKL_OK)
        return rc;
    if (lease_ms < TKL__QUEUE_LEASE_MIN_MS || lease_ms > TKL__QUEUE_LEASE_MAX_MS)
        return tkl__fail(TKL_EINVAL, "a lease lasts from %d milliseconds to 10 years",
                         TKL__QUEUE_LEASE_MIN_MS);
    c->lease_us = lease_ms * 1000;
    snprintf(c->lease, sizeof c->lease, "%" PRId64, lease_ms);
    rc = tkl__queue_introduction_init(c, options);
    if (rc == TKL_OK && options) {
        c->timeout_ms = options->timeout_ms;
        c->no_renewal = options->no_renewal;
        c->on_lost = options->on_lost;
        c->on_error = options->on_error;
        c->on_damaged = options->on_damaged;
        c->arg = options->arg;
    }
    return rc;
}

static int open_sources(tkl_consumer *c, tkl_queue *const *queues, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += (size_t)queues[i]->npartitions;
    c->sources = calloc(total, sizeof *c->sources);
    c->queues = calloc(count, sizeof *c->queues);
    c->wait = (tkl__wait){.client = c->client,
                          .timeout_ms = c->timeout_ms,
                          .is_spread = total > 1,
                          .ears = calloc(total, sizeof *c->wait.ears)};
    if (!c->sources || !c->queues || !c->wait.ears)
        return tkl__nomem();
    c->nqueues = count;
    for (size_t i = 0; i < count; i++) {
        c->queues[i] = (tkl__queue_span){c->nsources, (size_t)queues[i]->npartitions};
        for (int p = 0; p < queues[i]->npartitions; p++) {
            tkl__queue_source *source = &c->sources[c->nsources++];
            *source = (tkl__queue_source){.consumer = c,
                                          .partition = &queues[i]->partitions[p],
                                          .kept = tkl__queue_source_kept};
            tkl__buf_init(&source->renewal.words);
            tkl__random(&source->jitter, sizeof source->jitter);
            source->ear = (tkl__ear){.channel = source->partition->channel,
                                     .also = source->partition->keys[TKL__QUEUE_LINE]};
            c->wait.ears[c->nsources - 1] = &source->ear;
        }
    }
    c->wait.count = c->nsources;
    return TKL_OK;
}

int tkl_consumer_open(tkl_queue *const *queues, size_t count, const tkl_consumer_options *options,
                      tkl_consumer **consumer)
{
    *consumer = NULL;
    int rc = check_queues(queues, count);
    if (rc != TKL_OK)
        return rc;
    tkl_consumer *c = calloc(1, sizeof *c);
    if (!c)
        return tkl__nomem();
    c->client = queues[0]->client;
    c->generation = tkl__fork_generation();
    c->bell = -1;
    tkl__turn_init(&c->turn);
    pthread_mutex_init(&c->mutex, NULL);
    rc = set_options(c, options);
    if (rc == TKL_OK)
        rc = open_sources(c, queues, count);
    if (rc != TKL_OK) {
        tkl_consumer_close(c);
        return rc;
    }
    *consumer = c;
    return TKL_OK;
}

/* Whether this is a forked child: the claims belong to the parent. */
static bool is_inherited(const tkl_consumer *c)
{
    return c->generation != tkl__fork_generation();
}

static int refuse_inherited(void)
{
    return tkl__fail(TKL_EINVAL, "the consumer belongs to the process that opened it");
}

/* Finds the sources whose last claim was not answered, except on servers that are away. */
static size_t find_unsure(const tkl_consumer *c, tkl__queue_source **found)
{
    size_t count = 0;
    for (size_t i = 0; i < c->nsources; i++)
        if (c->sources[i].unsure && !tkl__queue_is_away(&c->sources[i]))
            found[count++] = &c->sources[i];
    return count;
}

/* Gives up places in line and jobs that unanswered requests may have got. */
static void give_back(tkl_consumer *c)
{
    tkl__queue_source **unsure = calloc(c->nsources + 1, sizeof(tkl__queue_source *));
    tkl__queue_haul *haul = tkl__queue_haul_new();
    size_t count = unsure && haul ? find_unsure(c, unsure) : 0;
    if (count > 0) {
        int rc = tkl__queue_ask_leave(unsure, count, tkl__now() + TKL__QUEUE_PARTING_US, haul);
        (void)rc; /* their leases will end */
        tkl__queue_hand_back(c, haul, 0);
    }
    tkl_jobs_free(haul ? tkl__queue_haul_jobs(haul) : NULL);
    free(unsure);
}

void tkl_consumer_close(tkl_consumer *c)
{
    if (!c)
        return;
    bool inherited = is_inherited(c);
    if (c->sources && !inherited)
        give_back(c);
    for (size_t i = 0; !inherited && i < c->nsources; i++)
        tkl__unkeep_wait(c->client, &c->sources[i].kept);
    if (c->sources && !inherited)
        tkl__queue_part(c);
    for (size_t i = 0; i < c->nsources; i++) {
        free(c->sources[i].renewal.members);
        free(c->sources[i].renewal.args);
        tkl__buf_free(&c->sources[i].renewal.words);
        tkl__queue_tally_free(&c->sources[i].tally);
    }
    if (c->bell >= 0)
        close(c->bell);
    tkl__queue_claims_free(c);
    free(c->sources);
    free(c->queues);
    free(c->wait.ears);
    tkl__turn_destroy(&c->turn);
    pthread_mutex_destroy(&c->mutex);
    free(c);
}

/* ---- Reports ------------------------------------------------------------- */

/* A round trip to the server: reports, claims or both. Reports of done jobs go along with a claim
 * at almost no cost; other outcomes, and results that a caller wants, need one script each. */
typedef struct exchange {
    tkl_consumer *consumer;
    tkl_report *reports;
    size_t count;
    tkl__queue_finish *finishes;
    size_t nfinishes;
    tkl__queue_done *done;
    size_t ndone;
    tkl__queue_ask *asks; /* for done jobs, and room for a claim from each source */
    size_t nasks;
} exchange;

static int exchange_init(exchange *r, tkl_consumer *c, tkl_report *reports, size_t count)
{
    *r = (exchange){.consumer = c, .reports = reports, .count = count};
    for (size_t i = 0; i < count; i++)
        if (TKL__CHECK_RESERVED(&reports[i]) != TKL_OK)
            return TKL_EINVAL;
    r->finishes = calloc(count + 1, sizeof *r->finishes);
    r->done = calloc(count + 1, sizeof *r->done);
    r->asks = calloc(2 * c->nsources + count / TKL__QUEUE_RICH_MAX + 1, sizeof *r->asks);
    return r->finishes && r->done && r->asks ? TKL_OK : tkl__nomem();
}

static void exchange_free(exchange *r)
{
    free(r->finishes);
    free(r->done);
    free(r->asks);
}

/* Marks the claim as being reported. True: the report goes along with a claim, as `done`. */
static bool begin_report(tkl_consumer *c, const tkl_report *report, tkl__queue_done *done)
{
    tkl__queue_partition *partition = tkl__queue_claim_of(report->job, done->member);
    pthread_mutex_lock(&c->mutex);
    tkl__queue_claim *claim = partition ? tkl__queue_claim_find(c, partition, done->member) : NULL;
    bool simple =
        claim && !claim->reporting && !claim->answers && report->outcome == TKL_OUTCOME_DONE;
    if (claim)
        claim->reporting = true;
    if (simple) {
        done->source = (size_t)(claim->source - c->sources);
        done->rich = claim->rich;
        done->bytes = claim->bytes;
    }
    pthread_mutex_unlock(&c->mutex);
    return simple;
}

static int check_report(const tkl_report *report)
{
    const char *digits;
    int rc = tkl__queue_check_outcome(report->outcome, report->delay_ms);
    if (rc == TKL_OK)
        rc = tkl__check_number("run_us", report->run_us, 0, INT64_MAX);
    if (rc == TKL_OK && !tkl__queue_find_id(report->job->queue, report->job->id, &digits))
        rc = tkl__fail(TKL_EINVAL, "no id of this queue");
    return rc;
}

static void add_finish(exchange *r, size_t index)
{
    tkl_report *report = &r->reports[index];
    const char *digits;
    report->code = check_report(report);
    if (report->code != TKL_OK)
        return;
    tkl__queue_partition *partition =
        tkl__queue_find_id(report->job->queue, report->job->id, &digits);
    tkl__queue_finish *f = &r->finishes[r->nfinishes++];
    tkl__queue_finish_make(f, partition, digits, report->job->token, report->outcome, report->text,
                           report->delay_ms, true);
    f->report = index;
}

/* Sorts by source, rich jobs first, then in the server's order. */
static int by_claim(const void *a, const void *b)
{
    const tkl__queue_done *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->rich != y->rich)
        return x->rich ? -1 : 1;
    return strcmp(x->member, y->member);
}

/* Makes an ask for each source with done jobs; several when it has many. */
static void ask_for_done(exchange *r)
{
    qsort(r->done, r->ndone, sizeof *r->done, by_claim);
    for (size_t i = 0; i < r->ndone; i++) {
        tkl__queue_ask *last = r->nasks > 0 ? &r->asks[r->nasks - 1] : NULL;
        tkl__queue_source *source = &r->consumer->sources[r->done[i].source];
        size_t most = r->done[i].rich ? TKL__QUEUE_RICH_MAX : TKL__QUEUE_CLAIM_MAX;
        if (!last || last->source != source || last->ndone >= most) {
            last = &r->asks[r->nasks++];
            *last = (tkl__queue_ask){.source = source, .done = &r->done[i]};
        }
        last->ndone++;
    }
}

static void sort_reports(exchange *r)
{
    for (size_t i = 0; i < r->count; i++) {
        r->reports[i].code = TKL_OK;
        if (begin_report(r->consumer, &r->reports[i], &r->done[r->ndone]))
            r->done[r->ndone++].report = i;
        else
            add_finish(r, i);
    }
    ask_for_done(r);
}

/* With the mutex: counts an attempt for operators. */
static void count_attempt(tkl__queue_claim *claim, const tkl_report *report)
{
    tkl_consumer *c = claim->source->consumer;
    bool failed = report->outcome == TKL_OUTCOME_FAILED || report->outcome == TKL_OUTCOME_DEAD;
    int64_t run_us = report->run_us > 0 ? report->run_us : tkl__lease_now() - claim->claimed;
    c->done += report->outcome == TKL_OUTCOME_DONE;
    c->failed += failed;
    if (report->outcome != TKL_OUTCOME_RELEASED)
        tkl__queue_tally_run(&claim->source->tally, report->job->kind, run_us, failed);
}

/* Notes the outcome of a report. A repeated report may find the claim gone because the first
 * attempt counted: while the lease would still run, that is success. */
static void end_report(tkl_consumer *c, tkl_report *report, int code, bool repeated)
{
    char member[TKL__QUEUE_MEMBER_LEN + 1];
    tkl__queue_source *still = NULL;
    tkl__queue_partition *partition = tkl__queue_claim_of(report->job, member);
    pthread_mutex_lock(&c->mutex);
    tkl__queue_claim *claim = partition ? tkl__queue_claim_find(c, partition, member) : NULL;
    bool ours = claim ? (repeated || claim->unsure) && tkl__queue_claim_lasts(claim) : repeated;
    if (code == TKL_NOTOWNER && ours)
        code = TKL_OK;
    if (code == TKL_OK && claim)
        count_attempt(claim, report);
    if (claim && code >= 0) {
        tkl__queue_claim_forget(c, claim);
    } else if (claim) {
        still = claim->source;
        claim->reporting = false;
        claim->unsure = claim->unsure || code == TKL_EUNKNOWN || code == TKL_ETIMEOUT;
    }
    pthread_mutex_unlock(&c->mutex);
    report->code = code;
    if (still)
        tkl__queue_source_keep(still);
}

/* Index of the request that sent a report; the number of requests: it was not sent. */
static size_t request_of(const exchange *r, size_t report)
{
    for (size_t i = 0; i < r->nfinishes; i++)
        if (r->finishes[i].report == report)
            return i;
    for (size_t i = 0; i < r->nasks; i++)
        for (size_t k = 0; k < r->asks[i].ndone; k++)
            if (r->asks[i].done[k].report == report)
                return r->nfinishes + i;
    return r->nfinishes + r->nasks;
}

/* Returns the code of the first report that did not count, with its own error text. */
static int first_failure(const exchange *r, char *const *whys)
{
    size_t i = 0;
    while (i < r->count && r->reports[i].code == TKL_OK)
        i++;
    if (i == r->count)
        return TKL_OK;
    const tkl_report *report = &r->reports[i];
    size_t request = request_of(r, i);
    if (request == r->nfinishes + r->nasks)
        return check_report(report);
    return whys && whys[request] ? tkl__fail(report->code, "%s", whys[request])
                                 : tkl__no(report->code);
}

/* Sends all reports and claims in one round trip, and ends each report with its outcome. */
static void send_all(exchange *r, int64_t deadline, tkl__queue_haul *haul, char **whys)
{
    tkl__queue_batch batch = {.finishes = r->finishes,
                              .nfinishes = r->nfinishes,
                              .asks = r->asks,
                              .nasks = r->nasks,
                              .whys = whys};
    if (r->nfinishes + r->nasks > 0)
        tkl__queue_batch_run(r->consumer->client, &batch, deadline, haul);
    for (size_t i = 0; i < r->nfinishes; i++) {
        tkl__queue_finish *f = &r->finishes[i];
        end_report(r->consumer, &r->reports[f->report], f->code, f->repeated);
    }
    for (size_t i = 0; i < r->nasks; i++)
        for (size_t k = 0; k < r->asks[i].ndone; k++) {
            tkl__queue_ask *ask = &r->asks[i];
            int code = ask->code == TKL_OK && ask->done[k].stale ? TKL_NOTOWNER : ask->code;
            end_report(r->consumer, &r->reports[ask->done[k].report], code, ask->again);
        }
}

int tkl_consumer_finish(tkl_consumer *c, tkl_report *reports, size_t count)
{
    exchange r;
    if (is_inherited(c))
        return refuse_inherited();
    int rc = exchange_init(&r, c, reports, count);
    if (rc == TKL_OK) {
        sort_reports(&r);
        size_t requests = r.nfinishes + r.nasks;
        char **whys = calloc(requests + 1, sizeof *whys);
        send_all(&r, tkl__queue_consumer_deadline(c), NULL, whys);
        rc = first_failure(&r, whys);
        for (size_t i = 0; whys && i < requests; i++)
            free(whys[i]);
        free(whys);
    }
    exchange_free(&r);
    return rc;
}

/* If the reports fail, the leases of the damaged jobs end by themselves. */
void tkl__queue_bury_damaged(tkl_consumer *c, tkl__queue_haul *haul)
{
    const tkl__queue_damaged *damaged;
    size_t count = tkl__queue_haul_damaged(haul, &damaged);
    tkl__queue_finish *finishes = count > 0 ? calloc(count, sizeof *finishes) : NULL;
    if (!finishes)
        return;
    for (size_t i = 0; i < count; i++)
        tkl__queue_finish_make(&finishes[i], damaged[i].partition, damaged[i].id, damaged[i].token,
                               TKL_OUTCOME_DEAD, tkl_str("the record is damaged"), 0, false);
    tkl__queue_batch_run(c->client, &(tkl__queue_batch){.finishes = finishes, .nfinishes = count},
                         tkl__queue_ask_deadline(c), NULL);
    for (size_t i = 0; i < count; i++)
        if (finishes[i].code == TKL_OK && c->on_damaged) {
            char id[TKL_JOB_ID_SIZE];
            tkl__queue_show_id(damaged[i].partition, damaged[i].id, id);
            c->on_damaged(damaged[i].partition->queue, id, c->arg);
        }
    free(finishes);
}

void tkl__queue_hand_back(tkl_consumer *c, tkl__queue_haul *haul, size_t most)
{
    tkl_jobs *jobs = tkl__queue_haul_jobs(haul);
    size_t count = jobs->count > most ? jobs->count - most : 0;
    tkl_report *reports = count > 0 ? calloc(count, sizeof *reports) : NULL;
    for (size_t i = 0; reports && i < count; i++)
        reports[i] = (tkl_report){.job = &jobs->items[most + i], .outcome = TKL_OUTCOME_RELEASED};
    if (reports && tkl_consumer_finish(c, reports, count) < 0)
        count = 0; /* their leases will end */
    free(reports);
    tkl__queue_haul_cut(haul, most);
}

/* ---- Claiming ------------------------------------------------------------ */

/* Adds a claim to the ask that reports to the same source, or to a new ask. */
static void ask_for_jobs(exchange *r, tkl__queue_source *source, size_t max)
{
    tkl__queue_ask *ask = NULL;
    for (size_t i = 0; i < r->nasks; i++)
        if (r->asks[i].source == source)
            ask = &r->asks[i];
    if (!ask) {
        ask = &r->asks[r->nasks++];
        *ask = (tkl__queue_ask){.source = source};
    }
    tkl__queue_source_begin(source);
    ask->max = max;
}

/* Asks partitions of a queue, beginning with number `from` of their rotation, and shares `max`
 * among them. Returns how many. Skips partitions that are away, and then sets *missed. */
static size_t ask_partitions(exchange *r, tkl__queue_span span, size_t from, size_t max,
                             int *missed)
{
    size_t left = span.count - from, n = left < max ? left : max;
    for (size_t i = 0; i < n; i++) {
        size_t index = (from + i + r->consumer->rotation) % span.count;
        size_t share = max / n + (i < max % n);
        tkl__queue_source *source = &r->consumer->sources[span.first + index];
        if (source->unsure || tkl__queue_is_away(source))
            *missed = TKL_ENOTSENT;
        else
            ask_for_jobs(r, source, share);
    }
    return n;
}

/* Notes the outcome of the claims. Returns the first permanent error; a transient one goes to
 * *missed, because other partitions can still be asked. *more: another claim may find jobs now,
 * because a schedule has fired, because a script gave up after parking many jobs, or because no
 * record that it gave can be read. */
static int note_claims(const exchange *r, int64_t began, int *missed, bool *more)
{
    *more = false;
    for (size_t i = 0; i < r->nasks; i++) {
        const tkl__queue_ask *ask = &r->asks[i];
        if (ask->max == 0)
            continue;
        tkl__queue_note_reached(ask->source, ask->code, began);
        if (tkl_is_transient(ask->code))
            *missed = ask->code;
        else if (ask->code != TKL_OK)
            return ask->code;
        else
            *more |= ask->fired || ask->look_ms == 0;
    }
    return TKL_OK;
}

/* Lets cancel and interrupt end the next request. Called before a request of a claim that waits;
 * unheed_ends() is called after it. */
static void heed_ends(const tkl_consumer *c)
{
    tkl__heed(c->heeds_cancel ? &c->ends_at : NULL);
    if (c->heeds_interrupt)
        tkl__heed_interrupt(c->client);
}

static void unheed_ends(const tkl_consumer *c)
{
    tkl__heed(NULL);
    tkl__unheed_interrupt(c->client);
}

/* Claims from one queue after the other until there are jobs. The reports go with the first round
 * trip. Cancelling ends only round trips without reports: a report that is cut off would have to be
 * repeated. */
static int claim_now(exchange *r, size_t max, tkl__queue_haul *haul)
{
    tkl_consumer *c = r->consumer;
    int rc = TKL_OK, missed = TKL_OK;
    tkl__rounds rounds = {.idle = 0};
    for (size_t q = 0; rc == TKL_OK && q < c->nqueues; q++)
        for (size_t done = 0; rc == TKL_OK && done < c->queues[q].count;) {
            int64_t began = tkl__now();
            bool more;
            size_t asked = ask_partitions(r, c->queues[q], done, max, &missed);
            if (r->count == 0)
                heed_ends(c);
            send_all(r, tkl__queue_ask_deadline(c), haul, NULL);
            unheed_ends(c);
            rc = note_claims(r, began, &missed, &more);
            done += more ? 0 : asked;
            tkl__queue_bury_damaged(c, haul);
            r->nfinishes = r->nasks = r->count = 0;
            if (tkl__queue_haul_count(haul) > 0)
                return TKL_OK;
            if (rc == TKL_OK && more)
                rc = tkl__next_round(&rounds, c->client, 0, false);
        }
    if (rc != TKL_OK || missed == TKL_OK)
        return rc == TKL_OK ? TKL_EMPTY : rc;
    return c->nsources == 1 ? missed : tkl__fail(missed, "a server cannot be asked for jobs");
}

/* Fetches the jobs that claims without an answer have got. */
static int fetch_unsure(tkl_consumer *c, tkl__queue_haul *haul)
{
    bool any = false;
    for (size_t i = 0; i < c->nsources; i++)
        any = any || c->sources[i].unsure;
    if (!any)
        return TKL_OK;
    tkl__queue_source **unsure = calloc(c->nsources, sizeof(tkl__queue_source *));
    if (!unsure)
        return tkl__nomem();
    int64_t began = tkl__now();
    size_t count = find_unsure(c, unsure);
    heed_ends(c);
    int rc = tkl__queue_ask_leave(unsure, count, tkl__queue_ask_deadline(c), haul);
    unheed_ends(c);
    for (size_t i = 0; i < count; i++)
        tkl__queue_note_reached(unsure[i], unsure[i]->unsure ? rc : TKL_OK, began);
    free(unsure);
    return c->nsources > 1 && tkl_is_transient(rc) ? TKL_OK : rc;
}

/* Claims ready jobs, or waits for jobs until the deadline. Joining the line also claims: one round
 * trip less when there is one source and its channel is already listened to. */
static int claim_or_wait(exchange *r, size_t max, int64_t wait_ms, int64_t deadline,
                         tkl__queue_haul *haul)
{
    tkl_consumer *c = r->consumer;
    bool waits_at_once = wait_ms != 0 && !atomic_load(&c->ends_at) && r->count == 0 &&
                         c->nsources == 1 &&
                         tkl__hears(c->client, c->sources[0].partition->channel);
    int rc = waits_at_once ? TKL_EMPTY : claim_now(r, max, haul);
    if (wait_ms != 0 && (rc == TKL_EMPTY || tkl_is_transient(rc)))
        rc = tkl__queue_line_wait(c, max, deadline, haul);
    return rc;
}

/* With the turn: sends the reports and claims. When all jobs of a claim come too late, it claims
 * again, a few times. */
static int claim_next(exchange *r, size_t max, int64_t wait_ms, tkl__queue_haul *haul)
{
    tkl_consumer *c = r->consumer;
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    c->heeds_cancel = wait_ms != 0 && !atomic_load(&c->ends_at);
    c->heeds_interrupt = wait_ms != 0 && !tkl__is_interrupted(c->client);
    int rc = fetch_unsure(c, haul);
    if (rc != TKL_OK || tkl__queue_haul_count(haul) > 0) {
        send_all(r, tkl__queue_consumer_deadline(c), NULL, NULL);
        r->nfinishes = r->nasks = r->count = 0;
        if (wait_ms != 0 && (rc == TKL_EMPTY || tkl_is_transient(rc)))
            rc = tkl__queue_line_wait(c, max, deadline, haul);
    } else {
        rc = claim_or_wait(r, max, wait_ms, deadline, haul);
    }
    c->rotation++;
    for (int again = 0; tkl__queue_haul_count(haul) > 0; again++) {
        tkl__queue_confirm(c, haul);
        if (tkl__queue_haul_count(haul) > 0) {
            tkl__queue_hand_back(c, haul, max);
            return TKL_OK;
        }
        rc = again < LATE_MAX ? claim_or_wait(r, max, wait_ms, deadline, haul) : TKL_EMPTY;
    }
    return rc;
}

int tkl_consumer_next(tkl_consumer *c, tkl_report *reports, size_t count, size_t max,
                      int64_t wait_ms, tkl_jobs **jobs)
{
    exchange r;
    *jobs = NULL;
    if (is_inherited(c))
        return refuse_inherited();
    if (max == 0)
        return tkl__fail(TKL_EINVAL, "claim at least one job");
    if (max > TKL__QUEUE_CLAIM_MAX)
        max = TKL__QUEUE_CLAIM_MAX;
    tkl__queue_haul *haul = tkl__queue_haul_new();
    if (!haul)
        return tkl__nomem();
    int rc = tkl__turn_take_unless_cancelled(&c->turn);
    if (rc == TKL_OK) {
        rc = exchange_init(&r, c, reports, count);
        if (rc == TKL_OK) {
            sort_reports(&r);
            rc = claim_next(&r, max, wait_ms, haul);
        }
        exchange_free(&r);
        tkl__turn_end(&c->turn);
    }
    if (rc == TKL_OK)
        *jobs = tkl__queue_haul_jobs(haul);
    else
        tkl_jobs_free(tkl__queue_haul_jobs(haul));
    return rc == TKL_EMPTY ? tkl__no(rc) : rc;
}

int tkl_consumer_claim(tkl_consumer *c, size_t max, int64_t wait_ms, tkl_jobs **jobs)
{
    return tkl_consumer_next(c, NULL, 0, max, wait_ms, jobs);
}
