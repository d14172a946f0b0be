/* SPDX-License-Identifier: MIT
 *
 * Address books from the shell.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "holders.h"
#include "items.h"
#include "lines.h"
#include "out.h"
#include "progress.h"

static int open_book(cli_session *cli, const tkl_book_options *options, tkl_book **book)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    return cli_end(cli, tkl_book_open(client, tkl_str(cli->argv[0]), options, book));
}

/* ---- Adding and removing ------------------------------------------------- */

/* A change of all items. */
typedef struct work {
    tkl_book *book;
    bool removal;
    bool ids;       /* lines begin with an id and a tab */
    const char *id; /* id of the only item; NULL: none */
    int64_t changed;
    uint64_t seen;
    cli_progress bar;
} work;

static int split_line(cli_session *cli, tkl_bytes row, size_t number, tkl_book_entry *entry)
{
    const char *tab = row.len ? memchr(row.data, '\t', row.len) : NULL;
    if (!tab)
        return cli_usage(cli, "line %zu: no tab after the id", number);
    size_t len = (size_t)(tab - row.data);
    entry->id = (tkl_bytes){row.data, len};
    entry->text = (tkl_bytes){tab + 1, row.len - len - 1};
    return CLI_OK;
}

static int work_on_entries(cli_session *cli, const tkl_book_entry *entries, size_t count, work *w)
{
    int64_t changed = 0;
    int rc = w->removal ? tkl_book_remove(w->book, entries, count, &changed)
                        : tkl_book_add(w->book, entries, count, &changed);
    if (rc != TKL_OK)
        cli_progress_end(&w->bar);
    w->changed += changed;
    cli_progress_update(&w->bar, w->seen += count);
    return cli_end_items(cli, rc, count);
}

static int work_on_some(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    work *w = arg;
    int failed = CLI_OK;
    tkl_book_entry *entries = calloc(count, sizeof *entries);
    if (!entries)
        return cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; !failed && i < count; i++) {
        entries[i].text = items[i];
        if (w->id)
            entries[i].id = tkl_str(w->id);
        if (w->ids)
            failed = split_line(cli, items[i], cli_item_line(i), &entries[i]);
    }
    if (!failed)
        failed = work_on_entries(cli, entries, count, w);
    free(entries);
    return failed;
}

static int work_on_all(cli_session *cli, work *w, const tkl_book_options *options)
{
    w->ids = cli_flag(cli, "ids");
    w->id = cli_text(cli, "id", NULL);
    if (w->id && (w->ids || cli_flag(cli, "lines") || cli->argc > 2))
        return cli_usage(cli, "--id is for one text");
    if (w->ids && !cli_flag(cli, "lines"))
        return cli_usage(cli, "--ids is for --lines");
    int failed = open_book(cli, options, &w->book);
    cli_progress_start(&w->bar, w->removal ? "removed:" : "added:", 0);
    if (!failed)
        failed = cli_text_items(cli, 1, work_on_some, w);
    cli_progress_end(&w->bar);
    tkl_book_close(w->book);
    return failed;
}

static int book_add(cli_session *cli)
{
    work w = {.removal = false};
    tkl_book_options options = {
        .ttl_ms = cli_number(cli, "ttl", 0),
        .accents = cli_flag(cli, "accents") ? TKL_SETTING_ON : TKL_SETTING_AS_IS,
        .pinyin = cli_flag(cli, "pinyin") ? TKL_SETTING_ON : TKL_SETTING_AS_IS,
        .contains = cli_flag(cli, "contains") ? TKL_SETTING_ON : TKL_SETTING_AS_IS,
    };
    int failed = work_on_all(cli, &w, &options);
    return failed ? failed : cli_print_count(cli, "added", w.changed);
}

/* Removes the entry with an id: no text is needed. */
static int remove_by_id(cli_session *cli, const char *id)
{
    work w = {.removal = true};
    tkl_book_entry entry = {.id = tkl_str(id)};
    if (cli->argc > 1 || cli_flag(cli, "lines"))
        return cli_usage(cli, "either --id or texts");
    int failed = open_book(cli, NULL, &w.book);
    if (!failed)
        failed = work_on_entries(cli, &entry, 1, &w);
    tkl_book_close(w.book);
    return failed ? failed : cli_print_removed(cli, w.changed);
}

static int remove_entries(cli_session *cli)
{
    work w = {.removal = true};
    const char *id = cli_text(cli, "id", NULL);
    if (id)
        return remove_by_id(cli, id);
    int failed = work_on_all(cli, &w, NULL);
    return failed ? failed : cli_print_removed(cli, w.changed);
}

