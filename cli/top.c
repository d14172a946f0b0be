/* SPDX-License-Identifier: MIT
 *
 * `tackle top`: everything, live. One thread draws and listens to keys, another one reads.
 */
#include "top.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "lines.h"

enum {
    KEY_NONE = 0,
    KEY_CTRL_C = 3,
    KEY_TAB = 9,
    KEY_ENTER = 13,
    KEY_CTRL_Z = 26,
    KEY_ESCAPE = 27,
    KEY_BACKSPACE = 127,
    KEY_UP = 256,
    KEY_DOWN,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_HOME,
    KEY_END,
};

#define INTERVAL_MS 1000
/* How long the rest of a sequence of bytes may take; else it was the key Esc alone. */
#define SEQUENCE_MS 50

/* A running top. */
typedef struct top {
    top_view view;
    top_reader reader;
    top_table tables[TOP_TABS];
    top_act act; /* the act that the question asks about */
    char question[200];
} top;

/* ---- Signals ------------------------------------------------------------- */

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    if (number != SIGWINCH) /* it only ends the poll() */
        caught = number;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

/* ---- Keys ---------------------------------------------------------------- */

static bool has_input(int wait_ms)
{
    struct pollfd file = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&file, 1, wait_ms) > 0;
}

static unsigned char put_back; /* the byte to be read next; 0: none */

static bool read_byte(unsigned char *byte)
{
    *byte = put_back;
    put_back = 0;
    return *byte != 0 || read(STDIN_FILENO, byte, 1) == 1;
}

/* Reads what follows Esc: "[A", "[5~", "OA" and the like. Another key after Esc stands for itself. */
static int read_sequence(void)
{
    char bytes[8] = "";
    size_t len = 0;
    unsigned char first;
    if (!has_input(SEQUENCE_MS) || !read_byte(&first))
        return KEY_ESCAPE;
    if (first != '[' && first != 'O') {
        put_back = first;
        return KEY_ESCAPE;
    }
    bytes[len++] = (char)first;
    while (len < sizeof bytes - 1 && has_input(SEQUENCE_MS) &&
           read(STDIN_FILENO, &bytes[len], 1) == 1) {
        char last = bytes[len++];
        if (len > 1 && (last == '~' || (last >= 'A' && last <= 'Z')))
            break;
    }
    static const struct {
        const char *bytes;
        int key;
    } keys[] = {{"[A", KEY_UP},       {"[B", KEY_DOWN},       {"OA", KEY_UP},   {"OB", KEY_DOWN},
                {"[5~", KEY_PAGE_UP}, {"[6~", KEY_PAGE_DOWN}, {"[H", KEY_HOME}, {"[F", KEY_END},
                {"[1~", KEY_HOME},    {"[4~", KEY_END}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(bytes, keys[i].bytes) == 0)
            return keys[i].key;
    return KEY_NONE;
}

/* KEY_NONE at the end of the input, too. */
static int read_key(bool *ended)
{
    unsigned char byte;
    errno = 0;
    bool is_read = read_byte(&byte);
    *ended = !is_read && errno != EINTR;
    if (!is_read)
        return KEY_NONE;
    if (byte == KEY_ESCAPE)
        return read_sequence();
    return byte == '\n' ? KEY_ENTER : byte == '\b' ? KEY_BACKSPACE : byte;
}

/* ---- Keys ---------------------------------------------------------------- */

static const top_row *selected_row(const top *t)
{
    const top_table *table = &t->tables[t->view.tab];
    return t->view.selected < table->count ? &table->rows[t->view.selected] : NULL;
}

static int partitions_of(const top *t, const top_row *row)
{
    return t->view.tab == TOP_QUEUES ? ((const tkl_queue_summary *)row->item)->partitions : 0;
}

static void show_tab(top *t, int tab)
{
    t->view.tab = (top_tab)((tab + TOP_TABS) % TOP_TABS);
    t->view.selected = t->view.first = 0;
    t->reader.shown = t->view.tab;
}

