/* SPDX-License-Identifier: MIT
 *
 * tackle/functions.h on one server, and that nothing of a call is left for the next one. Clusters:
 * cluster_test.c; private servers: server_dir_test.c.
 */
#include <tackle/functions.h>

#include <ctype.h>
#include <stdatomic.h>

#include <tackle/limit.h>
#include <tackle/log.h>
#include <tackle/mail.h>
#include <tackle/search.h>
#include <tackle/session.h>
#include <tackle/version.h>

#include "functions/libraries.h"
#include "hold/scripts.h"
#include "queue/scripts.h"
#include "support/fixture.h"
#include "support/library.h"
#include "support/locks.h"
#include "support/queues.h"

static int64_t count_libraries(void)
{
    int64_t count = 0;
    while (tkl__libraries[count])
        count++;
    return count;
}

/* How often the text of a library registers a function. */
static int64_t count_functions(const tkl__library *library)
{
    int64_t count = 0;
    for (const char *at = library->source; (at = strstr(at, "\nregister{")); at++)
        count++;
    return count;
}

static tkl_function_libraries *list_of(tkl_client *client)
{
    tkl_function_libraries *list;
    assert_ok(tkl_functions_list(client, &list));
    return list;
}

static size_t listed(tkl_client *client)
{
    tkl_function_libraries *list = list_of(client);
    size_t count = list->count;
    tkl_function_libraries_free(list);
    return count;
}

static bool has_library(server *s, const char *name)
{
    char *text = server_ask(s, "FUNCTION LIST LIBRARYNAME %s", name);
    bool found = strstr(text, name) != NULL;
    free(text);
    return found;
}

/* ---- Work of several components, with what must come of it --------------- */

static void use_locks(tkl_client *client)
{
    tkl_lock *lock = open_lock(client, "door", NULL), *other = open_lock(client, "door", NULL);
    tkl_semaphore *sem = open_sem(client, "seats", 1, NULL),
                  *second = open_sem(client, "seats", 1, NULL);
    assert_ok(tkl_lock_acquire(lock, 0));
    assert_code(tkl_lock_acquire(other, 0), TKL_BUSY);
    assert_ok(tkl_lock_renew(lock, 0));
    assert_ok(tkl_lock_release(lock));
    assert_ok(tkl_lock_acquire(other, 0));
    assert_ok(tkl_lock_release(other));
    assert_ok(tkl_semaphore_acquire(sem, 0));
    assert_code(tkl_semaphore_acquire(second, 0), TKL_BUSY);
    assert_ok(tkl_semaphore_release(sem));
    tkl_semaphore_close(second);
    tkl_semaphore_close(sem);
    tkl_lock_close(other);
    tkl_lock_close(lock);
}

