/* SPDX-License-Identifier: MIT
 *
 * Queries of books: folded, and read as mixtures of characters, pinyin and initials.
 */
#include <ctype.h>
#include <string.h>

#include "book/book.h"
#include "core/error.h"
#include "core/lex.h"

unsigned tkl__book_fold(unsigned settings)
{
    return TKL__TEXT_FOLD_HANGUL | (settings & TKL__BOOK_ACCENTS ? TKL__TEXT_FOLD_ACCENTS : 0U);
}

void tkl__book_query_init(tkl__book_query *query)
{
    tkl__buf_init(&query->folded);
    tkl__buf_init(&query->key);
    query->mixes.count = 0;
}

int tkl__book_query_make(tkl_bytes text, unsigned settings, tkl__book_query *query)
{
    tkl__buf_clear(&query->folded);
    tkl__buf_clear(&query->key);
    query->mixes.count = 0;
    int rc = tkl__text_fold(text, tkl__book_fold(settings), &query->folded);
    tkl_bytes folded = {query->folded.data, query->folded.len};
    if (rc == TKL_OK)
        tkl__lex_escape(&query->key, folded);
    if (rc == TKL_OK && settings & TKL__BOOK_PINYIN)
        rc = tkl__text_mixes(folded, &query->mixes);
    return rc == TKL_OK && query->key.failed ? tkl__nomem() : rc;
}

void tkl__book_query_free(tkl__book_query *query)
{
    tkl__buf_free(&query->folded);
    tkl__buf_free(&query->key);
}

/* ---- Mixes --------------------------------------------------------------- */

/* Adds a copy of the bytes as an argument. */
static void add_copy(tkl__args *args, const tkl__buf *bytes)
{
    char *room = tkl__args_room(args, bytes->len);
    if (room && bytes->len)
        memcpy(room, bytes->data, bytes->len);
}

/* Appends the bytes, escaped for a Lua pattern. */
static void add_literal(tkl__buf *out, tkl_bytes bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        tkl__buf_addz(out, c < 0x80 && ispunct(c) ? "%" : "");
        tkl__buf_add(out, bytes.data + i, 1);
    }
}

/* Appends a pattern that matches, for each part, a character with this spelling. The script adds
 * the beginning of the pattern. See `letters` of tkl__text_form_list. */
static void add_pattern(tkl__buf *out, const tkl__text_mix *mix)
{
    tkl__buf escaped;
    tkl__buf_init(&escaped);
    for (size_t i = 0; i < mix->count; i++) {
        const tkl__text_mix_part *part = &mix->parts[i];
        tkl__buf_clear(&escaped);
        tkl__lex_escape(&escaped, part->bytes);
        tkl__buf_addz(out, i ? "[\x1e\x1f][^\x1e\x1f]*," : "[^\x1e\x1f]*,");
        add_literal(out, (tkl_bytes){escaped.data, escaped.len});
        tkl__buf_addz(out, part->whole ? "," : "");
        tkl__buf_addz(out, i + 1 < mix->count ? "[^\x1e\x1f]*" : "");
    }
    out->failed = out->failed || escaped.failed;
    tkl__buf_free(&escaped);
}

int tkl__book_query_mixes(const tkl__book_query *query, tkl__args *args)
{
    tkl__buf initials, scratch;
    tkl__buf_init(&initials);
    tkl__buf_init(&scratch);
    for (size_t i = 0; i < query->mixes.count; i++) {
        const tkl__text_mix *mix = &query->mixes.items[i];
        tkl__buf_clear(&initials);
        tkl__lex_escape(&initials, (tkl_bytes){mix->initials, mix->len});
        add_copy(args, &initials);
        tkl__buf_clear(&scratch);
        tkl__lex_above(&scratch, (tkl_bytes){initials.data, initials.len});
        add_copy(args, &scratch);
        tkl__buf_clear(&scratch);
        add_pattern(&scratch, mix);
        add_copy(args, &scratch);
    }
    bool failed = initials.failed || scratch.failed;
    tkl__buf_free(&initials);
    tkl__buf_free(&scratch);
    return failed ? tkl__nomem() : TKL_OK;
}
