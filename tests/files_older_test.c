/* SPDX-License-Identifier: MIT
 *
 * Files on a server that comes back with older data, or with none: lost files are sent again, and
 * no sender believes that they have arrived.
 */
#include <tackle/files.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/process.h"
#include "support/transfer.h"

#define KB 1024
#define MB (1024 * 1024)

typedef struct job {
    server *server;
    transfer p;
    const char *as;
    const char *paths[8]; /* to be sent; NULL: a stream */
    size_t count;
    tkl_files_options options;
    int64_t wait_ms;
    int64_t stops[4]; /* the receiver stops when it has written so much of a file; 0: no more */
    bool lines;       /* it wants lines, and writes them to "got" */
} job;

static void start(job *j)
{
    *j = (job){.server = server_start(NULL), .as = "a", .wait_ms = 60000};
    transfer_make(&j->p);
}

static void end(job *j)
{
    server_end(j->server);
}

/* Restarts the server with the data that was saved. */
static void lose_what_was_not_saved(job *j)
{
    server_kill(j->server);
    server_restart(j->server);
}

static tkl_files *open_files(const job *j, tkl_client **client)
{
    tkl_files *files;
    if (tkl_open(j->server->url, NULL, client) != TKL_OK ||
        tkl_files_open(*client, tkl_str("logs"), &j->options, &files) != TKL_OK)
        _exit(99);
    return files;
}

/* Stops this process, until the test lets it go on. */
static void stop_on_the_way(const tkl_files_progress *progress, void *arg)
{
    job *j = arg;
    if (j->stops[0] == 0 || progress->file_done < j->stops[0])
        return;
    memmove(j->stops, j->stops + 1, sizeof j->stops - sizeof *j->stops);
    raise(SIGSTOP);
}

static int note_line(tkl_bytes from, tkl_bytes line, void *arg)
{
    (void)from;
    job *j = arg;
    char path[256];
    snprintf(path, sizeof path, "%s/got", j->p.dir);
    FILE *file = fopen(path, "a");
    if (!file)
        _exit(97);
    bool written = fwrite(line.data, 1, line.len, file) == line.len && putc('\n', file) != EOF;
    if (fclose(file) != 0 || !written)
        _exit(97);
    return 0;
}

static int receive_in_child(void *arg)
{
    job *j = arg;
    char dir[256];
    snprintf(dir, sizeof dir, "%s/%s", j->p.dir, j->as);
    tkl_files_receive_options options = {.dir = dir,
                                         .on_progress = stop_on_the_way,
                                         .on_line = j->lines ? note_line : NULL,
                                         .arg = j};
    tkl_client *client;
    int rc = tkl_files_receive(open_files(j, &client), tkl_str(j->as), &options, -1, NULL);
    fprintf(stderr, "receiving: %s\n", tkl_errmsg());
    return rc == TKL_OK ? 0 : 1;
}

static int64_t read_letters(char *buffer, size_t size, void *arg)
{
    size_t *left = arg, len = *left < size ? *left : size;
    memset(buffer, 'x', len);
    *left -= len;
    return (int64_t)len;
}

static int told; /* files that on_file has reported */

static void count_file(const tkl_files_outcome *outcome, void *arg)
{
    (void)outcome, (void)arg;
    told++;
}

static int send_all(const job *j, tkl_files_totals *totals)
{
    const tkl_bytes to[] = {tkl_str(j->as)};
    size_t letters = 100 * KB;
    tkl_files_source sources[8] = {{0}};
    tkl_files_send_options options = {.wait_ms = j->wait_ms, .on_file = count_file};
    for (size_t i = 0; i < j->count; i++) {
        sources[i].path = j->paths[i];
        if (!j->paths[i])
            sources[i] =
                (tkl_files_source){.name = tkl_str("s"), .read = read_letters, .arg = &letters};
    }
    tkl_client *client;
    tkl_files *files = open_files(j, &client);
    int rc = tkl_files_send(files, to, 1, sources, j->count, &options, totals);
    tkl_files_close(files);
    tkl_close(client);
    return rc;
}

static int send_in_child(void *arg)
{
    const job *j = arg;
    tkl_files_totals totals;
    told = 0;
    int rc = send_all(j, &totals);
    if (rc != TKL_OK)
        fprintf(stderr, "sending: %s\n", tkl_errmsg());
    if (rc == TKL_OK && (told != (int)j->count || totals.files != (int64_t)j->count))
        return 98;
    return rc == TKL_OK ? 0 : rc == TKL_ELOST ? 2 : 1;
}