static void use_queue(tkl_client *client)
{
    tkl_queue *queue = open_queue(client, "work", 1);
    tkl_consumer *consumer = open_consumer(queue, 0);
    push_words(queue, "one two three");
    expect_all(consumer, "one two three");
    expect_all(consumer, "");
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

static void use_limit(tkl_client *client)
{
    static const tkl_limit_rule rule = {.count = 2, .period_ms = 3600000};
    tkl_limit *limit;
    assert_ok(tkl_limit_open(client, tkl_str("api"), &rule, NULL, &limit));
    assert_ok(tkl_limit_check(limit, tkl_str("ann"), 1, NULL));
    assert_ok(tkl_limit_check(limit, tkl_str("ann"), 1, NULL));
    assert_code(tkl_limit_check(limit, tkl_str("ann"), 1, NULL), TKL_LIMITED);
    assert_ok(tkl_limit_check(limit, tkl_str("bob"), 2, NULL));
    tkl_limit_close(limit);
}

static void use_mail(tkl_client *client)
{
    static const tkl_letter letter = {.body = {"hello", 5}};
    tkl_mail *mail;
    tkl_messages *messages;
    int64_t id;
    assert_ok(tkl_mail_open(client, tkl_str("ann"), NULL, &mail));
    assert_ok(tkl_mail_send(mail, tkl_str("bob"), &letter, 1, &id));
    assert_int_equal(id, 1);
    assert_ok(tkl_mail_fetch(mail, 10, 0, &messages));
    assert_int_equal(messages->count, 1);
    assert_int_equal(messages->unread, 1);
    tkl_messages_free(messages);
    assert_ok(tkl_mail_ack(mail, 1, NULL));
    assert_code(tkl_mail_fetch(mail, 10, 0, &messages), TKL_EMPTY);
    tkl_mail_close(mail);
}

static void use_sessions(tkl_client *client)
{
    tkl_session *sessions;
    tkl_session_info *session;
    char token[TKL_TOKEN_SIZE];
    assert_ok(tkl_session_open(client, tkl_str("web"), NULL, &sessions));
    assert_ok(tkl_session_create(sessions, tkl_str("ann"), 0, token));
    const tkl_session_view view = {.token = token, .item = tkl_str("teapot")};
    assert_ok(tkl_session_touch(sessions, &view, 1, NULL));
    assert_ok(tkl_session_check(sessions, token, &session));
    assert_memory_equal(session->user.data, "ann", 3);
    tkl_session_info_free(session);
    assert_ok(tkl_session_end(sessions, token));
    assert_code(tkl_session_check(sessions, token, &session), TKL_NOTFOUND);
    tkl_session_close(sessions);
}

static void use_search(tkl_client *client)
{
    static const tkl_search_doc docs[] = {{.id = {"a", 1}, .text = {"locks and queues", 16}},
                                          {.id = {"b", 1}, .text = {"queues", 6}}};
    tkl_search *search;
    tkl_search_result *result;
    assert_ok(tkl_search_open(client, tkl_str("pages"), NULL, &search));
    assert_ok(tkl_search_create(search, NULL));
    assert_ok(tkl_search_add(search, docs, 2, NULL));
    assert_ok(tkl_search_query(search, tkl_str("queues locks"), NULL, &result));
    assert_int_equal(result->total, 1);
    tkl_search_result_free(result);
    tkl_search_close(search);
}

static void use_components(tkl_client *client)
{
    use_locks(client);
    use_queue(client);
    use_limit(client);
    use_mail(client);
    use_sessions(client);
    use_search(client);
}

/* ---- The list ------------------------------------------------------------ */

static void a_new_server_has_none(void **state)
{
    fixture *f = *state;
    tkl_function_libraries *list = list_of(f->client);
    assert_int_equal(list->count, 0);
    tkl_function_libraries_free(list);
    tkl_function_libraries_free(NULL);
}

static void a_component_that_was_used_has_its_library(void **state)
{
    fixture *f = *state;
    use_queue(f->client);
    tkl_function_libraries *list = list_of(f->client);
    assert_int_equal(list->count, 1);
    const tkl_function_library *library = &list->items[0];
    assert_string_equal(library->name, tkl__lua_queue.name);
    assert_string_equal(library->component, "queue");
    assert_string_equal(library->purpose, "task queues");
    assert_string_equal(library->version, TKL_VERSION);
    assert_int_equal(library->bytes, tkl__lua_queue.len);
    assert_true(library->functions > 10);
    assert_int_equal(library->functions, count_functions(&tkl__lua_queue));
    assert_int_equal(library->servers, 1);
    assert_true(library->is_current);
    tkl_function_libraries_free(list);
}

static void every_library_has_a_purpose(void **state)
{
    fixture *f = *state;
    assert_ok(tkl_functions_load(f->client, NULL));
    tkl_function_libraries *list = list_of(f->client);
    assert_int_equal(list->count, count_libraries());
    for (size_t i = 0; i < list->count; i++) {
        assert_true(list->items[i].purpose[0] != '\0');
        assert_true(list->items[i].is_current);
        assert_true(list->items[i].functions > 0);
        assert_true(i == 0 || strcmp(list->items[i - 1].name, list->items[i].name) < 0);
    }
    tkl_function_libraries_free(list);
}

/* ---- Old ones ------------------------------------------------------------ */

#define OLD "tackle_queue_0000000000"

static void load_old_and_foreign(server *s)
{
    server_do(s, "FUNCTION LOAD %s",
              LIBRARY_HEAD(OLD) LIBRARY_FUNCTION("tackle_queue_claim_0000000000", "", "return 1"));
    server_do(s, "FUNCTION LOAD %s", LIBRARY_HEAD("mine") LIBRARY_FUNCTION("mine", "", "return 1"));
}

static void old_ones_are_told_from_current_ones(void **state)
{
    fixture *f = *state;
    load_old_and_foreign(f->server);
    use_queue(f->client);
    tkl_function_libraries *list = list_of(f->client);
    assert_int_equal(list->count, 2);
    for (size_t i = 0; i < 2; i++) {
        bool old = strcmp(list->items[i].name, OLD) == 0;
        assert_string_equal(list->items[i].component, "queue");
        assert_int_equal(list->items[i].is_current, !old);
        assert_string_equal(list->items[i].version, old ? "" : TKL_VERSION);
    }
    tkl_function_libraries_free(list);
}

static void old_ones_are_removed_and_no_others(void **state)
{
    fixture *f = *state;
    int64_t removed;
    load_old_and_foreign(f->server);
    use_queue(f->client);
    assert_ok(tkl_functions_remove_old(f->client, &removed));
    assert_int_equal(removed, 1);
    assert_false(has_library(f->server, OLD));
    assert_true(has_library(f->server, tkl__lua_queue.name));
    assert_true(has_library(f->server, "mine"));
    assert_ok(tkl_functions_remove_old(f->client, &removed));
    assert_int_equal(removed, 0);
    assert_ok(tkl_functions_remove_old(f->client, NULL));
}

static void names_that_only_begin_like_ours_are_left_alone(void **state)
{
    fixture *f = *state;
    int64_t removed;
    static const char *const names[] = {"tackle_box", "tackle_", "tackle_queue_mine",
                                        "tackle_queue_00000000000", "tackle_queue_000000000G"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text =
            test_format(LIBRARY_HEAD("%s") LIBRARY_FUNCTION("f%zu", "", "return 1"), names[i], i);
        server_do(f->server, "FUNCTION LOAD %s", text);
        free(text);
    }
    assert_int_equal(listed(f->client), 0);
    assert_ok(tkl_functions_remove_old(f->client, &removed));
    assert_int_equal(removed, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(has_library(f->server, names[i]));
}

/* ---- Loading ahead ------------------------------------------------------- */

static void loading_twice_is_fine(void **state)
{
    fixture *f = *state;
    int64_t loaded;
    use_locks(f->client);
    assert_ok(tkl_functions_load(f->client, &loaded));
    assert_int_equal(loaded, count_libraries() - 1);
    assert_ok(tkl_functions_load(f->client, &loaded));
    assert_int_equal(loaded, 0);
    assert_int_equal(listed(f->client), count_libraries());
}

static void who_may_not_load_works_once_all_are_loaded(void **state)
{
    fixture *f = *state;
    server_do(f->server, "ACL SETUSER clerk on >secret ~* &* +@all -function");
    const tkl_options options = {.username = "clerk", .password = "secret"};
    tkl_client *clerk = test_open(f->server->url, &options);
    tkl_lock *lock = open_lock(clerk, "door", NULL);
    assert_code(tkl_lock_acquire(lock, 0), TKL_EAUTH);
    assert_contains(tkl_errmsg(), "tackle server functions --load");
    assert_code(tkl_functions_load(clerk, NULL), TKL_EAUTH);
    assert_ok(tkl_functions_load(f->client, NULL));
    tkl_lock_close(lock);
    use_components(clerk);
    tkl_close(clerk);
}

static void a_server_that_is_gone_is_told(void **state)
{
    (void)state;
    tkl_client *client = test_open("redis://127.0.0.1:1", NULL);
    tkl_function_libraries *list;
    int64_t count = 7;
    assert_code(tkl_functions_list(client, &list), TKL_ENOTSENT);
    assert_null(list);
    assert_code(tkl_functions_load(client, &count), TKL_ENOTSENT);
    assert_int_equal(count, 0);
    assert_code(tkl_functions_remove_old(client, &count), TKL_ENOTSENT);
    tkl_close(client);
}

/* ---- Flushes ------------------------------------------------------------- */

typedef struct flusher {
    fixture *f;
    atomic_bool over;
} flusher;

/* Removes all functions again and again, and loads some of them again by other work. */
static void flush_and_reload(void *arg, int index)
{
    flusher *fl = arg;
    char name[16];
    snprintf(name, sizeof name, "other%d", index);
    tkl_client *client = test_open(fl->f->server->url, NULL);
    tkl_queue *queue = open_queue(client, name, 1);
    tkl_log *log;
    assert_ok(tkl_log_open(client, tkl_str(name), NULL, &log));
    while (!atomic_load(&fl->over)) {
        assert_ok(tkl_callz(client, NULL, "FUNCTION", "FLUSH", "SYNC", NULL));
        push_words(queue, "x");
        assert_ok(tkl_log_print(log, TKL_LOG_INFO, "x"));
    }
    tkl_log_close(log);
    tkl_queue_close(queue);
    tkl_close(client);
}

enum { ITEMS = 5000 };

static void push_and_claim_in_order(fixture *f, char texts[ITEMS][8])
{
    static tkl_push jobs[ITEMS];
    tkl_queue *queue = open_queue(f->client, "large", 1);
    tkl_consumer *consumer = open_consumer(queue, 600000);
    for (int i = 0; i < ITEMS; i++)
        jobs[i] = (tkl_push){.payload = tkl_str(texts[i])};
    assert_ok(tkl_queue_push(queue, jobs, ITEMS, NULL, NULL));
    for (int done = 0; done < ITEMS;) {
        tkl_jobs *some = claim_jobs(consumer, 1000, 0);
        for (size_t i = 0; i < some->count; i++, done++)
            assert_int_equal(atoi(some->items[i].payload.data), done);
        finish_all(consumer, some);
        tkl_jobs_free(some);
    }
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
}

static void write_and_read_in_order(fixture *f, char texts[ITEMS][8])
{
    static tkl_log_message messages[ITEMS];
    tkl_log *log;
    tkl_log_entries *entries;
    assert_ok(tkl_log_open(f->client, tkl_str("large"), &(tkl_log_options){.keep = ITEMS}, &log));
    for (int i = 0; i < ITEMS; i++)
        messages[i] = (tkl_log_message){.severity = TKL_LOG_INFO, .text = tkl_str(texts[i])};
    assert_ok(tkl_log_write(log, messages, ITEMS));
    assert_ok(tkl_log_recent(log, TKL_LOG_INFO, ITEMS, &entries));
    assert_int_equal(entries->count, ITEMS);
    for (size_t i = 0; i < ITEMS; i++)
        assert_int_equal(atoi(entries->items[i].message.data), i);
    tkl_log_entries_free(entries);
    assert_ok(tkl_log_drop(log));
    tkl_log_close(log);
}

static void large_batches_keep_their_order_while_functions_are_flushed(void **state)
{
    fixture *f = *state;
    static char texts[ITEMS][8];
    flusher fl = {.f = f};
    for (int i = 0; i < ITEMS; i++)
        snprintf(texts[i], sizeof texts[i], "%d", i);
    crew *others = crew_start(2, flush_and_reload, &fl);
    for (int i = 0; i < 3; i++) {
        push_and_claim_in_order(f, texts);
        write_and_read_in_order(f, texts);
    }
    atomic_store(&fl.over, true);
    crew_join(others);
}

static void components_work_while_functions_are_flushed(void **state)
{
    fixture *f = *state;
    flusher fl = {.f = f};
    crew *others = crew_start(2, flush_and_reload, &fl);
    use_components(f->client);
    atomic_store(&fl.over, true);
    crew_join(others);
}

/* ---- Nothing survives a call --------------------------------------------- */

/* As many keys and arguments as any function takes, and more. */
#define MANY_KEYS \
    " k1 k2 k3 k4 k5 k6 k7 k8 k9 k10 k11 k12 k13 k14 k15 k16 k17 k18 k19 k20 k21 k22 k23 k24"
#define NUMBERS " 1 2 3 1 2 3 1 2 3 1 2 3"
#define WORDS   " x -1 {} 1e3 nil s nan 0x1 , {1 1:2 z"

typedef struct input {
    const char *words; /* number of keys, keys, arguments */
    int first, step;   /* keys of a type that no function expects: every `step`th from this one */
} input;

static const input inputs[] = {
    {" 0", 0, 0},
    {" 1 k1", 0, 0},
    {" 1 k1" NUMBERS, 0, 0},
    {" 24" MANY_KEYS, 0, 0},
    {" 24" MANY_KEYS NUMBERS, 0, 0},
    {" 24" MANY_KEYS WORDS, 0, 0},
    {" 24" MANY_KEYS NUMBERS, 1, 1},
    {" 24" MANY_KEYS WORDS, 2, 2},
    {" 24" MANY_KEYS NUMBERS, 3, 4},
};
enum { INPUTS = sizeof inputs / sizeof *inputs, FUNCTIONS_MOST = 300 };

/* Removes numbers of `least` or more digits, also hexadecimal ones, from a text. */
static void drop_numbers(char *text, size_t least)
{
    char *to = text;
    for (const char *at = text; *at;) {
        size_t digits = strspn(at, "0123456789abcdef"), len = digits ? digits : 1;
        if (digits < least) {
            memmove(to, at, len);
            to += len;
        }
        at += len;
    }
    *to = '\0';
}

/* Removes all functions. Redis 8.0 crashes when they are flushed right after a function has called
 * a command with an argument that is neither a text nor a number, so another function runs
 * first. */
static void flush_functions(server *s)
{
    server_do(s, "FUNCTION LOAD REPLACE %s",
              LIBRARY_HEAD("well") LIBRARY_FUNCTION("well", "", "return redis.call('TIME')"));
    server_do(s, "FCALL well 0");
    server_do(s, "FUNCTION FLUSH SYNC");
}

static int flush_and_finish(void **state)
{
    fixture *f = *state;
    flush_functions(f->server);
    return fixture_done(state);
}

/* The reply to one call in a server without data, without times. */
static char *ask_function(server *s, const char *function, const input *in)
{
    server_do(s, "FLUSHALL");
    for (int i = in->first; in->first && i <= 24; i += in->step)
        server_do(s, "XADD k%d 1-%d a b", i, i);
    char *command = test_format("FCALL %s%s", function, in->words);
    char *reply = server_ask(s, command);
    drop_numbers(reply, 10);
    free(command);
    return reply;
}

/* The names of all functions of the server. */
static size_t name_functions(server *s, char *names[FUNCTIONS_MOST])
{
    char *text = server_ask(s, "FUNCTION LIST"), *rest = text, *before = "";
    size_t count = 0;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (strcmp(before, "name") == 0 && count < FUNCTIONS_MOST)
            names[count++] = strdup(line);
        before = line;
    }
    free(text);
    return count;
}

typedef struct expectation {
    char *function;
    char *replies[INPUTS];
    bool varies[INPUTS]; /* with the clock: numbers are not compared */
} expectation;

static void free_expectations(expectation *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(all[i].function);
        for (size_t j = 0; j < INPUTS; j++)
            free(all[i].replies[j]);
    }
    free(all);
}

