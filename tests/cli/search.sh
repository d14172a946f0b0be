#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle search`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

# The ids of a query, by spaces.
ids() {
    tackle search query "$@" --json | jq -r '.ids | join(" ")'
}

ends 0 tackle search create p --field votes:numeric --field lang:text --stem en --accents --json
is "created" "$(jq -c . <<<"$out")" '{"name":"p","created":true}'
ends 0 tackle search create p --field votes:numeric --field lang:text --stem en --accents
ends 64 tackle search create p --field votes:numeric --stem en --accents
ends 64 tackle search create p2 --field votes
ends 64 tackle search create p2 --field votes:float
ends 64 tackle search create p2 --stem klingon
has "$err" klingon
ends 64 tackle search create p2 --shards 0

is "new" "$(tackle search add p a 'Connecting the SERVER' --set votes=3 --set lang=en --json | jq -c .)" \
    '{"name":"p","id":"a","added":1}'
is "added" "$(echo 'Connections of a café' | tackle search add p b --set votes=9.5 --set lang=en -)" added
is "added" "$(tackle search add p c '服务器上的锁，T恤衫' --set votes=5 --set lang=zh)" added
is "replaced" "$(tackle search add p a 'Connecting the SERVER again' --set votes=3 --set lang=en)" replaced
ends 0 tackle search add p d 'connected, without fields'
ends 64 tackle search add p e x --set votes=many
ends 64 tackle search add p e x --set vote=1
ends 64 tackle search add p e x --set votes
ends 64 tackle search add p '' x
ends 1 tackle search add nothing e x

is "words" "$(ids p 'connect' --sort votes)" "a b d"
is "downwards" "$(ids p 'connect' --sort -votes)" "b a d"
is "weights" "$(ids p 'connect' --rank votes=-1)" "$(ids p connect --rank votes=-1)"
is "without" "$(ids p 'connect -server' --sort votes)" "b d"
is "synonyms" "$(ids p 'server +服务器 +cafe' --sort votes)" "a c b"
is "accents" "$(ids p CAFE)" b
is "ranges" "$(ids p 'votes:>3' --sort votes)" "c b"
is "values" "$(ids p 'lang:EN votes:1..9')" a
is "prefix" "$(ids p 'serv*')" a
is "all" "$(ids p '*' --sort votes --size 2)" "a c"
is "page" "$(ids p '*' --sort votes --size 2 --page 2)" "b d"
is "Chinese" "$(ids p '务器')$(ids p 'T恤')$(ids p '锁')" ccc
is "nothing" "$(tackle search query p 'the of' --json | jq -c 'del(.took_us)')" \
    '{"total":0,"exact":true,"ids":[],"compared":0,"kept":false,"understood":null,"stop_words":["the","of"],"why":"the query has stop words only","nearest":null}'
is "only -words" "$(ids p '-server')" ""
is "total" "$(tackle search query p '*' --size 0 --json | jq -c '[.total, .ids]')" '[4,[]]'
is "fields of the answer" "$(tackle search query p connect --json | jq -c 'keys')" \
    '["compared","exact","ids","kept","nearest","stop_words","took_us","total","understood","why"]'
is "understood" "$(tackle search query p 'connect OR nosuch' 2>&1 >/dev/null | grep understood)" \
    "understood as: connect +nosuch"
is "cut" "$(tackle search query p '服务器恤' 2>&1 | tail -1)" "understood as: 服务 器 恤"
is "any value" "$(ids p 'lang:* connect' --sort votes)" "a b"
is "shown" "$(tackle search query p server --show all --json | jq -c '.hits[0] | del(.score)')" \
    '{"id":"a","fields":{"votes":3,"lang":"en"},"text":"Connecting the SERVER again","highlights":{"text":"Connecting the <b>SERVER</b> again"}}'
is "shown" "$(tackle search query p connect --sort votes --show votes --json | jq -c '[.hits[].fields.votes]')" '[3,9.5,null]'
is "no score" "$(tackle search query p connect --sort votes --show votes --json | jq -c '.hits[0].score')" null
is "marks" "$(tackle search query p cafe --show text --marks '[,]' --length 8 --json | jq -r '.hits[0].highlights.text')" '…[café]'
is "facets" "$(tackle search query p connect --facets lang --json | jq -c .facets)" \
    '{"lang":{"counts":[{"value":"en","count":2}],"missing":1,"more":false}}'
