/* SPDX-License-Identifier: MIT */
#include "openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "fields.h"
#include "keep.h"
#include "out.h"

/* ---- Examples ------------------------------------------------------------ */

enum { EXAMPLE_WORDS = 32 };

/* Splits a line of an example as a shell does, up to the end of its command. Removes quotes in
 * place. Returns the number of words, or 0 when there are too many. */
static int split_line(char *text, char *words[EXAMPLE_WORDS + 1])
{
    static const char blanks[] = " \\\n", ends[] = "|;&<>";
    int count = 0;
    char *from = text, *to = text;
    while (count < EXAMPLE_WORDS && *(from += strspn(from, blanks)) != '\0' &&
           strchr(ends, *from) == NULL) {
        int depth = 0; /* inside $(...) */
        words[count++] = to;
        for (char quote = '\0'; *from != '\0'; from++) {
            if (quote == '\0' && depth == 0 && (strchr(blanks, *from) || strchr(ends, *from)))
                break;
            depth += (*from == '(') - (*from == ')');
            if (*from == quote)
                quote = '\0';
            else if (quote == '\0' && (*from == '"' || *from == '\''))
                quote = *from;
            else
                *to++ = *from;
        }
        bool last = *from == '\0' || strchr(ends, *from) != NULL;
        from += !last;
        *to++ = '\0';
        if (last)
            break;
    }
    words[count] = NULL;
    return count < EXAMPLE_WORDS ? count : 0;
}

/* The length of a line, with the lines that continue it. */
static size_t line_length(const char *text)
{
    size_t len = strcspn(text, "\n");
    while (len > 0 && text[len] == '\n' && text[len - 1] == '\\')
        len += 1 + strcspn(text + len + 1, "\n");
    return len;
}

/* A copy of the first line that runs the verb in its example; NULL: there is none. */
static char *find_line(const serve_route *route)
{
    char start[80];
    const char *verb = route->verb->name;
    snprintf(start, sizeof start, "tackle %s%s%s ", route->component->name, verb != NULL ? " " : "",
             verb != NULL ? verb : "");
    for (const char *at = route->verb->example; (at = strstr(at, start)) != NULL; at++)
        if (memmem(at, line_length(at), "--lines", 7) == NULL)
            return strndup(at, line_length(at));
    return NULL;
}

static void drop_failure(void *arg, int code, const char *message, const char *field,
                         const json_t *value)
{
    (void)arg;
    (void)code;
    (void)message;
    (void)field;
    (void)value;
}

/* Adds a value to the array of a field; sets a field that is not there. */
static void add_value(json_t *object, const char *name, bool many, json_t *value)
{
    json_t *old = json_object_get(object, name);
    if (old == NULL && many)
        json_object_set_new(object, name, json_pack("[o]", value));
    else if (json_is_array(old))
        json_array_append_new(old, value);
    else if (old != NULL)
        json_object_set_new(object, name, json_pack("[O,o]", old, value));
    else
        json_object_set_new(object, name, value);
}

/* The value of a word of the shell. Variables and outputs of commands are not known: $token becomes
 * TOKEN, and a $(...) a number or a day. */
static json_t *example_value(const char *text)
{
    char name[32];
    size_t len = *text == '$' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;
    if (strncmp(text, "$(", 2) == 0)
        return json_string(strstr(text, "date") != NULL ? "2026-11-16" : "1");
    if (len == 0 || len >= sizeof name)
        return cli_json_bytes(tkl_str(text));
    for (size_t i = 0; i < len; i++)
        name[i] = (char)toupper((unsigned char)text[1 + i]);
    return json_stringn(name, len);
}

/* Gives the arguments their names again: the opposite of serve_fields_fill(). */
static void name_arguments(const cli_session *cli, json_t *object)
{
    serve_word words[SERVE_WORDS_MAX];
    size_t count = serve_words(cli->verb, words), at = 0;
    for (int i = 0; i < cli->argc && at < count; i++) {
        const serve_word *word = &words[at];
        bool place = word->other[0] != '\0' && !isalpha((unsigned char)*cli->argv[i]);
        add_value(object, place ? word->other : word->name, serve_word_is_many(words, count, word),
                  example_value(cli->argv[i]));
        bool last = at + 1 == count || words[at + 1].group != word->group;
        if (last && word->repeats)
            while (at > 0 && words[at - 1].group == word->group)
                at--;
        else
            at++;
    }
}

