/* SPDX-License-Identifier: MIT
 *
 * Search in a hundred thousand documents of 20 words, which are as frequent as words are (Zipf):
 * queries sorted by a number, by relevance and by weights, top 10, beside RediSearch's FT.SEARCH of
 * the same documents (with --peers); indexing in batches; memory; further pages of a kept result.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tackle/tackle.h>

#include "bare.h"
#include "bench.h"
#include "ours.h"
#include "shelf.h"

enum {
    DOCUMENTS = 100000,
    MANY = 1000000,
    WORDS = 20,
    VOCABULARY = 50000,
    AT_ONCE = 1000,
    TEXT = 400,
};

/* ---- Documents ----------------------------------------------------------- */

static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A word of four to eight letters for each rank, all different. */
static char *write_word(uint64_t rank, char *to)
{
    static const char consonants[] = "bdfgklmnprstvwxz";
    static const char vowels[] = "aeio";
    uint64_t bits = (rank * 2654435761u) % 65536 + 65536 * (rank / 65536);
    for (int i = 0; i < 3; i++, bits /= 64) {
        *to++ = consonants[bits % 16];
        *to++ = vowels[bits / 16 % 4];
    }
    *to = 0;
    return to;
}

/* The rank of a word: the word of rank r is r times as rare as the first. */
static uint64_t draw_rank(uint64_t number)
{
    static double sums[VOCABULARY];
    if (sums[0] == 0)
        for (int i = 0; i < VOCABULARY; i++)
            sums[i] = (i ? sums[i - 1] : 0) + 1.0 / (i + 1);
    double at = (double)(mix(number) >> 11) / 9007199254740992.0 * sums[VOCABULARY - 1];
    int low = 0, high = VOCABULARY - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sums[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint64_t)low;
}

static void make_text(uint64_t number, char text[TEXT])
{
    char *at = text;
    for (uint64_t i = 0; i < WORDS; i++) {
        at = write_word(draw_rank(number * WORDS + i), at);
        *at++ = ' ';
    }
    at[-1] = 0;
}

static double votes_of(uint64_t number)
{
    return (double)(mix(number + 99) % 1000000);
}

/* ---- Queries ------------------------------------------------------------- */

typedef enum kind {
    ONE, /* these are sorted by the number */
    TWO,
    COMMON,
    WITHOUT,
    RARE,
    BEST_ONE, /* these by relevance */
    BEST_TWO,
    PREFIX,
    RANGE,
    WEIGHTS, /* by a weighted sum */
    KINDS,
} kind;

/* A query in the words of both. */
typedef struct question {
    char ours[96], theirs[96];
    const char *order; /* ours; "": by relevance */
} question;

/* Ranks of words: about 17000 to 170 documents have one of the first, all but a few hundred of a
 * hundred thousand the common ones. */
static void make_words(kind what, uint64_t number, char query[64])
{
    uint64_t a = mix(number * 2 + 1), b = mix(number * 2 + 2);
    char *at = query;
    if (what == ONE || what == RARE) {
        write_word(what == ONE ? 10 + a % 990 : 1000 + a % 9000, query);
        return;
    }
    uint64_t first = what == COMMON ? a % 20 : 10 + a % 190;
    uint64_t second = what == COMMON ? 20 + b % 20 : 200 + b % 200;
    at = write_word(what == WITHOUT ? second : first, at);
    *at++ = ' ';
    if (what == WITHOUT)
        *at++ = '-';
    write_word(what == WITHOUT ? first : second, at);
}

/* A range has half of the documents, and another end each time: its bitmap is never there. */
static void make_question(kind what, uint64_t number, question *q)
{
    kind words = what == BEST_TWO                     ? TWO
                 : what == RANGE || what == WEIGHTS   ? COMMON
                 : what == BEST_ONE || what == PREFIX ? ONE
                                                      : what;
    make_words(words, number, q->ours);
    if (what == PREFIX)
        strcpy(q->ours + 3, "*");
    if (what == RANGE || what == WEIGHTS)
        *strchr(q->ours, ' ') = 0; /* the first word only */
    strcpy(q->theirs, q->ours);
    if (what == RANGE) {
        int low = 500000 + (int)(number % 1000);
        sprintf(q->ours + strlen(q->ours), " votes:%d..", low);
        sprintf(q->theirs + strlen(q->theirs), " @votes:[%d +inf]", low);
    }
    q->order = what == WEIGHTS ? "votes=2" : what < BEST_ONE ? "-votes" : "";
}

