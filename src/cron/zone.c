/* SPDX-License-Identifier: MIT
 *
 * The system's time zone database: a TZif file (RFC 8536) for each zone, below /usr/share/zoneinfo
 * or $TZDIR. This file reads them itself: the C library has only one zone for the whole process
 * (TZ), and ICU more than doubles the time that a small program takes to start (3 ms) and brings
 * its own database, which becomes outdated. A zone is read at each use (20 us), so that an updated
 * database counts at once.
 *
 * A file holds the moments at which clocks were changed, and a rule for the time after the last. It
 * begins with a 32-bit version of the same data, which is skipped. Nothing in a file is trusted: a
 * file with offsets outside of it, or times out of order, is refused.
 */
#include "cron/zone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "cron/calendar.h"

#define DATABASE    "/usr/share/zoneinfo"
#define LONGEST     64                 /* bytes of a name; the longest existing name has 32 */
#define FILE_MAX    (1 << 20)          /* the largest existing file has 4 KB */
#define TIME_MAX_S  (INT64_C(1) << 60) /* so that sums fit; files have -2^59 for the big bang */
#define HEADER_SIZE 44
#define TYPE_SIZE   6 /* offset, summer time or not, name */

struct tkl__cron_zone {
    int64_t before;  /* offset before the first change */
    size_t count;    /* number of changes */
    int64_t *at;     /* when each change happens */
    int32_t *offset; /* the offset from then on */
    bool ruled;      /* the rule counts after the last change; else its offset stays */
    tkl__cron_rule rule;
};

void tkl__cron_zone_close(tkl__cron_zone *zone)
{
    if (!zone)
        return;
    free(zone->at);
    free(zone->offset);
    free(zone);
}

/* ---- Parsing ------------------------------------------------------------- */

/* The numbers of a header; all are 32 bits wide, so sums of them fit. */
typedef struct header {
    char version;
    uint64_t utc_marks, standard_marks, leaps, changes, types, name_bytes;
} header;

static uint64_t big_endian(const char *data, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value = value << 8 | (unsigned char)data[i];
    return value;
}

static bool take_header(tkl_bytes *rest, header *h)
{
    if (rest->len < HEADER_SIZE || memcmp(rest->data, "TZif", 4) != 0)
        return false;
    const char *counts = rest->data + 20;
    *h = (header){.version = rest->data[4],
                  .utc_marks = big_endian(counts, 4),
                  .standard_marks = big_endian(counts + 4, 4),
                  .leaps = big_endian(counts + 8, 4),
                  .changes = big_endian(counts + 12, 4),
                  .types = big_endian(counts + 16, 4),
                  .name_bytes = big_endian(counts + 20, 4)};
    rest->data += HEADER_SIZE;
    rest->len -= HEADER_SIZE;
    return true;
}

/* The bytes behind a header, with times of `time_size` bytes. */
static uint64_t body_size(const header *h, uint64_t time_size)
{
    return h->changes * (time_size + 1) + h->types * TYPE_SIZE + h->name_bytes +
           h->leaps * (time_size + 4) + h->standard_marks + h->utc_marks;
}

static bool skip_bytes(tkl_bytes *rest, uint64_t size)
{
    if (rest->len < size)
        return false;
    rest->data += size;
    rest->len -= size;
    return true;
}

static bool offset_of(const header *h, const char *types, uint64_t type, int32_t *offset)
{
    if (type >= h->types)
        return false;
    *offset = (int32_t)(uint32_t)big_endian(types + type * TYPE_SIZE, 4);
    return *offset >= -TKL__OFFSET_MAX && *offset <= TKL__OFFSET_MAX;
}

static bool read_changes(const header *h, const char *body, tkl__cron_zone *zone)
{
    const char *kinds = body + h->changes * 8, *types = kinds + h->changes;
    int32_t before;
    if (!offset_of(h, types, 0, &before))
        return false;
    zone->before = before;
    for (size_t i = 0; i < h->changes; i++, zone->count++) {
        int64_t least = i > 0 ? zone->at[i - 1] + 1 : -TIME_MAX_S;
        zone->at[i] = (int64_t)big_endian(body + i * 8, 8);
        if (zone->at[i] < least || zone->at[i] > TIME_MAX_S ||
            !offset_of(h, types, (unsigned char)kinds[i], &zone->offset[i]))
            return false;
    }
    return true;
}

/* Reads "\nCET-1CEST,M3.5.0,M10.5.0/3\n"; an empty line means no rule. */
static bool read_rule(tkl_bytes footer, tkl__cron_zone *zone)
{
    if (footer.len < 2 || footer.data[0] != '\n')
        return false;
    const char *end = memchr(footer.data + 1, '\n', footer.len - 1);
    if (!end)
        return false;
    tkl_bytes text = {footer.data + 1, (size_t)(end - footer.data) - 1};
    zone->ruled = text.len > 0;
    return text.len == 0 || tkl__cron_rule_parse(text, &zone->rule);
}

