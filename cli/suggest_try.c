/* SPDX-License-Identifier: MIT
 *
 * A line on the terminal that is completed while it is typed: the suggestions stand below it. Tab
 * takes the first of them, Enter ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "out.h"
#include "suggest.h"

enum { LINE_MAX_BYTES = 400, TAB = 9, ESCAPE = 27, CTRL_C = 3, CTRL_D = 4, CTRL_U = 21 };

typedef struct line {
    cli_session *cli;
    tkl_suggest *suggest;
    size_t count;
    char text[LINE_MAX_BYTES + 1];
    size_t len;
    tkl_suggestions *found; /* NULL: none yet */
} line;

/* ---- Drawing ------------------------------------------------------------- */

static void draw_suggestion(const tkl_suggestion *s)
{
    printf("\r\n  ");
    char *text = cli_escape(s->text, false);
    printf("%s%s%s %g%s", text ? text : "", s->corrected ? " ~" : "", cli_color(stdout, CLI_DIM),
           s->weight, cli_color(stdout, CLI_PLAIN));
    free(text);
}

/* The line, the suggestions below it, and the cursor back in the line. */
static void draw(const line *l)
{
    printf("\r\033[J> %.*s", (int)l->len, l->text);
    for (size_t i = 0; i < l->found->count; i++)
        draw_suggestion(&l->found->items[i]);
    if (l->found->count)
        printf("\033[%zuA", l->found->count);
    printf("\r\033[%zuC", 2 + cli_width(l->text));
    fflush(stdout);
}

static int refresh(line *l)
{
    tkl_suggestions_free(l->found);
    int failed = cli_end(
        l->cli, tkl_suggest_hint(l->suggest, (tkl_bytes){l->text, l->len}, l->count, &l->found));
    if (!failed)
        draw(l);
    return failed;
}

/* ---- Typing -------------------------------------------------------------- */

static void set(line *l, tkl_bytes text)
{
    l->len = text.len < LINE_MAX_BYTES ? text.len : LINE_MAX_BYTES;
    memcpy(l->text, text.data, l->len);
    l->text[l->len] = 0;
}

static void erase_character(line *l)
{
    while (l->len > 0 && ((unsigned char)l->text[--l->len] & 0xc0) == 0x80)
        ;
    l->text[l->len] = 0;
}

/* Bytes of a key, or several that were pasted. Keys that move the cursor are left out. */
static void type(line *l, const char *keys, size_t len)
{
    if (len > 0 && keys[0] == ESCAPE)
        return;
    for (size_t i = 0; i < len; i++) {
        if (keys[i] == '\b' || keys[i] == 127)
            erase_character(l);
        else if (keys[i] == CTRL_U)
            set(l, (tkl_bytes){"", 0});
        else if (keys[i] == TAB && l->found->count)
            set(l, l->found->items[0].text);
        else if ((unsigned char)keys[i] >= ' ' && l->len < LINE_MAX_BYTES)
            l->text[l->len++] = keys[i];
    }
    l->text[l->len] = 0;
}

static bool ends(const char *keys, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (keys[i] == '\r' || keys[i] == '\n' || keys[i] == CTRL_C || keys[i] == CTRL_D)
            return true;
    return false;
}

static int loop(line *l)
{
    char keys[64];
    int failed = refresh(l);
    while (!failed) {
        ssize_t len = read(STDIN_FILENO, keys, sizeof keys);
        if (len <= 0 || ends(keys, (size_t)len))
            break;
        type(l, keys, (size_t)len);
        failed = refresh(l);
    }
    printf("\r\033[J");
    return failed;
}

int cli_suggest_try(cli_session *cli, tkl_suggest *suggest, size_t count)
{
    struct termios before, raw;
    line l = {.cli = cli, .suggest = suggest, .count = count};
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) != 0)
        return cli_usage(cli, "this is for a terminal");
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    raw.c_iflag &= ~(tcflag_t)(ICRNL | IXON);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    int failed = loop(&l);
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    if (!failed && l.len)
        printf("%s\n", l.text);
    tkl_suggestions_free(l.found);
    return failed;
}
