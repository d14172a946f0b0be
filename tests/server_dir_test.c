/* SPDX-License-Identifier: MIT
 *
 * `embedded:/dir`, the persistent server of a directory, and tkl_server_*().
 */
#include <tackle/functions.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/call.h"
#include "support/home.h"
#include "support/library.h"
#include "support/process.h"
#include "support/server.h"

#define RACERS 100

/* ---- Start, status, stop ------------------------------------------------- */

static void start_status_and_stop_tell_the_same_story(void **state)
{
    (void)state;
    tkl_server_info info = home_start(home_url), again;
    char *socket = home_path("socket");
    assert_string_equal(info.socket, socket);
    assert_string_equal(info.durability, "everysec");
    assert_contains(server_program(), info.program);
    assert_true(atoi(info.version) >= 7);
    assert_ok(tkl_server_status(home_url, &again));
    assert_memory_equal(&info, &again, sizeof info);
    assert_ok(tkl_server_stop(home_url));
    assert_int_not_equal(access(socket, F_OK), 0);
    eventually(process_count(home_dir) == 0, WAIT_MS);
    assert_code(tkl_server_status(home_url, &again), TKL_NOTFOUND);
    assert_int_equal(again.pid, 0);
    assert_string_equal(again.socket, socket);
    assert_string_equal(again.durability, "everysec");
    free(socket);
}

static void starting_twice_and_stopping_twice_are_fine(void **state)
{
    (void)state;
    tkl_server_info info = home_start(home_url);
    assert_int_equal(home_start(home_url).pid, info.pid);
    assert_ok(tkl_server_stop(home_url));
    assert_code(tkl_server_stop(home_url), TKL_NOTFOUND);
}

/* Programs of other versions may have used it before: each loads what it needs. */
static void a_start_forgets_the_functions_of_tackle_and_keeps_others(void **state)
{
    (void)state;
    static const char foreign[] =
        LIBRARY_HEAD("tackle_box") LIBRARY_FUNCTION("mine", "", "return 7");
    tkl_function_libraries *list;
    home_start(home_url);
    tkl_client *client = test_open(home_url, NULL);
    assert_ok(tkl_functions_load(client, NULL));
    call_expect(client, "tackle_box", "FUNCTION", "LOAD", foreign, NULL);
    assert_ok(tkl_functions_list(client, &list));
    assert_true(list->count > 20);
    tkl_function_libraries_free(list);
    tkl_close(client);
    client = test_open(home_url, NULL); /* it runs already: nothing changes */
    assert_ok(tkl_functions_list(client, &list));
    assert_true(list->count > 20);
    tkl_function_libraries_free(list);
    tkl_close(client);

    assert_ok(tkl_server_stop(home_url));
    home_start(home_url);
    client = test_open(home_url, NULL);
    assert_ok(tkl_functions_list(client, &list));
    assert_int_equal(list->count, 0);
    tkl_function_libraries_free(list);
    assert_int_equal(call_int(client, "FCALL", "mine", "0", NULL), 7);
    tkl_close(client);
}

static void nothing_is_made_by_asking(void **state)
{
    (void)state;
    home_not_running(home_url);
    assert_code(tkl_server_stop(home_url), TKL_NOTFOUND);
    assert_int_not_equal(access(home_dir, F_OK), 0);
}

static void only_its_user_can_reach_it(void **state)
{
    (void)state;
    static const char *const names[] = {"", "socket", "config", "log", "lock", "appendonlydir"};
    home_start(home_url);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct stat st;
        char *path = home_path(names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0077, 0);
        free(path);
    }
}

static void it_stays_when_its_program_has_ended(void **state)
{
    (void)state;
    assert_int_equal(process_wait(process_fork(home_visit, home_url)), 0);
    tkl_server_info info;
    assert_ok(tkl_server_status(home_url, &info));
    assert_int_not_equal(getsid((pid_t)info.pid), getsid(0));
    assert_int_equal(home_start(home_url).pid, info.pid);
}

