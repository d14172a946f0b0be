/* SPDX-License-Identifier: MIT
 *
 * Directories sent as a whole, the end that a sender marks, and reading what was received.
 */
#include <tackle/files.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "support/fixture.h"
#include "support/transfer.h"

#define KB 1024
#define MB (1024 * 1024)

static tkl_files *open_channel(fixture *f)
{
    tkl_files *files;
    assert_ok(tkl_files_open(f->client, tkl_str("logs"), NULL, &files));
    return files;
}

static void make_link(const transfer *p, const char *name, const char *target)
{
    char *path = transfer_path(p, name);
    assert_int_equal(symlink(target, path), 0);
    free(path);
}

static void make_dir(const transfer *p, const char *name, mode_t mode)
{
    char *path = transfer_path(p, name);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, mode), 0);
    free(path);
}

static struct stat stat_of(const transfer *p, const char *name)
{
    struct stat st;
    char *path = transfer_path(p, name);
    if (lstat(path, &st) != 0)
        fail_msg("%s is missing", path);
    free(path);
    return st;
}

static bool is_there(const transfer *p, const char *name)
{
    struct stat st;
    char *path = transfer_path(p, name);
    bool there = lstat(path, &st) == 0;
    free(path);
    return there;
}

static void expect_same(const transfer *p, const char *name)
{
    char *sent = test_format("src/%s", name), *got = test_format("a/%s", name);
    char *source = transfer_path(p, sent), *target = transfer_path(p, got);
    if (!transfer_same(source, target))
        fail_msg("%s differs", target);
    struct stat x = stat_of(p, sent), y = stat_of(p, got);
    assert_int_equal(x.st_mode, y.st_mode);
    assert_int_equal(x.st_mtim.tv_sec, y.st_mtim.tv_sec);
    assert_int_equal(x.st_mtim.tv_nsec, y.st_mtim.tv_nsec);
    free(sent);
    free(got);
    free(source);
    free(target);
}

typedef struct outcomes {
    int files, directories, links, failed;
    char failures[4096];
} outcomes;

static void count_outcome(const tkl_files_outcome *outcome, void *arg)
{
    outcomes *o = arg;
    if (outcome->code != TKL_OK) {
        size_t len = strlen(o->failures);
        snprintf(o->failures + len, sizeof o->failures - len, TKL_FMT ": %s\n",
                 TKL_ARG(outcome->name), outcome->message);
        o->failed++;
        return;
    }
    o->files += outcome->type == TKL_FILES_TYPE_FILE;
    o->directories += outcome->type == TKL_FILES_TYPE_DIRECTORY;
    o->links += outcome->type == TKL_FILES_TYPE_LINK;
}

static int send_counted(tkl_files *files, const transfer *p, const char *name, outcomes *o)
{
    tkl_files_send_options options = {.on_file = count_outcome, .arg = o};
    char *path = transfer_path(p, name);
    *o = (outcomes){0};
    int rc = transfer_send(files, "a", path, &options);
    free(path);
    return rc;
}

static int receive_counted(tkl_files *files, const transfer *p, outcomes *o)
{
    char *dir = transfer_path(p, "a/");
    tkl_files_receive_options options = {
        .dir = dir, .exit_when_done = true, .on_file = count_outcome, .arg = o};
    *o = (outcomes){0};
    int rc = tkl_files_receive(files, tkl_str("a"), &options, 20000, NULL);
    free(dir);
    return rc;
}

/* ---- The whole tree ------------------------------------------------------ */

