/* SPDX-License-Identifier: MIT
 *
 * A query from the shell: asking, and printing what was found.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "out.h"
#include "search.h"
#include "table.h"

/* The data needed to print one result. */
typedef struct printer {
    cli_session *cli;
    tkl_search *search;
    tkl_bytes query;
    const cli_search_request *request;
    const tkl_search_result *found;
} printer;

/* ---- Options ------------------------------------------------------------- */

int cli_search_split(const cli_session *cli, const char *list, tkl_bytes *names, size_t *count)
{
    *count = 0;
    while (*list) {
        size_t len = strcspn(list, ",");
        if (len && *count == CLI_SEARCH_LISTS_MAX)
            return cli_usage(cli, "more than %d fields", CLI_SEARCH_LISTS_MAX);
        if (len)
            names[(*count)++] = (tkl_bytes){list, len};
        list += len + (list[len] == ',');
    }
    return CLI_OK;
}

const tkl_search_field *cli_search_field(const tkl_search_schema *schema, tkl_bytes name)
{
    for (size_t i = 0; i < schema->field_count; i++)
        if (cli_same_bytes(schema->fields[i].name, name))
            return &schema->fields[i];
    return NULL;
}

/* Takes "text" out of the list; the others must be fields. */
static int check_show(cli_session *cli, const tkl_search_schema *schema,
                      cli_search_request *request)
{
    size_t kept = 0;
    for (size_t i = 0; i < request->field_count; i++) {
        tkl_bytes name = request->fields[i];
        if (cli_search_field(schema, name))
            request->fields[kept++] = name;
        else if (cli_same_bytes(name, tkl_str("text")))
            request->text = true;
        else
            return cli_usage(cli, "the index has no field '" TKL_FMT "'", TKL_ARG(name));
    }
    request->field_count = kept;
    return CLI_OK;
}

int cli_search_set_show(cli_session *cli, tkl_search *search, const char *list,
                        cli_search_request *request)
{
    request->text = request->hits = request->all_fields = false;
    request->field_count = 0;
    if (!list || !*list)
        return CLI_OK;
    request->hits = true;
    int failed = request->info ? CLI_OK : cli_end(cli, tkl_search_show(search, &request->info));
    if (!failed && strcmp(list, "all") == 0) {
        request->text = request->all_fields = true;
        return CLI_OK;
    }
    if (!failed)
        failed = cli_search_split(cli, list, request->fields, &request->field_count);
    return failed ? failed : check_show(cli, &request->info->schema, request);
}

void cli_search_request_free(cli_search_request *request)
{
    tkl_search_info_free(request->info);
    request->info = NULL;
}

static int read_marks(const cli_session *cli, cli_search_request *request)
{
    const char *marks = cli_text(cli, "marks", "<b>,</b>"), *comma = strchr(marks, ',');
    if (!comma)
        return cli_usage(cli, "invalid --marks '%s': BEFORE,AFTER is expected", marks);
    request->before = (tkl_bytes){marks, (size_t)(comma - marks)};
    request->after = tkl_str(comma + 1);
    return CLI_OK;
}

static int read_page(const cli_session *cli, cli_search_request *request)
{
    request->page = cli_number(cli, "page", 1);
    request->size = cli_number(cli, "size", 10);
    if (request->page < 1 || request->page > TKL_SEARCH_REACH_MAX)
        return cli_usage(cli, "--page is from 1 to %d", TKL_SEARCH_REACH_MAX);
    if (request->size < 0 || request->size > TKL_SEARCH_PAGE_MAX)
        return cli_usage(cli, "--size is from 0 to %d", TKL_SEARCH_PAGE_MAX);
    return CLI_OK;
}

static int read_order(const cli_session *cli, cli_search_request *request)
{
    const char *sort = cli_text(cli, "sort", NULL), *rank = cli_text(cli, "rank", NULL);
    if (sort && rank)
        return cli_usage(cli, "either --sort or --rank");
    if (sort && (!*sort || strchr(sort, '=')))
        return cli_usage(cli, "invalid --sort '%s': FIELD or -FIELD; for weights, --rank", sort);
    if (rank && !strchr(rank, '='))
        return cli_usage(cli, "invalid --rank '%s': FIELD=WEIGHT,... is expected", rank);
    request->order = tkl_str(sort ? sort : rank);
    return CLI_OK;
}

