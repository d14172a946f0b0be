/* SPDX-License-Identifier: MIT
 *
 * Libraries of functions that tests make up, in the form that tools/embed gives them.
 */
#ifndef TACKLE_TEST_LIBRARY_H
#define TACKLE_TEST_LIBRARY_H

#define LIBRARY_HEAD(name) "#!lua name=" name "\nlocal register = redis.register_function\n"

/* One line for each function; `flags` is "" or "'no-writes'". */
#define LIBRARY_FUNCTION(name, flags, body)                           \
    "register{function_name='" name "', flags={" flags "}, callback=" \
    "function(KEYS, ARGV) " body " end}\n"

#endif
