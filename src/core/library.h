/* SPDX-License-Identifier: MIT
 *
 * The function libraries that tackle loads on servers: one for each component, made from its .lua
 * files at build time. Their names contain a hash of their text, so programs of different versions
 * each find the functions they were built with.
 *
 * When a server answers that it does not have a function, the client loads the library there.
 * Servers replicate and save libraries, so this happens once in the life of a server. A full server
 * loads nothing: then a function that frees memory, or only reads, is run from the text of its
 * library.
 */
#ifndef TKL_CORE_LIBRARY_H
#define TKL_CORE_LIBRARY_H

#include <tackle/client.h>

#include "core/buf.h"

/* Maps lines of a library to lines of a file: `library_line` of the library is `file_line` of the
 * file, and so on until the next origin. */
typedef struct tkl__origin {
    int library_line; /* 0: the end of the list */
    const char *file;
    int file_line;
} tkl__origin;

typedef struct tkl__library {
    const char *name; /* "tackle_lock_0123456789" */
    const char *source;
    size_t len;
    const tkl__origin *origins; /* the first begins at line 1 */
} tkl__library;

typedef struct tkl__script {
    const char *name;     /* "lock/acquire" */
    const char *function; /* "tackle_lock_acquire_0123456789" */
    const tkl__library *library;
    int nkeys;      /* declared in the header block; the minimum when open_keys */
    int nargs;      /* ditto */
    bool open_keys; /* "KEYS[n...]": more may follow */
    bool open_args; /* "ARGV[n...]": ditto */
    bool no_writes; /* flags: see tools/embed */
    bool allow_oom;
} tkl__script;

/* Whether this is the name of a tackle library, of any version: "tackle_lock_0123456789". Other
 * libraries may also have names that begin with "tackle_". */
bool tkl__is_library_name(const char *name);

/* Whether a server answered that it does not have the function. */
bool tkl__is_unknown_function(const tkl_reply *reply);

/* Writes the command that loads a library. A request that needs the library is sent right behind
 * it, in one write: another client that removes the functions seldom comes in between. */
void tkl__library_wire(tkl__buf *out, const tkl__library *library);

/* Takes over the reply to that command. Returns it when the server refused; NULL: the server has
 * the library. */
tkl_reply *tkl__library_refusal(tkl_reply *reply, const tkl__library *library);

/* Whether the function may still run on a server that refused to load the library: because it is
 * full, or, for a function that only reads, because it accepts no writes. */
bool tkl__runs_when_full(const tkl__script *script, const tkl_reply *refusal);

/* Turns the command `wire`, "FCALL function numkeys ...", into one that carries the text of the
 * library. */
void tkl__wire_with_source(tkl__buf *out, const tkl__script *script, tkl_bytes wire);

/* Makes an error reply of a function readable: names the line of the .lua file instead of the line
 * of the library, and removes details that only the server knows. */
void tkl__explain_error(tkl_reply *reply, const tkl__script *script);

#endif
