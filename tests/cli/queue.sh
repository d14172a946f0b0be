#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle queue`: pushing, looking, operating, schedules. Working is in queue_work.sh, by hand queue_by_hand.sh.
#
# ctest: cost 40
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/hold.bash"
start_server

# json VERB ARG...: leaves one JSON value in $out.
json() {
    ends 0 tackle queue "$@" --json
    is "one value" "$(jq -c . <<<"$out" | wc -l)" 1
}
stat_of() { tackle queue stats "$1" --json | jq -c "$2"; }
payloads() { tackle queue peek "$@" --json | jq -c '[.[].payload]'; }

# ---- push -----------------------------------------------------------------------------------------

json push mails alice
yields 'keys' '["existed","ids"]'
yields '.ids[0] | test("^[0-9a-f]{13}$")' true
ends 0 tackle queue push mails bob
[[ $out =~ ^[0-9a-f]{13}$ ]] || fail "not an id: $out"
is "nothing on stderr" "$err" ""
json push mails carol dave erin
yields 'keys' '["existed","ids"]'
yields '.ids | [length, (unique | length), . == sort]' '[3,3,true]'
ends 0 tackle queue push mails frank grace
is "an id on each line" "$(wc -l <<<"$out")" 2
is "first in, first out" "$(payloads mails)" '["alice","bob","carol","dave","erin","frank","grace"]'

# Payloads of any bytes, from standard input.
printf 'a\0b\n\xff' | tackle queue push bytes >/dev/null
printf '' | tackle queue push bytes - --empty >/dev/null
tackle queue push bytes "" >/dev/null
printf 'grüße' | tackle queue push bytes >/dev/null
is "any bytes" "$(payloads bytes)" '[{"base64":"YQBiCv8="},"","","grüße"]'
printf '\xff%.0s' {1..100} | tackle queue push long_bytes - >/dev/null
ends 0 tackle queue peek long_bytes
has "$out" "base64:$(printf '/%.0s' {1..80})..."
printf 'ü%.0s' {1..100} | tackle queue push long_text - >/dev/null
ends 0 tackle queue peek long_text
has "$out" " $(printf 'ü%.0s' {1..30})..."
head -c 3000000 /dev/urandom >"$home/big"
ends 0 bash -c 'tackle queue push big <"$HOME/../big"'
is "a large one" "$(stat_of big '.bytes > 3000000')" true
# A command before the pipe that printed hollow is most likely a mistake.
for dash in "" -; do
    ends 64 bash -c "tackle queue push hollow $dash </dev/null"
    has "$err" "standard input is empty"
    ends 64 bash -c "tackle queue push hollow $dash --then after </dev/null"
done
ends 1 tackle queue stats hollow
ends 0 bash -c 'tackle queue push hollow --empty </dev/null'
ends 0 bash -c 'echo something | tackle queue push hollow --empty'
is "empty, or not" "$(payloads hollow)" '["","something\n"]'
ends 64 tackle queue push hollow x --empty
ends 64 tackle queue push hollow x y --empty
ends 64 bash -c 'tackle queue push hollow --lines --empty </dev/null'
ends 70 bash -c 'tackle queue push bytes <&-'
has "$err" "cannot read standard input"

# Lines: many, long, empty, without an end.
seq 1 2500 >"$home/numbers"
ends 0 bash -c 'tackle queue push numbers --lines <"$HOME/../numbers"'
is "a summary" "$out" "2500 pushed"
is "all of them" "$(stat_of numbers .ready)" 2500
ends 0 bash -c 'echo one | tackle queue push dash --lines -'
is "a dash is standard input" "$(stat_of dash .ready)" 1
is "in order" "$(payloads numbers --max 1000 --skip 1500)" "$(jq -cR . <<<"$(seq 1501 2500)" | jq -cs .)"
out=$(tackle queue push lines --lines --json < <(printf 'one\n\nth\0ree\nlast'))
yields '.ids | length' 4
is "as they are" "$(payloads lines)" '["one","","th\u0000ree","last"]'
out=$(tackle queue push lines --lines --json </dev/null)
yields . '{"ids":[],"existed":0}'
head -c 9000000 /dev/zero | tr '\0' x | tackle queue push long --lines >/dev/null || fail "a long line"
is "one long line" "$(stat_of long '[.ready, .bytes > 9000000]')" "[1,true]"

# Repeated with the same request id nothing is pushed twice, lines neither.
json push once a b --request r1
first=$out
json push once a b --request r1
is "the same ids" "$out" "$first"
for i in 1 2; do
    tackle queue push once --lines --request r2 <"$home/numbers" >/dev/null || fail "push $i"
done
is "not twice" "$(stat_of once .ready)" 2502

# ---- Options of a job -----------------------------------------------------------------------------

