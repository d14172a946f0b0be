/* SPDX-License-Identifier: MIT
 *
 * Files when something goes wrong: killed senders and receivers, a server that is restarted,
 * sources that change, disks that are full.
 *
 * ctest: label threads
 */
#include <tackle/files.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/process.h"
#include "support/transfer.h"

#define KB 1024
#define MB (1024 * 1024)

static tkl_files *open_on(tkl_client *client, tkl_files_options options)
{
    tkl_files *files;
    assert_ok(tkl_files_open(client, tkl_str("logs"), &options, &files));
    return files;
}

static void expect_clean(server *s)
{
    char *keys = server_ask(s, "KEYS *");
    assert_lacks(keys, ":file:");
    assert_lacks(keys, "}:files");
    free(keys);
    assert_int_equal(server_ask_int(s, "HGET tackle:files:{logs} held"), 0);
}

static void expect_at(const transfer *p, const char *receiver, const char *source)
{
    char *name = test_format("%s%s", receiver, strrchr(source, '/')),
         *path = transfer_path(p, name);
    if (!transfer_same(path, source))
        fail_msg("%s differs from %s", path, source);
    free(name);
    free(path);
}

/* ---- Processes of their own ---------------------------------------------- */

typedef struct job {
    const char *url, *to, *path;
    const transfer *p;
    tkl_files_options options;
    int64_t wait_ms;
} job;

static int send_in_child(void *arg)
{
    const job *j = arg;
    tkl_client *client;
    tkl_files *files;
    if (tkl_open(j->url, NULL, &client) != TKL_OK ||
        tkl_files_open(client, tkl_str("logs"), &j->options, &files) != TKL_OK)
        return 99;
    tkl_files_send_options options = {.wait_ms = j->wait_ms};
    return transfer_send(files, j->to, j->path, &options) == TKL_OK ? 0 : 1;
}

static int receive_in_child(void *arg)
{
    const job *j = arg;
    tkl_client *client;
    tkl_files *files;
    char dir[256];
    snprintf(dir, sizeof dir, "%s/%s", j->p->dir, j->to);
    tkl_files_receive_options options = {.dir = dir, .exit_when_done = true};
    if (tkl_open(j->url, NULL, &client) != TKL_OK ||
        tkl_files_open(client, tkl_str("logs"), &j->options, &files) != TKL_OK)
        return 99;
    int rc = tkl_files_receive(files, tkl_str(j->to), &options, j->wait_ms, NULL);
    if (rc != TKL_OK)
        fprintf(stderr, "receiving: %s\n", tkl_errmsg());
    return rc == TKL_OK ? 0 : 1;
}

static int64_t held(server *s)
{
    return server_ask_int(s, "HGET tackle:files:{logs} held");
}

/* ---- Killed -------------------------------------------------------------- */

static int resumed_files;

static void count_resumed(const tkl_files_outcome *outcome, void *arg)
{
    (void)arg;
    resumed_files += outcome->resumed;
}

static void a_killed_sender_goes_on_where_it_was(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", 4 * MB, 1);
    job j = {.url = f->server->url, .to = "a,b", .path = path, .options = {.max_bytes = MB}};
    pid_t child = process_fork(send_in_child, &j);
    eventually(held(f->server) > MB - 300 * KB, 10000);
    kill(child, SIGKILL);
    process_wait(child);
    tkl_files *files = open_on(f->client, (tkl_files_options){.max_bytes = 64 * MB});
    tkl_files_send_options options = {.on_file = count_resumed};
    resumed_files = 0;
    assert_ok(transfer_send(files, "a,b", path, &options));
    assert_int_equal(resumed_files, 1);
    assert_int_equal(server_ask_int(f->server, "ZCARD tackle:files:{logs}:files"), 1);
    assert_ok(transfer_receive(files, &p, "a", NULL));
    assert_ok(transfer_receive(files, &p, "b", NULL));
    expect_at(&p, "a", path);
    expect_at(&p, "b", path);
    expect_clean(f->server);
    free(path);
    tkl_files_close(files);
}

