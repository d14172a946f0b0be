/* SPDX-License-Identifier: MIT
 *
 * The server when none is named: variables, files, and files that are refused.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "core/default.h"
#include "core/url.h"
#include "support/test.h"

static char config_dir[64]; /* $XDG_CONFIG_HOME */
static char *user_file, *system_file;

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int fresh(void **state)
{
    (void)state;
    test_make_dir(config_dir, sizeof config_dir);
    char *folder = test_format("%s/tackle", config_dir);
    assert_int_equal(mkdir(folder, 0700), 0);
    free(folder);
    user_file = test_format("%s/tackle/config", config_dir);
    system_file = test_format("%s/system", config_dir);
    setenv("XDG_CONFIG_HOME", config_dir, 1);
    setenv("XDG_DATA_HOME", "/data/of me", 1);
    static const char *const unset[] = {"TACKLE_URL", "REDIS_URL", "TACKLE_CONFIG",
                                        "TACKLE_NAMESPACE", "TACKLE_PASSWORD"};
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        unsetenv(unset[i]);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    test_remove_dir(config_dir);
    free(user_file);
    free(system_file);
    return 0;
}

static void expect(const char *url, const char *source)
{
    tkl_default_server *server;
    assert_code(tkl__default_server_read(system_file, &server), TKL_OK);
    assert_string_equal(server->url, url);
    assert_string_equal(server->source, source);
    assert_int_equal(server->is_fallback, *source == '\0');
    tkl_default_server_free(server);
}

static void expect_failure(int code, const char *part)
{
    tkl_default_server *server;
    assert_code(tkl__default_server_read(system_file, &server), code);
    assert_null(server);
    assert_contains(tkl_errmsg(), part);
}

static void the_first_source_counts(void **state)
{
    (void)state;
    expect("embedded:/data/of%20me/tackle", "");
    write_text(system_file, "url = redis://system\n");
    expect("redis://system", system_file);
    write_text(user_file, "url = redis://user\n");
    expect("redis://user", user_file);
    setenv("REDIS_URL", "redis://second", 1);
    expect("redis://second", "REDIS_URL");
    setenv("TACKLE_URL", "redis://first", 1);
    expect("redis://first", "TACKLE_URL");
    setenv("TACKLE_URL", "", 1);
    setenv("REDIS_URL", "", 1);
    expect("redis://user", user_file);
}

static void a_variable_names_another_file_or_none(void **state)
{
    (void)state;
    write_text(user_file, "url = redis://user\n");
    write_text(system_file, "url = redis://system\n");
    setenv("TACKLE_CONFIG", system_file, 1);
    expect("redis://system", system_file);
    setenv("TACKLE_CONFIG", "/dev/null", 1);
    expect("embedded:/data/of%20me/tackle", "");
    setenv("TACKLE_CONFIG", "/no/such/file", 1);
    expect_failure(TKL_EIO, "/no/such/file, which TACKLE_CONFIG names, does not exist");
    setenv("TACKLE_CONFIG", "relative", 1);
    expect_failure(TKL_EINVAL, "TACKLE_CONFIG must begin with a slash");
}

static void settings_become_parameters(void **state)
{
    (void)state;
    char *password = test_format("%s/tackle/pass word", config_dir);
    write_text(password, "sesame\n");
    write_text(user_file, "# ours\n"
                          "\n"
                          "url=rediss://h:7000/3?verify=no\r\n"
                          "  user =  us&er  \n"
                          "password-file = pass word\n"
                          "\tca = /ca=1.pem\n"
                          "namespace = shop");
    tkl_default_server *server;
    assert_code(tkl__default_server_read(system_file, &server), TKL_OK);
    tkl__target target;
    assert_code(tkl__target_parse(server->url, NULL, &target), TKL_OK);
    assert_string_equal(target.addrs[0].host, "h");
    assert_int_equal(target.db, 3);
    assert_string_equal(target.username, "us&er");
    assert_string_equal(target.password, "sesame");
    assert_string_equal(target.ca_file, "/ca=1.pem");
    assert_string_equal(target.ns, "shop");
    tkl__target_free(&target);
    tkl_default_server_free(server);
    free(password);
}

