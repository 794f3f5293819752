// SPDX-License-Identifier: MIT
// In place of convert_avx2.c on machines other than x86-64.
#include "render/convert_priv.h"

int fw_convert_rows_avx2(const struct fw_convert_rows *rows)
{
    (void)rows;
    return 0;
}

bool fw_convert_can_avx2(void)
{
    return false;
}
