#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Help, the tour and the laboratory speak Chinese when the environment asks, on a machine without
# that locale, too. Errors, JSON, the manual and examples are the same in every language.
. "$(dirname "$0")/lib.bash"

# chinese COMMAND...: as ends 0, for a user who reads Chinese.
chinese() { ends 0 env LC_ALL=zh_CN.UTF-8 "$@"; }

locale -a 2>/dev/null | grep -q '^zh_SG' && echo "this machine has zh_SG: its absence is not tried"
for setting in LANG=zh_CN LC_MESSAGES=zh_CN.UTF-8 LC_ALL=zh_SG LC_ALL=zh_TW.UTF-8 LANGUAGE=zh_CN:en; do
    ends 0 env -u LC_ALL -u LC_MESSAGES -u LANG "$setting" tackle help
    has "$out" $'\n用法：tackle [OPTION...] COMMAND'
    has "$out" $'\n锁与限流\n  lock '
    has "$out" "  --timeout DURATION  等待应答的最长时间（默认 5s）"
done
for setting in LC_ALL=C LC_ALL=C.UTF-8 LC_ALL=en_US.UTF-8 LC_ALL=de_DE.UTF-8; do
    ends 0 env LANG=zh_CN.UTF-8 "$setting" tackle help
    has "$out" $'\nUsage: tackle'
    lacks "$out" 用法
done

chinese tackle lock --help
has "$out" "tackle lock: 多台机器上的程序共享的分布式锁"
has "$out" $'\n动词\n  run '
chinese tackle lock run --help
text=$out
has "$text" "用法：tackle lock run [OPTION...] NAME -- COMMAND [ARG...]"
has "$text" $'\n选项\n  --lease DURATION '
chinese tackle help lock run
is "--help and help" "$out" "$text"
ends 0 env LC_ALL=C tackle lock run --help
is "the example" "$(sed -n '/^示例/,/^$/p' <<<"$text" | tail -n +2)" \
    "$(sed -n '/^Example/,/^$/p' <<<"$out" | tail -n +2)"

# Without a verb help is an error, in the user's language; what went wrong is English.
ends 64 env LC_ALL=zh_CN tackle lock
has "$err" "用法：tackle lock VERB"
ends 64 env LC_ALL=zh_CN tackle lokc
has "$err" "tackle: unknown command 'lokc'; did you mean 'lock'?"
ends 1 env LC_ALL=zh_CN tackle lock show nobody --url embedded:
has "$err" "nobody"
lacks "$err" 锁

# Output for programs does not change.
for words in "help --man lock" "help --completion" "lab --json" "cron @daily --after @0 --json"; do
    ends 0 env LC_ALL=C tackle $words
    text=$out
    chinese tackle $words
    is "$words" "$out" "$text"
done

chinese tackle demo ping
has "$out" "== ping: 看服务器是否应答，有多快 =="
has "$out" $'# 服务器在吗？\n$ tackle ping\nPONG '

chinese tackle lab
has "$out" "名称"
has "$out" "用列表实现的邮箱：先 LRANGE，再 DEL"
chinese tackle lab mailbox
for part in 朴素写法 "用 tackle" 看到了什么 学到什么 \
    "未读就被删除的消息：朴素写法 1，用 tackle 0" '$ tackle mail ack ann 1' "更多：docs/zh/mail.md"; do
    has "$out" "$part"
done
for page in $(tackle lab --json | jq -r '.[].page'); do
    [ -f "$TACKLE_SOURCE/docs/zh/$page" ] || fail "there is no docs/zh/$page"
done
chinese tackle lab mailbox --json
is "JSON" "$(jq -r '.title, .measure, .tackle.steps[0].text' <<<"$out")" \
    "a mailbox that is a list: LRANGE, then DEL
messages deleted unread
A message for Ann."
