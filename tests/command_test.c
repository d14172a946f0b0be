/* SPDX-License-Identifier: MIT
 *
 * The client's knowledge of commands, compared with a real server's.
 */
#include "core/command.h"

#include "core/error.h"
#include "core/resp.h"
#include "support/fixture.h"

#define MAX_WORDS 32

/* Words as on a command line, and the keys found among them. */
typedef struct line {
    char *text;
    const char *words[MAX_WORDS];
    int count;
    bool known;
    bool is_key[MAX_WORDS];
} line;

static void mark_key(void *context, int index)
{
    line *l = context;
    assert_in_range(index, 1, l->count - 1);
    l->is_key[index] = true;
}

static void line_find_keys(line *l)
{
    l->known = tkl__command_keys(l->count, l->words, NULL, mark_key, l);
}

/* "''" is an empty word. */
static line *line_parse(const char *text)
{
    line *l = calloc(1, sizeof(*l));
    assert_non_null(l);
    l->text = strdup(text);
    char *rest = l->text;
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        l->words[l->count++] = strcmp(word, "''") == 0 ? "" : word;
    line_find_keys(l);
    return l;
}

static void line_free(line *l)
{
    free(l->text);
    free(l);
}

static char *line_keys(const line *l)
{
    char *keys = strdup("");
    for (int i = 0; i < l->count; i++)
        if (l->is_key[i]) {
            char *longer = test_format("%s%s\n", keys, l->words[i]);
            free(keys);
            keys = longer;
        }
    return keys;
}

/* ---- Slots --------------------------------------------------------------- */

static void hash_tags_decide_the_slot(void **state)
{
    (void)state;
    assert_int_equal(tkl__slot_of(tkl_str("123456789")), 0x31c3);
    assert_int_equal(tkl__slot_of(tkl_str("")), 0);
    assert_int_equal(tkl__slot_of((tkl_bytes){NULL, 0}), 0);
    assert_int_equal(tkl__slot_of(tkl_str("{user1000}.following")),
                     tkl__slot_of(tkl_str("user1000")));
    assert_int_equal(tkl__slot_of(tkl_str("foo{{bar}}zap")), tkl__slot_of(tkl_str("{bar")));
    assert_int_equal(tkl__slot_of(tkl_str("foo{bar}{zap}")), tkl__slot_of(tkl_str("bar")));
}

