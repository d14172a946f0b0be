#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle queue work`: a command for each job.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/hold.bash"
start_server
trap 'kill -KILL $(jobs -p) 2>/dev/null; clean_up' EXIT # a worker would wait for its server for ever

stat_of() { tackle queue stats "$1" --json | jq -c "$2"; }
stats_are() { [ "$(stat_of "$1" "$2")" = "$3" ]; }
push() { tackle queue push "$@" >/dev/null || fail "push $*"; }
error_of() { tackle queue show "$1" "$2" --json | jq -r .error; }

# A command that has a child of its own, and writes down both numbers.
family='cat >/dev/null; echo $$ >"$0.parent"; sh -c "echo \$\$ >\"\$0\"; exec sleep 600" "$0.child"; exit 1'
# stop_kindly PID FILE [SIGNAL]: its first signal, heard once the file has its answer.
stop_kindly() {
    kill -"${3-TERM}" "$1"
    eventually "it is told" grep -q "no more jobs" "$2"
}
family_is_gone() {
    eventually "the command ends" gone "$(cat "$1.parent")"
    eventually "its child ends" gone "$(cat "$1.child")"
}
# start_family QUEUE FILE OPTION...: a worker whose job runs.
start_family() {
    local queue=$1 file=$2
    shift 2
    background tackle queue work "$queue" "$@" -- sh -c "$family" "$file" &
    worker=$!
    eventually "the job runs" test -s "$file.child"
}

# ---- Input of the command -------------------------------------------------------------------------

push mails alice bob carol
ends 0 tackle queue work mails --drain -- sh -c 'echo "to $(cat)"'
is "each payload, in order" "$out" $'to alice\nto bob\nto carol'
is "nothing else" "$err" ""
is "all done" "$(stat_of mails '[.ready, .active, .done, .failed]')" "[0,0,3,0]"
ends 0 tackle queue work mails --drain -- false
is "nothing to do" "$out$err" ""

# A worker that drains a paused queue reports that jobs are left.
tackle queue pause mails >/dev/null
ends 0 tackle queue work mails --drain -- false
tackle queue push mails carol >/dev/null
ends 1 tackle queue work mails --drain -- false
has "$err" "mails is paused, with 1 ready"
tackle queue resume mails >/dev/null
ends 0 tackle queue work mails --drain -- true

# The table shows the line of a traceback that says what went wrong; JSON has all of it.
tackle queue push traces x --retries 0 >/dev/null
ends 1 tackle queue work traces --drain -- sh -c 'printf "Traceback:\n  File x\nValueError: bad\n" >&2; exit 1'
ends 0 tackle queue dead traces
has "$out" "ValueError: bad"
lacks "$out" "Traceback"
has "$(tackle queue dead traces --json)" 'exit code 1: Traceback'

# A job with a damaged record goes to the dead letters, and the others are done.
id=$(tackle queue push broken x)
tackle queue push broken y >/dev/null
tackle call HSET "tackle:queue:{broken}:jobs" "$id" garbage >/dev/null
ends 1 tackle queue work broken --drain -- cat
is "the other is done" "$out" y
has "$err" "$id: the record is damaged, it went to the dead letters"
is "its state" "$(stat_of broken '[.ready, .active, .dead]')" "[0,0,1]"
id=$(tackle queue push broken x)
tackle call HSET "tackle:queue:{broken}:jobs" "$id" garbage >/dev/null
ends 1 tackle queue work broken --drain --json -- cat
is "its end as JSON" "$(jq -c '[.id, .queue, .attempt, .outcome, .exit, .reason]' <<<"$out")" \
    "[\"$id\",\"broken\",null,\"dead\",null,\"the record is damaged\"]"

id=$(tackle queue push "my mails" x --priority -7 --group g --meta "a 'note'" --retries 2)
ends 0 env TACKLE_META=old TACKLE_ERROR=old TACKLE_X=kept tackle queue work "my mails" --once -- sh -c \
    'echo "$TACKLE_JOB_ID|$TACKLE_QUEUE|$TACKLE_ATTEMPT|$TACKLE_RETRIES|$TACKLE_PRIORITY|$TACKLE_GROUP|$TACKLE_META|$TACKLE_ERROR|$TACKLE_X"
     tackle queue renew "$TACKLE_QUEUE" "$TACKLE_JOB_ID" "$TACKLE_TOKEN" --progress half &&
     tackle queue show "$TACKLE_QUEUE" "$TACKLE_JOB_ID" --json'
