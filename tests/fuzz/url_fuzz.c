/* SPDX-License-Identifier: MIT
 *
 * Any text as a URL: parsed or refused, and what was accepted is complete.
 */
#include "core/url.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void check_accepted(const tkl__target *target)
{
    bool embedded = target->scheme == TKL__EMBEDDED;
    require(embedded ? target->naddrs == 0 : target->naddrs > 0);
    for (size_t i = 0; i < target->naddrs; i++) {
        require(target->addrs[i].host && target->addrs[i].host[0]);
        require(target->addrs[i].port >= 0 && target->addrs[i].port <= 65535);
    }
    require((target->scheme == TKL__SENTINEL) == (target->master != NULL));
    require(target->db >= 0);
    require(target->timeout_ms > 0 && target->idle_ms > 0 && target->pool_size > 0);
    require(target->ns); /* a client without a name is named after the program */
}

static void check_refused(const tkl__target *target, const char *message)
{
    require(message[0]);
    require(target->naddrs == 0 && !target->addrs && !target->username && !target->password);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *url = strndup((const char *)data, size);
    /* Parsing reads the password file that is named; random names must not read ours. */
    if (url && !strstr(url, "password-file")) {
        tkl__target target;
        if (tkl__target_parse(url, NULL, &target) == TKL_OK)
            check_accepted(&target);
        else
            check_refused(&target, tkl_errmsg());
        tkl__target_free(&target);
    }
    free(url);
    return 0;
}
