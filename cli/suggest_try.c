/* SPDX-License-Identifier: MIT
 *
 * A line on the terminal that is completed while it is typed: the suggestions stand below it. Tab
 * takes the first of them, Enter ends and prints the line, Ctrl-C ends without.
 *
 * Each row is cut to the width of the terminal: a row that wraps would move all others.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "out.h"
#include "suggest.h"

enum { LINE_MAX_BYTES = 400, TAB = 9, ESCAPE = 27, CTRL_D = 4, CTRL_U = 21 };

#define CLEAR "\r\033[J" /* the line and all below */

typedef struct typed_text {
    cli_session *cli;
    tkl_suggest *suggest;
    size_t count;
    char text[LINE_MAX_BYTES + 1];
    size_t len;
    tkl_suggestions *found; /* NULL: none yet */
} typed_text;

/* ---- Characters ---------------------------------------------------------- */

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Start of the code point before `end`. */
static size_t back(const char *text, size_t end)
{
    while (end > 0 && continues(text[--end]))
        ;
    return end;
}

/* Whether a code point belongs to the character before it: a mark, a joiner, a skin tone. */
static bool is_attached(const char *text, size_t from, size_t to)
{
    wchar_t c = 0;
    mbstate_t state = {0};
    size_t used = mbrtowc(&c, text + from, to - from, &state);
    if (used == 0 || used > to - from)
        return false;
    return wcwidth(c) == 0 || (c >= 0x1f3fb && c <= 0x1f3ff);
}

static bool is_joiner(const char *text, size_t from, size_t to)
{
    return to - from == 3 && memcmp(text + from, "\xe2\x80\x8d", 3) == 0;
}

/* Start of the character before `end`, as users see it. */
static size_t back_character(const char *text, size_t end)
{
    size_t from = back(text, end);
    while (from > 0 && (is_attached(text, from, end) || is_joiner(text, back(text, from), from))) {
        end = from;
        from = back(text, end);
    }
    return from;
}

/* ---- Drawing ------------------------------------------------------------- */

typedef struct screen {
    size_t columns, rows;
} screen;

static screen size_of_terminal(void)
{
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    return known ? (screen){size.ws_col, size.ws_row} : (screen){80, 24};
}

/* Cuts characters off the end of a text that is wider than `columns`. */
static void cut_end(char *text, size_t columns)
{
    size_t len = strlen(text);
    while (len > 0 && cli_width(text) > columns)
        text[len = back_character(text, len)] = 0;
}

/* The last part of a text that is not wider than `columns`. */
static const char *tail_of(const char *text, size_t columns)
{
    while (*text && cli_width(text) > columns)
        do
            text++;
        while (continues(*text));
    return text;
}

static void draw_suggestion(const tkl_suggestion *s, size_t columns)
{
    const char *mark = s->corrected ? " ~ " : " ";
    char *weight = cli_real_text("weight", s->weight), *text = cli_escape(s->text, false);
    size_t used = 4 + strlen(mark) + (weight ? strlen(weight) : 0);
    if (text)
        cut_end(text, columns > used ? columns - used : 0);
    printf("\r\n");
    if (columns > used)
        printf("  %s%s%s%s%s", text ? text : "", cli_color(stdout, CLI_DIM), mark,
               weight ? weight : "", cli_color(stdout, CLI_PLAIN));
    free(weight);
    free(text);
}

/* Draws the line and the suggestions below it, and puts the cursor back into the line. */
static void draw_screen(const typed_text *t)
{
    screen size = size_of_terminal();
    char *text = cli_escape((tkl_bytes){t->text, t->len}, false);
    const char *shown = tail_of(text ? text : "", size.columns > 4 ? size.columns - 4 : 0);
    size_t count = t->found->count < size.rows - 1 ? t->found->count : size.rows - 1;
    printf(CLEAR "> %s", shown);
    for (size_t i = 0; i < count; i++)
        draw_suggestion(&t->found->items[i], size.columns);
    if (count)
        printf("\033[%zuA", count);
    printf("\r\033[%zuC", 2 + cli_width(shown));
    fflush(stdout);
    free(text);
}

