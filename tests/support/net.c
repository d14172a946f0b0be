/* SPDX-License-Identifier: MIT */
#include "support/net.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/server.h"
#include "support/test.h"

typedef union address {
    struct sockaddr any;
    struct sockaddr_un path;
    struct sockaddr_in port;
} address;

place place_unix(const char *path)
{
    place where = {.port = 0};
    snprintf(where.path, sizeof(where.path), "%s", path);
    return where;
}

place place_tcp(int port)
{
    return (place){.port = port};
}

place place_new(int tcp)
{
    if (tcp)
        return place_tcp(server_free_port());
    char dir[64];
    test_make_dir(dir, sizeof(dir));
    place where = {.port = 0};
    snprintf(where.path, sizeof(where.path), "%s/s", dir);
    return where;
}

char *place_url(const place *where)
{
    return where->port == 0 ? test_format("unix://%s", where->path)
                            : test_format("redis://127.0.0.1:%d", where->port);
}

static socklen_t fill_address(address *addr, const place *where)
{
    memset(addr, 0, sizeof(*addr));
    if (where->port != 0) {
        addr->port.sin_family = AF_INET;
        addr->port.sin_port = htons((uint16_t)where->port);
        addr->port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return sizeof(addr->port);
    }
    addr->path.sun_family = AF_UNIX;
    memcpy(addr->path.sun_path, where->path, strlen(where->path));
    return sizeof(addr->path);
}

/* Opens a socket that sends bytes when they are written, not when the peer has acknowledged earlier
 * ones. Sockets that a listener accepts inherit that. */
static int open_socket(const address *addr)
{
    int fd = socket(addr->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    if (addr->any.sa_family == AF_INET)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

int place_listen(const place *where)
{
    address addr;
    socklen_t len = fill_address(&addr, where);
    int fd = open_socket(&addr);
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (where->port == 0)
        unlink(where->path);
    assert_int_equal(bind(fd, &addr.any, len), 0);
    assert_int_equal(listen(fd, 512), 0);
    return fd;
}

int place_connect(const place *where)
{
    address addr;
    socklen_t len = fill_address(&addr, where);
    int fd = open_socket(&addr);
    if (connect(fd, &addr.any, len) == 0)
        return fd;
    close(fd);
    return -1;
}
