/* SPDX-License-Identifier: MIT
 *
 * Receivers of mail and of chats that are killed (kill -9): messages that they have not
 * acknowledged come again, in order, and no others.
 */
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tackle/mail.h>

#include "support/chats.h"
#include "support/fixture.h"
#include "support/process.h"

enum {
    MOST = 1000,    /* messages */
    HANDLED = 8000, /* by all receivers, again and again */
    KILLS = 40,
};

/* Shared with the processes of receivers. */
typedef struct record {
    char url[128];
    bool chat;            /* a chat, read by an inbox; else a mailbox */
    bool acks;            /* the receiver acknowledges */
    atomic_int done;      /* steps of the receiver: fetched; acknowledged */
    atomic_int acked;     /* the highest id whose acknowledgement was confirmed */
    atomic_int count;     /* messages in `handled` */
    int handled[HANDLED]; /* ids, in the order in which receivers saw them; -1: a new receiver */
    char text[256];       /* the last message fetched */
} record;

static record *shared;

/* ---- A receiver, in a process of its own ---------------------------------- */

typedef struct receiver {
    tkl_mail *box;
    tkl_inbox *inbox;
    tkl_messages *mail;
    tkl_inbox_chats *chats;
    const tkl_messages *messages; /* views into either */
} receiver;

static int open_receiver(receiver *r)
{
    tkl_client *client;
    *r = (receiver){0};
    if (tkl_open(shared->url, NULL, &client) != TKL_OK)
        return 1;
    int rc = shared->chat ? tkl_inbox_open(client, tkl_str("ann"), NULL, &r->inbox)
                          : tkl_mail_open(client, tkl_str("ann"), NULL, &r->box);
    return rc == TKL_OK ? 0 : 1;
}

static bool fetch(receiver *r)
{
    int rc = shared->chat ? tkl_inbox_fetch(r->inbox, 7, -1, &r->chats)
                          : tkl_mail_fetch(r->box, 7, -1, &r->mail);
    r->messages = rc != TKL_OK ? NULL : shared->chat ? r->chats->items[0].messages : r->mail;
    return rc == TKL_OK;
}

static bool ack(receiver *r)
{
    int64_t last = r->messages->items[r->messages->count - 1].id;
    int rc =
        shared->chat ? tkl_inbox_ack_all(r->inbox, r->chats) : tkl_mail_ack(r->box, last, NULL);
    if (rc == TKL_OK)
        shared->acked = (int)last;
    tkl_inbox_chats_free(r->chats);
    tkl_messages_free(r->mail);
    return rc == TKL_OK;
}

/* Fetches, acknowledges if told so, and waits to be killed. */
static int receive_once(void *arg)
{
    (void)arg;
    receiver r;
    size_t len = 0;
    if (open_receiver(&r) != 0 || !fetch(&r))
        return 1;
    for (size_t i = 0; i < r.messages->count; i++)
        len += (size_t)snprintf(shared->text + len, sizeof shared->text - len, "%d:" TKL_FMT " ",
                                (int)r.messages->items[i].id, TKL_ARG(r.messages->items[i].body));
    if (shared->acks && !ack(&r))
        return 1;
    shared->done = 1;
    pause();
    return 1;
}

/* Notes a message. The receiver may be killed between the two steps. */
static void note_handled(int id)
{
    shared->handled[shared->count] = id;
    shared->count++;
}

/* Handles and acknowledges until it is killed. */
static int receive_all(void *arg)
{
    (void)arg;
    receiver r;
    if (open_receiver(&r) != 0)
        return 1;
    note_handled(-1);
    while (fetch(&r)) {
        for (size_t i = 0; i < r.messages->count && shared->count < HANDLED - KILLS; i++)
            note_handled((int)r.messages->items[i].id);
        if (!ack(&r))
            return 1;
    }
    return 1;
}

/* ---- The scene ------------------------------------------------------------ */

typedef struct scene {
    tkl_chat *chat;
    tkl_mail *box;
} scene;

static void start(const fixture *f, bool chat, scene *s)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    snprintf(shared->url, sizeof shared->url, "%s", f->server->url);
    shared->chat = chat;
    *s = (scene){.chat = create_chat(f->client, "lunch", "ann bob")};
    assert_ok(tkl_mail_open(f->client, tkl_str("ann"), NULL, &s->box));
}

static void end(scene *s)
{
    tkl_chat_close(s->chat);
    tkl_mail_close(s->box);
    munmap(shared, sizeof *shared);
}

static void say(const scene *s, const char *body)
{
    tkl_letter letter = {.body = tkl_str(body)};
    if (shared->chat)
        assert_ok(tkl_chat_send(s->chat, tkl_str("bob"), &letter, 1, NULL));
    else
        assert_ok(tkl_mail_send(s->box, tkl_str("bob"), &letter, 1, NULL));
}

/* ---- Between fetch and acknowledgement ------------------------------------ */

static void expect_received(bool acks, const char *text)
{
    shared->acks = acks;
    shared->done = 0;
    pid_t pid = process_fork(receive_once, NULL);
    eventually(shared->done, 30000);
    kill(pid, SIGKILL);
    assert_int_equal(process_wait(pid), 128 + SIGKILL);
    assert_string_equal(shared->text, text);
}

