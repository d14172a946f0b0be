/* SPDX-License-Identifier: MIT
 *
 * Whether a directory may hold a private server.
 *
 * The server runs with the user's rights. Another user who can put a configuration, data or a
 * socket into its directory can run programs as the user, or read what the user sends. So nobody
 * else may be able to write to the directory, and it may hold nothing that belongs to another user:
 * a planted file stays there even if the directory is closed to others later. Links are refused,
 * too: a symbolic link makes the server read or append to a file elsewhere, and so does a hard link
 * to one of the user's own files.
 *
 * The same holds for the path: a user who can rename a directory above can replace it after the
 * check. Therefore the path is checked first; then only the user can change what is checked
 * afterwards.
 *
 * Files come and go during the check, because a server may be running: files that have disappeared
 * are skipped.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "server/server.h"

/* The most symbolic links to follow: as many as the kernel does. */
#define LINKS_MAX 40

/* The owner shown for users who do not exist in this user namespace: usually the machine's root. */
#define OVERFLOW_UID 65534

/* ---- The way to the directory -------------------------------------------- */

/* Whether this process runs in a user namespace without root, as in a sandbox: there the machine's
 * directories seem to belong to OVERFLOW_UID. */
static bool is_in_sandbox(void)
{
    unsigned long inside = 0, outside = 0, count = 0;
    FILE *map = fopen("/proc/self/uid_map", "re");
    int n = map ? fscanf(map, "%lu %lu %lu", &inside, &outside, &count) : 0;
    if (map)
        fclose(map);
    return n == 3 && count <= OVERFLOW_UID;
}

bool tkl__own_is_trusted(uid_t owner)
{
    return owner == 0 || owner == geteuid() || (owner == OVERFLOW_UID && is_in_sandbox());
}

/* In a directory with the sticky bit, such as /tmp, only the owner of an entry can rename it. The
 * user's own group usually has the user as its only member. */
bool tkl__own_others_may_change(const struct stat *st)
{
    bool by_group = (st->st_mode & S_IWGRP) && st->st_gid != getegid();
    return !(st->st_mode & S_ISVTX) && (by_group || (st->st_mode & S_IWOTH));
}

static int check_above(const char *path, const struct stat *st)
{
    if (!tkl__own_is_trusted(st->st_uid))
        return tkl__fail(TKL_ESPAWN,
                         "%s, which leads to the private server, belongs to another user: choose "
                         "another directory",
                         path);
    if (S_ISDIR(st->st_mode) && tkl__own_others_may_change(st))
        return tkl__fail(TKL_ESPAWN,
                         "%s, which leads to the private server, can be written by others: choose "
                         "another directory, or chmod it to 755 or 1777",
                         path);
    return TKL_OK;
}

/* Replaces the symbolic link `path` by its target, followed by `rest`. */
static int follow_link(char path[PATH_MAX], const char *rest)
{
    char target[PATH_MAX], whole[PATH_MAX];
    ssize_t len = readlink(path, target, sizeof target - 1);
    if (len < 0)
        return tkl__fail_errno(TKL_ESPAWN, "%s", path);
    target[len] = '\0';
    int before = *target == '/' ? 0 : (int)(strrchr(path, '/') - path) + 1;
    int n = snprintf(whole, sizeof whole, "%.*s%s/%s", before, path, target, rest);
    if (n < 0 || (size_t)n >= sizeof whole)
        return tkl__fail(TKL_ESPAWN, "%s: the path is too long", path);
    memcpy(path, whole, (size_t)n + 1);
    return TKL_OK;
}

/* Walks from the root to the directory, one name further in each round. A symbolic link is replaced
 * by its target, and the walk starts over. */
