/* SPDX-License-Identifier: MIT */
#include "pages.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* The page may load its own files and call this server, and nothing else. Browsers that know
 * trusted types also keep scripts of the page from turning text into HTML or into a script. */
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; "
                             "img-src 'self'; connect-src 'self'; form-action 'none'; "
                             "base-uri 'none'; frame-ancestors 'none'; "
                             "require-trusted-types-for 'script'; trusted-types 'none'";

const serve_page *serve_page_find(const char *path)
{
    const char *wanted = strcmp(path, "/") == 0 ? "/index.html" : path;
    for (const serve_page *page = serve_pages; page->path != NULL; page++)
        if (strcmp(page->path, wanted) == 0)
            return page;
    return NULL;
}

static const char *type_of_page(const serve_page *page)
{
    static const struct {
        const char *ending, *type;
    } types[] = {{".html", "text/html; charset=utf-8"},
                 {".css", "text/css; charset=utf-8"},
                 {".js", "text/javascript; charset=utf-8"},
                 {".svg", "image/svg+xml"}};
    const char *ending = strrchr(page->path, '.');
    for (size_t i = 0; ending != NULL && i < sizeof types / sizeof *types; i++)
        if (strcmp(ending, types[i].ending) == 0)
            return types[i].type;
    return "application/octet-stream";
}

/* The bytes of a file, compressed with gzip, to be freed; NULL: out of memory. */
static unsigned char *gzip_of(const serve_page *page, size_t *size)
{
    enum { GZIP = 15 + 16, MEMORY = 8 };
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)page->data,
                  .avail_in = (unsigned)page->size};
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return NULL;
    uLong most = deflateBound(&z, page->size);
    unsigned char *bytes = malloc(most);
    z.next_out = bytes;
    z.avail_out = (unsigned)most;
    if (bytes == NULL || deflate(&z, Z_FINISH) != Z_STREAM_END) {
        free(bytes);
        bytes = NULL;
    }
    *size = z.total_out;
    deflateEnd(&z);
    return bytes;
}

/* A response with the bytes of a file, compressed if the client accepts gzip. */
static struct MHD_Response *response_of(const serve_page *page, const char *accept_encoding)
{
    bool takes_gzip = accept_encoding != NULL && strstr(accept_encoding, "gzip") != NULL;
    size_t size = 0;
    unsigned char *bytes = takes_gzip ? gzip_of(page, &size) : NULL;
    if (bytes == NULL)
        return MHD_create_response_from_buffer(page->size, (void *)(uintptr_t)page->data,
                                               MHD_RESPMEM_PERSISTENT);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, bytes, MHD_RESPMEM_MUST_FREE);
    if (response != NULL)
        MHD_add_response_header(response, "Content-Encoding", "gzip");
    else
        free(bytes);
    return response;
}

struct MHD_Response *serve_page_response(const serve_page *page, const char *if_none_match,
                                         const char *accept_encoding, unsigned *status)
{
    bool is_known = if_none_match != NULL && strstr(if_none_match, page->etag) != NULL;
    struct MHD_Response *response =
        is_known ? MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT)
                 : response_of(page, accept_encoding);
    if (response == NULL)
        return NULL;
    *status = is_known ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK;
    MHD_add_response_header(response, "Content-Type", type_of_page(page));
    MHD_add_response_header(response, "ETag", page->etag);
    MHD_add_response_header(response, "Cache-Control", "no-cache"); /* ask with the ETag */
    MHD_add_response_header(response, "Vary", "Accept-Encoding");
    MHD_add_response_header(response, "Content-Security-Policy", policy);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
    return response;
}
