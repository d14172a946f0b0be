/* SPDX-License-Identifier: MIT
 *
 * Chats against a naive chat in memory: the same random operations, the same answers.
 */
#include <time.h>

#include <tackle/chat.h>

#include "support/chats.h"
#include "support/fixture.h"

enum {
    STEPS = 30000,
    PEOPLE = 5,  /* m0 to m4 */
    CHATS = 3,   /* c0 to c2 */
    MOST = 4000, /* messages of a chat that the model can hold */
};

/* ---- The model ----------------------------------------------------------- */

typedef struct model {
    bool exists;
    int64_t first, last; /* kept */
    int64_t max_messages, max_bytes, history;
    bool refuses;
    int64_t sizes[MOST]; /* by id */
    bool member[PEOPLE];
    int64_t position[PEOPLE];
    bool own[PEOPLE][MOST]; /* by id: sent by this member before it had read all before it */
} model;

static int64_t bytes_of(const model *m, int64_t first)
{
    int64_t sum = 0;
    for (int64_t id = first; id <= m->last; id++)
        sum += m->sizes[id];
    return sum;
}

static int model_create(model *m, const bool *members)
{
    if (m->exists)
        return TKL_EXISTS;
    *m = (model){.exists = true, .first = 1, .max_messages = 10000, .max_bytes = 104857600};
    memcpy(m->member, members, sizeof m->member);
    return TKL_OK;
}

/* The first message that a member has not acknowledged; 0: there is no member. */
static int64_t first_needed(const model *m)
{
    int64_t first = 0;
    for (int i = 0; i < PEOPLE; i++)
        if (m->member[i] && (first == 0 || m->position[i] + 1 < first))
            first = m->position[i] + 1;
    return first;
}

static void model_remove(model *m)
{
    int64_t first = first_needed(m);
    if (first == 0)
        m->exists = false;
    if (m->history > 0 && m->last - m->history + 1 < first)
        first = m->last - m->history + 1;
    if (first > m->first)
        m->first = first;
}

static bool fits(const model *m, int64_t first, int64_t count, int64_t bytes)
{
    return m->last - first + 1 + count <= m->max_messages &&
           bytes_of(m, first) + bytes <= m->max_bytes;
}

static int model_send(model *m, int who, int64_t count, int64_t size)
{
    if (!m->exists)
        return TKL_NOTFOUND;
    if (!m->member[who])
        return TKL_NOTOWNER;
    int64_t first = m->first, before = m->last, needed = first_needed(m);
    while ((!m->refuses || first < needed) && first <= m->last &&
           !fits(m, first, count, count * size))
        first++;
    if (!fits(m, first, count, count * size))
        return TKL_FULL;
    m->first = first;
    for (int64_t i = 0; i < count; i++)
        m->sizes[++m->last] = size;
    for (int64_t id = 0; id < m->first; id++)
        m->own[who][id] = false;
    if (m->position[who] == before)
        m->position[who] = m->last;
    else
        for (int64_t id = before + 1; id <= m->last; id++)
            m->own[who][id] = true;
    model_remove(m);
    return TKL_OK;
}

static int model_ack(model *m, int who, int64_t id)
{
    if (!m->exists)
        return TKL_NOTFOUND;
    if (!m->member[who])
        return TKL_NOTOWNER;
    if (id > m->last)
        return TKL_NOTFOUND;
    if (id > m->position[who])
        m->position[who] = id;
    while (id == m->position[who] && id < m->last && m->own[who][id + 1])
        m->position[who] = ++id;
    model_remove(m);
    return TKL_OK;
}

static int model_join(model *m, int who, bool oldest)
{
    if (!m->exists)
        return TKL_NOTFOUND;
    if (m->member[who])
        return TKL_EXISTS;
    m->member[who] = true;
    m->position[who] = oldest ? m->first - 1 : m->last;
    return TKL_OK;
}

static int model_leave(model *m, int who)
{
    if (!m->exists)
        return TKL_NOTFOUND;
    if (!m->member[who])
        return TKL_NOTOWNER;
    m->member[who] = false;
    memset(m->own[who], 0, sizeof m->own[who]);
    model_remove(m);
    return TKL_OK;
}

/* ---- Comparing ----------------------------------------------------------- */

typedef struct game {
    tkl_chat *chats[CHATS];
    tkl_inbox *inboxes[PEOPLE];
    model models[CHATS];
} game;

static tkl_bytes name_of(int who)
{
    static const char *const names[] = {"m0", "m1", "m2", "m3", "m4"};
    return tkl_str(names[who]);
}

