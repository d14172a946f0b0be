/* SPDX-License-Identifier: MIT
 *
 * Asking several servers at once: a crew has a thread for each of them.
 *
 * Each server gets its questions one after the other, in the order in which callers ask them. A
 * caller returns as soon as enough servers have answered; the threads handle the slow servers. Each
 * question has a deadline, so a server that hangs delays no caller for longer.
 */
#ifndef TKL_REDLOCK_CREW_H
#define TKL_REDLOCK_CREW_H

#include <tackle/hold.h>

#define TKL__REDLOCK_MAX 64 /* servers; sets of them are bits of a uint64_t */

typedef struct tkl__redlock_crew tkl__redlock_crew;

typedef struct tkl__redlock_question tkl__redlock_question;
struct tkl__redlock_question {
    /* The thread of that server runs it: TKL_OK for yes, positive for no, or an error. */
    int (*ask)(const void *owner, const tkl__redlock_question *question, size_t server);
    int64_t deadline;
    char token[TKL_TOKEN_SIZE];
    char lease[24]; /* milliseconds, in digits */
    bool valid;
    bool impatient; /* once a majority has answered, do not wait for servers that were
                     * silent the last time */
};

/* Servers that are in none of the three sets have not answered (yet). */
typedef struct tkl__redlock_answers {
    uint64_t yes, no, failed;
    uint64_t fatal; /* failed servers where a retry is useless */
    int why;        /* code and text of one failure, a fatal one if there is any */
    char text[256];
} tkl__redlock_answers;

/* Starts no thread yet. */
int tkl__redlock_crew_open(size_t count, const void *owner, tkl__redlock_crew **crew);
/* Waits for the questions under way. NULL is fine. */
void tkl__redlock_crew_close(tkl__redlock_crew *crew);

/* Asks all servers. Returns when the majority's answer is known, or when no majority can answer. */
int tkl__redlock_crew_ask_majority(tkl__redlock_crew *crew, const tkl__redlock_question *question,
                                   tkl__redlock_answers *answers);
/* Asks the servers in `whom`. Returns when those in `awaited` have answered. */
int tkl__redlock_crew_ask(tkl__redlock_crew *crew, const tkl__redlock_question *question,
                          uint64_t whom, uint64_t awaited);

uint64_t tkl__redlock_crew_everybody(const tkl__redlock_crew *crew);
/* More than half of all servers. */
bool tkl__redlock_crew_is_majority(const tkl__redlock_crew *crew, uint64_t servers);

#endif
