/* SPDX-License-Identifier: MIT */
#include "core/identity.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static void make_printable(char *text)
{
    for (char *c = text; *c; c++)
        if (*c <= ' ' || *c > '~' || *c == ':')
            *c = '_';
}

/* Asks again each time: a forked child has another pid, and a host may be renamed. */
tkl__identity tkl__identity_get(void)
{
    tkl__identity me = {.pid = (long)getpid()};
    const char *program = program_invocation_short_name;
    snprintf(me.program, sizeof me.program, "%s", program && *program ? program : "unknown");
    if (gethostname(me.host, sizeof me.host - 1) != 0 || !*me.host)
        snprintf(me.host, sizeof me.host, "unknown");
    me.host[sizeof me.host - 1] = '\0';
    make_printable(me.program);
    make_printable(me.host);
    return me;
}

void tkl__identity_name(char name[TKL__IDENTITY_NAME_SIZE])
{
    tkl__identity me = tkl__identity_get();
    snprintf(name, TKL__IDENTITY_NAME_SIZE, "tackle:%s:%s:%ld", me.program, me.host, me.pid);
}
