#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle book`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

is "add" "$(tackle book add staff 张三丰 Anna Hanna Müller --pinyin --accents --contains)" 4
is "add again" "$(tackle book add staff Anna Annabel --json | jq -c .)" '{"name":"staff","added":1}'
is "complete" "$(tackle book complete staff ann --json)" '["Anna", "Annabel"]'
is "complete, lines" "$(tackle book complete staff AN)" $'Anna\nAnnabel'
is "count" "$(tackle book complete staff '' --count 2 --json)" '["Anna", "Annabel"]'
is "pinyin" "$(tackle book complete staff zs)" 张三丰
is "accents" "$(tackle book complete staff mul)" Müller
is "nothing" "$(tackle book complete staff x --json)" '[]'
is "find" "$(tackle book find staff anna --json)" \
    '[{"text": "Anna", "match": "exact", "id": null}, {"text": "Annabel", "match": "prefix", "id": null}, {"text": "Hanna", "match": "suffix", "id": null}]'
ends 0 tackle book find staff ann --count 1
has "$err" "There may be more"
is "more" "$(tackle book find staff ann --count 1 --json --more | jq -c .)" \
    '{"found":[{"text":"Anna","match":"prefix","id":null}],"more":true,"parts":true}'
is "no more" "$(tackle book find staff xyz --json --more | jq -c .)" '{"found":[],"more":false,"parts":true}'
is "more to complete" "$(tackle book complete staff ann --count 1 --json --more | jq -c 'del(.next)')" \
    '{"found":["Anna"],"more":true}'
is "all completed" "$(tackle book complete staff ann --json --more | jq -c .)" \
    '{"found":["Anna","Annabel"],"more":false,"next":null}'
ends 64 tackle book find staff ann --more

# Pages: each name once.
seq -f 'name %g' 25 | tackle book add pages --lines >/dev/null
seen="" after=()
for page in 1 2 3 4; do
    result=$(tackle book complete pages name --count 10 --json --more "${after[@]}")
    seen+=$(jq -r '.found[]' <<<"$result")$'\n'
    next=$(jq -r '.next // ""' <<<"$result")
    [ -n "$next" ] || break
    after=(--after "$next")
done
is "three pages" "$page" 3
is "all names, each once" "$(sort <<<"$seen" | grep -c name) $(sort -u <<<"$seen" | grep -c name)" "25 25"
ends 0 tackle book complete pages name --count 10
has "$err" "--after "
ends 0 tackle book complete pages name --count 10 --after "${err##* }"
is "the second page" "$(wc -l <<<"$out")" 10
for after in xyz abc ""; do
    ends 64 tackle book complete pages name --after "$after"
done

# A book without --contains says what was not searched.
ends 0 tackle book find pages ame
has "$err" "parts of names were not searched"
is "as JSON" "$(tackle book find pages ame --json --more 2>/dev/null | jq -c .parts)" false
ends 0 tackle book find staff ann
is "all parts were searched" "$err" ""
ends 0 tackle book find nosuchbook ann
is "no book, no parts" "$err" ""
ends 0 tackle book drop pages --yes
ends 64 tackle book complete staff ann --more
is "mixed" "$(tackle book complete staff zhangsf --json)$(tackle book complete staff z三 --json)" '["张三丰"]["张三丰"]'
is "lines with ids" "$(printf '7\tBob\n8\tEve\n' | tackle book add staff --lines --ids)" 2
is "ids" "$(tackle book complete staff b --ids --json)" '[{"id": "7", "text": "Bob"}]'
is "no id" "$(tackle book complete staff annab --ids --json)" '[{"id": null, "text": "Annabel"}]'
is "id found" "$(tackle book find staff bob --json | jq -c .)" '[{"text":"Bob","match":"exact","id":"7"}]'
ends 0 tackle book rename staff Robert --id 7
ends 0 tackle book rename staff Annabel Annabelle --json
is "renamed" "$(jq -c . <<<"$out")" '{"name":"staff","renamed":true}'
ends 1 tackle book rename staff Annabel X
ends 1 tackle book rename staff Annabelle Anna
is "renamed" "$(tackle book complete staff rob)" Robert
is "show" "$(tackle book show staff --json | jq -c .)" \
    '{"name":"staff","entries":7,"accents":true,"pinyin":true,"contains":true}'
is "remove by id" "$(tackle book remove staff --id 7)" 1
is "remove" "$(tackle book remove staff Anna nobody --json | jq -c .)" '{"name":"staff","removed":1}'
is "CRLF and empty lines" "$(printf 'Uma\r\n\r\n\nUlf\n' | tackle book add crlf --lines; tackle book complete crlf '' --json)" \
    $'2\n["Ulf", "Uma"]'
ends 64 sh -c "printf '1\\tx\n\nnothing\n' | tackle book add crlf --lines --ids"
has "$err" "line 3: no tab"
ends 64 sh -c "(seq 1500; head -c 2000 /dev/zero | tr '\\0' a) | tackle book add crlf --lines"
has "$err" "lines 1001 to 1501: entry 500"
ends 0 tackle book drop crlf --yes
is "many pages" "$(seq -f 'name %05g' 2500 | tackle book add many --lines; tackle book complete many n --count 2400 | wc -l)" $'2500\n2400'
is "list" "$(tackle book list --json)" '[{"name": "many"}, {"name": "staff"}]'
tackle book add plain x >/dev/null
ends 64 tackle book add plain y --pinyin
has "$err" "made without pinyin"
ends 1 tackle book show nothing
ends 64 tackle book add staff
ends 64 tackle book add staff ''
ends 64 tackle book add staff a b --id 1
ends 64 tackle book rename staff a
ends 64 tackle book find staff a --count 1001
ends 64 tackle book add staff "$(head -c 2000 /dev/zero | tr '\0' x)"
ends 64 tackle book drop staff
ends 0 tackle book drop staff --yes
ends 1 tackle book drop staff --yes

# The permissions that docs/book.md names are enough.
mapfile -t rules < <(sed -n '/^ACL SETUSER/,/^```/{/^```/d; s/^ *//; p}' "$TACKLE_SOURCE/docs/book.md" | tr ' ' '\n')
tackle call "${rules[@]}" >/dev/null
socket=$(tackle server status --json | jq -r .socket)
export TACKLE_URL=unix://app@$socket TACKLE_PASSWORD=secret
for verb in "add acl 张三 Bob --pinyin --contains --ttl 1h" "add acl Ann --id 1" "add acl Anna --id 1" \
    "complete acl zs" "complete acl zhangs三" "find acl o" "rename acl Bob Rob" "rename acl Eve --id 1" "remove acl --id 1" \
    "remove acl 张三" "show acl" "list" "drop acl --yes"; do
    ends 0 tackle book $verb
done
ends 77 tackle call GET x
