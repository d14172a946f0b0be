#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Every experiment of the laboratory shows what it announces, and leaves nothing behind.
# ctest: cost 60
. "$(dirname "$0")/lib.bash"

# The directories of experiments on this machine, also those of other programs.
stages() { ls -d /tmp/tackle-lab.* 2>/dev/null | sort; }
before=$(stages)

ends 0 tackle lab
has "$out" "lock-race"
ends 0 tackle lab --json
names=$(jq -r '.[].name' <<<"$out")
[ "$(wc -l <<<"$names")" -ge 16 ] || fail "too few experiments: $names"

# Some experiments measure beside what they count: naive and tackle are the lines of both.
shows_rates() {
    for lines in "$naive" "$tackle"; do
        for writers in "1 writer: " "2 writers:" "4 writers:" "8 writers:"; do
            grep -qE "$writers +[0-9]+ done a second, +[0-9.]+ attempts for each$" <<<"$lines" ||
                fail "no rates of $writers in: $lines"
        done
    done
}

shows_waits() {
    for lines in "$naive" "$tackle"; do
        grep -qx 1000000 <<<"$lines" || fail "not all keys: $lines"
        grep -qE '^another client: [0-9]+ waits, .* the longest [0-9.]+ ms$' <<<"$lines" ||
            fail "no waits: $lines"
    done
}

for name in $names; do
    ends 0 tackle lab "$name" --json
    is "$name: the name" "$(jq -r .name <<<"$out")" "$name"
    has "$(jq -c '[.naive.count, .tackle.count | type]' <<<"$out")" '["number","number"]'
    [ $name = keys ] || # times: a busy machine may show anything
        [ "$(jq '.naive.count > .tackle.count' <<<"$out")" = true ] || fail "$name shows nothing: $out"
    [ "$(jq '[.naive, .tackle | .steps | length > 0] | all' <<<"$out")" = true ] || fail "no steps: $out"
    naive=$(jq -r '.naive.steps[-1].output' <<<"$out") tackle=$(jq -r '.tackle.steps[-1].output' <<<"$out")
    case $name in
        optimistic) shows_rates ;;
        keys) shows_waits ;;
    esac
    [ -f "$TACKLE_SOURCE/docs/$(jq -r .page <<<"$out")" ] || fail "$name: no such page"
    is "$name: nothing on stderr" "$err" ""
done

ends 0 tackle lab mailbox
for part in "The naive way" "With tackle" "What was seen" "What to learn" \
    "messages deleted unread: 1 the naive way, 0 with tackle" '$ tackle mail ack ann 1'; do
    has "$out" "$part"
done

# A terminal shows the same lines, one below the other.
shown=$(script -qec "tackle lab lock-race" /dev/null </dev/null | tr -d '\r')
grep -qE '^ {9}name +door$' <<<"$shown" || fail "the lines of a step on a terminal: $shown"
grep -qE '^ {9}fence +[0-9]+$' <<<"$shown" || fail "the lines of a step on a terminal: $shown"

# It uses no server of the user.
ends 0 env TACKLE_URL=redis://127.0.0.1:1 TACKLE_PASSWORD=wrong tackle lab mailbox
[ ! -e "$XDG_DATA_HOME" ] || fail "the laboratory has touched the user's own server"

ends 64 tackle lab nonsense
has "$err" "there is no experiment 'nonsense'"
ends 64 tackle lab mailbox publish
# Directories of other programs go when they end.
for left in $(comm -13 <(echo "$before") <(stages)); do
    for ((i = 0; i < 600; i++)); do
        [ -e "$left" ] || break
        sleep 0.1
    done
    [ ! -e "$left" ] || fail "this is left: $left"
done