static void close_leaves_it_running(void **state)
{
    (void)state;
    home_put(home_url, "1");
    assert_home_holds(home_url, "1");
}

/* ---- Many programs ------------------------------------------------------- */

typedef struct race {
    int go[2];   /* all start when it is closed */
    int seen[2]; /* the pid of the server each racer got */
} race;

static int run_racer(void *arg)
{
    race *r = arg;
    tkl_server_info info;
    char byte;
    close(r->go[1]);
    if (read(r->go[0], &byte, 1) != 0 || tkl_server_start(home_url, &info) != TKL_OK) {
        fprintf(stderr, "racer: %s\n", tkl_errmsg());
        return 1;
    }
    return write(r->seen[1], &info.pid, sizeof info.pid) == sizeof info.pid ? 0 : 2;
}

static void run_race(race *r)
{
    pid_t racers[RACERS];
    assert_int_equal(pipe2(r->go, O_CLOEXEC), 0);
    assert_int_equal(pipe2(r->seen, O_CLOEXEC), 0);
    for (int i = 0; i < RACERS; i++)
        racers[i] = process_fork(run_racer, r);
    close(r->go[0]);
    close(r->go[1]);
    close(r->seen[1]);
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(process_wait(racers[i]), 0);
}

static void racing_programs_get_one_server(void **state)
{
    (void)state;
    race r;
    run_race(&r);
    int64_t first = 0, pid = 0;
    for (int i = 0; i < RACERS; i++) {
        assert_int_equal(read(r.seen[0], &pid, sizeof pid), sizeof pid);
        first = i == 0 ? pid : first;
        assert_int_equal(pid, first);
    }
    close(r.seen[0]);
    assert_int_equal(process_count(home_dir), 1);
}

static void racing_programs_get_one_server_after_a_crash(void **state)
{
    (void)state;
    tkl_server_info info = home_start(home_with("always"));
    home_put(home_url, "kept");
    home_crash(&info);
    assert_true(home_has("socket"));
    racing_programs_get_one_server(state);
    assert_home_holds(home_url, "kept");
}

static void directories_have_servers_of_their_own(void **state)
{
    (void)state;
    char *other = test_format("embedded:%s.b?timeout=20s", home_dir);
    home_put(home_url, "a");
    home_put(other, "b");
    assert_home_holds(home_url, "a");
    assert_home_holds(other, "b");
    free(other);
}

static void names_of_one_directory_lead_to_one_server(void **state)
{
    (void)state;
    char *link = test_format("%s.b", home_dir), *by_link = test_format("embedded:%s/", link);
    assert_int_equal(symlink(home_dir, link), 0);
    assert_int_equal(chdir(test_dir()), 0);
    char *relative = test_format("embedded:./%s", strrchr(home_dir, '/') + 1);
    tkl_server_info info = home_start(home_url);
    assert_int_equal(home_start(by_link).pid, info.pid);
    assert_int_equal(home_start(relative).pid, info.pid);
    free(relative);
    free(by_link);
    free(link);
}

static void parents_are_made_and_any_name_will_do(void **state)
{
    (void)state;
    char *deep = test_format("embedded:%s/one/it's \"two\" $HOME/three?timeout=20s", home_dir);
    home_put(deep, "1");
    assert_ok(tkl_server_stop(deep));
    assert_home_holds(deep, "1");
    free(deep);
}

static void a_moved_directory_is_the_same(void **state)
{
    (void)state;
    char *moved = test_format("%s.b", home_dir),
         *at = test_format("embedded:%s?timeout=20s", moved);
    home_start(home_with("snapshot")); /* so that the server has rewritten its configuration */
    home_put(home_url, "1");
    assert_ok(tkl_server_stop(home_url));
    assert_int_equal(rename(home_dir, moved), 0);
    assert_home_holds(at, "1");
    assert_int_not_equal(access(home_dir, F_OK), 0);
    free(at);
    free(moved);
}

/* ---- Refusals ------------------------------------------------------------ */

