/* SPDX-License-Identifier: MIT
 *
 * Files on a cluster: all keys of a channel share a slot, which may move, or
 * lose its master, while a file is sent.
 */
#include <tackle/files.h>

#include <limits.h>

#include "support/clustered.h"
#include "support/transfer.h"

typedef struct receiver {
    tkl_files *files;
    const transfer *p;
    int code;
} receiver;

static void receive(void *arg, int index)
{
    receiver *r = arg;
    (void)index;
    char *dir = transfer_path(r->p, "a/");
    tkl_files_receive_options options = {.dir = dir, .exit_when_done = true};
    r->code = tkl_files_receive(r->files, tkl_str("a"), &options, 30000, NULL);
    free(dir);
}

typedef struct upset {
    void (*happen)(cluster *servers, int slot);
    cluster *servers;
    bool done;
} upset;

/* Something happens to the slot of the channel while the file is under way. */
static void upset_once(const tkl_files_progress *progress, void *arg)
{
    upset *u = arg;
    if (u->done || progress->file_done < 3 * 1024 * 1024)
        return;
    u->done = true;
    u->happen(u->servers, slot_of("tackle:files:{logs}"));
}

static void move_slot(cluster *servers, int slot)
{
    server *from = cluster_owner(servers, slot), *to = cluster_other(servers, slot);
    cluster_move_begin(from, to, slot);
    cluster_move_keys(from, to, slot, INT_MAX);
    cluster_move_end(servers, to, slot);
}

static void fail_over(cluster *servers, int slot)
{
    cluster_fail_over(servers, slot);
}

/* Kills the master of a slot; its replica takes over within seconds, perhaps without the last
 * writes. */
static void kill_master(cluster *servers, int slot)
{
    server_kill(cluster_owner(servers, slot));
}

static void pass_while(clustered *f, void (*happen)(cluster *servers, int slot))
{
    tkl_files *files;
    tkl_files_options options = {.max_bytes = 1024 * 1024};
    upset u = {.happen = happen, .servers = f->cluster};
    transfer p;
    transfer_make(&p);
    assert_ok(tkl_files_open(f->client, tkl_str("logs"), &options, &files));
    char *path = transfer_file(&p, "src/f", 8 * 1024 * 1024, 5), *got = transfer_path(&p, "a/f");
    receiver r = {.files = files, .p = &p};
    crew *threads = crew_start(1, receive, &r);
    tkl_files_send_options send = {.wait_ms = 30000, .on_progress = upset_once, .arg = &u};
    assert_ok(transfer_send(files, "a", path, &send));
    crew_join(threads);
    assert_ok(r.code);
    assert_true(u.done);
    assert_true(transfer_same(path, got));
    free(path);
    free(got);
    tkl_files_close(files);
}

static void a_file_passes_while_its_slot_moves(void **state)
{
    pass_while(*state, move_slot);
}

static void a_file_passes_while_its_master_is_replaced(void **state)
{
    pass_while(*state, fail_over);
}

static void a_file_passes_while_its_master_dies(void **state)
{
    pass_while(*state, kill_master);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(a_file_passes_while_its_slot_moves),
        CLUSTER_TEST(a_file_passes_while_its_master_is_replaced),
        CLUSTER_TEST(a_file_passes_while_its_master_dies),
    };
    return cmocka_run_group_tests(tests, clustered_start, clustered_end);
}
