/* SPDX-License-Identifier: MIT */
#include "nvtx.h"
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NVTX_3 3
#define VARIABLE "NVTX_INJECTION64_PATH"
#define ENTRY "InitializeInjectionNvtx2"

typedef void (*function)(void);

/* The modules of NVTX, and the functions of which there is use. */
enum { CORE = 1, CUDA, OPENCL, CUDART, CORE2, SYNC, MODULES };
enum { CORE_PUSH = 9, CORE_POP = 11 };
enum { DOMAIN_PUSH = 4, DOMAIN_POP = 5, DOMAIN_CREATE = 12 };
enum { MOST = 16 };
static const unsigned counts[MODULES] = {
    [CORE] = 16, [CUDA] = 9, [OPENCL] = 15, [CUDART] = 7, [CORE2] = 16, [SYNC] = 7,
};

/* What a range is described by. */
struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char *message;
};
enum { MESSAGE_IS_TEXT = 1 };

static struct {
    function functions[MODULES][MOST + 1];
    function *tables[MODULES][MOST + 1]; /* where the tool puts them; [0] and the end are NULL */
    int (*push)(const char *name);
    int (*pop)(void);
    int (*domain_push)(void *domain, const struct attributes *range);
    int (*domain_pop)(void *domain);
    void *domain;
    const char *why_not;
    char text[512]; /* of why_not */
    int opened;
} nvtx;

/* ---- what the tool asks ---- */

static int module_functions(int module, function ***table, unsigned *count)
{
    if (module <= 0 || module >= MODULES)
        return 0;
    if (table != NULL)
        *table = nvtx.tables[module];
    if (count != NULL)
        *count = counts[module];
    return 1;
}

static void take_version(uint32_t version)
{
    (void)version;
}

static const struct {
    size_t size;
    int (*module_functions)(int module, function ***table, unsigned *count);
} callbacks = {sizeof callbacks, module_functions};

static const struct {
    size_t size;
    uint32_t version, reserved;
    void (*take_version)(uint32_t version);
} version_info = {sizeof version_info, NVTX_3, 0, take_version};

static const void *export_table(uint32_t table)
{
    enum { CALLBACKS = 1, VERSION_INFO = 3 };

    return table == CALLBACKS ? (const void *)&callbacks : table == VERSION_INFO ? (const void *)&version_info : NULL;
}

/* ---- loading ---- */

static const char *why(const char *path, const char *what)
{
    (void)snprintf(nvtx.text, sizeof nvtx.text, "%s, %s: %s", VARIABLE, path, what != NULL ? what : "cannot be loaded");
    return nvtx.text;
}

static void make_tables(void)
{
    for (int module = CORE; module < MODULES; module++)
        for (unsigned i = 1; i < counts[module]; i++)
            nvtx.tables[module][i] = &nvtx.functions[module][i];
}

/* Takes from the tables what the tool has put there. False: it knows no ranges. */
static int take_functions(void)
{
    function create = nvtx.functions[CORE2][DOMAIN_CREATE];

    nvtx.push = (int (*)(const char *))nvtx.functions[CORE][CORE_PUSH];
    nvtx.pop = (int (*)(void))nvtx.functions[CORE][CORE_POP];
    nvtx.domain_push = (int (*)(void *, const struct attributes *))nvtx.functions[CORE2][DOMAIN_PUSH];
    nvtx.domain_pop = (int (*)(void *))nvtx.functions[CORE2][DOMAIN_POP];
    if (create != NULL && nvtx.domain_push != NULL && nvtx.domain_pop != NULL)
        nvtx.domain = ((void *(*)(const char *))create)("clineprof");
    else
        nvtx.domain_push = NULL;
    return nvtx.domain_push != NULL || (nvtx.push != NULL && nvtx.pop != NULL);
}

static const char *load(void)
{
    const char *path = getenv(VARIABLE);
    int (*begin)(const void *(*export_table)(uint32_t));

    if (path == NULL || *path == 0)
        return "no tool listens (" VARIABLE " is not set), so there are no ranges; Nsight Systems sets it: nsys "
               "profile -t nvtx ..";
    void *library = dlopen(path, RTLD_LAZY);
    if (library == NULL)
        return why(path, dlerror());
    *(void **)&begin = dlsym(library, ENTRY);
    if (begin == NULL)
        return why(path, "it has no function " ENTRY);
    make_tables();
    if (begin(export_table) == 0)
        return why(path, "it did not want to listen");
    return take_functions() ? NULL : why(path, "it knows no ranges");
}

const char *clp_nvtx_open(void)
{
    if (!nvtx.opened)
        nvtx.why_not = load();
    nvtx.opened = 1;
    return nvtx.why_not;
}

void clp_nvtx_push(const char *name)
{
    struct attributes range = {.version = NVTX_3, .size = sizeof range, .message_type = MESSAGE_IS_TEXT,
                               .message = name};

    if (nvtx.domain_push != NULL)
        (void)nvtx.domain_push(nvtx.domain, &range);
    else
        (void)nvtx.push(name);
}

void clp_nvtx_pop(void)
{
    if (nvtx.domain_push != NULL)
        (void)nvtx.domain_pop(nvtx.domain);
    else
        (void)nvtx.pop();
}
