#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# --json of every verb keeps one pattern, whatever the answer: done, "no", nothing, one, many, wrong.
. "$(dirname "$0")/lib.bash"
start_server
cd "$home" || exit 1
export TACKLE_NODES=embedded:$home/node

# Verbs that are interactive, or that only run a command.
declare -A left_out=([demo]=1 [help]=1 [suggest try]=1 [lock run]=1 [sem run]=1 [redlock run]=1 [leader run]=1
    [limit run]=1 [stats time]=1 [service register]=1 [serve]=1)

t() { command tackle --json "$@"; }

# run LINE: runs a shell line, and tests its last call of `t`. The result goes to $home/results: the
# verb, the line, the exit code, the stream, the text, with a tab between them.
run() {
    local verb code stream text
    [[ $1 =~ .*(^|[ ;|])t\ ([a-z]+)\ ?([a-z-]*) ]]
    verb=${BASH_REMATCH[2]}
    [[ -v verbs[$verb] ]] || verb+=" ${BASH_REMATCH[3]}"
    tried[$verb]=1
    eval "$1" >out 2>err </dev/null
    code=$? count=$((count + 1))
    printf '%s\t%s\t%s\tend\t\n' "$verb" "$count: $1" "$code" >>results
    for stream in out err; do
        while IFS= read -r text || [ -n "$text" ]; do
            printf '%s\t%s\t%s\t%s\t%s\n' "$verb" "$count: $1" "$code" "$stream" "$text" >>results
        done <$stream
    done
}

declare -A verbs tried
count=0
while read -r component verb; do
    verbs["$component${verb:+ $verb}"]=1
done < <(every_verb)

while read -r line; do
    run "$line"
