/* SPDX-License-Identifier: MIT
 *
 * What the two kinds of private server share: the program, starting it apart from this one,
 * and asking it.
 */
#ifndef TKL_CORE_SERVER_H
#define TKL_CORE_SERVER_H

#include <limits.h>
#include <sys/un.h>

#include "core/conn.h"

/* The longest path of a Unix socket, with its NUL. */
#define TKL__SOCKET_MAX sizeof(((struct sockaddr_un *)0)->sun_path)

/* ---- server_program.c ---- */

/* `path` as seen from the root. TKL_EINVAL: longer than `size`. */
int tkl__absolute(const char *path, char *absolute, size_t size);

/* The server program to use, $TACKLE_SERVER or the first one on PATH, and that it is recent enough.
 * `program` holds PATH_MAX bytes. */
int tkl__server_find(int64_t deadline, char *program);

/* Runs a shell script that puts its work into the background. The script gets `args` as "$@", `fd`
 * as 3, `output` (appended to) as 1 and 2, and nothing else of this program: a session of its own,
 * no other descriptors, a small environment, default signals. Nothing of it is a child of
 * this program when the call returns. */
int tkl__server_detach(const char *script, const char *const *args, int fd, const char *output);

/* Reads until the end of the file; `text` gets what fits. False: the deadline came first. */
bool tkl__read_all(int fd, int64_t deadline, char *text, size_t size);

/* ---- server_ask.c ---- */

int tkl__server_dial(const char *socket, int64_t deadline, tkl__conn **conn);

/* Dials and sends PING. TKL_ENOTSENT: nobody there; TKL_EUNREADY: it is loading its data. */
int tkl__server_ping(const char *socket, int64_t deadline, tkl__conn **conn);

/* Turns an error reply into its code: tkl__server_said(tkl__conn_command(..., &reply, ...),
 * &reply). On failure *reply is NULL. */
int tkl__server_said(int rc, tkl_reply **reply);

/* The value of a field of an INFO reply; empty when it is missing. */
void tkl__server_field(const tkl_reply *info, const char *field, char *value, size_t size);

/* ---- server_durability.c ---- */

#define TKL__WORD_MAX 16

/* What a directory without a wish gets. */
#define TKL__DEFAULT_DURABILITY "everysec"

bool tkl__durability_known(const char *word);

/* The three lines of a configuration file. */
int tkl__durability_print(int fd, const char *word);

/* What the running server does, and what the configuration file says. `word` holds
 * TKL__WORD_MAX bytes; it is empty when there is no file. */
int tkl__durability_live(tkl__conn *conn, int64_t deadline, char *word);
void tkl__durability_kept(const char *config, char *word);

/* Switches the running server over without a moment in which less is safe than either of both
 * promises, and has it keep that in its configuration file. */
int tkl__durability_apply(tkl__conn *conn, const char *dir, const char *config, const char *word,
                          int64_t deadline);

/* ---- server_aof.c ---- */

/* Before a server starts in this directory: removes a transaction that is not whole from the end of
 * its append-only file. */
int tkl__aof_mend(const char *dir);

/* ---- server_dir.c ---- */

/* Starts or joins the persistent server of target->dir; `socket` holds TKL__SOCKET_MAX bytes. */
int tkl__server_join(const tkl__target *target, int64_t deadline, char *socket);

#endif
