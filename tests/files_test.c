/* SPDX-License-Identifier: MIT
 *
 * Files through the server: contents and names that arrive, and keys that are left.
 *
 * ctest: label threads
 */
#include <tackle/files.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/permissions.h"
#include "support/transfer.h"

#define KB 1024
#define MB (1024 * 1024)

static tkl_files *open_with(fixture *f, tkl_files_options options)
{
    tkl_files *files;
    assert_ok(tkl_files_open(f->client, tkl_str("logs"), &options, &files));
    return files;
}

static tkl_files *open_channel(fixture *f)
{
    return open_with(f, (tkl_files_options){0});
}

/* Fails when more is left than what a channel keeps of itself. */
static void expect_clean(fixture *f)
{
    char *keys = server_ask(f->server, "KEYS *");
    assert_lacks(keys, ":file:");
    assert_lacks(keys, "}:files");
    assert_lacks(keys, "}:ends");
    assert_lacks(keys, "}:bytes");
    assert_lacks(keys, "}:resume");
    free(keys);
    assert_int_equal(server_ask_int(f->server, "HGET tackle:files:{logs} held"), 0);
}

static void expect_at(const transfer *p, const char *receiver, const char *name, const char *source)
{
    char *file = test_format("%s/%s", receiver, name), *path = transfer_path(p, file);
    if (!transfer_same(path, source))
        fail_msg("%s differs from %s", path, source);
    free(file);
    free(path);
}

/* ---- The heart ----------------------------------------------------------- */

static void every_size_arrives_at_every_receiver(void **state)
{
    static const size_t sizes[] = {
        0, 1, 16 * KB, 16 * KB + 1, 256 * KB - 64, 256 * KB - 63, 512 * KB - 128, 3 * MB + 17};
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    tkl_files_totals totals;
    transfer p;
    transfer_make(&p);
    enum { COUNT = sizeof sizes / sizeof *sizes };
    char *paths[COUNT];
    tkl_files_source sources[COUNT] = {0};
    int64_t bytes = 0;
    for (int i = 0; i < COUNT; i++) {
        char *name = test_format("src/file%d", i);
        paths[i] = transfer_file(&p, name, sizes[i], (unsigned)i);
        sources[i].path = paths[i];
        bytes += (int64_t)sizes[i];
        free(name);
    }
    const tkl_bytes to[] = {TKL_LIT("a"), TKL_LIT("b")};
    assert_ok(tkl_files_send(files, to, 2, sources, COUNT, NULL, &totals));
    assert_int_equal(totals.files, COUNT);
    assert_int_equal(totals.bytes, bytes);
    for (int r = 0; r < 2; r++) {
        const char *as = to[r].data;
        assert_ok(transfer_receive(files, &p, as, &totals));
        assert_int_equal(totals.files, COUNT);
        assert_int_equal(totals.bytes, bytes);
        for (int i = 0; i < COUNT; i++) {
            char *name = test_format("file%d", i);
            expect_at(&p, as, name, paths[i]);
            free(name);
        }
        char *dir = transfer_path(&p, r ? "b/" : "a/");
        assert_int_equal(transfer_count(dir), COUNT);
        free(dir);
        assert_code(transfer_receive(files, &p, as, NULL), TKL_EMPTY);
    }
    expect_clean(f);
    for (int i = 0; i < COUNT; i++)
        free(paths[i]);
    tkl_files_close(files);
}

