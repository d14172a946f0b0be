/* SPDX-License-Identifier: MIT
 *
 * Users with the permissions that a page of docs/ names.
 */
#ifndef TACKLE_TESTS_PERMISSIONS_H
#define TACKLE_TESTS_PERMISSIONS_H

#include <tackle/client.h>

#include "support/server.h"

/* Runs the "ACL SETUSER" of docs/<page> on the server. Returns a client of that user, whose
 * password the page calls "secret". */
tkl_client *documented_user(server *s, const char *page);

#endif
