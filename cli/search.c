/* SPDX-License-Identifier: MIT
 *
 * Search from the shell: the table of verbs, and the verbs that have no file of their own.
 */
#include "search.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "holders.h"
#include "items.h"
#include "lines.h"
#include "out.h"

int cli_search_open(cli_session *cli, tkl_search **search)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    return cli_end(cli, tkl_search_open(client, tkl_str(cli->argv[0]), NULL, search));
}

bool cli_search_number(tkl_bytes text, double *number)
{
    char digits[64], *end;
    if (text.len == 0 || text.len >= sizeof digits || strchr(" \t\n", *text.data))
        return false;
    memcpy(digits, text.data, text.len);
    digits[text.len] = '\0';
    *number = strtod(digits, &end);
    return end == digits + text.len && isfinite(*number);
}

/* ---- create -------------------------------------------------------------- */

/* NAME:KIND; the name has no colon, because a query could not name it. */
static int read_field(const cli_session *cli, const char *text, tkl_search_field *field)
{
    const char *colon = strchr(text, ':');
    *field = (tkl_search_field){.kind = TKL_SEARCH_FIELD_TEXT};
    if (!colon)
        return cli_usage(cli, "invalid --field '%s': NAME:numeric or NAME:text", text);
    field->name = (tkl_bytes){text, (size_t)(colon - text)};
    if (strcmp(colon + 1, "numeric") == 0)
        field->kind = TKL_SEARCH_FIELD_NUMERIC;
    else if (strcmp(colon + 1, "text") != 0)
        return cli_usage(cli, "invalid --field '%s': its kind is numeric or text", text);
    return CLI_OK;
}

static int read_fields(const cli_session *cli, tkl_search_field *fields, size_t *count)
{
    int failed = CLI_OK;
    *count = 0;
    for (size_t i = 0; !failed && i < cli->ngiven; i++) {
        if (strcmp(cli->given[i].option->name, "field") != 0)
            continue;
        if (*count == TKL_SEARCH_FIELDS_MAX)
            return cli_usage(cli, "more than %d fields", TKL_SEARCH_FIELDS_MAX);
        failed = read_field(cli, cli->given[i].text, &fields[(*count)++]);
    }
    return failed;
}

int cli_search_read_schema(const cli_session *cli, tkl_search_field *fields,
                           tkl_search_schema *schema)
{
    const char *stop = cli_text(cli, "stop-words", NULL);
    *schema = (tkl_search_schema){.fields = fields,
                                  .stem = cli_text(cli, "stem", NULL),
                                  .stop_words = tkl_str(stop),
                                  .no_stop_words = stop && !*stop,
                                  .user_words = tkl_str(cli_text(cli, "user-words", NULL)),
                                  .accents = cli_flag(cli, "accents"),
                                  .scripts_apart = cli_flag(cli, "scripts-apart"),
                                  .no_bigrams = cli_flag(cli, "no-bigrams"),
                                  .positions = cli_flag(cli, "positions")};
    return read_fields(cli, fields, &schema->field_count);
}

static int search_create(cli_session *cli)
{
    tkl_search *search = NULL;
    tkl_search_field fields[TKL_SEARCH_FIELDS_MAX];
    tkl_search_schema schema;
    int64_t shards = cli_number(cli, "shards", 1);
    if (shards < 1 || shards > TKL_SEARCH_SHARDS_MAX)
        return cli_usage(cli, "--shards is from 1 to %d", TKL_SEARCH_SHARDS_MAX);
    int failed = cli_search_read_schema(cli, fields, &schema);
    schema.no_text = cli_flag(cli, "no-text");
    schema.shards = (int)shards;
    if (!failed)
        failed = cli_search_open(cli, &search);
    if (!failed)
        failed = cli_end(cli, tkl_search_create(search, &schema));
    tkl_search_close(search);
    return failed ? failed : cli_print_done(cli, "created");
}

/* ---- add, remove, get ---------------------------------------------------- */

typedef struct values {
    tkl_search_value items[TKL_SEARCH_FIELDS_MAX];
    size_t count;
} values;

