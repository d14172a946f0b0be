/* SPDX-License-Identifier: MIT */
#include "core/library.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/reply.h"
#include "core/resp.h"

static bool error_begins(const tkl_reply *reply, const char *words)
{
    return tkl_reply_type_of(reply) == TKL_REPLY_ERROR &&
           strncmp(tkl_reply_str(reply), words, strlen(words)) == 0;
}

bool tkl__is_unknown_function(const tkl_reply *reply)
{
    return error_begins(reply, "ERR Function not found");
}

bool tkl__is_library_name(const char *name)
{
    enum { HASH_DIGITS = 10 }; /* must match tools/embed */
    size_t len = strlen(name), start = strlen("tackle_");
    return strncmp(name, "tackle_", start) == 0 && len > start + 1 + HASH_DIGITS &&
           name[len - HASH_DIGITS - 1] == '_' &&
           strspn(name + len - HASH_DIGITS, "0123456789abcdef") == HASH_DIGITS;
}

/* ---- Loading ------------------------------------------------------------- */

/* Another client loaded the library first. */
static bool is_there_already(const tkl_reply *reply)
{
    return error_begins(reply, "ERR Library '") && strstr(tkl_reply_str(reply), "already exists");
}

/* Adds to the refusal what a user without the permission can do. */
static void explain_refusal(tkl_reply *refusal, const tkl__library *library)
{
    if (tkl_reply_code(refusal) != TKL_EAUTH)
        return;
    tkl__buf said;
    tkl__buf_init(&said);
    tkl__buf_addf(
        &said,
        "%s: this server does not have the functions %s yet. Permit +function|load, or let "
        "an administrator run: tackle server functions --load",
        tkl_reply_str(refusal), library->name);
    if (!said.failed)
        tkl__reply_say(refusal, (tkl_bytes){said.data, said.len});
    tkl__buf_free(&said);
}

void tkl__library_wire(tkl__buf *out, const tkl__library *library)
{
    tkl__resp_head(out, 3);
    tkl__resp_argz(out, "FUNCTION");
    tkl__resp_argz(out, "LOAD");
    tkl__resp_arg(out, library->source, library->len);
}

tkl_reply *tkl__library_refusal(tkl_reply *reply, const tkl__library *library)
{
    if (tkl_reply_type_of(reply) == TKL_REPLY_ERROR && !is_there_already(reply)) {
        explain_refusal(reply, library);
        return reply;
    }
    tkl_reply_free(reply);
    return NULL;
}

/* ---- Full servers -------------------------------------------------------- */

bool tkl__runs_when_full(const tkl__script *script, const tkl_reply *refusal)
{
    bool no_writes_now = error_begins(refusal, "READONLY") || error_begins(refusal, "NOREPLICAS") ||
                         error_begins(refusal, "MISCONF");
    if (script->no_writes && no_writes_now)
        return true;
    return tkl_reply_code(refusal) == TKL_EOOM && (script->allow_oom || script->no_writes);
}

/* Skips `count` words of a request: a line "$len\r\n" and the bytes that it announces. */
static const char *skip_words(const char *at, int count)
{
    for (; count > 0; count--) {
        long len = strtol(at + 1, NULL, 10); /* "$5" */
        at = strchr(at, '\n') + 1 + len + 2;
    }
    return at;
}

static const char *next_line(const char *text)
{
    return strchr(text, '\n') + 1;
}

void tkl__wire_with_source(tkl__buf *out, const tkl__script *script, tkl_bytes wire)
{
    const char *head_end = next_line(wire.data);
    const char *rest = skip_words(head_end, 2);
    const char *body = next_line(next_line(script->library->source));
    tkl__buf text;
    tkl__buf_init(&text);
    /* As many lines as the library has before its body, so that line numbers in errors stay
     * right. */
    tkl__buf_addf(&text,
                  "#!lua flags=%s\n"
                  "local wanted local function register(f) "
                  "if f.function_name == '%s' then wanted = f.callback end end\n",
                  script->no_writes ? "no-writes" : "allow-oom", script->function);
    tkl__buf_add(&text, body, script->library->len - (size_t)(body - script->library->source));
    tkl__buf_addz(&text, "return wanted(KEYS, ARGV)\n");
    tkl__buf_add(out, wire.data, (size_t)(head_end - wire.data));
    tkl__resp_argz(out, "EVAL");
    tkl__resp_arg(out, text.data, text.len);
    tkl__buf_add(out, rest, wire.len - (size_t)(rest - wire.data));
    out->failed |= text.failed;
    tkl__buf_free(&text);
}

/* ---- Errors -------------------------------------------------------------- */

/* Removes what servers add, " script: <function>, on @user_function:31.": callers do not know that
 * function. */
static void cut_function(tkl_reply *reply)
{
    const char *text = tkl_reply_str(reply), *at = strstr(text, " script: ");
    if (at && strstr(at, ", on "))
        tkl__reply_cut(reply, (size_t)(at - text));
}

/* Finds the part of the library that contains this line. */
static const tkl__origin *origin_of(const tkl__library *library, int library_line)
{
    const tkl__origin *at = library->origins;
    while (at[1].library_line > 0 && at[1].library_line <= library_line)
        at++;
    return at;
}

/* Turns "user_function:31: ..." into "hold/hold.inc.lua:12: ...", the line in the source. */
static void name_line(tkl_reply *reply, const tkl__library *library)
{
    static const char *const marks[] = {"user_function:", "user_script:"};
    const char *text = tkl_reply_str(reply), *at = NULL;
    size_t len = 0;
    for (size_t i = 0; !at && i < sizeof marks / sizeof *marks; i++) {
        at = strstr(text, marks[i]);
        len = strlen(marks[i]);
    }
    char *end;
    long number = at ? strtol(at + len, &end, 10) : 0;
    if (number < 1 || number > INT_MAX)
        return;
    const tkl__origin *origin = origin_of(library, (int)number);
    tkl__buf said;
    tkl__buf_init(&said);
    tkl__buf_add(&said, text, (size_t)(at - text));
    tkl__buf_addf(&said, "%s:%ld%s", origin->file,
                  number - origin->library_line + origin->file_line, end);
    if (!said.failed)
        tkl__reply_say(reply, (tkl_bytes){said.data, said.len});
    tkl__buf_free(&said);
}

void tkl__explain_error(tkl_reply *reply, const tkl__script *script)
{
    if (tkl_reply_type_of(reply) != TKL_REPLY_ERROR)
        return;
    cut_function(reply);
    name_line(reply, script->library);
}
