/* SPDX-License-Identifier: MIT
 *
 * The screen is drawn whole, line by line, each cut to the width of the terminal and cleared to its
 * end, so nothing of the last frame stays and nothing flickers. Plain ANSI sequences and 16 colours;
 * a terminal without UTF-8 gets '?' for what it cannot show.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "info.h"
#include "language.h"
#include "top.h"

#define RED     "\033[31m"
#define YELLOW  "\033[33m"
#define REVERSE "\033[7m"
#define GAP     1 /* blanks between columns */
/* Lines that are no rows: server, tabs, heading, and the last line. */
#define FRAME_LINES 4

/* ---- The terminal -------------------------------------------------------- */

static struct termios original;

bool top_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && *value != '\0')
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
    }
    return false;
}

bool top_screen_enter(void)
{
    if (tcgetattr(STDIN_FILENO, &original) != 0)
        return false;
    struct termios raw = original;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    raw.c_iflag &= ~(tcflag_t)IXON;
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0)
        return false;
    fputs("\033[?1049h\033[?25l", stdout); /* another screen, without a cursor */
    return true;
}

void top_screen_leave(void)
{
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &original);
}

static void measure_terminal(top_view *view)
{
    struct winsize size = {0};
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    view->columns = known ? size.ws_col : 80;
    view->lines = known ? size.ws_row : 24;
}

size_t top_screen_room(const top_view *view)
{
    return view->lines > FRAME_LINES ? view->lines - FRAME_LINES : 0;
}

/* ---- Text ---------------------------------------------------------------- */

/* A line that is being written: text beyond the width is left out. */
typedef struct screen_row {
    FILE *to;
    size_t left; /* columns */
    bool utf8;
} screen_row;

static void put_text(screen_row *s, const char *text)
{
    while (*text != '\0') {
        wchar_t character = 0;
        mbstate_t state = {0};
        size_t used = mbrtowc(&character, text, strlen(text), &state);
        if (used == 0 || used > strlen(text))
            used = 1; /* texts are escaped, so this is not reached */
        int width = s->utf8 ? wcwidth(character) : 1;
        if (width < 0 || (size_t)width > s->left)
            return;
        if (s->utf8 || (unsigned char)*text < 0x80)
            fwrite(text, 1, used, s->to);
        else
            fputc('?', s->to);
        s->left -= (size_t)width;
        text += used;
    }
}

static void put_blanks(screen_row *s, size_t count)
{
    for (; count > 0 && s->left > 0; count--, s->left--)
        fputc(' ', s->to);
}

static void put_style(const screen_row *s, const char *sequence)
{
    fputs(cli_color(stdout, sequence), s->to);
}

static screen_row begin_row(const top_view *view, FILE *to)
{
    return (screen_row){to, view->columns, view->utf8};
}

/* The last line has no line feed: it would scroll the screen. */
static void end_row(const screen_row *s)
{
    fputs("\033[0m\033[K\r\n", s->to);
}

