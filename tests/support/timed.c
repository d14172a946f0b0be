/* SPDX-License-Identifier: MIT */
#include "support/timed.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "support/test.h"

/* Copies the library of the clock into this program's directory: the path of the build folder may
 * have blanks or colons, which separate names in LD_PRELOAD. */
static const char *clock_library(void)
{
    static char path[64];
    char chunk[65536];
    size_t n;
    if (*path != '\0')
        return path;
    snprintf(path, sizeof(path), "%s/clock.so", test_dir());
    FILE *from = fopen(TACKLE_TEST_CLOCK_LIBRARY, "re"), *to = fopen(path, "we");
    assert_true(from != NULL && to != NULL);
    while ((n = fread(chunk, 1, sizeof(chunk), from)) > 0)
        assert_int_equal(fwrite(chunk, 1, n, to), n);
    assert_int_equal(fclose(to), 0);
    fclose(from);
    return path;
}

timed_server *timed_start(const server_options *options)
{
    timed_server *t = calloc(1, sizeof(*t));
    assert_non_null(t);
    snprintf(t->file, sizeof(t->file), "%s/clock.%p", test_dir(), (void *)t);
    int fd = open(t->file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(int64_t)), 0);
    t->shift_us = mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(t->shift_us, MAP_FAILED);
    close(fd);
    setenv("TACKLE_TEST_CLOCK", t->file, 1);
    setenv("LD_PRELOAD", clock_library(), 1);
    t->server = server_start(options);
    unsetenv("LD_PRELOAD");
    unsetenv("TACKLE_TEST_CLOCK");
    return t;
}

void timed_end(timed_server *t)
{
    if (t == NULL)
        return;
    server_end(t->server);
    munmap((void *)t->shift_us, sizeof(int64_t));
    unlink(t->file);
    free(t);
}

static int64_t true_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t timed_now(const timed_server *t)
{
    return true_ms() + *t->shift_us / 1000;
}

void timed_set(timed_server *t, int64_t ms)
{
    *t->shift_us = (ms - true_ms()) * 1000;
}

void timed_shift(timed_server *t, int64_t ms)
{
    *t->shift_us += ms * 1000;
}

int64_t timed_hour(int64_t ms)
{
    return ms - ms % HOUR_MS;
}
