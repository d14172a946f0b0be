/* SPDX-License-Identifier: MIT
 *
 * `embedded:/dir` is one persistent server for each directory. In the directory:
 *
 *     lock           held by the server as long as it lives
 *     socket         where it is reached
 *     config         its configuration: written once here, then changed by the user and the server
 *     log, log.old   its log
 *     dump.rdb, appendonlydir/   the data
 *
 * Everything depends on the lock. The process that gets it knows that no server runs here and that
 * no other process is starting one. The starter takes it, passes the locked descriptor to the
 * server, and closes its own: from then on the kernel keeps the lock until the last process of that
 * server is gone, kill -9 and power cuts included. So a socket without a server is known to be left
 * over, two servers can never write the same files, and there is no pid file that could be wrong.
 *
 * Joining repeats two steps: send PING to the socket; try the lock and, when it is free, start the
 * server. Getting the lock a second time means that the server we started has died.
 *
 * Before all that the directory is checked: it and everything in it must belong to the user
 * (own.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/nofork.h"
#include "server/server.h"

#define POLL_US     1000
#define POLL_MAX_US 10000

/* How long a server may take to exit after it has closed its connections. */
#define END_MS 10000

/* A longer log is put aside at the next start. */
#define LOG_MAX (1 << 20)

/* How many bytes of the log an error quotes. */
#define LOG_TAIL 700

/* The server inherits the lock as descriptor 3. */
static const char starter[] = "umask 077\n"
                              "\"$@\" &\n";

typedef struct place {
    char dir[TKL__SOCKET_MAX];
    char socket[TKL__SOCKET_MAX];
    char lock[TKL__SOCKET_MAX + 8];
    char config[TKL__SOCKET_MAX + 8];
    char log[TKL__SOCKET_MAX + 8];
} place;

/* ---- The directory ------------------------------------------------------- */

static int locate_dir(const char *dir, place *p)
{
    char path[PATH_MAX];
    int rc = tkl__absolute(dir, path, sizeof path);
    if (rc != TKL_OK)
        return rc;
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        path[--len] = '\0';
    if (len + sizeof "/socket" > TKL__SOCKET_MAX)
        return tkl__fail(TKL_EINVAL,
                         "%s: too long, the path of a directory with a private server has at most "
                         "%zu bytes: choose a shorter one, or make a symbolic link to it",
                         path, TKL__SOCKET_MAX - sizeof "/socket");
    *p = (place){.dir = ""};
    memcpy(p->dir, path, len + 1);
    snprintf(p->socket, sizeof p->socket, "%.*s/socket", (int)len, path);
    snprintf(p->lock, sizeof p->lock, "%s/lock", p->dir);
    snprintf(p->config, sizeof p->config, "%s/config", p->dir);
    snprintf(p->log, sizeof p->log, "%s/log", p->dir);
    return TKL_OK;
}

/* Makes a directory, unless something of that name exists. */
static int make_dir(const char *dir)
{
    struct stat st;
    if (mkdir(dir, 0700) == 0 || errno == EEXIST)
        return TKL_OK;
    int reason = errno;
    if (stat(dir, &st) == 0)
        return TKL_OK;
    errno = reason;
    return tkl__fail_errno(TKL_ESPAWN, "the directory %s cannot be made", dir);
}

/* Makes the directory and its parents. */
static int make_dirs(const char *dir)
{
    char path[TKL__SOCKET_MAX];
    int rc = TKL_OK;
    snprintf(path, sizeof path, "%s", dir);
    for (char *end = path + 1; *end && rc == TKL_OK; end++) {
        if (*end != '/')
            continue;
        *end = '\0';
        rc = make_dir(path);
        *end = '/';
    }
    return rc == TKL_OK ? make_dir(path) : rc;
}

