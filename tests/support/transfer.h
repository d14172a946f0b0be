/* SPDX-License-Identifier: MIT
 *
 * Files on both sides of a channel.
 */
#ifndef TACKLE_TESTS_TRANSFER_H
#define TACKLE_TESTS_TRANSFER_H

#include <tackle/files.h>

#include "support/test.h"

/* A directory for sources and one for each receiver, all new. */
typedef struct transfer {
    char dir[128];
} transfer;

void transfer_make(transfer *p);

/* A path in these directories, malloc'ed: "src/big", "a/big". Makes missing directories. */
char *transfer_path(const transfer *p, const char *name);
/* Writes a file of random bytes, the same for the same seed. Returns its path, malloc'ed. */
char *transfer_file(const transfer *p, const char *name, size_t size, unsigned seed);
char *transfer_text(const transfer *p, const char *name, tkl_bytes content);

/* Whether both have the same bytes. */
bool transfer_same(const char *path, const char *other);
/* The content, malloc'ed, NUL-terminated; NULL: there is no such file. */
char *transfer_read(const char *path, size_t *size);
/* Entries of a directory, hidden ones included. */
int transfer_count(const char *dir);

/* Receives all files for the receiver `as` into the directory of its name. Returns the code. */
int transfer_receive(tkl_files *files, const transfer *p, const char *as, tkl_files_totals *totals);
/* Sends one path to receivers "a,b". */
int transfer_send(tkl_files *files, const char *to, const char *path,
                  const tkl_files_send_options *options);

#endif