/* ---- Ours ---------------------------------------------------------------- */

static void fill_index(tkl_search *search, uint64_t count)
{
    static char texts[AT_ONCE][TEXT], ids[AT_ONCE][24];
    static tkl_search_doc docs[AT_ONCE];
    static tkl_search_value values[AT_ONCE];
    for (uint64_t n = 0; n < count; n += AT_ONCE) {
        for (uint64_t i = 0; i < AT_ONCE; i++) {
            make_text(n + i, texts[i]);
            snprintf(ids[i], sizeof ids[i], "doc:%llu", (unsigned long long)(n + i));
            values[i] = (tkl_search_value){.field = tkl_str("votes"), .number = votes_of(n + i)};
            docs[i] = (tkl_search_doc){.id = tkl_str(ids[i]),
                                       .text = tkl_str(texts[i]),
                                       .values = &values[i],
                                       .value_count = 1};
        }
        check(tkl_search_add(search, docs, AT_ONCE, NULL));
    }
}

static tkl_search *make_index(tkl_client *client)
{
    tkl_search *search;
    tkl_search_field votes = {.name = tkl_str("votes"), .kind = TKL_SEARCH_FIELD_NUMERIC};
    check(tkl_search_open(client, tkl_str("docs"), NULL, &search));
    check(tkl_search_create(search, &(tkl_search_schema){.fields = &votes, .field_count = 1}));
    return search;
}

static bench_shelf *filled(uint64_t count)
{
    static bench_shelf *shelves[2];
    bench_shelf **shelf = &shelves[count == MANY];
    if (!*shelf) {
        *shelf = shelf_open();
        tkl_search *search = make_index((*shelf)->client);
        fill_index(search, count);
        tkl_search_close(search);
    }
    return *shelf;
}

typedef struct querying {
    tkl_client *client;
    tkl_search *search;
    kind what;
    uint64_t number;
} querying;

static querying *new_querying(kind what, bench_worker *worker)
{
    querying *q = calloc(1, sizeof *q);
    if (!q)
        bench_die("out of memory");
    q->what = what;
    worker->own = q;
    return q;
}

static void ours_open(bench_worker *worker, kind what, uint64_t documents)
{
    querying *q = new_querying(what, worker);
    check(tkl_open(filled(documents)->url, NULL, &q->client));
    check(tkl_search_open(q->client, tkl_str("docs"), NULL, &q->search));
}

static void ours_step(bench_worker *worker)
{
    querying *q = worker->own;
    question asked;
    tkl_search_result *result;
    make_question(q->what, q->number++, &asked);
    check(tkl_search_query(q->search, tkl_str(asked.ours),
                           &(tkl_search_query_options){.order = tkl_str(asked.order)}, &result));
    tkl_search_result_free(result);
}

static void ours_close(bench_worker *worker)
{
    querying *q = worker->own;
    tkl_search_close(q->search);
    tkl_close(q->client);
    free(q);
}

#define OPENS(name, what)                         \
    static void ours_##name(bench_worker *worker) \
    {                                             \
        ours_open(worker, what, DOCUMENTS);       \
    }                                             \
    static void peer_##name(bench_worker *worker) \
    {                                             \
        peer_open(worker, what);                  \
    }

/* ---- RediSearch ---------------------------------------------------------- */

static void add_peer(tkl_pipeline *pipeline, uint64_t number)
{
    char text[TEXT], id[24], votes[24];
    make_text(number, text);
    snprintf(id, sizeof id, "doc:%llu", (unsigned long long)number);
    snprintf(votes, sizeof votes, "%.0f", votes_of(number));
    check(tkl_pipeline_addz(pipeline, "FT.ADD", "docs", id, "1.0", "FIELDS", "text", text, "votes",
                            votes, NULL));
}