/* The first message that is unread for a member, and how many are: its own are not. */
static int64_t model_unread(const model *m, int who, int64_t *first)
{
    int64_t unread = 0;
    *first = 0;
    for (int64_t id = m->position[who] + 1 > m->first ? m->position[who] + 1 : m->first;
         id <= m->last; id++) {
        if (m->own[who][id])
            continue;
        *first = *first ? *first : id;
        unread++;
    }
    return unread;
}

static void compare_messages(const tkl_messages *got, const model *m, int who, int64_t max)
{
    int64_t first, missed = m->first - 1 - m->position[who];
    assert_int_equal(got->unread, model_unread(m, who, &first));
    assert_int_equal(got->missed, missed > 0 ? missed : 0);
    size_t at = 0;
    for (int64_t id = first; id <= m->last && id < first + max; id++) {
        if (m->own[who][id])
            continue;
        assert_true(at < got->count);
        assert_int_equal(got->items[at].id, id);
        assert_int_equal(got->items[at].body.len + got->items[at].sender.len, m->sizes[id]);
        at++;
    }
    assert_int_equal(got->count, at);
}

static void compare_history(const game *g, int which, int who, size_t max)
{
    const model *m = &g->models[which];
    int64_t before = rand() % 2 ? 0 : m->first + rand() % (m->last - m->first + 3);
    int64_t to = before > 0 && before <= m->last ? before - 1 : m->last;
    int64_t from = to - (int64_t)max + 1 > m->first ? to - (int64_t)max + 1 : m->first;
    tkl_messages *got;
    int rc = tkl_chat_history(g->chats[which], name_of(who), before, max, &got);
    assert_code(rc, !m->exists        ? TKL_NOTFOUND
                    : !m->member[who] ? TKL_NOTOWNER
                    : from > to       ? TKL_EMPTY
                                      : TKL_OK);
    if (rc == TKL_OK)
        assert_int_equal(got->count, to - from + 1);
    for (size_t i = 0; got && i < got->count; i++) {
        assert_int_equal(got->items[i].id, from + (int64_t)i);
        assert_int_equal(got->items[i].body.len + got->items[i].sender.len,
                         m->sizes[from + (int64_t)i]);
    }
    tkl_messages_free(got);
}

static void compare_fetch(const game *g, int which, int who, size_t max)
{
    const model *m = &g->models[which];
    tkl_messages *got;
    int rc = tkl_chat_fetch(g->chats[which], name_of(who), max, 0, &got);
    int64_t first;
    int expected = !m->exists                          ? TKL_NOTFOUND
                   : !m->member[who]                   ? TKL_NOTOWNER
                   : model_unread(m, who, &first) == 0 ? TKL_EMPTY
                                                       : TKL_OK;
    assert_code(rc, expected);
    if (got)
        compare_messages(got, m, who, (int64_t)max);
    tkl_messages_free(got);
}

static void compare_inbox(const game *g, int who, size_t max)
{
    tkl_inbox_chats *got;
    size_t expected = 0, count;
    int64_t first;
    for (int i = 0; i < CHATS; i++)
        expected += g->models[i].exists && g->models[i].member[who] &&
                    model_unread(&g->models[i], who, &first) > 0;
    assert_code(tkl_inbox_fetch(g->inboxes[who], max, 0, &got), expected ? TKL_OK : TKL_EMPTY);
    count = got ? got->count : 0;
    assert_int_equal(count, expected);
    for (size_t i = 0; i < count; i++)
        compare_messages(got->items[i].messages, &g->models[got->items[i].id.data[1] - '0'], who,
                         (int64_t)max);
    tkl_inbox_chats_free(got);
}

static void compare_all(const game *g, int which)
{
    const model *m = &g->models[which];
    tkl_chat_info *info;
    int64_t first;
    size_t members = 0;
    assert_code(tkl_chat_show(g->chats[which], &info), m->exists ? TKL_OK : TKL_NOTFOUND);
    if (!info)
        return;
    for (int i = 0; i < PEOPLE; i++)
        members += m->member[i];
    assert_int_equal(info->member_count, members);
    assert_int_equal(info->last_id, m->last);
    assert_int_equal(info->kept, m->last - m->first + 1);
    assert_int_equal(info->bytes, bytes_of(m, m->first));
    for (size_t i = 0; i < members; i++) {
        int who = info->members[i].name.data[1] - '0';
        assert_true(m->member[who]);
        assert_int_equal(info->members[i].acked_id, m->position[who]);
        assert_int_equal(info->members[i].unread, model_unread(m, who, &first));
    }
    tkl_chat_info_free(info);
}

