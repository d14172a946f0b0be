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

json_t *cli_json_list(const tkl_bytes *items, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, cli_json_bytes(items[i]));
    return array;
}

json_t *cli_json_known(int64_t number)
{
    return number > 0 ? json_integer((json_int_t)number) : json_null();
}

const char *cli_time_text(int64_t ms, char text[CLI_TIME_SIZE])
{
    struct tm time;
    time_t seconds = (time_t)(ms / 1000);
    *text = '\0';
    if (ms <= 0 || gmtime_r(&seconds, &time) == NULL)
        return text;
    size_t len = strftime(text, CLI_TIME_SIZE, "%FT%T", &time);
    snprintf(text + len, CLI_TIME_SIZE - len, ".%03dZ", (int)(ms % 1000));
    return text;
}

json_t *cli_json_time(int64_t ms)
{
    char text[CLI_TIME_SIZE];
    return *cli_time_text(ms, text) != '\0' ? json_string(text) : json_null();
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

bool cli_is_unsafe(wchar_t character)
{
    static const struct {
        wchar_t first, last;
    } ranges[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},
        {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (character >= ranges[i].first && character <= ranges[i].last)
            return true;
    return false;
}

static void escape_char(FILE *to, const char *at, size_t used, wchar_t character, bool quotes)
{
    static const char plain[] = "\n\r\t\a\b\\", named[] = "nrtab\\";
    const char *special = *at != '\0' ? strchr(plain, *at) : NULL;
    if (special != NULL)
        fprintf(to, "\\%c", named[special - plain]);
    else if (quotes && *at == '"')
        fputs("\\\"", to);
    else if (used == 0 || cli_is_unsafe(character))
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

/* The length of the first line with its end, LF, CR or CR LF; 0 when it is the last. */
static size_t first_line(tkl_bytes bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        if (bytes.data[i] == '\n')
            return i + 1;
        if (bytes.data[i] == '\r')
            return i + 1 < bytes.len && bytes.data[i + 1] == '\n' ? i + 2 : i + 1;
    }
    return 0;
}

void cli_print_indented(tkl_bytes bytes, int blanks)
{
    size_t len = isatty(STDOUT_FILENO) ? 0 : first_line(bytes);
    while (len > 0) {
        fwrite(bytes.data, 1, len, stdout);
        printf("%*s", blanks, "");
        bytes = (tkl_bytes){bytes.data + len, bytes.len - len};
        len = first_line(bytes);
    }
    cli_print_bytes(bytes); /* on a terminal it is escaped, line breaks as well */
}

void cli_print_lines(tkl_bytes text, int blanks)
{
    while (text.len > 0) {
        const char *end = memchr(text.data, '\n', text.len);
        size_t len = end != NULL ? (size_t)(end - text.data) : text.len;
        printf("%*s", blanks, "");
        cli_print_bytes((tkl_bytes){text.data, len});
        if (end == NULL)
            break;
        putchar('\n');
        text = (tkl_bytes){end + 1, text.len - len - 1};
    }
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

/* In JSON, unsafe characters above the space are only in strings. Those below the space are escaped
 * there, or are between values. All are below U+10000. */
char *cli_json_safe(tkl_bytes json)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL)
        return NULL;
    for (size_t at = 0; at < json.len;) {
        wchar_t character = 0;
        size_t used = next_char(json.data + at, json.len - at, &character);
        if (used > 0 && character > L' ' && cli_is_unsafe(character))
            fprintf(to, "\\u%04x", (unsigned)character);
        else
            fwrite(json.data + at, 1, used > 0 ? used : 1, to);
        at += used > 0 ? used : 1;
    }
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

char *cli_json_text(const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    char *safe = text != NULL ? cli_json_safe(tkl_str(text)) : NULL;
    free(text);
    return safe;
}

int cli_print_json_text(const cli_session *cli, char *text)
{
    if (text == NULL)
        return no_memory(cli);
    if (cli->sink != NULL)
        return cli->sink->result(cli->sink->arg, text);
    puts(text);
    free(text);
    return CLI_OK;
}

/* Builds the whole text before writing it, so that a failure does not leave half a value. */
int cli_print_json(const cli_session *cli, json_t *value)
{
    char *text = value != NULL ? cli_json_text(value) : NULL;
    json_decref(value);
    return cli_print_json_text(cli, text);
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

/* Keys of durations end in "_ms"; keys of other numbers do not. */
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

/* How people see a number with a fraction. */
typedef enum number_kind {
    EXACT,    /* all digits that a double has for certain, as in JSON */
    MONEY,    /* 2 to 6 decimals: an amount is counted in millionths */
    POSITION, /* 7 decimals of a degree: a centimetre */
    LENGTH,   /* 4 decimals, as many as servers have */
    ROUNDED,  /* 6 digits: rates, means and other estimates */
} number_kind;

/* A field has the same meaning in every verb, so its key decides. */
static number_kind number_kind_of(const char *key)
{
    static const struct {
        const char *key;
        number_kind kind;
    } kinds[] = {
        {"price", MONEY},
        {"budget", MONEY},
        {"spent", MONEY},
        {"spent_today", MONEY},
        {"ecpm", MONEY},
        {"bound", MONEY},
        {"score", MONEY},
        {"rank", MONEY},
        {"base", MONEY},
        {"bonus", MONEY},
        {"longitude", POSITION},
        {"latitude", POSITION},
        {"distance", LENGTH},
        {"click_rate", ROUNDED},
        {"action_rate", ROUNDED},
        {"clicks_per_1k", ROUNDED},
        {"actions_per_1k", ROUNDED},
        {"share", ROUNDED},
        {"bits", ROUNDED},
        {"views", ROUNDED},
        {"relevance", ROUNDED},
        {"mean", ROUNDED},
        {"stddev", ROUNDED},
        {"deviation", ROUNDED},
        {"p50", ROUNDED},
        {"p90", ROUNDED},
        {"p99", ROUNDED},
        {"p999", ROUNDED},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].key, key) == 0)
            return kinds[i].kind;
    return EXACT;
}

/* Prints this many digits, but always all digits before the point: 1234567890, not 1.23457e+09. */
static char *digits_text(double number, int digits)
{
    double size = fabs(number);
    return size >= pow(10, digits) && size < 1e15 ? format("%.0f", number)
                                                  : format("%.*g", digits, number);
}

/* "1.250000" as "1.25", "3.000000" as "3.00". */
static char *money_text(double amount)
{
    if (fabs(amount) >= 1e15)
        return digits_text(amount, 15);
    char *text = format("%.6f", amount);
    size_t len = text != NULL ? strlen(text) : 0;
    for (int spare = 4; text != NULL && spare > 0 && text[len - 1] == '0'; spare--)
        text[--len] = '\0';
    return text;
}

char *cli_real_text(const char *key, double number)
{
    switch (number_kind_of(key)) {
    case MONEY:
        return money_text(number);
    case POSITION:
        return format("%.7f", number);
    case LENGTH:
        return format("%.4f", number);
    case ROUNDED:
        return digits_text(number, 6);
    default:
        return digits_text(number, 15);
    }
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
        return cli_real_text(key, json_real_value(value));
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
        return encoded != NULL ? format("base64:%s", encoded) : cli_json_text(value);
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

/* ---- CSV ----------------------------------------------------------------- */

void cli_csv_field(tkl_bytes text)
{
    bool plain = true;
    for (size_t i = 0; plain && i < text.len; i++)
        plain = strchr(",\"\r\n", text.data[i]) == NULL || text.data[i] == '\0';
    if (!plain)
        putchar('"');
    for (const char *quote; text.len > 0 && (quote = memchr(text.data, '"', text.len)) != NULL;) {
        size_t before = (size_t)(quote - text.data);
        cli_print_bytes((tkl_bytes){text.data, before});
        fputs("\"\"", stdout);
        text = (tkl_bytes){quote + 1, text.len - before - 1};
    }
    cli_print_bytes(text);
    if (!plain)
        putchar('"');
}

void cli_csv_names(const cli_column *columns)
{
    for (const cli_column *column = columns; column->key != NULL; column++)
        printf("%s%s", column > columns ? "," : "", column->key);
    fputs("\r\n", stdout);
}

void cli_csv_row(const json_t *object, const cli_column *columns)
{
    for (const cli_column *column = columns; column->key != NULL; column++) {
        const json_t *value = json_object_get(object, column->key);
        char *text = NULL;
        if (column > columns)
            putchar(',');
        if (json_is_string(value)) {
            cli_csv_field((tkl_bytes){json_string_value(value), json_string_length(value)});
        } else if (value != NULL && !json_is_null(value)) {
            text = json_is_object(value) ? cell_text(column->key, value) : cli_json_text(value);
            cli_csv_field(tkl_str(text));
        }
        free(text);
    }
    fputs("\r\n", stdout);
}

int cli_print_csv(const cli_session *cli, json_t *rows, const cli_column *columns)
{
    if (rows == NULL)
        return no_memory(cli);
    cli_csv_names(columns);
    for (size_t i = 0; i < json_array_size(rows); i++)
        cli_csv_row(json_array_get(rows, i), columns);
    json_decref(rows);
    return cli_flush(cli);
}

int cli_check_csv(const cli_session *cli)
{
    return cli_flag(cli, "csv") && cli->json ? cli_usage(cli, "either --csv or --json") : CLI_OK;
}

int cli_print_rows(const cli_session *cli, json_t *rows, const cli_column *columns)
{
    if (cli->json || rows == NULL)
        return cli_print_json(cli, rows);
    bool printed = print_table(rows, columns);
    json_decref(rows);
    return printed ? CLI_OK : no_memory(cli);
}

int cli_print_more_rows(const cli_session *cli, json_t *rows, const cli_column *columns)
{
    if (json_array_size(rows) == 0) {
        json_decref(rows);
        return CLI_OK;
    }
    putchar('\n');
    return cli_print_rows(cli, rows, columns);
}

int cli_print_number(const cli_session *cli, const char *key, int64_t number)
{
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:I}", key, (json_int_t)number));
    printf("%" PRId64 "\n", number);
    return CLI_OK;
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
    if (cli->sink != NULL)
        return CLI_OK;
    errno = EIO;
    if (fflush(stdout) == 0) {
        if (!ferror(stdout))
            return CLI_OK;
        /* An earlier write failed, and its reason is gone: another one fails for the same. */
        putchar('\n');
        fflush(stdout);
    }
    if (told || errno == EPIPE || cli_reader_is_gone())
        return CLI_FAILURE;
    told = true;
    return cli_fail(cli, CLI_FAILURE, "cannot write to standard output: %s", strerror(errno));
}
