/* SPDX-License-Identifier: MIT
 *
 * The directory of a private server holds nothing that another user could have put there.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/home.h"
#include "support/process.h"
#include "support/server.h"

enum { STRANGER = 12345 }; /* another user */

/* Fails unless every use of the directory fails with this text. */
static void assert_refused(const char *part)
{
    tkl_server_info info;
    tkl_client *client;
    assert_code(tkl_open(home_url, NULL, &client), TKL_ESPAWN);
    assert_contains(tkl_errmsg(), part);
    assert_code(tkl_server_start(home_url, &info), TKL_ESPAWN);
    assert_contains(tkl_errmsg(), part);
    assert_int_equal(process_count(home_dir), 0);
}

static void assert_not_looked_into(const char *part)
{
    tkl_server_info info;
    assert_refused(part);
    assert_code(tkl_server_status(home_url, &info), TKL_ESPAWN);
    assert_contains(tkl_errmsg(), part);
    assert_code(tkl_server_stop(home_url), TKL_ESPAWN);
}

static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void make_home(void)
{
    char *folder = home_path("appendonlydir");
    assert_int_equal(mkdir(home_dir, 0700), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    free(folder);
}

static const char *const places[] = {
    "config",   "config.new", "lock",
    "log",      "log.old",    "socket",
    "dump.rdb", "x",          "appendonlydir/appendonly.aof.manifest",
};
enum { PLACES = sizeof places / sizeof *places };

static void symbolic_links_are_refused(void **state)
{
    (void)state;
    struct stat st;
    char *elsewhere = test_format("%s.b", home_dir);
    make_file(elsewhere);
    make_home();
    for (size_t i = 0; i < PLACES; i++) {
        char *path = home_path(places[i]);
        assert_int_equal(symlink(elsewhere, path), 0);
        assert_not_looked_into("is a symbolic link");
        assert_contains(tkl_errmsg(), places[i]);
        assert_int_equal(unlink(path), 0);
        free(path);
    }
    assert_int_equal(stat(elsewhere, &st), 0);
    assert_int_equal(st.st_size, 0);
    free(elsewhere);
    home_start(home_url);
}

/* Opening a FIFO waits for its other end. */
static void fifos_are_refused(void **state)
{
    (void)state;
    make_home();
    for (size_t i = 0; i < PLACES; i++) {
        char *path = home_path(places[i]);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_not_looked_into("is not a regular file");
        assert_int_equal(unlink(path), 0);
        free(path);
    }
}

static void files_of_another_user_are_refused(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    make_home();
    for (size_t i = 0; i < PLACES; i++) {
        char *path = home_path(places[i]);
        make_file(path);
        assert_int_equal(chown(path, STRANGER, STRANGER), 0);
        assert_not_looked_into("belongs to another user");
        assert_int_equal(unlink(path), 0);
        free(path);
    }
    char *folder = home_path("appendonlydir");
    assert_int_equal(chown(folder, STRANGER, STRANGER), 0);
    assert_not_looked_into("belongs to another user");
    free(folder);
}

static void files_that_others_may_write_are_refused(void **state)
{
    (void)state;
    make_home();
    for (size_t i = 0; i < PLACES; i++) {
        char *path = home_path(places[i]);
        make_file(path);
        assert_int_equal(chmod(path, 0620), 0);
        assert_not_looked_into("can be written by others");
        assert_int_equal(unlink(path), 0);
        free(path);
    }
}

/* A second name is a hard link: the server would write into a file elsewhere. */
static void files_with_a_second_name_are_refused(void **state)
{
    (void)state;
    char *log = home_path("log"), *elsewhere = test_format("%s.b", home_dir);
    make_file(elsewhere);
    make_home();
    assert_int_equal(link(elsewhere, log), 0);
    assert_not_looked_into("has another name elsewhere");
    assert_int_equal(unlink(elsewhere), 0);
    home_start(home_url);
    free(elsewhere);
    free(log);
}

/* ---- Servers of others --------------------------------------------------- */

typedef struct trap {
    bool bind_first; /* the socket is the user's own, its server is not */
    int ready;       /* written to once it listens */
} trap;

/* Takes a connection and tells by its exit code whether anything was sent: 1, else 0. */
static int set_trap(void *arg)
{
    const trap *t = arg;
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    char byte;
    snprintf(un.sun_path, sizeof un.sun_path, "%s/socket", home_dir);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!t->bind_first && setuid(STRANGER) != 0)
        return 2;
    if (bind(fd, (struct sockaddr *)&un, sizeof un) != 0)
        return 3;
    if (t->bind_first && setuid(STRANGER) != 0)
        return 4;
    if (listen(fd, 8) != 0 || write(t->ready, "", 1) != 1)
        return 5;
    for (;;) {
        int peer = accept(fd, NULL, NULL);
        if (peer >= 0 && read(peer, &byte, 1) > 0)
            return 1;
        close(peer);
    }
}