/* NAME=VALUE; the schema says which kind the value has. */
static int read_value(const cli_session *cli, const tkl_search_schema *schema, const char *text,
                      tkl_search_value *value)
{
    const char *equals = strchr(text, '=');
    if (!equals)
        return cli_usage(cli, "invalid --set '%s': FIELD=VALUE is expected", text);
    *value = (tkl_search_value){.field = {text, (size_t)(equals - text)}};
    const tkl_search_field *field = cli_search_field(schema, value->field);
    if (!field)
        return cli_usage(cli, "the index has no field '" TKL_FMT "'", TKL_ARG(value->field));
    if (field->kind == TKL_SEARCH_FIELD_TEXT)
        value->text = tkl_str(equals + 1);
    else if (!cli_search_number(tkl_str(equals + 1), &value->number))
        return cli_usage(cli, "invalid --set '%s': the field is numeric", text);
    return CLI_OK;
}

static int read_values(const cli_session *cli, const tkl_search_schema *schema, values *v)
{
    int failed = CLI_OK;
    for (size_t i = 0; !failed && i < cli->ngiven; i++) {
        if (strcmp(cli->given[i].option->name, "set") != 0)
            continue;
        if (v->count == TKL_SEARCH_FIELDS_MAX)
            return cli_usage(cli, "more than %d fields", TKL_SEARCH_FIELDS_MAX);
        failed = read_value(cli, schema, cli->given[i].text, &v->items[v->count++]);
    }
    return failed;
}

static int print_added(const cli_session *cli, bool is_new)
{
    if (!cli->json) {
        puts(is_new ? "added" : "replaced");
        return CLI_OK;
    }
    return cli_print_json(
        cli, json_pack("{s:o, s:o, s:i}", "name", cli_json_bytes(tkl_str(cli->argv[0])), "id",
                       cli_json_bytes(tkl_str(cli->argv[1])), "added", is_new ? 1 : 0));
}

static int add_document(cli_session *cli, tkl_search *search, const tkl_search_schema *schema)
{
    values v = {.count = 0};
    tkl_search_doc doc = {.id = tkl_str(cli->argv[1])};
    int64_t added = 0;
    int failed = read_values(cli, schema, &v);
    if (!failed)
        failed = cli_payload(cli, 2, &doc.text);
    doc.values = v.items;
    doc.value_count = v.count;
    if (!failed)
        failed = cli_end(cli, tkl_search_add(search, &doc, 1, &added));
    return failed ? failed : print_added(cli, added > 0);
}

static int search_add(cli_session *cli)
{
    tkl_search *search = NULL;
    tkl_search_info *info = NULL;
    int failed = cli_search_open(cli, &search);
    if (!failed)
        failed = cli_end(cli, tkl_search_show(search, &info));
    if (!failed)
        failed = add_document(cli, search, &info->schema);
    tkl_search_info_free(info);
    tkl_search_close(search);
    return failed;
}

typedef struct removing {
    tkl_search *search;
    int64_t removed;
} removing;

static int remove_some(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    removing *r = arg;
    int64_t removed = 0;
    int failed = cli_end(cli, tkl_search_remove(r->search, items, count, &removed));
    r->removed += removed;
    return failed;
}

static int remove_documents(cli_session *cli)
{
    removing r = {.removed = 0};
    int failed = cli_search_open(cli, &r.search);
    if (!failed)
        failed = cli_items(cli, 1, remove_some, &r);
    tkl_search_close(r.search);
    return failed ? failed : cli_print_removed(cli, r.removed);
}

/* Prints all documents that the arguments name; exit code 1 if one is missing. */
static int get_documents(cli_session *cli, tkl_search *search, const tkl_search_schema *schema)
{
    size_t count = (size_t)cli->argc - 1;
    tkl_search_result *found = NULL;
    tkl_bytes *ids = calloc(count, sizeof *ids);
    if (!ids)
        return cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; i < count; i++)
        ids[i] = tkl_str(cli->argv[1 + i]);
    int failed = cli_end(cli, tkl_search_get(search, ids, count, &found));
    if (!failed)
        failed = cli_search_print_documents(cli, schema, found);
    if (!failed && found->count < count)
        failed = cli_answered_no(cli, TKL_NOTFOUND, "not all documents are there");
    tkl_search_result_free(found);
    free(ids);
    return failed;
}

static int search_get(cli_session *cli)
{
    tkl_search *search = NULL;
    tkl_search_info *info = NULL;
    int failed = cli_search_open(cli, &search);
    if (!failed)
        failed = cli_end(cli, tkl_search_show(search, &info));
    if (!failed)
        failed = get_documents(cli, search, &info->schema);
    tkl_search_info_free(info);
    tkl_search_close(search);
    return failed;
}