json push options late --priority 1000
json push options soon --priority=-1000 --meta 'a "note"' --group customer --unique key \
    --retries 3 --backoff 2s --backoff-max 1m --time-limit 5s --result-for 1h
id=$(jq -r '.ids[0]' <<<"$out")
is "lower first" "$(payloads options)" '["soon","late"]'
json show options "$id"
yields 'keys_unsorted' '["id","state","kind","payload","payload_size","priority","attempt","retries","pushed_at","meta","group","unique","error","progress","result","worker","due_at","until","since","started_at"]'
yields '[.state, .priority, .attempt, .retries, .due_at, .meta, .group, .unique, .error]' \
    '["ready",-1000,0,3,null,"a \"note\"","customer","key",null]'
yields "(.pushed_at | sub(\"\\\\.[0-9]+\"; \"\") | fromdate) - $(date +%s) | fabs < 60" true
ends 0 tackle queue show options "$id"
has "$out" 'unique key       key'
lacks "$out" 'last error'
ends 1 tackle queue show options 0000000000000
has "$err" "no such job"

json push later a --delay 1h
for at in "in 10m" "tomorrow 14:00" "$(date -d '+10 min' +%H:%M)" "$(date -d '-10 min' +%H:%M)"; do
    id=$(tackle queue push soon x --at "$at")
    is "a job at $at is" "$(tackle queue show soon "$id" --json | jq -r .state)" delayed
done
json push later b --at 2050-01-01T00:00Z
json push later c --at "@2524608000.5"
is "not ready" "$(stat_of later '[.ready, .delayed]')" "[0,3]"
ends 0 tackle queue peek later --state delayed --json
yields '[.[] | .state]' '["delayed","delayed","delayed"]'
yields '[.[1, 2].due_at]' '["2050-01-01T00:00:00.000Z","2050-01-01T00:00:00.500Z"]'
ends 0 env TZ=UTC tackle queue peek later --state delayed
has "$out" "2050-01-01T00:00:00.000Z"
ends 0 tackle queue push past e --at 1999-01-01
ends 0 tackle queue claim past
ends 0 tackle queue push soon e --delay 50ms
ends 0 tackle queue claim soon --wait 1m

# ---- Unique ---------------------------------------------------------------------------------------

json push unique first --unique k
id=$(jq -r '.ids[0]' <<<"$out")
json push unique second --unique k
yields . "{\"ids\":[\"$id\"],\"existed\":1}"
ends 0 tackle queue push unique third --unique k
is "the id of the other" "$out" "$id"
has "$err" "is there already"
json push unique a b a --unique-payload
yields '[.existed, (.ids | length), .ids[0] == .ids[2]]' '[1,3,true]'
json push unique started --unique s --until started
json push unique again --unique s --until started
yields .existed 1
json push unique timed --unique t --unique-for 1h
json cancel unique "$(jq -r '.ids[0]' <<<"$out")"
json push unique timed --unique t --unique-for 1h
yields .existed 1
ends 0 bash -c 'printf "x\ny\nx\n" | tackle queue push unique --lines --unique-payload'
is "a summary" "$out" "2 pushed"
has "$err" "1 with their unique keys were there already"

# ---- Flows ----------------------------------------------------------------------------------------

json push flow one two --then last
yields '.ids | length' 3
is "the last is held" "$(stat_of flow '[.ready, .held]')" "[2,1]"
is "its payload" "$(payloads flow --state held)" '["last"]'
ends 0 tackle queue work flow --drain -- cat
is "after the others" "$out" "onetwolast"

# ---- stats, list, peek ----------------------------------------------------------------------------

json stats mails
yields 'keys_unsorted' '["name","ready","delayed","held","active","dead","paused","pushed","done","failed","oldest_ms","waiters","schedules","bytes","kept_jobs","priorities"]'
yields '[.name, .ready, .delayed, .held, .active, .dead, .paused, .pushed, .done, .failed]' \
    '["mails",7,0,0,0,0,false,7,0,0]'
yields '[.oldest_ms >= 0, .waiters, .schedules, .bytes > 30]' '[true,0,0,true]'
yields .priorities '[{"priority":0,"ready":7}]'
json stats options
yields .priorities '[{"priority":-1000,"ready":1},{"priority":1000,"ready":1}]'
ends 0 tackle queue stats options
has "$out" $'\nready         2\n'
has "$out" "PRIORITY  READY"
for verb in stats pause resume drain peek dead; do
    ends 1 tackle queue $verb nothing
    has "$err" "there is no queue 'nothing'"
done

json list
yields '[.[].name] | . == sort' true
yields '[.[].name] | index("mails") != null' true
yields '.[] | select(.name == "mails") | .ready' 7
ends 0 tackle queue list
has "$out" "NAME"
has "$out" "mails"

