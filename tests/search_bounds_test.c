/* SPDX-License-Identifier: MIT
 *
 * Search: no command of the server does much work, whatever the data. The tests count what the
 * server is asked to do.
 */
#include "support/pages.h"

/* How often the server has run a command, from a client or from a script. */
static int64_t calls_of(fixture *f, const char *command)
{
    char name[64];
    tkl_reply *reply;
    long long calls = 0;
    snprintf(name, sizeof name, "cmdstat_%s:calls=%%lld", command);
    assert_ok(tkl_callz(f->client, &reply, "INFO", "commandstats", NULL));
    *strchr(name, '%') = 0;
    const char *at = strstr(tkl_reply_str(reply), name);
    if (at)
        sscanf(at + strlen(name), "%lld", &calls);
    tkl_reply_free(reply);
    return calls;
}

static int64_t number_of(fixture *f, const char *command, const char *key)
{
    tkl_reply *reply;
    assert_ok(tkl_callz(f->client, &reply, command, key, NULL));
    int64_t number = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return number;
}

/* The bytes of the longest field of a hash. */
static size_t longest_field(fixture *f, const char *key)
{
    size_t longest = 0;
    tkl_reply *reply;
    assert_ok(tkl_callz(f->client, &reply, "HVALS", key, NULL));
    for (size_t i = 0; i < tkl_reply_count(reply); i++) {
        size_t len = tkl_reply_bytes(tkl_reply_at(reply, i)).len;
        longest = len > longest ? len : longest;
    }
    tkl_reply_free(reply);
    return longest;
}

/* ---- Long texts ---------------------------------------------------------- */

#define LONG_TEXT 200000

/* A text of many words; "lock free" stands in it side by side only in those that are `free`. */
static char *long_text(int seed, bool is_free)
{
    char *text = malloc(LONG_TEXT + 64), *at = text;
    unsigned x = (unsigned)seed;
    for (int i = 0; at < text + LONG_TEXT; i++) {
        x = x * 1103515245 + 12345;
        at += sprintf(at, "lock w%u free ", x >> 16 & 0x3fff);
    }
    if (is_free)
        at += sprintf(at, "lock free");
    *at = 0;
    return text;
}

static void add_text(tkl_search *s, const char *id, const char *text)
{
    tkl_search_doc doc = {.id = tkl_str(id), .text = tkl_str(text)};
    assert_ok(tkl_search_add(s, &doc, 1, NULL));
}

static void check_text(tkl_search *s, const char *id, const char *text)
{
    tkl_search_result *r;
    assert_ok(tkl_search_get(s, &(tkl_bytes){id, strlen(id)}, 1, &r));
    assert_int_equal(r->count, 1);
    assert_int_equal(r->hits[0].text.len, strlen(text));
    assert_memory_equal(r->hits[0].text.data, text, strlen(text));
    tkl_search_result_free(r);
}

static void long_texts_are_in_pieces(void **state)
{
    fixture *f = *state;
    tkl_search *s = pages_open(f, &(tkl_search_schema){.positions = true});
    char *texts[4];
    char id[16];
    for (int i = 0; i < 4; i++) {
        texts[i] = long_text(i, i % 2);
        sprintf(id, "%d", i);
        add_text(s, id, texts[i]);
    }
    add_text(s, "short", "lock, and free as well");
    assert_in_range(longest_field(f, "tackle:search:{pages}:texts"), 1, 64 << 10);
    assert_in_range(longest_field(f, "tackle:search:{pages}:forward"), 1, 128 << 10);

    tkl_search_result *r;
    assert_ok(tkl_search_query(s, tkl_str("lock"), NULL, &r));
    assert_true(r->exact);
    assert_int_equal(r->total, 5);
    assert_memory_equal(r->hits[4].id.data, "short", 5); /* all others have it thousands of times */
    for (int i = 0; i < 4; i++)
        assert_true(r->hits[i].score > 0);
    tkl_search_result_free(r);
    assert_int_equal(pages_count(s, "\"lock free\""), 2);
    assert_int_equal(pages_count(s, "lock -\"lock free\""), 3);
    check_text(s, "3", texts[3]);

    add_text(s, "3", "a short one");
    check_text(s, "3", "a short one");
    pages_check_page(s, "\"lock free\"", NULL, 1, "1");
    assert_int_equal(pages_leftover(s), 0);
    for (int i = 0; i < 4; i++) {
        sprintf(id, "%d", i);
        assert_ok(tkl_search_remove(s, &(tkl_bytes){id, strlen(id)}, 1, NULL));
        free(texts[i]);
    }
    assert_int_equal(number_of(f, "HLEN", "tackle:search:{pages}:texts"), 1);
    assert_int_equal(number_of(f, "HLEN", "tackle:search:{pages}:forward"), 1);
    tkl_search_close(s);
}

/* ---- Long records -------------------------------------------------------- */

