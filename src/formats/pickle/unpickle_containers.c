/* SPDX-License-Identifier: MIT */
#include "unpickle_containers.h"
#include "unpickle_literals.h"

/* ---- marks ---- */

static bool take_mark(struct clp_unpickler *machine, size_t *height)
{
    if (machine->mark_count == 0) {
        (void)corrupt(machine, "an instruction that lacks its mark");
        return false;
    }
    *height = machine->marks[--machine->mark_count];
    return true;
}

clp_status clp_unpickle_mark(struct clp_unpickler *machine, const struct clp_argument *argument,
                             unsigned detail)
{
    (void)argument;
    (void)detail;
    if (!CLP_RESERVE(machine, machine->marks, machine->mark_count, machine->mark_room))
        return no_memory(machine);
    machine->marks[machine->mark_count++] = (uint32_t)machine->stack_count;
    return CLP_OK;
}

/* ---- containers ---- */

/* Moves the values on the stack from `height` on into the node. */
static clp_status add_items(struct clp_unpickler *machine, uint32_t node, size_t height)
{
    clp_status status = CLP_OK;

    for (size_t i = height; i < machine->stack_count && status == CLP_OK; i++)
        status = clp_unpickler_add_item(machine, node, &machine->stack[i]);
    machine->stack_count = height;
    return status;
}

clp_status clp_unpickle_empty(struct clp_unpickler *machine, const struct clp_argument *argument,
                              unsigned detail)
{
    (void)argument;
    return clp_unpickler_push_node(machine, (enum clp_pickled_kind)detail);
}

/* Makes a new container of the values on the stack from `height` on. */
static clp_status gather(struct clp_unpickler *machine, enum clp_pickled_kind kind, size_t height)
{
    clp_status status = clp_unpickler_push_node(machine, kind);

    if (status != CLP_OK)
        return status;
    struct clp_pickled value = machine->stack[--machine->stack_count];
    status = add_items(machine, value.as.node, height);
    return status == CLP_OK ? push(machine, value) : status;
}

clp_status clp_unpickle_tuple(struct clp_unpickler *machine, const struct clp_argument *argument,
                              unsigned detail)
{
    (void)argument;
    if (top(machine, detail) == NULL)
        return machine->fault->status;
    return gather(machine, CLP_PICKLED_TUPLE, machine->stack_count - detail);
}

clp_status clp_unpickle_gather(struct clp_unpickler *machine, const struct clp_argument *argument,
                               unsigned detail)
{
    size_t height;

    (void)argument;
    if (!take_mark(machine, &height))
        return machine->fault->status;
    if (detail == CLP_PICKLED_DICT && (machine->stack_count - height) % 2 != 0)
        return corrupt(machine, "a dict with a key that has no value");
    return gather(machine, (enum clp_pickled_kind)detail, height);
}

/* Moves the values on the stack from `height` on into the container right below them. */
static clp_status extend(struct clp_unpickler *machine, size_t height, unsigned kind)
{
    if (height <= floor_of(machine) || machine->stack[height - 1].kind != kind)
        return corrupt(machine, "items for something that takes none");
    if (kind == CLP_PICKLED_DICT && (machine->stack_count - height) % 2 != 0)
        return corrupt(machine, "a dict with a key that has no value");
    return add_items(machine, machine->stack[height - 1].as.node, height);
}

clp_status clp_unpickle_extend(struct clp_unpickler *machine, const struct clp_argument *argument,
                               unsigned detail)
{
    size_t height;

    (void)argument;
    if (!take_mark(machine, &height))
        return machine->fault->status;
    return extend(machine, height, detail);
}

/* Adds one item to a list, or one key and its value to a dict. */
clp_status clp_unpickle_add(struct clp_unpickler *machine, const struct clp_argument *argument,
                            unsigned detail)
{
    size_t count = detail == CLP_PICKLED_DICT ? 2 : 1;

    (void)argument;
    if (top(machine, count) == NULL)
        return machine->fault->status;
    return extend(machine, machine->stack_count - count, detail);
}

/* ---- the memo ---- */

/* Puts the value on top into the memo. Writers number values as they make them, so a number beyond the bytes
 * read so far comes from no writer. */
static clp_status remember(struct clp_unpickler *machine, uint64_t place)
{
    const struct clp_pickled *value = top(machine, 1);
    size_t room = machine->memo_room == 0 ? 64 : machine->memo_room;

    if (value == NULL)
        return machine->fault->status;
    if (place > machine->start)
        return corrupt(machine, "a memo number that no pickle of this size reaches");
    while (room <= place)
        room *= 2;
    if (room != machine->memo_room &&
        clp_mem_grow(machine->values->mem, (void **)&machine->memo, &machine->memo_room, room,
                     sizeof *machine->memo) != CLP_OK)
        return no_memory(machine);
    machine->memo[place] = *value;
    machine->memo_count++;
    return CLP_OK;
}

clp_status clp_unpickle_memoize(struct clp_unpickler *machine, const struct clp_argument *argument,
                                unsigned detail)
{
    (void)argument;
    (void)detail;
    return remember(machine, machine->memo_count);
}

static clp_status recall(struct clp_unpickler *machine, uint64_t place)
{
    if (place >= machine->memo_room || machine->memo[place].kind == CLP_PICKLED_UNSET)
        return corrupt(machine, "a memo number that was never given");
    return push(machine, machine->memo[place]);
}

clp_status clp_unpickle_put(struct clp_unpickler *machine, const struct clp_argument *argument,
                            unsigned detail)
{
    (void)detail;
    return remember(machine, argument->number);
}

clp_status clp_unpickle_get(struct clp_unpickler *machine, const struct clp_argument *argument,
                            unsigned detail)
{
    (void)detail;
    return recall(machine, argument->number);
}

/* Runs PUT and GET with a number that is written in digits. */
clp_status clp_unpickle_memo_text(struct clp_unpickler *machine,
                                  const struct clp_argument *argument, unsigned detail)
{
    if (clp_unpickle_decimal(machine, argument, 0) != CLP_OK)
        return machine->fault->status;
    struct clp_pickled place = machine->stack[--machine->stack_count];
    if (place.kind != CLP_PICKLED_NUMBER)
        return corrupt(machine, "a memo number that was never given");
    return detail == 'p' ? remember(machine, place.as.number) : recall(machine, place.as.number);
}
