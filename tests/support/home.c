/* SPDX-License-Identifier: MIT */
#include "support/home.h"

#include <unistd.h>

#include "support/call.h"
#include "support/process.h"
#include "support/server.h"

char home_dir[64];
char home_url[128];

tkl_server_info home_start(const char *at)
{
    tkl_server_info info;
    assert_ok(tkl_server_start(at, &info));
    assert_true(info.pid > 0);
    return info;
}

void home_not_running(const char *at)
{
    tkl_server_info info;
    assert_code(tkl_server_status(at, &info), TKL_NOTFOUND);
    assert_int_equal(info.pid, 0);
}

const char *home_durability(void)
{
    static tkl_server_info info;
    int rc = tkl_server_status(home_url, &info);
    assert_true(rc == TKL_OK || rc == TKL_NOTFOUND);
    return info.durability;
}

const char *home_with(const char *word)
{
    static char text[160];
    snprintf(text, sizeof text, "%s&durability=%s", home_url, word);
    return text;
}

void home_put(const char *at, const char *value)
{
    tkl_client *client = test_open(at, NULL);
    call_expect(client, "OK", "SET", "key", value, NULL);
    tkl_close(client);
}

char *home_get(const char *at)
{
    tkl_client *client = test_open(at, NULL);
    char *value = call_text(client, "GET", "key", NULL);
    tkl_close(client);
    return value;
}

char *home_path(const char *name)
{
    return test_format("%s/%s", home_dir, name);
}

bool home_has(const char *name)
{
    char *path = home_path(name);
    bool found = access(path, F_OK) == 0;
    free(path);
    return found;
}

void home_crash(const tkl_server_info *info)
{
    kill((pid_t)info->pid, SIGKILL);
    eventually(process_count(home_dir) == 0, WAIT_MS);
}

void home_configure(const char *lines)
{
    char *path = home_path("config");
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    fputs(lines, file);
    assert_int_equal(fclose(file), 0);
    free(path);
}

int home_visit(void *at)
{
    tkl_server_info info;
    return tkl_server_start(at, &info) == TKL_OK ? 0 : 1;
}

/* ---- The fixture --------------------------------------------------------- */

int home_guard(void **state)
{
    (void)state;
    char *base = test_format("%s/", test_dir());
    process_guard(base);
    free(base);
    return 0;
}

int home_fresh(void **state)
{
    (void)state;
    setenv("TACKLE_SERVER", server_program(), 1);
    test_make_dir(home_dir, sizeof home_dir);
    test_remove_dir(home_dir);
    snprintf(home_url, sizeof home_url, "embedded:%s?timeout=60s", home_dir);
    return 0;
}

int home_clean(void **state)
{
    (void)state;
    process_signal(home_dir, SIGKILL);
    eventually(process_count(home_dir) == 0, WAIT_MS);
    return 0;
}
