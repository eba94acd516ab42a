/* SPDX-License-Identifier: MIT */
/* The machine that runs a pickle (unpickle.h): its stack, its marks, its memo, and what its instructions share. */
#ifndef CLP_UNPICKLER_H
#define CLP_UNPICKLER_H

#include "pickled.h"
#include "base/status.h"

struct clp_unpickler {
    struct clp_unpickled *values;
    struct clp_fault *fault;
    const unsigned char *bytes;
    size_t count, at;
    size_t start; /* offset of the instruction that runs */
    struct clp_pickled *stack;
    size_t stack_count, stack_room;
    uint32_t *marks; /* heights of the stack at which items of a container begin */
    size_t mark_count, mark_room;
    struct clp_pickled *memo;
    size_t memo_count, memo_room;
};

/* What follows an instruction in the file. */
struct clp_argument {
    uint64_t number;
    size_t at, bytes; /* a text, without its length or line end */
    size_t next_at, next_bytes; /* a second line of text */
};

static inline clp_status refuse(struct clp_unpickler *machine, clp_status status,
                                const char *reason)
{
    return clp_fault_set(machine->fault, status, machine->start, reason);
}

static inline clp_status corrupt(struct clp_unpickler *machine, const char *reason)
{
    return refuse(machine, CLP_CORRUPT, reason);
}

static inline clp_status no_memory(struct clp_unpickler *machine)
{
    return refuse(machine, CLP_NO_MEMORY, NULL);
}

/* Makes room for one more item in a table. The room at least doubles. False: no memory. */
static inline bool reserve(struct clp_unpickler *machine, void **block, size_t count, size_t *room,
                           size_t item_bytes)
{
    size_t wanted = *room == 0 ? 64 : *room * 2;

    return count < *room ||
           clp_mem_grow(machine->values->mem, block, room, wanted, item_bytes) == CLP_OK;
}

#define CLP_RESERVE(machine, table, count, room) \
    reserve(machine, (void **)&(table), count, &(room), sizeof *(table))

/* ---- values ---- */

static inline struct clp_pickled number_of(uint64_t number)
{
    return (struct clp_pickled){.kind = CLP_PICKLED_NUMBER, .as.number = number};
}

static inline struct clp_pickled of_kind(enum clp_pickled_kind kind)
{
    return (struct clp_pickled){.kind = (unsigned char)kind};
}

static inline clp_status push(struct clp_unpickler *machine, struct clp_pickled value)
{
    if (!CLP_RESERVE(machine, machine->stack, machine->stack_count, machine->stack_room))
        return no_memory(machine);
    value.at = (uint32_t)machine->start;
    machine->stack[machine->stack_count++] = value;
    return CLP_OK;
}

/* The height below which an instruction may take nothing: those values belong to an earlier mark. */
static inline size_t floor_of(const struct clp_unpickler *machine)
{
    return machine->mark_count == 0 ? 0 : machine->marks[machine->mark_count - 1];
}

/* The `count` values on top of the stack. NULL, with a fault, if there are not so many. */
static inline struct clp_pickled *top(struct clp_unpickler *machine, size_t count)
{
    if (machine->stack_count - floor_of(machine) < count) {
        (void)corrupt(machine, "an instruction that lacks its values");
        return NULL;
    }
    return machine->stack + machine->stack_count - count;
}

/* Makes a new node, and pushes the value that refers to it. */
clp_status clp_unpickler_push_node(struct clp_unpickler *machine, enum clp_pickled_kind kind);

clp_status clp_unpickler_add_item(struct clp_unpickler *machine, uint32_t node,
                                  const struct clp_pickled *value);

/* ---- instructions ---- */

/* Runs an instruction. `detail` comes from the table of instructions, and tells apart those that one function
 * runs. */
typedef clp_status clp_instruction(struct clp_unpickler *machine,
                                   const struct clp_argument *argument, unsigned detail);

#endif
