/* SPDX-License-Identifier: MIT
 *
 * A service that finds its database by its name, and follows it when it moves.
 *
 * Two private servers stand for the old and the new database; the first one has the configuration,
 * too. An operator would do the last part by
 *
 *     tackle config set server shop '"redis://new.example"'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tackle/tackle.h>
#include <unistd.h>

static void stop_on(int rc)
{
    if (rc == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", tkl_strerror(rc), tkl_errmsg());
    exit(1);
}

/* The socket of a private server, as a JSON string with its URL. */
static void describe(tkl_client *client, char *json, size_t size)
{
    tkl_reply *reply;
    stop_on(tkl_callz(client, &reply, "CONFIG", "GET", "unixsocket", NULL));
    snprintf(json, size, "\"unix://%s\"", tkl_reply_str(tkl_reply_at(reply, 1)));
    tkl_reply_free(reply);
}

static void configure(tkl_client *registry, tkl_client *database)
{
    char json[256];
    tkl_config *config;
    describe(database, json, sizeof json);
    stop_on(tkl_config_open(registry, tkl_str(TKL_CONFIG_SERVER), tkl_str("shop"), NULL, &config));
    stop_on(tkl_config_set(config, tkl_str(json), NULL, NULL));
    tkl_config_close(config);
}

/* Does one piece of work: borrows the client, works, gives it back. False: it is the old
 * database. */
static bool serve(tkl_config_client *source)
{
    tkl_client *database;
    tkl_reply *reply;
    stop_on(tkl_config_client_borrow(source, &database));
    stop_on(tkl_callz(database, &reply, "GET", "name", NULL));
    bool moved = strcmp(tkl_reply_str(reply), "new") == 0;
    tkl_reply_free(reply);
    tkl_config_client_return(source, database);
    return moved;
}

int main(void)
{
    tkl_client *old, *new;
    tkl_config_client *source;
    stop_on(tkl_open("embedded:", NULL, &old));
    stop_on(tkl_open("embedded:", NULL, &new));
    stop_on(tkl_callz(old, NULL, "SET", "name", "old", NULL));
    stop_on(tkl_callz(new, NULL, "SET", "name", "new", NULL));

    configure(old, old);
    stop_on(tkl_config_client_open(old, tkl_str("shop"), NULL, &source));
    printf("served by the %s database\n", serve(source) ? "new" : "old");

    configure(old, new); /* the operator moves it */
    while (!serve(source))
        usleep(10000);
    printf("served by the new database\n");

    tkl_config_client_close(source);
    tkl_close(new);
    tkl_close(old);
}
