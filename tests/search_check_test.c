/* SPDX-License-Identifier: MIT
 *
 * Search: damage of all kinds is found and mended, also while others write.
 *
 * ctest: cost 20
 * ctest: label threads
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "support/pages.h"
#include "support/wreck.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define PAGES        600
#define AT_ONCE      560

/* ---- Checking ------------------------------------------------------------ */

static int64_t mended(const tkl_search_checked *c)
{
    return c->postings + c->values + c->counts + c->ids + c->lost;
}

static void fail_with(const char *what, const tkl_search_checked *c)
{
    fail_msg("%s: postings %d, values %d, counts %d, ids %d, lost %d", what, (int)c->postings,
             (int)c->values, (int)c->counts, (int)c->ids, (int)c->lost);
}

/* Fails unless there is nothing to mend. */
static void assert_clean(tkl_search *s, const char *what)
{
    tkl_search_checked c;
    assert_ok(tkl_search_check(s, &c));
    if (mended(&c))
        fail_with(what, &c);
}

/* Pages "doc0" and so on, whose numbers are those in their names. They have some words in common,
 * every third has "kiwi" several times. */
static void add_pages(tkl_search *s)
{
    tkl_search_doc *docs = calloc(PAGES, sizeof *docs);
    tkl_search_value *values = calloc(2 * PAGES, sizeof *values);
    char(*store)[3][64] = calloc(PAGES, sizeof *store);
    for (int i = 0; i < PAGES; i++) {
        sprintf(store[i][0], "doc%d", i);
        sprintf(store[i][1], "common w%d v%d%s", i % 3, i, i % 3 ? "" : " kiwi kiwi kiwi");
        sprintf(store[i][2], "Title %d", i % 7);
        values[2 * i] = (tkl_search_value){.field = tkl_str("votes"), .number = i * 37 % 1000};
        values[2 * i + 1] =
            (tkl_search_value){.field = tkl_str("title"), .text = tkl_str(store[i][2])};
        docs[i] = (tkl_search_doc){.id = tkl_str(store[i][0]),
                                   .text = tkl_str(store[i][1]),
                                   .values = values + 2 * i,
                                   .value_count = 2};
    }
    assert_ok(tkl_search_add(s, docs, AT_ONCE, NULL));
    for (int i = AT_ONCE; i < PAGES; i++) /* every 16th write looks after the ladders */
        assert_ok(tkl_search_add(s, &docs[i], 1, NULL));
    free(docs);
    free(values);
    free(store);
    tkl_bytes last[] = {TKL_LIT("doc598"), TKL_LIT("doc599")};
    assert_ok(tkl_search_remove(s, last, 2, NULL)); /* their numbers are free */
    for (int i = 0; i < 20; i++)                    /* every 16th write looks after the ladders */
        assert_ok(tkl_search_remove(s, last, 2, NULL));
}

static void a_healthy_index_is_clean(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    tkl_search_info *info;
    tkl_search_checked c;
    assert_clean(s, "empty");
    add_pages(s);
    assert_ok(tkl_search_check(s, &c));
    if (mended(&c))
        fail_with("full", &c);
    assert_int_equal(c.documents, PAGES - 2);
    assert_ok(tkl_search_show(s, &info));
    assert_true(llabs(info->clean_at_ms - (int64_t)time(NULL) * 1000) < 3600000);
    assert_true(c.terms > info->terms);
    tkl_search_info_free(info);
    assert_ok(tkl_search_check(s, NULL));
    tkl_search_close(s);
}

static void an_index_that_was_never_checked_says_so(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL), *other;
    tkl_search_info *info;
    tkl_search_checked c;
    assert_ok(tkl_search_show(s, &info));
    assert_int_equal(info->clean_at_ms, 0);
    tkl_search_info_free(info);
    assert_ok(tkl_search_open(f->client, tkl_str("none"), NULL, &other));
    assert_code(tkl_search_check(other, &c), TKL_NOTFOUND);
    assert_int_equal(c.documents, 0);
    tkl_search_close(other);
    tkl_search_close(s);
}

/* ---- Damage -------------------------------------------------------------- */

