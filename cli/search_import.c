/* SPDX-License-Identifier: MIT
 *
 * Documents from files.
 *
 * A row becomes a document cell by cell: a cell may be the id, part of the text, and the value of a
 * field, or all of these. Rows are collected into batches. A bad row is reported with its file and
 * number, and left out; after more than --max-bad bad rows the import stops.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "out.h"
#include "rows.h"
#include "search.h"

enum {
    BATCH = 500,
    BATCH_MAX = 10000,
    BATCH_BYTES = 4 << 20, /* a batch with more bytes of text is sent */
    PROBLEMS_MAX = 100,    /* most problems that are shown */
    IGNORED_MAX = 20,      /* most ignored names that are shown */
};

typedef struct importing {
    cli_session *cli;
    tkl_search *search;
    tkl_search_info *info;
    tkl_bytes id_name;
    tkl_bytes text_names[CLI_SEARCH_LISTS_MAX];
    size_t text_name_count;
    /* The batch: documents, their values, and the memory of both. */
    tkl_search_doc *docs;
    tkl_search_value *values;
    char **kept;
    size_t batch, count, kept_count, kept_cap, bytes;
    /* The current row. */
    bool row_is_bad, has_id;
    char why[256]; /* why the last bad row is bad */
    /* The whole import. */
    cli_rows rows;
    uint64_t documents, bad;
    int64_t added;
    json_t *problems;
    json_t *ignored;
    int64_t started_ms;
} importing;

/* ---- Memory of the batch ------------------------------------------------- */

static void stop_import(importing *i, int failed)
{
    if (!i->rows.failed)
        i->rows.failed = failed;
}

/* Keeps the memory until the batch is sent; NULL when out of memory. */
static char *keep_memory(importing *i, char *memory)
{
    if (i->kept_count == i->kept_cap) {
        size_t cap = i->kept_cap ? 2 * i->kept_cap : 1024;
        char **kept = realloc(i->kept, cap * sizeof *kept);
        if (kept) {
            i->kept = kept;
            i->kept_cap = cap;
        }
    }
    if (!memory || i->kept_count == i->kept_cap) {
        free(memory);
        stop_import(i, cli_end(i->cli, TKL_ENOMEM));
        return NULL;
    }
    return i->kept[i->kept_count++] = memory;
}

static tkl_bytes keep_copy(importing *i, tkl_bytes bytes)
{
    char *copy = malloc(bytes.len + 1);
    if (copy && bytes.len)
        memcpy(copy, bytes.data, bytes.len);
    copy = keep_memory(i, copy);
    return (tkl_bytes){copy, copy ? bytes.len : 0};
}

static void clear_batch(importing *i)
{
    for (size_t k = 0; k < i->kept_count; k++)
        free(i->kept[k]);
    i->kept_count = i->count = i->bytes = 0;
}

static void send_batch(importing *i)
{
    int64_t added = 0;
    if (i->count && !i->rows.failed) {
        int rc = tkl_search_add(i->search, i->docs, i->count, &added);
        if (rc != TKL_OK)
            cli_progress_end(&i->rows.bar);
        stop_import(i, cli_end(i->cli, rc));
        i->documents += rc == TKL_OK ? i->count : 0;
        i->added += added;
    }
    clear_batch(i);
}

/* ---- Rows ---------------------------------------------------------------- */

static void complain(importing *i, const char *format, ...) TKL_PRINTF(2, 3);
static void complain(importing *i, const char *format, ...)
{
    va_list list;
    if (i->row_is_bad)
        return;
    i->row_is_bad = true;
    va_start(list, format);
    vsnprintf(i->why, sizeof i->why, format, list);
    va_end(list);
    if (json_array_size(i->problems) < PROBLEMS_MAX)
        json_array_append_new(i->problems, json_pack("{s:o, s:I, s:o}", "file",
                                                     cli_json_bytes(tkl_str(i->rows.file)), "row",
                                                     (json_int_t)i->rows.row, "message",
                                                     cli_json_bytes(tkl_str(i->why))));
}

static void note_bad(void *arg, const char *why)
{
    complain(arg, "%s", why);
}

static void begin_row(void *arg)
{
    importing *i = arg;
    i->docs[i->count] =
        (tkl_search_doc){.values = &i->values[i->count * i->info->schema.field_count]};
    i->row_is_bad = i->has_id = false;
}

