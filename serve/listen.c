/* SPDX-License-Identifier: MIT */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define DEFAULT_PORT "8480"

enum { FIRST_HANDED_OVER = 3 }; /* systemd's first descriptor */

/* ---- Addresses and sockets ----------------------------------------------- */

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >>
                24) == 127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* Fills in kind and name of the socket from its own address. */
static int describe_socket(const cli_session *cli, serve_listener *l)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char host[INET6_ADDRSTRLEN], port[8];
    const struct sockaddr *plain = (const struct sockaddr *)&address;
    int listens = 0;
    socklen_t listens_size = sizeof listens;
    if (getsockname(l->file, (struct sockaddr *)&address, &size) != 0 ||
        getsockopt(l->file, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) != 0)
        return cli_fail(cli, CLI_FAILURE, "not a socket: %s", strerror(errno));
    if (!listens)
        return cli_fail(cli, CLI_FAILURE, "the socket that was handed over does not listen");
    l->is_unix = address.ss_family == AF_UNIX;
    l->is_private = l->is_unix || is_loopback(plain);
    if (l->is_unix)
        snprintf(l->name, sizeof l->name, "unix:%s",
                 ((const struct sockaddr_un *)(const void *)&address)->sun_path);
    else if (getnameinfo(plain, size, host, sizeof host, port, sizeof port,
                         NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(l->name, sizeof l->name,
                 address.ss_family == AF_INET6 ? "http%s://[%s]:%s" : "http%s://%s:%s",
                 cli_flag(cli, "tls-cert") ? "s" : "", host, port);
    return CLI_OK;
}

/* ---- Unix sockets -------------------------------------------------------- */

/* Removes the socket of a server that has ended. */
static void remove_stale(const struct sockaddr_un *address)
{
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat about;
    if (file >= 0 && lstat(address->sun_path, &about) == 0 && S_ISSOCK(about.st_mode) &&
        connect(file, (const struct sockaddr *)address, sizeof *address) != 0 &&
        errno == ECONNREFUSED)
        unlink(address->sun_path);
    if (file >= 0)
        close(file);
}

static int listen_unix(const cli_session *cli, const char *path, serve_listener *l)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (*path == '\0' || strlen(path) >= sizeof address.sun_path)
        return cli_usage(cli, "invalid --listen: a path of 1 to %zu characters after unix:",
                         sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    remove_stale(&address);
    l->file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    mode_t before = umask(0177); /* only its owner may connect */
    bool bound =
        l->file >= 0 && bind(l->file, (const struct sockaddr *)&address, sizeof address) == 0;
    int reason = errno;
    umask(before);
    if (bound)
        l->path = strdup(path);
    if (!bound || listen(l->file, SOMAXCONN) != 0)
        return cli_fail(cli, CLI_FAILURE, "cannot listen on %s: %s", path,
                        strerror(bound ? errno : reason));
    return CLI_OK;
}

/* ---- TCP ----------------------------------------------------------------- */

static int bind_address(const struct addrinfo *at)
{
    int one = 1;
    int file = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0)
        return -1;
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(file, at->ai_addr, at->ai_addrlen) == 0 && listen(file, SOMAXCONN) == 0)
        return file;
    int reason = errno;
    close(file);
    errno = reason;
    return -1;
}

/* Listens at "127.0.0.1:8480", "[::1]:8480", "127.0.0.1" or ":8480". */
static int listen_tcp(const cli_session *cli, const char *text, serve_listener *l)
{
    bool bracket = *text == '[';
    size_t len = strcspn(text + bracket, bracket ? "]" : ":");
    const char *rest = text + bracket + len + (bracket && text[bracket + len] == ']');
    char host[256];
    if (len >= sizeof host || (*rest != '\0' && *rest != ':'))
        return cli_usage(cli, "invalid --listen '%s': ADDRESS:PORT, [IPV6]:PORT or unix:PATH",
                         text);
    memcpy(host, text + bracket, len);
    host[len] = '\0';
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    int wrong = getaddrinfo(len > 0 ? host : "127.0.0.1", *rest == ':' ? rest + 1 : DEFAULT_PORT,
                            &hints, &found);
    if (wrong != 0)
        return cli_usage(cli, "invalid --listen '%s': %s", text, gai_strerror(wrong));
    l->file = bind_address(found);
    int reason = errno;
    freeaddrinfo(found);
    return l->file >= 0
               ? CLI_OK
               : cli_fail(cli, CLI_FAILURE, "cannot listen on %s: %s", text, strerror(reason));
}

/* ---- From outside -------------------------------------------------------- */

/* Whether systemd has handed a socket over. */
static bool is_handed_over(void)
{
    const char *pid = getenv("LISTEN_PID"), *files = getenv("LISTEN_FDS");
    return pid != NULL && files != NULL && atoi(pid) == getpid() && atoi(files) >= 1;
}

int serve_listen(const cli_session *cli, serve_listener *l)
{
    const char *text = cli_text(cli, "listen", "127.0.0.1:" DEFAULT_PORT);
    int failed = CLI_OK;
    *l = (serve_listener){.file = -1};
    if (is_handed_over())
        l->file = FIRST_HANDED_OVER;
    else if (strncmp(text, "unix:", 5) == 0)
        failed = listen_unix(cli, text + 5, l);
    else
        failed = listen_tcp(cli, text, l);
    if (!failed) {
        fcntl(l->file, F_SETFD, FD_CLOEXEC);
        fcntl(l->file, F_SETFL, fcntl(l->file, F_GETFL) | O_NONBLOCK);
        failed = describe_socket(cli, l);
    }
    if (!failed && !l->is_private && cli_text(cli, "token-file", NULL) == NULL)
        failed = cli_usage(cli, "%s can be reached from other machines: --token-file is needed",
                           l->name);
    if (failed)
        serve_listener_close(l);
    return failed;
}

void serve_listener_close(serve_listener *l)
{
    if (l->file >= 0)
        close(l->file);
    if (l->path != NULL)
        unlink(l->path);
    free(l->path);
    *l = (serve_listener){.file = -1};
}
