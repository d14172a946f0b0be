/* SPDX-License-Identifier: MIT
 *
 * Files on both sides of a channel.
 */
#ifndef TACKLE_TESTS_PARCELS_H
#define TACKLE_TESTS_PARCELS_H

#include <tackle/files.h>

#include "support/test.h"

/* A directory for sources and one for each receiver, all new. */
typedef struct parcels {
    char dir[128];
} parcels;

void parcels_make(parcels *p);

/* A path in it, malloc'ed: "src/big", "a/big". Directories are made. */
char *parcels_path(const parcels *p, const char *name);
/* A file of bytes that look random, the same for the same seed. Returns its path, malloc'ed. */
char *parcels_file(const parcels *p, const char *name, size_t size, unsigned seed);
char *parcels_text(const parcels *p, const char *name, tkl_bytes content);

/* Whether both have the same bytes. */
bool parcels_same(const char *path, const char *other);
/* The content, malloc'ed, NUL-terminated; NULL: there is no such file. */
char *parcels_read(const char *path, size_t *size);
/* Entries of a directory, hidden ones included. */
int parcels_count(const char *dir);

/* Receives everything that is there for `as` into the directory of that name; the code. */
int parcels_receive(tkl_files *files, const parcels *p, const char *as, tkl_files_totals *totals);
/* Sends one path to receivers "a,b". */
int parcels_send(tkl_files *files, const char *to, const char *path,
                 const tkl_files_send_options *options);

#endif