static void permissions_and_time_are_those_of_the_source(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    transfer p;
    struct stat small, large;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/small", 10, 1), *big = transfer_file(&p, "src/big", MB, 1);
    const struct timespec time = {.tv_sec = 1000000000, .tv_nsec = 12345000};
    const struct timespec times[] = {time, time};
    assert_int_equal(chmod(path, 0700), 0);
    assert_int_equal(chmod(big, 04640), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(utimensat(AT_FDCWD, big, times, 0), 0);
    assert_ok(transfer_send(files, "a", path, NULL));
    assert_ok(transfer_send(files, "a", big, NULL));
    mode_t before = umask(027);
    assert_ok(transfer_receive(files, &p, "a", NULL));
    umask(before);
    free(path);
    free(big);
    path = transfer_path(&p, "a/small");
    big = transfer_path(&p, "a/big");
    assert_int_equal(stat(path, &small), 0);
    assert_int_equal(stat(big, &large), 0);
    assert_int_equal(small.st_mode & 07777, 0700);
    assert_int_equal(large.st_mode & 07777, 0640);
    assert_int_equal(small.st_mtim.tv_sec, 1000000000);
    assert_int_equal(large.st_mtim.tv_sec, 1000000000);
    assert_int_equal(small.st_mtim.tv_nsec, 12345000);
    assert_int_equal(large.st_mtim.tv_nsec, 12345000);
    free(path);
    free(big);
    tkl_files_close(files);
}

static void a_file_replaces_what_had_its_name(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    transfer p;
    transfer_make(&p);
    char *old = transfer_text(&p, "a/f", (tkl_bytes)TKL_LIT("before"));
    char *path = transfer_text(&p, "src/f", (tkl_bytes)TKL_LIT("after"));
    assert_ok(transfer_send(files, "a", path, NULL));
    assert_ok(transfer_receive(files, &p, "a", NULL));
    assert_true(transfer_same(old, path));
    free(old);
    free(path);
    tkl_files_close(files);
}

/* ---- Names --------------------------------------------------------------- */

static void names_never_leave_the_directory(void **state)
{
    (void)state;
    static const struct {
        tkl_bytes name;
        const char *safe;
    } cases[] = {
        {TKL_LIT("plain.txt"), "plain.txt"},
        {TKL_LIT("100% sure"), "100% sure"},
        {TKL_LIT("."), "%2E"},
        {TKL_LIT(".."), "%2E."},
        {TKL_LIT("..."), "..."},
        {TKL_LIT(".hidden"), ".hidden"},
        {TKL_LIT("../../etc/passwd"), "..%2F..%2Fetc%2Fpasswd"},
        {TKL_LIT("/etc/passwd"), "%2Fetc%2Fpasswd"},
        {TKL_LIT("a\nb\tc\x7f"), "a%0Ab%09c%7F"},
        {TKL_LIT("a\0b"), "a%00b"},
        {TKL_LIT("\xff\xfe"), "\xff\xfe"},
        {TKL_LIT(".tackle-0-1.part"), "%2Etackle-0-1.part"},
    };
    char safe[TKL_FILES_SAFE_SIZE], other[TKL_FILES_SAFE_SIZE], name[400];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tkl_files_safe_name(cases[i].name, safe);
        assert_string_equal(safe, cases[i].safe);
    }
    memset(name, 'x', sizeof name);
    tkl_files_safe_name((tkl_bytes){name, 255}, safe);
    assert_int_equal(strlen(safe), 255);
    assert_memory_equal(safe, name, 255);
    tkl_files_safe_name((tkl_bytes){name, 256}, safe);
    tkl_files_safe_name((tkl_bytes){name, 257}, other);
    assert_int_equal(strlen(safe), 255);
    assert_string_not_equal(safe, other);
    tkl_files_safe_name((tkl_bytes){NULL, 0}, safe);
    assert_int_equal(safe[0], '~');
}

static void files_with_bad_names_arrive_under_safe_ones(void **state)
{
    static const tkl_bytes names[] = {TKL_LIT(".."), TKL_LIT("../up"), TKL_LIT("a\0b\nc")};
    static const char *const safe[] = {"%2E.", "..%2Fup", "a%00b%0Ac"};
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    const tkl_bytes to[] = {TKL_LIT("a")};
    transfer p;
    transfer_make(&p);
    for (int i = 0; i < 3; i++) {
        for (int big = 0; big < 2; big++) {
            char *path = transfer_file(&p, "src/f", big ? 100 * KB : 10, (unsigned)i);
            tkl_files_source source = {.path = path, .name = names[i]};
            assert_ok(tkl_files_send(files, to, 1, &source, 1, NULL, NULL));
            assert_ok(transfer_receive(files, &p, "a", NULL));
            expect_at(&p, "a", safe[i], path);
            free(path);
        }
    }
    char *dir = transfer_path(&p, "a/");
    assert_int_equal(transfer_count(dir), 3);
    assert_int_equal(transfer_count(p.dir), 2);
    free(dir);
    tkl_files_close(files);
}