static char *ask_fresh(server *s, const tkl__library *library, const char *function,
                       const input *in)
{
    flush_functions(s);
    server_do(s, "FUNCTION LOAD %s", library->source);
    return ask_function(s, function, in);
}

/* The replies of every function, each by a library that was loaded a moment ago. */
static expectation *expect_fresh(server *s, size_t *count)
{
    expectation *all = calloc(FUNCTIONS_MOST, sizeof *all);
    assert_non_null(all);
    *count = 0;
    for (const tkl__library *const *at = tkl__libraries; *at; at++) {
        char *names[FUNCTIONS_MOST];
        flush_functions(s);
        server_do(s, "FUNCTION LOAD %s", (*at)->source);
        size_t functions = name_functions(s, names);
        assert_true(functions > 0 && *count + functions <= FUNCTIONS_MOST);
        for (size_t i = 0; i < functions; i++) {
            expectation *e = &all[(*count)++];
            e->function = names[i];
            for (size_t j = 0; j < INPUTS; j++) {
                char *again = ask_fresh(s, *at, names[i], &inputs[j]);
                e->replies[j] = ask_fresh(s, *at, names[i], &inputs[j]);
                e->varies[j] = strcmp(again, e->replies[j]) != 0;
                free(again);
            }
        }
    }
    return all;
}

