/* SPDX-License-Identifier: MIT
 *
 * Durability in five words, and changing it while the server runs.
 *
 * A word stands for three settings of the server. They live in the directory's configuration file,
 * so a restart keeps them. A change is one CONFIG SET of all three and a CONFIG REWRITE: two
 * programs that ask for different words get one or the other, never a mixture.
 *
 * The order matters because a server loads one kind of file at its start: the append-only file if
 * that is on, else the snapshot. If the server crashed after the setting changed and before the
 * file was complete, it would load an old file or none. So the file is complete before the
 * configuration file names it. When a server changes to "none", its snapshot is moved aside;
 * otherwise the next start would bring back old data.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "server/server.h"

#define POLL_US 5000

typedef struct level {
    const char *word;
    const char *save; /* a snapshot after this many seconds with this many changes */
    const char *appendonly;
    const char *appendfsync;
} level;

static const level levels[] = {
    {"none", "", "no", "everysec"},  {"snapshot", "3600 1 300 100 60 10000", "no", "everysec"},
    {"lazy", "", "yes", "no"},       {"everysec", "", "yes", "everysec"},
    {"always", "", "yes", "always"},
};

/* The settings as a server or a file states them. */
typedef struct settings {
    char save[128]; /* empty: no snapshots */
    char appendonly[8];
    char appendfsync[16];
} settings;

static const level *find_level(const char *word)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(levels[i].word, word) == 0)
            return &levels[i];
    return NULL;
}

bool tkl__durability_known(const char *word)
{
    return find_level(word) != NULL;
}

int tkl__durability_print(int fd, const char *word)
{
    const level *l = find_level(word);
    int len = dprintf(fd, "save %s\nappendonly %s\nappendfsync %s\n", *l->save ? l->save : "\"\"",
                      l->appendonly, l->appendfsync);
    return len < 0 ? tkl__fail_errno(TKL_ESPAWN, "the configuration cannot be written") : TKL_OK;
}

/* The user may have tuned the times of the snapshots: the word is still "snapshot". */
static void to_word(const settings *s, char *word)
{
    const char *found = *s->save ? "snapshot" : "none";
    if (strcmp(s->appendonly, "yes") == 0)
        found = strcmp(s->appendfsync, "no") == 0 ? "lazy" : s->appendfsync;
    snprintf(word, TKL__WORD_MAX, "%s", found);
}

/* ---- Reading the settings -------------------------------------------------- */

static char *setting_of(settings *s, const char *name, size_t *size)
{
    if (strcmp(name, "save") == 0)
        return *size = sizeof s->save, s->save;
    if (strcmp(name, "appendonly") == 0)
        return *size = sizeof s->appendonly, s->appendonly;
    if (strcmp(name, "appendfsync") == 0)
        return *size = sizeof s->appendfsync, s->appendfsync;
    return NULL;
}

static void take_setting(settings *s, const char *name, const char *value)
{
    size_t size = 0;
    char *place = setting_of(s, name, &size);
    if (place)
        snprintf(place, size, "%s", strcmp(value, "\"\"") == 0 ? "" : value);
}

int tkl__durability_live(tkl__conn *conn, int64_t deadline, char *word)
{
    settings s = {.save = ""};
    tkl_reply *reply = NULL;
    int rc = tkl__server_said(tkl__conn_command(conn, deadline, &reply, "CONFIG", "GET", "save",
                                                "appendonly", "appendfsync", NULL),
                              &reply);
    if (rc != TKL_OK)
        return rc;
    for (size_t i = 0; i + 1 < tkl_reply_count(reply); i += 2)
        take_setting(&s, tkl_reply_str(tkl_reply_at(reply, i)),
                     tkl_reply_str(tkl_reply_at(reply, i + 1)));
    tkl_reply_free(reply);
    to_word(&s, word);
    return TKL_OK;
}

void tkl__durability_kept(const char *config, char *word)
{
    settings s = {.appendonly = "no", .appendfsync = "everysec"};
    char row[256], name[32], value[128];
    *word = '\0';
    FILE *file = fopen(config, "re");
    if (!file)
        return;
    while (fgets(row, sizeof row, file))
        if (sscanf(row, "%31s %127[^\r\n]", name, value) == 2)
            take_setting(&s, name, value);
    fclose(file);
    to_word(&s, word);
}

/* ---- Changing the settings ------------------------------------------------- */

static bool busy_writing(const tkl_reply *info)
{
    static const char *const signs[] = {"rdb_bgsave_in_progress", "aof_rewrite_in_progress",
                                        "aof_rewrite_scheduled"};
    char value[16];
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        tkl__server_field(info, signs[i], value, sizeof value);
        if (strcmp(value, "0") != 0)
            return true;
    }
    return false;
}

