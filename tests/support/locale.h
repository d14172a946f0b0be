/* SPDX-License-Identifier: MIT
 *
 * A locale with a decimal comma, as any program with a German user interface has it.
 */
#ifndef TACKLE_TESTS_LOCALE_H
#define TACKLE_TESTS_LOCALE_H

/* Sets it for the whole program; makes it first where the system has none. Skips the test where
 * that is impossible. */
void locale_with_a_comma(void);
/* Back to "C". */
void locale_plain(void);

#endif
