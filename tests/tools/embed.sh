#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tools/embed makes libraries of good scripts, and refuses bad ones with file and line. The
# libraries are loaded and called, where there is a redis-server.
set -euo pipefail

embed=$TACKLE_BUILD/embed
dir=$(mktemp -d /tmp/tackle-test.XXXXXX) # short: the path of a socket is limited
server=${TACKLE_TEST_SERVER:-redis-server}
server_pid=

clean_up() {
    [ -z "$server_pid" ] || kill "$server_pid"
    rm -rf "$dir"
}
trap clean_up EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# ---- Helpers of all cases -----------------------------------------------------------------------

# Puts standard input into lock/take.lua, the only script.
script() {
    rm -rf "$dir/lock" "$dir/shared" "$dir/out" "$dir/c.h"
    mkdir "$dir/lock" "$dir/out"
    cat >"$dir/lock/take.lua"
}

# file NAME: puts standard input beside it.
file() {
    cat >"$dir/lock/$1"
}

# A file `part` of one function, and a script that calls it.
part() {
    script <<'END'
-- lock/take: calls a part.
-- KEYS[1] state
-- returns {code}
-- include: part
return {part.one(KEYS[1]), redis.call('DEL', KEYS[1])}
END
    file part.inc.lua
}

run_embed() {
    local headers=()
    [ ! -e "$dir/c.h" ] || headers=("$dir/c.h")
    rm -f "$dir"/out/*
    "$embed" "${version:-1.2.3}" "$dir/lock" "$dir/out" "${headers[@]}"
}

accepts() {
    run_embed || fail "$1: was refused"
}

# refuses BEHAVIOUR MESSAGES: embed prints these messages and no others, "part.inc.lua:line: text",
# or "line: text" for take.lua.
refuses() {
    local behaviour=$1 expected=$2
    ! run_embed 2>"$dir/messages" || fail "$behaviour: was accepted"
    diff -u <(printf '%s\n' "$expected") \
        <(sed "s,^$dir/lock/take.lua:,,; s,^$dir/lock/,,; s,error: ,," "$dir/messages") ||
        fail "$behaviour"
    [ -z "$(ls "$dir/out")" ] || fail "$behaviour: output was written all the same"
}

# Compiles what embed has written: the text goes to $dir/text, the rest to $dir/facts.
compile() {
    cat >"$dir/print.c" <<'END'
#include "lock/scripts.c"
#include <stdio.h>
int main(void)
{
    const tkl__library *l = &tkl__lua_lock;
    fwrite(l->source, 1, l->len, stdout);
    fprintf(stderr, "%s\n", l->name);
    for (const tkl__origin *o = l->origins; o->library_line; o++)
        fprintf(stderr, "%d is %s:%d\n", o->library_line, o->file, o->file_line);
END
    sed -n 's/^const tkl__script \(.*\) = {/    print(\&\1);/p' "$dir/out/scripts.c" >"$dir/calls"
    {
        sed '/^int main/,$d' "$dir/print.c"
        cat <<'END'
static void print(const tkl__script *s)
{
    fprintf(stderr, "%s %s %d%s %d%s%s%s%s\n", s->name, s->function, s->nkeys,
            s->open_keys ? "+" : "", s->nargs, s->open_args ? "+" : "",
            s->no_writes ? " no-writes" : "", s->allow_oom ? " allow-oom" : "",
            s->library == &tkl__lua_lock ? "" : " of another library");
}
END
        sed -n '/^int main/,$p' "$dir/print.c"
        cat "$dir/calls"
        echo '    return 0;'
        echo '}'
    } >"$dir/whole.c"
    rm -rf "$dir/gen" && mkdir "$dir/gen" && cp -r "$dir/out" "$dir/gen/lock"
    cc -D_GNU_SOURCE -I"$dir/gen" -I"$TACKLE_SOURCE/src" -I"$TACKLE_SOURCE/include" \
        -I"$TACKLE_BUILD/include" "$dir/whole.c" -o "$dir/print"
    "$dir/print" >"$dir/text" 2>"$dir/facts"
    hash=$(sed -n '1s/^tackle_lock_//p' "$dir/facts")
    [[ $hash =~ ^[0-9a-f]{10}$ ]] || fail "the library is called $(head -1 "$dir/facts")"
    hash_is_of_text
}

# The library has the hash of its text with zeros in place of the hash.
hash_is_of_text() {
    local zeros
    zeros=$(sed "s/_$hash/_0000000000/g" "$dir/text" | sha1sum | cut -c-10)
    [ "$hash" = "$zeros" ] || fail "the hash is $hash and should be $zeros"
}

# gives BEHAVIOUR TEXT: embed accepts it, and the server gets exactly this text. HASH stands for the
# hash.
gives() {
    accepts "$1"
    compile
    diff -u <(printf '%s\n' "${2//HASH/$hash}") "$dir/text" || fail "$1"
}

# The text of take.lua in the library, and the text behind it.
gives_script() {
    accepts "$1"
    compile
    diff -u <(printf '%s\n' "$2") <(sed '1,/callback=/d; /^end}$/d' "$dir/text") || fail "$1"
}

# facts LINE...: embed writes these facts about the scripts. HASH stands for the hash.
facts() {
    diff -u <(printf '%s\n' "$@" | sed "s/HASH/$hash/") <(sed '1d; / is /d' "$dir/facts") ||
        fail "facts"
}

origins() { # "line is file:line" of each
    diff -u <(printf '%s\n' "$@") <(grep ' is ' "$dir/facts") || fail "origins"
}

cli() { redis-cli -s "$dir/socket" "$@"; }

# Loads the library, where there is a server.
load() {
    [ -n "$server_pid" ] || return 0
    cli FUNCTION FLUSH SYNC >/dev/null
    cli FLUSHALL >/dev/null
    local reply
    reply=$(cli -x FUNCTION LOAD <"$dir/text")
    [ "$reply" = "tackle_lock_$hash" ] || fail "the server does not load it: $reply"
}

# answers EXPECTED COMMAND OPERATION ARGUMENTS...: the server's answer to FCALL or FCALL_RO.
answers() {
    local expected=$1 command=$2 operation=$3 is
    shift 3
    [ -n "$server_pid" ] || return 0
    is=$(cli "$command" "tackle_lock_${operation}_$hash" "$@" | paste -sd' ')
    [ "$is" = "$expected" ] || fail "$operation: expected '$expected', got '$is'"
}

if command -v "$server" >/dev/null && command -v redis-cli >/dev/null; then
    "$server" --port 0 --unixsocket "$dir/socket" --dir "$dir" --save '' --appendonly no \
        >"$dir/log" &
    server_pid=$!
    for _ in $(seq 100); do
        ! cli PING >/dev/null 2>&1 || break
        sleep 0.1
    done
fi

"$embed" 1 2 2>/dev/null && fail "two arguments are not enough"

# ---- One script ---------------------------------------------------------------------------------

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
gives "comments and indentation go, lines stay" "#!lua name=tackle_lock_HASH
local register = redis.register_function -- tackle 1.2.3
local now
local function begin(KEYS) now = nil end
register{function_name='tackle_lock_take_HASH', flags={}, callback=function(KEYS, ARGV) begin(KEYS)






local token = ARGV[1]
if #ARGV > 1 then
return redis.call('SET', KEYS[1], token)
or 0
end
end}"
facts "lock/take tackle_lock_take_HASH 1 1+"
origins "1 is lock/:1" "6 is lock/take.lua:1"
load
answers OK FCALL take 1 k me tag
answers '' FCALL take 1 k me

script <<'END'
-- lock/take: literals.
-- flags: no-writes
-- returns a string
local a = "-- not a   comment \" -- still not"
local b = '  \' --x'
local c = [[
    long   -- string
  ]]
local d = [==[ ]] -- ]==] -- gone
return a .. b .. c .. d .. 'KEYS[1] ?? \\' .. "é"
END
gives_script "string literals are never touched" '


local a = "-- not a   comment \" -- still not"
local b = '"'  \\' --x'"'
local c = [[
    long   -- string
  ]]
local d = [==[ ]] -- ]==]
return a .. b .. c .. d .. '"'KEYS[1] ?? \\\\'"' .. "é"'
facts "lock/take tackle_lock_take_HASH 0 0 no-writes"
load

script <<'END'
-- lock/take: the first arguments get names.
-- ARGV[1] token
-- ARGV[2] lease
-- ARGV[3...] tags
-- flags: no-writes
-- returns {code}
local token, lease = unpack(ARGV, 1, 2)
return {token, lease, unpack(ARGV, 3)}
END
accepts "unpack() with bounds"

script <<'END'
-- lock/take: open lists.
-- KEYS[1...] locks
-- returns {code}
return redis.call('DEL', unpack(KEYS))
END
gives_script "KEYS can be open-ended" '


return redis.call('"'DEL'"', unpack(KEYS))'
facts "lock/take tackle_lock_take_HASH 0+ 0"

printf -- '-- lock/take: no end of the last line.\n-- flags: no-writes\n-- returns it\nlocal it = 7 return it' |
    script
accepts "a script without an end of its last line"
compile
load
answers 7 FCALL_RO take 0

# ---- Included files -----------------------------------------------------------------------------

# Two scripts that share a file, and one of them has more; keys, time, constants of C.
shared_files() {
    script <<'END'
-- lock/take: with an included file.
-- KEYS[1] state
-- KEYS[2...] line
-- ARGV[1] token
-- returns {code}
-- include: owner
now = tonumber(ARGV[1])
return {owner.take(), LINE or 'none'}
END
    file look.lua <<'END'
-- lock/look: with the same file and one that other components share.
-- KEYS[1] state
-- KEYS[2...] line
-- flags: no-writes
-- returns the owner
-- include: shared/texts
-- include: owner
now = 1
return texts.join(owner.name(), TKL_LAST)
END
    file owner.inc.lua <<'END'
-- Who holds it.
-- include: shared/texts
local owner = {}
local STATE = KEYS[1] -- string
local LINE  = KEYS[2]
local LONGEST = TKL_MOST * TKL__FEW

function owner.name()
    return redis.call('GET', STATE) or 'nobody' -- nobody
end
function owner.take()
    local old = owner.name()
    redis.call('SET', STATE, math.min(now, LONGEST))
    return texts.join(old, now)
end
END
    mkdir "$dir/shared"
    cat >"$dir/shared/texts.inc.lua" <<'END'
local texts = {}
local BLANK = ' '
function texts.join(a, b)
    return a .. BLANK .. b
end
END
    cat >"$dir/c.h" <<'END'
#define TKL_MOST (INT64_C(3) * 100) /* something */
#define TKL__FEW 2
#define TKL_NAME "text"
#define LIST(X)        \
    X(TKL_FIRST, 0, a) \
    X(TKL_LAST, -7, b)
END
}
shared_files
gives "an included file stands once, before the functions" "#!lua name=tackle_lock_HASH
local register = redis.register_function -- tackle 1.2.3
local now, STATE, LINE
local function begin(KEYS) now, STATE, LINE = nil, KEYS[1], KEYS[2] end
local texts = {}
local BLANK = ' '
function texts.join(a, b)
return a .. BLANK .. b
end


