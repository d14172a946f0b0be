/* SPDX-License-Identifier: MIT
 *
 * Search: documents that come, are replaced and go, by many writers at once and by some that are
 * killed.
 *
 * ctest: label threads
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/pages.h"

/* ---- Replacing and removing ---------------------------------------------- */

static void nothing_of_an_old_version_remains(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    tkl_search_info *info;
    int64_t before = pages_keys(*state), removed;
    pages_add(s, "a", "old words only", 1, "Old");
    pages_add(s, "a", "new text", 2, "New");
    pages_check(s, "old", 0, "");
    pages_check(s, "title:old", 0, "");
    pages_check(s, "votes:1", 0, "");
    pages_check(s, "new title:new votes:2", 1, "a");
    assert_ok(tkl_search_remove(s, (tkl_bytes[]){TKL_LIT("a"), TKL_LIT("b")}, 2, &removed));
    assert_int_equal(removed, 1);
    pages_check(s, "*", 0, "");
    assert_ok(tkl_search_show(s, &info));
    assert_int_equal(info->documents + info->terms + info->leftover, 0);
    tkl_search_info_free(info);
    assert_int_equal(pages_keys(*state), before + 2); /* :free and :live */
    tkl_search_close(s);
}

/* More terms than one step takes. */
static char *large_text(const char *mark, int words)
{
    char *text = malloc((size_t)words * 24 + 64), *at = text;
    at += sprintf(at, "%s ", mark);
    for (int i = 0; i < words; i++)
        at += sprintf(at, "%s%d ", mark, i);
    return text;
}

static void large_documents_come_and_go_in_steps(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    tkl_search_info *info;
    char *first = large_text("alpha", 5000), *second = large_text("beta", 3700);
    pages_add(s, "book", first, 1, NULL);
    pages_check(s, "alpha0 alpha4999 alpha2500", 1, "book");
    pages_add(s, "book", second, 1, NULL);
    pages_check(s, "alpha", 0, "");
    pages_check(s, "alpha2500", 0, "");
    pages_check(s, "beta0 beta3699", 1, "book");
    assert_ok(tkl_search_remove(s, &(tkl_bytes)TKL_LIT("book"), 1, NULL));
    assert_ok(tkl_search_show(s, &info));
    assert_int_equal(info->terms + info->leftover, 0);
    tkl_search_info_free(info);
    free(first);
    free(second);
    tkl_search_close(s);
}

/* A text of many bytes and no word at all. */
static void a_large_text_without_words_is_a_document(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    tkl_search_result *r;
    size_t len = 700000;
    char *text = malloc(len + 1);
    memset(text, '.', len);
    text[len] = 0;
    pages_add(s, "dots", text, 1, NULL);
    assert_ok(tkl_search_query(s, tkl_str("*"), &(tkl_search_query_options){.texts = true}, &r));
    assert_int_equal(r->count, 1);
    assert_int_equal(r->hits[0].text.len, len);
    tkl_search_result_free(r);
    free(text);
    tkl_search_close(s);
}

/* More texts than one script reads. */
static void large_texts_are_read_in_steps(void **state)
{
    enum { LARGE = 7 };
    tkl_search *s = pages_open(*state, NULL);
    tkl_search_result *r;
    char ids[LARGE][8], *text = malloc(300000);
    tkl_bytes names[LARGE + 1];
    memset(text, ' ', 299999);
    for (int i = 0; i < LARGE; i++) {
        sprintf(ids[i], "%d", i);
        sprintf(text + 299000 + i, "end%d", i);
        names[i] = tkl_str(ids[i]);
        pages_add(s, ids[i], text, i, NULL);
    }
    names[LARGE] = tkl_str("missing");
    assert_ok(tkl_search_get(s, names, LARGE + 1, &r));
    assert_int_equal(r->count, LARGE);
    for (size_t i = 0; i < LARGE; i++)
        assert_int_equal(r->hits[i].text.len, 299000 + i + 4);
    tkl_search_result_free(r);
    free(text);
    tkl_search_close(s);
}

/* Old versions that are too many bytes for the replies. */
static void many_large_documents_are_removed(void **state)
{
    enum { LARGE = 60 };
    tkl_search *s = pages_open(*state, NULL);
    tkl_search_info *info;
    char ids[LARGE][8], *text = large_text("gamma", 900);
    tkl_bytes names[LARGE];
    for (int i = 0; i < LARGE; i++) {
        sprintf(ids[i], "%d", i);
        names[i] = tkl_str(ids[i]);
        pages_add(s, ids[i], text, i, NULL);
    }
    pages_check_page(s, "gamma899", &(tkl_search_query_options){.count = TKL_NONE}, LARGE, "");
    assert_ok(tkl_search_remove(s, names, LARGE, NULL));
    assert_ok(tkl_search_show(s, &info));
    assert_int_equal(info->documents + info->terms + info->leftover, 0);
    tkl_search_info_free(info);
    free(text);
    tkl_search_close(s);
}

