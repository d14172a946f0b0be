/* SPDX-License-Identifier: MIT
 *
 * Views of operators, between tkl_lenient_begin() and tkl_lenient_end(), do without the masters of
 * a cluster that do not answer. Where there is no cluster, nothing here changes a call.
 */
#ifndef TKL_CORE_LENIENT_H
#define TKL_CORE_LENIENT_H

#include "core/client.h"
#include "core/node.h"

/* Whether the calling thread reads a view that may do without some of the client's nodes. */
bool tkl__lenient_is_on(const tkl_client *client);

/* How long this view waits for the node, within the deadline of a call. The first node that does
 * not answer costs the view a second, each further one half as much as the one before. A node that
 * did not answer an earlier view gets a moment to come back. */
int64_t tkl__lenient_deadline(const tkl_client *client, const tkl__node *node, int64_t deadline);

/* A request to the node failed, after it was given until `until`. Returns whether the view does
 * without the node from now on: it did not answer in time, or cannot be reached. */
bool tkl__lenient_gives_up(const tkl_client *client, tkl__node *node, int64_t until);

/* Whether this view does without the node. */
bool tkl__lenient_skips(const tkl__node *node);

/* The failure of a request to a node that the view does without. */
int tkl__lenient_fail(const tkl__node *node);

/* Whether something that failed with this code is only missing from the view. */
bool tkl__lenient_lacks(const tkl_client *client, int code);

#endif