static void check_row(importing *i, const tkl_search_doc *doc)
{
    if (!i->has_id)
        complain(i, "there is no '" TKL_FMT "'", TKL_ARG(i->id_name));
    else if (doc->id.len < 1 || doc->id.len > TKL_SEARCH_ID_MAX)
        complain(i, "the id has %zu bytes; 1 to %d are allowed", doc->id.len, TKL_SEARCH_ID_MAX);
    else if (doc->text.len > TKL_SEARCH_TEXT_MAX)
        complain(i, "the text has %zu bytes; at most %d are allowed", doc->text.len,
                 TKL_SEARCH_TEXT_MAX);
}

static void end_row(void *arg)
{
    importing *i = arg;
    tkl_search_doc *doc = &i->docs[i->count];
    check_row(i, doc);
    if (i->row_is_bad) {
        int64_t most = cli_number(i->cli, "max-bad", 0);
        if (++i->bad > (uint64_t)most) {
            send_batch(i);
            stop_import(i, CLI_USAGE); /* the problems are printed at the end */
        }
        return;
    }
    i->bytes += doc->text.len;
    if (++i->count == i->batch || i->bytes >= BATCH_BYTES)
        send_batch(i);
}

/* ---- Cells --------------------------------------------------------------- */

static bool is_text(const importing *i, tkl_bytes name)
{
    for (size_t t = 0; t < i->text_name_count; t++)
        if (cli_same_bytes(i->text_names[t], name))
            return true;
    return false;
}

/* Several texts of a row become one, with a line end between them. */
static void add_text(importing *i, tkl_bytes text)
{
    tkl_search_doc *doc = &i->docs[i->count];
    if (!doc->text.data) {
        doc->text = keep_copy(i, text);
        return;
    }
    size_t len = doc->text.len + 1 + text.len;
    char *joined = malloc(len + 1);
    if (joined) {
        memcpy(joined, doc->text.data, doc->text.len);
        joined[doc->text.len] = '\n';
        memcpy(joined + doc->text.len + 1, text.data, text.len);
    }
    joined = keep_memory(i, joined);
    doc->text = (tkl_bytes){joined, joined ? len : 0};
}

static void add_value(importing *i, const tkl_search_field *field, tkl_bytes text)
{
    tkl_search_doc *doc = &i->docs[i->count];
    tkl_search_value *value = (tkl_search_value *)&doc->values[doc->value_count];
    for (size_t v = 0; v < doc->value_count; v++)
        if (cli_same_bytes(doc->values[v].field, field->name)) {
            complain(i, "'" TKL_FMT "' is there twice", TKL_ARG(field->name));
            return;
        }
    *value = (tkl_search_value){.field = field->name};
    if (field->kind == TKL_SEARCH_FIELD_TEXT)
        value->text = keep_copy(i, text);
    else if (!cli_search_number(text, &value->number))
        complain(i, "'" TKL_FMT "' is not a number", TKL_ARG(field->name));
    if (text.len > TKL_SEARCH_VALUE_MAX)
        complain(i, "'" TKL_FMT "' has %zu bytes; at most %d are allowed", TKL_ARG(field->name),
                 text.len, TKL_SEARCH_VALUE_MAX);
    doc->value_count++;
}

static void note_ignored(importing *i, tkl_bytes name)
{
    char *text = cli_escape(name, false);
    if (text && json_object_size(i->ignored) < IGNORED_MAX)
        json_object_set_new(i->ignored, text, json_true());
    free(text);
}

static bool wants_cell(void *arg, tkl_bytes name)
{
    importing *i = arg;
    bool wanted = cli_same_bytes(i->id_name, name) || is_text(i, name) ||
                  cli_search_field(&i->info->schema, name) != NULL;
    if (!wanted)
        note_ignored(i, name);
    return wanted;
}

static void take_cell(void *arg, tkl_bytes name, tkl_bytes text)
{
    importing *i = arg;
    const tkl_search_field *field = cli_search_field(&i->info->schema, name);
    if (i->rows.failed)
        return;
    if (cli_same_bytes(i->id_name, name)) {
        i->docs[i->count].id = keep_copy(i, text);
        i->has_id = true;
    }
    if (is_text(i, name))
        add_text(i, text);
    if (field)
        add_value(i, field, text);
}

/* ---- The report ---------------------------------------------------------- */

static void print_problems(const importing *i)
{
    size_t index;
    json_t *problem;
    json_array_foreach(i->problems, index, problem)
    {
        char *message =
            cli_escape(tkl_str(json_string_value(json_object_get(problem, "message"))), false);
        char *file =
            cli_escape(tkl_str(json_string_value(json_object_get(problem, "file"))), false);
        fprintf(stderr, "%s:%" JSON_INTEGER_FORMAT ": %s\n", file ? file : "?",
                json_integer_value(json_object_get(problem, "row")), message ? message : "");
        free(file);
        free(message);
    }
    if (i->bad > PROBLEMS_MAX)
        fprintf(stderr, "... and %" PRIu64 " more bad rows\n", i->bad - PROBLEMS_MAX);
}

