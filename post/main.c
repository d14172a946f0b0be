/* SPDX-License-Identifier: MIT
 *
 * tackle-post: the command behind `tackle queue work --post URL`. It POSTs jobs to a URL.
 *
 * It is a command of `tackle queue work --stream`: jobs are lines of JSON on standard input,
 * answers are lines on standard output. So leases, retries, limits and signals are the worker's
 * matter, and the number of jobs at once is that of its threads. All requests run in one thread
 * (curl's multi interface), on connections that are used again.
 *
 *     2xx                           ack; the body is the result
 *     Retry-After, with another     release, for that long
 *     429, 503, cannot connect      release, for the time of --again
 *     410                           dead
 *     anything else                 fail
 *
 * The end of standard input means that the worker has ended or died; tackle-post then ends, too.
 */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include <tackle/version.h>

enum {
    USAGE = 64,
    FAILURE = 70,
    CONNECT_MS = 10000,      /* to connect, at most */
    ANSWER_MAX = 1 << 20,    /* bytes of an answer that are kept as the result */
    SHOWN_MAX = 200,         /* bytes of an answer in the reason of a failure */
    RETRY_AFTER_MAX = 86400, /* seconds */
    SILENCE_S = 30,          /* how long the same trouble is not reported again */
    BLOCK = 65536,           /* bytes read at once */
};

/* A job that is being posted. */
typedef struct post {
    struct post *next;
    CURL *curl;
    char *id;
    char *payload;
    struct curl_slist *headers;
    char *answer; /* NULL: nothing has come yet, or the answer is longer than ANSWER_MAX */
    size_t answer_len;
    bool is_too_long;
    char error[CURL_ERROR_SIZE];
} post;

static const char *url;
static long timeout_ms = 30000;
static struct curl_slist *own_headers; /* the headers of --header */
static CURLM *multi;
static post *posts;

static _Noreturn void give_up(int exit, const char *what)
{
    fprintf(stderr, "tackle-post: %s\n", what);
    _exit(exit);
}

static void *need(void *memory)
{
    if (memory == NULL)
        give_up(FAILURE, "out of memory");
    return memory;
}

/* ---- Answers to the worker ----------------------------------------------- */

/* Bytes in the form that the worker reads: a string, or {"base64": "..."}. */
static json_t *bytes_json(const char *data, size_t len)
{
    json_t *text = json_stringn(data, len); /* NULL: it is not UTF-8 */
    if (text != NULL)
        return text;
    char *encoded = need(malloc(4 * (len / 3 + 1) + 1));
    EVP_EncodeBlock((unsigned char *)encoded, (const unsigned char *)data, (int)len);
    json_t *object = json_pack("{s:s}", "base64", encoded);
    free(encoded);
    return object;
}

/* Sends the worker the answer for a job. Takes over `value`, which may be NULL. */
static void answer_worker(const char *id, const char *type, const char *field, json_t *value)
{
    json_t *line = need(json_pack("{s:s, s:s}", "id", id, "type", type));
    if (value != NULL)
        json_object_set_new(line, field, value);
    char *text = need(json_dumps(line, JSON_COMPACT));
    puts(text);
    if (fflush(stdout) != 0)
        _exit(0); /* the worker has ended */
    free(text);
    json_decref(line);
}

static void fail_job(const char *id, const char *type, const char *format, const char *text)
{
    char reason[SHOWN_MAX + 128];
    snprintf(reason, sizeof reason, format, text);
    answer_worker(id, type, "reason", bytes_json(reason, strlen(reason)));
}

/* Reports that the receiver cannot be reached, once for many jobs. */
static void report_trouble(const char *what)
{
    static time_t told;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (told != 0 && now.tv_sec - told < SILENCE_S)
        return;
    told = now.tv_sec;
    fprintf(stderr, "tackle-post: %s; jobs are tried again\n", what);
}

/* ---- The end of a request ------------------------------------------------ */

