/* SPDX-License-Identifier: MIT */
#include "queue/words.h"

#include <string.h>

tkl_bytes tkl__queue_next_word(tkl_bytes *text)
{
    const char *space = text->len > 0 ? memchr(text->data, ' ', text->len) : NULL;
    size_t len = space ? (size_t)(space - text->data) : text->len;
    tkl_bytes word = {text->data, len};
    text->data += len + (space != NULL);
    text->len -= len + (space != NULL);
    return word;
}

int64_t tkl__queue_word_number(tkl_bytes word)
{
    int64_t number = 0;
    if (word.len == 0 || word.len > 15)
        return -1;
    for (size_t i = 0; i < word.len; i++) {
        if (word.data[i] < '0' || word.data[i] > '9')
            return -1;
        number = number * 10 + (word.data[i] - '0');
    }
    return number;
}
