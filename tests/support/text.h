/* SPDX-License-Identifier: MIT
 *
 * Short texts that need no free().
 */
#ifndef TACKLE_TESTS_TEXT_H
#define TACKLE_TESTS_TEXT_H

/* Up to 255 bytes. Lasts for 63 more calls in this thread. */
const char *test_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
