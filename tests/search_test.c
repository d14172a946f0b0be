/* SPDX-License-Identifier: MIT
 *
 * Search: what is found, in which order, on which page; and what can go wrong.
 *
 * ctest: label threads
 */
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <tackle/search.h>
#include <unistd.h>

#include "support/cluster.h"
#include "support/fixture.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const tkl_search_field fields[] = {
    {.name = TKL_LIT("votes"), .kind = TKL_SEARCH_FIELD_NUMERIC},
    {.name = TKL_LIT("title"), .kind = TKL_SEARCH_FIELD_TEXT},
};

static tkl_search *open_search(fixture *f, const tkl_search_schema *schema)
{
    tkl_search *s;
    tkl_search_schema plain = {.fields = fields, .field_count = COUNT(fields), .stem = "en"};
    assert_ok(tkl_search_open(f->client, tkl_str("pages"), NULL, &s));
    assert_ok(tkl_search_create(s, schema ? schema : &plain));
    return s;
}

/* Without votes if they are NaN, without a title if it is NULL. */
static void add(tkl_search *s, const char *id, const char *text, double votes, const char *title)
{
    tkl_search_value values[2];
    size_t count = 0;
    if (!isnan(votes))
        values[count++] = (tkl_search_value){.field = tkl_str("votes"), .number = votes};
    if (title)
        values[count++] = (tkl_search_value){.field = tkl_str("title"), .text = tkl_str(title)};
    assert_ok(tkl_search_add(
        s,
        &(tkl_search_doc){
            .id = tkl_str(id), .text = tkl_str(text), .values = values, .value_count = count},
        1, NULL));
}

/* The ids of a page, separated by spaces. */
static char *ids_of(const tkl_search_result *r)
{
    char *line = calloc(1, 65536);
    for (size_t i = 0; i < r->count; i++)
        sprintf(line + strlen(line), "%s" TKL_FMT, i ? " " : "", TKL_ARG(r->hits[i].id));
    return line;
}

static void check_page(tkl_search *s, const char *query, const tkl_search_query_options *options,
                       int64_t total, const char *ids)
{
    tkl_search_result *r;
    assert_ok(tkl_search_query(s, tkl_str(query), options, &r));
    char *line = ids_of(r);
    if (strcmp(line, ids) != 0 || r->total != total || !r->exact)
        fail_msg("%s: %s, total %d, exact %d; expected %s, total %d", query, line, (int)r->total,
                 r->exact, ids, (int)total);
    free(line);
    tkl_search_result_free(r);
}

/* By votes, most first. */
static void check(tkl_search *s, const char *query, int64_t total, const char *ids)
{
    check_page(s, query, &(tkl_search_query_options){.order = tkl_str("-votes")}, total, ids);
}

static void add_some(tkl_search *s)
{
    add(s, "a", "Connecting to the server", 5, "Connecting");
    add(s, "b", "The server's connection was lost", 7, "Lost");
    add(s, "c", "A client looks for a link", 1, "Clients");
    add(s, "d", "Servers and clients, connected by links", 9, "links");
    add(s, "e", "Nothing of that", NAN, NULL);
}

/* ---- Finding ------------------------------------------------------------- */

static void words_are_found(void **state)
{
    tkl_search *s = open_search(*state, NULL);
    add_some(s);
    check(s, "connect", 3, "d b a");
    check(s, "connected servers", 3, "d b a");
    check(s, "client", 2, "d c");
    check(s, "connect +link", 4, "d b a c");
    check(s, "connect -client", 2, "b a");
    check(s, "unknown", 0, "");
    check(s, "the of", 0, "");
    check(s, "", 0, "");
    check(s, "-client", 0, "");
    check(s, "*", 5, "d b a c e");
    check(s, "* -client", 3, "b a e");
    tkl_search_close(s);
}

static void fields_are_found(void **state)
{
    tkl_search *s = open_search(*state, NULL);
    add_some(s);
    check(s, "votes:>5", 2, "d b");
    check(s, "votes:5..7", 2, "b a");
    check(s, "votes:<=5 connect", 1, "a");
    check(s, "title:LINKS", 1, "d");
    check(s, "title:l*", 2, "d b");
    check(s, "* -title:l*", 3, "a c e");
    check(s, "cli* +serv*", 4, "d b a c");
    tkl_search_close(s);
}

