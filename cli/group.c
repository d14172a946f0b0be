/* SPDX-License-Identifier: MIT */
#include "group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The group of a process by its /proc/PID/stat, "12 (sh) S 1 12 ...": 0 for a zombie and for one
 * that has gone. The name may have any character. */
static pid_t group_of(const char *stat)
{
    const char *at = strrchr(stat, ')');
    pid_t group = 0;
    if (at == NULL || strlen(at) < 5 || at[2] == 'Z' || at[2] == 'X')
        return 0;
    at = strchr(at + 4, ' '); /* the parent's pid follows the state */
    for (at = at != NULL ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
        group = group * 10 + (*at - '0');
    return group;
}

static pid_t read_group(int proc, const char *pid)
{
    char path[32], text[512];
    size_t len = strlen(pid);
    if (*pid < '0' || *pid > '9' || len + sizeof "/stat" > sizeof path)
        return 0;
    memcpy(path, pid, len);
    memcpy(path + len, "/stat", sizeof "/stat");
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
    return group_of(text);
}

static void mark(pid_t found, const pid_t *groups, size_t count, bool *there)
{
    for (size_t i = 0; i < count; i++)
        if (found != 0 && groups[i] == found)
            there[i] = true;
}

/* Uses getdents64(), because readdir() allocates memory. */
static bool look_through(int proc, const pid_t *groups, size_t count, bool *there)
{
    _Alignas(struct dirent64) char entries[8192];
    ssize_t n;
    while ((n = getdents64(proc, entries, sizeof entries)) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            mark(read_group(proc, entry->d_name), groups, count, there);
            at += entry->d_reclen;
        }
    return n == 0;
}

/* Asks kill(), too: a process that we may not signal, such as one of sudo, may be hidden in
 * /proc. */
void cli_groups_look(const pid_t *groups, size_t count, bool *there)
{
    bool any = false, seen = false;
    for (size_t i = 0; i < count; i++)
        any |= kill(-groups[i], 0) == 0;
    for (size_t i = 0; i < count; i++)
        there[i] = false;
    int proc = any ? open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (proc >= 0) {
        seen = look_through(proc, groups, count, there);
        close(proc);
    }
    for (size_t i = 0; i < count; i++)
        there[i] = there[i] || (kill(-groups[i], 0) == 0 ? !seen : errno != ESRCH);
}

bool cli_group_is_there(pid_t group)
{
    bool there;
    cli_groups_look(&group, 1, &there);
    return there;
}
