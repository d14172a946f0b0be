/* SPDX-License-Identifier: MIT
 *
 * Looks at the server as an operator would: which one it is and why, and what may go wrong there.
 *
 * A check is one row: its name, a state, what was found, and what that risks. "ok": nothing to do.
 * "risk": all works today, and something can be lost or unseen. "fails": some commands do not work.
 * "unknown": this user may not look.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "clock.h"
#include "info.h"
#include "out.h"

#define OK      "ok"
#define RISK    "risk"
#define FAILS   "fails"
#define UNKNOWN "unknown"

typedef struct examination {
    cli_session *cli;
    tkl_client *client;
    tkl_reply *info; /* reply of INFO; NULL: not permitted */
    json_t *checks;
    bool fails; /* one of them does */
} examination;

/* Adds a row; `risk` is NULL where there is none. */
static void TKL_PRINTF(5, 6) note(examination *e, const char *check, const char *state,
                                  const char *risk, const char *format, ...)
{
    char *found = NULL;
    va_list list;
    va_start(list, format);
    if (vasprintf(&found, format, list) < 0)
        found = NULL;
    va_end(list);
    e->fails = e->fails || strcmp(state, FAILS) == 0;
    json_array_append_new(
        e->checks, json_pack("{s:s, s:s, s:o, s:s?}", "check", check, "state", state, "finding",
                             cli_json_bytes(tkl_str(found != NULL ? found : "")), "risk", risk));
    free(found);
}

/* ---- The text of INFO ---------------------------------------------------- */

enum { FIELD_SIZE = CLI_INFO_SIZE };

/* The value of a field; "" when it is missing. */
static const char *field(const examination *e, const char *name, char value[FIELD_SIZE])
{
    return cli_info_field(tkl_reply_str(e->info), name, value);
}

static int64_t number_of(const examination *e, const char *name)
{
    return cli_info_number(tkl_reply_str(e->info), name);
}

static bool is_text(const examination *e, const char *name, const char *text)
{
    char value[FIELD_SIZE];
    return strcmp(field(e, name, value), text) == 0;
}

/* A setting of the server; "" when this user may not look. */
static const char *setting(const examination *e, const char *name, char value[FIELD_SIZE])
{
    tkl_reply *reply = NULL;
    if (tkl_callz(e->client, &reply, "CONFIG", "GET", name, NULL) != TKL_OK)
        reply = NULL;
    snprintf(value, FIELD_SIZE, "%s", tkl_reply_str(tkl_reply_at(reply, 1)));
    tkl_reply_free(reply);
    return value;
}

/* ---- Which server, and why ----------------------------------------------- */

/* The URL without its password, to be freed. */
static char *without_password(const char *url)
{
    char *copy = strdup(url);
    char *start = copy != NULL ? strstr(copy, "://") : NULL;
    char *query = copy != NULL ? copy + strcspn(copy, "?") : NULL;
    char *at = start != NULL ? memrchr(start, '@', (size_t)(query - start)) : NULL;
    char *colon = at != NULL ? memchr(start + 3, ':', (size_t)(at - start - 3)) : NULL;
    if (colon != NULL)
        memmove(colon, at, strlen(at) + 1);
    return copy;
}

static bool is_private(const cli_session *cli)
{
    return strncmp(cli->url, "embedded:", 9) == 0;
}

static const char *why(const cli_session *cli)
{
    if (cli->url_source == NULL)
        return "--url";
    return cli->is_default ? "nothing names another" : cli->url_source;
}

/* A password in a configuration file that everybody can read. */
static void check_password(examination *e)
{
    const char *file = e->cli->url_source;
    struct stat st;
    char *plain = without_password(e->cli->url);
    bool has_password = plain != NULL && strcmp(plain, e->cli->url) != 0;
    free(plain);
    if (has_password && file != NULL && *file == '/' && stat(file, &st) == 0 &&
        (st.st_mode & (S_IRGRP | S_IROTH)) != 0)
        note(e, "password", RISK,
             "others can read the password: chmod 600, or name a password-file that only its users "
             "can read",
             "%s has a password and can be read by others", file);
}

