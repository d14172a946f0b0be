/* SPDX-License-Identifier: MIT
 *
 * Ads: bad arguments, foreign and damaged data, full servers, locales, forked children, and names
 * of any bytes.
 */
#include <math.h>
#include <unistd.h>

#include <tackle/suggest.h>

#include "support/adverts.h"
#include "support/fixture.h"
#include "support/locale.h"
#include "support/process.h"
#include "support/proxy.h"

#define KEY(part) "tackle:ads:{site}:" part

static const char *const parts[] = {"meta",  "ads", "values", "counts", "words",
                                    "index", "due", "heads",  "gates",  "turn"};
#define PARTS (sizeof parts / sizeof *parts)

static advert tea(void)
{
    return (advert){.name = "a", .type = TKL_ADS_CPC, .price = 1, .budget = 1000, .text = "tea"};
}

/* ---- Arguments ----------------------------------------------------------- */

static void bad_options_are_refused(void **state)
{
    fixture *f = *state;
    static const tkl_ads_options bad[] = {
        {.timeout_ms = -1}, {.ttl_ms = -1},    {.target_ms = -1},
        {.smoothing = -2},  {.reserved = {1}}, {.smoothing = INT64_C(1000000001)},
        {.explore = -2},    {.explore = 1001},
    };
    tkl_ads *ads;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(tkl_ads_open(f->client, tkl_str("site"), &bad[i], &ads), TKL_EINVAL);
        assert_null(ads);
    }
    assert_code(tkl_ads_open(f->client, tkl_str(""), NULL, &ads), TKL_EINVAL);
    tkl_ads_close(NULL);
    tkl_ads_choice_free(NULL);
    tkl_ads_info_free(NULL);
    tkl_ads_lines_free(NULL);
    tkl_ads_words_free(NULL);
}

static void bad_ads_are_refused(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    char name[600];
    memset(name, 'x', sizeof name);
    const tkl_bytes here = tkl_str("Berlin"), empty = {NULL, 0},
                    too_long = {name, TKL_ADS_NAME_MAX + 1};
    const tkl_ads_need none = {.kind = tkl_str("age")};
    const tkl_ads_need twice[] = {{.kind = tkl_str("age"), .values = &here, .count = 1},
                                  {.kind = tkl_str("AGE"), .values = &here, .count = 1}};
    const tkl_ads_need unnamed = {.values = &here, .count = 1};
    const tkl_ad good = {.name = tkl_str("a"),
                         .type = TKL_ADS_CPC,
                         .price_micros = 1000000,
                         .locations = &here,
                         .location_count = 1};
    tkl_bytes many[TKL_ADS_VALUES_MAX];
    for (int i = 0; i < TKL_ADS_VALUES_MAX; i++)
        many[i] = here;
    const tkl_ads_need too_many[] = {
        {.kind = tkl_str("age"), .values = many, .count = TKL_ADS_VALUES_MAX},
        {.kind = tkl_str("os"), .values = &here, .count = 1}};
    tkl_ad bad[19];
    for (int i = 0; i < 19; i++)
        bad[i] = good;
    bad[0].name = empty;
    bad[1].name = too_long;
    bad[2].type = 0;
    bad[3].type = 4;
    bad[4].price_micros = -1;
    bad[5].price_micros = TKL_ADS_PRICE_MAX + 1;
    bad[6].budget_micros = -1;
    bad[7].budget_micros = 999999; /* does not pay for a click */
    bad[8].budget_micros = TKL_ADS_BUDGET_MAX + 1;
    bad[9].location_count = 0;
    bad[10].locations = &empty;
    bad[11].locations = &too_long;
    bad[12].needs = &none, bad[12].need_count = 1;
    bad[13].needs = twice, bad[13].need_count = 2;
    bad[14].needs = &unnamed, bad[14].need_count = 1;
    bad[15].reserved[0] = 1;
    bad[16].type = TKL_ADS_CPM, bad[16].price_micros = 500; /* half a micro-unit a view */
    bad[17].need_count = TKL_ADS_KINDS_MAX + 1, bad[17].needs = twice;
    bad[18].needs = too_many, bad[18].need_count = 2;
    for (int i = 0; i < 19; i++) {
        assert_code(tkl_ads_add(ads, &bad[i], 1), TKL_EINVAL);
        assert_true(*tkl_errmsg());
    }
    const tkl_ad both[] = {good, bad[4]};
    assert_code(tkl_ads_add(ads, both, 2), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "ad 1");
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    assert_ok(tkl_ads_add(ads, NULL, 0));
    assert_ok(tkl_ads_remove(ads, NULL, 0, NULL));
    assert_code(tkl_ads_remove(ads, &empty, 1, NULL), TKL_EINVAL);
    tkl_ads_close(ads);
}