static void fails(const char *at, int code, const char *part)
{
    tkl_server_info info;
    tkl_client *client;
    assert_code(tkl_server_start(at, &info), code);
    assert_contains(tkl_errmsg(), part);
    assert_int_equal(info.pid, 0);
    assert_code(tkl_open(at, NULL, &client), code);
    assert_contains(tkl_errmsg(), part);
}

static void a_directory_with_too_long_a_path_is_refused(void **state)
{
    (void)state;
    tkl_server_info info;
    char *at = test_format("embedded:%s/%0100d", home_dir, 0);
    fails(at, TKL_EINVAL, "at most 100 bytes");
    assert_code(tkl_server_status(at, &info), TKL_EINVAL);
    assert_code(tkl_server_stop(at), TKL_EINVAL);
    free(at);
}

static void the_longest_path_works(void **state)
{
    (void)state;
    char *at = test_format("embedded:%s/%0*d", home_dir, 100 - (int)strlen(home_dir) - 1, 0);
    assert_int_equal(strlen(home_start(at).socket), 107);
    free(at);
}

static void a_file_is_no_directory(void **state)
{
    (void)state;
    FILE *file = fopen(home_dir, "we");
    assert_non_null(file);
    fclose(file);
    fails(home_url, TKL_ESPAWN, "is not a directory");
    char *below = test_format("embedded:%s/x", home_dir);
    fails(below, TKL_ESPAWN, "cannot be made: Not a directory");
    free(below);
}

static void what_cannot_be_made_is_told(void **state)
{
    (void)state;
    fails("embedded:/proc/tackle/x", TKL_ESPAWN, "the directory /proc/tackle cannot be made");
}

static void a_directory_of_somebody_else_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        fails("embedded:/usr", TKL_ESPAWN, "belongs to another user");
        return;
    }
    assert_int_equal(mkdir(home_dir, 0700), 0);
    assert_int_equal(chown(home_dir, 65534, 65534), 0);
    fails(home_url, TKL_ESPAWN, "belongs to another user");
}

static void a_directory_that_others_may_write_is_refused(void **state)
{
    (void)state;
    static const mode_t modes[] = {0777, 0770, 0702};
    assert_int_equal(mkdir(home_dir, 0700), 0);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(home_dir, modes[i]), 0);
        fails(home_url, TKL_ESPAWN, "can be written by others");
    }
}

/* A configuration may make the server run programs. */
static void a_configuration_that_others_may_write_is_refused(void **state)
{
    (void)state;
    char *config = home_path("config");
    assert_int_equal(mkdir(home_dir, 0700), 0);
    process_script(config, "loadmodule /tmp/planted.so");
    assert_int_equal(chmod(config, 0660), 0);
    fails(home_url, TKL_ESPAWN, "can be written by others");
    assert_int_equal(chmod(config, 0600), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(config, 65534, 65534), 0);
        fails(home_url, TKL_ESPAWN, "belongs to another user");
    }
    free(config);
}

/* Opening a FIFO waits for its other end, which may never come. */
static void a_fifo_in_place_of_a_file_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"log", "config", "lock"};
    tkl_server_info info;
    assert_int_equal(mkdir(home_dir, 0700), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = home_path(names[i]);
        assert_int_equal(mkfifo(path, 0600), 0);
        fails(home_url, TKL_ESPAWN, "is not a regular file");
        assert_code(tkl_server_status(home_url, &info), TKL_ESPAWN);
        assert_code(tkl_server_stop(home_url), TKL_ESPAWN);
        assert_int_equal(unlink(path), 0);
        free(path);
    }
}

static int stop_as_nobody(void *arg)
{
    (void)arg;
    tkl_server_info info;
    if (geteuid() == 0 ? setuid(65534) != 0 : chmod(home_dir, 0) != 0)
        return 1;
    if (tkl_server_stop(home_url) != TKL_EAUTH || !strstr(tkl_errmsg(), "another user"))
        return 2;
    return tkl_server_status(home_url, &info) == TKL_EAUTH ? 0 : 3;
}