static void check_server(examination *e)
{
    const cli_session *cli = e->cli;
    char *url = without_password(cli->url);
    note(e, "server", cli->is_default ? RISK : OK,
         cli->is_default
             ? "it is yours alone: other users and machines do not see your locks, queues and "
               "limits. To share them: TACKLE_URL, ~/.config/tackle/config or /etc/tackle/config. "
               "If that is what you want: 'url = embedded:' in the file"
             : NULL,
         "%s (%s)", url != NULL ? url : "", why(cli));
    free(url);
    check_password(e);
}

/* ---- The rows ------------------------------------------------------------ */

static void check_answer(examination *e)
{
    int64_t start = cli_now_us();
    if (tkl_callz(e->client, NULL, "PING", NULL) == TKL_OK)
        note(e, "answer", OK, NULL, "a round trip takes %.3f ms",
             (double)(cli_now_us() - start) / 1000);
}

static void check_version(examination *e)
{
    char version[FIELD_SIZE], mode[FIELD_SIZE];
    bool valkey = *field(e, "valkey_version", version) != '\0';
    if (!valkey)
        field(e, "redis_version", version);
    if (*field(e, "server_mode", mode) == '\0')
        field(e, "redis_mode", mode);
    double least = valkey ? 7.2 : 7.0;
    bool old = strtod(version, NULL) < least;
    note(e, "version", old ? FAILS : OK,
         old ? "tackle needs Redis 7.0 or Valkey 7.2, or later" : NULL, "%s %s, %s",
         valkey ? "Valkey" : "Redis", version, mode);
}

static void check_memory(examination *e)
{
    char policy[FIELD_SIZE];
    int64_t most = number_of(e, "maxmemory"), used = number_of(e, "used_memory");
    field(e, "maxmemory_policy", policy);
    if (most == 0) {
        note(e, "eviction", OK, NULL, "none: there is no maxmemory (%s if there were)", policy);
        return;
    }
    bool evicts = strcmp(policy, "noeviction") != 0;
    bool everything = strncmp(policy, "allkeys", 7) == 0;
    note(e, "eviction", evicts ? RISK : OK,
         !evicts      ? NULL
         : everything ? "when the memory is full the server removes data without a word: jobs, "
                        "messages, locks that are held. Set maxmemory-policy noeviction"
                      : "when the memory is full the server removes what has an expiry: locks that "
                        "are held, sessions, claims. Set maxmemory-policy noeviction",
         "%s, %.0f of %.0f MB used", policy, (double)used / 1048576, (double)most / 1048576);
    if (!evicts && used > most / 10 * 9)
        note(e, "memory", RISK, "a full server refuses to store anything new", "%.0f%% of %.0f MB",
             100.0 * (double)used / (double)most, (double)most / 1048576);
}

static void check_append_only_file(examination *e)
{
    char fsync[FIELD_SIZE];
    setting(e, "appendfsync", fsync);
    bool lazy = strcmp(fsync, "no") == 0, always = strcmp(fsync, "always") == 0;
    if (!is_text(e, "aof_last_write_status", "ok"))
        note(e, "persistence", FAILS, "the server refuses to store anything: look at its disk",
             "the last write to the append-only file failed");
    else
        note(e, "persistence", lazy ? RISK : OK,
             lazy     ? "a power cut loses about the last half minute"
             : always ? NULL
                      : "a power cut loses the last second or two",
             "append-only file%s%s", *fsync != '\0' ? ", appendfsync " : "", fsync);
}

