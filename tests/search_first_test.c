/* SPDX-License-Identifier: MIT
 *
 * Search: the first hits by relevance and by weights, which the server chooses without a look at all
 * of them, and ranges that begin and end between two rungs of a ladder, against a model that computes
 * the score of every document.
 *
 * ctest: cost 20
 */
#include <math.h>
#include <tackle/search.h>

#include "support/fixture.h"
#include "support/pages.h"

enum {
    ALL = 6000, /* enough for rungs */
    AT_ONCE = 500,
    WORDS = 240,
    LENGTH_MAX = 40,
    FIRST = 10,
};

/* The words begin with "a", "b" ...: each beginning has common and rare ones. */
typedef struct model_doc {
    int words[LENGTH_MAX];
    int length;
    unsigned char times[WORDS]; /* of each word */
    double votes, age;          /* NaN: missing */
} model_doc;

typedef struct world {
    fixture *f;
    tkl_search *search;
    model_doc docs[ALL];
    unsigned seed;
    double newest; /* is added to the age of new documents */
} world;

static unsigned draw(world *w, unsigned below)
{
    w->seed = w->seed * 1664525u + 1013904223u;
    return (w->seed >> 8) % below;
}

static void write_word(int word, char *to)
{
    sprintf(to, "%c%c%d", 'a' + word % 6, 'a' + word / 6 % 4, word);
}

/* The first words are in most documents, the last ones in few. */
static int some_word(world *w)
{
    unsigned span = 1 + draw(w, WORDS);
    return (int)draw(w, 1 + draw(w, span));
}

static void invent(world *w, model_doc *doc)
{
    doc->length = 1 + (int)draw(w, LENGTH_MAX);
    memset(doc->times, 0, sizeof doc->times);
    for (int i = 0; i < doc->length; i++)
        doc->times[doc->words[i] = some_word(w)]++;
    doc->votes = draw(w, 10) ? floor(1000.0 / (1 + draw(w, 300))) : (double)NAN;
    doc->age = draw(w, 10) ? w->newest + draw(w, 1000000) - 200000 : (double)NAN;
}

static void store(world *w, int from, int count)
{
    static char ids[AT_ONCE][16], texts[AT_ONCE][LENGTH_MAX * 8];
    tkl_search_value values[AT_ONCE][2];
    tkl_search_doc docs[AT_ONCE];
    for (int i = 0; i < count; i++) {
        model_doc *doc = &w->docs[from + i];
        size_t set = 0;
        invent(w, doc);
        sprintf(ids[i], "%d", from + i);
        texts[i][0] = 0;
        for (int k = 0; k < doc->length; k++) {
            write_word(doc->words[k], texts[i] + strlen(texts[i]));
            strcat(texts[i], " ");
        }
        if (!isnan(doc->votes))
            values[i][set++] = (tkl_search_value){.field = tkl_str("votes"), .number = doc->votes};
        if (!isnan(doc->age))
            values[i][set++] = (tkl_search_value){.field = tkl_str("age"), .number = doc->age};
        docs[i] = (tkl_search_doc){.id = tkl_str(ids[i]),
                                   .text = tkl_str(texts[i]),
                                   .values = values[i],
                                   .value_count = set};
    }
    assert_ok(tkl_search_add(w->search, docs, (size_t)count, NULL));
}

/* ---- The model ----------------------------------------------------------- */

typedef struct part {
    char text[8];
    bool prefix, synonym;
    bool words[WORDS]; /* those that it stands for */
} part;

typedef struct question {
    part parts[3];
    int count;
    double low, high; /* ages; infinite: open */
    char text[160];
} question;

/* Marks the words of a part. */
static void words_of_part(const part *p, bool *marks)
{
    char text[16];
    for (int word = 0; word < WORDS; word++) {
        write_word(word, text);
        marks[word] =
            p->prefix ? strncmp(text, p->text, strlen(p->text)) == 0 : strcmp(text, p->text) == 0;
    }
}