json peek mails --cut 1 --max 1
yields '[.[] | (.payload | length), .payload_size]' '[1,5]'
json peek mails --max 2 --skip 1
yields '[.[].payload]' '["bob","carol"]'
yields '.[0] | [.state, .priority, .attempt]' '["ready",0,0]'
json peek mails --state active
yields . '[]'
ends 0 tackle queue push wide "$(printf '%0200d' 0)"
ends 0 tackle queue peek wide
has "$out" "00000000..."
lacks "$out" "$(printf '%0100d' 0)"
tackle queue push control $'two\nlines \e[31m' >/dev/null
ends 0 tackle queue peek control
has "$out" 'two\nlines \x1b[31m'

# ---- cancel, pause, drain, drop ----------------------------------------------------------------

ids=($(tackle queue push cancel a b c))
ends 0 tackle queue cancel cancel "${ids[1]}"
is "counted" "$out" "1 cancelled"
is "it is gone" "$(payloads cancel)" '["a","c"]'
ends 1 tackle queue cancel cancel "${ids[1]}"
has "$err" "${ids[1]}: no such job"
ends 1 tackle queue cancel cancel "${ids[1]}" "${ids[0]}" --json
yields . '{"name":"cancel","cancelled":1}'
ends 1 tackle queue cancel cancel nonsense

ids=($(tackle queue push promote later --delay 1h) $(tackle queue push promote now))
ends 0 tackle queue promote promote "${ids[0]}"
is "promoted" "$out" "1 promoted"
is "before the others" "$(payloads promote)" '["later","now"]'
ends 1 tackle queue promote promote "${ids[0]}"
ends 1 tackle queue promote promote "${ids[1]}" --json
ends 1 tackle queue promote promote nonsense

# ---- edit, --dry-run ------------------------------------------------------------------------------

id=$(tackle queue push edit ready --kind k) later=$(tackle queue push edit later --delay 1h)
ends 0 tackle queue edit edit "$id" new --dry-run
is "counted" "$out" "1 matching"
is "nothing has changed" "$(payloads edit)" '["ready"]'
ends 0 tackle queue edit edit "$id" new
is "edited" "$out" "1 edited"
ends 0 bash -c "echo newer | tackle queue edit edit $id --json"
yields . '{"name":"edit","edited":1}'
is "the rest stays" "$(tackle queue show edit "$id" --json | jq -c '[.kind, .payload]')" '["k","newer\n"]'
ends 64 tackle queue edit edit "$id" - </dev/null
has "$err" "standard input is empty"
ends 0 tackle queue edit edit "$id" - --empty </dev/null
is "empty" "$(payloads edit)" '[""]'
ends 1 tackle queue edit edit nonsense x
ends 1 tackle queue edit edit nonsense x --dry-run
has "$err" "no such job"
ends 64 tackle queue edit edit
tackle queue limit edit --max-bytes 1 >/dev/null
ends 1 tackle queue edit edit "$id" "too large"
tackle queue limit edit --max-bytes 0 >/dev/null

ends 0 tackle queue promote edit "$later" --dry-run
is "it would be promoted" "$out" "1 matching"
ends 1 tackle queue promote edit "$id" --dry-run
has "$err" "not delayed"
ends 0 tackle queue cancel edit "$id" "$later" --dry-run
is "both would be cancelled" "$out" "2 matching"
ends 1 tackle queue cancel edit nonsense --dry-run
ends 1 tackle queue requeue edit "$id" --dry-run
has "$err" "not claimed"
tackle queue claim edit --lease 1h >/dev/null
ends 1 tackle queue requeue edit "$id" --dry-run
has "$err" "its lease runs"
ends 0 tackle queue requeue edit "$id" --force --dry-run
is "it would be requeued" "$out" "1 matching"
ends 1 tackle queue edit edit "$id" x
has "$err" "a worker has it"
ends 1 tackle queue edit edit "$id" x --dry-run --json
has "$err" '"TKL_BUSY"'
is "nothing has changed" "$(stat_of edit '[.ready, .delayed, .active]')" '[0,1,1]'
tackle queue requeue edit "$id" --force >/dev/null
tackle queue claim edit --lease 100ms >/dev/null
until tackle queue requeue edit "$id" --dry-run >/dev/null 2>&1; do sleep 0.05; done # its lease ends
ends 0 tackle queue drop edit --yes

json pause cancel
yields . '{"name":"cancel","paused":true}'
is "paused" "$(stat_of cancel .paused)" true
ends 1 tackle queue claim cancel
ends 0 tackle queue push cancel d
json resume cancel
yields . '{"name":"cancel","resumed":true}'
is "not paused" "$(stat_of cancel .paused)" false
ends 0 tackle queue claim cancel

