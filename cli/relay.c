/* SPDX-License-Identifier: MIT */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 65536 }; /* a longer line is printed in parts */

static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

void cli_relay_lock(void)
{
    pthread_mutex_lock(&printing);
}

void cli_relay_unlock(void)
{
    pthread_mutex_unlock(&printing);
}

/* ---- Printing ------------------------------------------------------------ */

static void write_all(int fd, const char *data, size_t len)
{
    for (ssize_t n; len > 0; data += n, len -= (size_t)n)
        if ((n = write(fd, data, len)) < 0) {
            if (errno != EINTR)
                return;
            n = 0;
        }
}

static void print_lines(const cli_relay *r, const char *text, size_t len)
{
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t part = end ? (size_t)(end - text) + 1 : len;
        if (r->tag) {
            write_all(r->to, r->tag, strlen(r->tag));
            write_all(r->to, "\t", 1);
        }
        write_all(r->to, text, part);
        text += part;
        len -= part;
    }
}

/* Prints the first `len` bytes of the buffer and removes them. */
static void print_kept(cli_relay *r, size_t len)
{
    cli_relay_lock();
    if (r->tag)
        print_lines(r, r->text, len);
    else
        write_all(r->to, r->text, len);
    cli_relay_unlock();
    r->len -= len;
    memmove(r->text, r->text + len, r->len);
}

static void print_whole_lines(cli_relay *r)
{
    size_t len = r->len;
    while (len > 0 && r->text[len - 1] != '\n')
        len--;
    if (len == 0 && r->len >= LINE_MAX_BYTES)
        len = r->len;
    if (len > 0)
        print_kept(r, len);
}

/* ---- A stream ------------------------------------------------------------ */

void cli_close_file(int *fd)
{
    if (*fd > 0)
        close(*fd);
    *fd = 0;
}

bool cli_relay_open(cli_relay *r, int to, const char *tag, bool whole)
{
    *r = (cli_relay){.to = to, .tag = tag, .whole = whole};
    if (pipe2(r->pipe, O_CLOEXEC) != 0)
        return false;
    fcntl(r->pipe[0], F_SETFL, O_NONBLOCK);
    return true;
}

/* If there is no memory for a buffer, prints the text at once. */
static void keep_bytes(cli_relay *r, const char *data, size_t len)
{
    if (r->len + len > r->cap) {
        size_t cap = 2 * (r->len + len);
        char *text = realloc(r->text, cap);
        if (text == NULL) {
            write_all(r->to, data, len);
            return;
        }
        r->text = text;
        r->cap = cap;
    }
    memcpy(r->text + r->len, data, len);
    r->len += len;
}

bool cli_relay_take(cli_relay *r, char *data, size_t size, size_t *len)
{
    ssize_t n = r->pipe[0] > 0 ? read(r->pipe[0], data, size) : 0;
    if (n == 0)
        cli_close_file(&r->pipe[0]);
    if (n <= 0)
        return false;
    keep_bytes(r, data, (size_t)n);
    if (!r->whole)
        print_whole_lines(r);
    if (len)
        *len = (size_t)n;
    return true;
}

void cli_relay_close(cli_relay *r)
{
    cli_close_file(&r->pipe[0]);
    cli_close_file(&r->pipe[1]);
    if (r->len > 0 && r->text[r->len - 1] != '\n')
        keep_bytes(r, "\n", 1);
    if (r->len > 0)
        print_kept(r, r->len);
    free(r->text);
    *r = (cli_relay){0};
}
