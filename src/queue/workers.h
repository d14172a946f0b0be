/* SPDX-License-Identifier: MIT
 *
 * The description that a worker gives of itself, as operators read it; introduce.c writes it.
 */
#ifndef TKL_QUEUE_WORKERS_H
#define TKL_QUEUE_WORKERS_H

#include "queue/partition.h"

/* Reads "THREADS DONE FAILED PID HOST PROGRAM LABEL" into the fields of these names, as views. What
 * cannot be read stays as it was. */
void tkl__queue_worker_read(tkl_bytes text, tkl_queue_worker *worker);
/* Copies the id of a worker; "" when the bytes are none. */
void tkl__queue_worker_id(tkl_bytes digits, char id[TKL_WORKER_ID_SIZE]);

#endif
