/* SPDX-License-Identifier: MIT
 *
 * Services from the shell.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "child.h"
#include "lines.h"
#include "out.h"
#include "patience.h"

enum { META_MAX = 64, LOOK_MS = 1000 };

static int open_service(cli_session *cli, tkl_service **service)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed
                  : cli_end(cli, tkl_service_open(client, tkl_str(cli->argv[0]), NULL, service));
}

/* ---- Instances ----------------------------------------------------------- */

/* Escapes bytes of names that are not text. */
static json_t *meta_json(const tkl_service_instance *instance)
{
    json_t *object = json_object();
    for (size_t i = 0; i < instance->meta_count; i++) {
        const tkl_service_meta *meta = &instance->meta[i];
        char *name = cli_escape(meta->name, false);
        if (name)
            json_object_set_new(object, name, cli_json_bytes(meta->value));
        free(name);
    }
    return object;
}

static json_t *instance_json(const tkl_service_instance *instance)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:I}", "id", cli_json_bytes(instance->id), "address",
                     cli_json_bytes(instance->address), "weight",
                     json_integer(instance->weight > 0 ? (json_int_t)instance->weight : 0), "meta",
                     meta_json(instance), "left_ms", (json_int_t)instance->left_ms);
}

static json_t *instances_json(const tkl_service_instances *instances)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < instances->count; i++)
        json_array_append_new(rows, instance_json(&instances->items[i]));
    return rows;
}

/* ---- register ------------------------------------------------------------ */

typedef struct registering {
    tkl_service_instance instance;
    tkl_service_meta meta[META_MAX];
    tkl_registration *registration;
    int woken; /* an eventfd: a signal came */
} registering;

static int read_meta(const cli_session *cli, registering *r)
{
    for (size_t g = 0; g < cli->ngiven; g++) {
        const cli_given *given = &cli->given[g];
        const char *equals = given->text ? strchr(given->text, '=') : NULL;
        if (strcmp(given->option->name, "meta") != 0)
            continue;
        if (!equals || equals == given->text)
            return cli_usage(cli, "invalid --meta '%s': NAME=VALUE", given->text);
        if (r->instance.meta_count == META_MAX)
            return cli_usage(cli, "more than %d --meta", META_MAX);
        r->meta[r->instance.meta_count++] =
            (tkl_service_meta){{given->text, (size_t)(equals - given->text)}, tkl_str(equals + 1)};
    }
    r->instance.meta = r->meta;
    return CLI_OK;
}

static int read_instance(const cli_session *cli, registering *r)
{
    int64_t weight = cli_number(cli, "weight", 1);
    r->instance.address = tkl_str(cli_text(cli, "address", NULL));
    r->instance.id = tkl_str(cli_text(cli, "id", NULL));
    if (r->instance.address.len == 0)
        return cli_usage(cli, "missing --address A: where it can be reached");
    if (weight < 0)
        return cli_usage(cli, "invalid --weight: 0 or more");
    r->instance.weight = weight == 0 ? TKL_NONE : weight;
    return read_meta(cli, r);
}

static void wake(void *arg)
{
    eventfd_write(((registering *)arg)->woken, 1);
}

static bool is_replaced(const registering *r)
{
    return tkl_registration_look(r->registration) == TKL_REGISTRATION_REPLACED;
}

static int print_registered(const cli_session *cli, const registering *r)
{
    static const cli_column columns[] = {
        {"name", "name"}, {"id", "id"}, {"address", "address"}, {0}};
    tkl_bytes id = r->instance.id.len > 0 ? r->instance.id : r->instance.address;
    int failed = cli_print_record(
        cli,
        json_pack("{s:o, s:o, s:o}", "name", cli_json_bytes(tkl_str(cli->argv[0])), "id",
                  cli_json_bytes(id), "address", cli_json_bytes(r->instance.address)),
        columns);
    return failed ? failed : cli_flush(cli);
}

/* Without a command: waits for a signal. */
static int wait_for_signal(cli_session *cli, const registering *r)
{
    struct pollfd file = {r->woken, POLLIN, 0};
    int failed = print_registered(cli, r);
    while (!failed && poll(&file, 1, LOOK_MS) <= 0)
        if (is_replaced(r))
            return cli_fail(cli, CLI_LOST, "another program has registered this id");
    return failed;
}

