/* SPDX-License-Identifier: MIT
 *
 * The library's own threads.
 */
#ifndef TKL_CORE_THREAD_H
#define TKL_CORE_THREAD_H

#include <pthread.h>

/* Starts a thread that handles no signals: they belong to the program. `purpose` is for the error
 * text. */
int tkl__thread_start(pthread_t *thread, void *(*body)(void *), void *arg, const char *purpose);

#endif
