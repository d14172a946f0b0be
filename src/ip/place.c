/* SPDX-License-Identifier: MIT */
#include "ip/place.h"

/* The order of the fields in stored tables: new fields come last. */
static const size_t offsets[TKL__IP_FIELDS] = {
    offsetof(tkl_ip_place, id),           offsetof(tkl_ip_place, city),
    offsetof(tkl_ip_place, region),       offsetof(tkl_ip_place, country),
    offsetof(tkl_ip_place, country_code), offsetof(tkl_ip_place, continent),
    offsetof(tkl_ip_place, time_zone),    offsetof(tkl_ip_place, postal_code),
    offsetof(tkl_ip_place, latitude),     offsetof(tkl_ip_place, longitude),
};

tkl_bytes *tkl__ip_field(tkl_ip_place *place, int index)
{
    return (tkl_bytes *)((char *)place + offsets[index]);
}

const char *tkl__ip_place_check(const tkl_ip_place *place)
{
    tkl_ip_place copy = *place;
    if (place->id.len == 0)
        return "the place has no id";
    for (int i = 0; i < TKL__IP_FIELDS; i++)
        if (tkl__ip_field(&copy, i)->len > TKL__IP_FIELD_MAX)
            return "a field of more than 255 bytes";
    return NULL;
}

void tkl__ip_pack(const tkl_ip_place *place, tkl__buf *out)
{
    tkl_ip_place copy = *place;
    for (int i = 0; i < TKL__IP_FIELDS; i++) {
        tkl_bytes field = *tkl__ip_field(&copy, i);
        unsigned char length = (unsigned char)field.len;
        tkl__buf_add(out, &length, 1);
        tkl__buf_add(out, field.data, field.len);
    }
}

bool tkl__ip_unpack(tkl_bytes packed, tkl_ip_place *place)
{
    const unsigned char *at = (const unsigned char *)packed.data;
    size_t left = packed.len;
    *place = (tkl_ip_place){0};
    for (int i = 0; i < TKL__IP_FIELDS; i++) {
        if (left == 0 || left - 1 < *at)
            return false;
        size_t length = *at;
        *tkl__ip_field(place, i) = (tkl_bytes){(const char *)at + 1, length};
        at += 1 + length;
        left -= 1 + length;
    }
    return true;
}
