/* SPDX-License-Identifier: MIT */
#include "support/clustered.h"

#include "core/resp.h"

int clustered_start(void **state)
{
    clustered *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->cluster = cluster_start(false);
    *state = f;
    return 0;
}

int clustered_end(void **state)
{
    clustered *f = *state;
    cluster_end(f->cluster);
    free(f);
    return 0;
}

int clustered_fresh_with(void **state, const tkl_options *options)
{
    clustered *f = *state;
    cluster_heal(f->cluster);
    f->client = test_open(f->cluster->url, options);
    call_expect(f->client, "OK", "FLUSHALL", NULL);
    return 0;
}

int clustered_fresh(void **state)
{
    return clustered_fresh_with(state, &(tkl_options){.timeout_ms = PATIENCE_MS});
}

int clustered_done(void **state)
{
    clustered *f = *state;
    tkl_close(f->client);
    f->client = NULL;
    return 0;
}

int slot_of(const char *key)
{
    return tkl__slot_of(tkl_str(key));
}

void key_name(char key[32], int number)
{
    snprintf(key, 32, "key:%d", number);
}
