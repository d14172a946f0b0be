/* SPDX-License-Identifier: MIT
 *
 * The dashboard's files (web/), which are part of the program. They hold no data and need no token:
 * the page asks for one, and then calls the same routes as every other client.
 */
#ifndef TKL_SERVE_PAGES_H
#define TKL_SERVE_PAGES_H

#include <microhttpd.h>
#include <stddef.h>

/* A file, "/app.js". An array of these ends with a zero entry. */
typedef struct serve_page {
    const char *path;
    const char *etag; /* with its quotes; changes with the bytes */
    const unsigned char *data;
    size_t size;
} serve_page;

/* All files; made by cmake/Pages.cmake. */
extern const serve_page serve_pages[];

/* The file of a path, "/" for the first one to load; NULL: there is none. */
const serve_page *serve_page_find(const char *path);

/* The response with the file, and *status, which is 304 when the client has the file already.
 * `if_none_match` and `accept_encoding` are headers of the request, or NULL. Returns NULL when
 * memory is short. */
struct MHD_Response *serve_page_response(const serve_page *page, const char *if_none_match,
                                         const char *accept_encoding, unsigned *status);

#endif
