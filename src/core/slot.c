/* SPDX-License-Identifier: MIT
 *
 * The cluster slot of a key: CRC16 (XMODEM: polynomial 0x1021, start 0) modulo 16384.
 *
 * It works on four bits at a time: a table of sixteen entries is easy to check, and keys are short.
 */
#include "core/resp.h"

#include <string.h>

static unsigned crc16(tkl_bytes data)
{
    static const uint16_t nibble[16] = {
        0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
        0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
    };
    unsigned crc = 0;

    for (size_t i = 0; i < data.len; i++) {
        unsigned byte = (unsigned char)data.data[i];
        crc = (crc << 4 ^ nibble[(crc >> 12 ^ byte >> 4) & 15]) & 0xffff;
        crc = (crc << 4 ^ nibble[(crc >> 12 ^ byte) & 15]) & 0xffff;
    }
    return crc;
}

/* The text between the first '{' and the next '}', unless it is empty; else the whole key. */
static tkl_bytes hashed_part(tkl_bytes key)
{
    const char *open = key.len > 0 ? memchr(key.data, '{', key.len) : NULL;
    if (!open)
        return key;

    const char *tag = open + 1;
    const char *close = memchr(tag, '}', (size_t)(key.data + key.len - tag));
    if (!close || close == tag)
        return key;
    return (tkl_bytes){tag, (size_t)(close - tag)};
}

int tkl__slot_of(tkl_bytes key)
{
    return (int)(crc16(hashed_part(key)) % TKL__SLOTS);
}
