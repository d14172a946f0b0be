/* SPDX-License-Identifier: MIT */
#include "search/result.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

tkl__search_result_box *tkl__search_box_new(tkl__search_schema *schema)
{
    tkl__search_result_box *box = calloc(1, sizeof *box);
    if (box) {
        atomic_fetch_add(&schema->refs, 1);
        box->schema = schema;
    }
    return box;
}

void tkl__search_box_free(tkl__search_result_box *box)
{
    if (!box)
        return;
    for (size_t i = 0; i < box->reply_count; i++)
        tkl_reply_free(box->replies[i]);
    for (size_t i = 0; i < box->block_count; i++)
        free(box->blocks[i]);
    free(box->replies);
    free(box->blocks);
    tkl__search_schema_free(box->schema);
    free(box);
}

void tkl_search_result_free(tkl_search_result *result)
{
    tkl__search_box_free((tkl__search_result_box *)(void *)result);
}

int tkl__search_box_keep(tkl__search_result_box *box, tkl_reply *reply)
{
    if (!tkl__grow(&box->replies, box->reply_count, sizeof *box->replies)) {
        tkl_reply_free(reply);
        return tkl__nomem();
    }
    box->replies[box->reply_count++] = reply;
    return TKL_OK;
}

void *tkl__search_box_alloc(tkl__search_result_box *box, size_t size)
{
    if (!tkl__grow(&box->blocks, box->block_count, sizeof *box->blocks))
        return NULL;
    void *block = calloc(1, size ? size : 1);
    if (block)
        box->blocks[box->block_count++] = block;
    return block;
}

int tkl__search_box_copy(tkl__search_result_box *box, tkl_bytes from, tkl_bytes *to)
{
    char *copy = tkl__search_box_alloc(box, from.len);
    if (!copy)
        return tkl__nomem();
    if (from.len)
        memcpy(copy, from.data, from.len);
    *to = (tkl_bytes){copy, from.len};
    return TKL_OK;
}

/* Writes the values that are present; returns how many. */
static size_t write_values(const tkl__search_schema *schema, const tkl__search_record *record,
                           tkl_search_value *values)
{
    size_t count = 0;
    for (size_t i = 0; i < schema->is.field_count; i++) {
        const tkl__search_cell *cell = &record->cells[i];
        if (!cell->present)
            continue;
        values[count++] = (tkl_search_value){
            .field = schema->fields[i].name, .text = cell->text, .number = cell->number};
    }
    return count;
}

int tkl__search_box_hits(tkl__search_result_box *box, const tkl__search_found *items, size_t count,
                         const tkl_bytes *texts)
{
    const tkl__search_schema *schema = box->schema;
    size_t nfields = schema->is.field_count;
    tkl_search_hit *hits = tkl__search_box_alloc(box, count * sizeof *hits);
    tkl_search_value *values = tkl__search_box_alloc(box, count * nfields * sizeof *values);
    if (!hits || !values)
        return tkl__nomem();
    for (size_t i = 0; i < count; i++) {
        tkl__search_record record;
        if (!tkl__search_record_read(items[i].bytes, schema, &record))
            return tkl__fail(TKL_EDAMAGED, "the record of a document is damaged");
        hits[i] = (tkl_search_hit){.id = record.id,
                                   .values = values,
                                   .value_count = write_values(schema, &record, values),
                                   .text = texts ? texts[i] : tkl_str(NULL),
                                   .score = items[i].score};
        values += hits[i].value_count;
    }
    box->is.hits = hits;
    box->is.count = count;
    return TKL_OK;
}
