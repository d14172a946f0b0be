/* SPDX-License-Identifier: MIT */
#include "support/filters.h"

#include "bloom/shape.h"

tkl_bloom *open_filter_with(tkl_client *client, const char *name, tkl_bloom_options options)
{
    tkl_bloom *bloom;
    assert_ok(tkl_bloom_open(client, tkl_str(name), &options, &bloom));
    return bloom;
}

tkl_bloom *open_filter(fixture *f, const char *name)
{
    return open_filter_with(f->client, name, (tkl_bloom_options){.error = 0});
}

tkl_bloom *make_filter(fixture *f, const char *name, double error, int64_t capacity, bool fixed)
{
    tkl_bloom_options options = {.error = error, .capacity = capacity, .fixed = fixed};
    tkl_bloom *bloom = open_filter_with(f->client, name, options);
    assert_ok(tkl_bloom_reserve(bloom));
    return bloom;
}

numbers numbers_from(uint64_t from, size_t count)
{
    numbers n = {calloc(count, sizeof *n.values), calloc(count, sizeof *n.items),
                 calloc(count, sizeof *n.flags), count};
    for (size_t i = 0; i < count; i++) {
        n.values[i] = from + i;
        n.items[i] = (tkl_bytes){(const char *)&n.values[i], sizeof n.values[i]};
    }
    return n;
}

void numbers_free(numbers n)
{
    free(n.values);
    free(n.items);
    free(n.flags);
}

size_t numbers_flagged(numbers n)
{
    size_t count = 0;
    for (size_t i = 0; i < n.count; i++)
        count += n.flags[i];
    return count;
}

size_t filter_add(tkl_bloom *bloom, uint64_t from, size_t count)
{
    numbers n = numbers_from(from, count);
    assert_ok(tkl_bloom_add(bloom, n.items, n.count, n.flags));
    size_t added = numbers_flagged(n);
    numbers_free(n);
    return added;
}

size_t filter_present(tkl_bloom *bloom, uint64_t from, size_t count)
{
    numbers n = numbers_from(from, count);
    assert_ok(tkl_bloom_exists(bloom, n.items, n.count, n.flags));
    size_t found = numbers_flagged(n);
    numbers_free(n);
    return found;
}

int filter_add_one(tkl_bloom *bloom, tkl_bytes item, bool *added)
{
    return tkl_bloom_add(bloom, &item, 1, added);
}

int filter_ask_one(tkl_bloom *bloom, tkl_bytes item, bool *present)
{
    return tkl_bloom_exists(bloom, &item, 1, present);
}

tkl_bloom_info filter_show(tkl_bloom *bloom)
{
    tkl_bloom_info *info;
    assert_ok(tkl_bloom_show(bloom, &info));
    tkl_bloom_info copy = *info;
    tkl_bloom_info_free(info);
    return copy;
}

void visit_parts(tkl_bloom *bloom, uint64_t from, bool expected, bool adds)
{
    tkl__bloom_subfilter sub;
    assert_ok(tkl__bloom_subfilter_make(0.01, SPLIT_CAPACITY, &sub));
    assert_int_equal(tkl__bloom_subfilter_parts(&sub), SPLIT_PARTS);
    bool part_seen[SPLIT_PARTS] = {false}, flag;
    for (uint64_t i = from; !part_seen[0] || !part_seen[1] || !part_seen[2]; i++) {
        tkl_bytes item = {(const char *)&i, sizeof i};
        tkl__bloom_group group;
        tkl__bloom_subfilter_place(&sub, tkl__bloom_hash_item(item), 0, &group);
        if (part_seen[group.part])
            continue;
        part_seen[group.part] = true;
        assert_ok(filter_ask_one(bloom, item, &flag));
        assert_int_equal(flag, expected);
        if (!adds)
            continue;
        assert_ok(filter_add_one(bloom, item, &flag));
        assert_true(flag);
        assert_ok(filter_ask_one(bloom, item, &flag));
        assert_true(flag);
    }
}
