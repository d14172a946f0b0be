/* SPDX-License-Identifier: MIT
 *
 * Checksums: XXH3 with 128 bits, as `xxhsum -H2` writes it.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/error.h"
#include "files/files.h"

#define READ_BYTES (256 * 1024)

static tkl__files_sum sum_text(XXH128_hash_t hash)
{
    static const char digits[] = "0123456789abcdef";
    tkl__files_sum sum = {{0}};
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, hash);
    for (size_t i = 0; i < sizeof bytes.digest; i++) {
        sum.text[2 * i] = digits[bytes.digest[i] >> 4];
        sum.text[2 * i + 1] = digits[bytes.digest[i] & 15];
    }
    return sum;
}

tkl__files_hash *tkl__files_hash_new(void)
{
    tkl__files_hash *hash = XXH3_createState();
    if (hash)
        XXH3_128bits_reset(hash);
    return hash;
}

void tkl__files_hash_free(tkl__files_hash *hash)
{
    if (hash)
        XXH3_freeState(hash);
}

void tkl__files_hash_reset(tkl__files_hash *hash)
{
    XXH3_128bits_reset(hash);
}

void tkl__files_hash_add(tkl__files_hash *hash, const void *data, size_t len)
{
    if (len > 0)
        XXH3_128bits_update(hash, data, len);
}

tkl__files_sum tkl__files_hash_sum(const tkl__files_hash *hash)
{
    return sum_text(XXH3_128bits_digest(hash));
}

tkl__files_sum tkl__files_sum_of(tkl_bytes bytes)
{
    return sum_text(XXH3_128bits(bytes.len > 0 ? bytes.data : "", bytes.len));
}

int tkl__files_hash_file(tkl__files_hash *hash, int fd, int64_t len)
{
    char *buffer = malloc(READ_BYTES);
    int rc = buffer ? TKL_OK : tkl__nomem();
    for (int64_t at = 0; rc == TKL_OK && at < len;) {
        size_t want = len - at < READ_BYTES ? (size_t)(len - at) : READ_BYTES;
        ssize_t got = pread(fd, buffer, want, at);
        if (got > 0) {
            tkl__files_hash_add(hash, buffer, (size_t)got);
            at += got;
        } else if (got == 0) {
            rc = tkl__fail(TKL_CONFLICT, "the file is shorter than before");
        } else if (errno != EINTR) {
            rc = tkl__fail_errno(TKL_EIO, "reading");
        }
    }
    free(buffer);
    return rc;
}
