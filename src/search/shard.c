/* SPDX-License-Identifier: MIT
 *
 * Shards and terms: the names of their keys.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/error.h"
#include "search/search.h"

static const char *const parts[TKL__SEARCH_KEYS] = {
    [TKL__SEARCH_META] = "meta",     [TKL__SEARCH_IDS] = "ids",
    [TKL__SEARCH_DOCS] = "docs",     [TKL__SEARCH_FORWARD] = "forward",
    [TKL__SEARCH_TEXTS] = "texts",   [TKL__SEARCH_LIVE] = "live",
    [TKL__SEARCH_DEAD] = "dead",     [TKL__SEARCH_FREE] = "free",
    [TKL__SEARCH_TERMS] = "terms",   [TKL__SEARCH_COMMON] = "common",
    [TKL__SEARCH_LADDER] = "ladder", [TKL__SEARCH_SCRATCH] = "scratch",
};

/* "ns:search:{name}" is the first shard, "ns:search:{name%233}" the fourth. No name of an index
 * looks like that, because a '%' in a name is written "%25". */
static int make_base(tkl_client *client, tkl_bytes name, size_t index, tkl__base *base)
{
    char number[32];
    int rc = tkl__base_make(client, "search", name, base);
    if (rc != TKL_OK || index == 0)
        return rc;
    size_t more = (size_t)snprintf(number, sizeof number, "%%23%zu}", index);
    char *longer = realloc(base->data, base->len + more);
    if (!longer)
        return tkl__nomem();
    memcpy(longer + base->len - 1, number, more + 1);
    base->data = longer;
    base->len += more - 1;
    return TKL_OK;
}

static int make_field_key(tkl__search_shard *shard, const tkl__search_schema *schema, size_t i)
{
    char part[TKL_SEARCH_FIELD_NAME_MAX + 8];
    snprintf(part, sizeof part, "f:" TKL_FMT, TKL_ARG(schema->fields[i].name));
    return tkl__key_make(&shard->base, part, &shard->fields[i]);
}

static int make_steps(tkl__search_shard *shard, const tkl__search_schema *schema)
{
    size_t count = schema->is.field_count * TKL__SEARCH_FIELD_STEPS;
    int rc = TKL_OK;
    shard->steps = calloc(count + 1, sizeof *shard->steps);
    if (!shard->steps)
        return tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        char part[TKL_SEARCH_FIELD_NAME_MAX + 32];
        tkl_bytes name = schema->fields[i / TKL__SEARCH_FIELD_STEPS].name;
        size_t at = i % TKL__SEARCH_FIELD_STEPS, end = at / TKL__SEARCH_STEPS;
        snprintf(part, sizeof part, "step:" TKL_FMT ":%s:%zu", TKL_ARG(name),
                 end == 0   ? "top"
                 : end == 1 ? "low"
                            : "rung",
                 (end < 2 ? at % TKL__SEARCH_STEPS : at - 2 * TKL__SEARCH_STEPS) + 1);
        rc = tkl__key_make(&shard->base, part, &shard->steps[i]);
        shard->step_count = i + 1;
    }
    return rc;
}

int tkl__search_shard_open(tkl_client *client, tkl_bytes name, size_t index,
                           const tkl__search_schema *schema, tkl__search_shard *shard)
{
    int rc = make_base(client, name, index, &shard->base);
    for (size_t i = 0; rc == TKL_OK && i < TKL__SEARCH_KEYS; i++) {
        const char *part = index && i == TKL__SEARCH_META ? "shard" : parts[i];
        rc = tkl__key_make(&shard->base, part, &shard->keys[i]);
    }
    for (size_t i = 0; rc == TKL_OK && i < schema->is.field_count; i++)
        rc = make_field_key(shard, schema, i);
    for (size_t i = 0; rc == TKL_OK && i < TKL__SEARCH_BANDS; i++) {
        char part[32];
        snprintf(part, sizeof part, "t:l%zu", i);
        rc = tkl__key_make(&shard->base, part, &shard->bands[i]);
    }
    return rc == TKL_OK ? make_steps(shard, schema) : rc;
}

