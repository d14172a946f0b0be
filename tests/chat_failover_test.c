/* SPDX-License-Identifier: MIT
 *
 * Chats and mail while another server takes over, in a cluster and under Sentinels, planned or
 * because the master was killed. Senders send and readers acknowledge all the time. One member, the
 * archive, acknowledges nothing: at the end it has the whole history that survived.
 *
 * Before each failover there is a barrier: what was confirmed before is on all replicas, by WAIT.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include <tackle/mail.h>

#include "support/call.h"
#include "support/chats.h"
#include "support/cluster.h"

enum {
    SENDERS = 4, /* the last one writes mail, the others to the chat */
    READERS = 3, /* the last one reads mail */
    MAIL = SENDERS - 1,
    MOST = 100000, /* messages of one sender, and ids */
    WINDOWS_MAX = 2,
    PATIENCE_MS = 60000,
};

/* A reader, in a thread of its own. */
typedef struct reader {
    tkl_inbox *inbox; /* NULL: mail */
    atomic_int acked; /* confirmed */
    atomic_int floor; /* its value at the barrier */
    char *got[SENDERS];
    int *seen;  /* for each id, which message it was; 0: not seen */
    int reused; /* ids seen with two messages */
} reader;

typedef struct scene {
    tkl_client *client;
    tkl_chat *chat;
    tkl_mail *box;
    atomic_bool strict; /* nothing may be lost */
    atomic_bool trouble, senders_end, readers_end;
    atomic_int next[SENDERS]; /* number of the next message */
    int windows;              /* in which messages may be lost: from a barrier until it is over */
    int from[SENDERS][WINDOWS_MAX], to[SENDERS][WINDOWS_MAX]; /* numbers of messages */
    atomic_char *sent[SENDERS];
    reader readers[READERS];
    crew *sending, *reading;
} scene;

/* ---- Senders ------------------------------------------------------------- */

static void send_numbers(void *arg, int index)
{
    scene *s = arg;
    while (!s->senders_end && s->next[index] < MOST) {
        char body[32];
        int number = s->next[index];
        snprintf(body, sizeof body, "%d %d", index, number);
        tkl_letter letter = {.body = tkl_str(body)};
        int rc = index == MAIL ? tkl_mail_send(s->box, tkl_str("bob"), &letter, 1, NULL)
                               : tkl_chat_send(s->chat, tkl_str("bob"), &letter, 1, NULL);
        if (rc != TKL_OK)
            assert_true(tkl_is_transient(rc));
        s->sent[index][number] = rc == TKL_OK;
        s->next[index]++;
        test_sleep_ms(1);
    }
}

/* ---- Readers ------------------------------------------------------------- */

static int message_of(const tkl_message *message, int *sender, int *number)
{
    char text[32];
    snprintf(text, sizeof text, TKL_FMT, TKL_ARG(message->body));
    assert_int_equal(sscanf(text, "%d %d", sender, number), 2);
    return 1 + *sender * MOST + *number;
}

/* Positions go back only in a failover that loses acknowledgements, and not behind the barrier. */
static void check_position(const scene *s, const reader *r, int64_t first)
{
    assert_true(first <= r->acked + 1);
    assert_true(first > r->floor);
    if (s->strict || !s->trouble)
        assert_int_equal(first, r->acked + 1);
}

static void note_messages(const scene *s, reader *r, const tkl_messages *messages)
{
    int sender, number;
    int64_t first = messages->items[0].id;
    assert_int_equal(messages->missed, 0);
    check_position(s, r, first);
    for (size_t i = 0; i < messages->count; i++) {
        int which = message_of(&messages->items[i], &sender, &number);
        int64_t id = messages->items[i].id;
        assert_int_equal(id, first + (int64_t)i);
        assert_true(id < MOST);
        r->reused += r->seen[id] != 0 && r->seen[id] != which;
        r->seen[id] = which;
        r->got[sender][number] = 1;
    }
}

/* Reads and acknowledges. TKL_EMPTY: there is nothing. An acknowledgement of a lost message may be
 * refused. */
static int read_chat(const scene *s, reader *r)
{
    tkl_inbox_chats *chats;
    int rc = tkl_inbox_fetch(r->inbox, 100, 100, &chats);
    if (rc == TKL_OK && chats->items[0].messages) {
        const tkl_messages *messages = chats->items[0].messages;
        note_messages(s, r, messages);
        rc = tkl_inbox_ack_all(r->inbox, chats);
        if (rc == TKL_OK)
            r->acked = (int)messages->items[messages->count - 1].id;
    }
    tkl_inbox_chats_free(chats);
    return rc;
}

