/* SPDX-License-Identifier: MIT
 *
 * Waiting until something is so: the loop of everything that waits for news from a server.
 *
 * A wait listens to channels, looks at the state, and sleeps until a message arrives, a moment has
 * come or its time is up; then it looks again. It listens before it looks, so it misses nothing.
 *
 *     tkl__ear ear = {.channel = channel};
 *     tkl__wait wait = {.client = client, .deadline = deadline, .ears = TKL__EARS(&ear),
 *                       .count = 1};
 *     int rc = tkl__wait_until(&wait, look, arg);
 *     tkl__wait_end(&wait);
 *
 * Lost connections. Messages that are published while nobody listens are lost. So when a connection
 * breaks, or another node serves the channel by now, the wait listens again and then looks at the
 * whole state.
 *
 * Silent servers. Failures that may pass (tkl__may_pass) do not end a wait: it leaves the server
 * alone for a moment (the ear "rests"), listens again and looks again. In a cluster the ears of one
 * wait may be on several servers, of which one hangs. Then the wait goes on with the others: it
 * spends at most a fifth of its time on servers that do not answer.
 *
 * A wait ends with the first look that returns something else than TKL__NOT_YET, when its time is
 * up, or with TKL_EINTR when the client is interrupted.
 */
#ifndef TKL_CORE_WAITING_H
#define TKL_CORE_WAITING_H

#include "core/waiter.h"

/* Result of a look that found nothing, and of a wait whose time is up. Internal: callers of the
 * library never see it. */
#define TKL__NOT_YET 1000

/* A wait looks at least this often, even if no message arrives: an older copy of the server may
 * have taken its place, and a message may be lost in a way that no one notices. */
#define TKL__WAIT_LOOK_US INT64_C(30000000)

/* A channel that a wait listens to. All zero but for the first fields; ears that live longer than a
 * wait remember servers that did not answer. The caller keeps the bytes. */
typedef struct tkl__ear {
    tkl_bytes channel;
    tkl_bytes id;   /* hears messages that begin with this, without it; empty: all */
    tkl_bytes also; /* a second channel of the same slot: hears all its messages; empty: none */

    bool fresh;          /* has just begun to listen: what was published before is not known */
    int code;            /* why its server could not be reached; TKL_OK: it was */
    int failures;        /* to reach it, in a row */
    int64_t rests_until; /* do not ask its server before this; 0: ask it */

    /* Private. */
    tkl__waiter waiter, second;
    bool asked_ahead; /* its subscription was sent along with another one */
} tkl__ear;

#define TKL__EARS(ear) ((tkl__ear *[]){(ear)})

typedef enum tkl__news_kind {
    TKL__NEWS_FIRST,   /* nothing is known yet, and no ear listens: see `looks_first` */
    TKL__NEWS_BEGUN,   /* ears that are `fresh` have begun to listen: look at the whole state */
    TKL__NEWS_MESSAGE, /* `ear` has heard `message` */
    TKL__NEWS_LOOK,    /* the moment of tkl__look_at() for `ear`; NULL: the wait's `again` */
} tkl__news_kind;

/* Why to look. */
typedef struct tkl__news {
    tkl__news_kind kind;
    tkl__ear *ear;
    tkl_bytes message; /* valid until the look returns */
} tkl__news;

typedef struct tkl__wait {
    tkl_client *client;
    int64_t timeout_ms; /* time-out of one request; 0: the client's time-out */
    int64_t deadline;   /* when the time is up, on tkl__now() */
    tkl__ear **ears;    /* a look may change the list; removed ears are unlistened by the look */
    size_t count;
    bool looks_first; /* tkl__wait_until() looks once before it listens, which is quicker when there
                           is something. A failure of this look ends the wait. Left out when the
                           client listens to the channel already. */
    bool is_spread;   /* looks ask several servers of a cluster: one must not hold up the others */
    bool fails_at_once; /* failures end the wait: what it asks must not be asked twice */
    const int *bell; /* a non-blocking eventfd: another thread rings it to end a sleep; or NULL */
    const _Atomic int64_t *end; /* another thread sets this to end requests; see tkl__heed() */
    bool (*is_over)(void *arg); /* asked after every sleep: true ends the wait; or NULL */
    /* Called when a server could not be listened at, and the wait goes on; or NULL. */
    void (*on_silence)(void *arg, tkl__ear *ear);
    void *arg; /* argument of both */

    int64_t again; /* when to look at the latest; 0: listening comes first. Each look sets the next
                      moment, or leaves TKL__WAIT_LOOK_US from now */

    /* Private. */
    bool begun;
    bool silent;       /* a server did not answer the last look */
    bool has_own_bell; /* for several ears, when the caller has none */
    int own_bell;
    int64_t began;       /* when the last look began */
    int64_t patience_us; /* with several servers: the time of one request; 0: not known yet */
} tkl__wait;

/* Looks at the state. TKL__NOT_YET: the wait goes on; a failure that may pass: the wait goes on
 * after a pause; everything else is the result of the wait. An interruption of the client ends the
 * requests of a look. */
typedef int tkl__look(void *arg, tkl__wait *wait, const tkl__news *news);

/* Waits. TKL__NOT_YET: the time is up. If no server could be reached then, the reason. The ears go
 * on listening until tkl__wait_end(), so that a caller can wait again. */
int tkl__wait_until(tkl__wait *wait, tkl__look *look, void *arg);
void tkl__wait_end(tkl__wait *wait);

/* One step, for callers with a loop of their own: waits until there is something to look at (true),
 * or until the wait is over (false). *rc is the result of the last look; TKL__NOT_YET before the
 * first one. In the end it is the result of the wait. */
bool tkl__wait_goes_on(tkl__wait *wait, int *rc, tkl__news *news);

/* The deadline of a request of this wait that begins now. */
int64_t tkl__wait_deadline(tkl__wait *wait);
/* The deadline of a request that has until `call` and should end not long after `until`: within
 * TKL__PROMPT_US the server must begin its answer, and then has the time of a call. */
int64_t tkl__wait_overtime(int64_t call, int64_t until);

/* For looks at several ears: note for each one whether its server answered a request that began at
 * `began`. A server that did not is left alone for a while. With one ear, the result of the look
 * says it. */
void tkl__ear_answered(tkl__ear *ear);
void tkl__ear_silent(tkl__wait *wait, tkl__ear *ear, int code, int64_t began);
/* Whether its server is to be left alone for now. */
bool tkl__ear_rests(const tkl__ear *ear);
/* Stops listening. The wait listens again when the rest is over. */
void tkl__ear_close(tkl__ear *ear);
/* Listens again in a moment: what was heard makes no sense, or messages may be lost. */
void tkl__ear_cut(tkl__wait *wait, tkl__ear *ear);

#endif