static void look_into(top *t, bool looks)
{
    const top_row *row = selected_row(t);
    t->view.looking = looks && row != NULL;
    bool queue = t->view.looking && t->view.tab == TOP_QUEUES;
    top_reader_look(&t->reader, queue ? row->raw : (tkl_bytes){NULL, 0},
                    queue ? partitions_of(t, row) : 0);
}

static void ask_first(top *t, top_act act, const char *format)
{
    const top_row *row = selected_row(t);
    if (row == NULL)
        return;
    snprintf(t->question, sizeof t->question, format, row->name);
    t->act = act;
    t->view.question = t->question;
}

static void answer_question(top *t, int key)
{
    const top_row *row = selected_row(t);
    t->view.question = NULL;
    if ((key == 'y' || key == 'Y') && row != NULL)
        top_reader_act(&t->reader, t->act, t->view.tab, row->raw, partitions_of(t, row));
    else
        snprintf(t->reader.outcome, sizeof t->reader.outcome, "nothing was done");
}

static void type_filter(top_view *view, int key)
{
    size_t len = strlen(view->filter);
    if (key == KEY_ESCAPE)
        view->filter[0] = '\0';
    if (key == KEY_ESCAPE || key == KEY_ENTER) {
        view->typing = false;
    } else if (key == KEY_BACKSPACE) {
        while (len > 0 && ((unsigned char)view->filter[--len] & 0xC0) == 0x80)
            ;
        view->filter[len] = '\0';
    } else if (key >= ' ' && key < KEY_UP && len + 1 < sizeof view->filter) {
        view->filter[len] = (char)key;
        view->filter[len + 1] = '\0';
    }
    view->selected = view->first = 0;
}

static void move_selection(top *t, int64_t by)
{
    int64_t count = (int64_t)t->tables[t->view.tab].count, to = (int64_t)t->view.selected + by;
    t->view.selected = to < 0 || count == 0 ? 0 : (size_t)(to < count ? to : count - 1);
}

static void sort_by(top *t, size_t step)
{
    size_t count = t->tables[t->view.tab].ncolumns;
    if (count > 0)
        t->view.sort[t->view.tab] = (t->view.sort[t->view.tab] + step) % count;
}

/* Keys that act on the selected row, after a question. */
static void press_act_key(top *t, int key)
{
    const top_row *row = selected_row(t);
    bool queue = t->view.tab == TOP_QUEUES;
    bool hold = t->view.tab == TOP_LOCKS || t->view.tab == TOP_SEMAPHORES;
    if (key == 'p' && queue && row != NULL)
        ask_first(t, row->paused ? TOP_RESUME : TOP_PAUSE,
                  row->paused ? "Resume the queue %.100s? [y/N]" : "Pause the queue %.100s? [y/N]");
    else if (key == 't' && queue)
        ask_first(t, TOP_RETRY_DEAD, "Put all dead letters of %.100s back into the queue? [y/N]");
    else if (key == 'b' && hold)
        ask_first(t, TOP_BREAK, "Break %.100s, so that its holders lose it? [y/N]");
}

/* Keys that move the selection. */
static void press_move_key(top *t, int key)
{
    int64_t page = (int64_t)top_screen_room(&t->view);
    if (key == KEY_UP || key == 'k')
        move_selection(t, -1);
    else if (key == KEY_DOWN || key == 'j')
        move_selection(t, 1);
    else if (key == KEY_PAGE_UP)
        move_selection(t, -page);
    else if (key == KEY_PAGE_DOWN)
        move_selection(t, page);
    else if (key == KEY_HOME)
        move_selection(t, INT32_MIN);
    else if (key == KEY_END)
        move_selection(t, INT32_MAX);
}

