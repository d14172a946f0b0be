#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle bloom`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

ends 1 tackle bloom exists seen apple
has "$err" "there is no filter 'seen'"
ends 0 tackle bloom add fresh apple
is "made by adding" "$(tackle bloom show fresh --json | jq -c '[.error_rate, .capacity, .fixed]')" \
    '[0.01,10000,false]'
ends 1 tackle bloom add tiny a b c --error 0.1 --capacity 2 --fixed
is "made as asked" "$(tackle bloom show tiny --json | jq -c '[.error_rate, .capacity, .count, .fixed]')" \
    '[0.1,2,2,true]'
ends 0 tackle bloom add fresh pear --error 0.1 --capacity 2
is "stays as it was" "$(tackle bloom show fresh --json | jq .capacity)" 10000
ends 64 tackle bloom add nowhere apple --error 2
ends 0 tackle bloom reserve seen --error 0.001 --capacity 1000
ends 1 tackle bloom reserve seen --capacity 5
has "$err" "exists already"
ends 0 tackle bloom add seen apple pear apple
is "new and known" "$out" $'new     apple\nnew     pear\nknown   apple'
ends 0 tackle bloom exists seen apple pear --json
is "all present" "$(jq -c . <<<"$out")" '[{"item":"apple","present":true},{"item":"pear","present":true}]'
ends 1 tackle bloom exists seen apple plum --json
is "one absent" "$(jq -c 'map(.present)' <<<"$out")" "[true,false]"
ends 1 tackle bloom exists seen apple plum
is "for people" "$out" $'present apple\nabsent  plum'

seq 1 5000 >"$home/numbers"
is "lines" "$(tackle bloom add seen --lines --json <"$home/numbers" | jq length)" 5000
is "no line is lost" "$(tackle bloom exists seen --lines --json <"$home/numbers" | jq 'map(.present) | all')" true
is "lines without an end" "$(printf 'a\n\nb' | tackle bloom add seen --lines --json | jq length)" 3
is "list" "$(tackle bloom list | paste -sd " ")" "NAME fresh seen tiny"
ends 0 tackle bloom show seen --json
is "it has grown" "$(jq -c '[.error_rate, .capacity, .filters, .hashes, .fixed]' <<<"$out")" \
    '[0.001,7000,3,9,false]'

ends 0 tackle bloom reserve small --capacity 2 --fixed --json
is "reserved" "$(jq -c . <<<"$out")" '{"name":"small","reserved":true}'
ends 1 tackle bloom add small a b c a
is "what is in it" "$out" $'new     a\nnew     b\nrefused c\nknown   a'
has "$err" "the filter is full: 1 of 4 were refused"
ends 1 tackle bloom add small a c d --json
is "refused" "$(jq -c . <<<"$out")" \
    '[{"item":"a","result":"known"},{"item":"c","result":"refused"},{"item":"d","result":"refused"}]'
has "$err" "2 of 3 were refused"
is "each of many" "$(seq 1 1500 | tackle bloom add small --lines --json 2>"$home/err" | jq length)" 1500
has "$(cat "$home/err")" "of 1500 were refused"
ends 64 tackle bloom merge small seen
has "$err" "made with"
ends 0 tackle bloom reserve other --error 0.001 --capacity 1000
ends 0 tackle bloom merge other seen
ends 0 tackle bloom exists other apple 5000
ends 0 tackle bloom drop other --yes --json
ends 1 tackle bloom drop other --yes

for wrong in "seen" "seen x --lines"; do
    ends 64 tackle bloom add $wrong
done
ends 64 tackle bloom drop seen # without --yes
ends 64 tackle bloom reserve x --capacity 10 --error few
for error in 0 1 -1 nan 1e-13; do
    ends 64 tackle bloom reserve x --capacity 10 --error=$error
done
ends 64 tackle bloom reserve x --capacity 0
ends 64 tackle bloom reserve x --capacity 1000000000000
has "$err" "GiB"

# Dense numbers of 5 bytes: as often as asked for, also when the filter has grown.
seq 20000 29999 >"$home/added"
seq 30000 39999 >"$home/asked"
for capacity in 100000 1000; do
    tackle bloom add ids$capacity --error 0.0001 --capacity $capacity --lines <"$home/added" >/dev/null
    found=$(tackle bloom exists ids$capacity --lines <"$home/asked" | grep -c '^present')
    [ "$found" -le 8 ] || fail "$found of 10000 absent numbers were called present"
done

ends 0 tackle bloom add brief apple --ttl 1h
life=$(tackle call PTTL 'tackle:bloom:{brief}:0.0')
[ "$life" -gt 3600000 ] && [ "$life" -lt 4100000 ] || fail "the part lives for $life ms"

# The permissions that the page names are enough.
become blooms bloom.md
for verb in "reserve acl --capacity 2" "add acl a b c d e f --ttl 1h" "exists acl a" "show acl" \
    "reserve acl-2 --capacity 2" "merge acl-2 acl" list "drop acl --yes"; do
    ends 0 tackle bloom $verb
done
ends 77 tackle call DEL x
