/* SPDX-License-Identifier: MIT */
#include "support/transfer.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

void transfer_make(transfer *p)
{
    test_make_dir(p->dir, sizeof p->dir);
}

char *transfer_path(const transfer *p, const char *name)
{
    char *path = test_format("%s/%s", p->dir, name), *slash = path + strlen(p->dir);
    while ((slash = strchr(slash + 1, '/'))) {
        *slash = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    return path;
}

char *transfer_text(const transfer *p, const char *name, tkl_bytes content)
{
    char *path = transfer_path(p, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(content.data, 1, content.len, file), content.len);
    assert_int_equal(fclose(file), 0);
    return path;
}

char *transfer_file(const transfer *p, const char *name, size_t size, unsigned seed)
{
    char *data = malloc(size + 1);
    assert_non_null(data);
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (size_t i = 0; i < size; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        data[i] = (char)(state >> 56);
    }
    char *path = transfer_text(p, name, (tkl_bytes){data, size});
    free(data);
    return path;
}

char *transfer_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, file), *size);
    data[*size] = '\0';
    fclose(file);
    return data;
}

bool transfer_same(const char *path, const char *other)
{
    size_t len, other_len;
    char *a = transfer_read(path, &len), *b = transfer_read(other, &other_len);
    bool same = a && b && len == other_len && memcmp(a, b, len) == 0;
    free(a);
    free(b);
    return same;
}

int transfer_count(const char *path)
{
    int count = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return count;
}

int transfer_receive(tkl_files *files, const transfer *p, const char *as, tkl_files_totals *totals)
{
    char *name = test_format("%s/", as), *dir = transfer_path(p, name);
    tkl_files_receive_options options = {.dir = dir};
    int rc = tkl_files_receive(files, tkl_str(as), &options, 0, totals);
    free(name);
    free(dir);
    return rc;
}

int transfer_send(tkl_files *files, const char *to, const char *path,
                  const tkl_files_send_options *options)
{
    tkl_bytes receivers[16];
    size_t count = 0;
    for (const char *at = to; *at; count++) {
        size_t len = strcspn(at, ",");
        receivers[count] = (tkl_bytes){at, len};
        at += len + (at[len] == ',');
    }
    tkl_files_source source = {.path = path};
    return tkl_files_send(files, receivers, count, &source, 1, options, NULL);
}
