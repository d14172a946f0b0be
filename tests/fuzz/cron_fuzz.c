/* SPDX-License-Identifier: MIT
 *
 * Any text as a cron expression, any bytes as a zone's file: refused, or the next time is later and
 * one that the expression names. The text ends with a NUL; the file follows.
 */
#include "cron/cron.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "cron/calendar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

/* Checks the minute of a time that was found, unless the expression has fixed hours: then the time
 * may be the moment at which clocks skip the named one. */
static void check_time(const tkl__cron *cron, const tkl__cron_zone *zone, int64_t at)
{
    int64_t until, local = at + tkl__cron_zone_offset(zone, at, &until);
    int64_t minute = tkl__cron_floor_div(local, 60);
    int64_t hour = tkl__cron_floor_div(minute, 60);
    if (cron->hours != 0xffffff)
        return;
    require(local % 60 == 0);
    require(cron->minutes >> (minute - hour * 60) & 1);
}

static void check(const tkl__cron *cron, const tkl__cron_zone *zone)
{
    int64_t at = INT64_C(1700000000);
    for (int i = 0; i < 5; i++) {
        int64_t next;
        if (tkl__cron_next(cron, zone, at, &next) != TKL_OK)
            return;
        require(next > at);
        check_time(cron, zone, next);
        at = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *start = (const char *)data;
    char *text = strndup(start, size);
    size_t used = strlen(text) + (strlen(text) < size);
    tkl__cron cron;
    tkl__cron_zone *zone;
    int rc = tkl__cron_zone_parse((tkl_bytes){start + used, size - used}, &zone);
    if (rc != TKL_OK && tkl__cron_zone_open(NULL, &zone) != TKL_OK)
        abort();
    if (tkl__cron_parse(text, &cron) == TKL_OK)
        check(&cron, zone);
    else
        require(tkl_errmsg()[0]);
    tkl__cron_zone_close(zone);
    free(text);
    return 0;
}