enum { LEFT = 1000 };

/* Makes the remains of a writer that was killed after it removed documents: in year 1970, or just
 * now. */
static void leave_behind(fixture *f, tkl_search *s, bool long_ago)
{
    static tkl_search_doc docs[LEFT];
    static char ids[LEFT][16], texts[LEFT][32];
    tkl_reply *reply;
    for (int i = 0; i < LEFT; i++) {
        sprintf(ids[i], "left%d", i);
        sprintf(texts[i], "behind word%d", i);
        docs[i] = (tkl_search_doc){.id = tkl_str(ids[i]), .text = tkl_str(texts[i])};
    }
    assert_ok(tkl_search_add(s, docs, LEFT, NULL));
    assert_ok(tkl_callz(f->client, &reply, "HVALS", "tackle:search:{pages}:ids", NULL));
    assert_int_equal(tkl_reply_count(reply), LEFT);
    for (size_t i = 0; i < LEFT; i++) {
        const char *number = tkl_reply_str(tkl_reply_at(reply, i));
        assert_ok(
            tkl_callz(f->client, NULL, "SETBIT", "tackle:search:{pages}:live", number, "0", NULL));
        assert_ok(tkl_callz(f->client, NULL, "ZADD", "tackle:search:{pages}:dead",
                            long_ago ? "1000" : "1e16", number, NULL));
    }
    tkl_reply_free(reply);
    assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:search:{pages}:ids", NULL));
    assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:search:{pages}:meta", "docs", "0", "words",
                        "0", NULL));
}

static void what_killed_writers_left_is_cleared_in_steps(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    tkl_search_info *info;
    leave_behind(*state, s, true);
    assert_int_equal(pages_leftover(s), LEFT);
    assert_int_equal(pages_count(s, "behind"), 0);
    int64_t before = LEFT;
    for (int i = 0; i < 10 && before > 0; i++) {
        pages_add(s, "new", "something fresh", i, NULL);
        int64_t left = pages_leftover(s);
        assert_true(left < before && left >= before - 400);
        before = left;
    }
    assert_int_equal(before, 0);
    assert_int_equal(pages_count(s, "behind"), 0);
    assert_ok(tkl_search_show(s, &info));
    assert_int_equal(info->documents, 1);
    assert_int_equal(info->terms, 2); /* terms of the new document */
    tkl_search_info_free(info);
    tkl_search_close(s);
}

static void what_others_clear_just_now_is_left_to_them(void **state)
{
    tkl_search *s = pages_open(*state, NULL);
    leave_behind(*state, s, false);
    pages_add(s, "new", "something new", 1, NULL);
    assert_int_equal(pages_leftover(s), LEFT);
    tkl_search_close(s);
}

/* ---- Many at once -------------------------------------------------------- */

enum { WRITERS = 4, SHARED = 20, ROUNDS = 25 };

typedef struct writing {
    const char *url;
    _Atomic bool stop;
} writing;

static void write_shared(void *arg, int index)
{
    writing *w = arg;
    tkl_client *client;
    tkl_search *s;
    assert_ok(tkl_open(w->url, NULL, &client));
    assert_ok(tkl_search_open(client, tkl_str("pages"), NULL, &s));
    for (int round = 0; round < ROUNDS; round++)
        for (int doc = 0; doc < SHARED; doc++)
            pages_add_version(s, doc, index, round);
    tkl_search_close(s);
    tkl_close(client);
}

/* Each document is found by the words of exactly one version, and by all of them. */
static void check_versions(tkl_search *s, int docs)
{
    int64_t sum = 0;
    for (int writer = 0; writer < WRITERS; writer++)
        for (int round = 0; round < ROUNDS; round++) {
            char parts[64], whole[32];
            tkl_search_result *a, *b;
            sprintf(parts, "w%d v%d", writer, round);
            sprintf(whole, "w%dv%d", writer, round);
            assert_ok(tkl_search_query(s, tkl_str(parts), NULL, &a));
            assert_ok(tkl_search_query(s, tkl_str(whole), NULL, &b));
            assert_int_equal(a->total, b->total);
            sum += a->total;
            tkl_search_result_free(a);
            tkl_search_result_free(b);
        }
    assert_int_equal(sum, docs);
    tkl_search_result *all;
    assert_ok(tkl_search_query(s, tkl_str("common"), NULL, &all));
    assert_int_equal(all->total, docs);
    tkl_search_result_free(all);
}

static void writers_of_the_same_documents_do_not_mix(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    tkl_search_info *info;
    writing w = {.url = f->server->url};
    crew_run(WRITERS, write_shared, &w);
    check_versions(s, SHARED);
    assert_ok(tkl_search_show(s, &info));
    assert_int_equal(info->documents, SHARED);
    assert_int_equal(info->leftover, 0);
    tkl_search_info_free(info);
    tkl_search_close(s);
}