/* Waits until no file is being written. `status` is the field of INFO that says whether the last
 * file was written successfully; NULL: not checked. */
static int await_file(tkl__conn *conn, const char *status, int64_t deadline)
{
    for (;;) {
        tkl_reply *info = NULL;
        char value[16];
        int rc = tkl__server_said(
            tkl__conn_command(conn, deadline, &info, "INFO", "persistence", NULL), &info);
        if (rc != TKL_OK)
            return rc;
        bool busy = busy_writing(info);
        tkl__server_field(info, status ? status : "", value, sizeof value);
        tkl_reply_free(info);
        if (!busy)
            return !status || strcmp(value, "ok") == 0
                       ? TKL_OK
                       : tkl__fail(TKL_EREFUSED,
                                   "the server could not write its data: see its log");
        if (tkl__left(deadline) == 0)
            return tkl__fail(TKL_EUNREADY, "the server is still writing its data");
        tkl__sleep_until(tkl__now() + POLL_US);
    }
}

static int set_level(tkl__conn *conn, const level *l, int64_t deadline)
{
    tkl_reply *reply = NULL;
    int rc = tkl__server_said(tkl__conn_command(conn, deadline, &reply, "CONFIG", "SET", "save",
                                                l->save, "appendonly", l->appendonly, "appendfsync",
                                                l->appendfsync, NULL),
                              &reply);
    tkl_reply_free(reply);
    return rc;
}

static int rewrite_aof(tkl__conn *conn, int64_t deadline)
{
    tkl_reply *reply = NULL;
    int rc = tkl__server_said(tkl__conn_command(conn, deadline, &reply, "CONFIG", "REWRITE", NULL),
                              &reply);
    tkl_reply_free(reply);
    return rc;
}

int tkl__server_snapshot(tkl__conn *conn, int64_t deadline)
{
    tkl_reply *reply = NULL;
    int rc = await_file(conn, NULL, deadline);
    if (rc == TKL_OK)
        rc = tkl__server_said(tkl__conn_command(conn, deadline, &reply, "BGSAVE", NULL), &reply);
    tkl_reply_free(reply);
    return rc == TKL_OK ? await_file(conn, "rdb_last_bgsave_status", deadline) : rc;
}

int tkl__server_rewrite_aof(tkl__conn *conn, int64_t deadline)
{
    tkl_reply *reply = NULL;
    int rc = await_file(conn, NULL, deadline);
    if (rc == TKL_OK)
        rc = tkl__server_said(tkl__conn_command(conn, deadline, &reply, "BGREWRITEAOF", NULL),
                              &reply);
    tkl_reply_free(reply);
    return rc == TKL_OK ? await_file(conn, "aof_last_bgrewrite_status", deadline) : rc;
}

static int to_snapshots(tkl__conn *conn, const level *l, int64_t deadline)
{
    int rc = tkl__server_snapshot(conn, deadline);
    return rc == TKL_OK ? set_level(conn, l, deadline) : rc;
}

static int to_append_only(tkl__conn *conn, const level *l, int64_t deadline)
{
    int rc = set_level(conn, l, deadline);
    return rc == TKL_OK ? await_file(conn, "aof_last_bgrewrite_status", deadline) : rc;
}

static int to_nothing(tkl__conn *conn, const level *l, const char *dir, int64_t deadline)
{
    char from[TKL__SOCKET_MAX + 32], to[TKL__SOCKET_MAX + 32];
    int rc = set_level(conn, l, deadline);
    if (rc == TKL_OK)
        rc = await_file(conn, NULL, deadline);
    if (rc != TKL_OK)
        return rc;
    snprintf(from, sizeof from, "%s/dump.rdb", dir);
    snprintf(to, sizeof to, "%s/dump.rdb.old", dir);
    if (rename(from, to) != 0 && access(from, F_OK) == 0)
        return tkl__fail_errno(TKL_EIO, "%s cannot be moved aside", from);
    return TKL_OK;
}

int tkl__durability_apply(tkl__conn *conn, const char *dir, const char *config, const char *word,
                          int64_t deadline)
{
    const level *l = find_level(word);
    char live[TKL__WORD_MAX], kept[TKL__WORD_MAX];
    int rc = tkl__durability_live(conn, deadline, live);
    if (rc != TKL_OK)
        return rc;
    tkl__durability_kept(config, kept);
    if (strcmp(live, word) == 0 && strcmp(kept, word) == 0)
        return TKL_OK;
    if (strcmp(l->appendonly, "yes") == 0)
        rc = to_append_only(conn, l, deadline);
    else if (*l->save)
        rc = to_snapshots(conn, l, deadline);
    else
        rc = to_nothing(conn, l, dir, deadline);
    return rc == TKL_OK ? rewrite_aof(conn, deadline) : rc;
}
