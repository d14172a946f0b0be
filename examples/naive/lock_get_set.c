/* SPDX-License-Identifier: MIT
 *
 * A lock by GET, then SET. Both programs look before either takes, and both go in.
 */
#include "naive.h"

static bool looks_free(void)
{
    return tkl_reply_is_nil(COMMAND("GET", "naive-door"));
}

static int enter_naively(void)
{
    int inside = 0;
    bool ann = looks_free();
    bool bob = looks_free(); /* between the look of Ann and her SET */
    if (ann) {
        COMMAND("SET", "naive-door", "ann");
        inside++;
    }
    if (bob) {
        COMMAND("SET", "naive-door", "bob");
        inside++;
    }
    COMMAND("DEL", "naive-door");
    return inside;
}

/* Looking and taking are one step, so there is no moment in between. */
static int enter_by_lock(void)
{
    int inside = 0;
    tkl_lock *ann, *bob;
    check(tkl_lock_open(client, tkl_str("naive-door"), NULL, &ann));
    check(tkl_lock_open(client, tkl_str("naive-door"), NULL, &bob));
    inside += tkl_lock_acquire(ann, 0) == TKL_OK;
    inside += tkl_lock_acquire(bob, 0) == TKL_OK;
    tkl_lock_close(bob);
    tkl_lock_close(ann);
    return inside;
}

int main(void)
{
    open_client();
    int naive = enter_naively(), ours = enter_by_lock();
    return compare("programs too many behind the door", naive - 1, ours - 1);
}
