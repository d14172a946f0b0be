/* SPDX-License-Identifier: MIT
 *
 * Answers of the command of a stream. An answer is a line of JSON: {"id": ..., "type": ...} with at
 * most the one field that belongs to its type.
 */
#ifndef TKL_CLI_QUEUE_ANSWER_H
#define TKL_CLI_QUEUE_ANSWER_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cli_verdict {
    CLI_VERDICT_OPEN, /* none so far: the answer is progress */
    CLI_VERDICT_ACK,
    CLI_VERDICT_FAIL,
    CLI_VERDICT_DEAD,
    CLI_VERDICT_RELEASE,
} cli_verdict;

enum { CLI_ANSWER_AGAIN = -1 }; /* delay: the default, --again */

typedef struct cli_answer {
    json_t *object; /* owns the id and the field */
    const char *id;
    cli_verdict verdict;
    const json_t *field; /* NULL: none */
    char *text;          /* the result, the reason or the progress; NULL: none */
    size_t text_len;
    int64_t delay_ms; /* delay of a release, or CLI_ANSWER_AGAIN */
} cli_answer;

/* Reads an answer up to its field. Returns NULL, or what is wrong with it. Free the answer in any
 * case. */
const char *cli_answer_read(const char *said, size_t len, cli_answer *answer);

/* Reads the field: the text or the delay. Returns NULL, or what is wrong with it. */
const char *cli_answer_read_field(cli_answer *answer);

void cli_answer_free(cli_answer *answer);

#endif
