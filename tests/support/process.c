/* SPDX-License-Identifier: MIT */
#include "support/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

static bool mentions(const char *pid, const char *text)
{
    char line[8192];
    char *path = test_format("/proc/%s/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return false;
    ssize_t len = read(fd, line, sizeof line);
    close(fd);
    return len > 0 && memmem(line, (size_t)len, text, strlen(text)) != NULL;
}

static int visit_processes(const char *text, int signal)
{
    int count = 0;
    DIR *all = opendir("/proc");
    assert_non_null(all);
    for (struct dirent *entry; (entry = readdir(all)) != NULL;) {
        pid_t pid = atoi(entry->d_name);
        if (pid <= 0 || pid == getpid() || !mentions(entry->d_name, text))
            continue;
        count++;
        if (signal)
            kill(pid, signal);
    }
    closedir(all);
    return count;
}

int process_count(const char *text)
{
    return visit_processes(text, 0);
}

void process_signal(const char *text, int signal)
{
    visit_processes(text, signal);
}

/* Waits until read() says that the last process with the other end of the pipe is gone, then
 * kills. */
static void guard(int pipe_end, const char *text)
{
    char byte;
    setsid();
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    while (read(pipe_end, &byte, 1) < 0)
        continue;
    process_signal(text, SIGKILL);
    _exit(0);
}

void process_guard(const char *text)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ends[1]);
        guard(ends[0], text);
    }
    close(ends[0]);
}

pid_t process_fork(int (*body)(void *arg), void *arg)
{
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(getppid() == parent ? body(arg) : 127);
    }
    return pid;
}

int process_wait(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

long process_sleeps_in_a_second(void)
{
    struct rusage before, after;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    test_sleep_ms(1000);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    return after.ru_nvcsw - before.ru_nvcsw;
}

void process_script(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
}