/* Sends a file of this size alone; at the end it has arrived. */
static void send_one(job *j, const char *name, size_t size)
{
    char *path = transfer_file(&j->p, name, size, (unsigned)size);
    j->paths[0] = path;
    j->count = 1;
    if (send_all(j, NULL) != TKL_OK)
        fail_msg("%s: %s", name, tkl_errmsg());
    free(path);
}

static bool is_at(const job *j, const char *path)
{
    char *name = test_format("%s%s", j->as, strrchr(path, '/')), *at = transfer_path(&j->p, name);
    bool same = access(at, F_OK) == 0 && transfer_same(at, path);
    free(name);
    free(at);
    return same;
}

/* The same bytes, apart from a line feed at the end. */
static bool is_same_text(const char *path, const char *other)
{
    size_t len, other_len;
    char *a = transfer_read(path, &len), *b = transfer_read(other, &other_len);
    bool same = a && b && len >= other_len && len <= other_len + 1 && memcmp(a, b, other_len) == 0;
    free(a);
    free(b);
    return same;
}

static int64_t there(const job *j)
{
    return server_ask_int(j->server, "ZCARD tackle:files:{logs}:files");
}

/* How many senders listen for room. */
static int listeners(const job *j)
{
    char *counts = server_ask(j->server, "PUBSUB SHARDNUMSUB tackle:files:{logs}:room");
    const char *count = strchr(counts, '\n');
    int number = count ? atoi(count + 1) : 0;
    free(counts);
    return number;
}

static pid_t receive_on(job *j)
{
    char *dir = transfer_path(&j->p, "a/x");
    free(dir);
    return process_fork(receive_in_child, j);
}

static void end_receiver(pid_t receiver)
{
    kill(receiver, SIGKILL);
    process_wait(receiver);
}

/* ---- Receivers ----------------------------------------------------------- */

/* Numbers of changes are given again. */
static void a_receiver_finds_new_files(void **state)
{
    (void)state;
    job j;
    start(&j);
    pid_t receiver = receive_on(&j);
    send_one(&j, "src/1", 100);
    server_do(j.server, "SAVE");
    for (size_t i = 2; i < 8; i++)
        send_one(&j, "src/2", 100 * i);
    lose_what_was_not_saved(&j);
    send_one(&j, "src/3", 3000);
    send_one(&j, "src/4", 300 * KB);
    end_receiver(receiver);
    end(&j);
}

/* Files that are back do not stay for ever. */
static void a_receiver_is_done_again_with_files_that_are_back(void **state)
{
    (void)state;
    job j;
    start(&j);
    char *small = transfer_file(&j.p, "src/s", 100, 1), *big = transfer_file(&j.p, "src/b", MB, 2);
    j.paths[0] = small, j.paths[1] = big, j.count = 2, j.wait_ms = 0;
    assert_ok(send_all(&j, NULL));
    server_do(j.server, "SAVE");
    pid_t receiver = receive_on(&j);
    eventually(is_at(&j, big) && there(&j) == 0, 30000);
    lose_what_was_not_saved(&j);
    eventually(there(&j) == 0, 30000);
    end_receiver(receiver);
    free(small);
    free(big);
    end(&j);
}

/* The server knows the receiver before it, which is gone. */
static void a_receiver_keeps_its_name(void **state)
{
    (void)state;
    job j;
    start(&j);
    pid_t receiver = receive_on(&j);
    send_one(&j, "src/1", 100);
    server_do(j.server, "SAVE");
    end_receiver(receiver);
    receiver = receive_on(&j);
    send_one(&j, "src/2", 200);
    lose_what_was_not_saved(&j);
    send_one(&j, "src/3", 300 * KB);
    end_receiver(receiver);
    end(&j);
}

static void await_stop(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
}

