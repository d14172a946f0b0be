/* SPDX-License-Identifier: MIT
 *
 * Limits as tests use them.
 */
#ifndef TACKLE_TESTS_LIMITS_H
#define TACKLE_TESTS_LIMITS_H

#include <tackle/limit.h>

#include "support/fixture.h"

/* How long tests wait for something that must happen, also on a busy machine. */
#define LONG INT64_C(30000)

#define RULE(which, many, ms) .algorithm = which, .count = many, .period_ms = ms
#define ITEM(of, whose, much)                       \
    {                                               \
        .limit = of, .key = whose, .quantity = much \
    }

/* The number of algorithms. */
enum { LIMIT_ALGORITHMS = 5 };
extern const tkl_limit_algorithm limit_algorithms[LIMIT_ALGORITHMS];

tkl_limit *open_limit(tkl_client *client, const char *name, tkl_limit_rule rule);

/* The rule of a limit that lets `count` requests pass, and no more while a test runs. */
tkl_limit_rule plain_limit(tkl_limit_algorithm algorithm, int64_t count);
tkl_limit *open_plain_limit(fixture *f, const char *name, tkl_limit_algorithm algorithm,
                            int64_t count);

int limit_take(tkl_limit *limit, const char *key, int64_t quantity);
tkl_limit_answer limit_look(tkl_limit *limit, const char *key);

/* Opens a slice for the key "hot". */
tkl_limit_slice *open_slice(tkl_limit *limit);

/* How many scripts the server has run. */
int64_t scripts_run(fixture *f);

#endif