is "for people" "$(tackle search query p 'connect' --sort votes 2>/dev/null)" $'a\nb\nd'
ends 0 tackle search query p connect --show all --sort -votes --size 1 --facets lang
has "$out" "*Connections* of a café"
has "$out" "lang: en 2, without 1"
has "$err" "3 documents, these are 1 to 1"
is "kept" "$(tackle search query p 'connect server' --keep 1m --json | jq .kept)$(tackle search query p 'SERVER connect' --keep 1m --json | jq .kept)" falsetrue
ends 0 tackle search add p x 'connect server'
is "changed" "$(tackle search query p 'connect server' --keep 1m --json | jq -c '[.kept, .total]')" '[false,2]'

is "explained" "$(tackle search explain p 'connect -server votes:>2' a --json | jq -c '[.matches, .reason, [.parts[] | [.text, .matches, .value]]]')" \
    '[false,"the document has server, which the query excludes",[["votes:>2",true,"3"],["connect",true,null],["server",true,null]]]'
is "its score" "$(tackle search explain p 'connect server' a --json | jq .score)" \
    "$(tackle search query p 'connect server' --show votes --json | jq '.hits[] | select(.id == "a") | .score')"
ends 0 tackle search explain p 'Connections +nosuch -cafe' a
has "$out" "found, relevance"
has "$out" "connect"
has "$out" "-cafe"
ends 0 tackle search explain p 'the of'
has "$out" "not found: the query has stop words only"
is "no document" "$(tackle search explain p connect --json | jq -c '[.id, .matches, .score, .parts[0].words[0].text]')" \
    '[null,null,null,"connect"]'
ends 1 tackle search explain p connect nosuch
has "$err" nosuch
ends 64 tackle search explain p '"open' a
ends 64 tackle search explain p connect ''

server=$TACKLE_URL
export TACKLE_URL=unix:///nonexistent
is "parsed" "$(tackle search parse 'the Connections OR links NOT client conn* votes:>2' --field votes:numeric --stem en --json |
    jq -c '[.all, .reason, .stop_words, (.parts[] | [.text, .choice, .excluded, [.words[].text]])]')" \
    '[false,null,["the"],["votes:>2",1,false,[]],["conn*",2,false,[]],["link",3,false,["link"]],["connect",3,false,["connect"]],["client",null,true,["client"]]]'
is "all" "$(tackle search parse '* -a-b' --stop-words '' --json | jq -c '[.all, (.parts | length)]')" '[true,1]'
ends 0 tackle search parse '*'
has "$out" "all documents"
ends 0 tackle search parse 'locks +queues -the'
has "$out" "+"
has "$err" "stop words: the"
ends 0 tackle search parse 'the of'
has "$out" "nothing can be found: the query has stop words only"
ends 64 tackle search parse '"open'
ends 64 tackle search parse 'votes:>2'
has "$err" "no such field"
ends 64 tackle search parse x --stem klingon
ends 64 tackle search parse
export TACKLE_URL=$server

ends 64 tackle search query p '"open'
has "$err" 'byte 0'
ends 64 tackle search query p 'connect "lock free"'
has "$err" "positions"
ends 64 tackle search query p 'vote:>1'
has "$err" "no such field"
ends 64 tackle search query p x --sort nothing
ends 64 tackle search query p x --sort votes --rank votes=1
ends 64 tackle search query p x --sort votes=1
ends 64 tackle search query p x --rank votes
ends 64 tackle search query p x --page 0
ends 64 tackle search query p x --size 1001
ends 64 tackle search query p x --size -1
ends 64 tackle search query p x --show nothing
ends 64 tackle search query p x --marks x
ends 64 tackle search query p x --facets nothing
ends 1 tackle search query nothing x
is "error" "$(tackle search query p '"open' --json 2>&1 | jq -r .error)" TKL_EINVAL

is "get" "$(tackle search get p c a --json | jq -c '[.[].id]')" '["c","a"]'
ends 1 tackle search get p a nothing
is "removed" "$(tackle search remove p x nothing --json | jq -c .)" '{"name":"p","removed":1}'
is "removed" "$(printf 'x\nd\n' | tackle search remove p --lines)" 1
is "info" "$(tackle search info p --json | jq -c '[.name, .documents, .fields, .stem, .stop_words, .positions, .shards]')" \
    '["p",3,{"votes":"numeric","lang":"text"},"en",null,false,1]'