static void name_options(const cli_session *cli, json_t *object)
{
    for (size_t i = 0; i < cli->ngiven; i++) {
        const cli_given *given = &cli->given[i];
        if (cli_is_global(given->option) || !serve_option_is_field(given->option))
            continue;
        add_value(object, given->option->name, false,
                  given->text != NULL ? example_value(given->text) : json_true());
    }
}

/* Adds required fields that the example lacks, with words of the usage line as their values. */
static void add_missing(const serve_route *route, json_t *object)
{
    serve_word words[SERVE_WORDS_MAX];
    size_t count = serve_words(route->verb, words);
    for (size_t i = 0; i < count; i++)
        if (!words[i].optional && json_object_get(object, words[i].name) == NULL &&
            (words[i].other[0] == '\0' || json_object_get(object, words[i].other) == NULL))
            json_object_set_new(object, words[i].name, json_string("example"));
    if (route->verb->follows && json_object_get(object, "max") == NULL)
        json_object_set_new(object, "max", json_integer(1));
    if (route->verb->follows && json_object_get(object, "wait") == NULL)
        json_object_set_new(object, "wait", json_string("1s"));
}

json_t *serve_example(const serve_route *route)
{
    char *command = find_line(route), *words[EXAMPLE_WORDS + 1];
    json_t *object = json_object();
    cli_sink sink = {.failure = drop_failure};
    cli_session cli = {.sink = &sink, .json = true};
    int count = command != NULL ? split_line(command, words) : 0;
    if (count > 0 && cli_args_read(&cli, count, words) == CLI_OK && cli.verb == route->verb) {
        name_arguments(&cli, object);
        name_options(&cli, object);
    }
    add_missing(route, object);
    cli_args_free(&cli);
    free(command);
    return object;
}

/* ---- Schemas ------------------------------------------------------------- */

static json_t *refer_to(const char *kind, const char *name)
{
    char path[80];
    snprintf(path, sizeof path, "#/components/%s/%s", kind, name);
    return json_pack("{s:s}", "$ref", path);
}

static json_t *word_schema(const serve_word *words, size_t count, const serve_word *word)
{
    if (strcmp(word->name, "json") == 0)
        return json_pack("{s:s}", "description", "any JSON value, or its text");
    json_t *one = refer_to("schemas", "Value");
    if (!serve_word_is_many(words, count, word))
        return one;
    return json_pack("{s:[O, {s:s, s:o}]}", "anyOf", one, "type", "array", "items", one);
}

static json_t *choice_schema(const char *words)
{
    json_t *list = json_array();
    for (const char *at = words; *at != '\0'; at += strspn(at, "|")) {
        size_t len = strcspn(at, "|");
        json_array_append_new(list, json_stringn(at, len));
        at += len;
    }
    return json_pack("{s:s, s:o}", "type", "string", "enum", list);
}

static json_t *option_schema(const cli_option *option)
{
    json_t *schema;
    switch (option->kind) {
    case CLI_FLAG:
        schema = json_pack("{s:s}", "type", "boolean");
        break;
    case CLI_CHOICE:
        schema = choice_schema(option->value);
        break;
    case CLI_INTEGER:
        schema = json_pack("{s:[s,s]}", "type", "integer", "string");
        break;
    case CLI_DURATION:
    case CLI_PERIOD:
    case CLI_WAIT:
        schema = refer_to("schemas", "Duration");
        break;
    case CLI_SIZE:
        schema = refer_to("schemas", "Size");
        break;
    case CLI_TIME:
    case CLI_PAST:
        schema = refer_to("schemas", "Time");
        break;
    default:
        schema =
            json_pack("{s:[{s:s}, {s:s, s:{s:s}}]}", "anyOf", "$ref", "#/components/schemas/Value",
                      "type", "array", "items", "$ref", "#/components/schemas/Value");
        break;
    }
    json_object_set_new(schema, "description", json_string(option->summary));
    return schema;
}