enum { RECORDS = 400, VALUES = 8, VALUE_BYTES = 1000 };

static tkl_search *open_long_records(fixture *f)
{
    static char names[VALUES][8], value[VALUE_BYTES + 1];
    tkl_search_field fields[VALUES + 1];
    for (int i = 0; i < VALUES; i++) {
        sprintf(names[i], "f%d", i);
        fields[i] = (tkl_search_field){.name = tkl_str(names[i]), .kind = TKL_SEARCH_FIELD_TEXT};
    }
    fields[VALUES] = (tkl_search_field){.name = tkl_str("votes"), .kind = TKL_SEARCH_FIELD_NUMERIC};
    tkl_search *s =
        pages_open(f, &(tkl_search_schema){.fields = fields, .field_count = VALUES + 1});
    memset(value, 'V', VALUE_BYTES);
    for (int i = 0; i < RECORDS; i++) {
        tkl_search_value values[VALUES + 1];
        char id[16];
        sprintf(id, "%d", i);
        for (int k = 0; k < VALUES; k++)
            values[k] = (tkl_search_value){.field = fields[k].name, .text = tkl_str(value)};
        values[VALUES] = (tkl_search_value){.field = tkl_str("votes"), .number = i};
        tkl_search_doc doc = {.id = tkl_str(id),
                              .text = tkl_str("page"),
                              .values = values,
                              .value_count = VALUES + 1};
        assert_ok(tkl_search_add(s, &doc, 1, NULL));
    }
    return s;
}

/* A reply has a quarter of a megabyte of records, and some documents more. */
static void long_records_come_in_steps(void **state)
{
    static const char *const orders[] = {"", "votes", "-votes", "votes=1"};
    fixture *f = *state;
    tkl_search *s = open_long_records(f);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        tkl_search_query_options options = {.order = tkl_str(orders[i]), .count = RECORDS};
        tkl_search_result *r;
        int64_t before = calls_of(f, "fcall");
        assert_ok(tkl_search_query(s, tkl_str("page"), &options, &r));
        assert_true(r->exact);
        assert_int_equal(r->total, RECORDS);
        assert_int_equal(r->count, RECORDS);
        for (size_t k = 0; i && k < r->count; k++)
            assert_int_equal((int)r->hits[k].values[VALUES].number,
                             i == 1 ? (int)k : RECORDS - 1 - (int)k);
        tkl_search_result_free(r);
        assert_true(calls_of(f, "fcall") - before >= RECORDS * VALUES * VALUE_BYTES / (512 << 10));
    }
    tkl_search_close(s);
}

/* ---- Many documents ------------------------------------------------------ */

enum { MANY = 1500 };

static tkl_search *open_common(fixture *f)
{
    static tkl_search_doc docs[MANY];
    static char ids[MANY][16], texts[MANY][512];
    tkl_search *s = pages_open(f, NULL);
    for (int i = 0; i < MANY; i++) {
        char *at = texts[i];
        sprintf(ids[i], "%d", i);
        for (int k = 0; k <= i * 7 % 11; k++)
            at += sprintf(at, "common ");
        for (int k = 0; k < 3 + i * 13 % 40; k++)
            at += sprintf(at, "w%d ", k);
        docs[i] = (tkl_search_doc){.id = tkl_str(ids[i]), .text = tkl_str(texts[i])};
    }
    assert_ok(tkl_search_add(s, docs, MANY, NULL));
    return s;
}

static void a_result_is_kept_in_steps(void **state)
{
    fixture *f = *state;
    tkl_search *s = open_common(f);
    tkl_search_query_options options = {.count = 100, .keep_ms = 60000};
    tkl_search_result *first, *again;
    int64_t before = calls_of(f, "rpush");
    assert_ok(tkl_search_query(s, tkl_str("common"), &options, &first));
    assert_true(calls_of(f, "rpush") - before >= 1100 / 500 + 1); /* ten pages more are kept */
    assert_false(first->kept);
    assert_ok(tkl_search_query(s, tkl_str("common"), &options, &again));
    assert_true(again->kept);
    for (size_t i = 0; i < 100; i++)
        assert_memory_equal(first->hits[i].id.data, again->hits[i].id.data, first->hits[i].id.len);
    tkl_search_result_free(again);
    options.offset = 1000;
    assert_ok(tkl_search_query(s, tkl_str("common"), &options, &again));
    assert_true(again->kept);
    assert_int_equal(again->count, 100);
    tkl_search_result_free(again);
    tkl_search_result_free(first);
    tkl_search_close(s);
}

/* Makes the index believe that it has had this many documents, and the bitmap of the common word
 * that long: the server needs long to combine it with another. */
