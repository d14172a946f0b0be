/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#include "out.h"

/* Longer words are cut. A command with more words ends with their number. */
#define WORD_MAX  80
#define WORDS_MAX 40

/* Writes "[0.08 ms]", "[0.21 ms, 2 of 5]" or "[no reply: TKL_ETIMEOUT]". */
static void write_times(FILE *to, const tkl_trace *trace)
{
    if (trace->took_us >= 0)
        fprintf(to, "[%lld.%02lld ms", (long long)trace->took_us / 1000,
                (long long)trace->took_us % 1000 / 10);
    else
        fputs(trace->code == TKL_OK ? "[sent" : "[no reply", to);
    if (trace->batch > 1)
        fprintf(to, ", %zu of %zu", trace->place, trace->batch);
    if (trace->code != TKL_OK)
        fprintf(to, ": %s", tkl_codename(trace->code));
    fputc(']', to);
}

static void write_word(FILE *to, tkl_bytes word)
{
    bool is_cut = word.len > WORD_MAX;
    char *text = cli_escape((tkl_bytes){word.data, is_cut ? WORD_MAX : word.len}, true);
    bool quoted = word.len == 0 || (text != NULL && strpbrk(text, " \"'\\") != NULL);
    fprintf(to, quoted ? " \"%s\"" : " %s", text != NULL ? text : "");
    if (is_cut)
        fprintf(to, "... (%zu bytes)", word.len);
    free(text);
}

static void write_line(FILE *to, const tkl_trace *trace)
{
    write_times(to, trace);
    for (size_t i = 0; i < trace->count && i < WORDS_MAX; i++)
        write_word(to, trace->words[i]);
    if (trace->count > WORDS_MAX)
        fprintf(to, " ... (%zu words)", trace->count);
    fprintf(to, "  -> %s\n", trace->server);
}

static json_t *trace_json(const tkl_trace *trace)
{
    json_t *words = json_array();
    for (size_t i = 0; i < trace->count && i < WORDS_MAX; i++) {
        tkl_bytes word = trace->words[i];
        if (word.len > WORD_MAX)
            word.len = WORD_MAX;
        json_array_append_new(words, cli_json_bytes(word));
    }
    return json_pack("{s:{s:o, s:I, s:s, s:o, s:o, s:I, s:I}}", "trace", "words", words,
                     "word_count", (json_int_t)trace->count, "server", trace->server, "took_ms",
                     trace->took_us >= 0 ? json_real((double)trace->took_us / 1000) : json_null(),
                     "error",
                     trace->code == TKL_OK ? json_null() : json_string(tkl_codename(trace->code)),
                     "place", (json_int_t)trace->place, "batch", (json_int_t)trace->batch);
}

/* A line is written in one piece: threads of the library may call this at the same time. */
void cli_trace(const tkl_trace *trace, void *arg)
{
    const cli_session *cli = arg;
    char *text = NULL;
    size_t size = 0;
    if (cli->json) {
        json_t *value = trace_json(trace);
        text = value != NULL ? cli_json_text(value) : NULL;
        json_decref(value);
        if (text != NULL)
            fprintf(stderr, "%s\n", text);
    } else {
        FILE *to = open_memstream(&text, &size);
        if (to != NULL)
            write_line(to, trace);
        if (to != NULL && fclose(to) == 0)
            fputs(text, stderr);
    }
    free(text);
}
