/* SPDX-License-Identifier: MIT */
#include "core/options.h"

#include <inttypes.h>

#include "core/clock.h"
#include "core/error.h"

int tkl__check_reserved(const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] != 0)
            return tkl__fail(TKL_EINVAL, "reserved fields must be zero: was the struct cleared, or "
                                         "made for a newer version of the library?");
    return TKL_OK;
}

int tkl__check_number(const char *what, int64_t value, int64_t least, int64_t most)
{
    if (value >= least && value <= most)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "%s is %" PRId64 ", must be from %" PRId64 " to %" PRId64, what,
                     value, least, most);
}

int tkl__check_ranges(int rc, const tkl__range *ranges, size_t count)
{
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = tkl__check_number(ranges[i].name, ranges[i].value, ranges[i].least, ranges[i].most);
    return rc;
}

int64_t tkl__or_default(int64_t value, int64_t standard)
{
    return value == 0 ? standard : value == TKL_NONE ? 0 : value;
}

int tkl__check_kind(tkl_bytes kind, int most)
{
    if (kind.len == 0 || kind.len > (size_t)most)
        return tkl__fail(TKL_EINVAL, "a kind has 1 to %d bytes", most);
    for (size_t i = 0; i < kind.len; i++) {
        char c = kind.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool other = (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
        if (!letter && !other)
            return tkl__fail(TKL_EINVAL, "a kind has letters, digits, '_', '-' and '.' only");
    }
    return TKL_OK;
}

int tkl__at_result(int64_t reply)
{
    if (reply == TKL__AT_OLD)
        return tkl__fail(TKL_EINVAL, "at_ms: the time is too long ago: only this hour and the last "
                                     "one, by the server's clock, are kept");
    if (reply == TKL__AT_FUTURE)
        return tkl__fail(TKL_EINVAL, "at_ms: the time is in the future");
    return TKL_OK;
}

int64_t tkl__deadline(const tkl_client *client, int64_t timeout_ms)
{
    return tkl__deadline_ms(timeout_ms > 0 ? timeout_ms : client->target.timeout_ms);
}

const char *tkl__enum_name(int place, const char *const *names, size_t count)
{
    return place >= 0 && (size_t)place < count ? names[place] : "unknown";
}

const char *tkl_hour_name(tkl_hour hour)
{
    static const char *const names[] = {"this", "last", "both", "sliding"};
    return TKL__ENUM_NAME((int)hour, names);
}

const char *tkl_setting_name(tkl_setting setting)
{
    static const char *const names[] = {"off", "as is", "on"};
    return TKL__ENUM_NAME((int)setting + 1, names);
}
