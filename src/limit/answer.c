/* SPDX-License-Identifier: MIT
 *
 * Reads and checks the answers of limit/check, in this place only. Rounds times up, so that a
 * program that comes back after the reported time is not too early.
 */
#include <string.h>

#include "core/error.h"
#include "limit/limit.h"

int64_t tkl__limit_ms(int64_t us)
{
    return us < 0 ? -1 : (us + 999) / 1000;
}

bool tkl__limit_number(const tkl_reply *reply, size_t index, int64_t *number)
{
    const tkl_reply *one = tkl_reply_at(reply, index);
    *number = tkl_reply_int(one);
    return tkl_reply_type_of(one) == TKL_REPLY_INTEGER && *number >= 0 &&
           *number <= TKL__LIMIT_EXACT;
}

/* Whether the answer can be true. A quantity that is booked ahead must be usable within the
 * requested time. */
static bool is_sound(const tkl__limit_question *q, int64_t fits, int64_t remaining, int64_t turn)
{
    bool booked = fits == 1 && q->quantity > 0;
    return fits <= 1 && remaining <= q->limit->rule.capacity && (!booked || turn <= q->ahead_us);
}

int tkl__limit_read(const tkl__limit_question *q, const tkl_reply *reply, size_t index,
                    tkl_limit_answer *answer, tkl__limit_times *times)
{
    int64_t fits, remaining;
    bool sound = tkl__limit_number(reply, index, &fits) &&
                 tkl__limit_number(reply, index + 1, &remaining) &&
                 tkl__limit_number(reply, index + 2, &times->turn) &&
                 tkl__limit_number(reply, index + 3, &times->retry) &&
                 tkl__limit_number(reply, index + 4, &times->reset);
    *answer = (tkl_limit_answer){.allowed = false};
    if (!sound || !is_sound(q, fits, remaining, times->turn))
        return tkl__fail(TKL_EPROTO, "the server answered a check with senseless numbers");
    answer->allowed = fits == 1 && !q->never;
    if (answer->allowed || q->never)
        times->retry = -1;
    answer->limit = q->limit->rule.capacity;
    answer->remaining = remaining;
    answer->retry_after_ms = tkl__limit_ms(times->retry);
    answer->reset_after_ms = tkl__limit_ms(times->reset);
    if (!answer->allowed)
        return tkl__no(TKL_LIMITED);
    memcpy(answer->ticket, q->ticket, TKL_TOKEN_SIZE);
    return TKL_OK;
}