static void ask_something(world *w, question *q)
{
    *q = (question){
        .count = 1 + (int)draw(w, 3), .low = -(double)INFINITY, .high = (double)INFINITY};
    for (int i = 0; i < q->count; i++) {
        part *p = &q->parts[i];
        write_word((int)draw(w, 60), p->text); /* two to five bytes */
        p->prefix = draw(w, 2);
        p->synonym = i > 0 && draw(w, 3) == 0;
        if (p->prefix)
            p->text[1 + draw(w, 2)] = 0;
        words_of_part(p, p->words);
        sprintf(q->text + strlen(q->text), "%s%s%s ", p->synonym ? "+" : "", p->text,
                p->prefix ? "*" : "");
    }
    if (draw(w, 3) == 0)
        return;
    if (draw(w, 4))
        q->low = (double)draw(w, 1000000) - 300000 + (draw(w, 2) ? w->newest : 0);
    if (draw(w, 4) || isinf(q->low))
        q->high = fmax((double)draw(w, 1000000) - 100000 + w->newest, q->low);
    if (isinf(q->low))
        sprintf(q->text + strlen(q->text), "age:..%.0f", q->high);
    else if (isinf(q->high))
        sprintf(q->text + strlen(q->text), "age:%.0f..", q->low);
    else
        sprintf(q->text + strlen(q->text), "age:%.0f..%.0f", q->low, q->high);
}

/* Each word of a prefix counts 1, 2, 4 or 8 times, all together up to 32 times. */
static double times_of_part(const model_doc *doc, const part *p)
{
    int times = 0;
    for (int word = 0; word < WORDS; word++) {
        int has = p->words[word] ? doc->times[word] : 0;
        times += !p->prefix || has < 2 ? has : has < 4 ? 2 : has < 8 ? 4 : 8;
    }
    return p->prefix && times > 32 ? 32 : times;
}

static bool matches(const model_doc *doc, const question *q)
{
    bool ranged = !isinf(q->low) || !isinf(q->high);
    if (ranged && !(doc->age >= q->low && doc->age <= q->high))
        return false;
    for (int i = 0; i < q->count;) {
        bool any = false;
        do
            any = any || times_of_part(doc, &q->parts[i]) > 0;
        while (++i < q->count && q->parts[i].synonym);
        if (!any)
            return false;
    }
    return true;
}

/* The number of documents with the most frequent word of a part. */
static double documents_of(const world *w, const part *p)
{
    int most = 0;
    for (int word = 0; word < WORDS; word++) {
        int has = 0;
        for (int i = 0; p->words[word] && i < ALL; i++)
            has += w->docs[i].times[word] > 0;
        most = has > most ? has : most;
    }
    return most;
}

static bool is_repeated(const question *q, int index)
{
    for (int i = 0; i < index; i++)
        if (q->parts[i].prefix == q->parts[index].prefix &&
            strcmp(q->parts[i].text, q->parts[index].text) == 0)
            return true;
    return false;
}

/* BM25 with k1 = 1.2 and b = 0.75. */
static void add_relevance(const world *w, const question *q, double *scores)
{
    double words = 0;
    for (int i = 0; i < ALL; i++)
        words += w->docs[i].length;
    for (int k = 0; k < q->count; k++) {
        double has = documents_of(w, &q->parts[k]);
        double rarity = log(1 + (ALL - has + 0.5) / (has + 0.5));
        for (int i = 0; i < ALL && !is_repeated(q, k); i++) {
            double times = times_of_part(&w->docs[i], &q->parts[k]);
            double norm = 1.2 * (0.25 + 0.75 * w->docs[i].length * ALL / words);
            scores[i] += rarity * times * 2.2 / (times + norm);
        }
    }
}

