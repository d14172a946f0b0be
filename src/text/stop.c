/* SPDX-License-Identifier: MIT
 *
 * Stop words: so common that they tell nothing about a text. The English ones include the list of
 * "Redis in Action", which people know from its inverted index.
 */
#include <string.h>

#include "text/text.h"

static const char english[] =
    "a able about above across after again against all almost also am among an and any are "
    "aren't as at be because been before being below between both but by can can't cannot could "
    "couldn't dear did didn't do does doesn't doing don't down during each either else ever "
    "every few for from further get got had hadn't has hasn't have haven't having he he'd he'll "
    "he's her here here's hers herself him himself his how how's however i i'd i'll i'm i've if "
    "in into is isn't it it's its itself just least let let's like likely may me might more "
    "most must mustn't my myself neither no nor not of off often on once only or other ought "
    "our ours ourselves out over own rather said same say says shan't she she'd she'll she's "
    "should shouldn't since so some such than that that's the their theirs them themselves then "
    "there there's these they they'd they'll they're they've this those through tis to too twas "
    "under until up us very wants was wasn't we we'd we'll we're we've were weren't what what's "
    "when when's where where's which while who who's whom why why's will with won't would "
    "wouldn't yet you you'd you'll you're you've your yours yourself yourselves";

static const char chinese[] =
    "的 了 和 是 在 就 都 而 及 与 着 或 也 还 但 但是 并 并且 因为 所以 如果 虽然 然而 于是 而且 "
    "以及 或者 一个 一些 没有 我 你 您 他 她 它 我们 你们 他们 她们 它们 这 那 这个 那个 这些 那些 "
    "这里 那里 这样 那样 什么 怎么 哪 哪里 谁 吗 呢 吧 啊 呀 嘛 哦 把 被 让 给 向 从 到 由 对 对于 "
    "关于 为 为了 之 其 则 又 很 再 只 才 不 有 会 能 要 可以 不是 就是 还是 地 得 上 下 中 里";

const char *tkl__text_stop_words(const char *language)
{
    if (strcmp(language, "en") == 0)
        return english;
    return strcmp(language, "zh") == 0 ? chinese : NULL;
}
