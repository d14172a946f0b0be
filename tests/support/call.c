/* SPDX-License-Identifier: MIT */
#include "support/call.h"

#define MAX_WORDS 32

typedef struct words {
    const char *argv[MAX_WORDS];
    int argc;
} words;

static words gather_words(va_list args)
{
    words list = {.argc = 0};
    for (const char *word; (word = va_arg(args, const char *)) != NULL;) {
        assert_true(list.argc < MAX_WORDS);
        list.argv[list.argc++] = word;
    }
    return list;
}

static tkl_reply *must_call(tkl_client *client, const words *list)
{
    tkl_reply *reply = NULL;
    int code = tkl_call(client, list->argc, list->argv, NULL, NULL, &reply);
    if (code != TKL_OK)
        fail_msg("%s: %s: %s", list->argv[0], tkl_codename(code), tkl_errmsg());
    return reply;
}

tkl_client *test_open(const char *url, const tkl_options *options)
{
    tkl_options patient = options != NULL ? *options : (tkl_options){0};
    if (patient.timeout_ms == 0 && strstr(url, "timeout=") == NULL)
        patient.timeout_ms = 60000;
    tkl_client *client = NULL;
    assert_ok(tkl_open(url, &patient, &client));
    return client;
}

int64_t call_int(tkl_client *client, ...)
{
    va_list args;
    va_start(args, client);
    words list = gather_words(args);
    va_end(args);
    tkl_reply *reply = must_call(client, &list);
    int64_t number = tkl_reply_int(reply);
    tkl_reply_free(reply);
    return number;
}

static char *text_of(tkl_reply *reply)
{
    char *text = tkl_reply_is_nil(reply) ? NULL : strdup(tkl_reply_str(reply));
    tkl_reply_free(reply);
    return text;
}

char *call_text(tkl_client *client, ...)
{
    va_list args;
    va_start(args, client);
    words list = gather_words(args);
    va_end(args);
    return text_of(must_call(client, &list));
}

void call_expect(tkl_client *client, const char *expected, ...)
{
    va_list args;
    va_start(args, expected);
    words list = gather_words(args);
    va_end(args);
    char *text = text_of(must_call(client, &list));
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

int call_code(tkl_client *client, const tkl_call_options *options, ...)
{
    va_list args;
    va_start(args, options);
    words list = gather_words(args);
    va_end(args);
    return tkl_call(client, list.argc, list.argv, NULL, options, NULL);
}

bool call_echo(tkl_client *client, const tkl_call_options *options, const char *token, int *code)
{
    const char *argv[] = {"ECHO", token};
    tkl_reply *reply = NULL;
    *code = tkl_call(client, 2, argv, NULL, options, &reply);
    if (*code == TKL_OK)
        assert_string_equal(tkl_reply_str(reply), token);
    tkl_reply_free(reply);
    return *code == TKL_OK;
}
