/* SPDX-License-Identifier: MIT */
#include "program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_find_program(const cli_session *cli, const char *name, char **path)
{
    static const char *const folders[] = {"", "../libexec/tackle/"};
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len < 0)
        return cli_fail(cli, CLI_FAILURE, "cannot find this program: %s", strerror(errno));
    self[len] = '\0';
    strrchr(self, '/')[1] = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (asprintf(path, "%s%s%s", self, folders[i], name) < 0)
            return cli_end(cli, TKL_ENOMEM);
        if (access(*path, X_OK) == 0)
            return CLI_OK;
        free(*path);
    }
    *path = NULL;
    return cli_fail(cli, CLI_FAILURE, "%s is not installed", name);
}
