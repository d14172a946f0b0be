/* SPDX-License-Identifier: MIT
 *
 * Configuration: a read from memory, against nothing but its target; a change until a reader in
 * another client has it, against a bare GET.
 */
#include <stdlib.h>

#include <tackle/tackle.h>

#include "bare.h"
#include "ours.h"

enum { READS = 100000 };

static void set_limits(const bench_run *run)
{
    tkl_client *client;
    tkl_config *config;
    check(tkl_open(run->url, NULL, &client));
    check(tkl_config_open(client, tkl_str("limits"), tkl_str("bench"), NULL, &config));
    check(tkl_config_set(config, tkl_str("{\"results\": 50}"), NULL, NULL));
    tkl_config_close(config);
    tkl_close(client);
}

static double read_ns(const bench_run *run)
{
    tkl_client *client;
    tkl_config *config;
    tkl_config_value *value;
    int64_t age;
    check(tkl_open(run->url, NULL, &client));
    check(tkl_config_open(client, tkl_str("limits"), tkl_str("bench"), NULL, &config));
    check(tkl_config_read(config, &value, NULL));
    tkl_config_value_free(value);
    int64_t start = bench_now_ns();
    for (int i = 0; i < READS; i++) {
        check(tkl_config_read(config, &value, &age));
        tkl_config_value_free(value);
    }
    double each = (double)(bench_now_ns() - start) / READS;
    tkl_config_close(config);
    tkl_close(client);
    return each;
}

static double flag_ns(const bench_run *run)
{
    tkl_client *client;
    tkl_maintenance *flag;
    tkl_maintenance_state state;
    check(tkl_open(run->url, NULL, &client));
    check(tkl_maintenance_open(client, tkl_str("bench"), NULL, &flag));
    check(tkl_maintenance_set(flag, true, tkl_str("a benchmark")));
    check(tkl_maintenance_read(flag, &state));
    int64_t start = bench_now_ns();
    for (int i = 0; i < READS; i++)
        check(tkl_maintenance_read(flag, &state));
    double each = (double)(bench_now_ns() - start) / READS;
    tkl_maintenance_close(flag);
    tkl_close(client);
    return each;
}

/* The time from the call that sets a value until another client's reader has it. */
static double change_us(const bench_run *run)
{
    enum { CHANGES = 100 };
    tkl_client *writer_client, *reader_client;
    tkl_config *writer, *reader;
    tkl_config_value *seen, *value;
    int64_t total = 0;
    check(tkl_open(run->url, NULL, &writer_client));
    check(tkl_open(run->url, NULL, &reader_client));
    check(tkl_config_open(writer_client, tkl_str("limits"), tkl_str("bench"), NULL, &writer));
    check(tkl_config_open(reader_client, tkl_str("limits"), tkl_str("bench"), NULL, &reader));
    check(tkl_config_watch(reader, NULL, -1, &seen));
    for (int i = 0; i < CHANGES; i++) {
        int64_t start = bench_now_ns();
        check(tkl_config_set(writer, tkl_str("1"), NULL, NULL));
        check(tkl_config_watch(reader, seen, -1, &value));
        total += bench_now_ns() - start;
        tkl_config_value_free(seen);
        seen = value;
    }
    tkl_config_value_free(seen);
    tkl_config_close(writer);
    tkl_config_close(reader);
    tkl_close(writer_client);
    tkl_close(reader_client);
    return (double)total / CHANGES / 1000;
}

static const bench_case cases[] = {
    {.name = "Configuration read from memory, with its age",
     .unit = "ns",
     .at_most = 100,
     .has_at_most = true,
     .prepare = set_limits,
     .contenders = {{.name = "tackle", .measure = read_ns}}},
    {.name = "Maintenance flag read from memory",
     .unit = "ns",
     .at_most = 100,
     .has_at_most = true,
     .prepare = set_limits,
     .contenders = {{.name = "tackle", .measure = flag_ns}}},
    {.name = "Configuration set, until another reader has it",
     .unit = "us",
     .prepare = set_limits,
     .contenders = {{.name = "tackle", .measure = change_us}}},
    {.name = NULL},
};

const bench_component config_bench = {"config", cases};
