/* SPDX-License-Identifier: MIT
 *
 * Finding the server program, and starting it fully detached from this one.
 *
 * The library lives inside another program, which may have threads, children of its own and open
 * files. So nothing here forks without exec, and the server inherits nothing. A server may outlive
 * its program: a leaked descriptor would keep pipes open that others wait on, an inherited terminal
 * would kill it with the program's Ctrl-C, and an inherited environment would keep the program's
 * secrets.
 *
 * The server is not a child either: a program that waits for all of its children must not wait for
 * ours. posix_spawn runs a shell; the shell puts its work into the background and ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "server/server.h"

#define OLDEST_MAJOR 7

int tkl__absolute(const char *path, char *absolute, size_t size)
{
    char cwd[PATH_MAX] = "";
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    if (*path != '/' && !getcwd(cwd, sizeof cwd))
        return tkl__fail_errno(TKL_EIO, "the current directory cannot be found");
    int len = snprintf(absolute, size, "%s%s%s", cwd, *cwd ? "/" : "", path);
    if (len < 0 || (size_t)len >= size)
        return tkl__fail(TKL_EINVAL, "%s: the path is too long", path);
    return TKL_OK;
}

/* ---- Spawning ------------------------------------------------------------ */

/* The part of the environment that a server may need. It must not keep the rest for as long as it
 * lives. */
static char **small_environment(char *(*slots)[4])
{
    static const char *const names[] = {"PATH=", "LD_LIBRARY_PATH=", "TZ="};
    size_t count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (char **entry = environ; entry && *entry; entry++)
            if (strncmp(*entry, names[i], strlen(names[i])) == 0) {
                (*slots)[count++] = *entry;
                break;
            }
    (*slots)[count] = NULL;
    return *slots;
}

/* `fd` becomes `as`; 1 and 2 go to `output` unless `as` is 1 already; all others are closed. */
static int plan_files(posix_spawn_file_actions_t *files, int fd, int as, const char *output)
{
    int rc = posix_spawn_file_actions_adddup2(files, fd, as);
    if (!rc)
        rc = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
    if (!rc && as != 1)
        rc =
            posix_spawn_file_actions_addopen(files, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (!rc)
        rc = posix_spawn_file_actions_adddup2(files, 1, 2);
    if (!rc)
        rc = posix_spawn_file_actions_addclosefrom_np(files, as < 3 ? 3 : as + 1);
    return rc;
}

static int plan_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int rc = posix_spawnattr_setsigmask(attributes, &none);
    if (!rc)
        rc = posix_spawnattr_setsigdefault(attributes, &all);
    if (!rc)
        rc = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                      POSIX_SPAWN_SETSIGDEF);
    return rc;
}

static int spawn_server(const char *const *argv, int fd, int as, const char *output, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    char *environment[4];
    int rc = posix_spawn_file_actions_init(&files);
    if (rc)
        return tkl__nomem();
    rc = posix_spawnattr_init(&attributes);
    if (!rc)
        rc = plan_files(&files, fd, as, output);
    if (!rc)
        rc = plan_attributes(&attributes);
    if (!rc)
        rc = posix_spawn(pid, argv[0], &files, &attributes, (char *const *)(uintptr_t)argv,
                         small_environment(&environment));
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    errno = rc;
    return rc ? tkl__fail_errno(TKL_ESPAWN, "%s cannot be run", argv[0]) : TKL_OK;
}

