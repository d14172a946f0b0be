#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tools/embed: what it makes of good scripts, and that it refuses bad ones with file and line.
set -euo pipefail

embed=$TACKLE_BUILD/embed
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/lock" "$dir/out"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# Puts standard input into lock/take.lua, the only script.
script() {
    rm -f "$dir"/lock/*
    cat >"$dir/lock/take.lua"
}

# script, then: embed must fail with exactly these messages ("line: text", sorted by line).
refuses() {
    local behaviour=$1 expected=$2
    rm -f "$dir"/out/*
    ! "$embed" "$dir/lock" "$dir/out" 2>"$dir/messages" || fail "$behaviour: was accepted"
    diff -u <(printf '%s\n' "$expected") \
        <(sed "s,^$dir/lock/take.lua:\([0-9]*\): error: ,\1: ," "$dir/messages") ||
        fail "$behaviour"
    [ -z "$(ls "$dir/out")" ] || fail "$behaviour: output was written all the same"
}

# script, then: embed must accept it, and the server gets exactly this text.
gives() {
    local behaviour=$1 expected=$2
    "$embed" "$dir/lock" "$dir/out" || fail "$behaviour: was refused"
    cat >"$dir/print.c" <<'END'
#include "lock/scripts.c"
#include <stdio.h>
int main(void)
{
    const tkl__script *s = &tkl__lua_lock_take;
    fwrite(s->source, 1, s->len, stdout);
    fprintf(stderr, "%s %s %d%s %d%s\n", s->name, s->sha1, s->nkeys, s->open_keys ? "+" : "",
            s->nargs, s->open_args ? "+" : "");
    return 0;
}
END
    rm -rf "$dir/gen" && mkdir "$dir/gen" && cp -r "$dir/out" "$dir/gen/lock"
    cc -D_GNU_SOURCE -I"$dir/gen" -I"$TACKLE_SOURCE/src" -I"$TACKLE_SOURCE/include" \
        "$dir/print.c" -o "$dir/print"
    "$dir/print" >"$dir/text" 2>"$dir/facts"
    diff -u <(printf '%s\n' "$expected") "$dir/text" || fail "$behaviour"
    [ "$(cut -d' ' -f2 "$dir/facts")" = "$(sha1sum <"$dir/text" | cut -d' ' -f1)" ] ||
        fail "$behaviour: wrong SHA1"
}

facts() { # the name and the numbers of the last script
    [ "$(cut -d' ' -f1,3- "$dir/facts")" = "$1" ] || fail "expected '$1', got '$(cat "$dir/facts")'"
}

# ---- Good ones ----------------------------------------------------------------------------------

script <<'END'
-- lock/take: takes it.
-- A second line of prose.
-- KEYS[1] lock    hash
-- ARGV[1] token
-- ARGV[2...] tags any number
-- returns {code}
local token = ARGV[1]   -- the owner
if #ARGV > 1 then
    return redis.call('SET', KEYS[1], token) --[[ a
      block ]] or 0
end
END
gives "comments and indentation go, lines stay" '





local token = ARGV[1]
if #ARGV > 1 then
return redis.call('"'SET'"', KEYS[1], token)
or 0
end'
facts "lock/take 1 1+"

script <<'END'
-- lock/take: literals.
-- returns a string
local a = "-- not a   comment \" -- still not"
local b = '  \' --x'
local c = [[
    long   -- string
  ]]
local d = [==[ ]] -- ]==] -- gone
return a .. b .. c .. d .. 'KEYS[1] ?? \\' .. "é"
END
gives "string literals are never touched" '

local a = "-- not a   comment \" -- still not"
local b = '"'  \\' --x'"'
local c = [[
    long   -- string
  ]]
local d = [==[ ]] -- ]==]
return a .. b .. c .. d .. '"'KEYS[1] ?? \\\\'"' .. "é"'
facts "lock/take 0 0"

script <<'END'
-- lock/take: with a fragment.
-- KEYS[1] lock
-- ARGV[1] token
-- returns {code}
-- include: helper
return {owner()}
END
cat >"$dir/lock/helper.inc.lua" <<'END'
-- Who holds it.
local function owner()
    if ARGV[1] == '' then -- nobody
        return 0
    end
    return redis.call('GET', KEYS[1])
end
END
gives "a library is pasted line by line and its uses count" '




local function owner()
if ARGV[1] == '"''"' then
return 0
end
return redis.call('"'GET'"', KEYS[1])
end

return {owner()}'
facts "lock/take 1 1"
! grep -q helper "$dir/out/scripts.h" || fail "a library is no script"
origins() { # the lines of the generated list, without braces
    [ "$(sed -n '/^static const tkl__origin/,/{0}/p' "$dir/out/scripts.c" | grep -o '[0-9]*, "[^}]*' |
        tr '\n' ';')" = "$1" ] || fail "expected origins '$1', got: $(cat "$dir/out/scripts.c")"
}
origins '1, "lock/take.lua", 1;5, "lock/helper.inc.lua", 1;12, "lock/take.lua", 5;'

mkdir "$dir/shared"
mv "$dir/lock/helper.inc.lua" "$dir/shared/helper.inc.lua"
script <<'END'
-- lock/take: with a library that several components share.
-- KEYS[1] lock
-- ARGV[1] token
-- returns {code}
-- include: shared/helper
return {owner()}
END
"$embed" "$dir/lock" "$dir/out" || fail "a library that is shared: was refused"
origins '1, "lock/take.lua", 1;5, "shared/helper.inc.lua", 1;12, "lock/take.lua", 5;'
rm -r "$dir/shared"

script <<'END'
-- lock/take: libraries that include libraries, arguments with names.
-- KEYS[1] state
-- ARGV[1] token
-- ARGV[2] lease
-- ARGV[3...] tags
-- returns {code}
local STATE = KEYS[1]
local token, lease = unpack(ARGV)
local now = 1
-- include: one
-- include: two
return {one(token), two(lease)}
END
cat >"$dir/lock/one.inc.lua" <<'END'
-- include: two
local LEAST, MOST = 1, 2
local function one(token)
  local entry = {name = token, till = now + MOST}
  for i, part in ipairs(entry) do
    entry[i] = two(part)
  end
  return redis.call('GET', STATE), entry.name
end
END
cat >"$dir/lock/two.inc.lua" <<'END'
local function two(part)
  return part
end
END
"$embed" "$dir/lock" "$dir/out" || fail "good libraries were refused"
is_once=$(grep -c 'local function two' "$dir/out/scripts.c")
[ "$is_once" = 1 ] || fail "a library stands $is_once times in its script"

script <<'END'
-- lock/take: the first arguments get names.
-- ARGV[1] token
-- ARGV[2] lease
-- ARGV[3...] tags
-- returns {code}
local token, lease = unpack(ARGV, 1, 2)
return {token, lease, unpack(ARGV, 3)}
END
"$embed" "$dir/lock" "$dir/out" || fail "unpack() with bounds was refused"

script <<'END'
-- lock/take: open lists.
-- KEYS[1...] locks
-- returns {code}
return redis.call('DEL', unpack(KEYS))
END
gives "KEYS can be open-ended" '


return redis.call('"'DEL'"', unpack(KEYS))'
facts "lock/take 0+ 0"

# ---- Bad ones -----------------------------------------------------------------------------------

script <<'END'
return 1
END
refuses "a missing header" '1: the first line must be "-- lock/take: what it does"
1: the header has no "-- returns ..."'

script <<'END'
-- lock/release: the wrong name.
-- returns {code}
return {0}
END
refuses "a title that is not the path" '1: the first line must be "-- lock/take: what it does"'

script <<'END'
-- lock/take: it.
-- KEYS[1] lock
-- KEYS[3] queue
-- ARGV[1]
-- returns {code}
return redis.call('GET', KEYS[1])
END
refuses "gaps and missing names" '3: KEYS[3] should be KEYS[2]
4: a declaration reads "ARGV[1] name" or "ARGV[1...] name"'

script <<'END'
-- lock/take: it.
-- KEYS[1] lock
-- ARGV[1...] more
-- ARGV[2] late
-- returns {code}
return redis.call('GET', KEYS[1], unpack(ARGV))
END
refuses "a declaration behind the open one" '4: nothing can follow "ARGV[1...]"'

script <<'END'
-- lock/take: it.
-- KEYS[1] lock
-- ARGV[1] token
-- returns {code}

return redis.call('GET', KEYS[1],
    ARGV[2], 'ARGV[1]') -- ARGV[1]
END
refuses "undeclared and unused ones" '7: ARGV[2] is not declared in the header
3: ARGV[1] is declared but not used'

script <<'END'
-- lock/take: it.
-- KEYS[1] lock
-- ARGV[1...] tags
-- returns {code}
return redis.call('GET', KEYS[1])
END
refuses "an open list that nothing reads" '3: ARGV[1...] is declared but not used'

script <<'END'
-- lock/take: it.
-- KEYS[1] lock
-- returns {code}
redis.call('DEL', KEYS[1] .. ':queue')
return redis.call('GET', 'x:' .. KEYS[1])
END
refuses "keys built in Lua" '4: KEYS[1] is joined with something: pass whole keys in KEYS
5: KEYS[1] is joined with something: pass whole keys in KEYS'

script <<'END'
-- lock/take: it.
-- returns {code}
-- include: nothing
return {0}
END
refuses "a library that is not there" "3: there is no $dir/lock/nothing.inc.lua to include"

script <<'END'
-- lock/take: with a name of a library that it does not include.
-- returns the time
return clock_us()
END
refuses "a name that is declared nowhere" '3: clock_us is declared nowhere'

# library TEXT, then: embed must refuse the library with exactly this message.
refuses_library() {
    local behaviour=$1 expected=$2
    script <<'END'
-- lock/take: it.
-- KEYS[1] state
-- returns {code}
local STATE = KEYS[1]
local token = 'x'
-- include: part
return {STATE}
END
    cat >"$dir/lock/part.inc.lua"
    ! "$embed" "$dir/lock" "$dir/out" 2>"$dir/messages" || fail "$behaviour: was accepted"
    is=$(sed "s,^$dir/lock/part.inc.lua:\([0-9]*\): error: ,\1: ," "$dir/messages")
    [ "$is" = "$expected" ] || fail "$behaviour: expected '$expected', got '$is'"
}

refuses_library "a library that runs something" '1: a library has constants and functions only' <<'END'
redis.call('DEL', STATE)
END
refuses_library "a constant that the server is asked for" \
    '2: a library has constants and functions only' <<'END'
local ONE = 1
local TIME = redis.call('TIME')
END
refuses_library "a library that reads its includer" '3: token is not a name of this library' <<'END'
-- A word.
local function owner()
  return token
end
END
refuses_library "a library that writes what is not its own" \
    '2: STATE is written, and is not this library'"'"'s' <<'END'
local function forget()
  STATE = nil
end
END
refuses_library "a library that keeps something of its own" \
    '3: COUNT is written: a constant stays as it is
4: LEFT is written: a constant stays as it is' <<'END'
local COUNT, LEFT = 1, {first = 5}
local function use()
  COUNT = COUNT + 1
  LEFT.first = LEFT['first'] - 1
end
END
refuses_library "a name that the script has already" \
    '2: STATE is declared in lock/take.lua:4 already' <<'END'
local ONE = 1
local STATE, TWO = 'x', 2
END
script <<'END'
-- lock/take: a name that two libraries have, and one that is the script's twice.
-- returns {code}
-- include: one
-- include: two
local _, first = 1, 2
if first then
  local inner, twice = 1, 2
  return inner + twice
end
local _, second, first = 1, 2, 3
return second
END
echo 'local function twice() end' >"$dir/lock/one.inc.lua"
printf '\nlocal function twice() end\n' >"$dir/lock/two.inc.lua"
refuses "names that are declared twice" \
    "$dir/lock/two.inc.lua:2: error: twice is declared in lock/one.inc.lua:1 already
10: first is declared in lock/take.lua:5 already"

script <<'END'
-- lock/take: a library before the key that it needs.
-- KEYS[1] state
-- returns {code}
-- include: part
local STATE = KEYS[1]
return {forget(), STATE}
END
printf 'local function forget()\n  return redis.call("DEL", STATE)\nend\n' >"$dir/lock/part.inc.lua"
refuses "a key that is declared too late" \
    "$dir/lock/part.inc.lua:2: error: STATE is not declared before"

{
    printf -- '-- lock/take: many names.\n-- returns {code}\n'
    for i in $(seq 191); do echo "local a$i = $i"; done
} | script
refuses "more names than Lua allows" \
    '1: 191 local names at the top level, of which Lua allows few more than 190'

script <<'END'
-- lock/take: it.
-- returns {code}
if true then
  -- include: part
end
END
echo 'local LEAST = 1' >"$dir/lock/part.inc.lua"
refuses "a library in the middle of something" '4: a library is included at the start of a line'

# The codes of the scripts are those of C.
codes=$TACKLE_SOURCE/src/shared/codes.inc.lua
while read -r name number; do
    grep -q "X($name, $number," "$TACKLE_SOURCE/include/tackle/common.h" ||
        fail "$name is not $number in tackle/common.h"
done < <(awk -F ' = ' '/^local / {
    sub(/^local /, "", $1); count = split($1, names, ", "); split($2, numbers, ", ")
    for (i = 1; i <= count; i++) print names[i], numbers[i] }' "$codes")

echo "embed: all good"