static void too_many_words_are_refused_in_an_ad_and_cut_off_a_page(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    char *text = calloc(1, 100000), *at = text;
    for (int i = 0; i < TKL_ADS_WORDS_MAX + 1; i++)
        at += sprintf(at, "w%d ", i);
    advert a = tea();
    a.text = text;
    assert_code(add_code(ads, &a), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "40 different words");
    *strstr(text, "w40") = 0;
    assert_ok(add_code(ads, &a));
    for (int i = TKL_ADS_WORDS_MAX; i < 5000; i++)
        at += sprintf(at, "w%d ", i);
    tkl_ads_choice *c = target_page(ads, text);
    assert_int_equal(c->count, TKL_ADS_WORDS_MAX);
    tkl_ads_choice_free(c);
    free(text);
    tkl_ads_close(ads);
}

static void bad_pages_are_refused(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    tkl_ads_choice *c;
    add_ad(ads, tea());
    assert_code(target_code(ads, "1,2,3,4,5,6,7,8,9", NULL, "", &c), TKL_EINVAL);
    assert_ok(target_code(ads, "1,2,3,4,5,6,7,Berlin,1,2", NULL, "", &c)); /* 8 different ones */
    tkl_ads_choice_free(c);
    assert_code(target_code(ads, NULL, "age=1 Age=2", "", &c), TKL_EINVAL);
    assert_null(c);
    tkl_ads_page page = {.reserved = {1}};
    assert_code(tkl_ads_target(ads, &page, &c), TKL_EINVAL);
    tkl_bytes empty = {NULL, 0};
    page = (tkl_ads_page){.locations = &empty, .location_count = 1};
    assert_code(tkl_ads_target(ads, &page, &c), TKL_EINVAL);
    assert_code(tkl_ads_explain(ads, &page, tkl_str("a"), &c), TKL_EINVAL);
    page = (tkl_ads_page){.text = tkl_str("x")};
    assert_code(tkl_ads_explain(ads, &page, tkl_str("nothing"), &c), TKL_NOTFOUND);
    assert_ok(tkl_ads_explain(ads, &page, tkl_str("a"), &c));
    assert_int_equal(c->location.len, 0);
    tkl_ads_choice_free(c);
    tkl_ads_close(ads);
}

static void amounts_are_read_exactly(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t micros;
    } good[] = {{"0", 0},        {"0.25", 250000},
                {".5", 500000},  {"1.", 1000000},
                {"0.000001", 1}, {"00012", 12000000},
                {"0.1", 100000}, {"999999999.999999", INT64_C(999999999999999)}};
    static const char *const bad[] = {"",   ".",   "-1", "+1",  "nan",       "inf",   "1e3",
                                      " 1", "1,5", "1 ", "0x1", "0.0000001", "1.2.3", "1000000000"};
    int64_t micros;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_ok(tkl_ads_micros(tkl_str(good[i].text), &micros));
        assert_int_equal(micros, good[i].micros);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(tkl_ads_micros(tkl_str(bad[i]), &micros), TKL_EINVAL);
        assert_int_equal(micros, 0);
    }
    assert_code(tkl_ads_micros((tkl_bytes){NULL, 0}, &micros), TKL_EINVAL);
}