local owner = {}
$(printf '%21s' '')
$(printf '%20s' '')
local LONGEST = ( ((3) * 100) ) * ( 2)

function owner.name()
return redis.call('GET', STATE) or 'nobody'
end
function owner.take()
local old = owner.name()
redis.call('SET', STATE, math.min(now, LONGEST))
return texts.join(old, now)
end
register{function_name='tackle_lock_look_HASH', flags={'no-writes'}, callback=function(KEYS, ARGV) begin(KEYS)







now = 1
return texts.join(owner.name(), ( -7))
end}
register{function_name='tackle_lock_take_HASH', flags={}, callback=function(KEYS, ARGV) begin(KEYS)






now = tonumber(ARGV[1])
return {owner.take(), LINE or 'none'}
end}"
facts "lock/look tackle_lock_look_HASH 1+ 0 no-writes" "lock/take tackle_lock_take_HASH 1+ 1"
origins "1 is lock/:1" "5 is shared/texts.inc.lua:1" "10 is lock/owner.inc.lua:1" \
    "26 is lock/look.lua:1" "37 is lock/take.lua:1"
[ "$(grep -c '^extern' "$dir/out/scripts.h")" = 3 ] || fail "an included file is no script"
load
answers 'nobody -7' FCALL_RO look 1 door
answers 'nobody 900 line' FCALL take 2 door line 900
answers '600 5 none' FCALL take 1 door 5
answers '5 -7' FCALL_RO look 1 door