static void a_source_that_changed_after_the_kill_begins_afresh(void **state)
{
    fixture *f = *state;
    transfer p;
    struct stat st;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", 4 * MB, 1);
    job j = {.url = f->server->url, .to = "a", .path = path, .options = {.max_bytes = MB}};
    pid_t child = process_fork(send_in_child, &j);
    eventually(held(f->server) > MB - 300 * KB, 10000);
    kill(child, SIGKILL);
    process_wait(child);
    /* Other bytes, the same size and time: only the checksum tells. */
    assert_int_equal(stat(path, &st), 0);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "changed", 7, 1000), 7);
    const struct timespec times[] = {st.st_atim, st.st_mtim};
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
    tkl_files *files = open_on(f->client, (tkl_files_options){.max_bytes = 64 * MB});
    tkl_files_send_options options = {.on_file = count_resumed};
    resumed_files = 0;
    assert_ok(transfer_send(files, "a", path, &options));
    assert_int_equal(resumed_files, 0);
    assert_ok(transfer_receive(files, &p, "a", NULL));
    expect_at(&p, "a", path);
    expect_clean(f->server);
    free(path);
    tkl_files_close(files);
}

static void a_receiver_killed_again_and_again_ends_with_the_right_bytes(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", 12 * MB, 2), *dir = transfer_path(&p, "a/");
    job sends = {.url = f->server->url, .to = "a", .path = path, .options = {.max_bytes = MB}},
        receives = {.url = f->server->url, .to = "a", .p = &p, .wait_ms = 20000};
    sends.wait_ms = 30000;
    pid_t sender = process_fork(send_in_child, &sends);
    int kills = 0, status;
    while (waitpid(sender, &status, WNOHANG) == 0) {
        pid_t child = process_fork(receive_in_child, &receives);
        test_sleep_ms(kills < 12 ? 5 + 7 * (kills % 5) : 3000);
        kill(child, SIGKILL);
        kills += process_wait(child) == 128 + SIGKILL;
    }
    assert_int_equal(status, 0);
    assert_true(kills > 0);
    expect_at(&p, "a", path);
    assert_int_equal(transfer_count(dir), 1);
    expect_clean(f->server);
    free(path);
    free(dir);
}

static void die(const tkl_files_outcome *outcome, void *arg)
{
    (void)outcome, (void)arg;
    raise(SIGKILL);
}

static int die_in_on_file(void *arg)
{
    const job *j = arg;
    tkl_client *client;
    tkl_files *files;
    char dir[256];
    snprintf(dir, sizeof dir, "%s/%s", j->p->dir, j->to);
    tkl_files_receive_options options = {.dir = dir, .on_file = die};
    if (tkl_open(j->url, NULL, &client) != TKL_OK ||
        tkl_files_open(client, tkl_str("logs"), NULL, &files) != TKL_OK)
        return 99;
    return tkl_files_receive(files, tkl_str(j->to), &options, 0, NULL);
}

static void note_path(const tkl_files_outcome *outcome, void *arg)
{
    snprintf(arg, 256, "%s", outcome->path);
}

/* A program that acts on on_file() misses none: the server forgets the file after it. */
static void on_file_comes_again_after_a_crash(void **state)
{
    skip_under_sanitizers();
    fixture *f = *state;
    for (int large = 0; large < 2; large++) {
        transfer p;
        transfer_make(&p);
        char *path = transfer_file(&p, "src/f", large ? MB : 100, 2),
             *dir = transfer_path(&p, "a/");
        char *place = transfer_path(&p, "a/f"), told[256] = "";
        tkl_files *files = open_on(f->client, (tkl_files_options){0});
        job j = {.url = f->server->url, .to = "a", .p = &p};
        tkl_files_receive_options options = {.dir = dir, .on_file = note_path, .arg = told};
        assert_ok(transfer_send(files, "a", path, NULL));
        pid_t child = process_fork(die_in_on_file, &j);
        assert_int_equal(process_wait(child), 128 + SIGKILL);
        assert_true(transfer_same(place, path));
        options.dir = dir;
        dir[strlen(dir) - 1] = '\0'; /* the slash at its end */
        assert_ok(tkl_files_receive(files, tkl_str("a"), &options, 0, NULL));
        assert_string_equal(told, place);
        expect_clean(f->server);
        free(place);
        free(path);
        free(dir);
        tkl_files_close(files);
    }
}

/* The file is in place, and the server does not know it, as after a kill between these two
 * steps. */
