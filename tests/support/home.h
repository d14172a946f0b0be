/* SPDX-License-Identifier: MIT
 *
 * `embedded:/dir` as tests use it: a directory for each test, and the persistent server in it.
 */
#ifndef TACKLE_TESTS_HOME_H
#define TACKLE_TESTS_HOME_H

#include <tackle/client.h>

#include "support/test.h"

/* The bound for what must happen, on a machine however busy. */
#define WAIT_MS 20000

/* The directory of the test's server, which does not exist at first, and its URL. */
extern char home_dir[64];
extern char home_url[128];

/* Fixtures of a group and of each test. Servers end with them. */
int home_guard(void **state);
int home_fresh(void **state);
int home_clean(void **state);

#define TEST(name) cmocka_unit_test_setup_teardown(name, home_fresh, home_clean)

/* The URL with a durability; valid until the next call. */
const char *home_with(const char *word);

/* A file of the directory: its path, malloc'ed, and whether it is there. */
char *home_path(const char *name);
bool home_has(const char *name);
/* Adds lines to the configuration. */
void home_configure(const char *lines);

/* Start the server of a URL, check that none runs, store a value in it, read the value. */
tkl_server_info home_start(const char *at);
int home_visit(void *at); /* for process_fork(): 0 when the server has answered */
void home_not_running(const char *at);
void home_put(const char *at, const char *value);
char *home_get(const char *at); /* malloc'ed; NULL: nothing */

#define assert_home_holds(at, value)         \
    do {                                     \
        char *text_ = home_get(at);          \
        assert_non_null(text_);              \
        assert_string_equal(text_, (value)); \
        free(text_);                         \
    } while (0)

/* The durability of the test's server, also while it does not run; valid until the next call. */
const char *home_durability(void);

/* Kills the server (kill -9) and waits until it is gone. */
void home_crash(const tkl_server_info *info);

#endif