done <<'LINES'
t server start
t server status
t server save
t server rewrite
t server backup backup
t server backup backup --url embedded:$home/missing
t server clients
t server clients --max 0
t server memory
t server memory --sample 0
t server functions
t server functions --load
t server functions --remove-old
t server functions --load nonsense
t ping
t status
t status --url redis://127.0.0.1:1 --timeout 100ms
t status nonsense
t top --once
t top --once --url redis://127.0.0.1:1 --timeout 100ms
t top
t top nonsense
t queue push watched x
(sleep 0.5; command tackle queue push watched y >/dev/null) & t queue watch watched --max 1; wait
t queue watch watched --wait 10ms
t queue watch nothing
t queue watch watched --max 0
t queue drop watched --yes
t metrics
t metrics nonsense
t doctor
t doctor --url redis://127.0.0.1:1 --timeout 100ms
t doctor nonsense
t version
t lab
t lab mailbox
t lab nonsense
t call LRANGE list 0 -1
t call NONSENSE
t cron '* * * * *' --zone Europe/Berlin
t cron nonsense
t text fold Straße AB
t text words 'The cats were running' --stem en
t text words a --stem klingon
t text pinyin 张三
t text score Mo
t lock acquire door --label me
t lock acquire door
t lock show door
t lock show nothing
t lock list
t lock renew door nonsense
t lock break door
t lock break door
t lock list
token=$(t lock acquire door | jq -r .token); t lock renew door $token
t lock release door $token
t lock release door $token
t redlock acquire r
t redlock acquire r
token=$(t redlock acquire r2 | jq -r .token); t redlock renew r2 $token
t redlock release r2 $token
t redlock release r2 $token
t server stop --url $TACKLE_NODES
t sem acquire s --limit 1
t sem acquire s --limit 1
t sem show s
t sem list
t sem break s
token=$(t sem acquire s --limit 1 | jq -r .token); t sem renew s $token
t sem release s $token
t sem release s $token
t board add b alice 12 bob 15
t board set b alice 12
t board best b carol 1 --order lower
t board best c carol 1 --order lower --per week
t board add b alice nonsense
t board top b
t board top nothing
t board around b bob
t board around b nobody
t board rank b bob alice
t board rank b nobody
t board count b
t board remove b bob
t board seasons b
t board seasons c
t board list
t board drop b
t board drop b --yes
t board drop b --yes
t leader show seat
t leader watch seat --max 1
t leader watch seat --max 1 --wait 0
t leader watch seat --wait 10ms
t leader list
t leader break seat
t leader resign seat nonsense
tackle leader run seat --label x:1 -- tackle --json leader show seat; t leader list
tackle leader run seat --once -- sh -c 'tackle --json leader break seat' 2>/dev/null; t leader list
t queue push q a
t queue push q b c --delay 1h
printf '' | t queue push q --lines
t queue push q d --unique k --meta m --group g --kind resize
t queue push q d --kind 'two words'
t queue push q
t queue push q d --unique k
t queue limit q --max-jobs 5
t queue push q e f
t queue limit q --max-jobs 0
t queue stats q
t queue stats nothing
t queue list
t queue peek q
t queue peek q --cut 1b
t queue find q a --cut 0
t queue find q a --within 100ms
t queue peek q --state delayed
t queue peek nothing
t queue requeue q nothing
t queue requeue q $(tackle queue peek q --json | jq -r '.[0].id') --force
t queue flow q nothing
t queue flow q $(tackle queue peek q --json | jq -r '.[0].id')
t queue flow q nothing --max 101
t queue why q
t queue why q nothing
t queue why nothing
t queue workers
t queue workers q
t queue workers nothing
t queue times
t queue times q
t queue times nothing
t queue peek q --state active
t queue claim nothing
t queue claim q
id=$(jq -r .id <out) token=$(jq -r .token <out); t queue renew q $id $token --progress half
t queue show q $id
t queue show q $id --cut 1b
t queue show q $id --cut 0
t queue ack q $id $token
t queue ack q $id $token
t queue show q $id
claim=$(t queue claim q); id=$(jq -r .id <<<"$claim"); t queue release q $id $(jq -r .token <<<"$claim")
claim=$(t queue claim q); t queue fail q $id $(jq -r .token <<<"$claim") --reason no --dead
t queue limit q --keep 1h
t queue push q done --priority -9
claim=$(t queue claim q); t queue ack q $(jq -r '.id, .token' <<<"$claim")
t queue done q
t queue done q --text nothing
t queue show q $(jq -r .id <<<"$claim")
t queue done q --delete $(jq -r .id <<<"$claim") --dry-run
t queue done q --delete $(jq -r .id <<<"$claim")
t queue done q --delete $(jq -r .id <<<"$claim")
t queue done q --delete-all --yes
t queue done q --delete
t queue limit q --keep 0
t queue dead q
t queue dead q --reason no --older 0s
t queue dead q --delete --kind none --yes
t queue find q no --max 1
t queue find nothing no
t queue find q no --after x
t queue retry q --kind none --dry-run
t queue retry q --kind none
t queue retry q
t queue move q elsewhere --reason no --dry-run
t queue move q elsewhere $id
t queue move q elsewhere $id
t queue move q elsewhere
t queue drop elsewhere --yes
claim=$(t queue claim q); id=$(jq -r .id <<<"$claim"); t queue fail q $id $(jq -r .token <<<"$claim") --reason no --dead
t queue retry q $id
t queue retry q $id
t queue dead q --delete $id
t queue dead q --delete-all --yes
t queue cancel q $id
t queue cancel q $id
id=$(command tackle queue push q later --delay 1h); t queue promote q $id
t queue promote q $id
t queue promote q
t queue edit q $id changed --dry-run
t queue edit q $id changed
t queue edit q nothing changed
t queue pause q
t queue resume q
t queue drain q
t queue drain q --yes
id=$(command tackle queue push work x --result-for 1h); t queue result work $id
t queue work work --once --result -- cat
t queue result work $id
t queue push work x --retries 0
t queue work work --drain -- false
t queue push work x --retries 0 --kind shout
t queue work work --drain --on whisper=cat
t queue work work --drain --on shout
t queue schedule q daily --cron @daily x
t queue schedule q often --every 1h x
t queue schedules q
t queue pause q --schedule daily
t queue schedules q
t queue resume q --schedule daily
t queue resume q --schedule nothing
t queue fire q nothing
t queue fire q daily
t queue unschedule q daily
t queue unschedule q daily
t queue drop q --yes
t queue drop q --yes
t blist push b x y
printf '' | t blist push b --lines
t blist length b
t blist list
t blist pop b --max 9
t blist pop b
t blist drop b --yes
t recent add ann Bob Eve
t recent complete ann
t recent find ann o
t recent find ann
t recent list
t recent remove ann Bob
t recent drop ann --yes
t recent drop ann --yes
t book add staff Anna
t book add staff Bob --id 7
t book complete staff a
t book complete staff b --ids
t book complete staff x
t book complete staff a --json --more --count 1
t book complete staff a --after xyz
t book find staff bob
t book rename staff Anna Ann
t book rename staff Anna Ann
t book show staff
t book list
t book remove staff Ann
t book drop staff --yes
t book show staff
t suggest feed s weather
t suggest hint s we
t suggest show s
t suggest list
t suggest remove s weather
t suggest drop s --yes
t suggest show s
t search create p --field votes:numeric --field lang:text
t search create p
t search add p p1 'locks on a server' --set votes=3 --set lang=en
t search query p locks
t search query p locks --show all --facets lang
t search query p 'votes:>x'
t search explain p 'locks votes:>5' p1
t search explain p locks
t search explain p locks nosuch
t search explain p 'votes:>x' p1
t search parse 'locks OR queues -the'
t search parse '"open'
t search get p p1 p2
printf 'id,text,votes\np2,queues,1\np3,x,y\n' | t search import p - --format csv --max-bad 1
printf 'id,text,votes\np3,x,y\n' | t search import p - --format csv
printf 'locks\n' | t search shell p
t search info p
t search check p
t search check nosuch
t search list
t search remove p p1
t search drop p --yes
t search info p
t mail send ann --from bob hello --header a=b
t mail send ann hello
t mail fetch ann
t mail fetch nobody
t mail ack ann 1
t mail ack ann 9
t mail unread ann
t mail show ann
t mail show nosuch
t mail limit ann --max-messages 1 --max-age 1h
t mail send ann hello
t mail list
t mail purge ann --yes
t mail drop ann --yes
t mail drop ann --yes
t chat create c ann bob
t chat create c ann bob
t chat send c ann hello
t chat send c eve hello
t chat fetch bob
t chat fetch nobody
t chat history c bob
t chat history c bob --before 1
t chat history c eve
t chat ack c bob 1
t chat ack c bob 9
t chat join c eve
t chat join c eve
t chat leave c eve
t chat send c ann again
t chat talk c bob
t chat show c
t chat show nothing
t chat list
t chat list bob
t chat limit c --max-messages 5
t chat drop c --yes
t chat drop c --yes
echo x >file; t files send logs --to a,b file
t files send logs --to a nothing
mkdir -p tree/sub; t files send web --to a,b tree
t files receive web --as a --dir . --exit-when-done
t files end logs --to b
t files end logs
t files status logs
t files status nothing
t files add-receiver logs c
t files drop-receiver logs c --yes
t files drop-receiver logs c --yes
t files list
t files receive logs --as a --dir . --exit-when-done
t files receive logs --as b --lines --exit-when-done
t files receive logs --as b --wait 0
t limit check api ann --rate 1/h
t limit check api ann --rate 1/h
t limit check api ann --rate nonsense
t limit wait api ann --rate 1/h --wait 0
t limit all eve m=1/m d=2/d
t limit all eve m=1/m d=2/d
t limit check slots ann --rate 1/h --algorithm concurrency
ticket=$(jq -r .ticket <out); t limit renew slots ann --rate 1/h --algorithm concurrency --ticket $ticket
t limit refund slots ann --rate 1/h --algorithm concurrency --ticket $ticket
t limit refund slots ann --rate 1/h --algorithm concurrency --ticket $ticket
t limit check api ann --rate 1/h --count-denied
t limit refused
t limit check api ann --rate 1/h --algorithm concurrency --count-denied
t limit show api ann
t limit show api nobody
t limit show ''  ann
t limit list
t limit list api
t limit list nosuch
t limit reset api ann
t limit reset api ann
t log write shop info started
printf 'a\nb\n' | t log write shop error -
t log write shop nonsense x
t log recent shop
t log recent nothing
t log common shop
t log list
t log drop shop --yes
t log drop shop --yes
t counter add hits 3
t counter add hits --at "10m ago"
t counter add hits --at 2001-01-01
t counter series hits --every 1s
t counter series hits hits --every 1s
t counter series nothing
t counter list
t counter clean
t counter drop hits --yes
t counter drop hits --yes
t stats record /cart size 1 2 3
t stats show /cart size
t stats show /cart size --last
t stats slowest --type size
t stats slowest --type nothing
t stats list
t stats contexts size
t stats contexts nothing
t stats drop /cart size --yes
t stats drop /cart size --yes
t session create ann
token=$(jq -r .token <out); t session touch $token teapot
t session set $token language=de
t session set $token x
t session check $token
t session check nonsense
t session recent $token
t session top
t session list ann
t session list nobody
t session rename teapot pot
t session unrank pot
t session unrank pot
t session view cup
t session view cup --half-life 2h
t session unrank --all --yes
t session unrank --all --yes
t session stores
t session end $token
t session end $token
t session end --user ann
t session create ann
t session drop --yes
t session drop --yes
t online mark v ann bob
t online mark h ann --using hll
t online mark v ann --day yesterday
t online mark v ann --day someday
t online unmark v ann --day yesterday
t online unmark h ann
t online compare --users 10 --days 2
t online compare --users 0
t online count v
t online cohort v --first "$(date -u +%F)"
t online cohort v --first someday
t online check v ann
t online check v eve
t online check h ann
t online users v
t online users h
t online returning v
t online report v
t online report nothing
t online list
t online drop v --yes
t online drop v --yes
t bloom reserve f --capacity 2 --fixed
t bloom reserve f
t bloom add f a b c d e f
t bloom exists f a
t bloom exists f a z
t bloom exists nothing a
t bloom show f
t bloom show nothing
t bloom reserve g --capacity 2 --fixed
t bloom merge f g
t bloom list
t bloom drop f --yes
t bloom drop f --yes
t unique add u a b
t unique count u nothing
t unique merge w u
t unique list
t unique drop u --yes
t unique drop u --yes
t bits set d 7
t bits get d 7
t bits count d
t bits find d 1
t bits find nothing 1
t bits combine e and d d
t bits fields n set u8 0 250
t bits fields n add u8 0 250 --overflow fail
t bits list
t bits drop d --yes
t bits drop d --yes
t geo add c 13.405 52.52 berlin 9.993 53.551 hamburg
t geo distance c berlin hamburg
t geo distance c berlin nothing
t geo positions c berlin nothing
t geo hashes c berlin nothing
t geo near c berlin --radius 300 --unit km
t geo near c berlin --radius 300 --count
t geo near c nothing --radius 300
t geo within c u3
t geo within c a
t geo encode 13.405 52.52
t geo encode 13.405 100
t geo decode u33d
t geo decode a
t geo neighbours u33d
t geo list
t geo remove c berlin nothing
t geo drop c --yes
t geo drop c --yes
t ads add site shoes --type cpc --price 0.25 --location Berlin 'running shoes'
t ads add site phone --type cpm --price 3 --location Berlin --require age=18-24 --budget 20/day
t ads target site --location Berlin running
target=$(jq -r .target <out); t ads click site $target
t ads click site $target
t ads target site --location Paris
t ads explain site shoes --location Paris
t ads show site phone
t ads show site nothing
t ads report site
t ads report site shoes
t ads stats site
t ads ecpm --type cpc --price 0.25 --views 1000 --events 2
t ads ecpm --type cpc --price 0.25
t ads stats nothing
t ads list
t ads remove site phone nothing
t ads drop site --yes
t ads drop site --yes
printf 'network,geoname_id\n192.0.2.0/24,1\nx,1\n' | t ip import table --blocks - --max-bad 1
printf 'network,geoname_id\nx,1\n' | t ip import table --blocks -
t ip lookup table 192.0.2.7
t ip lookup table 192.0.2.7 192.0.3.1
t ip lookup table nonsense
t ip lookup nothing 192.0.2.7
t ip show table
t ip list
t ip drop table --yes
t ip drop table --yes
t cache run k -- echo hello
t cache run k --none-exit 3 -- false
t cache run absent --none-exit 1 -- false
t cache run broken -- false
t cache get k
t cache get nothing
t cache get absent
t cache set k v --tags x
t cache set k v --ttl 0
t cache show k
t cache show nothing
t cache list
t cache drop --tag x --yes
t cache drop k --yes
echo 'return ARGV' | t script run - -- a
t script run nothing.lua
t channel publish c hello
t channel publish c --lines </dev/null
t channel publish c x --history 0
t channel follow c --all --wait 0
t channel follow c --wait 0
t channel follow c --after nonsense
t channel show c
t channel show nothing
t channel list
t channel drop c --yes
t channel drop c --yes
t config set k c 1
t config set k c 2 --if-version 9
t config set k c '{'
t config get k c
t config get k nothing
t config history k c
t config watch k c --max 1
t config watch k c --wait 1ms
t config list
t config drop k c --yes
t config drop k c --yes
t maintenance status
t maintenance on --reason why
t maintenance status
t maintenance off
command tackle service register shop --address a:1 --meta zone=b -- tackle --json service list shop; t service list shop
command tackle service register shop --address a:1 -- tackle --json service pick shop; t service list
t service pick nothing
t service watch nothing --max 1
t call HSET hash a 1
t scan --match hash
t scan --members hash
t scan --members nothing
t server stop
t server status
t server stop
t lock acquire door --url redis://127.0.0.1:1
t lock nonsense
LINES