static void a_file_that_is_in_place_is_not_fetched_again(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", MB, 2), *other = transfer_file(&p, "a/f", MB, 2);
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    assert_ok(transfer_send(files, "a", path, NULL));
    char *key = server_ask(f->server, "ZRANGE tackle:files:{logs}:files 0 0");
    key[strcspn(key, "\n")] = '\0';
    for (int i = 0; i < 4; i++)
        server_do(f->server, "DEL tackle:files:{logs}:file:%s:%d", key, i);
    server_do(f->server, "HSET tackle:files:{logs}:file:%s freed 4 sent 5", key);
    server_do(f->server, "ZADD tackle:files:{logs}:file:%s:at 5 a", key);
    assert_ok(transfer_receive(files, &p, "a", NULL));
    expect_at(&p, "a", path);
    expect_clean(f->server);
    free(key);
    free(path);
    free(other);
    tkl_files_close(files);
}

static void stay(const tkl_files_progress *progress, void *arg)
{
    (void)progress;
    (void)arg;
    test_sleep_ms(60000);
}

/* Writes one chunk, and then no more, although it may. */
static int reserve_in_child(void *arg)
{
    const job *j = arg;
    tkl_client *client;
    tkl_files *files;
    tkl_files_send_options options = {.on_progress = stay};
    if (tkl_open(j->url, NULL, &client) != TKL_OK ||
        tkl_files_open(client, tkl_str("logs"), &j->options, &files) != TKL_OK)
        return 99;
    return transfer_send(files, j->to, j->path, &options);
}

static void what_a_killed_sender_has_reserved_is_taken_back(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", 4 * MB, 1),
         *other = transfer_file(&p, "src/g", 400 * KB, 2);
    job j = {.url = f->server->url,
             .to = "a",
             .path = path,
             .options = {.max_bytes = MB, .lease_ms = 300}};
    pid_t child = process_fork(reserve_in_child, &j);
    eventually(held(f->server) > MB - 300 * KB, 10000);
    kill(child, SIGKILL);
    process_wait(child);
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    int64_t began = test_now_ms();
    assert_ok(transfer_send(files, "a", other, NULL));
    assert_true(test_now_ms() - began < 20000);
    assert_ok(transfer_receive(files, &p, "a", NULL));
    expect_at(&p, "a", other);
    assert_ok(tkl_files_drop_receiver(files, tkl_str("a"), NULL));
    free(path);
    free(other);
    tkl_files_close(files);
}

static void a_sender_that_never_comes_back_is_given_up(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", 4 * MB, 1), *dir = transfer_path(&p, "a/");
    tkl_files_totals totals;
    job j = {.url = f->server->url,
             .to = "a",
             .path = path,
             .options = {.max_bytes = MB, .lease_ms = 200, .resume_ms = 300}};
    pid_t child = process_fork(send_in_child, &j);
    eventually(held(f->server) > MB - 300 * KB, 10000);
    kill(child, SIGKILL);
    process_wait(child);
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    tkl_files_receive_options options = {.dir = dir, .exit_when_done = true};
    assert_code(tkl_files_receive(files, tkl_str("a"), &options, 20000, &totals), TKL_CONFLICT);
    assert_contains(tkl_errmsg(), "gave it up");
    assert_int_equal(totals.failed, 1);
    assert_int_equal(transfer_count(dir), 0);
    expect_clean(f->server);
    free(path);
    free(dir);
    tkl_files_close(files);
}

static void what_nobody_fetches_is_given_up_in_time(void **state)
{
    fixture *f = *state;
    transfer p;
    tkl_files_info *info;
    transfer_make(&p);
    char *big = transfer_file(&p, "src/big", 2 * MB, 1),
         *small = transfer_file(&p, "src/small", 9, 1);
    tkl_files *files = open_on(f->client, (tkl_files_options){.ttl_ms = 300, .max_bytes = 4 * MB});
    assert_ok(transfer_send(files, "ghost", big, NULL));
    assert_ok(transfer_send(files, "ghost", small, NULL));
    /* There is no room for this one before the other is given up. */
    assert_ok(transfer_send(files, "ghost", big, NULL));
    eventually(tkl_files_status(files, &info) == TKL_OK &&
                   (tkl_files_info_free(info), held(f->server) == 0),
               10000);
    expect_clean(f->server);
    free(big);
    free(small);
    tkl_files_close(files);
}

