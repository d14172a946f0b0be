/* SPDX-License-Identifier: MIT */
#include "edit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libedit.so.2"

/* Most lines of the history. */
enum { LINES_MAX = 1000 };

typedef char *next_match(const char *word, int state);
typedef char **all_matches(const char *word, int start, int end);

/* The editor: the functions and variables of libedit, which has those of readline, and the caller's
 * function. A process has one terminal, and the library keeps its state in variables, too. */
static struct {
    char *(*readline)(const char *prompt);
    int (*add_history)(const char *text);
    void (*stifle_history)(int lines);
    char **(*matches)(const char *word, next_match *next);
    all_matches **complete;
    int *complete_alone; /* not 0: without matches it does not try names of files */
    const char **separators;
    int *append; /* the byte behind a complete word */
    const char **name;
    char **typed; /* the typed text */
    int *point;   /* the cursor, in bytes */
    cli_edit_guess *guess;
    void *arg;
    char *before;
    size_t index;
} editor;

/* ---- Completion ---------------------------------------------------------- */

static char *next_guess(const char *word, int state)
{
    size_t len = strlen(word);
    char *text;
    if (state == 0)
        editor.index = 0;
    while ((text = editor.guess(editor.arg, editor.before, word, editor.index++))) {
        if (*text && strncmp(text, word, len) == 0)
            return text;
        free(text);
    }
    return NULL;
}

/* The library counts `start` and `end` in characters, and the cursor in bytes. */
static char **complete(const char *word, int start, int end)
{
    size_t point = (size_t)*editor.point, len = strlen(word);
    char **matches = NULL;
    (void)start;
    (void)end;
    *editor.complete_alone = 1;
    editor.before = strndup(*editor.typed, point > len ? point - len : 0);
    if (editor.before)
        matches = editor.matches(word, next_guess);
    free(editor.before);
    return matches;
}

/* ---- The library --------------------------------------------------------- */

/* Whether all symbols that we use are there. */
static bool load_library(void)
{
    const struct {
        const char *name;
        void *place;
    } symbols[] = {
        {"readline", &editor.readline},
        {"add_history", &editor.add_history},
        {"stifle_history", &editor.stifle_history},
        {"rl_completion_matches", &editor.matches},
        {"rl_attempted_completion_function", &editor.complete},
        {"rl_attempted_completion_over", &editor.complete_alone},
        {"rl_basic_word_break_characters", &editor.separators},
        {"rl_completion_append_character", &editor.append},
        {"rl_readline_name", &editor.name},
        {"rl_line_buffer", &editor.typed},
        {"rl_point", &editor.point},
    };
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL); /* never unloaded */
    for (size_t i = 0; library && i < sizeof symbols / sizeof *symbols; i++)
        if (!(*(void **)symbols[i].place = dlsym(library, symbols[i].name)))
            return false;
    return library != NULL;
}

static bool is_terminal(void)
{
    const char *type = getenv("TERM");
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && type && *type &&
           strcmp(type, "dumb") != 0;
}

bool cli_edit_open(cli_edit_guess *guess, void *arg)
{
    if (!is_terminal() || !load_library())
        return false;
    editor.guess = guess;
    editor.arg = arg;
    *editor.name = "tackle";
    *editor.separators = " \t\n\",";
    *editor.complete = complete;
    *editor.append = 0; /* a guess has its end */
    editor.stifle_history(LINES_MAX);
    return true;
}

char *cli_edit_line(const char *prompt)
{
    return editor.readline(prompt);
}

void cli_edit_remember(const char *text)
{
    editor.add_history(text);
}
