#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle files`: every verb, what it prints and how it ends; and many kills.
#
# ctest: cost 30
. "$(dirname "$0")/lib.bash"
start_server
cd "$home" && mkdir a b c src || exit 1
head -c 3000000 /dev/urandom >src/big
printf 'one\ntwo' >src/small
seq 1000 | gzip >src/numbers.gz

is "send" "$(tackle files send logs --to a,b src/big src/small)" $'src/big\nsrc/small'
is "send as JSON" "$(tackle files send logs --to a --json src/numbers.gz | jq -c '[.name,.path,.size>100,.resumed,.error,.message]')" \
    '["numbers.gz","src/numbers.gz",true,false,null,null]'
is "a stream" "$(printf 'a\0b' | tackle files send logs --to a --name stream)" stream
ends 0 tackle files status logs
has "$out" "4 files"
has "$out" "never came"
is "status" "$(tackle files status logs --json | jq -c '[.name,.file_count,.max_bytes,(.receivers|map([.name,.gone,.seen,.file_count])),(.files|map(.name)|sort),.troubles]')" \
    '["logs",4,268435456,[["a",true,false,4],["b",true,false,2]],["big","numbers.gz","small","stream"],[]]'
is "waiting for" "$(tackle files status logs --json | jq -c '.files[]|select(.name=="big")|[.state,.size,.sent,.waiting_for]')" \
    '["complete",3000000,3000000,["a","b"]]'
is "list" "$(tackle files list --json | jq -c .)" '[{"name":"logs"}]'
is "add" "$(tackle files add-receiver logs c)" 4

ends 0 tackle files receive logs --as a --dir a --unpack --exit-when-done
is "received" "$out" $'a/big\na/small\na/numbers\na/stream'
cmp src/big a/big && cmp src/small a/small || fail "a got something else"
is "unpacked" "$(tail -n 1 a/numbers)" 1000
is "received as JSON" "$(tackle files receive logs --as b --dir b --exit-when-done --json | jq -c '[.name,.path,.size,.error]')" \
    $'["big","b/big",3000000,null]\n["small","b/small",7,null]'
ends 1 tackle files receive logs --as b --dir b --wait 0
ends 1 tackle files receive logs --as b --dir b --wait 20ms --json
is "nothing as JSON" "$(jq -r .error <<<"$err")" TKL_EMPTY
ends 64 tackle files drop-receiver logs c
is "drop" "$(tackle files drop-receiver logs c --yes --json | jq -c .)" \
    '{"name":"logs","receiver":"c","file_count":4}'
ends 1 tackle files drop-receiver logs c --yes
is "nothing is left" "$(tackle files status logs --json | jq -c '[.bytes,.file_count,.files]')" '[0,0,[]]'

# Lines.
tackle files send logs --to a src/small src/numbers.gz >/dev/null
ends 0 tackle files receive logs --as a --dir a --lines --unpack --exit-when-done
is "lines" "$out" "$(printf 'one\ntwo\n'; seq 1000)"
tackle files send logs --to a src/small >/dev/null
is "lines as JSON" "$(tackle files receive logs --as a --dir a --lines --exit-when-done --json)" $'{"name": "small", "text": "one"}\n{"name": "small", "text": "two"}'
tackle files send logs --to a --name $'od\td' src/small >/dev/null
tackle files send logs --to a src/numbers.gz >/dev/null
ends 0 tackle files receive logs --as a --dir a --lines --names --unpack --exit-when-done
is "lines with names" "$out" "$(printf 'od\\td\tone\nod\\td\ttwo\n'; seq 1000 | sed 's/^/numbers.gz\t/')"
ends 64 tackle files receive logs --as a --dir a --names --exit-when-done
tackle files send logs --to a src/numbers.gz >/dev/null
ends 70 bash -c 'tackle files receive logs --as a --dir a --lines --unpack --exit-when-done >/dev/full'
ends 0 tackle files receive logs --as a --dir a --lines --unpack --exit-when-done
is "what could not be printed comes again" "$out" "$(seq 1000)"

