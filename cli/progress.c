/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"

enum { INTERVAL_MS = 100, BAR = 30 };

void cli_progress_start(cli_progress *progress, const char *label, uint64_t total)
{
    *progress = (cli_progress){.label = label, .total = total, .shown = isatty(STDERR_FILENO)};
}

static void draw_bar(const cli_progress *progress, uint64_t done)
{
    static const char full[] = "##############################";
    double part = (double)done / (double)progress->total;
    int filled = part >= 1 ? BAR : (int)(part * BAR);
    fprintf(stderr, "\r\033[K%s [%.*s%*s] %3d%%", progress->label, filled, full, BAR - filled, "",
            part >= 1 ? 100 : (int)(part * 100));
}

void cli_progress_update(cli_progress *progress, uint64_t done)
{
    int64_t now = progress->shown ? cli_now_ms() : 0;
    if (!progress->shown || (progress->drawn_ms != 0 && now - progress->drawn_ms < INTERVAL_MS))
        return;
    progress->drawn_ms = now;
    if (progress->total > 0)
        draw_bar(progress, done);
    else
        fprintf(stderr, "\r\033[K%s %" PRIu64, progress->label, done);
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->drawn_ms != 0)
        fputs("\r\033[K", stderr);
}
