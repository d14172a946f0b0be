/* SPDX-License-Identifier: MIT
 *
 * Damages the index "pages", as lost keys and files that end too early do, and compares its
 * contents. Only this file and the callers of wreck_do() know its keys; the essay of
 * src/search/search.c explains them.
 */
#ifndef TACKLE_TESTS_WRECK_H
#define TACKLE_TESTS_WRECK_H

#include "support/fixture.h"

/* Runs a command whose words are separated by spaces; its second word is a key of the index:
 * "SREM t:wlock 7". */
void wreck_do(fixture *f, const char *command);

/* The contents of the index as text, always in the same order, malloc'ed. Left out are ladders, the
 * version and the notes of a check. */
char *wreck_contents(fixture *f);

/* The commands that a server with "appendonly yes" has executed, without transactions. */
typedef struct wreck_log {
    char *bytes;
    struct wreck_command {
        int argc;
        const char **argv;
        size_t *lens;
    } * commands;
    size_t count;
} wreck_log;

wreck_log wreck_log_read(const server *s);
void wreck_log_free(wreck_log *log);
/* Empties the server and executes the first commands. */
void wreck_log_replay(fixture *f, const wreck_log *log, size_t count);

#endif
