/* SPDX-License-Identifier: MIT
 *
 * A client for the server that a configuration names.
 *
 * A follower loads the configuration and opens a client for every new version. Each client counts
 * its borrowers: when it is not current any more, the last borrower closes it.
 *
 * A new server must answer a PING before callers get its client, so that a typing error does not
 * take programs away from a server that works; the follower asks again every second. The first
 * server is handed out without a PING: there is no other, and its calls say what is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/clock.h"
#include "core/error.h"

#define PROBE_MS    1000
#define PROBE_AGAIN 1000000 /* microseconds */

/* A client that was lent to callers, or may be. */
typedef struct link {
    tkl_client *client;
    int borrowers;
    bool retired; /* a newer client is current */
    struct link *next;
} link;

struct tkl_config_client {
    tkl_config *config;
    tkl__follower follower; /* its lock guards what follows */
    link *links;            /* the current one is the first that is not retired */
    tkl_config_value *used; /* the value that the current one was made from; NULL: none */
    int64_t newest;
    int code;          /* why there is no current one */
    char problem[256]; /* why the newest value is not in use */
};

/* ---- Opening clients ----------------------------------------------------- */

static int open_for(const tkl_config_value *value, tkl_client **client)
{
    tkl_options options = {0};
    char *url;
    *client = NULL;
    int rc = tkl__config_server_read(value->json, true, &url, &options.pool_size);
    if (rc == TKL_OK)
        rc = tkl_open(url, &options, client);
    tkl_config_url_free(url);
    return rc;
}

static int probe_server(tkl_client *client)
{
    tkl_call_options brief = {.timeout_ms = PROBE_MS, .retry_safe = true};
    const char *ping[] = {"PING"};
    int rc = tkl_call(client, 1, ping, NULL, &brief, NULL);
    return rc == TKL_EAUTH ? TKL_OK : rc; /* the user may lack permission, but the server is there
                                             */
}

/* ---- Moving over --------------------------------------------------------- */

static link *current_link(const tkl_config_client *source)
{
    link *at = source->links;
    while (at && at->retired)
        at = at->next;
    return at;
}

/* Takes unused links out of the list. The caller holds the lock. */
static link *take_unused(tkl_config_client *source)
{
    link *unused = NULL;
    for (link **at = &source->links; *at;) {
        link *l = *at;
        if (!l->retired || l->borrowers > 0) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        l->next = unused;
        unused = l;
    }
    return unused;
}

/* Caller does not hold the lock: closing may take a while. */
static void close_links(link *links)
{
    for (link *next; links; links = next) {
        next = links->next;
        tkl_close(links->client);
        free(links);
    }
}

static void move_to(tkl_config_client *source, link *fresh, tkl_config_value *value)
{
    pthread_mutex_lock(&source->follower.mutex);
    link *old = current_link(source);
    if (old)
        old->retired = true;
    fresh->next = source->links;
    source->links = fresh;
    tkl_config_value_free(source->used);
    source->used = tkl__config_share(value);
    source->newest = value->version;
    source->problem[0] = '\0';
    link *unused = take_unused(source);
    pthread_mutex_unlock(&source->follower.mutex);
    close_links(unused);
}

static void note_problem(tkl_config_client *source, int64_t version, int rc)
{
    pthread_mutex_lock(&source->follower.mutex);
    source->newest = version;
    source->code = rc;
    snprintf(source->problem, sizeof source->problem, "%s: %s", tkl_strerror(rc), tkl_errmsg());
    pthread_mutex_unlock(&source->follower.mutex);
}