void tkl__search_shard_close(tkl__search_shard *shard)
{
    for (size_t i = 0; i < TKL__SEARCH_KEYS; i++)
        free((char *)shard->keys[i].data);
    for (size_t i = 0; i < TKL_SEARCH_FIELDS_MAX; i++)
        free((char *)shard->fields[i].data);
    for (size_t i = 0; i < shard->step_count; i++)
        free((char *)shard->steps[i].data);
    free(shard->steps);
    for (size_t i = 0; i < TKL__SEARCH_BANDS; i++)
        free((char *)shard->bands[i].data);
    tkl__base_free(&shard->base);
}

size_t tkl__search_shard_of(const tkl__search_schema *schema, tkl_bytes id)
{
    return schema->shard_count == 1 ? 0
                                    : (size_t)(XXH3_64bits(id.data, id.len) % schema->shard_count);
}

/* ---- Terms --------------------------------------------------------------- */

/* Shortens the term that was appended at `start`, if it is too long. */
static void shorten(tkl__buf *out, size_t start)
{
    size_t len = out->len - start;
    if (out->failed || len <= TKL__SEARCH_TERM_MAX)
        return;
    XXH128_hash_t hash = XXH3_128bits(out->data + start, len);
    out->len = start + TKL__SEARCH_PREFIX_BYTES;
    tkl__buf_addf(out, "\x02%016llx%016llx", (unsigned long long)hash.high64,
                  (unsigned long long)hash.low64);
}

void tkl__search_term_word(tkl__buf *out, tkl_bytes word)
{
    size_t start = out->len;
    tkl__buf_add(out, "w", 1);
    tkl__buf_add(out, word.data, word.len);
    shorten(out, start);
}

size_t tkl__search_band_of(uint32_t length)
{
    double band = length ? floor(log2(length) * TKL__SEARCH_BANDS_PER_OCTAVE) : 0;
    return band < TKL__SEARCH_BANDS ? (size_t)band : TKL__SEARCH_BANDS - 1;
}

void tkl__search_term_band(tkl__buf *out, size_t band)
{
    tkl__buf_addf(out, "l%zu", band);
}

void tkl__search_term_several(tkl__buf *out, tkl_bytes word_term, size_t index)
{
    tkl__buf_addf(out, "m%d", 2 << index);
    tkl__buf_add(out, word_term.data + 1, word_term.len - 1);
}

size_t tkl__search_several_of(uint32_t times)
{
    size_t count = 0;
    while (count < TKL__SEARCH_SEVERAL && times >= 2U << count)
        count++;
    return count;
}

void tkl__search_term_value(tkl__buf *out, const tkl__search_schema *schema, size_t field,
                            tkl_bytes folded)
{
    size_t start = out->len;
    tkl__buf_add(out, "v", 1);
    tkl__buf_add(out, schema->fields[field].name.data, schema->fields[field].name.len);
    tkl__buf_add(out, "=", 1);
    tkl__buf_add(out, folded.data, folded.len);
    shorten(out, start);
}

void tkl__search_term_any_value(tkl__buf *out, const tkl__search_schema *schema, size_t field)
{
    tkl__buf_add(out, "v", 1);
    tkl__buf_add(out, schema->fields[field].name.data, schema->fields[field].name.len);
    tkl__buf_add(out, "*", 1);
}

void tkl__search_term_key(tkl__buf *out, const tkl__search_shard *shard, tkl_bytes term)
{
    tkl__buf_add(out, shard->base.data, shard->base.len);
    tkl__buf_add(out, ":t:", 3);
    tkl__buf_add(out, term.data, term.len);
}

size_t tkl__search_term_at(const tkl__search_shard *shard)
{
    return shard->base.len + 3;
}