static int read_mail(const scene *s, reader *r)
{
    tkl_messages *mail;
    int rc = tkl_mail_fetch(s->box, 100, 100, &mail);
    if (rc == TKL_OK) {
        int64_t last = mail->items[mail->count - 1].id;
        note_messages(s, r, mail);
        rc = tkl_mail_ack(s->box, last, NULL);
        if (rc == TKL_OK)
            r->acked = (int)last;
    }
    tkl_messages_free(mail);
    return rc;
}

/* Reads until the end, and then until nothing is left. Clients leave a server alone for a moment
 * after it was away. */
static void read_on(void *arg, int index)
{
    scene *s = arg;
    reader *r = &s->readers[index];
    bool last_time = false;
    int rc = TKL_OK;
    while (!last_time || rc != TKL_EMPTY) {
        last_time = s->readers_end;
        rc = r->inbox ? read_chat(s, r) : read_mail(s, r);
        assert_true(rc >= TKL_OK || tkl_is_transient(rc));
        if (rc != TKL_OK)
            test_sleep_ms(5);
    }
}

/* ---- The scene ----------------------------------------------------------- */

static void scene_start(scene *s, tkl_client *client, const char *owner)
{
    static const char *const names[] = {"ann", "eve"};
    const tkl_message_limits none = {.max_messages = TKL_NONE, .max_bytes = TKL_NONE};
    s->client = client;
    s->chat = create_chat(client, "lunch", "ann eve bob archive");
    assert_ok(tkl_chat_limit(s->chat, &none));
    assert_ok(tkl_mail_open(client, tkl_str(owner), NULL, &s->box));
    for (int i = 0; i < READERS; i++) {
        reader *r = &s->readers[i];
        r->inbox = i < READERS - 1 ? open_inbox(client, names[i]) : NULL;
        r->seen = calloc(MOST, sizeof *r->seen);
        for (int n = 0; n < SENDERS; n++)
            r->got[n] = calloc(MOST, 1);
    }
    for (int i = 0; i < SENDERS; i++)
        s->sent[i] = calloc(MOST, 1);
    s->sending = crew_start(SENDERS, send_numbers, s);
    s->reading = crew_start(READERS, read_on, s);
}

/* Waits until all senders have sent more. */
static void let_send(scene *s, int more)
{
    for (int i = 0; i < SENDERS; i++) {
        int until = s->next[i] + more;
        eventually(s->next[i] >= until, 2 * PATIENCE_MS);
    }
}

/* Makes all messages safe that were confirmed until now. */
static void barrier(scene *s, server *master, int replicas)
{
    for (int i = 0; i < READERS; i++)
        s->readers[i].floor = (int)s->readers[i].acked;
    for (int i = 0; i < SENDERS; i++)
        s->from[i][s->windows] = s->next[i];
    server_do(master, "SET {lunch} x");
    assert_int_equal(server_ask_int(master, "WAIT %d %d", replicas, PATIENCE_MS), replicas);
    s->trouble = true;
}

/* Notes that the failover is over: messages that are confirmed from now on stay. */
static void recovered(scene *s)
{
    for (int i = 0; i < SENDERS; i++)
        s->to[i][s->windows] = s->next[i];
    s->windows++;
}

/* ---- Survivors ----------------------------------------------------------- */

/* Checks that readers of the chat have a message that survived, or have acknowledged a lost message
 * with the same id. */
static void check_readers(const scene *s, int64_t id, int sender, int number)
{
    for (int i = 0; i < READERS - 1; i++) {
        const reader *r = &s->readers[i];
        int which = 1 + sender * MOST + number;
        bool another = r->seen[id] != 0 && r->seen[id] != which;
        if (!r->got[sender][number] && (s->strict || !another))
            fail_msg("message %d (%d of sender %d) did not come", (int)id, number, sender);
    }
}

/* Reads the whole history, which has no gap, no message twice, and each sender's messages in
 * order. */
static int64_t read_archive(const scene *s, char *survived[SENDERS])
{
    int64_t last = 0;
    int rc, sender, number, highest[SENDERS] = {-1, -1, -1, -1};
    tkl_messages *messages;
    while ((rc = tkl_chat_fetch(s->chat, tkl_str("archive"), 1000, 0, &messages)) == TKL_OK) {
        for (size_t i = 0; i < messages->count; i++) {
            message_of(&messages->items[i], &sender, &number);
            assert_int_equal(messages->items[i].id, ++last);
            assert_true(number > highest[sender]);
            highest[sender] = number;
            survived[sender][number] = 1;
            check_readers(s, last, sender, number);
        }
        assert_ok(chat_try_ack(s->chat, "archive", last));
        tkl_messages_free(messages);
    }
    assert_code(rc, TKL_EMPTY);
    return last;
}

static bool may_be_lost(const scene *s, int sender, int number)
{
    bool may = false;
    for (int i = 0; i < s->windows; i++)
        may |= number >= s->from[sender][i] && number <= s->to[sender][i];
    return may && !s->strict;
}

