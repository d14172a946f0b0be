/* SPDX-License-Identifier: MIT
 *
 * The files that a call sends: its sources, and the members of sources that are directories. A
 * directory comes behind its members: the receiver sets its time when nothing more will change in
 * it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/error.h"
#include "files/tree.h"

/* ---- Names --------------------------------------------------------------- */

/* The name under which a path is sent by default. */
static tkl_bytes last_part(const char *path)
{
    size_t len = strlen(path), from;
    while (len > 0 && path[len - 1] == '/')
        len--;
    for (from = len; from > 0 && path[from - 1] != '/';)
        from--;
    return (tkl_bytes){path + from, len - from};
}

int tkl__files_source_name(const tkl_files_source *source, tkl_bytes *name)
{
    *name = source->name.len > 0 || !source->path ? source->name : last_part(source->path);
    if (name->len == 0)
        return tkl__fail(TKL_EINVAL, "a source has no name: %s",
                         source->path ? source->path : "a stream must be given one");
    if (name->len > TKL_FILES_NAME_MAX)
        return tkl__fail(TKL_EINVAL, "the name of a file has more than %d bytes",
                         TKL_FILES_NAME_MAX);
    return TKL_OK;
}

/* Finds the name of a directory, one part of a path. "." and ".." have the name of the directory to
 * which they lead. */
static int tree_name(const tkl_files_source *source, char name[TKL_FILES_NAME_MAX + 1])
{
    char real[PATH_MAX];
    tkl_bytes given;
    int rc = tkl__files_source_name(source, &given);
    if (rc != TKL_OK)
        return rc;
    bool dots = given.len <= 2 && memcmp(given.data, "..", given.len) == 0;
    if (dots && source->name.len == 0 && realpath(source->path, real))
        given = last_part(real);
    if (!tkl__files_tree_is_path(given) || memchr(given.data, '/', given.len))
        return tkl__fail(TKL_EINVAL, "a directory cannot be sent under the name '" TKL_FMT "': %s",
                         TKL_ARG(given), source->path);
    memcpy(name, given.data, given.len);
    name[given.len] = '\0';
    return TKL_OK;
}

/* ---- Items --------------------------------------------------------------- */

static tkl__files_item *add_item(tkl__files_items *items)
{
    if (!tkl__grow(&items->items, items->count, sizeof *items->items))
        return NULL;
    items->items[items->count] = (tkl__files_item){.root = -1, .below = ""};
    return &items->items[items->count++];
}

void tkl__files_items_free(tkl__files_items *items)
{
    for (size_t i = 0; i < items->count; i++)
        if (items->items[i].root >= 0) {
            free((char *)(uintptr_t)items->items[i].source.path);
            free((char *)(uintptr_t)items->items[i].source.name.data);
        }
    for (size_t i = 0; i < items->root_count; i++)
        close(items->roots[i]);
    free(items->items);
    free(items->roots);
    *items = (tkl__files_items){0};
}

/* A directory of the caller while its members are listed. */
typedef struct tree {
    tkl__files_items *items;
    int root;
    const char *path; /* path of the directory */
    const char *name; /* under which it is sent */
} tree;

/* "path/below", to be freed. */
static char *join_path(const char *path, const char *below)
{
    char *joined = NULL;
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    if (asprintf(&joined, "%.*s%s%s", (int)len, path, *below ? "/" : "", below) < 0)
        return NULL;
    return joined;
}

/* Adds a member. `trouble`: errno, why it cannot be read. */
static int add_member(const tree *t, const char *below, int64_t bytes, int trouble)
{
    char *path = join_path(t->path, below), *name = join_path(t->name, below);
    tkl__files_item *item = path && name ? add_item(t->items) : NULL;
    if (!item) {
        free(path);
        free(name);
        return tkl__nomem();
    }
    size_t len = strlen(name), before = strlen(t->name);
    *item = (tkl__files_item){.source = {.path = path, .name = {name, len}},
                              .root = t->root,
                              .below = *below ? name + before + 1 : name + len,
                              .bytes = bytes,
                              .trouble = len > TKL_FILES_NAME_MAX ? ENAMETOOLONG : trouble};
    return TKL_OK;
}

/* ---- Walking ------------------------------------------------------------- */

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int walk_dir(const tree *t, const char *below);

/* Adds one entry of a directory, and everything below it. */
static int walk_entry(const tree *t, int dir, const char *below, const char *name)
{
    struct stat st;
    char *path = *below ? join_path(below, name) : strdup(name);
    if (!path)
        return tkl__nomem();
    int rc;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        rc = errno == ENOENT ? TKL_OK : add_member(t, path, 0, errno); /* it was removed just now */
    else if (S_ISDIR(st.st_mode) && strlen(t->name) + 1 + strlen(path) <= TKL_FILES_NAME_MAX)
        rc = walk_dir(t, path);
    else
        rc = add_member(t, path, S_ISREG(st.st_mode) ? st.st_size : 0, 0);
    free(path);
    return rc;
}