static void a_directory_arrives_as_it_is(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    transfer p;
    outcomes sent, got;
    transfer_make(&p);
    free(transfer_file(&p, "src/tree/small", 100, 1));
    free(transfer_file(&p, "src/tree/nothing", 0, 1));
    free(transfer_file(&p, "src/tree/sub/big", MB, 2));
    free(transfer_file(&p, "src/tree/sub/with\nnewline and %2F", 5, 3));
    free(transfer_file(&p, "src/tree/sub/.tackle-not-ours", 5, 3));
    make_dir(&p, "src/tree/empty", 0750);
    make_dir(&p, "src/tree/closed", 0500);
    make_link(&p, "src/tree/sub/link", "../small");
    make_link(&p, "src/tree/dangling", "sub/nowhere");
    mode_t before = umask(022);
    assert_ok(send_counted(files, &p, "src/tree/", &sent));
    assert_ok(receive_counted(files, &p, &got));
    umask(before);
    assert_int_equal(got.files, 5);
    assert_int_equal(got.directories, 4);
    assert_int_equal(got.links, 2);
    assert_memory_equal(&sent, &got, offsetof(outcomes, failures));
    expect_same(&p, "tree/small");
    expect_same(&p, "tree/nothing");
    expect_same(&p, "tree/sub/big");
    expect_same(&p, "tree/sub/with\nnewline and %2F");
    expect_same(&p, "tree/sub/.tackle-not-ours");
    assert_int_equal(stat_of(&p, "a/tree/empty").st_mode & 0777, 0750);
    assert_int_equal(stat_of(&p, "a/tree/closed").st_mode & 0777, 0700);
    struct stat x = stat_of(&p, "src/tree/sub"), y = stat_of(&p, "a/tree/sub");
    assert_int_equal(x.st_mtim.tv_nsec, y.st_mtim.tv_nsec);
    char target[64] = "", *link = transfer_path(&p, "a/tree/sub/link");
    assert_int_equal(readlink(link, target, sizeof target), 8);
    assert_string_equal(target, "../small");
    free(link);
    char *dir = transfer_path(&p, "a/");
    assert_int_equal(transfer_count(dir), 1); /* no partial files are left */
    free(dir);
    tkl_files_close(files);
}

