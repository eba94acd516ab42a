/* SPDX-License-Identifier: MIT */
#include "library.h"
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

void *clp_library_loaded(const char *name)
{
    return dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

void *clp_library_load(const char *path)
{
    return dlopen(path, RTLD_LAZY);
}

struct search {
    const char *start;
    char path[4096];
};

static int look_at(struct dl_phdr_info *info, size_t bytes, void *data)
{
    struct search *search = data;
    const char *path = info->dlpi_name != NULL ? info->dlpi_name : "", *slash = strrchr(path, '/');

    (void)bytes;
    if (slash == NULL || strncmp(slash + 1, search->start, strlen(search->start)) != 0)
        return 0;
    return snprintf(search->path, sizeof search->path, "%s", path) < (int)sizeof search->path;
}

void *clp_library_loaded_like(const char *start)
{
    struct search search = {.start = start};

    return dl_iterate_phdr(look_at, &search) != 0 ? clp_library_loaded(search.path) : NULL;
}

void clp_library_function(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, sizeof found);
}
