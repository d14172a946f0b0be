/* SPDX-License-Identifier: MIT
 *
 * Locales that change what functions of C do: with a decimal comma, as any program with a German
 * user interface has it; and with an I that is not the capital of i, as a Turkish one has it.
 */
#ifndef TACKLE_TESTS_LOCALE_H
#define TACKLE_TESTS_LOCALE_H

/* Set a locale for the whole program, and make it first where the system has none. They skip the
 * test where that is impossible. */
void locale_with_a_comma(void);
void locale_with_another_i(void);
/* Back to "C". */
void locale_plain(void);

#endif
