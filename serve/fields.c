/* SPDX-License-Identifier: MIT */
#include "fields.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "nearest.h"

/* ---- Usage lines --------------------------------------------------------- */

/* Copies the letters at the beginning of a word, in lower case. Returns how many. */
static size_t copy_name(char name[SERVE_NAME_SIZE], const char *word, size_t len)
{
    size_t used = 0;
    while (used < len && used < SERVE_NAME_SIZE - 1 && isupper((unsigned char)word[used])) {
        name[used] = (char)tolower((unsigned char)word[used]);
        used++;
    }
    name[used] = '\0';
    return used;
}

size_t serve_words(const cli_verb *verb, serve_word words[SERVE_WORDS_MAX])
{
    const char *spec = verb->args != NULL ? verb->args : "", *word;
    size_t len, count = 0, first = 0; /* first word of the group */
    bool inside = false;
    while (cli_next_word(&spec, &word, &len) && count < SERVE_WORDS_MAX) {
        serve_word *w = &words[count];
        inside = inside || *word == '[';
        bool closes = inside && word[len - 1] == ']';
        *w = (serve_word){.optional = inside, .group = count > 0 ? words[count - 1].group : 0};
        if (count == first && count > 0)
            w->group++;
        size_t skip = *word == '[';
        size_t used = skip + copy_name(w->name, word + skip, len - skip);
        if (used < len && word[used] == '|')
            copy_name(w->other, word + used + 1, len - used - 1);
        count++;
        if (memmem(word, len, "...", 3) != NULL)
            for (size_t i = first; i < count; i++)
                words[i].repeats = true;
        inside = inside && !closes;
        if (!inside)
            first = count;
    }
    return count;
}

static bool is_named(const serve_word *word, const char *name)
{
    return strcmp(word->name, name) == 0 || strcmp(word->other, name) == 0;
}

bool serve_word_is_many(const serve_word *words, size_t count, const serve_word *word)
{
    size_t times = 0;
    for (size_t i = 0; i < count; i++)
        times += is_named(&words[i], word->name);
    return times > 1 || word->repeats;
}

bool serve_option_is_field(const cli_option *option)
{
    return option->summary != NULL && option->kind != CLI_LOCAL_FLAG && option->kind != CLI_URLS;
}

/* Whether the option may have an array of values. */
static bool is_many_valued(const cli_option *option)
{
    return option->kind == CLI_TEXT;
}

/* ---- Wrong fields -------------------------------------------------------- */

static int wrong_field(const cli_session *cli, const char *field, const char *format, ...)
    TKL_PRINTF(3, 4);
static int wrong_field(const cli_session *cli, const char *field, const char *format, ...)
{
    char *text = NULL;
    va_list list;
    va_start(list, format);
    int len = vasprintf(&text, format, list);
    va_end(list);
    json_t *name = json_string(field);
    cli->sink->failure(cli->sink->arg, TKL_EINVAL, len >= 0 ? text : "out of memory", "field",
                       name);
    json_decref(name);
    if (len >= 0)
        free(text);
    return CLI_USAGE;
}

static int unknown_field(const cli_session *cli, const serve_word *words, size_t count,
                         const char *field)
{
    cli_nearness nearest = {.word = field};
    for (size_t i = 0; i < count; i++)
        cli_nearest(&nearest, words[i].name);
    for (const cli_option *o = cli->verb->options; o != NULL && o->name != NULL; o++)
        if (serve_option_is_field(o)) {
            cli_nearest(&nearest, o->name);
            cli_known_as(&nearest, o->name);
        }
    if (nearest.best == NULL)
        return wrong_field(cli, field, "unknown field '%s'", field);
    return wrong_field(cli, field, "unknown field '%s'; did you mean '%s'?", field, nearest.best);
}

/* ---- Values -------------------------------------------------------------- */

/* Decodes base64; the caller frees the bytes. NULL: it is not base64, or out of memory. */
static char *decode_base64(const json_t *text, size_t *len)
{
    size_t size = json_string_length(text);
    const char *from = json_string_value(text);
    if (size % 4 != 0 || size > INT32_MAX)
        return NULL;
    char *bytes = malloc(size / 4 * 3 + 1);
    int decoded =
        bytes != NULL && strspn(from, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwx"
                                      "yz0123456789+/=") == size
            ? EVP_DecodeBlock((unsigned char *)bytes, (const unsigned char *)from, (int)size)
            : -1;
    if (decoded < 0) {
        free(bytes);
        return NULL;
    }
    *len = (size_t)decoded;
    for (size_t i = size; i > 0 && i > size - 2 && from[i - 1] == '='; i--)
        --*len;
    bytes[*len] = '\0';
    return bytes;
}

