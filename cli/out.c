/* SPDX-License-Identifier: MIT */
#include "out.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "table.h"

/* ---- Bytes and text ------------------------------------------------------ */

static char *base64(tkl_bytes bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((bytes.len + 2) / 3 * 4 + 1), *to = text;
    if (text == NULL)
        return NULL;
    for (size_t at = 0; at < bytes.len; at += 3) {
        const unsigned char *from = (const unsigned char *)bytes.data + at;
        size_t left = bytes.len - at;
        unsigned group = (unsigned)from[0] << 16 | (left > 1 ? (unsigned)from[1] << 8 : 0) |
                         (left > 2 ? from[2] : 0);
        *to++ = digits[group >> 18];
        *to++ = digits[group >> 12 & 63];
        *to++ = left > 1 ? digits[group >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[group & 63] : '=';
    }
    *to = '\0';
    return text;
}

json_t *cli_json_bytes(tkl_bytes bytes)
{
    json_t *text = json_stringn(bytes.data != NULL ? bytes.data : "", bytes.len);
    if (text != NULL)
        return text; /* jansson refuses what is not UTF-8 */
    char *encoded = base64(bytes);
    json_t *value = encoded != NULL ? json_pack("{s:s}", "base64", encoded) : NULL;
    free(encoded);
    return value;
}

json_t *cli_json_present(tkl_bytes bytes)
{
    return bytes.len > 0 ? cli_json_bytes(bytes) : json_null();
}

json_t *cli_json_time(int64_t ms)
{
    struct tm time;
    char text[64];
    time_t seconds = (time_t)(ms / 1000);
    if (ms <= 0 || gmtime_r(&seconds, &time) == NULL)
        return json_null();
    size_t len = strftime(text, sizeof text, "%FT%T", &time);
    snprintf(text + len, sizeof text - len, ".%03dZ", (int)(ms % 1000));
    return json_string(text);
}

/* The bytes of the character at `at`, and what it is; 0 when it is not UTF-8. main() has set a
 * UTF-8 locale, whatever the user's is: that is what the data are. */
static size_t next_char(const char *at, size_t len, wchar_t *character)
{
    mbstate_t state = {0};
    size_t used = mbrtowc(character, at, len, &state);
    if (used == 0)
        return 1; /* a NUL */
    return used > len ? 0 : used;
}

size_t cli_width(const char *text)
{
    size_t width = 0, len = strlen(text);
    while (len > 0) {
        wchar_t character = L'?';
        size_t used = next_char(text, len, &character);
        int columns = used > 0 ? wcwidth(character) : 1;
        width += columns > 0 ? (size_t)columns : 0;
        used = used > 0 ? used : 1;
        text += used;
        len -= used;
    }
    return width;
}

static void escape_char(FILE *to, const char *at, size_t used, wchar_t character, bool quotes)
{
    static const char plain[] = "\n\r\t\a\b\\", named[] = "nrtab\\";
    const char *special = *at != '\0' ? strchr(plain, *at) : NULL;
    if (special != NULL)
        fprintf(to, "\\%c", named[special - plain]);
    else if (quotes && *at == '"')
        fputs("\\\"", to);
    else if (used == 0 || character < 0x20 || (character >= 0x7f && character < 0xa0))
        for (size_t i = 0; i < (used > 0 ? used : 1); i++)
            fprintf(to, "\\x%02x", (unsigned char)at[i]);
    else
        fwrite(at, 1, used, to);
}

char *cli_escape(tkl_bytes bytes, bool quotes)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL)
        return NULL;
    for (size_t at = 0; at < bytes.len;) {
        wchar_t character = 0;
        size_t used = next_char(bytes.data + at, bytes.len - at, &character);
        escape_char(to, bytes.data + at, used, character, quotes);
        at += used > 0 ? used : 1;
    }
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

void cli_print_bytes(tkl_bytes bytes)
{
    if (!isatty(STDOUT_FILENO)) {
        fwrite(bytes.data, 1, bytes.len, stdout);
        return;
    }
    char *text = cli_escape(bytes, false);
    fputs(text != NULL ? text : "", stdout);
    free(text);
}

/* ---- Durations ----------------------------------------------------------- */

const char *cli_duration_text(int64_t ms, char text[CLI_DURATION_SIZE])
{
    static const struct {
        const char *unit;
        int64_t ms, below_ms;
    } units[] = {{"s", 1000, 120000}, {"min", 60000, 7200000}, {"h", 3600000, 172800000}};
    if (ms < 1000) {
        snprintf(text, CLI_DURATION_SIZE, "%" PRId64 " ms", ms);
        return text;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (ms < units[i].below_ms) {
            snprintf(text, CLI_DURATION_SIZE, "%.1f %s", (double)ms / (double)units[i].ms,
                     units[i].unit);
            return text;
        }
    snprintf(text, CLI_DURATION_SIZE, "%.1f days", (double)ms / 86400000);
    return text;
}

/* ---- Colour -------------------------------------------------------------- */

static bool wants_color(FILE *stream)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return (no_color == NULL || *no_color == '\0') && isatty(fileno(stream)) &&
           (term == NULL || strcmp(term, "dumb") != 0);
}

const char *cli_color(FILE *stream, const char *sequence)
{
    return wants_color(stream) ? sequence : "";
}

/* ---- Results ------------------------------------------------------------- */