/* Fetches suggestions and draws the screen. An error is reported on an empty line. */
static int refresh_screen(typed_text *t)
{
    tkl_suggestions_free(t->found);
    int rc = tkl_suggest_hint(t->suggest, (tkl_bytes){t->text, t->len}, t->count, &t->found);
    if (rc != TKL_OK) {
        printf(CLEAR);
        fflush(stdout);
        return cli_end(t->cli, rc);
    }
    draw_screen(t);
    return CLI_OK;
}

/* ---- Typing -------------------------------------------------------------- */

static void set_text(typed_text *t, tkl_bytes text)
{
    t->len = text.len < LINE_MAX_BYTES ? text.len : LINE_MAX_BYTES;
    memcpy(t->text, text.data, t->len);
    t->text[t->len] = 0;
}

static void erase_character(typed_text *t)
{
    t->len = back_character(t->text, t->len);
    t->text[t->len] = 0;
}

/* Adds the bytes of a key, or of several that were pasted. Keys that move the cursor are left out.
 */
static void type(typed_text *t, const char *keys, size_t len)
{
    if (len > 0 && keys[0] == ESCAPE)
        return;
    for (size_t i = 0; i < len; i++) {
        if (keys[i] == '\b' || keys[i] == 127)
            erase_character(t);
        else if (keys[i] == CTRL_U)
            set_text(t, (tkl_bytes){"", 0});
        else if (keys[i] == TAB && t->found->count)
            set_text(t, t->found->items[0].text);
        else if ((unsigned char)keys[i] >= ' ' && t->len < LINE_MAX_BYTES)
            t->text[t->len++] = keys[i];
    }
    t->text[t->len] = 0;
}

/* Number of bytes before the key that ends the line; all if there is none. */
static size_t before_end(const char *keys, size_t len)
{
    size_t n = 0;
    while (n < len && keys[n] != '\r' && keys[n] != '\n' && keys[n] != CTRL_D)
        n++;
    return n;
}

static int read_keys(typed_text *t)
{
    char keys[64];
    int failed = refresh_screen(t);
    while (!failed) {
        ssize_t len = read(STDIN_FILENO, keys, sizeof keys);
        if (len <= 0)
            break;
        size_t typed = before_end(keys, (size_t)len);
        type(t, keys, typed);
        if (typed < (size_t)len)
            break;
        failed = refresh_screen(t);
    }
    if (!failed)
        printf(CLEAR);
    fflush(stdout);
    return failed;
}

/* ---- The terminal -------------------------------------------------------- */

static const int fatal[] = {SIGINT, SIGTERM, SIGHUP};
static struct termios before;

/* Restores the terminal on a signal, also while a server does not answer: else the terminal would
 * stay without echo. */
static void on_signal(int number)
{
    ssize_t ignored = write(STDOUT_FILENO, CLEAR, sizeof CLEAR - 1);
    (void)ignored;
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    signal(number, SIG_DFL);
    raise(number);
}

static void on_fatal(void (*handler)(int))
{
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], handler);
}

/* Makes the terminal pass on each key. Only Ctrl-C still sends a signal. */
static void take_terminal(void)
{
    struct termios raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_iflag &= ~(tcflag_t)(ICRNL | IXON);
    raw.c_cc[VQUIT] = raw.c_cc[VSUSP] = _POSIX_VDISABLE;
    on_fatal(on_signal);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

static void give_terminal_back(void)
{
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    on_fatal(SIG_DFL);
}

int cli_suggest_try(cli_session *cli, tkl_suggest *suggest, size_t count)
{
    typed_text t = {.cli = cli, .suggest = suggest, .count = count};
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) != 0)
        return cli_usage(cli, "this is for a terminal");
    take_terminal();
    int failed = read_keys(&t);
    give_terminal_back();
    if (!failed && t.len) {
        cli_print_bytes((tkl_bytes){t.text, t.len});
        putchar('\n');
    }
    tkl_suggestions_free(t.found);
    return failed;
}