static int by_score(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Each hit has its own score, and these are the greatest ones of all that match. */
static void check_first(world *w, const question *q, const char *order, double *scores)
{
    static double sorted[ALL];
    tkl_search_result *r;
    tkl_search_query_options options = {.order = tkl_str(order), .count = FIRST};
    int count = 0;
    for (int i = 0; i < ALL; i++)
        if (matches(&w->docs[i], q))
            sorted[count++] = scores[i];
    qsort(sorted, (size_t)count, sizeof *sorted, by_score);
    assert_ok(tkl_search_query(w->search, tkl_str(q->text), &options, &r));
    assert_true(r->exact);
    assert_int_equal(r->total, count);
    assert_int_equal(r->count, count < FIRST ? count : FIRST);
    for (size_t i = 0; i < r->count; i++) {
        long id = strtol(r->hits[i].id.data, NULL, 10);
        if (fabs(scores[id] - sorted[i]) > 1e-9 || fabs(r->hits[i].score - sorted[i]) > 1e-9)
            fail_msg("%sby \"%s\", hit %zu: document %ld has %.12g, is said to have %.12g, and "
                     "%.12g is the score of this place",
                     q->text, order, i, id, scores[id], r->hits[i].score, sorted[i]);
    }
    tkl_search_result_free(r);
}

/* One or two weights, positive or negative. */
static void check_weights(world *w, const question *q)
{
    static double scores[ALL];
    char order[64];
    double votes = draw(w, 2) ? 1.5 : -0.25, age = draw(w, 3) ? (draw(w, 2) ? 0.001 : -1) : 0;
    sprintf(order, age != 0 ? "votes=%g,age=%g" : "votes=%g", votes, age);
    for (int i = 0; i < ALL; i++) {
        const model_doc *doc = &w->docs[i];
        scores[i] =
            (isnan(doc->votes) ? 0 : votes * doc->votes) + (isnan(doc->age) ? 0 : age * doc->age);
    }
    check_first(w, q, order, scores);
}

static void check_queries(world *w, int count)
{
    static double scores[ALL];
    for (int i = 0; i < count; i++) {
        question q;
        ask_something(w, &q);
        memset(scores, 0, sizeof scores);
        add_relevance(w, &q, scores);
        check_first(w, &q, "", scores);
        check_weights(w, &q);
    }
}

static void first_hits_are_the_best(fixture *f, int shards, int queries)
{
    static const tkl_search_field fields[] = {
        {.name = TKL_LIT("votes"), .kind = TKL_SEARCH_FIELD_NUMERIC},
        {.name = TKL_LIT("age"), .kind = TKL_SEARCH_FIELD_NUMERIC}};
    static world w;
    w = (world){.f = f, .seed = 7};
    assert_ok(tkl_search_open(f->client, tkl_str("first"), NULL, &w.search));
    assert_ok(tkl_search_create(w.search, &(tkl_search_schema){.fields = fields,
                                                               .field_count = 2,
                                                               .no_stop_words = true,
                                                               .shards = shards}));
    for (int from = 0; from < ALL; from += AT_ONCE)
        store(&w, from, AT_ONCE);
    check_queries(&w, queries);
    store(&w, 1000, AT_ONCE); /* new versions get other numbers */
    check_queries(&w, queries);
    w.newest = 1000000; /* all new documents have greater ages, as times have */
    for (int from = 0; from < ALL / 2; from += AT_ONCE)
        store(&w, from, AT_ONCE);
    check_queries(&w, queries);
    assert_ok(tkl_search_drop(w.search));
    tkl_search_close(w.search);
}

static void first_hits_of_one_shard(void **state)
{
    first_hits_are_the_best(*state, 1, 60);
}

static void first_hits_of_several_shards(void **state)
{
    first_hits_are_the_best(*state, 3, 20);
}

/* ---- Work ---------------------------------------------------------------- */

/* Documents have one word often or the other one, none has both: the best combinations are empty.
 * That must not make the client compare all 8000 hits, 500 in one call. */
static void empty_combinations_are_passed_over(void **state)
{
    enum { MANY = 10000, CALLS = 10 };
    static char ids[AT_ONCE][16], texts[AT_ONCE][128];
    static tkl_search_doc docs[AT_ONCE];
    fixture *f = *state;
    tkl_search *s;
    tkl_search_result *r;
    assert_ok(tkl_search_open(f->client, tkl_str("empty"), NULL, &s));
    assert_ok(tkl_search_create(s, NULL));
    for (int i = 0; i < MANY; i++) {
        int at = i % AT_ONCE;
        sprintf(ids[at], "%d", i);
        strcpy(texts[at], i % 10 == 0   ? "cat cat cat cat fish"
                          : i % 10 == 1 ? "dog dog dog dog fish"
                                        : "cat dog");
        for (int k = 0; k < i % 9; k++)
            strcat(texts[at], " bird");
        docs[at] = (tkl_search_doc){.id = tkl_str(ids[at]), .text = tkl_str(texts[at])};
        if (at == AT_ONCE - 1)
            assert_ok(tkl_search_add(s, docs, AT_ONCE, NULL));
    }
    int64_t before = server_functions(f->server);
    assert_ok(tkl_search_query(s, tkl_str("cat dog"), NULL, &r));
    assert_in_range(server_functions(f->server) - before, 1, CALLS);
    assert_int_equal(r->total, MANY / 10 * 8);
    for (size_t i = 0; i < r->count; i++) /* without birds, the lowest numbers first */
        assert_true(strtol(r->hits[i].id.data, NULL, 10) % 9 == 0);
    tkl_search_result_free(r);
    assert_ok(tkl_search_drop(s));
    tkl_search_close(s);
}

/* ---- Ranges -------------------------------------------------------------- */

enum { RANGED = 5000 };

/* Document i has the word "cat", and the votes i times `factor`. */
static tkl_search *make_ranged(fixture *f, double factor)
{
    static const tkl_search_field votes = {.name = TKL_LIT("votes"),
                                           .kind = TKL_SEARCH_FIELD_NUMERIC};
    static char ids[AT_ONCE][16];
    tkl_search_value values[AT_ONCE];
    tkl_search_doc docs[AT_ONCE];
    tkl_search *s;
    assert_ok(tkl_search_open(f->client, tkl_str("ranged"), NULL, &s));
    assert_ok(tkl_search_create(s, &(tkl_search_schema){.fields = &votes, .field_count = 1}));
    for (int i = 0; i < RANGED; i++) {
        int at = i % AT_ONCE;
        sprintf(ids[at], "%d", i);
        values[at] = (tkl_search_value){.field = tkl_str("votes"), .number = factor * i};
        docs[at] = (tkl_search_doc){.id = tkl_str(ids[at]),
                                    .text = tkl_str("cat"),
                                    .values = &values[at],
                                    .value_count = 1};
        if (at == AT_ONCE - 1)
            assert_ok(tkl_search_add(s, docs, AT_ONCE, NULL));
    }
    return s;
}

/* As many changes as its predecessor had: bitmaps of that one are still kept. */
static void an_index_that_is_made_again_has_results_of_its_own(void **state)
{
    fixture *f = *state;
    tkl_search *s = make_ranged(f, 7);
    assert_int_equal(pages_count(s, "cat votes:..20000"), 20000 / 7 + 1);
    assert_ok(tkl_search_drop(s));
    tkl_search_close(s);
    s = make_ranged(f, 2);
    assert_int_equal(pages_count(s, "cat votes:..20000"), RANGED);
    assert_ok(tkl_search_drop(s));
    tkl_search_close(s);
}

static void a_range_of_any_size_may_be_excluded_or_a_synonym(void **state)
{
    static const int sizes[] = {1000, 1700, 2000, 2047, 2048, 2049, 3000, 4999};
    fixture *f = *state;
    tkl_search *s = make_ranged(f, 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char query[64];
        sprintf(query, "cat -votes:1..%d", sizes[i]);
        assert_int_equal(pages_count(s, query), RANGED - sizes[i]);
        sprintf(query, "dog +votes:1..%d", sizes[i]);
        assert_int_equal(pages_count(s, query), sizes[i]);
    }
    assert_ok(tkl_search_drop(s));
    tkl_search_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(first_hits_of_one_shard),
        TEST(first_hits_of_several_shards),
        TEST(empty_combinations_are_passed_over),
        TEST(an_index_that_is_made_again_has_results_of_its_own),
        TEST(a_range_of_any_size_may_be_excluded_or_a_synonym),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