static void free_post(post *p)
{
    post **at = &posts;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    curl_multi_remove_handle(multi, p->curl);
    curl_easy_cleanup(p->curl);
    curl_slist_free_all(p->headers);
    free(p->id);
    free(p->payload);
    free(p->answer);
    free(p);
}

/* Writes "500: " and the beginning of the answer, with dots for bytes that cannot be printed. */
static void describe_answer(const post *p, long status, char text[SHOWN_MAX + 32])
{
    size_t len = p->answer_len < SHOWN_MAX ? p->answer_len : SHOWN_MAX;
    int used = snprintf(text, 32, "%ld%s", status, len > 0 ? ": " : "");
    for (size_t i = 0; i < len; i++)
        text[(size_t)used + i] = p->answer[i] >= ' ' && p->answer[i] < 127 ? p->answer[i] : '.';
    text[(size_t)used + len] = '\0';
}

static void settle_answer(const post *p)
{
    long status = 0;
    curl_off_t after = 0;
    char text[SHOWN_MAX + 32];
    curl_easy_getinfo(p->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(p->curl, CURLINFO_RETRY_AFTER, &after);
    describe_answer(p, status, text);
    if (status >= 200 && status < 300)
        answer_worker(
            p->id, "ack", "result",
            p->is_too_long ? NULL : bytes_json(p->answer != NULL ? p->answer : "", p->answer_len));
    else if (after > 0)
        answer_worker(p->id, "release", "delay_ms",
                      json_integer(1000 * (after < RETRY_AFTER_MAX ? after : RETRY_AFTER_MAX)));
    else if (status == 429 || status == 503)
        answer_worker(p->id, "release", "", NULL);
    else
        fail_job(p->id, status == 410 ? "dead" : "fail", "answered with %s", text);
}

static void settle_post(const post *p, CURLcode code)
{
    const char *why = p->error[0] != '\0' ? p->error : curl_easy_strerror(code);
    switch (code) {
    case CURLE_OK:
        settle_answer(p);
        break;
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: /* the receiver has not seen the job */
        report_trouble(why);
        answer_worker(p->id, "release", "", NULL);
        break;
    default:
        fail_job(p->id, "fail", "no answer: %s", why);
        break;
    }
}

static void settle_ended(void)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        post *p = NULL;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&p);
        settle_post(p, code);
        free_post(p);
    }
}

/* ---- The beginning ------------------------------------------------------- */

static size_t keep_answer(char *data, size_t size, size_t count, void *arg)
{
    post *p = arg;
    size_t len = size * count;
    p->is_too_long = p->is_too_long || p->answer_len + len > ANSWER_MAX;
    if (!p->is_too_long) {
        p->answer = need(realloc(p->answer, p->answer_len + len));
        memcpy(p->answer + p->answer_len, data, len);
        p->answer_len += len;
    }
    return len;
}

static void add_header_line(struct curl_slist **list, const char *line)
{
    *list = need(curl_slist_append(*list, line));
}

/* Adds a header unless the user has one of this name. */
static void add_header(struct curl_slist **list, const char *name, const char *value)
{
    size_t len = strlen(name);
    char *line = NULL;
    for (const struct curl_slist *own = own_headers; own != NULL; own = own->next)
        if (strncasecmp(own->data, name, len) == 0 && strchr(":;", own->data[len]) != NULL)
            return;
    if (asprintf(&line, "%s: %s", name, value) < 0)
        need(NULL);
    add_header_line(list, line);
    free(line);
}

/* Adds a field of the job, URL-encoded: it may hold any bytes. */
static void add_field(struct curl_slist **list, const char *name, const json_t *value)
{
    const json_t *text = json_is_object(value) ? json_object_get(value, "base64") : value;
    char number[32];
    if (json_is_integer(value)) {
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        add_header(list, name, number);
    } else if (json_is_string(text)) {
        char *encoded =
            need(curl_easy_escape(NULL, json_string_value(text), (int)json_string_length(text)));
        add_header(list, name, encoded);
        curl_free(encoded);
    }
}