/* The exit code of a sender, which must end. */
static int end_of(pid_t sender)
{
    int status = 0;
    eventually(waitpid(sender, &status, WNOHANG) == sender, 60000);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* The receiver is further than the server by more than the channel may hold: the sender waits for
 * room until the receiver has said so again. */
static void a_receiver_that_is_ahead_says_so_again(void **state)
{
    (void)state;
    job j;
    start(&j);
    j.options.max_bytes = 256 * KB;
    char *path = transfer_file(&j.p, "src/f", 3 * MB, 1);
    j.paths[0] = path, j.count = 1;
    j.stops[0] = 500 * KB, j.stops[1] = 2 * MB;
    pid_t receiver = receive_on(&j), sender = process_fork(send_in_child, &j);
    await_stop(receiver);
    server_do(j.server, "SAVE");
    kill(receiver, SIGCONT);
    await_stop(receiver);
    lose_what_was_not_saved(&j);
    kill(receiver, SIGCONT);
    assert_int_equal(end_of(sender), 0);
    assert_true(is_at(&j, path));
    eventually(there(&j) == 0, 30000);
    assert_int_equal(server_ask_int(j.server, "XLEN tackle:files:{logs}:trouble"), 0);
    end_receiver(receiver);
    free(path);
    end(&j);
}

/* Lines, so that nothing is in place: a server that knows half of the file meets a receiver that is
 * done with it. The lines come once. */
static void a_receiver_that_was_done_says_so_again(void **state)
{
    (void)state;
    for (int lines = 0; lines < 2; lines++) {
        job j;
        start(&j);
        j.options.max_bytes = 256 * KB;
        char *path = transfer_file(&j.p, "src/f", 2 * MB, 1), *got = transfer_path(&j.p, "got");
        j.paths[0] = path, j.count = 1, j.lines = lines;
        j.stops[0] = 500 * KB, j.stops[1] = 2 * MB;
        pid_t receiver = receive_on(&j), sender = process_fork(send_in_child, &j);
        await_stop(receiver);
        server_do(j.server, "SAVE");
        kill(receiver, SIGCONT);
        await_stop(receiver);
        kill(sender, SIGSTOP); /* it waits for the receiver now */
        kill(receiver, SIGCONT);
        eventually(there(&j) == 0, 30000);
        lose_what_was_not_saved(&j);
        kill(sender, SIGCONT);
        assert_int_equal(end_of(sender), 0);
        eventually(there(&j) == 0, 30000);
        assert_true(lines ? is_same_text(got, path) : is_at(&j, path));
        char *trouble = server_ask(j.server, "XRANGE tackle:files:{logs}:trouble - +");
        assert_string_equal(trouble, "");
        free(trouble);
        end_receiver(receiver);
        free(path);
        free(got);
        end(&j);
    }
}

/* The same, and the receiver is another process by now: it finds the file in place. */
static void a_receiver_finds_what_is_in_place(void **state)
{
    (void)state;
    job j;
    start(&j);
    j.options.max_bytes = 256 * KB;
    char *path = transfer_file(&j.p, "src/f", 2 * MB, 1);
    j.paths[0] = path, j.count = 1;
    j.stops[0] = 500 * KB, j.stops[1] = 2 * MB;
    pid_t receiver = receive_on(&j), sender = process_fork(send_in_child, &j);
    await_stop(receiver);
    server_do(j.server, "SAVE");
    kill(receiver, SIGCONT);
    await_stop(receiver);
    kill(sender, SIGSTOP);
    kill(receiver, SIGCONT);
    eventually(there(&j) == 0, 30000);
    end_receiver(receiver);
    lose_what_was_not_saved(&j);
    j.stops[0] = 0;
    receiver = receive_on(&j);
    kill(sender, SIGCONT);
    assert_int_equal(end_of(sender), 0);
    assert_true(is_at(&j, path));
    eventually(there(&j) == 0, 30000);
    assert_int_equal(server_ask_int(j.server, "XLEN tackle:files:{logs}:trouble"), 0);
    end_receiver(receiver);
    free(path);
    end(&j);
}

/* ---- Senders ------------------------------------------------------------- */

/* The server knows the sender before it, which is gone. */
static void a_sender_that_took_over_goes_on(void **state)
{
    (void)state;
    job j;
    start(&j);
    j.options.max_bytes = 256 * KB;
    char *path = transfer_file(&j.p, "src/f", 2 * MB, 1);
    j.paths[0] = path, j.count = 1;
    pid_t sender = process_fork(send_in_child, &j);
    eventually(server_ask_int(j.server, "HGET tackle:files:{logs} held") > 128 * KB, 30000);
    server_do(j.server, "SAVE");
    end_receiver(sender);
    int64_t turn = server_ask_int(j.server, "HGET tackle:files:{logs} turn");
    sender = process_fork(send_in_child, &j);
    eventually(server_ask_int(j.server, "HGET tackle:files:{logs} turn") > turn, 30000);
    eventually(listeners(&j) == 1, 30000);
    lose_what_was_not_saved(&j);
    pid_t receiver = receive_on(&j);
    assert_int_equal(process_wait(sender), 0);
    assert_true(is_at(&j, path));
    end_receiver(receiver);
    free(path);
    end(&j);
}

static void lose_everything(job *j, const char *how)
{
    if (strcmp(how, "FLUSHALL") == 0)
        server_do(j->server, "FLUSHALL");
    else
        lose_what_was_not_saved(j);
}

static void files_that_were_lost_are_sent_again(void **state)
{
    (void)state;
    static const char *const ways[] = {"FLUSHALL", "restart"};
    for (int way = 0; way < 2; way++) {
        job j;
        start(&j);
        char *paths[4];
        for (size_t i = 0; i < 4; i++) {
            char *name = test_format("src/%zu", i);
            j.paths[i] = paths[i] = transfer_file(&j.p, name, i == 2 ? MB : 10 + i, (unsigned)i);
            free(name);
        }
        j.count = 4;
        pid_t sender = process_fork(send_in_child, &j);
        eventually(there(&j) == 4, 30000);
        lose_everything(&j, ways[way]);
        eventually(there(&j) == 4, 30000);
        pid_t receiver = receive_on(&j);
        assert_int_equal(process_wait(sender), 0);
        for (size_t i = 0; i < 4; i++) {
            assert_true(is_at(&j, paths[i]));
            free(paths[i]);
        }
        end_receiver(receiver);
        end(&j);
    }
}

/* Its sender had ended it, and waits for receivers; now the server has a part of it. */
static void the_rest_of_a_file_is_sent_again(void **state)
{
    (void)state;
    job j;
    start(&j);
    j.options.max_bytes = 256 * KB;
    char *path = transfer_file(&j.p, "src/f", 2 * MB, 1);
    j.paths[0] = path, j.count = 1;
    pid_t sender = process_fork(send_in_child, &j);
    eventually(listeners(&j) == 1, 30000);
    server_do(j.server, "SAVE");
    server_do(j.server, "HSET tackle:files:{logs} limit 100000000");
    server_do(j.server, "SPUBLISH tackle:files:{logs}:room x");
    eventually(server_ask_int(j.server, "EXISTS tackle:files:{logs}:resume") == 0, 30000);
    lose_what_was_not_saved(&j);
    pid_t receiver = receive_on(&j);
    assert_int_equal(process_wait(sender), 0);
    assert_true(is_at(&j, path));
    eventually(there(&j) == 0, 30000);
    end_receiver(receiver);
    free(path);
    end(&j);
}

static void what_cannot_be_sent_again_is_reported(void **state)
{
    (void)state;
    for (int stream = 0; stream < 2; stream++) {
        job j;
        start(&j);
        char *path = transfer_file(&j.p, "src/f", 100, 1);
        j.options.resume_ms = stream ? 0 : TKL_NONE;
        j.paths[0] = stream ? NULL : path;
        j.count = 1;
        pid_t sender = process_fork(send_in_child, &j);
        eventually(server_ask_int(j.server, "EXISTS tackle:files:{logs}:ends") == 1, 30000);
        eventually(listeners(&j) == 1, 30000);
        server_do(j.server, "FLUSHALL");
        server_do(j.server, "SPUBLISH tackle:files:{logs}:room x");
        assert_int_equal(process_wait(sender), 2);
        free(path);
        end(&j);
    }
}

/* Two processes make the same call: the first to be done leaves the other in no doubt. */
static void the_same_call_of_another_process_is_over_too(void **state)
{
    (void)state;
    job j;
    start(&j);
    char *path = transfer_file(&j.p, "src/f", 100, 1);
    j.paths[0] = path, j.count = 1;
    pid_t one = process_fork(send_in_child, &j);
    eventually(there(&j) == 1, 30000);
    pid_t other = process_fork(send_in_child, &j);
    eventually(listeners(&j) == 2, 30000);
    kill(other, SIGSTOP);
    pid_t receiver = receive_on(&j);
    assert_int_equal(process_wait(one), 0);
    end_receiver(receiver);
    kill(other, SIGCONT);
    assert_int_equal(process_wait(other), 0);
    free(path);
    end(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receiver_finds_new_files),
        cmocka_unit_test(a_receiver_is_done_again_with_files_that_are_back),
        cmocka_unit_test(a_receiver_keeps_its_name),
        cmocka_unit_test(a_receiver_that_is_ahead_says_so_again),
        cmocka_unit_test(a_receiver_that_was_done_says_so_again),
        cmocka_unit_test(a_receiver_finds_what_is_in_place),
        cmocka_unit_test(a_sender_that_took_over_goes_on),
        cmocka_unit_test(files_that_were_lost_are_sent_again),
        cmocka_unit_test(the_rest_of_a_file_is_sent_again),
        cmocka_unit_test(what_cannot_be_sent_again_is_reported),
        cmocka_unit_test(the_same_call_of_another_process_is_over_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
