/* SPDX-License-Identifier: MIT
 *
 * Search against a naive one in memory: random documents come, change and go, and random queries in
 * English, Chinese and a mixture are asked in all orders. Every total is compared, every page hit by
 * hit, and facets value by value.
 *
 * ctest: label stress
 * ctest: cost 20
 */
#include <math.h>
#include <tackle/search.h>

#include "support/fixture.h"
#include "text/text.h"

enum {
    IDS = 1500,
    ITEMS = 64, /* most items of a query */
    TITLES = 9,
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const english[] = {
    "server",  "client",  "link",     "queue",  "connect",    "connection", "connected", "lock",
    "lease",   "token",   "cluster",  "slot",   "replica",    "master",     "failover",  "timeout",
    "retry",   "batch",   "trip",     "script", "bitmap",     "posting",    "planner",   "walk",
    "order",   "page",    "result",   "keep",   "expire",     "memory",     "index",     "search",
    "word",    "stem",    "stop",     "prefix", "phrase",     "range",      "facet",     "shard",
    "merge",   "version", "document", "number", "document's", "naïve",      "café",      "straße",
    "münchen", "zürich",  "x1",       "v2.0",   "foo_bar",    "conn",       "co",        "running",
};
static const char *const chinese[] = {
    "北京大学", "中文搜索", "服务器", "数据库连接", "搜索引擎", "上海", "大学生",
    "生活",     "學習",     "文件",   "東京",       "电脑连接", "搜索",
};
static const char *const titles[TITLES] = {
    "Alpha", "alpha beta", "Beta", "beta", "", "Zürich", "北京", "alphabetical order", "alphabet",
};

static const tkl_search_field fields[] = {
    {.name = TKL_LIT("votes"), .kind = TKL_SEARCH_FIELD_NUMERIC},
    {.name = TKL_LIT("rank"), .kind = TKL_SEARCH_FIELD_NUMERIC},
    {.name = TKL_LIT("title"), .kind = TKL_SEARCH_FIELD_TEXT},
};

/* ---- The model ----------------------------------------------------------- */

typedef struct model_doc {
    bool there;
    char *text;
    tkl__text_word_list words;
    double votes, rank; /* NaN: missing */
    int title;          /* -1: missing */
} model_doc;

typedef struct world {
    fixture *f;
    tkl_search *search;
    tkl_search_schema schema;
    tkl__text_word_options options;
    tkl__text_word_set stop;
    model_doc docs[IDS];
    unsigned seed;
    int step;
} world;

static unsigned draw(world *w, unsigned below)
{
    w->seed = w->seed * 1664525u + 1013904223u;
    return (w->seed >> 8) % below;
}

static bool chance(world *w, unsigned percent)
{
    return draw(w, 100) < percent;
}

static tkl_bytes id_of(int i, char *room)
{
    int len = sprintf(room, i % 7 ? "doc:%d" : "d\x01 {%%%d}\xff", i);
    room[len] = i % 11 ? 'x' : '\0'; /* a NUL is as good as any byte */
    return (tkl_bytes){room, (size_t)len + 1};
}

/* The first few are in about half of the documents. */
static const char *some_word(world *w)
{
    if (chance(w, 55))
        return english[draw(w, 5)];
    unsigned span = 1 + draw(w, COUNT(english));
    return english[draw(w, span)];
}

static char *some_text(world *w)
{
    char *text = calloc(1, 2048);
    unsigned count = draw(w, 12);
    for (unsigned i = 0; i < count; i++) {
        if (chance(w, 20))
            strcat(text, chinese[draw(w, COUNT(chinese))]);
        else
            strcat(strcat(text, some_word(w)), chance(w, 10) ? ", " : " ");
    }
    if (chance(w, 3))
        strcat(text, "\xff\xfe broken");
    return text;
}

static void forget(model_doc *doc)
{
    if (!doc->there)
        return;
    tkl__text_word_list_free(&doc->words);
    free(doc->text);
    *doc = (model_doc){.there = false};
}

static void invent(world *w, model_doc *doc)
{
    forget(doc);
    doc->there = true;
    doc->text = some_text(w);
    assert_ok(tkl__text_words(tkl_str(doc->text), &w->options, &doc->words));
    doc->votes = chance(w, 85) ? (double)draw(w, 40) / 4 : NAN;
    doc->rank = chance(w, 70) ? (double)draw(w, 1000000) - 500000 : NAN;
    doc->title = chance(w, 80) ? (int)draw(w, TITLES) : -1;
}

/* ---- Queries ------------------------------------------------------------- */

typedef enum item_kind { WORD, PREFIX, VALUE, RANGE, PHRASE } item_kind;

typedef struct item {
    item_kind kind;
    char text[96];
    char sign; /* 0 wanted, '+' instead of the one before, '-' excluded */
    double low, high;
    tkl__text_word_list words;
} item;

typedef struct question {
    item items[ITEMS];
    size_t count;
    bool all;
    char text[1024];
} question;

static void make_words(world *w, item *it)
{
    tkl__text_word_options options = w->options;
    options.query = true;
    assert_ok(tkl__text_words(tkl_str(it->text), &options, &it->words));
}

/* A part of a Chinese text, two characters or more. */
static void some_chinese(world *w, char *to)
{
    const char *from = chinese[draw(w, COUNT(chinese))];
    size_t chars = strlen(from) / 3, start = draw(w, (unsigned)chars - 1);
    size_t len = 2 + draw(w, (unsigned)(chars - start - 1));
    sprintf(to, "%.*s", (int)(3 * len), from + 3 * start);
}

/* Words of some document that stand side by side. */
static bool some_phrase(world *w, item *it)
{
    const model_doc *doc = &w->docs[draw(w, IDS)];
    if (!doc->there || doc->words.count < 3)
        return false;
    const tkl__text_word *first = &doc->words.items[draw(w, (unsigned)doc->words.count - 1)];
    const tkl__text_word *last = first + 1;
    if (first->start >= last->start || last->start + last->len - first->start > 80)
        return false;
    sprintf(it->text, "%.*s", (int)(last->start + last->len - first->start),
            doc->text + first->start);
    return strchr(it->text, '"') == NULL;
}

static void some_item(world *w, item *it)
{
    unsigned what = draw(w, 100);
    *it = (item){.kind = WORD};
    if (what < 8) {
        it->kind = PREFIX;
        sprintf(it->text, "%.*s", 1 + (int)draw(w, 3), english[draw(w, 40)]);
    } else if (what < 16) {
        it->kind = VALUE;
        strcpy(it->text, titles[draw(w, TITLES)]);
    } else if (what < 26) {
        it->kind = RANGE;
        it->low = (double)draw(w, 40) / 4;
        it->high = chance(w, 30) ? (double)INFINITY : it->low + (double)draw(w, 20) / 4;
    } else if (what < 34 && w->schema.positions && some_phrase(w, it)) {
        it->kind = PHRASE;
    } else if (what < 50) {
        some_chinese(w, it->text);
    } else if (what < 53) {
        strcpy(it->text, "nowhere");
    } else {
        strcpy(it->text, some_word(w));
    }
    if (it->kind == WORD || it->kind == PHRASE)
        make_words(w, it);
}

static void write_item(const item *it, char *to)
{
    if (it->sign)
        sprintf(to + strlen(to), "%c", it->sign);
    if (it->kind == VALUE)
        sprintf(to + strlen(to), "title:\"%s\" ", it->text);
    else if (it->kind == RANGE && isinf(it->high))
        sprintf(to + strlen(to), "votes:>%g ", it->low);
    else if (it->kind == RANGE)
        sprintf(to + strlen(to), "votes:%g..%g ", it->low, it->high);
    else
        sprintf(to + strlen(to), it->kind == PHRASE ? "\"%s\" " : "%s%s ", it->text,
                it->kind == PREFIX ? "*" : "");
}

static void ask_something(world *w, question *q)
{
    memset(q, 0, sizeof *q);
    q->all = chance(w, 8);
    q->count = q->all ? draw(w, 3) : 1 + draw(w, 4);
    if (q->all)
        strcpy(q->text, "* ");
    for (size_t i = 0; i < q->count; i++) {
        some_item(w, &q->items[i]);
        if (q->all || (i > 0 && chance(w, 25)))
            q->items[i].sign = '-';
        else if (i > 0 && chance(w, 30) && q->items[i - 1].sign != '-')
            q->items[i].sign = '+';
        write_item(&q->items[i], q->text);
    }
}

/* Cuts an item into the words of the dictionary. Returns their number; 0: it is not cut. */
static size_t cut_item(world *w, const item *it, item *parts)
{
    tkl__text_word_options options = {.fold = TKL__TEXT_FOLD_CHINESE};
    tkl__text_word_list words;
    if (it->kind != WORD || it->sign || (unsigned char)*it->text < 0x80)
        return 0;
    assert_ok(tkl__text_words(tkl_str(it->text), &options, &words));
    size_t count = words.count > 1 ? words.count : 0;
    for (size_t i = 0; i < count; i++) {
        parts[i] = (item){.kind = WORD};
        sprintf(parts[i].text, "%.*s", (int)words.items[i].len, it->text + words.items[i].start);
        make_words(w, &parts[i]);
    }
    tkl__text_word_list_free(&words);
    return count;
}

/* The second query when nothing was found: Chinese texts are cut, unless there are synonyms. */
static bool cut_question(world *w, question *q)
{
    question cut = {.all = q->all};
    bool changed = false;
    for (size_t i = 0; i < q->count; i++)
        if (q->items[i].sign == '+')
            return false;
    for (size_t i = 0; i < q->count; i++) {
        size_t parts = cut_item(w, &q->items[i], &cut.items[cut.count]);
        if (parts)
            tkl__text_word_list_free(&q->items[i].words);
        else
            cut.items[cut.count] = q->items[i];
        cut.count += parts ? parts : 1;
        changed = changed || parts;
    }
    memcpy(cut.text, q->text, sizeof cut.text);
    *q = cut;
    return changed;
}

static void end_question(question *q)
{
    for (size_t i = 0; i < q->count; i++)
        tkl__text_word_list_free(&q->items[i].words);
}

/* ---- Matching ------------------------------------------------------------ */

static bool same(tkl_bytes a, tkl_bytes b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

static bool stands_at(const model_doc *doc, tkl_bytes term, int64_t position)
{
    for (size_t i = 0; i < doc->words.count; i++)
        if (same(doc->words.items[i].text, term) &&
            (position < 0 || doc->words.items[i].position == position))
            return true;
    return false;
}

static bool has_words(const world *w, const model_doc *doc, const item *it)
{
    const tkl__text_word *words = it->words.items;
    size_t count = it->words.count;
    if (count > 1 && w->schema.positions) {
        for (size_t i = 0; i < doc->words.count; i++) {
            int64_t shift = (int64_t)doc->words.items[i].position - words[0].position;
            size_t k = 0;
            while (k < count && stands_at(doc, words[k].text, words[k].position + shift))
                k++;
            if (k == count)
                return true;
        }
        return false;
    }
    for (size_t k = 0; k < count; k++)
        if (!stands_at(doc, words[k].text, -1))
            return false;
    return true;
}

static bool has_prefix(const model_doc *doc, const char *prefix)
{
    for (size_t i = 0; i < doc->words.count; i++)
        if (doc->words.items[i].text.len >= strlen(prefix) &&
            memcmp(doc->words.items[i].text.data, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

/* Titles are equal when they are folded: "Beta" and "beta" are. */
static bool same_title(int a, int b)
{
    return a == b || (a == 2 && b == 3) || (a == 3 && b == 2);
}

static bool has_item(const world *w, const model_doc *doc, const item *it)
{
    if (it->kind == PREFIX)
        return has_prefix(doc, it->text);
    if (it->kind == RANGE && isinf(it->high))
        return !isnan(doc->votes) && doc->votes > it->low;
    if (it->kind == RANGE)
        return !isnan(doc->votes) && doc->votes >= it->low && doc->votes <= it->high;
    if (it->kind != VALUE)
        return has_words(w, doc, it);
    int title = 0;
    while (strcmp(titles[title], it->text) != 0)
        title++;
    return doc->title >= 0 && same_title(doc->title, title);
}

/* A word that gives no terms does not count. */
static bool counts(const item *it)
{
    return (it->kind != WORD && it->kind != PHRASE) || it->words.count > 0;
}

static bool matches(const world *w, const model_doc *doc, const question *q)
{
    bool any_wanted = q->all;
    if (!doc->there)
        return false;
    for (size_t i = 0; i < q->count;) {
        const item *it = &q->items[i];
        if (it->sign == '-') {
            if (counts(it) && has_item(w, doc, it))
                return false;
            i++;
            continue;
        }
        bool has = false, counted = false;
        do {
            counted = counted || counts(&q->items[i]);
            has = has || (counts(&q->items[i]) && has_item(w, doc, &q->items[i]));
            i++;
        } while (i < q->count && q->items[i].sign == '+');
        if (counted && !has)
            return false;
        any_wanted = any_wanted || counted;
    }
    return any_wanted;
}

/* ---- Orders -------------------------------------------------------------- */

static const char *const orders[] = {
    "votes", "-votes", "rank", "-rank", "title", "-title", "votes=2,rank=-0.5", ""};

/* The number that a document is sorted by: smaller comes first. Titles have a rank among all. */
static double key_of(const model_doc *doc, const char *order)
{
    static const int ranks[TITLES] = {1, 2, 5, 5, 0, 6, 7, 4, 3};
    bool down = order[0] == '-';
    double key;
    if (strchr(order, '='))
        return -((isnan(doc->votes) ? 0 : 2 * doc->votes) +
                 (isnan(doc->rank) ? 0 : -0.5 * doc->rank));
    if (strstr(order, "votes"))
        key = doc->votes;
    else if (strstr(order, "rank"))
        key = doc->rank;
    else
        key = doc->title < 0 ? (double)NAN : ranks[doc->title];
    return isnan(key) ? (double)INFINITY : down ? -key : key;
}

static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The id has the number between its marks. */
static int index_of(tkl_bytes id)
{
    char room[64];
    const char *mark = id.len ? memchr(id.data, id.data[1] == 'o' ? ':' : '%', id.len) : NULL;
    int i = mark ? atoi(mark + 1) : -1;
    return i >= 0 && i < IDS && same(id_of(i, room), id) ? i : -1;
}

/* ---- Comparing ----------------------------------------------------------- */

typedef struct expected {
    double keys[IDS];
    bool match[IDS];
    size_t count;
} expected;

static void expect(world *w, const question *q, const char *order, expected *e)
{
    e->count = 0;
    for (int i = 0; i < IDS; i++) {
        e->match[i] = matches(w, &w->docs[i], q);
        if (e->match[i])
            e->keys[e->count++] = *order ? key_of(&w->docs[i], order) : 0;
    }
    qsort(e->keys, e->count, sizeof *e->keys, by_double);
}

static void check_values(const world *w, const model_doc *doc, const tkl_search_hit *hit)
{
    size_t at = 0;
    (void)w;
    if (!isnan(doc->votes))
        assert_true(hit->values[at++].number == doc->votes);
    if (!isnan(doc->rank))
        assert_true(hit->values[at++].number == doc->rank);
    if (doc->title >= 0)
        assert_true(same(hit->values[at++].text, tkl_str(titles[doc->title])));
    assert_int_equal(hit->value_count, at);
}

/* Each hit matches, comes once, and has the key that belongs to its place. */
static void check_hits(world *w, const char *order, const tkl_search_result *r, int64_t offset,
                       expected *e, const char *about)
{
    double before = (double)INFINITY;
    for (size_t i = 0; i < r->count; i++) {
        int doc = index_of(r->hits[i].id);
        if (doc < 0 || !e->match[doc])
            fail_msg("%s: hit %zu, " TKL_FMT ", is none", about, i, TKL_ARG(r->hits[i].id));
        e->match[doc] = false;
        check_values(w, &w->docs[doc], &r->hits[i]);
        if (*order && key_of(&w->docs[doc], order) != e->keys[(size_t)offset + i])
            fail_msg("%s: hit %zu, " TKL_FMT ", has %g, not %g", about, i, TKL_ARG(r->hits[i].id),
                     key_of(&w->docs[doc], order), e->keys[(size_t)offset + i]);
        if (!*order && r->hits[i].score > before)
            fail_msg("%s: hit %zu is better than the one before", about, i);
        before = r->hits[i].score;
    }
}

static void check_facet(world *w, const question *q, const tkl_search_result *r, const char *about)
{
    int64_t missing = 0;
    for (int i = 0; i < IDS; i++)
        missing += matches(w, &w->docs[i], q) && w->docs[i].title < 0;
    assert_int_equal(r->facet_count, 1);
    if (r->facets[0].missing != missing)
        fail_msg("%s: %d without a title, not %d", about, (int)r->facets[0].missing, (int)missing);
    for (size_t k = 0; k < r->facets[0].count; k++) {
        const tkl_search_count *count = &r->facets[0].counts[k];
        int title = 0;
        int64_t sum = 0;
        while (title < TITLES && !same(tkl_str(titles[title]), count->value))
            title++;
        for (int i = 0; i < IDS; i++)
            sum += matches(w, &w->docs[i], q) && w->docs[i].title >= 0 &&
                   same_title(w->docs[i].title, title);
        if (count->count != sum)
            fail_msg("%s: %d have the title " TKL_FMT ", not %d", about, (int)count->count,
                     TKL_ARG(count->value), (int)sum);
    }
}

static void check_query(world *w)
{
    static const tkl_bytes facet = TKL_LIT("title");
    question q;
    expected e;
    char about[1400];
    tkl_search_result *r;
    const char *order = orders[draw(w, COUNT(orders))];
    ask_something(w, &q);
    expect(w, &q, order, &e);
    if (e.count == 0 && cut_question(w, &q))
        expect(w, &q, order, &e);
    tkl_search_query_options options = {
        .order = tkl_str(order),
        .offset = chance(w, 60) ? 0 : draw(w, (unsigned)e.count + 3),
        .count = chance(w, 92) ? 1 + draw(w, 20) : 1 + draw(w, 900),
        .keep_ms = chance(w, 20) ? 60000 : 0,
    };
    if (chance(w, 10)) {
        options.facets = &facet;
        options.facet_count = 1;
    }
    sprintf(about, "step %d: %s by \"%s\" from %d, %d", w->step, q.text, order, (int)options.offset,
            (int)options.count);
    int rc = tkl_search_query(w->search, tkl_str(q.text), &options, &r);
    if (rc != TKL_OK)
        fail_msg("%s: %s: %s", about, tkl_codename(rc), tkl_errmsg());
    if (r->total != (int64_t)e.count || !r->exact)
        fail_msg("%s: total %d, exact %d, not %d", about, (int)r->total, r->exact, (int)e.count);
    int64_t left = (int64_t)e.count - options.offset;
    int64_t hits = left < 0 ? 0 : left < options.count ? left : options.count;
    if ((int64_t)r->count != hits)
        fail_msg("%s: %d hits, not %d", about, (int)r->count, (int)hits);
    check_hits(w, order, r, options.offset, &e, about);
    if (options.facet_count)
        check_facet(w, &q, r, about);
    tkl_search_result_free(r);
    end_question(&q);
}

/* ---- Writing ------------------------------------------------------------- */

static void add_some(world *w, size_t count)
{
    tkl_search_doc *docs = calloc(count, sizeof *docs);
    tkl_search_value(*values)[3] = calloc(count, sizeof *values);
    char(*ids)[64] = calloc(count, sizeof *ids);
    int64_t fresh = 0, added;
    for (size_t i = 0; i < count; i++) {
        int at = (int)draw(w, IDS);
        model_doc *doc = &w->docs[at];
        size_t n = 0;
        fresh += !doc->there;
        char *old = NULL;
        for (size_t k = 0; k < i; k++) /* its text is borrowed by the one before */
            if (docs[k].text.data == doc->text)
                old = doc->text;
        if (old) {
            i--, count--;
            continue;
        }
        invent(w, doc);
        if (!isnan(doc->votes))
            values[i][n++] = (tkl_search_value){.field = tkl_str("votes"), .number = doc->votes};
        if (doc->title >= 0)
            values[i][n++] =
                (tkl_search_value){.field = tkl_str("title"), .text = tkl_str(titles[doc->title])};
        if (!isnan(doc->rank))
            values[i][n++] = (tkl_search_value){.field = tkl_str("rank"), .number = doc->rank};
        docs[i] = (tkl_search_doc){.id = id_of(at, ids[i]),
                                   .text = tkl_str(doc->text),
                                   .values = values[i],
                                   .value_count = n};
    }
    assert_ok(tkl_search_add(w->search, docs, count, &added));
    assert_int_equal(added, fresh);
    free(docs);
    free(values);
    free(ids);
}

static void remove_some(world *w, size_t count)
{
    tkl_bytes *ids = calloc(count, sizeof *ids);
    char(*rooms)[64] = calloc(count, sizeof *rooms);
    int64_t there = 0, removed;
    for (size_t i = 0; i < count; i++) {
        int at = (int)draw(w, IDS);
        there += w->docs[at].there;
        forget(&w->docs[at]);
        ids[i] = id_of(at, rooms[i]);
    }
    assert_ok(tkl_search_remove(w->search, ids, count, &removed));
    assert_int_equal(removed, there);
    free(ids);
    free(rooms);
}

/* ---- The test ------------------------------------------------------------ */

static void open_world(world *w, fixture *f, const tkl_search_schema *schema)
{
    *w = (world){.f = f, .schema = *schema, .seed = 20240229};
    w->schema.fields = fields;
    w->schema.field_count = COUNT(fields);
    w->options = (tkl__text_word_options){
        .fold = TKL__TEXT_FOLD_CHINESE, .stem = schema->stem, .bigrams = true, .parts = true};
    if (!schema->no_stop_words) {
        const tkl_bytes stop[] = {TKL_LIT("link"), TKL_LIT("page")};
        assert_ok(tkl__text_word_set_make(stop, 2, TKL__TEXT_FOLD_CHINESE, &w->stop));
        w->options.stop = &w->stop;
        w->schema.stop_words = tkl_str("link page");
    }
    assert_ok(tkl_search_open(f->client, tkl_str("model"), NULL, &w->search));
    assert_ok(tkl_search_create(w->search, &w->schema));
}

/* Keys that do not expire by themselves. */
static int64_t keys_left(fixture *f)
{
    tkl_reply *reply;
    int64_t count = 0;
    assert_ok(tkl_callz(f->client, &reply, "KEYS", "*", NULL));
    for (size_t i = 0; i < tkl_reply_count(reply); i++) {
        const char *key = tkl_reply_str(tkl_reply_at(reply, i));
        count += !strstr(key, ":kept:") && !strstr(key, ":range:") && !strstr(key, ":union:") &&
                 !strstr(key, ":times:") && !strstr(key, ":result:");
    }
    tkl_reply_free(reply);
    return count;
}

/* Removed completely: nothing but the settings is left. */
static void close_world(world *w)
{
    tkl_search_info *info;
    for (int i = 0; i < IDS; i++)
        forget(&w->docs[i]);
    char room[64];
    for (int i = 0; i < IDS; i++) {
        tkl_bytes id = id_of(i, room);
        assert_ok(tkl_search_remove(w->search, &id, 1, NULL));
    }
    assert_ok(tkl_search_show(w->search, &info));
    assert_int_equal(info->documents, 0);
    assert_int_equal(info->terms, 0);
    assert_int_equal(info->common, 0);
    assert_int_equal(info->leftover, 0);
    tkl_search_info_free(info);
    assert_ok(tkl_search_drop(w->search));
    assert_int_equal(keys_left(w->f), 0);
    tkl__text_word_set_free(&w->stop);
    tkl_search_close(w->search);
}

static void live(world *w, int steps)
{
    add_some(w, 1000);
    add_some(w, 700);
    for (w->step = 0; w->step < steps; w->step++) {
        unsigned what = draw(w, 100);
        if (what < 22)
            add_some(w, 1 + draw(w, 8));
        else if (what < 30)
            remove_some(w, 1 + draw(w, 12));
        else
            check_query(w);
        if (w->step % 2400 == 1200)
            remove_some(w, 2000); /* common words become rare */
        if (w->step % 2400 == 1500)
            add_some(w, 1500);
    }
}

static void one_shard_agrees_with_the_model(void **state)
{
    world *w = malloc(sizeof *w);
    open_world(w, *state, &(tkl_search_schema){.no_stop_words = true});
    live(w, 6000);
    close_world(w);
    free(w);
}

static void shards_agree_with_the_model(void **state)
{
    world *w = malloc(sizeof *w);
    open_world(w, *state, &(tkl_search_schema){.shards = 3, .stem = "en"});
    live(w, 2400);
    close_world(w);
    free(w);
}

static void positions_agree_with_the_model(void **state)
{
    world *w = malloc(sizeof *w);
    open_world(w, *state, &(tkl_search_schema){.positions = true, .no_text = true});
    live(w, 2400);
    close_world(w);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_shard_agrees_with_the_model),
        TEST(shards_agree_with_the_model),
        TEST(positions_agree_with_the_model),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