/* ---- Limits -------------------------------------------------------------- */

typedef struct receiver {
    fixture *f;
    const transfer *p;
    const char *as;
    int code;
    tkl_files_totals totals;
} receiver;

static void receive_until_done(void *arg, int index)
{
    receiver *r = (receiver *)arg + index;
    tkl_files *files = open_channel(r->f);
    char *name = test_format("%s/", r->as), *dir = transfer_path(r->p, name);
    tkl_files_receive_options options = {.dir = dir, .exit_when_done = true};
    r->code = tkl_files_receive(files, tkl_str(r->as), &options, 20000, &r->totals);
    free(name);
    free(dir);
    tkl_files_close(files);
}

static void a_file_larger_than_the_limit_passes(void **state)
{
    static const int64_t limits[] = {MB, 64 * KB, TKL_FILES_LIMIT_MIN};
    fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        tkl_files *files = open_with(f, (tkl_files_options){.max_bytes = limits[i]});
        transfer p;
        transfer_make(&p);
        receiver receivers[] = {{.f = f, .p = &p, .as = "a"}, {.f = f, .p = &p, .as = "b"}};
        char *path = transfer_file(&p, "src/f", i == 2 ? 300 * KB : 5 * MB, 7);
        server_do(f->server, "CONFIG RESETSTAT");
        crew *threads = crew_start(2, receive_until_done, receivers);
        tkl_files_send_options options = {.wait_ms = 20000};
        assert_ok(transfer_send(files, "a,b", path, &options));
        crew_join(threads);
        assert_ok(receivers[0].code);
        assert_ok(receivers[1].code);
        expect_at(&p, "a", "f", path);
        expect_at(&p, "b", "f", path);
        expect_clean(f);
        free(path);
        tkl_files_close(files);
    }
}

/* A watcher looks at the account of the channel at every moment. */
static void watch_limit(void *arg, int index)
{
    receiver *r = arg;
    (void)index;
    for (int64_t until = test_now_ms() + 20000; test_now_ms() < until;) {
        int64_t held = server_ask_int(r->f->server, "HGET tackle:files:{logs} held");
        if (held > MB + 256 * KB)
            r->code = -1;
        if (r->totals.files)
            break;
        test_sleep_ms(1);
    }
}

static void two_senders_share_one_limit(void **state)
{
    skip_under_sanitizers();
    fixture *f = *state;
    tkl_files *files = open_with(f, (tkl_files_options){.max_bytes = MB});
    transfer p;
    transfer_make(&p);
    char *one = transfer_file(&p, "src/one", 3 * MB, 1),
         *two = transfer_file(&p, "src/two", 4 * MB, 2);
    receiver receivers[] = {{.f = f, .p = &p, .as = "a"}, {.f = f, .p = &p, .as = "b"}};
    receiver watcher = {.f = f};
    crew *watching = crew_start(1, watch_limit, &watcher);
    crew *threads = crew_start(2, receive_until_done, receivers);
    pid_t child = fork();
    if (child == 0) {
        tkl_files_send_options options = {.wait_ms = 20000};
        _exit(transfer_send(files, "a,b", two, &options) == TKL_OK ? 0 : 1);
    }
    tkl_files_send_options options = {.wait_ms = 20000};
    assert_ok(transfer_send(files, "a,b", one, &options));
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    crew_join(threads);
    for (int i = 0; i < 2; i++)
        while (receivers[i].code == TKL_OK &&
               transfer_receive(files, &p, i ? "b" : "a", NULL) == TKL_OK)
            ;
    watcher.totals.files = 1;
    crew_join(watching);
    assert_int_equal(watcher.code, 0);
    for (int i = 0; i < 2; i++) {
        expect_at(&p, i ? "b" : "a", "one", one);
        expect_at(&p, i ? "b" : "a", "two", two);
    }
    expect_clean(f);
    free(one);
    free(two);
    tkl_files_close(files);
}

