/* SPDX-License-Identifier: MIT
 *
 * Calls: how a verb runs for a request, and what its answer is.
 *
 * The status says what happened; call.c has the only table of statuses. The body is what
 * the command prints with --json. An error is {"error": "TKL_BUSY", "message": "..."}, with "field"
 * when a field of the request is wrong, and "result" when the verb has answered all the same.
 */
#ifndef TKL_SERVE_CALL_H
#define TKL_SERVE_CALL_H

#include "route.h"
#include "stream.h"

/* All zero at first. */
typedef struct serve_answer {
    int status;
    char *body;      /* JSON; NULL: out of memory */
    bool is_repeat;  /* it was given before, to a request with the same Idempotency-Key */
    int64_t retry_s; /* when the client should come back; 0 or less: unknown */
    /* Headers of limits. Only with has_limit. */
    bool has_limit;
    int64_t limit, remaining, reset_s;
    char *warning; /* the first warning of the verb, in ASCII; NULL: none */
    char *subject; /* the first argument, for the log, unless it is a secret; NULL: none */
} serve_answer;

void serve_answer_free(serve_answer *answer);

/* Answers in place of a verb, with a code of the library and a message. */
void serve_answer_error(serve_answer *answer, int status, int code, const char *message);

/* Answers that a field of the request is wrong. */
void serve_answer_wrong(serve_answer *answer, const char *field, const char *message);

/* The HTTP status for a code of the library. */
int serve_status(int code);

/* The caller. The functions may be called in any thread. */
typedef struct serve_caller {
    bool (*is_gone)(void *arg); /* the client is gone, so a verb gives back what it just
                                   acquired; NULL: the answer is wanted in any case */
    bool (*may)(void *arg, const serve_route *route); /* asked for each call of a batch */
    void (*note)(void *arg, const serve_route *route, const serve_answer *answer,
                 int64_t took_ms); /* called after each call of a batch; may be NULL */
    void *arg;
    serve_stream *stream; /* takes the results one by one; NULL: they are the answer */
    bool keeps;           /* leases of the verb are kept while the stream lives, see keep.h */
} serve_caller;

/* Whether the verb can begin behind a result that the client has seen. The id of each result is
 * then part of its event. */
bool serve_can_resume(const cli_verb *verb);

/* Runs the verb of a route with the fields of an object, in an operation of a tkl_loop. */
void serve_call(tkl_client *client, const serve_route *route, const json_t *fields,
                const serve_caller *caller, serve_answer *answer);

/* Runs a call of a batch, {"call": "queue/push", "fields": {...}}, in the same way. */
void serve_call_item(tkl_client *client, const json_t *item, const serve_caller *caller,
                     serve_answer *answer);

#endif
