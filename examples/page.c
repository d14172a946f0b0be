/* SPDX-License-Identifier: MIT
 *
 * A page of a web site. It uses five components in one round trip.
 *
 *     page alice /cart                               # on a private server
 *     TACKLE_URL=redis://site.example page alice /cart
 */
#include <stdio.h>
#include <stdlib.h>

#include <tackle/tackle.h>

typedef struct site {
    tkl_session *sessions;
    tkl_limit *limit;
    tkl_counter *hits;
    tkl_online *online;
    tkl_log *log;
    tkl_pipeline *pipeline;
} site;

static int open_site(site *s, tkl_client *client)
{
    static const tkl_limit_rule rule = {.count = 5, .period_ms = 10000};
    TKL_TRY(tkl_session_open(client, tkl_str("shop"), NULL, &s->sessions));
    TKL_TRY(tkl_limit_open(client, tkl_str("pages"), &rule, NULL, &s->limit));
    TKL_TRY(tkl_counter_open(client, tkl_str("hits"), NULL, &s->hits));
    TKL_TRY(tkl_online_open(client, tkl_str("shop"), NULL, &s->online));
    TKL_TRY(tkl_log_open(client, tkl_str("access"), NULL, &s->log));
    return tkl_pipeline_open(client, NULL, &s->pipeline);
}

static void close_site(site *s)
{
    tkl_pipeline_close(s->pipeline);
    tkl_log_close(s->log);
    tkl_online_close(s->online);
    tkl_counter_close(s->hits);
    tkl_limit_close(s->limit);
    tkl_session_close(s->sessions);
}

/* Returns the HTTP status. */
static int serve(site *s, const char *token, tkl_bytes user, tkl_bytes path)
{
    tkl_session_view view = {.token = token, .item = path};
    tkl_log_message line = {.severity = TKL_LOG_INFO, .text = path};
    tkl_result seen, allowed, marked;
    tkl_limit_answer answer;
    int64_t fresh;
    tkl_session_touch_in(s->pipeline, s->sessions, &view, &seen);
    tkl_limit_check_in(s->pipeline, s->limit, user, 1, &answer, &allowed);
    tkl_online_mark_in(s->pipeline, s->online, user, &fresh, &marked);
    tkl_counter_add_in(s->pipeline, s->hits, 1, NULL);
    tkl_log_write_in(s->pipeline, s->log, &line, NULL);
    if (tkl_pipeline_run(s->pipeline, NULL, NULL) != TKL_OK)
        return 503;
    if (seen.code == TKL_NOTFOUND)
        return 401;
    if (allowed.code == TKL_LIMITED) {
        printf("come back in %lld ms\n", (long long)answer.retry_after_ms);
        return 429;
    }
    if (seen.code != TKL_OK || allowed.code != TKL_OK) {
        fprintf(stderr, "page: %s\n", seen.code != TKL_OK ? seen.text : allowed.text);
        return 503;
    }
    if (marked.code == TKL_OK && fresh == 1)
        printf("welcome, the first visit of the day\n");
    return 200;
}

int main(int argc, char **argv)
{
    const char *url = getenv("TACKLE_URL");
    tkl_bytes user = tkl_str(argc > 1 ? argv[1] : "alice"),
              path = tkl_str(argc > 2 ? argv[2] : "/");
    char token[TKL_TOKEN_SIZE];
    tkl_client *client = NULL;
    site s = {0};
    int rc = tkl_open(url ? url : "embedded:", NULL, &client);
    if (rc == TKL_OK)
        rc = open_site(&s, client);
    if (rc == TKL_OK)
        rc = tkl_session_create(s.sessions, user, 0, token);
    for (int i = 0; rc == TKL_OK && i < 7; i++)
        printf("%d\n", serve(&s, token, user, path));
    if (rc != TKL_OK)
        fprintf(stderr, "page: %s\n", tkl_errmsg());
    close_site(&s);
    tkl_close(client);
    return rc == TKL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