static void the_server_of_another_user_is_told_from_none(void **state)
{
    (void)state;
    home_start(home_url);
    assert_int_equal(chmod(test_dir(), 0711), 0);
    assert_int_equal(process_wait(process_fork(stop_as_nobody, NULL)), 0);
    if (geteuid() == 0) {
        assert_int_equal(chmod(home_dir, 0755), 0); /* anybody may look into it */
        assert_int_equal(process_wait(process_fork(stop_as_nobody, NULL)), 0);
    }
    assert_int_equal(chmod(home_dir, 0700), 0);
    assert_ok(tkl_server_stop(home_url));
}

/* Tries as another user than root, who may write anywhere. */
static int start_as_nobody(void *arg)
{
    (void)arg;
    tkl_server_info info;
    if (geteuid() == 0 && (chown(home_dir, 65534, 65534) != 0 || setuid(65534) != 0))
        return 1;
    if (tkl_server_start(home_url, &info) != TKL_ESPAWN)
        return 2;
    return strstr(tkl_errmsg(), "cannot be written: Permission denied") ? 0 : 3;
}

static void a_directory_that_cannot_be_written_is_refused(void **state)
{
    (void)state;
    assert_int_equal(chmod(test_dir(), 0711), 0);
    assert_int_equal(mkdir(home_dir, 0500), 0);
    assert_int_equal(process_wait(process_fork(start_as_nobody, NULL)), 0);
}

static void urls_without_a_directory_are_refused(void **state)
{
    (void)state;
    tkl_server_info info;
    static const char *const wrong[] = {"embedded:", "redis://localhost", "nonsense"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_code(tkl_server_start(wrong[i], &info), TKL_EINVAL);
        assert_code(tkl_server_status(wrong[i], &info), TKL_EINVAL);
        assert_code(tkl_server_stop(wrong[i]), TKL_EINVAL);
    }
}

static void an_unknown_durability_is_refused(void **state)
{
    (void)state;
    fails(home_with("sometimes"), TKL_EINVAL, "none, snapshot, lazy, everysec or always");
}

static void without_a_program_the_directory_stays_usable(void **state)
{
    (void)state;
    setenv("TACKLE_SERVER", "no-such-server", 1);
    fails(home_url, TKL_ESPAWN, "no such program");
    setenv("TACKLE_SERVER", server_program(), 1);
    home_start(home_url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(start_status_and_stop_tell_the_same_story),
        TEST(starting_twice_and_stopping_twice_are_fine),
        TEST(a_start_forgets_the_functions_of_tackle_and_keeps_others),
        TEST(nothing_is_made_by_asking),
        TEST(only_its_user_can_reach_it),
        TEST(it_stays_when_its_program_has_ended),
        TEST(close_leaves_it_running),
        TEST(racing_programs_get_one_server),
        TEST(racing_programs_get_one_server_after_a_crash),
        TEST(directories_have_servers_of_their_own),
        TEST(names_of_one_directory_lead_to_one_server),
        TEST(parents_are_made_and_any_name_will_do),
        TEST(a_moved_directory_is_the_same),
        TEST(a_directory_with_too_long_a_path_is_refused),
        TEST(the_longest_path_works),
        TEST(a_file_is_no_directory),
        TEST(what_cannot_be_made_is_told),
        TEST(a_directory_of_somebody_else_is_refused),
        TEST(a_directory_that_others_may_write_is_refused),
        TEST(a_configuration_that_others_may_write_is_refused),
        TEST(a_fifo_in_place_of_a_file_is_refused),
        TEST(the_server_of_another_user_is_told_from_none),
        TEST(a_directory_that_cannot_be_written_is_refused),
        TEST(urls_without_a_directory_are_refused),
        TEST(an_unknown_durability_is_refused),
        TEST(without_a_program_the_directory_stays_usable),
    };
    return cmocka_run_group_tests(tests, home_guard, NULL);
}
