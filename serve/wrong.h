/* SPDX-License-Identifier: MIT
 *
 * The field of a request that is wrong, found by the message that says so.
 */
#ifndef TKL_SERVE_WRONG_H
#define TKL_SERVE_WRONG_H

#include "fields.h"

/* The name of the field that the message is about; NULL: nobody can tell. It is valid as long as
 * `fields` and `words`. */
const char *serve_wrong_field(const cli_session *cli, const json_t *fields, const serve_word *words,
                              size_t count, const char *message);

#endif
