/* SPDX-License-Identifier: MIT */
#include "call.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "clock.h"
#include "fields.h"
#include "keep.h"
#include "lines.h"
#include "out.h"
#include "token.h"
#include "wrong.h"

/* ---- Statuses ------------------------------------------------------------ */

static const struct {
    int code, status;
} statuses[] = {
    {TKL_OK, 200},
    /* Expected "no"s. */
    {TKL_BUSY, 409},
    {TKL_EMPTY, 404},
    {TKL_LIMITED, 429},
    {TKL_NOTFOUND, 404},
    {TKL_FULL, 409},
    {TKL_NOTOWNER, 409},
    {TKL_EXISTS, 409},
    {TKL_DEAD, 409},
    {TKL_CONFLICT, 409},
    {TKL_ELOST, 409},
    {TKL_ETYPE, 409},
    /* The request is wrong. */
    {TKL_EINVAL, 400},
    /* Nothing was done: the request can be repeated. */
    {TKL_ENOTSENT, 503},
    {TKL_EREADONLY, 503},
    {TKL_EUNREADY, 503},
    {TKL_EOOM, 503},
    {TKL_ESPAWN, 503},
    {TKL_EINTR, 503},
    /* It may have been done, or not. */
    {TKL_ETIMEOUT, 504},
    {TKL_EUNKNOWN, 504},
    /* The server does not do what tackle asks for. */
    {TKL_EREFUSED, 502},
    {TKL_EAUTH, 502},
    {TKL_EPROTO, 502},
    {TKL_ETLS, 502},
};

int serve_status(int code)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].code == code)
            return statuses[i].status;
    return 500;
}

/* ---- Answers ------------------------------------------------------------- */

void serve_answer_free(serve_answer *answer)
{
    free(answer->body);
    free(answer->subject);
    free(answer->warning);
    *answer = (serve_answer){0};
}

static void answer_error(serve_answer *answer, int status, int code, const char *message,
                         const char *field)
{
    char *clean = cli_escape(tkl_str(message), false); /* it may quote what is not UTF-8 */
    json_t *body = json_pack("{s:s, s:s, s:s*}", "error", tkl_codename(code), "message",
                             clean != NULL ? clean : "", "field", field);
    free(clean);
    answer->status = status;
    free(answer->body);
    answer->body = body != NULL ? cli_json_text(body) : NULL;
    json_decref(body);
}

void serve_answer_error(serve_answer *answer, int status, int code, const char *message)
{
    answer_error(answer, status, code, message, NULL);
}

void serve_answer_wrong(serve_answer *answer, const char *field, const char *message)
{
    answer_error(answer, 400, TKL_EINVAL, message, field);
}

/* ---- The sink of a call -------------------------------------------------- */

/* The sink of a call: the output of its verb so far. */
typedef struct hearing {
    const cli_session *cli;
    const json_t *fields;
    const serve_caller *caller;
    char *results;   /* separated by commas; NULL: none */
    size_t size;     /* without the zero byte */
    int code;        /* the first failure; TKL_OK: none */
    json_t *failure; /* its body */
    char *warning;   /* the first one; NULL: none */
} hearing;

/* Options have no dashes in a request: "invalid --rate" becomes "invalid rate". */
static char *reword_message(const char *message)
{
    char *text = strdup(message), *to = text;
    for (const char *from = message; text != NULL; from++) {
        if (from[0] == '-' && from[1] == '-' && islower((unsigned char)from[2]) &&
            (from == message || strchr(" '(", from[-1]) != NULL))
            from += 2;
        *to++ = *from;
        if (*from == '\0')
            break;
    }
    return text;
}