static void expect_again(server *s, const expectation *e, size_t which)
{
    char *reply = ask_function(s, e->function, &inputs[which]);
    if (e->varies[which]) {
        drop_numbers(reply, 1);
        drop_numbers(e->replies[which], 1);
    }
    if (strcmp(reply, e->replies[which]) != 0)
        fail_msg("FCALL %s%s\nanswers after other calls: %s\nand as the first call:     %s",
                 e->function, inputs[which].words, reply, e->replies[which]);
    free(reply);
}

static void no_reply_depends_on_earlier_calls(void **state)
{
    fixture *f = *state;
    size_t count;
    expectation *all = expect_fresh(f->server, &count);
    assert_true(count > 100);
    flush_functions(f->server);
    assert_ok(tkl_functions_load(f->client, NULL));
    for (size_t j = 0; j < INPUTS; j++) /* each input for all: others fail between */
        for (size_t i = 0; i < count; i++)
            expect_again(f->server, &all[i], j);
    for (size_t i = count; i > 0; i--)
        for (size_t j = INPUTS; j > 0; j--)
            expect_again(f->server, &all[i - 1], j - 1);
    free_expectations(all, count);
}

static void components_work_after_calls_that_failed(void **state)
{
    fixture *f = *state;
    char *names[FUNCTIONS_MOST];
    assert_ok(tkl_functions_load(f->client, NULL));
    use_components(f->client);
    size_t count = name_functions(f->server, names);
    for (size_t j = 0; j < INPUTS; j++) {
        for (size_t i = 0; i < count; i++)
            free(ask_function(f->server, names[i], &inputs[j]));
        server_do(f->server, "FLUSHALL");
        use_components(f->client);
    }
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    assert_int_equal(listed(f->client), count_libraries());
}