/* The object of a request's fields. */
static json_t *fields_schema(const serve_route *route)
{
    serve_word words[SERVE_WORDS_MAX];
    size_t count = serve_words(route->verb, words);
    json_t *properties = json_object(), *required = json_array();
    for (size_t i = 0; i < count; i++) {
        bool has_other = words[i].other[0] != '\0';
        bool is_new = json_object_get(properties, words[i].name) == NULL;
        json_object_set_new(properties, words[i].name, word_schema(words, count, &words[i]));
        if (has_other)
            json_object_set_new(properties, words[i].other, word_schema(words, count, &words[i]));
        if (!words[i].optional && !has_other && is_new)
            json_array_append_new(required, json_string(words[i].name));
    }
    for (const cli_option *o = route->verb->options; o != NULL && o->name != NULL; o++)
        if (serve_option_is_field(o))
            json_object_set_new(properties, o->name, option_schema(o));
    if (serve_can_keep(route))
        json_object_set_new(properties, "keep",
                            json_pack("{s:s, s:s}", "type", "boolean", "description",
                                      "renew it as long as the connection lives; then release it"));
    json_t *schema = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                               "additionalProperties", false);
    if (json_array_size(required) > 0)
        json_object_set(schema, "required", required);
    json_decref(required);
    return schema;
}

/* ---- Operations ---------------------------------------------------------- */

static json_t *make_responses(const serve_route *route)
{
    json_t *schema = route->verb->follows ? json_pack("{s:s}", "type", "array") : json_object();
    json_t *content = json_pack("{s:{s:o}}", "application/json", "schema", schema);
    for (serve_framing f = SERVE_EVENTS; f <= SERVE_LINES; f++)
        if (route->verb->follows || serve_can_keep(route))
            json_object_set_new(content, serve_framing_type(f),
                                json_pack("{s:{s:s}}", "schema", "type", "string"));
    return json_pack("{s:{s:s, s:o}, s:o}", "200", "description",
                     "Done: what the command prints with --json.", "content", content, "default",
                     refer_to("responses", "Error"));
}

static json_t *make_operation(const serve_route *route, const char *method)
{
    char id[96];
    const char *verb = route->verb->name;
    snprintf(id, sizeof id, "%s%s_%s", strcmp(method, "get") == 0 ? "get_" : "",
             route->component->name, verb != NULL ? verb : "run");
    json_t *made =
        json_pack("{s:s, s:s, s:[s], s:o}", "operationId", id, "summary", route->verb->summary,
                  "tags", route->component->name, "responses", make_responses(route));
    if (route->verb->details != NULL)
        json_object_set_new(made, "description", json_string(route->verb->details));
    return made;
}

static json_t *post_operation(const serve_route *route)
{
    json_t *made = make_operation(route, "post"), *schema = fields_schema(route);
    bool needed = json_object_get(schema, "required") != NULL;
    json_object_set_new(made, "requestBody",
                        json_pack("{s:b, s:{s:{s:o, s:o}}}", "required", needed, "content",
                                  "application/json", "schema", schema, "example",
                                  serve_example(route)));
    if (route->verb->adds)
        json_object_set_new(made, "parameters",
                            json_pack("[o]", refer_to("parameters", "IdempotencyKey")));
    return made;
}

static json_t *get_operation(const serve_route *route)
{
    json_t *made = make_operation(route, "get"), *schema = fields_schema(route), *example, *one;
    json_t *parameters = json_array(), *required = json_object_get(schema, "required");
    const char *name;
    example = serve_example(route);
    json_object_foreach(json_object_get(schema, "properties"), name, one)
    {
        bool needed = false;
        for (size_t i = 0; i < json_array_size(required); i++)
            needed = needed || strcmp(json_string_value(json_array_get(required, i)), name) == 0;
        json_t *parameter = json_pack("{s:s, s:s, s:b, s:O}", "name", name, "in", "query",
                                      "required", needed, "schema", one);
        if (json_object_get(example, name) != NULL)
            json_object_set(parameter, "example", json_object_get(example, name));
        json_array_append_new(parameters, parameter);
    }
    json_object_set_new(made, "parameters", parameters);
    json_decref(schema);
    json_decref(example);
    return made;
}

/* ---- The document -------------------------------------------------------- */

