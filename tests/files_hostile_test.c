/* SPDX-License-Identifier: MIT
 *
 * Files among hostile or clumsy neighbours: obstacles in the directory, keys that another program
 * has changed, odd names, forked children, tiny limits.
 */
#include <tackle/files.h>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/corrupt.h"
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

static void expect_at(const transfer *p, const char *receiver, const char *source)
{
    char *name = test_format("%s%s", receiver, strrchr(source, '/')),
         *path = transfer_path(p, name);
    if (!transfer_same(path, source))
        fail_msg("%s differs from %s", path, source);
    free(name);
    free(path);
}

/* ---- Obstacles ----------------------------------------------------------- */

static void interrupt(const tkl_files_progress *progress, void *client)
{
    if (progress->file_done > 0)
        tkl_interrupt(client);
}

/* The name of the partial file, malloc'ed. */
static char *partial_name(const char *dir)
{
    char *name = NULL;
    DIR *list = opendir(dir);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list));)
        if (strstr(entry->d_name, ".part"))
            name = strdup(entry->d_name);
    closedir(list);
    assert_non_null(name);
    return name;
}

static void put_link(const char *path)
{
    assert_int_equal(symlink("/etc/hostname", path), 0);
}

static void put_directory(const char *path)
{
    assert_int_equal(mkdir(path, 0700), 0);
}

static void put_fifo(const char *path)
{
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void what_is_in_the_way_of_a_partial_file_is_named(void **state)
{
    static void (*const put[])(const char *path) = {put_link, put_directory, put_fifo};
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", 8 * MB, 3), *dir = transfer_path(&p, "a/");
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    assert_ok(transfer_send(files, "a,b", path, NULL));
    tkl_files_receive_options options = {.dir = dir, .on_progress = interrupt, .arg = f->client};
    assert_code(tkl_files_receive(files, tkl_str("a"), &options, 0, NULL), TKL_EINTR);
    tkl_resume(f->client);
    char *name = partial_name(dir), *way = test_format("%s%s", dir, name);
    for (size_t i = 0; i < sizeof put / sizeof *put; i++) {
        assert_int_equal(remove(way), 0);
        put[i](way);
        assert_code(transfer_receive(files, &p, "a", NULL), TKL_EIO);
        assert_contains(tkl_errmsg(), name);
    }
    assert_int_equal(remove(way), 0);
    assert_ok(transfer_receive(files, &p, "a", NULL));
    expect_at(&p, "a", path);
    free(name);
    free(way);
    free(path);
    free(dir);
    tkl_files_close(files);
}

/* ---- Names --------------------------------------------------------------- */

static void names_hold_any_bytes(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *small = transfer_file(&p, "src/s", 10, 1), *big = transfer_file(&p, "src/b", 100 * KB, 2);
    const tkl_bytes channel = TKL_LIT("ch\0an\nnel"), to[] = {TKL_LIT("a\0b"), TKL_LIT("a")};
    const tkl_files_source sources[] = {{.path = small, .name = TKL_LIT("s\0x")},
                                        {.path = big, .name = TKL_LIT("\0")}};
    char *dir = transfer_path(&p, "r/"), *one = transfer_path(&p, "r/s%00x"),
         *two = transfer_path(&p, "r/%00");
    tkl_files *files;
    tkl_files_info *info;
    assert_ok(tkl_files_open(f->client, channel, NULL, &files));
    assert_ok(tkl_files_send(files, to, 2, sources, 2, NULL, NULL));
    tkl_files_receive_options options = {.dir = dir};
    assert_ok(tkl_files_receive(files, to[0], &options, 0, NULL));
    assert_true(transfer_same(one, small));
    assert_true(transfer_same(two, big));
    assert_ok(tkl_files_status(files, &info));
    assert_int_equal(info->receiver_count, 2);
    assert_int_equal(info->receivers[1].name.len, 3);
    assert_int_equal(info->receivers[0].files, 2);
    assert_int_equal(info->receivers[1].files, 0);
    tkl_files_info_free(info);
    assert_ok(tkl_files_drop_receiver(files, to[0], NULL));
    assert_ok(tkl_files_drop_receiver(files, to[1], NULL));
    free(small);
    free(big);
    free(dir);
    free(one);
    free(two);
    tkl_files_close(files);
}

/* ---- Many receivers ------------------------------------------------------ */

static void a_thousand_receivers_are_served_in_short_scripts(void **state)
{
    fixture *f = *state;
    static char names[TKL_FILES_RECEIVERS_MAX][8];
    static tkl_bytes to[TKL_FILES_RECEIVERS_MAX];
    tkl_files_info *info;
    tkl_files_totals totals;
    transfer p;
    transfer_make(&p);
    char *small = transfer_file(&p, "src/s", 10, 1), *big = transfer_file(&p, "src/b", MB, 2);
    const tkl_files_source sources[] = {{.path = small},
                                        {.path = small, .name = TKL_LIT("t")},
                                        {.path = small, .name = TKL_LIT("u")},
                                        {.path = big}};
    for (int i = 0; i < TKL_FILES_RECEIVERS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "r%d", i);
        to[i] = tkl_str(names[i]);
    }
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    assert_ok(tkl_files_send(files, to, TKL_FILES_RECEIVERS_MAX, sources, 4, NULL, NULL));
    assert_ok(tkl_files_status(files, &info));
    assert_int_equal(info->count, 4);
    assert_int_equal(info->files[2].waiting_count, TKL_FILES_RECEIVERS_MAX);
    assert_int_equal(info->receiver_count, TKL_FILES_RECEIVERS_MAX);
    for (size_t i = 0; i < info->receiver_count; i++)
        assert_int_equal(info->receivers[i].files, 4);
    tkl_files_info_free(info);
    assert_ok(transfer_receive(files, &p, "r7", &totals));
    assert_int_equal(totals.files, 4);
    free(small);
    free(big);
    tkl_files_close(files);
}