static void kill_before_and_after_the_acknowledgement(const fixture *f, bool chat)
{
    scene s;
    start(f, chat, &s);
    say(&s, "a");
    say(&s, "b");
    expect_received(false, "1:a 2:b ");
    expect_received(false, "1:a 2:b ");
    say(&s, "c");
    expect_received(true, "1:a 2:b 3:c ");
    say(&s, "d");
    expect_received(false, "4:d ");
    end(&s);
}

static void mail_that_was_not_acknowledged_comes_again(void **state)
{
    kill_before_and_after_the_acknowledgement(*state, false);
}

static void chats_that_were_not_acknowledged_come_again(void **state)
{
    kill_before_and_after_the_acknowledgement(*state, true);
}

/* ---- At any moment -------------------------------------------------------- */

/* Checks that each new receiver begins with the first message that is not acknowledged, and goes on
 * without a gap. Returns the highest id. */
static int check_handled(void)
{
    int highest = 0, before = -1;
    for (int i = 0; i < shared->count; i++) {
        int id = shared->handled[i];
        if (id < 0) {
            before = -1;
            continue;
        }
        assert_true(before < 0 ? id <= highest + 1 : id == before + 1);
        before = id;
        highest = id > highest ? id : highest;
    }
    return highest;
}

/* The receiver was killed: the next one must not get what was acknowledged before. */
static void replace(pid_t *pid)
{
    kill(*pid, SIGKILL);
    assert_int_equal(process_wait(*pid), 128 + SIGKILL);
    int acked = shared->acked, from = shared->count;
    *pid = process_fork(receive_all, NULL);
    eventually(shared->count > from, 30000);
    if (shared->count > from + 1)
        assert_true(shared->handled[from + 1] > acked);
}

static void kill_at_any_moment(const fixture *f, bool chat)
{
    scene s;
    int sent = 0;
    start(f, chat, &s);
    pid_t pid = process_fork(receive_all, NULL);
    for (int i = 0; i < KILLS; i++) {
        for (int n = rand() % 20; n >= 0; n--, sent++)
            say(&s, "x");
        usleep((useconds_t)(rand() % 5000));
        replace(&pid);
    }
    say(&s, "the last one"); /* the one before may be acknowledged, and its receiver killed then */
    sent++;
    eventually(shared->acked == sent, 30000);
    kill(pid, SIGKILL);
    process_wait(pid);
    assert_true(sent <= MOST && shared->count < HANDLED - KILLS);
    assert_int_equal(check_handled(), sent);
    end(&s);
}

static void a_receiver_of_mail_may_be_killed_at_any_moment(void **state)
{
    kill_at_any_moment(*state, false);
}

static void a_member_may_be_killed_at_any_moment(void **state)
{
    kill_at_any_moment(*state, true);
}

/* ---- Coming and going ------------------------------------------------------ */

static int come_and_go(void *arg)
{
    (void)arg;
    tkl_client *client;
    tkl_chat *chat;
    if (tkl_open(shared->url, NULL, &client) != TKL_OK ||
        tkl_chat_open(client, tkl_str("lunch"), NULL, &chat) != TKL_OK)
        return 1;
    for (shared->done = 1;;) {
        int rc = tkl_chat_join(chat, tkl_str("eve"), TKL_CHAT_START_OLDEST);
        int left = tkl_chat_leave(chat, tkl_str("eve"));
        if ((rc != TKL_OK && rc != TKL_EXISTS) || left != TKL_OK)
            return 1;
    }
}

/* Checks that Eve's inbox knows the chat when the chat says that she is a member. */
static bool check_eve(const fixture *f, tkl_chat *chat)
{
    tkl_chat_info *info;
    tkl_inbox *eve = open_inbox(f->client, "eve");
    bool member = false;
    assert_ok(tkl_chat_show(chat, &info));
    for (size_t i = 0; i < info->member_count; i++)
        member |= strcmp(info->members[i].name.data, "eve") == 0;
    expect_inbox(eve, member ? "lunch[1:x]" : "");
    tkl_chat_info_free(info);
    tkl_inbox_close(eve);
    return member;
}

static void a_program_that_joins_and_leaves_may_be_killed_at_any_moment(void **state)
{
    fixture *f = *state;
    scene s;
    int members = 0;
    start(f, true, &s);
    say(&s, "x");
    for (int i = 0; i < KILLS; i++) {
        shared->done = 0;
        pid_t pid = process_fork(come_and_go, NULL);
        eventually(shared->done, 30000);
        usleep((useconds_t)(rand() % 3000));
        kill(pid, SIGKILL);
        assert_int_equal(process_wait(pid), 128 + SIGKILL);
        members += check_eve(f, s.chat);
    }
    assert_in_range(members, 1, KILLS - 1); /* both were seen */
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(mail_that_was_not_acknowledged_comes_again),
        TEST(chats_that_were_not_acknowledged_come_again),
        TEST(a_receiver_of_mail_may_be_killed_at_any_moment),
        TEST(a_member_may_be_killed_at_any_moment),
        TEST(a_program_that_joins_and_leaves_may_be_killed_at_any_moment),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
