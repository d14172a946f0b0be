/* SPDX-License-Identifier: MIT
 *
 * Every verb of every component, attacked: on keys that another program has damaged, and through a
 * proxy that spoils what the server says. Whatever happens, the command ends in time with an exit
 * code of its own, and the server goes on answering: no crash, no endless loop, no script that
 * hangs.
 *
 * The test runs the examples of the verbs, so a new component is attacked by being registered.
 * Several attackers share the verbs, because an attack mostly waits; each attacker is a process
 * with a server of its own. The test makes one pass, or as many as fit into $TACKLE_STRESS seconds,
 * each with other seeds. A failure names its pass: ATTACK_PASS=7 ATTACK_ONLY=queue repeats it.
 *
 * ctest: cost 50
 */
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "support/corrupt.h"
#include "support/proxy.h"
#include "support/test.h"

/* Components without attacks: they use no server, or servers of their own. serve_attack attacks
 * `serve`. */
static const char *const spared[] = {"server", "serve", "demo", "lab", "cron", "help", "version"};

/* Seconds until a command that has not ended is killed; enough for a busy machine. */
#define PATIENCE "40"

enum { ATTACKERS = 4 };

typedef struct attack {
    int attacker; /* 0 to ATTACKERS - 1 */
    server *server;
    proxy *proxy;
    char dir[64];  /* where the examples run */
    uint64_t pass; /* each pass has other seeds */
    uint64_t seed; /* seed of the attack under way */
    int runs;
} attack;

static bool is_spared(const cli_component *component)
{
    const char *only = getenv("ATTACK_ONLY");
    if (only != NULL)
        return strcmp(only, component->name) != 0;
    for (size_t i = 0; i < sizeof spared / sizeof *spared; i++)
        if (strcmp(spared[i], component->name) == 0)
            return true;
    return false;
}

/* ---- Running an example -------------------------------------------------- */

/* Shortens all waits in an example, so that no attack waits for long. */
static char *shorten_waits(const char *text)
{
    regex_t pattern;
    regmatch_t match[3];
    char *short_text = test_format("%s", "");
    assert_int_equal(
        regcomp(&pattern, "(--wait|--lease|sleep|--every) ([0-9.]+[a-z]*|forever)", REG_EXTENDED),
        0);
    while (regexec(&pattern, text, 2, match, 0) == 0) {
        int before = (int)match[0].rm_so, word = (int)(match[1].rm_eo - match[1].rm_so);
        bool sleeps = strncmp(text + match[1].rm_so, "sleep", 5) == 0;
        char *longer = test_format("%s%.*s%.*s %s", short_text, before, text, word,
                                   text + match[1].rm_so, sleeps ? "0.2" : "300ms");
        free(short_text);
        short_text = longer;
        text += match[0].rm_eo;
    }
    regfree(&pattern);
    char *whole = test_format("%s%s", short_text, text);
    free(short_text);
    return whole;
}

static bool can_wait(const cli_verb *verb)
{
    for (const cli_option *o = verb->options; o != NULL && o->name != NULL; o++)
        if (strcmp(o->name, "wait") == 0)
            return true;
    return false;
}

/* Frees `text`. */
static char *replace(char *text, const char *from, const char *to)
{
    char *done = test_format("%s", "");
    const char *rest = text;
    for (const char *at; (at = strstr(rest, from)) != NULL; rest = at + strlen(from)) {
        char *longer = test_format("%s%.*s%s", done, (int)(at - rest), rest, to);
        free(done);
        done = longer;
    }
    char *whole = test_format("%s%s", done, rest);
    free(done);
    free(text);
    return whole;
}

/* Puts a lock on several servers onto the one server that is attacked. */
static char *one_node(char *text)
{
    return replace(text, "embedded:,embedded:,embedded:", "\"$TACKLE_URL\"");
}

/* Adds --wait to the calls of verbs that have it. Some, such as `limit wait`, wait for ever by
 * default, which damaged keys may cause. */
