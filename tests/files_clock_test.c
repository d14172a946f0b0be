/* SPDX-License-Identifier: MIT
 *
 * Files on a server whose clock is wrong, or jumps while they are on their way.
 *
 * ctest: label threads
 */
#include <tackle/files.h>

#include "support/call.h"
#include "support/test.h"
#include "support/timed.h"
#include "support/transfer.h"

#define KB        1024
#define MB        (1024 * 1024)
#define MINUTE_MS INT64_C(60000)
#define YEAR_MS   (365 * 24 * HOUR_MS)

typedef struct scene {
    timed_server *timed;
    tkl_client *client;
    tkl_files *files;
    transfer p;
    tkl_files_send_options send;
    int received;
} scene;

static void scene_start(scene *s, int64_t shift_ms)
{
    const tkl_files_options options = {.max_bytes = MB, .lease_ms = 1500};
    *s = (scene){.timed = timed_start(NULL)};
    timed_shift(s->timed, shift_ms);
    s->client = test_open(s->timed->server->url, NULL);
    assert_ok(tkl_files_open(s->client, tkl_str("logs"), &options, &s->files));
    transfer_make(&s->p);
}

static void scene_end(scene *s)
{
    tkl_files_close(s->files);
    tkl_close(s->client);
    timed_end(s->timed);
}

static void expect_received(scene *s, const char *as, const char *source)
{
    char *name = test_format("%s%s", as, strrchr(source, '/')), *path = transfer_path(&s->p, name);
    if (!transfer_same(path, source))
        fail_msg("%s differs from %s", path, source);
    assert_int_equal(remove(path), 0);
    free(name);
    free(path);
}

/* ---- Clocks that are wrong ----------------------------------------------- */

static void a_clock_before_2001_does(void **state)
{
    (void)state;
    scene s;
    tkl_files_info *info;
    scene_start(&s, -30 * YEAR_MS);
    char *small = transfer_file(&s.p, "src/small", 9, 1),
         *big = transfer_file(&s.p, "src/big", MB / 2, 2);
    assert_ok(transfer_send(s.files, "a,b", small, NULL));
    assert_ok(transfer_send(s.files, "a,b", big, NULL));
    assert_ok(tkl_files_status(s.files, &info));
    assert_int_equal(info->receivers[0].files, 2);
    tkl_files_info_free(info);
    assert_ok(transfer_receive(s.files, &s.p, "a", NULL));
    expect_received(&s, "a", small);
    expect_received(&s, "a", big);
    assert_ok(tkl_files_drop_receiver(s.files, tkl_str("b"), NULL));
    free(small);
    free(big);
    scene_end(&s);
}

/* ---- Clocks that jump ---------------------------------------------------- */

static void receive(void *arg, int index)
{
    scene *s = arg;
    (void)index;
    char *dir = transfer_path(&s->p, "a/");
    tkl_files_receive_options options = {.dir = dir, .exit_when_done = true};
    s->received = tkl_files_receive(s->files, tkl_str("a"), &options, 20000, NULL);
    free(dir);
}

/* One half of the file is on the server: another process looks for what is overdue, now that the
 * clock has jumped. */
typedef struct jump {
    scene *s;
    int64_t ms;
    bool done;
} jump;

static void jump_once(const tkl_files_progress *progress, void *arg)
{
    jump *j = arg;
    tkl_files_info *info;
    if (j->done || progress->file_done < MB)
        return;
    j->done = true;
    timed_shift(j->s->timed, j->ms);
    for (int i = 0; i < 3; i++) {
        assert_ok(tkl_files_status(j->s->files, &info));
        tkl_files_info_free(info);
        test_sleep_ms(20);
    }
}

static const int64_t jumps[] = {20 * MINUTE_MS, -HOUR_MS, 3 * HOUR_MS, -3 * HOUR_MS};

static void a_jump_does_not_end_a_file_under_way(void **state)
{
    (void)state;
    scene s;
    scene_start(&s, 0);
    char *path = transfer_file(&s.p, "src/f", 4 * MB, 3);
    for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
        jump j = {&s, jumps[i], false};
        tkl_files_send_options options = {.wait_ms = 20000, .on_progress = jump_once, .arg = &j};
        crew *threads = crew_start(1, receive, &s);
        assert_ok(transfer_send(s.files, "a", path, &options));
        crew_join(threads);
        assert_ok(s.received);
        assert_true(j.done);
        expect_received(&s, "a", path);
    }
    free(path);
    scene_end(&s);
}

static int64_t read_some(char *buffer, size_t size, void *arg)
{
    int *left = arg;
    size_t len = *left > 100 * KB ? 100 * KB : (size_t)*left;
    len = len < size ? len : size;
    memset(buffer, 'n', len);
    *left -= (int)len;
    return (int64_t)len;
}

static void a_jump_does_not_end_a_stream_under_way(void **state)
{
    (void)state;
    scene s;
    scene_start(&s, 0);
    const tkl_bytes to[] = {TKL_LIT("a")};
    for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
        int left = 3 * MB;
        size_t size;
        jump j = {&s, jumps[i], false};
        tkl_files_source source = {.name = TKL_LIT("stream"), .read = read_some, .arg = &left};
        tkl_files_send_options options = {.wait_ms = 20000, .on_progress = jump_once, .arg = &j};
        crew *threads = crew_start(1, receive, &s);
        assert_ok(tkl_files_send(s.files, to, 1, &source, 1, &options, NULL));
        crew_join(threads);
        assert_ok(s.received);
        char *path = transfer_path(&s.p, "a/stream");
        free(transfer_read(path, &size));
        assert_int_equal(size, 3 * MB);
        assert_int_equal(remove(path), 0);
        free(path);
    }
    scene_end(&s);
}

static void stay(void *arg, int index)
{
    scene *s = arg;
    (void)index;
    char *dir = transfer_path(&s->p, "b/");
    tkl_files_receive_options options = {.dir = dir};
    s->received = tkl_files_receive(s->files, tkl_str("b"), &options, 4000, NULL);
    free(dir);
}

/* One receiver waits. The sender waits for another receiver, which is gone, and drops receivers
 * that are gone for too long. */
static void a_jump_does_not_drop_a_receiver_that_is_there(void **state)
{
    (void)state;
    scene s;
    tkl_files_info *info;
    scene_start(&s, 0);
    char *one = transfer_file(&s.p, "src/one", 100, 3),
         *two = transfer_file(&s.p, "src/two", 100, 4);
    tkl_files_send_options options = {.wait_ms = 10000, .drop_after_ms = 5 * MINUTE_MS};
    crew *threads = crew_start(1, stay, &s);
    eventually(server_ask_int(s.timed->server, "EXISTS tackle:files:{logs}:holders") == 1, 10000);
    assert_ok(transfer_send(s.files, "ghost", one, NULL));
    timed_shift(s.timed, 20 * MINUTE_MS);
    assert_code(transfer_send(s.files, "b,ghost", two, &options), TKL_DEAD);
    assert_contains(tkl_errmsg(), "ghost");
    crew_join(threads);
    assert_ok(s.received);
    expect_received(&s, "b", two);
    assert_ok(tkl_files_status(s.files, &info));
    assert_int_equal(info->receiver_count, 1);
    tkl_files_info_free(info);
    free(one);
    free(two);
    scene_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_before_2001_does),
        cmocka_unit_test(a_jump_does_not_end_a_file_under_way),
        cmocka_unit_test(a_jump_does_not_end_a_stream_under_way),
        cmocka_unit_test(a_jump_does_not_drop_a_receiver_that_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