/* ---- Steps --------------------------------------------------------------- */

static void step_create(game *g, int which, int who)
{
    bool members[PEOPLE] = {false};
    tkl_bytes names[2] = {name_of(who), name_of((who + 1) % PEOPLE)};
    members[who] = members[(who + 1) % PEOPLE] = true;
    int rc = tkl_chat_create(g->chats[which], names, 2, NULL);
    assert_code(rc, model_create(&g->models[which], members));
}

static void step_send(game *g, int which, int who)
{
    static const char body[200];
    tkl_letter letters[6];
    size_t count = (size_t)(1 + rand() % 6), size = (size_t)(rand() % 200);
    int64_t first, before = g->models[which].last;
    if (before > MOST - 10)
        return;
    for (size_t i = 0; i < count; i++)
        letters[i] = (tkl_letter){.body = {body, size}};
    int rc = tkl_chat_send(g->chats[which], name_of(who), letters, count, &first);
    assert_code(rc, model_send(&g->models[which], who, (int64_t)count, (int64_t)size + 2));
    assert_int_equal(first, rc == TKL_OK ? before + 1 : 0);
}

static void step_ack(game *g, int which, int who)
{
    model *m = &g->models[which];
    int64_t id = 1 + rand() % (m->last - m->first + 5) + (m->first > 3 ? m->first - 3 : 0);
    int64_t left, first;
    int rc = tkl_chat_ack(g->chats[which], name_of(who), id, &left);
    assert_code(rc, model_ack(m, who, id));
    assert_int_equal(left, rc == TKL_OK ? model_unread(m, who, &first) : 0);
}

static void step_join(game *g, int which, int who)
{
    bool oldest = rand() % 2;
    int rc = tkl_chat_join(g->chats[which], name_of(who),
                           oldest ? TKL_CHAT_START_OLDEST : TKL_CHAT_START_END);
    assert_code(rc, model_join(&g->models[which], who, oldest));
}

static void step_leave(game *g, int which, int who)
{
    int rc = tkl_chat_leave(g->chats[which], name_of(who));
    assert_code(rc, model_leave(&g->models[which], who));
}

static void step_limit(game *g, int which)
{
    model *m = &g->models[which];
    bool refuses = rand() % 2;
    tkl_message_limits limits = {.max_messages = 1 + rand() % 30,
                                 .max_bytes = 1 + rand() % 3000,
                                 .history_messages = rand() % 3 ? 0 : 1 + rand() % 20,
                                 .when_full =
                                     refuses ? TKL_WHEN_FULL_REFUSE : TKL_WHEN_FULL_DROP_OLDEST};
    assert_code(tkl_chat_limit(g->chats[which], &limits), m->exists ? TKL_OK : TKL_NOTFOUND);
    m->max_messages = limits.max_messages;
    m->max_bytes = limits.max_bytes;
    m->refuses = refuses;
    m->history = limits.history_messages;
    if (m->exists)
        model_remove(m);
}

static void step(game *g)
{
    int which = rand() % CHATS, who = rand() % PEOPLE, what = rand() % 100;
    size_t max = (size_t)(1 + rand() % 40);
    if (what < 35)
        step_send(g, which, who);
    else if (what < 55)
        step_ack(g, which, who);
    else if (what < 65)
        compare_fetch(g, which, who, max);
    else if (what < 70)
        compare_inbox(g, who, max);
    else if (what < 75)
        compare_history(g, which, who, max);
    else if (what < 82)
        step_join(g, which, who);
    else if (what < 87)
        step_leave(g, which, who);
    else if (what < 89)
        step_limit(g, which);
    else if (what < 92)
        step_create(g, which, who);
    else
        compare_all(g, which);
}

static void random_operations_give_the_answers_of_a_naive_chat(void **state)
{
    fixture *f = *state;
    game *g = calloc(1, sizeof *g);
    unsigned seed = (unsigned)time(NULL);
    printf("seed %u\n", seed);
    srand(seed);
    for (int i = 0; i < CHATS; i++)
        g->chats[i] = open_chat(f->client, (const char *[]){"c0", "c1", "c2"}[i]);
    for (int i = 0; i < PEOPLE; i++)
        g->inboxes[i] = open_inbox(f->client, name_of(i).data);
    for (int i = 0; i < STEPS; i++)
        step(g);
    for (int i = 0; i < CHATS; i++)
        tkl_chat_close(g->chats[i]);
    for (int i = 0; i < PEOPLE; i++)
        tkl_inbox_close(g->inboxes[i]);
    free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(random_operations_give_the_answers_of_a_naive_chat),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
