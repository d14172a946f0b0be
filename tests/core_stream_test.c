/* SPDX-License-Identifier: MIT
 *
 * Reading from a socket in both manners of waiting, awake and asleep.
 *
 * ctest: label threads
 */
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/stream.h"
#include "support/test.h"

/* Longer than any thread stays awake. */
#define LATE_US 2000

typedef struct peer {
    int fd;
    int bytes;
} peer;

/* Writes a byte for each that it gets, late. */
static void *answer_late(void *arg)
{
    peer *p = arg;
    char byte;
    while (p->bytes-- > 0 && read(p->fd, &byte, 1) == 1) {
        tkl__sleep_until(tkl__now() + LATE_US);
        if (write(p->fd, &byte, 1) != 1)
            break;
    }
    return NULL;
}

static tkl__stream open_stream(int *other)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    *other = fds[1];
    return (tkl__stream){.fd = fds[0], .local = true, .block_us = INT64_C(3600000000)};
}

static void close_stream(tkl__stream *stream, int other)
{
    close(other);
    tkl__stream_close(stream);
}

static void what_is_there_is_read_in_both_manners(void **state)
{
    (void)state;
    int other;
    char data[8];
    size_t n;
    for (int awake = 0; awake < 2; awake++) {
        tkl__stream stream = open_stream(&other);
        stream.manner.awake = awake;
        assert_int_equal(write(other, "abc", 3), 3);
        assert_ok(tkl__stream_read(&stream, data, sizeof data, tkl__deadline_ms(30000), &n));
        assert_int_equal(n, 3);
        assert_memory_equal(data, "abc", 3);
        close_stream(&stream, other);
    }
}

static void a_deadline_holds_in_both_manners(void **state)
{
    (void)state;
    int other;
    char byte;
    size_t n;
    for (int awake = 0; awake < 2; awake++) {
        tkl__stream stream = open_stream(&other);
        stream.manner.awake = awake;
        int64_t start = tkl__now();
        assert_code(tkl__stream_read(&stream, &byte, 1, start + LATE_US, &n), TKL_ETIMEOUT);
        assert_true(tkl__now() - start >= LATE_US);
        close_stream(&stream, other);
    }
}

static void a_closed_peer_is_told_in_both_manners(void **state)
{
    (void)state;
    int other;
    char byte;
    size_t n;
    for (int awake = 0; awake < 2; awake++) {
        tkl__stream stream = open_stream(&other);
        stream.manner.awake = awake;
        shutdown(other, SHUT_WR);
        assert_code(tkl__stream_read(&stream, &byte, 1, tkl__deadline_ms(30000), &n), TKL_EUNKNOWN);
        close_stream(&stream, other);
    }
}

/* The stream tries both manners, and sleeps for replies that are late for both. */
static void who_is_kept_waiting_sleeps(void **state)
{
    (void)state;
    enum { READS = 600 };
    int awake = 0;
    size_t n;
    peer p = {.bytes = READS};
    tkl__stream stream = open_stream(&p.fd);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, answer_late, &p), 0);
    for (int i = 0; i < READS; i++) {
        char byte = 'x';
        size_t written = 0;
        awake += stream.manner.awake;
        assert_ok(tkl__stream_write(&stream, &byte, 1, tkl__deadline_ms(30000), &written));
        assert_ok(tkl__stream_read(&stream, &byte, 1, tkl__deadline_ms(30000), &n));
    }
    pthread_join(thread, NULL);
    assert_true(awake > 0);
    assert_true(awake < READS / 4);
    assert_false(stream.manner.awake);
    close_stream(&stream, p.fd);
}

static void who_always_sleeps_tries_nothing(void **state)
{
    (void)state;
    int other;
    size_t n;
    tkl__stream stream = open_stream(&other);
    stream.always_sleep = true;
    for (int i = 0; i < 200; i++) {
        char byte = 'x';
        assert_int_equal(write(other, &byte, 1), 1);
        assert_ok(tkl__stream_read(&stream, &byte, 1, tkl__deadline_ms(30000), &n));
        assert_false(stream.manner.awake);
    }
    close_stream(&stream, other);
}

/* ---- Several addresses --------------------------------------------------- */

static struct sockaddr_in local_address(int fd)
{
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    return address;
}

static int listen_locally(int backlog)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(listen(fd, backlog), 0);
    return fd;
}

/* Its backlog is full: further connections are neither taken nor refused. */
static int swallow_connections(int *clog, size_t count)
{
    int fd = listen_locally(0);
    struct sockaddr_in address = local_address(fd);
    for (size_t i = 0; i < count; i++) {
        clog[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)!connect(clog[i], (struct sockaddr *)&address, sizeof address);
    }
    return fd;
}

static void an_address_that_swallows_connections_does_not_use_up_the_time(void **state)
{
    (void)state;
    int clog[4], fd = -1;
    int bad = swallow_connections(clog, 4), good = listen_locally(8);
    struct sockaddr_in places[] = {local_address(bad), local_address(good)};
    struct addrinfo list[2] = {{.ai_family = AF_INET}, {.ai_family = AF_INET}};
    for (int i = 0; i < 2; i++) {
        list[i].ai_addr = (struct sockaddr *)&places[i];
        list[i].ai_addrlen = sizeof places[i];
    }
    list[0].ai_next = &list[1];
    assert_ok(tkl__stream_connect_any(list, tkl__deadline_ms(2000), &fd));
    close(fd);
    for (int i = 0; i < 4; i++)
        close(clog[i]);
    close(bad);
    close(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_read_in_both_manners),
        cmocka_unit_test(a_deadline_holds_in_both_manners),
        cmocka_unit_test(a_closed_peer_is_told_in_both_manners),
        cmocka_unit_test(who_is_kept_waiting_sleeps),
        cmocka_unit_test(who_always_sleeps_tries_nothing),
        cmocka_unit_test(an_address_that_swallows_connections_does_not_use_up_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
