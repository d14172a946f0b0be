/* SPDX-License-Identifier: MIT
 *
 * Directories that are sent as a whole. Each member (file, directory, symbolic link) is a file of
 * the channel whose name is a path: "tree", "tree/sub", "tree/sub/file". Nobody trusts these paths:
 * both sides check them, and open them part by part without following symbolic links.
 */
#ifndef TKL_FILES_TREE_H
#define TKL_FILES_TREE_H

#include <tackle/files.h>

#include <sys/stat.h>

/* ---- The number `mode` of a file's record -------------------------------- */

/* It has the permissions of the file and, for a member of a directory, its type (S_IFMT). */
#define TKL__FILES_LAST 0x10000 /* the last file of its call: no more will come */
#define TKL__FILES_END  0x20000 /* not a file: only says that no more will come */

/* ---- tree.c -------------------------------------------------------------- */

/* Names of partial files begin with this, at the top of the receiver's directory. */
#define TKL__FILES_PREFIX ".tackle-"

/* Whether the name is a path that stays below a directory: no part is empty, "." or "..", and the
 * first part is no name of a partial file. */
bool tkl__files_tree_is_path(tkl_bytes name);
/* Whether a symbolic link with this name leads to a place below the first part of its name,
 * whatever other links there are: ".." stands at the beginning of its target only. */
bool tkl__files_tree_leads_inside(tkl_bytes name, tkl_bytes target);
/* Opens the directory that holds the last part of `path`, a path below `root`. Follows no links.
 * *leaf points into `path`. `create`: makes directories that are missing; `sync`: writes them
 * through to the disk. -1: errno says why. */
int tkl__files_tree_parent(int root, const char *path, bool create, bool sync, const char **leaf);
/* Opens the directory `path` below `root`; "": `root` itself. Follows no links. -1: see errno. */
int tkl__files_tree_open(int root, const char *path);

/* ---- expand.c: what a call sends ----------------------------------------- */

/* A file or stream to send: a source of the caller, or a member of a directory that is a source. */
typedef struct tkl__files_item {
    tkl_files_source source; /* the member as a source; its path and name are owned */
    int root;                /* the directory that the caller named; -1: not a member */
    const char *below;       /* path of a member below the root; "": the root itself */
    int64_t bytes;           /* size of a regular file; else 0 */
    int trouble;             /* errno: why a directory could not be read; 0: none */
    bool last;               /* the last item of the call, after which no more will come */
} tkl__files_item;

typedef struct tkl__files_items {
    tkl__files_item *items;
    size_t count;
    int *roots; /* directories of the caller */
    size_t root_count;
} tkl__files_items;

/* Finds the name under which a source is sent. TKL_EINVAL: it has no name, or it is too long. */
int tkl__files_source_name(const tkl_files_source *source, tkl_bytes *name);
/* Lists all items of the sources: the members of a directory by name, and behind them the directory
 * itself. Free them in any case. */
int tkl__files_expand(const tkl_files_source *sources, size_t count, tkl__files_items *items);
void tkl__files_items_free(tkl__files_items *items);
/* Returns the number `mode` for an item. `st` NULL: a stream. */
int64_t tkl__files_item_mode(const tkl__files_item *item, const struct stat *st);
/* Opens an item that has a path. *fd: -1 unless it is a regular file. *link: target of a symbolic
 * link, to be freed; else NULL. Does not block on a FIFO. */
int tkl__files_item_open(const tkl__files_item *item, tkl_bytes name, int *fd, struct stat *st,
                         char **link);

#endif