static void fill_peer(bench_shelf *shelf, uint64_t from, uint64_t count)
{
    for (uint64_t n = from; n < from + count; n += AT_ONCE) {
        tkl_pipeline *pipeline;
        tkl_reply *replies;
        check(tkl_pipeline_open(shelf->client, NULL, &pipeline));
        for (uint64_t i = 0; i < AT_ONCE; i++)
            add_peer(pipeline, n + i);
        check(tkl_pipeline_run(pipeline, NULL, &replies));
        for (size_t i = 0; i < tkl_reply_count(replies); i++)
            check(tkl_reply_code(tkl_reply_at(replies, i)));
        tkl_reply_free(replies);
        tkl_pipeline_close(pipeline);
    }
}

/* The time of indexing and the memory of the one index, which is made once. */
static double peer_rate, peer_bytes;

static bench_shelf *peer(void)
{
    static bench_shelf *shelf;
    if (shelf)
        return shelf;
    shelf = shelf_with_search();
    if (!shelf)
        bench_die("redis-redisearch is not installed: tools/setup peers");
    check(tkl_callz(shelf->client, NULL, "FT.CREATE", "docs", "SCHEMA", "text", "TEXT", "NOSTEM",
                    "votes", "NUMERIC", "SORTABLE", NULL));
    double before = shelf_memory(shelf);
    int64_t start = bench_now_ns();
    fill_peer(shelf, 0, DOCUMENTS);
    peer_rate = DOCUMENTS / ((double)(bench_now_ns() - start) / 1e9);
    peer_bytes = (shelf_memory(shelf) - before) / DOCUMENTS;
    return shelf;
}

static void peer_open(bench_worker *worker, kind what)
{
    querying *q = new_querying(what, worker);
    check(tkl_open(peer()->url, NULL, &q->client));
}

static void peer_step(bench_worker *worker)
{
    querying *q = worker->own;
    question asked;
    make_question(q->what, q->number++, &asked);
    if (*asked.order)
        check(tkl_callz(q->client, NULL, "FT.SEARCH", "docs", asked.theirs, "NOCONTENT", "SORTBY",
                        "votes", "DESC", "LIMIT", "0", "10", NULL));
    else
        check(tkl_callz(q->client, NULL, "FT.SEARCH", "docs", asked.theirs, "NOCONTENT", "LIMIT",
                        "0", "10", NULL));
}

static void peer_close(bench_worker *worker)
{
    querying *q = worker->own;
    tkl_close(q->client);
    free(q);
}

OPENS(one, ONE)
OPENS(two, TWO)
OPENS(common, COMMON)
OPENS(without, WITHOUT)
OPENS(rare, RARE)

/* ---- Processor time ------------------------------------------------------ */

static void ours_query(void *arg, uint64_t number)
{
    querying *q = arg;
    bench_worker worker = {.own = q};
    q->number = number;
    ours_step(&worker);
}

static void peer_query(void *arg, uint64_t number)
{
    querying *q = arg;
    bench_worker worker = {.own = q};
    q->number = number;
    peer_step(&worker);
}

static double ours_us(kind what, uint64_t documents)
{
    bench_shelf *shelf = filled(documents);
    querying q = {.client = shelf->client, .what = what};
    check(tkl_search_open(q.client, tkl_str("docs"), NULL, &q.search));
    double us = shelf_cpu_us(shelf, ours_query, &q);
    tkl_search_close(q.search);
    return us;
}

static double peer_us(kind what)
{
    querying q = {.client = peer()->client, .what = what};
    return shelf_cpu_us(peer(), peer_query, &q);
}

#define TIMES(name, what)                                      \
    static double ours_us_##name(const bench_run *run)         \
    {                                                          \
        (void)run;                                             \
        return ours_us(what, DOCUMENTS);                       \
    }                                                          \
    static double many_us_##name(const bench_run *run)         \
    {                                                          \
        return ours_us(what, run->lengthy ? MANY : DOCUMENTS); \
    }                                                          \
    static double peer_us_##name(const bench_run *run)         \
    {                                                          \
        (void)run;                                             \
        return peer_us(what);                                  \
    }

TIMES(one, ONE)
TIMES(two, TWO)
TIMES(common, COMMON)
TIMES(without, WITHOUT)
TIMES(rare, RARE)
TIMES(best_one, BEST_ONE)
TIMES(best_two, BEST_TWO)
TIMES(prefix, PREFIX)
TIMES(range, RANGE)
TIMES(weights, WEIGHTS)

