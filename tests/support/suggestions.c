/* SPDX-License-Identifier: MIT */
#include "support/suggestions.h"

tkl_suggest *open_suggest(tkl_client *client, const tkl_suggest_options *options)
{
    tkl_suggest *s;
    assert_ok(tkl_suggest_open(client, tkl_str("q"), options, &s));
    return s;
}

void feed_text(tkl_suggest *s, const char *text, double weight)
{
    assert_ok(tkl_suggest_feed(s, &(tkl_suggest_text){.text = tkl_str(text), .weight = weight}, 1));
}

int64_t take_text(tkl_suggest *s, const char *text)
{
    int64_t removed;
    tkl_bytes bytes = tkl_str(text);
    assert_ok(tkl_suggest_remove(s, &bytes, 1, &removed));
    return removed;
}

/* The answers as "text=weight|text=weight", weights without fraction. */
char *hints(tkl_suggest *s, const char *prefix, size_t count)
{
    tkl_suggestions *found;
    char *line = calloc(1, 65536);
    assert_ok(tkl_suggest_hint(s, tkl_str(prefix), count, &found));
    for (size_t i = 0; i < found->count; i++)
        sprintf(line + strlen(line), "%s%s" TKL_FMT "=%.0f", i ? "|" : "",
                found->items[i].corrected ? "~" : "", TKL_ARG(found->items[i].text),
                found->items[i].weight);
    tkl_suggestions_free(found);
    return line;
}

void check_hints(tkl_suggest *s, const char *prefix, size_t count, const char *expected)
{
    char *line = hints(s, prefix, count);
    assert_string_equal(line, expected);
    free(line);
}