static void an_ad_may_be_free_of_charge(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    static const tkl_ads_type types[] = {TKL_ADS_CPM, TKL_ADS_CPC, TKL_ADS_CPA};
    for (int i = 0; i < 3; i++) {
        add_ad(ads, (advert){.name = "free", .type = types[i], .budget = 0.001, .text = "tea"});
        for (int n = 0; n < 110; n++) {
            target_id id = show_ad(ads, "tea");
            assert_ok(tkl_ads_click(ads, tkl_str(id.text)));
            assert_ok(tkl_ads_action(ads, tkl_str(id.text)));
        }
    }
    tkl_ads_info *info = info_of(ads, "free");
    assert_int_equal(info->counts.spent_micros, 0);
    assert_true(info->counts.ecpm == 0);
    tkl_ads_info_free(info);
    tkl_ads_close(ads);
}

/* The largest numbers stay exact, and finite. */
static void the_largest_prices(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, &(tkl_ads_options){.smoothing = TKL_NONE});
    tkl_bytes here = tkl_str("Berlin");
    tkl_ad ad = {.name = tkl_str("a"),
                 .type = TKL_ADS_CPC,
                 .price_micros = TKL_ADS_PRICE_MAX,
                 .budget_micros = TKL_ADS_BUDGET_MAX,
                 .locations = &here,
                 .location_count = 1};
    assert_ok(tkl_ads_add(ads, &ad, 1));
    for (int i = 0; i < 4; i++) { /* a hundredth of the budget each: an hour's share is 4 */
        target_id id = show_ad(ads, "");
        assert_ok(tkl_ads_click(ads, tkl_str(id.text)));
    }
    tkl_ads_info *info = info_of(ads, "a");
    assert_int_equal(info->counts.spent_micros, 4 * TKL_ADS_PRICE_MAX);
    assert_int_equal(info->spent_today_micros, 4 * TKL_ADS_PRICE_MAX);
    assert_true(info->counts.ecpm == 1e9);
    tkl_ads_info_free(info);
    tkl_ads_close(ads);
}

static void smoothing_is_a_setting_of_all(void **state)
{
    fixture *f = *state;
    tkl_ads *plain = open_ads(f->client, &(tkl_ads_options){.smoothing = TKL_NONE});
    tkl_ads *some = open_ads(f->client, &(tkl_ads_options){.smoothing = 50});
    tkl_ads *any = open_ads(f->client, NULL);
    tkl_ads_choice *c;
    tkl_ads_stats stats;
    add_ad(some, tea());
    advert a = tea();
    assert_code(add_code(plain, &a), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "50");
    assert_code(target_code(plain, NULL, NULL, "", &c), TKL_EINVAL);
    target_id id = show_ad(any, "");
    assert_code(tkl_ads_click(plain, tkl_str(id.text)), TKL_EINVAL);
    assert_ok(tkl_ads_click(some, tkl_str(id.text)));
    assert_ok(tkl_ads_stats_get(any, &stats));
    assert_int_equal(stats.smoothing, 50);
    assert_ok(tkl_ads_drop(any));
    add_ad(plain, tea());
    assert_ok(tkl_ads_stats_get(any, &stats));
    assert_int_equal(stats.smoothing, TKL_NONE);
    tkl_ads_close(plain);
    tkl_ads_close(some);
    tkl_ads_close(any);
}

/* ---- Bytes --------------------------------------------------------------- */

