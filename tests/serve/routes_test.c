/* SPDX-License-Identifier: MIT
 *
 * Routes and fields, as the tables of the command make them.
 */
#include <string.h>

#include "args.h"
#include "call.h"
#include "fields.h"
#include "openapi.h"
#include "support/test.h"

/* ---- The tables ---------------------------------------------------------- */

static void every_verb_is_a_route_or_says_why_not(void **state)
{
    (void)state;
    for (size_t i = 0; cli_components[i] != NULL; i++)
        for (const cli_verb *verb = cli_components[i]->verbs; verb->run != NULL; verb++)
            if ((verb->effect == CLI_UNSAID) != (verb->local != NULL))
                fail_msg("'tackle %s %s' needs .effect in its table, or .local with the reason",
                         cli_components[i]->name, verb->name != NULL ? verb->name : "");
}

static void rights_have_a_bit_for_every_component(void **state)
{
    (void)state;
    int count = 0;
    while (cli_components[count] != NULL)
        count++;
    assert_true(count < 64);
}

static bool is_option(const cli_verb *verb, const char *name)
{
    for (const cli_option *o = verb->options; o != NULL && o->name != NULL; o++)
        if (serve_option_is_field(o) && strcmp(o->name, name) == 0)
            return true;
    return false;
}

/* An argument and an option of one name could not be told apart in a request. */
static void every_field_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (serve_route route = {0}; serve_route_next(&route);) {
        serve_word words[SERVE_WORDS_MAX];
        size_t count = serve_words(route.verb, words);
        bool has_binary = route.verb->binary == NULL;
        assert_true(count < SERVE_WORDS_MAX);
        for (size_t i = 0; i < count; i++) {
            if (words[i].name[0] == '\0' || is_option(route.verb, words[i].name))
                fail_msg("%s %s: the argument '%s'", route.component->name, route.verb->name,
                         words[i].name);
            has_binary = has_binary || strcasecmp(route.verb->binary, words[i].name) == 0;
        }
        assert_true(has_binary);
    }
}

static void every_following_verb_can_be_ended(void **state)
{
    (void)state;
    for (serve_route route = {0}; serve_route_next(&route);)
        if (route.verb->follows)
            assert_true(is_option(route.verb, "max") && is_option(route.verb, "wait"));
}

static void paths_lead_to_their_routes(void **state)
{
    (void)state;
    char why[SERVE_WHY_SIZE];
    int count = 0;
    for (serve_route route = {0}, found; serve_route_next(&route); count++) {
        char *path = serve_route_path(&route);
        assert_true(serve_route_find(path, &found, why));
        assert_ptr_equal(found.verb, route.verb);
        assert_int_equal(found.number, route.number);
        free(path);
    }
    assert_true(count > 200);
}

static void other_paths_lead_nowhere(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "",
        "/",
        "/v1",
        "/v1/",
        "/v1//push",
        "/v1/queue",
        "/v1/ping/",
        "/v1/queue/",
        "/v1/queue/x",
        "/v1/queue/push/",
        "/V1/queue/push",
        "/v2/ping",
        "/v1/queue/work",
        "/v1/call",
        "/v1/ping/x",
    };
    serve_route route;
    char why[SERVE_WHY_SIZE];
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (serve_route_find(paths[i], &route, why))
            fail_msg("%s is a route", paths[i]);
    assert_false(serve_route_find("/v1/lock/run", &route, why));
    assert_string_equal(why, "not over HTTP: it runs a command");
}

/* ---- Fields -------------------------------------------------------------- */

static char said[256]; /* the last failure: its field, and its message */

static void hear(void *arg, int code, const char *message, const char *field, const json_t *value)
{
    (void)arg;
    assert_int_equal(code, TKL_EINVAL);
    snprintf(said, sizeof said, "%s|%s", field != NULL ? json_string_value(value) : "", message);
}

static const cli_sink sink = {.failure = hear};