/* ---- The server ---------------------------------------------------------- */

/* Receivers that give up are started again until the sender knows that all is done. */
static void restart_mid_file(const char *const *config)
{
    const server_options with = {.config = config};
    server *s = server_start(&with);
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", 16 * MB, 3), *dir = transfer_path(&p, "a/");
    job sends = {.url = s->url, .to = "a", .path = path, .options = {.max_bytes = 2 * MB}},
        receives = {.url = s->url, .to = "a", .p = &p, .wait_ms = 1000};
    sends.wait_ms = 60000;
    pid_t sender = process_fork(send_in_child, &sends);
    eventually(held(s) > MB, 10000);
    server_restart(s); /* in the middle of the file for certain: nobody makes room for the rest */
    bool again = true; /* and once more while it arrives, unless all has arrived by then */
    int status;
    pid_t receiver = process_fork(receive_in_child, &receives);
    while (waitpid(sender, &status, WNOHANG) == 0) {
        test_sleep_ms(30);
        if (again)
            server_restart(s);
        again = false;
        if (waitpid(receiver, NULL, WNOHANG) == receiver)
            receiver = process_fork(receive_in_child, &receives);
    }
    assert_int_equal(status, 0);
    expect_at(&p, "a", path);
    process_wait(receiver);
    assert_int_equal(transfer_count(dir), 1);
    free(path);
    free(dir);
    server_end(s);
}

static void a_file_survives_restarts_of_the_server(void **state)
{
    (void)state;
    static const char *const config[] = {"appendonly yes", "appendfsync always", NULL};
    restart_mid_file(config);
}

static void a_server_that_forgot_everything_gets_it_again(void **state)
{
    (void)state;
    restart_mid_file(NULL);
}

static void a_full_server_lets_receivers_make_room(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", MB, 3);
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    assert_ok(transfer_send(files, "a", path, NULL));
    server_do(f->server, "CONFIG SET maxmemory 1");
    int sent = transfer_send(files, "a", path, NULL),
        received = transfer_receive(files, &p, "a", NULL);
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_code(sent, TKL_EOOM);
    assert_ok(received);
    expect_at(&p, "a", path);
    expect_clean(f->server);
    free(path);
    tkl_files_close(files);
}

/* ---- Sources ------------------------------------------------------------- */

static const char *grows;

