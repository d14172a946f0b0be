/* SPDX-License-Identifier: MIT
 *
 * Explanations of queries from the shell.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "out.h"
#include "search.h"

/* ---- JSON ---------------------------------------------------------------- */

static json_t *documents_json(int64_t documents)
{
    return documents == TKL_NONE ? json_null() : json_integer(documents);
}

static json_t *terms_json(const tkl_search_part *part)
{
    json_t *terms = json_array();
    for (size_t i = 0; i < part->term_count; i++) {
        const tkl_search_term *term = &part->terms[i];
        json_array_append_new(terms,
                              json_pack("{s:o, s:o, s:I, s:f}", "text", cli_json_bytes(term->text),
                                        "documents", documents_json(term->documents), "times",
                                        (json_int_t)term->times, "score", term->score));
    }
    return terms;
}

static json_t *parts_json(const tkl_search_explanation *is)
{
    json_t *parts = json_array();
    for (size_t i = 0; i < is->part_count; i++) {
        const tkl_search_part *part = &is->parts[i];
        json_array_append_new(
            parts, json_pack("{s:o, s:b, s:o, s:b, s:o, s:f, s:o}", "text",
                             cli_json_bytes(part->text), "excluded", part->excluded, "choice",
                             part->excluded ? json_null() : json_integer(part->choice), "matches",
                             part->matches, "value", cli_json_present(part->value), "score",
                             part->score, "words", terms_json(part)));
    }
    return parts;
}

/* Prints the explanation. Without an id, the members about a document are null. */
static int print_json(const cli_session *cli, const char *id, const tkl_search_explanation *is)
{
    json_t *record = json_pack(
        "{s:o, s:o, s:o, s:o, s:f, s:I, s:I, s:b}", "id", cli_json_present(tkl_str(id)), "matches",
        id ? json_boolean(is->matches) : json_null(), "score",
        id ? json_real(is->score) : json_null(), "length",
        id ? json_integer(is->length) : json_null(), "average_length", is->average_length,
        "documents", (json_int_t)is->documents, "total", (json_int_t)is->total, "exact", is->exact);
    json_t *rest = json_pack("{s:o, s:o, s:o, s:o, s:o}", "reason", cli_json_present(is->reason),
                             "understood", cli_json_present(is->understood), "stop_words",
                             cli_search_words_json(is->dropped), "nearest",
                             cli_json_present(is->nearest), "parts", parts_json(is));
    json_object_update(record, rest);
    json_decref(rest);
    return cli_print_json(cli, record);
}

/* ---- For people ---------------------------------------------------------- */

/* A part as a row without a term: "+" before a synonym, "-" before an excluded part. */
static json_t *part_row(const char *id, const tkl_search_part *part, bool synonym)
{
    char *text = cli_escape(part->text, false), *signed_text = NULL;
    if (text && asprintf(&signed_text, "%s%s", part->excluded ? "-" : synonym ? "+" : "", text) < 0)
        signed_text = NULL;
    json_t *row = json_pack("{s:o}", "part", json_string(signed_text ? signed_text : ""));
    if (id)
        json_object_set_new(row, "matches", json_string(part->matches ? "yes" : "no"));
    if (part->value.len)
        json_object_set_new(row, "value", cli_json_bytes(part->value));
    free(signed_text);
    free(text);
    return row;
}

/* Adds the rows of a part: its terms; for a prefix only the terms that the document has. */
static void add_rows(json_t *rows, const char *id, const tkl_search_part *part, bool synonym)
{
    size_t added = 0;
    for (size_t i = 0; i < part->term_count; i++) {
        const tkl_search_term *term = &part->terms[i];
        if (id && part->term_count > 1 && term->times == 0 && part->matches)
            continue;
        json_t *row = added++ ? json_pack("{s:s}", "part", "") : part_row(id, part, synonym);
        json_object_set_new(row, "term", cli_json_bytes(term->text));
        json_object_set_new(row, "documents", documents_json(term->documents));
        if (id) {
            json_object_set_new(row, "times", json_integer(term->times));
            json_object_set_new(row, "score", json_real(term->score));
        }
        json_array_append_new(rows, row);
    }
    if (!added)
        json_array_append_new(rows, part_row(id, part, synonym));
}