int cli_search_read_request(cli_session *cli, tkl_search *search, cli_search_request *request)
{
    static const char *const above_0[] = {"compare", "facet-values"};
    *request = (cli_search_request){.keep_ms = cli_number(cli, "keep", 0),
                                    .compare_max = cli_number(cli, "compare", 0),
                                    .facet_values = cli_number(cli, "facet-values", 10),
                                    .length = cli_number(cli, "length", 200),
                                    .html = cli_flag(cli, "html")};
    int failed = read_order(cli, request);
    for (size_t i = 0; !failed && i < sizeof above_0 / sizeof *above_0; i++)
        failed = cli_positive(cli, above_0[i]);
    if (!failed)
        failed = cli_not_negative(cli, "length");
    if (!failed)
        failed = read_page(cli, request);
    if (!failed)
        failed = read_marks(cli, request);
    if (!failed)
        failed = cli_search_split(cli, cli_text(cli, "facets", ""), request->facets,
                                  &request->facet_count);
    return failed ? failed : cli_search_set_show(cli, search, cli_text(cli, "show", NULL), request);
}

/* ---- JSON ---------------------------------------------------------------- */

/* Returns a whole number without a fraction. */
static json_t *number_json(double number)
{
    bool whole = number == floor(number) && fabs(number) < 1e15;
    return whole ? json_integer((json_int_t)number) : json_real(number);
}

static bool is_number(const tkl_search_schema *schema, const tkl_search_value *value)
{
    const tkl_search_field *field = cli_search_field(schema, value->field);
    return field && field->kind == TKL_SEARCH_FIELD_NUMERIC;
}

static json_t *value_json(const tkl_search_schema *schema, const tkl_search_value *value)
{
    return is_number(schema, value) ? number_json(value->number) : cli_json_bytes(value->text);
}

static bool is_shown(const cli_search_request *request, tkl_bytes field)
{
    if (request->all_fields)
        return true;
    for (size_t i = 0; i < request->field_count; i++)
        if (cli_same_bytes(request->fields[i], field))
            return true;
    return false;
}

static void set_bytes(json_t *object, tkl_bytes key, json_t *value)
{
    char *name = cli_escape(key, false);
    if (name)
        json_object_set_new(object, name, value);
    else
        json_decref(value);
    free(name);
}

/* The fields of a hit; a field that was asked for and is missing is null. */
static json_t *fields_json(const cli_search_request *request, const tkl_search_schema *schema,
                           const tkl_search_hit *hit)
{
    json_t *fields = json_object();
    for (size_t i = 0; i < request->field_count; i++)
        set_bytes(fields, request->fields[i], json_null());
    for (size_t i = 0; i < hit->value_count; i++)
        if (is_shown(request, hit->values[i].field))
            set_bytes(fields, hit->values[i].field, value_json(schema, &hit->values[i]));
    return fields;
}

/* Adds the text with its matches, if there are some. */
static int add_highlight(const printer *p, tkl_bytes name, tkl_bytes text, json_t *highlights)
{
    tkl_search_marks *marks = NULL;
    tkl_search_mark_options options = {.before = p->request->before,
                                       .after = p->request->after,
                                       .length = p->request->length,
                                       .html = p->request->html};
    int rc = tkl_search_highlight(p->search, p->query, text, &options, &marks);
    if (rc == TKL_OK && marks->count)
        set_bytes(highlights, name, cli_json_bytes(marks->text));
    tkl_search_marks_free(marks);
    return rc;
}

static int add_highlights(const printer *p, const tkl_search_hit *hit, json_t *highlights)
{
    int rc = p->request->text ? add_highlight(p, tkl_str("text"), hit->text, highlights) : TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < hit->value_count; i++)
        if (!is_number(&p->request->info->schema, &hit->values[i]) &&
            is_shown(p->request, hit->values[i].field))
            rc = add_highlight(p, hit->values[i].field, hit->values[i].text, highlights);
    return rc;
}

static bool has_scores(const cli_search_request *request)
{
    return !request->order.len || memchr(request->order.data, '=', request->order.len);
}

static int add_hit(const printer *p, const tkl_search_hit *hit, json_t *hits)
{
    json_t *highlights = json_object();
    json_t *row = json_pack("{s:o, s:o, s:o}", "id", cli_json_bytes(hit->id), "score",
                            has_scores(p->request) ? json_real(hit->score) : json_null(), "fields",
                            fields_json(p->request, &p->request->info->schema, hit));
    if (p->request->text)
        json_object_set_new(row, "text", cli_json_present(hit->text));
    json_object_set(row, "highlights", highlights);
    json_array_append_new(hits, row);
    int rc = add_highlights(p, hit, highlights);
    json_decref(highlights);
    return rc;
}

/* {"lang": {"counts": [{"value": "en", "count": 2}], "missing": 1, "more": false}} */
static json_t *facets_json(const tkl_search_result *found)
{
    json_t *facets = json_object();
    for (size_t i = 0; i < found->facet_count; i++) {
        const tkl_search_facet *facet = &found->facets[i];
        json_t *counts = json_array();
        for (size_t j = 0; j < facet->count; j++)
            json_array_append_new(counts, json_pack("{s:o, s:I}", "value",
                                                    cli_json_bytes(facet->counts[j].value), "count",
                                                    (json_int_t)facet->counts[j].count));
        json_t *missing = facet->missing == TKL_NONE ? json_null() : json_integer(facet->missing);
        set_bytes(facets, facet->field,
                  json_pack("{s:o, s:o, s:b}", "counts", counts, "missing", missing, "more",
                            facet->more));
    }
    return facets;
}

