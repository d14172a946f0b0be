/* SPDX-License-Identifier: MIT
 *
 * Entries: converts entries of callers to the stored form, and back.
 */
#include <stdio.h>
#include <string.h>

#include "book/book.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/lex.h"

/* ---- Checking ------------------------------------------------------------ */

int tkl__book_check(const tkl_book_entry *entry, size_t index)
{
    if (entry->text.len > TKL_BOOK_TEXT_MAX || (entry->text.len == 0 && entry->id.len == 0))
        return tkl__fail(TKL_EINVAL, "entry %zu: a text has 1 to %d bytes, this one has %zu", index,
                         TKL_BOOK_TEXT_MAX, entry->text.len);
    if (entry->id.len > TKL_BOOK_ID_MAX)
        return tkl__fail(TKL_EINVAL, "entry %zu: an id has up to %d bytes, this one has %zu", index,
                         TKL_BOOK_ID_MAX, entry->id.len);
    if (entry->reserved[0] || entry->reserved[1])
        return tkl__fail(TKL_EINVAL, "entry %zu: its reserved words are not zero", index);
    return TKL_OK;
}

/* Returns how many continuation bytes (0x80 to 0xbf) of a character may follow this byte. */
static size_t bytes_behind(unsigned char c)
{
    return c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
}

/* Counts code points like index.inc.lua: a continuation byte without a first byte, in text that is
 * not UTF-8, counts as one. */
static size_t code_points(tkl_bytes text)
{
    size_t count = 0, behind = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if ((c & 0xc0) == 0x80 && behind > 0) {
            behind--;
        } else {
            behind = bytes_behind(c);
            count++;
        }
    }
    return count;
}

/* ---- Writing ------------------------------------------------------------- */

/* The number of bytes that two texts have in common at their beginnings. */
static size_t common(tkl_bytes a, tkl_bytes b)
{
    size_t n = 0;
    while (n < a.len && n < b.len && a.data[n] == b.data[n])
        n++;
    return n;
}

static bool is_before(tkl_bytes a, tkl_bytes b)
{
    size_t n = common(a, b);
    if (n < a.len && n < b.len)
        return (unsigned char)a.data[n] < (unsigned char)b.data[n];
    return a.len < b.len;
}

/* Returns how many bytes of form `i` are also the beginning of the key or of an earlier form. */
static size_t shared(const tkl_bytes *plain, size_t count, size_t i, tkl_bytes key)
{
    size_t most = common(plain[i], key);
    for (size_t j = 0; j < count; j++) {
        size_t n = is_before(plain[j], plain[i]) ? common(plain[j], plain[i]) : 0;
        most = n > most ? n : most;
    }
    return most;
}

static void add_plain(tkl__buf *out, tkl_bytes form)
{
    for (size_t i = 0; i < form.len; i++)
        if (form.data[i] != TKL__TEXT_SYLLABLE)
            tkl__lex_escape(out, (tkl_bytes){form.data + i, 1});
}

/* Appends the spellings of each character, and a row for each form. `key` is the folded text, not
 * escaped. */
static int write_forms(const tkl__text_form_list *forms, tkl_bytes key, tkl__buf *out)
{
    tkl_bytes plain[TKL__TEXT_FORMS_MAX];
    size_t starts[TKL__TEXT_FORMS_MAX + 1] = {0};
    tkl__buf store, escaped;
    tkl__buf_init(&store);
    tkl__buf_init(&escaped);
    tkl__lex_escape(&escaped, key);
    for (size_t i = 0; i < forms->count; i++) {
        add_plain(&store, forms->items[i]);
        starts[i + 1] = store.len;
    }
    for (size_t i = 0; i < forms->count; i++)
        plain[i] = (tkl_bytes){store.data + starts[i], starts[i + 1] - starts[i]};
    tkl__lex_escape(out, forms->letters);
    for (size_t i = 0; i < forms->count; i++) {
        tkl_bytes whole = {escaped.data, escaped.len};
        tkl__buf_add(out, "", 1);
        tkl__buf_addf(out, "%zu ", shared(plain, forms->count, i, whole));
        tkl__lex_escape(out, forms->items[i]);
    }
    bool failed = store.failed || escaped.failed;
    tkl__buf_free(&store);
    tkl__buf_free(&escaped);
    return failed ? tkl__nomem() : TKL_OK;
}

static int add_forms(tkl_bytes folded, unsigned settings, tkl__buf *out, tkl__book_record *record)
{
    tkl__text_form_list forms;
    int rc = tkl__text_forms(folded, &forms);
    if (rc == TKL_OK)
        rc = write_forms(&forms, folded, out);
    record->cost += forms.count;
    if (settings & TKL__BOOK_CONTAINS)
        record->cost += forms.count * TKL__TEXT_FORMS_REACH;
    tkl__text_form_list_free(&forms);
    return rc;
}