/* ---- query --------------------------------------------------------------- */

static int search_query(cli_session *cli)
{
    tkl_search *search = NULL;
    cli_search_request request = {.info = NULL};
    int64_t total;
    int failed = cli_search_open(cli, &search);
    if (!failed)
        failed = cli_search_read_request(cli, search, &request);
    if (!failed)
        failed = cli_search_ask(cli, search, tkl_str(cli->argv[1]), &request, &total);
    cli_search_request_free(&request);
    tkl_search_close(search);
    return failed;
}

/* ---- The index ----------------------------------------------------------- */

static json_t *fields_json(const tkl_search_schema *schema)
{
    json_t *fields = json_object();
    for (size_t i = 0; i < schema->field_count; i++) {
        char *name = cli_escape(schema->fields[i].name, false);
        if (name)
            json_object_set_new(fields, name,
                                json_string(tkl_search_kind_name(schema->fields[i].kind)));
        free(name);
    }
    return fields;
}

/* Words separated by spaces; null: the usual ones. */
static json_t *stop_words_json(const tkl_search_schema *schema)
{
    if (schema->no_stop_words)
        return json_string("");
    return cli_json_present(schema->stop_words);
}

static json_t *info_json(const cli_session *cli, const tkl_search_info *info)
{
    const tkl_search_schema *schema = &info->schema;
    json_t *record = json_pack(
        "{s:o, s:I, s:I, s:I, s:I, s:o, s:o}", "name", cli_json_bytes(tkl_str(cli->argv[0])),
        "documents", (json_int_t)info->documents, "terms", (json_int_t)info->terms, "common_terms",
        (json_int_t)info->common, "leftover", (json_int_t)info->leftover, "clean_at",
        info->clean_at_ms ? cli_json_time(info->clean_at_ms) : json_null(), "fields",
        fields_json(schema));
    json_t *rest = json_pack(
        "{s:o, s:o, s:o, s:b, s:b, s:b, s:b, s:b, s:i}", "stem",
        cli_json_present(tkl_str(schema->stem)), "stop_words", stop_words_json(schema),
        "user_words", cli_json_present(schema->user_words), "accents", schema->accents,
        "scripts_apart", schema->scripts_apart, "bigrams", !schema->no_bigrams, "positions",
        schema->positions, "keeps_text", !schema->no_text, "shards", schema->shards);
    json_object_update(record, rest);
    json_decref(rest);
    return record;
}

/* "votes:numeric lang:text" */
static char *fields_text(const tkl_search_schema *schema)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    for (size_t i = 0; to && i < schema->field_count; i++) {
        char *name = cli_escape(schema->fields[i].name, false);
        fprintf(to, "%s%s:%s", i ? " " : "", name ? name : "",
                schema->fields[i].kind == TKL_SEARCH_FIELD_NUMERIC ? "numeric" : "text");
        free(name);
    }
    if (to)
        fclose(to);
    return text;
}

static int print_info(const cli_session *cli, const tkl_search_info *info)
{
    static const cli_column columns[] = {
        {"name", "name"},
        {"documents", "documents"},
        {"terms", "terms"},
        {"common_terms", "common terms"},
        {"leftover", "left over"},
        {"clean_at", "last clean"},
        {"fields", "fields"},
        {"stem", "stems"},
        {"stop_words", "stop words"},
        {"user_words", "user words"},
        {"accents", "accents folded"},
        {"scripts_apart", "scripts apart"},
        {"bigrams", "bigrams"},
        {"positions", "positions"},
        {"keeps_text", "texts kept"},
        {"shards", "shards"},
        {0},
    };
    json_t *record = info_json(cli, info);
    if (!cli->json) {
        char *fields = fields_text(&info->schema);
        json_object_set_new(record, "fields", json_string(fields ? fields : ""));
        if (json_is_null(json_object_get(record, "stop_words")))
            json_object_set_new(record, "stop_words", json_string("the usual ones"));
        free(fields);
    }
    return cli_print_record(cli, record, columns);
}

