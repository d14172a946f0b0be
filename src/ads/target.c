/* SPDX-License-Identifier: MIT
 *
 * Ads: choosing the ad for a page, explaining one ad, clicks and actions.
 */
#include <stdlib.h>
#include <string.h>

#include "ads/ads.h"
#include "ads/scripts.h"
#include "core/error.h"
#include "core/number.h"
#include "core/rounds.h"
#include "core/token.h"

/* Most steps that wait for ads to come back when the budgets of many open at the same time. */
#define RETURN_STEPS 20

/* ---- Keys of targets ----------------------------------------------------- */

/* All keys of the set, and the key of a target. */
typedef struct target_keys {
    tkl_bytes items[TKL__ADS_KEYS + 1];
    tkl__buf key;
} target_keys;

static int make_target_keys(const tkl_ads *ads, tkl_bytes id, target_keys *keys)
{
    tkl__buf_init(&keys->key);
    tkl__buf_add(&keys->key, ads->base.data, ads->base.len);
    tkl__buf_addz(&keys->key, ":target:");
    tkl__buf_add(&keys->key, id.data, id.len);
    memcpy(keys->items, ads->keys.items, TKL__ADS_KEYS * sizeof *keys->items);
    keys->items[TKL__ADS_KEYS] = (tkl_bytes){keys->key.data, keys->key.len};
    return keys->key.failed ? tkl__nomem() : TKL_OK;
}

static void free_target_keys(target_keys *keys)
{
    tkl__buf_free(&keys->key);
}

/* ---- Choices ------------------------------------------------------------- */

/* Where the fields of a reply are; the matches follow them. `unmet` 0: the reply has no such
 * field. */
typedef struct reply_form {
    size_t type, score, base, location, unmet, rank, matches;
} reply_form;

static void read_matches(const tkl_reply *reply, size_t from, tkl_ads_choice *c,
                         tkl_ads_match *matches, tkl__ads_room *room)
{
    double least = 0, most = 0;
    for (size_t i = 0; i < c->count; i++) {
        double ecpm = tkl__ads_double(tkl_reply_at(reply, from + 2 * i + 1));
        matches[i] = (tkl_ads_match){
            .word = tkl__ads_copy(room, tkl_reply_bytes(tkl_reply_at(reply, from + 2 * i))),
            .bonus = ecpm - c->base,
        };
        least = i == 0 || matches[i].bonus < least ? matches[i].bonus : least;
        most = i == 0 || matches[i].bonus > most ? matches[i].bonus : most;
    }
    c->bonus = (least + most) / 2;
    c->matches = matches;
}

/* Makes one block: the choice, its matches, all bytes. */
static int make_choice(const tkl_reply *reply, const reply_form *form, tkl_bytes target,
                       tkl_bytes ad, tkl_ads_choice **choice)
{
    size_t all = tkl_reply_count(reply);
    size_t count = all > form->matches ? (all - form->matches) / 2 : 0;
    tkl_ads_choice *c = calloc(1, sizeof *c + count * sizeof(tkl_ads_match) +
                                      tkl__ads_bytes_in(reply) + target.len + ad.len);
    if (!c)
        return tkl__nomem();
    tkl_ads_match *matches = (tkl_ads_match *)(c + 1);
    tkl__ads_room room = {(char *)(matches + count)};
    c->target = tkl__ads_copy(&room, target);
    c->ad = tkl__ads_copy(&room, ad);
    c->type = tkl__ads_type(tkl_reply_bytes(tkl_reply_at(reply, form->type)));
    c->score = tkl__ads_double(tkl_reply_at(reply, form->score));
    c->base = tkl__ads_double(tkl_reply_at(reply, form->base));
    c->rank = tkl__ads_double(tkl_reply_at(reply, form->rank));
    c->location = tkl__ads_unfold(&room, tkl_reply_bytes(tkl_reply_at(reply, form->location)));
    if (form->unmet)
        c->unmet = tkl__ads_unfold(&room, tkl_reply_bytes(tkl_reply_at(reply, form->unmet)));
    c->count = count;
    read_matches(reply, form->matches, c, matches, &room);
    *choice = c;
    return TKL_OK;
}

