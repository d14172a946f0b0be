/* SPDX-License-Identifier: MIT
 *
 * Collects and checks rows: nothing is sent before all rows are read and valid.
 */
#include "ip/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/options.h"

enum { REPORTS = 100, REPORTS_MAX = 1000000, TEXT_SIZE = 256, SHOWN = 48 };

/* ---- Opening and closing ------------------------------------------------- */

static int check_options(const tkl_ip_import_options *options)
{
    int rc = TKL__CHECK_OPTIONS(options, {"max_bad", options->max_bad, TKL_NONE, INT64_MAX},
                                {"max_reports", options->max_reports, 0, REPORTS_MAX},
                                {"timeout_ms", options->timeout_ms, 0, TKL__MS_MAX});
    return rc == TKL_OK ? tkl__ip_check_columns(options) : rc;
}

int tkl__ip_add_file(tkl_ip_import *import, const char *path, uint32_t *index)
{
    bool room = tkl__grow(&import->files, import->nfiles, sizeof *import->files);
    char *copy = room ? strdup(path) : NULL;
    if (!copy)
        return tkl__nomem();
    *index = import->nfiles;
    import->files[import->nfiles++] = copy;
    return TKL_OK;
}

/* Replaces the caller's text by a copy. When out of memory, replaces it by NULL. */
static int copy_text(const char **text)
{
    const char *given = *text;
    *text = given ? strdup(given) : NULL;
    return given && !*text ? tkl__nomem() : TKL_OK;
}

int tkl_ip_import_open(tkl_ip *ip, const tkl_ip_import_options *options, tkl_ip_import **import)
{
    static const tkl_ip_import_options defaults;
    uint32_t memory;
    *import = NULL;
    if (!options)
        options = &defaults;
    int rc = check_options(options);
    if (rc != TKL_OK)
        return rc;
    tkl_ip_import *made = calloc(1, sizeof *made);
    if (!made)
        return tkl__nomem();
    made->ip = ip;
    made->options = *options;
    if (made->options.max_reports == 0)
        made->options.max_reports = REPORTS;
    if (made->options.timeout_ms == 0)
        made->options.timeout_ms = ip->timeout_ms;
    rc = copy_text(&made->options.columns);
    if (rc == TKL_OK)
        rc = copy_text(&made->options.place_columns);
    else
        made->options.place_columns = NULL; /* the caller's */
    if (rc == TKL_OK)
        rc = tkl__ip_add_file(made, "", &memory);
    if (rc == TKL_OK)
        *import = made;
    else
        tkl_ip_import_close(made);
    return rc;
}

void tkl_ip_import_close(tkl_ip_import *import)
{
    if (!import)
        return;
    free((char *)import->options.columns);
    free((char *)import->options.place_columns);
    tkl__ip_intern_free(&import->ids);
    tkl__ip_intern_free(&import->places);
    tkl__ip_intern_free(&import->spots);
    free(import->rows);
    for (uint32_t i = 0; i < import->nfiles; i++)
        free(import->files[i]);
    free(import->files);
    for (size_t i = 0; i < import->nproblems; i++)
        free((char *)import->problems[i].text);
    free(import->problems);
    free(import);
}

void tkl__ip_tell_progress(tkl_ip_import *import)
{
    if (import->options.progress)
        import->options.progress(&import->progress, import->options.arg);
}

/* ---- Bad rows ------------------------------------------------------------ */

int tkl__ip_report(tkl_ip_import *import, tkl__ip_origin origin, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list args;
    import->stats.bad++;
    if (import->nproblems >= (size_t)import->options.max_reports)
        return TKL_OK;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!tkl__grow(&import->problems, import->nproblems, sizeof *import->problems))
        return tkl__nomem();
    tkl_ip_problem *problem = &import->problems[import->nproblems];
    *problem = (tkl_ip_problem){
        .file = import->files[origin.file], .line = origin.line, .text = strdup(text)};
    if (!problem->text)
        return tkl__nomem();
    import->nproblems++;
    return TKL_OK;
}

void tkl_ip_import_problems(const tkl_ip_import *import, const tkl_ip_problem **problems,
                            size_t *count)
{
    *problems = import->problems;
    *count = import->nproblems;
}

