/* SPDX-License-Identifier: MIT
 *
 * Waiting in a loop of epoll.
 *
 * A hundred customers wait for their mail at the same time, in a program that never blocks. Bob
 * writes to each of them; one customer gives up.
 *
 *     TACKLE_URL=redis://localhost examples/loop_epoll
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <tackle/tackle.h>
#include <unistd.h>

enum { CUSTOMERS = 100 };

typedef struct customer {
    tkl_mail *mail;
    tkl_messages *messages;
    uint64_t wait; /* names the wait */
} customer;

static customer customers[CUSTOMERS];
static int served, gave_up;

static void check(int code, const char *what)
{
    if (code == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, tkl_errmsg());
    exit(1);
}

/* ---- Operations: they block, but no thread of the program ------------------- */

static int fetch_mail(void *arg)
{
    customer *c = arg;
    return tkl_mail_fetch(c->mail, 1, 60000, &c->messages);
}

static int send_mail(void *arg)
{
    customer *c = arg;
    tkl_letter hello = {.body = tkl_str("hello")};
    return tkl_mail_send(c->mail, tkl_str("bob"), &hello, 1, NULL);
}

/* ---- Callbacks: they run in the program's own loop ------------------------- */

static void mail_sent(void *arg, int code, const char *text)
{
    (void)arg;
    (void)text; /* the same as tkl_errmsg() */
    check(code, "send");
}

static void mail_fetched(void *arg, int code, const char *text)
{
    customer *c = arg;
    if (code == TKL_OK)
        served++;
    else if (code == TKL_EINTR)
        gave_up++;
    else
        fprintf(stderr, "fetch: %s\n", text);
    tkl_messages_free(c->messages);
}

static void begin_all(tkl_client *client, tkl_loop *loop)
{
    char name[32];
    for (int i = 0; i < CUSTOMERS; i++) {
        customer *c = &customers[i];
        snprintf(name, sizeof name, "customer-%d", i);
        check(tkl_mail_open(client, tkl_str(name), NULL, &c->mail), "mail");
        check(tkl_loop_submit(loop, fetch_mail, mail_fetched, c, &c->wait), "submit");
    }
    check(tkl_loop_cancel(loop, customers[0].wait), "cancel");
    for (int i = 1; i < CUSTOMERS; i++)
        check(tkl_loop_submit(loop, send_mail, mail_sent, &customers[i], NULL), "submit");
}

static bool is_over(void)
{
    return served + gave_up == CUSTOMERS;
}

/* ---- The adapter ----------------------------------------------------------- */

static void run_until_over(tkl_loop *loop)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = loop};
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, tkl_loop_fd(loop), &event) != 0)
        exit(1);
    while (!is_over())
        if (epoll_wait(epoll, &event, 1, tkl_loop_timeout_ms(loop)) == 1)
            check(tkl_loop_dispatch(event.data.ptr), "dispatch");
    close(epoll);
}

int main(void)
{
    tkl_client *client;
    tkl_loop *loop;
    const char *url = getenv("TACKLE_URL");
    check(tkl_open(url ? url : "embedded:", NULL, &client), "open");
    check(tkl_loop_open(client, NULL, &loop), "loop");
    begin_all(client, loop);
    run_until_over(loop);
    tkl_loop_close(loop);
    for (int i = 0; i < CUSTOMERS; i++)
        tkl_mail_close(customers[i].mail);
    tkl_close(client);
    printf("%d served, %d gave up\n", served, gave_up);
    return gave_up == 1 ? 0 : 1;
}