for verb in "${!verbs[@]}"; do
    [[ -v tried[$verb] || -v left_out[$verb] ]] || fail "'tackle $verb' is not tried here"
done

# complains TITLE FILTER: jq must find nothing to complain about in the results.
complains() {
    jq -n -r --argjson codes "$codes" "[inputs] | $2" <parsed >complaints || fail "$1: $2"
    [ ! -s complaints ] || fail "$1: $(cat complaints)"
}

codes=$(sed -nE 's/.*X\((TKL_[A-Z]+), -?[0-9]+, ([0-9]+),.*/"\1": \2,/p' \
    "$TACKLE_SOURCE/include/tackle/common.h" | tr '\n' ' ')
codes="{$codes \"\": 0}"
jq -R -c 'split("\t") | {verb: .[0], line: .[1], code: (.[2] | tonumber), stream: .[3]} +
    (if .[3] == "end" then {} else {value: (.[4:] | join("\t") | try fromjson
        catch {"no JSON": .})} end)' <results >parsed

complains "not JSON" '.[] | select(.value | objects | has("no JSON")) | "\(.line): \(.value)"'
complains "done, and yet an error" '.[] | select(.code == 0 and .stream == "err") | "\(.line): \(.value)"'
complains "a failure without an error" 'group_by(.line)[] |
    select(.[0].code != 0 and (map(select(.stream == "err")) | length) == 0) | .[0].line'