# The hash is made of the text and of the version.
first=$hash
accepts "the same again"
compile
[ "$hash" = "$first" ] || fail "the hash of the same text is another"
version=1.2.4 run_embed
compile
[ "$hash" != "$first" ] || fail "the hash of another version is the same"
grep -q 'tackle 1.2.4$' "$dir/text" || fail "the version is not in the text"
sed -i 's/nobody/no one/' "$dir/lock/owner.inc.lua"
accepts "a change"
compile
[ "$hash" != "$first" ] || fail "the hash of another text is the same"
shared_files
sed -i 's/^-- Who holds it/-- Who has it/; s/ -- string$//' "$dir/lock/owner.inc.lua"
accepts "another comment"
compile
sed -i 's/-7/-8/' "$dir/c.h"
accepts "another constant of C"
second=$hash
compile
[ "$hash" != "$second" ] || fail "the hash does not see constants of C"

printf 'local part = {}\nfunction part.one(x)\n  return x\nend' | part
printf 'local other = {}\nfunction other.two(x)\n  return x\nend' | file other.inc.lua
sed -i 's/^-- include: part/&\n-- include: other/; s/part.one(KEYS\[1\])/other.two(part.one(KEYS[1]))/' \
    "$dir/lock/take.lua"
accepts "included files without an end of their last line"
compile
load
answers 'k 0' FCALL take 1 k

