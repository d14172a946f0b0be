/* SPDX-License-Identifier: MIT */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tackle/common.h>

int64_t test_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void test_sleep_ms(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

/* Whether this is the source text of a call of a public function: then tkl_errmsg() is about it. A
 * reply has a text of its own. */
static bool is_public_call(const char *what)
{
    return strncmp(what, "tkl_", 4) == 0 && what[4] != '_' &&
           strncmp(what, "tkl_reply_", 10) != 0 && strchr(what, '(') != NULL &&
           what[strlen(what) - 1] == ')';
}

void test_assert_code(int got, int expected, const char *what, const char *file, int line)
{
    if (got == expected && got != TKL_OK && is_public_call(what) && !*tkl_errmsg()) {
        print_error("%s\n  got %s without a text in tkl_errmsg(): the library returns such a code "
                    "by tkl__no() or tkl__fail()\n",
                    what, tkl_codename(got));
        _fail(file, line);
    }
    if (got == expected)
        return;
    print_error("%s\n  expected %s, got %s", what, tkl_codename(expected), tkl_codename(got));
    print_error("%s%s\n", got < 0 ? ": " : "", got < 0 ? tkl_errmsg() : "");
    _fail(file, line);
}

void test_assert_contains(const char *text, const char *part, const char *file, int line)
{
    if (text != NULL && strstr(text, part) != NULL)
        return;
    print_error("\"%s\" is not in \"%s\"\n", part, text != NULL ? text : "(null)");
    _fail(file, line);
}

void test_assert_lacks(const char *text, const char *part, const char *file, int line)
{
    if (text != NULL && strstr(text, part) == NULL)
        return;
    print_error("\"%s\" is in \"%s\"\n", part, text != NULL ? text : "(null)");
    _fail(file, line);
}

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    HAS_FEATURE(address_sanitizer) || HAS_FEATURE(thread_sanitizer)
#define UNDER_SANITIZERS true
#else
#define UNDER_SANITIZERS false
#endif

void skip_under_sanitizers(void)
{
    if (!UNDER_SANITIZERS)
        return;
    print_message("skipped: sanitizers' own locks are not made for fork() beside threads\n");
    skip();
}

char *test_format(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = NULL;
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0)
        abort();
    return text;
}

/* ---- Threads ------------------------------------------------------------- */

typedef struct hand {
    pthread_t thread;
    crew_fn *fn;
    void *arg;
    int index;
} hand;

struct crew {
    int count;
    hand hands[];
};

static void *hand_main(void *arg)
{
    hand *self = arg;
    self->fn(self->arg, self->index);
    return NULL;
}

crew *crew_start(int count, crew_fn *fn, void *arg)
{
    crew *threads = malloc(sizeof(crew) + (size_t)count * sizeof(hand));
    assert_non_null(threads);
    threads->count = count;
    for (int i = 0; i < count; i++) {
        threads->hands[i] = (hand){.fn = fn, .arg = arg, .index = i};
        assert_int_equal(
            pthread_create(&threads->hands[i].thread, NULL, hand_main, &threads->hands[i]), 0);
    }
    return threads;
}

void crew_join(crew *threads)
{
    for (int i = 0; i < threads->count; i++)
        pthread_join(threads->hands[i].thread, NULL);
    free(threads);
}

void crew_run(int count, crew_fn *fn, void *arg)
{
    crew_join(crew_start(count, fn, arg));
}

/* ---- Directories --------------------------------------------------------- */

static char base_dir[32] = "/tmp/tackle-test.XXXXXX";

/* Becomes a shell that waits until the last process with the other end of the pipe is gone, and
 * then cleans up. So even a test that crashes or is killed leaves nothing behind. */
static void become_janitor(int pipe_end)
{
    static const char script[] =
        "cat; for i in 1 2 3 4 5; do rm -rf \"$1\" 2>/dev/null && exit; sleep 0.3; done";
    setsid();
    dup2(pipe_end, 0);
    int null = open("/dev/null", O_WRONLY);
    dup2(null, 1);
    dup2(null, 2);
    execl("/bin/sh", "sh", "-c", script, "sh", base_dir, (char *)NULL);
    _exit(127);
}

static void make_base_dir(void)
{
    int ends[2];
    if (mkdtemp(base_dir) == NULL || pipe2(ends, O_CLOEXEC) != 0) {
        perror("test directory");
        abort();
    }
    if (fork() == 0)
        become_janitor(ends[0]);
    close(ends[0]);
}

const char *test_dir(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_base_dir);
    return base_dir;
}

void test_make_dir(char *path, size_t size)
{
    static int count;
    snprintf(path, size, "%s/%d", test_dir(), __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED));
    assert_int_equal(mkdir(path, 0700), 0);
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info, (void)type, (void)where;
    remove(path);
    return 0;
}

void test_remove_dir(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Leaves out the register of names in most tests, which count the keys of one component. Tests of
 * the register, and those of the command, keep it. */
__attribute__((constructor)) static void leave_out_register(void)
{
    setenv("TACKLE_REGISTER", "no", 0);
}