/* Each leaves the records and terms of the documents as they are, so all comes back. */
static const char *const damages[] = {
    /* Words in bitmaps and in sets, words that documents have several times, lengths */
    "DEL t:wcommon",
    "SETBIT t:wcommon 5 0",
    "SETBIT t:ww1 3 1",
    "SETBIT t:wcommon 599 1",
    "DEL t:wv7",
    "SADD t:wv7 9",
    "SADD t:wv7 junk",
    "SADD t:wv7 4000000",
    "SREM t:wv7 7",
    "DEL t:m2kiwi",
    "SETBIT t:m2kiwi 1 1",
    "SADD t:m4kiwi 3",
    "DEL t:l6",
    "SETBIT t:l6 3 1",
    "SADD t:l40 3",
    "DEL t:vtitle*",
    /* Counts */
    "HDEL common wcommon",
    "HSET common wcommon 3",
    "HSET common wcommon junk",
    "HSET common wnothing 4",
    "HSET common m2nothing 4",
    "HSET common junk 4",
    "HINCRBY meta docs 3",
    "HINCRBY meta words -7",
    "HDEL meta docs",
    "HDEL meta words",
    "HSET meta words junk",
    "ZREM terms wv7",
    "ZREM terms wcommon",
    "ZADD terms 0 wnothing",
    /* Ids and numbers */
    "SETBIT live 5 0",
    "HDEL ids doc5",
    "HSET ids doc5 6",
    "HSET ids doc5 junk",
    "HSET ids ghost 5",
    "HSET ids ghost 5000",
    "HSET ids ghost 599",
    "SADD free 5",
    "SREM free 599",
    "ZADD dead 1 5",
    "SETBIT live 599 1",
    "HSET forward 599 rest",
    "HSET docs 599 rest",
    /* Fields */
    "ZREM f:votes 5",
    "ZADD f:votes 1 5",
    "ZADD f:votes inf 5",
    "ZADD f:votes 9 599",
    "ZADD f:votes 9 junk",
    "ZADD f:title 9 5",
    "ZADD f:title 9 junk",
    "SETBIT step:votes:top:1 3 1",
    "SETBIT step:votes:low:1 0 0",
    /* Whole keys */
    "DEL ids",
    "DEL live",
    "DEL terms",
    "DEL common",
    "DEL f:votes",
    "DEL f:title",
    "DEL free",
};

/* Queries whose plans use what may be damaged. */
static void check_answers(tkl_search *s)
{
    assert_int_equal(pages_count(s, "*"), PAGES - 2);
    assert_int_equal(pages_count(s, "common"), PAGES - 2);
    assert_int_equal(pages_count(s, "common -w1"), 399);
    assert_int_equal(pages_count(s, "kiwi votes:>=500"), 110);
    pages_check(s, "v7 common", 1, "doc7");
    pages_check_page(s, "common",
                     &(tkl_search_query_options){.order = tkl_str("-votes"), .count = 3}, PAGES - 2,
                     "doc27 doc54 doc81");
    pages_check_page(s, "common",
                     &(tkl_search_query_options){.order = tkl_str("votes"), .count = 3}, PAGES - 2,
                     "doc0 doc595 doc568");
}

static void damage_of_all_kinds_is_mended(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    add_pages(s);
    check_answers(s);
    char *before = wreck_contents(f);
    for (size_t i = 0; i < COUNT(damages); i++) {
        tkl_search_checked c;
        wreck_do(f, damages[i]);
        int rc = tkl_search_check(s, &c);
        if (rc != TKL_OK)
            fail_msg("%s: %s: %s", damages[i], tkl_strerror(rc), tkl_errmsg());
        if (mended(&c) == 0 || c.lost)
            fail_with(damages[i], &c);
        char *after = wreck_contents(f);
        if (strcmp(before, after) != 0)
            fail_msg("%s: not as before", damages[i]);
        free(after);
    }
    assert_clean(s, "all, one by one");
    check_answers(s);
    free(before);
    tkl_search_close(s);
}