/* The arguments and options of a request, "a b --delay=5m"; "" on failure. */
static const char *fill(const char *path, const char *body)
{
    static char text[512];
    char why[SERVE_WHY_SIZE];
    serve_route route;
    serve_fields fields;
    json_t *object = json_loads(body, JSON_ALLOW_NUL, NULL);
    assert_true(serve_route_find(path, &route, why));
    assert_non_null(object);
    cli_session cli = {
        .component = route.component, .verb = route.verb, .sink = &sink, .json = true};
    *text = *said = '\0';
    if (serve_fields_fill(&cli, object, &fields) == CLI_OK) {
        for (int i = 0; i < cli.argc; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " " : "",
                     cli.argv[i]);
        for (size_t i = 0; i < cli.ngiven; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), " --%s=%s",
                     cli.given[i].option->name, cli.given[i].text != NULL ? cli.given[i].text : "");
    }
    serve_fields_free(&cli, &fields);
    json_decref(object);
    return text;
}

static void fields_become_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *path, *body, *line;
    } cases[] = {
        {"/v1/queue/push", "{\"name\": \"q\", \"payload\": [\"a\", 2], \"delay\": \"5m\"}",
         "q a 2 --delay=5m"},
        {"/v1/queue/push", "{\"payload\": \"a\", \"name\": \"q\", \"delay\": 0.1}",
         "q a --delay=0.1"},
        {"/v1/queue/push", "{\"name\": \"q\", \"payload\": {\"base64\": \"YWI=\"}}", "q ab"},
        {"/v1/queue/push", "{\"name\": \"q\", \"payload\": \"-\"}", "q -"},
        {"/v1/queue/claim", "{\"name\": [\"a\", \"b\"]}", "a b"},
        {"/v1/lock/acquire", "{\"name\": \"\", \"shared\": true}", " --shared="},
        {"/v1/lock/acquire", "{\"name\": \"--help\", \"shared\": false}", "--help"},
        {"/v1/lock/acquire", "{\"name\": \"x\", \"label\": null}", "x"},
        {"/v1/board/add", "{\"name\": \"b\", \"member\": [\"x\", \"y\"], \"score\": [1, 2.5]}",
         "b x 1 y 2.5"},
        {"/v1/geo/add",
         "{\"name\": \"c\", \"longitude\": [1, 2], \"latitude\": [3, 4], \"place\": [\"x\", "
         "\"y\"]}",
         "c 1 3 x 2 4 y"},
        {"/v1/geo/distance", "{\"name\": \"c\", \"place\": [\"x\", \"y\"]}", "c x y"},
        {"/v1/geo/near", "{\"name\": \"c\", \"place\": \"x\", \"radius\": 3}", "c x --radius=3"},
        {"/v1/geo/near", "{\"name\": \"c\", \"longitude\": 1, \"latitude\": 2}", "c 1 2"},
        {"/v1/stats/show", "{\"context\": [\"a\", \"b\"], \"type\": \"t\"}", "a t b"},
        {"/v1/limit/all", "{\"key\": \"k\", \"name\": [\"m=1/m\", \"d=2/d\"]}", "k m=1/m d=2/d"},
        {"/v1/config/set", "{\"kind\": \"k\", \"component\": \"c\", \"json\": {\"a\": [1, 2]}}",
         "k c {\"a\": [1, 2]}"},
        {"/v1/config/set", "{\"kind\": \"k\", \"component\": \"c\", \"json\": [1]}", "k c [1]"},
        {"/v1/search/add",
         "{\"index\": \"i\", \"id\": 7, \"text\": \"t\", \"set\": [\"a=1\", \"b=2\"]}",
         "i 7 t --set=a=1 --set=b=2"},
        {"/v1/session/check", "{\"token\": \"@/etc/passwd\"}", "@/etc/passwd"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *line = fill(cases[i].path, cases[i].body);
        if (strcmp(line, cases[i].line) != 0)
            fail_msg("%s %s: '%s', expected '%s' (%s)", cases[i].path, cases[i].body, line,
                     cases[i].line, said);
    }
}