static void names_may_be_any_bytes(void **state)
{
    fixture *f = *state;
    static const tkl_bytes names[] = {TKL_LIT("a\0b"), TKL_LIT("a"),   TKL_LIT("\xff\xfe"),
                                      TKL_LIT("\0"),   TKL_LIT("{}%"), TKL_LIT("\1\2")};
    static const tkl_bytes places[] = {TKL_LIT("x\0y"), TKL_LIT("x"),   TKL_LIT("\xff"),
                                       TKL_LIT("\1"),   TKL_LIT("x\0"), TKL_LIT("\0")};
    tkl_ads *ads;
    assert_ok(tkl_ads_open(f->client, (tkl_bytes){"s\0{}", 4}, NULL, &ads));
    for (int i = 0; i < 6; i++) {
        tkl_ads_need need = {.kind = places[i], .values = &names[i], .count = 1};
        tkl_ad ad = {.name = names[i],
                     .type = TKL_ADS_CPM,
                     .price_micros = 1000 * (i + 1),
                     .locations = &places[i],
                     .location_count = 1,
                     .needs = &need,
                     .need_count = 1};
        assert_ok(tkl_ads_add(ads, &ad, 1));
    }
    for (int i = 0; i < 6; i++) {
        tkl_ads_trait trait = {.kind = places[i], .value = names[i]};
        tkl_ads_page page = {
            .locations = &places[i], .location_count = 1, .traits = &trait, .trait_count = 1};
        tkl_ads_choice *c;
        tkl_ads_info *info;
        assert_ok(tkl_ads_target(ads, &page, &c));
        assert_int_equal(c->ad.len, names[i].len);
        assert_memory_equal(c->ad.data, names[i].data, names[i].len);
        assert_int_equal(c->location.len, places[i].len);
        assert_memory_equal(c->location.data, places[i].data, places[i].len);
        tkl_ads_choice_free(c);
        assert_ok(tkl_ads_show(ads, names[i], &info));
        assert_int_equal(info->needs[0].values[0].len, names[i].len);
        assert_memory_equal(info->needs[0].kind.data, places[i].data, places[i].len);
        tkl_ads_info_free(info);
    }
    int64_t removed;
    assert_ok(tkl_ads_remove(ads, names, 6, &removed));
    assert_int_equal(removed, 6);
    tkl_ads_close(ads);
}

/* Ads neither touch nor find the data of another component. */
static void other_components_with_the_same_words_do_not_mix(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    tkl_suggest *suggest;
    assert_ok(tkl_suggest_open(f->client, tkl_str("site"), NULL, &suggest));
    assert_ok(tkl_suggest_feed(suggest, &(tkl_suggest_text){.text = tkl_str("tea")}, 1));
    assert_ok(tkl_callz(f->client, NULL, "ZADD", "tackle:search:{site}:word:tea", "1", "a", NULL));
    int64_t before = call_int(f->client, "DBSIZE", NULL);
    expect_ad(ads, NULL, NULL, "tea", NULL);
    add_ad(ads, tea());
    expect_ad(ads, NULL, NULL, "tea", "a");
    assert_ok(tkl_ads_drop(ads));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), before + 1); /* the target */
    tkl_suggest_close(suggest);
    tkl_ads_close(ads);
}

/* ---- Foreign and damaged data -------------------------------------------- */

/* A key of another type: an error, and nothing else has changed. */
static void foreign_data_is_reported_and_left_alone(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < PARTS; i++) {
        tkl_ads *ads = open_ads(f->client, NULL);
        char *key = test_format(KEY("%s"), parts[i]);
        tkl_ads_choice *c;
        add_ad(ads, tea());
        target_id id = show_ad(ads, "tea");
        assert_ok(tkl_callz(f->client, NULL, "DEL", key, NULL));
        assert_ok(tkl_callz(f->client, NULL, "SET", key, "mine", NULL));
        char *others = call_text(f->client, "DEBUG", "DIGEST", NULL);
        advert a = tea();
        assert_code(add_code(ads, &a), TKL_ETYPE);
        int rc = target_code(ads, NULL, NULL, "tea", &c);
        assert_code(rc, TKL_ETYPE);
        rc = tkl_ads_click(ads, tkl_str(id.text));
        bool unused = strcmp(parts[i], "gates") == 0 || strcmp(parts[i], "turn") == 0;
        if (!unused) /* a click has nothing to do with them */
            assert_code(rc, TKL_ETYPE);
        if (rc != TKL_OK)
            call_expect(f->client, others, "DEBUG", "DIGEST", NULL);
        call_expect(f->client, "mine", "GET", key, NULL);
        free(others);
        free(key);
        tkl_ads_close(ads);
        server_do(f->server, "FLUSHALL");
    }
}

