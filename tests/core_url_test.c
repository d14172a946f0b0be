/* SPDX-License-Identifier: MIT
 *
 * URLs and options: what each form means, and what errors say about wrong ones.
 */
#include <unistd.h>

#include "core/url.h"
#include "support/locale.h"
#include "support/test.h"

static tkl__target parsed(const char *url, const tkl_options *options)
{
    tkl__target target;
    assert_code(tkl__target_parse(url, options, &target), TKL_OK);
    return target;
}

/* ---- Forms --------------------------------------------------------------- */

typedef struct form {
    const char *url;
    const char *addrs; /* host:port, joined by spaces; a path has port 0 */
    tkl__scheme scheme;
    bool tls;
    int db;
    const char *username, *password, *master;
} form;

static const form forms[] = {
    {.url = "redis://localhost", .addrs = "localhost:6379", .scheme = TKL__STANDALONE},
    {.url = "redis://localhost/", .addrs = "localhost:6379"},
    {.url = "valkey://localhost", .addrs = "localhost:6379"},
    {.url = "redis://10.0.0.7:7000/3", .addrs = "10.0.0.7:7000", .db = 3},
    {.url = "redis://[::1]:7000", .addrs = "::1:7000"},
    {.url = "redis://[fe80::1]", .addrs = "fe80::1:6379"},
    {.url = "redis://:pw@h", .addrs = "h:6379", .password = "pw"},
    {.url = "redis://user:pw@h", .addrs = "h:6379", .username = "user", .password = "pw"},
    {.url = "redis://user@h", .addrs = "h:6379", .username = "user"},
    {.url = "redis://us%40er:p%3Aw%2F%25@h",
     .addrs = "h:6379",
     .username = "us@er",
     .password = "p:w/%"},
    {.url = "redis://u:p:q@h", .addrs = "h:6379", .username = "u", .password = "p:q"},
    {.url = "redis://", .addrs = "localhost:6379"},
    {.url = "redis://:7000", .addrs = "localhost:7000"},
    {.url = "redis://u:p@/2", .addrs = "localhost:6379", .db = 2, .username = "u", .password = "p"},
    {.url = "REDIS://h", .addrs = "h:6379"},
    {.url = "rediss://h", .addrs = "h:6379", .tls = true},
    {.url = "valkeys://h:1/2", .addrs = "h:1", .tls = true, .db = 2},
    {.url = "unix:///run/redis/s", .addrs = "/run/redis/s:0"},
    {.url = "unix:///run/redis/s?db=4", .addrs = "/run/redis/s:0", .db = 4},
    {.url = "unix:///with%20space", .addrs = "/with space:0"},
    {.url = "redis+cluster://a:1", .addrs = "a:1", .scheme = TKL__CLUSTER},
    {.url = "redis+cluster://a:1,b,[::1]:3", .addrs = "a:1 b:6379 ::1:3", .scheme = TKL__CLUSTER},
    {.url = "valkey+cluster://a", .addrs = "a:6379", .scheme = TKL__CLUSTER},
    {.url = "rediss+cluster://u:p@a:1,b:2",
     .addrs = "a:1 b:2",
     .scheme = TKL__CLUSTER,
     .tls = true,
     .username = "u",
     .password = "p"},
    {.url = "redis+sentinel://a:1,b:2/mymaster",
     .addrs = "a:1 b:2",
     .scheme = TKL__SENTINEL,
     .master = "mymaster"},
    {.url = "redis+sentinel://a/mymaster/7",
     .addrs = "a:26379",
     .scheme = TKL__SENTINEL,
     .master = "mymaster",
     .db = 7},
    {.url = "rediss+sentinel://u:p@a:1/m",
     .addrs = "a:1",
     .scheme = TKL__SENTINEL,
     .tls = true,
     .username = "u",
     .password = "p",
     .master = "m"},
    {.url = "embedded:", .addrs = "", .scheme = TKL__EMBEDDED},
    {.url = "embedded:/var/lib/x", .addrs = "", .scheme = TKL__EMBEDDED},
};