/* ---- Children ------------------------------------------------------------ */

typedef struct inherited {
    tkl_files *files;
    tkl_client *client;
    const transfer *p;
    const char *path;
} inherited;

static int use_in_child(void *arg)
{
    inherited *in = arg;
    if (transfer_send(in->files, "b", in->path, NULL) != TKL_OK ||
        transfer_receive(in->files, in->p, "b", NULL) != TKL_OK)
        return 1;
    tkl_files_close(in->files);
    tkl_close(in->client);
    return 0;
}

static void a_child_may_use_and_close_what_it_inherited(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", MB, 3), *dir = transfer_path(&p, "b/");
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    assert_ok(transfer_send(files, "a", path, NULL));
    inherited in = {files, f->client, &p, path};
    for (int i = 0; i < 3; i++)
        assert_int_equal(process_wait(process_fork(use_in_child, &in)), 0);
    assert_ok(transfer_receive(files, &p, "a", NULL));
    expect_at(&p, "a", path);
    expect_at(&p, "b", path);
    free(path);
    free(dir);
    tkl_files_close(files);
}

/* ---- Tiny limits --------------------------------------------------------- */

typedef struct job {
    const char *url, *path;
    tkl_files_options options;
} job;

static int send_in_child(void *arg)
{
    const job *j = arg;
    tkl_client *client;
    tkl_files *files;
    if (tkl_open(j->url, NULL, &client) != TKL_OK ||
        tkl_files_open(client, tkl_str("logs"), &j->options, &files) != TKL_OK)
        return 99;
    return transfer_send(files, "a", j->path, NULL) == TKL_OK ? 0 : 1;
}

static int64_t bytes_there(server *s)
{
    return server_ask_int(s, "HGET tackle:files:{logs} held") -
           KB * server_ask_int(s, "ZCARD tackle:files:{logs}:files");
}