/* Returns false for the end. */
static bool press_key(top *t, int key)
{
    top_view *view = &t->view;
    if (key != KEY_NONE)
        t->reader.outcome[0] = '\0';
    if (view->question != NULL && key != KEY_NONE) {
        answer_question(t, key);
    } else if (view->typing && key != KEY_CTRL_C) {
        type_filter(view, key);
    } else if (view->help && key != KEY_NONE && key != 'q' && key != KEY_CTRL_C) {
        view->help = false;
    } else {
        switch (key) {
        case 'q':
        case KEY_CTRL_C:
            return false;
        case 'h':
        case '?':
            view->help = true;
            break;
        case KEY_TAB:
            look_into(t, false);
            show_tab(t, (int)view->tab + 1);
            break;
        case 's':
            sort_by(t, 1);
            break;
        case 'S':
            sort_by(t, t->tables[view->tab].ncolumns - 1);
            break;
        case 'r':
            view->reverse[view->tab] = !view->reverse[view->tab];
            break;
        case '/':
            view->typing = true;
            break;
        case ' ':
            t->reader.frozen = view->frozen = !view->frozen;
            top_reader_wake(&t->reader);
            break;
        case KEY_ENTER:
            look_into(t, true);
            break;
        case KEY_ESCAPE:
            look_into(t, false);
            break;
        default:
            if (key >= '1' && key < '1' + TOP_TABS) {
                look_into(t, false);
                show_tab(t, key - '1');
            }
            press_move_key(t, key);
            press_act_key(t, key);
        }
    }
    return true;
}

/* ---- The loop ------------------------------------------------------------ */

/* Makes the tables again, and keeps the selected row selected. */
static void renew_tables(top *t)
{
    top_view *view = &t->view;
    const top_row *row = selected_row(t);
    char *name = row != NULL ? strdup(row->name) : NULL;
    top_tables_free(t->tables);
    if (t->reader.now.overview != NULL) {
        top_tables_make(&t->reader.now, &t->reader.last, &t->reader.extras, view->utf8, t->tables);
        for (int i = 0; i < TOP_TABS; i++) {
            top_table_filter(&t->tables[i], view->filter);
            top_table_sort(&t->tables[i], view->sort[i], view->reverse[i]);
        }
    }
    const top_table *table = &t->tables[view->tab];
    for (size_t i = 0; name != NULL && i < table->count; i++)
        if (table->rows[i].name != NULL && strcmp(table->rows[i].name, name) == 0)
            view->selected = i;
    free(name);
}

static void suspend_program(void)
{
    top_screen_leave();
    raise(SIGTSTP);
    top_screen_enter();
}

/* Waits for a key, for something new or for a signal. Returns false for the end. */
static bool await_news(top *t)
{
    struct pollfd files[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = t->reader.bell, .events = POLLIN}};
    bool ended = false;
    eventfd_t unused;
    if (poll(files, 2, put_back != 0 ? 0 : -1) < 0)
        return errno == EINTR && !caught;
    if (files[1].revents != 0)
        eventfd_read(t->reader.bell, &unused);
    int key = files[0].revents != 0 || put_back != 0 ? read_key(&ended) : KEY_NONE;
    if (key == KEY_CTRL_Z)
        suspend_program();
    pthread_mutex_lock(&t->reader.mutex);
    bool goes_on = press_key(t, key) && !ended && !caught;
    pthread_mutex_unlock(&t->reader.mutex);
    return goes_on;
}

static int run_screen(cli_session *cli, tkl_client *client, int64_t interval_ms)
{
    static top t;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return cli_usage(cli, "no terminal: --batch prints text, --once does it once");
    int failed = top_reader_start(&t.reader, cli, client, interval_ms);
    if (failed)
        return failed;
    t.view = (top_view){.utf8 = top_is_utf8(), .sort = {1, 3, 3, 3, 2, 0}};
    catch_signals();
    if (!top_screen_enter())
        return cli_fail(cli, CLI_FAILURE, "cannot use the terminal: %s", strerror(errno));
    do {
        pthread_mutex_lock(&t.reader.mutex);
        renew_tables(&t);
        top_screen_draw(&t.view, &t.reader, t.tables);
        pthread_mutex_unlock(&t.reader.mutex);
    } while (await_news(&t));
    top_screen_leave();
    /* The other thread may be waiting for a server: do not wait for it. */
    cli_leave(cli, caught ? 128 + caught : CLI_OK);
}

