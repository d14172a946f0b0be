/* SPDX-License-Identifier: MIT */
#include "queue_answer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRESS_MAX = 1000 };

static int sextet(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* Decodes base64 with its padding. False: the text is something else, or there is no memory. */
static bool decode_base64(const char *text, size_t len, char **data, size_t *size)
{
    size_t padding = 0;
    while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
        padding++;
    *data = len % 4 == 0 ? malloc(len / 4 * 3 + 1) : NULL;
    if (*data == NULL)
        return false;
    *size = 0;
    unsigned bits = 0;
    for (size_t i = 0; i < len; i++) {
        int value = i >= len - padding ? 0 : sextet(text[i]);
        if (value < 0) {
            free(*data);
            *data = NULL;
            return false;
        }
        bits = bits << 6 | (unsigned)value;
        for (int byte = 2; i % 4 == 3 && byte >= 0; byte--)
            (*data)[(*size)++] = (char)(bits >> (8 * byte));
    }
    *size -= padding;
    return true;
}

/* Copies the bytes of a string, or of {"base64": "..."}. */
static bool bytes_of(const json_t *value, char **data, size_t *len)
{
    const json_t *encoded = json_object_get(value, "base64");
    if (json_is_string(encoded) && json_object_size(value) == 1)
        return decode_base64(json_string_value(encoded), json_string_length(encoded), data, len);
    if (!json_is_string(value) || (*data = malloc(json_string_length(value) + 1)) == NULL)
        return false;
    *len = json_string_length(value);
    memcpy(*data, json_string_value(value), *len + 1);
    return true;
}

/* Words of the protocol, and the field that each of them may have. */
static const struct {
    const char *type;
    cli_verdict verdict;
    const char *field;
} types[] = {
    {"ack", CLI_VERDICT_ACK, "result"},         {"fail", CLI_VERDICT_FAIL, "reason"},
    {"dead", CLI_VERDICT_DEAD, "reason"},       {"release", CLI_VERDICT_RELEASE, "delay_ms"},
    {"progress", CLI_VERDICT_OPEN, "progress"},
};
enum { TYPES = sizeof types / sizeof *types };

const char *cli_answer_read(const char *said, size_t len, cli_answer *answer)
{
    json_error_t error;
    json_t *object = json_loadb(said, len, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
    *answer = (cli_answer){.object = object, .delay_ms = CLI_ANSWER_AGAIN};
    if (!json_is_object(object))
        return "not a JSON object";
    answer->id = json_string_value(json_object_get(object, "id"));
    const char *type = json_string_value(json_object_get(object, "type"));
    if (answer->id == NULL || type == NULL)
        return "\"id\" or \"type\" is missing";
    size_t i = 0;
    while (i < TYPES && strcmp(types[i].type, type) != 0)
        i++;
    if (i == TYPES)
        return "\"type\" is not ack, fail, dead, release or progress";
    answer->verdict = types[i].verdict;
    answer->field = json_object_get(object, types[i].field);
    if (json_object_size(object) != 2 + (size_t)(answer->field != NULL))
        return "it has a field that does not belong to its type";
    return NULL;
}

const char *cli_answer_read_field(cli_answer *answer)
{
    const json_t *field = answer->field;
    if (answer->verdict == CLI_VERDICT_RELEASE) {
        if (field != NULL && (!json_is_integer(field) || json_integer_value(field) < 0))
            return "delay_ms is not a number of milliseconds";
        if (field != NULL)
            answer->delay_ms = (int64_t)json_integer_value(field);
        return NULL;
    }
    if (field != NULL && !bytes_of(field, &answer->text, &answer->text_len))
        return "its text is neither a string nor {\"base64\": \"...\"}";
    if (answer->verdict == CLI_VERDICT_OPEN &&
        (answer->text == NULL || answer->text_len > PROGRESS_MAX))
        return "progress has 1 to 1000 bytes";
    return NULL;
}

void cli_answer_free(cli_answer *answer)
{
    json_decref(answer->object);
    free(answer->text);
}
