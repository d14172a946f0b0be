/* SPDX-License-Identifier: MIT
 *
 * Throttling an HTTP handler: each user has 5 requests at once and 10 a second, the whole service
 * 1000 a second. Either both allow a request, or neither is charged.
 *
 *     throttle [URL]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>

typedef struct limits {
    tkl_limit *user, *service;
} limits;

/* The answer of a handler; `headers` tells the client how it stands. */
static int handle_request(const limits *l, const char *user, char headers[128])
{
    const tkl_limit_item items[] = {
        {.limit = l->user, .key = tkl_str(user), .quantity = 1},
        {.limit = l->service, .key = tkl_str("all"), .quantity = 1},
    };
    tkl_limit_answer answers[2];
    int rc = tkl_limit_check_all(items, 2, answers);
    headers[0] = '\0';
    if (rc < 0) {
        fprintf(stderr, "unlimited, since the server is away: %s\n", tkl_errmsg());
        return 200; /* better than refusing everybody; yours to decide */
    }
    if (rc == TKL_LIMITED) {
        int64_t ms = answers[0].allowed ? answers[1].retry_after_ms : answers[0].retry_after_ms;
        snprintf(headers, 128, "Retry-After: %" PRId64, (ms + 999) / 1000);
        return 429;
    }
    snprintf(headers, 128, "X-RateLimit-Limit: %" PRId64 ", X-RateLimit-Remaining: %" PRId64,
             answers[0].limit, answers[0].remaining);
    return 200;
}

static void serve(const limits *l, const char *user, int requests)
{
    char headers[128];
    for (int i = 0; i < requests; i++) {
        int status = handle_request(l, user, headers);
        printf("%-6s %d  %s\n", user, status, headers);
    }
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : getenv("TACKLE_URL");
    const tkl_limit_rule user = {.count = 10, .period_ms = 1000, .burst = 4};
    const tkl_limit_rule service = {.count = 1000, .period_ms = 1000};
    const tkl_limit_options options = {.timeout_ms = 100}; /* then requests are let through */
    tkl_client *client;
    limits l = {0};
    int failed = 1;
    if (tkl_open(url ? url : "embedded:", NULL, &client) == TKL_OK &&
        tkl_limit_open(client, tkl_str("user"), &user, &options, &l.user) == TKL_OK &&
        tkl_limit_open(client, tkl_str("service"), &service, &options, &l.service) == TKL_OK) {
        serve(&l, "alice", 7); /* the last ones are refused */
        serve(&l, "bob", 1);
        failed = 0;
    } else
        fprintf(stderr, "%s\n", tkl_errmsg());
    tkl_limit_close(l.service);
    tkl_limit_close(l.user);
    tkl_close(client);
    return failed;
}
