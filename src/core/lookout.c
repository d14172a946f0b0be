/* SPDX-License-Identifier: MIT */
#include "core/lookout.h"

#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/reply.h"
#include "core/resp.h"

/* Announcements of a failover. The Sentinel that leads it names the new master from PROMOTED on.
 * The other Sentinels do so from SWITCHED on, which the leader announces only after it has
 * reconfigured all replicas. */
#define PROMOTED "+failover-state-reconf-slaves" /* "master NAME HOST PORT" of the old master */
#define SWITCHED "+switch-master"                /* "NAME HOST PORT HOST PORT": old, new */

#define SEND_MS      100  /* time-out for sending a PING */
#define MESSAGES_MAX 1000 /* most messages read at once: no Sentinel sends more */

/* ---- Making and ending --------------------------------------------------- */

void tkl__lookout_init(tkl__lookout *l)
{
    *l = (tkl__lookout){.file = epoll_create1(EPOLL_CLOEXEC), .generation = tkl__fork_generation()};
}

/* In a forked child the connection and the epoll instance belong to the parent. */
static void notice_fork(tkl_client *client, tkl__lookout *l)
{
    if (l->generation == client->generation)
        return;
    if (l->conn)
        tkl__conn_abandon_lent(l->conn);
    if (l->file >= 0)
        close(l->file);
    tkl__lookout_init(l);
}

/* Removes the socket from epoll first: a forked child may hold a copy of it, and epoll would keep
 * watching that. */
static void end_conn(int file, tkl__conn *conn)
{
    if (conn && file >= 0)
        epoll_ctl(file, EPOLL_CTL_DEL, conn->stream.fd, NULL);
    tkl__conn_close(conn);
}

void tkl__lookout_close(tkl_client *client, tkl__lookout *l)
{
    notice_fork(client, l);
    end_conn(l->file, l->conn);
    if (l->file >= 0)
        close(l->file);
}

void tkl__lookout_subscribe(tkl__buf *wire)
{
    static const char *const words[] = {"SUBSCRIBE", PROMOTED, SWITCHED};
    tkl__resp_command(wire, 3, words, NULL);
}

void tkl__lookout_post(tkl_client *client, tkl__lookout *l, tkl__conn *conn)
{
    tkl__client_lock(client);
    notice_fork(client, l);
    tkl__conn *before = l->conn;
    struct epoll_event readable = {.events = EPOLLIN};
    if (l->file >= 0)
        epoll_ctl(l->file, EPOLL_CTL_ADD, conn->stream.fd, &readable);
    l->conn = conn;
    l->pulse = (tkl__pulse){.heard_at = tkl__now(), .counted = conn->received};
    int file = l->file;
    tkl__client_unlock(client);
    end_conn(file, before);
}

bool tkl__lookout_stands(tkl_client *client, tkl__lookout *l)
{
    notice_fork(client, l);
    return l->conn || l->reading;
}

/* ---- Announcements ------------------------------------------------------- */

/* Whether the text begins with the word. If so, skips it and the space after it. */
static bool skip_word(const char **text, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(*text, word, len) != 0 || (*text)[len] != ' ')
        return false;
    *text += len + 1;
    return true;
}

static bool is_alarm(const tkl_client *client, const tkl_reply *reply)
{
    const char *channel = tkl_reply_str(tkl_reply_at(reply, 1));
    const char *text = tkl_reply_str(tkl_reply_at(reply, 2));
    if (strcmp(tkl_reply_str(tkl_reply_at(reply, 0)), "message") != 0)
        return false;
    if (strcmp(channel, PROMOTED) == 0 && !skip_word(&text, "master"))
        return false;
    return skip_word(&text, client->target.master);
}

/* Reads the messages that have arrived. TKL_OK: the connection still works. */
static int read_some(const tkl_client *client, tkl__conn *conn, bool *alarm)
{
    tkl_reply *reply;
    int rc = tkl__conn_try_receive(conn, &reply);
    for (int i = 0; rc == TKL_OK && reply; i++) {
        bool refused = tkl_reply_type_of(reply) == TKL_REPLY_ERROR; /* the user may not subscribe */
        *alarm |= is_alarm(client, reply);
        tkl_reply_free(reply);
        rc = refused || i > MESSAGES_MAX ? TKL_EREFUSED : tkl__conn_try_receive(conn, &reply);
    }
    return rc;
}

/* Checks for a Sentinel that hangs, which does not close its connection: after a heartbeat of
 * silence sends a PING, and allows the same time for the answer. */
static int check_pulse(const tkl_client *client, tkl__conn *conn, tkl__pulse *pulse)
{
    if (conn->received != pulse->counted)
        *pulse = (tkl__pulse){.heard_at = tkl__now(), .counted = conn->received};
    int64_t silence = tkl__now() - pulse->heard_at;
    if (silence < client->heartbeat_us)
        return TKL_OK;
    if (pulse->pinged)
        return silence < 2 * client->heartbeat_us ? TKL_OK : TKL_ETIMEOUT;
    pulse->pinged = true;
    pulse->heard_at = tkl__now() - client->heartbeat_us; /* the last read may be long ago */
    return tkl__conn_send(conn, tkl_str("*1\r\n$4\r\nPING\r\n"), tkl__deadline_ms(SEND_MS), NULL);
}

bool tkl__lookout_read(tkl_client *client, tkl__lookout *l)
{
    notice_fork(client, l);
    l->read_at = tkl__now();
    tkl__conn *conn = l->conn;
    tkl__pulse pulse = l->pulse;
    if (!conn)
        return false;
    l->conn = NULL;
    l->reading = true;
    tkl__client_unlock(client);

    bool alarm = false;
    int rc = read_some(client, conn, &alarm);
    if (rc == TKL_OK)
        rc = check_pulse(client, conn, &pulse);

    tkl__client_lock(client);
    l->reading = false;
    if (rc != TKL_OK || l->conn) { /* the connection failed, or another one was posted meanwhile */
        end_conn(l->file, conn);
    } else {
        l->conn = conn;
        l->pulse = pulse;
    }
    return alarm;
}
