/* SPDX-License-Identifier: MIT
 *
 * Leader election by name: one of the programs that stand for a name leads, on however many
 * machines they run.
 *
 *     tkl_leader *leader;
 *     TKL_TRY(tkl_leader_open(client, tkl_str("scheduler"), NULL, &leader));
 *     if (tkl_leader_campaign(leader, 60000) == TKL_OK) {       // wait up to a minute
 *         for (int step = 0; step < 100 && tkl_leader_leads(leader); step++)
 *             do_step(step, tkl_leader_term(leader));            // the store refuses lower terms
 *         tkl_leader_resign(leader);
 *     }
 *     tkl_leader_close(leader);
 *
 * A leader has a lease, which a thread of the client renews. It stops leading by its own clock
 * before the server gives the name to another candidate: two never lead at once by their own clocks
 * (docs/leader.md says when this holds). The term is the fence of the lease: a number
 * greater than that of every leader before. Candidates are elected in the order in which they came.
 *
 * Threads: a handle is one candidate. Several threads may use it, one operation after the other;
 * the functions marked "No I/O", wait_lost, show and watch may run beside any other.
 * Fork: a handle belongs to the process that opened it. In a forked child every call on it is
 * TKL_EINVAL, it does not lead, and tkl_leader_close() only frees memory.
 * Callbacks: on_lost runs in a thread of the client. It must not block. It may call
 * tkl_leader_resign() and the functions marked "No I/O", never tkl_leader_close().
 * Keys: "ns:leader:{name}:state", ":sharers" and ":line". They expire a minute after the last
 * lease; the line expires at most 15 minutes after a candidate last contacted the server.
 */
#ifndef TACKLE_LEADER_H
#define TACKLE_LEADER_H

#include <tackle/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_leader tkl_leader;

/* All zero means the defaults. */
typedef struct tkl_leader_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    int64_t lease_ms;   /* how long a leader that died leads on; 0: 30000; 1 to 10 years */
    const char *label;  /* shown to observers, for example the address where the leader can be
                           reached; at most 256 bytes; copied; NULL: none */
    int replicas;       /* number of replicas that must know of an election before it counts; 0:
                           none */
    /* Called once per term that is lost. NULL: no callback. */
    void (*on_lost)(tkl_leader *leader, void *arg);
    void *arg;
    TKL_RESERVED(8);
} tkl_leader_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. */
TKL_API int tkl_leader_open(tkl_client *client, tkl_bytes name, const tkl_leader_options *options,
                            tkl_leader **leader) TKL_NONNULL(1, 4) TKL_CHECK;
/* Resigns if the handle leads, which may take as long as the time-out, and frees the handle.
 * NULL is fine. */
TKL_API void tkl_leader_close(tkl_leader *leader);

/* Stands for the name and waits up to `wait_ms` to be elected: 0 tries once, negative waits for
 * ever. A handle that has lost its term may stand again. One round trip when nobody leads.
 *
 * TKL_BUSY: others led all the time. TKL_EINVAL: it leads already. TKL_EINTR: tkl_interrupt()
 * ended the wait. TKL_ELOST: it was elected, but the lease ran out before the answer arrived, and
 * no time is left to wait. TKL_EUNREADY: fewer replicas than asked for know of it. After
 * TKL_ETIMEOUT or TKL_EUNKNOWN call it again: the server recognises the candidate. Or give up with
 * tkl_leader_resign(). */
TKL_API int tkl_leader_campaign(tkl_leader *leader, int64_t wait_ms) TKL_NONNULL(1) TKL_CHECK;

/* Stops leading: the next candidate leads at once. TKL_NOTOWNER: the term was lost before. After
 * both the handle is free. After other errors it leads until the lease ends, and may resign again;
 * after TKL_ETIMEOUT and TKL_EUNKNOWN a background thread repeats the request. TKL_EINVAL: it has
 * not been elected. */
TKL_API int tkl_leader_resign(tkl_leader *leader) TKL_NONNULL(1);

/* Whether it leads, by its own clock. No I/O. */
TKL_API bool tkl_leader_leads(tkl_leader *leader) TKL_NONNULL(1);
/* TKL_HOLD_FREE: not elected. TKL_HOLD_HELD: leads. TKL_HOLD_SUSPECT: leads, but renewing fails:
 * wind up. TKL_HOLD_LOST: stop. No I/O. */
TKL_API tkl_hold_state tkl_leader_state(tkl_leader *leader) TKL_NONNULL(1);
/* The term; 0 when it was not elected. No I/O. */
TKL_API uint64_t tkl_leader_term(tkl_leader *leader) TKL_NONNULL(1);
/* How many milliseconds it still leads by its own clock, even if no renewal succeeds; 0 when it
 * does not lead. No I/O. */
TKL_API int64_t tkl_leader_left_ms(tkl_leader *leader) TKL_NONNULL(1);
/* Waits up to `wait_ms` (0: looks once; negative: for ever) until the term is lost. No I/O. TKL_OK:
 * it is lost. TKL_BUSY: it still led when the time was up. TKL_NOTOWNER: it was not elected, or
 * resigned meanwhile. TKL_EINTR: tkl_interrupt(). */
TKL_API int tkl_leader_wait_lost(tkl_leader *leader, int64_t wait_ms) TKL_NONNULL(1) TKL_CHECK;

/* Copies the token of the term, a secret of 32 hex digits; "" when it was not elected. No I/O. */
TKL_API void tkl_leader_token(tkl_leader *leader, char token[TKL_TOKEN_SIZE]) TKL_NONNULL(1, 2);
/* Makes a free handle the leader of a term that another process won, to resign in its place; the
 * lease begins again. TKL_NOTOWNER: the token does not lead. */
TKL_API int tkl_leader_adopt(tkl_leader *leader, const char *token) TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- For observers and operators ------------------------------------------ */

/* The leader is items[0], its fence the term; no item: nobody leads. The line has the candidates.
 * One round trip. Free with tkl_holders_free(). */
TKL_API int tkl_leader_show(tkl_leader *leader, tkl_holders **leaders) TKL_NONNULL(1, 2) TKL_CHECK;

/* Waits until the term is not `term` any more (0: until there is a leader) and reports who leads
 * then. Changes in quick succession may be reported as one. TKL_EMPTY: nothing changed in time.
 * `wait_ms`: 0 looks once, negative waits for ever. TKL_EINTR: tkl_interrupt(). */
TKL_API int tkl_leader_watch(tkl_leader *leader, uint64_t term, int64_t wait_ms,
                             tkl_holders **leaders) TKL_NONNULL(1, 4) TKL_CHECK;

/* Takes the name away from the leader; the next candidate leads at once, the former leader learns
 * of it at once if it can be reached. TKL_NOTFOUND: nobody led. */
TKL_API int tkl_leader_break(tkl_leader *leader) TKL_NONNULL(1) TKL_CHECK;

/* The names in the client's namespace that have a leader now. See tkl_options.no_register. Free
 * with tkl_names_free(). */
TKL_API int tkl_leader_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

/* All names that have a leader or candidates, with the leaders, in a few round trips, however many
 * there are. Free with tkl_hold_overview_free(). */
TKL_API int tkl_leader_overview(tkl_client *client, tkl_hold_overview **overview)
    TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
