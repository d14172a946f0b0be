/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <tackle/tackle.h>

#include "report.h"
#include "run.h"

#define LIST(component) &component,
static const bench_component *const components[] = {BENCH_COMPONENTS(LIST)};

#define COMPONENTS (int)(sizeof components / sizeof *components)

typedef struct settings {
    int rounds;
    double seconds; /* length of one turn */
    bool quick, lengthy, peers;
    const char *only; /* cases whose names contain this; NULL: all */
    const char *json; /* file; NULL: none */
} settings;

static const char usage[] =
    "usage: tackle_bench [component...] [options]\n"
    "  --rounds N      rounds for each case, default 25\n"
    "  --seconds S     length of one contender's turn in seconds, default 0.2\n"
    "  --case TEXT     only the cases whose names contain this\n"
    "  --quick         a short look: 5 rounds of 0.05 s\n"
    "  --long          also the cases that take minutes, such as 10 million calls\n"
    "  --peers         also the other libraries, which make bench-peers installs\n"
    "  --json FILE     write the samples of every round to FILE\n"
    "Ratios are those to the bare limit in the same round. fair: operations of the slowest worker "
    "by\n"
    "those of the quickest. commands: time that the server spends in executing commands for one\n"
    "operation, and their number. A target that was missed is printed; the exit code is 0 all the\n"
    "same.\n";

/* ---- Shared by all cases ------------------------------------------------- */

static pid_t bench_pid;

_Noreturn void bench_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    /* The others of a failed worker wait at a gate. */
    if (getpid() != bench_pid)
        kill(bench_pid, SIGTERM);
    _exit(70);
}

int64_t bench_now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- The private server -------------------------------------------------- */

typedef struct arena {
    tkl_client *owner; /* the server ends with it */
    redisContext *admin;
    char socket[128];
    char url[160];
    char version[64];
} arena;

static void find_version(arena *a)
{
    tkl_reply *info;
    if (tkl_callz(a->owner, &info, "INFO", "server", NULL) != TKL_OK)
        bench_die("%s", tkl_errmsg());
    const char *text = tkl_reply_str(info), *at = strstr(text, "valkey_version:");
    const char *program = at ? "valkey" : "redis";
    if (!at)
        at = strstr(text, "redis_version:");
    at = at ? strchr(at, ':') + 1 : "";
    snprintf(a->version, sizeof a->version, "%s %.*s", program, (int)strcspn(at, "\r"), at);
    tkl_reply_free(info);
}

static void arena_open(arena *a)
{
    tkl_reply *reply;
    if (tkl_open("embedded:", NULL, &a->owner) != TKL_OK ||
        tkl_callz(a->owner, &reply, "CONFIG", "GET", "unixsocket", NULL) != TKL_OK)
        bench_die("%s", tkl_errmsg());
    snprintf(a->socket, sizeof a->socket, "%s", tkl_reply_str(tkl_reply_at(reply, 1)));
    snprintf(a->url, sizeof a->url, "unix://%s", a->socket);
    tkl_reply_free(reply);
    a->admin = redisConnectUnix(a->socket);
    if (!a->admin || a->admin->err)
        bench_die("cannot connect to %s", a->socket);
    find_version(a);
}

static void arena_close(arena *a)
{
    redisFree(a->admin);
    tkl_close(a->owner);
}

/* ---- The machine --------------------------------------------------------- */

static void cpu_name(char *name, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "unknown processor");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (colon && strncmp(line, "model name", 10) == 0) {
            snprintf(name, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
            break;
        }
    }
    if (f)
        fclose(f);
}