static json_t *make_components(void)
{
    static const char text[] =
        "{\"schemas\": {"
        "\"Value\": {\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"number\"}, {\"$ref\": "
        "\"#/components/schemas/Bytes\"}]},"
        "\"Bytes\": {\"type\": \"object\", \"description\": \"bytes that are not UTF-8\", "
        "\"properties\": {\"base64\": {\"type\": \"string\"}}, \"required\": [\"base64\"], "
        "\"additionalProperties\": false},"
        "\"Duration\": {\"type\": [\"string\", \"number\"], \"examples\": [\"250ms\", \"5m\", 30]},"
        "\"Size\": {\"type\": [\"string\", \"integer\"], \"examples\": [\"64kb\", 512]},"
        "\"Time\": {\"type\": [\"string\", \"number\"], \"examples\": [\"2030-01-31T12:00:00Z\"]},"
        "\"Calls\": {\"type\": \"array\", \"maxItems\": 1000, \"items\": {\"type\": \"object\", "
        "\"required\": [\"call\"], \"properties\": {\"call\": {\"type\": \"string\"}, \"fields\": "
        "{\"type\": \"object\"}}}},"
        "\"Error\": {\"type\": \"object\", \"required\": [\"error\", \"message\"], "
        "\"properties\": {\"error\": {\"type\": \"string\", \"examples\": [\"TKL_BUSY\"]}, "
        "\"message\": {\"type\": \"string\"}, \"field\": {\"type\": \"string\"}, \"result\": {}}}},"
        "\"responses\": {\"Error\": {\"description\": \"404, 409, 429: an expected no. 400: a "
        "field "
        "is wrong. 401, 403: not permitted. 503: nothing was done. 504: it may have been done, or "
        "not.\", \"content\": {\"application/json\": {\"schema\": {\"$ref\": "
        "\"#/components/schemas/Error\"}}}}},"
        "\"parameters\": {\"IdempotencyKey\": {\"name\": \"Idempotency-Key\", \"in\": \"header\", "
        "\"description\": \"A repeat with the same key is not executed again.\", \"schema\": "
        "{\"type\": \"string\", \"minLength\": 1, \"maxLength\": 255}}},"
        "\"securitySchemes\": {\"token\": {\"type\": \"http\", \"scheme\": \"bearer\"}}}";
    return json_loads(text, 0, NULL);
}

static json_t *batch_operation(void)
{
    static const char text[] =
        "{\"post\": {\"operationId\": \"batch\", \"summary\": \"several calls, at once or one "
        "after the "
        "other\", \"requestBody\": {\"required\": true, \"content\": {\"application/json\": "
        "{\"schema\": {\"oneOf\": [{\"$ref\": \"#/components/schemas/Calls\"}, {\"type\": "
        "\"object\", "
        "\"required\": [\"calls\"], \"properties\": {\"calls\": {\"$ref\": "
        "\"#/components/schemas/Calls\"}, \"in_order\": {\"type\": \"boolean\", \"default\": "
        "false}}}]}, "
        "\"example\": [{\"call\": \"counter/add\", \"fields\": {\"name\": \"hits\"}}, {\"call\": "
        "\"ping\"}]}}}, \"responses\": {\"200\": {\"description\": \"An "
        "answer for each call, in order.\", \"content\": {\"application/json\": {\"schema\": "
        "{\"type\": \"array\", \"items\": {\"type\": \"object\", \"required\": [\"status\", "
        "\"body\"], \"properties\": {\"status\": {\"type\": \"integer\"}, \"body\": {}}}}}}}, "
        "\"default\": {\"$ref\": \"#/components/responses/Error\"}}}}";
    return json_loads(text, 0, NULL);
}

char *serve_openapi(const serve_rights *rights)
{
    json_t *paths = json_object();
    for (serve_route route = {0}; serve_route_next(&route);) {
        char *path = serve_may(rights, &route) ? serve_route_path(&route) : NULL;
        if (path == NULL)
            continue;
        json_t *item = json_pack("{s:o}", "post", post_operation(&route));
        if (serve_route_gets(&route))
            json_object_set_new(item, "get", get_operation(&route));
        json_object_set_new(paths, path, item);
        free(path);
    }
    json_object_set_new(paths, "/v1/batch", batch_operation());
    json_t *document =
        json_pack("{s:s, s:{s:s, s:s, s:s}, s:o, s:o, s:[{s:[]}, {}]}", "openapi", "3.1.0", "info",
                  "title", "tackle", "version", tkl_version(), "description",
                  "Locks, queues, limits, messages, search and more on Redis and Valkey.", "paths",
                  paths, "components", make_components(), "security", "token");
    char *text = document != NULL ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    return text;
}