ends 64 tackle queue drain cancel
has "$err" "--yes"
json drain cancel --yes
yields . '{"name":"cancel","removed":1}'
is "but for the active" "$(stat_of cancel '[.ready, .active]')" "[0,1]"
ends 0 tackle queue drain numbers --yes
is "counted" "$out" "2500 removed"

ends 64 tackle queue drop cancel
has "$err" "--yes"
json drop cancel --yes
yields . '{"name":"cancel","dropped":true}'
ends 1 tackle queue stats cancel

# ---- Dead letters ---------------------------------------------------------------------------------

kill_jobs() { tackle queue work "$1" --drain -- sh -c 'echo "cannot do $(cat)" >&2; exit 65' 2>/dev/null; }
ids=($(tackle queue push dead a b c))
kill_jobs dead
is "all dead" "$(stat_of dead '[.ready, .dead, .done]')" "[0,3,0]"
json dead dead
yields '[.[].payload]' '["c","b","a"]'
yields '.[2] | [.state, .error, .attempt]' '["dead","exit code 65: cannot do a",1]'
yields '.[2] | [.due_at, .until, (.since | test("^20[0-9-]+T[0-9:.]+Z$"))]' '[null,null,true]'
ends 0 tackle queue dead dead
has "$out" "cannot do a"
json dead dead --max 1 --skip 1
yields '[.[].payload]' '["b"]'
json retry dead "${ids[0]}"
yields . '{"name":"dead","retried":1}'
is "ready again" "$(payloads dead)" '["a"]'
ends 1 tackle queue retry dead "${ids[0]}"
has "$err" "not in the dead letters"
ends 1 tackle queue dead dead --delete "${ids[0]}"
has "$err" "not in the dead letters"
json dead dead --delete "${ids[1]}"
yields . '{"name":"dead","removed":1}'
json retry dead --all
yields . '{"name":"dead","retried":1}'
ends 1 tackle queue retry dead --all
has "$err" "no dead letters"
kill_jobs dead
json dead dead --delete-all --yes
yields . '{"name":"dead","removed":2}'
json dead dead
yields . '[]'

tackle queue push chosen a b --kind mail >/dev/null
tackle queue push chosen c --kind resize >/dev/null
kill_jobs chosen
json dead chosen --kind mail --reason "cannot do b"
yields '[.[].payload]' '["b"]'
ends 0 tackle queue dead chosen --text mail
has "$out" "cannot do a"
json dead chosen --older 1h
yields . '[]'
json retry chosen --kind mail --dry-run
yields . '{"name":"chosen","matching":2}'
json dead chosen --delete --kind mail --dry-run
yields . '{"name":"chosen","matching":2}'
json move chosen parked --older 1h --dry-run
yields . '{"name":"chosen","matching":0}'
is "a dry run changes nothing" "$(stat_of chosen '[.ready, .dead]')" "[0,3]"
json retry chosen --reason "cannot do a"
yields . '{"name":"chosen","retried":1}'
ends 64 tackle queue dead chosen --delete --kind mail
has "$err" "--yes"
json dead chosen --delete --kind mail --yes
yields . '{"name":"chosen","removed":1}'
json move chosen parked --all
yields . '{"name":"chosen","moved":1}'
is "moved" "$(payloads parked)" '["c"]'
kill_jobs chosen
json move chosen parked "$(tackle queue dead chosen --json | jq -r '.[0].id')"
yields . '{"name":"chosen","moved":1}'
ends 1 tackle queue move chosen parked --all
has "$err" "no dead letters"
ends 1 tackle queue retry chosen --kind mail
has "$err" "no dead letter fits"
for wrong in "retry chosen" "retry chosen x --all" "retry chosen --all --kind mail" "move chosen parked" \
    "dead chosen x" "dead chosen --dry-run" "dead chosen --delete" "dead chosen --delete --delete-all" \
    "dead chosen --delete-all --kind mail" "dead chosen --skip 1 --kind mail" "retry chosen --kind a/b" \
    "move chosen chosen --all" "find chosen x --max 0"; do
    ends 64 tackle queue $wrong
done
tackle queue push stays x --unique key --retries 0 >/dev/null
kill_jobs stays
tackle queue push taken x --unique key >/dev/null
ends 1 tackle queue move stays taken --all
has "$err" "unique keys"

# ---- Done jobs ------------------------------------------------------------------------------------

ends 0 tackle queue limit kept --keep 1h --keep-max 4
has "$out" "done jobs kept for  60.0 min"
for wrong in "--keep -1h" "--keep nonsense" "--keep-max -1" "--keep-bytes -1kb"; do
    ends 64 tackle queue limit kept $wrong
done
tackle queue push kept alice bob --kind mail --result-for 1h >/dev/null
printf '\377\0\001' | tackle queue push kept >/dev/null
ends 0 tackle queue work kept --drain --result --label here -- sh -c 'cat; echo sent'
json peek kept --state done
yields '[.[] | [.state, .kind, .payload, .result, .worker.label, .attempt]] | sort_by(.[2] | tostring)' \
    '[["done","mail","alice","alicesent\n","here",0],["done","mail","bob","bobsent\n","here",0],["done",null,{"base64":"/wAB"},null,"here",0]]'