# ---- Headers that are wrong ---------------------------------------------------------------------

script <<'END'
return redis.call('DEL', 'x')
END
refuses "a missing header" '1: the first line must be "-- lock/take: what it does"
1: the header has no "-- returns ..."'

script <<'END'
-- lock/release: the wrong name.
-- flags: no-writes
-- returns {code}
return {0}
END
refuses "a title that is not the path" '1: the first line must be "-- lock/take: what it does"'

script <<'END'
-- lock/take: it.
-- KEYS[1] lock
-- KEYS[3] queue
-- ARGV[1]
-- flags: no-writes
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
return redis.call('SET', KEYS[1], unpack(ARGV))
END
refuses "a declaration behind the open one" '4: nothing can follow "ARGV[1...]"'

script <<'END'
-- lock/take: it.
-- KEYS[1] lock
-- ARGV[1] token
-- returns {code}

return redis.call('SET', KEYS[1],
    ARGV[2], 'ARGV[1]') -- ARGV[1]
END
refuses "undeclared and unused ones" '7: ARGV[2] is not declared in the header
3: ARGV[1] is declared but not used'

script <<'END'
-- lock/take: it.
-- KEYS[1] lock
-- ARGV[1...] tags
-- returns {code}
return redis.call('DEL', KEYS[1])
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

# ---- Flags --------------------------------------------------------------------------------------

# with_flags FLAGS COMMAND: a script that does no more than the command.
with_flags() {
    script <<END
-- lock/take: it.
-- KEYS[1] lock
$1
-- returns {code}
return redis.call('$2', KEYS[1])
END
}

with_flags '-- flags: allow-oom' DEL
accepts "allow-oom"
compile
facts "lock/take tackle_lock_take_HASH 1 0 allow-oom"
grep -q "flags={'allow-oom'}" "$dir/text" || fail "the server does not get allow-oom"
with_flags '-- flags: no-writes' GET
accepts "no-writes"
with_flags '-- flags: fast' DEL
refuses "an unknown flag" '3: flags are "no-writes" or "allow-oom"'
with_flags '-- flags: allow-oom no-writes' DEL
refuses "two flags" '3: flags are "no-writes" or "allow-oom"'
with_flags $'-- flags: no-writes\n-- flags: allow-oom' DEL
refuses "two lines of flags" '4: flags are "no-writes" or "allow-oom"'
with_flags '--' GET
refuses "a reading script without the flag" '1: nothing is written: say "-- flags: no-writes"'
with_flags '-- flags: allow-oom' GET
refuses "room for what only reads" '1: nothing is written: say "-- flags: no-writes"'
with_flags '-- flags: no-writes' DEL
refuses "a writing script with the flag" '1: the flags say no-writes, but DEL writes'
with_flags '-- flags: no-writes' PUBLISH
refuses "a message counts as written" '1: the flags say no-writes, but PUBLISH writes'

