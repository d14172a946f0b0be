/* SPDX-License-Identifier: MIT
 *
 * Experiments with limits, memory and the server itself.
 */
#include <stddef.h>

#include "lab.h"

#define STEPS (const cli_step[])

/* The bytes of all keys that match a pattern. */
#define BYTES_OF(pattern)                                             \
    "sum=0; for key in $(tackle scan --match '" pattern "'); do"      \
    " sum=$((sum + $(tackle call MEMORY USAGE \"$key\" SAMPLES 0)));" \
    " done; echo $sum"

/* A million short keys, in twenty steps. */
#define FILL                                                                                      \
    "for part in $(seq 0 19); do"                                                                 \
    " tackle call EVAL 'for i = 1, 50000 do redis.call(\"SET\", \"k\" .. ARGV[1] * 50000 + i, i)" \
    " end' 0 $part; done >/dev/null; tackle call DBSIZE"

#define STORE      "tackle --url embedded:$DIR"
#define PID_OF     "sed 's/.*\"pid\": \\([0-9]*\\).*/\\1/'"
#define KILL_STORE "kill -9 $(" STORE " server status --json | " PID_OF ")"

/* 200 jobs, one after the other, on a server of each durability; then the server is killed. Sed
 * acknowledges each job. */
#define ACKNOWLEDGE "sed -u 's/.*\"id\": *\"\\([^\"]*\\).*/{\"id\": \"\\1\", \"type\": \"ack\"}/'"
#define JOBS_DONE   "sed -n 's/.*\"done\": \\([0-9]*\\).*/\\1 jobs done/p'"
#define ALL_STORES                                                                            \
    "for word in none snapshot lazy everysec always; do store=embedded:$DIR/$word;"           \
    " seq 200 | tackle --url \"$store?durability=$word\" queue push jobs --lines >/dev/null;" \
    " begun=$(date +%s%N);"                                                                   \
    " tackle --url $store queue work jobs --stream --drain -- " ACKNOWLEDGE " 2>/dev/null;"   \
    " ms=$((($(date +%s%N) - begun) / 1000000));"                                             \
    " kill -9 $(tackle --url $store server status --json | " PID_OF ");"                      \
    " kept=$(tackle --url $store queue stats jobs --json 2>/dev/null | " JOBS_DONE ");"       \
    " echo \"$word: $ms ms, then ${kept:-nothing is left}\";"                                 \
    " tackle --url $store server stop >/dev/null; done"