/* ---- Streams ------------------------------------------------------------- */

static int64_t read_numbers(char *buffer, size_t size, void *arg)
{
    int *left = arg;
    size_t len = *left > 1000 ? 1000 : (size_t)*left;
    len = len < size ? len : size;
    memset(buffer, 'n', len);
    *left -= (int)len;
    return (int64_t)len;
}

static void a_stream_of_unknown_length_arrives(void **state)
{
    static const int sizes[] = {0, 10, 256 * KB - 64, 700 * KB};
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    const tkl_bytes to[] = {TKL_LIT("a")};
    transfer p;
    transfer_make(&p);
    for (int i = 0; i < 4; i++) {
        int left = sizes[i];
        size_t size;
        tkl_files_source source = {.name = TKL_LIT("stream"), .read = read_numbers, .arg = &left};
        assert_ok(tkl_files_send(files, to, 1, &source, 1, NULL, NULL));
        assert_ok(transfer_receive(files, &p, "a", NULL));
        char *path = transfer_path(&p, "a/stream"), *got = transfer_read(path, &size);
        assert_int_equal(size, sizes[i]);
        assert_int_equal(strspn(got, "n"), sizes[i]);
        free(path);
        free(got);
    }
    expect_clean(f);
    tkl_files_close(files);
}

/* ---- Receivers ----------------------------------------------------------- */

static void a_receiver_can_be_added_while_files_are_whole(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    int64_t count;
    transfer p;
    transfer_make(&p);
    char *small = transfer_file(&p, "src/small", 100, 1),
         *big = transfer_file(&p, "src/big", MB, 2);
    assert_ok(transfer_send(files, "a", small, NULL));
    assert_ok(transfer_send(files, "a", big, NULL));
    assert_ok(tkl_files_add_receiver(files, tkl_str("late"), &count));
    assert_int_equal(count, 2);
    assert_ok(tkl_files_add_receiver(files, tkl_str("late"), &count));
    assert_int_equal(count, 0);
    assert_ok(transfer_receive(files, &p, "a", NULL));
    assert_ok(transfer_receive(files, &p, "late", NULL));
    expect_at(&p, "late", "small", small);
    expect_at(&p, "late", "big", big);
    expect_clean(f);
    free(small);
    free(big);
    tkl_files_close(files);
}

typedef struct told {
    int waits;
    char text[256];
    bool gone;
    tkl_files *drops; /* drops the receivers that it waits for, at the second report */
} told;

static void note_wait(const tkl_files_waiting *waiting, void *arg)
{
    told *t = arg;
    t->waits++;
    for (size_t i = 0; i < waiting->count; i++) {
        snprintf(t->text + strlen(t->text), sizeof t->text - strlen(t->text), TKL_FMT ",",
                 TKL_ARG(waiting->receivers[i]));
        t->gone = waiting->gone[i];
    }
    if (t->drops)
        for (size_t i = 0; i < waiting->count; i++)
            assert_ok(tkl_files_drop_receiver(t->drops, waiting->receivers[i], NULL));
}

static void a_sender_says_for_whom_it_waits_and_goes_on_when_they_are_dropped(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_with(f, (tkl_files_options){.max_bytes = 256 * KB});
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", MB, 3);
    told t = {.drops = files};
    tkl_files_send_options options = {.on_waiting = note_wait, .arg = &t};
    assert_code(transfer_send(files, "ghost", path, &options), TKL_NOTFOUND);
    assert_contains(tkl_errmsg(), "no receiver");
    assert_string_equal(t.text, "ghost,");
    assert_true(t.gone);
    assert_int_equal(t.waits, 1);
    expect_clean(f);
    free(path);
    tkl_files_close(files);
}

