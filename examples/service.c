/* SPDX-License-Identifier: MIT
 *
 * Two instances of a service register; a caller picks them in turn, and hears when one goes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>

static void stop_on(int rc)
{
    if (rc == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", tkl_strerror(rc), tkl_errmsg());
    exit(1);
}

static tkl_registration *register_instance(tkl_service *service, const char *address)
{
    const tkl_service_meta meta[] = {{TKL_LIT("zone"), TKL_LIT("b")}};
    tkl_service_instance me = {.address = tkl_str(address), .meta = meta, .meta_count = 1};
    tkl_registration *registration;
    stop_on(tkl_service_register(service, &me, NULL, &registration));
    return registration;
}

static void call_one(tkl_service *service)
{
    tkl_service_instances *picked;
    stop_on(tkl_service_pick(service, TKL_PICK_ROUND_ROBIN, &picked));
    printf("calling " TKL_FMT "\n", TKL_ARG(picked->items[0].address));
    tkl_service_instances_free(picked);
}

/* Waits until there are `count` instances. */
static void await_instances(tkl_service *service, size_t count)
{
    tkl_service_instances *instances;
    uint64_t change = 0;
    size_t now;
    do {
        stop_on(tkl_service_watch(service, change, -1, &instances));
        change = instances->change;
        now = instances->count;
        tkl_service_instances_free(instances);
    } while (now != count);
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    tkl_client *client;
    tkl_service *service;
    stop_on(tkl_open(url ? url : "embedded:", NULL, &client));
    stop_on(tkl_service_open(client, tkl_str("shop"), NULL, &service));

    tkl_registration *first = register_instance(service, "10.0.0.5:8080");
    tkl_registration *second = register_instance(service, "10.0.0.6:8080");
    await_instances(service, 2);
    for (int i = 0; i < 4; i++)
        call_one(service);

    stop_on(tkl_registration_close(first)); /* a crash would take until the end of its lease */
    await_instances(service, 1);
    call_one(service);

    stop_on(tkl_registration_close(second));
    tkl_service_close(service);
    tkl_close(client);
}
