/* SPDX-License-Identifier: MIT
 *
 * Looks at the server as an operator would: which one it is and why, and what may go wrong there.
 *
 * A check is one row: its name, a state, what was found, and what that risks. "ok": nothing to do.
 * "risk": all works today, and something can be lost or unseen. "fails": some commands do not work.
 * "unknown": this user may not look.
 *
 * In a cluster each master is examined by a client of its own: settings, users and disks differ. A
 * row that several masters have alike stands once, with their addresses.
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
    const char *address; /* "host:port" of the master that is examined; NULL: no cluster, or all
                            of it */
    size_t masters;      /* how many the cluster has; 0: it is no cluster */
    tkl_reply *info;     /* reply of INFO; NULL: not permitted */
    json_t *checks;
    bool fails; /* one of them does */
} examination;

/* ---- Rows ---------------------------------------------------------------- */

static bool is_alike(const json_t *one, const json_t *other)
{
    static const char *const fields[] = {"check", "state", "finding", "risk"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!json_equal(json_object_get(one, fields[i]), json_object_get(other, fields[i])))
            return false;
    return true;
}

/* Adds the row behind the others of its check, or its master to a row that is alike. */
static void add_row(examination *e, json_t *row)
{
    size_t i, place = json_array_size(e->checks);
    json_t *other, *check = json_object_get(row, "check");
    json_array_foreach(e->checks, i, other)
    {
        if (!json_equal(json_object_get(other, "check"), check))
            continue;
        place = i + 1;
        if (e->address != NULL && is_alike(other, row)) {
            json_array_append_new(json_object_get(other, "servers"), json_string(e->address));
            json_decref(row);
            return;
        }
    }
    json_object_set_new(row, "servers",
                        e->address != NULL ? json_pack("[s]", e->address) : json_null());
    json_array_insert_new(e->checks, place, row);
}

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
    add_row(e, json_pack("{s:s, s:s, s:o, s:s?}", "check", check, "state", state, "finding",
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

/* Warns when other users can read the configuration file that has the password. */
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

/* The lag of the slowest replica in seconds, from fields such as "slave0:ip=...,lag=1". */
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

/* Whether a reply says that this user has no permission, which a server checks before all else. */
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

/* Loads an empty library, which the server always refuses; the error says whether this user may
 * load functions. */
static void check_loading(examination *e)
{
    if (tkl_callz(e->client, NULL, "FUNCTION", "LOAD", "", NULL) == TKL_EAUTH)
        note(e, "loading", RISK,
             "an administrator must run 'tackle server functions --load' after each update of "
             "tackle",
             "may not load functions");
}

/* ---- One server ---------------------------------------------------------- */

/* Checks one server: the only one, or a master of a cluster. */
static void examine(examination *e)
{
    check_answer(e);
    check_keys(e);
    check_loading(e);
    e->info = NULL;
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

/* ---- Clusters ------------------------------------------------------------ */

static bool is_cluster_url(const char *url)
{
    const char *colon = strchr(url, ':');
    return colon != NULL && memmem(url, (size_t)(colon - url), "+cluster", 8) != NULL;
}

/* The URL of one server of a cluster: that of the cluster with another host, and no "+cluster". The
 * caller frees it. */
static char *url_of_master(const char *cluster, const char *address)
{
    char *url = NULL;
    size_t scheme = strcspn(cluster, "+"), whole = strcspn(cluster, "?");
    const char *hosts = strstr(cluster, "://"), *at = memrchr(cluster, '@', whole);
    if (hosts == NULL)
        return NULL;
    hosts += 3;
    int user = at != NULL && at >= hosts ? (int)(at + 1 - hosts) : 0;
    if (asprintf(&url, "%.*s://%.*s%s%s", (int)scheme, cluster, user, hosts, address,
                 cluster + whole) < 0)
        return NULL;
    return url;
}

/* "host:port" of the master in an element of CLUSTER SLOTS, to be freed. A master that does not
 * know its own host is the one that was asked: NULL. */
static char *address_of(const tkl_reply *range)
{
    const tkl_reply *master = tkl_reply_at(range, 2);
    const char *host = tkl_reply_str(tkl_reply_at(master, 0));
    bool v6 = strchr(host, ':') != NULL;
    char *text = NULL;
    if (*host == '\0' || strcmp(host, "?") == 0 ||
        asprintf(&text, "%s%s%s:%" PRId64, v6 ? "[" : "", host, v6 ? "]" : "",
                 tkl_reply_int(tkl_reply_at(master, 1))) < 0)
        return NULL;
    return text;
}

static bool is_known(const json_t *addresses, const char *address)
{
    size_t i;
    json_t *known;
    json_array_foreach(addresses, i, known)
    {
        if (strcmp(json_string_value(known), address) == 0)
            return true;
    }
    return false;
}

/* The masters, as an array of addresses; empty: this user may not ask. */
static json_t *find_masters(const examination *e)
{
    tkl_reply *slots = NULL;
    json_t *addresses = json_array();
    if (tkl_callz(e->client, &slots, "CLUSTER", "SLOTS", NULL) != TKL_OK)
        slots = NULL;
    for (size_t i = 0; i < tkl_reply_count(slots); i++) {
        char *address = address_of(tkl_reply_at(slots, i));
        if (address != NULL && !is_known(addresses, address))
            json_array_append_new(addresses, json_string(address));
        free(address);
    }
    tkl_reply_free(slots);
    return addresses;
}

static void check_slots(examination *e)
{
    enum { SLOTS = 16384 };
    tkl_reply *reply = NULL;
    if (tkl_callz(e->client, &reply, "CLUSTER", "INFO", NULL) != TKL_OK) {
        note(e, "cluster", UNKNOWN, NULL, "this user may not run CLUSTER INFO");
        return;
    }
    int64_t served = cli_info_number(tkl_reply_str(reply), "cluster_slots_ok");
    note(e, "cluster", served == SLOTS ? OK : FAILS,
         served == SLOTS ? NULL : "keys in the other slots cannot be used",
         "%zu masters serve %" PRId64 " of %d slots", e->masters, served, SLOTS);
    tkl_reply_free(reply);
}

/* Checks one master, which may be down while the others work. */
static void examine_master(examination *e)
{
    cli_session *cli = e->cli;
    tkl_client *whole = e->client;
    char *url = url_of_master(cli->url, e->address);
    int failed = url != NULL ? cli_open(cli, url, &e->client) : cli_end(cli, TKL_ENOMEM);
    if (!failed && tkl_callz(e->client, NULL, "PING", NULL) == TKL_OK)
        examine(e);
    else
        note(e, "answer", FAILS, "its keys cannot be used", "%s", tkl_errmsg());
    if (!failed)
        tkl_close(e->client);
    e->client = whole;
    free(url);
}

static void examine_cluster(examination *e)
{
    size_t i;
    json_t *address, *masters = find_masters(e);
    e->masters = json_array_size(masters);
    check_slots(e);
    json_array_foreach(masters, i, address)
    {
        e->address = json_string_value(address);
        examine_master(e);
    }
    e->address = NULL;
    if (e->masters == 0)
        examine(e); /* the one that is asked when no key is named */
    json_decref(masters);
}

/* Warns when the URL names one server of a cluster alone: it refuses the keys of the others. */
static void check_alone(examination *e)
{
    tkl_reply *reply = NULL;
    bool member = tkl_callz(e->client, &reply, "CLUSTER", "INFO", NULL) == TKL_OK &&
                  cli_info_number(tkl_reply_str(reply), "cluster_size") > 1;
    tkl_reply_free(reply);
    if (member)
        note(e, "cluster", FAILS,
             "it refuses the keys of the others: write redis+cluster:// in place of redis://",
             "this server is one of a cluster, and named alone");
}

/* ---- The verb ------------------------------------------------------------ */

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

/* Prints " (10.0.0.1:6379, 10.0.0.2:6379)", unless the row is about all masters. */
static void print_servers(const json_t *servers, size_t masters)
{
    size_t i;
    json_t *address;
    if (json_array_size(servers) == masters)
        return;
    json_array_foreach(servers, i, address)
    {
        char *clean = cli_escape(tkl_str(json_string_value(address)), false);
        printf("%s%s", i == 0 ? " (" : ", ", clean != NULL ? clean : "");
        free(clean);
    }
    fputs(i > 0 ? ")" : "", stdout);
}

static void print_checks(const json_t *checks, size_t masters)
{
    size_t i;
    json_t *check;
    json_array_foreach(checks, i, check)
    {
        const char *state = json_string_value(json_object_get(check, "state"));
        const char *risk = json_string_value(json_object_get(check, "risk"));
        const char *found = json_string_value(json_object_get(check, "finding"));
        char *clean = cli_escape(tkl_str(found != NULL ? found : ""), false);
        printf("%s%-8s%s %-12s %s", cli_color(stdout, color_of(state)), state,
               cli_color(stdout, CLI_PLAIN), json_string_value(json_object_get(check, "check")),
               clean != NULL ? clean : "");
        print_servers(json_object_get(check, "servers"), masters);
        putchar('\n');
        if (risk != NULL)
            print_wrapped(risk, 22);
        free(clean);
    }
}

/* Prints all findings, also those about a server that does not answer. */
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
        print_checks(e->checks, e->masters);
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
    bool cluster = !failed && code == TKL_OK && is_cluster_url(cli->url);
    if (cluster)
        examine_cluster(&e);
    else if (!failed && code == TKL_OK) {
        examine(&e);
        check_alone(&e);
    }
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
            "Exit code 1 when something fails. In a cluster it looks at each master.",
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