static void much_damage_at_once_is_mended(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    add_pages(s);
    char *before = wreck_contents(f);
    for (size_t i = 0; i < COUNT(damages); i++)
        if (strcmp(damages[i], "ZADD dead 1 5") != 0) /* with :live gone, it would be dead */
            wreck_do(f, damages[i]);
    assert_ok(tkl_search_check(s, NULL));
    assert_clean(s, "all at once");
    char *after = wreck_contents(f);
    assert_string_equal(after, before);
    check_answers(s);
    free(before);
    free(after);
    tkl_search_close(s);
}

static void a_document_that_lost_a_part_is_removed(void **state)
{
    static const char *const parts[] = {"HDEL forward 5", "HDEL docs 5", "HSET docs 5 x"};
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    add_pages(s);
    for (size_t i = 0; i < COUNT(parts); i++) {
        tkl_search_checked c;
        wreck_do(f, parts[i]);
        assert_ok(tkl_search_check(s, &c));
        assert_int_equal(c.lost, 1);
        assert_clean(s, parts[i]);
        assert_int_equal(pages_count(s, "*"), PAGES - 3);
        assert_int_equal(pages_count(s, "common"), PAGES - 3);
        assert_int_equal(pages_count(s, "v5"), 0);
        wreck_do(f, "DEL free"); /* so that a new document gets the number again */
        wreck_do(f, "SADD free 5");
        pages_add(s, "doc5", "common w2 v5", 5 * 37, "Title 5");
        wreck_do(f, "SADD free 598 599");
        check_answers(s);
        assert_clean(s, parts[i]);
    }
    tkl_search_close(s);
}

/* Terms in pieces, with positions. */
static void long_documents_are_mended(void **state)
{
    fixture *f = *state;
    tkl_search_schema schema = {.positions = true, .no_stop_words = true};
    tkl_search *s = pages_open(f, &schema);
    tkl_search_checked c;
    char *text = malloc(9000 * 8), *at = text;
    for (int i = 0; i < 9000; i++)
        at += sprintf(at, "a%x ", i % 8000);
    tkl_search_doc docs[] = {{.id = tkl_str("long"), .text = tkl_str(text)},
                             {.id = tkl_str("short"), .text = tkl_str("a77 a1 b")}};
    assert_ok(tkl_search_add(s, docs, 2, NULL));
    assert_clean(s, "long");
    char *before = wreck_contents(f);
    wreck_do(f, "SREM t:wa77 0 1");
    wreck_do(f, "SADD t:wb 1");
    wreck_do(f, "DEL t:m2a1");
    assert_ok(tkl_search_check(s, &c));
    assert_int_equal(c.postings, 4);
    assert_clean(s, "mended");
    char *after = wreck_contents(f);
    assert_string_equal(after, before);
    wreck_do(f, "HDEL forward 1:2");
    assert_ok(tkl_search_check(s, &c));
    assert_int_equal(c.lost, 1);
    assert_clean(s, "lost");
    pages_check_page(s, "a77", NULL, 1, "short");
    free(text);
    free(before);
    free(after);
    tkl_search_close(s);
}

/* Terms that are too long for all documents of a word to be compared in one step. */
static void words_of_many_long_documents_are_mended(void **state)
{
    enum { LONG = 160, WORDS = 10000, WITHOUT = 150 };
    fixture *f = *state;
    tkl_search_schema schema = {.positions = true, .no_stop_words = true};
    tkl_search *s = pages_open(f, &schema);
    tkl_search_checked c;
    char *text = malloc(WORDS * 5 + 64), id[16];
    for (int i = 0; i < LONG; i++) {
        char *at = text + sprintf(text, i == WITHOUT ? "other " : "most ");
        for (int k = 0; k < WORDS; k++)
            at += sprintf(at, "b%d ", k % 20);
        sprintf(id, "%d", i);
        tkl_search_doc doc = {.id = tkl_str(id), .text = tkl_str(text)};
        assert_ok(tkl_search_add(s, &doc, 1, NULL));
    }
    assert_clean(s, "long");
    char *before = wreck_contents(f);
    wreck_do(f, "SETBIT t:wmost 150 1");
    wreck_do(f, "SETBIT t:wmost 7 0");
    wreck_do(f, "SETBIT t:m8b19 159 0");
    wreck_do(f, "SADD t:wother 3 100 159");
    assert_ok(tkl_search_check(s, &c));
    assert_int_equal(c.postings, 6);
    assert_int_equal(c.lost, 0);
    assert_clean(s, "mended");
    char *after = wreck_contents(f);
    assert_string_equal(after, before);
    free(text);
    free(before);
    free(after);
    tkl_search_close(s);
}