json_t *cli_search_words_json(tkl_bytes words)
{
    json_t *array = json_array();
    while (words.len) {
        const char *space = memchr(words.data, ' ', words.len);
        size_t len = space ? (size_t)(space - words.data) : words.len;
        json_array_append_new(array, cli_json_bytes((tkl_bytes){words.data, len}));
        words.data += len + (space != NULL);
        words.len -= len + (space != NULL);
    }
    return array;
}

static json_t *answer_json(const tkl_search_result *found)
{
    json_t *ids = json_array();
    for (size_t i = 0; i < found->count; i++)
        json_array_append_new(ids, cli_json_bytes(found->hits[i].id));
    return json_pack("{s:I, s:b, s:o, s:I, s:I, s:b, s:o, s:o, s:o, s:o}", "total",
                     (json_int_t)found->total, "exact", found->exact, "ids", ids, "took_us",
                     (json_int_t)found->took_us, "compared", (json_int_t)found->compared, "kept",
                     found->kept, "understood", cli_json_present(found->understood), "stop_words",
                     cli_search_words_json(found->dropped), "why", cli_json_present(found->why),
                     "nearest", cli_json_present(found->nearest));
}

static int print_json(const printer *p)
{
    json_t *answer = answer_json(p->found), *hits = json_array();
    int rc = TKL_OK;
    for (size_t i = 0; p->request->hits && rc == TKL_OK && i < p->found->count; i++)
        rc = add_hit(p, &p->found->hits[i], hits);
    if (p->request->hits)
        json_object_set(answer, "hits", hits);
    if (p->request->facet_count)
        json_object_set_new(answer, "facets", facets_json(p->found));
    json_decref(hits);
    if (rc == TKL_OK)
        return cli_print_json(p->cli, answer);
    json_decref(answer);
    return cli_end(p->cli, rc);
}

/* ---- For people ---------------------------------------------------------- */

/* Makes one line without control characters, invalid bytes or repeated spaces. The caller frees it.
 * NULL: out of memory. */
static char *one_line(tkl_bytes text)
{
    char *flat = malloc(text.len + 1), *to = flat;
    for (size_t at = 0; flat && at < text.len;) {
        wchar_t character = 0;
        mbstate_t state = {0};
        size_t used = mbrtowc(&character, text.data + at, text.len - at, &state);
        bool broken = used > text.len - at, plain = !broken && used && !cli_is_unsafe(character);
        used = broken || !used ? 1 : used;
        if (plain && character != L' ')
            to = mempcpy(to, text.data + at, used);
        else if (broken || (to > flat && to[-1] != ' '))
            *to++ = broken ? '?' : ' ';
        at += used;
    }
    if (flat)
        *to = '\0';
    return flat;
}

static int print_marked(const printer *p, tkl_bytes text)
{
    bool colored = *cli_color(stdout, CLI_BOLD);
    tkl_search_marks *marks = NULL;
    tkl_search_mark_options options = {.before = tkl_str(colored ? CLI_BOLD : "*"),
                                       .after = tkl_str(colored ? CLI_PLAIN : "*"),
                                       .length = p->request->length};
    char *shown = one_line(text);
    int rc = shown ? tkl_search_highlight(p->search, p->query, tkl_str(shown), &options, &marks)
                   : TKL_ENOMEM;
    if (rc == TKL_OK)
        printf(TKL_FMT, TKL_ARG(marks->text));
    tkl_search_marks_free(marks);
    free(shown);
    return rc;
}

static int print_value(const printer *p, const tkl_search_value *value)
{
    char *name = cli_escape(value->field, false);
    printf("  %s%s%s ", cli_color(stdout, CLI_DIM), name ? name : "", cli_color(stdout, CLI_PLAIN));
    free(name);
    if (!is_number(&p->request->info->schema, value))
        return print_marked(p, value->text);
    printf("%.15g", value->number);
    return TKL_OK;
}

static int print_hit(const printer *p, const tkl_search_hit *hit)
{
    int rc = TKL_OK;
    printf("%s", cli_color(stdout, CLI_CYAN));
    cli_print_bytes(hit->id);
    printf("%s", cli_color(stdout, CLI_PLAIN));
    if (p->request->hits && has_scores(p->request)) {
        char *score = cli_real_text("relevance", hit->score);
        printf("  %s%s%s", cli_color(stdout, CLI_DIM), score ? score : "",
               cli_color(stdout, CLI_PLAIN));
        free(score);
    }
    for (size_t i = 0; p->request->hits && rc == TKL_OK && i < hit->value_count; i++)
        if (is_shown(p->request, hit->values[i].field))
            rc = print_value(p, &hit->values[i]);
    putchar('\n');
    if (rc != TKL_OK || !p->request->text || !hit->text.len)
        return rc;
    printf("    ");
    rc = print_marked(p, hit->text);
    putchar('\n');
    return rc;
}

