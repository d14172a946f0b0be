/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "out.h"

enum {
    INTERVAL_MS = 100, /* between two drawings on a terminal */
    LINE_MS = 5000,    /* between two lines elsewhere */
    SAMPLE_MS = 1000,
    BAR = 20,
    NAME = 24,
};

const char *cli_bytes_text(int64_t bytes, char text[CLI_BYTES_SIZE])
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1000 && unit < sizeof units / sizeof *units - 1; unit++)
        value /= 1024;
    snprintf(text, CLI_BYTES_SIZE, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value,
             units[unit]);
    return text;
}

void cli_files_bar_start(cli_files_bar *bar, const cli_session *cli)
{
    *bar = (cli_files_bar){
        .verb = cli->verb->name, .terminal = isatty(STDERR_FILENO), .silent = cli->json};
    if (!bar->terminal)
        bar->drawn_ms = cli_now_ms();
}

void cli_files_bar_clear(cli_files_bar *bar)
{
    if (bar->terminal && bar->drawn_ms != 0) {
        fputs("\r\033[K", stderr);
        bar->drawn_ms = 0;
    }
}

static void take_sample(cli_files_bar *bar, int64_t now, int64_t bytes)
{
    if (bar->count > 0 &&
        now - bar->samples[(bar->count - 1) % CLI_FILES_SAMPLES].at_ms < SAMPLE_MS)
        return;
    bar->samples[bar->count % CLI_FILES_SAMPLES].at_ms = now;
    bar->samples[bar->count++ % CLI_FILES_SAMPLES].bytes = bytes;
}

/* Returns the bytes a second since the oldest sample. */
static double rate_of(const cli_files_bar *bar, int64_t now, int64_t bytes)
{
    size_t oldest = bar->count > CLI_FILES_SAMPLES ? bar->count % CLI_FILES_SAMPLES : 0;
    int64_t took = now - bar->samples[oldest].at_ms;
    return took > 0 ? (double)(bytes - bar->samples[oldest].bytes) * 1000 / (double)took : 0;
}

static void draw_part(const cli_files_bar *bar, double part)
{
    static const char full[] = "####################";
    int filled = part >= 1 ? BAR : (int)(part * BAR), percent = part >= 1 ? 100 : (int)(part * 100);
    if (bar->terminal)
        fprintf(stderr, " [%.*s%*s] %3d%%", filled, full, BAR - filled, "", percent);
    else
        fprintf(stderr, "  %d%%", percent);
}

static void draw_left(int64_t left, double rate)
{
    if (rate < 1 || left < 0)
        return;
    int64_t seconds = (int64_t)((double)left / rate);
    fprintf(stderr, "  %" PRId64 ":%02d left", seconds / 60, (int)(seconds % 60));
}

/* Draws the progress of all sources if their size is known, else that of the current file. */
static void draw_bar(const cli_files_bar *bar, const tkl_files_progress *p, int64_t now)
{
    char bytes[CLI_BYTES_SIZE], *name = cli_escape(p->name, false);
    bool whole = p->total_bytes > 0;
    int64_t total = whole ? p->total_bytes : p->file_bytes;
    int64_t done = whole ? p->bytes : p->file_done;
    double rate = rate_of(bar, now, p->bytes);
    if (bar->terminal)
        fprintf(stderr, "\r\033[K%-*.*s", NAME, NAME, name ? name : "");
    else
        fprintf(stderr, "tackle: files %s: %s", bar->verb, name ? name : "");
    if (total > 0)
        draw_part(bar, (double)done / (double)total);
    fprintf(stderr, "  %s", cli_bytes_text(p->bytes, bytes));
    fprintf(stderr, "  %s/s", cli_bytes_text((int64_t)rate, bytes));
    if (total > 0)
        draw_left(total - done, rate);
    if (!bar->terminal)
        putc('\n', stderr);
    free(name);
}

void cli_files_bar_update(cli_files_bar *bar, const tkl_files_progress *progress)
{
    int64_t now = cli_now_ms();
    int64_t interval = bar->terminal ? INTERVAL_MS : LINE_MS;
    take_sample(bar, now, progress->bytes);
    if ((bar->silent && !bar->terminal) || (bar->drawn_ms != 0 && now - bar->drawn_ms < interval))
        return;
    bar->drawn_ms = now;
    draw_bar(bar, progress, now);
}
