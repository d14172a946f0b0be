/* SPDX-License-Identifier: MIT */
#include "support/limits.h"

const tkl_limit_algorithm limit_algorithms[LIMIT_ALGORITHMS] = {
    TKL_LIMIT_GCRA,          TKL_LIMIT_BUCKET,      TKL_LIMIT_WINDOW,
    TKL_LIMIT_WINDOW_APPROX, TKL_LIMIT_CONCURRENCY,
};

tkl_limit *open_limit(tkl_client *client, const char *name, tkl_limit_rule rule)
{
    tkl_limit *limit;
    assert_ok(tkl_limit_open(client, tkl_str(name), &rule, NULL, &limit));
    return limit;
}

tkl_limit_rule plain_limit(tkl_limit_algorithm algorithm, int64_t count)
{
    if (algorithm == TKL_LIMIT_GCRA || algorithm == TKL_LIMIT_BUCKET)
        return (tkl_limit_rule){RULE(algorithm, 1, 3600000),
                                .burst = count - (algorithm == TKL_LIMIT_GCRA)};
    return (tkl_limit_rule){RULE(algorithm, count, 3600000)};
}

tkl_limit *open_plain_limit(fixture *f, const char *name, tkl_limit_algorithm algorithm,
                            int64_t count)
{
    return open_limit(f->client, name, plain_limit(algorithm, count));
}

int limit_take(tkl_limit *limit, const char *key, int64_t quantity)
{
    return tkl_limit_check(limit, tkl_str(key), quantity, NULL);
}

tkl_limit_answer limit_look(tkl_limit *limit, const char *key)
{
    tkl_limit_answer answer;
    int rc = tkl_limit_check(limit, tkl_str(key), 0, &answer);
    assert_true(rc == TKL_OK || rc == TKL_LIMITED);
    return answer;
}

int64_t scripts_run(fixture *f)
{
    return server_functions(f->server);
}

tkl_limit_slice *open_slice(tkl_limit *limit)
{
    tkl_limit_slice *slice;
    assert_ok(tkl_limit_slice_open(limit, tkl_str("hot"), NULL, &slice));
    return slice;
}