static char *addrs_of(const tkl__target *target)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (size_t i = 0; i < target->naddrs; i++)
        fprintf(out, "%s%s:%d", i > 0 ? " " : "", target->addrs[i].host, target->addrs[i].port);
    fclose(out);
    return text;
}

static void assert_same(const char *url, const char *got, const char *expected)
{
    if (got == NULL && expected == NULL)
        return;
    if (got == NULL || expected == NULL || strcmp(got, expected) != 0)
        fail_msg("%s: expected %s, got %s", url, expected != NULL ? expected : "(null)",
                 got != NULL ? got : "(null)");
}

static void schemes_are_the_same_in_every_locale(void **state)
{
    (void)state;
    tkl__target target;
    locale_with_another_i();
    int rc = tkl__target_parse("REDIS://h", NULL, &target);
    locale_plain();
    assert_ok(rc);
    tkl__target_free(&target);
}

static void every_form_is_understood(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const form *expected = &forms[i];
        tkl__target target = parsed(expected->url, NULL);
        char *addrs = addrs_of(&target);
        assert_same(expected->url, addrs, expected->addrs);
        assert_same(expected->url, target.username, expected->username);
        assert_same(expected->url, target.password, expected->password);
        assert_same(expected->url, target.master, expected->master);
        assert_int_equal(target.scheme, expected->scheme);
        assert_int_equal(target.tls, expected->tls);
        assert_int_equal(target.db, expected->db);
        free(addrs);
        tkl__target_free(&target);
    }
}

static void defaults_are_filled_in(void **state)
{
    (void)state;
    tkl__target target = parsed("redis://h", NULL);
    assert_int_equal(target.timeout_ms, 5000);
    assert_int_equal(target.idle_ms, 60000);
    assert_int_equal(target.pool_size, 32);
    assert_string_equal(target.ns, "tackle");
    assert_null(target.name); /* each connection makes its own */
    assert_false(target.no_verify);
    tkl__target_free(&target);
}

static void embedded_names_a_directory_or_none(void **state)
{
    (void)state;
    tkl__target target = parsed("embedded:", NULL);
    assert_null(target.dir);
    tkl__target_free(&target);
    target = parsed("embedded:/some/dir?durability=always", NULL);
    assert_string_equal(target.dir, "/some/dir");
    assert_string_equal(target.durability, "always");
    tkl__target_free(&target);
}

static void the_query_sets_tls_and_time_out(void **state)
{
    (void)state;
    tkl__target target = parsed("rediss://h?ca=/ca.pem&cert=/c.pem&key=/k.pem&servername=other"
                                "&verify=no&timeout=1500ms",
                                NULL);
    assert_string_equal(target.ca_file, "/ca.pem");
    assert_string_equal(target.cert_file, "/c.pem");
    assert_string_equal(target.key_file, "/k.pem");
    assert_string_equal(target.server_name, "other");
    assert_true(target.no_verify);
    assert_int_equal(target.timeout_ms, 1500);
    tkl__target_free(&target);
    target = parsed("rediss://h?cadir=/etc/ssl/certs", NULL);
    assert_string_equal(target.ca_dir, "/etc/ssl/certs");
    tkl__target_free(&target);
}

static void durations_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        int64_t ms;
    } cases[] = {
        {"redis://h?timeout=250ms", 250},  {"redis://h?timeout=2s", 2000},
        {"redis://h?timeout=3", 3000},     {"redis://h?timeout=1m", 60000},
        {"redis://h?timeout=1h", 3600000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tkl__target target = parsed(cases[i].url, NULL);
        assert_int_equal(target.timeout_ms, cases[i].ms);
        tkl__target_free(&target);
    }
}

