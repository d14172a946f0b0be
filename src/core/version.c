/* SPDX-License-Identifier: MIT */
#include <tackle/version.h>

const char *tkl_version(void)
{
    return TKL_VERSION;
}
