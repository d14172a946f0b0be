/* SPDX-License-Identifier: MIT
 *
 * The register of names: which queues, locks, indexes ... there are, without a walk over all keys.
 */
#ifndef TKL_CORE_REGISTER_H
#define TKL_CORE_REGISTER_H

#include "core/batch.h"
#include "core/walk.h"

int tkl__register_open(tkl__register *r);
void tkl__register_close(tkl__register *r);

/* Appends to `wire` the commands that announce the name of this request, if it has one and the
 * client has not announced it lately. Returns how many commands. */
unsigned tkl__register_write(tkl_client *client, const tkl__node *node, const tkl__request *request,
                             tkl__buf *wire);
/* Sends announcements in front of a request. Their answers are skipped when they arrive.
 * TKL_ENOTSENT: the connection broke. */
int tkl__register_send(tkl__conn *conn, const tkl__buf *wire, unsigned count, int64_t deadline);

/* Visits a key "ns:component:{name}:part" of each name that has a key of one of these parts (""
 * for the bare key) and of this type ("hash"). The names come from the register; a client that does
 * not keep one, or may not read it, walks over all keys. Names that are gone and were not used for
 * a while leave the register. Anything but TKL_OK from `visit` ends the search.
 *
 * Without parts no key is checked: visits the bare key of each name that was used in the last day.
 * The caller walks if the client keeps no register, or for TKL_EAUTH. */
int tkl__register_visit(tkl_client *client, const char *component, const char *const *parts,
                        size_t count, const char *type, tkl__visit *visit, void *arg);

/* The same for a view that looks often, without a round trip of its own. The first adds commands to
 * a batch that ask for about `max` names, those used last. The second visits the bare key of each
 * name, whether it has data or not, by the replies from *at on, and moves *at behind them. */
void tkl__register_ask(tkl__batch *batch, const char *component, int64_t max);
int tkl__register_heard(const tkl__batch *batch, size_t *at, const char *component,
                        tkl__visit *visit, void *arg);

#endif