# A directory, in one piece; the receiver waits for the last of it.
mkdir -p tree/sub tree/empty in
seq 5 >tree/sub/five; : >tree/nothing; printf x >tree/$'odd\nname'
ln -s sub/five tree/link; ln -s /etc/passwd tree/out; mkfifo tree/fifo
tackle files receive web --as a --dir in --exit-when-done --json >got & reader=$!
ends 70 tackle files send web --to a tree/ --wait 60s
has "$err" "tree/out: it is a symbolic link that may lead out of the directory"
has "$err" "tree/fifo: it is not a file"
wait $reader || fail "the receiver of a directory ended with $?"
rm tree/out tree/fifo
diff -r --no-dereference tree in/tree || fail "the directory differs"
is "types" "$(jq -r .type got | sort | uniq -c | tr -s ' ' | xargs)" "3 directory 3 file 1 link"
ends 0 tackle files send web --to a --more tree/sub --name other
tackle files receive web --as a --dir in --exit-when-done >got & reader=$!
for ((i = 0; i < 600; i++)); do [[ $(cat got) == *in/other ]] && break; sleep 0.05; done
kill -0 $reader || fail "the receiver did not wait for the end"
ends 0 tackle files end web --to a
is "end says nothing" "$out" ""
wait $reader || fail "the end ended the receiver with $?"
is "end as JSON" "$(tackle files end web --to a,b --json)" '{"name": "web", "receiver_count": 2}'
ends 0 tackle files receive web --as a --dir in --exit-when-done
is "nothing but the end" "$out" ""
ends 64 tackle files end web
ends 64 tackle files send web --to a tree --name x/y
ends 0 tackle files send web --to a tree
ends 0 tackle files receive web --as a --lines --names --exit-when-done
is "lines of a directory" "$(head -n 3 <<<"$out")" $'tree/odd\\nname\tx\ntree/sub/five\t1\ntree/sub/five\t2'

# Lines are written whole: a reader that is slow, and a kill while the pipe is full.
seq 100000 >src/lines
tackle files send logs --to a src/lines >/dev/null
mkfifo pipe
exec 7<>pipe
for json in "" --json; do
    tackle files receive logs --as a --dir a --lines $json >pipe 7>&- & reader=$!
    before=0
    for ((i = 0; i < 600; i++)); do
        written=$(awk '/^wchar/ {print $2}' "/proc/$reader/io")
        ((written > 30000 && written == before)) && break
        before=$written
        sleep 0.05
    done
    kill -9 $reader
    wait $reader 2>/dev/null
    printf 'end\n' >&7 & printer=$!
    taken=$(sed '/end$/q' <&7)
    wait $printer
    is "the last line is whole" "$(tail -n 1 <<<"$taken")" end
    has "$(tail -n 2 <<<"$taken" | head -n 1)" "$([[ $json ]] && echo '"}')"
done
exec 7>&-
tackle files drop-receiver logs a --yes >/dev/null

# In a file, the part of a line that a kill has left is a line of its own.
for before in torn 'whole\n' ''; do
    printf "$before" >lines
    tackle files send logs --to a src/small >/dev/null
    tackle files receive logs --as a --dir a --lines --exit-when-done >>lines
    is "after '$before'" "$(cat lines)" "$(printf "$before" | sed '$a\'; printf 'one\ntwo\n')"
done
printf torn >lines
tackle files send logs --to a src/small >/dev/null
(printf over; tackle files receive logs --as a --dir a --lines --exit-when-done) 1<>lines
is "where the output begins" "$(cat lines)" "$(printf 'over\none\ntwo\n')"
tackle files drop-receiver logs a --yes >/dev/null

# Without a terminal there is a line now and then.
ends 0 bash -c '(head -c 1000000 /dev/zero; sleep 5.5; head -c 1000000 /dev/zero) |
    tackle files send logs --to b --name slow'
has "$err" "tackle: files send: slow  "
has "$err" "/s"
tackle files drop-receiver logs b --yes >/dev/null