static size_t width_of(const char *text, bool utf8)
{
    if (utf8)
        return cli_width(text);
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

/* ---- Tables -------------------------------------------------------------- */

static const char *cell_text(const top_row *row, size_t column)
{
    const char *text = column == 0 ? row->name : row->texts[column];
    return text != NULL ? text : "-";
}

static bool is_left(const top_column *column)
{
    return column->kind == TOP_TEXT || column->kind == TOP_SPARK;
}

static void find_widths(const top_table *table, bool utf8, size_t widths[TOP_COLUMNS])
{
    for (size_t c = 0; c < table->ncolumns; c++) {
        widths[c] = strlen(table->columns[c].title) + 1; /* room for the mark of the order */
        for (size_t i = 0; i < table->count; i++) {
            size_t width = width_of(cell_text(&table->rows[i], c), utf8);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
}

/* Long names give way, so that the numbers are seen. */
static void shorten_names(size_t columns, const top_table *table, size_t widths[TOP_COLUMNS])
{
    enum { LEAST = 12 };
    size_t others = 2;
    for (size_t c = 1; c < table->ncolumns; c++)
        others += widths[c] + GAP;
    size_t room = columns > others + LEAST ? columns - others : LEAST;
    if (widths[0] > room)
        widths[0] = room;
}

static void put_cell(screen_row *s, const char *text, size_t width, bool left)
{
    size_t own = width_of(text, s->utf8);
    size_t blanks = own < width ? width - own : 0;
    screen_row cell = *s;
    put_blanks(s, left ? 0 : blanks);
    cell.left = s->left < width ? s->left : width;
    size_t room = cell.left;
    put_text(&cell, text);
    s->left -= room - cell.left;
    put_blanks(s, left ? width - (room - cell.left) : 0);
}

static void put_heading(screen_row *s, const top_table *table, const size_t widths[TOP_COLUMNS],
                        size_t sorted, bool reverse)
{
    char title[64];
    put_style(s, CLI_BOLD);
    put_blanks(s, 2);
    for (size_t c = 0; c < table->ncolumns; c++) {
        const char *mark = c != sorted ? "" : reverse ? "^" : "v";
        snprintf(title, sizeof title, "%s%s", table->columns[c].title, mark);
        put_cell(s, title, widths[c], is_left(&table->columns[c]));
        put_blanks(s, GAP);
    }
    end_row(s);
}

static void put_row(screen_row *s, const top_table *table, const top_row *row,
                    const size_t widths[TOP_COLUMNS], bool selected)
{
    put_style(s, row->warns ? RED : row->paused ? YELLOW : CLI_PLAIN);
    if (selected)
        put_style(s, REVERSE);
    put_text(s, selected ? "> " : "  ");
    for (size_t c = 0; c < table->ncolumns; c++) {
        put_cell(s, cell_text(row, c), widths[c], is_left(&table->columns[c]));
        put_blanks(s, GAP);
    }
    end_row(s);
}

/* ---- The top and the bottom ---------------------------------------------- */

static void server_text(const char *info, char *text, size_t size)
{
    char uptime[CLI_DURATION_SIZE], version[CLI_INFO_SIZE], role[CLI_INFO_SIZE];
    char memory[64] = "";
    int64_t most = cli_info_number(info, "maxmemory");
    if (most > 0)
        snprintf(memory, sizeof memory, " of %.1f", (double)most / 1048576);
    snprintf(text, size, "%.40s %.20s, up %s, %.1f%s MB, %lld clients, %lld commands/s",
             cli_info_version(info, version), cli_info_field(info, "role", role),
             cli_duration_text(cli_info_number(info, "uptime_in_seconds") * 1000, uptime),
             (double)cli_info_number(info, "used_memory") / 1048576, memory,
             (long long)cli_info_number(info, "connected_clients"),
             (long long)cli_info_number(info, "instantaneous_ops_per_sec"));
}

static void put_server(const top_view *view, const top_reader *r, FILE *to)
{
    char text[512];
    screen_row s = begin_row(view, to);
    put_style(&s, CLI_BOLD);
    put_text(&s, "tackle top  ");
    put_style(&s, CLI_PLAIN);
    if (*r->problem != '\0') {
        put_style(&s, RED);
        put_text(&s, "not known: ");
        put_text(&s, r->problem);
    } else if (r->now.overview == NULL) {
        put_text(&s, "asking the server ...");
    } else if (r->now.overview->server_result.code != TKL_OK) {
        put_text(&s, "server not known: ");
        put_text(&s, r->now.overview->server_result.text);
    } else {
        server_text(r->now.overview->server, text, sizeof text);
        put_text(&s, text);
    }
    end_row(&s);
}

static void put_tabs(const top_view *view, const top_table tables[TOP_TABS], FILE *to)
{
    char text[200];
    screen_row s = begin_row(view, to);
    for (int i = 0; i < TOP_TABS; i++) {
        snprintf(text, sizeof text, " %d %s %zu ", i + 1, tables[i].title ? tables[i].title : "",
                 tables[i].count);
        if (i == (int)view->tab)
            put_style(&s, REVERSE);
        put_text(&s, text);
        put_style(&s, CLI_PLAIN);
        put_blanks(&s, 1);
    }
    if (view->filter[0] != '\0' || view->typing) {
        snprintf(text, sizeof text, " filter: %s%s", view->filter, view->typing ? "_" : "");
        put_text(&s, text);
    }
    if (view->frozen)
        put_text(&s, "  [frozen]");
    end_row(&s);
}

static void put_last_line(const top_view *view, const top_reader *r, FILE *to)
{
    screen_row s = begin_row(view, to);
    put_style(&s, view->question != NULL ? YELLOW : CLI_DIM);
    if (view->question != NULL)
        put_text(&s, view->question);
    else if (view->typing)
        put_text(&s, "type a part of the name; Enter keeps it, Esc drops it");
    else if (*r->outcome != '\0')
        put_text(&s, r->outcome);
    else if (view->looking)
        put_text(&s, "Esc back  q quit");
    else
        put_text(&s, "q quit  h keys  1-6 what  s sort  / filter  Enter look into  Space freeze  "
                     "p pause queue  t retry dead  b break lock");
    fputs("\033[0m\033[J", to);
}

/* ---- Looking into one ---------------------------------------------------- */

/* Lines below the tabs; those beyond the screen are left out. */
typedef struct page {
    const top_view *view;
    FILE *to;
    size_t left; /* lines */
} page;

static void put_page_line(page *p, const char *style, const char *text)
{
    if (p->left == 0)
        return;
    screen_row s = begin_row(p->view, p->to);
    put_style(&s, style);
    put_text(&s, text);
    end_row(&s);
    p->left--;
}

static void put_page_bytes(page *p, const char *before, tkl_bytes bytes)
{
    enum { SHOWN = 300 };
    char *text = cli_escape((tkl_bytes){bytes.data, bytes.len < SHOWN ? bytes.len : SHOWN}, false);
    char *whole = NULL;
    if (text != NULL && asprintf(&whole, "%s%s", before, text) >= 0)
        put_page_line(p, CLI_PLAIN, whole);
    else
        whole = NULL;
    free(whole);
    free(text);
}

static void put_jobs(page *p, const char *title, const tkl_listing *jobs)
{
    char before[64];
    put_page_line(p, CLI_BOLD, title);
    if (jobs == NULL)
        put_page_line(p, CLI_DIM, "  reading ...");
    else if (jobs->count == 0)
        put_page_line(p, CLI_DIM, "  none");
    for (size_t i = 0; jobs != NULL && i < jobs->count; i++) {
        snprintf(before, sizeof before, "  %s  attempt %d  ", jobs->items[i].id,
                 jobs->items[i].attempt);
        put_page_bytes(p, before, jobs->items[i].payload);
    }
}

static void put_runs(page *p, const tkl_queue_worker *worker)
{
    char before[64];
    put_page_line(p, CLI_BOLD, "Jobs");
    for (size_t i = 0; i < worker->run_count; i++) {
        snprintf(before, sizeof before, "  %s  ", worker->runs[i].id);
        put_page_bytes(p, before, worker->runs[i].queue);
    }
}

static void put_refused_keys(page *p, const tkl_limit_refusals *limit)
{
    char before[64];
    put_page_line(p, CLI_BOLD, "Keys that were refused most");
    for (size_t i = 0; i < limit->key_count; i++) {
        snprintf(before, sizeof before, "  %lld  ", (long long)limit->keys[i].refused);
        put_page_bytes(p, before, limit->keys[i].key);
    }
}

static void put_holders(page *p, const tkl_holders *h)
{
    char before[100], duration[2][CLI_DURATION_SIZE];
    put_page_line(p, CLI_BOLD, "Holders");
    for (size_t i = 0; h != NULL && i < h->count; i++) {
        char *host = cli_escape(h->items[i].host, false);
        snprintf(before, sizeof before, "  since %s, lease %s, fence %llu, %.30s:%lld  ",
                 cli_duration_text(h->items[i].since_ms, duration[0]),
                 cli_duration_text(h->items[i].left_ms, duration[1]),
                 (unsigned long long)h->items[i].fence, host != NULL ? host : "",
                 (long long)h->items[i].pid);
        put_page_bytes(p, before, h->items[i].label);
        free(host);
    }
    put_page_line(p, CLI_BOLD, "Waiters, in their order");
    for (size_t i = 0; h != NULL && i < h->line_count; i++) {
        char *host = cli_escape(h->line[i].host, false);
        snprintf(before, sizeof before, "  %zu. %.30s:%lld  ", i + 1, host != NULL ? host : "",
                 (long long)h->line[i].pid);
        put_page_bytes(p, before, h->line[i].label);
        free(host);
    }
}

/* Writes "READY 3   ACTIVE 0 ...", in as many lines as it takes. */
static void put_numbers(page *p, const top_table *table, const top_row *row)
{
    char text[1024] = "", next[TOP_CELL_SIZE + 64];
    for (size_t c = 1; c < table->ncolumns; c++) {
        snprintf(next, sizeof next, "  %s %s", table->columns[c].title, cell_text(row, c));
        size_t width = width_of(text, p->view->utf8) + width_of(next, p->view->utf8);
        if (*text != '\0' && (width > p->view->columns || strlen(text) > sizeof text / 2)) {
            put_page_line(p, CLI_PLAIN, text);
            *text = '\0';
        }
        strncat(text, next, sizeof text - strlen(text) - 1);
    }
    put_page_line(p, CLI_PLAIN, text);
}

static void put_details(const top_view *view, const top_reader *r, const top_table *table,
                        const top_row *row, FILE *to)
{
    page p = {view, to, top_screen_room(view) + 1};
    put_page_line(&p, CLI_BOLD, row->name);
    put_numbers(&p, table, row);
    if (view->tab == TOP_QUEUES) {
        put_jobs(&p, "Active", r->active);
        put_jobs(&p, "Next", r->ready);
    } else if (view->tab == TOP_WORKERS) {
        put_runs(&p, row->item);
    } else if (view->tab == TOP_LIMITS) {
        put_refused_keys(&p, row->item);
    } else if (view->tab != TOP_COUNTERS) {
        put_holders(&p, ((const tkl_hold_summary *)row->item)->holders);
    }
    while (p.left > 0)
        put_page_line(&p, CLI_PLAIN, "");
}

const char *const top_keys[] = {
    "q, Ctrl-C       quit",
    "1 to 7, Tab     queues, locks, semaphores, leaders, counters, workers, limits",
    "arrows, j, k    move; PgUp, PgDn, Home, End",
    "s, S            sort by the next column, by the one before",
    "r               reverse the order",
    "/               filter by a part of the name",
    "Enter           look into the selected one; Esc goes back",
    "Space           freeze the screen, and go on",
    "p               pause or resume the selected queue",
    "t               retry all dead letters of the selected queue",
    "b               break the selected lock or semaphore",
    "",
    "p, t and b ask first. Red: dead letters or errors. Yellow: paused.",
    NULL,
};

/* Keys and what they do, in the user's language if the terminal can show it. */
static void put_help(const top_view *view, FILE *to)
{
    page p = {view, to, top_screen_room(view) + 1};
    for (size_t i = 0; top_keys[i] != NULL; i++)
        put_page_line(&p, CLI_PLAIN, view->utf8 ? cli_translated(top_keys[i]) : top_keys[i]);
    while (p.left > 0)
        put_page_line(&p, CLI_PLAIN, "");
}

/* ---- A frame ------------------------------------------------------------- */

/* Keeps the selected row on the screen. */
static void scroll(top_view *view, size_t count)
{
    size_t room = top_screen_room(view);
    if (view->selected >= count)
        view->selected = count > 0 ? count - 1 : 0;
    if (view->selected < view->first)
        view->first = view->selected;
    if (room > 0 && view->selected >= view->first + room)
        view->first = view->selected - room + 1;
}

static void put_table(top_view *view, const top_table *table, FILE *to)
{
    size_t widths[TOP_COLUMNS] = {0}, room = top_screen_room(view);
    screen_row s = begin_row(view, to);
    scroll(view, table->count);
    find_widths(table, view->utf8, widths);
    shorten_names(view->columns, table, widths);
    put_heading(&s, table, widths, view->sort[view->tab], view->reverse[view->tab]);
    for (size_t i = 0; i < room; i++) {
        size_t at = view->first + i;
        s = begin_row(view, to);
        if (i == 0 && table->code != TKL_OK) {
            put_style(&s, RED);
            put_text(&s, "  not known: ");
            put_text(&s, table->problem);
            end_row(&s);
        } else if (at < table->count) {
            put_row(&s, table, &table->rows[at], widths, at == view->selected);
        } else {
            end_row(&s);
        }
    }
}

void top_screen_draw(top_view *view, const top_reader *r, top_table tables[TOP_TABS])
{
    char *frame = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&frame, &size);
    if (to == NULL)
        return;
    measure_terminal(view);
    const top_table *table = &tables[view->tab];
    scroll(view, table->count);
    fputs("\033[H", to);
    if (view->lines >= 2)
        put_server(view, r, to);
    if (view->lines >= 3)
        put_tabs(view, tables, to);
    if (view->lines < FRAME_LINES)
        ; /* no room for more */
    else if (view->help)
        put_help(view, to);
    else if (view->looking && view->selected < table->count)
        put_details(view, r, table, &table->rows[view->selected], to);
    else
        put_table(view, table, to);
    put_last_line(view, r, to);
    if (fclose(to) == 0)
        fwrite(frame, 1, size, stdout);
    fflush(stdout);
    free(frame);
}

/* ---- Plain text ---------------------------------------------------------- */

void top_print_plain(const top_moment *now, top_table tables[TOP_TABS], bool utf8)
{
    char text[512];
    server_text(now->overview->server, text, sizeof text);
    printf("server  %s\n",
           now->overview->server_result.code == TKL_OK ? text : now->overview->server_result.text);
    for (int i = 0; i < TOP_TABS; i++) {
        const top_table *table = &tables[i];
        size_t widths[TOP_COLUMNS] = {0};
        if (table->code != TKL_OK)
            printf("\n%s: not known: %s\n", table->title, table->problem);
        if (table->count == 0)
            continue;
        printf("\n%s\n", table->title);
        find_widths(table, utf8, widths);
        for (size_t k = 0; k <= table->count; k++) {
            screen_row s = {stdout, SIZE_MAX, utf8};
            for (size_t c = 0; c < table->ncolumns; c++) {
                const char *cell =
                    k == 0 ? table->columns[c].title : cell_text(&table->rows[k - 1], c);
                put_cell(&s, cell, widths[c], is_left(&table->columns[c]));
                put_blanks(&s, c + 1 < table->ncolumns ? GAP : 0);
            }
            fputc('\n', stdout);
        }
    }
}