/* ---- Places and ranges --------------------------------------------------- */

/* Interns a packed place. */
static uint32_t intern_place(tkl__ip_intern *intern, const tkl_ip_place *place)
{
    tkl__buf packed;
    tkl__buf_init(&packed);
    tkl__ip_pack(place, &packed);
    uint32_t number = packed.failed
                          ? TKL__INTERN_NONE
                          : tkl__ip_intern_add(intern, (tkl_bytes){packed.data, packed.len});
    tkl__buf_free(&packed);
    return number;
}

int tkl__ip_add_place(tkl_ip_import *import, const tkl_ip_place *place, tkl__ip_origin origin)
{
    const char *wrong = tkl__ip_place_check(place);
    int shown = place->id.len < SHOWN ? (int)place->id.len : SHOWN;
    if (wrong)
        return tkl__ip_report(import, origin, "%s", wrong);
    if (tkl__ip_intern_find(&import->ids, place->id) != TKL__INTERN_NONE)
        return tkl__ip_report(import, origin, "the place %.*s is there already", shown,
                              place->id.data);
    if (intern_place(&import->places, place) == TKL__INTERN_NONE ||
        tkl__ip_intern_add(&import->ids, place->id) == TKL__INTERN_NONE)
        return tkl__nomem();
    return TKL_OK;
}

static void append_row(tkl_ip_import *import, const tkl__ip_row *row)
{
    const tkl__ip_row *before = import->count > 0 ? &import->rows[import->count - 1] : NULL;
    if (before && memcmp(before->span.first, row->span.first, TKL__IP_SIZE) >= 0)
        import->unsorted = true;
    import->rows[import->count++] = *row;
}

int tkl__ip_add_range(tkl_ip_import *import, const tkl__ip_span *span, const tkl_ip_place *spot,
                      tkl__ip_origin origin)
{
    const char *wrong = tkl__ip_place_check(spot);
    int shown = spot->id.len < SHOWN ? (int)spot->id.len : SHOWN;
    if (wrong)
        return tkl__ip_report(import, origin, "%s", wrong);
    if (import->ids.count > 0 && tkl__ip_intern_find(&import->ids, spot->id) == TKL__INTERN_NONE)
        return tkl__ip_report(import, origin, "its place %.*s is not among the places", shown,
                              spot->id.data);
    tkl__ip_row row = {.span = *span, .spot = intern_place(&import->spots, spot), .origin = origin};
    if (row.spot == TKL__INTERN_NONE ||
        !tkl__grow(&import->rows, import->count, sizeof *import->rows))
        return tkl__nomem();
    append_row(import, &row);
    return TKL_OK;
}

/* ---- From memory --------------------------------------------------------- */

static tkl__ip_origin next_added(tkl_ip_import *import)
{
    import->stats.rows++;
    return (tkl__ip_origin){.line = ++import->added};
}

int tkl_ip_import_add_places(tkl_ip_import *import, const tkl_ip_place *places, size_t count)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        rc = TKL__CHECK_RESERVED(&places[i]);
        if (rc == TKL_OK)
            rc = tkl__ip_add_place(import, &places[i], next_added(import));
    }
    return rc;
}

static int add_from_memory(tkl_ip_import *import, const tkl_ip_range *range)
{
    tkl__ip_span span;
    tkl_ip_place spot = {.id = range->place};
    tkl__ip_origin origin = next_added(import);
    const char *wrong = tkl__ip_parse_range(range->network, &span);
    if (wrong)
        return tkl__ip_report(import, origin, "%s", wrong);
    return tkl__ip_add_range(import, &span, &spot, origin);
}

int tkl_ip_import_add_ranges(tkl_ip_import *import, const tkl_ip_range *ranges, size_t count)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        rc = TKL__CHECK_RESERVED(&ranges[i]);
        if (rc == TKL_OK)
            rc = add_from_memory(import, &ranges[i]);
    }
    return rc;
}

/* ---- Overlaps ------------------------------------------------------------ */