int tkl__own_way(const char *dir)
{
    char path[PATH_MAX];
    struct stat st;
    int links = 0;
    snprintf(path, sizeof path, "%s", dir);
    for (size_t end = 0; path[end] != '\0';) {
        end += 1 + strcspn(path + end + 1, "/");
        char next = path[end];
        path[end] = '\0';
        if (lstat(path, &st) != 0)
            return tkl__fail_errno(TKL_ESPAWN, "%s", path);
        bool is_link = S_ISLNK(st.st_mode), is_last = next == '\0';
        int rc = is_last && !is_link ? TKL_OK : check_above(path, &st);
        if (rc == TKL_OK && is_link && links++ == LINKS_MAX)
            rc = tkl__fail(TKL_ESPAWN, "%s: too many symbolic links", path);
        if (rc == TKL_OK && is_link)
            rc = follow_link(path, is_last ? "" : path + end + 1);
        if (rc != TKL_OK)
            return rc;
        if (is_link)
            end = 0;
        else
            path[end] = next;
    }
    return TKL_OK;
}

/* ---- Entries of the directory -------------------------------------------- */

static int refuse_entry(const char *dir, const char *name, const char *why)
{
    return tkl__fail(TKL_ESPAWN, "the directory %s is not used: %s in it %s", dir, name, why);
}

/* `name` is an entry of the directory, or of a directory in it: "appendonlydir/x". */
static int check_entry(const char *dir, const char *name, const struct stat *st)
{
    if (S_ISLNK(st->st_mode))
        return refuse_entry(dir, name, "is a symbolic link: remove it");
    if (st->st_uid != geteuid())
        return refuse_entry(dir, name, "belongs to another user: remove it, or make it yours");
    if (S_ISSOCK(st->st_mode) && strcmp(name, "socket") == 0)
        return TKL_OK;
    if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
        return refuse_entry(dir, name, "is not a regular file: remove it");
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return refuse_entry(
            dir, name,
            "can be written by others: look what is in it, then chmod it to 600, or a "
            "directory to 700");
    if (S_ISREG(st->st_mode) && st->st_nlink > 1)
        return refuse_entry(dir, name,
                            "has another name elsewhere (a hard link): remove it or copy it");
    return TKL_OK;
}

/* Whether the file system itself puts this entry into its root directory. */
static bool is_of_the_system(const char *name, const struct stat *st)
{
    return strcmp(name, "lost+found") == 0 && S_ISDIR(st->st_mode) && st->st_uid == 0;
}

/* Checks all entries of `fd`, and closes it. `folder` is its name within `dir`; NULL: it is `dir`
 * itself, whose subdirectories are checked too. A server uses nothing deeper. */
static int check_entries(const char *dir, const char *folder, int fd)
{
    char name[2 * NAME_MAX + 2];
    struct stat st;
    int rc = TKL_OK;
    DIR *entries = fdopendir(fd);
    if (!entries) {
        close(fd);
        return tkl__nomem();
    }
    for (struct dirent *entry; rc == TKL_OK && (entry = readdir(entries));) {
        const char *short_name = entry->d_name;
        if (strcmp(short_name, ".") == 0 || strcmp(short_name, "..") == 0 ||
            fstatat(fd, short_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            (!folder && is_of_the_system(short_name, &st)))
            continue;
        snprintf(name, sizeof name, "%s%s%s", folder ? folder : "", folder ? "/" : "", short_name);
        rc = check_entry(dir, name, &st);
        if (rc != TKL_OK || folder || !S_ISDIR(st.st_mode))
            continue;
        int inner = openat(fd, short_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0)
            rc = check_entries(dir, short_name, inner);
        else if (errno != ENOENT)
            rc = tkl__fail_errno(TKL_ESPAWN, "%s/%s cannot be read", dir, short_name);
    }
    closedir(entries);
    return rc;
}

int tkl__own_dir(const char *dir)
{
    struct stat st;
    int rc = tkl__own_way(dir);
    if (rc != TKL_OK)
        return rc;
    if (stat(dir, &st) != 0)
        return tkl__fail_errno(TKL_ESPAWN, "%s", dir);
    if (!S_ISDIR(st.st_mode))
        return tkl__fail(TKL_ESPAWN, "%s is not a directory", dir);
    if (st.st_uid != geteuid())
        return tkl__fail(TKL_ESPAWN, "the directory %s belongs to another user", dir);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return tkl__fail(TKL_ESPAWN,
                         "the directory %s can be written by others: look what is in it, then "
                         "chmod it to 700",
                         dir);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return tkl__fail_errno(TKL_ESPAWN, "the directory %s cannot be read", dir);
    return check_entries(dir, NULL, fd);
}
