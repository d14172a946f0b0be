/* SPDX-License-Identifier: MIT
 *
 * Records, as bytes:
 *
 *   length     4 bytes, the most significant first
 *   values     in the order of the schema. Numeric: 8 bytes, a double, NaN when missing. Text:
 *              2 bytes, length + 1 or 0 when missing, and the text; then the same for the form
 *              that is sorted, 0 when it is the text itself.
 *   id         the rest
 *
 * Terms: 1 byte length, the term, its number of occurrences as a varint, and in an index with
 * positions the positions as varints, each as the distance from the one before.
 */
#include "search/record.h"

#include <math.h>
#include <string.h>

#include "core/letters.h"

/* ---- Writing ------------------------------------------------------------- */

static void put_number(tkl__buf *out, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        char byte = (char)(value >> (8 * i));
        tkl__buf_add(out, &byte, 1);
    }
}

static void put_double(tkl__buf *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_number(out, bits, 8);
}

static void put_text(tkl__buf *out, tkl_bytes text)
{
    put_number(out, text.len + 1, 2);
    tkl__buf_add(out, text.data, text.len);
}

static void put_cell(tkl__buf *out, bool numeric, const tkl__search_cell *cell)
{
    if (numeric) {
        put_double(out, cell->present ? cell->number : (double)NAN);
    } else if (!cell->present) {
        put_number(out, 0, 2);
    } else {
        put_text(out, cell->text);
        if (tkl__same_bytes(cell->text, cell->sort))
            put_number(out, 0, 2);
        else
            put_text(out, cell->sort);
    }
}

void tkl__search_record_write(tkl__buf *out, const tkl__search_schema *schema,
                              const tkl__search_record *record)
{
    put_number(out, record->length, 4);
    for (size_t i = 0; i < schema->is.field_count; i++)
        put_cell(out, schema->fields[i].numeric, &record->cells[i]);
    tkl__buf_add(out, record->id.data, record->id.len);
}

/* ---- Reading ------------------------------------------------------------- */

static bool take_number(tkl_bytes *rest, int bytes, uint64_t *value)
{
    *value = 0;
    if (rest->len < (size_t)bytes)
        return false;
    for (int i = 0; i < bytes; i++)
        *value = *value << 8 | (unsigned char)rest->data[i];
    rest->data += bytes;
    rest->len -= (size_t)bytes;
    return true;
}

/* Takes a text off the front; *present: false when the value is missing. */
static bool take_text(tkl_bytes *rest, tkl_bytes *text, bool *present)
{
    uint64_t len;
    if (!take_number(rest, 2, &len) || (len && len - 1 > rest->len))
        return false;
    *present = len > 0;
    *text = (tkl_bytes){rest->data, len ? (size_t)len - 1 : 0};
    rest->data += text->len;
    rest->len -= text->len;
    return true;
}

static bool take_cell(tkl_bytes *rest, bool numeric, tkl__search_cell *cell)
{
    uint64_t bits;
    bool other;
    *cell = (tkl__search_cell){.present = false};
    if (numeric) {
        if (!take_number(rest, 8, &bits))
            return false;
        memcpy(&cell->number, &bits, sizeof bits);
        cell->present = !isnan(cell->number);
        return true;
    }
    if (!take_text(rest, &cell->text, &cell->present))
        return false;
    if (!cell->present)
        return true;
    if (!take_text(rest, &cell->sort, &other))
        return false;
    if (!other)
        cell->sort = cell->text;
    return true;
}

bool tkl__search_record_read(tkl_bytes bytes, const tkl__search_schema *schema,
                             tkl__search_record *record)
{
    uint64_t length;
    if (!take_number(&bytes, 4, &length))
        return false;
    record->length = (uint32_t)length;
    for (size_t i = 0; i < schema->is.field_count; i++)
        if (!take_cell(&bytes, schema->fields[i].numeric, &record->cells[i]))
            return false;
    record->id = bytes;
    return bytes.len > 0;
}

/* ---- Sorted sets --------------------------------------------------------- */

void tkl__search_member(tkl__buf *out, const tkl__search_schema *schema, size_t field,
                        const tkl__search_cell *cell)
{
    if (schema->fields[field].numeric)
        return;
    if (cell->present)
        tkl__buf_add(out, cell->sort.data, cell->sort.len);
    tkl__buf_add(out, "", 1);
}

double tkl__search_score(const tkl__search_schema *schema, size_t field,
                         const tkl__search_cell *cell)
{
    if (!cell->present)
        return (double)INFINITY;
    return schema->fields[field].numeric ? cell->number : tkl_text_score(cell->sort);
}

/* ---- Terms --------------------------------------------------------------- */

static void put_varint(tkl__buf *out, uint32_t value)
{
    while (value >= 0x80) {
        char byte = (char)(value | 0x80);
        tkl__buf_add(out, &byte, 1);
        value >>= 7;
    }
    char byte = (char)value;
    tkl__buf_add(out, &byte, 1);
}

static bool take_varint(tkl_bytes *rest, uint32_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 35 && rest->len; shift += 7) {
        unsigned char byte = (unsigned char)*rest->data;
        rest->data++, rest->len--;
        *value |= (uint32_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

void tkl__search_entry_write(tkl__buf *out, tkl_bytes term, uint32_t times,
                             const uint32_t *positions)
{
    char len = (char)term.len;
    tkl__buf_add(out, &len, 1);
    tkl__buf_add(out, term.data, term.len);
    put_varint(out, times);
    for (uint32_t i = 0; positions && i < times; i++)
        put_varint(out, positions[i] - (i ? positions[i - 1] : 0));
}

bool tkl__search_entry_next(tkl_bytes *rest, bool positions, tkl__search_entry *entry,
                            bool *damaged)
{
    if (rest->len == 0)
        return false;
    size_t len = (unsigned char)*rest->data;
    *damaged = true;
    if (rest->len < 1 + len)
        return false;
    entry->term = (tkl_bytes){rest->data + 1, len};
    rest->data += 1 + len;
    rest->len -= 1 + len;
    if (!take_varint(rest, &entry->times))
        return false;
    const char *start = rest->data;
    uint32_t skipped;
    for (uint32_t i = 0; positions && i < entry->times; i++)
        if (!take_varint(rest, &skipped))
            return false;
    entry->positions = (tkl_bytes){start, (size_t)(rest->data - start)};
    *damaged = false;
    return true;
}

bool tkl__search_position_next(tkl_bytes *rest, uint32_t *at)
{
    uint32_t distance;
    if (!take_varint(rest, &distance))
        return false;
    *at += distance;
    return true;
}