/* Sends a part of a file, which its receiver takes. */
static void leave_interrupted(fixture *f, tkl_files *files, const transfer *p, const char *name)
{
    char *path = transfer_file(p, name, 100 * KB, 1);
    job j = {f->server->url, path, {.max_bytes = 4 * KB, .lease_ms = 100}};
    pid_t child = process_fork(send_in_child, &j);
    eventually(bytes_there(f->server) > 0, 10000);
    kill(child, SIGKILL);
    process_wait(child);
    eventually(transfer_receive(files, p, "a", NULL) >= 0 && bytes_there(f->server) == 0, 10000);
    free(path);
}

static void interrupted_files_keep_nobody_waiting(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    tkl_files *files = open_on(f->client, (tkl_files_options){.max_bytes = 4 * KB});
    static const char *const names[] = {"src/x", "src/y", "src/z"};
    for (int i = 0; i < 3; i++)
        leave_interrupted(f, files, &p, names[i]);
    char *empty = transfer_file(&p, "src/empty", 0, 0);
    assert_ok(transfer_send(files, "a", empty, NULL));
    (void)!transfer_receive(files, &p, "a", NULL);
    expect_at(&p, "a", empty);
    free(empty);
    char *path = transfer_file(&p, "src/f", 20 * KB, 9);
    job j = {f->server->url, path, {.max_bytes = 4 * KB}};
    pid_t child = process_fork(send_in_child, &j);
    eventually(bytes_there(f->server) > 0, 5000);
    kill(child, SIGKILL);
    process_wait(child);
    free(path);
    tkl_files_close(files);
}

/* ---- Damaged keys -------------------------------------------------------- */

static void damaged_keys_end_in_errors_and_not_in_crashes(void **state)
{
    fixture *f = *state;
    tkl_options quick = {.timeout_ms = 2000};
    tkl_client *client;
    assert_ok(tkl_open(f->server->url, &quick, &client));
    transfer p;
    transfer_make(&p);
    char *big = transfer_file(&p, "src/big", MB, 1), *small = transfer_file(&p, "src/small", 9, 1);
    for (uint64_t seed = 1; seed <= 25; seed++) {
        tkl_files *files = open_on(client, (tkl_files_options){0});
        tkl_files_info *info;
        server_do(f->server, "FLUSHALL");
        assert_ok(transfer_send(files, "a", big, NULL));
        assert_ok(transfer_send(files, "a,b", small, NULL));
        corrupt_keys(f->server, seed);
        (void)!tkl_files_status(files, &info);
        tkl_files_info_free(info);
        (void)!transfer_receive(files, &p, "a", NULL);
        (void)!tkl_files_add_receiver(files, tkl_str("c"), NULL);
        (void)!tkl_files_drop_receiver(files, tkl_str("b"), NULL);
        tkl_files_close(files);
    }
    free(big);
    free(small);
    tkl_close(client);
}

/* Every key of a channel with a large file, a small one, and one whose sender was interrupted. */
static void fill(fixture *f, tkl_files *files, const transfer *p, char *const paths[3])
{
    server_do(f->server, "FLUSHALL");
    tkl_files_send_options options = {.on_progress = interrupt, .arg = f->client, .wait_ms = 1};
    assert_ok(transfer_receive(files, p, "a", NULL) == TKL_EMPTY ? TKL_OK : TKL_EBUG);
    assert_code(transfer_send(files, "a,b", paths[0], &options), TKL_EINTR);
    tkl_resume(f->client);
    assert_ok(transfer_send(files, "a,b", paths[1], NULL));
    options.on_progress = NULL;
    assert_code(transfer_send(files, "a,b", paths[2], &options), TKL_BUSY);
    assert_ok(transfer_send(files, "dropped", paths[2], NULL));
    assert_ok(tkl_files_drop_receiver(files, tkl_str("dropped"), NULL));
}

/* Checks that damage is reported as damage, unless the damaged key was not needed. */
static void expect_told(int rc, const char *key, const char *type, const char *what)
{
    if (rc < 0 && rc != TKL_EDAMAGED && rc != TKL_ETYPE && rc != TKL_EPROTO)
        fail_msg("%s as %s: %s ends with %s (%s)", key, type, what, tkl_codename(rc), tkl_errmsg());
}