static void chinese_is_found_by_any_part(void **state)
{
    tkl_search *s = open_search(*state, NULL);
    add(s, "zh", "我在北京大学学习中文搜索 with Redis", 1, NULL);
    check(s, "北京", 1, "zh");
    check(s, "京大", 1, "zh");
    check(s, "大学 redis", 1, "zh");
    check(s, "學習", 1, "zh"); /* traditional characters */
    check(s, "上海", 0, "");
    tkl_search_close(s);
}

static void phrases_need_their_order(void **state)
{
    tkl_search_schema schema = {.positions = true, .no_stop_words = true};
    tkl_search *s = open_search(*state, &schema);
    tkl_search_doc docs[] = {{.id = tkl_str("a"), .text = tkl_str("to be or not to be")},
                             {.id = tkl_str("b"), .text = tkl_str("not to or be")}};
    assert_ok(tkl_search_add(s, docs, 2, NULL));
    check_page(s, "\"to be\"", NULL, 1, "a");
    check_page(s, "\"not to\"", NULL, 2, "a b");
    check_page(s, "be -\"to be\"", NULL, 1, "b");
    tkl_search_close(s);
}

/* ---- Orders and pages ---------------------------------------------------- */

static void documents_without_the_field_come_last(void **state)
{
    tkl_search *s = open_search(*state, NULL);
    add_some(s);
    check_page(s, "*", &(tkl_search_query_options){.order = tkl_str("votes")}, 5, "c a b d e");
    check_page(s, "*", &(tkl_search_query_options){.order = tkl_str("-votes")}, 5, "d b a c e");
    check_page(s, "*", &(tkl_search_query_options){.order = tkl_str("title")}, 5, "c a d b e");
    check_page(s, "*", &(tkl_search_query_options){.order = tkl_str("-title")}, 5, "b d a c e");
    check_page(s, "*", &(tkl_search_query_options){.order = tkl_str("votes=-2")}, 5, "e c a b d");
    tkl_search_close(s);
}

static void the_rarest_word_counts_most(void **state)
{
    tkl_search *s = open_search(*state, NULL);
    add(s, "once", "apple banana cherry banana", 0, NULL);
    add(s, "often", "apple apple apple cherry", 0, NULL);
    add(s, "other", "banana cherry date fig", 0, NULL);
    check_page(s, "apple", NULL, 2, "often once");
    check_page(s, "apple +fig", NULL, 3, "other often once");
    tkl_search_close(s);
}

static void equal_values_stay_in_one_order(void **state)
{
    enum { DOCS = 60, PAGE = 7 };
    tkl_search *s = open_search(*state, NULL);
    bool seen[DOCS] = {false};
    for (int i = 0; i < DOCS; i++) {
        char id[16];
        sprintf(id, "%d", i);
        add(s, id, "equal", 1, "equal");
    }
    for (int offset = 0; offset < DOCS; offset += PAGE) {
        tkl_search_query_options options = {
            .order = tkl_str("title"), .offset = offset, .count = PAGE};
        tkl_search_result *r;
        assert_ok(tkl_search_query(s, tkl_str("equal"), &options, &r));
        for (size_t i = 0; i < r->count; i++) {
            char id[16] = {0};
            memcpy(id, r->hits[i].id.data, r->hits[i].id.len);
            int doc = atoi(id);
            assert_false(seen[doc]);
            seen[doc] = true;
        }
        tkl_search_result_free(r);
    }
    for (int i = 0; i < DOCS; i++)
        assert_true(seen[i]);
    tkl_search_close(s);
}

static bool was_kept(tkl_search *s, const char *query, int64_t offset, int64_t total)
{
    tkl_search_result *r;
    tkl_search_query_options options = {
        .order = tkl_str("-votes"), .offset = offset, .count = 2, .keep_ms = 60000};
    assert_ok(tkl_search_query(s, tkl_str(query), &options, &r));
    assert_int_equal(r->total, total);
    bool kept = r->kept;
    tkl_search_result_free(r);
    return kept;
}

