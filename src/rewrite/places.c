/* SPDX-License-Identifier: MIT */
#include "places.h"

/* Puts a probe into one number: a key of the map of constants. No probe has both a line and a name, and the site alone
 * tells those apart that have one. */
static uint64_t key_of(struct clp_probe probe)
{
    return (uint64_t)((uint32_t)probe.line | (probe.site != 0 ? probe.site : probe.name)) << 8 | (uint64_t)probe.kind;
}

uint32_t clp_layout_constant(const struct clp_layout *layout, enum clp_probe_kind kind,
                             int32_t line)
{
    uint64_t found;

    return clp_hashmap_get(&layout->constants, key_of((struct clp_probe){kind, line, 0, 0}), &found) ? (uint32_t)found
                                                                                                  : CLP_NOWHERE;
}

clp_status clp_layout_add(struct clp_layout *layout, struct clp_probe probe, uint32_t *constant)
{
    struct clp_rewritten *out = layout->out;

    if (out->probe_count == out->probe_room &&
        clp_mem_grow(out->mem, (void **)&out->probes, &out->probe_room, out->probe_room * 2 + 16,
                     sizeof *out->probes) != CLP_OK)
        return CLP_NO_MEMORY;
    *constant = layout->decoded->code->const_count + (uint32_t)out->probe_count;
    out->probes[out->probe_count++] = probe;
    return CLP_OK;
}

clp_status clp_layout_want(struct clp_layout *layout, struct clp_probe probe, uint32_t *constant)
{
    uint64_t key = key_of(probe), found;

    if (clp_hashmap_get(&layout->constants, key, &found)) {
        *constant = (uint32_t)found;
        return CLP_OK;
    }
    if (clp_layout_add(layout, probe, constant) != CLP_OK)
        return CLP_NO_MEMORY;
    return clp_hashmap_set(&layout->constants, key, *constant);
}

uint32_t clp_layout_ask_units(const struct clp_layout *layout, uint32_t constant)
{
    const struct clp_bytecode *bytecode = layout->decoded->bytecode;

    /* the instructions of a probe with BINARY_OP as the operator, COPY among them, and RERAISE */
    return 1 + clp_layout_probe_units(constant) + bytecode->op[bytecode->binary_op].caches + 1;
}
