/* SPDX-License-Identifier: MIT
 *
 * Ads: programs and servers that die. An answered request is counted exactly once.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/adverts.h"
#include "support/process.h"
#include "support/server.h"

enum { CREW = 5, ADS = 6 };

/* The answers that a program got, in memory that the parent sees. */
typedef struct tally {
    volatile int64_t views[ADS], clicks[ADS], actions[ADS];
} tally;

typedef struct job {
    const char *url;
    tally *told;
    unsigned seed;
    int rounds;
} job;

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245U + 12345U;
    return (*seed >> 16) % below;
}

/* One page, and perhaps a click and an action. */
static int one_round(tkl_ads *ads, job *j)
{
    char text[32];
    tkl_ads_choice *c;
    sprintf(text, "w%u w%u", draw(&j->seed, 8), draw(&j->seed, 8));
    char *place = test_format("p%u", draw(&j->seed, ADS));
    int rc = target_code(ads, place, NULL, text, &c);
    free(place);
    if (rc != TKL_OK)
        return rc;
    int ad = atoi(c->ad.data + 2);
    j->told->views[ad]++;
    if (draw(&j->seed, 3) && (rc = tkl_ads_click(ads, c->target)) == TKL_OK)
        j->told->clicks[ad]++;
    if (rc == TKL_OK && draw(&j->seed, 2) && (rc = tkl_ads_action(ads, c->target)) == TKL_OK)
        j->told->actions[ad]++;
    tkl_ads_choice_free(c);
    return rc;
}

static int use_ads(void *arg)
{
    job *j = arg;
    tkl_client *client;
    tkl_ads *ads;
    int rc = TKL_OK;
    if (tkl_open(j->url, &(tkl_options){.timeout_ms = 60000}, &client) != TKL_OK ||
        tkl_ads_open(client, tkl_str("site"), NULL, &ads) != TKL_OK)
        return 1;
    for (int i = 0; rc == TKL_OK && i < j->rounds; i++)
        rc = one_round(ads, j);
    tkl_ads_close(ads);
    tkl_close(client);
    return rc == TKL_OK ? 0 : 2;
}

/* Each ad has a place of its own, and all ads have one in common. */
static void add_all(tkl_ads *ads)
{
    static const tkl_ads_type types[] = {TKL_ADS_CPM, TKL_ADS_CPC, TKL_ADS_CPA};
    for (int i = 0; i < ADS; i++) {
        char name[16], places[16];
        sprintf(name, "ad%d", i);
        sprintf(places, "p%d,p0", i);
        add_ad(ads, (advert){name, types[i % 3], 0.5, .locations = places, .text = "w1 w2 w3 w4"});
    }
}

typedef struct stage {
    server *server;
    tkl_client *client;
    tkl_ads *ads;
    tally *told; /* one for each program */
    job jobs[CREW];
    pid_t pids[CREW];
} stage;

static int set_up(void **state)
{
    static const char *const config[] = {"appendonly yes", "appendfsync always", NULL};
    stage *s = calloc(1, sizeof *s);
    s->server = server_start(&(server_options){.config = config});
    s->client = test_open(s->server->url, NULL);
    s->ads = open_ads(s->client, NULL);
    s->told = mmap(NULL, CREW * sizeof *s->told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0);
    assert_ptr_not_equal(s->told, MAP_FAILED);
    add_all(s->ads);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    stage *s = *state;
    tkl_ads_close(s->ads);
    tkl_close(s->client);
    server_end(s->server);
    munmap(s->told, CREW * sizeof *s->told);
    free(s);
    return 0;
}

static bool has_views(const tally *t)
{
    for (int i = 0; i < ADS; i++)
        if (t->views[i])
            return true;
    return false;
}

static void start_crew(stage *s, int rounds)
{
    for (unsigned i = 0; i < CREW; i++) {
        s->jobs[i] = (job){s->server->url, &s->told[i], i + 1, rounds};
        s->pids[i] = process_fork(use_ads, &s->jobs[i]);
    }
    for (int i = 0; i < CREW; i++) /* connected; they wait when the server is away */
        while (!has_views(&s->told[i]))
            usleep(1000);
}

/* Compares the numbers of an ad with the answers that programs got; there may be `more` events. */
static void compare(stage *s, int ad, int64_t more)
{
    int64_t views = 0, clicks = 0, actions = 0;
    for (int i = 0; i < CREW; i++) {
        views += s->told[i].views[ad];
        clicks += s->told[i].clicks[ad];
        actions += s->told[i].actions[ad];
    }
    char *name = test_format("ad%d", ad);
    tkl_ads_info *info = info_of(s->ads, name);
    const tkl_ads_counts *c = &info->counts;
    assert_in_range(c->views, views, views + more);
    assert_in_range(c->clicks, clicks, clicks + more);
    assert_in_range(c->actions, actions, actions + more);
    assert_int_equal(c->spent_micros, info->type == TKL_ADS_CPM   ? c->views * 500
                                      : info->type == TKL_ADS_CPC ? c->clicks * 500000
                                                                  : c->actions * 500000);
    for (size_t w = 0; w < info->word_count; w++) {
        assert_in_range(info->words[w].counts.views, 0, c->views);
        assert_in_range(info->words[w].counts.clicks, 0, info->words[w].counts.views);
    }
    tkl_ads_info_free(info);
    free(name);
}

static void a_server_that_is_killed_counts_each_answer_once(void **state)
{
    stage *s = *state;
    start_crew(s, 250);
    for (int i = 0; i < 3; i++) {
        usleep(150000);
        server_kill(s->server);
        usleep(50000);
        server_restart(s->server);
    }
    for (int i = 0; i < CREW; i++)
        assert_int_equal(process_wait(s->pids[i]), 0);
    for (int ad = 0; ad < ADS; ad++)
        compare(s, ad, 0);
}

/* The last request of each program may have been executed without an answer. */
static void programs_that_are_killed_leave_whole_numbers(void **state)
{
    stage *s = *state;
    start_crew(s, 1000000);
    for (int i = 0; i < CREW; i++) {
        usleep(50000);
        kill(s->pids[i], SIGKILL);
        assert_int_equal(process_wait(s->pids[i]), 128 + SIGKILL);
    }
    for (int ad = 0; ad < ADS; ad++)
        compare(s, ad, CREW);
}

#define STAGED(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGED(a_server_that_is_killed_counts_each_answer_once),
        STAGED(programs_that_are_killed_leave_whole_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