complains "errors" '.[] | select(.stream == "err") |
    select((.value.message | length) == 0 or $codes[.value.error] != .code) |
    "\(.line): exit code \(.code): \(.value)"'

# Fields, without those that users have named.
fields='map(select(.stream == "out") | .verb as $verb | .value |
    walk(if type == "object" then del(.fields, .facets, .highlights) else . end) |
    .. | objects | to_entries[] | select(.value != null) | . + {verb: $verb}) |'

# Names are in snake_case and have one type everywhere, except for data of users, ids of messages,
# which are numbers, and versions of programs, which are text.
complains "snake_case" "$fields"' .[] | select(.key | test("^[a-z][a-z0-9_]*$") | not)'
complains "several types" "$fields"' group_by(.key)[] | select(.[0].key |
        IN("id", "value", "meta", "version") | not) |
    select((map(.value | type) | unique | length) > 1) |
    map("\(.key): \(.value | type) in \(.verb)") | unique[]'
# Times are RFC 3339, and a name says that a field is one.
complains "times" "$fields"' .[] | (.key | test("_at$|^(time|since|until|hour)$")) as $named |
    (.value | type == "string" and
        test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2})$")) as $is |
    select($named != $is) | "\(.verb): \(.key): \(.value)"'
# Durations are numbers; what is absent is null.
complains "durations" "$fields"' .[] | select((.key | test("_ms$")) and (.value | type) != "number") |
    "\(.verb): \(.key): \(.value)"'
complains "moments" "$fields"' .[] | select((.key | test("_ms$")) and .value > 1e12) |
    "\(.verb): \(.key): \(.value)"'
complains "absent" "$fields"' .[] | select(.value == "" or .value == -1) | "\(.verb): \(.key)"'