static void a_wrong_field_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *path, *body, *said;
    } cases[] = {
        {"/v1/queue/push", "{}", "name|missing name"},
        {"/v1/queue/push", "{\"nam\": \"q\"}", "nam|unknown field 'nam'; did you mean 'name'?"},
        {"/v1/queue/push", "{\"name\": [\"a\", \"b\"]}", "name|too many values for name"},
        {"/v1/queue/push", "{\"name\": [\"a\"], \"payload\": {\"x\": 1}}",
         "payload|invalid payload: a string, a number, or {\"base64\": \"...\"}"},
        {"/v1/queue/push", "{\"name\": \"q\", \"payload\": {\"base64\": \"YWI\"}}",
         "payload|invalid payload: a string, a number, or {\"base64\": \"...\"}"},
        {"/v1/queue/push", "{\"name\": \"a\\u0000b\"}",
         "name|invalid name: zero bytes are not allowed in it"},
        {"/v1/queue/push", "{\"name\": true}",
         "name|invalid name: a string, a number, or {\"base64\": \"...\"}"},
        {"/v1/queue/push", "{\"name\": \"q\", \"lines\": true}", "lines|unknown field 'lines'"},
        {"/v1/queue/push", "{\"name\": \"q\", \"url\": \"x\"}", "url|unknown field 'url'"},
        {"/v1/queue/push", "{\"name\": \"q\", \"\": 1}", "|unknown field ''"},
        {"/v1/lock/acquire", "{\"name\": \"x\", \"shared\": 1}",
         "shared|invalid shared: true or false"},
        {"/v1/lock/acquire", "{\"name\": \"x\", \"lease\": \"5x\"}", "|invalid --lease '5x': "},
        {"/v1/queue/push", "{\"name\": \"q\", \"payload\": \"x\", \"delay\": [\"5m\", \"9m\"]}",
         "delay|too many values for delay"},
        {"/v1/lock/acquire", "{\"name\": \"x\", \"shared\": [false, true]}",
         "shared|too many values for shared"},
        {"/v1/board/add", "{\"name\": \"b\", \"member\": [\"x\", \"y\"], \"score\": 1}",
         "score|missing score"},
        {"/v1/board/add", "{\"name\": \"b\", \"member\": \"x\", \"score\": [1, 2]}",
         "member|missing member"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *line = fill(cases[i].path, cases[i].body);
        if (*line != '\0' || strncmp(said, cases[i].said, strlen(cases[i].said)) != 0)
            fail_msg("%s %s: '%s', expected '%s'", cases[i].path, cases[i].body, said,
                     cases[i].said);
    }
}

/* ---- Descriptions -------------------------------------------------------- */

static void every_route_has_an_example_that_fits(void **state)
{
    (void)state;
    for (serve_route route = {0}; serve_route_next(&route);) {
        char *path = serve_route_path(&route);
        json_t *example = serve_example(&route);
        char *body = json_dumps(example, 0);
        fill(path, body);
        if (*said != '\0')
            fail_msg("%s: the example %s: %s", path, body, said);
        free(body);
        free(path);
        json_decref(example);
    }
}

static void rights_decide_what_is_described(void **state)
{
    (void)state;
    serve_rights all = {UINT64_MAX, UINT64_MAX}, reader = {UINT64_MAX, 0};
    char *text = serve_openapi(&all), *less = serve_openapi(&reader);
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    assert_string_equal(json_string_value(json_object_get(document, "openapi")), "3.1.0");
    assert_non_null(strstr(text, "\"/v1/queue/push\""));
    assert_null(strstr(text, "\"/v1/queue/work\""));
    assert_null(strstr(less, "\"/v1/queue/push\""));
    assert_non_null(strstr(less, "\"/v1/queue/stats\""));
    json_decref(document);
    free(text);
    free(less);
}

/* ---- Statuses ------------------------------------------------------------ */

static void every_code_has_a_status(void **state)
{
    (void)state;
#define CHECK(name, value, exit, text)                       \
    assert_in_range(serve_status(value), 200, 504);          \
    assert_true((value) == 0 || serve_status(value) >= 400); \
    assert_true((value) <= 0 || (serve_status(value) >= 404 && serve_status(value) <= 429));
    TKL_CODES(CHECK)
#undef CHECK
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_is_a_route_or_says_why_not),
        cmocka_unit_test(rights_have_a_bit_for_every_component),
        cmocka_unit_test(every_field_has_a_name_of_its_own),
        cmocka_unit_test(every_following_verb_can_be_ended),
        cmocka_unit_test(paths_lead_to_their_routes),
        cmocka_unit_test(other_paths_lead_nowhere),
        cmocka_unit_test(fields_become_arguments),
        cmocka_unit_test(a_wrong_field_is_named),
        cmocka_unit_test(every_route_has_an_example_that_fits),
        cmocka_unit_test(rights_decide_what_is_described),
        cmocka_unit_test(every_code_has_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