static char *copy_bytes(const char *data, size_t len)
{
    char *copy = malloc(len + 1);
    if (copy != NULL) {
        memcpy(copy, data, len);
        copy[len] = '\0';
    }
    return copy;
}

/* The shortest text of a number, which is mostly how it was written: 0.1, not
 * 0.10000000000000001. */
static char *number_text(const json_t *number)
{
    char *text = json_dumps(number, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    if (text == NULL || json_is_integer(number) || strtod(text, NULL) == json_real_value(number))
        return text;
    free(text);
    return json_dumps(number, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
}

/* The text of a value, which ends with a zero byte, to be freed. NULL: the value has no text, such
 * as an object. */
static char *text_of(const json_t *value, size_t *len)
{
    const json_t *encoded = json_object_size(value) == 1 ? json_object_get(value, "base64") : NULL;
    char *text = NULL;
    if (json_is_string(value)) {
        *len = json_string_length(value);
        return copy_bytes(json_string_value(value), *len);
    }
    if (json_is_string(encoded))
        return decode_base64(encoded, len);
    if (json_is_number(value)) {
        text = number_text(value);
        *len = text != NULL ? strlen(text) : 0;
    }
    return text;
}

/* Adds the text of a value to the texts that the session uses. */
static int keep_text(cli_session *cli, serve_fields *fields, const char *field, const json_t *value,
                     bool binary, char **kept, size_t *len)
{
    char *text = text_of(value, len);
    if (text == NULL)
        return wrong_field(cli, field, "invalid %s: a string, a number, or {\"base64\": \"...\"}",
                           field);
    char **texts = realloc(fields->texts, (fields->count + 1) * sizeof *texts);
    if (texts == NULL) {
        free(text);
        return cli_end(cli, TKL_ENOMEM);
    }
    fields->texts = texts;
    fields->texts[fields->count++] = *kept = text;
    if (!binary && memchr(text, '\0', *len) != NULL)
        return wrong_field(cli, field, "invalid %s: zero bytes are not allowed in it", field);
    return CLI_OK;
}

/* ---- Arguments ----------------------------------------------------------- */

/* The fields of one request, while they become arguments. */
typedef struct filling {
    cli_session *cli;
    const json_t *object;
    serve_fields *fields;
    serve_word words[SERVE_WORDS_MAX];
    size_t count;
    size_t used[SERVE_WORDS_MAX]; /* how many values of a field have become arguments; at the index
                                     of the first word of its name */
} filling;

/* An argument that is a JSON document takes any value; an array is the document, not a list. */
static bool is_document(const char *name)
{
    return strcmp(name, "json") == 0;
}

static size_t value_count(const json_t *value, const char *name)
{
    if (value == NULL || json_is_null(value))
        return 0;
    return json_is_array(value) && !is_document(name) ? json_array_size(value) : 1;
}

static const json_t *value_at(const json_t *value, const char *name, size_t index)
{
    return json_is_array(value) && !is_document(name) ? json_array_get(value, index) : value;
}

/* The name of the field that has a word's values; *place is the index at which they are counted. */
static const char *field_of(const filling *f, const serve_word *word, size_t *place)
{
    const char *name = word->other[0] != '\0' && json_object_get(f->object, word->other) != NULL
                           ? word->other
                           : word->name;
    *place = 0;
    while (!is_named(&f->words[*place], name))
        ++*place;
    return name;
}

static size_t values_left(const filling *f, const serve_word *word)
{
    size_t place;
    const char *name = field_of(f, word, &place);
    return value_count(json_object_get(f->object, name), name) - f->used[place];
}

static int add_argument(filling *f, const serve_word *word)
{
    size_t place, len = 0;
    cli_session *cli = f->cli;
    const char *name = field_of(f, word, &place), *binary = cli->verb->binary;
    if (values_left(f, word) == 0)
        return wrong_field(cli, name, "missing %s", name);
    const json_t *value = value_at(json_object_get(f->object, name), name, f->used[place]++);
    json_t *document = NULL;
    if (is_document(name) && !json_is_string(value)) {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        document = text != NULL ? json_string(text) : NULL;
        free(text);
        value = document;
    }
    char *text = NULL;
    bool may_be_binary = binary != NULL && strcasecmp(binary, name) == 0;
    int failed = keep_text(cli, f->fields, name, value, may_be_binary, &text, &len);
    json_decref(document);
    if (failed)
        return failed;
    f->fields->lengths[cli->argc] = len;
    cli->argv[cli->argc++] = text;
    return CLI_OK;
}

/* Adds the arguments of the group that begins at the word, as often as there are values. */
static int add_group(filling *f, size_t first, size_t *next)
{
    const serve_word *words = f->words;
    for (*next = first; *next < f->count && words[*next].group == words[first].group;)
        ++*next;
    for (bool again = false;; again = true) {
        size_t left = 0;
        for (size_t i = first; i < *next; i++)
            left += values_left(f, &words[i]);
        if (left == 0 && (again || words[first].optional))
            return CLI_OK;
        for (size_t i = first; i < *next; i++) {
            int failed = add_argument(f, &words[i]);
            if (failed)
                return failed;
        }
        if (!words[first].repeats)
            return CLI_OK;
    }
}

static int add_arguments(filling *f)
{
    int failed = CLI_OK;
    for (size_t i = 0, next = 0; !failed && i < f->count; i = next)
        failed = add_group(f, i, &next);
    for (size_t i = 0; !failed && i < f->count; i++)
        if (values_left(f, &f->words[i]) > 0)
            failed =
                wrong_field(f->cli, f->words[i].name, "too many values for %s", f->words[i].name);
    return failed;
}

/* ---- Options ------------------------------------------------------------- */

/* Reads a flag: a boolean, or a text when it comes from a URL. */
static int read_flag(const cli_session *cli, const cli_option *option, const json_t *value,
                     bool *is_set)
{
    const char *text = json_string_value(value);
    *is_set = json_is_true(value) || (text != NULL && strcasecmp(text, "true") == 0);
    if (json_is_boolean(value) || *is_set || (text != NULL && strcasecmp(text, "false") == 0))
        return CLI_OK;
    return wrong_field(cli, option->name, "invalid %s: true or false", option->name);
}

static int add_option_value(cli_session *cli, serve_fields *fields, const cli_option *option,
                            const json_t *value)
{
    bool is_set = false;
    char *text = NULL;
    size_t len = 0;
    if (option->value == NULL) {
        int failed = read_flag(cli, option, value, &is_set);
        return failed || !is_set ? failed : cli_keep_option(cli, option, NULL);
    }
    int failed = keep_text(cli, fields, option->name, value, false, &text, &len);
    return failed ? failed : cli_keep_option(cli, option, text);
}

static int add_option(cli_session *cli, serve_fields *fields, const cli_option *option,
                      const json_t *value)
{
    size_t count = value_count(value, "");
    if (count > 1 && !is_many_valued(option))
        return wrong_field(cli, option->name, "too many values for %s", option->name);
    int failed = CLI_OK;
    for (size_t i = 0; !failed && i < count; i++)
        failed = add_option_value(cli, fields, option, value_at(value, "", i));
    return failed;
}

/* ---- Together ------------------------------------------------------------ */

/* An option of the verb. Global options belong to the server, not to its requests. */
static const cli_option *find_option(const cli_verb *verb, const char *name)
{
    for (const cli_option *o = verb->options; o != NULL && o->name != NULL; o++)
        if (strcmp(o->name, name) == 0 && serve_option_is_field(o))
            return o;
    return NULL;
}

static bool is_argument(const filling *f, const char *name)
{
    for (size_t i = 0; i < f->count; i++)
        if (is_named(&f->words[i], name) && *name != '\0')
            return true;
    return false;
}

int serve_fields_fill(cli_session *cli, const json_t *object, serve_fields *fields)
{
    filling f = {.cli = cli, .object = object, .fields = fields};
    const char *name;
    json_t *value;
    size_t room = 1;
    *fields = (serve_fields){0};
    f.count = serve_words(cli->verb, f.words);
    json_object_foreach((json_t *)object, name, value) room += value_count(value, "");
    cli->argv = calloc(room, sizeof *cli->argv);
    cli->given = calloc(room, sizeof *cli->given);
    cli->lengths = fields->lengths = calloc(room, sizeof *fields->lengths);
    cli->before_dashes = -1;
    if (cli->argv == NULL || cli->given == NULL || fields->lengths == NULL)
        return cli_end(cli, TKL_ENOMEM);
    json_object_foreach((json_t *)object, name, value)
    {
        const cli_option *option = find_option(cli->verb, name);
        if (!is_argument(&f, name) && option == NULL)
            return unknown_field(cli, f.words, f.count, name);
        int failed = is_argument(&f, name) ? CLI_OK : add_option(cli, fields, option, value);
        if (failed)
            return failed;
    }
    return add_arguments(&f);
}

void serve_fields_free(cli_session *cli, serve_fields *fields)
{
    for (size_t i = 0; i < fields->count; i++)
        free(fields->texts[i]);
    free(fields->texts);
    free(fields->lengths);
    cli->lengths = NULL;
    cli_args_free(cli);
}