# with_function FLAGS FUNCTION: a script that calls a function of an included file.
with_function() {
    part <<'END'
-- include: other
local part = {}
function part.read(key)
  return redis.call('GET', key)
end
function part.write(key)
  return other.write(key)
end
END
    file other.inc.lua <<'END'
local other = {}
function other.write(key)
  return redis.pcall('INCR', key)
end
END
    script_with_function "$@"
}
script_with_function() {
    cat >"$dir/lock/take.lua" <<END
-- lock/take: it.
-- KEYS[1] lock
$1
-- returns {code}
-- include: part
return part.$2(KEYS[1])
END
}
with_function '-- flags: no-writes' read
accepts "reading by an included file that can write, too"
with_function '--' write
accepts "writing by an included file"
with_function '--' read
refuses "a script that reads by an included file" '1: nothing is written: say "-- flags: no-writes"'
with_function '-- flags: no-writes' write
refuses "a script that writes by an included file" '1: the flags say no-writes, but INCR writes'
script <<'END'
-- lock/take: a command that is not written out is left to the server.
-- KEYS[1] lock
-- ARGV[1] command
-- returns {code}
local call = redis.call
return call(ARGV[1], KEYS[1])
END
accepts "a command that nobody can know"

# ---- Names --------------------------------------------------------------------------------------

script <<'END'
-- lock/take: it.
-- flags: no-writes
-- returns {code}
-- include: nothing
return {0}
END
refuses "a file that is not there" "4: there is no $dir/lock/nothing.inc.lua to include"

script <<'END'
-- lock/take: with a name of a file that it does not include.
-- flags: no-writes
-- returns the time
return clock.us()
END
refuses "a name that is declared nowhere" '4: clock is declared nowhere'

printf 'local part = {}\nfunction part.one(x)\n  return x\nend\n' | part
sed -i 's/part.one/part.oen/' "$dir/lock/take.lua"
refuses "a function that the included file does not have" '5: part.oen is declared nowhere'
part <<'END'
-- include: jobs
local part = {}
function part.one(x)
  return jobs.raed(x)
end
END
printf 'local jobs = {}\nfunction jobs.read(x)\n  return x\nend\n' | file jobs.inc.lua
refuses "the same by another included file" 'part.inc.lua:4: jobs.raed is declared nowhere'

script <<'END'
-- lock/take: names that are declared twice.
-- flags: no-writes
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
echo 'local TWICE = 1' | file one.inc.lua
printf '\nlocal TWICE = 2\n' | file two.inc.lua
refuses "names that are declared twice" \
    'two.inc.lua:2: TWICE is declared in lock/one.inc.lua:1 already
11: first is declared in lock/take.lua:6 already'

# Two files that no script includes together are in one library all the same.
script <<'END'
-- lock/take: one.
-- flags: no-writes
-- returns {code}
-- include: one
return TWICE
END
echo 'local TWICE = 1' | file one.inc.lua
printf '\nlocal TWICE = 2\n' | file two.inc.lua
sed 's/take/look/; s/include: one/include: two/' "$dir/lock/take.lua" | file look.lua
refuses "a name that two files of a library have" \
    'one.inc.lua:1: TWICE is declared in lock/two.inc.lua:2 already'

part <<'END'
local part = {}
function part.one(x)
  return x + LATE
end
local LATE = 1
END
refuses "a constant that is declared too late" 'part.inc.lua:3: LATE is not declared before'

{
    printf -- '-- lock/take: many names.\n-- flags: no-writes\n-- returns {code}\n'
    for i in $(seq 196); do echo "local a$i = $i"; done
} | script
refuses "more names than Lua allows" \
    '1: 196 local names at the top level, of which Lua allows few more than 195'
