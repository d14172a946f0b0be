/* SPDX-License-Identifier: MIT
 *
 * What every other header builds on: bytes, result codes, compiler contracts.
 */
#ifndef TACKLE_COMMON_H
#define TACKLE_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TKL_API          __attribute__((visibility("default")))
#define TKL_NONNULL(...) __attribute__((nonnull(__VA_ARGS__)))
#define TKL_CHECK        __attribute__((warn_unused_result))
#define TKL_SENTINEL     __attribute__((sentinel))
#define TKL_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define TKL_API
#define TKL_NONNULL(...)
#define TKL_CHECK
#define TKL_SENTINEL
#define TKL_PRINTF(f, a)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Any bytes: names, payloads, replies. `data` need not end in a NUL and may be
 * NULL when `len` is 0. */
typedef struct tkl_bytes {
    const char *data;
    size_t len;
} tkl_bytes;

/* A view of a NUL-terminated string; NULL gives empty bytes. */
TKL_API tkl_bytes tkl_str(const char *text);

/* Every result a call can have, in one list: name, value, text, exit-code class
 * in the command.  0 is done, positive an expected "no", negative an error.
 *
 * A caller that wants to know whether a request may have taken effect looks at
 * the code: TKL_ETIMEOUT, TKL_EUNKNOWN and TKL_EPROTO mean "sent, outcome unknown";
 * every other error means that it had no effect. */
#define TKL_CODES(X)                                                                \
    X(TKL_OK, 0, "done")                                                            \
    X(TKL_BUSY, 1, "held by somebody else")                                         \
    X(TKL_EMPTY, 2, "nothing there")                                                \
    X(TKL_LIMITED, 3, "limit reached, try later")                                   \
    X(TKL_NOTFOUND, 4, "not found")                                                 \
    X(TKL_FULL, 5, "full")                                                          \
    X(TKL_NOTOWNER, 6, "not held by this owner (any more)")                         \
    X(TKL_EXISTS, 7, "exists already")                                              \
    X(TKL_EINVAL, -1, "invalid argument")                                           \
    X(TKL_ENOMEM, -2, "out of memory")                                              \
    X(TKL_ENOTSENT, -3, "server not reached: nothing was sent")                     \
    X(TKL_ETIMEOUT, -4, "no reply in time: outcome unknown")                        \
    X(TKL_EUNKNOWN, -5, "connection lost after sending: outcome unknown")           \
    X(TKL_EREFUSED, -6, "refused by the server")                                    \
    X(TKL_EAUTH, -7, "wrong credentials or not permitted")                          \
    X(TKL_ETYPE, -8, "the key holds another type of value")                         \
    X(TKL_EOOM, -9, "the server is out of memory")                                  \
    X(TKL_EREADONLY, -10, "the server is a read-only replica")                      \
    X(TKL_EUNREADY, -11, "the server is not ready (loading, busy or cluster down)") \
    X(TKL_ECROSSSLOT, -12, "keys of one command live in different slots")           \
    X(TKL_EPROTO, -13, "the server broke the protocol")                             \
    X(TKL_ETLS, -14, "TLS failed")                                                  \
    X(TKL_ELOST, -15, "the lease was lost")                                         \
    X(TKL_ESPAWN, -16, "the private server could not be started")                   \
    X(TKL_EIO, -17, "file or system error")                                         \
    X(TKL_ENOSCRIPT, -18, "the server does not know this script")                   \
    X(TKL_EBUG, -19, "internal error in tackle")

typedef enum tkl_code {
#define TKL_CODE_ENUM(name, value, text) name = value,
    TKL_CODES(TKL_CODE_ENUM)
#undef TKL_CODE_ENUM
} tkl_code;

/* The fixed text of a code; never NULL. */
TKL_API const char *tkl_strerror(int code);

/* The name of a code, "TKL_BUSY"; never NULL. */
TKL_API const char *tkl_codename(int code);

/* What exactly went wrong in the calling thread's last call that returned a
 * negative code, on whichever client; never NULL, never holds a password. Valid until
 * the thread's next failing call. Works for a failed tkl_open() too. */
TKL_API const char *tkl_errmsg(void);

/* Names of locks, queues and the like: 1 to this many bytes, any bytes. */
#define TKL_NAME_MAX 65536

#ifdef __cplusplus
}
#endif
#endif
