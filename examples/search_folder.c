/* SPDX-License-Identifier: MIT
 *
 * Searches a folder of text files: `search_folder DIR QUERY...`. Indexes the files and answers each
 * query, with the matches marked. Without arguments it makes a small folder itself.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tackle/tackle.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20 }; /* larger files are not for reading */

static void stop_on(int rc)
{
    if (rc == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", tkl_strerror(rc), tkl_errmsg());
    exit(1);
}

/* The file's text, to be freed; data is NULL when the file is no text or too large. */
static tkl_bytes read_file(const char *path, double *modified)
{
    struct stat about;
    tkl_bytes text = {NULL, 0};
    FILE *file = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? fopen(path, "rb") : NULL;
    if (!file || about.st_size > FILE_MAX) {
        if (file)
            fclose(file);
        return text;
    }
    char *data = malloc((size_t)about.st_size + 1);
    if (data)
        text = (tkl_bytes){data, fread(data, 1, (size_t)about.st_size, file)};
    fclose(file);
    *modified = (double)about.st_mtime;
    return text;
}

/* One document per file: its name is the id, and it can be sorted by size and age. */
static void add_file(tkl_search *search, const char *folder, const char *name)
{
    char path[4096];
    double modified = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    tkl_bytes text = read_file(path, &modified);
    if (!text.data)
        return;
    const tkl_search_value values[] = {
        {.field = TKL_LIT("size"), .number = (double)text.len},
        {.field = TKL_LIT("modified"), .number = modified},
        {.field = TKL_LIT("kind"), .text = tkl_str(strrchr(name, '.') ? strrchr(name, '.') : "")},
    };
    tkl_search_doc doc = {.id = tkl_str(name), .text = text, .values = values, .value_count = 3};
    stop_on(tkl_search_add(search, &doc, 1, NULL));
    free((char *)text.data);
}

static void add_folder(tkl_search *search, const char *folder)
{
    DIR *directory = opendir(folder);
    if (!directory) {
        perror(folder);
        exit(1);
    }
    for (const struct dirent *entry; (entry = readdir(directory));)
        add_file(search, folder, entry->d_name);
    closedir(directory);
}

static void print_hit(tkl_search *search, const char *query, const tkl_search_hit *hit)
{
    tkl_search_marks *marks;
    tkl_search_mark_options options = {.before = tkl_str("["), .after = tkl_str("]"), .length = 60};
    stop_on(tkl_search_highlight(search, tkl_str(query), hit->text, &options, &marks));
    printf("  " TKL_FMT ": ", TKL_ARG(hit->id));
    for (size_t i = 0; i < marks->text.len; i++) /* on one line */
        putchar(marks->text.data[i] == '\n' ? ' ' : marks->text.data[i]);
    printf("\n");
    tkl_search_marks_free(marks);
}

static void answer_query(tkl_search *search, const char *query)
{
    tkl_search_result *found;
    tkl_search_query_options options = {.count = 5, .texts = true};
    int rc = tkl_search_query(search, tkl_str(query), &options, &found);
    if (rc == TKL_EINVAL) { /* a wrong query is no reason to end */
        printf("%s: %s\n", query, tkl_errmsg());
        return;
    }
    stop_on(rc);
    printf("%s: %s%lld\n", query, found->exact ? "" : "about ", (long long)found->total);
    for (size_t i = 0; i < found->count; i++)
        print_hit(search, query, &found->hits[i]);
    tkl_search_result_free(found);
}

static void make_file(const char *folder, const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        exit(1);
}

/* Three files in a folder of their own. */
static void make_folder(char *folder)
{
    if (!mkdtemp(folder))
        exit(1);
    make_file(folder, "locks.txt", "A lock is held by one program at a time.\nLocks expire.");
    make_file(folder, "queues.txt", "A queue hands each job to one worker. Jobs may be locked.");
    make_file(folder, "zh.md", "锁由一个程序持有。队列把工作交给程序员。");
}

static void remove_folder(const char *folder)
{
    static const char *const names[] = {"locks.txt", "queues.txt", "zh.md"};
    char path[4096];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

int main(int argc, char **argv)
{
    static const char *const queries[] = {"locking", "job +持有", "程序", "* size:<60", "\"open"};
    static const tkl_search_field fields[] = {
        {.name = TKL_LIT("size"), .kind = TKL_SEARCH_FIELD_NUMERIC},
        {.name = TKL_LIT("modified"), .kind = TKL_SEARCH_FIELD_NUMERIC},
        {.name = TKL_LIT("kind"), .kind = TKL_SEARCH_FIELD_TEXT},
    };
    const tkl_search_schema schema = {.fields = fields, .field_count = 3, .stem = "en"};
    const char *url = getenv("TACKLE_URL");
    char own[] = "/tmp/search_folder.XXXXXX";
    tkl_client *client;
    tkl_search *search;
    if (argc < 2)
        make_folder(own);
    stop_on(tkl_open(url ? url : "embedded:", NULL, &client));
    stop_on(tkl_search_open(client, tkl_str(argc < 2 ? "example" : argv[1]), NULL, &search));
    stop_on(tkl_search_create(search, &schema));
    add_folder(search, argc < 2 ? own : argv[1]);
    for (int i = 0; argc < 2 && i < 5; i++)
        answer_query(search, queries[i]);
    for (int i = 2; i < argc; i++)
        answer_query(search, argv[i]);
    stop_on(tkl_search_drop(search));
    tkl_search_close(search);
    tkl_close(client);
    if (argc < 2)
        remove_folder(own);
}
