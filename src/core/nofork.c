/* SPDX-License-Identifier: MIT */
#include "core/nofork.h"

#include <pthread.h>

/* Threads inside are the readers, fork() is the writer. The writer goes first; otherwise steady
 * traffic would keep it out. */
static pthread_rwlock_t inside = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

void tkl__nofork_enter(void)
{
    pthread_rwlock_rdlock(&inside);
}

void tkl__nofork_leave(void)
{
    pthread_rwlock_unlock(&inside);
}

void tkl__nofork_lock(void)
{
    pthread_rwlock_wrlock(&inside);
}

void tkl__nofork_unlock(void)
{
    pthread_rwlock_unlock(&inside);
}

/* In the child: the lock belongs to a thread of the parent and cannot be unlocked here, so it is
 * initialized again. */
void tkl__nofork_reset(void)
{
    inside = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
}
