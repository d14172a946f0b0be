/* SPDX-License-Identifier: MIT */
#include "support/locale.h"

#include <ctype.h>
#include <locale.h>

#include "support/test.h"

static bool make_locale(const char *language)
{
    char *command = test_format("localedef -i %s -f UTF-8 %s/%s.UTF-8 >/dev/null 2>&1", language,
                                test_dir(), language);
    bool made = system(command) == 0;
    free(command);
    if (made)
        setenv("LOCPATH", test_dir(), 1);
    return made;
}

static void set_locale(const char *language)
{
    char name[32];
    snprintf(name, sizeof name, "%s.UTF-8", language);
    bool set = setlocale(LC_ALL, name) || (make_locale(language) && setlocale(LC_ALL, name));
    if (!set) {
        print_message("there is no locale %s, and localedef cannot make it\n", name);
        skip();
    }
}

void locale_with_a_comma(void)
{
    char text[8];
    set_locale("de_DE");
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5");
}

void locale_with_another_i(void)
{
    set_locale("tr_TR");
    assert_int_not_equal(tolower('I'), 'i');
}

void locale_plain(void)
{
    setlocale(LC_ALL, "C");
}