static void append(const tkl_files_progress *progress, void *arg)
{
    (void)arg;
    if (progress->file_done == 0 || !grows)
        return;
    int fd = open(grows, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    grows = NULL;
}

/* Other bytes, the same size and time. */
static void rewrite(const tkl_files_progress *progress, void *arg)
{
    struct stat st;
    (void)arg;
    if (progress->file_done == 0 || !grows)
        return;
    int fd = open(grows, O_WRONLY);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(pwrite(fd, "changed", 7, 1000), 7);
    const struct timespec times[] = {st.st_atim, st.st_mtim};
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
    grows = NULL;
}

static void send_and_change(fixture *f, void (*change)(const tkl_files_progress *, void *))
{
    transfer p;
    tkl_files_info *info;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", 12 * MB, 3), *dir = transfer_path(&p, "a/");
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    tkl_files_send_options options = {.on_progress = change};
    grows = path;
    assert_code(transfer_send(files, "a", path, &options), TKL_CONFLICT);
    assert_contains(tkl_errmsg(), "changed while it was sent");
    assert_code(transfer_receive(files, &p, "a", NULL), TKL_EMPTY);
    assert_int_equal(transfer_count(dir), 0);
    assert_ok(tkl_files_status(files, &info));
    assert_int_equal(info->trouble_count, 1);
    assert_string_equal(info->troubles[0].reason.data, "changed while it was sent");
    tkl_files_info_free(info);
    expect_clean(f->server);
    free(path);
    free(dir);
    tkl_files_close(files);
}

static void a_file_that_changes_meanwhile_reaches_nobody(void **state)
{
    send_and_change(*state, append);
}

static void a_file_that_keeps_its_size_and_time_reaches_nobody(void **state)
{
    send_and_change(*state, rewrite);
}

static void spoil(fixture *f, const char *command)
{
    char *token = server_ask(f->server, "ZRANGE tackle:files:{logs}:files 0 0");
    token[strcspn(token, "\n")] = '\0';
    server_do(f->server, command, token);
    free(token);
}

static void a_spoiled_file_is_reported_and_not_put_in_place(void **state)
{
    static const struct {
        const char *command;
        size_t size;
        int code;
        const char *reason;
    } cases[] = {
        {"SETRANGE tackle:files:{logs}:file:%s:1 5 spoiled", MB, TKL_EPROTO, "checksum"},
        {"HSET tackle:files:{logs}:file:%s data spoiled", 10, TKL_EPROTO, "checksum"},
        {"HSET tackle:files:{logs}:file:%s prefix 00", MB, TKL_EPROTO, "checksum"},
        {"DEL tackle:files:{logs}:file:%s:2", MB, TKL_EDAMAGED, "not on the server"},
        {"SET tackle:files:{logs}:file:%s:2 short", MB, TKL_EDAMAGED, "wrong size"},
    };
    fixture *f = *state;
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        transfer p;
        transfer_make(&p);
        char *path = transfer_file(&p, "src/f", cases[i].size, 3), *dir = transfer_path(&p, "a/");
        tkl_files_info *info;
        assert_ok(transfer_send(files, "a", path, NULL));
        spoil(f, cases[i].command);
        assert_code(transfer_receive(files, &p, "a", NULL), cases[i].code);
        assert_contains(tkl_errmsg(), cases[i].reason);
        assert_int_equal(transfer_count(dir), 0);
        assert_ok(tkl_files_status(files, &info));
        assert_int_equal(info->trouble_count, i + 1);
        assert_contains(info->troubles[i].reason.data, cases[i].reason);
        tkl_files_info_free(info);
        expect_clean(f->server);
        free(path);
        free(dir);
    }
    tkl_files_close(files);
}

static bool is_complete(tkl_files *files)
{
    tkl_files_info *info;
    bool complete = tkl_files_status(files, &info) == TKL_OK && info->count == 1 &&
                    info->files[0].state == TKL_FILES_COMPLETE;
    tkl_files_info_free(info);
    return complete;
}

static void a_sender_that_waits_hears_of_the_trouble(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", MB, 3), *dir = transfer_path(&p, "a/");
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    job sends = {.url = f->server->url, .to = "a", .path = path, .wait_ms = 20000};
    pid_t sender = process_fork(send_in_child, &sends);
    eventually(is_complete(files), 30000);
    spoil(f, "SETRANGE tackle:files:{logs}:file:%s:1 5 spoiled");
    assert_code(transfer_receive(files, &p, "a", NULL), TKL_EPROTO);
    assert_int_equal(process_wait(sender), 1);
    tkl_files_send_options options = {.wait_ms = 50};
    assert_code(transfer_send(files, "a", path, &options), TKL_BUSY);
    free(path);
    free(dir);
    tkl_files_close(files);
}

static void a_sender_that_waits_hears_of_it_among_much_other_trouble(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", MB, 3), *dir = transfer_path(&p, "a/");
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    job sends = {.url = f->server->url, .to = "a", .path = path, .wait_ms = 60000};
    pid_t sender = process_fork(send_in_child, &sends);
    eventually(is_complete(files), 30000);
    kill(sender, SIGSTOP);
    spoil(f, "SETRANGE tackle:files:{logs}:file:%s:1 5 spoiled");
    assert_code(transfer_receive(files, &p, "a", NULL), TKL_EPROTO);
    for (int i = 0; i < 100; i++)
        server_do(f->server, "XADD tackle:files:{logs}:trouble MAXLEN 100 * token x receiver b "
                             "name other reason none");
    kill(sender, SIGCONT);
    assert_int_equal(process_wait(sender), 1);
    free(path);
    free(dir);
    tkl_files_close(files);
}

/* ---- The disk of a receiver ---------------------------------------------- */

static rlim_t small_disk = 300 * KB;

static int receive_with_small_disk(void *arg)
{
    const struct rlimit small = {small_disk, small_disk};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    return receive_in_child(arg);
}