static void slots_are_those_of_the_server(void **state)
{
    (void)state;
    const char *config[] = {"cluster-enabled yes", NULL};
    server *s = server_start(&(server_options){.config = config, .tcp = true});
    static const char *keys[] = {"a",  "foo", "foo{}{bar}", "{}",
                                 "}{", "{a",  "a}b{c}d",    "{\xff\xfe}"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_int_equal(tkl__slot_of(tkl_str(keys[i])),
                         server_ask_int(s, "CLUSTER KEYSLOT %s", keys[i]));
    for (size_t len = 0; len < 200; len++) {
        char key[200];
        for (size_t i = 0; i < len; i++)
            key[i] = (char)(rand() % 256);
        assert_int_equal(tkl__slot_of((tkl_bytes){key, len}),
                         server_ask_int(s, "CLUSTER KEYSLOT %b", key, len));
    }
    server_end(s);
}

/* ---- Positions of keys --------------------------------------------------- */

/* Whether the server says that a command has movable keys: [name, arity, flags, first, last,
 * ...]. */
static bool movable(const tkl_reply *info)
{
    const tkl_reply *flags = tkl_reply_at(info, 2);
    for (size_t i = 0; i < tkl_reply_count(flags); i++)
        if (strcmp(tkl_reply_str(tkl_reply_at(flags, i)), "movablekeys") == 0)
            return true;
    return false;
}

/* "name word word ..." with as many words as the command takes, and some more if it may. */
static line *sample_of(const tkl_reply *info)
{
    int arity = (int)tkl_reply_int(tkl_reply_at(info, 1));
    char *text = strdup(tkl_reply_str(tkl_reply_at(info, 0)));
    int words = 1;
    for (char *bar = strchr(text, '|'); bar != NULL; bar = NULL, words = 2)
        *bar = ' ';
    for (int wanted = arity > 0 ? arity : 4 - arity; words < wanted; words++) {
        char *longer = test_format("%s word%d", text, words);
        free(text);
        text = longer;
    }
    line *l = line_parse(text);
    free(text);
    return l;
}

static bool server_says_key(const tkl_reply *info, int index, int argc)
{
    int64_t first = tkl_reply_int(tkl_reply_at(info, 3));
    int64_t last = tkl_reply_int(tkl_reply_at(info, 4));
    int64_t step = tkl_reply_int(tkl_reply_at(info, 5));
    last = last < 0 ? argc + last : last;
    return first > 0 && index >= first && index <= last && (index - first) % step == 0;
}

static void check_command(const tkl_reply *info, bool must_know)
{
    line *l = sample_of(info);
    bool carried = tkl__command_check(l->count, l->words, NULL) == TKL_OK;
    bool fixed = !movable(info) && tkl_reply_count(tkl_reply_at(info, 9)) == 0;
    if (!l->known && must_know)
        fail_msg("%s is not in the table", l->text);
    for (int i = 1; l->known && carried && fixed && i < l->count; i++)
        if (l->is_key[i] != server_says_key(info, i, l->count))
            fail_msg("%s: position %d, key for the server: %d", l->words[0], i, !l->is_key[i]);
    line_free(l);

    const tkl_reply *subcommands = tkl_reply_at(info, 9);
    for (size_t i = 0; i < tkl_reply_count(subcommands); i++)
        check_command(tkl_reply_at(subcommands, i), must_know);
}

static void table_agrees_with_every_command_of_the_server(void **state)
{
    fixture *f = *state;
    /* Later servers may have commands that ask for COMMAND GETKEYS. Valkey says 7.2, too. */
    bool must_know = server_info(f->server, "redis_version") <= 7;
    tkl_reply *commands;
    assert_ok(tkl_callz(f->client, &commands, "COMMAND", NULL));
    assert_in_range(tkl_reply_count(commands), 200, 1000);
    for (size_t i = 0; i < tkl_reply_count(commands); i++)
        check_command(tkl_reply_at(commands, i), must_know);
    tkl_reply_free(commands);
}

static void movable_keys_are_those_of_the_server(void **state)
{
    fixture *f = *state;
    static const char *lines[] = {
        "EVAL script 2 a b c",
        "evalsha 0000 1 a b",
        "EVAL_RO s 1 a",
        "EVALSHA_RO s 1 a x",
        "FCALL f 2 a b c",
        "FCALL_RO f 1 a",
        "LMPOP 2 a b LEFT",
        "ZMPOP 1 a MIN COUNT 2",
        "BLMPOP 1.5 2 a b LEFT",
        "BZMPOP 0 1 a MAX",
        "SINTERCARD 2 a b LIMIT 1",
        "ZINTER 2 a b",
        "ZUNION 1 a",
        "ZDIFF 2 a b WITHSCORES",
        "ZINTERCARD 1 a",
        "ZUNIONSTORE d 2 a b",
        "ZINTERSTORE d 1 a WEIGHTS 2",
        "ZDIFFSTORE d 2 a b",
        "XREAD STREAMS a b 0 0",
        "XREAD COUNT 2 BLOCK 5 STREAMS a 0",
        "XREADGROUP GROUP g c STREAMS a >",
        "XREADGROUP GROUP streams c COUNT 1 NOACK STREAMS a b > >",
        "SORT a",
        "SORT a STORE d",
        "SORT a BY nosort GET # LIMIT 0 5 ALPHA STORE d",
        "SORT a STORE d STORE e",
        "GEORADIUS a 1 2 3 km",
        "GEORADIUS a 1 2 3 km STORE d",
        "GEORADIUS a 1 2 3 km COUNT 1 STOREDIST d",
        "GEORADIUSBYMEMBER a m 3 km STORE d",
        "MIGRATE h 6379 a 0 100",
        "MIGRATE h 6379 '' 0 100 KEYS a b c",
        "MIGRATE h 6379 '' 0 100 COPY REPLACE KEYS a",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        line *l = line_parse(lines[i]);
        char *command = test_format("COMMAND GETKEYS %s", lines[i]);
        for (char *empty; (empty = strstr(command, "''")) != NULL;)
            memcpy(empty, "%s", 2);
        char *expected = server_ask(f->server, command, "");
        char *found = line_keys(l);
        if (strcmp(found, expected) != 0)
            fail_msg("%s: the server finds %s, we %s", lines[i], expected, found);
        free(found);
        free(expected);
        free(command);
        line_free(l);
    }
}

static void keys_of(const char *text, const char *expected)
{
    line *l = line_parse(text);
    char *keys = line_keys(l);
    assert_true(l->known);
    if (strcmp(keys, expected) != 0)
        fail_msg("%s: expected keys %s, found %s", text, expected, keys);
    free(keys);
    line_free(l);
}

static void commands_newer_than_the_server_are_known(void **state)
{
    (void)state;
    keys_of("HEXPIRE h 10 FIELDS 1 f", "h\n");
    keys_of("HGETEX h FIELDS 1 f", "h\n");
    keys_of("MSETEX 2 a 1 b 2 EX 10", "a\nb\n");
    keys_of("DELIFEQ k v", "k\n");
    keys_of("XACKDEL s g IDS 1 1-0", "s\n");
}

static void malformed_counts_find_no_keys(void **state)
{
    (void)state;
    keys_of("EVAL", "");
    keys_of("EVAL script", "");
    keys_of("EVAL script x a b", "");
    keys_of("EVAL script -1 a b", "");
    keys_of("EVAL script 99999999999999999999 a b", "");
    keys_of("EVAL script 3 a b", "a\nb\n");
    keys_of("XREAD STREAMS", "");
    keys_of("XREAD COUNT", "");
    keys_of("XREADGROUP GROUP g", "");
    keys_of("SORT a STORE", "a\n");
    keys_of("MIGRATE h 1 '' 0 1 KEYS", "");
    keys_of("OBJECT HELP", "");
    keys_of("GET", "");
}

/* ---- Refusals ------------------------------------------------------------ */

static void refused(const char *text, const char *why)
{
    line *l = line_parse(text);
    if (tkl__command_check(l->count, l->words, NULL) != TKL_EINVAL)
        fail_msg("%s is not refused", text);
    assert_contains(tkl_errmsg(), why);
    line_free(l);
}

static void allowed(const char *text)
{
    line *l = line_parse(text);
    assert_ok(tkl__command_check(l->count, l->words, NULL));
    line_free(l);
}

static void commands_that_need_their_own_connection_are_refused(void **state)
{
    (void)state;
    refused("SUBSCRIBE c", "SUBSCRIBE cannot be called: it turns a connection into a stream");
    refused("psubscribe c", "PSUBSCRIBE");
    refused("SSubscribe c", "stream");
    refused("UNSUBSCRIBE", "stream");
    refused("MONITOR", "stream");
    refused("MULTI", "use a script");
    refused("EXEC", "use a script");
    refused("DISCARD", "use a script");
    refused("WATCH k", "use a script");
    refused("UNWATCH", "use a script");
    refused("SELECT 1", "in the URL");
    refused("AUTH x", "in the URL");
    refused("HELLO 3", "in the URL");
    refused("RESET", "in the URL");
    refused("QUIT", "in the URL");
    refused("client reply OFF", "CLIENT REPLY cannot be called");
    refused("CLIENT TRACKING ON", "in the URL");
    refused("READONLY", "in the URL");
    refused("READWRITE", "in the URL");
    refused("ASKING", "in the URL");
    refused("SYNC", "between servers");
    refused("PSYNC ? -1", "between servers");
    assert_code(tkl__command_check(0, NULL, NULL), TKL_EINVAL);
}

static void all_else_is_allowed(void **state)
{
    (void)state;
    allowed("GET k");
    allowed("CLIENT LIST");
    allowed("CLIENT");
    allowed("client|reply off");
    allowed("SUBSCRIBER");
    allowed("a-name-that-is-much-longer-than-any-command x");
    allowed("''");
    assert_ok(tkl__command_check(1, (const char *const[]){"SELECTED"}, (size_t[]){8}));
    assert_code(tkl__command_check(1, (const char *const[]){"SELECTED"}, (size_t[]){6}),
                TKL_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hash_tags_decide_the_slot),
        TEST(slots_are_those_of_the_server),
        TEST(table_agrees_with_every_command_of_the_server),
        TEST(movable_keys_are_those_of_the_server),
        TEST(commands_newer_than_the_server_are_known),
        TEST(malformed_counts_find_no_keys),
        TEST(commands_that_need_their_own_connection_are_refused),
        TEST(all_else_is_allowed),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
