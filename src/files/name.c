/* SPDX-License-Identifier: MIT
 *
 * Names of files on the disk of a receiver. Any client that can write to the server may choose a
 * name, so names are never used as paths.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/buf.h"
#include "core/letters.h"
#include "files/files.h"
#include "files/tree.h"

/* A shortened name ends with "~" and hex digits: this many bytes in total. */
#define TAIL 17
#define MOST (TKL_FILES_SAFE_SIZE - 1)

/* Partial files begin with this. */
static const char own[] = TKL__FILES_PREFIX;

static bool is_special(tkl_bytes name)
{
    return tkl__same_bytes(name, tkl_str(".")) || tkl__same_bytes(name, tkl_str("..")) ||
           tkl__begins_with(name, tkl_str(own));
}

static bool is_unsafe(unsigned char byte)
{
    return byte < 32 || byte == 127 || byte == '/';
}

static void escape(tkl__buf *out, tkl_bytes name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char byte = (unsigned char)name.data[i];
        if (is_unsafe(byte) || (i == 0 && is_special(name)))
            tkl__buf_addf(out, "%%%02X", byte);
        else
            tkl__buf_add(out, &name.data[i], 1);
    }
}

void tkl_files_safe_name(tkl_bytes name, char safe[TKL_FILES_SAFE_SIZE])
{
    tkl__buf out;
    tkl__buf_init(&out);
    if (name.len > TKL_FILES_NAME_MAX)
        name.len = TKL_FILES_NAME_MAX;
    escape(&out, name);
    bool fits = !out.failed && out.len >= 1 && out.len <= MOST;
    size_t len = fits ? out.len : out.len < MOST - TAIL ? out.len : MOST - TAIL;
    memcpy(safe, out.data, len);
    safe[len] = '\0';
    if (!fits)
        snprintf(safe + len, TAIL + 1, "~%.*s", TAIL - 1, tkl__files_sum_of(name).text);
    tkl__buf_free(&out);
}
