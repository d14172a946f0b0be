/* SPDX-License-Identifier: MIT
 *
 * Walking over all keys, or the members of one big key, without blocking the server.
 *
 *     tkl_scan *scan;
 *     tkl_scan_element key;
 *     int rc;
 *     TKL_TRY(tkl_scan_open(client, &(tkl_scan_options){.match = tkl_str("user:*")}, &scan));
 *     while ((rc = tkl_scan_next(scan, &key)) == TKL_OK)
 *         printf(TKL_FMT "\n", TKL_ARG(key.name));
 *     tkl_scan_close(scan);                               // rc is TKL_EMPTY when all went well
 *
 * A scan returns, once, every element that exists during the whole scan. Elements that are added or
 * removed meanwhile may be returned or not. On a cluster a scan walks over the keys of one master
 * after the other; docs/scan.md says what happens when slots move meanwhile.
 *
 * Threads: a scan belongs to one thread at a time. Fork: a child must not use its parent's scan.
 * Callbacks: none. Keys: it has none of its own.
 */
#ifndef TACKLE_SCAN_H
#define TACKLE_SCAN_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_scan tkl_scan;

/* All zero means the defaults. Bytes and strings are copied. */
typedef struct tkl_scan_options {
    int64_t timeout_ms; /* time-out of one step; 0: the client's */
    tkl_bytes key;    /* walk over the members of this set, hash or sorted set; empty: over keys */
    tkl_bytes match;  /* glob pattern; empty: everything */
    const char *type; /* only keys of this type: "string", "list", "set", "zset", "hash", "stream";
                         NULL: all */
    int count;        /* elements that the server looks at in one step, 1 to a million; 0: 500 */
    /* The server may return an element twice, so the scan remembers this many elements at least,
     * and twice as many at most. 0: a million, which take up to 100 MB. See docs/scan.md. */
    int64_t remember;
    const char *cursor; /* go on where another scan stopped: see tkl_scan_cursor(); NULL: begin */
    TKL_RESERVED(8);
} tkl_scan_options;

/* Views that live until the next call with the scan. */
typedef struct tkl_scan_element {
    tkl_bytes name;  /* the key, member or field */
    tkl_bytes value; /* value of a hash field; score of a sorted set as text; else empty */
    TKL_RESERVED(2);
} tkl_scan_element;

/* No I/O. `options` may be NULL. */
TKL_API int tkl_scan_open(tkl_client *client, const tkl_scan_options *options, tkl_scan **scan)
    TKL_NONNULL(1, 3) TKL_CHECK;

/* Gives the next element. TKL_EMPTY: there are no more. TKL_ETYPE: the key has no members to walk
 * over. TKL_EPROTO: the server sends cursors without end. After an error the scan is over: it
 * cannot continue on another server. */
TKL_API int tkl_scan_next(tkl_scan *scan, tkl_scan_element *element) TKL_NONNULL(1, 2) TKL_CHECK;

/* How many elements of the last step are left: tkl_scan_next() returns them without I/O. */
TKL_API size_t tkl_scan_rest(const tkl_scan *scan) TKL_NONNULL(1);

#define TKL_SCAN_CURSOR_SIZE 80

/* Writes where the scan is, for the `cursor` of a scan by any process with the same key and servers;
 * its match, type and count may differ. While tkl_scan_rest() is not 0, the elements of the last
 * step come again there. It does not know what this scan remembers: elements that the server repeats
 * come again, too. A cursor means something to the server that gave it: tkl_scan_next() returns
 * TKL_EINVAL when that server has been restarted or replaced. TKL_EMPTY: nothing is left. At most
 * one round trip, INFO. */
TKL_API int tkl_scan_cursor(tkl_scan *scan, char cursor[TKL_SCAN_CURSOR_SIZE])
    TKL_NONNULL(1, 2) TKL_CHECK;

/* NULL is fine. */
TKL_API void tkl_scan_close(tkl_scan *scan);

#ifdef __cplusplus
}
#endif
#endif
