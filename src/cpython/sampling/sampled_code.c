/* SPDX-License-Identifier: MIT */
#include "sampled_code.h"

struct clp_sampled_code {
    uint32_t function, units;
    uint32_t cells[];
};

static struct clp_sampled_code *cast(uint64_t value)
{
    return (struct clp_sampled_code *)(uintptr_t)value;
}

static size_t bytes_of(uint32_t units)
{
    return sizeof(struct clp_sampled_code) + units * sizeof(uint32_t);
}

void clp_sampled_codes_init(struct clp_sampled_codes *codes, struct clp_mem *mem)
{
    clp_hashmap_init(&codes->known, mem);
}

static void free_code(struct clp_sampled_codes *codes, struct clp_sampled_code *code)
{
    clp_mem_free(codes->known.mem, code, bytes_of(code->units), 1);
}

void clp_sampled_codes_clear(struct clp_sampled_codes *codes)
{
    for (size_t i = 0; i < codes->known.room; i++)
        if (codes->known.slots[i].used)
            free_code(codes, cast(codes->known.slots[i].value));
    clp_hashmap_clear(&codes->known);
}

void clp_sampled_codes_remove(struct clp_sampled_codes *codes, const void *code)
{
    uint64_t old;

    if (clp_hashmap_take(&codes->known, (uintptr_t)code, &old))
        free_code(codes, cast(old));
}

bool clp_sampled_codes_add(struct clp_sampled_codes *codes, const void *code, uint32_t function, const uint32_t *cells,
                           uint32_t units)
{
    uint32_t cell = CLP_NO_CELL;

    clp_sampled_codes_remove(codes, code);
    for (uint32_t i = 0; i < units && cell == CLP_NO_CELL; i++)
        cell = cells[i];
    if (cell == CLP_NO_CELL)
        return false;
    struct clp_sampled_code *added = clp_mem_alloc(codes->known.mem, bytes_of(units), 1);
    if (added == NULL)
        return false;
    added->function = function;
    added->units = units;
    for (uint32_t i = 0; i < units; i++)
        added->cells[i] = cell = cells[i] != CLP_NO_CELL ? cells[i] : cell;
    if (clp_hashmap_set(&codes->known, (uintptr_t)code, (uintptr_t)added) == CLP_OK)
        return true;
    free_code(codes, added);
    return false;
}

enum clp_sampled_place clp_sampled_codes_find(const struct clp_sampled_codes *codes, const struct clp_raw_frame *frame,
                                              struct clp_sampled_line *line)
{
    uint64_t found;

    if (!clp_hashmap_get(&codes->known, (uintptr_t)frame->code, &found))
        return CLP_SAMPLED_NOT_SELECTED;
    const struct clp_sampled_code *code = cast(found);
    size_t unit = clp_raw_unit(frame->code, frame->instruction);
    if (unit >= code->units)
        return CLP_SAMPLED_WRONG;
    *line = (struct clp_sampled_line){code->function, code->cells[unit]};
    return CLP_SAMPLED_LINE;
}
