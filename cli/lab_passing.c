/* SPDX-License-Identifier: MIT
 *
 * Experiments with jobs and messages.
 */
#include <stddef.h>

#include "lab.h"

#define STEPS (const cli_step[])

const cli_experiment cli_lab_passing[] = {
    {
        .name = "queue-kill",
        .title = "a queue that is a list, and a worker that is killed",
        .counted = "jobs lost",
        .naive =
            STEPS{
                {"Three jobs.", "tackle call RPUSH jobs a b c", 0},
                {"A worker takes the first, and is killed in the middle of it.",
                 "sh -c 'tackle call LPOP jobs; kill -9 $$'", 137},
                {"Another worker does all that is left.",
                 "while job=$(tackle call LPOP jobs) && [ -n \"$job\" ]; do echo $job; done |"
                 " tee $DIR/done",
                 0},
                {0},
            },
        .naive_count = "echo $((3 - $(wc -l <$DIR/done)))",
        .ours =
            STEPS{
                {"Three jobs.", "tackle queue push jobs a b c", 0},
                {"A worker claims the first for a second, and is killed.",
                 "sh -c 'tackle queue claim jobs --lease 1s; kill -9 $$'", 137},
                {"The lease ends.", "sleep 1.2", 0},
                {"Another worker does all that is left.",
                 "tackle queue work jobs --drain -- sh -c 'echo \"$(cat)\"' | tee $DIR/worked", 0},
                {0},
            },
        .ours_count = "echo $((3 - $(wc -l <$DIR/worked)))",
        .learn =
            "What is popped is gone. A claim keeps the job until it is acknowledged. So a job\n"
            "runs at least once, and may run twice: make its effect the same.",
        .page = "queue.md",
    },
    {
        .name = "delayed-twice",
        .title = "delayed jobs in a sorted set, and two pollers",
        .counted = "runs too many",
        .naive =
            STEPS{
                {"A mail that is due in 0.1 s, and a poller that looks once a second.",
                 "due=$(($(date +%s%N) / 1000000 + 100)); tackle call ZADD soon $due mail;"
                 " until now=$(($(date +%s%N) / 1000000));"
                 " tackle call ZRANGEBYSCORE soon 0 $now | grep -q mail; do sleep 1; done;"
                 " echo \"$((now - due)) ms late\"",
                 0},
                {"A mail that is due.", "tackle call ZADD later 1000 mail", 0},
                {"The first poller sees it.",
                 "tackle call ZRANGEBYSCORE later 0 2000 | tee $DIR/first", 0},
                {"The second poller sees it, too.",
                 "tackle call ZRANGEBYSCORE later 0 2000 | tee $DIR/second", 0},
                {"The first removes it, and sends the mail.", "tackle call ZREM later mail", 0},
                {"The second removes nothing, does not look, and sends the mail.",
                 "tackle call ZREM later mail", 0},
                {0},
            },
        .naive_count = "echo $(($(cat $DIR/first $DIR/second | grep -c mail) - 1))",
        .ours =
            STEPS{
                {"A mail that is due in 0.1 s, and a worker that waits: nobody polls.",
                 "due=$(($(date +%s%N) / 1000000 + 100));"
                 " tackle queue push mails mail --delay 100ms >/dev/null;"
                 " tackle queue claim mails --wait 10s | tee $DIR/got.1;"
                 " echo \"$(($(date +%s%N) / 1000000 - due)) ms late\"",
                 0},
                {"The second worker finds nothing.", "tackle queue claim mails >$DIR/got.2", 1},
                {0},
            },
        .ours_count = "echo $(($(find $DIR -name 'got.*' -size +0 | wc -l) - 1))",
        .learn = "Finding a job and taking it must be one step. And a waiter that knows when the\n"
                 "next job is due needs no polling.",
        .page = "queue.md",
    },
    {
        .name = "delayed-lost",
        .title = "a poller that dies between ZREM and RPUSH",
        .counted = "jobs lost",
        .naive =
            STEPS{
                {"A mail that is due.", "tackle call ZADD later 1000 mail", 0},
                {"The poller takes it out, and is killed before it pushes it.",
                 "sh -c 'tackle call ZREM later mail; kill -9 $$'", 137},
                {"It is not here, and not there.",
                 "tackle call ZCARD later; tackle call LLEN ready", 0},
                {0},
            },
        .naive_count = "echo $((1 - $(tackle call ZCARD later) - $(tackle call LLEN ready)))",
        .ours =
            STEPS{
                {"A mail that is due in 0.1 s.", "tackle queue push mails mail --delay 100ms", 0},
                {"A worker claims it for a second, and is killed.",
                 "sh -c 'tackle queue claim mails --wait 10s --lease 1s; kill -9 $$'", 137},
                {"Another one gets it when the lease ends.",
                 "tackle queue claim mails --wait 10s | tee $DIR/mail", 0},
                {0},
            },
        .ours_count = "[ -s $DIR/mail ] && echo 0 || echo 1",
        .learn =
            "A move from one place to another is one step, or there is a moment in which it is\n"
            "nowhere.",
        .page = "queue.md",
    },
    {
        .name = "publish",
        .title = "publish, and nobody is there",
        .counted = "messages missed",
        .naive =
            STEPS{
                {"Ann publishes. The reply says how many heard it.",
                 "tackle call PUBLISH news hello | tee $DIR/heard", 0},
                {"Bob comes back a moment later. There is nothing that he could read.",
                 "tackle call EXISTS news", 0},
                {0},
            },
        .naive_count = "echo $((1 - $(cat $DIR/heard)))",
        .ours =
            STEPS{
                {"Ann publishes to a channel with a history.", "tackle channel publish news hello",
                 0},
                {"Bob comes back, and reads what he missed.",
                 "tackle channel follow news --all --wait 0 | tee $DIR/followed", 0},
                {"For a single reader there is the mailbox, which keeps it until he has it.",
                 "tackle mail send bob --from ann hello; tackle mail fetch bob", 0},
                {0},
            },
        .ours_count = "echo $((1 - $(grep -c hello $DIR/followed)))",
        .learn =
            "PUBLISH is a call into the room. What must not be missed is kept, and has a number\n"
            "by which a reader knows where it was.",
        .page = "channel.md",
    },
    {
        .name = "mailbox",
        .title = "a mailbox that is a list: LRANGE, then DEL",
        .counted = "messages deleted unread",
        .naive =
            STEPS{
                {"A message for Ann.", "tackle call RPUSH box 'lunch?'", 0},
                {"Ann reads it.", "tackle call LRANGE box 0 -1 | tee $DIR/read", 0},
                {"Another one comes.", "tackle call RPUSH box 'at noon!'", 0},
                {"Ann deletes what she has read, and more.", "tackle call DEL box", 0},
                {"She reads on.", "tackle call LRANGE box 0 -1 | tee -a $DIR/read", 0},
                {0},
            },
        .naive_count = "echo $((2 - $(grep -c . $DIR/read)))",
        .ours =
            STEPS{
                {"A message for Ann.", "tackle mail send ann --from bob 'lunch?'", 0},
                {"Ann reads it: number 1.", "tackle mail fetch ann --raw | tee $DIR/fetched", 0},
                {"Another one comes: number 2.", "tackle mail send ann --from bob 'at noon!'", 0},
                {"Ann acknowledges up to 1. One is left.", "tackle mail ack ann 1", 0},
                {"She reads on.", "tackle mail fetch ann --raw | tee -a $DIR/fetched", 0},
                {0},
            },
        .ours_count = "echo $((2 - $(grep -c . $DIR/fetched)))",
        .learn = "Say what you have read, not that all of it may go.",
        .page = "mail.md",
    },
    {
        .name = "ids",
        .title = "numbers from INCR, and a sender that dies",
        .counted = "gaps at which a reader waits",
        .naive =
            STEPS{
                {"Ann takes a number, and is killed before she sends.",
                 "sh -c 'tackle call INCR last; kill -9 $$'", 137},
                {"Bob sends with the next number.",
                 "tackle call ZADD chat $(tackle call INCR last) hello", 0},
                {"A reader that has seen 0 waits for 1, and sees 2.",
                 "tackle call ZRANGE chat 0 -1 WITHSCORES", 0},
                {0},
            },
        .naive_count = "echo $(($(tackle call GET last) - $(tackle call ZCARD chat)))",
        .ours =
            STEPS{
                {"A chat of Ann, Bob and Eve.", "tackle chat create team ann bob eve", 0},
                {"Ann sends, and is killed. Her message has its number, or is not there.",
                 "sh -c 'tackle chat send team ann hello; kill -9 $$'", 137},
                {"Bob sends.", "tackle chat send team bob hello | tee $DIR/last", 0},
                {"The numbers have no gap.", "tackle chat fetch eve", 0},
                {0},
            },
        .ours_count = "echo $(($(cat $DIR/last) - 2))",
        .learn = "Take the number where the message is stored, in the same step. Then there is no\n"
                 "number without a message, and no lock is needed.",
        .page = "chat.md",
    },
    {
        .name = "completion",
        .title = "completion by helper members, and two users at once",
        .counted = "answers that are no names",
        .naive =
            STEPS{
                {"Two names.", "tackle call ZADD names 0 anna 0 anton", 0},
                {"Ann puts her bounds around 'an'.", "tackle call ZADD names 0 'am{' 0 'an{'", 0},
                {"Bob puts his around 'a', and reads what lies between them.",
                 "tackle call ZADD names 0 '`{' 0 'a{'; tackle call ZRANGE names"
                 " $(($(tackle call ZRANK names '`{') + 1)) $(($(tackle call ZRANK names 'a{') - "
                 "1)) |"
                 " tee $DIR/seen",
                 0},
                {"He takes his away. Ann was killed: hers stay.",
                 "tackle call ZREM names '`{' 'a{'; tackle call ZRANGE names 0 -1", 0},
                {0},
            },
        .naive_count = "grep -c '{' $DIR/seen",
        .ours =
            STEPS{
                {"Two names.", "tackle book add names anna anton", 0},
                {"Ann and Bob read. The bounds are in their commands.",
                 "tackle book complete names an & tackle book complete names ann; wait", 0},
                {"All that is stored are names.", "tackle book complete names a | tee $DIR/names",
                 0},
                {0},
            },
        .ours_count = "grep -c '{' $DIR/names",
        .learn = "Reading should write nothing. ZRANGE BYLEX takes bounds that are not members.",
        .page = "book.md",
    },
    {0},
};