static int rename_entry(cli_session *cli)
{
    tkl_book *book = NULL;
    const char *id = cli_text(cli, "id", NULL);
    tkl_book_entry entry = {.id = tkl_str(id)};
    if (cli->argc != (id ? 2 : 3))
        return cli_usage(cli, id ? "one text with --id" : "two texts: the old and the new one");
    if (!id)
        entry.text = tkl_str(cli->argv[1]);
    int failed = open_book(cli, NULL, &book);
    if (!failed)
        failed = cli_end(cli, tkl_book_rename(book, &entry, tkl_str(cli->argv[cli->argc - 1])));
    tkl_book_close(book);
    return failed ? failed : cli_print_done(cli, "renamed");
}

/* ---- Looking ------------------------------------------------------------- */

static json_t *id_json(const tkl_book_answer *answer)
{
    return cli_json_present(answer->id);
}

static void collect_answers(const tkl_book_answers *page, bool ids, json_t *all)
{
    for (size_t i = 0; i < page->count; i++) {
        const tkl_book_answer *a = &page->items[i];
        json_t *text = cli_json_bytes(a->text);
        json_array_append_new(all,
                              ids ? json_pack("{s:o, s:o}", "id", id_json(a), "text", text) : text);
    }
}

static void print_lines(const tkl_book_answers *page, bool ids)
{
    for (size_t i = 0; i < page->count; i++) {
        if (ids) {
            cli_print_bytes(page->items[i].id);
            putchar('\t');
        }
        cli_print_bytes(page->items[i].text);
        putchar('\n');
    }
}

/* Prints the entries found as an array; with --more as an object that says whether there are more,
 * and has `value` under the name `what`. Takes over `value`. */
static int print_array(cli_session *cli, json_t *found, bool more, const char *what, json_t *value)
{
    if (cli_flag(cli, "more"))
        return cli_print_json(
            cli, json_pack("{s:o, s:b, s:o}", "found", found, "more", more, what, value));
    json_decref(value);
    return cli_print_json(cli, found);
}

/* ---- Places where pages begin: bytes, written as hex digits --------------- */

/* Returns the bytes in hex digits, to be freed; NULL: out of memory. */
static char *hex_of(tkl_bytes bytes)
{
    char *text = malloc(2 * bytes.len + 1);
    for (size_t i = 0; text != NULL && i < bytes.len; i++)
        sprintf(text + 2 * i, "%02x", (unsigned char)bytes.data[i]);
    if (text != NULL)
        text[2 * bytes.len] = '\0';
    return text;
}

/* Reads --after. *bytes is to be freed. */
static int read_after(const cli_session *cli, char **bytes, tkl_bytes *after)
{
    const char *text = cli_text(cli, "after", "");
    size_t len = strlen(text);
    *bytes = NULL;
    *after = (tkl_bytes){NULL, 0};
    if (len % 2 != 0 || strspn(text, "0123456789abcdef") != len || (cli_flag(cli, "after") && !len))
        return cli_usage(cli, "invalid --after: what the page before it printed as `next`");
    *bytes = malloc(len / 2 + 1);
    if (*bytes == NULL)
        return cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; i < len / 2; i++) {
        unsigned value = 0;
        sscanf(text + 2 * i, "%2x", &value);
        (*bytes)[i] = (char)value;
    }
    *after = (tkl_bytes){*bytes, len / 2};
    return CLI_OK;
}

static int check_more(cli_session *cli)
{
    return cli_flag(cli, "more") && !cli->json ? cli_usage(cli, "--more is for --json") : CLI_OK;
}

/* Fetches pages until there are enough entries; usually one. *next: where the next one begins, to
 * be freed; NULL: there are no more. */
static int print_pages(cli_session *cli, tkl_book *book, tkl_bytes after, size_t count, json_t *all,
                       bool *more, char **next)
{
    tkl_book_answers *page = NULL, *before = NULL;
    tkl_bytes prefix = tkl_str(cli->argv[1]);
    bool ids = cli_flag(cli, "ids");
    int failed = CLI_OK;
    do {
        failed = cli_end(cli, tkl_book_complete(book, prefix, count, after, &page));
        tkl_book_answers_free(before);
        before = page;
        if (failed)
            break;
        if (cli->json)
            collect_answers(page, ids, all);
        else
            print_lines(page, ids);
        count -= page->count;
        after = page->next;
    } while (count > 0 && after.len > 0);
    *more = !failed && page->more;
    *next = !failed && after.len > 0 ? hex_of(after) : NULL;
    if (!failed && after.len > 0 && *next == NULL)
        failed = cli_end(cli, TKL_ENOMEM);
    tkl_book_answers_free(before);
    return failed;
}