static void receivers_that_are_gone_too_long_are_dropped(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_with(f, (tkl_files_options){.max_bytes = 256 * KB, .lease_ms = 400});
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", MB, 3);
    receiver there = {.f = f, .p = &p, .as = "a"};
    crew *threads = crew_start(1, receive_until_done, &there);
    eventually(server_ask_int(f->server, "EXISTS tackle:files:{logs}:holders") == 1, 10000);
    tkl_files_send_options options = {.drop_after_ms = 100, .wait_ms = 20000};
    assert_ok(transfer_send(files, "a", path, &options));
    assert_code(transfer_send(files, "ghost", path, &options), TKL_NOTFOUND);
    crew_join(threads);
    assert_ok(there.code);
    expect_at(&p, "a", "f", path);
    expect_clean(f);
    free(path);
    tkl_files_close(files);
}

/* A receiver that has never run has no lease, so the sender drops it without a second look. */
static void a_receiver_that_never_came_is_dropped_at_the_first_look(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_with(f, (tkl_files_options){.max_bytes = 256 * KB});
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", MB, 3);
    told t = {0};
    tkl_files_send_options options = {.on_waiting = note_wait, .drop_after_ms = 500, .arg = &t};
    assert_code(transfer_send(files, "ghost", path, &options), TKL_NOTFOUND);
    assert_int_equal(t.waits, 1);
    free(path);
    tkl_files_close(files);
}

typedef struct takers {
    fixture *f;
    const transfer *p;
    int waits;
    char text[64]; /* the receivers that the sender waits for in the end */
} takers;

/* At the first report the receiver a takes all files, and ends. */
static void let_one_take_all(const tkl_files_waiting *waiting, void *arg)
{
    takers *t = arg;
    *t->text = '\0';
    for (size_t i = 0; i < waiting->count; i++)
        snprintf(t->text + strlen(t->text), sizeof t->text - strlen(t->text), TKL_FMT ",",
                 TKL_ARG(waiting->receivers[i]));
    if (t->waits++ > 0) {
        tkl_interrupt(t->f->client);
        return;
    }
    tkl_files *files = open_channel(t->f);
    assert_code(transfer_receive(files, t->p, "a", NULL), TKL_EMPTY);
    tkl_files_close(files);
}

static void a_receiver_that_has_all_that_is_there_is_not_waited_for(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_with(f, (tkl_files_options){.max_bytes = 256 * KB});
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", MB, 3);
    takers t = {.f = f, .p = &p};
    tkl_files_send_options options = {.on_waiting = let_one_take_all, .arg = &t};
    assert_code(transfer_send(files, "a,b", path, &options), TKL_EINTR);
    tkl_resume(f->client);
    assert_string_equal(t.text, "b,");
    free(path);
    tkl_files_close(files);
}

static void status_tells_who_is_gone_and_what_each_lacks(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    tkl_files_info *info;
    int64_t count;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", MB, 3);
    assert_code(tkl_files_status(files, &info), TKL_NOTFOUND);
    assert_ok(transfer_send(files, "a,b", path, NULL));
    assert_ok(transfer_receive(files, &p, "b", NULL));
    assert_ok(tkl_files_status(files, &info));
    assert_int_equal(info->count, 1);
    assert_int_equal(info->file_count, 1);
    assert_int_equal(info->files[0].size, MB);
    assert_int_equal(info->files[0].sent, MB);
    assert_int_equal(info->files[0].state, TKL_FILES_COMPLETE);
    assert_int_equal(info->files[0].waiting_count, 1);
    assert_int_equal(info->receiver_count, 2);
    assert_true(info->receivers[0].gone && !info->receivers[0].seen);
    assert_true(info->receivers[1].gone && info->receivers[1].seen);
    assert_int_equal(info->receivers[0].files, 1);
    assert_int_equal(info->receivers[0].bytes, MB);
    assert_int_equal(info->receivers[1].files, 0);
    assert_in_range(info->bytes, MB, MB + 2 * KB);
    tkl_files_info_free(info);
    assert_ok(tkl_files_drop_receiver(files, tkl_str("a"), &count));
    assert_int_equal(count, 1);
    assert_code(tkl_files_drop_receiver(files, tkl_str("a"), &count), TKL_NOTFOUND);
    assert_ok(tkl_files_status(files, &info));
    assert_int_equal(info->receiver_count, 1);
    assert_int_equal(info->trouble_count, 1);
    assert_string_equal(info->troubles[0].reason.data, "dropped; it lacked 1 file");
    tkl_files_info_free(info);
    expect_clean(f);
    free(path);
    tkl_files_close(files);
}

