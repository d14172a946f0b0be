#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle scan`: keys and members, each once.
. "$(dirname "$0")/lib.bash"
start_server

ends 0 tackle scan
is "nothing there" "$out" ""
tackle call EVAL "for i = 1, 3000 do redis.call('SET', 'user:' .. i, i) end" 0 >/dev/null
tackle call SADD set a b c >/dev/null
tackle call HSET hash f1 v1 f2 v2 >/dev/null
tackle call ZADD zset 1.5 one 2 two >/dev/null
is "all keys" "$(tackle scan | sort -u | wc -l)" 3003
is "each once" "$(tackle scan | wc -l)" 3003
is "a pattern" "$(tackle scan --match 'user:1?' --count 10 | wc -l)" 10
is "a type" "$(tackle scan --type zset)" zset
is "as JSON" "$(tackle scan --type hash --json)" '{"name": "hash"}'
is "members of a set" "$(tackle scan --members set | sort | paste -sd ' ')" "a b c"
is "fields of a hash" "$(tackle scan --members hash | sort)" $'f1\tv1\nf2\tv2'
is "scores" "$(tackle scan --members zset --json --match 'o*')" '{"name": "one", "value": "1.5"}'
is "bare bytes" "$(tackle call SET $'a\xff\tb' 1 >/dev/null; tackle scan --match 'a?*b' | od -An -c |
    tr -d ' ')" 'a377\tb\n'
ends 0 tackle scan --members nothing
is "no such key" "$out" ""
ends 70 tackle scan --members user:1
has "$err" "no members"
ends 64 tackle scan --count=-1
ends 64 tackle scan --count 99999999999
ends 64 tackle scan --type tree
ends 64 tackle scan --match ''
ends 64 tackle scan --members=
ends 64 tackle scan --members set --type set
tackle scan >/dev/full 2>"$home/err"
is "a full disk" $? 70

# Another process goes on with a cursor.
tackle scan --stop-after 1000 >"$home/first" 2>"$home/more"
[ "$(wc -l <"$home/first")" -lt 3000 ] || fail "not stopped"
cursor=$(sed -n 's/^more: --cursor //p' "$home/more")
tackle scan --cursor "$cursor" >"$home/second"
is "all in two pieces" "$(cat "$home/first" "$home/second" | sort | uniq | wc -l)" 3004
is "none in both" "$(cat "$home/first" "$home/second" | wc -l)" 3004
is "as JSON" "$(tackle scan --stop-after 1000 --json | tail -n 1 | jq -r .cursor)" "$cursor"
is "not many more" "$(($(tackle scan --stop-after 20 2>/dev/null | wc -l) < 100))" 1
ends 0 tackle scan --stop-after 100000
is "nothing left" "$err" ""
ends 64 tackle scan --cursor nonsense
ends 64 tackle scan --stop-after 0
ends 64 tackle scan --cursor "${cursor%.*}.0123456789012345678901234567890123456789"
has "$err" "begin again"

# The permissions that the page names are enough.
become scans scan.md
for options in "" "--members set" "--members hash" "--members zset --match x*" --stop-after=1; do
    ends 0 tackle scan $options
done
ends 77 tackle call GET x
