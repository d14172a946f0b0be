/* SPDX-License-Identifier: MIT
 *
 * Another process with a lock or a permit, that does what the test says: the test program itself,
 * started again. It may be killed, stopped, or live in another time.
 *
 *     puppet *p = puppet_start(&(puppet_options){.url = f->server->url, .name = "door"});
 *     assert_ok(puppet_do(p, "acquire 0"));
 *     puppet_tell(p, "acquire 60000");           // goes on without waiting for the answer
 *     ...
 *     assert_ok(puppet_hear(p));                 // which comes later
 *     puppet_end(p);
 *
 *     int main(int argc, char **argv)
 *     {
 *         if (puppet_called(argc, argv))
 *             return puppet_main(argv);
 */
#ifndef TACKLE_TESTS_PUPPET_H
#define TACKLE_TESTS_PUPPET_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <tackle/lock.h>

/* The library that fakes clocks, where Debian has it. */
#define PUPPET_FAKETIME "/usr/$LIB/faketime/libfaketime.so.1"

typedef struct puppet_options {
    const char *url;
    const char *name;
    int64_t limit;    /* 0: a lock; else a semaphore */
    int64_t lease_ms; /* 0: the default */
    int64_t clock_ms; /* how far its wall clock is off; needs libfaketime */
    bool shared;
    bool auto_renew;
} puppet_options;

typedef struct puppet {
    pid_t pid;
    int to, from;         /* its standard input and output */
    uint64_t fence;       /* as of its last answer */
    tkl_hold_state state; /* ditto */
} puppet;

/* The test program's main() begins with this. */
bool puppet_called(int argc, char **argv);
int puppet_main(char **argv);

puppet *puppet_start(const puppet_options *options);
/* Kills it if it lives. NULL is fine. */
void puppet_end(puppet *p);
/* SIGKILL is waited for. */
void puppet_signal(puppet *p, int signal);

/* "acquire MS", "release", "renew MS", "look" (at the state and fence): the code it came to. */
int puppet_do(puppet *p, const char *command);
void puppet_tell(puppet *p, const char *command);
int puppet_hear(puppet *p);
/* Whether an answer comes within that time. */
bool puppet_answers(puppet *p, int64_t ms);

/* Whether clocks can be faked here: not where the library is missing, nor under sanitizers. */
bool puppet_can_fake_clock(void);
/* For processes that are no puppets: those spawned next, until LD_PRELOAD is unset, have a wall
 * clock that is so far off. */
void puppet_fake_clock(int64_t clock_ms);
/* Removes the files of libfaketime in /dev/shm, which a killed process leaves behind. */
void puppet_remove_faked(pid_t pid);

#endif