yields '[.[] | .pushed_at <= .started_at and .started_at <= .since, .until, .due_at] | unique' '[null,true]'
ends 0 tackle queue done kept
has "$out" "alicesent"
id=$(tackle queue done kept --text alice --json | jq -r '.[0].id')
ends 0 tackle queue show kept "$id"
has "$out" "started"
json find kept bob
yields '[.found[] | [.state, .payload]]' '[["done","bob"]]'
is "kept" "$(stat_of kept '[.ready, .active, .dead, .bytes, .kept_jobs]')" "[0,0,0,0,3]"
ends 1 tackle queue cancel kept "$id"
ends 1 tackle queue edit kept "$id" x
ends 1 tackle queue retry kept "$id"
json done kept --delete "$id" --dry-run
yields . '{"name":"kept","matching":1}'
json done kept --delete "$id"
yields . '{"name":"kept","removed":1}'
ends 1 tackle queue done kept --delete "$id"
has "$err" "not in the done jobs"
ends 64 tackle queue done kept --delete --kind mail
json done kept --delete --kind mail --yes
yields . '{"name":"kept","removed":1}'
ends 1 tackle queue done kept --delete --kind mail --yes
has "$err" "no done job fits"
tackle queue push kept --lines < <(seq 10) >/dev/null
ends 0 tackle queue work kept --drain -- true
is "the newest" "$(stat_of kept .kept_jobs)" 4
json limit kept --keep 0
yields '[.keep_ms, .keep_max]' '[null,4]'
is "none" "$(stat_of kept .kept_jobs)" 0
json done kept --delete-all --yes
yields . '{"name":"kept","removed":0}'
ends 1 tackle queue done mistyped

# ---- Searching ------------------------------------------------------------------------------------

tackle queue push hay "needle 1" straw --delay 1h >/dev/null
tackle queue push hay "needle 2" --kind sew >/dev/null
json find hay needle
yields '[[.found[] | [.state, .payload]], .next]' '[[["ready","needle 2"],["delayed","needle 1"]],null]'
json find hay sew --state ready
yields '[.found[].payload]' '["needle 2"]'
json find hay needle --max 1
yields '.found[].payload' '"needle 2"'
json find hay needle --max 1 --after "$(jq -r .next <<<"$out")"
yields '.found[].payload' '"needle 1"'
ends 0 tackle queue find hay needle --max 1
has "$out" "needle 2"
has "$err" "--after"
ends 64 tackle queue find hay needle --after nonsense
ends 1 tackle queue find mistyped needle

ends 64 tackle queue push range x --retries 99999999999
has "$err" "0 to 2147483647"

# ---- Settings -------------------------------------------------------------------------------------

ends 1 tackle queue limit limited
has "$err" "there is no queue 'limited'"
json limit limited --max-jobs 0
yields '[.dead_max, .dead_ms, .keep_max, .keep_bytes]' '[10000,2592000000,10000,16777216]'
yields 'del(.name, .dead_max, .dead_ms, .keep_max, .keep_bytes) | map(. == null) | all' true
json limit limited --max-jobs 2 --rate 5/s --dead-for 1d
yields '[.max_jobs, .rate, .rate_period_ms, .dead_ms, .max_bytes]' '[2,5,1000,86400000,null]'
json limit limited --max-bytes 1mb
yields '[.max_jobs, .max_bytes]' '[2,1048576]'
ends 0 tackle queue limit limited
has "$out" "claims              5 in 1.0 s"
has "$out" "dead letters kept   10000"
ends 1 tackle queue push limited a b c --json
yields '.ids | [length, .[2]]' '[3,null]'
has "$err" "2 were pushed before"
ends 1 tackle queue push limited d
is "nothing on stdout" "$out" ""
json limit limited --max-jobs 0 --rate none
yields '[.max_jobs, .rate, .rate_period_ms]' '[null,null,null]'
ends 0 tackle queue push limited c

# Two operators at once: neither undoes what the other has set.
for i in {1..20}; do
    tackle queue limit both --max-jobs $i >/dev/null &
    other=$!
    ends 0 tackle queue limit both --max-bytes $i
    ended $other 0
    json limit both
    yields '[.max_jobs, .max_bytes]' "[$i,$i]"
done

# ---- Results --------------------------------------------------------------------------------------