static void use_damaged(tkl_files *files, const transfer *p, char *const paths[3], const char *key,
                        const char *type)
{
    tkl_files_info *info;
    int64_t began = test_now_ms();
    expect_told(tkl_files_status(files, &info), key, type, "status");
    tkl_files_info_free(info);
    expect_told(tkl_files_add_receiver(files, tkl_str("c"), NULL), key, type, "add");
    for (int i = 0; i < 3; i++)
        expect_told(transfer_send(files, "a,b", paths[i], NULL), key, type, "send");
    expect_told(transfer_receive(files, p, "a", NULL), key, type, "receive");
    expect_told(tkl_files_drop_receiver(files, tkl_str("b"), NULL), key, type, "drop");
    if (test_now_ms() - began > 5000)
        fail_msg("%s as %s keeps us for %d ms", key, type, (int)(test_now_ms() - began));
}

static const char *const channel_keys[] = {"",         ":files",     ":ends",       ":bytes",
                                           ":resume",  ":receivers", ":holders",    ":trouble",
                                           ":sent:%s", ":file:%s",   ":file:%s:at", ":file:%s:0"};

enum { KEYS = sizeof channel_keys / sizeof *channel_keys, FILES = 3 };

/* The key of the channel, or of its file number `file`, malloc'ed; NULL: there is none. */
static char *name_key(fixture *f, int key, int file)
{
    const char *base = "tackle:files:{logs}", *part = channel_keys[key];
    char *found = strstr(part, "sent")
                      ? server_ask(f->server, "KEYS %s:sent:*", base)
                      : server_ask(f->server, "ZRANGE %s:files %d %d", base, file, file);
    found[strcspn(found, "\n")] = '\0';
    const char *id = strrchr(found, ':') ? strrchr(found, ':') + 1 : found;
    const char *ending = strrchr(part, '%') ? strrchr(part, '%') + 2 : "";
    char *name = test_format("%s%.*s%s%s", base, (int)strcspn(part, "%"), part,
                             strchr(part, '%') ? id : "", ending);
    bool there = server_ask_int(f->server, "EXISTS %s", name) == 1;
    if (!there)
        free(name);
    free(found);
    return there ? name : NULL;
}

static void every_key_of_every_other_type_is_reported(void **state)
{
    static const char *const makers[] = {"SET %s junk", "LPUSH %s junk",  "SADD %s junk",
                                         "HSET %s f 1", "ZADD %s 1 junk", "XADD %s * f junk"};
    enum { MAKERS = sizeof makers / sizeof *makers };
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    char *paths[] = {transfer_file(&p, "src/open", 3 * MB, 1), transfer_file(&p, "src/big", MB, 2),
                     transfer_file(&p, "src/small", 9, 3)};
    tkl_files *files = open_on(f->client, (tkl_files_options){0});
    int tried = 0;
    for (int i = 0; i < KEYS * FILES * MAKERS; i++) {
        int key = i / FILES / MAKERS, file = i / MAKERS % FILES;
        if (file > 0 && !strstr(channel_keys[key], ":file:"))
            continue;
        fill(f, files, &p, paths);
        char *name = name_key(f, key, file);
        if (name) {
            server_do(f->server, "DEL %s", name);
            server_do(f->server, makers[i % MAKERS], name);
            use_damaged(files, &p, paths, name, makers[i % MAKERS]);
            tried++;
        }
        free(name);
    }
    assert_int_equal(tried, (KEYS - 3 + 3 * FILES - 1) * MAKERS); /* the small file has no chunk */
    for (int i = 0; i < FILES; i++)
        free(paths[i]);
    tkl_files_close(files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_in_the_way_of_a_partial_file_is_named),
        TEST(names_hold_any_bytes),
        TEST(a_thousand_receivers_are_served_in_short_scripts),
        TEST(a_child_may_use_and_close_what_it_inherited),
        TEST(interrupted_files_keep_nobody_waiting),
        TEST(damaged_keys_end_in_errors_and_not_in_crashes),
        TEST(every_key_of_every_other_type_is_reported),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