# No script has too many names by itself; together they have.
for name in take look; do
    {
        printf -- '-- lock/%s: half of the names.\n-- flags: no-writes\n' "$name"
        printf -- '-- returns {code}\n-- include: %s\nreturn 1\n' "$name"
    } | if [ $name = take ]; then script; else file $name.lua; fi
    for i in $(seq 100); do echo "local ${name^^}_$i = $i"; done >"$dir/$name.inc.lua"
done
mv "$dir/take.inc.lua" "$dir/look.inc.lua" "$dir/lock"
refuses "more names than Lua allows in all" \
    ':1: 203 local names at the top level, of which Lua allows few more than 195'

{
    printf -- '-- lock/take: many files.\n-- flags: no-writes\n-- returns {code}\n'
    for i in $(seq 33); do echo "-- include: f$i"; done
    echo 'return 1'
} | script
for i in $(seq 33); do echo "local F$i = $i" >"$dir/lock/f$i.inc.lua"; done
refuses "more files than a library has" '36: a component includes at most 32 files'

script <<'END'
-- lock/take: it.
-- flags: no-writes
-- returns {code}
if true then
  -- include: part
end
END
echo 'local LEAST = 1' | file part.inc.lua
refuses "a file in the middle of something" '5: a library is included at the start of a line'

part <<'END'
-- include: other
local part = {}
function part.one(x)
  return x == 0 and x or other.two(x)
end
END
file other.inc.lua <<'END'
local other = {}
-- include: part
function other.two(x)
  return part.one(x - 1)
end
END
refuses "files that include each other" 'other.inc.lua:2: a file is included before anything else
other.inc.lua:2: part.inc.lua includes this file'

# ---- Contents of included files -----------------------------------------------------------------

only='an included file has constants and functions "function part.name" only'

# refuses_top BEHAVIOUR LINE...: a file with these lines, of which the third is refused.
refuses_top() {
    local behaviour=$1
    shift
    {
        printf 'local part = {}\nlocal ONE, LIST = 1, {2}\n'
        printf '%s\n' "$@"
        printf 'function part.one(x)\n  return x or ONE or LIST[1]\nend\n'
    } | part
    refuses "$behaviour" "part.inc.lua:${line:-3}: $only${more-}"
}
refuses_top "a file that runs something" "redis.call('DEL', 'x')"
refuses_top "the same, indented" "  redis.call('DEL', 'x')"
refuses_top "the same behind something" "local TWO = 2 redis.call('DEL', 'x')"
refuses_top "a constant that the server is asked for" "local TIME = redis.call('TIME')"
refuses_top "a constant that is computed by a function" "local X = tonumber('1')"
line=4 refuses_top "the same in a table" 'local X = {' "  one = tonumber('1')," '}'
refuses_top "a function that is not there while a library is loaded" 'local MAX = math.huge'
refuses_top "a call of its own function" 'local X = part.one(1)'
refuses_top "a call of a method" "local X = ('x'):rep(3)"
refuses_top "a call without parentheses" "local X = part.one'x'"
more=$'\n1: an included file reads `now`: begin with "now = ..."' \
    refuses_top "the time of no call" 'local START = now'
refuses_top "a condition" 'if ONE then end'
refuses_top "an assignment" 'ONE = 2'
refuses_top "an assignment to a table" "LIST[1] = 'x'"
refuses_top "a variable" 'local count = 0'
refuses_top "a variable, indented" '  local count = 0'
refuses_top "a variable that looks like a constant" 'local Count = 0'
refuses_top "a variable among constants" 'local TWO, three = 2, 3'
refuses_top "a function that is a local name" 'local function two() end'
refuses_top "a function of another table" 'function other.two() end'
refuses_top "a function as a constant" 'local TWO = function() end'

{
    printf 'local part = {}\nlocal FEW = {\n  least = 1,\n  [2] = {"two"},\n}\n'
    printf 'local TEXT = "a" ..\n  "b"\nlocal BOTH = (1 + 2) * 3 == 9 and not false\n'
    printf 'function part.one(x)\n  return x .. TEXT .. FEW.least .. tostring(BOTH)\nend\n'
} | part
accepts "constants of several lines"
compile
load
answers 'kab1true 0' FCALL take 1 k

