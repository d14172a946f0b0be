/* SPDX-License-Identifier: MIT */
#include "core/thread.h"

#include <signal.h>

#include "core/error.h"

int tkl__thread_start(pthread_t *thread, void *(*body)(void *), void *arg, const char *purpose)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? TKL_OK : tkl__fail(TKL_ENOMEM, "no thread for %s", purpose);
}