static void dropping_is_one_trouble_however_many_files_were_lacking(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    tkl_files_info *info;
    int64_t count;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", 100, 3);
    for (int i = 0; i < 70; i++)
        assert_ok(transfer_send(files, "a,ghost", path, NULL));
    assert_ok(tkl_files_drop_receiver(files, tkl_str("ghost"), &count));
    assert_int_equal(count, 70);
    assert_ok(tkl_files_status(files, &info));
    assert_int_equal(info->trouble_count, 1);
    assert_string_equal(info->troubles[0].reason.data, "dropped; it lacked 70 files");
    assert_int_equal(info->troubles[0].name.len, 0);
    tkl_files_info_free(info);
    free(path);
    tkl_files_close(files);
}

static void dropping_a_receiver_that_nobody_knows_leaves_nothing(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    assert_code(tkl_files_drop_receiver(files, tkl_str("nobody"), NULL), TKL_NOTFOUND);
    assert_int_equal(server_ask_int(f->server, "DBSIZE"), 0);
    tkl_files_close(files);
}

typedef struct dropper {
    tkl_files *files;
    fixture *f;
} dropper;

static void drop_ghost(void *arg, int index)
{
    const dropper *d = arg;
    (void)index;
    eventually(server_ask_int(d->f->server, "ZCARD tackle:files:{logs}:files") == 3, 10000);
    test_sleep_ms(50);
    assert_ok(tkl_files_drop_receiver(d->files, tkl_str("ghost"), NULL));
}

static void a_sender_that_waits_hears_of_dropped_receivers(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    transfer p;
    transfer_make(&p);
    char *one = transfer_file(&p, "src/one", 100, 1), *two = transfer_file(&p, "src/two", MB, 2),
         *three = transfer_file(&p, "src/three", 0, 3);
    const tkl_files_source sources[] = {{.path = one}, {.path = two}, {.path = three}};
    const tkl_bytes to[] = {TKL_LIT("ghost")};
    tkl_files_send_options options = {.wait_ms = 20000};
    dropper d = {files, f};
    crew *threads = crew_start(1, drop_ghost, &d);
    assert_code(tkl_files_send(files, to, 1, sources, 3, &options, NULL), TKL_DEAD);
    assert_contains(tkl_errmsg(), "ghost did not get all files: dropped; it lacked 3 files");
    crew_join(threads);
    expect_clean(f);
    free(one);
    free(two);
    free(three);
    tkl_files_close(files);
}

static void the_last_process_of_a_name_receives(void **state)
{
    fixture *f = *state;
    transfer p;
    transfer_make(&p);
    tkl_files *files = open_with(f, (tkl_files_options){.lease_ms = 300});
    receiver first = {.f = f, .p = &p, .as = "a"};
    crew *threads = crew_start(1, receive_until_done, &first);
    eventually(server_ask_int(f->server, "EXISTS tackle:files:{logs}:holders") == 1, 10000);
    char *path = transfer_file(&p, "src/f", MB, 3);
    assert_code(transfer_receive(files, &p, "a", NULL), TKL_EMPTY);
    assert_ok(transfer_send(files, "a", path, NULL));
    crew_join(threads);
    assert_code(first.code, TKL_ELOST);
    assert_ok(transfer_receive(files, &p, "a", NULL));
    expect_at(&p, "a", "f", path);
    free(path);
    tkl_files_close(files);
}