/* Checks the access of a caller that asks about a server and does not start it. */
static int check_access(const place *p)
{
    struct stat st;
    bool found = stat(p->dir, &st) == 0;
    if (!found && errno != EACCES)
        return TKL_OK; /* no directory, no server */
    if (!found || faccessat(AT_FDCWD, p->dir, X_OK, AT_EACCESS) != 0)
        return tkl__fail(TKL_EAUTH,
                         "the directory %s belongs to another user: you may not enter it", p->dir);
    if (st.st_uid == geteuid())
        return tkl__own_dir(p->dir);
    if (access(p->lock, F_OK) == 0)
        return tkl__fail(TKL_EAUTH, "the server of %s belongs to another user", p->dir);
    return TKL_OK;
}

/* ---- The lock ------------------------------------------------------------ */

/* TKL_BUSY: a server runs, or another program is starting one. */
static int take_lock(const place *p, int *fd)
{
    *fd = open(p->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*fd < 0)
        return tkl__fail_errno(TKL_ESPAWN, "the directory %s cannot be written", p->dir);
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
        return TKL_OK;
    int rc = errno == EWOULDBLOCK ? TKL_BUSY : tkl__fail_errno(TKL_ESPAWN, "%s", p->lock);
    close(*fd);
    return rc;
}

/* close() alone would not release the lock while a forked child has a copy of the descriptor. */
static void drop_lock(int fd)
{
    flock(fd, LOCK_UN);
    close(fd);
}