void tkl_ads_choice_free(tkl_ads_choice *choice)
{
    free(choice);
}

/* ---- Targets ------------------------------------------------------------- */

/* A walk that may take several steps. */
typedef struct walk {
    tkl_ads *ads;
    const tkl__ads_asked *asked;
    target_keys keys;
    tkl_reply *reply; /* reply of the last step */
    int64_t deadline;
    int64_t trips;
    int64_t looked;
} walk;

/* Adds the best ad of the steps so far, and the position where they stopped. */
static void put_state(const walk *w, tkl__args *args)
{
    static const char *const none[] = {"", "0", ""};
    for (size_t i = 0; i < 3; i++) {
        if (w->reply)
            tkl__args_bytes(args, tkl_reply_bytes(tkl_reply_at(w->reply, i + 1)));
        else
            tkl__args_str(args, none[i]);
    }
}

static int step_walk(walk *w)
{
    tkl_reply *reply = NULL;
    tkl__keys keys = {w->keys.items, TKL__ADS_KEYS + 1};
    tkl__args args;
    tkl__args_init(&args);
    tkl__ads_put_smoothing(w->ads, &args);
    tkl__args_int(&args, w->ads->options.target_ms);
    tkl__args_int(&args, w->ads->options.ttl_ms);
    tkl__args_str(&args, w->trips < RETURN_STEPS ? "1" : "0");
    put_state(w, &args);
    tkl__ads_put_page(&args, w->asked);
    int rc =
        tkl__eval(w->ads->client, &tkl__lua_ads_target, &keys, &args, w->deadline, true, &reply);
    tkl__args_free(&args);
    tkl_reply_free(w->reply);
    w->reply = reply;
    w->trips++;
    return rc;
}

static int walk_on(walk *w)
{
    tkl__rounds rounds = {.idle = 0};
    int rc = step_walk(w);
    while (rc == TKL_OK && tkl__ads_says(w->reply, "again")) {
        int64_t looked = tkl_reply_int(tkl_reply_at(w->reply, 4));
        tkl__add(&w->looked, looked);
        rc = tkl__next_round(&rounds, w->ads->client, w->ads->options.timeout_ms, looked > 0);
        if (rc == TKL_OK)
            rc = step_walk(w);
    }
    return rc;
}

static int read_answer(const walk *w, tkl_bytes target, tkl_ads_choice **choice)
{
    static const reply_form form = {
        .type = 2, .score = 3, .base = 4, .location = 5, .rank = 7, .matches = 8};
    if (tkl__ads_says(w->reply, "smoothing"))
        return tkl__ads_other_smoothing(w->reply);
    if (!tkl__ads_says(w->reply, "shown"))
        return tkl__fail(TKL_EMPTY, "no ad fits");
    tkl_bytes ad = tkl_reply_bytes(tkl_reply_at(w->reply, 1));
    int rc = make_choice(w->reply, &form, target, ad, choice);
    if (rc == TKL_OK) {
        (*choice)->looked = w->looked;
        tkl__add(&(*choice)->looked, tkl_reply_int(tkl_reply_at(w->reply, 6)));
        (*choice)->trips = w->trips;
    }
    return rc;
}

static int find_best(tkl_ads *ads, const tkl__ads_asked *asked, tkl_ads_choice **choice)
{
    walk w = {.ads = ads, .asked = asked, .deadline = tkl__ads_deadline(ads)};
    char id[TKL_TOKEN_SIZE];
    tkl__token_new(id);
    int rc = make_target_keys(ads, tkl_str(id), &w.keys);
    if (rc == TKL_OK)
        rc = walk_on(&w);
    if (rc == TKL_OK)
        rc = read_answer(&w, tkl_str(id), choice);
    tkl_reply_free(w.reply);
    free_target_keys(&w.keys);
    return rc;
}

int tkl_ads_target(tkl_ads *ads, const tkl_ads_page *page, tkl_ads_choice **choice)
{
    tkl__ads_asked asked;
    *choice = NULL;
    int rc = tkl__ads_ask(page, &asked);
    if (rc == TKL_OK && asked.locations.count == 0)
        rc = tkl__fail(TKL_EMPTY, page->table ? "no ad fits: the address is in no known place"
                                              : "no ad fits: the page has no location");
    if (rc == TKL_OK)
        rc = find_best(ads, &asked, choice);
    tkl__ads_asked_free(&asked);
    return rc;
}