static void lengthen_bitmap(fixture *f, int documents)
{
    char next[16], last[16];
    tkl_reply *reply;
    sprintf(next, "%d", documents);
    sprintf(last, "%d", documents - 1);
    assert_ok(
        tkl_callz(f->client, &reply, "HSET", "tackle:search:{pages}:meta", "next", next, NULL));
    tkl_reply_free(reply);
    assert_ok(
        tkl_callz(f->client, &reply, "SETBIT", "tackle:search:{pages}:t:wcommon", last, "0", NULL));
    tkl_reply_free(reply);
}

static void expect_same_hits(const tkl_search_result *one, const tkl_search_result *other)
{
    assert_true(other->exact);
    assert_int_equal(other->total, one->total);
    assert_int_equal(other->count, one->count);
    for (size_t i = 0; i < one->count; i++) {
        assert_memory_equal(other->hits[i].id.data, one->hits[i].id.data, one->hits[i].id.len);
        assert_true(other->hits[i].score == one->hits[i].score);
    }
}

/* How long a bitmap has to be for several steps depends on the machine. A quick one may need only
 * one for all that a plan may cost. */
static void the_best_are_found_in_steps(void **state)
{
    enum { AT_ONCE = 2 }; /* calls of a server that is not busy: one finds, one reads the records */
    fixture *f = *state;
    tkl_search *s = open_common(f);
    tkl_search_result *quick, *slow;
    assert_ok(tkl_search_query(s, tkl_str("common"), NULL, &quick));
    int64_t calls = 0;
    int rc = TKL_OK;
    for (int documents = 20000000; calls <= AT_ONCE && rc == TKL_OK; documents += documents / 4) {
        lengthen_bitmap(f, documents);
        int64_t before = calls_of(f, "fcall");
        rc = tkl_search_query(s, tkl_str("common"), NULL, &slow);
        calls = calls_of(f, "fcall") - before;
        if (rc == TKL_OK)
            expect_same_hits(quick, slow);
        else
            assert_code(rc, TKL_EINVAL); /* the plan is too much work, and refused before it */
        tkl_search_result_free(slow);
    }
    if (rc != TKL_OK)
        print_message("all that a plan may cost took one step on this machine\n");
    tkl_search_result_free(quick);
    tkl_search_close(s);
}

/* Documents that may be among the best, more than one reply has room for; the others are not
 * sent. */
static void many_candidates_come_in_parts(void **state)
{
    enum { ALL = 3000, EACH = 5, AT_ONCE = 500 };
    static char ids[ALL][16], title[700];
    tkl_search_doc docs[AT_ONCE];
    fixture *f = *state;
    tkl_search *s = pages_open(f, NULL);
    tkl_search_result *r;
    tkl_search_value value = {.field = tkl_str("title")};
    memset(title, 'T', sizeof title - 1);
    value.text = tkl_str(title);
    static const char *const texts[] = {"common common common common a1 a2 a3",
                                        "common common common common common b1 b2",
                                        "common common common common common common c",
                                        "common common common common common common common"};
    for (int i = 0; i < ALL; i++) {
        sprintf(ids[i], "%d", i);
        docs[i % AT_ONCE] = (tkl_search_doc){
            .id = tkl_str(ids[i]),
            .text = tkl_str(i % EACH ? "common d1 d2 d3 d4 d5 d6" : texts[i / EACH % 4]),
            .values = &value,
            .value_count = 1};
        if (i % AT_ONCE == AT_ONCE - 1)
            assert_ok(tkl_search_add(s, docs, AT_ONCE, NULL));
    }
    int64_t before = calls_of(f, "fcall");
    assert_ok(tkl_search_query(s, tkl_str("common"), NULL, &r));
    assert_in_range(calls_of(f, "fcall") - before, 2, ALL / AT_ONCE);
    assert_true(r->exact);
    assert_int_equal(r->total, ALL);
    for (size_t i = 0; i < r->count; i++)
        assert_int_equal(strtol(r->hits[i].id.data, NULL, 10) % (4 * EACH), 3 * EACH);
    tkl_search_result_free(r);
    tkl_search_close(s);
}

static void many_texts_are_refused_before_the_work(void **state)
{
    fixture *f = *state;
    tkl_search *s = open_common(f);
    tkl_search_result *r;
    char *query = malloc(16 * 100), *at = query + sprintf(query, "common");
    for (int i = 0; i < 64; i++)
        at += sprintf(at, " -w%d-x%d", i, i);
    assert_int_equal(pages_count(s, query), MANY);
    sprintf(at, " -w1-w2");
    int64_t before = calls_of(f, "fcall");
    assert_code(tkl_search_query(s, tkl_str(query), NULL, &r), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "more than 64 synonyms or excluded texts");
    assert_int_equal(calls_of(f, "fcall"), before);
    free(query);
    tkl_search_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(long_texts_are_in_pieces),      TEST(long_records_come_in_steps),
        TEST(a_result_is_kept_in_steps),     TEST(the_best_are_found_in_steps),
        TEST(many_candidates_come_in_parts), TEST(many_texts_are_refused_before_the_work),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