static void options_win_over_the_url(void **state)
{
    (void)state;
    const tkl_options options = {
        .timeout_ms = 7,
        .idle_ms = 8,
        .pool_size = 9,
        .ns = "n",
        .name = "me",
        .username = "option-user",
        .password = "option-password",
        .tls_ca_file = "/option-ca",
        .tls_server_name = "option-host",
    };
    tkl__target target =
        parsed("rediss://u:p@h?timeout=1s&ca=/url-ca&servername=url-host", &options);
    assert_int_equal(target.timeout_ms, 7);
    assert_int_equal(target.idle_ms, 8);
    assert_int_equal(target.pool_size, 9);
    assert_string_equal(target.ns, "n");
    assert_string_equal(target.name, "me");
    assert_string_equal(target.username, "option-user");
    assert_string_equal(target.password, "option-password");
    assert_string_equal(target.ca_file, "/option-ca");
    assert_string_equal(target.server_name, "option-host");
    tkl__target_free(&target);
}

/* ---- Passwords ----------------------------------------------------------- */

static char *password_file(const char *content)
{
    char *path = test_format("%s/password", test_dir());
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(content, out);
    fclose(out);
    return path;
}

static void a_password_is_the_first_line_of_a_file(void **state)
{
    (void)state;
    char *path = password_file("from the file\nsecond line\n");
    tkl__target target = parsed("redis://h", &(tkl_options){.password_file = path});
    assert_string_equal(target.password, "from the file");
    tkl__target_free(&target);
    char *url = test_format("redis://h?password-file=%s", path);
    target = parsed(url, NULL);
    assert_string_equal(target.password, "from the file");
    tkl__target_free(&target);
    free(url);
    free(path);
}

static void a_password_file_may_end_without_a_newline(void **state)
{
    (void)state;
    char *path = password_file("bare");
    tkl__target target = parsed("redis://h", &(tkl_options){.password_file = path});
    assert_string_equal(target.password, "bare");
    tkl__target_free(&target);
    free(path);
}

static void a_password_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    tkl__target target;
    int code =
        tkl__target_parse("redis://h", &(tkl_options){.password_file = "/no/such/file"}, &target);
    assert_true(code < 0);
    assert_contains(tkl_errmsg(), "/no/such/file");
}

static void the_environment_has_the_last_word_on_passwords(void **state)
{
    (void)state;
    setenv("TACKLE_PASSWORD", "from the environment", 1);
    tkl__target target = parsed("redis://h", NULL);
    assert_string_equal(target.password, "from the environment");
    tkl__target_free(&target);
    target = parsed("redis://:url@h", NULL);
    assert_string_equal(target.password, "url");
    tkl__target_free(&target);
    target = parsed("redis://:url@h", &(tkl_options){.password = "option"});
    assert_string_equal(target.password, "option");
    tkl__target_free(&target);
    unsetenv("TACKLE_PASSWORD");
}

/* ---- URLs without a meaning ---------------------------------------------- */

typedef struct bad_form {
    const char *url;
    const char *named; /* must be in the message */
} bad_form;

static const bad_form bad_forms[] = {
    {"", "URL"},
    {"localhost", "redis://"},
    {"localhost:6379", "redis://"},
    {"http://h", "redis://"},
    {"redis:h", "redis://"},
    {"redis://h:", "port"},
    {"redis://h:0", "port"},
    {"redis://h:65536", "port"},
    {"redis://h:12x", "port"},
    {"redis://h:-1", "port"},
    {"redis://h/x", "database"},
    {"redis://h/-1", "database"},
    {"redis://h/99999999999", "database"},
    {"redis://h/1/2", "database"},
    {"redis://[::1", "']'"},
    {"redis://h?nosuch=1", "nosuch"},
    {"redis://h?timeout=soon", "timeout"},
    {"redis://h?timeout=-1s", "timeout"},
    {"redis://h?timeout=99999999999999999999h", "timeout"},
    {"rediss://h?verify=perhaps", "verify"},
    {"redis://h%zz", "percent-escape"},
    {"redis://h%4", "percent-escape"},
    {"redis://h%00x", "percent-escape"},
    {"unix://", "path"},
    {"unix://relative/path", "path"},
    {"unix:///s?db=x", "database"},
    {"redis+cluster://a:1,,b:2", "host"},
    {"redis+cluster://a:1/3", "database"},
    {"redis+sentinel://a:1", "name"},
    {"redis+sentinel://a:1/", "name"},
    {"redis+sentinel://a:1/m/x", "database"},
    {"embedded:/d?durability=mostly", "everysec"},
};