static void all_shards_are_checked(void **state)
{
    fixture *f = *state;
    tkl_search_schema schema = {.shards = 3};
    tkl_search *s = pages_open(f, &schema);
    tkl_search_checked c;
    for (int i = 0; i < 30; i++) {
        char id[16];
        sprintf(id, "doc%d", i);
        assert_ok(tkl_search_add(s, &(tkl_search_doc){.id = tkl_str(id), .text = tkl_str("common")},
                                 1, NULL));
    }
    assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:search:{pages%231}:t:wcommon",
                        "tackle:search:{pages%232}:live", NULL));
    assert_ok(tkl_search_check(s, &c));
    assert_int_equal(c.documents, 30);
    assert_true(c.postings > 0 && c.ids > 0);
    assert_int_equal(pages_count(s, "common"), 30);
    assert_clean(s, "shards");
    tkl_search_close(s);
}

/* Data that another program has written and no check can mend. */
static void foreign_keys_are_reported(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    add_pages(s);
    wreck_do(f, "SETBIT live 900000 1");
    assert_code(tkl_search_check(s, NULL), TKL_EDAMAGED);
    wreck_do(f, "DEL live");
    wreck_do(f, "LPUSH live x");
    assert_code(tkl_search_check(s, NULL), TKL_ETYPE);
    wreck_do(f, "DEL live");
    wreck_do(f, "DEL t:wv7");
    wreck_do(f, "LPUSH t:wv7 x");
    assert_code(tkl_search_check(s, NULL), TKL_ETYPE);
    wreck_do(f, "DEL t:wv7");
    assert_ok(tkl_search_check(s, NULL));
    check_answers(s);
    tkl_search_close(s);
}

/* ---- A write that ends anywhere ------------------------------------------ */

/* The documents are as before or as after, none is half, and the counts fit. */
static void check_halves(tkl_search *s, size_t executed)
{
    tkl_search_info *info;
    assert_ok(tkl_search_show(s, &info));
    int64_t documents = info->documents;
    tkl_search_info_free(info);
    assert_int_equal(pages_count(s, "*"), documents);
    assert_int_equal(pages_count(s, "common"), documents);
    assert_in_range(documents, 4, 5);
    int64_t first = pages_count(s, "w1 v3 w1v3"), second = pages_count(s, "w2 v8 w2v8");
    if (first + second != 1 || pages_count(s, "w1 v3 +w1v3") < first)
        fail_msg("after %d commands: %d of the first version, %d of the second", (int)executed,
                 (int)first, (int)second);
    assert_int_equal(pages_count(s, "v3 -w1v3") + pages_count(s, "w1v3 -v3"), 0);
    assert_int_equal(pages_count(s, "votes:1003"), first);
    assert_int_equal(pages_count(s, "votes:2008"), second);
    assert_int_equal(pages_count(s, "v4"), documents - 4);
}

static void a_write_that_ends_anywhere_is_mended(void **state)
{
    static const char *const config[] = {"appendonly yes", "appendfsync always", NULL};
    (void)state;
    fixture f = {.server = server_start(&(server_options){.config = config})};
    f.client = test_open(f.server->url, NULL);
    tkl_search *s = pages_open(&f, NULL);
    for (int i = 0; i < 5; i++)
        pages_add_version(s, i, 1, i);
    wreck_log log = wreck_log_read(f.server);
    size_t begun = log.count;
    wreck_log_free(&log);
    pages_add_version(s, 3, 2, 8);                                         /* replaces */
    assert_ok(tkl_search_remove(s, &(tkl_bytes)TKL_LIT("doc4"), 1, NULL)); /* removes */
    log = wreck_log_read(f.server);
    assert_true(log.count > begun + 40);
    for (size_t count = begun; count <= log.count; count++) {
        wreck_log_replay(&f, &log, count);
        assert_ok(tkl_search_check(s, NULL));
        assert_clean(s, "cut");
        check_halves(s, count - begun);
    }
    wreck_log_free(&log);
    tkl_search_close(s);
    tkl_close(f.client);
    server_end(f.server);
}