/* Adds the time by which the answer must be there, RFC 3339. */
static void add_deadline(struct curl_slist **list, long ms)
{
    struct timespec now;
    struct tm parts;
    char text[32];
    clock_gettime(CLOCK_REALTIME, &now);
    time_t end = now.tv_sec + ms / 1000;
    gmtime_r(&end, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    add_header(list, "Tackle-Deadline", text);
}

static struct curl_slist *make_headers(const json_t *job, long ms)
{
    static const struct {
        const char *field, *header;
    } fields[] = {
        {"queue", "Tackle-Queue"}, {"id", "Tackle-Job"},          {"token", "Tackle-Token"},
        {"kind", "Tackle-Kind"},   {"attempt", "Tackle-Attempt"}, {"group", "Tackle-Group"},
        {"meta", "Tackle-Meta"},   {"id", "Idempotency-Key"},
    };
    struct curl_slist *list = NULL;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        add_field(&list, fields[i].header, json_object_get(job, fields[i].field));
    add_deadline(&list, ms);
    add_header(&list, "Content-Type", "application/octet-stream");
    add_header_line(&list, "Expect:"); /* no waiting for "100 Continue" */
    for (const struct curl_slist *own = own_headers; own != NULL; own = own->next)
        add_header_line(&list, own->data);
    return list;
}

/* The bytes of the payload, to be freed; NULL: the worker does not write such a payload. */
static char *payload_of(const json_t *job, size_t *len)
{
    const json_t *payload = json_object_get(job, "payload");
    const json_t *encoded = json_object_get(payload, "base64");
    const char *text = json_string_value(encoded != NULL ? encoded : payload);
    *len = json_string_length(encoded != NULL ? encoded : payload);
    if (text == NULL)
        return NULL;
    char *data = need(malloc(*len + 1));
    if (encoded == NULL)
        return memcpy(data, text, *len + 1);
    int decoded = EVP_DecodeBlock((unsigned char *)data, (const unsigned char *)text, (int)*len);
    size_t padding = *len - strcspn(text, "=");
    *len = decoded < 0 ? 0 : (size_t)decoded - padding;
    return data;
}

static long time_for(const json_t *job)
{
    const json_t *limit = json_object_get(job, "time_limit_ms");
    return json_is_integer(limit) && json_integer_value(limit) < timeout_ms
               ? (long)json_integer_value(limit)
               : timeout_ms;
}

static void begin_post(const json_t *job, const char *id)
{
    size_t len = 0;
    char *payload = payload_of(job, &len);
    if (payload == NULL) {
        fail_job(id, "fail", "%s", "the payload cannot be read");
        return;
    }
    long ms = time_for(job);
    post *p = need(calloc(1, sizeof *p));
    *p = (post){.next = posts,
                .curl = need(curl_easy_init()),
                .id = need(strdup(id)),
                .payload = payload,
                .headers = make_headers(job, ms)};
    posts = p;
    curl_easy_setopt(p->curl, CURLOPT_URL, url);
    curl_easy_setopt(p->curl, CURLOPT_PRIVATE, p);
    curl_easy_setopt(p->curl, CURLOPT_ERRORBUFFER, p->error);
    curl_easy_setopt(p->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(p->curl, CURLOPT_TIMEOUT_MS, ms);
    curl_easy_setopt(p->curl, CURLOPT_CONNECTTIMEOUT_MS, ms < CONNECT_MS ? ms : (long)CONNECT_MS);
    curl_easy_setopt(p->curl, CURLOPT_POST, 1L);
    curl_easy_setopt(p->curl, CURLOPT_POSTFIELDS, p->payload);
    curl_easy_setopt(p->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
    curl_easy_setopt(p->curl, CURLOPT_HTTPHEADER, p->headers);
    curl_easy_setopt(p->curl, CURLOPT_USERAGENT, "tackle/" TKL_VERSION);
    curl_easy_setopt(p->curl, CURLOPT_WRITEFUNCTION, keep_answer);
    curl_easy_setopt(p->curl, CURLOPT_WRITEDATA, p);
    if (curl_multi_add_handle(multi, p->curl) != CURLM_OK)
        give_up(FAILURE, "out of memory");
}

/* ---- Lines of the worker ------------------------------------------------- */

/* Cancels the request of a job whose claim is lost or whose time is over. */
static void cancel_post(const char *id, const char *reason)
{
    for (post *p = posts; p != NULL; p = p->next)
        if (strcmp(p->id, id) == 0) {
            fail_job(id, "fail", "cancelled: %s", reason != NULL ? reason : "");
            free_post(p);
            return;
        }
}

static void take_line(const char *text, size_t len)
{
    json_t *job = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
    const char *type = json_string_value(json_object_get(job, "type"));
    const char *id = json_string_value(json_object_get(job, "id"));
    if (type != NULL && id != NULL && strcmp(type, "job") == 0)
        begin_post(job, id);
    else if (type != NULL && id != NULL && strcmp(type, "cancel") == 0)
        cancel_post(id, json_string_value(json_object_get(job, "reason")));
    json_decref(job);
}

/* Reads the bytes that are there, and takes their lines. False: the input has ended. */
static bool read_lines(void)
{
    static char *text;
    static size_t used, allocated;
    if (allocated - used < BLOCK) {
        allocated = 2 * (used + BLOCK);
        text = need(realloc(text, allocated));
    }
    ssize_t count = read(STDIN_FILENO, text + used, BLOCK);
    if (count <= 0)
        return count < 0 && (errno == EAGAIN || errno == EINTR);
    size_t fresh = used, begin = 0;
    used += (size_t)count;
    for (char *end; (end = memchr(text + fresh, '\n', used - fresh)) != NULL; fresh = begin) {
        take_line(text + begin, (size_t)(end - text) - begin);
        begin = (size_t)(end - text) + 1;
    }
    memmove(text, text + begin, used - begin);
    used -= begin;
    return true;
}

static void work_on(void)
{
    enum { LONG_MS = 60000 };
    int running;
    for (bool is_open = true; is_open;) {
        struct curl_waitfd input = {.fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN};
        curl_multi_poll(multi, &input, 1, LONG_MS, NULL);
        is_open = read_lines();
        curl_multi_perform(multi, &running);
        settle_ended();
    }
}

/* ---- Options ------------------------------------------------------------- */

/* Adds a header; for "@FILE", all headers of the file. */
static void take_header(const char *text)
{
    if (*text != '@') {
        add_header_line(&own_headers, text);
        return;
    }
    FILE *file = fopen(text + 1, "re");
    char *line = NULL;
    size_t size = 0;
    if (file == NULL)
        give_up(USAGE, "the file of --header cannot be read");
    while (getline(&line, &size, file) >= 0) {
        line[strcspn(line, "\r\n")] = '\0';
        if (*line != '\0')
            add_header_line(&own_headers, line);
    }
    free(line);
    fclose(file);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"header", required_argument, NULL, 'h'},
                                            {"timeout-ms", required_argument, NULL, 't'},
                                            {0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (option == 'h')
            take_header(optarg);
        else if (option == 't')
            timeout_ms = strtol(optarg, NULL, 10);
        else
            return USAGE;
    if (optind != argc - 1 || timeout_ms <= 0)
        give_up(USAGE, "usage: tackle-post [--header TEXT...] [--timeout-ms N] URL");
    url = argv[optind];
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || (multi = curl_multi_init()) == NULL)
        give_up(FAILURE, "libcurl cannot be used");
    fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
    work_on();
    while (posts != NULL)
        free_post(posts);
    curl_multi_cleanup(multi);
    curl_slist_free_all(own_headers);
    curl_global_cleanup();
    return 0;
}