static int run_command(cli_session *cli, const registering *r)
{
    cli_child child;
    cli_command command = {.argv = &cli->argv[1], .foreground = true};
    bool warned = false;
    int failed = cli_child_start(cli, &command, &child);
    if (failed)
        return failed;
    if (cli_patience_signal() != 0) /* the signal came before the child could get it */
        kill(-child.pid, cli_patience_signal());
    while (cli_child_wait(&child, -1, LOOK_MS) != CLI_CHILD_ENDED)
        if (!warned && is_replaced(r)) {
            cli_fail(cli, CLI_OK, "another program has registered this id: the command goes on");
            warned = true;
        }
    return cli_child_close(cli, &child);
}

/* Runs while the instance is registered; returns when it is time to deregister. */
static int stay_registered(cli_session *cli, const registering *r)
{
    if (cli->argc > 1) {
        cli_patience_end(cli);
        return cli_patience_signal() != 0 ? CLI_OK : run_command(cli, r);
    }
    int failed = wait_for_signal(cli, r);
    cli_patience_end(cli);
    return failed;
}

static int leave_service(cli_session *cli, registering *r, int failed)
{
    int code = tkl_registration_close(r->registration);
    if (code < 0)
        cli_fail(cli, CLI_OK, "not deregistered, it will end with its lease: %s", tkl_errmsg());
    if (cli_patience_signal() == 0 || cli->argc > 1)
        return failed;
    return cli_end_of_signal(cli, cli_patience_signal());
}

static int register_while(cli_session *cli, registering *r, tkl_service *service)
{
    tkl_registration_options options = {.lease_ms = cli_number(cli, "lease", 10000)};
    r->woken = eventfd(0, EFD_CLOEXEC);
    if (r->woken < 0)
        return cli_fail(cli, CLI_FAILURE, "eventfd: %s", strerror(errno));
    int failed = cli_patience_begin(cli, wake, r);
    if (!failed)
        failed =
            cli_end(cli, tkl_service_register(service, &r->instance, &options, &r->registration));
    if (!failed)
        failed = leave_service(cli, r, stay_registered(cli, r));
    close(r->woken);
    return failed;
}

static int register_service(cli_session *cli)
{
    static registering r;
    tkl_service *service = NULL;
    int64_t lease = cli_number(cli, "lease", 10000);
    if (cli->argc > 1 && cli->before_dashes != 1)
        return cli_usage(cli, "a command goes after --");
    if (lease < 100 || lease > 300000)
        return cli_usage(cli, "invalid --lease: from 100ms to 5m");
    int failed = read_instance(cli, &r);
    if (!failed)
        failed = open_service(cli, &service);
    if (!failed)
        failed = register_while(cli, &r, service);
    tkl_service_close(service);
    return failed;
}

/* ---- list, watch, pick --------------------------------------------------- */

static int list_names(cli_session *cli)
{
    return cli_list(cli, tkl_service_names);
}

static int service_list(cli_session *cli)
{
    static const cli_column columns[] = {
        {"id", "ID"},     {"address", "ADDRESS"},    {"weight", "WEIGHT"},
        {"meta", "META"}, {"left_ms", "LEASE LEFT"}, {0},
    };
    tkl_service *service = NULL;
    tkl_service_instances *instances = NULL;
    if (cli->argc == 0)
        return list_names(cli);
    int failed = open_service(cli, &service);
    if (!failed)
        failed = cli_end(cli, tkl_service_list(service, &instances));
    if (!failed)
        failed = cli_print_rows(cli, instances_json(instances), columns);
    tkl_service_instances_free(instances);
    tkl_service_close(service);
    return failed;
}

/* For people: prints the addresses in one line. */
static int print_change(const cli_session *cli, const tkl_service_instances *instances)
{
    if (cli->json) {
        int failed = cli_print_json(cli, instances_json(instances));
        return failed ? failed : cli_flush(cli);
    }
    for (size_t i = 0; i < instances->count; i++) {
        char *address = cli_escape(instances->items[i].address, false);
        printf("%s%s", i ? " " : "", address ? address : "");
        free(address);
    }
    puts(instances->count == 0 ? "(none)" : "");
    return cli_flush(cli);
}