static char *bound_waits(const cli_component *component, char *text)
{
    for (const cli_verb *v = component->verbs; v->run != NULL; v++) {
        if (v->name == NULL || !can_wait(v))
            continue;
        char *call = test_format("tackle %s %s ", component->name, v->name);
        char *bounded = test_format("%s--wait 300ms ", call);
        text = replace(text, call, bounded);
        free(call);
        free(bounded);
    }
    return text;
}

/* Removes the lines that drop keys, since dropped keys cannot be damaged. */
static char *without_drops(const char *text)
{
    char *kept = test_format("%s", "");
    while (*text != '\0') {
        int len = (int)strcspn(text, "\n");
        char *line = test_format("%.*s\n", len, text);
        bool drops = strstr(line, " drop ") || strstr(line, " destroy ") || strstr(line, " clear ");
        char *longer = drops ? NULL : test_format("%s%s", kept, line);
        if (longer != NULL) {
            free(kept);
            kept = longer;
        }
        free(line);
        text += len + (text[len] == '\n');
    }
    return kept;
}

/* Lets each call of tackle write its exit code into a file. */
static char *instrument(const attack *a, const char *text)
{
    return test_format("tackle() { timeout -s KILL " PATIENCE " '" TACKLE_BINARY_DIR
                       "/tackle' \"$@\"; code=$?; echo \"$code $*\" | tr '\\n' ' ' >>'%s/codes'; "
                       "echo >>'%s/codes'; return $code; }\n%s",
                       a->dir, a->dir, text);
}

static void be_shell(const attack *a, const char *url, const char *script)
{
    char log[80];
    snprintf(log, sizeof log, "%s/log", a->dir);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int output = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    setpgid(0, 0);
    dup2(null, 0);
    dup2(output, 1);
    dup2(output, 2);
    setenv("TACKLE_URL", url, 1);
    setenv("ASAN_OPTIONS", "exitcode=134:detect_leaks=0", 1);
    setenv("UBSAN_OPTIONS", "halt_on_error=1:exitcode=134:print_stacktrace=1", 1);
    if (chdir(a->dir) == 0)
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
    _exit(127);
}

static void run(attack *a, const char *url, const char *text)
{
    char *script = instrument(a, text), *codes = test_format("%s/codes", a->dir);
    unlink(codes);
    pid_t child = fork();
    if (child == 0)
        be_shell(a, url, script);
    assert_true(child > 0);
    waitpid(child, NULL, 0);
    kill(-child, SIGKILL); /* processes left in the background */
    a->runs++;
    free(codes);
    free(script);
}

/* ---- The outcome --------------------------------------------------------- */

static char *read_all(const attack *a, const char *name)
{
    char *path = test_format("%s/%s", a->dir, name), *text = calloc(1, 20000);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        size_t len = fread(text, 1, 19999, file);
        text[len] = '\0';
        fclose(file);
    }
    free(path);
    return text;
}

static const char *verdict(int code)
{
    switch (code) {
    case 132:
    case 134:
    case 135:
    case 136:
    case 139:
        return "crashed";
    case 124:
    case 137:
        return "did not end";
    default:
        return NULL;
    }
}

static void show_failure(const attack *a, const char *how, const char *what, const char *text)
{
    char *log = read_all(a, "log");
    char *keys = server_ask(a->server, "KEYS *");
    fprintf(stderr, "\n%s (pass %llu, %s)\n%s\n--- output\n%.4000s\n--- keys\n%.2000s\n", what,
            (unsigned long long)a->pass, how, text, log, keys);
    free(keys);
    free(log);
}

/* Whether a sender of files waits for room, which it reports. A channel with a damaged account may
 * be full for ever. */
static bool waits_for_room(const attack *a, int code, const char *line)
{
    char *log = read_all(a, "log");
    bool waits = code == 137 && strstr(line, "files send") && strstr(log, "waiting for room");
    free(log);
    return waits;
}

/* Checks that neither the command nor the server has crashed or loops without an end. */
static int judge(attack *a, const char *how, const char *text)
{
    int failures = 0;
    char *codes = read_all(a, "codes"), *rest = codes;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        const char *what = verdict(atoi(line));
        if (what == NULL || waits_for_room(a, atoi(line), line))
            continue;
        char *message = test_format("%s: tackle %s", what, line);
        show_failure(a, how, message, text);
        free(message);
        failures++;
    }
    free(codes);
    char *pong = server_ask(a->server, "PING");
    if (strcmp(pong, "PONG") != 0) {
        show_failure(a, how, pong, text);
        failures++;
        free(server_ask(a->server, "SCRIPT KILL"));
    }
    free(pong);
    return failures;
}

