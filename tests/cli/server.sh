#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Files of the private server: saved, rewritten, copied; what status says about them.
. "$(dirname "$0")/lib.bash"
start() {
    export TACKLE_URL=embedded:$home/$1
    ends 0 tackle server start --durability "$1"
    ends 0 tackle call SET greeting "hello $1"
}
status() {
    ends 0 tackle server status --json
    jq -r "$1" <<<"$out"
}

for word in none snapshot lazy everysec always; do
    start $word
    [ "$(status .at_risk)" != null ] || fail "$word: nothing about what would be lost"
done

export TACKLE_URL=embedded:$home/none
has "$(status .at_risk)" everything
ends 64 tackle server save
has "$err" "durability none keeps nothing"
ends 64 tackle server rewrite

export TACKLE_URL=embedded:$home/snapshot
is "not saved yet" "$(status '[.saved_at, .aof_bytes, .unsaved_changes] | @json')" '[null,null,1]'
has "$(status .at_risk)" "changes since the last snapshot"
ends 0 tackle server save --json
is "saved" "$(jq -r '[.unsaved_changes, .at_risk] | @json' <<<"$out")" '[0,"nothing"]'
[[ $(jq -r .saved_at <<<"$out") == 20*Z ]] || fail "no time: $out"
ends 64 tackle server rewrite

export TACKLE_URL=embedded:$home/always
for ((i = 0; i < 20; i++)); do tackle call SET greeting 'hello always' >/dev/null; done
before=$(status .aof_bytes)
ends 0 tackle server rewrite --json
(($(jq .aof_bytes <<<"$out") < before)) || fail "not shorter than $before: $out"
ends 0 tackle server save

# A backup is a directory that a server can start on; the original is as it was.
for word in none snapshot always; do
    export TACKLE_URL=embedded:$home/$word
    ends 0 tackle server backup "$home/copy of $word"
    is "only its user may look" "$(stat -c %a "$home/copy of $word")" 700
    ends 0 tackle call GET greeting --url "embedded:$home/copy%20of%20$word"
    is "the copy" "$out" "hello $word"
    ends 0 tackle server stop --url "embedded:$home/copy%20of%20$word"
    ends 1 tackle server backup "$home/copy of $word"
    has "$err" "exists already"
done
[ ! -e "$home/none/dump.rdb" ] || fail "none would load a snapshot at its next start"
ends 1 tackle server stop --url "embedded:$home/missing"
for verb in save rewrite "backup $home/x"; do
    # shellcheck disable=SC2086
    ends 1 tackle server $verb --url "embedded:$home/missing"
    has "$err" "not running"
done