/* "lang: en 2, de 1, none 4" */
static void print_facet(const tkl_search_facet *facet)
{
    char *name = cli_escape(facet->field, false);
    printf("%s%s:%s", cli_color(stdout, CLI_BOLD), name ? name : "", cli_color(stdout, CLI_PLAIN));
    for (size_t i = 0; i < facet->count; i++) {
        char *value = cli_escape(facet->counts[i].value, false);
        printf("%s %s %" PRId64, i ? "," : "", value ? value : "", facet->counts[i].count);
        free(value);
    }
    if (facet->more)
        printf("%s and more", facet->count ? "," : "");
    if (facet->missing > 0)
        printf("%s without %" PRId64, facet->count ? "," : "", facet->missing);
    putchar('\n');
    free(name);
}

void cli_search_note(const char *before, tkl_bytes text)
{
    char *shown = text.len ? cli_escape(text, false) : NULL;
    if (shown)
        fprintf(stderr, "%s%s%s%s\n", cli_color(stderr, CLI_DIM), before, shown,
                cli_color(stderr, CLI_PLAIN));
    free(shown);
}

/* Prints the summary on stderr, so that ids can be piped. */
static void print_summary(const printer *p)
{
    const tkl_search_result *found = p->found;
    int64_t first = (p->request->page - 1) * p->request->size + 1;
    fprintf(stderr, "%s%s%" PRId64 " document%s", cli_color(stderr, CLI_DIM),
            found->exact ? "" : "about ", found->total, found->total == 1 ? "" : "s");
    if (found->count && (int64_t)found->count < found->total)
        fprintf(stderr, ", these are %" PRId64 " to %" PRId64, first,
                first + (int64_t)found->count - 1);
    if (found->compared < found->total)
        fprintf(stderr, ", the best of %" PRId64 " that were compared", found->compared);
    fprintf(stderr, " (%.1f ms%s)%s\n", (double)found->took_us / 1000,
            found->kept ? ", kept result" : "", cli_color(stderr, CLI_PLAIN));
    cli_search_note("understood as: ", found->understood);
    cli_search_note("without the stop words: ", found->dropped);
    cli_search_note("", found->why);
}

static int print_plain(const printer *p)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < p->found->count; i++)
        rc = print_hit(p, &p->found->hits[i]);
    for (size_t i = 0; rc == TKL_OK && i < p->found->facet_count; i++)
        print_facet(&p->found->facets[i]);
    int failed = cli_flush(p->cli);
    if (!failed && rc == TKL_OK)
        print_summary(p);
    return failed ? failed : cli_end(p->cli, rc);
}

/* ---- Asking -------------------------------------------------------------- */

int cli_search_ask(cli_session *cli, tkl_search *search, tkl_bytes query,
                   const cli_search_request *request, int64_t *total)
{
    tkl_search_result *found = NULL;
    tkl_search_query_options options = {.order = request->order,
                                        .offset = (request->page - 1) * request->size,
                                        .count = request->size ? request->size : TKL_NONE,
                                        .keep_ms = request->keep_ms,
                                        .compare_max = request->compare_max,
                                        .facets = request->facets,
                                        .facet_count = request->facet_count,
                                        .facet_values = request->facet_values,
                                        .texts = request->text};
    *total = 0;
    int failed = cli_end(cli, tkl_search_query(search, query, &options, &found));
    if (!failed) {
        printer p = {cli, search, query, request, found};
        *total = found->total;
        failed = cli->json ? print_json(&p) : print_plain(&p);
    }
    tkl_search_result_free(found);
    return failed;
}

int cli_search_print_documents(cli_session *cli, const tkl_search_schema *schema,
                               const tkl_search_result *found)
{
    static const cli_search_request all = {.all_fields = true, .text = true, .hits = true};
    json_t *rows = json_array();
    for (size_t i = 0; i < found->count; i++)
        json_array_append_new(rows,
                              json_pack("{s:o, s:o, s:o}", "id", cli_json_bytes(found->hits[i].id),
                                        "fields", fields_json(&all, schema, &found->hits[i]),
                                        "text", cli_json_present(found->hits[i].text)));
    static const cli_column columns[] = {{"id", "ID"}, {"fields", "FIELDS"}, {"text", "TEXT"}, {0}};
    return cli_print_rows(cli, rows, columns);
}
