/* SPDX-License-Identifier: MIT */
#include "support/fake.h"

#include <hiredis/hiredis.h>
#include <poll.h>
#include <pthread.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/net.h"
#include "support/test.h"

struct fake_conn {
    fake *owner;
    int fd;
    int index;
    redisReader *reader;
    char *command; /* the last command that was expected */
    pthread_t thread;
    fake_conn *next;
};

struct fake {
    place where;
    char *url;
    fake_handler *handler;
    void *arg;
    int listener;
    int stop; /* an eventfd: readable once the fake ends */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    int accepted;
    fake_conn *conns; /* all connections so far, joined at the end */
};

/* ---- One connection ------------------------------------------------------ */

/* Waits until `fd` can be read or the time is over; false: the fake ends. A negative fd makes it a
 * pause. */
static bool wait_for(fake *f, int fd, int timeout_ms)
{
    struct pollfd both[] = {{.fd = f->stop, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    poll(both, 2, timeout_ms);
    return both[0].revents == 0;
}

static char *join_words(const redisReply *words)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (size_t i = 0; i < words->elements; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", words->element[i]->str);
    fclose(out);
    return text;
}

const char *fake_expect_any(fake_conn *c)
{
    free(c->command);
    c->command = NULL;
    void *words = NULL;
    while (redisReaderGetReply(c->reader, &words) == REDIS_OK && words == NULL) {
        char chunk[16384];
        if (!wait_for(c->owner, c->fd, -1))
            return NULL;
        ssize_t got = read(c->fd, chunk, sizeof(chunk));
        if (got <= 0)
            return NULL;
        redisReaderFeed(c->reader, chunk, (size_t)got);
    }
    assert_non_null(words); /* else the client does not speak the protocol */
    c->command = join_words(words);
    freeReplyObject(words);
    return c->command;
}

static bool is_greeting(const char *command)
{
    static const char *const words[] = {"AUTH ", "SELECT ", "HELLO", "CLIENT "};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strncasecmp(command, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

const char *fake_expect(fake_conn *c)
{
    for (;;) {
        const char *command = fake_expect_any(c);
        if (command == NULL || !is_greeting(command))
            return command;
        fake_sendz(c, "+OK\r\n");
    }
}

bool fake_send(fake_conn *c, const void *data, size_t len)
{
    for (const char *from = data; len > 0;) {
        ssize_t sent = send(c->fd, from, len, MSG_NOSIGNAL);
        if (sent < 0)
            return false;
        from += sent;
        len -= (size_t)sent;
    }
    return true;
}

bool fake_sendz(fake_conn *c, const char *text)
{
    return fake_send(c, text, strlen(text));
}

void fake_sleep(fake_conn *c, int64_t ms)
{
    wait_for(c->owner, -1, (int)ms);
}

int fake_index(const fake_conn *c)
{
    return c->index;
}

static void *conn_main(void *arg)
{
    fake_conn *c = arg;
    c->owner->handler(c, c->owner->arg);
    shutdown(c->fd, SHUT_RDWR); /* closed when joined: its number must not be taken before */
    return NULL;
}

static void conn_start(fake *f, int fd)
{
    fake_conn *c = calloc(1, sizeof(*c));
    assert_non_null(c);
    *c = (fake_conn){.owner = f, .fd = fd, .reader = redisReaderCreate()};
    pthread_mutex_lock(&f->mutex);
    c->index = f->accepted++;
    c->next = f->conns;
    f->conns = c;
    pthread_mutex_unlock(&f->mutex);
    assert_int_equal(pthread_create(&c->thread, NULL, conn_main, c), 0);
}

static void conn_free(fake_conn *c)
{
    shutdown(c->fd, SHUT_RDWR);
    pthread_join(c->thread, NULL);
    close(c->fd);
    redisReaderFree(c->reader);
    free(c->command);
    free(c);
}

/* ---- All of them --------------------------------------------------------- */

static void *accept_main(void *arg)
{
    fake *f = arg;
    while (wait_for(f, f->listener, -1)) {
        int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            conn_start(f, fd);
    }
    return NULL;
}

static fake *start_fake(int tcp, fake_handler *handler, void *arg)
{
    fake *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    *f = (fake){.where = place_new(tcp), .handler = handler, .arg = arg};
    f->url = place_url(&f->where);
    f->listener = place_listen(&f->where);
    f->stop = eventfd(0, EFD_CLOEXEC);
    pthread_mutex_init(&f->mutex, NULL);
    assert_int_equal(pthread_create(&f->thread, NULL, accept_main, f), 0);
    return f;
}

fake *fake_start(fake_handler *handler, void *arg)
{
    return start_fake(0, handler, arg);
}

fake *fake_start_tcp(fake_handler *handler, void *arg)
{
    return start_fake(1, handler, arg);
}

const char *fake_url(const fake *f)
{
    return f->url;
}

int fake_port(const fake *f)
{
    return f->where.port;
}

int fake_accepted(fake *f)
{
    pthread_mutex_lock(&f->mutex);
    int accepted = f->accepted;
    pthread_mutex_unlock(&f->mutex);
    return accepted;
}

void fake_end(fake *f)
{
    if (f == NULL)
        return;
    eventfd_write(f->stop, 1);
    pthread_join(f->thread, NULL);
    for (fake_conn *c = f->conns, *next; c != NULL; c = next) {
        next = c->next;
        conn_free(c);
    }
    close(f->listener);
    close(f->stop);
    pthread_mutex_destroy(&f->mutex);
    free(f->url);
    free(f);
}