/* The text of a hit is of the version that its values are of. */
static void check_text(const tkl_search_hit *hit)
{
    int writer = 0, round = 0;
    char text[64];
    snprintf(text, sizeof text, TKL_FMT, TKL_ARG(hit->text));
    if (hit->text.len == 0)
        return;
    if (sscanf(text, "common w%d v%d", &writer, &round) != 2 ||
        writer * 1000 + round != (int)hit->values[0].number) {
        fprintf(stderr, "votes %d, but the text '%s'\n", (int)hit->values[0].number, text);
        abort();
    }
}

static void query_meanwhile(void *arg, int index)
{
    writing *w = arg;
    tkl_client *client;
    tkl_search *s;
    if (index == 0) {
        write_shared(arg, 1);
        w->stop = true;
        return;
    }
    assert_ok(tkl_open(w->url, NULL, &client));
    assert_ok(tkl_search_open(client, tkl_str("pages"), NULL, &s));
    while (!w->stop) {
        tkl_search_result *r;
        assert_ok(tkl_search_query(
            s, tkl_str("common"),
            &(tkl_search_query_options){.order = tkl_str("-votes"), .count = 100, .texts = true},
            &r));
        for (size_t i = 0; i < r->count; i++)
            check_text(&r->hits[i]);
        if (r->total != SHARED || r->count != SHARED) {
            fprintf(stderr, "%d of %d found\n", (int)r->total, SHARED);
            abort();
        }
        tkl_search_result_free(r);
    }
    tkl_search_close(s);
    tkl_close(client);
}

static void replaced_documents_are_found_all_the_time(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    writing w = {.url = f->server->url};
    for (int doc = 0; doc < SHARED; doc++)
        pages_add_version(s, doc, 0, 0);
    crew_run(3, query_meanwhile, &w);
    tkl_search_close(s);
}

/* ---- Results of several steps -------------------------------------------- */

/* Documents that nobody touches, documents that are replaced all the time, and others, which make a
 * range of votes too large for one step. */
enum { STILL = 600, MOVING = 400, OTHERS = 2400, FOUND_MAX = STILL + MOVING, AT_ONCE = 50 };

/* Adds or replaces the documents [first, first + AT_ONCE). In each round, those that move get other
 * votes and a new word, and every other one of them lacks what the queries look for. Titles begin
 * alike, so that their order in the index is that of whole titles. */
static void add_round(tkl_search *s, int first, int round, int title_bytes)
{
    tkl_search_doc docs[AT_ONCE];
    tkl_search_value values[AT_ONCE][2];
    char ids[AT_ONCE][16], titles[AT_ONCE][1024], texts[AT_ONCE][32];
    for (int i = 0; i < AT_ONCE; i++) {
        int doc = first + i;
        bool found = doc < STILL || (doc < FOUND_MAX && (doc + round) % 2 == 0);
        int votes = doc < STILL ? 2 * doc : (7 * doc + 997 * round) % (2 * STILL);
        sprintf(ids[i], "%d", doc);
        sprintf(titles[i], "%s %0*d", found ? "common" : "others", title_bytes, votes);
        sprintf(texts[i], "%s word%d", found ? "common" : "absent",
                doc < STILL ? doc % 10 : 1000 * round + doc);
        values[i][0] = (tkl_search_value){.field = tkl_str("votes"),
                                          .number = found || doc >= FOUND_MAX ? votes : -1 - votes};
        values[i][1] = (tkl_search_value){.field = tkl_str("title"), .text = tkl_str(titles[i])};
        docs[i] = (tkl_search_doc){.id = tkl_str(ids[i]),
                                   .text = tkl_str(texts[i]),
                                   .values = values[i],
                                   .value_count = 2};
    }
    assert_ok(tkl_search_add(s, docs, AT_ONCE, NULL));
}

/* Adds all documents, and starts a program that replaces those that move. */
static pid_t replace_all_the_time(fixture *f, tkl_search *s, int others, int title_bytes)
{
    for (int i = 0; i < FOUND_MAX + others; i += AT_ONCE)
        add_round(s, i, 0, title_bytes);
    pid_t child = fork();
    if (child == 0) {
        tkl_client *client;
        tkl_search *own;
        assert_ok(tkl_open(f->server->url, NULL, &client));
        assert_ok(tkl_search_open(client, tkl_str("pages"), NULL, &own));
        for (int i = 0;; i += AT_ONCE)
            add_round(own, STILL + i % MOVING, 1 + i / MOVING, title_bytes);
    }
    return child;
}

/* Whether all hits match, none is there twice, and of the documents that nobody touches all are
 * there; of a page in the order of their votes: all between the first and the last. */
