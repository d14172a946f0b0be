/* SPDX-License-Identifier: MIT
 *
 * fork(): parent and child go on with the same client and never with the same connection.
 *
 * ctest: label threads
 */
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/certs.h"
#include "support/fixture.h"

static const tkl_call_options patient = {.timeout_ms = 20000};

/* In a child: cmocka belongs to the parent, so the exit code is the result. */
static int echo_in_child(tkl_client *client, int calls)
{
    for (int i = 0; i < calls; i++) {
        char token[64];
        snprintf(token, sizeof(token), "child-%d-%d", (int)getpid(), i);
        const char *argv[] = {"ECHO", token};
        tkl_reply *reply;
        if (tkl_call(client, 2, argv, NULL, &patient, &reply) != TKL_OK)
            return 1;
        if (strcmp(tkl_reply_str(reply), token) != 0)
            return 2;
        tkl_reply_free(reply);
    }
    return 0;
}

static pid_t fork_echo(tkl_client *client, int calls)
{
    pid_t child = fork();
    if (child == 0)
        _exit(echo_in_child(client, calls));
    assert_true(child > 0);
    return child;
}

static void assert_child_did_well(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_child_gets_connections_of_its_own(void **state)
{
    fixture *f = *state;
    int64_t id = call_int(f->client, "CLIENT", "ID", NULL);
    pid_t child = fork();
    if (child == 0) {
        tkl_reply *reply;
        bool own = tkl_callz(f->client, &reply, "CLIENT", "ID", NULL) == TKL_OK &&
                   tkl_reply_int(reply) != id;
        _exit(own ? 0 : 1);
    }
    assert_child_did_well(child);
    assert_int_equal(call_int(f->client, "CLIENT", "ID", NULL), id);
}

static void a_child_may_close_the_client(void **state)
{
    fixture *f = *state;
    int64_t id = call_int(f->client, "CLIENT", "ID", NULL);
    pid_t child = fork();
    if (child == 0) {
        int code = echo_in_child(f->client, 3);
        tkl_close(f->client);
        _exit(code);
    }
    assert_child_did_well(child);
    assert_int_equal(call_int(f->client, "CLIENT", "ID", NULL), id);
}

static void grandchildren_are_children_too(void **state)
{
    fixture *f = *state;
    call_expect(f->client, "PONG", "PING", NULL);
    pid_t child = fork();
    if (child == 0) {
        int code = echo_in_child(f->client, 3);
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(echo_in_child(f->client, 3));
        int status = -1;
        waitpid(grandchild, &status, 0);
        _exit(code != 0 || status != 0 || echo_in_child(f->client, 3) != 0);
    }
    assert_child_did_well(child);
    call_expect(f->client, "PONG", "PING", NULL);
}

typedef struct traffic {
    tkl_client *client;
    atomic_bool over;
} traffic;

static void echo_until_over(void *arg, int index)
{
    traffic *t = arg;
    for (int round = 0; !atomic_load(&t->over); round++) {
        char token[64];
        snprintf(token, sizeof(token), "thread-%d-round-%d", index, round);
        int code;
        if (!call_echo(t->client, &patient, token, &code))
            assert_ok(code);
    }
}

static void fork_under_traffic(tkl_client *client)
{
    traffic t = {.client = client};
    crew *threads = crew_start(8, echo_until_over, &t);
    for (int i = 0; i < 20; i++) {
        pid_t one = fork_echo(client, 20);
        pid_t two = fork_echo(client, 20);
        assert_child_did_well(one);
        assert_child_did_well(two);
    }
    atomic_store(&t.over, true);
    crew_join(threads);
}

static void forking_while_threads_call_disturbs_nobody(void **state)
{
    fixture *f = *state;
    skip_under_sanitizers();
    fork_under_traffic(f->client);
}

static void the_same_with_tls(void **state)
{
    (void)state;
    skip_under_sanitizers();
    server *s = server_start(&(server_options){.tls = true});
    tkl_client *client = test_open(s->tls_url, &(tkl_options){.tls_ca_file = certs_get()->ca});
    fork_under_traffic(client);
    tkl_close(client);
    server_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_child_gets_connections_of_its_own),
        TEST(a_child_may_close_the_client),
        TEST(grandchildren_are_children_too),
        TEST(forking_while_threads_call_disturbs_nobody),
        TEST(the_same_with_tls),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
