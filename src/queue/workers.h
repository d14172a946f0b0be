/* SPDX-License-Identifier: MIT
 *
 * Reads the description of a worker, for operators; introduce.c writes it.
 */
#ifndef TKL_QUEUE_WORKERS_H
#define TKL_QUEUE_WORKERS_H

#include "queue/partition.h"

/* Reads "THREADS DONE FAILED PID HOST PROGRAM LABEL" into the fields of these names, as views.
 * Leaves the worker unchanged when a number cannot be read. */
void tkl__queue_worker_read(tkl_bytes text, tkl_queue_worker *worker);
/* Copies the id of a worker; "" when the bytes are not an id. */
void tkl__queue_worker_id(tkl_bytes digits, char id[TKL_WORKER_ID_SIZE]);

#endif
