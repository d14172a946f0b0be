/* SPDX-License-Identifier: MIT
 *
 * The pages agree with the code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tackle/common.h>

#include "support/test.h"

static char *read_page(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static void the_table_of_codes_is_the_list_of_codes(void **state)
{
    (void)state;
    char rows[8192] = "| code | exit | meaning |\n|---|---|---|\n";
#define ADD_ROW(name, value, exit, text) strcat(rows, "| `" #name "` | " #exit " | " text " |\n");
    TKL_CODES(ADD_ROW)
#undef ADD_ROW
    char *page = read_page(TACKLE_SOURCE_DIR "/docs/client.md");
    if (!strstr(page, rows))
        fail_msg("docs/client.md should hold this table:\n%s", rows);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_codes_is_the_list_of_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
