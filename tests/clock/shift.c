/* SPDX-License-Identifier: MIT
 *
 * Preloaded into a server, it shifts the server's wall clock by the microseconds in the file that
 * $TACKLE_TEST_CLOCK names, at any time while the server runs. The monotonic clock stays true.
 *
 * It makes system calls of its own: looking up the C library's functions allocates memory, and the
 * allocator of the servers asks for the time while it starts.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND_US INT64_C(1000000)

static int64_t shift_us(void)
{
    static const volatile int64_t *shift;
    if (!shift) {
        const char *path = getenv("TACKLE_TEST_CLOCK");
        int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (fd < 0)
            return 0;
        void *page = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, fd, 0);
        close(fd);
        if (page == MAP_FAILED)
            return 0;
        shift = page;
    }
    return *shift;
}

static int64_t now_us(void)
{
    struct timespec t = {0};
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * SECOND_US + t.tv_nsec / 1000 + shift_us();
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)
        return (int)syscall(SYS_clock_gettime, id, t);
    int64_t us = now_us();
    t->tv_sec = (time_t)(us / SECOND_US);
    t->tv_nsec = (long)(us % SECOND_US * 1000);
    return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    (void)zone;
    int64_t us = now_us();
    t->tv_sec = (time_t)(us / SECOND_US);
    t->tv_usec = (suseconds_t)(us % SECOND_US);
    return 0;
}

time_t time(time_t *t)
{
    time_t seconds = (time_t)(now_us() / SECOND_US);
    if (t)
        *t = seconds;
    return seconds;
}