static void check_persistence(examination *e)
{
    char save[FIELD_SIZE], when[CLI_TIME_SIZE];
    if (number_of(e, "aof_enabled") == 1) {
        check_append_only_file(e);
        return;
    }
    int64_t changes = number_of(e, "rdb_changes_since_last_save");
    cli_time_text(number_of(e, "rdb_last_save_time") * 1000, when);
    tkl_reply *reply = NULL;
    bool may_look = tkl_callz(e->client, &reply, "CONFIG", "GET", "save", NULL) == TKL_OK;
    tkl_reply_free(reply);
    if (may_look && *setting(e, "save", save) == '\0')
        note(e, "persistence", RISK, "a restart or a crash loses everything",
             "none: no append-only file and no snapshots");
    else if (!is_text(e, "rdb_last_bgsave_status", "ok"))
        note(e, "persistence", FAILS, "the server may refuse to store anything: look at its disk",
             "the last snapshot failed");
    else
        note(e, "persistence", RISK,
             "a crash loses what was changed since the last snapshot, jobs and messages included. "
             "Set appendonly yes",
             "snapshots%s, the last one %s; %" PRId64 " changes since", may_look ? "" : " at most",
             when, changes);
}

/* The slowest replica's lag in seconds, of "slave0:ip=...,lag=1". */
static int64_t largest_lag(const examination *e)
{
    int64_t largest = 0;
    char name[32], value[FIELD_SIZE];
    for (int64_t i = 0; i < number_of(e, "connected_slaves"); i++) {
        snprintf(name, sizeof name, "slave%" PRId64, i);
        const char *lag = strstr(field(e, name, value), "lag=");
        int64_t seconds = lag != NULL ? strtoll(lag + 4, NULL, 10) : 0;
        largest = seconds > largest ? seconds : largest;
    }
    return largest;
}

static void check_replicas(examination *e)
{
    int64_t replicas = number_of(e, "connected_slaves"), lag = largest_lag(e);
    if (!is_text(e, "role", "master"))
        note(e, "replicas", FAILS, "a replica stores nothing: name its master",
             "this server is a replica");
    else if (is_private(e->cli))
        note(e, "replicas", OK, NULL, "none: a private server has none");
    else if (replicas == 0)
        note(e, "replicas", RISK,
             "while this server is down nothing works, and a lost disk is lost", "none");
    else
        note(e, "replicas", lag > 10 ? RISK : OK,
             lag > 10 ? "a failover now loses what the replica does not have yet"
                      : "a failover may lose the last moment: --replicas of lock waits for them",
             "%" PRId64 ", the slowest %" PRId64 " s behind", replicas, lag);
}

static void check_clock(examination *e)
{
    tkl_reply *reply = NULL;
    int64_t start = cli_now_us();
    int code = tkl_callz(e->client, &reply, "TIME", NULL);
    int64_t took = cli_now_us() - start;
    int64_t here = cli_unix_ms() - took / 2000;
    int64_t there =
        tkl_reply_int(tkl_reply_at(reply, 0)) * 1000 + tkl_reply_int(tkl_reply_at(reply, 1)) / 1000;
    tkl_reply_free(reply);
    if (code != TKL_OK) {
        note(e, "clock", UNKNOWN, NULL, "this user may not run TIME");
        return;
    }
    char text[CLI_DURATION_SIZE];
    int64_t apart = there > here ? there - here : here - there;
    note(e, "clock", apart > 10000 ? RISK : OK,
         apart > 10000
             ? "the server's clock decides: leases are exact, but schedules, hours and days "
               "follow it. Set both clocks by NTP"
             : NULL,
         "%s%s", apart * 1000 > took ? cli_duration_text(apart, text) : "the same as ours",
         apart * 1000 <= took ? ""
         : there > here       ? " ahead of ours"
                              : " behind ours");
}