static void damaged_ads_are_reported(void **state)
{
    fixture *f = *state;
    static const char *const bad[] = {"", "garbage", "\x93\x01\x02\x03",
                                      "\x81\xa4type\xa3"
                                      "cpc"};
    tkl_ads *ads = open_ads(f->client, NULL);
    tkl_ads_choice *c;
    tkl_ads_info *info;
    tkl_ads_lines *lines;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        add_ad(ads, tea());
        target_id id = show_ad(ads, "tea");
        assert_ok(tkl_callz(f->client, NULL, "HSET", KEY("ads"), "a", bad[i], NULL));
        assert_code(target_code(ads, NULL, NULL, "tea", &c), TKL_EDAMAGED);
        assert_contains(tkl_errmsg(), "ad a ");
        assert_code(tkl_ads_click(ads, tkl_str(id.text)), TKL_EDAMAGED);
        assert_code(tkl_ads_show(ads, tkl_str("a"), &info), TKL_EDAMAGED);
        assert_code(tkl_ads_report(ads, &lines), TKL_EDAMAGED);
        assert_null(lines);
        server_do(f->server, "FLUSHALL");
        add_ad(ads, tea());
        assert_ok(tkl_callz(f->client, NULL, "HSET", KEY("values"), "a", bad[i], NULL));
        assert_code(target_code(ads, NULL, NULL, "tea", &c), TKL_EDAMAGED);
        assert_code(tkl_ads_show(ads, tkl_str("a"), &info), TKL_EDAMAGED);
        server_do(f->server, "FLUSHALL");
    }
    tkl_ads_close(ads);
}

static void add_pair(tkl_ads *ads)
{
    add_ad(ads, (advert){"a", TKL_ADS_CPC, 2, .needs = "age=1", .text = "tea"});
    add_ad(ads, (advert){"b", TKL_ADS_CPC, 1, .needs = "age=1", .text = "tea"});
}

/* Adds ads again after any loss but that of their values: without these, tackle cannot know which
 * entries of the index belong to them. */
static void ads_that_are_added_again_are_found(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    for (size_t i = 0; i < PARTS; i++) {
        char *key = test_format(KEY("%s"), parts[i]);
        add_pair(ads);
        assert_ok(tkl_callz(f->client, NULL, "DEL", key, NULL));
        if (strcmp(parts[i], "values") == 0)
            assert_ok(tkl_ads_drop(ads));
        add_pair(ads);
        expect_ad(ads, NULL, "age=1", "tea", "a");
        assert_int_equal(remove_ad(ads, "a"), 1);
        expect_ad(ads, NULL, "age=1", "tea", "b");
        free(key);
        server_do(f->server, "FLUSHALL");
    }
    tkl_ads_close(ads);
}

static void damaged_numbers_are_reported(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *key, *field;
    } numbers[] = {{KEY("counts"), "views:a"}, {KEY("meta"), "cpc views"}};
    static const char *const bad[] = {"", "x", "1.5", "9223372036854775807"};
    tkl_ads *ads = open_ads(f->client, NULL);
    tkl_ads_choice *c;
    for (size_t i = 0; i < 8; i++) {
        add_ad(ads, tea());
        assert_ok(tkl_callz(f->client, NULL, "HSET", numbers[i % 2].key, numbers[i % 2].field,
                            bad[i / 2], NULL));
        assert_code(target_code(ads, NULL, NULL, "tea", &c), TKL_EDAMAGED);
        assert_contains(tkl_errmsg(), numbers[i % 2].key);
        server_do(f->server, "FLUSHALL");
    }
    tkl_ads_close(ads);
}