/* A release with the first key only must not use the line of the acquisition before it. */
static void no_function_sees_the_keys_of_an_earlier_call(void **state)
{
    fixture *f = *state;
    static const char *const waiter = "FCALL %s 3 a a:sharers a:line everyone b1 x 9000000 %b "
                                      "host/1/me c1 channel %b %b";
    const char *acquire = tkl__lua_hold_acquire.function, *release = tkl__lua_hold_release.function;
    assert_ok(tkl_functions_load(f->client, NULL));
    server_do(f->server,
              "FCALL %s 3 a a:sharers a:line everyone a1 x 9000000 %b host/1/me c1 %b %b %b",
              acquire, "", (size_t)0, "", (size_t)0, "", (size_t)0, "", (size_t)0);
    server_do(f->server, waiter, acquire, "", (size_t)0, "", (size_t)0, "", (size_t)0);
    assert_int_equal(server_ask_int(f->server, "LLEN a:line"), 1);
    char *reply = server_ask(f->server, "FCALL %s 1 a everyone a1", release);
    assert_contains(reply, "TRYAGAIN");
    free(reply);
    assert_int_equal(server_ask_int(f->server, "LLEN a:line"), 1);

    /* Another name, held without waiters, after a call about the first one. */
    server_do(f->server,
              "FCALL %s 3 b b:sharers b:line everyone d1 x 9000000 %b host/1/me c1 %b %b %b",
              acquire, "", (size_t)0, "", (size_t)0, "", (size_t)0, "", (size_t)0);
    server_do(f->server, waiter, acquire, "", (size_t)0, "", (size_t)0, "", (size_t)0);
    reply = server_ask(f->server, "FCALL %s 1 b everyone d1", release);
    assert_int_equal(atoi(reply), TKL_OK);
    assert_lacks(reply, "ERR");
    free(reply);
    assert_int_equal(server_ask_int(f->server, "LLEN a:line"), 2);
    assert_int_equal(server_ask_int(f->server, "EXISTS b:line b:sharers"), 0);
}

#define TROUBLED(name) cmocka_unit_test_setup_teardown(name, fixture_fresh, flush_and_finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_server_has_none),
        TEST(a_component_that_was_used_has_its_library),
        TEST(every_library_has_a_purpose),
        TEST(old_ones_are_told_from_current_ones),
        TEST(old_ones_are_removed_and_no_others),
        TEST(names_that_only_begin_like_ours_are_left_alone),
        TEST(loading_twice_is_fine),
        TEST(who_may_not_load_works_once_all_are_loaded),
        TEST(a_server_that_is_gone_is_told),
        TEST(large_batches_keep_their_order_while_functions_are_flushed),
        TEST(components_work_while_functions_are_flushed),
        TROUBLED(no_reply_depends_on_earlier_calls),
        TROUBLED(components_work_after_calls_that_failed),
        TEST(no_function_sees_the_keys_of_an_earlier_call),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