const cli_experiment cli_lab_counting[] = {
    {
        .name = "limit-race",
        .title = "a limit by GET, compare, INCR",
        .counted = "requests beyond the limit",
        .naive =
            STEPS{
                {"One request is allowed. The first program looks: none so far.",
                 "tackle call GET hits --json | tee $DIR/first", 0},
                {"The second program looks: none so far.",
                 "tackle call GET hits --json | tee $DIR/second", 0},
                {"The first one counts, and goes on.", "tackle call INCR hits", 0},
                {"So does the second.", "tackle call INCR hits", 0},
                {0},
            },
        .naive_count = "echo $(($(tackle call GET hits) - 1))",
        .ours =
            STEPS{
                {"The first program checks: to look and to count are one step.",
                 "tackle limit check api ann --rate 1/1m | tee $DIR/got.1", 0},
                {"The second program is refused, and learns when to come back.",
                 "tackle limit check api ann --rate 1/1m", 1},
                {0},
            },
        .ours_count = "echo $(($(find $DIR -name 'got.*' -size +0 | wc -l) - 1))",
        .learn = "A limit that is read first and counted later is a limit for one program only.",
        .page = "limit.md",
    },
    {
        .name = "limit-window",
        .title = "a counter for each window, at the border of two",
        .counted = "requests beyond ten in any ten seconds",
        .naive =
            STEPS{
                {"Ten requests at the end of a window.", "tackle call INCRBY hits:1 10", 0},
                {"A moment later the next window begins.", "sleep 0.1", 0},
                {"Ten more: its counter is new.", "tackle call INCRBY hits:2 10", 0},
                {0},
            },
        .naive_count = "echo $(($(tackle call GET hits:1) + $(tackle call GET hits:2) - 10))",
        .ours =
            STEPS{
                {"Ten requests.",
                 "tackle limit check login ann --rate 10/10s --algorithm window --quantity 10 &&"
                 " echo 10 >>$DIR/passed",
                 0},
                {"A moment later.", "sleep 0.1", 0},
                {"Ten more are refused: the window moves along.",
                 "tackle limit check login ann --rate 10/10s --algorithm window --quantity 10", 1},
                {0},
            },
        .ours_count = "echo $(($(awk '{ sum += $1 } END { print sum }' $DIR/passed) - 10))",
        .learn =
            "A window that begins at the full minute lets twice the rate through at its border.\n"
            "A window that ends now does not; nor does a funnel, with less memory.",
        .page = "limit.md",
    },
    {
        .name = "users",
        .title = "20,000 users of a day: set, bitmap, HyperLogLog",
        .counted = "bytes for a day",
        .naive =
            STEPS{
                {"A set of names.",
                 "tackle call EVAL 'for i = 1, 20000 do redis.call(\"SADD\", KEYS[1], \"user\" .. "
                 "i) end"
                 " return redis.call(\"SCARD\", KEYS[1])' 1 users",
                 0},
                {"Its memory.", "tackle call MEMORY USAGE users SAMPLES 0", 0},
                {0},
            },
        .naive_count = "tackle call MEMORY USAGE users SAMPLES 0",
        .ours =
            STEPS{
                {"The same by number, a bit for each: exact.",
                 "seq 20000 | tackle online mark players --using bitmap --lines;"
                 " tackle online count players",
                 0},
                {"Its memory.", BYTES_OF("*online:{players}:bitmap*"), 0},
                {"As a HyperLogLog: within 2 %, for any names.",
                 "seq -f user%.0f 20000 | tackle online mark visitors --using hll --lines;"
                 " tackle online count visitors",
                 0},
                {"Its memory, which does not grow any more.", BYTES_OF("*online:{visitors}:hll*"),
                 0},
                {"All of them for your own numbers: tackle online compare.",
                 "tackle online compare --users 5000 --days 2", 0},
                {0},
            },
        .ours_count = BYTES_OF("*online:{players}:bitmap*"),
        .less = true,
        .learn =
            "A set costs 40 to 60 bytes for each user and day, a bitmap an eighth of a byte for\n"
            "each possible number, a HyperLogLog 12 to 14 KB. What you want to ask decides.",
        .page = "online.md",
    },
    {
        .name = "seen",
        .title = "20,000 addresses that were seen: a set or a Bloom filter",
        .counted = "bytes",
        .naive =
            STEPS{
                {"A set of addresses.",
                 "tackle call EVAL 'for i = 1, 20000 do redis.call(\"SADD\", KEYS[1],"
                 " \"https://example.org/page/\" .. i) end return redis.call(\"SCARD\", KEYS[1])' "
                 "1 seen",
                 0},
                {"Its memory.", "tackle call MEMORY USAGE seen SAMPLES 0", 0},
                {0},
            },
        .naive_count = "tackle call MEMORY USAGE seen SAMPLES 0",
        .ours =
            STEPS{
                {"A filter for as many.",
                 "seq -f https://example.org/page/%.0f 20000 |"
                 " tackle bloom add seen --lines --capacity 20000 >/dev/null",
                 0},
                {"It knows what it has seen.",
                 "tackle bloom exists seen https://example.org/page/7", 0},
                {"Of 10,000 others it takes some for seen: one in a hundred, as announced.",
                 "seq -f https://example.org/other/%.0f 10000 | tackle bloom exists seen --lines "
                 "--json |"
                 " grep -o true | wc -l",
                 0},
                {"Its memory.", BYTES_OF("*bloom:{seen}*"), 0},
                {0},
            },
        .ours_count = BYTES_OF("*bloom:{seen}*"),
        .less = true,
        .learn =
            "A filter answers \"certainly not\" or \"probably\", in ten bits an item. Ask the\n"
            "database only when it says \"probably\".",
        .page = "bloom.md",
    },
    {
        .name = "keys",
        .title = "KEYS and SCAN on a million keys, while others work",
        .counted = "milliseconds that another client waits at worst",
        .naive = STEPS{{"A million keys.", FILL, 0}, {0}},
        .naive_routine = {"KEYS: one command. Another client pings each millisecond meanwhile.",
                          CLI_LAB_KEYS, cli_lab_wait_for_keys},
        .ours = STEPS{{"The same keys.", "tackle call DBSIZE", 0}, {0}},
        .ours_routine = {"tackle scan: many short steps, each key once. The other client goes on.",
                         CLI_LAB_SCAN, cli_lab_wait_for_scan},
        .less = true,
        .timed = true,
        .learn = "The server does one thing at a time. Long work must be cut into short steps.",
        .page = "scan.md",
    },
    {
        .name = "durability",
        .title = "what kill -9 costs: five durabilities side by side",
        .counted = "orders lost",
        .naive =
            STEPS{
                {"A server that keeps nothing on the disk. An order.",
                 STORE "'?durability=none' call SET order 1", 0},
                {"The server is killed.", KILL_STORE, 0},
                {"It is started again, and the order is gone.", STORE " call GET order --json", 0},
                {0},
            },
        .naive_count = STORE " call GET order --json | grep -c null",
        .ours =
            STEPS{
                {"The same server with every write on the disk. An order.",
                 STORE "'?durability=always' call SET order 1", 0},
                {"The server is killed.", KILL_STORE, 0},
                {"It is started again, and has the order.", STORE " call GET order --json", 0},
                {"All five durabilities: 200 jobs one by one, the time, and what is left of them.",
                 ALL_STORES, 0},
                {0},
            },
        .ours_count = STORE " call GET order --json | grep -c null",
        .learn =
            "A reply says that a write is done, not that it is on the disk. Five words choose:\n"
            "none, snapshot, lazy, everysec, always.",
        .page = "server.md",
    },
    {
        .name = "stampede",
        .title = "a cached value that is missing, and five callers",
        .counted = "computations too many",
        .naive =
            STEPS{
                {"Five callers find nothing, and compute for half a second.",
                 "for i in 1 2 3 4 5; do (page=$(tackle call GET page); [ -n \"$page\" ] ||"
                 " { echo >>$DIR/naive; sleep 0.5; tackle call SETEX page 60 html; }) & done; wait",
                 0},
                {"How often it was computed.", "wc -l <$DIR/naive", 0},
                {0},
            },
        .naive_count = "echo $(($(wc -l <$DIR/naive) - 1))",
        .ours =
            STEPS{
                {"Five callers. One of them computes, the others wait for it.",
                 "for i in 1 2 3 4 5; do tackle cache run page -- sh -c"
                 " 'echo >>$DIR/ours; sleep 0.5; echo html' & done; wait",
                 0},
                {"How often it was computed.", "wc -l <$DIR/ours", 0},
                {0},
            },
        .ours_count = "echo $(($(wc -l <$DIR/ours) - 1))",
        .learn = "The more callers there are, the more of them find the value missing. One should\n"
                 "compute, with a lease in case it dies.",
        .page = "cache.md",
    },
    {0},
};