/* A refused click has changed nothing, so it may come again. */
static void a_click_on_damaged_numbers_counts_nothing(void **state)
{
    static const char *const fields[] = {"clicks:a", "spent:a"};
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    for (size_t i = 0; i < 2; i++) {
        tkl_ads_choice *c;
        add_ad(ads, tea());
        assert_ok(target_code(ads, NULL, NULL, "tea", &c));
        assert_ok(tkl_callz(f->client, NULL, "HSET", KEY("counts"), fields[i], "x", NULL));
        assert_code(tkl_ads_click(ads, c->target), TKL_EDAMAGED);
        assert_ok(tkl_callz(f->client, NULL, "HDEL", KEY("counts"), fields[i], NULL));
        assert_ok(tkl_ads_click(ads, c->target));
        assert_code(tkl_ads_click(ads, c->target), TKL_EXISTS);
        tkl_ads_choice_free(c);
        server_do(f->server, "FLUSHALL");
    }
    tkl_ads_close(ads);
}

/* A member that is no ad, in the list of a location. */
static void a_damaged_index_is_reported(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    tkl_ads_choice *c;
    add_ad(ads, tea());
    const char *args[] = {"ZADD", KEY("index"), "0", "lberlin\0\0z"};
    size_t lens[] = {4, sizeof KEY("index") - 1, 1, 10};
    assert_ok(tkl_call(f->client, 4, args, lens, NULL, NULL));
    assert_code(target_code(ads, NULL, NULL, "tea", &c), TKL_EDAMAGED);
    assert_contains(tkl_errmsg(), "index");
    tkl_ads_close(ads);
}

/* After an eviction there is an error, or there are fewer ads; adding again repairs it. */
static void lost_keys_are_survived(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    for (size_t i = 0; i < PARTS; i++) {
        tkl_ads_choice *c;
        char *key = test_format(KEY("%s"), parts[i]);
        add_ad(ads, tea());
        target_id id = show_ad(ads, "tea");
        assert_ok(tkl_ads_click(ads, tkl_str(id.text)));
        assert_ok(tkl_callz(f->client, NULL, "DEL", key, NULL));
        int rc = target_code(ads, NULL, NULL, "tea", &c);
        if (rc != TKL_OK && rc != TKL_EMPTY && rc != TKL_EDAMAGED)
            assert_code(rc, TKL_EDAMAGED);
        tkl_ads_choice_free(c);
        free(key);
        server_do(f->server, "FLUSHALL");
    }
    tkl_ads_close(ads);
}

static void a_full_server_changes_nothing(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    tkl_ads_choice *c;
    add_ad(ads, tea());
    target_id id = show_ad(ads, "tea");
    char *before = call_text(f->client, "DEBUG", "DIGEST", NULL);
    server_do(f->server, "CONFIG SET maxmemory 1");
    advert a = tea(), other = tea();
    other.name = "b";
    a.text = "coffee";
    assert_code(add_code(ads, &a), TKL_EOOM);
    assert_code(add_code(ads, &other), TKL_EOOM);
    assert_code(target_code(ads, NULL, NULL, "tea", &c), TKL_EOOM);
    assert_code(tkl_ads_click(ads, tkl_str(id.text)), TKL_EOOM);
    call_expect(f->client, before, "DEBUG", "DIGEST", NULL);
    assert_int_equal(remove_ad(ads, "a"), 1);
    server_do(f->server, "CONFIG SET maxmemory 0");
    free(before);
    tkl_ads_close(ads);
}

static void all_keys_expire(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, &(tkl_ads_options){.ttl_ms = 60000});
    advert a = tea();
    a.needs = "age=1";
    a.text = NULL;
    add_ad(ads, a);
    add_ad(ads, tea());
    show_ad(ads, "tea");
    for (size_t i = 0; i < PARTS; i++) {
        char *key = test_format(KEY("%s"), parts[i]);
        if (call_int(f->client, "EXISTS", key, NULL))
            assert_in_range(call_int(f->client, "PTTL", key, NULL), 1, 60000);
        free(key);
    }
    tkl_ads *stays = open_ads(f->client, NULL);
    show_ad(stays, "tea"); /* a handle without: all of them stay */
    for (size_t i = 0; i < PARTS; i++) {
        char *key = test_format(KEY("%s"), parts[i]);
        assert_true(call_int(f->client, "PTTL", key, NULL) < 0);
        free(key);
    }
    tkl_ads_close(stays);
    tkl_ads_close(ads);
}