# in_function LINE: a file with a function that has this line.
in_function() {
    part <<END
local part = {}
local COUNT, LEFT = 1, {first = 5}
local STATE = KEYS[1]
function part.one(x)
  $1
  return x
end
END
}
refuses_line() { # BEHAVIOUR LINE MESSAGE
    in_function "$2"
    refuses "$1" "part.inc.lua:5: $3"
}
stays='is written: it stays as it is'
refuses_line "a name of the script that includes it" 'x = token' \
    'token is not a name of this file or of one that it includes'
refuses_line "KEYS outside of its lines" 'x = KEYS[1]' \
    'KEYS is not a name of this file or of one that it includes'
refuses_line "a global variable" 'count = 1' 'count is not a name of this file or of one that it includes'
refuses_line "a constant" 'COUNT = COUNT + 1' "COUNT $stays"
refuses_line "a constant among others" 'COUNT, x = 2, 3' "COUNT $stays"
refuses_line "a table" "LEFT.first = LEFT['first'] - 1" "LEFT $stays"
refuses_line "a table by a computed name" 'LEFT[LEFT[1]] = 1' "LEFT $stays"
refuses_line "a table by a function" 'table.insert(LEFT, x)' "LEFT $stays"
refuses_line "a key" 'STATE = x' "STATE $stays"
refuses_line "the time" 'now = x' "now is written, and is not this file's
1: an included file reads \`now\`: begin with \"now = ...\""
for line in 'part.kept = x' 'part = nil' 'part.one = nil' "part['one'] = nil" 'part[x] = 1'; do
    in_function "$line"
    ! run_embed 2>"$dir/messages" || fail "'$line' was accepted"
    grep -q 'part.inc.lua:5: error: part' "$dir/messages" || fail "'$line': $(cat "$dir/messages")"
done
for line in 'local own = {} own.first, x = x, 1' \
    'if LEFT[x] == COUNT then return {LEFT, x = 1} end' 'x = {COUNT = 1, STATE}'; do
    in_function "$line"
    accepts "'$line'"
done

# in_script LINE: a script that includes such a file and has this line.
in_script() {
    in_function 'x = LEFT'
    cat >"$dir/lock/take.lua" <<END
-- lock/take: it.
-- KEYS[1] state
-- returns {code}
-- include: part
$1
return {part.one(STATE), redis.call('DEL', STATE)}
END
}
for line in 'COUNT = 2' 'LEFT.first = 2' 'LEFT[1], COUNT = 1' 'part = nil' 'part.one = nil' "part['two'] = 1" \
    'table.insert(LEFT, 1)' 'table.sort(LEFT)' 'STATE = nil'; do
    in_script "$line"
    ! run_embed 2>"$dir/messages" || fail "a script: '$line' was accepted"
    grep -q "take.lua:5: error: [A-Za-z]* $stays" "$dir/messages" ||
        fail "a script: '$line': $(cat "$dir/messages")"
done
in_script 'local own, all = COUNT, {LEFT} own, all.first = 2, COUNT table.insert(all, LEFT)'
accepts "a script that writes what is its own"

# ---- Keys and time ------------------------------------------------------------------------------

refuses_key() { # LINE: not one that names a key
    {
        printf 'local part = {}\n%s\n' "$1"
        printf 'function part.one(x)\n  return x\nend\n'
    } | part
    ! run_embed 2>"$dir/messages" || fail "'$1' was accepted"
    grep -q 'part.inc.lua:2: error: KEYS' "$dir/messages" || fail "'$1': $(cat "$dir/messages")"
}
refuses_key "local STATE = KEYS[1] or 'x'"
refuses_key 'local STATE = KEYS[1] local LINE = KEYS[2]'
refuses_key 'local STATE, LINE = KEYS[1], KEYS[2]'
refuses_key 'local STATE = KEYS[ONE]'

part <<'END'
local part = {}
local STATE = KEYS[1]
local COPY = STATE
function part.one(x)
  return x or COPY
end
END
refuses "a constant made of a key" \
    'part.inc.lua:3: STATE belongs to a call: nothing outside functions reads it'
part <<'END'
local part = {}
local LINE = KEYS[2]
function part.one(x)
  return x or LINE
end
END
refuses "a key that the header does not declare" 'part.inc.lua:2: KEYS[2] is not declared in the header'
{
    printf 'local part = {}\nfunction part.one(x)\n  return x\nend\n'
    for i in $(seq 49); do echo "local K$i = KEYS[$i]"; done
} | part
sed -i 's/KEYS\[1\] state/KEYS[1...] states/' "$dir/lock/take.lua"
refuses "more keys than a library names" ':1: a component names at most 48 keys'

# A key that a call does not have is nil, and not the key of the call before.
script <<'END'
-- lock/take: the second key, if any.
-- KEYS[1...] keys
-- ARGV[1...] fail
-- flags: no-writes
-- returns it
-- include: part
if ARGV[1] then
  now = ARGV[1]
  error('half-way')
end
return part.second()
END
file part.inc.lua <<'END'
local part = {}
local SECOND = KEYS[2]
function part.second()
  return {SECOND or 'none', now or 'never'}
end
END
accepts "keys that are not always given"
compile
load
answers 'two never' FCALL_RO take 2 one two
[ -z "$server_pid" ] || cli FCALL_RO "tackle_lock_take_$hash" 2 one two 77 | grep -q half-way ||
    fail "no error"
answers 'none never' FCALL_RO take 1 one
answers 'none never' FCALL_RO take 0

# timed LINE: a script with this line that includes a file which reads the time.
timed() {
    script <<END
-- lock/take: it.
-- flags: no-writes
-- returns {code}
-- include: part
$1
return part.one(1)
END
    printf 'local part = {}\nfunction part.one(x)\n  return x + now\nend\n' | file part.inc.lua
}
timed 'now = 1'
accepts "the time"
timed ''
refuses "a time that is not set" '1: an included file reads `now`: begin with "now = ..."'
timed 'local now = 1'
refuses "a time of its own" '5: an included file reads `now`: begin with "now = ..."'
timed 'local at = {now = 1}'
refuses "a field is no time" '1: an included file reads `now`: begin with "now = ..."'
for reads in 'x + x' 'x.now' '{now = x}' '(function(now) return now end)(x)'; do
    timed 'now = 1'
    printf 'local part = {}\nfunction part.one(x)\n  return %s\nend\n' "$reads" | file part.inc.lua
    refuses "a time that nobody reads: $reads" '5: no included file reads `now`: make it local'
done
timed 'local now = 1'
printf 'local part = {}\nfunction part.one(x)\n  return x\nend\n' | file part.inc.lua
accepts "a time of its own that no file reads"
timed 'now = 1'
printf -- '-- include: deep\nlocal part = {}\nfunction part.one(x)\n  return deep.two(x)\nend\n' |
    file part.inc.lua
printf 'local deep = {}\nfunction deep.two(x)\n  return x + now\nend\n' | file deep.inc.lua
accepts "a time that is read by a file of a file"

# ---- Constants of C -----------------------------------------------------------------------------

script <<'END'
-- lock/take: constants.
-- flags: no-writes
-- returns them
return {TKL_OK, TKL_GONE, TKL_MOST - TKL__LEAST, 'TKL_MOST', {TKL_MOST = 1}.TKL_MOST}
END
sed -i 's/, {TKL_MOST = 1}.TKL_MOST//' "$dir/lock/take.lua"
cat >"$dir/c.h" <<'END'
/* Codes. */
#define CODES(X)                     \
    X(TKL_OK, 0, 0, "all is well")   \
    X(TKL_GONE, -12, 1, "it is gone")
#define TKL_MOST 60000L /* milliseconds */
#  define TKL_NEVER 7
#define TKL__LEAST (-2 + 1)
END
accepts "constants of C"
compile
load
answers '0 -12 60001 TKL_MOST' FCALL_RO take 0
sed -i 's/TKL_OK, /TKL_SOME, /' "$dir/lock/take.lua"
refuses "a constant that C does not have" '4: TKL_SOME is declared nowhere
4: TKL_SOME is not declared before'
sed -i 's/TKL_SOME, /TKL_TEXT, /' "$dir/lock/take.lua"
echo '#define TKL_TEXT "text"' >>"$dir/c.h"
refuses "a constant that is no number" '4: TKL_TEXT is declared nowhere
4: TKL_TEXT is not declared before'

echo "embed: all good"
