#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle bits`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

is "set" "$(tackle bits set days 10)" 0
is "set again" "$(tackle bits set days 10 1 --json)" '{"before": 1}'
is "get" "$(tackle bits get days 10)" 1
is "get what was never set" "$(tackle bits get days 4000000000)" 0
tackle bits set days 12 >/dev/null
is "count" "$(tackle bits count days)" 2
is "count of a range" "$(tackle bits count days --from 11 --to -1)" 1
is "find" "$(tackle bits find days 1 --json)" '{"bit": 10}'
is "find of a range" "$(tackle bits find days 0 --from 12)" 13
ends 1 tackle bits find days 1 --from 13
is "find in a range of nothing" "$(tackle bits find none 0 --from 5 --to 9)" 5
ends 1 tackle bits find none 1 --from 5 --to 9
ends 1 tackle bits find none 0 --from -5
is "count as JSON" "$(tackle bits count days --json)" '{"count": 2}'
is "get as JSON" "$(tackle bits get days 10 --json)" '{"value": 1}'
is "list" "$(tackle bits list)" $'NAME\ndays'
ends 0 tackle bits set brief 1 --ttl 1h
is "expires" "$(tackle call TTL 'tackle:bits:{brief}')" 3600
tackle bits set other 12 >/dev/null
is "combine" "$(tackle bits combine both and days other)" 2
is "its result" "$(tackle bits find both 1) $(tackle bits count both)" "12 1"
is "not" "$(tackle bits combine both not both; tackle bits count both)" $'2\n15'

is "fields" "$(tackle bits fields f set u8 '#1' 250 add u8 8 10 get u8 '#1' --json | jq -c .)" '[{"value":0},{"value":4},{"value":4}]'
is "saturate" "$(tackle bits fields f add u8 8 255 --overflow saturate)" 255
is "negative numbers" "$(tackle bits fields f add i8 16 -5)" -5
ends 1 tackle bits fields f add u8 8 1 get u8 8 --overflow fail --json
is "fail" "$(jq -c . <<<"$out")" '[{"value":null},{"value":255}]'
ends 1 tackle bits fields f add u8 8 1 --overflow fail
is "fail, for people" "$out" "-"

ends 64 tackle bits drop f
ends 0 tackle bits drop f --yes
ends 1 tackle bits drop f --yes
for wrong in "get days x" "get days -1" "get days 4294967296" "set days 1 2" "find days 2" \
    "combine a nand b" "combine a not b c" "combine a and" "fields f" "fields f put u8 0" "fields f get u64 0" \
    "fields f get x 0" "fields f set u8 0" "fields f get u8 #x"; do
    ends 64 tackle bits $wrong
done

# The permissions that the page names are enough.
become bitmaps sketches.md
for verb in "set acl 5 --ttl 1h" "get acl 5" "count acl" "find acl 1" "find acl 0 --from 2 --to 9" \
    "combine acl-2 or acl" "fields acl get u8 0" "fields acl add u8 0 1" list "drop acl --yes"; do
    ends 0 tackle bits $verb
done
ends 77 tackle call GET x
