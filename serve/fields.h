/* SPDX-License-Identifier: MIT
 *
 * Fields of a request: arguments by their names in the usage line, options by their names.
 *
 *     NAME [PAYLOAD...]         {"name": "mails", "payload": ["a", "b"], "delay": "5m"}
 *     NAME PLACE PLACE          {"name": "cities", "place": ["berlin", "hamburg"]}
 *     [MEMBER SCORE...]         {"member": ["ann", "bob"], "score": [12, 15]}
 *     NAME PLACE|LONGITUDE ...  {"name": "cities", "place": "berlin"}, or "longitude"
 *
 * A value is a string, a number, or bytes as the command prints them, {"base64": "..."}; where the
 * usage line has a name more than once, an array. Flags are booleans.
 */
#ifndef TKL_SERVE_FIELDS_H
#define TKL_SERVE_FIELDS_H

#include <stddef.h>

#include "cli.h"

enum { SERVE_WORDS_MAX = 8, SERVE_NAME_SIZE = 24 };

/* A word of a usage line. */
typedef struct serve_word {
    char name[SERVE_NAME_SIZE];  /* the field's name: "payload" */
    char other[SERVE_NAME_SIZE]; /* its other name: "longitude"; "": none */
    bool optional;
    bool repeats; /* it may come several times, together with its group */
    int group;    /* words in one pair of brackets, from 0 */
} serve_word;

/* The words of the verb's usage line; returns how many. */
size_t serve_words(const cli_verb *verb, serve_word words[SERVE_WORDS_MAX]);

/* Whether a field of this name may hold several values. */
bool serve_word_is_many(const serve_word *words, size_t count, const serve_word *word);

/* Whether requests may have this option. */
bool serve_option_is_field(const cli_option *option);

/* The memory that a session's arguments and options need. */
typedef struct serve_fields {
    char **texts; /* the values, each ended by a zero byte */
    size_t count;
    size_t *lengths; /* lengths of the arguments */
} serve_fields;

/* Fills the session's arguments and options with an object's fields. CLI_USAGE: something is wrong,
 * and the session's sink has heard what, with the name of the field. */
int serve_fields_fill(cli_session *cli, const json_t *object, serve_fields *fields);

/* Frees what serve_fields_fill() made, and the session's own memory. */
void serve_fields_free(cli_session *cli, serve_fields *fields);

#endif
