/* SPDX-License-Identifier: MIT */
#include "nearest.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST = 32 }; /* no name of ours is longer */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn one into the other. */
static size_t distance(const char *a, const char *b)
{
    size_t cost[LONGEST + 1][LONGEST + 1];
    size_t rows = strlen(a), columns = strlen(b);
    for (size_t i = 0; i <= rows; i++)
        for (size_t j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            size_t replace = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            cost[i][j] = smaller(replace, smaller(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = smaller(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    return cost[rows][columns];
}

void cli_nearest(cli_nearness *suggestion, const char *name)
{
    size_t len = strlen(suggestion->word);
    if (len > LONGEST || strlen(name) > LONGEST)
        return;
    size_t far = distance(suggestion->word, name);
    if (far > 1 && far > len / 3)
        return;
    if (suggestion->best == NULL || far < suggestion->distance) {
        suggestion->best = name;
        suggestion->distance = far;
    }
}

/* Names of commands, verbs and options, and what they are called elsewhere. Where a component has
 * several of the names for one word, the first in this list is offered. */
static const struct {
    const char *name;
    const char *others; /* with a blank before and after each */
} known[] = {
    {"reserve", " create new make init "},
    {"exists", " check contains has test "},
    {"end", " logout revoke invalidate close "},
    {"drop", " delete del rm destroy clear flush purge remove unlink "},
    {"remove", " delete del rm erase unlink discard "},
    {"claim", " pop take get reserve fetch receive dequeue next "},
    {"pop", " take get dequeue receive shift next "},
    {"fetch", " get read receive pop inbox "},
    {"push", " add put enqueue send submit publish insert dispatch produce "},
    {"add", " put insert push create set index append incr inc increment "},
    {"work", " consume process run worker listen subscribe "},
    {"send", " post publish push write mail put upload "},
    {"ack", " done complete finish acknowledge confirm delete "},
    {"fail", " nack reject "},
    {"dead", " failed buried dlq errors "},
    {"retry", " requeue kick again redrive "},
    {"drain", " empty truncate purge "},
    {"cancel", " abort kill delete remove "},
    {"status", " info show state "},
    {"stats", " info status count length len size show "},
    {"show", " info status get describe stats who "},
    {"list", " ls all names keys index "},
    {"acquire", " lock take get obtain grab "},
    {"release", " unlock free give return "},
    {"renew", " extend refresh touch keepalive heartbeat "},
    {"break", " force unlock steal delete reset "},
    {"run", " exec with wrap do elect campaign stand "},
    {"check", " test try take allow hit consume "},
    {"publish", " pub emit send push post "},
    {"follow", " subscribe sub listen consume tail watch "},
    {"receive", " download get fetch pull "},
    {"reset", " clear delete drop "},
    {"count", " size length len card total "},
    {"query", " find search select "},
    {"find", " search query lookup get "},
    {"complete", " autocomplete suggest prefix "},
    {"lookup", " find get query search "},
    {"near", " nearby radius around within search "},
    {"record", " add observe time write "},
    {"write", " add append log send "},
    {"set", " put write store update "},
    {"series", " get show history graph "},
    {"recent", " tail last list show "},
    {"start", " up run launch "},
    {"stop", " down shutdown kill end "},
    {"mark", " add set touch seen "},
    {"create", " new make add open login "},
    {"priority", " prio importance weight "},
    {"lease", " ttl expire expiry expires timeout duration visibility "},
    {"ttl", " expire expiry expires expiration "},
    {"wait", " block timeout "},
    {"count", " limit max number n "},
    {"first", " left front head "},
    {"last", " right back tail "},
    {"using", " kind type "},
    {"days-ago", " day days date "},
    {"delay", " in after later "},
    {"attempts", " retries tries max-attempts "},
    {"concurrency", " workers threads parallel jobs "},
    {"jobs", " workers threads parallel concurrency "},
    {"namespace", " prefix ns "},
    {"url", " uri host server redis connect "},
    {"cacert", " ca cafile tls-ca-file "},
    {"insecure", " no-verify skip-verify "},
    {"yes", " force y confirm "},
    {"sem", " semaphore semaphores permit permits "},
    {"lock", " mutex locks flock "},
    {"limit", " rate ratelimit rate-limit throttle limits "},
    {"queue", " job jobs task tasks queues worker "},
    {"blist", " list lists fifo "},
    {"cron", " schedule crontab "},
    {"unique", " hll hyperloglog pf distinct "},
    {"bits", " bitmap bitmaps bit "},
    {"bloom", " filter bf "},
    {"counter", " counters metric metrics "},
    {"stats", " statistics histogram timer "},
    {"log", " logs logger syslog "},
    {"session", " sessions login token cookie "},
    {"service", " services discovery register "},
    {"maintenance", " pause readonly "},
    {"server", " embedded private daemon "},
    {"scan", " keys "},
    {"doctor", " diagnose health check status "},
    {"call", " redis raw command cli exec "},
    {"demo", " tour example examples tutorial "},
    {"lab", " laboratory experiment experiments learn "},
    {"suggest", " suggestions autocomplete typeahead "},
    {"book", " contacts addressbook address-book "},
    {"files", " file copy transfer "},
    {"mail", " inbox mailbox message messages "},
    {"chat", " chats room rooms group "},
};

/* Whether the list has the word, with blanks around it. */
static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; len > 0 && (at = strstr(at, word)) != NULL; at++)
        if (at > list && at[-1] == ' ' && at[len] == ' ')
            return true;
    return false;
}

void cli_known_as(cli_nearness *suggestion, const char *name)
{
    enum { FIRST = 1000 }; /* ranks in the list come after all distances of letters */
    if (suggestion->best != NULL && suggestion->distance < FIRST)
        return;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0 && has_word(known[i].others, suggestion->word) &&
            (suggestion->best == NULL || FIRST + i < suggestion->distance)) {
            suggestion->best = name;
            suggestion->distance = FIRST + i;
        }
}
