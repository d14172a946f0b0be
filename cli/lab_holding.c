/* SPDX-License-Identifier: MIT
 *
 * Experiments with locks and semaphores.
 */
#include <stddef.h>

#include "lab.h"

#define STEPS (const cli_step[])

/* Writes a balance unless a higher fence has written before. */
#define FENCED                                                                            \
    "if tonumber(redis.call(\"HGET\", KEYS[1], \"fence\") or 0) > tonumber(ARGV[1]) then" \
    " return \"refused\" end"                                                             \
    " redis.call(\"HSET\", KEYS[1], \"fence\", ARGV[1], \"balance\", ARGV[2])"            \
    " return \"written\""

const cli_experiment cli_lab_holding[] = {
    {
        .name = "lock-race",
        .title = "a lock by GET, then SET",
        .counted = "programs too many with the lock",
        .naive =
            STEPS{
                {"Ann looks whether the lock is free.",
                 "tackle call GET lock --json | tee $DIR/ann", 0},
                {"Bob looks, too, before she takes it.",
                 "tackle call GET lock --json | tee $DIR/bob", 0},
                {"Ann has seen nobody, and takes it.", "tackle call SET lock ann", 0},
                {"Bob has seen nobody, and takes it.", "tackle call SET lock bob", 0},
                {0},
            },
        .naive_count = "echo $(($(cat $DIR/ann $DIR/bob | grep -c null) - 1))",
        .ours =
            STEPS{
                {"Ann takes the lock: to look and to take are one step.",
                 "tackle lock acquire door --label ann | tee $DIR/got.ann", 0},
                {"Bob comes too late.", "tackle lock acquire door --label bob >$DIR/got.bob", 1},
                {0},
            },
        .ours_count = "echo $(($(find $DIR -name 'got.*' -size +0 | wc -l) - 1))",
        .learn = "Between a look and an act there is always a moment. Only the server can do both\n"
                 "in one step: a command such as SET NX, or a function.",
        .page = "lock.md",
    },
    {
        .name = "lock-crash",
        .title = "a lock without an expiry, and a crash",
        .counted = "locks that nobody can take any more",
        .naive =
            STEPS{
                {"Ann takes the lock, and is killed at her work.",
                 "sh -c 'tackle call SETNX lock ann; kill -9 $$'", 137},
                {"Bob asks for the lock: 0, he does not get it.", "tackle call SETNX lock bob", 0},
                {"How long will that last? -1 means for ever.", "tackle call PTTL lock", 0},
                {0},
            },
        .naive_count = "tackle call PTTL lock | grep -cx -- -1",
        .ours =
            STEPS{
                {"Ann takes the lock for a second, and is killed.",
                 "sh -c 'tackle lock acquire door --lease 1s --label ann; kill -9 $$'", 137},
                {"Bob waits. He has it when the lease ends.",
                 "tackle lock acquire door --wait 10s --label bob | tee $DIR/bob", 0},
                {0},
            },
        .ours_count = "[ -s $DIR/bob ] && echo 0 || echo 1",
        .learn = "What is held must end by itself. A live holder renews its lease, so a lease may\n"
                 "be short: it only says how long a crash blocks the others.",
        .page = "lock.md",
    },
    {
        .name = "lock-release",
        .title = "a release that frees the lock of another",
        .counted = "programs at work beside the holder",
        .naive =
            STEPS{
                {"Ann takes the lock for 0.2 s.", "tackle call SET lock ann NX PX 200", 0},
                {"Her work takes longer than that.", "sleep 0.3", 0},
                {"Bob takes the lock: it is free.", "tackle call SET lock bob NX PX 60000", 0},
                {"Ann is done and deletes the lock. It is Bob's.", "tackle call DEL lock", 0},
                {"Eve takes the lock while Bob is at work.",
                 "tackle call SET lock eve NX PX 60000 --json | tee $DIR/eve", 0},
                {0},
            },
        .naive_count = "grep -c OK $DIR/eve",
        .ours =
            STEPS{
                {"Ann takes the lock for 0.2 s, and gets a token.",
                 "tackle lock acquire door --lease 200ms --json |"
                 " sed 's/.*\"token\": \"\\([^\"]*\\).*/\\1/' | tee $DIR/token",
                 0},
                {"Her work takes longer than that.", "sleep 0.3", 0},
                {"Bob takes the lock: it is free.", "tackle lock acquire door --label bob", 0},
                {"Ann releases with her token, and learns that she lost it.",
                 "tackle lock release door @$DIR/token", 1},
                {"Eve does not get the lock.", "tackle lock acquire door --label eve >$DIR/eve2",
                 1},
                {0},
            },
        .ours_count = "[ -s $DIR/eve2 ] && echo 1 || echo 0",
        .learn =
            "Every acquisition needs a token of its own, and a release must compare and delete\n"
            "in one step. And the one who was late must learn of it.",
        .page = "lock.md",
    },
    {
        .name = "lock-fence",
        .title = "a holder that sleeps, wakes up and writes",
        .counted = "late writes that were accepted",
        .naive =
            STEPS{
                {"The balance is 10. Ann takes the lock and reads it.",
                 "tackle call SET balance 10; tackle call SET lock ann NX PX 200;"
                 " tackle call GET balance | tee $DIR/ann",
                 0},
                {"Her machine sleeps. The lock expires.", "sleep 0.3", 0},
                {"Bob takes the lock, and adds 100.",
                 "tackle call SET lock bob NX PX 60000; tackle call SET balance 110", 0},
                {"Ann wakes up, and writes what she had in mind: 10 + 1.",
                 "tackle call SET balance $(($(cat $DIR/ann) + 1))", 0},
                {"The hundred is gone.", "tackle call GET balance", 0},
                {0},
            },
        .naive_count = "tackle call GET balance | grep -cx 11",
        .ours =
            STEPS{
                {"The account refuses a lower fence than it has seen.",
                 "echo '" FENCED "' | tee $DIR/write.lua", 0},
                {"Ann takes the lock. Her fence comes with it.",
                 "tackle lock acquire account --lease 200ms --json |"
                 " sed 's/.*\"fence\": \\([0-9]*\\).*/\\1/' | tee $DIR/ann",
                 0},
                {"Her machine sleeps. The lease ends.", "sleep 0.3", 0},
                {"Bob takes the lock, and writes 110 with his fence.",
                 "fence=$(tackle lock acquire account --json |"
                 " sed 's/.*\"fence\": \\([0-9]*\\).*/\\1/');"
                 " tackle script run $DIR/write.lua account -- $fence 110",
                 0},
                {"Ann wakes up, and writes with hers.",
                 "tackle script run $DIR/write.lua account -- $(cat $DIR/ann) 11 | tee $DIR/late",
                 0},
                {0},
            },
        .ours_count = "grep -c written $DIR/late",
        .learn =
            "No lock can stop a program that sleeps between its last check and its write. The\n"
            "fence can: a number that grows with each holder, checked by what is protected.",
        .page = "lock.md",
    },
    {
        .name = "lock-polling",
        .title = "waiting by asking again and again",
        .counted = "commands for three waiters of a lock that is held for two seconds",
        .naive =
            STEPS{
                {"Ann holds the lock for two seconds.",
                 "tackle call CONFIG RESETSTAT; tackle call SET lock ann PX 2000", 0},
                {"Three waiters ask, sleep 10 ms, and ask again.",
                 "for i in 1 2 3; do"
                 " (until tackle call SET lock $i NX PX 1 --json | grep -q OK; do sleep 0.01; "
                 "done) &"
                 " done; wait",
                 0},
                {0},
            },
        .naive_count = "tackle call INFO commandstats | tr -d '\\r' |"
                       " sed -n 's/^cmdstat_set:calls=\\([0-9]*\\).*/\\1/p'",
        .ours =
            STEPS{
                {"Ann holds the lock for two seconds.",
                 "tackle lock acquire door --lease 2s; tackle call CONFIG RESETSTAT", 0},
                {"Three waiters stand in line.",
                 "for i in 1 2 3; do tackle lock run door -- true & done; wait", 0},
                {0},
            },
        .ours_count = "tackle call INFO commandstats | tr -d '\\r' |"
                      " sed -n 's/^cmdstat_fcall:calls=\\([0-9]*\\).*/\\1/p'",
        .less = true,
        .learn = "Who polls trades load for delay, and the luckiest wins. A line costs a few\n"
                 "commands for each waiter, however long the wait, and is served in order.",
        .page = "lock.md",
    },
    {
        .name = "optimistic",
        .title = "WATCH, MULTI, EXEC, with more and more writers",
        .counted = "attempts for nothing",
        .naive = STEPS{{"A number.", "tackle call SET n 0", 0}, {0}},
        .naive_routine = {"1, 2, 4 and 8 writers add one, again and again, each on its own "
                          "connection.",
                          CLI_LAB_WATCH, cli_lab_write_watching},
        .ours = STEPS{{"A number.", "tackle call SET n 0", 0}, {0}},
        .ours_routine = {"As many writers: each in its turn, then each by a script that adds.",
                         CLI_LAB_TURNS, cli_lab_write_in_turn},
        .learn =
            "Optimism pays when writers rarely meet. When n of them meet, one succeeds and the\n"
            "others have worked for nothing: n changes take n * (n + 1) / 2 attempts. A lock\n"
            "takes more round trips for each change, wastes none, and serves all in order: it\n"
            "is for long work. For short work a script on the server is the best of the three.",
        .page = "script.md",
    },
    {
        .name = "sem-counter",
        .title = "a semaphore that is a counter, and holders that die",
        .counted = "permits that are lost for ever",
        .naive =
            STEPS{
                {"Two programs take the two permits, and are killed.",
                 "for i in 1 2; do sh -c 'tackle call INCR seats; kill -9 $$'; done; true", 0},
                {"A third one finds no seat. Nobody is there.", "tackle call INCR seats", 0},
                {"It counts down again, and will never get one.", "tackle call DECR seats", 0},
                {0},
            },
        .naive_count = "tackle call GET seats",
        .ours =
            STEPS{
                {"Two programs take the two permits, and are killed.",
                 "for i in 1 2; do"
                 " sh -c 'tackle sem acquire seats --limit 2 --lease 1s; kill -9 $$'; done; true",
                 0},
                {"A third one waits until a lease ends.",
                 "tackle sem acquire seats --limit 2 --wait 10s | tee $DIR/got.3", 0},
                {"So does a fourth.",
                 "tackle sem acquire seats --limit 2 --wait 10s | tee $DIR/got.4", 0},
                {0},
            },
        .ours_count = "echo $((2 - $(find $DIR -name 'got.*' -size +0 | wc -l)))",
        .learn = "A counter does not know whom it counts. Each permit needs an owner and an end.",
        .page = "semaphore.md",
    },
    {
        .name = "sem-race",
        .title = "a fair semaphore with a counter, and a program that is overtaken",
        .counted = "holders too many",
        .naive =
            STEPS{
                {"One permit. A counter gives numbers: Ann has 1, Bob has 2.",
                 "tackle call INCR number; tackle call INCR number", 0},
                {"Ann pauses. Bob enters himself: rank 0, he has the permit.",
                 "tackle call ZADD seats 2 bob; tackle call ZRANK seats bob | tee $DIR/bob", 0},
                {"Ann goes on. Her number is lower: rank 0, she has it, too.",
                 "tackle call ZADD seats 1 ann; tackle call ZRANK seats ann | tee $DIR/ann", 0},
                {0},
            },
        .naive_count = "echo $(($(cat $DIR/ann $DIR/bob | grep -cx 0) - 1))",
        .ours =
            STEPS{
                {"Ann pauses before she asks: she has no number yet. Bob takes the permit.",
                 "tackle sem acquire seats --limit 1 | tee $DIR/got.bob", 0},
                {"Ann goes on, and is told that it is taken.",
                 "tackle sem acquire seats --limit 1 >$DIR/got.ann", 1},
                {0},
            },
        .ours_count = "echo $(($(find $DIR -name 'got.*' -size +0 | wc -l) - 1))",
        .learn =
            "A number that is taken in one step and used in another may be too late. Place and\n"
            "permit are given in one step.",
        .page = "semaphore.md",
    },
    {
        .name = "sem-clock",
        .title = "a semaphore of times, and clocks that are 10 ms apart",
        .counted = "holders too many",
        .naive =
            STEPS{
                {"One permit. Ann comes at 1000 ms by her clock: rank 0, she has it.",
                 "tackle call ZADD seats 1000 ann; tackle call ZRANK seats ann | tee $DIR/ann", 0},
                {"Bob comes 5 ms later. His clock is 10 ms behind: 995. Rank 0, he has it.",
                 "tackle call ZADD seats 995 bob; tackle call ZRANK seats bob | tee $DIR/bob", 0},
                {0},
            },
        .naive_count = "echo $(($(cat $DIR/ann $DIR/bob | grep -cx 0) - 1))",
        .ours =
            STEPS{
                {"Ann takes the permit. The server's clock counts.",
                 "tackle sem acquire seats --limit 1 | tee $DIR/got.ann", 0},
                {"Bob comes later, whatever his clock says.",
                 "tackle sem acquire seats --limit 1 >$DIR/got.bob", 1},
                {0},
            },
        .ours_count = "echo $(($(find $DIR -name 'got.*' -size +0 | wc -l) - 1))",
        .learn =
            "Clocks of clients differ. Where an order matters, one clock decides: the server's.",
        .page = "semaphore.md",
    },
    {0},
};
