#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle queue work --stream`: one command for all jobs, lines of JSON in both directions.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/hold.bash"
start_server
trap 'kill -KILL $(jobs -p) 2>/dev/null; clean_up' EXIT # a worker would wait for its server for ever

stat_of() { tackle queue stats "$1" --json | jq -c "$2"; }
push() { tackle queue push "$@" >/dev/null || fail "push $*"; }
error_of() { tackle queue show "$1" "$2" --json | jq -r .error; }
field_is() { [ "$(tackle queue show "$1" "$2" --json | jq -r "$3")" = "$4" ]; }

renewed() { [[ $(tackle queue show "$1" "$2" --json | jq -r .until) > $3 ]]; }

# A command that answers each job as its payload says, and counts how often it was started.
cat >"$home/obey" <<'SH'
#!/usr/bin/env bash
echo started >>"$0.starts"
while IFS= read -r line; do
    echo "$line" >>"$0.lines"
    [ "$(jq -r .type <<<"$line")" = job ] || continue
    id=$(jq -r .id <<<"$line")
    eval "$(jq -r .payload <<<"$line")"
done
echo over >>"$0.starts"
SH
chmod +x "$home/obey"
# answer JSON: without its braces and id.
answer() { printf 'echo "{\\"id\\": \\"$id\\", %s}"' "${1//\"/\\\"}"; }
ack=$(answer '"type": "ack"')
obey() {
    rm -f "$home/obey".*
    tackle queue work "$@" --stream -- "$home/obey"
}
starts() { grep -c started "$home/obey.starts"; }

# ---- Jobs and answers -----------------------------------------------------------------------------

id=$(tackle queue push all "$ack" --kind greet --meta m --group g --priority 3 --time-limit 1h)
push all "$ack"
push all "$ack"
ends 0 obey all --drain
is "nothing printed" "$out$err" ""
is "one command for all" "$(starts)" 1
is "it saw the end of its input" "$(tail -n 1 "$home/obey.starts")" over
is "all done" "$(stat_of all '[.done, .failed]')" '[3,0]'
is "what a job looks like" \
    "$(jq -sc --arg id "$id" '.[] | select(.id == $id) | [.type, .queue, .kind, .meta, .group, .priority, .attempt, .retries, .time_limit_ms, .error]' "$home/obey.lines")" \
    '["job","all","greet","m","g",3,1,10,3600000,null]'
is "its fields" "$(jq -sc '.[0] | keys_unsorted' "$home/obey.lines")" \
    '["type","id","token","queue","kind","payload","priority","attempt","retries","time_limit_ms","pushed_at","lease_ms","meta","group","error"]'

# A filter that answers each line is a worker: the payload is the result. Any bytes, both ways.
for payload in plain 'two\nlines' 'a\0b' '\xff\xfe' '' 'grüße'; do
    id=$(printf "$payload" | tackle queue push echo --empty --result-for 1h)
    ends 0 tackle queue work echo --once --stream -- jq --unbuffered -c '{id, type: "ack", result: .payload}'
    is "payload '$payload'" "$(tackle queue result echo "$id" --json | jq -r '.result | if type == "object" then .base64 else @base64 end')" \
        "$(printf "$payload" | base64)"
done

id=$(head -c 3000000 /dev/urandom | tackle queue push echo --result-for 1h)
ends 0 tackle queue work echo --once --stream -- jq --unbuffered -c '{id, type: "ack", result: .payload}'
is "a large one" "$(tackle queue result echo "$id" | wc -c)" 3000000