static int book_complete(cli_session *cli)
{
    tkl_book *book = NULL;
    char *bytes = NULL, *next = NULL;
    tkl_bytes after;
    int64_t count = cli_number(cli, "count", 10);
    bool more = false;
    if (count < 0)
        return cli_usage(cli, "--count is 0 or more");
    int failed = check_more(cli);
    if (!failed)
        failed = read_after(cli, &bytes, &after);
    if (failed)
        return failed;
    json_t *all = json_array();
    failed = open_book(cli, NULL, &book);
    if (!failed)
        failed = print_pages(cli, book, after, (size_t)count, all, &more, &next);
    tkl_book_close(book);
    free(bytes);
    if (!failed && cli->json)
        failed =
            print_array(cli, all, more, "next", next != NULL ? json_string(next) : json_null());
    else
        json_decref(all);
    if (!failed && !cli->json && next != NULL)
        fprintf(stderr, "There may be more: --after %s\n", next);
    free(next);
    return failed;
}

static const cli_column found_columns[] = {
    {"text", "TEXT"},
    {"match", "MATCH"},
    {"id", "ID"},
    {0},
};

static int print_found(cli_session *cli, const tkl_book_answers *answers)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < answers->count; i++) {
        const tkl_book_answer *a = &answers->items[i];
        json_array_append_new(rows,
                              json_pack("{s:o, s:s, s:o}", "text", cli_json_bytes(a->text), "match",
                                        tkl_book_match_name(a->match), "id", id_json(a)));
    }
    if (cli->json)
        return print_array(cli, rows, answers->more, "parts", json_boolean(answers->parts));
    int failed = cli_print_rows(cli, rows, found_columns);
    if (!failed && answers->more)
        fprintf(stderr, "There may be more: --count.\n");
    return failed;
}

static int book_find(cli_session *cli)
{
    tkl_book *book = NULL;
    tkl_book_answers *answers = NULL;
    int64_t count = cli_number(cli, "count", 10);
    if (count < 0 || count > TKL_BOOK_ANSWERS_MAX)
        return cli_usage(cli, "--count is from 0 to %d", TKL_BOOK_ANSWERS_MAX);
    int failed = check_more(cli);
    if (!failed)
        failed = open_book(cli, NULL, &book);
    if (!failed)
        failed = cli_end(cli, tkl_book_find(book, tkl_str(cli->argv[1]), (size_t)count, &answers));
    if (!failed)
        failed = print_found(cli, answers);
    tkl_book_info *info = NULL;
    if (!failed && !cli->json && !answers->parts && tkl_book_show(book, &info) == TKL_OK &&
        !info->contains)
        fprintf(stderr, "Ends and other parts of names were not searched: "
                        "the book was made without --contains.\n");
    tkl_book_info_free(info);
    tkl_book_answers_free(answers);
    tkl_book_close(book);
    return failed;
}

/* ---- The whole ----------------------------------------------------------- */

static const cli_column info_columns[] = {
    {"name", "name"},     {"entries", "entries"},   {"accents", "accents"},
    {"pinyin", "pinyin"}, {"contains", "contains"}, {0},
};

static int book_show(cli_session *cli)
{
    tkl_book *book = NULL;
    tkl_book_info *info = NULL;
    int failed = open_book(cli, NULL, &book);
    if (!failed)
        failed = cli_end_of(cli, tkl_book_show(book, &info), "book");
    tkl_book_close(book);
    if (failed)
        return failed;
    json_t *record =
        json_pack("{s:o, s:I, s:b, s:b, s:b}", "name", cli_json_bytes(tkl_str(cli->argv[0])),
                  "entries", (json_int_t)info->entries, "accents", info->accents, "pinyin",
                  info->pinyin, "contains", info->contains);
    tkl_book_info_free(info);
    return cli_print_record(cli, record, info_columns);
}

static int book_list(cli_session *cli)
{
    return cli_list(cli, tkl_book_names);
}

