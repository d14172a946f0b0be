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
gives "a fragment is pasted as one line and its uses count" '



local function owner() if ARGV[1] == '"'' then return 0 end return redis.call('GET'"', KEYS[1]) end
return {owner()}'
facts "lock/take 1 1"
! grep -q helper "$dir/out/scripts.h" || fail "a fragment is no script"

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
refuses "a fragment that is not there" "3: there is no $dir/lock/nothing.inc.lua to include"

echo "embed: all good"
