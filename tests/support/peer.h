/* SPDX-License-Identifier: MIT
 *
 * Another process with a lock or a permit, which obeys the test: the test program itself, started
 * again. Tests may kill it, stop it, or give it another wall clock.
 *
 *     peer *p = peer_start(&(peer_options){.url = f->server->url, .name = "door"});
 *     assert_ok(peer_do(p, "acquire 0"));
 *     peer_tell(p, "acquire 60000");           // goes on without waiting for the answer
 *     ...
 *     assert_ok(peer_hear(p));                 // which comes later
 *     peer_end(p);
 *
 *     int main(int argc, char **argv)
 *     {
 *         if (peer_called(argc, argv))
 *             return peer_main(argv);
 */
#ifndef TACKLE_TESTS_PEER_H
#define TACKLE_TESTS_PEER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <tackle/lock.h>

/* The library that fakes clocks, where Debian has it. */
#define PEER_FAKETIME "/usr/$LIB/faketime/libfaketime.so.1"

typedef struct peer_options {
    const char *url;
    const char *name;
    int64_t limit;    /* 0: a lock; else a semaphore */
    int64_t lease_ms; /* 0: the default */
    int64_t clock_ms; /* how far its wall clock is off; needs libfaketime */
    bool shared;
    bool auto_renew;
} peer_options;

typedef struct peer {
    pid_t pid;
    int to, from;         /* its standard input and output */
    uint64_t fence;       /* in its last answer */
    tkl_hold_state state; /* ditto */
} peer;

/* The test program's main() begins with this. */
bool peer_called(int argc, char **argv);
int peer_main(char **argv);

peer *peer_start(const peer_options *options);
/* Kills the process if it lives, and frees it. NULL is fine. */
void peer_end(peer *p);
/* Sends a signal; after SIGKILL it waits for the end of the process. */
void peer_signal(peer *p, int signal);

/* Sends "acquire MS", "release", "renew MS" or "look" (at the state and fence); returns the
 * code. */
int peer_do(peer *p, const char *command);
void peer_tell(peer *p, const char *command);
int peer_hear(peer *p);
/* Whether an answer comes within that time. */
bool peer_answers(peer *p, int64_t ms);

/* Whether clocks can be faked here: not where the library is missing, nor under sanitizers. */
bool peer_can_fake_clock(void);
/* Shifts the wall clock of all processes that are started from now on, until LD_PRELOAD is unset;
 * for processes that are no peers. */
void peer_fake_clock(int64_t clock_ms);
/* Removes the files of libfaketime in /dev/shm, which a killed process leaves behind. */
void peer_remove_faked(pid_t pid);

#endif
