#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle ip`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server
cd "$home" || exit 1

cat >places.csv <<'END'
geoname_id,city_name,subdivision_1_name,country_name
1,"Paris, 1er",Île-de-France,France
2,,,Germany
END
cat >v4.csv <<'END'
network,geoname_id,registered_country_geoname_id,postal_code,latitude,longitude
192.0.2.0/24,1,2,75001,48.8566,2.3522
198.51.100.0/24,,2,,,
END
printf 'network,geoname_id\n2001:db8::/32,2\n' | gzip >v6.csv.gz

ends 0 tackle ip import geo --blocks v4.csv v6.csv.gz --places places.csv --json
is "import" "$(jq -c '[.name, .rows, .ranges, .places, .bad, .problems]' <<<"$out")" \
    '["geo",5,3,2,0,[]]'
is "nothing on stderr" "$err" ""
ends 0 tackle ip lookup geo 192.0.2.9 2001:db8::1 --json
is "lookup" "$(jq -c '.[0] | [.address, .network, .city, .region, .country, .latitude]' <<<"$out")" \
    '["192.0.2.9","192.0.2.0/24","Paris, 1er","Île-de-France","France",48.8566]'
is "absent is null" "$(jq -c '.[1] | [.known, .city, .latitude]' <<<"$out")" '[true,null,null]'
ends 1 tackle ip lookup geo 203.0.113.1 --json
is "one unknown" "$(jq -c '.[0] | [.address, .known, .network]' <<<"$out")" \
    '["203.0.113.1",false,null]'
ends 1 tackle ip lookup geo 192.0.2.9 203.0.113.1
has "$out" "Paris"
is "lines" "$(printf '192.0.2.1\n198.51.100.1\n' | tackle ip lookup geo --lines --json | jq length)" 2
is "lines with CRLF" \
    "$(printf '192.0.2.1\r\n\r\n 198.51.100.1 \r\n' | tackle ip lookup geo --lines --json |
        jq -c '[.[] | .address]')" '["192.0.2.1","198.51.100.1"]'
ends 64 tackle ip lookup geo ''
ends 64 tackle ip lookup geo 1.2.3
has "$err" "1.2.3"
ends 1 tackle ip lookup nosuch 192.0.2.1

# Bad rows: reported, and the table stays as it was.
printf 'network,geoname_id\n203.0.113.0/24,1\n203.0.113.7,1\n::g,1\n' >bad.csv
ends 64 tackle ip import geo --blocks bad.csv
has "$err" "bad.csv:3: 203.0.113.7/32 is inside 203.0.113.0/24"
has "$err" "bad.csv:4: '::g': not an address"
ends 64 tackle ip import geo --blocks bad.csv --json
is "JSON and nothing else" "$(jq -c '[.error, (.problems | length), .problems[1].row]' <<<"$err")" \
    '["TKL_EINVAL",2,3]'
ends 1 tackle ip lookup geo 203.0.113.1
sed -i 's/203.0.113.7,1/203.0.113.7,2/' bad.csv
ends 0 tackle ip import geo --blocks bad.csv --max-bad 2 --json
is "bad rows" "$(jq -c '[.ranges, .places, .bad, (.problems | length), .problems[0].row]' <<<"$out")" \
    '[1,1,2,2,4]'
ends 0 tackle ip lookup geo 203.0.113.1
is "from standard input" \
    "$(printf 'startIpNum,endIpNum,locId\n0,9,1\n' | tackle ip import nums --blocks - --json | jq .ranges)" 1
is "no names" "$(printf '192.0.2.0/24,7\n' |
    tackle ip import bare --blocks - --columns network,geoname_id --json | jq .ranges)" 1
ends 64 tackle ip import bare --blocks - --columns network,nonsense
has "$err" "columns: there is no column 'nonsense'"
ends 0 tackle ip drop bare --yes
ends 70 tackle ip import geo --blocks nosuch.csv
ends 64 tackle ip import geo
has "$err" "no file of ranges"
is "files without an option" "$(tackle ip import files v4.csv v6.csv.gz --json | jq .ranges)" 3
ends 0 tackle ip drop files --yes
ends 64 tackle ip import geo --blocks v4.csv --max-bad -1

ends 0 tackle ip show geo --json
is "show" "$(jq -c '[.ranges, .places]' <<<"$out")" '[1,1]'
is "list" "$(tackle ip list --json | jq -c .)" '[{"name":"geo"},{"name":"nums"}]'
ends 64 tackle ip drop geo
ends 0 tackle ip drop geo --yes
ends 1 tackle ip drop geo --yes
ends 1 tackle ip show geo