/* ---- Bad input ----------------------------------------------------------- */

/* The last file of a name would replace the others. */
static void two_sources_of_one_name_are_refused(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    transfer p;
    tkl_files_totals totals;
    const tkl_bytes to[] = {TKL_LIT("a")};
    transfer_make(&p);
    char *one = transfer_file(&p, "x1/conf", 10, 1), *other = transfer_file(&p, "x2/conf", 10, 2);
    tkl_files_source sources[] = {{.path = one}, {.path = other}};
    assert_code(tkl_files_send(files, to, 1, sources, 2, NULL, &totals), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "conf");
    assert_contains(tkl_errmsg(), "x1");
    sources[1].name = tkl_str("other");
    assert_ok(tkl_files_send(files, to, 1, sources, 2, NULL, &totals));
    assert_ok(transfer_receive(files, &p, "a", &totals));
    assert_int_equal(totals.files, 2);
    sources[1] = sources[0]; /* one file, named twice */
    assert_ok(tkl_files_send(files, to, 1, sources, 2, NULL, &totals));
    assert_ok(transfer_receive(files, &p, "a", &totals));
    assert_int_equal(totals.files, 1);
    free(one);
    free(other);
    tkl_files_close(files);
}

static void bad_arguments_are_refused(void **state)
{
    fixture *f = *state;
    tkl_files *files;
    static const tkl_files_options bad[] = {{.timeout_ms = -1},  {.ttl_ms = -1},
                                            {.lease_ms = 1},     {.resume_ms = -2},
                                            {.max_bytes = 4095}, {.reserved = {1}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_code(tkl_files_open(f->client, tkl_str("x"), &bad[i], &files), TKL_EINVAL);
    assert_code(tkl_files_open(f->client, tkl_str(""), NULL, &files), TKL_EINVAL);
    files = open_channel(f);
    tkl_files_source none = {0}, both = {.path = "x", .read = read_numbers},
                     unnamed = {.read = read_numbers}, slash = {.path = "//"},
                     missing = {.path = "/nonexistent/x"}, device = {.path = "/dev/null"};
    const tkl_bytes to[] = {TKL_LIT("a")}, empty[] = {{NULL, 0}};
    assert_code(tkl_files_send(files, NULL, 0, &missing, 1, NULL, NULL), TKL_EINVAL);
    assert_code(tkl_files_send(files, empty, 1, &missing, 1, NULL, NULL), TKL_EINVAL);
    assert_code(tkl_files_send(files, to, 1, &none, 1, NULL, NULL), TKL_EINVAL);
    assert_code(tkl_files_send(files, to, 1, &both, 1, NULL, NULL), TKL_EINVAL);
    assert_code(tkl_files_send(files, to, 1, &unnamed, 1, NULL, NULL), TKL_EINVAL);
    assert_code(tkl_files_send(files, to, 1, &slash, 1, NULL, NULL), TKL_EINVAL);
    assert_code(tkl_files_send(files, to, 1, &missing, 1, NULL, NULL), TKL_EIO);
    assert_contains(tkl_errmsg(), "/nonexistent/x");
    assert_code(tkl_files_send(files, to, 1, &device, 1, NULL, NULL), TKL_EIO);
    assert_ok(tkl_files_send(files, to, 1, NULL, 0, NULL, NULL));
    tkl_files_receive_options nowhere = {.dir = "/nonexistent"};
    assert_code(tkl_files_receive(files, to[0], &nowhere, 0, NULL), TKL_EIO);
    assert_code(tkl_files_receive(files, empty[0], NULL, 0, NULL), TKL_EINVAL);
    assert_code(tkl_files_drop_receiver(files, empty[0], NULL), TKL_EINVAL);
    tkl_files_close(files);
    tkl_files_close(NULL);
}

static void what_cannot_be_read_does_not_keep_the_others(void **state)
{
    fixture *f = *state;
    tkl_files *files = open_channel(f);
    tkl_files_totals totals;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", 10, 3), *fifo = transfer_path(&p, "src/fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    tkl_files_source sources[] = {{.path = "/nonexistent/x"}, {.path = fifo}, {.path = path}};
    const tkl_bytes to[] = {TKL_LIT("a")};
    assert_code(tkl_files_send(files, to, 1, sources, 3, NULL, &totals), TKL_EIO);
    assert_contains(tkl_errmsg(), "/nonexistent/x");
    assert_int_equal(totals.files, 1);
    assert_int_equal(totals.failed, 2);
    assert_ok(transfer_receive(files, &p, "a", NULL));
    expect_at(&p, "a", "f", path);
    free(path);
    free(fifo);
    tkl_files_close(files);
}

/* ---- Permissions --------------------------------------------------------- */

static void the_documented_permissions_suffice(void **state)
{
    fixture *f = *state;
    tkl_client *client = documented_user(f->server, "files.md");
    fixture as_user = {f->server, client};
    tkl_files *files = open_with(&as_user, (tkl_files_options){.max_bytes = 512 * KB});
    tkl_files_info *info;
    tkl_names *names;
    transfer p;
    transfer_make(&p);
    char *path = transfer_file(&p, "src/f", 2 * MB, 3), *small = transfer_file(&p, "src/s", 10, 4);
    receiver there = {.f = &as_user, .p = &p, .as = "a"};
    crew *threads = crew_start(1, receive_until_done, &there);
    tkl_files_send_options options = {.wait_ms = 20000};
    assert_ok(transfer_send(files, "a", path, &options));
    crew_join(threads);
    assert_ok(there.code);
    assert_ok(transfer_send(files, "a", small, NULL));
    assert_ok(tkl_files_add_receiver(files, tkl_str("b"), NULL));
    assert_ok(tkl_files_status(files, &info));
    tkl_files_info_free(info);
    assert_ok(tkl_files_drop_receiver(files, tkl_str("b"), NULL));
    assert_ok(tkl_files_drop_receiver(files, tkl_str("a"), NULL));
    assert_ok(tkl_files_names(client, &names));
    assert_int_equal(names->count, 1);
    tkl_names_free(names);
    free(path);
    free(small);
    tkl_files_close(files);
    tkl_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_size_arrives_at_every_receiver),
        TEST(permissions_and_time_are_those_of_the_source),
        TEST(a_file_replaces_what_had_its_name),
        TEST(names_never_leave_the_directory),
        TEST(files_with_bad_names_arrive_under_safe_ones),
        TEST(a_file_larger_than_the_limit_passes),
        TEST(two_senders_share_one_limit),
        TEST(a_stream_of_unknown_length_arrives),
        TEST(a_receiver_can_be_added_while_files_are_whole),
        TEST(a_sender_says_for_whom_it_waits_and_goes_on_when_they_are_dropped),
        TEST(receivers_that_are_gone_too_long_are_dropped),
        TEST(a_receiver_that_never_came_is_dropped_at_the_first_look),
        TEST(a_receiver_that_has_all_that_is_there_is_not_waited_for),
        TEST(status_tells_who_is_gone_and_what_each_lacks),
        TEST(dropping_is_one_trouble_however_many_files_were_lacking),
        TEST(dropping_a_receiver_that_nobody_knows_leaves_nothing),
        TEST(a_sender_that_waits_hears_of_dropped_receivers),
        TEST(the_last_process_of_a_name_receives),
        TEST(two_sources_of_one_name_are_refused),
        TEST(bad_arguments_are_refused),
        TEST(what_cannot_be_read_does_not_keep_the_others),
        TEST(the_documented_permissions_suffice),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