id=$(tackle queue push sums "6 * 7" --result-for 1h)
ends 1 tackle queue result sums "$id"
has "$err" "not finished yet"
tackle queue result sums "$id" --wait 1m >"$home/result" &
waiter=$!
ends 0 tackle queue work sums --once --result -- sh -c 'echo $(($(cat)))'
is "nothing else is printed" "$out" ""
ended $waiter 0
is "the result" "$(cat "$home/result")" 42
json result sums "$id"
yields '[.id, .result]' "[\"$id\",\"42\\n\"]"
id=$(tackle queue push sums oops --result-for 1h --retries 0)
ends 1 tackle queue work sums --once -- sh -c 'echo broken >&2; exit 3'
ends 1 tackle queue result sums "$id"
has "$err" "the job is dead: exit code 3: broken"
ends 1 tackle queue result sums 0000000000000
has "$err" "no such job"

# ---- Schedules ------------------------------------------------------------------------------------

json schedule nightly report --cron '30 2 * * mon-fri' --zone Europe/Berlin --priority 3 \
    --missed skip "the report"
yields . '{"id":"report","scheduled":true}'
printf 'a\0b' | tackle queue schedule nightly bytes --every 1h >/dev/null || fail "from stdin"
json schedules nightly
yields '[.[].id]' '["bytes","report"]'
yields '.[1] | keys_unsorted' '["id","kind","cron","zone","every_ms","when_missed","priority","paused","next_at","last_at","payload"]'
yields '.[1] | [.cron, .zone, .every_ms, .when_missed, .priority, .last_at, .payload]' \
    '["30 2 * * mon-fri","Europe/Berlin",null,"skip",3,null,"the report"]'
yields ".[1].next_at | sub(\"\\\\.[0-9]+\"; \"\") | fromdate | . > $(date +%s) and . < $(date +%s) + 5 * 86400" true
yields '.[0] | [.cron, .zone, .every_ms, .when_missed, .payload]' '[null,null,3600000,"once","a\u0000b"]'
ends 0 tackle queue schedules nightly
has "$out" "30 2 * * mon-fri Europe/Berlin"
has "$out" "every 60.0 min"
is "counted" "$(stat_of nightly '[.schedules, .ready, .delayed]')" "[2,0,0]"
ends 0 tackle queue pause nightly --schedule report
is "quiet" "$out" ""
json resume nightly --schedule report
yields . '{"id":"report","resumed":true}'
json pause nightly --schedule report
yields . '{"id":"report","paused":true}'
is "it has no next time" "$(tackle queue schedules nightly --json |
    jq -c '.[] | select(.id == "report") | [.paused, .next_at]')" '[true,null]'
ends 0 tackle queue schedules nightly
has "$out" "paused"
ends 0 tackle queue fire nightly report
job=$out
is "it is pushed" "$(tackle queue show nightly "$job" --json | jq -r .state)" ready
ends 0 tackle queue cancel nightly "$job"
json fire nightly report
yields '[.id, .existed]' '["report",0]'
ends 0 tackle queue cancel nightly "$(jq -r .job <<<"$out")"
ends 1 tackle queue fire nightly nothing
has "$err" "no such schedule"
ends 1 tackle queue pause nightly --schedule nothing
ends 1 tackle queue resume nightly --schedule nothing
ends 64 tackle queue fire nightly
json unschedule nightly report
yields . '{"id":"report","unscheduled":true}'
ends 1 tackle queue unschedule nightly report
has "$err" "no such schedule"
ends 0 tackle queue schedule often tick --every 1s --retries 0 tock
ends 0 tackle queue work often --once --wait 1m -- cat
is "it fires" "$out" tock
json schedules often
yields '.[0].last_at | type' '"string"'
json schedules nothing
yields . '[]'

# ---- Partitions -----------------------------------------------------------------------------------

out=$(tackle queue push wide4 --lines --partitions 4 --json <<<"$(seq 1 40)")
yields '[.ids[] | split(".")[0]] | unique | length' 4
json stats wide4 --partitions 4
yields '[.ready, .pushed]' '[40,40]'
json list
yields '.[] | select(.name == "wide4") | [.ready, .partitions]' '[40,4]'
ends 0 tackle queue work wide4 --partitions 4 --drain -- cat
json stats wide4 --partitions 4
yields '[.ready, .done]' '[0,40]'

# ---- Names ----------------------------------------------------------------------------------------

for name in "with space" $'two\nlines' "{brace}" "a#1" "*" "ünï" "-dash" "100%" ":"; do
    ends 0 tackle queue push --json -- "$name" payload
    ends 0 tackle queue stats --json -- "$name"
    is "name" "$(jq -r .name <<<"$out")" "$name"
    yields .ready 1
done
ends 0 tackle queue list --json
yields '[.[] | select(.name == "two\nlines" or .name == "a#1")] | length' 2

# ---- Wrong usage ----------------------------------------------------------------------------------

