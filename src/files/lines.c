/* SPDX-License-Identifier: MIT
 *
 * Splits bytes into lines of any length. A line that lies within the added bytes is delivered in
 * place; other lines are put together in a buffer.
 */
#include <string.h>

#include "core/error.h"
#include "files/files.h"

void tkl__files_lines_init(tkl__files_lines *lines,
                           int (*on_line)(tkl_bytes file, tkl_bytes text, void *arg), void *arg,
                           tkl_bytes file, int64_t skip)
{
    *lines = (tkl__files_lines){.on_line = on_line, .arg = arg, .file = file, .skip = skip};
    tkl__buf_init(&lines->rest);
}

void tkl__files_lines_free(tkl__files_lines *lines)
{
    tkl__buf_free(&lines->rest);
}

/* Delivers a line. `len`: its length with the line feed, if it has one. */
static int deliver_line(tkl__files_lines *lines, tkl_bytes text, size_t len)
{
    if (lines->on_line(lines->file, text, lines->arg) != 0)
        return tkl__fail(TKL_EINTR, "the callback for lines ended the call");
    lines->delivered += (int64_t)len;
    lines->count++;
    return TKL_OK;
}

/* Skips the whole lines that an earlier process delivered. */
static tkl_bytes skip_lines(tkl__files_lines *lines, tkl_bytes bytes)
{
    size_t len = lines->skip < (int64_t)bytes.len ? (size_t)lines->skip : bytes.len;
    lines->skip -= (int64_t)len;
    lines->delivered += (int64_t)len;
    return (tkl_bytes){bytes.data + len, bytes.len - len};
}

/* Completes the line that began in earlier bytes. */
static int end_rest(tkl__files_lines *lines, tkl_bytes end)
{
    tkl__buf_add(&lines->rest, end.data, end.len);
    if (lines->rest.failed)
        return tkl__nomem();
    int rc =
        deliver_line(lines, (tkl_bytes){lines->rest.data, lines->rest.len}, lines->rest.len + 1);
    tkl__buf_clear(&lines->rest);
    return rc;
}

int tkl__files_lines_add(void *arg, tkl_bytes bytes)
{
    tkl__files_lines *lines = arg;
    bytes = skip_lines(lines, bytes);
    const char *at = bytes.data, *end = bytes.data + bytes.len, *feed;
    int rc = TKL_OK;
    while (rc == TKL_OK && at < end && (feed = memchr(at, '\n', (size_t)(end - at)))) {
        tkl_bytes text = {at, (size_t)(feed - at)};
        rc = lines->rest.len > 0 ? end_rest(lines, text) : deliver_line(lines, text, text.len + 1);
        at = feed + 1;
    }
    if (rc == TKL_OK && at < end)
        tkl__buf_add(&lines->rest, at, (size_t)(end - at));
    return rc == TKL_OK && lines->rest.failed ? tkl__nomem() : rc;
}

/* Delivers the last line if it has no line feed. */
int tkl__files_lines_end(tkl__files_lines *lines)
{
    if (lines->rest.len == 0)
        return TKL_OK;
    int rc = deliver_line(lines, (tkl_bytes){lines->rest.data, lines->rest.len}, lines->rest.len);
    tkl__buf_clear(&lines->rest);
    return rc;
}