/* ---- One ad -------------------------------------------------------------- */

static int ask_explanation(tkl_ads *ads, const tkl__ads_asked *asked, tkl_bytes name,
                           tkl_reply **reply)
{
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_bytes(&args, name);
    tkl__ads_put_page(&args, asked);
    int rc = tkl__eval(ads->client, &tkl__lua_ads_explain, &ads->keys, &args,
                       tkl__ads_deadline(ads), true, reply);
    tkl__args_free(&args);
    if (rc == TKL_OK && tkl_reply_is_nil(*reply))
        rc = tkl__fail(TKL_NOTFOUND, "there is no ad '" TKL_FMT "'", TKL_ARG(name));
    return rc;
}

int tkl_ads_explain(tkl_ads *ads, const tkl_ads_page *page, tkl_bytes name, tkl_ads_choice **choice)
{
    static const reply_form form = {
        .type = 0, .score = 1, .base = 2, .location = 3, .unmet = 4, .rank = 6, .matches = 7};
    tkl__ads_asked asked;
    tkl_reply *reply = NULL;
    *choice = NULL;
    int rc = tkl__ads_check_name(name);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__ads_ask(page, &asked);
    if (rc == TKL_OK)
        rc = ask_explanation(ads, &asked, name, &reply);
    if (rc == TKL_OK)
        rc = make_choice(reply, &form, tkl_str(""), name, choice);
    if (rc == TKL_OK) {
        (*choice)->until_ms = tkl_reply_int(tkl_reply_at(reply, 5));
        (*choice)->trips = 1;
    }
    tkl_reply_free(reply);
    tkl__ads_asked_free(&asked);
    return rc;
}

/* ---- Clicks and actions -------------------------------------------------- */

static int read_outcome(const tkl_reply *reply)
{
    if (tkl__ads_says(reply, "counted"))
        return TKL_OK;
    if (tkl__ads_says(reply, "before"))
        return tkl__fail(TKL_EXISTS, "it was counted before");
    if (tkl__ads_says(reply, "removed"))
        return tkl__fail(TKL_NOTFOUND, "the ad of this target was removed");
    if (tkl__ads_says(reply, "smoothing"))
        return tkl__ads_other_smoothing(reply);
    return tkl__fail(TKL_NOTFOUND, "no such target, or it has expired");
}

static int send_event(tkl_ads *ads, tkl_bytes target, const char *event, tkl_reply **reply)
{
    target_keys items;
    char token[TKL_TOKEN_SIZE];
    tkl__token_new(token);
    int rc = make_target_keys(ads, target, &items);
    if (rc == TKL_OK) {
        tkl__keys keys = {items.items, TKL__ADS_KEYS + 1};
        tkl__args args;
        tkl__args_init(&args);
        tkl__ads_put_smoothing(ads, &args);
        tkl__args_str(&args, event);
        tkl__args_str(&args, token);
        tkl__args_int(&args, ads->options.target_ms);
        tkl__args_int(&args, ads->options.ttl_ms);
        rc = tkl__eval(ads->client, &tkl__lua_ads_click, &keys, &args, tkl__ads_deadline(ads), true,
                       reply);
        tkl__args_free(&args);
    }
    free_target_keys(&items);
    return rc;
}

static int record_event(tkl_ads *ads, tkl_bytes target, const char *event)
{
    char text[TKL_TOKEN_SIZE] = "";
    tkl_reply *reply = NULL;
    tkl__begin();
    if (target.len == sizeof text - 1)
        memcpy(text, target.data, target.len);
    if (!tkl__is_token(text))
        return tkl__fail(TKL_NOTFOUND, "this is not a target");
    int rc = send_event(ads, target, event, &reply);
    if (rc == TKL_OK)
        rc = read_outcome(reply);
    tkl_reply_free(reply);
    return rc;
}

int tkl_ads_click(tkl_ads *ads, tkl_bytes target)
{
    return record_event(ads, target, "clicks");
}

int tkl_ads_action(tkl_ads *ads, tkl_bytes target)
{
    return record_event(ads, target, "actions");
}
