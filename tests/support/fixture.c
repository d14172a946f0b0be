/* SPDX-License-Identifier: MIT */
#include "support/fixture.h"

int fixture_start(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->server = server_start(NULL);
    *state = f;
    return 0;
}

int fixture_end(void **state)
{
    fixture *f = *state;
    server_end(f->server);
    free(f);
    return 0;
}

int fixture_fresh(void **state)
{
    fixture *f = *state;
    server_do(f->server, "FLUSHALL");
    server_do(f->server, "FUNCTION FLUSH SYNC"); /* ASYNC makes Valkey 8.0 crash at the next load */
    f->client = test_open(f->server->url, NULL);
    return 0;
}

int fixture_done(void **state)
{
    fixture *f = *state;
    tkl_close(f->client);
    f->client = NULL;
    return 0;
}