ends 0 tackle search info p
has "$out" "votes:numeric lang:text"
ends 1 tackle search info nothing
is "never checked" "$(tackle search info p --json | jq -c .clean_at)" null
is "check" "$(tackle search check p --json | jq -c '[.name, .documents, .mended_postings, .mended_values, .mended_counts, .mended_ids, .lost]')" \
    '["p",3,0,0,0,0,0]'
has "$(tackle search info p --json | jq -r .clean_at)" "T"
tackle call DEL 'tackle:search:{p}:live' >/dev/null
ends 0 tackle search check p
has "$out" "ids mended       3"
is "found again" "$(tackle search query p '*' --json | jq .total)" 3
ends 1 tackle search check nothing
ends 0 tackle search create q --positions --stop-words '' --user-words 区块链
is "list" "$(tackle search list --json | jq -c .)" '[{"name":"p"},{"name":"q"}]'

# Files: JSON lines, CSV with quotes and a mark, packed, from a pipe.
cat >"$home/one.jsonl" <<'JSON'
{"id": "j1", "text": "The lock-free queue", "votes": 7, "lang": "en", "extra": [1]}

{"id": 2, "title": "numbers are ids", "votes": "8", "lang": null}
JSON
printf '\xef\xbb\xbfid,title,text,votes\nc1,"A ""big""\ntitle",body,1.5\nc2,second,,\n' >"$home/two.csv"
gzip -k "$home/two.csv"
report=$(tackle search import p "$home/one.jsonl" "$home/two.csv.gz" --text title,text --json)
is "imported" "$(jq -c '[.documents, .added, .bad, .ignored, .problems]' <<<"$report")" '[4,4,0,["extra"],[]]'
is "JSON lines" "$(tackle search get p j1 2 --json | jq -c '[.[] | .fields, .text]')" \
    '[{"votes":7,"lang":"en"},"The lock-free queue",{"votes":8},"numbers are ids"]'
is "CSV" "$(tackle search get p c1 c2 --json | jq -c '[.[] | .fields, .text]')" \
    '[{"votes":1.5},"A \"big\"\ntitle\nbody",{},"second"]'
is "JSON lines by content" "$(printf '{"id":"t2","text":"by content"}\n' | tackle search import p - --json | jq .documents)" 1
is "a table by content" "$(printf 'id,text\nt3,by content\n' | tackle search import p - --json | jq .documents)" 1
is "tabs by content" "$(printf 'id\ttext\nt4\t"by, content"\n' | tackle search import p - --json | jq .documents)" 1
is "a mark before JSON" "$(printf '\xef\xbb\xbf{"id":"t5","text":"by content"}\n' | tackle search import p - --json | jq .documents)" 1
is "by content" "$(ids p content | tr ' ' '\n' | sort | xargs)" "t2 t3 t4 t5"
tackle search create rows >/dev/null
{ printf 'id\ttext\n'; seq -f '%05.0f' 1 2000 | sed 's/$/\tmany rows/'; } >"$home/long"
is "more than what is looked at" "$(tackle search import rows "$home/long" --json | jq -c '[.documents, .bad]')" '[2000,0]'
is "each whole" "$(tackle search get rows 00001 00300 02000 --json | jq -r '.[].text' | uniq -c | xargs)" "3 many rows"
ends 64 tackle search import p - </dev/null
has "$err" "it is empty"
ends 70 tackle search import p "$home"
lacks "$err" "it is empty"
is "a pipe" "$(printf 'id\ttext\nt1\ttabs\n' | tackle search import p - --format tsv --json | jq .documents)" 1
printf '{"id": "g1", "text": "good"}\n{"text": "no id"}\n{"id": "g2", "votes": "x"}\nnonsense\n[]\n{"id": "g3", "text": []}\n{"id": "g4"}\n' >"$home/bad.jsonl"
ends 64 tackle search import p "$home/bad.jsonl"
has "$err" "bad.jsonl:2: there is no 'id'"
is "before it" "$(ids p good)" g1
ends 0 tackle search import p "$home/bad.jsonl" --max-bad 5 --json
is "bad ones" "$(jq -c '[.documents, .bad, [.problems[].row]]' <<<"$out")" '[2,5,[2,3,4,5,6]]'
ends 64 tackle search import p "$home/bad.jsonl" --max-bad 4
printf 'id,text,votes\nq1,"two\nlines",1\n,no id,2\nq3,word,x\nq4,"open,4\nq5,lost,5\n' >"$home/bad.csv"
ends 0 tackle search import p "$home/bad.csv" --max-bad 3 --json
is "bad rows of a table" "$(jq -c '[.documents, .bad, [.problems[].row]]' <<<"$out")" '[1,3,[3,4,5]]'
is "an open quote" "$(jq -r '.problems[2].message' <<<"$out")" \
    "a quote is not closed: the rest of the file is in it"