static int book_drop(cli_session *cli)
{
    tkl_book *book = NULL;
    int failed = cli_confirm(cli, "This deletes the book '%s' with all its entries.", cli->argv[0]);
    if (!failed)
        failed = open_book(cli, NULL, &book);
    if (!failed)
        failed = cli_end_of(cli, tkl_book_drop(book), "book");
    tkl_book_close(book);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

#define ID(text)                     \
    {                                \
        "id", CLI_TEXT, "ID", (text) \
    }
#define IDS(text)                     \
    {                                 \
        "ids", CLI_FLAG, NULL, (text) \
    }

#define MORE                                                                                 \
    {                                                                                        \
        "more", CLI_FLAG, NULL, "with --json: an object, {\"found\": [...], \"more\": true}" \
    }

static const cli_option add_options[] = {
    ID("id of the one text; adding the id again renames it"),
    CLI_LINES,
    IDS("each line is ID, a tab, TEXT"),
    {"accents", CLI_FLAG, NULL, "for a new book: muller finds Müller"},
    {"pinyin", CLI_FLAG, NULL, "for a new book: zhang, zsf and zhangsf find 张三丰"},
    {"contains", CLI_FLAG, NULL, "for a new book: find any part of a name (needs memory)"},
    {"ttl", CLI_PERIOD, "DURATION", "the book expires this long after the last write"},
    {0},
};

static const cli_option remove_options[] = {
    ID("remove the entry with this id, instead of texts"),
    CLI_LINES,
    IDS("each line is ID, a tab, TEXT; entries are removed by ID"),
    {0},
};

static const cli_option rename_options[] = {
    ID("rename the entry with this id"),
    {0},
};

static const cli_option complete_options[] = {
    {"count", CLI_INTEGER, "N", "print at most N (default 10)"},
    {"after", CLI_TEXT, "PLACE", "go on where another page ended"},
    IDS("print the ids, too"),
    MORE,
    {0},
};

static const cli_option find_options[] = {
    {"count", CLI_INTEGER, "N", "print at most N (default 10, up to 1000)"},
    MORE,
    {0},
};

static const cli_option drop_options[] = {
    CLI_YES,
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "add",
        .args = "BOOK [TEXT...]",
        .summary = "add names; prints how many are new",
        .options = add_options,
        .details = "The book remembers --accents, --pinyin and --contains of its first add; a\n"
                   "program that asks for other settings is refused.",
        .example = "tackle book add staff 张三丰 'Ann Lee' Müller --pinyin --accents --contains\n"
                   "printf '7\\tBob\\n8\\tEve\\n' | tackle book add staff --lines --ids",
        .effect = CLI_WRITES,
        .run = book_add,
    },
    {
        .name = "remove",
        .args = "BOOK [TEXT...]",
        .summary = "remove names; prints how many were there",
        .options = remove_options,
        .example = "tackle book add staff Bob Eve\n"
                   "tackle book remove staff Bob",
        .effect = CLI_WRITES,
        .run = remove_entries,
    },
    {
        .name = "rename",
        .args = "BOOK TEXT [NEWTEXT]",
        .summary = "give an entry another text, in one step; with --id the new text alone",
        .options = rename_options,
        .example = "tackle book add staff 'Ann Lee' --id 7\n"
                   "tackle book rename staff 'Ann Miller' --id 7 --json",
        .effect = CLI_WRITES,
        .run = rename_entry,
    },
    {
        .name = "complete",
        .args = "BOOK PREFIX",
        .summary = "names that begin with PREFIX, in order",
        .options = complete_options,
        .details = "When there may be more than --count, a line on standard error says where the\n"
                   "next page begins: --after. With --json --more it is `next`; null: no more.",
        .example = "tackle book add staff Anna 'Ann Lee' Bob\n"
                   "tackle book complete staff ann --json\n"
                   "next=$(tackle book complete staff a --count 1 --json --more | jq -r .next)\n"
                   "tackle book complete staff a --count 1 --after \"$next\"",
        .effect = CLI_READS,
        .run = book_complete,
    },
    {
        .name = "find",
        .args = "BOOK TEXT",
        .summary = "names that equal TEXT, begin with it, end with it or contain it",
        .options = find_options,
        .details =
            "In this order. The last two need a book with --contains: if it has none, a line on\n"
            "standard error says so, as it does when there may be more than --count. With --json\n"
            "--more the result says both: `parts`, `more`.",
        .example = "tackle book add people Anna Hanna Joanna Annabel --contains\n"
                   "tackle book find people anna --json",
        .effect = CLI_READS,
        .run = book_find,
    },
    {
        .name = "show",
        .args = "BOOK",
        .summary = "how many entries a book has, and its settings",
        .example = "tackle book add staff Anna\n"
                   "tackle book show staff",
        .effect = CLI_READS,
        .run = book_show,
    },
    {
        .name = "list",
        .summary = "all books",
        .options = cli_list_options,
        .example = "tackle book add staff Anna\n"
                   "tackle book list",
        .effect = CLI_READS,
        .run = book_list,
    },
    {
        .name = "drop",
        .args = "BOOK",
        .summary = "delete a book with its settings",
        .options = drop_options,
        .example = "tackle book add tackle-example Anna\n"
                   "tackle book drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = book_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"An address book in any language, by pinyin and without accents, too.",
     "tackle book add staff 张三丰 Anna Hanna Müller --pinyin --accents --contains; "
     "tackle book complete staff zs --json; tackle book complete staff mul --json",
     0},
    {"Found by any part: exact, then prefix, suffix, contains.", "tackle book find staff anna", 0},
    {0},
};

const cli_component cli_book = {
    .name = "book",
    .summary = "address books: names completed and found while typing",
    .verbs = verbs,
    .demo = demo,
};