static void a_full_disk_loses_nothing(void **state)
{
    skip_under_sanitizers();
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", MB, 3), *dir = transfer_path(&p, "a/");
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    job receives = {.url = f->server->url, .to = "a", .p = &p};
    assert_ok(transfer_send(files, "a", path, NULL));
    pid_t child = process_fork(receive_with_small_disk, &receives);
    assert_int_equal(process_wait(child), 1);
    tkl_files_receive_options nowhere = {.dir = "/proc"};
    assert_code(tkl_files_receive(files, tkl_str("a"), &nowhere, 0, NULL), TKL_EIO);
    assert_contains(tkl_errmsg(), "/proc");
    assert_ok(transfer_receive(files, &p, "a", NULL));
    expect_at(&p, "a", path);
    assert_int_equal(transfer_count(dir), 1);
    free(path);
    free(dir);
    tkl_files_close(files);
}

/* Files are put in place in their order until one does not fit. */
static void small_files_before_a_full_disk_come_once(void **state)
{
    skip_under_sanitizers();
    enum { FILES = 6 };
    fixture *f = *state;
    transfer p;
    tkl_files_totals totals;
    const tkl_bytes to[] = {TKL_LIT("a")};
    tkl_files_source sources[FILES] = {{0}};
    transfer_make(&p);
    for (int i = 0; i < FILES; i++) {
        char *name = test_format("src/%d", i);
        sources[i].path = transfer_file(&p, name, i < FILES - 1 ? 100 : 400 * KB, (unsigned)i);
        free(name);
    }
    char *dir = transfer_path(&p, "a/");
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    job receives = {.url = f->server->url, .to = "a", .p = &p};
    for (int round = 0; round < 2; round++) {
        /* The second time, the file that does not fit is a small one, posted with the others. */
        if (round == 1) {
            free((char *)(uintptr_t)sources[FILES - 1].path);
            sources[FILES - 1].path = transfer_file(&p, "src/last", 15 * KB, 9);
        }
        small_disk = round == 0 ? 300 * KB : 10 * KB;
        assert_ok(tkl_files_send(files, to, 1, sources, FILES, NULL, NULL));
        pid_t child = process_fork(receive_with_small_disk, &receives);
        assert_int_equal(process_wait(child), 1);
        assert_ok(transfer_receive(files, &p, "a", &totals));
        assert_int_equal(totals.files, 1);
    }
    for (int i = 0; i < FILES; i++)
        free((char *)(uintptr_t)sources[i].path);
    free(dir);
    tkl_files_close(files);
}

static void a_directory_in_the_way_is_an_error_that_loses_nothing(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", MB, 3), *way = transfer_path(&p, "a/f");
    assert_int_equal(mkdir(way, 0700), 0);
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    assert_ok(transfer_send(files, "a", path, NULL));
    assert_code(transfer_receive(files, &p, "a", NULL), TKL_EIO);
    assert_int_equal(rmdir(way), 0);
    assert_ok(transfer_receive(files, &p, "a", NULL));
    expect_at(&p, "a", path);
    free(path);
    free(way);
    tkl_files_close(files);
}

/* The other files arrive, and the call says which one did not. */
static void a_directory_in_the_way_of_one_file_is_not_in_the_way_of_others(void **state)
{
    fixture *f = *state;
    for (int large = 0; large < 2; large++) {
        transfer p;
        tkl_files_totals totals;
        transfer_make(&p);
        char *blocked = transfer_file(&p, "src/f", large ? MB : 100, 3),
             *big = transfer_file(&p, "src/g", MB, 4), *small = transfer_file(&p, "src/h", 10, 5),
             *way = transfer_path(&p, "a/f"), *dir = transfer_path(&p, "a");
        assert_int_equal(mkdir(way, 0700), 0);
        tkl_files *files = open_on(f->client, (tkl_files_options){0});
        assert_ok(transfer_send(files, "a", blocked, NULL));
        assert_ok(transfer_send(files, "a", big, NULL));
        assert_ok(transfer_send(files, "a", small, NULL));
        tkl_files_receive_options options = {.dir = dir, .exit_when_done = true};
        assert_code(tkl_files_receive(files, tkl_str("a"), &options, -1, &totals), TKL_EIO);
        assert_contains(tkl_errmsg(), "a/f");
        assert_int_equal(totals.files, 2);
        assert_int_equal(totals.failed, 1);
        expect_at(&p, "a", big);
        expect_at(&p, "a", small);
        assert_int_equal(rmdir(way), 0);
        assert_ok(transfer_receive(files, &p, "a", &totals));
        assert_int_equal(totals.files, 1);
        expect_at(&p, "a", blocked);
        expect_clean(f->server);
        free(blocked);
        free(big);
        free(small);
        free(way);
        free(dir);
        tkl_files_close(files);
    }
}