static int zone_damaged(void)
{
    return tkl__fail(TKL_EINVAL, "the file is not a time zone, or is damaged");
}

static int read_body(const header *h, tkl_bytes rest, tkl__cron_zone *zone)
{
    const char *body = rest.data;
    if (h->leaps)
        return tkl__fail(TKL_EINVAL, "a zone with leap seconds is not Unix time");
    if (!skip_bytes(&rest, body_size(h, 8)))
        return zone_damaged();
    zone->at = calloc(h->changes + 1, sizeof *zone->at);
    zone->offset = calloc(h->changes + 1, sizeof *zone->offset);
    if (!zone->at || !zone->offset)
        return tkl__nomem();
    return read_changes(h, body, zone) && read_rule(rest, zone) ? TKL_OK : zone_damaged();
}

int tkl__cron_zone_parse(tkl_bytes file, tkl__cron_zone **zone)
{
    header h;
    *zone = NULL;
    if (!take_header(&file, &h) || h.version < '2' || !skip_bytes(&file, body_size(&h, 4)) ||
        !take_header(&file, &h))
        return zone_damaged();
    tkl__cron_zone *made = calloc(1, sizeof *made);
    int rc = made ? read_body(&h, file, made) : tkl__nomem();
    if (rc == TKL_OK)
        *zone = made;
    else
        tkl__cron_zone_close(made);
    return rc;
}

/* ---- Finding ------------------------------------------------------------- */

/* Whether a name is allowed. Names reach nothing outside of the database: no dots, so no "..", and
 * no "/" at the start. */
static bool good_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_+-/";
    size_t len = strlen(name);
    return len > 0 && len <= LONGEST && name[0] != '/' && strspn(name, allowed) == len;
}

static int read_file(const char *path, char **data, size_t *len)
{
    struct stat about;
    *data = NULL;
    *len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return tkl__fail_errno(errno == ENOENT || errno == ENOTDIR ? TKL_EINVAL : TKL_EIO, "%s",
                               path);
    int rc = TKL_OK;
    ssize_t n = 0;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > FILE_MAX)
        rc = zone_damaged();
    else if (!(*data = malloc((size_t)about.st_size + 1)))
        rc = tkl__nomem();
    else if ((n = read(fd, *data, (size_t)about.st_size)) < 0)
        rc = tkl__fail_errno(TKL_EIO, "%s", path);
    else
        *len = (size_t)n;
    close(fd);
    return rc;
}

static int open_in(const char *directory, const char *name, tkl__cron_zone **zone)
{
    char path[4096], *data;
    size_t len;
    int n = snprintf(path, sizeof path, "%s/%s", directory, name);
    if (n < 0 || (size_t)n >= sizeof path)
        return tkl__fail(TKL_EINVAL, "TZDIR is too long");
    int rc = read_file(path, &data, &len);
    if (rc == TKL_OK)
        rc = tkl__cron_zone_parse((tkl_bytes){data, len}, zone);
    free(data);
    return rc;
}

int tkl__cron_zone_open(const char *name, tkl__cron_zone **zone)
{
    *zone = NULL;
    if (!name || strcmp(name, "UTC") == 0) /* works without a database, too */
        return (*zone = calloc(1, sizeof **zone)) ? TKL_OK : tkl__nomem();
    if (!good_name(name))
        return tkl__fail(TKL_EINVAL, "no time zone has the name '%.80s'", name);
    const char *directory = secure_getenv("TZDIR");
    int rc = open_in(directory && *directory ? directory : DATABASE, name, zone);
    return rc == TKL_OK ? TKL_OK : tkl__fail_in(rc, "time zone '%s'", name);
}

/* ---- Using --------------------------------------------------------------- */

/* The number of changes up to `at`. */
static size_t changes_until(const tkl__cron_zone *zone, int64_t at)
{
    size_t low = 0, high = zone->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->at[middle] <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t tkl__cron_zone_offset(const tkl__cron_zone *zone, int64_t at, int64_t *until)
{
    size_t passed = changes_until(zone, at);
    *until = passed < zone->count ? zone->at[passed] : INT64_MAX;
    if (passed == zone->count && zone->ruled)
        return tkl__cron_rule_offset(&zone->rule, at, until);
    return passed > 0 ? zone->offset[passed - 1] : zone->before;
}

int64_t tkl__cron_zone_midnight(const tkl__cron_zone *zone, int64_t day)
{
    int64_t until, guess = day * TKL__DAY_S;
    guess = day * TKL__DAY_S - tkl__cron_zone_offset(zone, guess, &until);
    return day * TKL__DAY_S - tkl__cron_zone_offset(zone, guess, &until);
}