# Mistakes.
ends 64 tackle files send logs src/big
ends 64 tackle files send logs --to a, --limit 1 src/big
ends 64 tackle files send logs --to ,a src/big
ends 64 tackle files send logs --to a -
ends 64 tackle files send logs --to a --name x src/big src/small
ends 64 tackle files receive logs
ends 70 tackle files receive logs --as a --dir "$home/nowhere"
ends 70 tackle files send logs --to a "$home/nowhere"
has "$err" nowhere
ends 70 tackle files send logs --to a o
is "a name that is part of the reason" "$err" "tackle: files send: o: No such file or directory"
mkdir x1 x2 && echo 1 >x1/conf && echo 2 >x2/conf
ends 64 tackle files send logs --to a x1/conf x2/conf
has "$err" "x1/conf and x2/conf"
ends 64 tackle files send logs --to a --limit 1 src/big
has "$err" "--limit: must be from 4kb"
ends 64 tackle files receive logs --as a --lease 1ms
has "$err" "--lease: must be from 100ms to 1d"
ends 64 tackle files send logs --to a --ttl 100000d src/big
has "$err" "--ttl: must be up to 3660d"
ends 1 tackle files status nothing

# A signal ends a wait in good order. Jobs of a script ignore INT: `env` gives it back.
interrupted() {
    local listens=$1 said=$2 signal=$3 code
    shift 3
    env --default-signal=INT tackle files "$@" >/dev/null 2>err <&0 & waiter=$!
    for ((i = 0; i < 500; i++)); do
        [[ $(tackle call PUBSUB SHARDCHANNELS) == *"tackle:files:$listens"* ]] && break
        sleep 0.02
    done
    kill -"$signal" $waiter
    wait $waiter
    code=$?
    is "the end of $1" $code $((128 + $(kill -l "$signal")))
    is "what $1 says" "$(cat err)" "tackle: files $1: interrupted; $said"
}
again="to go on, run the same command again"
interrupted '{logs}' "$again" TERM receive logs --as a --dir a
interrupted '{logs}' "$again" INT receive logs --as a --dir a
interrupted '{small}:room' "$again" INT send small --limit 64kb --to ghost src/big
interrupted '{small}:room' "a stream has to be sent from its beginning" INT \
    send small --to ghost --name stream <src/big

# Kills at random moments, on both sides: the bytes are right in the end.
rm -f a/* b/* && mkdir many
for ((i = 0; i < 300; i++)); do echo "$RANDOM $i" >many/$i; done
send() { tackle files send logs --limit 1mb --to a,b many/* src/big --wait 30s >/dev/null 2>&1; }
for who in a b; do
    (for ((i = 0; i < 12; i++)); do
        timeout -s KILL 0.0$((RANDOM % 9 + 1)) tackle files receive logs --as $who --dir $who >/dev/null 2>&1
    done
    exec tackle files receive logs --as $who --dir $who >/dev/null 2>&1) &
    receivers+=($!)
done
for ((i = 0; i < 6; i++)); do
    timeout -s KILL 0.$((RANDOM % 2))$((RANDOM % 9 + 1)) bash -c "exec tackle files send logs --limit 1mb --to a,b many/* src/big" >/dev/null 2>&1
done
send || fail "sending ended with $?"
kill "${receivers[@]}"
wait "${receivers[@]}"
for who in a b; do
    cmp src/big $who/big || fail "$who has another big file"
    for ((i = 0; i < 300; i++)); do cmp many/$i $who/$i || fail "$who lacks $i"; done
    is "nothing else is there" "$(find $who -name '.tackle-*')" ""
done
is "the account" "$(tackle files status logs --json | jq -c '[.bytes,.file_count]')" '[0,0]'

# Senders that are killed send each file once. None of them ends by itself: the channel is full.
rm -f a/*
for ((i = 0; i < 8; i++)); do
    timeout -s KILL 0.0$((i + 1)) bash -c "exec tackle files send logs --limit 64kb --to a many/* src/big" >/dev/null 2>&1
    tackle files receive logs --as a --dir a --wait 0 >>received
done
tackle files receive logs --as a --dir a >>received & receiver=$!
ends 0 tackle files send logs --limit 64kb --to a many/* src/big --wait 30s
kill $receiver
wait $receiver
is "each file came once" "$(sort received | uniq -c | awk '$1 != 1')" ""
is "all came" "$(wc -l <received)" 301
cmp src/big a/big || fail "a has another big file"

become shipper files.md
ends 0 tackle files send logs --limit 64mb --to a src/big src/small
ends 0 tackle files receive logs --as a --dir a --exit-when-done
ends 0 tackle files status logs