/* ---- Attacks ------------------------------------------------------------- */

static int attack_keys(attack *a, const char *example, const char *fill)
{
    char *url = test_format("%s?timeout=2s", a->server->url);
    server_do(a->server, "FLUSHALL");
    run(a, url, fill);
    corrupt_keys(a->server, a->seed);
    run(a, url, example);
    int failures = judge(a, "damaged keys", example);
    free(url);
    return failures;
}

static int attack_wire(attack *a, const char *example)
{
    char *url = test_format("%s?timeout=100ms", proxy_url(a->proxy));
    server_do(a->server, "FLUSHALL");
    proxy_mutate(a->proxy, TO_CLIENT, 3, a->seed);
    run(a, url, example);
    proxy_mutate(a->proxy, TO_CLIENT, 0, 0);
    int failures = judge(a, "spoiled replies", example);
    free(url);
    return failures;
}

/* The seed of a verb, which does not depend on the other verbs. */
static uint64_t seed_of(const cli_component *component, const cli_verb *verb)
{
    uint64_t seed = 5381;
    for (const char *c = component->name; *c != '\0'; c++)
        seed = seed * 33 + (unsigned char)*c;
    for (const char *c = verb->name != NULL ? verb->name : ""; *c != '\0'; c++)
        seed = seed * 33 + (unsigned char)*c;
    return seed % 1000000;
}

static int attack_verb(attack *a, const cli_component *component, const cli_verb *verb)
{
    char *example = one_node(bound_waits(component, shorten_waits(verb->example)));
    char *fill = without_drops(example);
    a->seed = seed_of(component, verb) + a->pass;
    int failures = attack_keys(a, example, fill) + attack_wire(a, example);
    free(example);
    free(fill);
    return failures;
}

/* Attacks the verbs that are this attacker's share. */
static int attack_verbs(attack *a)
{
    int failures = 0, number = 0;
    for (size_t i = 0; cli_components[i] != NULL; i++)
        for (const cli_verb *v = cli_components[i]->verbs; v->run != NULL; v++)
            if (!is_spared(cli_components[i]) && v->example != NULL &&
                number++ % ATTACKERS == a->attacker)
                failures += attack_verb(a, cli_components[i], v);
    return failures;
}

static int64_t seconds(void)
{
    const char *text = getenv("TACKLE_STRESS");
    return text != NULL ? atoll(text) : 0;
}

/* Returns the number of failures, or -1 if it attacked nothing. */
static int be_attacker(int attacker)
{
    const char *pass = getenv("ATTACK_PASS");
    attack a = {.attacker = attacker,
                .server = server_start(NULL),
                .pass = pass != NULL ? strtoull(pass, NULL, 10) : 0};
    a.proxy = proxy_start(a.server->socket);
    test_make_dir(a.dir, sizeof a.dir);
    setenv("HOME", a.dir, 1);
    setenv("XDG_DATA_HOME", a.dir, 1);
    unsetenv("TACKLE_PASSWORD");
    int failures = 0;
    int64_t until = test_now_ms() + seconds() * 1000;
    do {
        failures += attack_verbs(&a);
        a.pass++;
    } while (test_now_ms() < until);
    proxy_end(a.proxy);
    server_end(a.server);
    return a.runs > 0 || getenv("ATTACK_ONLY") != NULL ? failures : -1;
}

static void every_verb_survives_its_attackers(void **state)
{
    (void)state;
    pid_t attackers[ATTACKERS];
    for (int i = 0; i < ATTACKERS; i++) {
        attackers[i] = fork();
        assert_true(attackers[i] >= 0);
        if (attackers[i] == 0)
            exit(be_attacker(i) != 0);
    }
    int failures = 0, status;
    for (int i = 0; i < ATTACKERS; i++)
        failures += waitpid(attackers[i], &status, 0) != attackers[i] || status != 0;
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_survives_its_attackers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
