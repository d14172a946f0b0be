/* SPDX-License-Identifier: MIT */
#include "support/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tackle/semaphore.h>

#include "support/test.h"

#define FLAG       "--peer"
#define PATIENCE_S 60

/* ---- In the other process ------------------------------------------------ */

typedef struct holder {
    tkl_lock *lock;     /* or */
    tkl_semaphore *sem; /* one of them is NULL */
} holder;

static int obey(holder *h, const char *command)
{
    int64_t ms = 0;
    if (sscanf(command, "acquire %" SCNd64, &ms) == 1)
        return h->lock ? tkl_lock_acquire(h->lock, ms) : tkl_semaphore_acquire(h->sem, ms);
    if (sscanf(command, "renew %" SCNd64, &ms) == 1)
        return h->lock ? tkl_lock_renew(h->lock, ms) : tkl_semaphore_renew(h->sem, ms);
    if (strncmp(command, "release", 7) == 0)
        return h->lock ? tkl_lock_release(h->lock) : tkl_semaphore_release(h->sem);
    return strncmp(command, "look", 4) == 0 ? TKL_OK : TKL_EBUG;
}

static void report_state(const holder *h, int rc)
{
    uint64_t fence = h->lock ? tkl_lock_fence(h->lock) : tkl_semaphore_fence(h->sem);
    int state = (int)(h->lock ? tkl_lock_state(h->lock) : tkl_semaphore_state(h->sem));
    printf("%d %" PRIu64 " %d\n", rc, fence, state);
    fflush(stdout);
}

bool peer_called(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], FLAG) == 0;
}

/* FLAG url name limit ttl shared auto_renew */
int peer_main(char **argv)
{
    tkl_client *client;
    holder h = {NULL, NULL};
    char command[64];
    int64_t limit = atoll(argv[4]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    tkl_lock_options lock = {
        .lease_ms = atoll(argv[5]), .shared = argv[6][0] == '1', .auto_renew = argv[7][0] == '1'};
    tkl_semaphore_options sem = {.lease_ms = lock.lease_ms, .auto_renew = lock.auto_renew};
    if (tkl_open(argv[2], NULL, &client) != TKL_OK)
        return 2;
    int rc = limit > 0 ? tkl_semaphore_open(client, tkl_str(argv[3]), limit, &sem, &h.sem)
                       : tkl_lock_open(client, tkl_str(argv[3]), &lock, &h.lock);
    while (rc == TKL_OK && fgets(command, sizeof(command), stdin) != NULL)
        report_state(&h, obey(&h, command));
    tkl_lock_close(h.lock);
    tkl_semaphore_close(h.sem);
    tkl_close(client);
    return rc == TKL_OK ? 0 : 2;
}

/* ---- In the test --------------------------------------------------------- */

extern char **environ;

static pid_t spawn(char **argv, int in, int out)
{
    pid_t pid;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    int error = posix_spawnp(&pid, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (error)
        fail_msg("%s: %s", argv[0], strerror(error));
    return pid;
}

/* faketime and sanitizers cannot both come first. */
bool peer_can_fake_clock(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return false;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
    return false;
#endif
#endif
    return system("[ $(LD_PRELOAD='" PEER_FAKETIME "' FAKETIME=+10000s date +%s) -gt "
                  "$(($(date +%s) + 5000)) ]") == 0;
}

/* Sets the variables itself: faketime(1) leaves files in /dev/shm when it is killed. */
void peer_fake_clock(int64_t clock_ms)
{
    char offset[32];
    snprintf(offset, sizeof(offset), "%+" PRId64 "s", clock_ms / 1000);
    setenv("LD_PRELOAD", PEER_FAKETIME, 1);
    setenv("FAKETIME", offset, 1);
    setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1", 1); /* as it is on a real machine */
}

peer *peer_start(const peer_options *o)
{
    char self[512], limit[24], ttl[24];
    int in[2], out[2];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    assert_true(len > 0);
    self[len] = '\0';
    snprintf(limit, sizeof(limit), "%" PRId64, o->limit);
    snprintf(ttl, sizeof(ttl), "%" PRId64, o->lease_ms);
    char *argv[] = {self,  FLAG, (char *)o->url,        (char *)o->name,
                    limit, ttl,  o->shared ? "1" : "0", o->auto_renew ? "1" : "0",
                    NULL};
    peer *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    if (o->clock_ms)
        peer_fake_clock(o->clock_ms);
    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    p->pid = spawn(argv, in[0], out[1]);
    unsetenv("LD_PRELOAD");
    p->to = in[1];
    p->from = out[0];
    close(in[0]);
    close(out[1]);
    return p;
}

void peer_remove_faked(pid_t pid)
{
    char name[64];
    snprintf(name, sizeof(name), "/faketime_shm_%ld", (long)pid);
    shm_unlink(name);
    snprintf(name, sizeof(name), "/faketime_sem_%ld", (long)pid);
    sem_unlink(name);
}

void peer_signal(peer *p, int signal)
{
    assert_int_equal(kill(p->pid, signal), 0);
    if (signal != SIGKILL)
        return;
    while (waitpid(p->pid, NULL, 0) < 0)
        assert_int_equal(errno, EINTR);
    peer_remove_faked(p->pid);
    p->pid = 0;
}

void peer_end(peer *p)
{
    if (p == NULL)
        return;
    if (p->pid != 0)
        peer_signal(p, SIGKILL);
    close(p->to);
    close(p->from);
    free(p);
}

void peer_tell(peer *p, const char *command)
{
    dprintf(p->to, "%s\n", command);
}

bool peer_answers(peer *p, int64_t ms)
{
    struct pollfd file = {.fd = p->from, .events = POLLIN};
    int64_t until = test_now_ms() + ms;
    for (;;) {
        int64_t left = until - test_now_ms();
        int n = poll(&file, 1, left > 0 ? (int)left : 0);
        if (n > 0 || (n == 0 && left <= 0))
            return n > 0;
    }
}

int peer_hear(peer *p)
{
    char line[128];
    size_t len = 0;
    int rc, state;
    while (len == 0 || line[len - 1] != '\n') {
        if (!peer_answers(p, PATIENCE_S * 1000) || len + 1 >= sizeof(line))
            fail_msg("no answer from the other process");
        ssize_t n = read(p->from, line + len, 1);
        if (n <= 0)
            fail_msg("the other process has ended");
        len += (size_t)n;
    }
    line[len] = '\0';
    assert_int_equal(sscanf(line, "%d %" SCNu64 " %d", &rc, &p->fence, &state), 3);
    p->state = (tkl_hold_state)state;
    return rc;
}

int peer_do(peer *p, const char *command)
{
    peer_tell(p, command);
    return peer_hear(p);
}
