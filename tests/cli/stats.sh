#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle stats`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

ends 1 tackle stats show /cart size
ends 0 tackle stats record /cart size 1 2 3.5 -- -4
is "quiet" "$out" ""
ends 0 tackle stats record /cart size 10 --json
is "json" "$(jq -c . <<<"$out")" '{"context":"/cart","recorded":1}'
ends 0 tackle stats show /cart size --both --json
is "summary" "$(jq -c '[.count, .min, .max, .sum, .sumsq, .mean] | map(. * 1000 | round)' <<<"$out")" \
    '[5000,-4000,10000,12500,133250,2500]'
is "keys" "$(jq -c keys <<<"$out")" \
    '["count","max","mean","min","p50","p90","p99","p999","since","stddev","sum","sumsq"]'
ends 0 tackle stats show /cart size --both
has "$out" "p99.9"
ends 0 tackle stats record one size 7
ends 0 tackle stats show one size --both --json
is "of one value" "$(jq -c '[.stddev, .p50 == 7]' <<<"$out")" '[null,true]'

# A large mean and a small spread.
ends 0 tackle stats record spread size 1000000001 1000000002 1000000003
ends 0 tackle stats show spread size --both --json
is "deviation" "$(jq '.stddev - 1 | fabs < 1e-6' <<<"$out")" true
ends 0 tackle stats show spread size --both
is "all digits" "$(awk '$1 == "max" || $1 == "mean" { print $2 }' <<<"$out" | xargs)" \
    "1000000003 1000000002"

# Many, from standard input; quantiles within 1 %.
seq 100000 | tackle stats record many size --lines || fail "lines"
ends 0 tackle stats show many size --both --json
is "many" "$(jq -c '[.count, (.p50/50000 - 1 | fabs < 0.01), (.p90/90000 - 1 | fabs < 0.01),
    (.p99/99000 - 1 | fabs < 0.01), (.p999/99900 - 1 | fabs < 0.01)]' <<<"$out")" \
    '[100000,true,true,true,true]'
ends 0 tackle stats show many size one spread --both --json
is "several contexts" "$(jq .count <<<"$out")" 100004

# Lines of another system, and a bad one.
printf '1\r\n\n2' | tackle stats record lines size --lines || fail "CRLF"
printf '3\n4\nx\n' | tackle stats record lines size --lines 2>"$home/err" && fail "a bad line"
has "$(cat "$home/err")" "line 3: invalid value 'x'"
ends 0 tackle stats show lines size --both --json
is "lines" "$(jq -c '.count == 2 and .sum == 3' <<<"$out")" true

# Values that are no numbers.
for value in x nan inf -inf 1e400 2e18 '' '1 2' 1,5 0x10 -0X1p3 infinity; do
    ends 64 tackle stats record wrong size -- "$value"
done
ends 1 tackle stats show wrong size --both
ends 64 tackle stats record wrong size
ends 64 tackle stats show one size --last --both
ends 64 tackle stats record one "" 1
has "$err" "a type of statistics needs a name"

# Timing a command.
ends 7 tackle stats time job -- sh -c 'exit 7'
ends 0 tackle stats time slow -- sleep 0.2
ends 0 tackle stats time job -- echo "its output"
is "its output" "$out" "its output"
ends 127 tackle stats time job -- /no/such/command
ends 0 tackle stats show job time --both --json
is "timed" "$(jq .count <<<"$out")" 2
ends 0 tackle stats slowest --json
if [ "$(jq .count <<<"$out")" = 3 ]; then # else the hour has just changed
    is "slowest" "$(jq -c '.contexts | map(.context)' <<<"$out")" '["slow","job"]'
    is "details" "$(jq -c '.contexts | map([.count, .p99 > 0])' <<<"$out")" '[[1,true],[2,true]]'
    ends 0 tackle stats slowest --count 1
    is "for people" "$(tail -1 <<<"$out" | awk '{ print $2, $4 }')" "1 slow"
fi
ends 0 tackle stats time slow -- true
ends 0 tackle log common slow:time --json
has "$out" '"slow"'
ends 0 tackle stats contexts --json
is "contexts" "$(jq -c 'map(.context)' <<<"$out")" '["job","slow"]'
ends 0 tackle stats contexts none --json
is "no contexts" "$out" "[]"
ends 0 tackle stats slowest --type none --json
is "nothing" "$(jq -c '[.mean, .contexts]' <<<"$out")" '[null,[]]'
ends 64 tackle stats slowest --count -1

# CSV.
ends 0 tackle stats record 'a "b", c' csv 2 4
ends 0 tackle stats slowest --type csv --csv
is "CSV" "$out" $'mean,count,p99,context\r\n3.0,2,4.0,"a ""b"", c"\r'
ends 0 tackle stats show 'a "b", c' csv --csv
is "CSV of one" "$(cut -d, -f1-5 <<<"$out" | tr -d '\r')" $'count,min,max,sum,mean\n2,2.0,4.0,6.0,3.0'
ends 64 tackle stats slowest --csv --json
ends 0 tackle stats show 'a "b", c' csv --graphite
[[ $out =~ tackle\.stats\.csv\.a__b___c\.mean\ 3\ [0-9]+ ]] || fail "graphite: $out"
is "nine lines" "$(wc -l <<<"$out")" 9
ends 64 tackle stats show 'a "b", c' csv --graphite --json
ends 64 tackle stats show 'a "b", c' csv other --graphite
tackle stats drop 'a "b", c' csv --yes >/dev/null

# Values of an earlier time count in its hour. What is kept begins with the last full hour.
now=$(tackle call TIME --json | jq -r '.[0]')
last=$((now - now % 3600 - 1800))
ends 0 tackle stats record early size 5 7 --at "@$last" --json
is "recorded" "$(jq -c .recorded <<<"$out")" 2
ends 0 bash -c "seq 2 | tackle stats record early size --lines --at @$last"
ends 0 tackle stats show early size --both --json
is "both hours" "$(jq -c '[.count, (.sum | floor)]' <<<"$out")" '[4,15]'
ends 1 tackle stats show late size
ends 64 tackle stats record early size 1 --at '3h ago'
has "$err" "--at: the time is too long ago"
ends 64 tackle stats record early size 1 --at 'in 1d'
ends 0 tackle stats drop early size --yes

# The command's end does not depend on the server.
ends 5 env TACKLE_URL=unix:///nowhere/socket tackle stats time job -- sh -c 'exit 5'
has "$err" "not recorded"

ends 0 tackle stats list --json
is "list" "$(jq -c 'map(.name)' <<<"$out")" '["csv","size","time"]'
ends 64 tackle stats drop one size
ends 0 tackle stats drop one size --yes --json
is "drop" "$(jq -c . <<<"$out")" '{"name":"one","dropped":true}'
ends 1 tackle stats drop one size --yes