static int watch_changes(cli_session *cli, tkl_service *service)
{
    int64_t left = cli_number(cli, "max", INT64_MAX);
    int64_t wait_ms = cli_flag(cli, "wait") ? cli_number(cli, "wait", 0) : -1;
    uint64_t change = 0;
    int failed = CLI_OK;
    while (!failed && left-- > 0) {
        tkl_service_instances *instances;
        failed = cli_end(cli, tkl_service_watch(service, change, wait_ms, &instances));
        if (failed)
            return failed;
        change = instances->change;
        failed = print_change(cli, instances);
        tkl_service_instances_free(instances);
    }
    return failed;
}

static int service_watch(cli_session *cli)
{
    tkl_service *service = NULL;
    if (cli_number(cli, "max", 1) < 1)
        return cli_usage(cli, "--max is 1 or more");
    int failed = open_service(cli, &service);
    if (!failed)
        failed = watch_changes(cli, service);
    tkl_service_close(service);
    return failed;
}

static int service_pick(cli_session *cli)
{
    tkl_service *service = NULL;
    tkl_service_instances *picked = NULL;
    bool by_weight = strcmp(cli_text(cli, "by", "random"), "weight") == 0;
    int failed = open_service(cli, &service);
    if (!failed)
        failed = cli_end(
            cli, tkl_service_pick(service, by_weight ? TKL_PICK_WEIGHT : TKL_PICK_RANDOM, &picked));
    if (!failed && cli->json) {
        failed = cli_print_json(cli, instance_json(&picked->items[0]));
    } else if (!failed) {
        cli_print_bytes(picked->items[0].address);
        putchar('\n');
    }
    tkl_service_instances_free(picked);
    tkl_service_close(service);
    return failed;
}

/* ---- The component ------------------------------------------------------- */

static const cli_option register_options[] = {
    {"address", CLI_TEXT, "A", "address at which it can be reached (required)"},
    {"id", CLI_TEXT, "ID", "name in the service (default: the address)"},
    {"meta", CLI_TEXT, "NAME=VALUE", "any other data of the instance; may be repeated"},
    {"weight", CLI_INTEGER, "N", "weight for picks by weight; 0 is never picked (default 1)"},
    {"lease", CLI_PERIOD, "DURATION", "listed for this long after a crash (default 10s)"},
    {0},
};
static const cli_option watch_options[] = {
    {"max", CLI_INTEGER, "N", "end after N lists (default: no limit)"},
    {"wait", CLI_DURATION, "DURATION", "end with exit code 1 after this long without a change"},
    {0},
};
static const cli_option pick_options[] = {
    {"by", CLI_CHOICE, "random|weight", "how to pick (default random)"},
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "register",
        .args = "NAME [COMMAND...]",
        .summary = "be listed while COMMAND runs, or until a signal comes",
        .options = register_options,
        .details = "COMMAND goes after --. The lease is renewed in the background. An instance\n"
                   "of the same id is replaced. The exit code is COMMAND's; 126, 127: COMMAND\n"
                   "cannot be run, or was not found; 76 without COMMAND: another program\n"
                   "has registered this id.",
        .example = "tackle service register shop --address localhost:8080 --meta zone=b -- \\\n"
                   "  tackle service list shop",
        .local = "it runs a command, or stays until a signal ends it",
        .run = register_service,
    },
    {
        .name = "list",
        .args = "[NAME]",
        .summary = "the instances of a service; without NAME all services",
        .options = cli_list_options,
        .example = "tackle service list shop --json",
        .effect = CLI_READS,
        .run = service_list,
    },
    {
        .name = "watch",
        .args = "NAME",
        .summary = "print the instances, and again whenever they change",
        .options = watch_options,
        .example = "tackle service watch shop --max 1",
        .effect = CLI_READS,
        .follows = true,
        .run = service_watch,
    },
    {
        .name = "pick",
        .args = "NAME",
        .summary = "the address of one instance; exit code 1 when there is none",
        .options = pick_options,
        .example = "tackle service register shop --address localhost:8080 -- \\\n"
                   "  tackle service pick shop",
        .effect = CLI_READS,
        .run = service_pick,
    },
    {0},
};

static const cli_step demo[] = {
    {"A service is listed while its program runs.",
     "tackle service register shop --address localhost:8080 --meta zone=b -- tackle service list "
     "shop",
     0},
    {"... and gone afterwards.", "tackle service pick shop", 1},
    {0},
};

const cli_component cli_service = {
    .name = "service",
    .summary = "programs register where they can be reached",
    .verbs = verbs,
    .shared = "services",
    .demo = demo,
};