long=$(printf '%0100d' 0)
for wrong in "push" "push ''" "push q --priority 1001" "push q --priority high" "push q --delay soon" \
    "push q x --delay 1s --at 12:00" "push q x --at someday" "push q x --retries -1" \
    "push q x --backoff 0" "push q x --unique ''" "push q x --until started" \
    "push q x --unique k --until never" "push q x --unique k --until started --unique-for 1s" \
    "push q x --unique k --unique-payload" "push q x --lines" "push q --lines --then x" \
    "push q x --request ''" "push q x --request $long" "push q x --partitions 0" \
    "push q x --partitions 257" "push q x --unknown" "work" "work q" "work q --" "work -- true" \
    "work q true" "work q --threads 0 -- true" "work q --threads 1001 -- true" \
    "work q --batch -1 -- true" "work q --once --drain -- true" "work q --wait 1s -- true" \
    "work q --lease 0 -- true" "claim" "claim q --lease 1ms" "claim q --wait x" "ack q" "ack q id" "fail q id t --dead --delay 1s" \
    "renew q id t --lease 0" "stats" "stats a b" "list a" "peek" "peek q --state asleep" "peek q --max 0" \
    "peek q --max 1001" "peek q --skip -1" "peek q --cut 0" "find q x --cut much" "show q" "result q" "dead" "dead q id" "dead q --delete" \
    "retry q" "retry q id --all" "cancel q" "promote q" "pause" "drain" "drop q" "limit" "limit q --rate 5" \
    "limit q --max-jobs -1" "limit q --max-bytes big" "schedule" "schedule q" "schedule jump" \
    "schedule q" "schedule q i payload" "schedule q i --cron '* * * * *' --every 1m x" \
    "schedule q i --every 1m --zone UTC x" "schedule q i --cron nonsense x" \
    "schedules" "schedules q i" "unschedule q" "jump q"; do
    eval "ends 64 tackle queue $wrong"
    has "$err" "tackle: queue"
    is "$wrong: nothing on stdout" "$out" ""
done

# ---- Servers that cannot be had -------------------------------------------------------------------

for verb in "push q x" "work q -- touch $home/ran" "claim q" "claim q --wait 1s" "ack q 0000000000000 00000000000000000000000000000000" \
    "stats q" "list" "peek q" "show q 0000000000000" "dead q" "retry q --all" "cancel q 0000000000000" \
    "pause q" "resume q" "drain q" "drop q --yes" "limit q" "limit q --rate 5/s" \
    "result q 0000000000000" "schedules q" "schedule q i --every 1m x"; do
    ends 69 tackle --url redis://127.0.0.1:1 --timeout 500ms queue $verb
done
[ ! -e "$home/ran" ] || fail "ran without a server"

# ---- Output that cannot be written ----------------------------------------------------------------

ends 70 bash -c 'tackle queue push full x >/dev/full'
has "$err" "cannot write to standard output"
ends 70 bash -c 'tackle queue list --json >/dev/full'
ends 70 bash -c 'tackle queue stats full >&-'

# A key of another type is in the way.
ends 0 tackle call SET 'tackle:queue:{odd}:ready' text
ends 70 tackle queue push odd x
has "$err" "WRONGTYPE"

# ---- why ------------------------------------------------------------------------------------------

ends 0 tackle queue push why a b
ends 0 tackle queue pause why
json why why
yields '[.state, (.causes | map(.cause))]' '["ready",["paused","no worker"]]'
yields '.causes[0] | keys_unsorted' '["cause","used","limit","time","text","id"]'
ends 0 tackle queue resume why
ends 0 tackle queue limit why --concurrency 1
ends 0 tackle queue claim why
ends 0 tackle queue why why
has "$out" "1 job claimed, and the concurrency is 1"
has "$out" "no worker waits; they have 1 job and room for 1 at once"
id=$(tackle queue push why c --delay 1h)
ends 0 tackle queue why why "$id"
has "$out" "$id: it is delayed until 2"
ends 1 tackle queue why why nothing
has "$err" "no such job"
ends 1 tackle queue why nowhere
has "$err" "there is no queue 'nowhere'"
ends 0 tackle queue drain why --yes
ends 1 tackle queue why why
has "$err" "no job waits"
ends 0 tackle queue drop why --yes

# ---- requeue --------------------------------------------------------------------------------------

id=$(tackle queue push again a)
ends 1 tackle queue requeue again "$id"
has "$err" "not claimed"
json claim again --lease 1h
token=$(jq -r .token <<<"$out")
ends 1 tackle queue requeue again "$id"
has "$err" "its lease runs"
json requeue again "$id" --force
is "the job is ready" "$(stat_of again '[.ready, .active, .failed]')" '[1,0,0]'
ends 1 tackle queue ack again "$id" "$token"
ends 64 tackle queue requeue again
ends 1 tackle queue requeue again nothing --force
ends 0 tackle queue drop again --yes