static void check_functions(examination *e)
{
    tkl_function_libraries *list;
    int code = tkl_functions_list(e->client, &list);
    if (code != TKL_OK) {
        note(e, "functions", UNKNOWN, NULL, "%s", tkl_errmsg());
        return;
    }
    size_t current = 0;
    for (size_t i = 0; i < list->count; i++)
        current += list->items[i].is_current;
    note(e, "functions", OK,
         current < list->count ? "programs of other versions may use the others; 'tackle server "
                                 "functions --remove-old' removes them"
                               : NULL,
         "%zu libraries of this version, %zu of others", current, list->count - current);
    tkl_function_libraries_free(list);
}

/* ---- Permissions --------------------------------------------------------- */

/* Whether a reply says that this user may not do it; other errors come after the permission. */
static bool is_refused(const tkl_reply *reply)
{
    return tkl_reply_code(reply) == TKL_EAUTH;
}

/* Adds, for each component, a call of a function that does not exist, on a key of the component.
 * NULL: out of memory. */
static tkl_pipeline *ask_for_keys(examination *e)
{
    tkl_pipeline *pipeline = NULL;
    int code = tkl_pipeline_open(e->client, NULL, &pipeline);
    for (size_t i = 0; code == TKL_OK && cli_components[i] != NULL; i++) {
        tkl_bytes key;
        if (cli_components[i]->shared == NULL)
            continue;
        code = tkl_key(e->client, cli_components[i]->name, tkl_str("tackle-doctor"), "", &key);
        if (code == TKL_OK) {
            code = tkl_pipeline_addz(pipeline, "FCALL", "tackle_doctor", "1", key.data, NULL);
            tkl_key_free(key);
        }
    }
    if (code == TKL_OK)
        return pipeline;
    tkl_pipeline_close(pipeline);
    return NULL;
}

/* "lock, queue": the components whose keys this user may not use. The caller frees it. */
static char *refused_components(const tkl_reply *replies)
{
    char *text = NULL;
    size_t size = 0, place = 0;
    FILE *to = open_memstream(&text, &size);
    const char *joint = "";
    for (size_t i = 0; to != NULL && cli_components[i] != NULL; i++) {
        if (cli_components[i]->shared == NULL)
            continue;
        if (is_refused(tkl_reply_at(replies, place++))) {
            fprintf(to, "%s%s", joint, cli_components[i]->name);
            joint = ", ";
        }
    }
    if (to != NULL)
        fclose(to);
    return text;
}

static void check_keys(examination *e)
{
    tkl_reply *replies = NULL;
    tkl_pipeline *pipeline = ask_for_keys(e);
    int code = pipeline != NULL ? tkl_pipeline_run(pipeline, NULL, &replies) : TKL_ENOMEM;
    char *refused = code == TKL_OK ? refused_components(replies) : NULL;
    if (refused == NULL)
        note(e, "permissions", UNKNOWN, NULL, "%s", tkl_strerror(code));
    else if (*refused == '\0')
        note(e, "permissions", OK, NULL, "may call functions on keys of all components");
    else
        note(e, "permissions", RISK, "the page of each component lists the permissions it needs",
             "may not call functions on keys of: %s", refused);
    free(refused);
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
}

/* An empty library is refused, whoever sends it; the error says whether the user may. */
static void check_loading(examination *e)
{
    if (tkl_callz(e->client, NULL, "FUNCTION", "LOAD", "", NULL) == TKL_EAUTH)
        note(e, "loading", RISK,
             "an administrator must run 'tackle server functions --load' after each update of "
             "tackle",
             "may not load functions");
}

/* ---- The verb ------------------------------------------------------------ */

static void examine(examination *e)
{
    check_answer(e);
    check_keys(e);
    check_loading(e);
    if (tkl_callz(e->client, &e->info, "INFO", NULL) == TKL_OK) {
        check_version(e);
        check_memory(e);
        check_persistence(e);
        check_replicas(e);
    } else
        note(e, "server", UNKNOWN, NULL,
             "this user may not run INFO: version, eviction, persistence and replicas are not "
             "known");
    check_clock(e);
    check_functions(e);
    tkl_reply_free(e->info);
}