is "its environment" "${out%%$'\n'*}" "$id|my mails|1|2|-7|g|a 'note'||kept"
out=${out#*$'\n'}
yields '[.state, .progress]' '["active","half"]'

printf 'a\0b\n\xff' | tackle queue push bytes >/dev/null
push bytes ""
ends 0 tackle queue work bytes --drain -- sh -c 'od -An -c | tr -d " "; echo end'
is "any bytes, also none" "$out" $'a\\0b\\n377\nend\nend'
head -c 100000000 /dev/zero | tackle --timeout 1m queue push huge >/dev/null || fail "push of 100 MB"
ends 0 tackle --timeout 1m queue work huge --once --lease 1m -- wc -c
is "100 MB" "$out" 100000000
head -c 3000000 /dev/zero | tackle queue push huge >/dev/null || fail "push of 3 MB"
ends 0 tackle queue work huge --once -- true
is "that nobody reads" "$(stat_of huge '[.ready, .active, .done]')" "[0,0,2]"
push huge x
ends 0 tackle queue work huge --once -- sh -c 'exec <&- >&- 2>&-; exit 0'

# ---- Exit codes -----------------------------------------------------------------------------------

id=$(tackle queue push codes x --backoff 1h)
ends 1 tackle queue work codes --drain -- sh -c 'echo first >&2; echo "last words" >&2; exit 3'
has "$err" $'first\nlast words\n'
has "$err" "$id failed after"
has "$err" "attempt 1 of 11: exit code 3"
is "why" "$(error_of codes "$id")" $'exit code 3: first\nlast words'
is "later again" "$(stat_of codes '[.delayed, .failed, .dead]')" "[1,1,0]"


# 75: not now. No attempt is used, and it does not spin.
id=$(tackle queue push again x)
ends 1 tackle queue work again --drain -- sh -c "echo run >>$home/runs; exit 75"
is "one run" "$(wc -l <"$home/runs")" 1
is "for later" "$(stat_of again '[.delayed, .failed, .dead]')" "[1,0,0]"
ends 0 tackle queue cancel again "$id"
push again x
ends 1 tackle queue work again --once --again 10ms -- sh -c 'exit 75'
ends 0 tackle queue work again --once --wait 1m -- sh -c 'echo "attempt $TACKLE_ATTEMPT"'
is "the same attempt" "$out" "attempt 1"

# 65: hopeless.
id=$(tackle queue push hopeless x)
ends 1 tackle queue work hopeless --drain -- sh -c 'echo nobody there >&2; exit 65'
has "$err" "$id dead after"
has "$err" "attempt 1 of 11: exit code 65"
is "dead at once" "$(stat_of hopeless '[.delayed, .dead]')" "[0,1]"
is "why" "$(error_of hopeless "$id")" "exit code 65: nobody there"

# Retries, until there are none left; the next attempt knows why.
id=$(tackle queue push retried x --retries 2 --backoff 10ms)
for attempt in 1 2 3; do
    ends 1 tackle queue work retried --once --wait 1m -- sh -c \
        'echo "$TACKLE_ATTEMPT $TACKLE_ERROR"; echo "words $TACKLE_ATTEMPT" >&2; exit 4'
    is "attempt" "${out%% *}" $attempt
done
has "$out" "exit code 4: words 2"
is "dead in the end" "$(stat_of retried '[.ready, .delayed, .dead, .failed]')" "[0,0,1,3]"

# Reasons: the end of long ones, signals, any bytes.
long='i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i + 1)); done >&2; exit 1'
id=$(tackle queue push reasons x --retries 0)
ends 1 tackle queue work reasons --once -- sh -c "$long"
is "all of it is seen" "$(grep -c '^line' <<<"$err")" 3000
why=$(error_of reasons "$id")
[[ $why == "exit code 1: line "*$'\nline 2999' ]] || fail "reason: $why"
((${#why} <= 1000)) || fail "a reason of ${#why} bytes"
for reason in 'kill -KILL $$|signal 9' 'kill -TERM $$|signal 15' 'exit 255|exit code 255' \
    'printf "a\0b\377" >&2; exit 1|exit code 1: a b'; do
    id=$(tackle queue push reasons x --retries 0)
    ends 1 tackle queue work reasons --once -- sh -c "${reason%|*}"
    has "$(tackle queue show reasons "$id" --json | jq -r '.error | if type == "object" then .base64 | @base64d else . end' | tr -d '\0')" "${reason#*|}"
done

# A command that cannot be run is no failure of the job: the worker ends.
push unrunnable x
ends 127 tackle queue work unrunnable -- no-such-command
has "$err" "cannot run no-such-command"
ends 126 tackle queue work unrunnable -- "$home"
is "the job is as it was" "$(stat_of unrunnable '[.ready, .active, .failed]')" "[1,0,0]"

# It is found out at the start, with nothing to do, and before the server is asked.
for place in "-- no-such-command" "-- ./no-such-command" "--on a=true --on b=no-such-command" "--on a=true -- no-such-command"; do
    ends 127 tackle --url redis://127.0.0.1:1 queue work idle --drain $place
    has "$err" "no-such-command: No such file or directory"
done
touch "$home/plain"
for place in "-- $home/plain" "--on a=$home/plain" "-- $home"; do
    ends 126 tackle queue work idle --drain $place
    has "$err" "Permission denied"
done
ends 127 tackle queue work idle --drain -- ""
mkdir "$home/bin" "$home/secret"
printf '#!/bin/sh\necho found\n' >"$home/bin/here"
chmod +x "$home/bin/here"
push path x
ends 0 env PATH="$home/secret:$home/bin:$PATH" tackle queue work path --drain -- here
is "found by PATH" "$out" found

# A server that was never there ends it at once.
ends 69 tackle --url redis://127.0.0.1:1 queue work unrunnable -- true
lacks "$err" "trying again"

# A command whose output has no reader any more has not failed: the worker ends.
seq 1 40 | tackle queue push unread --lines --retries 0 >/dev/null
for threads in 1 2; do
    { tackle queue work unread --drain --threads $threads -- sh -c 'sleep 0.2; cat' 2>"$home/words"; echo $? >"$home/code"; } | true
    is "unread, $threads threads: exit code" "$(cat "$home/code")" 70
    is "unread, $threads threads: no words" "$(cat "$home/words")" ""
    is "unread, $threads threads: no failure" "$(tackle queue stats unread --json | jq -c '[.failed, .dead, .ready > 0]')" "[0,0,true]"
done

# A machine without enough descriptors is no failure of the job, either: it goes back.
seq 1 40 | tackle queue push scarce --lines >/dev/null
(
    ulimit -n 24
    background tackle queue work scarce --drain --threads 8 --again 1h -- \
        sh -c "while [ ! -e $home/enough ]; do sleep 0.02; done"
) 2>"$home/scarce.err" &
worker=$!
eventually "it has not enough" grep -q "Too many open files" "$home/scarce.err"
touch "$home/enough"
ended $worker 1
is "none has failed" "$(stat_of scarce '[.failed, .dead, .ready + .active, .done + .delayed]')" "[0,0,0,40]"

# ---- Output of commands ----------------------------------------------------------------------------

# Whole lines, though two commands write theirs in pieces at the same time.
push pieces 1 2 3 4
ends 0 tackle queue work pieces --drain --threads 2 -- \
    sh -c 'n=$(cat); for i in 1 2 3 4 5; do printf "%s" "$n-"; sleep 0.01; echo "$n"; done'
is "twenty whole lines" "$(grep -cxE '([1-4])-\1' <<<"$out")" 20
push tagged a
id=$(tackle queue peek tagged --json | jq -r '.[0].id')
ends 0 tackle queue work tagged --drain --tag -- sh -c 'echo one; printf two; echo three >&2'
is "tagged" "$out" "$id	one"$'\n'"$id	two"
has "$err" "$id	three"
push grouped 1 2
ends 0 tackle queue work grouped --drain --threads 2 --group -- \
    sh -c 'n=$(cat); echo "begin $n"; sleep 0.1; echo "end $n"'
is "one after the other" "$(sed 's/ .*//' <<<"$out" | tr '\n' ' ')" "begin end begin end "

# A limit that holds ready jobs back is reported.
push slow a b c
tackle queue limit slow --rate 1/h
ends 1 tackle queue work slow --drain -- true
has "$err" "slow has reached a limit, with 2 ready"

# A worker does not wait for ever at a queue whose key has another type.
tackle call SET 'tackle:queue:{broken}:ready' x >/dev/null
for way in --once --drain; do
    ends 70 timeout 20 tackle queue work broken $way -- true
done

# A worker that was stopped for longer than its lease does not begin what it had fetched ahead.
push stopped a b
background tackle queue work stopped --batch 1 --lease 500ms -- \
    sh -c 'echo "first $(cat)" >>"$0"; until [ -e "$0.go" ]; do sleep 0.05; done' "$home/ran" &
worker=$!
eventually "it runs" grep -q first "$home/ran"
eventually "the other one is fetched" stats_are stopped .active 2
kill -STOP $worker
ends 0 tackle queue work stopped --once --wait 10s -- sh -c 'echo "second $(cat)" >>"$0"' "$home/ran"
ends 0 tackle queue work stopped --once --wait 10s -- sh -c 'echo "second $(cat)" >>"$0"' "$home/ran"
touch "$home/ran.go"
kill -CONT $worker
eventually "all is over" stats_are stopped '[.ready, .active]' '[0,0]'
kill $worker
ended $worker 0
is "each began once at either" "$(sort "$home/ran" | uniq -c | awk '$1 > 1')" ""
lacks "$(cat "$home/ran")" "first b"

# ---- Results and JSON -----------------------------------------------------------------------------

id=$(tackle queue push results x --result-for 1h)
ends 0 tackle queue work results --once --result -- sh -c 'printf "a\0b"'
is "its output is kept" "$out" ""
is "as it is" "$(tackle queue result results "$id" | od -An -c | tr -d ' ')" 'a\0b'

push json a b --retries 0
ends 1 tackle queue work json --drain --json -- sh -c 'echo noise; test "$(cat)" = a || { echo oops >&2; exit 3; }'
is "a line for each job" "$(wc -l <<<"$out")" 2
is "its keys" "$(head -1 <<<"$out" | jq -c keys_unsorted)" '["id","queue","kind","attempt","outcome","exit","took_ms","reason"]'
is "what became of them" "$(jq -c '[.queue, .attempt, .outcome, .exit, .reason]' <<<"$out")" \
    $'["json",1,"done",0,null]\n["json",1,"dead",3,"exit code 3: oops"]'
has "$err" noise
push json c
ends 70 bash -c 'tackle queue work json --drain --json -- true >/dev/full'
has "$err" "cannot write to standard output"

# ---- Which jobs -----------------------------------------------------------------------------------

push low l1 l2
push high h1 h2 h3
ends 0 tackle queue work high low --drain -- sh -c 'echo "$TACKLE_QUEUE $(cat)"'
is "the first is served first" "$out" $'high h1\nhigh h2\nhigh h3\nlow l1\nlow l2'
ends 1 tackle queue work high low --once -- true
is "none" "$err" "tackle: queue work: no job"
ends 1 tackle queue work high --once --wait 50ms -- true
push high h4 h5
ends 0 tackle queue work high --once -- cat
is "one and no more" "$out$(stat_of high .ready)" h41
background tackle queue work waited --once --wait 1m -- cat >"$home/waited" &
worker=$!
eventually "it waits" stats_are waited .waiters 1
push waited word
ended $worker 0
is "what came" "$(cat "$home/waited")" word

# Side by side.
for i in 1 2 3 4; do push together $i; done
background tackle queue work together --drain --threads 4 -- sh -c \
    "touch $home/together.\$(cat); while [ \$(ls $home/together.* | wc -l) -lt 4 ]; do sleep 0.01; done" &
ended $! 0
is "all done" "$(stat_of together '[.done, .failed]')" "[4,0]"
seq 1 100 | tackle queue push many --lines >/dev/null
ends 0 tackle queue work many --drain --threads 8 --batch 4 -- cat
is "all of them" "$(stat_of many '[.ready, .active, .done]')" "[0,0,100]"

# ---- Time limits ----------------------------------------------------------------------------------

id=$(tackle queue push limited x --time-limit 200ms --retries 0)
ends 1 tackle queue work limited --once -- sh -c "$family" "$home/limited"
family_is_gone "$home/limited"
has "$err" "time limit"
is "dead" "$(stat_of limited '[.active, .dead]')" "[0,1]"
has "$(error_of limited "$id")" "time limit"
rm "$home"/limited.*
push limited x --time-limit 200ms --retries 0
ends 1 tackle queue work limited --once --grace 100ms -- sh -c "trap '' TERM; $family" "$home/limited"
family_is_gone "$home/limited"

# What the command leaves behind is ended with it.
push leftover x
ends 0 tackle queue work leftover --once -- sh -c "sleep 600 & echo \$! >$home/leftover"
eventually "it ends" gone "$(cat "$home/leftover")"

# ---- Stopping -------------------------------------------------------------------------------------

# SIGTERM: what runs goes on to its end, nothing new begins.
push stop a b
background tackle queue work stop -- sh -c \
    "touch $home/runs.a; while [ ! -e $home/go ]; do sleep 0.02; done; echo done" >"$home/stopped" 2>"$home/stop.err" &
worker=$!
eventually "it runs" test -e "$home/runs.a"
stop_kindly $worker "$home/stop.err"
gone $worker && fail "did not wait for the command"
touch "$home/go"
ended $worker 0
is "to its end" "$(cat "$home/stopped")" done
is "one done, one left" "$(stat_of stop '[.ready, .active, .done, .failed]')" "[1,0,1,0]"

# Idle workers end at once; after Ctrl-C the parent sees the signal.
for signal in TERM:0 INT:130 HUP:129; do
    background tackle queue work idle -- true &
    worker=$!
    eventually "it waits" stats_are idle .waiters 1
    kill -${signal%:*} $worker
    ended $worker ${signal#*:}
    ends 1 tackle queue stats idle # no worker waits
done

# A second signal ends it now. The job goes back, and has used no attempt.
push now x
start_family now "$home/now" 2>"$home/now.err"
stop_kindly $worker "$home/now.err"
gone $worker && fail "did not wait for the command"
kill -TERM $worker
ended $worker 143
family_is_gone "$home/now"
is "ready again" "$(stat_of now '[.ready, .active, .failed]')" "[1,0,0]"
ends 0 tackle queue work now --once -- sh -c 'echo "attempt $TACKLE_ATTEMPT"'
is "the same attempt" "$out" "attempt 1"
push now x
background tackle queue work now -- sh -c "trap '' TERM; touch $home/stubborn; while :; do sleep 0.05; done" 2>"$home/stubborn.err" &
worker=$!
eventually "it runs" test -e "$home/stubborn"
stop_kindly $worker "$home/stubborn.err"
kill -INT $worker
ended $worker 130
is "ready again" "$(stat_of now '[.ready, .active, .failed]')" "[1,0,0]"

# ---- Losing ---------------------------------------------------------------------------------------

# kill -9 of the worker: its command ends, and the job comes back.
push killed x
start_family killed "$home/killed" --lease 3s
{ kill -KILL $worker && wait $worker; } 2>/dev/null
family_is_gone "$home/killed"
ends 0 tackle queue work killed --once --wait 1m -- sh -c 'echo "attempt $TACKLE_ATTEMPT, $TACKLE_ERROR"'
[[ $out =~ ^"attempt "[2-9]", the worker was lost"$ ]] || fail "it did not come back: $out"

# A cancelled job's command is ended; the worker goes on.
id=$(tackle queue push cancelled x)
start_family cancelled "$home/cancelled" --lease 3s 2>"$home/cancelled.err"
ends 0 tackle queue cancel cancelled "$id"
family_is_gone "$home/cancelled"
eventually "it is told" grep -q "$id: the claim was lost" "$home/cancelled.err"
eventually "it goes on" stats_are cancelled .waiters 1
kill -TERM $worker
ended $worker 0

# A lease is renewed while the command runs.
push renewed x
ends 0 tackle queue work renewed --once --lease 3s -- sleep 4
is "done, once" "$(stat_of renewed '[.ready, .active, .done, .failed]')" "[0,0,1,0]"

# The server goes away and comes back: the worker goes on.
export TACKLE_URL=embedded:$home/other?durability=always
push restart a
background tackle queue work restart -- sh -c "cat >>$home/restarted; echo >>$home/restarted" 2>"$home/restart.err" &
worker=$!
eventually "the first is done" stats_are restart .done 1
ends 0 tackle server stop
push restart b
eventually "the second is done" stats_are restart .done 2
is "each once" "$(cat "$home/restarted")" $'a\nb'
has "$(cat "$home/restart.err")" "trying again"
has "$(cat "$home/restart.err")" "connected again"
kill -TERM $worker
ended $worker 0
echo "queue work: all good"
