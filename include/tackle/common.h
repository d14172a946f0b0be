/* SPDX-License-Identifier: MIT
 *
 * The basis of all other headers: bytes, result codes, compiler contracts.
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

/* In options: "none" or "no limit". 0 means the default. */
#define TKL_NONE (-1)

/* Room at the end of a struct for later versions. The caller must leave it zero (else TKL_EINVAL);
 * the library writes zeros into it. */
#define TKL_RESERVED(n) uint64_t reserved[n]

/* Any bytes: names, payloads, replies. `data` need not end in a NUL and may be
 * NULL when `len` is 0. This struct is frozen. */
typedef struct tkl_bytes {
    const char *data;
    size_t len;
} tkl_bytes;

/* A view of a NUL-terminated string; NULL gives empty bytes. */
TKL_API tkl_bytes tkl_str(const char *text);

/* A constant: static const tkl_bytes name = TKL_LIT("alice"). */
#define TKL_LIT(text)            \
    {                            \
        (text), sizeof(text) - 1 \
    }

/* printf("name: " TKL_FMT "\n", TKL_ARG(name)) */
#define TKL_FMT        "%.*s"
#define TKL_ARG(bytes) (int)(bytes).len, (bytes).data ? (bytes).data : ""

/* All results of all calls: name, value, exit code of the command, text. 0 means done, a positive
 * code is an expected "no", a negative code is an error.
 *
 * tkl_is_unknown() says whether a failed request may have taken effect. */
#define TKL_CODES(X)                                                                    \
    X(TKL_OK, 0, 0, "done")                                                             \
    X(TKL_BUSY, 1, 1, "held by another owner")                                          \
    X(TKL_EMPTY, 2, 1, "nothing there")                                                 \
    X(TKL_LIMITED, 3, 1, "limit reached, try later")                                    \
    X(TKL_NOTFOUND, 4, 1, "not found")                                                  \
    X(TKL_FULL, 5, 1, "full")                                                           \
    X(TKL_NOTOWNER, 6, 1, "not held by this owner (any more)")                          \
    X(TKL_EXISTS, 7, 1, "exists already")                                               \
    X(TKL_DEAD, 8, 1, "failed for good")                                                \
    X(TKL_CONFLICT, 9, 1, "changed meanwhile by another caller")                        \
    X(TKL_EINVAL, -1, 64, "invalid argument")                                           \
    X(TKL_ENOMEM, -2, 70, "out of memory")                                              \
    X(TKL_ENOTSENT, -3, 69, "server not reached: nothing was sent")                     \
    X(TKL_ETIMEOUT, -4, 69, "no reply in time: outcome unknown")                        \
    X(TKL_EUNKNOWN, -5, 69, "connection lost after sending: outcome unknown")           \
    X(TKL_EREFUSED, -6, 70, "refused by the server")                                    \
    X(TKL_EAUTH, -7, 77, "wrong credentials or not permitted")                          \
    X(TKL_ETYPE, -8, 70, "the key holds another type of value")                         \
    X(TKL_EOOM, -9, 70, "the server is out of memory")                                  \
    X(TKL_EREADONLY, -10, 69, "the server is a read-only replica")                      \
    X(TKL_EUNREADY, -11, 69, "the server is not ready (loading, busy or cluster down)") \
    X(TKL_ECROSSSLOT, -12, 70, "keys of one command live in different slots")           \
    X(TKL_EPROTO, -13, 70, "the server broke the protocol")                             \
    X(TKL_ETLS, -14, 70, "TLS failed")                                                  \
    X(TKL_ELOST, -15, 70, "the lease was lost")                                         \
    X(TKL_ESPAWN, -16, 69, "the private server could not be started")                   \
    X(TKL_EIO, -17, 70, "file or system error")                                         \
    X(TKL_ENOSCRIPT, -18, 70, "the server does not know this script")                   \
    X(TKL_EBUG, -19, 70, "internal error in tackle")                                    \
    X(TKL_EINTR, -20, 70, "interrupted")                                                \
    X(TKL_EDAMAGED, -21, 70, "stored data is damaged")

typedef enum tkl_code {
#define TKL_CODE_ENUM(name, value, exit, text) name = value,
    TKL_CODES(TKL_CODE_ENUM)
#undef TKL_CODE_ENUM
} tkl_code;

/* True when the request was sent and its outcome is unknown (TKL_ETIMEOUT, TKL_EUNKNOWN,
 * TKL_EPROTO). After every other error the request had no effect. */
TKL_API bool tkl_is_unknown(int code);

/* True when the same call may succeed later: the server was not reached, not ready, full of data,
 * or did not answer in time. */
TKL_API bool tkl_is_transient(int code);

/* The fixed text of a code; never NULL. */
TKL_API const char *tkl_strerror(int code);

/* The name of a code, "TKL_BUSY"; never NULL. */
TKL_API const char *tkl_codename(int code);

/* The reason why the calling thread's last call, on any client, did not return TKL_OK. After a
 * batch it is the first failure, whose code was returned: the first error, or else the first "no".
 * Never NULL, never about an earlier call, never with a password in it. Valid until the thread's
 * next call. Works for a failed tkl_open() too. */
TKL_API const char *tkl_errmsg(void);

/* The result of a call with its reason: a value that can be copied, kept, and given to another
 * thread. This struct is frozen. */
#define TKL_ERROR_TEXT_SIZE 1024 /* the longest text, with its NUL */
typedef struct tkl_error {
    int code;
    char text[TKL_ERROR_TEXT_SIZE]; /* "" for TKL_OK */
} tkl_error;

/* Notes that the calling thread's last call returned `code`, with the text of tkl_errmsg(). */
TKL_API void tkl_error_last(int code, tkl_error *error) TKL_NONNULL(2);

/* A token proves that its owner holds or has something: 32 hex digits (but see tkl_job), 128 bits. */
#define TKL_TOKEN_SIZE 33

/* By the server's clock, from one full hour (UTC) to the next. */
typedef enum tkl_hour {
    TKL_HOUR_THIS = 0,
    TKL_HOUR_LAST = 1,
    TKL_HOUR_BOTH = 2,    /* both hours together, where a function allows it */
    TKL_HOUR_SLIDING = 3, /* the last 60 minutes; for logs */
} tkl_hour;

TKL_API const char *tkl_hour_name(tkl_hour hour); /* "this" */

/* A setting that something on the server keeps from its first write on. */
typedef enum tkl_setting {
    TKL_SETTING_OFF = -1,  /* it must not have the setting */
    TKL_SETTING_AS_IS = 0, /* its own setting, as this handle last saw it; a new one does not have
                              it */
    TKL_SETTING_ON = 1,    /* it must have the setting; a new one has it */
} tkl_setting;

TKL_API const char *tkl_setting_name(tkl_setting setting); /* "off" */

/* Makes a call, and returns its code from the function around it unless that is TKL_OK: an error, or
 * a "no". For functions that return a code and have nothing to free:
 *
 *     TKL_TRY(tkl_counter_add(hits, 1)); */
#define TKL_TRY(call)               \
    do {                            \
        int tkl_try_code = (call);  \
        if (tkl_try_code != TKL_OK) \
            return tkl_try_code;    \
    } while (0)

/* Longest name of a lock, queue and the like. Names are 1 to this many bytes, any bytes. */
#define TKL_NAME_MAX 65536

/* Names found on the server, sorted, each once. One object: free it with tkl_names_free(). */
typedef struct tkl_names {
    const tkl_bytes *items;
    size_t count;
} tkl_names;

TKL_API void tkl_names_free(tkl_names *names); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
