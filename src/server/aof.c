/* SPDX-License-Identifier: MIT
 *
 * The end of an append-only file.
 *
 * The file holds the changes of a script as a transaction, MULTI ... EXEC. A server that dies while
 * it writes may leave a part of one behind. At its next start it removes the last command if that
 * is cut, but (up to Redis 8 and Valkey 9) not the beginning of the transaction, and appends to it.
 * The start after that runs this beginning together with the next transaction, or loses what came
 * after it. So the file is cut before the transaction, as `redis-check-aof --fix` does. If every
 * write was synced, no client got a reply for the part that is removed.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/letters.h"
#include "server/server.h"

#define FOLDER   "appendonlydir"
#define MANIFEST "appendonly.aof.manifest"

/* ---- Reading commands ---------------------------------------------------- */

typedef struct reader {
    const char *data;
    size_t size, at;
} reader;

typedef enum step {
    STEP_WHOLE,
    STEP_CUT, /* the file ends before the end of the command */
    STEP_BAD, /* this is not a command */
} step;

/* Skips an annotation of the server: "#TS:..." */
static step skip_line(reader *r)
{
    const char *end = memchr(r->data + r->at, '\n', r->size - r->at);
    if (!end)
        return STEP_CUT;
    r->at = (size_t)(end - r->data) + 1;
    return STEP_WHOLE;
}

static step read_line_end(reader *r)
{
    size_t left = r->size - r->at;
    if (left > 0 && memcmp(r->data + r->at, "\r\n", left < 2 ? 1 : 2) != 0)
        return STEP_BAD;
    if (left < 2)
        return STEP_CUT;
    r->at += 2;
    return STEP_WHOLE;
}

/* Reads a line with a sign and a number. */
static step read_number(reader *r, char sign, size_t *number)
{
    if (r->at == r->size)
        return STEP_CUT;
    if (r->data[r->at++] != sign)
        return STEP_BAD;
    for (*number = 0; r->at < r->size && isdigit((unsigned char)r->data[r->at]); r->at++) {
        if (*number > INT_MAX)
            return STEP_BAD;
        *number = *number * 10 + (size_t)(r->data[r->at] - '0');
    }
    return read_line_end(r);
}

static step read_word(reader *r, tkl_bytes *word)
{
    step s = read_number(r, '$', &word->len);
    if (s != STEP_WHOLE)
        return s;
    if (r->size - r->at < word->len)
        return STEP_CUT;
    word->data = r->data + r->at;
    r->at += word->len;
    return read_line_end(r);
}

static step read_command(reader *r, tkl_bytes *name)
{
    tkl_bytes other;
    size_t words;
    step s = read_number(r, '*', &words);
    for (size_t i = 0; s == STEP_WHOLE && i < words; i++)
        s = read_word(r, i == 0 ? name : &other);
    return s;
}

static bool is_word(tkl_bytes name, const char *word)
{
    return name.len == strlen(word) && tkl__same_letters(name.data, word, name.len);
}

/* Returns where the last complete transaction ends, or the last command outside of one. Any other
 * damage is left to the server. */
static size_t whole_until(const char *data, size_t size)
{
    reader r = {.data = data, .size = size};
    size_t whole = 0;
    bool multi = false;
    while (r.at < size) {
        tkl_bytes name = {"", 0};
        step s = data[r.at] == '#' ? skip_line(&r) : read_command(&r, &name);
        if (s != STEP_WHOLE)
            return s == STEP_CUT ? whole : size;
        multi = is_word(name, "MULTI") || (multi && !is_word(name, "EXEC"));
        if (!multi)
            whole = r.at;
    }
    return whole;
}

/* ---- The file ------------------------------------------------------------ */

/* Finds the file that the server appends to: the last one in the manifest. False: there is none. */
static bool find_last(const char *dir, char *path, size_t size)
{
    char text[PATH_MAX], name[256], kind[2];
    bool found = false;
    snprintf(text, sizeof text, "%s/" FOLDER "/" MANIFEST, dir);
    FILE *manifest = fopen(text, "re");
    while (manifest && fgets(text, sizeof text, manifest)) {
        if (sscanf(text, "file %255s seq %*d type %1s", name, kind) == 2 && *kind == 'i')
            found = snprintf(path, size, "%s/" FOLDER "/%s", dir, name) < (int)size;
    }
    if (manifest)
        fclose(manifest);
    return found;
}

static int cut_file(const char *path, int fd, size_t size)
{
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return tkl__fail_errno(TKL_ESPAWN, "%s cannot be read", path);
    size_t whole = whole_until(data, size);
    munmap(data, size);
    if (whole < size && (ftruncate(fd, (off_t)whole) != 0 || fsync(fd) != 0))
        return tkl__fail_errno(TKL_ESPAWN, "%s cannot be mended", path);
    return TKL_OK;
}

int tkl__aof_mend(const char *dir)
{
    char path[PATH_MAX];
    struct stat st;
    int fd = find_last(dir, path, sizeof path) ? open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0)
        return TKL_OK; /* nothing to mend: the server reports what is missing */
    int rc = TKL_OK;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        rc = cut_file(path, fd, (size_t)st.st_size);
    close(fd);
    return rc;
}
