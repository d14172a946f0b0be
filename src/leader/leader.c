/* SPDX-License-Identifier: MIT
 *
 * Election of a leader: an exclusive hold (src/hold) that is always renewed and watched. Its fence
 * is the term. Keys are those of a hold, under "leader"; changes of the holder are published for
 * observers (change.c of src/hold).
 */
#include <tackle/leader.h>

#include <stdlib.h>

#include "core/error.h"
#include "core/options.h"
#include "hold/hold.h"

struct tkl_leader {
    tkl__hold *hold;
    void (*on_lost)(tkl_leader *leader, void *arg);
    void *arg;
};

static void tell_lost(void *owner)
{
    tkl_leader *leader = owner;
    leader->on_lost(leader, leader->arg);
}

int tkl_leader_open(tkl_client *client, tkl_bytes name, const tkl_leader_options *options,
                    tkl_leader **out)
{
    static const tkl_leader_options none;
    const tkl_leader_options *o = options ? options : &none;
    *out = NULL;
    int rc = TKL__CHECK_RESERVED(options);
    if (rc != TKL_OK)
        return rc;
    tkl_leader *leader = calloc(1, sizeof *leader);
    if (!leader)
        return tkl__nomem();
    leader->on_lost = o->on_lost;
    leader->arg = o->arg;
    tkl__hold_rules rules = {
        .component = "leader",
        .timeout_ms = o->timeout_ms,
        .lease_ms = o->lease_ms,
        .label = o->label,
        .replicas = o->replicas,
        .auto_renew = true,
        .watch = true,
        .announced = true,
        .on_lost = o->on_lost ? tell_lost : NULL,
        .owner = leader,
    };
    rc = tkl__hold_open(client, name, &rules, &leader->hold);
    if (rc != TKL_OK) {
        free(leader);
        return rc;
    }
    *out = leader;
    return TKL_OK;
}

void tkl_leader_close(tkl_leader *leader)
{
    if (leader)
        tkl__hold_close(leader->hold);
    free(leader);
}

int tkl_leader_campaign(tkl_leader *leader, int64_t wait_ms)
{
    if (tkl__hold_state(leader->hold) == TKL_HOLD_LOST)
        tkl__hold_release(leader->hold, true); /* the server refuses, and the handle forgets it */
    return tkl__hold_acquire(leader->hold, wait_ms);
}

int tkl_leader_resign(tkl_leader *leader)
{
    return tkl__hold_release(leader->hold, true);
}

bool tkl_leader_leads(tkl_leader *leader)
{
    tkl_hold_state state = tkl__hold_state(leader->hold);
    return state == TKL_HOLD_HELD || state == TKL_HOLD_SUSPECT;
}

tkl_hold_state tkl_leader_state(tkl_leader *leader)
{
    return tkl__hold_state(leader->hold);
}

uint64_t tkl_leader_term(tkl_leader *leader)
{
    return tkl__hold_fence(leader->hold);
}

int64_t tkl_leader_left_ms(tkl_leader *leader)
{
    return tkl__hold_left_ms(leader->hold);
}

int tkl_leader_wait_lost(tkl_leader *leader, int64_t wait_ms)
{
    return tkl__hold_wait_lost(leader->hold, wait_ms);
}

void tkl_leader_token(tkl_leader *leader, char token[TKL_TOKEN_SIZE])
{
    tkl__hold_token(leader->hold, token);
}

int tkl_leader_adopt(tkl_leader *leader, const char *token)
{
    return tkl__hold_adopt(leader->hold, token, 0);
}

int tkl_leader_show(tkl_leader *leader, tkl_holders **leaders)
{
    return tkl__hold_show(leader->hold, leaders);
}

int tkl_leader_watch(tkl_leader *leader, uint64_t term, int64_t wait_ms, tkl_holders **leaders)
{
    return tkl__hold_await_change(leader->hold, term, wait_ms, leaders);
}

int tkl_leader_break(tkl_leader *leader)
{
    return tkl__hold_break(leader->hold);
}

int tkl_leader_names(tkl_client *client, tkl_names **names)
{
    return tkl__hold_names(client, "leader", names);
}

int tkl_leader_overview(tkl_client *client, tkl_hold_overview **overview)
{
    return tkl__hold_overview(client, "leader", overview);
}