# ---- workers, times -------------------------------------------------------------------------------

ends 0 tackle queue push who a --kind resize
ends 0 tackle queue push who b c
json claim who --lease 1m
claim=$out
json workers who
yields 'length' 1
yields '.[0] | keys' \
    '["done","failed","host","id","jobs","label","lease_ms","pid","program","seen_at","threads","waiting"]'
yields '.[0] | [.program, .label, .threads, .waiting, .done, .lease_ms]' '["tackle",null,1,false,0,60000]'
yields '.[0].host | length > 0' true
is "its job" "$(jq -c '.[0].jobs | map([.queue, .id, .kind])' <<<"$out")" "[[\"who\",$(jq .id <<<"$claim"),\"resize\"]]"
is "the worker is in the token" "$(jq -r '.[0].id' <<<"$out")" "$(jq -r '.token[:10]' <<<"$claim")"
json peek who --state active
yields '.[0].worker | [.pid > 0, .label]' '[true,null]'
yields '.[0] | .since < .until' true
ends 0 tackle queue peek who --state active
has "$out" "WORKER"
ends 0 tackle queue show who "$(jq -r .id <<<"$claim")"
has "$out" "$(hostname | cut -c1-20)"
ends 0 tackle queue ack who "$(jq -r .id <<<"$claim")" "$(jq -r .token <<<"$claim")"
ends 0 tackle queue work who --drain --label "two words" -- true
json times who
yields 'map([.kind, .done, .failed, .wait.count, .run.count])' '[[null,2,0,2,2],["resize",1,0,1,1]]'
yields '.[0].run.buckets | [length, .[0].up_to_ms, .[13].up_to_ms, .[14].up_to_ms]' '[15,1,3000000,null]'
ends 0 tackle queue times
has "$out" resize
ends 1 tackle queue workers nowhere
ends 1 tackle queue times nowhere
ends 64 tackle queue workers who more
ends 64 tackle queue work who --label "$(printf '%065d' 1)" --drain -- true
tackle queue work who --label blue -- sleep 100 &
worker=$!
ends 0 tackle queue push who d
is_blue() { [ "$(tackle queue workers --json | jq -c 'map(select(.label == "blue") | .jobs | length)')" = "[1]" ]; }
eventually "it has the job" is_blue
kill $worker
wait $worker
is "it said that it ends" "$(tackle queue workers --json | jq -c 'map(select(.label == "blue"))')" "[]"
ends 0 tackle queue drop who --yes

# ---- The user of docs/queue.md may do all this, and no more ---------------------------------------

mapfile -t rules < <(sed -n '/^ACL SETUSER/,/^```/{/^```/d; s/^ *//; p}' "$TACKLE_SOURCE/docs/queue.md" | tr ' ' '\n')
ends 0 tackle call "${rules[@]}"
socket=$(tackle server status --json | jq -r .socket)
export TACKLE_URL=unix://clerk@$socket TACKLE_PASSWORD=secret
ends 0 tackle queue limit acl --group-concurrency 1 --group-rate 100/s --rate 1000/s --max-jobs 100 --dead-max 1 --keep 1h --keep-max 1
ends 0 tackle queue push acl a b --group g --unique-for 1h --unique-payload --result-for 1h
id=${out%%$'\n'*}
ends 0 tackle queue push acl c d --then e
ends 0 tackle queue work acl --drain --threads 2 --result -- cat
is "a result" "$(tackle queue result acl "$id" --wait 1m)" a
ends 0 tackle queue push acl f --delay 50ms --retries 0
ends 1 tackle queue work acl --once --wait 1m -- false
ends 0 tackle queue retry acl --all
ends 0 tackle queue drain acl --yes
ends 0 tackle queue push acl g
ends 0 tackle queue claim acl --lease 100ms
tackle queue claim acl --wait 1m --json >"$home/claim" || fail "waiting for a lease"
ends 0 tackle queue renew acl "$(jq -r .id "$home/claim")" "$(jq -r .token "$home/claim")" --progress half
ends 0 tackle queue fail acl "$(jq -r .id "$home/claim")" "$(jq -r .token "$home/claim")"
ends 0 tackle queue schedule acl tick --every 1s x
ends 0 tackle queue work acl --once --wait 1m -- cat
ends 0 tackle queue unschedule acl tick
for verb in "list" "why acl" "workers" "workers acl" "times" "times acl" "stats acl" "peek acl" "peek acl --state held" "dead acl" "dead acl --delete-all --yes" \
    "peek acl --state done" "done acl --text a" "done acl --delete-all --yes" "limit acl --keep 0" \
    "pause acl" "resume acl" "drain acl --yes" "drop acl --yes"; do
    ends 0 tackle queue $verb
done
ends 77 tackle --namespace other queue push acl x
has "$err" "NOPERM"
echo "queue: all good"
