// SPDX-License-Identifier: MIT
// Preloaded into sanitized tests: libraries stay loaded, so that the leak checker can still name
// those whose leaks are not ours (tests/tools/lsan.supp) when the program ends.
int dlclose(void *handle);

int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