# Failed with a reason; hopeless; not now.
id=$(tackle queue push ends "$(answer '"type": "fail", "reason": "mailbox full"')" --backoff 1h)
ends 1 obey ends --drain
has "$err" "attempt 1 of 11: mailbox full"
is "failed" "$(error_of ends "$id")" "mailbox full"
id=$(tackle queue push ends "$(answer '"type": "fail"')" --retries 0)
ends 1 obey ends --drain
is "no reason" "$(tackle queue show ends "$id" --json | jq -c '[.state, .error]')" '["dead",null]'
id=$(tackle queue push ends "$(answer '"type": "dead", "reason": "no such user"')")
ends 1 obey ends --drain
is "dead" "$(tackle queue show ends "$id" --json | jq -c '[.state, .error]')" '["dead","no such user"]'
id=$(tackle queue push ends "$(answer '"type": "release", "delay_ms": 3600000')")
ends 1 obey ends --drain
is "released" "$(tackle queue show ends "$id" --json | jq -c '[.state, .attempt, .error]')" '["delayed",0,null]'
id=$(tackle queue push ends "$(answer '"type": "release"')")
ends 1 obey ends --drain --again 1h
is "released, with --again" "$(tackle queue show ends "$id" --json | jq -c '[.state, .attempt]')" '["delayed",0]'
push ends "$ack"
ends 0 obey ends --drain --json
is "JSON" "$(jq -c '[keys_unsorted, .outcome, .exit]' <<<"$out")" '[["id","queue","kind","attempt","outcome","exit","took_ms","reason"],"done",null]'

# Progress is seen while the job runs, and keeps it.
mkfifo "$home/gate"
id=$(tackle queue push slow "$(answer '"type": "progress", "progress": "half"'); read -r _ <'$home/gate'; $ack" --result-for 1h)
background tackle queue work slow --once --stream -- "$home/obey" &
worker=$!
eventually "progress" field_is slow "$id" .progress half
until=$(tackle queue show slow "$id" --json | jq -r .until)
eventually "a renewal" renewed slow "$id" "$until"
is "still its own" "$(tackle queue show slow "$id" --json | jq -c '[.state, .attempt]')" '["active",0]'
echo go >"$home/gate"
wait $worker || fail "slow: $?"
is "done" "$(stat_of slow '[.done, .failed]')" '[1,0]'

# With --threads the command has several jobs at once, and answers in any order.
push several 1 2 3
cat >"$home/reverse" <<'SH'
#!/usr/bin/env bash
for i in 1 2 3; do read -r line; ids="$(jq -r .id <<<"$line") $ids"; done
for id in $ids; do echo "{\"id\": \"$id\", \"type\": \"ack\"}"; done
SH
chmod +x "$home/reverse"
ends 0 tackle queue work several --drain --threads 3 --stream -- "$home/reverse"
is "three at once" "$(stat_of several .done)" 3

# ---- When the command dies, talks nonsense or hangs -------------------------------------------------

# It dies of a job: that job has failed, with the reason; the next one gets a new command.
bad=$(tackle queue push dies 'echo "cannot do it" >&2; exit 3' --retries 0)
push dies "$ack"
ends 1 obey dies --drain
is "why" "$(error_of dies "$bad")" "the command ended, exit code 3: cannot do it"
has "$err" "cannot do it"
is "the other is done" "$(stat_of dies '[.done, .dead]')" '[1,1]'
is "started again" "$(starts)" 2
bad=$(tackle queue push dies 'kill -9 $$' --retries 0)
ends 1 obey dies --drain
has "$(error_of dies "$bad")" "the command ended, signal 9"
bad=$(tackle queue push dies 'exit 0' --retries 0)
ends 1 obey dies --drain
has "$(error_of dies "$bad")" "the command ended, exit code 0"
# An answer before the end counts.
push dies "$ack; exit 1"
ends 0 obey dies --drain
# A command that ends without an answer is not started again at full speed.
push never x --retries 0
push never x --retries 0
push never x --retries 0
ends 1 tackle queue work never --drain --stream -- false
is "all failed" "$(stat_of never .dead)" 3

# Nonsense fails the job, and ends the command.
n=0
for line in 'hello' '[]' '{' '{}' '{"id": 5, "type": "ack"}' '{"id": "ID"}' '{"id": "ID", "type": "done"}' \
    '{"id": "ID", "type": "ack", "reason": "x"}' '{"id": "ID", "type": "ack", "result": 5}' \
    '{"id": "ID", "type": "ack", "result": {"base64": "!"}}' '{"id": "ID", "type": "ack", "result": {"base64": "abc"}}' \
    '{"id": "ID", "type": "fail", "reason": []}' '{"id": "ID", "type": "release", "delay_ms": -1}' \
    '{"id": "ID", "type": "release", "delay_ms": "1s"}' '{"id": "ID", "type": "progress"}' \
    '{"id": "ID", "id": "ID", "type": "ack"}' "{\"id\": \"ID\", \"type\": \"progress\", \"progress\": \"$(printf '%01001d' 0)\"}"; do
    n=$((n + 1))
    printf '%s\n' "$line" >"$home/line.$n"
    id=$(tackle queue push nonsense "sed \"s/ID/\$id/g\" '$home/line.$n'; sleep 600" --retries 0)
    ends 1 obey nonsense --drain
    has "$(error_of nonsense "$id")" "the command gave a wrong answer"
