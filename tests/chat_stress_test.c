/* SPDX-License-Identifier: MIT
 *
 * Sixteen senders, some of which are killed all the time, and a server that is killed, too: ids
 * have no gaps, and every message whose sending succeeded reaches every member, once, in order.
 * Runs for 4 seconds, or half as many as $TACKLE_STRESS says.
 *
 * ctest: label stress
 */
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tackle/chat.h>

#include "support/call.h"
#include "support/chats.h"
#include "support/process.h"
#include "support/server.h"

enum {
    SENDERS = 16,
    READERS = 3,
    MOST = 200000, /* messages of one sender */
};

static int64_t time_ms(void)
{
    const char *text = getenv("TACKLE_STRESS");
    return (text != NULL ? atoll(text) : 8) * 1000 / 2;
}

/* Shared with the senders' processes. */
typedef struct record {
    atomic_int next[SENDERS];        /* number of the next message */
    atomic_char sent[SENDERS][MOST]; /* 1: sending it succeeded */
    char url[128];
} record;

typedef struct reader {
    tkl_inbox *inbox;
    int index;
    int64_t last;         /* id acknowledged */
    char *got[SENDERS];   /* how often each message came */
    int highest[SENDERS]; /* number of the latest */
    unsigned seed;
} reader;

static record *shared;
static atomic_bool over;

/* ---- Senders ------------------------------------------------------------- */

static void send_numbers(tkl_chat *chat, int index)
{
    for (int i = shared->next[index]++; i < MOST; i = shared->next[index]++) {
        char body[32];
        snprintf(body, sizeof body, "%d %d", index, i);
        int rc;
        while ((rc = chat_try_send(chat, "sender", body, NULL)) == TKL_ENOTSENT)
            usleep(10000); /* the server is away, and nothing was sent */
        if (rc == TKL_OK)
            shared->sent[index][i] = 1;
    }
}

static int run_sender(void *arg)
{
    tkl_client *client;
    tkl_chat *chat;
    if (tkl_open(shared->url, &(tkl_options){.timeout_ms = 20000}, &client) != TKL_OK ||
        tkl_chat_open(client, tkl_str("crowd"), NULL, &chat) != TKL_OK)
        return 1;
    send_numbers(chat, *(int *)arg);
    return 0;
}

/* ---- Readers ------------------------------------------------------------- */

static void read_message(reader *r, const tkl_message *message)
{
    char text[32];
    int sender, number;
    snprintf(text, sizeof text, TKL_FMT, TKL_ARG(message->body));
    assert_int_equal(sscanf(text, "%d %d", &sender, &number), 2);
    assert_int_equal(message->id, r->last + 1);
    assert_true(number > r->highest[sender]);
    r->highest[sender] = number;
    r->got[sender][number]++;
    r->last++;
}

/* Reads once. Sometimes the reader "dies" between fetch and acknowledgement: then the same messages
 * must come again. False: there is nothing to read. */
static bool read_once(reader *r, int64_t wait_ms)
{
    tkl_inbox_chats *chats;
    int rc = tkl_inbox_fetch(r->inbox, 500, wait_ms, &chats);
    if (rc != TKL_OK) {
        assert_true(rc == TKL_EMPTY || tkl_is_transient(rc));
        return rc != TKL_EMPTY;
    }
    assert_int_equal(chats->count, 1);
    const tkl_messages *messages = chats->items[0].messages;
    assert_non_null(messages);
    assert_int_equal(messages->missed, 0);
    if (rand_r(&r->seed) % 3 > 0) {
        int64_t last = messages->items[messages->count - 1].id;
        while (tkl_is_transient(rc = tkl_inbox_ack_all(r->inbox, chats)))
            usleep(10000);
        assert_ok(rc);
        for (size_t i = 0; i < messages->count; i++)
            read_message(r, &messages->items[i]);
        assert_int_equal(r->last, last);
    }
    tkl_inbox_chats_free(chats);
    return true;
}

static void run_reader(void *arg, int index)
{
    reader *r = &((reader *)arg)[index];
    while (!over)
        read_once(r, 100);
    while (read_once(r, 0))
        ;
}

/* ---- The scene ----------------------------------------------------------- */

static void kill_and_replace(pid_t *pids, int *indices, int which)
{
    kill(pids[which], SIGKILL);
    process_wait(pids[which]);
    pids[which] = process_fork(run_sender, &indices[which]);
}

static void make_trouble(server *s, pid_t *pids, int *indices)
{
    int64_t begin = test_now_ms();
    for (int i = 1; test_now_ms() < begin + time_ms(); i++) {
        test_sleep_ms(20);
        kill_and_replace(pids, indices, rand() % SENDERS);
        if (i % 60 == 30) {
            server_kill(s);
            server_restart(s);
        }
    }
    for (int i = 0; i < SENDERS; i++) {
        kill(pids[i], SIGKILL);
        process_wait(pids[i]);
    }
}

static int check_reader(const reader *r)
{
    int count = 0;
    for (int s = 0; s < SENDERS; s++)
        for (int i = 0; i < MOST; i++) {
            assert_in_range(r->got[s][i], 0, 1);
            if (shared->sent[s][i] && !r->got[s][i])
                fail_msg("message %d of sender %d was sent and did not come", i, s);
            count += r->got[s][i];
        }
    return count;
}

static void what_was_sent_reaches_all_members_once_and_in_order(void **state)
{
    (void)state;
    skip_under_sanitizers();
    static const char *const config[] = {"appendonly yes", "appendfsync always", NULL};
    server *s = server_start(&(server_options){.config = config});
    tkl_client *client = test_open(s->url, NULL);
    tkl_chat *chat = create_chat(client, "crowd", "r0 r1 r2 sender");
    tkl_message_limits none = {.max_messages = TKL_NONE, .max_bytes = TKL_NONE};
    reader readers[READERS] = {{0}};
    pid_t pids[SENDERS];
    int indices[SENDERS];
    assert_ok(tkl_chat_limit(chat, &none));
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    snprintf(shared->url, sizeof shared->url, "%s", s->url);
    for (int i = 0; i < SENDERS; i++) {
        indices[i] = i;
        pids[i] = process_fork(run_sender, &indices[i]);
    }
    for (int i = 0; i < READERS; i++) {
        readers[i].inbox = open_inbox(client, (const char *[]){"r0", "r1", "r2"}[i]);
        readers[i].seed = (unsigned)i;
        for (int n = 0; n < SENDERS; n++) {
            readers[i].got[n] = calloc(1, MOST);
            readers[i].highest[n] = -1;
        }
    }
    crew *threads = crew_start(READERS, run_reader, readers);
    make_trouble(s, pids, indices);
    over = true;
    crew_join(threads);
    int count = check_reader(&readers[0]);
    printf("%d messages\n", count);
    assert_true(count > SENDERS); /* few on a busy machine */
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(check_reader(&readers[i]), count);
        assert_int_equal(readers[i].last, count);
        tkl_inbox_close(readers[i].inbox);
        for (int n = 0; n < SENDERS; n++)
            free(readers[i].got[n]);
    }
    tkl_chat_close(chat);
    tkl_close(client);
    munmap(shared, sizeof *shared);
    server_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sent_reaches_all_members_once_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