static json_t *machine_json(const arena *a, const settings *set)
{
    char cpu[128], hiredis[32];
    double load = 0;
    struct utsname un;
    getloadavg(&load, 1);
    uname(&un);
    cpu_name(cpu, sizeof cpu);
    snprintf(hiredis, sizeof hiredis, "%d.%d.%d", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
    return json_pack("{s:s, s:i, s:f, s:s, s:s, s:s, s:s, s:i, s:f}", "cpu", cpu, "cores",
                     (int)sysconf(_SC_NPROCESSORS_ONLN), "load", load, "kernel", un.release,
                     "server", a->version, "hiredis", hiredis, "tackle", TKL_VERSION, "rounds",
                     set->rounds, "seconds", set->seconds);
}

static void print_machine(json_t *machine)
{
    const char *cpu, *kernel, *server, *hiredis, *version;
    int cores, rounds;
    double seconds, load;
    json_unpack(machine, "{s:s, s:i, s:F, s:s, s:s, s:s, s:s, s:i, s:F}", "cpu", &cpu, "cores",
                &cores, "load", &load, "kernel", &kernel, "server", &server, "hiredis", &hiredis,
                "tackle", &version, "rounds", &rounds, "seconds", &seconds);
    printf("tackle %s, hiredis %s, %s on a Unix socket; %d cores (%s), Linux %s; "
           "%d rounds of %g s; load before %.1f%s\n",
           version, hiredis, server, cores, cpu, kernel, rounds, seconds, load,
           load > cores / 2.0 ? " (the machine is busy: mind the spread)" : "");
}

/* ---- Rounds -------------------------------------------------------------- */

static int count_contenders(const bench_case *bcase)
{
    int n = 0;
    while (n < BENCH_CONTENDERS && bcase->contenders[n].name)
        n++;
    return n;
}

/* Runs a round. Each begins with another contender, so none always runs behind the same one. */
static void run_round(outcome *o, int round, bench_run *run, redisContext *admin)
{
    int n = count_contenders(o->bcase);
    for (int i = 0; i < n; i++) {
        int c = (i + round) % n;
        if (o->samples[c])
            o->samples[c][round] = run_contender(run, admin, o->bcase, &o->bcase->contenders[c]);
    }
}

static outcome *outcome_new(const bench_case *bcase, const settings *set)
{
    outcome *o = calloc(1, sizeof *o);
    if (!o)
        bench_die("out of memory");
    o->bcase = bcase;
    o->rounds = set->rounds;
    for (int c = 0; c < count_contenders(bcase); c++)
        if (set->peers || bcase->contenders[c].role != BENCH_PEER)
            o->samples[c] = calloc((size_t)set->rounds, sizeof(bench_sample));
    return o;
}

static void outcome_free(outcome *o)
{
    for (int c = 0; c < BENCH_CONTENDERS; c++) {
        for (int r = 0; o->samples[c] && r < o->rounds; r++)
            free(o->samples[c][r].counts);
        free(o->samples[c]);
    }
    free(o);
}

static bool run_case(const bench_case *bcase, const settings *set, const arena *a, json_t *results)
{
    bench_run run = {.socket = a->socket,
                     .url = a->url,
                     .seconds = set->seconds,
                     .quick = set->quick,
                     .lengthy = set->lengthy};
    outcome *o = outcome_new(bcase, set);
    for (int r = 0; r < set->rounds; r++)
        run_round(o, r, &run, a->admin);
    report_table(o);
    json_array_append_new(results, report_json(o));
    bool reached = report_reached(o);
    outcome_free(o);
    return reached;
}

static bool run_component(const bench_component *component, const settings *set, const arena *a,
                          json_t *results)
{
    bool reached = true;
    report_heading(component->name);
    for (const bench_case *bcase = component->cases; bcase->name; bcase++)
        if (!set->only || strstr(bcase->name, set->only))
            reached &= run_case(bcase, set, a, results);
    return reached;
}

/* ---- The command line ---------------------------------------------------- */

static settings parse_arguments(int argc, char **argv)
{
    static const struct option options[] = {
        {"rounds", required_argument, NULL, 'r'},
        {"seconds", required_argument, NULL, 's'},
        {"case", required_argument, NULL, 'c'},
        {"quick", no_argument, NULL, 'q'},
        {"long", no_argument, NULL, 'l'},
        {"peers", no_argument, NULL, 'p'},
        {"json", required_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    settings set = {.rounds = 0};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        set.rounds = o == 'r' ? atoi(optarg) : set.rounds;
        set.seconds = o == 's' ? atof(optarg) : set.seconds;
        set.only = o == 'c' ? optarg : set.only;
        set.json = o == 'j' ? optarg : set.json;
        set.quick |= o == 'q';
        set.lengthy |= o == 'l';
        set.peers |= o == 'p';
        if (o == 'h' || o == '?') {
            fputs(usage, o == 'h' ? stdout : stderr);
            exit(o == 'h' ? 0 : 64);
        }
    }
    if (set.rounds <= 0)
        set.rounds = set.quick ? 5 : 25;
    if (set.seconds <= 0)
        set.seconds = set.quick ? 0.05 : 0.2;
    return set;
}

static bool chosen(const bench_component *component, char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], component->name) == 0)
            return true;
    return count == 0;
}

static void save(const char *path, json_t *machine, json_t *results)
{
    json_t *all = json_pack("{s:O, s:O}", "machine", machine, "components", results);
    if (json_dump_file(all, path, JSON_INDENT(1)) != 0)
        bench_die("cannot write %s", path);
    json_decref(all);
}

int main(int argc, char **argv)
{
    bench_pid = getpid();
    settings set = parse_arguments(argc, argv);
    arena a;
    arena_open(&a);
    json_t *machine = machine_json(&a, &set), *results = json_object();
    print_machine(machine);
    bool reached = true;
    for (int i = 0; i < COMPONENTS; i++)
        if (chosen(components[i], argv + optind, argc - optind)) {
            json_t *cases = json_array();
            reached &= run_component(components[i], &set, &a, cases);
            json_object_set_new(results, components[i]->name, cases);
        }
    if (set.json)
        save(set.json, machine, results);
    json_decref(machine);
    json_decref(results);
    arena_close(&a);
    puts(reached ? "all targets were reached" : "some targets were missed");
    return 0;
}