/* ---- Forgotten ----------------------------------------------------------- */

static int flushed;

static void flush_once(const tkl_files_progress *progress, void *arg)
{
    if (progress->file_done > 0 && flushed++ == 0)
        server_do(arg, "FLUSHALL");
}

static void chunks_of_a_forgotten_file_do_not_stay(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", 8 * MB, 1);
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    tkl_files_send_options options = {.on_progress = flush_once, .arg = f->server};
    assert_ok(transfer_send(files, "a", path, &options));
    assert_true(flushed > 0);
    assert_ok(transfer_receive(files, &p, "a", NULL));
    expect_at(&p, "a", path);
    expect_clean(f->server);
    free(path);
    tkl_files_close(files);
}

static void receivers_go_on_when_the_turns_are_forgotten(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", 9, 1);
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    for (int i = 0; i < 3; i++) {
        assert_ok(transfer_send(files, "a", path, NULL));
        assert_ok(transfer_receive(files, &p, "a", NULL));
    }
    server_do(f->server, "DEL tackle:files:{logs}");
    assert_ok(transfer_send(files, "a", path, NULL));
    assert_ok(transfer_receive(files, &p, "a", NULL));
    free(path);
    tkl_files_close(files);
}

/* ---- Interrupted --------------------------------------------------------- */

static void interrupt_soon(void *arg, int index)
{
    (void)index;
    test_sleep_ms(100);
    tkl_interrupt(arg);
}

static void waiting_ends_when_it_is_interrupted(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", MB, 3), *dir = transfer_path(&p, "a/");
    tkl_files *files = open_on(f->client, (tkl_files_options){.max_bytes = 256 * KB});
    crew *threads = crew_start(1, interrupt_soon, f->client);
    assert_code(transfer_send(files, "a", path, NULL), TKL_EINTR);
    crew_join(threads);
    tkl_resume(f->client);
    threads = crew_start(1, interrupt_soon, f->client);
    tkl_files_receive_options options = {.dir = dir};
    assert_code(tkl_files_receive(files, tkl_str("b"), &options, -1, NULL), TKL_EINTR);
    crew_join(threads);
    tkl_resume(f->client);
    free(path);
    free(dir);
    tkl_files_close(files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_killed_sender_goes_on_where_it_was),
        TEST(a_source_that_changed_after_the_kill_begins_afresh),
        TEST(a_receiver_killed_again_and_again_ends_with_the_right_bytes),
        TEST(on_file_comes_again_after_a_crash),
        TEST(a_file_that_is_in_place_is_not_fetched_again),
        TEST(what_a_killed_sender_has_reserved_is_taken_back),
        TEST(a_sender_that_never_comes_back_is_given_up),
        TEST(what_nobody_fetches_is_given_up_in_time),
        TEST(a_file_survives_restarts_of_the_server),
        TEST(a_server_that_forgot_everything_gets_it_again),
        TEST(a_full_server_lets_receivers_make_room),
        TEST(a_file_that_changes_meanwhile_reaches_nobody),
        TEST(a_file_that_keeps_its_size_and_time_reaches_nobody),
        TEST(a_spoiled_file_is_reported_and_not_put_in_place),
        TEST(a_sender_that_waits_hears_of_the_trouble),
        TEST(a_sender_that_waits_hears_of_it_among_much_other_trouble),
        TEST(a_full_disk_loses_nothing),
        TEST(small_files_before_a_full_disk_come_once),
        TEST(a_directory_in_the_way_is_an_error_that_loses_nothing),
        TEST(a_directory_in_the_way_of_one_file_is_not_in_the_way_of_others),
        TEST(chunks_of_a_forgotten_file_do_not_stay),
        TEST(receivers_go_on_when_the_turns_are_forgotten),
        TEST(waiting_ends_when_it_is_interrupted),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