/* Tries a version. *again: when to try again, if the new server does not answer. */
static int try_version(tkl_config_client *source, tkl_config_value *value, int64_t *again)
{
    tkl_client *client;
    link *fresh = calloc(1, sizeof *fresh);
    bool first = !source->used; /* written by this thread only */
    if (!fresh)
        return tkl__nomem();
    int rc = open_for(value, &client);
    bool opened = rc == TKL_OK;
    if (opened && !first)
        rc = probe_server(client);
    if (rc == TKL_OK) {
        fresh->client = client;
        move_to(source, fresh, value);
        return TKL_OK;
    }
    note_problem(source, value->version, rc);
    if (opened)
        *again = tkl__now() + PROBE_AGAIN;
    tkl_close(client);
    free(fresh);
    return TKL_OK; /* the configuration was read, even when it is wrong */
}

static int load_client(void *arg, int64_t deadline, int64_t *again)
{
    tkl_config_client *source = arg;
    tkl_config_value *value;
    (void)deadline;
    int rc = tkl_config_get(source->config, &value);
    if (rc > 0)
        note_problem(source, 0, rc);
    if (rc == TKL_OK && !tkl__config_same(value, source->used))
        rc = try_version(source, value, again);
    tkl_config_value_free(value);
    return rc;
}

static int check_newest(void *arg, int64_t timeout_ms)
{
    tkl_config_client *source = arg;
    bool known = source->newest > 0; /* written by this thread only */
    return tkl__config_check(source->config, known, timeout_ms);
}

/* ---- Handles ------------------------------------------------------------- */

int tkl_config_client_open(tkl_client *client, tkl_bytes component,
                           const tkl_config_options *options, tkl_config_client **source)
{
    *source = NULL;
    tkl_config_client *made = calloc(1, sizeof *made);
    if (!made)
        return tkl__nomem();
    int rc = tkl_config_open(client, tkl_str(TKL_CONFIG_SERVER), component, options, &made->config);
    if (rc == TKL_OK) {
        made->follower = (tkl__follower){.client = client,
                                         .channel = made->config->keys.items[0],
                                         .load = load_client,
                                         .check = check_newest,
                                         .arg = made,
                                         .timeout_ms = made->config->timeout_ms};
        tkl__follow_init(&made->follower);
        *source = made;
        return TKL_OK;
    }
    free(made);
    return rc;
}

void tkl_config_client_close(tkl_config_client *source)
{
    if (!source)
        return;
    tkl__follow_close(&source->follower);
    close_links(source->links);
    tkl_config_value_free(source->used);
    tkl_config_close(source->config);
    free(source);
}

int tkl_config_client_borrow(tkl_config_client *source, tkl_client **client)
{
    *client = NULL;
    int rc = tkl__follow_lock(&source->follower);
    if (rc != TKL_OK)
        return rc;
    link *l = current_link(source);
    if (l) {
        l->borrowers++;
        *client = l->client;
    } else {
        rc = tkl__fail(source->code, "the server of this component: %s", source->problem);
    }
    tkl__follow_unlock(&source->follower);
    return rc;
}

void tkl_config_client_return(tkl_config_client *source, tkl_client *client)
{
    if (tkl__follow_lock(&source->follower) != TKL_OK)
        return;
    for (link *l = source->links; l; l = l->next)
        if (l->client == client && l->borrowers > 0)
            l->borrowers--;
    link *unused = take_unused(source);
    tkl__follow_unlock(&source->follower);
    close_links(unused);
}

int tkl_config_client_show(tkl_config_client *source, tkl_config_client_info **info)
{
    *info = NULL;
    tkl_config_client_info *shown = calloc(1, sizeof *shown);
    if (!shown)
        return tkl__nomem();
    int rc = tkl__follow_lock(&source->follower);
    if (rc != TKL_OK) {
        free(shown);
        return rc;
    }
    shown->version = source->used ? source->used->version : 0;
    shown->newest = source->newest;
    shown->age_ms = tkl__follow_age(&source->follower);
    strcpy(shown->problem, source->problem);
    tkl__follow_unlock(&source->follower);
    *info = shown;
    return TKL_OK;
}

void tkl_config_client_info_free(tkl_config_client_info *info)
{
    free(info);
}