/* ---- Kept results -------------------------------------------------------- */

static void kept_open(bench_worker *worker)
{
    tkl_search_result *result;
    ours_open(worker, COMMON, DOCUMENTS);
    querying *q = worker->own;
    char query[64];
    make_words(COMMON, 1, query);
    check(tkl_search_query(
        q->search, tkl_str(query),
        &(tkl_search_query_options){.order = tkl_str("-votes"), .keep_ms = 600000}, &result));
    tkl_search_result_free(result);
}

static void kept_step(bench_worker *worker)
{
    querying *q = worker->own;
    char query[64];
    tkl_search_result *result;
    make_words(COMMON, 1, query);
    check(tkl_search_query(q->search, tkl_str(query),
                           &(tkl_search_query_options){.order = tkl_str("-votes"),
                                                       .offset = 10 * (int64_t)(q->number++ % 9),
                                                       .keep_ms = 600000},
                           &result));
    if (!result->kept)
        bench_die("not kept");
    tkl_search_result_free(result);
}

/* The same number of members out of a sorted set of the same size. */
static void zrange_open(bench_worker *worker)
{
    redisContext *c = bare_connect(filled(DOCUMENTS)->socket);
    for (int i = 0; i < 110; i++) {
        char score[16], member[64];
        snprintf(score, sizeof score, "%d", i);
        snprintf(member, sizeof member, "doc:%05d-with-the-length-of-a-record", i);
        const char *words[] = {"ZADD", "bare", score, member};
        bare_call(c, 4, words);
    }
    worker->own = c;
}

static void zrange_step(bench_worker *worker)
{
    char first[16], last[16];
    int offset = 10 * (int)(worker->steps % 9);
    snprintf(first, sizeof first, "%d", offset);
    snprintf(last, sizeof last, "%d", offset + 9);
    const char *words[] = {"ZRANGE", "bare", first, last};
    bare_call(worker->own, 4, words);
}

/* ---- Indexing and memory ------------------------------------------------- */

typedef struct made {
    double rate;  /* documents a second */
    double bytes; /* bytes of a document */
} made;

static made make_all(const tkl_search_schema *more)
{
    bench_shelf *shelf = shelf_open();
    tkl_search *search;
    tkl_search_field votes = {.name = tkl_str("votes"), .kind = TKL_SEARCH_FIELD_NUMERIC};
    tkl_search_schema schema = *more;
    schema.fields = &votes;
    schema.field_count = 1;
    check(tkl_search_open(shelf->client, tkl_str("docs"), NULL, &search));
    check(tkl_search_create(search, &schema));
    double before = shelf_memory(shelf);
    int64_t start = bench_now_ns();
    fill_index(search, DOCUMENTS);
    made m = {.rate = DOCUMENTS / ((double)(bench_now_ns() - start) / 1e9)};
    m.bytes = (shelf_memory(shelf) - before) / DOCUMENTS;
    tkl_search_close(search);
    tkl_close(shelf->client);
    return m;
}

/* Made once: it takes seconds. */
static made plain_made(void)
{
    static made m;
    if (m.rate == 0)
        m = make_all(&(tkl_search_schema){.no_text = false});
    return m;
}

static made bare_made(void)
{
    static made m;
    if (m.rate == 0)
        m = make_all(&(tkl_search_schema){.no_text = true});
    return m;
}

static double index_plain(const bench_run *run)
{
    (void)run;
    return plain_made().rate;
}

static double index_peer(const bench_run *run)
{
    (void)run;
    peer();
    return peer_rate;
}

static double bytes_plain(const bench_run *run)
{
    (void)run;
    return plain_made().bytes;
}

static double bytes_bare(const bench_run *run)
{
    (void)run;
    return bare_made().bytes;
}

static double bytes_peer(const bench_run *run)
{
    (void)run;
    peer();
    return peer_bytes;
}

/* ---- Cases --------------------------------------------------------------- */

/* The servers are started by the main thread: they end with the thread that started them. */
static void ours_setup(bench_run *run, const bench_contender *self)
{
    (void)run, (void)self;
    filled(DOCUMENTS);
}