static int by_address(const void *a, const void *b)
{
    const tkl__ip_row *one = a, *two = b;
    int order = memcmp(one->span.first, two->span.first, TKL__IP_SIZE);
    if (order == 0)
        order = (one->origin.file > two->origin.file) - (one->origin.file < two->origin.file);
    if (order == 0)
        order = (one->origin.line > two->origin.line) - (one->origin.line < two->origin.line);
    return order;
}

static const char *relation(const tkl__ip_row *row, const tkl__ip_row *kept)
{
    if (memcmp(&row->span, &kept->span, sizeof row->span) == 0)
        return "repeats";
    return memcmp(row->span.last, kept->span.last, TKL__IP_SIZE) <= 0 ? "is inside" : "overlaps";
}

static int report_overlap(tkl_ip_import *import, const tkl__ip_row *row, const tkl__ip_row *kept)
{
    char network[TKL__IP_NETWORK_SIZE], other[TKL__IP_NETWORK_SIZE];
    tkl__ip_format(&row->span, network);
    tkl__ip_format(&kept->span, other);
    return tkl__ip_report(import, row->origin, "%s %s %s (%s%sline %u)", network,
                          relation(row, kept), other, import->files[kept->origin.file],
                          kept->origin.file ? ": " : "", (unsigned)kept->origin.line);
}

/* Sorts the ranges, and removes ranges that overlap an earlier row. */
static int remove_overlaps(tkl_ip_import *import)
{
    size_t kept = 0;
    int rc = TKL_OK;
    if (import->unsorted)
        qsort(import->rows, import->count, sizeof *import->rows, by_address);
    for (size_t i = 0; rc == TKL_OK && i < import->count; i++) {
        const tkl__ip_row *row = &import->rows[i];
        const tkl__ip_row *before = kept > 0 ? &import->rows[kept - 1] : NULL;
        if (before && memcmp(row->span.first, before->span.last, TKL__IP_SIZE) <= 0)
            rc = report_overlap(import, row, before);
        else
            import->rows[kept++] = *row;
    }
    import->count = kept;
    import->unsorted = false;
    return rc;
}

/* Counts the spots that the remaining rows use. */
static int count_spots(tkl_ip_import *import)
{
    bool *used = calloc((size_t)import->spots.count + 1, sizeof *used);
    if (!used)
        return tkl__nomem();
    import->stats.places = 0;
    for (size_t i = 0; i < import->count; i++) {
        bool *seen = &used[import->rows[i].spot];
        import->stats.places += !*seen;
        *seen = true;
    }
    free(used);
    return TKL_OK;
}

/* ---- The end ------------------------------------------------------------- */

static int check_bad(const tkl_ip_import *import)
{
    int64_t most = import->options.max_bad;
    if (most == TKL_NONE || import->stats.bad <= (uint64_t)most)
        return TKL_OK;
    if (import->nproblems == 0)
        return tkl__fail(TKL_EINVAL, "%llu bad rows", (unsigned long long)import->stats.bad);
    const tkl_ip_problem *first = &import->problems[0];
    return tkl__fail(TKL_EINVAL,
                     "%llu bad rows, at most %lld allowed; the first: %s%sline %llu: %s",
                     (unsigned long long)import->stats.bad, (long long)most, first->file,
                     *first->file ? ": " : "", (unsigned long long)first->line, first->text);
}

static int commit_import(tkl_ip_import *import)
{
    if (import->committed)
        return tkl__fail(TKL_EINVAL, "the import is committed already");
    if (import->broken)
        return tkl__fail(TKL_EINVAL, "a file could not be read to its end");
    int rc = remove_overlaps(import);
    if (rc == TKL_OK)
        rc = count_spots(import);
    if (rc == TKL_OK)
        rc = check_bad(import);
    if (rc == TKL_OK && import->count == 0)
        rc = tkl__fail(TKL_EINVAL, "there is no range to import");
    if (rc == TKL_OK)
        rc = tkl__ip_send(import);
    import->committed = rc == TKL_OK;
    return rc;
}

int tkl_ip_import_commit(tkl_ip_import *import, tkl_ip_import_stats *stats)
{
    int rc = commit_import(import);
    import->stats.ranges = import->count;
    if (stats)
        *stats = import->stats;
    return rc;
}
