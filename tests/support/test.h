/* SPDX-License-Identifier: MIT
 *
 * Every test program includes this: cmocka and its headers, waits with a bound, threads.
 */
#ifndef TACKLE_TESTS_TEST_H
#define TACKLE_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int64_t test_now_ms(void); /* monotonic */
void test_sleep_ms(int64_t ms);

/* Waits until the condition holds; fails the test when it does not within `ms`. */
#define eventually(condition, ms)                                             \
    do {                                                                      \
        const int64_t until_ = test_now_ms() + (ms);                          \
        while (!(condition)) {                                                \
            if (test_now_ms() > until_)                                       \
                fail_msg("not true within %d ms: %s", (int)(ms), #condition); \
            test_sleep_ms(2);                                                 \
        }                                                                     \
    } while (0)

/* Both sides as names: "expected TKL_OK, got TKL_ETIMEOUT (no reply ...)". */
#define assert_code(got, expected) test_assert_code((got), (expected), #got, __FILE__, __LINE__)
#define assert_ok(got)             assert_code((got), 0)
void test_assert_code(int got, int expected, const char *what, const char *file, int line);

/* Fails unless `text` holds `part`; prints both. */
#define assert_contains(text, part) test_assert_contains((text), (part), __FILE__, __LINE__)
#define assert_lacks(text, part)    test_assert_lacks((text), (part), __FILE__, __LINE__)
void test_assert_contains(const char *text, const char *part, const char *file, int line);
void test_assert_lacks(const char *text, const char *part, const char *file, int line);

/* For tests that fork while there are threads: AddressSanitizer's allocator may then be locked for
 * ever in the child, and ThreadSanitizer cannot start threads there. */
void skip_under_sanitizers(void);

/* A malloc'ed string; never NULL. */
char *test_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* `count` threads that each run fn(arg, index). A failed assertion in one of them ends the whole
 * program with its message: cmocka can only jump back in the thread of the test. */
typedef struct crew crew;
typedef void crew_fn(void *arg, int index);
crew *crew_start(int count, crew_fn *fn, void *arg);
void crew_join(crew *threads);
void crew_run(int count, crew_fn *fn, void *arg); /* start and join */

/* A directory for this program's files, made at first use. It is removed when the program ends,
 * however it ends. Short: a Unix socket in it, or in a directory of it, has a legal path. */
const char *test_dir(void);
/* A new directory in it. */
void test_make_dir(char *path, size_t size);
void test_remove_dir(const char *path);

#endif
