#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The user in docs/operators.md who may only look: every view works, and nothing changes.
. "$(dirname "$0")/lib.bash"
start_server

# How often the data of the server has changed.
changes() { tackle call INFO persistence | tr -d '\r' | grep -o 'rdb_changes_since_last_save:[0-9]*'; }

ends 0 tackle queue push mails a b c
ends 0 tackle queue push mails broken --retries 0 --priority -9
json=$(tackle queue claim mails --json)
ends 0 tackle queue fail mails "$(jq -r .id <<<"$json")" "$(jq -r .token <<<"$json")" --reason "no such user"
dead=$(jq -r .id <<<"$json")
ends 0 tackle queue claim mails --lease 1h
ends 0 tackle queue push mails later --delay 1h
later=$out
ends 0 tackle queue schedule mails nightly --cron '0 3 * * *' report
ends 0 tackle lock acquire deploy --lease 1h
ends 0 tackle sem acquire crawlers --limit 5 --lease 1h
ends 0 tackle counter add hits 3
ends 0 tackle search create docs
# One of the two takes has ended; nothing has removed it.
ends 0 tackle limit check api ann --rate 5/1s --algorithm window
ends 0 tackle limit check api ann --rate 5/1h --algorithm window
until [ "$(tackle limit show api ann --json | jq .taken)" = 1 ]; do sleep 0.05; done
ends 0 tackle server functions --load

become operator operators.md
before=$(changes)
while read -r verb; do
    ends 0 tackle $verb
    [ -n "$out" ] || fail "tackle $verb printed nothing"
done <<END
status
top --once
metrics
queue list
queue stats mails
queue workers
queue workers mails
queue times
queue why mails
queue why mails $later
queue peek mails
queue peek mails --state active
queue peek mails --state delayed
queue find mails later
queue show mails $later
queue dead mails
queue limit mails
queue schedules mails
lock list
lock show deploy
sem list
sem show crawlers
limit list
limit list api
limit show api ann
search list
queue promote mails $later --dry-run
queue cancel mails $later --dry-run
queue edit mails $later x --dry-run
END
ends 0 tackle limit show api ann --json
is "what was taken" "$(jq -c '[.taken, (.takes | length)]' <<<"$out")" '[1,1]'

while read -r verb; do
    ends 77 tackle $verb
done <<END
queue push mails x
queue pause mails
queue resume mails
queue promote mails $later
queue cancel mails $later
queue edit mails $later x
queue retry mails $dead
queue drain mails --yes
queue drop mails --yes
queue fire mails nightly
queue pause mails --schedule nightly
queue unschedule mails nightly
queue limit mails --max-jobs 5
lock break deploy
sem break crawlers
limit check api ann --rate 5/1h --algorithm window
limit reset api ann
END
is "nothing has changed" "$(changes)" "$before"