static void peer_setup(bench_run *run, const bench_contender *self)
{
    (void)run, (void)self;
    peer();
}

#define OURS(which)                                                                     \
    {                                                                                   \
        .name = "tackle", .setup = ours_setup, .open = ours_##which, .step = ours_step, \
        .close = ours_close                                                             \
    }
#define THEIRS(which)                                                               \
    {                                                                               \
        .name = "FT.SEARCH", .role = BENCH_PEER, .outdone = 5, .setup = peer_setup, \
        .open = peer_##which, .step = peer_step, .close = peer_close                \
    }
#define TIME(title, which)                                                        \
    {                                                                             \
        .name = title, .unit = "us", .contenders = {                              \
            {.name = "tackle", .measure = ours_us_##which},                       \
            {.name = "FT.SEARCH", .role = BENCH_PEER, .measure = peer_us_##which} \
        }                                                                         \
    }
/* A million documents take minutes to index: with --long. */
#define GROWTH(title, which)                                     \
    {                                                            \
        .name = title, .unit = "us", .contenders = {             \
            {.name = "of 100000", .measure = ours_us_##which},   \
            {.name = "of 1 million", .measure = many_us_##which} \
        }                                                        \
    }

static const bench_case cases[] = {
    {.name = "search one word, sorted, top 10",
     .unit = "ops/s",
     .contenders = {OURS(one), THEIRS(one)}},
    {.name = "search two words, sorted, top 10",
     .unit = "ops/s",
     .contenders = {OURS(two), THEIRS(two)}},
    {.name = "search two common words, sorted, top 10",
     .unit = "ops/s",
     .contenders = {OURS(common), THEIRS(common)}},
    {.name = "search one word without another, sorted, top 10",
     .unit = "ops/s",
     .contenders = {OURS(without), THEIRS(without)}},
    {.name = "search a rare word, sorted, top 10",
     .unit = "ops/s",
     .contenders = {OURS(rare), THEIRS(rare)}},
    {.name = "search, a further page of a kept result",
     .unit = "ops/s",
     .at_least = 1 / 1.2,
     .contenders = {{.name = "tackle",
                     .setup = ours_setup,
                     .open = kept_open,
                     .step = kept_step,
                     .close = ours_close},
                    {.name = "ZRANGE",
                     .role = BENCH_LIMIT,
                     .setup = ours_setup,
                     .open = zrange_open,
                     .step = zrange_step,
                     .close = bare_close}}},
    {.name = "search indexing of documents, batches of 1000",
     .unit = "docs/s",
     .contenders = {{.name = "tackle", .measure = index_plain},
                    {.name = "FT.ADD", .role = BENCH_PEER, .measure = index_peer}}},
    {.name = "search memory of a document",
     .unit = "bytes",
     .contenders = {{.name = "with its text", .measure = bytes_plain},
                    {.name = "without", .measure = bytes_bare},
                    {.name = "RediSearch", .role = BENCH_PEER, .measure = bytes_peer}}},
    TIME("search one word, the server's processor time", one),
    TIME("search two words, the server's processor time", two),
    TIME("search two common words, the server's processor time", common),
    TIME("search one word without another, the server's processor time", without),
    TIME("search a rare word, the server's processor time", rare),
    TIME("search one word by relevance, the server's processor time", best_one),
    TIME("search two words by relevance, the server's processor time", best_two),
    TIME("search a prefix by relevance, the server's processor time", prefix),
    TIME("search a common word and half of a range, the server's processor time", range),
    TIME("search a common word by a weight, the server's processor time", weights),
    GROWTH("search growth: one word", one),
    GROWTH("search growth: two words", two),
    GROWTH("search growth: two common words", common),
    GROWTH("search growth: one word without another", without),
    GROWTH("search growth: a rare word", rare),
    GROWTH("search growth: one word by relevance", best_one),
    GROWTH("search growth: two words by relevance", best_two),
    GROWTH("search growth: a prefix by relevance", prefix),
    GROWTH("search growth: a common word and half of a range", range),
    GROWTH("search growth: a common word by a weight", weights),
    {.name = NULL},
};

const bench_component search_bench = {"search", cases};