done
id=$(tackle queue push nonsense 'printf "\377\n"; sleep 600' --retries 0)
ends 1 obey nonsense --drain
has "$(error_of nonsense "$id")" "not a JSON object: \\xff"
id=$(tackle queue push nonsense 'exec >&-; sleep 600' --retries 0)
ends 1 obey nonsense --drain
has "$(error_of nonsense "$id")" "closed its standard output"
# Empty lines and answers for other jobs are left out.
push nonsense "echo; echo '{\"id\": \"0000000000000\", \"type\": \"ack\"}'; $ack; $ack"
ends 0 obey nonsense --drain
has "$err" "an answer for a job that the command does not have: 0000000000000"

# Beyond its time limit a job is cancelled; a command that does not answer for it is ended.
id=$(tackle queue push late 'sleep 600' --time-limit 300ms --retries 0)
push late "$ack"
ends 1 obey late --drain --grace 100ms
is "time limit" "$(error_of late "$id")" "time limit"
has "$err" "time limit"
is "the next one" "$(stat_of late '[.done, .dead]')" '[1,1]'
is "in a new command" "$(starts)" 2
# A command that answers goes on.
cat >"$home/gives_up" <<'SH'
#!/usr/bin/env bash
echo started >>"$0.starts"
while IFS= read -r line; do
    id=$(jq -r .id <<<"$line") type=$(jq -r '.type + (.reason // "")' <<<"$line")
    [ "$type$(jq -r .payload <<<"$line")" = jobwait ] || echo "{\"id\": \"$id\", \"type\": \"ack\"}"
    echo "$type" >>"$0.types"
done
SH
chmod +x "$home/gives_up"
push gives_up wait --time-limit 300ms --retries 0
push gives_up go
ends 1 tackle queue work gives_up --drain --grace 1m --stream -- "$home/gives_up"
is "one command" "$(grep -c started "$home/gives_up.starts")" 1
is "it was told" "$(cat "$home/gives_up.types")" $'job\ncanceltime limit\njob'
is "failed all the same" "$(stat_of gives_up '[.done, .dead]')" '[1,1]'

# ---- Stopping ---------------------------------------------------------------------------------------

# The first signal: the job goes on to its end. The second: it goes back, and has used no attempt.
id=$(tackle queue push stop "echo x >'$home/runs'; sleep 600")
background tackle queue work stop --stream -- "$home/obey" 2>"$home/words" &
worker=$!
eventually "it runs" test -s "$home/runs"
kill -TERM $worker
eventually "it is told" grep -q "no more jobs" "$home/words"
is "it goes on" "$(stat_of stop .active)" 1
kill -TERM $worker
wait $worker
is "back at the front" "$(tackle queue show stop "$id" --json | jq -c '[.state, .attempt]')" '["ready",0]'

# After kill -9 of the worker the command is ended before the job comes back.
rm -f "$home/runs"
tackle queue drop stop --yes >/dev/null
push stop "echo \$\$ >'$home/runs'; trap '' TERM; while :; do sleep 1; done"
background tackle queue work stop --lease 2s --grace 1h --stream -- "$home/obey" &
worker=$!
eventually "it runs" test -s "$home/runs"
kill -KILL $worker
eventually "the command is ended" gone "$(cat "$home/runs")"

# ---- Wrong use --------------------------------------------------------------------------------------

ends 64 tackle queue work all --stream
has "$err" "--stream has one command, after --"
for option in "--on a=cat" --result --tag --group; do
    ends 64 tackle queue work all --stream $option -- cat
done
ends 127 tackle queue work all --stream -- no-such-command

echo "queue stream: all good"