/* ---- Without a screen ---------------------------------------------------- */

static int print_moment(const cli_session *cli, const top_moment *now, const top_moment *last,
                        const top_extras *extras)
{
    top_table tables[TOP_TABS];
    bool utf8 = top_is_utf8();
    top_tables_make(now, last, extras, utf8, tables);
    if (cli->json)
        cli_print_json(cli, top_tables_json(now, tables));
    else
        top_print_plain(now, tables, utf8);
    top_tables_free(tables);
    return cli_flush(cli);
}

static int run_batch(cli_session *cli, tkl_client *client, int64_t interval_ms, bool once)
{
    top_moment now = {0}, last = {0};
    int failed = CLI_OK;
    for (bool first = true; !failed; first = false) {
        char missing[CLI_MISSING_SIZE];
        tkl_overview *fresh = NULL;
        int code = tkl_overview_read(client, NULL, now.overview, &fresh);
        if (code == TKL_OK) {
            tkl_overview_free(last.overview);
            last = now;
            now = (top_moment){fresh, cli_now_us()};
            if (!first && !cli->json)
                putchar('\n');
            top_extras extras = {0};
            top_workers_read(client, fresh, &extras);
            top_limits_read(client, &extras);
            failed = print_moment(cli, &now, &last, &extras);
            if (fresh->missing_count > 0)
                cli_fail(
                    cli, CLI_OK, "%s",
                    cli_missing_text(&(tkl_names){fresh->missing, fresh->missing_count}, missing));
            top_extras_free(&extras);
        } else if (once || !tkl_is_transient(code)) {
            failed = cli_end(cli, code);
        } else {
            cli_end(cli, code); /* says why; the server may come back */
        }
        if (once)
            break;
        poll(NULL, 0, (int)interval_ms);
    }
    tkl_overview_free(now.overview);
    tkl_overview_free(last.overview);
    return failed;
}

static int top_run(cli_session *cli)
{
    tkl_client *client = NULL;
    int64_t interval_ms = cli_number(cli, "interval", INTERVAL_MS);
    bool once = cli_flag(cli, "once"), batch = once || cli_flag(cli, "batch");
    if (interval_ms < INTERVAL_MS || interval_ms > 3600000)
        return cli_usage(cli, "invalid --interval: must be from 1s to 1h");
    if (cli->json && !batch)
        return cli_usage(cli, "--json needs --once or --batch");
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    return batch ? run_batch(cli, client, interval_ms, once) : run_screen(cli, client, interval_ms);
}

static const cli_option options[] = {
    {"interval", CLI_PERIOD, "DURATION", "time between two looks, at least 1s (default 1s)"},
    {"batch", CLI_FLAG, NULL, "print text, or JSON, each time; no screen and no keys"},
    {"once", CLI_FLAG, NULL, "print it once"},
    {0}};

static const cli_verb verbs[] = {
    {
        .summary = "queues, workers, locks, semaphores, limits, counters and the server, live",
        .options = options,
        .details = "Press h for the keys. Shows the 200 names of each kind that were used last.\n"
                   "Rates are those since the frame before; --once has none.",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle top --once\n"
                   "tackle top --once --json\n"
                   "tackle queue drop tackle-example --yes",
        .local = "it is a screen for a terminal",
        .run = top_run,
    },
    {0},
};

const cli_component cli_top = {
    .name = "top",
    .summary = "everything, live",
    .verbs = verbs,
};
