/* SPDX-License-Identifier: MIT */
#include "pages.h"
#include <sys/mman.h>
#include <unistd.h>

void *clp_pages_map(struct clp_pages *pages, size_t bytes, size_t *mapped)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (bytes > SIZE_MAX - page)
        return NULL;
    size_t size = (bytes + page - 1) / page * page;
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
    pages->bytes += size;
    *mapped = size;
    return block;
}

void clp_pages_unmap(struct clp_pages *pages, void *block, size_t mapped)
{
    munmap(block, mapped);
    pages->bytes -= mapped;
}
