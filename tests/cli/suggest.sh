#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle suggest`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

ends 0 tackle suggest feed q weather wedding weather 北京天气 --pinyin --words --accents --json
is "fed" "$(jq -c . <<<"$out")" '{"name":"q","fed":4}'
is "hint" "$(tackle suggest hint q we --json)" '[{"text": "weather", "weight": 2}, {"text": "wedding", "weight": 1}]'
is "lines" "$(printf '5\tweb\n2.5\tMünchen\n' | tackle suggest feed q --lines && tackle suggest hint q web --json)" \
    '[{"text": "web", "weight": 5}]'
is "accents" "$(tackle suggest hint q mun --json)" '[{"text": "München", "weight": 2.5}]'
ends 0 tackle suggest feed q 'new york' --weight 0.5
is "words" "$(tackle suggest hint q york --json)" '[{"text": "new york", "weight": 0.5}]'
is "pinyin" "$(tackle suggest hint q bjt --json)" '[{"text": "北京天气", "weight": 1}]'
is "count" "$(tackle suggest hint q '' --count 1 --json)" '[{"text": "web", "weight": 5}]'
is "nothing" "$(tackle suggest hint q x --json)" '[]'
is "no typos" "$(tackle suggest hint q waether --json)" '[]'
is "typos" "$(tackle suggest hint q waether --typos --json)" '[{"text": "weather", "weight": 2, "corrected": true}]'
is "no typo" "$(tackle suggest hint q web --typos --json)" '[{"text": "web", "weight": 5, "corrected": false}]'
is "more texts" "$(for i in 1 2 3 4 5 6 7 8 9 a b c; do echo "1	m$i"; done | tackle suggest feed m --lines --best 10 && tackle suggest hint m m --count 20 2>&1 >/dev/null)" \
   'tackle: more texts begin so, but this prefix keeps its best 10 only'
ends 0 tackle suggest drop m --yes
ends 0 tackle suggest hint q we
has "$out" weather
is "removed" "$(tackle suggest remove q weather nothing --json | jq -c .)" '{"name":"q","removed":1}'
is "removed" "$(tackle suggest remove q weather)" 0
is "show" "$(tackle suggest show q --json | jq -c .)" \
    '{"name":"q","texts":5,"texts_max":1000000,"best":50,"longest":16,"half_life_ms":null,"accents":true,"pinyin":true,"by_words":true}'
ends 0 tackle suggest feed fading a --half-life 1h --best 10 --longest 4 --texts 0
is "show" "$(tackle suggest show fading --json | jq -c .)" \
    '{"name":"fading","texts":1,"texts_max":null,"best":10,"longest":4,"half_life_ms":3600000,"accents":false,"pinyin":false,"by_words":false}'
ends 64 tackle suggest feed fading a --half-life 2h
has "$err" "were made with"
is "list" "$(tackle suggest list --json)" '[{"name": "fading"}, {"name": "q"}]'
for weight in 0 -1 x nan inf 1e300 ''; do
    ends 64 tackle suggest feed q a --weight "$weight"
done
ends 64 sh -c "printf 'no tabulator\n' | tackle suggest feed q --lines"
has "$err" "line 1: not a weight"
ends 64 tackle suggest feed q x --weight 1e400
has "$err" "invalid --weight '1e400': from 1e-9 to 1e15"
ends 64 tackle suggest feed q
ends 64 tackle suggest feed q ''
ends 64 tackle suggest feed new a --best 0
ends 64 tackle suggest feed new a --best 5
ends 64 tackle suggest hint q a --count 101
ends 64 tackle suggest try q
ends 1 tackle suggest show nothing
ends 64 tackle suggest drop q
ends 0 tackle suggest drop q --yes
ends 1 tackle suggest drop q --yes

# On a terminal. typed COMMAND [TEXT KEYS]...: waits for each text on the screen, then types the keys.
typed() {
    local command=$1
    shift
    : >"$home/screen"
    (
        while [ $# -gt 0 ]; do
            for _ in {1..600}; do
                grep -qaF -- "$1" "$home/screen" && break
                sleep 0.05
            done
            printf "$2"
            shift 2
        done
    ) | script -qec "$command" /dev/null >"$home/screen"
    out=$(cat "$home/screen")
}
last_line() {
    tail -n 1 <<<"$out" | tr -d '\r' | sed 's/.*\x1b\[J//'
}
if command -v script >/dev/null; then
    ends 0 tackle suggest feed try weather

    # Letters, a correction, Tab, Enter.
    typed 'tackle suggest try try' '> ' 'x\177we' '> we' '\t' '> weather' '\r'
    is "the line" "$(last_line)" weather

    # Backspace takes a character as users see it: a letter with its mark, an emoji with its colour.
    typed 'tackle suggest try try' '> ' \
        'xe\xcc\x81\177\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd\177\r'
    is "erased" "$(last_line)" x

    # Rows are as wide as the terminal: the line shows its end.
    typed 'stty cols 12 rows 5; tackle suggest try try' '> ' 0123456789abcdefghij '> cdefghij' '\r'
    is "the whole line" "$(last_line)" 0123456789abcdefghij

    # Ctrl-C ends without a line, and leaves the terminal as it was.
    typed 'trap : INT; tackle suggest try try; echo "ended $?"; stty -a | grep -o -- " -*echo "' \
        '> ' we '> we' '\003'
    has "$out" "ended 130"
    has "$out" " echo "
fi

# The permissions that docs/suggest.md names are enough.
mapfile -t rules < <(sed -n '/^ACL SETUSER/,/^```/{/^```/d; s/^ *//; p}' "$TACKLE_SOURCE/docs/suggest.md" | tr ' ' '\n')
tackle call "${rules[@]}" >/dev/null
socket=$(tackle server status --json | jq -r .socket)
for i in {100..160}; do printf '%s\tname %s\n' "$i" "$i"; done >"$home/lines"
export TACKLE_URL=unix://app@$socket TACKLE_PASSWORD=secret
tackle suggest feed acl --lines --words --half-life 1d --best 10 --texts 50 --ttl 1h <"$home/lines" || fail "feed"
for verb in "hint acl na" "hint acl nqme --typos" "remove acl Name" "show acl" "list"; do
    ends 0 tackle suggest $verb
done
tackle suggest feed few --lines --texts 12 --best 10 <"$home/lines" || fail "feed"
tackle suggest remove few --lines < <(cut -f2 "$home/lines") >/dev/null || fail "remove"
ends 0 tackle suggest drop acl --yes
ends 77 tackle call GET x
