/* SPDX-License-Identifier: MIT */
#include "unpickle_objects.h"
#include <string.h>

/* The names that a profile's pickle may use. */
enum name { NAME_STATS, NAME_RECONSTRUCTOR, NAME_OBJECT };

static const struct {
    const char *module, *name;
    enum name what;
} names[] = {
    {"line_profiler.line_profiler", "LineStats", NAME_STATS},  /* line_profiler 5.0 and newer */
    {"line_profiler._line_profiler", "LineStats", NAME_STATS}, /* line_profiler 3.0 to 4.2 */
    {"line_profiler", "LineStats", NAME_STATS},
    {"_line_profiler", "LineStats", NAME_STATS},               /* line_profiler before 3.0 */
    {"copyreg", "_reconstructor", NAME_RECONSTRUCTOR},         /* protocols 0 and 1 */
    {"copy_reg", "_reconstructor", NAME_RECONSTRUCTOR},
    {"builtins", "object", NAME_OBJECT},
    {"__builtin__", "object", NAME_OBJECT},
};

/* Appends a part of what was asked for to fault->found. Bytes that a terminal might obey become '?'. */
static void tell(struct clp_fault *fault, const char *text, size_t bytes)
{
    size_t used = strlen(fault->found);

    for (size_t i = 0; i < bytes && used + 1 < sizeof fault->found; i++)
        fault->found[used++] = text[i] > ' ' && text[i] < 0x7f ? text[i] : '?';
    fault->found[used] = 0;
}

static bool is_same(const struct clp_unpickler *machine, const struct clp_pickled *value,
                    const char *text)
{
    return value->kind == CLP_PICKLED_TEXT && value->as.text.bytes == strlen(text) &&
           memcmp(machine->bytes + value->as.text.at, text, value->as.text.bytes) == 0;
}

static clp_status refuse_name(struct clp_unpickler *machine, const struct clp_pickled *module,
                              const struct clp_pickled *name)
{
    const char *bytes = (const char *)machine->bytes;

    (void)refuse(machine, CLP_NOT_A_PROFILE, "the pickle asks for what no profile needs");
    tell(machine->fault, bytes + module->as.text.at, module->as.text.bytes);
    tell(machine->fault, ".", 1);
    tell(machine->fault, bytes + name->as.text.at, name->as.text.bytes);
    return CLP_NOT_A_PROFILE;
}

static clp_status push_name(struct clp_unpickler *machine, const struct clp_pickled *module,
                            const struct clp_pickled *name)
{
    struct clp_pickled value = of_kind(CLP_PICKLED_CLASS);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!is_same(machine, module, names[i].module) || !is_same(machine, name, names[i].name))
            continue;
        value.as.name = names[i].what;
        return push(machine, value);
    }
    return refuse_name(machine, module, name);
}

clp_status clp_unpickle_name(struct clp_unpickler *machine, const struct clp_argument *argument,
                             unsigned detail)
{
    struct clp_pickled module = of_kind(CLP_PICKLED_TEXT), name = module;

    (void)detail;
    module.as.text.at = (uint32_t)argument->at;
    module.as.text.bytes = (uint32_t)argument->bytes;
    name.as.text.at = (uint32_t)argument->next_at;
    name.as.text.bytes = (uint32_t)argument->next_bytes;
    return push_name(machine, &module, &name);
}

clp_status clp_unpickle_stack_name(struct clp_unpickler *machine,
                                   const struct clp_argument *argument, unsigned detail)
{
    struct clp_pickled *both = top(machine, 2), module, name;

    (void)argument;
    (void)detail;
    if (both == NULL)
        return machine->fault->status;
    module = both[0];
    name = both[1];
    if (module.kind != CLP_PICKLED_TEXT || name.kind != CLP_PICKLED_TEXT)
        return corrupt(machine, "a name that is no text");
    machine->stack_count -= 2;
    return push_name(machine, &module, &name);
}

static bool is_class(const struct clp_pickled *value, enum name name)
{
    return value->kind == CLP_PICKLED_CLASS && value->as.name == name;
}

/* Is it the call LineStats.__new__(LineStats)? */
static bool makes_stats(const struct clp_unpickler *machine, const struct clp_pickled *call)
{
    return is_class(&call[0], NAME_STATS) && call[1].kind == CLP_PICKLED_TUPLE &&
           machine->values->nodes[call[1].as.node].count == 0;
}

/* Is it the call copyreg._reconstructor(LineStats, object, None)? */
static bool reconstructs_stats(const struct clp_unpickler *machine, const struct clp_pickled *call)
{
    const struct clp_unpickled *values = machine->values;
    const struct clp_pickled *item;

    if (!is_class(&call[0], NAME_RECONSTRUCTOR) || call[1].kind != CLP_PICKLED_TUPLE ||
        values->nodes[call[1].as.node].count != 3)
        return false;
    uint32_t at = values->nodes[call[1].as.node].first;
    bool good = is_class(clp_unpickled_next(values, &at), NAME_STATS) &&
                is_class(clp_unpickled_next(values, &at), NAME_OBJECT);
    item = clp_unpickled_next(values, &at);
    return good && item->kind == CLP_PICKLED_NONE;
}

clp_status clp_unpickle_new(struct clp_unpickler *machine, const struct clp_argument *argument,
                            unsigned detail)
{
    struct clp_pickled *call = top(machine, 2);

    (void)argument;
    if (call == NULL)
        return machine->fault->status;
    if (!(detail == 'R' ? reconstructs_stats(machine, call) : makes_stats(machine, call)))
        return refuse(machine, CLP_NOT_A_PROFILE, "the pickle calls what no profile needs");
    machine->stack_count -= 2;
    return clp_unpickler_push_node(machine, CLP_PICKLED_OBJECT);
}

clp_status clp_unpickle_build(struct clp_unpickler *machine, const struct clp_argument *argument,
                              unsigned detail)
{
    struct clp_pickled *both = top(machine, 2), state;

    (void)argument;
    (void)detail;
    if (both == NULL)
        return machine->fault->status;
    if (both[0].kind != CLP_PICKLED_OBJECT || both[1].kind != CLP_PICKLED_DICT ||
        machine->values->nodes[both[0].as.node].count != 0)
        return corrupt(machine, "a state for something that takes none");
    state = both[1];
    machine->stack_count--;
    return clp_unpickler_add_item(machine, both[0].as.node, &state);
}
