#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tools/readings fails without a program that it needs, or with a damaged file, and says why. It
# never makes empty tables.
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin" "$dir/data"
for tool in sh awk cat; do
    ln -s "$(command -v $tool)" "$dir/bin/$tool"
done
printf 'U+4E2D\tkMandarin\tzhōng\n' >"$dir/plain"
printf 'U+570B\tkSimplifiedVariant\tU+56FD\n' >"$dir/simple"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# makes CODE [PATH]: runs tools/readings on the data.
makes() {
    local code=0
    output=$(PATH=${2:-$PATH} sh "$TACKLE_SOURCE/tools/readings" "$dir/data" 2>&1) || code=$?
    [ $code -eq "$1" ] || fail "exit code $code instead of $1: $output"
}

makes 1
[[ $output == *"there is no Unihan_Readings.txt"* ]] || fail "it says: $output"
cp "$dir/plain" "$dir/data/Unihan_Readings.txt"
cp "$dir/simple" "$dir/data/Unihan_Variants.txt"
makes 0 "$dir/bin"
[[ $output == *'"zhong",'*'{0x570B, 0x56FD},'* ]] || fail "the tables are: $output"
rm "$dir/data/Unihan_Readings.txt"
gzip -c "$dir/plain" >"$dir/data/Unihan_Readings.txt.gz"
makes 0
makes 1 "$dir/bin"
[[ $output == *"needs the program gzip"* ]] || fail "without gzip it says: $output"
: >"$dir/data/Unihan_Readings.txt.bz2"
makes 1 "$dir/bin"
[[ $output == *"needs the program bzip2"* ]] || fail "without bzip2 it says: $output"
rm "$dir/data/Unihan_Readings.txt.bz2"
echo damaged >"$dir/data/Unihan_Readings.txt.gz"
makes 1
echo "ok: readings"