/* A message as the value of a header: each byte that is not printable ASCII becomes '?'. */
static char *header_text(const char *message)
{
    char *text = strdup(message);
    for (char *at = text; at != NULL && *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    return text;
}

static void hear_failure(void *arg, int code, const char *message, const char *field,
                         const json_t *value)
{
    hearing *h = arg;
    if (code == TKL_OK && h->warning == NULL)
        h->warning = header_text(message);
    if (code == TKL_OK || h->code != TKL_OK)
        return;
    h->code = code;
    char *text = reword_message(message);
    h->failure = json_pack("{s:s, s:s}", "error", tkl_codename(code), "message",
                           text != NULL ? text : message);
    free(text);
    serve_word words[SERVE_WORDS_MAX];
    const char *wrong = NULL;
    if (code == TKL_EINVAL && field == NULL)
        wrong =
            serve_wrong_field(h->cli, h->fields, words, serve_words(h->cli->verb, words), message);
    if (field != NULL)
        json_object_set(h->failure, field, (json_t *)value);
    else if (wrong != NULL)
        json_object_set_new(h->failure, "field", json_string(wrong));
}

/* Adds a result to those of the answer. */
static int collect_result(hearing *h, const char *json)
{
    size_t len = strlen(json), more = h->size > 0 ? 2 : 0;
    char *results = realloc(h->results, h->size + more + len + 1);
    if (results == NULL)
        return TKL_ENOMEM;
    h->results = results;
    memcpy(results + h->size, ", ", more);
    memcpy(results + h->size + more, json, len + 1);
    h->size += more + len;
    return TKL_OK;
}

/* Sends a result as an event. */
static int send_result(const hearing *h, const char *json)
{
    json_t *object = serve_can_resume(h->cli->verb) ? json_loads(json, 0, NULL) : NULL;
    const char *id = json_string_value(json_object_get(object, "id"));
    int code = serve_stream_add(h->caller->stream, NULL, id, json);
    json_decref(object);
    return code;
}

static int hear_result(void *arg, char *json)
{
    hearing *h = arg;
    const serve_caller *caller = h->caller;
    bool is_gone = caller->is_gone != NULL && caller->is_gone(caller->arg);
    /* TKL_EUNKNOWN: the verb can give back a lock, but not undo a change. */
    int code = is_gone ? TKL_EUNKNOWN : TKL_OK;
    if (code == TKL_OK && (caller->stream == NULL || caller->keeps))
        code = collect_result(h, json);
    if (code == TKL_OK && caller->stream != NULL)
        code = send_result(h, json);
    free(json);
    if (code == TKL_OK)
        return CLI_OK;
    hear_failure(h, code, is_gone ? "the client is gone" : tkl_strerror(code), NULL, NULL);
    return CLI_FAILURE;
}

/* ---- A call -------------------------------------------------------------- */

/* Reads the numbers of a limit from the result of one of its verbs. */
static void add_limit(serve_answer *answer, const char *result)
{
    json_t *object = json_loads(result, 0, NULL);
    const json_t *limit = json_object_get(object, "limit");
    const json_t *retry = json_object_get(object, "retry_after_ms");
    if (json_is_integer(limit)) {
        answer->has_limit = true;
        answer->limit = json_integer_value(limit);
        answer->remaining = json_integer_value(json_object_get(object, "remaining"));
        answer->reset_s =
            (json_integer_value(json_object_get(object, "reset_after_ms")) + 999) / 1000;
        answer->retry_s = json_is_integer(retry) ? (json_integer_value(retry) + 999) / 1000 : -1;
    }
    json_decref(object);
}

/* Makes the body from the results, the failure, or both. */
static void answer_with(serve_answer *answer, const cli_session *cli, const hearing *h)
{
    bool array = cli->verb->follows;
    const char *result = h->results != NULL ? h->results : array ? "" : "null";
    char *failure = h->failure != NULL ? cli_json_text(h->failure) : NULL;
    int len;
    answer->status = serve_status(h->code);
    answer->warning = h->warning;
    if (failure == NULL)
        len = asprintf(&answer->body, "%s%s%s", array ? "[" : "", result, array ? "]" : "");
    else if (h->results == NULL)
        len = asprintf(&answer->body, "%s", failure);
    else
        len = asprintf(&answer->body, "%.*s, \"result\": %s%s%s}", (int)strlen(failure) - 1,
                       failure, array ? "[" : "", result, array ? "]" : "");
    if (len < 0)
        answer->body = NULL;
    if (h->results != NULL && strcmp(cli->component->name, "limit") == 0)
        add_limit(answer, h->results);
    free(failure);
}

CLI_APART static char *subject_of(const cli_session *cli)
{
    enum { LONGEST = 64 };
    serve_word words[SERVE_WORDS_MAX];
    size_t count = serve_words(cli->verb, words);
    if (cli->argc == 0 || count == 0 || strcmp(words[0].name, "token") == 0)
        return NULL;
    tkl_bytes first = cli_argument(cli, 0);
    return cli_escape((tkl_bytes){first.data, first.len < LONGEST ? first.len : LONGEST}, false);
}

/* A verb without an end needs --max, unless its results are sent one by one. */
static int check_end(const cli_session *cli, const serve_caller *caller)
{
    if (!cli->verb->follows || cli_flag(cli, "max") || caller->stream != NULL)
        return CLI_OK;
    return cli_usage(cli, "missing --max: how many results end the request");
}

/* Runs the verb. With "keep", it then renews what the verb got until the client leaves. */
static int run_verb(cli_session *cli, const json_t *fields, const hearing *h)
{
    const serve_caller *caller = h->caller;
    int exit = cli_run(cli);
    if (exit == CLI_OK && caller->keeps && h->results != NULL) {
        serve_route route = {.component = cli->component, .verb = cli->verb};
        serve_keep(cli->client, &route, fields, h->results, caller->stream);
    }
    return exit;
}

/* The last event of a stream that ends because of a failure. */
static void send_failure(const hearing *h)
{
    char *text = h->failure != NULL ? cli_json_text(h->failure) : NULL;
    int code = text != NULL ? serve_stream_add(h->caller->stream, "error", NULL, text) : TKL_OK;
    (void)code; /* a client that is gone hears nothing */
    free(text);
}

bool serve_can_resume(const cli_verb *verb)
{
    for (const cli_option *o = verb->options; verb->follows && o != NULL && o->name != NULL; o++)
        if (strcmp(o->name, "after") == 0)
            return true;
    return false;
}

void serve_call(tkl_client *client, const serve_route *route, const json_t *fields,
                const serve_caller *caller, serve_answer *answer)
{
    hearing h = {.fields = fields, .caller = caller};
    cli_sink sink = {hear_result, hear_failure, &h};
    cli_session cli = {.component = route->component,
                       .verb = route->verb,
                       .json = true,
                       .client = client,
                       .sink = &sink};
    serve_fields texts;
    h.cli = &cli;
    int exit = serve_fields_fill(&cli, fields, &texts);
    if (exit == CLI_OK)
        exit = cli_args_check(&cli);
    if (exit == CLI_OK)
        exit = check_end(&cli, caller);
    if (exit == CLI_OK) {
        answer->subject = subject_of(&cli);
        exit = run_verb(&cli, fields, &h);
    }
    if (exit != CLI_OK && h.code == TKL_OK)
        hear_failure(&h, TKL_EBUG, tkl_strerror(TKL_EBUG), NULL, NULL);
    if (caller->stream != NULL &&
        serve_stream_settle(caller->stream,
                            h.failure != NULL ? SERVE_STREAM_DECLINED : SERVE_STREAM_BEGUN) ==
            SERVE_STREAM_BEGUN)
        send_failure(&h);
    answer_with(answer, &cli, &h);
    serve_fields_free(&cli, &texts);
    json_decref(h.failure);
    free(h.results);
}

/* ---- Calls of a batch ---------------------------------------------------- */

void serve_call_item(tkl_client *client, const json_t *item, const serve_caller *caller,
                     serve_answer *answer)
{
    const char *call = json_string_value(json_object_get(item, "call"));
    json_t *fields = json_object_get(item, "fields"), *none = json_object();
    int64_t began_ms = cli_now_ms();
    serve_route route = {0};
    char *path = NULL, why[SERVE_WHY_SIZE] = "";
    bool known =
        call != NULL && asprintf(&path, "/v1/%s", call) >= 0 && serve_route_find(path, &route, why);
    if (call == NULL || (fields != NULL && !json_is_object(fields)) ||
        json_object_size(item) != (fields != NULL ? 2 : 1))
        serve_answer_error(answer, 400, TKL_EINVAL,
                           "a call is {\"call\": \"queue/push\", \"fields\": {...}}");
    else if (!known)
        serve_answer_error(answer, 404, TKL_NOTFOUND, why);
    else if (!caller->may(caller->arg, &route))
        serve_answer_error(answer, 403, TKL_EAUTH, "not permitted");
    else
        serve_call(client, &route, fields != NULL ? fields : none, caller, answer);
    if (caller->note != NULL)
        caller->note(caller->arg, &route, answer, cli_now_ms() - began_ms);
    free(path);
    json_decref(none);
}
