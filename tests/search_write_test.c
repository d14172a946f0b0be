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
        TEST(writers_of_the_same_documents_do_not_mix),
        TEST(replaced_documents_are_found_all_the_time),
        TEST(a_killed_writer_leaves_whole_documents),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
