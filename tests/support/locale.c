/* SPDX-License-Identifier: MIT */
#include "support/locale.h"

#include <locale.h>

#include "support/test.h"

#define NAME "de_DE.UTF-8"

static bool make_locale(void)
{
    char *command =
        test_format("localedef -i de_DE -f UTF-8 %s/" NAME " >/dev/null 2>&1", test_dir());
    bool made = system(command) == 0;
    free(command);
    if (made)
        setenv("LOCPATH", test_dir(), 1);
    return made;
}

void locale_with_a_comma(void)
{
    bool set = setlocale(LC_ALL, NAME) || (make_locale() && setlocale(LC_ALL, NAME));
    if (!set) {
        print_message("there is no locale " NAME ", and localedef cannot make it\n");
        skip();
    }
    char text[8];
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5");
}

void locale_plain(void)
{
    setlocale(LC_ALL, "C");
}