static bool has_all_still(const tkl_search_result *r, bool whole)
{
    bool seen[FOUND_MAX] = {false};
    int least = STILL, most = -1, count = 0;
    for (size_t i = 0; i < r->count; i++) {
        const tkl_search_value *values = r->hits[i].values;
        char id[16];
        sprintf(id, TKL_FMT, TKL_ARG(r->hits[i].id));
        int doc = atoi(id);
        if (doc >= FOUND_MAX || seen[doc] || values[0].number < 0 ||
            values[1].text.data[0] != 'c') {
            print_message("document %d is there twice, or does not match\n", doc);
            return false;
        }
        seen[doc] = true;
        if (doc >= STILL)
            continue;
        count++;
        least = doc < least ? doc : least;
        most = doc > most ? doc : most;
    }
    if (count > 0 && count == most - least + 1 && (!whole || count == STILL))
        return true;
    print_message("%d documents from %d to %d, exact %d\n", count, least, most, r->exact);
    return false;
}

/* Queries of several steps, in each order, while other documents are replaced. */
static void check_still_documents(fixture *f, int others, int title_bytes)
{
    static const struct {
        const char *query, *order;
        int64_t offset, count;
    } ways[] = {
        {"common", "votes", 0, 1000},           {"common", "-votes", 0, 1000},
        {"common", "title", 0, 1000},           {"common", "-title", 0, 1000},
        {"common", "votes=1", 0, 1000},         {"common", "", 0, 1000},
        {"common votes:>=0", "votes", 0, 1000}, {"common votes:>=0", "", 0, 1000},
        {"common", "-votes", 150, 550},         {"common +missing votes:>=0", "-votes", 0, 1000},
        {"common votes:>=0", "votes", 0, 10},   {"votes:>=0 -absent", "votes=1", 0, 1000},
        {"common wor*", "votes", 0, 1000},      {"common word1* +word*", "", 0, 1000},
    };
    enum { WAYS = sizeof ways / sizeof *ways, QUERIES = 8 * WAYS };
    tkl_search *s = pages_open(f, NULL);
    pid_t child = replace_all_the_time(f, s, others, title_bytes);
    int rc = TKL_OK, wrong = -1;
    for (int i = 0; i < QUERIES && rc == TKL_OK && wrong < 0; i++) {
        tkl_search_query_options options = {.order = tkl_str(ways[i % WAYS].order),
                                            .offset = ways[i % WAYS].offset,
                                            .count = ways[i % WAYS].count};
        tkl_search_result *r;
        rc = tkl_search_query(s, tkl_str(ways[i % WAYS].query), &options, &r);
        bool right = rc == TKL_OK && has_all_still(r, options.count == 1000);
        if (!right)
            wrong = i % WAYS;
        tkl_search_result_free(r);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_ok(rc);
    if (wrong >= 0)
        fail_msg("'%s' by '%s'", ways[wrong].query, ways[wrong].order);
    tkl_search_close(s);
}

static void documents_that_stay_are_in_each_result_once(void **state)
{
    skip_under_sanitizers();
    check_still_documents(*state, 0, 4);
}

/* Bitmaps are made of ranges. */
static void documents_that_stay_are_in_ranges(void **state)
{
    skip_under_sanitizers();
    check_still_documents(*state, OTHERS, 4);
}

/* Replies end before their steps would. */
static void large_documents_that_stay_are_in_each_result_once(void **state)
{
    skip_under_sanitizers();
    check_still_documents(*state, 0, 900);
}

static void a_killed_writer_leaves_whole_documents(void **state)
{
    fixture *f = *state;
    skip_under_sanitizers();
    tkl_search *s = pages_open(f, NULL);
    for (int doc = 0; doc < SHARED; doc++)
        pages_add_version(s, doc, 0, 0);
    for (int i = 0; i < 8; i++) {
        pid_t child = fork();
        if (child == 0) {
            writing w = {.url = f->server->url};
            write_shared(&w, i % WRITERS);
            _exit(0);
        }
        test_sleep_ms(5 + 4 * i);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        check_versions(s, SHARED);
    }
    tkl_search_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_of_an_old_version_remains),
        TEST(large_documents_come_and_go_in_steps),
        TEST(a_large_text_without_words_is_a_document),
        TEST(large_texts_are_read_in_steps),
        TEST(many_large_documents_are_removed),
        TEST(what_killed_writers_left_is_cleared_in_steps),
        TEST(what_others_clear_just_now_is_left_to_them),
        TEST(writers_of_the_same_documents_do_not_mix),
        TEST(replaced_documents_are_found_all_the_time),
        TEST(documents_that_stay_are_in_each_result_once),
        TEST(documents_that_stay_are_in_ranges),
        TEST(large_documents_that_stay_are_in_each_result_once),
        TEST(a_killed_writer_leaves_whole_documents),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