/* Counts confirmed messages that are missing. No safe message may be missing. */
static int check_survivors(const scene *s, char *survived[SENDERS])
{
    int lost = 0;
    for (int i = 0; i < SENDERS; i++)
        for (int n = 0; n < s->next[i]; n++) {
            if (!s->sent[i][n] || survived[i][n])
                continue;
            lost++;
            if (!may_be_lost(s, i, n))
                fail_msg("message %d of sender %d is lost", n, i);
        }
    return lost;
}

/* Checks that all members have acknowledged the last message, and that nothing is kept any more. */
static void check_chat(const scene *s, int64_t last)
{
    tkl_chat_info *info;
    assert_ok(chat_leave(s->chat, "bob")); /* who has never read */
    assert_ok(tkl_chat_show(s->chat, &info));
    assert_int_equal(info->last_id, last);
    assert_int_equal(info->kept, 0);
    for (size_t i = 0; i < info->member_count; i++)
        assert_int_equal(info->members[i].acked_id, last);
    tkl_chat_info_free(info);
}

static void scene_check(scene *s)
{
    char *survived[SENDERS];
    for (int i = 0; i < SENDERS; i++)
        survived[i] = i == MAIL ? s->readers[READERS - 1].got[i] : calloc(MOST, 1);
    int64_t last = read_archive(s, survived);
    int lost = check_survivors(s, survived);
    printf("%d messages, %d were lost\n", (int)last, lost);
    assert_true(last > 100);
    check_chat(s, last);
    for (int i = 0; i < SENDERS; i++)
        if (i != MAIL)
            free(survived[i]);
}

static void scene_end(scene *s)
{
    let_send(s, 50);
    s->senders_end = true;
    crew_join(s->sending);
    s->readers_end = true;
    crew_join(s->reading);
    scene_check(s);
    for (int i = 0; i < READERS; i++) {
        if (s->strict)
            assert_int_equal(s->readers[i].reused, 0);
        tkl_inbox_close(s->readers[i].inbox);
        free(s->readers[i].seen);
        for (int n = 0; n < SENDERS; n++)
            free(s->readers[i].got[n]);
    }
    for (int i = 0; i < SENDERS; i++)
        free((void *)s->sent[i]);
    tkl_chat_close(s->chat);
    tkl_mail_close(s->box);
}

/* ---- Clusters ------------------------------------------------------------ */

static int slot_of(cluster *c, const char *name)
{
    return (int)server_ask_int(c->servers[0], "CLUSTER KEYSLOT {%s}", name);
}

/* The chat and the mailbox are on the same server. */
static void cluster_scene_start(scene *s, cluster *c, tkl_client *client)
{
    char owner[16];
    server *home = cluster_owner(c, slot_of(c, "lunch"));
    int i = 0;
    do {
        snprintf(owner, sizeof owner, "ann%d", i++);
    } while (cluster_owner(c, slot_of(c, owner)) != home);
    scene_start(s, client, owner);
    let_send(s, 50);
}

static void a_planned_failover_loses_nothing(cluster *c, scene *s)
{
    int slot = slot_of(c, "lunch");
    barrier(s, cluster_owner(c, slot), 1);
    cluster_fail_over(c, slot);
    let_send(s, 50);
    recovered(s);
}

static void a_killed_master_is_replaced(cluster *c, scene *s)
{
    server *victim = cluster_owner(c, slot_of(c, "lunch"));
    cluster_heal(c);
    barrier(s, victim, 1);
    let_send(s, 20);
    s->strict = false;
    server_kill(victim);
    let_send(s, 50);
    recovered(s);
}

static void a_cluster_fails_over(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, &(tkl_options){.timeout_ms = PATIENCE_MS});
    static scene s = {.strict = true};
    cluster_scene_start(&s, c, client);
    a_planned_failover_loses_nothing(c, &s);
    a_killed_master_is_replaced(c, &s);
    scene_end(&s);
    tkl_close(client);
    cluster_end(c);
}

/* ---- Sentinels ----------------------------------------------------------- */

static void sentinels_choose_another_master(void **state)
{
    (void)state;
    sentinels *trio = sentinels_start();
    tkl_client *client = test_open(trio->url, &(tkl_options){.timeout_ms = PATIENCE_MS});
    static scene s;
    scene_start(&s, client, "ann");
    let_send(&s, 50);
    server *victim = sentinels_master(trio);
    barrier(&s, victim, 2);
    let_send(&s, 20);
    server_kill(victim);
    let_send(&s, 50);
    sentinels_heal(trio);
    recovered(&s);
    barrier(&s, sentinels_master(trio), 2);
    sentinels_fail_over(trio);
    let_send(&s, 50);
    sentinels_heal(trio);
    recovered(&s);
    scene_end(&s);
    tkl_close(client);
    sentinels_end(trio);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_fails_over),
        cmocka_unit_test(sentinels_choose_another_master),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