static int search_info(cli_session *cli)
{
    tkl_search *search = NULL;
    tkl_search_info *about = NULL;
    int failed = cli_search_open(cli, &search);
    if (!failed)
        failed = cli_end(cli, tkl_search_show(search, &about));
    if (!failed)
        failed = print_info(cli, about);
    tkl_search_info_free(about);
    tkl_search_close(search);
    return failed;
}

static int print_checked(const cli_session *cli, const tkl_search_checked *checked)
{
    static const cli_column columns[] = {
        {"name", "name"},
        {"documents", "documents"},
        {"terms", "terms"},
        {"mended_postings", "postings mended"},
        {"mended_values", "values mended"},
        {"mended_counts", "counts mended"},
        {"mended_ids", "ids mended"},
        {"lost", "documents lost"},
        {0},
    };
    return cli_print_record(
        cli,
        json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "name",
                  cli_json_bytes(tkl_str(cli->argv[0])), "documents",
                  (json_int_t)checked->documents, "terms", (json_int_t)checked->terms,
                  "mended_postings", (json_int_t)checked->postings, "mended_values",
                  (json_int_t)checked->values, "mended_counts", (json_int_t)checked->counts,
                  "mended_ids", (json_int_t)checked->ids, "lost", (json_int_t)checked->lost),
        columns);
}

static int search_check(cli_session *cli)
{
    tkl_search *search = NULL;
    tkl_search_checked checked;
    int failed = cli_search_open(cli, &search);
    if (!failed)
        failed = cli_end(cli, tkl_search_check(search, &checked));
    if (!failed)
        failed = print_checked(cli, &checked);
    tkl_search_close(search);
    return failed;
}

static int search_list(cli_session *cli)
{
    return cli_list(cli, tkl_search_names);
}

