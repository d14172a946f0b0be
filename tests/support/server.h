/* SPDX-License-Identifier: MIT
 *
 * Real private servers for tests: $TACKLE_TEST_SERVER, or redis-server.
 *
 *     server *s = server_start(NULL);          // in memory, on a Unix socket
 *     tkl_open(s->url, NULL, &client);
 *     ...
 *     server_end(s);                           // nothing is left of it
 *
 * A server ends with the thread that started it, also when the test crashes: start servers in
 * the program's main thread. Any failure here fails the test and shows the end of the server's
 * log.
 */
#ifndef TACKLE_TESTS_SERVER_H
#define TACKLE_TESTS_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* All zero: in memory, on a Unix socket only. */
typedef struct server_options {
    const char *const *config; /* further lines of its configuration, ended by NULL */
    const char *password;      /* requirepass; also used by the functions below that ask it */
    bool tcp;                  /* also on a free port of 127.0.0.1 */
    bool tls;                  /* also with TLS on such a port; certificates: certs.h */
    bool tls_clients;          /* with TLS: a client must show a certificate */
    bool sentinel;             /* run as a Sentinel */
    bool loading;              /* do not wait until it has loaded its data */
} server_options;

typedef struct server {
    char dir[64];     /* its directory: redis.conf, log, s (the socket), its data */
    char socket[80];  /* path of its Unix socket */
    char url[96];     /* unix://... */
    char tcp_url[64]; /* redis://127.0.0.1:port, "" without tcp */
    char tls_url[64]; /* rediss://localhost:port, "" without tls */
    int port;         /* 0 without tcp */
    int tls_port;     /* 0 without tls */
    pid_t pid;        /* 0 while it is not running */
    struct server_private *private;
} server;

server *server_start(const server_options *options);
/* Kills the server if it runs, and removes its directory. NULL is fine. */
void server_end(server *s);

void server_kill(server *s);     /* kill -9 */
void server_shutdown(server *s); /* SIGTERM: saves as configured */
void server_restart(server *s);  /* kills it if it runs; same directory, ports and configuration */
/* Adds a line of configuration, which counts from the next start on. */
void server_configure(server *s, const char *line);
void server_freeze(server *s); /* SIGSTOP: it accepts connections and answers nothing */
void server_thaw(server *s);   /* SIGCONT */

/* The program under test: "redis-server" or "valkey-server". */
const char *server_program(void);
/* A free port of 127.0.0.1; the port 10000 above it, for a cluster's bus, is free, too. */
int server_free_port(void);

/* The functions that follow ask the server over a connection of the fixture's own. They may
 * be used by any thread, not while the server is frozen and not in a forked child. */

/* The reply as malloc'ed text: an integer in digits, an error with its text, nil as "", an array
 * as lines. The format is hiredis': "GET %s". */
char *server_ask(server *s, const char *format, ...);
/* The reply as a number. */
int64_t server_ask_int(server *s, const char *format, ...);
/* Fails the test when the server answers with an error. */
void server_do(server *s, const char *format, ...);

/* A number of INFO: "used_memory". */
int64_t server_info(server *s, const char *field);
/* How often a command was executed: "get", "client|setname". */
int64_t server_calls(server *s, const char *command);
/* The same for calls of functions. */
int64_t server_functions(server *s);
/* How many commands the server has executed, without those of the functions here: an idle program
 * sends none. */
int64_t server_commands(server *s);
/* Connections with this CLIENT SETNAME name; NULL: all but the fixture's. */
int server_connections(server *s, const char *name);

#endif