ends 64 tackle search import p "$home/bad.csv"
has "$err" "stopped at row 3 of"
ends 64 tackle search import p "$home/two.csv" --id nothing
ends 64 tackle search import p /dev/null
ends 70 tackle search import p "$home/nothing.csv"
ends 1 tackle search import nothing "$home/two.csv"
printf 'id,text\n' >"$home/empty.csv"
is "no rows" "$(tackle search import p "$home/empty.csv" --json | jq .documents)" 0
head -c 40 "$home/two.csv.gz" >"$home/cut.csv.gz"
ends 70 tackle search import p "$home/cut.csv.gz" --text title,text
for i in {1..1234}; do printf '{"id": "n%s", "text": "many more document%s"}\n' "$i" "$i"; done >"$home/many.jsonl"
is "many" "$(tackle search import q "$home/many.jsonl" --json | jq -c '[.documents, .added]')" '[1234,1234]'
is "many" "$(tackle search query q 'many' --size 1 --json | jq .total)" 1234

# Positions, and every word counts.
ends 0 tackle search add q z '区块链 the lock free queue'
is "phrase" "$(ids q '"the lock"')$(ids q '"lock queue"')$(ids q lock-free)" zz
is "user words" "$(ids q 区块链)$(ids q 块链)" zz

# A server that is full: nothing changes, and what is there is found.
tackle call CONFIG SET maxmemory 1 >/dev/null
ends 70 tackle search add q full 'many more'
has "$err" "out of memory"
ends 70 tackle search import q "$home/many.jsonl"
is "both are common" "$(tackle search query q 'many more' --size 1 --json | jq .total)" 1234
is "removing works" "$(tackle search remove q n1234)" 1
tackle call CONFIG SET maxmemory 0 >/dev/null
is "as before" "$(tackle search query q 'many more' --size 1 --json | jq .total)" 1233

# Line by line: a wrong query does not end it, but its exit code says so.
lines=$(printf 'document1\n:size 2\n:sort\nmany\n\n:show text\ndocument7\n:quit\nmany\n' | tackle search shell q 2>"$home/err")
is "the shell" "$(head -n 1 <<<"$lines"; wc -l <<<"$lines")" $'n1\n7'
has "$lines" "many more *document7*"
has "$(cat "$home/err")" "these are 3 to 4"
ends 64 sh -c "printf '\"open\nmany\n' | tackle search shell q --size 1"
has "$out" n
ends 64 sh -c "printf ':sort nothing\n' | tackle search shell q"
has "$err" "nothing"
is "a wrong order is not kept" \
    "$(printf ':sort nothing\ndocument1\n' | tackle search shell q 2>/dev/null)" n1
ends 64 sh -c "printf ':nothing\n' | tackle search shell q"
is "JSON" "$(echo document1 | tackle search shell q --json | jq -c .ids)" '["n1"]'
ends 1 tackle search shell nothing

# On a terminal: a prompt, matches in bold, and a wrong query is no failure.
if command -v script >/dev/null; then
    out=$( (sleep 0.5; printf '"open\ndocument7\n'; sleep 0.5; printf ':quit\n'; sleep 0.3) |
        TERM=xterm script -qec 'tackle search shell q --show text' /dev/null) || fail "the shell ended with $?"
    has "$out" "q> "
    has "$out" "not closed"
    has "$out" $'more \e[1mdocument7\e[0m'
fi

ends 64 tackle search drop q
ends 0 tackle search drop q --yes
ends 1 tackle search drop q --yes
ends 1 tackle search query q many

# The permissions that docs/search.md names are enough.
become app search.md
ends 0 tackle search create acl --field votes:numeric --field lang:text --positions
ends 0 tackle search import acl "$home/one.jsonl" "$home/two.csv" --text title,text
ends 0 tackle search add acl j1 'another text' --set votes=1
for verb in "query acl title" "query acl t* --sort -votes --keep 1m" "query acl * --facets lang --show all" \
    "query acl votes:>1 --rank votes=1" "get acl j1" "info acl" "check acl" "remove acl j1" "list"; do
    read -ra words <<<"$verb"
    ends 0 tackle search "${words[@]}"
done
ends 0 tackle search drop acl --yes
ends 77 tackle call GET x