/* ---- While others work --------------------------------------------------- */

typedef struct writing {
    tkl_search *search;
    atomic_bool end;
    atomic_int rounds;
    atomic_int failed; /* the first code that is wrong; 0: none */
} writing;

static void *write_pages(void *arg)
{
    writing *w = arg;
    for (int i = 0; !atomic_load(&w->end) && !atomic_load(&w->failed); i++) {
        char id[16], removed[16], text[64];
        sprintf(id, "doc%d", i % 40);
        sprintf(text, "common w5 v%d kiwi kiwi", i);
        sprintf(removed, "doc%d", (i + 20) % 40);
        tkl_search_value value = {.field = tkl_str("votes"), .number = i};
        tkl_search_doc doc = {
            .id = tkl_str(id), .text = tkl_str(text), .values = &value, .value_count = 1};
        int rc = tkl_search_add(w->search, &doc, 1, NULL);
        if (rc == TKL_OK)
            rc = tkl_search_remove(w->search, &(tkl_bytes){removed, strlen(removed)}, 1, NULL);
        atomic_store(&w->failed, rc);
        atomic_fetch_add(&w->rounds, 1);
    }
    return NULL;
}

/* A check neither takes what others are writing for damage, nor damages it. */
static void others_write_during_a_check(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    writing w = {.search = s};
    pthread_t thread;
    add_pages(s);
    assert_int_equal(pthread_create(&thread, NULL, write_pages, &w), 0);
    for (int checks = 0; checks < 3 || (atomic_load(&w.rounds) < 100 && !atomic_load(&w.failed));
         checks++)
        assert_clean(s, "while others write");
    wreck_do(f, "DEL t:wcommon");
    wreck_do(f, "HINCRBY meta words 1000");
    assert_ok(tkl_search_check(s, NULL));
    assert_clean(s, "mended while others write");
    atomic_store(&w.end, true);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&w.failed), 0);
    assert_clean(s, "at the end");
    tkl_search_info *info;
    assert_ok(tkl_search_show(s, &info));
    assert_int_equal(pages_count(s, "common"), info->documents);
    tkl_search_info_free(info);
    tkl_search_close(s);
}

static void *check_again_and_again(void *arg)
{
    writing *w = arg;
    while (!atomic_load(&w->end) && !atomic_load(&w->failed)) {
        int rc = tkl_search_check(w->search, NULL);
        if (rc != TKL_OK && rc != TKL_CONFLICT)
            atomic_store(&w->failed, rc);
        atomic_fetch_add(&w->rounds, 1);
    }
    return NULL;
}

static void a_later_check_ends_this_one(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    writing w = {.search = s};
    pthread_t thread;
    bool ended = false;
    add_pages(s);
    assert_int_equal(pthread_create(&thread, NULL, check_again_and_again, &w), 0);
    while (!ended) {
        tkl_search_checked c;
        int rc = tkl_search_check(s, &c);
        ended = rc == TKL_CONFLICT;
        if (!ended)
            assert_ok(rc);
        if (mended(&c))
            fail_with("two checks", &c);
    }
    assert_contains(tkl_errmsg(), "another check");
    atomic_store(&w.end, true);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&w.failed), 0);
    assert_clean(s, "after two checks");
    tkl_search_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_healthy_index_is_clean),
        TEST(an_index_that_was_never_checked_says_so),
        TEST(damage_of_all_kinds_is_mended),
        TEST(much_damage_at_once_is_mended),
        TEST(a_document_that_lost_a_part_is_removed),
        TEST(long_documents_are_mended),
        TEST(words_of_many_long_documents_are_mended),
        TEST(all_shards_are_checked),
        TEST(foreign_keys_are_reported),
        TEST(a_write_that_ends_anywhere_is_mended),
        TEST(others_write_during_a_check),
        TEST(a_later_check_ends_this_one),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