/* Adds everything below a directory, and then the directory. */
static int walk_dir(const tree *t, const char *below)
{
    struct dirent **entries = NULL;
    int rc = TKL_OK, dir = tkl__files_tree_open(t->root, below);
    int count = dir >= 0 ? scandirat(dir, ".", &entries, is_entry, by_bytes) : -1;
    int trouble = count < 0 ? errno : 0;
    for (int i = 0; i < count; i++) {
        if (rc == TKL_OK)
            rc = walk_entry(t, dir, below, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (dir >= 0)
        close(dir);
    return rc == TKL_OK ? add_member(t, below, 0, trouble) : rc;
}

/* Adds a source as it is. */
static int add_source(const tkl_files_source *source, int64_t bytes, int trouble,
                      tkl__files_items *items)
{
    tkl__files_item *item = add_item(items);
    if (!item)
        return tkl__nomem();
    item->source = *source;
    item->bytes = bytes;
    item->trouble = trouble;
    return TKL_OK;
}

static int expand_tree(const tkl_files_source *source, tkl__files_items *items)
{
    char name[TKL_FILES_NAME_MAX + 1];
    int rc = tree_name(source, name);
    if (rc != TKL_OK)
        return rc;
    if (!tkl__grow(&items->roots, items->root_count, sizeof *items->roots))
        return tkl__nomem();
    int root = open(source->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return add_source(source, 0, errno, items);
    items->roots[items->root_count++] = root;
    return walk_dir(&(tree){items, root, source->path, name}, "");
}

int tkl__files_expand(const tkl_files_source *sources, size_t count, tkl__files_items *items)
{
    int rc = TKL_OK;
    *items = (tkl__files_items){0};
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        struct stat st;
        bool known = sources[i].path && stat(sources[i].path, &st) == 0;
        if (known && S_ISDIR(st.st_mode))
            rc = expand_tree(&sources[i], items);
        else
            rc = add_source(&sources[i], known && S_ISREG(st.st_mode) ? st.st_size : 0, 0, items);
    }
    return rc;
}

/* ---- Opening ------------------------------------------------------------- */

int64_t tkl__files_item_mode(const tkl__files_item *item, const struct stat *st)
{
    int64_t mode = st ? (int64_t)(st->st_mode & 0777) : 0666;
    if (st && item->root >= 0)
        mode |= (int64_t)(st->st_mode & S_IFMT);
    return item->last ? mode | TKL__FILES_LAST : mode;
}

static int open_regular(int dir, const char *path, int flags, int *fd, struct stat *st)
{
    *fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
    if (*fd < 0)
        return tkl__fail(TKL_EIO, "%s", strerror(errno));
    int rc = TKL_OK;
    if (fstat(*fd, st) != 0)
        rc = tkl__fail(TKL_EIO, "%s", strerror(errno));
    else if (!S_ISREG(st->st_mode))
        rc = tkl__fail(TKL_EIO, "it is not a regular file");
    if (rc != TKL_OK) {
        close(*fd);
        *fd = -1;
    }
    return rc;
}

static int read_link(int dir, const char *leaf, tkl_bytes name, char **link)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(dir, leaf, target, sizeof target);
    if (len < 0)
        return tkl__fail(TKL_EIO, "%s", strerror(errno));
    if (len == (ssize_t)sizeof target ||
        !tkl__files_tree_leads_inside(name, (tkl_bytes){target, (size_t)len}))
        return tkl__fail(TKL_EIO, "it is a symbolic link that may lead out of the directory");
    *link = strndup(target, (size_t)len);
    return *link ? TKL_OK : tkl__nomem();
}

static int open_leaf(int dir, const char *leaf, tkl_bytes name, int *fd, struct stat *st,
                     char **link)
{
    if (fstatat(dir, leaf, st, AT_SYMLINK_NOFOLLOW) != 0)
        return tkl__fail(TKL_EIO, "%s", strerror(errno));
    switch (st->st_mode & S_IFMT) {
    case S_IFREG:
        return open_regular(dir, leaf, O_NOFOLLOW, fd, st);
    case S_IFDIR:
        return TKL_OK;
    case S_IFLNK:
        return read_link(dir, leaf, name, link);
    default:
        return tkl__fail(TKL_EIO, "it is not a file, a directory or a symbolic link");
    }
}

int tkl__files_item_open(const tkl__files_item *item, tkl_bytes name, int *fd, struct stat *st,
                         char **link)
{
    const char *leaf;
    *fd = -1;
    *link = NULL;
    if (item->trouble != 0)
        return tkl__fail(TKL_EIO, "%s", strerror(item->trouble));
    if (item->root < 0)
        return open_regular(AT_FDCWD, item->source.path, 0, fd, st);
    int dir = tkl__files_tree_parent(item->root, item->below, false, false, &leaf);
    if (dir < 0)
        return tkl__fail(TKL_EIO, "%s", strerror(errno));
    int rc = open_leaf(dir, *leaf ? leaf : ".", name, fd, st, link);
    close(dir);
    return rc;
}