/* Takes a shared lock, so that programs that only look do not disturb each other. */
static bool is_free(const place *p)
{
    int fd = open(p->lock, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return true;
    bool got = flock(fd, LOCK_SH | LOCK_NB) == 0;
    drop_lock(fd);
    return got;
}

/* ---- Starting ------------------------------------------------------------ */

static bool has_file(const place *p, const char *name)
{
    char path[TKL__SOCKET_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", p->dir, name);
    return access(path, F_OK) == 0;
}

/* Syncs the file before it gets its name: with an empty one the server would ignore its append-only
 * file. */
static int write_config(const place *p, const char *word)
{
    char path[TKL__SOCKET_MAX + 16];
    snprintf(path, sizeof path, "%s.new", p->config);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return tkl__fail_errno(TKL_ESPAWN, "%s cannot be written", path);
    dprintf(fd, "# The private server of this directory. Written once, then yours to extend: see\n"
                "# docs/server.md. Where it listens and lives is given on its command line.\n"
                "loglevel warning\n");
    int rc = tkl__durability_print(fd, word);
    if (rc == TKL_OK && (fsync(fd) != 0 || rename(path, p->config) != 0))
        rc = tkl__fail_errno(TKL_ESPAWN, "%s cannot be written", p->config);
    close(fd);
    return rc;
}

/* A directory that holds only a snapshot (from another server, for example) must be loaded from it
 * before an append-only file can begin. */
static int ensure_config(const place *p, const char **word)
{
    if (has_file(p, "config"))
        return TKL_OK;
    if (!*word)
        *word = TKL__DEFAULT_DURABILITY;
    return write_config(p, has_file(p, "dump.rdb") && !has_file(p, "appendonlydir") ? "snapshot"
                                                                                    : *word);
}

/* Returns the length of the log: the new server writes from there on. */
static off_t rotate_log(const place *p)
{
    struct stat st;
    char old[TKL__SOCKET_MAX + 16];
    if (stat(p->log, &st) != 0)
        return 0;
    if (st.st_size <= LOG_MAX)
        return st.st_size;
    snprintf(old, sizeof old, "%s.old", p->log);
    return rename(p->log, old) == 0 ? 0 : st.st_size;
}

static int run_server(const place *p, const char *program, int lock)
{
    const char *const args[] = {program,
                                p->config,
                                "--port",
                                "0",
                                "--unixsocket",
                                p->socket,
                                "--unixsocketperm",
                                "700",
                                "--dir",
                                p->dir,
                                "--logfile",
                                "",
                                "--daemonize",
                                "no",
                                NULL};
    return tkl__server_detach(starter, args, lock, p->log);
}

/* With the lock, which goes to the server. *log gets where its part of the log begins. */
static int start_server(const place *p, const char **word, int lock, int64_t deadline, off_t *log)
{
    char program[PATH_MAX];
    int rc = tkl__server_find(deadline, program);
    if (rc == TKL_OK)
        rc = ensure_config(p, word);
    if (rc == TKL_OK)
        rc = tkl__aof_mend(p->dir);
    if (rc != TKL_OK)
        return rc;
    *log = rotate_log(p);
    return run_server(p, program, lock);
}

/* Reads the end of the log in whole lines, from `from` on; all of it when it was put aside
 * meanwhile. */
static void read_log(const place *p, off_t from, char *text, size_t size)
{
    struct stat st;
    *text = '\0';
    int fd = open(p->log, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        st.st_size = 0;
    off_t room = (off_t)size - 1;
    if (st.st_size < from)
        from = 0;
    bool cut = st.st_size - from > room;
    ssize_t got = pread(fd, text, size - 1, cut ? st.st_size - room : from);
    text[got > 0 ? got : 0] = '\0';
    if (fd >= 0)
        close(fd);
    char *newline = cut ? strchr(text, '\n') : NULL;
    if (newline)
        memmove(text, newline + 1, strlen(newline));
}

/* The server that we started has ended. TKL_BUSY when another program stopped it meanwhile, which
 * is not a failure. The server is not our child, so we get no exit status. But its farewell is the
 * last line before exit(0), and appears only when SHUTDOWN or a signal ended it. Every server
 * writes it, at every log level but "nothing". */
static int server_died(const place *p, off_t log)
{
    char text[LOG_TAIL];
    read_log(p, log, text, sizeof text);
    if (strstr(text, "ready to exit, bye bye"))
        return TKL_BUSY;
    return tkl__fail(TKL_ESPAWN, "the private server of %s ended at its start:\n%s", p->dir, text);
}

/* ---- Joining ------------------------------------------------------------- */

/* A process holds the lock, but the server does not answer. */
static int fail_unusable(const place *p, int rc)
{
    if (rc == TKL_EUNREADY)
        return tkl__fail(rc, "the private server of %s is still loading its data", p->dir);
    return tkl__fail_in(rc,
                        "the private server of %s runs but does not answer (starting, ending, "
                        "stopped by a signal, or its socket was removed)",
                        p->dir);
}

/* The progress of joining. */
typedef struct attempt {
    const char *word; /* durability asked for; NULL: none (a new directory gets the default) */
    bool started;     /* we started the server */
    bool loading;     /* the server was seen loading its data */
    off_t log;        /* where the log of the server we started begins */
} attempt;

/* TKL_BUSY: it runs, or another program is starting it. Prevents fork() meanwhile: the child would
 * hold the lock for as long as it lives. */
static int try_to_start(const place *p, int64_t deadline, attempt *a)
{
    int lock;
    tkl__nofork_enter();
    int rc = take_lock(p, &lock);
    if (rc == TKL_OK) {
        rc = a->started ? server_died(p, a->log) : TKL_BUSY;
        if (rc == TKL_BUSY)
            rc = start_server(p, &a->word, lock, deadline, &a->log);
        a->started = true;
        close(lock);
    }
    tkl__nofork_leave();
    return rc;
}

static int start_or_join(const place *p, int64_t deadline, attempt *a, tkl__conn **conn)
{
    for (int64_t pause = POLL_US;; pause += pause < POLL_MAX_US ? POLL_US / 2 : 0) {
        int seen = tkl__server_ping(p->socket, deadline, conn);
        if (seen == TKL_OK && a->started)
            tkl__server_forget_functions(*conn, deadline);
        if (seen == TKL_OK)
            return TKL_OK;
        if (!tkl__may_pass(seen))
            return tkl__fail_in(seen, "the private server of %s", p->dir);
        a->loading = a->loading || seen == TKL_EUNREADY;
        if (tkl__left(deadline) == 0)
            return fail_unusable(p, a->loading ? TKL_EUNREADY : seen);
        int rc = try_to_start(p, deadline, a);
        if (rc < 0)
            return rc;
        if (rc == TKL_OK) /* started again: it will be there soon */
            pause = POLL_US;
        tkl__sleep_until(tkl__now() + pause);
    }
}

static int open_dir(const char *dir, place *p)
{
    int rc = locate_dir(dir, p);
    if (rc == TKL_OK)
        rc = make_dirs(p->dir);
    return rc == TKL_OK ? tkl__own_dir(p->dir) : rc;
}

static int join_server(const tkl__target *target, int64_t deadline, place *p, tkl__conn **conn)
{
    attempt a = {.word = target->durability};
    int rc = open_dir(target->dir, p);
    while (rc == TKL_OK) {
        rc = start_or_join(p, deadline, &a, conn);
        if (rc != TKL_OK || !a.word)
            return rc;
        rc = tkl__durability_apply(*conn, p->dir, p->config, a.word, deadline);
        if (rc == TKL_OK)
            return TKL_OK;
        tkl__conn_close(*conn);
        *conn = NULL;
        if (rc == TKL_EUNKNOWN || rc == TKL_ENOTSENT) /* it was stopped at that moment */
            rc = tkl__left(deadline) > 0 ? TKL_OK : rc;
    }
    return rc;
}

int tkl__server_join(const tkl__target *target, int64_t deadline, char *socket)
{
    place p;
    tkl__conn *conn;
    int rc = join_server(target, deadline, &p, &conn);
    if (rc != TKL_OK)
        return rc;
    tkl__conn_close(conn);
    memcpy(socket, p.socket, sizeof p.socket);
    return TKL_OK;
}

/* ---- The public functions ------------------------------------------------ */

static int parse_url(const char *url, tkl__target *target)
{
    int rc = tkl__target_parse(url, NULL, target);
    if (rc != TKL_OK)
        return rc;
    if (target->scheme == TKL__EMBEDDED && target->dir)
        return TKL_OK;
    tkl__target_free(target);
    return tkl__fail(TKL_EINVAL, "the URL of a persistent server is of the form embedded:/dir");
}

static int ask_server(tkl__conn *conn, int64_t deadline, tkl_reply **info)
{
    return tkl__server_said(
        tkl__conn_command(conn, deadline, info, "INFO", "server", "persistence", NULL), info);
}

static int64_t number_field(const tkl_reply *info, const char *field)
{
    char text[32];
    tkl__server_field(info, field, text, sizeof text);
    return atoll(text);
}

/* The file tells when it was written: the server's own note begins at its start. */
static int64_t saved_at(const place *p)
{
    char path[TKL__SOCKET_MAX + 32];
    struct stat st;
    snprintf(path, sizeof path, "%s/dump.rdb", p->dir);
    return stat(path, &st) == 0 ? (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000
                                : 0;
}

/* Valkey also reports a redis_version, for old clients. */
static int describe_server(tkl__conn *conn, int64_t deadline, tkl_server_info *info)
{
    tkl_reply *reply = NULL;
    int rc = ask_server(conn, deadline, &reply);
    if (rc != TKL_OK)
        return rc;
    info->pid = number_field(reply, "process_id");
    info->aof_bytes = number_field(reply, "aof_current_size");
    info->unsaved_changes = number_field(reply, "rdb_changes_since_last_save");
    tkl__server_field(reply, "valkey_version", info->version, sizeof info->version);
    snprintf(info->program, sizeof info->program, "%s-server", *info->version ? "valkey" : "redis");
    if (!*info->version)
        tkl__server_field(reply, "redis_version", info->version, sizeof info->version);
    tkl_reply_free(reply);
    return tkl__durability_live(conn, deadline, info->durability);
}

/* Connects. TKL_NOTFOUND when there is no server. Waits for a server that is starting. */
static int reach_server(const place *p, int64_t deadline, tkl__conn **conn)
{
    for (;;) {
        int rc = tkl__server_dial(p->socket, deadline, conn);
        if (rc != TKL_ENOTSENT)
            return rc;
        if (is_free(p))
            return TKL_NOTFOUND;
        if (tkl__left(deadline) == 0)
            return fail_unusable(p, rc);
        tkl__sleep_until(tkl__now() + POLL_US);
    }
}

int tkl_server_start(const char *url, tkl_server_info *info)
{
    tkl__target target;
    place p;
    tkl__conn *conn;
    *info = (tkl_server_info){.pid = 0};
    int rc = parse_url(url, &target);
    if (rc != TKL_OK)
        return rc;
    int64_t deadline = tkl__deadline_ms(target.timeout_ms);
    rc = join_server(&target, deadline, &p, &conn);
    tkl__target_free(&target);
    if (rc != TKL_OK)
        return rc;
    memcpy(info->socket, p.socket, sizeof p.socket);
    info->saved_at_ms = saved_at(&p);
    rc = describe_server(conn, deadline, info);
    tkl__conn_close(conn);
    return rc;
}

/* Finds the directory of a URL, for functions that do not start a server. */
static int look_up(const char *url, place *p, int64_t *deadline)
{
    tkl__target target;
    int rc = parse_url(url, &target);
    if (rc != TKL_OK)
        return rc;
    *deadline = tkl__deadline_ms(target.timeout_ms);
    rc = locate_dir(target.dir, p);
    tkl__target_free(&target);
    return rc == TKL_OK ? check_access(p) : rc;
}

int tkl_server_status(const char *url, tkl_server_info *info)
{
    place p;
    int64_t deadline;
    tkl__conn *conn;
    *info = (tkl_server_info){.pid = 0};
    int rc = look_up(url, &p, &deadline);
    if (rc != TKL_OK)
        return rc;
    memcpy(info->socket, p.socket, sizeof p.socket);
    tkl__durability_kept(p.config, info->durability);
    info->saved_at_ms = saved_at(&p);
    rc = reach_server(&p, deadline, &conn);
    if (rc != TKL_OK)
        return rc;
    rc = describe_server(conn, deadline, info);
    tkl__conn_close(conn);
    return rc;
}

/* ---- Saving -------------------------------------------------------------- */

/* Connects to the running server of a URL, and reads its durability. */
static int reach_url(const char *url, place *p, tkl__conn **conn, char word[TKL__WORD_MAX])
{
    int64_t deadline;
    int rc = look_up(url, p, &deadline);
    if (rc == TKL_OK)
        rc = reach_server(p, deadline, conn);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__durability_live(*conn, deadline, word);
    if (rc != TKL_OK)
        tkl__conn_close(*conn);
    return rc;
}

int tkl_server_save(const char *url)
{
    place p;
    tkl__conn *conn;
    char word[TKL__WORD_MAX];
    int rc = reach_url(url, &p, &conn, word);
    if (rc != TKL_OK)
        return rc;
    if (strcmp(word, "none") == 0)
        rc = tkl__fail(TKL_EINVAL, "durability none keeps nothing: change it, or make a backup");
    else
        rc = tkl__server_snapshot(conn, TKL__FOREVER);
    tkl__conn_close(conn);
    return rc;
}

int tkl_server_rewrite(const char *url)
{
    place p;
    tkl__conn *conn;
    char word[TKL__WORD_MAX];
    int rc = reach_url(url, &p, &conn, word);
    if (rc != TKL_OK)
        return rc;
    if (strcmp(word, "none") == 0 || strcmp(word, "snapshot") == 0)
        rc = tkl__fail(TKL_EINVAL, "durability %s has no append-only file", word);
    else
        rc = tkl__server_rewrite_aof(conn, TKL__FOREVER);
    tkl__conn_close(conn);
    return rc;
}

/* Copies an open file to a new one, and gives it its name when it is on the disk. */
static int copy_file(int from, const char *path)
{
    char part[PATH_MAX + 8], chunk[65536];
    ssize_t n = 0;
    snprintf(part, sizeof part, "%s.part", path);
    int to = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (to < 0)
        return tkl__fail_errno(TKL_EIO, "%s cannot be written", part);
    bool written = true;
    while (written && (n = read(from, chunk, sizeof chunk)) > 0)
        for (ssize_t done = 0, m; written && done < n; done += m) {
            m = write(to, chunk + done, (size_t)(n - done));
            written = m > 0;
        }
    written = written && n == 0 && fsync(to) == 0 && rename(part, path) == 0;
    int reason = errno;
    close(to);
    if (written)
        return TKL_OK;
    unlink(part);
    errno = reason;
    return tkl__fail_errno(TKL_EIO, "%s cannot be written", path);
}

/* Durability none would load the snapshot at its next start: it is moved out of the directory's
 * way. */
static int copy_snapshot(const place *p, bool keep, const char *to)
{
    char from[TKL__SOCKET_MAX + 32];
    snprintf(from, sizeof from, "%s/dump.rdb", p->dir);
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return tkl__fail_errno(TKL_EIO, "%s", from);
    if (!keep)
        unlink(from);
    int rc = copy_file(fd, to);
    close(fd);
    return rc;
}

int tkl_server_backup(const char *url, const char *dir)
{
    place p;
    tkl__conn *conn;
    char word[TKL__WORD_MAX], to[PATH_MAX], target[PATH_MAX];
    int rc = tkl__absolute(dir, target, sizeof target);
    if (rc == TKL_OK && snprintf(to, sizeof to, "%s/dump.rdb", target) >= (int)sizeof to)
        rc = tkl__fail(TKL_EINVAL, "the path of the backup is too long");
    if (rc == TKL_OK)
        rc = reach_url(url, &p, &conn, word);
    if (rc != TKL_OK)
        return rc;
    if (access(to, F_OK) == 0)
        rc = tkl__fail(TKL_EXISTS, "%s exists already", to);
    else
        rc = make_dir(target);
    if (rc == TKL_OK)
        rc = tkl__server_snapshot(conn, TKL__FOREVER);
    if (rc == TKL_OK)
        rc = copy_snapshot(&p, strcmp(word, "none") != 0, to);
    tkl__conn_close(conn);
    return rc;
}

/* ---- Stopping ------------------------------------------------------------ */

/* Identifies the server: the number changes at each start. */
static int run_id(tkl__conn *conn, int64_t deadline, char *id, size_t size)
{
    tkl_reply *reply = NULL;
    int rc = ask_server(conn, deadline, &reply);
    tkl__server_field(reply, "run_id", id, size);
    tkl_reply_free(reply);
    return rc;
}

/* True when another server was started in the meantime. */
static bool server_replaced(const place *p, const char *id)
{
    char now[64];
    tkl__conn *conn;
    int64_t deadline = tkl__deadline_ms(1000);
    if (tkl__server_dial(p->socket, deadline, &conn) != TKL_OK)
        return false;
    int rc = run_id(conn, deadline, now, sizeof now);
    tkl__conn_close(conn);
    return rc == TKL_OK && strcmp(now, id) != 0;
}

static int await_end(const place *p, const char *id)
{
    int64_t deadline = tkl__deadline_ms(END_MS);
    while (!is_free(p) && !server_replaced(p, id)) {
        if (tkl__left(deadline) == 0)
            return tkl__fail(TKL_ETIMEOUT, "the private server of %s is stopping, but not gone yet",
                             p->dir);
        tkl__sleep_until(tkl__now() + POLL_US);
    }
    return TKL_OK;
}

/* SHUTDOWN saves as configured, which takes longer the more data there is. It has no reply: the
 * connection ends. */
static int shut_down(const place *p, tkl__conn *conn, int64_t deadline)
{
    char id[64];
    tkl_reply *reply = NULL;
    int rc = run_id(conn, deadline, id, sizeof id);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__server_said(tkl__conn_command(conn, TKL__FOREVER, &reply, "SHUTDOWN", NULL), &reply);
    tkl_reply_free(reply);
    if (rc != TKL_EUNKNOWN)
        return tkl__fail_in(rc, "the private server of %s did not stop", p->dir);
    return await_end(p, id);
}

/* A lost connection means that another program has just stopped the server: then there is none, or
 * a new one. */
int tkl_server_stop(const char *url)
{
    place p;
    int64_t deadline;
    int rc = look_up(url, &p, &deadline);
    if (rc != TKL_OK)
        return rc;
    do {
        tkl__conn *conn;
        rc = reach_server(&p, deadline, &conn);
        if (rc != TKL_OK)
            return rc;
        rc = shut_down(&p, conn, deadline);
        tkl__conn_close(conn);
    } while ((rc == TKL_EUNKNOWN || rc == TKL_ENOTSENT) && tkl__left(deadline) > 0);
    return rc;
}