static int search_drop(cli_session *cli)
{
    tkl_search *search = NULL;
    int failed = cli_confirm(cli, "This deletes the index '%s' with all documents.", cli->argv[0]);
    if (!failed)
        failed = cli_search_open(cli, &search);
    if (!failed)
        failed = cli_end_of(cli, tkl_search_drop(search), "index");
    tkl_search_close(search);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

#define SCHEMA_OPTIONS                                                                            \
    {"field", CLI_TEXT, "NAME:KIND", "a numeric or text field; may be repeated"},                 \
        {"stem", CLI_TEXT, "LANGUAGE", "en: connections finds connected (default: no stems)"},    \
        {"positions", CLI_FLAG, NULL, "keep where words stand, for \"phrases in quotes\""},       \
        {"accents", CLI_FLAG, NULL, "munchen finds München"},                                     \
        {"stop-words", CLI_TEXT, "WORDS",                                                         \
         "words to leave out (default: English and Chinese ones; '': none)"},                     \
        {"user-words", CLI_TEXT, "WORDS", "Chinese words that the dictionary may not know"},      \
        {"scripts-apart", CLI_FLAG, NULL, "traditional characters do not find simplified ones"},  \
    {                                                                                             \
        "no-bigrams", CLI_FLAG, NULL, "Chinese by words only: smaller, and misses parts of words" \
    }

static const cli_option create_options[] = {
    SCHEMA_OPTIONS,
    {"no-text", CLI_FLAG, NULL, "do not keep texts: smaller, and hits have none"},
    {"shards", CLI_INTEGER, "N", "slots of a cluster that share the index (default 1)"},
    {0},
};

static const cli_option parse_options[] = {SCHEMA_OPTIONS, {0}};

static const cli_option add_options[] = {
    {"set", CLI_TEXT, "FIELD=VALUE", "the value of a field; may be repeated"},
    {0},
};

static const cli_option import_options[] = {
    {"format", CLI_CHOICE, "jsonl|csv|tsv", "jsonl, csv or tsv (default: by name or content)"},
    {"id", CLI_TEXT, "NAME", "member or column with the id (default id)"},
    {"text", CLI_TEXT, "NAMES", "members or columns with text, separated by commas (default text)"},
    {"batch", CLI_INTEGER, "N", "documents in one round trip (default 500)"},
    {"max-bad", CLI_INTEGER, "N", "leave out up to N bad rows (default 0: stop at the first)"},
    {0},
};

static const cli_option remove_options[] = {CLI_LINES, {0}};

#define VIEW_OPTIONS                                                                              \
    {"sort", CLI_TEXT, "[-]FIELD", "sort by a field; - sorts downwards (default: by relevance)"}, \
        {"rank", CLI_TEXT, "FIELD=WEIGHT,...", "greatest weighted sum of fields first"},          \
        {"page", CLI_INTEGER, "N", "page to print, from 1 (default 1)"},                          \
        {"size", CLI_INTEGER, "N", "hits on a page; 0 prints the total only (default 10)"},       \
        {"keep", CLI_DURATION, "DURATION", "keep the result this long for further pages"},        \
        {"show", CLI_TEXT, "FIELDS", "show fields, text or all, with matches marked"},            \
        {"length", CLI_INTEGER, "N", "characters of a text to show; 0 is all (default 200)"},     \
        {"marks", CLI_TEXT, "BEFORE,AFTER", "marks around matches in JSON (default <b>,</b>)"},   \
        {"html", CLI_FLAG, NULL, "escape texts with marks for HTML"},                             \
        {"facets", CLI_TEXT, "FIELDS", "count the values of these text fields"},                  \
        {"facet-values", CLI_INTEGER, "N",                                                        \
         "values of each facet, most frequent first (default 10)"},                               \
    {                                                                                             \
        "compare", CLI_INTEGER, "N", "most hits compared one by one (default all)"                \
    }

static const cli_option query_options[] = {VIEW_OPTIONS, {0}};
static const cli_option shell_options[] = {VIEW_OPTIONS, {0}};
static const cli_option drop_options[] = {CLI_YES, {0}};

#define PAGES                                                                      \
    "tackle search create pages --field votes:numeric --field lang:text\n"         \
    "tackle search add pages p1 'Locks on a server' --set votes=3 --set lang=en\n" \
    "tackle search add pages p2 '服务器上的锁' --set votes=5 --set lang=zh\n"

static const cli_verb verbs[] = {
    {
        .name = "create",
        .args = "INDEX",
        .summary = "make an index",
        .options = create_options,
        .details =
            "The settings of an index stay. Creating it again with the same settings does no\n"
            "harm; other settings are an error that names the difference.",
        .example = "tackle search create pages --field votes:numeric --field lang:text\n"
                   "tackle search create notes --stem en --positions --accents\n"
                   "tackle search info notes",
        .effect = CLI_WRITES,
        .run = search_create,
    },
    {
        .name = "add",
        .args = "INDEX ID [TEXT]",
        .summary = "add a document, or replace it",
        .options = add_options,
        .details = "The text is standard input when it is missing or -.",
        .example = PAGES "echo 'Queues and locks' | tackle search add pages p3 --set votes=1",
        .effect = CLI_WRITES,
        .run = search_add,
    },
    {
        .name = "import",
        .args = "INDEX FILE...",
        .summary = "add many documents from files",
        .options = import_options,
        .details =
            "FILE: JSON lines ({\"id\": \"p1\", \"text\": \"...\", \"votes\": 3}) or CSV with a "
            "line\n"
            "of names; - is standard input; .gz files are unpacked. Members and columns that are\n"
            "fields of the index become values, others are left out and named at the end.\n"
            "Documents of the rows before a bad one stay.",
        .example = "tackle search create pages --field votes:numeric --field lang:text\n"
                   "printf 'id,text,votes\\np1,Locks,3\\np2,Queues,5\\n' |\n"
                   "    tackle search import pages -",
        .local = "it reads files of this machine",
        .run = cli_search_import,
    },
    {
        .name = "query",
        .args = "INDEX QUERY",
        .summary = "find documents",
        .options = query_options,
        .details =
            "word word     all of them           conn*        a word that begins with it\n"
            "+word         or this one, instead  \"a b\"        side by side (--positions)\n"
            "              of the one before it  lang:en      the field has this value\n"
            "-word         not this one          lang:e*      its value begins with it\n"
            "*             all documents         votes:>10    also >= < <= =, 1..10, 1.. and ..10\n"
            "\n"
            "Prints the ids, one a line; with --json\n"
            "{\"total\": 2, \"exact\": true, \"ids\": [\"p1\", \"p2\"], \"took_us\": 210, ...}.",
        .example = PAGES "tackle search query pages 'lock +锁 -queue' --sort -votes\n"
                         "tackle search query pages 'votes:>=3' --show all --facets lang --json",
        .dashes = true,
        .effect = CLI_READS,
        .run = search_query,
    },
    {
        .name = "explain",
        .args = "INDEX QUERY [ID]",
        .summary = "why a query finds a document, or does not",
        .details =
            "Prints what the query asks for, and what the document has of it: the words as the\n"
            "index has them, how many documents of the index have each, how often this one has\n"
            "it, and what it adds to the relevance. Without ID it explains the query alone. Exit\n"
            "code 1 when the index has no such document.",
        .example = PAGES "tackle search explain pages 'lock server votes:>5' p1\n"
                         "tackle search explain pages 'lock +锁 -queue' p2 --json",
        .dashes = true,
        .effect = CLI_READS,
        .run = cli_search_explain,
    },
    {
        .name = "parse",
        .args = "QUERY",
        .summary = "how a query is understood, without an index or a server",
        .options = parse_options,
        .details =
            "Prints what the query asks for: a + stands before a synonym of the part above it, a "
            "-\n"
            "before what is excluded. The options are those of 'tackle search create': they say\n"
            "what the index would be like. What an index knows is in 'tackle search explain'.",
        .example = "tackle search parse 'the connections +links -client' --stem en\n"
                   "tackle search parse 'lock OR 锁 votes:>5' --field votes:numeric --json",
        .dashes = true,
        .effect = CLI_READS,
        .run = cli_search_parse,
    },
    {
        .name = "get",
        .args = "INDEX ID...",
        .summary = "documents by their ids",
        .details = "Exit code 1 when one of them is not there.",
        .example = PAGES "tackle search get pages p1 p2 --json",
        .effect = CLI_READS,
        .run = search_get,
    },
    {
        .name = "remove",
        .args = "INDEX [ID...]",
        .summary = "remove documents; prints how many were there",
        .options = remove_options,
        .example = PAGES "tackle search remove pages p1 p2",
        .effect = CLI_WRITES,
        .run = remove_documents,
    },
    {
        .name = "shell",
        .args = "INDEX",
        .summary = "queries line by line; :help shows more",
        .options = shell_options,
        .details =
            "On a terminal the arrow up brings back earlier lines, and Tab completes commands and\n"
            "fields, where libedit (package libedit2) is installed.",
        .example = PAGES "echo lock | tackle search shell pages --show all",
        .local = "it is a conversation on a terminal",
        .run = cli_search_shell,
    },
    {
        .name = "info",
        .args = "INDEX",
        .summary = "how many documents and terms there are, and the schema",
        .example = PAGES "tackle search info pages",
        .effect = CLI_READS,
        .run = search_info,
    },
    {
        .name = "check",
        .args = "INDEX",
        .summary = "find and mend what does not fit in an index",
        .details =
            "Compares all that the index has with the records and terms of its documents, and\n"
            "mends it: after keys were lost, or an append-only file ended in the middle of a\n"
            "write. It works in steps of some milliseconds; others may query and write. It takes\n"
            "long in a large index. Documents of which a part is gone are removed: add them\n"
            "again. The time of the last check is in 'tackle search info'.",
        .example = PAGES "tackle search check pages\n"
                         "tackle search info pages",
        .effect = CLI_WRITES,
        .run = search_check,
    },
    {
        .name = "list",
        .summary = "all indexes",
        .options = cli_list_options,
        .example = PAGES "tackle search list",
        .effect = CLI_READS,
        .run = search_list,
    },
    {
        .name = "drop",
        .args = "INDEX",
        .summary = "delete an index with all documents",
        .options = drop_options,
        .example = "tackle search create tackle-example\n"
                   "tackle search drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = search_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"An index of texts, with a number and a language for each.",
     "tackle search create pages --field votes:numeric --field lang:text --stem en; "
     "tackle search add pages p1 'Connecting to a server' --set votes=3 --set lang=en; "
     "tackle search add pages p2 'Connections of a client' --set votes=9 --set lang=en; "
     "tackle search add pages p3 '连接到服务器' --set votes=5 --set lang=zh",
     0},
    {"English by stems, Chinese by any part of a text, the most votes first.",
     "tackle search query pages 'connect +连接 -client' --sort -votes --show all", 0},
    {"What a search box wants to know.",
     "tackle search query pages 'votes:>1' --facets lang --size 2 --json", 0},
    {0},
};

const cli_component cli_search = {
    .name = "search",
    .summary = "find documents by their words, in any language",
    .verbs = verbs,
    .demo = demo,
};
