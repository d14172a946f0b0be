/* SPDX-License-Identifier: MIT
 *
 * The part that both kinds of private server share: finding the program, starting it detached from
 * this process, and asking it about itself.
 */
#ifndef TKL_SERVER_SERVER_H
#define TKL_SERVER_SERVER_H

#include <limits.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "core/conn.h"

/* The longest path of a Unix socket, with its NUL. */
#define TKL__SOCKET_MAX sizeof(((struct sockaddr_un *)0)->sun_path)

/* ---- program.c ---- */

/* Makes `path` absolute. TKL_EINVAL: longer than `size`. */
int tkl__absolute(const char *path, char *absolute, size_t size);

/* Finds the server program, $TACKLE_SERVER or the first one on PATH, and checks that it is recent
 * enough. `program` holds PATH_MAX bytes. */
int tkl__server_find(int64_t deadline, char *program);

/* Runs a shell script that puts its work into the background. The script gets `args` as "$@", `fd`
 * as 3, `output` (appended to) as 1 and 2, and nothing else of this program: it has its own
 * session, no other descriptors, a small environment, default signals. When the call returns, none
 * of its processes is a child of this program. */
int tkl__server_detach(const char *script, const char *const *args, int fd, const char *output);

/* Reads until end-of-file; `text` gets as much as fits. False: the deadline came first. */
bool tkl__read_all(int fd, int64_t deadline, char *text, size_t size);

/* ---- ask.c ---- */

int tkl__server_dial(const char *socket, int64_t deadline, tkl__conn **conn);

/* Dials and sends PING. TKL_ENOTSENT: no server there; TKL_EUNREADY: it is loading its data. */
int tkl__server_ping(const char *socket, int64_t deadline, tkl__conn **conn);

/* Turns an error reply into its code: tkl__server_said(tkl__conn_command(..., &reply, ...),
 * &reply). On failure *reply is NULL. */
int tkl__server_said(int rc, tkl_reply **reply);

/* Removes tackle's functions from a server that has just started: those of older versions
 * disappear, and programs load those of their own version when they need them. Best effort. */
void tkl__server_forget_functions(tkl__conn *conn, int64_t deadline);

/* The value of a field of an INFO reply; empty when it is missing. */
void tkl__server_field(const tkl_reply *info, const char *field, char *value, size_t size);

/* ---- durability.c ---- */

#define TKL__WORD_MAX 16

/* The durability of a new directory when the URL names none. */
#define TKL__DEFAULT_DURABILITY "everysec"

bool tkl__durability_known(const char *word);

/* Writes the three lines of a configuration file. */
int tkl__durability_print(int fd, const char *word);

/* The durability of the running server, and that of the configuration file. `word` holds
 * TKL__WORD_MAX bytes; it is empty when there is no file. */
int tkl__durability_live(tkl__conn *conn, int64_t deadline, char *word);
void tkl__durability_kept(const char *config, char *word);

/* Write the snapshot or the append-only file now; return when it is complete. */
int tkl__server_snapshot(tkl__conn *conn, int64_t deadline);
int tkl__server_rewrite_aof(tkl__conn *conn, int64_t deadline);

/* Switches the running server over and saves the change in its configuration file. At no moment is
 * the data less safe than both the old and the new setting promise. */
int tkl__durability_apply(tkl__conn *conn, const char *dir, const char *config, const char *word,
                          int64_t deadline);

/* ---- aof.c ---- */

/* Removes an incomplete transaction from the end of the append-only file. Call this before a server
 * starts in the directory. */
int tkl__aof_mend(const char *dir);

/* ---- own.c ---- */

/* Whether the owner is this user, root, or root outside of our sandbox. */
bool tkl__own_is_trusted(uid_t owner);

/* Whether other users can rename or replace entries of this directory. */
bool tkl__own_others_may_change(const struct stat *dir);

/* TKL_ESPAWN: another user can change the directory's contents, or has put something into it. */
int tkl__own_dir(const char *dir);

/* The same check for the directories above it and the symbolic links on the way. `dir` is
 * absolute. */
int tkl__own_way(const char *dir);

/* ---- dir.c ---- */

/* Starts or joins the persistent server of target->dir; `socket` holds TKL__SOCKET_MAX bytes. */
int tkl__server_join(const tkl__target *target, int64_t deadline, char *socket);

#endif