/* Starts a stranger that listens on the directory's socket. Returns its pid. */
static pid_t start_trap(bool bind_first)
{
    char byte;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    trap t = {.bind_first = bind_first, .ready = ends[1]};
    pid_t pid = process_fork(set_trap, &t);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return pid;
}

static void end_trap(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(process_wait(pid), 128 + SIGKILL); /* nothing was sent to it */
}

static void a_socket_of_another_user_is_not_used(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(test_dir(), 0711), 0);
    assert_int_equal(mkdir(home_dir, 0700), 0);
    assert_int_equal(chmod(home_dir, 0777), 0);
    pid_t stranger = start_trap(false);
    assert_refused("chmod it to 700");
    assert_int_equal(chmod(home_dir, 0700), 0);
    assert_not_looked_into("socket in it belongs to another user");
    end_trap(stranger);
}

static void a_server_of_another_user_gets_nothing(void **state)
{
    (void)state;
    tkl_server_info info;
    tkl_client *client;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(home_dir, 0700), 0);
    pid_t stranger = start_trap(true);
    assert_code(tkl_open(home_url, NULL, &client), TKL_EAUTH);
    assert_contains(tkl_errmsg(), "belongs to another user");
    assert_code(tkl_server_start(home_url, &info), TKL_EAUTH);
    assert_code(tkl_server_status(home_url, &info), TKL_EAUTH);
    assert_code(tkl_server_stop(home_url), TKL_EAUTH);
    end_trap(stranger);
}

/* ---- The way to the directory -------------------------------------------- */

/* home_dir becomes a directory in one that others may change. */
static void make_home_below(mode_t mode)
{
    static char parent[64];
    memcpy(parent, home_dir, sizeof parent);
    assert_int_equal(mkdir(parent, 0700), 0);
    assert_int_equal(chmod(parent, mode), 0);
    assert_int_equal(chown(parent, (uid_t)-1, STRANGER), geteuid() == 0 ? 0 : -1);
    assert_int_equal(chmod(parent, mode), 0);
    snprintf(home_dir, sizeof home_dir, "%.40s/x", parent);
    snprintf(home_url, sizeof home_url, "embedded:%s?timeout=60s", home_dir);
}

static void a_directory_that_others_can_move_is_refused(void **state)
{
    (void)state;
    make_home_below(0777);
    assert_refused("can be written by others");
    assert_contains(tkl_errmsg(), "which leads to");
}

static void a_directory_that_a_group_can_move_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    make_home_below(0775);
    assert_refused("can be written by others");
}

static void a_directory_in_one_like_tmp_is_fine(void **state)
{
    (void)state;
    make_home_below(01777);
    home_start(home_url);
}

static void a_directory_below_that_of_another_user_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    make_home_below(0755);
    char *parent = test_format("%s/..", home_dir);
    assert_int_equal(mkdir(home_dir, 0700), 0);
    assert_int_equal(chown(parent, STRANGER, STRANGER), 0);
    assert_refused("belongs to another user");
    free(parent);
}

static void a_link_of_another_user_is_not_followed(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    char *real = test_format("%s.b", home_dir);
    assert_int_equal(mkdir(real, 0700), 0);
    assert_int_equal(symlink(strrchr(real, '/') + 1, home_dir), 0);
    assert_int_equal(lchown(home_dir, STRANGER, STRANGER), 0);
    assert_refused("belongs to another user");
    assert_int_equal(lchown(home_dir, 0, 0), 0);
    home_start(home_url);
    assert_ok(tkl_server_stop(home_url));
    free(real);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(symbolic_links_are_refused),
        TEST(fifos_are_refused),
        TEST(files_of_another_user_are_refused),
        TEST(files_that_others_may_write_are_refused),
        TEST(files_with_a_second_name_are_refused),
        TEST(a_socket_of_another_user_is_not_used),
        TEST(a_server_of_another_user_gets_nothing),
        TEST(a_directory_that_others_can_move_is_refused),
        TEST(a_directory_that_a_group_can_move_is_refused),
        TEST(a_directory_in_one_like_tmp_is_fine),
        TEST(a_directory_below_that_of_another_user_is_refused),
        TEST(a_link_of_another_user_is_not_followed),
    };
    return cmocka_run_group_tests(tests, home_guard, NULL);
}