static const char *color_of(const char *state)
{
    return strcmp(state, FAILS) == 0 ? CLI_BOLD : strcmp(state, RISK) == 0 ? CLI_CYAN : CLI_DIM;
}

/* Prints words, broken at blanks before column 80, each line indented. */
static void print_wrapped(const char *text, int indent)
{
    enum { WIDTH = 80 };
    int column = 0;
    while (*text != '\0') {
        int len = (int)strcspn(text, " ");
        if (column > 0 && column + 1 + len > WIDTH) {
            putchar('\n');
            column = 0;
        }
        if (column == 0)
            column = printf("%*s%.*s", indent, "", len, text);
        else
            column += printf(" %.*s", len, text);
        text += len + (text[len] == ' ');
    }
    putchar('\n');
}

static void print_checks(const json_t *checks)
{
    size_t i;
    json_t *check;
    json_array_foreach(checks, i, check)
    {
        const char *state = json_string_value(json_object_get(check, "state"));
        const char *risk = json_string_value(json_object_get(check, "risk"));
        const char *found = json_string_value(json_object_get(check, "finding"));
        char *clean = cli_escape(tkl_str(found != NULL ? found : ""), false);
        printf("%s%-8s%s %-12s %s\n", cli_color(stdout, color_of(state)), state,
               cli_color(stdout, CLI_PLAIN), json_string_value(json_object_get(check, "check")),
               clean != NULL ? clean : "");
        if (risk != NULL)
            print_wrapped(risk, 22);
        free(clean);
    }
}

/* The findings stay readable when the server does not answer. */
static int report_findings(const examination *e)
{
    const cli_session *cli = e->cli;
    char *url = without_password(cli->url);
    int failed = CLI_OK;
    if (cli->json)
        failed = cli_print_json(cli, json_pack("{s:o, s:s, s:b, s:O}", "url",
                                               cli_json_bytes(tkl_str(url != NULL ? url : "")),
                                               "source", why(cli), "private", cli->is_default,
                                               "checks", e->checks));
    else
        print_checks(e->checks);
    free(url);
    return failed;
}

static int run_doctor(cli_session *cli)
{
    const char *url;
    int failed = cli_url(cli, &url);
    if (failed)
        return failed;
    examination e = {.cli = cli, .checks = json_array()};
    check_server(&e);
    failed = cli_connect(cli, &e.client);
    int code = failed ? TKL_OK : tkl_callz(e.client, NULL, "PING", NULL);
    if (!failed && code == TKL_OK)
        examine(&e);
    if (code != TKL_OK)
        note(&e, "answer", FAILS, "nothing works without it", "%s", tkl_errmsg());
    int unwritten = report_findings(&e);
    json_decref(e.checks);
    if (failed || unwritten)
        return failed ? failed : unwritten;
    if (code != TKL_OK)
        return cli_end(cli, code);
    return e.fails ? cli_answered_no(cli, TKL_EREFUSED, "some checks fail") : CLI_OK;
}

static const cli_verb verbs[] = {
    {
        .summary = "which server is used, why, and what may go wrong there",
        .details =
            "Looks at the choice of the server, permissions, version, eviction, persistence,\n"
            "replicas, clock and functions. Each has a state: ok, risk (it works, but\n"
            "something can be lost or unseen), fails, or unknown (this user may not look).\n"
            "Exit code 1 when something fails. In a cluster it looks at one of the servers.",
        .example = "tackle doctor",
        .local = "it looks at the machine of its user",
        .run = run_doctor,
    },
    {0},
};

static const cli_step demo[] = {
    {"Which server is it, and what may go wrong there?", "tackle doctor", 0},
    {0},
};

const cli_component cli_doctor = {
    .name = "doctor",
    .summary = "which server is used, why, and what may go wrong there",
    .verbs = verbs,
    .demo = demo,
};
