/* SPDX-License-Identifier: MIT */
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
    WIDTH = 80,
    WIDTH_MIN = 20,
    WIDTH_MAX = 500,
    HEIGHT = 8,
    BAR_MAX = 4, /* columns for one number, when there are few */
    EIGHTHS = 8,
    LABEL_SIZE = 32,
};

/* The numbers as columns. */
typedef struct canvas {
    double columns[WIDTH_MAX];
    int count;     /* number of bars */
    int bar;       /* width of each bar */
    size_t merged; /* numbers in one column */
    double low, high;
    int height;
    int margin; /* columns of the labels at the left */
} canvas;

static int terminal_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
    if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    width = width > 0 ? width : WIDTH;
    return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
}

/* "950", "12.5k", "3M" */
static void number_label(double value, char label[LABEL_SIZE])
{
    static const char units[] = {0, 'k', 'M', 'G', 'T', 'P', 'E'};
    size_t unit = 0;
    while (fabs(value) >= 10000 && unit + 1 < sizeof units) {
        value /= 1000;
        unit++;
    }
    int len = snprintf(label, LABEL_SIZE, "%.4g", value);
    if (units[unit] != 0)
        snprintf(label + len, (size_t)(LABEL_SIZE - len), "%c", units[unit]);
}

static void time_label(int64_t ms, int64_t span_ms, char label[LABEL_SIZE])
{
    static const int64_t day_ms = 86400000;
    time_t seconds = (time_t)(ms / 1000);
    struct tm when;
    const char *format = span_ms > 60 * day_ms ? "%Y-%m-%d"
                         : span_ms > day_ms    ? "%m-%d %H:%MZ"
                                               : "%H:%M:%SZ";
    label[0] = '\0';
    if (gmtime_r(&seconds, &when) != NULL)
        strftime(label, LABEL_SIZE, format, &when);
}

static double middle(const canvas *c)
{
    return (c->low + c->high) / 2;
}

static void measure_labels(canvas *c)
{
    const double values[] = {c->high, middle(c), c->low};
    char label[LABEL_SIZE];
    c->margin = 0;
    for (int i = 0; i < 3; i++) {
        number_label(values[i], label);
        c->margin = (int)strlen(label) > c->margin ? (int)strlen(label) : c->margin;
    }
}

static void find_range(canvas *c)
{
    c->low = c->high = 0;
    for (int i = 0; i < c->count; i++) {
        c->low = fmin(c->low, c->columns[i]);
        c->high = fmax(c->high, c->columns[i]);
    }
    if (c->high <= c->low)
        c->high = c->low + 1;
}

/* Merges as many numbers into a column as needed to fit them all. */
static void merge_samples(canvas *c, const cli_plot *plot, int room)
{
    c->merged = (plot->count + (size_t)room - 1) / (size_t)room;
    c->merged = c->merged > 0 ? c->merged : 1;
    c->count = (int)((plot->count + c->merged - 1) / c->merged);
    memset(c->columns, 0, sizeof c->columns);
    for (size_t i = 0; i < plot->count; i++)
        c->columns[i / c->merged] += plot->values[i];
    c->bar = c->count > 0 ? room / c->count : 1;
    c->bar = c->bar > BAR_MAX ? BAR_MAX : c->bar;
    find_range(c);
    measure_labels(c);
}

/* The width of the labels depends on the numbers, and the numbers per column on the width: two
 * passes are enough. */
static void lay_out(canvas *c, const cli_plot *plot)
{
    int width = plot->width > 0 ? plot->width : terminal_width();
    width = width > WIDTH_MAX ? WIDTH_MAX : width;
    c->height = plot->height > 0 ? plot->height : HEIGHT;
    merge_samples(c, plot, width - LABEL_SIZE / 4);
    int room = width - c->margin - 2;
    merge_samples(c, plot, room > 1 ? room : 1);
}

/* Eighths of a line that a number reaches into the line, counted from the bottom. */
static int eighths(const canvas *c, double value, int row)
{
    double all = (value - c->low) / (c->high - c->low) * c->height * EIGHTHS;
    int reach = (int)lround(all);
    if (reach == 0 && value > c->low)
        reach = 1; /* a small number is still visible */
    reach -= row * EIGHTHS;
    return reach < 0 ? 0 : reach > EIGHTHS ? EIGHTHS : reach;
}

static void print_line(const canvas *c, int row, FILE *to)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    char label[LABEL_SIZE] = "";
    if (row == c->height - 1)
        number_label(c->high, label);
    else if (c->height % 2 == 0 && row == c->height / 2 - 1)
        number_label(middle(c), label);
    fprintf(to, "%*s %s", c->margin, label, label[0] != '\0' ? "┤" : "│");
    int last = c->count - 1;
    while (last >= 0 && eighths(c, c->columns[last], row) == 0)
        last--; /* no spaces at the end of a line */
    for (int i = 0; i <= last; i++)
        for (int j = 0; j < c->bar; j++)
            fputs(blocks[eighths(c, c->columns[i], row)], to);
    fputc('\n', to);
}

static void print_bottom(const canvas *c, FILE *to)
{
    char label[LABEL_SIZE];
    number_label(c->low, label);
    fprintf(to, "%*s ┼", c->margin, label);
    for (int i = 0; i < c->count * c->bar; i++)
        fputs("─", to);
    fputc('\n', to);
}

static void print_times(const canvas *c, const cli_plot *plot, FILE *to)
{
    char first[LABEL_SIZE], last[LABEL_SIZE];
    int64_t span_ms = (int64_t)plot->count * plot->every_ms;
    int64_t end_ms = plot->start_ms + (plot->count > 0 ? span_ms - plot->every_ms : 0);
    time_label(plot->start_ms, span_ms, first);
    time_label(end_ms, span_ms, last);
    int gap = c->count * c->bar - (int)strlen(first) - (int)strlen(last);
    fprintf(to, "%*s  %s", c->margin, "", first);
    if (gap > 0 && plot->count > 1)
        fprintf(to, "%*s%s", gap, "", last);
    fputc('\n', to);
}

void cli_plot_print(const cli_plot *plot, FILE *to)
{
    canvas c;
    lay_out(&c, plot);
    for (int row = c.height - 1; row >= 0; row--)
        print_line(&c, row, to);
    print_bottom(&c, to);
    print_times(&c, plot, to);
}