/* ECHILD is fine: the program ignores SIGCHLD, or has already reaped the process. */
static void reap_server(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

int tkl__server_detach(const char *script, const char *const *args, int fd, const char *output)
{
    const char *argv[32] = {"/bin/sh", "-c", script, "tackle"};
    size_t count = 4;
    for (; *args; args++) {
        if (count + 1 == sizeof argv / sizeof *argv)
            return tkl__fail(TKL_EBUG, "too many arguments for a server");
        argv[count++] = *args;
    }
    pid_t pid;
    int rc = spawn_server(argv, fd, 3, output, &pid);
    if (rc == TKL_OK)
        reap_server(pid);
    return rc;
}

/* ---- Finding ------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Uses absolute directories only: any user may have put a program into the current one. */
static bool find_on_path(const char *name, char *program)
{
    const char *path = getenv("PATH");
    if (!path || !*path)
        path = "/usr/local/bin:/usr/bin:/bin";
    while (*path) {
        int len = (int)strcspn(path, ":");
        int made = snprintf(program, PATH_MAX, "%.*s/%s", len, path, name);
        if (*path == '/' && made < PATH_MAX && is_program(program))
            return true;
        path += len;
        path += *path == ':';
    }
    return false;
}

static int find_wanted(const char *wanted, char *program)
{
    if (strchr(wanted, '/')) {
        int rc = tkl__absolute(wanted, program, PATH_MAX);
        if (rc != TKL_OK || is_program(program))
            return rc;
    } else if (find_on_path(wanted, program))
        return TKL_OK;
    return tkl__fail(TKL_ESPAWN, "TACKLE_SERVER=%s: there is no such program", wanted);
}

static int find_program(char *program)
{
    const char *wanted = getenv("TACKLE_SERVER");
    if (wanted && *wanted)
        return find_wanted(wanted, program);
    if (find_on_path("redis-server", program) || find_on_path("valkey-server", program))
        return TKL_OK;
    return tkl__fail(TKL_ESPAWN,
                     "there is neither redis-server nor valkey-server on PATH: install the package "
                     "redis-server or valkey-server, or name the program in TACKLE_SERVER");
}

/* ---- Checking ------------------------------------------------------------ */

bool tkl__read_all(int fd, int64_t deadline, char *text, size_t size)
{
    size_t len = 0;
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        char drop[256];
        bool full = len + 1 >= size;
        text[len] = '\0';
        if (poll(&wait, 1, tkl__poll_ms(deadline)) == 0)
            return false;
        ssize_t got = read(fd, full ? drop : text + len, full ? sizeof drop : size - len - 1);
        if (got > 0 && !full)
            len += (size_t)got;
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
    }
    text[len] = '\0';
    return true;
}

static int ask_version(const char *program, int64_t deadline, char *text, size_t size)
{
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return tkl__fail_errno(TKL_ESPAWN, "no pipe");
    int rc =
        spawn_server((const char *const[]){program, "--version", NULL}, ends[1], 1, NULL, &pid);
    close(ends[1]);
    if (rc == TKL_OK) {
        if (!tkl__read_all(ends[0], deadline, text, size)) {
            kill(pid, SIGKILL);
            rc = tkl__fail(TKL_ESPAWN, "%s --version does not end", program);
        }
        reap_server(pid);
    }
    close(ends[0]);
    return rc;
}

/* "Redis server v=7.0.15 sha=..." or "Valkey server v=8.0.1 sha=..." */
static int check_version(const char *program, int64_t deadline)
{
    char text[512];
    int rc = ask_version(program, deadline, text, sizeof text);
    if (rc != TKL_OK)
        return rc;
    text[strcspn(text, "\n")] = '\0';
    const char *version = strstr(text, "erver v=");
    if (!version)
        return tkl__fail(TKL_ESPAWN, "%s is no Redis or Valkey server: it says \"%s\"", program,
                         text);
    version += strlen("erver v=");
    if (atoi(version) < OLDEST_MAJOR)
        return tkl__fail(TKL_ESPAWN,
                         "%s is too old: it is version %.*s, needed is Redis 7.0 or Valkey 7.2",
                         program, (int)strcspn(version, " "), version);
    return TKL_OK;
}

int tkl__server_find(int64_t deadline, char *program)
{
    int rc = find_program(program);
    return rc == TKL_OK ? check_version(program, deadline) : rc;
}