static int check_folded(tkl_bytes folded, unsigned settings)
{
    if (folded.len > TKL__BOOK_KEY_MAX)
        return tkl__fail(TKL_EINVAL,
                         "a text has %zu bytes when it is folded: up to %d are possible",
                         folded.len, TKL__BOOK_KEY_MAX);
    if (settings & TKL__BOOK_CONTAINS && code_points(folded) > TKL_BOOK_CONTAINS_MAX)
        return tkl__fail(TKL_EINVAL,
                         "a text has %zu characters: up to %d are possible in a book with contains",
                         code_points(folded), TKL_BOOK_CONTAINS_MAX);
    return TKL_OK;
}

static void write_entry(const tkl_book_entry *entry, tkl_bytes folded, tkl__buf *out)
{
    tkl__lex_escape(out, folded);
    tkl__buf_add(out, "", 1);
    if (!tkl__same_bytes(folded, entry->text))
        tkl__lex_escape(out, entry->text);
    if (entry->id.len) {
        tkl__buf_add(out, "", 1);
        tkl__buf_add(out, entry->id.data, entry->id.len);
    }
}

int tkl__book_make_record(const tkl_book_entry *entry, unsigned settings, tkl__buf *out,
                          tkl__book_record *record)
{
    tkl__buf folded;
    tkl__buf_init(&folded);
    int rc = tkl__text_fold(entry->text, tkl__book_fold(settings), &folded);
    tkl_bytes key = {folded.data, folded.len};
    if (rc == TKL_OK)
        rc = check_folded(key, settings);
    if (rc == TKL_OK) {
        record->cost = 1 + (settings & TKL__BOOK_CONTAINS ? code_points(key) : 0);
        record->entry = out->len;
        write_entry(entry, key, out);
        record->entry_len = out->len - record->entry;
        record->forms = out->len;
        if (settings & TKL__BOOK_PINYIN)
            rc = add_forms(key, settings, out, record);
        record->forms_len = out->len - record->forms;
    }
    tkl__buf_free(&folded);
    return rc == TKL_OK && out->failed ? tkl__nomem() : rc;
}

/* ---- Reading ------------------------------------------------------------- */

/* Splits the bytes at the first NUL. */
static bool split_at_nul(tkl_bytes bytes, tkl_bytes *before, tkl_bytes *behind)
{
    const char *nul = bytes.len ? memchr(bytes.data, 0, bytes.len) : NULL;
    if (!nul)
        return false;
    *before = (tkl_bytes){bytes.data, (size_t)(nul - bytes.data)};
    *behind = (tkl_bytes){nul + 1, bytes.len - before->len - 1};
    return true;
}

bool tkl__book_part_read(tkl_bytes bytes, tkl__book_member *member)
{
    tkl_bytes key, behind;
    *member = (tkl__book_member){.shared = 0};
    return split_at_nul(bytes, &member->key, &member->entry) &&
           split_at_nul(member->entry, &key, &behind);
}

bool tkl__book_member_read(tkl_bytes bytes, tkl__book_member *member)
{
    tkl_bytes behind;
    *member = (tkl__book_member){.entry = bytes};
    if (!split_at_nul(bytes, &member->key, &behind))
        return false;
    if (behind.len < 2 || memcmp(behind.data, "\x01\x01", 2) != 0)
        return true;
    size_t i = 2;
    for (; i < behind.len && behind.data[i] >= '0' && behind.data[i] <= '9'; i++)
        member->shared = member->shared * 10 + (size_t)(behind.data[i] - '0');
    if (i == behind.len || behind.data[i] != ' ')
        return false;
    member->entry = (tkl_bytes){behind.data + i + 1, behind.len - i - 1};
    member->form = true;
    tkl_bytes key, rest;
    return split_at_nul(member->entry, &key, &rest);
}

size_t tkl__book_entry_read(tkl_bytes entry, char *store, tkl_book_answer *answer)
{
    tkl_bytes key, text, id = {NULL, 0};
    if (!split_at_nul(entry, &key, &text))
        return 0;
    tkl_bytes rest = text;
    split_at_nul(rest, &text, &id);
    size_t len = tkl__lex_unescape(text.len ? text : key, store);
    answer->text = (tkl_bytes){store, len};
    if (id.len)
        memcpy(store + len, id.data, id.len);
    answer->id = (tkl_bytes){store + len, id.len};
    return len + id.len;
}
