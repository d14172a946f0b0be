/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "out.h"

enum { INTERVAL_MS = 100, BAR = 20, NAME = 24 };

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

void cli_files_bar_start(cli_files_bar *bar)
{
    *bar = (cli_files_bar){.shown = isatty(STDERR_FILENO)};
}

void cli_files_bar_clear(cli_files_bar *bar)
{
    if (bar->drawn_ms != 0)
        fputs("\r\033[K", stderr);
    bar->drawn_ms = 0;
}

static void draw_part(double part)
{
    static const char full[] = "####################";
    int filled = part >= 1 ? BAR : (int)(part * BAR);
    fprintf(stderr, " [%.*s%*s] %3d%%", filled, full, BAR - filled, "",
            part >= 1 ? 100 : (int)(part * 100));
}

static void draw_left(int64_t left, double rate)
{
    if (rate < 1 || left < 0)
        return;
    int64_t seconds = (int64_t)((double)left / rate);
    fprintf(stderr, "  %" PRId64 ":%02d left", seconds / 60, (int)(seconds % 60));
}

/* Of all sources where their size is known, else of the file under way. */
static void draw(const cli_files_bar *bar, const tkl_files_progress *p, int64_t now)
{
    char bytes[CLI_BYTES_SIZE], *name = cli_escape(p->name, false);
    bool whole = p->total_bytes > 0;
    int64_t total = whole ? p->total_bytes : p->file_bytes;
    int64_t done = whole ? p->bytes : p->file_done;
    int64_t took = now - bar->started_ms;
    double rate = took > 0 ? (double)(p->bytes - bar->before) * 1000 / (double)took : 0;
    fprintf(stderr, "\r\033[K%-*.*s", NAME, NAME, name ? name : "");
    if (total > 0)
        draw_part((double)done / (double)total);
    fprintf(stderr, "  %s", cli_bytes_text(p->bytes, bytes));
    fprintf(stderr, "  %s/s", cli_bytes_text((int64_t)rate, bytes));
    if (total > 0)
        draw_left(total - done, rate);
    free(name);
}

void cli_files_bar_update(cli_files_bar *bar, const tkl_files_progress *progress)
{
    int64_t now = bar->shown ? cli_now_ms() : 0;
    if (!bar->shown || (bar->drawn_ms != 0 && now - bar->drawn_ms < INTERVAL_MS))
        return;
    if (bar->started_ms == 0) {
        bar->started_ms = now;
        bar->before = progress->bytes;
    }
    bar->drawn_ms = now;
    draw(bar, progress, now);
}
