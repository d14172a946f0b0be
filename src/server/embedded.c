/* SPDX-License-Identifier: MIT
 *
 * `embedded:` is a server in memory that ends with the program, however the program ends.
 *
 * A supervisor, a few lines of shell, makes the directory, starts the server, and removes both. The
 * program and the supervisor hold the two ends of a socket, the tether. When the program ends, the
 * kernel closes its end; the supervisor reads end-of-file and kills the server. When the supervisor
 * ends, the program reads end-of-file and knows that nothing is left. When the server ends by
 * itself, the supervisor sends the last lines of its log before it exits.
 *
 * A forked child of the program holds the tether too, and may keep using the server after its
 * parent has ended. The program's own tkl_close() shuts the tether down for all of them;
 * tkl_close() in a child only drops its copy.
 */
#include "server/embedded.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/nofork.h"
#include "server/server.h"

/* How long tkl_close() waits for the supervisor, which only has to kill and to remove. If that
 * takes longer, the machine is in trouble, and the program should be able to end. */
#define STOP_MS 10000

#define DIR_MAX (TKL__SOCKET_MAX - sizeof "/socket" + 1)

struct tkl__embedded {
    int tether;  /* our end */
    pid_t owner; /* the process whose tkl_close() ends the server */
};

/* "$1" is the directory, the rest is the server's command line. The inner reader is a separate
 * process because a shell cannot wait for a child and for a descriptor at once. */
static const char supervisor[] = "{\n"
                                 "    PATH=/usr/bin:/bin\n"
                                 "    umask 077\n"
                                 "    dir=$1\n"
                                 "    shift\n"
                                 "    mkdir \"$dir\" 2>&3 && cd \"$dir\" || exit\n"
                                 "    \"$@\" >log 2>&1 3>&- &\n"
                                 "    server=$!\n"
                                 "    { read -r end <&3; kill -9 $server; } &\n"
                                 "    reader=$!\n"
                                 "    wait $server\n"
                                 "    kill $reader\n"
                                 "    tail -n 5 log >&3\n"
                                 "    cd /\n"
                                 "    rm -rf \"$dir\"\n"
                                 "} &\n";

/* ---- The directory ------------------------------------------------------- */

/* Whether `base` can hold the directory: other users must not be able to move it away. In /tmp the
 * sticky bit prevents that. */
static bool can_hold_dir(const char *base)
{
    char way[DIR_MAX];
    if (!base || *base != '/' || access(base, W_OK | X_OK) != 0 ||
        strlen(base) + sizeof "/tackle-0123456789abcdef" > DIR_MAX)
        return false;
    snprintf(way, sizeof way, "%s/.", base); /* so that `base` itself is checked as a parent, too */
    return tkl__own_way(way) == TKL_OK;
}

/* Chooses a name that is not in use. The supervisor makes the directory, so it never exists without
 * a process that removes it. */
static int choose_dir(char *dir)
{
    const char *bases[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        if (!can_hold_dir(bases[i]))
            continue;
        uint64_t id;
        tkl__random(&id, sizeof id);
        snprintf(dir, DIR_MAX, "%s/tackle-%016llx", bases[i], (unsigned long long)id);
        return TKL_OK;
    }
    return tkl__fail(
        TKL_ESPAWN,
        "no place for the private server: none of $XDG_RUNTIME_DIR, $TMPDIR and /tmp "
        "can be written, is safe from other users and has a path of less than %zu bytes",
        DIR_MAX - sizeof "/tackle-0123456789abcdef");
}

/* ---- Starting ------------------------------------------------------------ */

static int run_supervisor(const char *program, const char *dir, const char *socket, int tether)
{
    const char *const args[] = {
        dir,     program, "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700",
        "--dir", dir,     "--save", "",  "--appendonly", "no",   "--daemonize",      "no",
        NULL};
    return tkl__server_detach(supervisor, args, tether, "/dev/null");
}

static int tie_server(tkl__embedded *server, const char *program, const char *dir, const char *path)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return tkl__fail_errno(TKL_ESPAWN, "no socket for the private server");
    server->tether = ends[0];
    server->owner = getpid();
    int rc = run_supervisor(program, dir, path, ends[1]);
    close(ends[1]);
    return rc;
}

static int server_died(const tkl__embedded *server, const char *program, int64_t deadline)
{
    char text[1024];
    tkl__read_all(server->tether, deadline, text, sizeof text);
    return tkl__fail(TKL_ESPAWN, "%s ended at its start:\n%s", program, text);
}

static int await_reply(const tkl__embedded *server, const char *program, const char *socket,
                       int64_t deadline)
{
    for (;;) {
        tkl__conn *conn;
        int rc = tkl__server_ping(socket, deadline, &conn);
        if (rc == TKL_OK) {
            tkl__conn_close(conn);
            return TKL_OK;
        }
        struct pollfd wait = {.fd = server->tether, .events = POLLIN};
        if (poll(&wait, 1, 1) == 1)
            return server_died(server, program, deadline);
        if (tkl__left(deadline) == 0)
            return tkl__fail_in(TKL_ESPAWN, "%s did not answer in time", program);
    }
}

/* Prevents fork() meanwhile: a child with a copy of the supervisor's end of the tether would hide
 * the end of the supervisor. */
static int launch_server(tkl__embedded *server, int64_t deadline, char *program, char *socket)
{
    char dir[DIR_MAX];
    tkl__nofork_enter();
    int rc = tkl__server_find(deadline, program);
    if (rc == TKL_OK)
        rc = choose_dir(dir);
    if (rc == TKL_OK) {
        snprintf(socket, TKL__SOCKET_MAX, "%s/socket", dir);
        rc = tie_server(server, program, dir, socket);
    }
    tkl__nofork_leave();
    return rc;
}

static int start_in_memory(int64_t deadline, char *socket, tkl__embedded **server)
{
    char program[PATH_MAX];
    tkl__embedded *s = calloc(1, sizeof *s);
    if (!s)
        return tkl__nomem();
    s->tether = -1;
    int rc = launch_server(s, deadline, program, socket);
    if (rc == TKL_OK)
        rc = await_reply(s, program, socket, deadline);
    if (rc == TKL_OK)
        *server = s;
    else
        tkl__embedded_stop(s);
    return rc;
}

int tkl__embedded_start(const tkl__target *target, int64_t deadline, char *socket,
                        tkl__embedded **server)
{
    *server = NULL;
    if (target->dir)
        return tkl__server_join(target, deadline, socket);
    if (target->durability && strcmp(target->durability, "none") != 0)
        return tkl__fail(TKL_EINVAL,
                         "embedded: keeps its data in memory: for durability=%s name a "
                         "directory, embedded:/dir",
                         target->durability);
    return start_in_memory(deadline, socket, server);
}

/* ---- Stopping ------------------------------------------------------------ */

void tkl__embedded_stop(tkl__embedded *server)
{
    char ignored[2];
    if (!server)
        return;
    if (server->tether >= 0) {
        if (server->owner == getpid()) {
            shutdown(server->tether, SHUT_WR);
            tkl__read_all(server->tether, tkl__deadline_ms(STOP_MS), ignored, sizeof ignored);
        }
        close(server->tether);
    }
    free(server);
}
