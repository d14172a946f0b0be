/* SPDX-License-Identifier: MIT
 *
 * Services: a list of 100 instances against a bare HGETALL of as much text, and a pick from memory.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tackle/tackle.h>

#include "bare.h"
#include "ours.h"

enum { INSTANCES = 100, PICKS = 100000 };

static tkl_registration *registrations[INSTANCES];

static void register_all(tkl_service *service)
{
    for (int i = 0; i < INSTANCES; i++) {
        char address[32];
        snprintf(address, sizeof address, "10.0.%d.%d:8080", i / 256, i % 256);
        tkl_service_instance me = {.address = tkl_str(address)};
        tkl_registration_options options = {.lease_ms = 300000};
        check(tkl_service_register(service, &me, &options, &registrations[i]));
    }
}

static void deregister_all(void)
{
    for (int i = 0; i < INSTANCES; i++)
        check(tkl_registration_close(registrations[i]));
}

static void prepare_list(const bench_run *run)
{
    redisContext *c = bare_connect(run->socket);
    for (int i = 0; i < INSTANCES; i++) {
        char id[32];
        snprintf(id, sizeof id, "10.0.%d.%d:8080", i / 256, i % 256);
        const char *argv[] = {"HSET", "bench:services", id, "....10.0.1.100:8080....1"};
        bare_call(c, 4, argv);
    }
    redisFree(c);
}

static void bare_list(bench_worker *w)
{
    const char *argv[] = {"HGETALL", "bench:services"};
    bare_call(w->own, 2, argv);
}

static tkl_service *service;

static void service_open(bench_run *run, const bench_contender *self)
{
    run->shared = ours_client(run, self);
    check(tkl_service_open(run->shared, tkl_str("bench"), NULL, &service));
    register_all(service);
}

static void service_close(bench_run *run)
{
    deregister_all();
    tkl_service_close(service);
    tkl_close(run->shared);
}

static void ours_list(bench_worker *w)
{
    tkl_service_instances *instances;
    (void)w;
    check(tkl_service_list(service, &instances));
    if (instances->count != INSTANCES)
        bench_die("an instance is missing");
    tkl_service_instances_free(instances);
}

static double pick_ns(const bench_run *run)
{
    bench_run own = *run;
    tkl_service_instances *picked;
    service_open(&own, &(bench_contender){.name = "tackle"});
    check(tkl_service_pick(service, TKL_PICK_ROUND_ROBIN, &picked));
    tkl_service_instances_free(picked);
    int64_t start = bench_now_ns();
    for (int i = 0; i < PICKS; i++) {
        check(tkl_service_pick(service, TKL_PICK_ROUND_ROBIN, &picked));
        tkl_service_instances_free(picked);
    }
    double each = (double)(bench_now_ns() - start) / PICKS;
    service_close(&own);
    return each;
}

static const bench_case cases[] = {
    {.name = "Service list of 100 instances",
     .unit = "ops/s",
     .prepare = prepare_list,
     .contenders =
         {{.name = "hiredis, HGETALL", BARE(bare_list)},
          {.name = "tackle", .setup = service_open, .step = ours_list, .teardown = service_close}}},
    {.name = "Service pick from memory",
     .unit = "ns",
     .contenders = {{.name = "tackle", .measure = pick_ns}}},
    {.name = NULL},
};

const bench_component service_bench = {"service", cases};
