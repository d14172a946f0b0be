#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tools/catalogue makes a sorted table of translations, and refuses what it does not understand.
set -uo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# makes CODE LINE...: runs tools/catalogue on a file of these lines.
makes() {
    local expected=$1 code=0
    shift
    printf '%s\n' 'msgid ""' 'msgstr ""' '"Language: zh_CN\n"' "" "$@" >"$dir/zh.po"
    output=$("$TACKLE_SOURCE/tools/catalogue" "$dir/zh.po" 2>&1) || code=$?
    [ $code -eq "$expected" ] || fail "exit code $code instead of $expected: $output"
}

has() {
    [[ $output == *"$1"* ]] || fail "no '$1' in: $output"
}

# The order is that of the bytes: a newline comes before a blank, a quote before a letter.
makes 0 '# a comment' 'msgid "a\"b"' 'msgstr "三"' '' 'msgid ""' '"a\n"' '"b"' 'msgstr ""' '"一"' '"一"' \
    '' 'msgid "a b\\"' 'msgstr "二\n"' 'msgid "aa"' 'msgstr "四"'
has '    "a\nb\0"
    "一一\0"
    "a b\\\0"
    "二\n\0"
    "a\"b\0"
    "三\0"
    "aa\0"
    "四\0"
    ;'
has '{
    {0, 4},
    {11, 16},
    {21, 25},
    {29, 32},
};'

makes 1 'msgid "one"' 'msgstr ""'
has "this text has no translation: one"
makes 1 'msgid "one"' 'msgstr "一"' 'msgid "one"' 'msgstr "壹"'
has "two translations of: one"
makes 1 'msgid "one"' 'msgid "two"' 'msgstr "二"'
has "this text has no translation: one"
makes 1 'msgid "one\t"' 'msgstr "一"'
has 'zh.po:5: only \n, \" and \\ may be in a string'
makes 1 'msgid "one	"' 'msgstr "一"'
has 'zh.po:5: only \n, \" and \\ may be in a string'
makes 1 'msgid "one" "two"' 'msgstr "一"'
has "zh.po:5: only"
makes 1 'msgctxt "number"' 'msgid "one"' 'msgstr "一"'
has 'zh.po:5: this is no line of a catalogue: msgctxt "number"'
