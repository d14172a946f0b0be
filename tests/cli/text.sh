#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle text`: every verb, without a server.
. "$(dirname "$0")/lib.bash"
export TACKLE_URL=unix:///nonexistent

is "fold" "$(tackle text fold 'STRASSE' 'Straße' 'Müller')" $'strasse\nstrasse\nmüller'
is "accents" "$(tackle text fold 'Müller' --accents)" muller
is "chinese" "$(echo 張三 | tackle text fold --chinese --lines)" 张三
is "as JSON" "$(tackle text fold AB --json | jq -c .)" '[{"text":"AB","folded":"ab"}]'
ends 64 tackle text fold
ends 64 tackle text fold a --lines

is "words" "$(tackle text words 'The cats were running' --no-stop-words --stem en --json | jq -c '[.[] | [.word, .position, .start, .length]]')" \
    '[["cat",1,4,4],["run",3,14,7]]'
is "all words" "$(tackle text words "Don't panic" --json | jq -c 'map(.word)')" "[\"don't\",\"panic\"]"
is "without" "$(tackle text words 'a b c' --without 'a c' --json | jq -c 'map(.word)')" '["b"]'
is "pieces" "$(tackle text words 北京 --pieces --json | jq -c 'map([.word, .kind])')" \
    '[["北京","word"],["北","character"],["京","character"]]'
is "standard input" "$(printf 'one two' | tackle text words --json | jq length)" 2
is "nothing" "$(tackle text words '...' --json)" "[]"
ends 0 tackle text words "Hello"
has "$out" "hello"
ends 64 tackle text words a --stem klingon

has " $(tackle text pinyin 张三) " " zhangsan "
is "initials" "$(tackle text pinyin 张三 --json | jq -c '.[0].forms | index("zs") != null')" true
is "all readings" "$(tackle text pinyin 重庆 --json | jq -c '.[0].forms | contains(["chongqing", "zhongqing"])')" true
is "no Chinese" "$(tackle text pinyin abc --json | jq -c .)" '[{"text":"abc","forms":[]}]'
ends 64 tackle text pinyin

read -r low high <<<"$(tackle text score Mo)"
read -r inside _ <<<"$(tackle text score 'Moby Dick')"
read -r beside _ <<<"$(tackle text score Mp)"
[ "$low" -lt "$inside" ] && [ "$inside" -le "$high" ] && [ "$high" -lt "$beside" ] ||
    fail "scores: $low $inside $high $beside"
is "score as JSON" "$(tackle text score Mo --json | jq -c ".[0] == {text: \"Mo\", score: $low, last: $high}")" true
ends 64 tackle text score
ends 64 tackle text