static void what_may_lead_out_is_refused_and_the_rest_is_sent(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    transfer p;
    outcomes sent, got;
    transfer_make(&p);
    free(transfer_file(&p, "src/tree/sub/good", 10, 1));
    make_link(&p, "src/tree/absolute", "/etc/passwd");
    make_link(&p, "src/tree/up", "..");
    make_link(&p, "src/tree/sub/up", "../../x");
    make_link(&p, "src/tree/sub/hidden", "../sub/../good"); /* a part may be a link itself */
    make_link(&p, "src/tree/sub/fine", "../sub/./good");
    char *fifo = transfer_path(&p, "src/tree/fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    free(fifo);
    assert_code(send_counted(files, &p, "src/tree", &sent), TKL_EIO);
    assert_int_equal(sent.failed, 5);
    assert_contains(sent.failures, "tree/fifo: it is not a file, a directory or a symbolic link");
    assert_contains(sent.failures, "tree/sub/hidden: it is a symbolic link that may lead out");
    assert_ok(receive_counted(files, &p, &got));
    expect_same(&p, "tree/sub/good");
    assert_true(is_there(&p, "a/tree/sub/fine"));
    assert_false(is_there(&p, "a/tree/sub/hidden"));
    assert_false(is_there(&p, "a/tree/absolute"));
    tkl_files_close(files);
}

static void names_of_directories_are_one_part(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    transfer p;
    outcomes got;
    transfer_make(&p);
    free(transfer_file(&p, "src/tree/file", 10, 1));
    char *path = transfer_path(&p, "src/tree"), *dot = test_format("%s/.", path);
    const tkl_bytes to = TKL_LIT("a");
    static const char *const bad[] = {"x/y", "..", ".", "/", ".tackle-x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tkl_files_source source = {.path = path, .name = tkl_str(bad[i])};
        assert_code(tkl_files_send(files, &to, 1, &source, 1, NULL, NULL), TKL_EINVAL);
    }
    tkl_files_source twice[] = {{.path = path}, {.path = path, .name = TKL_LIT("other")}};
    assert_ok(tkl_files_send(files, &to, 1, twice, 2, NULL, NULL));
    assert_ok(receive_counted(files, &p, &got));
    expect_same(&p, "tree/file");
    assert_true(is_there(&p, "a/other/file"));
    assert_ok(transfer_send(files, "a", dot, NULL)); /* "." has the name of where it leads */
    assert_ok(receive_counted(files, &p, &got));
    assert_int_equal(got.files, 1);
    free(path);
    free(dot);
    tkl_files_close(files);
}

/* ---- A hostile sender ---------------------------------------------------- */

/* Changes the name, the kind or the content of the only file on the channel. */
static void tamper_with(fixture *f, const char *field, const char *value)
{
    char *key = server_ask(f->server, "KEYS *:file:????????????????????????????????");
    key[strcspn(key, "\r\n")] = '\0';
    server_do(f->server, "HSET %s %s %s", key, field, value);
    free(key);
}

static void a_receiver_trusts_no_path(void **state)
{
    static const char *const names[] = {"../x", "/tmp/x", "t/../../x", "t//x", "t/.", "t/x/", ".."};
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    transfer p;
    outcomes got;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/file", 10, 1), *big = transfer_file(&p, "src/big", MB, 1);
    for (size_t i = 0; i < 2 * (sizeof names / sizeof *names); i++) {
        assert_ok(transfer_send(files, "a", i % 2 ? big : path, NULL));
        tamper_with(f, "name", names[i / 2]);
        tamper_with(f, "mode", "98724"); /* the last file of its call, a regular file, 0644 */
        assert_code(receive_counted(files, &p, &got), TKL_EPROTO);
        assert_contains(got.failures, "not a path below the directory");
    }
    assert_false(is_there(&p, "x"));
    assert_int_equal(server_ask_int(f->server, "HGET tackle:files:{logs} held"), 0);
    assert_ok(transfer_send(files, "a", path, NULL));
    tamper_with(f, "mode", "70052"); /* S_IFIFO, 0644 */
    assert_code(receive_counted(files, &p, &got), TKL_EPROTO);
    char *target = transfer_text(&p, "src/target", tkl_str("../../etc"));
    assert_ok(transfer_send(files, "a", target, NULL));
    tamper_with(f, "name", "t/link");
    tamper_with(f, "mode", "107007"); /* S_IFLNK */
    assert_code(receive_counted(files, &p, &got), TKL_EPROTO);
    assert_false(is_there(&p, "a/t"));
    free(target);
    free(path);
    free(big);
    tkl_files_close(files);
}

static void links_in_the_way_are_not_followed(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    transfer p;
    outcomes got;
    transfer_make(&p);
    free(transfer_file(&p, "src/tree/file", 10, 1));
    free(transfer_file(&p, "src/tree/sub/file", 10, 1));
    make_dir(&p, "outside", 0700);
    free(transfer_path(&p, "a/tree/x"));
    make_link(&p, "a/tree/sub", "../../outside");
    make_link(&p, "a/tree/file", "../../outside/file");
    char *path = transfer_path(&p, "src/tree");
    assert_ok(transfer_send(files, "a", path, NULL));
    assert_code(receive_counted(files, &p, &got), TKL_EIO);
    assert_int_equal(got.failed, 2); /* tree/sub/file and tree/sub wait for the next call */
    char *outside = transfer_path(&p, "outside/");
    assert_int_equal(transfer_count(outside), 0);
    expect_same(&p, "tree/file"); /* the link was replaced */
    char *link = transfer_path(&p, "a/tree/sub");
    assert_int_equal(unlink(link), 0);
    assert_ok(receive_counted(files, &p, &got));
    expect_same(&p, "tree/sub/file");
    free(link);
    free(outside);
    free(path);
    tkl_files_close(files);
}

/* ---- Interrupted --------------------------------------------------------- */

enum { MANY = 300 };

static void make_many(const transfer *p)
{
    for (int i = 0; i < MANY; i++) {
        char *name = test_format("src/tree/%d/%d", i % 7, i);
        free(transfer_file(p, name, i % 50 == 0 ? 300 * KB : (size_t)i, (unsigned)i));
        free(name);
    }
}

static void die_after(const tkl_files_outcome *outcome, void *arg)
{
    int *left = arg;
    if (outcome->code == TKL_OK && --*left == 0)
        raise(SIGKILL);
}

/* Runs a call in a child that is killed after `count` files. */
static void killed_after(fixture *f, int count, const char *send, const char *dir)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tkl_files *files = open_channel(f);
        tkl_files_send_options sending = {.on_file = die_after, .arg = &count};
        tkl_files_receive_options receiving = {.dir = dir, .on_file = die_after, .arg = &count};
        if (send)
            (void)!transfer_send(files, "a", send, &sending);
        else
            (void)!tkl_files_receive(files, tkl_str("a"), &receiving, 20000, NULL);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void both_sides_go_on_after_a_kill(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    transfer p;
    outcomes sent, got;
    transfer_make(&p);
    make_many(&p);
    char *path = transfer_path(&p, "src/tree"), *dir = transfer_path(&p, "a/");
    killed_after(f, 100, path, NULL);
    killed_after(f, 20, NULL, dir);
    killed_after(f, 250, path, NULL);
    killed_after(f, 50, NULL, dir);
    assert_ok(send_counted(files, &p, "src/tree", &sent));
    assert_int_equal(sent.files, MANY);
    assert_ok(receive_counted(files, &p, &got));
    assert_in_range(got.files, 1, MANY);
    for (int i = 0; i < MANY; i++) {
        char *name = test_format("tree/%d/%d", i % 7, i);
        expect_same(&p, name);
        free(name);
    }
    assert_int_equal(transfer_count(dir), 1);
    free(path);
    free(dir);
    tkl_files_close(files);
}

/* ---- The end ------------------------------------------------------------- */

static void a_receiver_waits_until_no_more_will_come(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    const tkl_bytes to = TKL_LIT("a");
    const tkl_files_send_options more = {.more = true};
    transfer p;
    outcomes got;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/file", 10, 1), *dir = transfer_path(&p, "a/");
    tkl_files_receive_options options = {.dir = dir, .exit_when_done = true};
    assert_ok(transfer_send(files, "a", path, &more));
    tkl_files_totals totals;
    int64_t before = test_now_ms();
    assert_ok(tkl_files_receive(files, to, &options, 300, &totals));
    assert_int_equal(totals.files, 1);
    assert_in_range(test_now_ms() - before, 290, INT64_MAX); /* it waited for more */
    assert_ok(transfer_send(files, "a", path, &more));
    assert_ok(tkl_files_send(files, &to, 1, NULL, 0, NULL, NULL));
    assert_ok(receive_counted(files, &p, &got));
    assert_int_equal(got.files, 1);
    assert_int_equal(got.failed, 0);
    assert_ok(tkl_files_send(files, &to, 1, NULL, 0, &more, NULL)); /* says nothing */
    assert_code(tkl_files_receive(files, to, &options, 50, NULL), TKL_EMPTY);
    assert_ok(tkl_files_send(files, &to, 1, NULL, 0, NULL, NULL)); /* nothing but the end */
    assert_ok(tkl_files_receive(files, to, &options, -1, &totals));
    assert_int_equal(totals.files, 0);
    assert_code(tkl_files_receive(files, to, &options, 50, NULL), TKL_EMPTY); /* it was used up */
    assert_int_equal(server_ask_int(f->server, "HGET tackle:files:{logs} held"), 0);
    free(path);
    free(dir);
    tkl_files_close(files);
}

static void the_end_comes_even_if_the_last_file_fails(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    const tkl_bytes to = TKL_LIT("a");
    transfer p;
    outcomes got;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/file", 10, 1);
    tkl_files_source sources[] = {{.path = path}, {.path = "/nowhere"}};
    assert_code(tkl_files_send(files, &to, 1, sources, 2, NULL, NULL), TKL_EIO);
    assert_ok(receive_counted(files, &p, &got));
    assert_int_equal(got.files, 1);
    char *dir = transfer_path(&p, "a/");
    assert_ok(tkl_files_send(files, &to, 1, NULL, 0, NULL, NULL));
    tkl_files_receive_options keeps = {.dir = dir}; /* to this receiver it means nothing */
    assert_code(tkl_files_receive(files, to, &keeps, 0, NULL), TKL_EMPTY);
    assert_int_equal(server_ask_int(f->server, "HGET tackle:files:{logs} held"), 0);
    free(dir);
    free(path);
    tkl_files_close(files);
}

/* ---- Readers ------------------------------------------------------------- */

static void expect_read(const char *dir, const char *name, const char *source)
{
    tkl_files_reader *reader;
    size_t size, at = 0, len;
    char buffer[1000], *want = transfer_read(source, &size);
    assert_ok(tkl_files_reader_open(dir, tkl_str(name), NULL, &reader));
    int rc;
    while ((rc = tkl_files_reader_read(reader, buffer, sizeof buffer, &len)) == TKL_OK) {
        assert_true(at + len <= size);
        assert_memory_equal(buffer, want + at, len);
        at += len;
    }
    assert_code(rc, TKL_EMPTY);
    assert_int_equal(at, size);
    tkl_files_reader_close(reader);
    free(want);
}

static void a_received_file_is_read_like_a_stream(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    const tkl_bytes to = TKL_LIT("a");
    transfer p;
    outcomes got;
    transfer_make(&p);
    char *file = transfer_file(&p, "src/tree/sub/file", 200 * KB, 1),
         *tree = transfer_path(&p, "src/tree");
    make_link(&p, "src/tree/link", "sub/file");
    tkl_files_source sources[] = {{.path = tree}, {.path = file, .name = TKL_LIT("flat/name")}};
    assert_ok(tkl_files_send(files, &to, 1, sources, 2, NULL, NULL));
    assert_ok(receive_counted(files, &p, &got));
    char *dir = transfer_path(&p, "a/");
    tkl_files_reader *reader;
    expect_read(dir, "tree/sub/file", file);
    expect_read(dir, "flat/name", file);
    assert_code(tkl_files_reader_open(dir, tkl_str("tree/none"), NULL, &reader), TKL_NOTFOUND);
    assert_null(reader);
    assert_code(tkl_files_reader_open(dir, tkl_str("../src/tree/sub/file"), NULL, &reader),
                TKL_NOTFOUND);
    assert_code(tkl_files_reader_open(dir, tkl_str("tree/link"), NULL, &reader), TKL_EIO);
    assert_code(tkl_files_reader_open(dir, tkl_str("tree/sub"), NULL, &reader), TKL_EIO);
    assert_code(tkl_files_reader_open(dir, tkl_str(""), NULL, &reader), TKL_EINVAL);
    assert_code(tkl_files_reader_open("/nowhere", tkl_str("x"), NULL, &reader), TKL_EIO);
    tkl_files_reader_close(NULL);
    free(dir);
    free(file);
    free(tree);
    tkl_files_close(files);
}

static void a_reader_gives_lines_unpacked(void **state)
{
    (void)state;
    enum { LINES = 30000 };
    transfer p;
    transfer_make(&p);
    char *path = transfer_path(&p, "a/lines.gz"), *dir = transfer_path(&p, "a/");
    gzFile out = gzopen(path, "wb");
    for (int i = 0; i < LINES; i++)
        gzprintf(out, "line %d%s", i, i < LINES - 1 ? "\n" : "");
    gzclose(out);
    tkl_files_reader *reader;
    tkl_bytes line;
    tkl_files_reading options = {.unpack = true};
    assert_ok(tkl_files_reader_open(dir, tkl_str("lines.gz"), &options, &reader));
    for (int i = 0; i < LINES; i++) {
        char want[32];
        snprintf(want, sizeof want, "line %d", i);
        assert_ok(tkl_files_reader_line(reader, &line));
        assert_int_equal(line.len, strlen(want));
        assert_memory_equal(line.data, want, line.len);
    }
    assert_code(tkl_files_reader_line(reader, &line), TKL_EMPTY);
    tkl_files_reader_close(reader);
    assert_int_equal(truncate(path, 1000), 0);
    assert_ok(tkl_files_reader_open(dir, tkl_str("lines.gz"), &options, &reader));
    int rc;
    while ((rc = tkl_files_reader_line(reader, &line)) == TKL_OK)
        ;
    assert_code(rc, TKL_EDAMAGED);
    tkl_files_reader_close(reader);
    free(path);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_directory_arrives_as_it_is),
        TEST(what_may_lead_out_is_refused_and_the_rest_is_sent),
        TEST(names_of_directories_are_one_part),
        TEST(a_receiver_trusts_no_path),
        TEST(links_in_the_way_are_not_followed),
        TEST(both_sides_go_on_after_a_kill),
        TEST(a_receiver_waits_until_no_more_will_come),
        TEST(the_end_comes_even_if_the_last_file_fails),
        TEST(a_received_file_is_read_like_a_stream),
        TEST(a_reader_gives_lines_unpacked),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
