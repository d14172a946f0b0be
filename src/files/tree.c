/* SPDX-License-Identifier: MIT */
#include "files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/letters.h"

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* ---- Paths --------------------------------------------------------------- */

static size_t part_len(tkl_bytes rest)
{
    const char *slash = memchr(rest.data, '/', rest.len);
    return slash ? (size_t)(slash - rest.data) : rest.len;
}

/* Cuts the first part off a path; false: there is none. */
static bool next_part(tkl_bytes *rest, tkl_bytes *part)
{
    if (rest->len == 0)
        return false;
    *part = (tkl_bytes){rest->data, part_len(*rest)};
    size_t used = part->len < rest->len ? part->len + 1 : part->len;
    *rest = (tkl_bytes){rest->data + used, rest->len - used};
    return true;
}

bool tkl__files_tree_is_path(tkl_bytes name)
{
    tkl_bytes rest = name, part;
    if (name.len == 0 || name.len > TKL_FILES_NAME_MAX || memchr(name.data, '\0', name.len) ||
        name.data[name.len - 1] == '/')
        return false;
    while (next_part(&rest, &part))
        if (part.len == 0 || tkl__same_bytes(part, tkl_str(".")) ||
            tkl__same_bytes(part, tkl_str("..")))
            return false;
    return !tkl__begins_with(name, tkl_str(TKL__FILES_PREFIX));
}

/* `depth` is how many directories the link, and then its target, is below the place where the first
 * part of the name is. A ".." behind another part is refused: that part may be a link, and then
 * ".." leads elsewhere. */
bool tkl__files_tree_leads_inside(tkl_bytes name, tkl_bytes target)
{
    tkl_bytes rest = name, part;
    long depth = -1;
    bool down = false;
    while (next_part(&rest, &part))
        depth++;
    if (target.len == 0 || target.data[0] == '/' || memchr(target.data, '\0', target.len))
        return false;
    for (rest = target; next_part(&rest, &part);) {
        if (tkl__same_bytes(part, tkl_str(".."))) {
            if (down || --depth < 1)
                return false;
        } else if (part.len > 0 && !tkl__same_bytes(part, tkl_str("."))) {
            down = true;
        }
    }
    return depth >= 1;
}

/* ---- Opening ------------------------------------------------------------- */

/* Opens the next directory of a path, and makes it if it is missing. Closes `dir`. */
static int open_next(int dir, const char *part, bool create, bool sync)
{
    int next = openat(dir, part, DIRECTORY);
    if (next < 0 && errno == ENOENT && create) {
        if (mkdirat(dir, part, 0777) != 0 && errno != EEXIST)
            next = -1;
        else if (sync && fsync(dir) != 0)
            next = -1;
        else
            next = openat(dir, part, DIRECTORY);
    }
    int saved = errno;
    close(dir);
    errno = saved;
    return next;
}

int tkl__files_tree_parent(int root, const char *path, bool create, bool sync, const char **leaf)
{
    char part[TKL_FILES_NAME_MAX + 1];
    int dir = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *slash;
    for (; dir >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        size_t len = (size_t)(slash - path);
        if (len >= sizeof part) {
            close(dir);
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(part, path, len);
        part[len] = '\0';
        dir = open_next(dir, part, create, sync);
    }
    *leaf = path;
    return dir;
}

int tkl__files_tree_open(int root, const char *path)
{
    const char *leaf;
    int dir = tkl__files_tree_parent(root, path, false, false, &leaf);
    return dir >= 0 && *leaf ? open_next(dir, leaf, false, false) : dir;
}