static void bad_urls_get_an_error_that_names_the_problem(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad_forms) / sizeof(bad_forms[0]); i++) {
        tkl__target target;
        int code = tkl__target_parse(bad_forms[i].url, NULL, &target);
        if (code != TKL_EINVAL)
            fail_msg("\"%s\": %s", bad_forms[i].url, tkl_codename(code));
        if (strstr(tkl_errmsg(), bad_forms[i].named) == NULL)
            fail_msg("\"%s\": no \"%s\" in: %s", bad_forms[i].url, bad_forms[i].named,
                     tkl_errmsg());
    }
}

static void a_failed_open_leaves_no_client(void **state)
{
    (void)state;
    tkl_client *client = (tkl_client *)&client;
    assert_code(tkl_open("gopher://h", NULL, &client), TKL_EINVAL);
    assert_null(client);
    tkl_close(client);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    tkl__target target;
    assert_code(tkl__target_parse("redis://h", &(tkl_options){.timeout_ms = -1}, &target),
                TKL_EINVAL);
    assert_contains(tkl_errmsg(), "timeout_ms");
    assert_code(tkl__target_parse("redis://h", &(tkl_options){.pool_size = -1}, &target),
                TKL_EINVAL);
    assert_contains(tkl_errmsg(), "pool");
    assert_code(tkl__target_parse("redis://h", &(tkl_options){.name = "two words"}, &target),
                TKL_EINVAL);
    assert_contains(tkl_errmsg(), "name");
}

static void no_error_shows_a_password(void **state)
{
    (void)state;
    static const char *const urls[] = {
        "redis://u:hush-hush@h:x",
        "redis://u:hush-hush@h:",
        "redis://u:hush-hush@h?nosuch=1",
        "redis://:hush-hush@h/x",
        "nosuch://u:hush-hush@h",
        "redis+cluster://u:hush-hush@a,,b",
        "redis+sentinel://u:hush-hush@a",
        "redis://u:hush-hush@h%zz",
        "redis://u:hush-hush%zz@h",
        "redis:u:hush-hush@h",
        "u:hush-hush@h",
        "unix://u:hush-hush@relative",
        "redis://hush-hush@h:x",
        "redis://u:hush@hush-hush@h:x",
        "redis://u:hush-hush@h:1:2",
        "redis://u:pw/hush-hush@h:x",
    };
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        tkl__target target;
        if (tkl__target_parse(urls[i], NULL, &target) == TKL_OK)
            fail_msg("\"%s\" was understood", urls[i]);
        if (strstr(tkl_errmsg(), "hush-hush") != NULL && strstr(urls[i], "://hush-hush@") == NULL)
            fail_msg("\"%s\": %s", urls[i], tkl_errmsg());
    }
    tkl__target target;
    assert_true(tkl__target_parse("redis://h:x", &(tkl_options){.password = "hush-hush"}, &target) <
                0);
    assert_lacks(tkl_errmsg(), "hush-hush");
}

int main(void)
{
    unsetenv("TACKLE_PASSWORD");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_understood),
        cmocka_unit_test(schemes_are_the_same_in_every_locale),
        cmocka_unit_test(defaults_are_filled_in),
        cmocka_unit_test(embedded_names_a_directory_or_none),
        cmocka_unit_test(the_query_sets_tls_and_time_out),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(options_win_over_the_url),
        cmocka_unit_test(a_password_is_the_first_line_of_a_file),
        cmocka_unit_test(a_password_file_may_end_without_a_newline),
        cmocka_unit_test(a_password_file_that_is_not_there_is_named),
        cmocka_unit_test(the_environment_has_the_last_word_on_passwords),
        cmocka_unit_test(bad_urls_get_an_error_that_names_the_problem),
        cmocka_unit_test(a_failed_open_leaves_no_client),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(no_error_shows_a_password),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