static json_t *ignored_json(const importing *i)
{
    json_t *names = json_array();
    const char *name;
    json_t *value;
    json_object_foreach(i->ignored, name, value) json_array_append_new(names, json_string(name));
    return names;
}

static int print_report(const importing *i)
{
    static const cli_column columns[] = {
        {"name", "index"},
        {"documents", "documents"},
        {"added", "of these new"},
        {"bad", "bad rows left out"},
        {"ignored", "left out, no fields"},
        {"took_ms", "duration"},
        {"documents_per_second", "documents per second"},
        {0},
    };
    int64_t took = cli_now_ms() - i->started_ms;
    json_t *report =
        json_pack("{s:o, s:I, s:I, s:I, s:o, s:I, s:I, s:O}", "name",
                  cli_json_bytes(tkl_str(i->cli->argv[0])), "documents", (json_int_t)i->documents,
                  "added", (json_int_t)i->added, "bad", (json_int_t)i->bad, "ignored",
                  ignored_json(i), "took_ms", (json_int_t)took, "documents_per_second",
                  (json_int_t)(i->documents * 1000 / (uint64_t)(took > 0 ? took : 1)), "problems",
                  i->problems);
    return cli_print_record(i->cli, report, columns);
}

/* Reports the end of the import. Only here a message says that there were too many bad rows. */
static int finish_import(importing *i)
{
    int64_t most = cli_number(i->cli, "max-bad", 0);
    if (!i->cli->json)
        print_problems(i);
    if (i->bad > (uint64_t)most)
        return cli_fail(i->cli, CLI_USAGE,
                        "stopped at row %" PRIu64 " of %s: %s (bad rows: %" PRIu64
                        ", --max-bad %" PRId64 "); documents added: %" PRIu64,
                        i->rows.row, i->rows.file, i->why, i->bad, most, i->documents);
    return i->rows.failed ? i->rows.failed : print_report(i);
}

/* ---- The verb ------------------------------------------------------------ */

static int read_options(importing *i)
{
    i->id_name = tkl_str(cli_text(i->cli, "id", "id"));
    i->batch = (size_t)cli_number(i->cli, "batch", BATCH);
    if (i->batch < 1 || i->batch > BATCH_MAX)
        return cli_usage(i->cli, "--batch is from 1 to %d", BATCH_MAX);
    int failed = cli_not_negative(i->cli, "max-bad");
    return failed ? failed
                  : cli_search_split(i->cli, cli_text(i->cli, "text", "text"), i->text_names,
                                     &i->text_name_count);
}

static int prepare_import(importing *i)
{
    int failed = read_options(i);
    if (!failed)
        failed = cli_search_open(i->cli, &i->search);
    if (!failed)
        failed = cli_end(i->cli, tkl_search_show(i->search, &i->info));
    if (failed)
        return failed;
    i->docs = calloc(i->batch + 1, sizeof *i->docs);
    i->values = calloc((i->batch + 1) * (i->info->schema.field_count + 1), sizeof *i->values);
    i->rows = (cli_rows){.cli = i->cli,
                         .wants = wants_cell,
                         .begin = begin_row,
                         .cell = take_cell,
                         .bad = note_bad,
                         .end = end_row,
                         .arg = i,
                         .needed = i->id_name.data};
    i->problems = json_array();
    i->ignored = json_object();
    bool ready = i->docs && i->values && i->problems && i->ignored;
    return ready ? CLI_OK : cli_end(i->cli, TKL_ENOMEM);
}

int cli_search_import(cli_session *cli)
{
    importing i = {.cli = cli, .started_ms = cli_now_ms()};
    int failed = prepare_import(&i);
    for (int file = 1; !failed && !i.rows.failed && file < cli->argc; file++) {
        cli_rows_read(&i.rows, cli->argv[file], cli_text(cli, "format", NULL));
        send_batch(&i);
    }
    if (!failed)
        failed = finish_import(&i);
    clear_batch(&i);
    free(i.docs);
    free(i.values);
    free(i.kept);
    json_decref(i.problems);
    json_decref(i.ignored);
    tkl_search_info_free(i.info);
    tkl_search_close(i.search);
    return failed;
}