static int no_memory(const cli_session *cli)
{
    return cli_fail(cli, CLI_FAILURE, "out of memory");
}

/* Nothing is written before all of it is there, so that a failure leaves no half of a value. */
int cli_print_json(const cli_session *cli, json_t *value)
{
    char *text = NULL;
    if (value != NULL)
        text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    json_decref(value);
    if (text == NULL)
        return no_memory(cli);
    puts(text);
    free(text);
    return CLI_OK;
}

static char *format(const char *pattern, ...) TKL_PRINTF(1, 2);
static char *format(const char *pattern, ...)
{
    char *text = NULL;
    va_list list;
    va_start(list, pattern);
    int n = vasprintf(&text, pattern, list);
    va_end(list);
    return n >= 0 ? text : NULL;
}

/* Durations have keys that end so; other numbers do not. */
static bool is_duration(const char *key, const json_t *value)
{
    size_t len = strlen(key);
    return json_is_integer(value) && len > 3 && strcmp(key + len - 3, "_ms") == 0;
}

static char *cell_text(const char *key, const json_t *value);

/* "berlin, germany"; "-" when there is nothing. */
static char *list_text(const json_t *list)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL)
        return NULL;
    for (size_t i = 0; i < json_array_size(list); i++) {
        char *item = cell_text("", json_array_get(list, i));
        fprintf(to, "%s%s", i > 0 ? ", " : "", item != NULL ? item : "");
        free(item);
    }
    fputs(json_array_size(list) == 0 ? "-" : "", to);
    fclose(to);
    return text;
}

/* Six digits, and all that stand before the point: 1234567890, not 1.23457e+09. */
static char *real_text(double number)
{
    double size = fabs(number);
    return size >= 1e6 && size < 1e15 ? format("%.0f", number) : format("%.6g", number);
}

/* How a JSON value looks to people. */
static char *cell_text(const char *key, const json_t *value)
{
    char duration[CLI_DURATION_SIZE];
    if (is_duration(key, value))
        return strdup(cli_duration_text(json_integer_value(value), duration));
    switch (value != NULL ? json_typeof(value) : JSON_NULL) {
    case JSON_STRING:
        return cli_escape((tkl_bytes){json_string_value(value), json_string_length(value)}, false);
    case JSON_INTEGER:
        return format("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    case JSON_REAL:
        return real_text(json_real_value(value));
    case JSON_TRUE:
        return strdup("yes");
    case JSON_FALSE:
        return strdup("no");
    case JSON_NULL:
        return strdup("-");
    case JSON_ARRAY:
        return list_text(value);
    default: {
        const char *encoded = json_string_value(json_object_get(value, "base64"));
        return encoded != NULL ? format("base64:%s", encoded)
                               : json_dumps(value, JSON_REAL_PRECISION(15));
    }
    }
}

static size_t count_columns(const cli_column *columns)
{
    size_t n = 0;
    while (columns[n].key != NULL)
        n++;
    return n;
}

static bool is_number_column(const json_t *rows, const char *key)
{
    const json_t *value = json_object_get(json_array_get(rows, 0), key);
    return json_is_number(value);
}

/* "last use" as "LAST USE". */
static char *heading(const char *title)
{
    char *text = strdup(title);
    for (char *at = text; at != NULL && *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    return text;
}

static bool print_table(const json_t *rows, const cli_column *columns)
{
    size_t n = count_columns(columns);
    cli_table *table = cli_table_new(n);
    cli_table_heading(table);
    for (size_t i = 0; i < n; i++)
        cli_table_add(table, heading(columns[i].title), is_number_column(rows, columns[i].key));
    for (size_t row = 0; row < json_array_size(rows); row++)
        for (size_t i = 0; i < n; i++) {
            const json_t *value = json_object_get(json_array_get(rows, row), columns[i].key);
            cli_table_add(table, cell_text(columns[i].key, value), json_is_number(value));
        }
    return cli_table_print(table, stdout);
}

int cli_print_rows(const cli_session *cli, json_t *rows, const cli_column *columns)
{
    if (cli->json || rows == NULL)
        return cli_print_json(cli, rows);
    bool printed = print_table(rows, columns);
    json_decref(rows);
    return printed ? CLI_OK : no_memory(cli);
}

static bool print_fields(const json_t *object, const cli_column *columns)
{
    cli_table *table = cli_table_new(2);
    for (; columns->key != NULL; columns++) {
        const json_t *value = json_object_get(object, columns->key);
        if (value == NULL)
            continue;
        cli_table_add(table, strdup(columns->title), false);
        cli_table_add(table, cell_text(columns->key, value), false);
    }
    return cli_table_print(table, stdout);
}

int cli_print_record(const cli_session *cli, json_t *object, const cli_column *columns)
{
    if (cli->json || object == NULL)
        return cli_print_json(cli, object);
    bool printed = print_fields(object, columns);
    json_decref(object);
    return printed ? CLI_OK : no_memory(cli);
}

bool cli_reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

int cli_flush(const cli_session *cli)
{
    static bool told;
    errno = EIO; /* when an earlier write failed and its reason is gone */
    if (fflush(stdout) == 0 && !ferror(stdout))
        return CLI_OK;
    if (told || errno == EPIPE || cli_reader_is_gone())
        return CLI_FAILURE;
    told = true;
    return cli_fail(cli, CLI_FAILURE, "cannot write to standard output: %s", strerror(errno));
}