/* ---- The process around us ----------------------------------------------- */

static void the_locale_does_not_matter(void **state)
{
    fixture *f = *state;
    locale_with_a_comma();
    tkl_ads *ads = open_ads(f->client, NULL);
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 0.25, .text = "tea"});
    tkl_ads_choice *c = target_page(ads, "tea");
    assert_true(c->score == 0.25);
    assert_ok(tkl_ads_click(ads, c->target));
    tkl_ads_choice_free(c);
    assert_true(ecpm_of(ads, "a") > 0.7 && ecpm_of(ads, "a") < 0.8);
    locale_plain();
    tkl_ads_close(ads);
}

/* Each event counts once when its reply is lost and the library asks again. */
static void a_lost_reply_counts_once(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_ads *ads = open_ads(client, NULL);
    advert a = tea();
    a.type = TKL_ADS_CPM;
    add_ad(ads, a);
    target_id id = show_ad(ads, "tea"); /* the scripts are known now */
    assert_ok(tkl_ads_click(ads, tkl_str(id.text)));
    for (int i = 0; i < 5; i++) {
        proxy_cut_after(p, TO_CLIENT, 0);
        id = show_ad(ads, "tea");
        proxy_cut_after(p, TO_CLIENT, 0);
        assert_ok(tkl_ads_click(ads, tkl_str(id.text)));
        proxy_cut_after(p, TO_CLIENT, 0);
        assert_ok(tkl_ads_action(ads, tkl_str(id.text)));
    }
    tkl_ads_info *info = info_of(ads, "a");
    assert_int_equal(info->counts.views, 6);
    assert_int_equal(info->counts.clicks, 6);
    assert_int_equal(info->counts.actions, 5);
    assert_int_equal(info->counts.spent_micros, 6000);
    tkl_ads_info_free(info);
    tkl_ads_close(ads);
    tkl_close(client);
    proxy_end(p);
}

static int use_in_child(void *arg)
{
    tkl_ads *ads = arg;
    tkl_ads_choice *c;
    if (target_code(ads, NULL, NULL, "tea", &c) != TKL_OK)
        return 1;
    int rc = tkl_ads_click(ads, c->target);
    tkl_ads_choice_free(c);
    return rc == TKL_OK ? 0 : 2;
}

static void a_forked_child_goes_on(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    add_ad(ads, tea());
    show_ad(ads, "tea");
    assert_int_equal(process_wait(process_fork(use_in_child, ads)), 0);
    show_ad(ads, "tea");
    tkl_ads_info *info = info_of(ads, "a");
    assert_int_equal(info->counts.views, 3);
    assert_int_equal(info->counts.clicks, 1);
    tkl_ads_info_free(info);
    tkl_ads_close(ads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bad_options_are_refused),
        TEST(bad_ads_are_refused),
        TEST(too_many_words_are_refused_in_an_ad_and_cut_off_a_page),
        TEST(bad_pages_are_refused),
        TEST(amounts_are_read_exactly),
        TEST(an_ad_may_be_free_of_charge),
        TEST(the_largest_prices),
        TEST(smoothing_is_a_setting_of_all),
        TEST(names_may_be_any_bytes),
        TEST(other_components_with_the_same_words_do_not_mix),
        TEST(foreign_data_is_reported_and_left_alone),
        TEST(damaged_ads_are_reported),
        TEST(ads_that_are_added_again_are_found),
        TEST(damaged_numbers_are_reported),
        TEST(a_click_on_damaged_numbers_counts_nothing),
        TEST(a_damaged_index_is_reported),
        TEST(lost_keys_are_survived),
        TEST(a_full_server_changes_nothing),
        TEST(all_keys_expire),
        TEST(the_locale_does_not_matter),
        TEST(a_lost_reply_counts_once),
        TEST(a_forked_child_goes_on),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