static void results_are_kept_until_the_index_changes(void **state)
{
    fixture *f = *state;
    tkl_search *s = open_search(f, NULL), *other;
    add_some(s);
    assert_ok(tkl_search_open(f->client, tkl_str("pages"), NULL, &other));
    assert_false(was_kept(s, "servers connect", 0, 3));
    assert_true(was_kept(s, "servers connect", 2, 3));
    assert_true(was_kept(s, "Connecting, the  SERVER", 0, 3)); /* the same, written otherwise */
    assert_true(was_kept(other, "connected server", 0, 3));
    add(other, "f", "another server connects", 3, NULL);
    assert_false(was_kept(s, "servers connect", 2, 4));
    assert_true(was_kept(s, "servers connect", 2, 4));
    assert_ok(tkl_search_remove(other, &(tkl_bytes)TKL_LIT("f"), 1, NULL));
    assert_false(was_kept(s, "servers connect", 2, 3));
    tkl_search_close(other);
    tkl_search_close(s);
}

static void facets_count_values(void **state)
{
    static const tkl_bytes title = TKL_LIT("title");
    tkl_search *s = open_search(*state, NULL);
    tkl_search_result *r;
    add(s, "1", "word", 1, "Go");
    add(s, "2", "word", 1, "C");
    add(s, "3", "word", 1, "go");
    add(s, "4", "other", 1, "C");
    add(s, "5", "word", 1, NULL);
    assert_ok(tkl_search_query(
        s, tkl_str("word"), &(tkl_search_query_options){.facets = &title, .facet_count = 1}, &r));
    assert_int_equal(r->facet_count, 1);
    assert_int_equal(r->facets[0].count, 2);
    assert_int_equal(r->facets[0].counts[0].count, 2);
    assert_memory_equal(r->facets[0].counts[0].value.data, "Go", 2);
    assert_int_equal(r->facets[0].counts[1].count, 1);
    assert_int_equal(r->facets[0].missing, 1);
    tkl_search_result_free(r);
    tkl_search_close(s);
}

/* ---- Replacing and removing ---------------------------------------------- */

static int64_t key_count(fixture *f)
{
    tkl_reply *reply;
    assert_ok(tkl_callz(f->client, &reply, "DBSIZE", NULL));
    int64_t count = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return count;
}