/* The meaning of `embedded:` in a file, where every program reads it. */
static void a_file_may_want_the_private_server(void **state)
{
    (void)state;
    write_text(user_file, "url = embedded:\nnamespace = mine\n");
    expect("embedded:/data/of%20me/tackle?namespace=mine", user_file);
    write_text(user_file, "url = embedded:?durability=always\n");
    expect("embedded:/data/of%20me/tackle?durability=always", user_file);
    write_text(user_file, "url = embedded:/srv/x\n");
    expect("embedded:/srv/x", user_file);
    write_text(user_file, "url = embedded:here\n");
    expect_failure(TKL_EINVAL, "the folder of embedded: must begin with a slash");
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } mistakes[] = {
        {"", "it has no url"},
        {"# url = redis://h\n", "it has no url"},
        {"user = x\n", "it has no url"},
        {"url\n", "line 1 is not of the form NAME = VALUE"},
        {"\nurl =\n", "line 2: url has no value"},
        {"url = redis://a\nurl = redis://b\n", "line 2: url is there twice"},
        {"url = redis://a\npassword = x\n", "line 2: unknown setting 'password'"},
        {"URL = redis://a\n", "line 1: unknown setting 'URL'"},
        {"url = http://a\n", "the URL must start with"},
        {"url = redis://a\npassword-file = /no/such\n", "password file /no/such: No such file"},
        {"url = redis://a\nnamespace = {x}\n", "the namespace must have"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        tkl_default_server *server;
        write_text(user_file, mistakes[i].text);
        assert_true(tkl__default_server_read(system_file, &server) < 0);
        assert_contains(tkl_errmsg(), mistakes[i].message);
        if (strncmp(tkl_errmsg(), user_file, strlen(user_file)) != 0)
            fail_msg("the message does not begin with the file: %s", tkl_errmsg());
    }
    char *url;
    assert_code(tkl__config_url("/f", (tkl_bytes){"url\0=x", 6}, &url), TKL_EINVAL);
}

static void what_others_may_write_is_refused(void **state)
{
    (void)state;
    char *folder = test_format("%s/tackle", config_dir);
    write_text(user_file, "url = redis://h\n");
    chmod(user_file, 0620);
    expect_failure(TKL_EAUTH, "others may write it");
    chmod(user_file, 0602);
    expect_failure(TKL_EAUTH, "others may write it");
    chmod(user_file, 0644);
    chmod(folder, 0702);
    expect_failure(TKL_EAUTH, "others may write the folder");
    chmod(folder, 0755);
    expect("redis://h", user_file);
    unlink(user_file);
    assert_int_equal(mkfifo(user_file, 0600), 0);
    expect_failure(TKL_EAUTH, "it is not a regular file");
    unlink(user_file);
    assert_int_equal(mkdir(user_file, 0700), 0);
    expect_failure(TKL_EAUTH, "it is not a regular file");
    rmdir(user_file);
    free(folder);
}

static void a_file_of_another_user_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    write_text(user_file, "url = redis://h\n");
    assert_int_equal(chown(user_file, 1234, 1234), 0);
    expect_failure(TKL_EAUTH, "it belongs to another user");
}

/* ---- tkl_open(NULL) ------------------------------------------------------ */

static void a_client_opens_it(void **state)
{
    (void)state;
    tkl_client *client;
    tkl_bytes key;
    setenv("TACKLE_CONFIG", "/dev/null", 1);
    assert_code(tkl_open(NULL, NULL, &client), TKL_EINVAL);
    assert_null(client);
    assert_contains(tkl_errmsg(), "nothing names a server");
    setenv("TACKLE_CONFIG", user_file, 1);
    write_text(user_file, "url = redis://127.0.0.1:1\nnamespace = file\n");
    assert_code(tkl_open(NULL, NULL, &client), TKL_OK); /* connects at the first call only */
    assert_code(tkl_key(client, "lock", tkl_str("x"), "", &key), TKL_OK);
    assert_string_equal(key.data, "file:lock:{x}");
    tkl_key_free(key);
    tkl_close(client);
    setenv("TACKLE_NAMESPACE", "variable", 1);
    assert_code(tkl_open(NULL, NULL, &client), TKL_OK);
    assert_code(tkl_key(client, "lock", tkl_str("x"), "", &key), TKL_OK);
    assert_string_equal(key.data, "variable:lock:{x}");
    tkl_key_free(key);
    tkl_close(client);
    assert_code(tkl_open(NULL, &(tkl_options){.ns = "option"}, &client), TKL_OK);
    assert_code(tkl_key(client, "lock", tkl_str("x"), "", &key), TKL_OK);
    assert_string_equal(key.data, "option:lock:{x}");
    tkl_key_free(key);
    tkl_close(client);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, fresh, clean)
    const struct CMUnitTest tests[] = {
        TEST(the_first_source_counts),
        TEST(a_variable_names_another_file_or_none),
        TEST(settings_become_parameters),
        TEST(a_file_may_want_the_private_server),
        TEST(mistakes_are_named),
        TEST(what_others_may_write_is_refused),
        TEST(a_file_of_another_user_is_refused),
        TEST(a_client_opens_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