static int print_plain(const cli_session *cli, const char *id, const tkl_search_explanation *is)
{
    static const cli_column columns[] = {
        {"part", "PART"},   {"matches", "FOUND"},       {"value", "VALUE"}, {"term", "TERM"},
        {"times", "TIMES"}, {"documents", "DOCUMENTS"}, {"score", "SCORE"}, {0}};
    json_t *rows = json_array();
    char *reason = cli_escape(is->reason, false);
    if (id && is->matches)
        printf("found, relevance %.6g: %" PRId64 " words, %.6g on average\n", is->score, is->length,
               is->average_length);
    else if (is->reason.len)
        printf("not found: %s\n", reason ? reason : "");
    for (size_t i = 0; i < is->part_count; i++)
        add_rows(rows, id, &is->parts[i], i > 0 && is->parts[i].choice == is->parts[i - 1].choice);
    free(reason);
    int failed = CLI_OK;
    if (is->part_count)
        failed = cli_print_rows(cli, rows, columns);
    else
        json_decref(rows);
    if (!failed)
        failed = cli_flush(cli);
    if (failed)
        return failed;
    fprintf(stderr, "%s%s%" PRId64 " of %" PRId64 " documents match%s\n",
            cli_color(stderr, CLI_DIM), is->exact ? "" : "about ", is->total, is->documents,
            cli_color(stderr, CLI_PLAIN));
    cli_search_note("understood as: ", is->understood);
    cli_search_note("without the stop words: ", is->dropped);
    return CLI_OK;
}

int cli_search_explain(cli_session *cli)
{
    const char *id = cli->argc > 2 ? cli->argv[2] : NULL;
    tkl_search *search = NULL;
    tkl_search_explanation *is = NULL;
    int failed = id && !*id ? cli_usage(cli, "the id of a document is empty") : CLI_OK;
    if (!failed)
        failed = cli_search_open(cli, &search);
    if (!failed)
        failed = cli_end(cli, tkl_search_explain(search, tkl_str(cli->argv[1]), tkl_str(id), &is));
    if (!failed)
        failed = cli->json ? print_json(cli, id, is) : print_plain(cli, id, is);
    tkl_search_explanation_free(is);
    tkl_search_close(search);
    return failed;
}

/* ---- parse --------------------------------------------------------------- */

/* A query with "*" has no wanted parts. */
static bool wants_all(const tkl_search_explanation *is)
{
    return is->reason.len == 0 && (is->part_count == 0 || is->parts[0].excluded);
}

static int print_parsed_json(const cli_session *cli, const tkl_search_explanation *is)
{
    json_t *parts = json_array();
    for (size_t i = 0; i < is->part_count; i++) {
        const tkl_search_part *part = &is->parts[i];
        json_t *words = json_array();
        for (size_t k = 0; k < part->term_count; k++)
            json_array_append_new(words,
                                  json_pack("{s:o}", "text", cli_json_bytes(part->terms[k].text)));
        json_array_append_new(parts,
                              json_pack("{s:o, s:b, s:o, s:o}", "text", cli_json_bytes(part->text),
                                        "excluded", part->excluded, "choice",
                                        part->excluded ? json_null() : json_integer(part->choice),
                                        "words", words));
    }
    return cli_print_json(cli, json_pack("{s:b, s:o, s:o, s:o, s:o}", "all", wants_all(is),
                                         "reason", cli_json_present(is->reason), "understood",
                                         cli_json_present(is->understood), "stop_words",
                                         cli_search_words_json(is->dropped), "parts", parts));
}

static int print_parsed(const cli_session *cli, const tkl_search_explanation *is)
{
    static const cli_column columns[] = {{"part", "PART"}, {"term", "TERM"}, {0}};
    json_t *rows = json_array();
    if (is->reason.len)
        printf("nothing can be found: " TKL_FMT "\n", TKL_ARG(is->reason));
    for (size_t i = 0; i < is->part_count; i++)
        add_rows(rows, NULL, &is->parts[i],
                 i > 0 && is->parts[i].choice == is->parts[i - 1].choice);
    if (wants_all(is))
        puts("all documents");
    int failed = CLI_OK;
    if (is->part_count)
        failed = cli_print_rows(cli, rows, columns);
    else
        json_decref(rows);
    if (!failed)
        failed = cli_flush(cli);
    cli_search_note("understood as: ", is->understood);
    cli_search_note("without the stop words: ", is->dropped);
    return failed;
}

int cli_search_parse(cli_session *cli)
{
    tkl_search_field fields[TKL_SEARCH_FIELDS_MAX];
    tkl_search_schema schema;
    tkl_search_explanation *is = NULL;
    int failed = cli_search_read_schema(cli, fields, &schema);
    if (!failed)
        failed = cli_end(cli, tkl_search_parse(tkl_str(cli->argv[0]), &schema, &is));
    if (!failed)
        failed = cli->json ? print_parsed_json(cli, is) : print_parsed(cli, is);
    tkl_search_explanation_free(is);
    return failed;
}
