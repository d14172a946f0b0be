#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle bits`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

is "set" "$(tackle bits set days 10)" 0
is "set again" "$(tackle bits set days 10 1 --json)" 1
is "get" "$(tackle bits get days 10)" 1
is "get what was never set" "$(tackle bits get days 4000000000)" 0
tackle bits set days 12 >/dev/null
is "count" "$(tackle bits count days)" 2
is "count of a range" "$(tackle bits count days --from 11 --to -1)" 1
is "pos" "$(tackle bits pos days 1 --json)" 10
is "pos of a range" "$(tackle bits pos days 0 --from 12)" 13
ends 1 tackle bits pos days 1 --from 13
tackle bits set other 12 >/dev/null
is "op" "$(tackle bits op both and days other)" 2
is "its result" "$(tackle bits pos both 1) $(tackle bits count both)" "12 1"
is "not" "$(tackle bits op both not both; tackle bits count both)" $'2\n15'

is "fields" "$(tackle bits field f set u8 '#1' 250 incr u8 8 10 get u8 '#1' --json)" "[0, 4, 4]"
is "saturate" "$(tackle bits field f incr u8 8 255 --overflow saturate)" 255
is "negative numbers" "$(tackle bits field f incr i8 16 -5)" -5
ends 1 tackle bits field f incr u8 8 1 get u8 8 --overflow fail --json
is "fail" "$out" "[null, 255]"
ends 1 tackle bits field f incr u8 8 1 --overflow fail
is "fail, for people" "$out" "-"

ends 0 tackle bits drop f
ends 1 tackle bits drop f
for wrong in "get days x" "get days -1" "get days 4294967296" "set days 1 2" "pos days 2" \
    "op a nand b" "op a not b c" "op a and" "field f" "field f put u8 0" "field f get u64 0" \
    "field f get x 0" "field f set u8 0" "field f get u8 #x"; do
    ends 64 tackle bits $wrong
done