static void nothing_of_an_old_version_remains(void **state)
{
    tkl_search *s = open_search(*state, NULL);
    tkl_search_info *info;
    int64_t before = key_count(*state), removed;
    add(s, "a", "old words only", 1, "Old");
    add(s, "a", "new text", 2, "New");
    check(s, "old", 0, "");
    check(s, "title:old", 0, "");
    check(s, "votes:1", 0, "");
    check(s, "new title:new votes:2", 1, "a");
    assert_ok(tkl_search_remove(s, (tkl_bytes[]){TKL_LIT("a"), TKL_LIT("b")}, 2, &removed));
    assert_int_equal(removed, 1);
    check(s, "*", 0, "");
    assert_ok(tkl_search_show(s, &info));
    assert_int_equal(info->documents + info->terms + info->leftover, 0);
    tkl_search_info_free(info);
    assert_int_equal(key_count(*state), before + 2); /* :free and :live */
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
    tkl_search *s = open_search(*state, NULL);
    tkl_search_info *info;
    char *first = large_text("alpha", 5000), *second = large_text("beta", 3700);
    add(s, "book", first, 1, NULL);
    check(s, "alpha0 alpha4999 alpha2500", 1, "book");
    add(s, "book", second, 1, NULL);
    check(s, "alpha", 0, "");
    check(s, "alpha2500", 0, "");
    check(s, "beta0 beta3699", 1, "book");
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

/* All words of a version belong together: "w3 v7 w3v7". */
static void write_version(tkl_search *s, int doc, int writer, int round)
{
    char id[16], text[64];
    sprintf(id, "doc%d", doc);
    sprintf(text, "common w%d v%d w%dv%d", writer, round, writer, round);
    add(s, id, text, writer * 1000 + round, NULL);
}

static void write_shared(void *arg, int index)
{
    writing *w = arg;
    tkl_client *client;
    tkl_search *s;
    assert_ok(tkl_open(w->url, NULL, &client));
    assert_ok(tkl_search_open(client, tkl_str("pages"), NULL, &s));
    for (int round = 0; round < ROUNDS; round++)
        for (int doc = 0; doc < SHARED; doc++)
            write_version(s, doc, index, round);
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
    tkl_search *s = open_search(f, NULL);
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
    tkl_search *s = open_search(f, NULL);
    writing w = {.url = f->server->url};
    for (int doc = 0; doc < SHARED; doc++)
        write_version(s, doc, 0, 0);
    crew_run(3, query_meanwhile, &w);
    tkl_search_close(s);
}

static void a_killed_writer_leaves_whole_documents(void **state)
{
    fixture *f = *state;
    skip_under_sanitizers();
    tkl_search *s = open_search(f, NULL);
    for (int doc = 0; doc < SHARED; doc++)
        write_version(s, doc, 0, 0);
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

/* ---- Bad input ----------------------------------------------------------- */

static void long_queries_are_answered(void **state)
{
    tkl_search *s = open_search(*state, NULL);
    tkl_search_result *r;
    char *text = calloc(1, 70000), *at = text;
    add_some(s);
    for (int i = 0; i < 1000; i++)
        at += sprintf(at, "%cword%d ", i ? '+' : ' ', i);
    assert_ok(tkl_search_query(s, tkl_str(text), NULL, &r));
    assert_int_equal(r->total, 0);
    tkl_search_result_free(r);
    memset(text, 'x', TKL_SEARCH_QUERY_MAX);
    text[TKL_SEARCH_QUERY_MAX] = 0;
    assert_ok(tkl_search_query(s, tkl_str(text), NULL, &r));
    assert_int_equal(r->total, 0);
    tkl_search_result_free(r);
    text[TKL_SEARCH_QUERY_MAX] = 'x';
    assert_code(tkl_search_query(s, tkl_str(text), NULL, &r), TKL_EINVAL);
    assert_code(tkl_search_query(s, tkl_str("a \"b"), NULL, &r), TKL_EINVAL);
    assert_code(tkl_search_query(s, tkl_str("votes:x"), NULL, &r), TKL_EINVAL);
    assert_null(r);
    free(text);
    tkl_search_close(s);
}

static void a_long_word_is_a_word(void **state)
{
    tkl_search *s = open_search(*state, NULL);
    char *text = malloc(5001);
    memset(text, 'y', 5000);
    text[5000] = 0;
    add(s, "long", text, 1, NULL);
    check(s, text, 1, "long");
    text[4999] = 'z';
    check(s, text, 0, "");
    free(text);
    tkl_search_close(s);
}

static void bad_documents_are_refused_by_name(void **state)
{
    tkl_search *s = open_search(*state, NULL);
    tkl_search_value values[] = {{.field = tkl_str("votes"), .number = 1},
                                 {.field = tkl_str("votes"), .number = 2},
                                 {.field = tkl_str("nothing")}};
    tkl_search_doc docs[2] = {{.id = tkl_str("a")}, {.id = tkl_str("")}};
    assert_code(tkl_search_add(s, docs, 2, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "document 1");
    docs[1] = (tkl_search_doc){.id = tkl_str("b"), .values = values, .value_count = 2};
    assert_code(tkl_search_add(s, docs, 2, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "twice");
    docs[1].values = values + 2;
    docs[1].value_count = 1;
    assert_code(tkl_search_add(s, docs, 2, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "nothing");
    values[0].number = INFINITY;
    docs[1].values = values;
    assert_code(tkl_search_add(s, docs, 2, NULL), TKL_EINVAL);
    check(s, "*", 0, "");
    assert_ok(tkl_search_add(s, NULL, 0, NULL));
    assert_ok(tkl_search_remove(s, NULL, 0, NULL));
    tkl_search_close(s);
}

static void another_schema_is_refused(void **state)
{
    fixture *f = *state;
    tkl_search *s = open_search(f, NULL), *other;
    tkl_search_schema schema = {.fields = fields, .field_count = 1, .stem = "en"};
    assert_code(tkl_search_create(s, &schema), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "fields");
    schema.field_count = 2;
    schema.stem = NULL;
    assert_code(tkl_search_create(s, &schema), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "stem");
    schema.stem = "klingon";
    assert_code(tkl_search_create(s, &schema), TKL_EINVAL);
    assert_ok(tkl_search_open(f->client, tkl_str("other"), NULL, &other));
    tkl_search_result *r;
    assert_code(tkl_search_query(other, tkl_str("x"), NULL, &r), TKL_NOTFOUND);
    assert_code(tkl_search_drop(other), TKL_NOTFOUND);
    tkl_search_close(other);
    tkl_search_close(s);
}

static void a_handle_notices_another_index_of_its_name(void **state)
{
    fixture *f = *state;
    tkl_search *s = open_search(f, NULL), *other;
    tkl_search_result *r;
    add_some(s);
    assert_ok(tkl_search_open(f->client, tkl_str("pages"), NULL, &other));
    assert_ok(tkl_search_drop(other));
    assert_int_equal(key_count(f), 0);
    assert_code(tkl_search_query(s, tkl_str("x"), NULL, &r), TKL_NOTFOUND);
    assert_ok(tkl_search_create(other, &(tkl_search_schema){.no_stop_words = true}));
    assert_ok(
        tkl_search_add(s, &(tkl_search_doc){.id = tkl_str("1"), .text = tkl_str("the")}, 1, NULL));
    check_page(s, "the", NULL, 1, "1");
    tkl_search_close(other);
    tkl_search_close(s);
}

static void keys_of_another_type_are_reported(void **state)
{
    fixture *f = *state;
    tkl_search *s = open_search(f, NULL);
    tkl_search_result *r;
    add_some(s);
    assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:search:{pages}:live", NULL));
    assert_ok(tkl_callz(f->client, NULL, "LPUSH", "tackle:search:{pages}:live", "x", NULL));
    assert_code(tkl_search_query(s, tkl_str("*"), NULL, &r), TKL_ETYPE);
    assert_code(tkl_search_add(s, &(tkl_search_doc){.id = tkl_str("n")}, 1, NULL), TKL_ETYPE);
    assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:search:{pages}:live",
                        "tackle:search:{pages}:docs", NULL));
    assert_code(tkl_search_query(s, tkl_str("connect"), NULL, &r), TKL_EDAMAGED);
    tkl_search_close(s);
}

/* A bit far behind the others: an operation with such a bitmap would take the server a second. */
static void bitmaps_of_another_length_are_reported(void **state)
{
    static const char *const keys[] = {"tackle:search:{pages}:t:wcommon",
                                       "tackle:search:{pages}:live"};
    fixture *f = *state;
    tkl_search *s = open_search(f, NULL);
    tkl_search_result *r;
    for (int i = 0; i < 200; i++)
        write_version(s, i, 0, i);
    for (size_t i = 0; i < COUNT(keys); i++) {
        assert_ok(tkl_callz(f->client, NULL, "SETBIT", keys[i], "4294967295", "1", NULL));
        assert_code(tkl_search_query(s, tkl_str("common -w3"), NULL, &r), TKL_EDAMAGED);
        assert_ok(tkl_callz(f->client, NULL, "DEL", keys[i], NULL));
    }
    assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:search:{pages}:common", "wcommon",
                        "99999999999999999999", NULL));
    assert_code(tkl_search_query(s, tkl_str("common"), NULL, &r), TKL_EDAMAGED);
    tkl_search_close(s);
}

static void numbers_of_documents_are_checked_before_anything_is_written(void **state)
{
    static const char *const numbers[] = {"junk", "-1", "4294967295", "99999999999999999999"};
    fixture *f = *state;
    tkl_search *s = open_search(f, NULL);
    tkl_search_doc doc = {.id = tkl_str("a"), .text = tkl_str("replaced")};
    tkl_search_info *info;
    add_some(s);
    for (size_t i = 0; i < COUNT(numbers); i++) {
        assert_ok(
            tkl_callz(f->client, NULL, "HSET", "tackle:search:{pages}:ids", "a", numbers[i], NULL));
        assert_code(tkl_search_add(s, &doc, 1, NULL), TKL_EDAMAGED);
        assert_code(tkl_search_remove(s, &doc.id, 1, NULL), TKL_EDAMAGED);
    }
    check(s, "replaced", 0, "");
    assert_ok(tkl_search_show(s, &info));
    assert_int_equal(info->leftover, 0);
    tkl_search_info_free(info);
    tkl_search_close(s);
}

static void a_lost_order_is_reported(void **state)
{
    fixture *f = *state;
    tkl_search *s = open_search(f, NULL);
    tkl_search_result *r;
    for (int i = 0; i < 60; i++)
        write_version(s, i, 0, i);
    assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:search:{pages}:f:votes", NULL));
    assert_code(tkl_search_query(s, tkl_str("common"),
                                 &(tkl_search_query_options){.order = tkl_str("-votes")}, &r),
                TKL_EDAMAGED);
    tkl_search_close(s);
}

static void a_full_server_still_answers(void **state)
{
    fixture *f = *state;
    tkl_search *s = open_search(f, NULL);
    add_some(s);
    assert_ok(tkl_callz(f->client, NULL, "CONFIG", "SET", "maxmemory", "1", NULL));
    assert_code(tkl_search_add(s, &(tkl_search_doc){.id = tkl_str("n")}, 1, NULL), TKL_EOOM);
    check(s, "connect -client", 2, "b a");
    assert_ok(tkl_callz(f->client, NULL, "CONFIG", "SET", "maxmemory", "0", NULL));
    assert_ok(tkl_search_add(s, &(tkl_search_doc){.id = tkl_str("n")}, 1, NULL));
    check(s, "*", 6, "d b a c n e");
    tkl_search_close(s);
}

/* ---- A cluster ----------------------------------------------------------- */

static void shards_of_a_cluster_make_one_result(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client;
    tkl_search *s;
    tkl_search_schema schema = {.fields = fields, .field_count = 2, .shards = 5};
    assert_ok(tkl_open(c->url, NULL, &client));
    assert_ok(tkl_search_open(client, tkl_str("pages"), NULL, &s));
    assert_ok(tkl_search_create(s, &schema));
    for (int i = 0; i < 40; i++) {
        char id[16], text[32];
        sprintf(id, "%d", i);
        sprintf(text, "word%d %s", i % 3, i % 2 ? "odd" : "even");
        add(s, id, text, i, i % 2 ? "Odd" : "Even");
    }
    check(s, "word0 odd", 7, "39 33 27 21 15 9 3");
    check_page(s, "even",
               &(tkl_search_query_options){.order = tkl_str("votes"), .offset = 5, .count = 3}, 20,
               "10 12 14");
    check(s, "wor* -odd votes:>=34", 3, "38 36 34");
    assert_ok(tkl_search_drop(s));
    assert_code(tkl_search_drop(s), TKL_NOTFOUND);
    tkl_search_close(s);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(words_are_found),
        TEST(fields_are_found),
        TEST(chinese_is_found_by_any_part),
        TEST(phrases_need_their_order),
        TEST(documents_without_the_field_come_last),
        TEST(the_rarest_word_counts_most),
        TEST(equal_values_stay_in_one_order),
        TEST(results_are_kept_until_the_index_changes),
        TEST(facets_count_values),
        TEST(nothing_of_an_old_version_remains),
        TEST(large_documents_come_and_go_in_steps),
        TEST(writers_of_the_same_documents_do_not_mix),
        TEST(replaced_documents_are_found_all_the_time),
        TEST(a_killed_writer_leaves_whole_documents),
        TEST(long_queries_are_answered),
        TEST(a_long_word_is_a_word),
        TEST(bad_documents_are_refused_by_name),
        TEST(another_schema_is_refused),
        TEST(a_handle_notices_another_index_of_its_name),
        TEST(keys_of_another_type_are_reported),
        TEST(bitmaps_of_another_length_are_reported),
        TEST(numbers_of_documents_are_checked_before_anything_is_written),
        TEST(a_lost_order_is_reported),
        TEST(a_full_server_still_answers),
        cmocka_unit_test(shards_of_a_cluster_make_one_result),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
