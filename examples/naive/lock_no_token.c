/* SPDX-License-Identifier: MIT
 *
 * A lock with an expiry and without a token. Ann is slow, her lock expires, Bob has it: and Ann,
 * when she is done, deletes the lock of Bob.
 */
#include "naive.h"

static bool take_lock(const char *who, const char *ms)
{
    return !tkl_reply_is_nil(COMMAND("SET", "naive-page", who, "NX", "PX", ms));
}

/* Returns how many are at work beside Bob. */
static int write_naively(void)
{
    if (!take_lock("ann", "50"))
        exit(1);
    usleep(100000); /* the work takes longer than she thought */
    if (!take_lock("bob", "60000"))
        exit(1);
    COMMAND("DEL", "naive-page"); /* Ann is done, and frees what is not hers */
    int beside = take_lock("eve", "60000") ? 1 : 0;
    COMMAND("DEL", "naive-page");
    return beside;
}

/* A release names the token of its acquisition. That of Ann is not the holder any more. */
static int write_by_lock(void)
{
    tkl_lock *ann, *bob, *eve;
    tkl_lock_options brief = {.lease_ms = 50};
    check(tkl_lock_open(client, tkl_str("naive-page"), &brief, &ann));
    check(tkl_lock_open(client, tkl_str("naive-page"), NULL, &bob));
    check(tkl_lock_open(client, tkl_str("naive-page"), NULL, &eve));
    check(tkl_lock_acquire(ann, 10000)); /* again if this machine was too slow for 50 ms */
    check(tkl_lock_acquire(bob, 10000)); /* has it when the lease of Ann ends */
    if (tkl_lock_release(ann) != TKL_NOTOWNER)
        exit(1);
    int beside = tkl_lock_acquire(eve, 0) == TKL_OK;
    tkl_lock_close(eve);
    tkl_lock_close(bob);
    tkl_lock_close(ann);
    return beside;
}

int main(void)
{
    open_client();
    int naive = write_naively(), ours = write_by_lock();
    return compare("programs at work beside the holder", naive, ours);
}
