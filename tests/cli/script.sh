#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle script`: Lua of the user's own.
. "$(dirname "$0")/lib.bash"
start_server

echo "return redis.call('INCRBY', KEYS[1], ARGV[1])" >"$home/add.lua"
is "keys and arguments" "$(tackle script run "$home/add.lua" visits -- 3)" 3
is "readable" "$(tackle script run --readable "$home/add.lua" visits -- 4)" "(integer) 7"
is "from standard input" "$(echo 'return ARGV' | tackle script run - --json -- a b)" '["a", "b"]'
is "options behind the dashes are arguments" "$(echo 'return #ARGV' | tackle script run - -- --json)" 1
is "nothing but the script" "$(echo 'return #KEYS' | tackle script run -)" 0

printf 'local a\nreturn a.b\n' >"$home/wrong.lua"
ends 70 tackle script run "$home/wrong.lua"
has "$err" "wrong.lua:2:"
ends 70 tackle script run --read-only "$home/add.lua" visits -- 3
ends 70 tackle script run "$home/missing.lua"
has "$err" "missing.lua: No such file"
ends 64 tackle script run
ends 64 tackle script run -- "$home/add.lua"
: >"$home/empty.lua"
ends 64 tackle script run "$home/empty.lua"
has "$err" "is empty"
