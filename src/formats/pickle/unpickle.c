/* SPDX-License-Identifier: MIT */
/* One table says for each instruction what follows it in the file and which function runs it. An instruction
 * that is not in the table is refused. Some of the table's instructions are refused, too, with a reason of
 * their own. */
#include "unpickle.h"
#include "unpickle_containers.h"
#include "unpickle_literals.h"
#include "unpickle_objects.h"
#include "unpickler.h"
#include <string.h>

#define HIGHEST_PROTOCOL 5

enum argument_kind { ARGUMENT_NONE, ARGUMENT_1, ARGUMENT_2, ARGUMENT_4, ARGUMENT_8, ARGUMENT_LINE,
                     ARGUMENT_LINES, ARGUMENT_TEXT_1, ARGUMENT_TEXT_4, ARGUMENT_TEXT_8 };

struct instruction {
    clp_instruction *run;
    enum argument_kind argument;
    unsigned detail;
    const char *refusal; /* why the instruction is refused: no profile needs it */
};

/* ---- instructions ---- */

static clp_status run_frame(struct clp_unpickler *machine, const struct clp_argument *argument,
                            unsigned detail)
{
    (void)detail;
    if (argument->number > machine->count - machine->at)
        return refuse(machine, CLP_TRUNCATED, "a frame longer than the file");
    return CLP_OK;
}

static clp_status run_protocol(struct clp_unpickler *machine, const struct clp_argument *argument,
                               unsigned detail)
{
    (void)detail;
    if (argument->number > HIGHEST_PROTOCOL)
        return refuse(machine, CLP_UNSUPPORTED, "a pickle of a newer protocol than 5");
    if (machine->start != 0)
        return corrupt(machine, "a second beginning");
    return CLP_OK;
}

static const char no_bytes[] = "the pickle holds bytes, which no profile needs";
static const char no_set[] = "the pickle holds a set, which no profile needs";
static const char no_object[] = "the pickle holds an object of a kind that no profile needs";
static const char no_outside[] = "the pickle refers to something outside it";

static const struct instruction instructions[256] = {
    ['('] = {clp_unpickle_mark, ARGUMENT_NONE, 0, NULL},
    ['N'] = {clp_unpickle_plain, ARGUMENT_NONE, CLP_PICKLED_NONE, NULL},
    [0x88] = {clp_unpickle_plain, ARGUMENT_NONE, CLP_PICKLED_FLAG, NULL},
    [0x89] = {clp_unpickle_plain, ARGUMENT_NONE, CLP_PICKLED_FLAG, NULL},
    ['I'] = {clp_unpickle_decimal, ARGUMENT_LINE, 'I', NULL},
    ['L'] = {clp_unpickle_decimal, ARGUMENT_LINE, 'L', NULL},
    ['K'] = {clp_unpickle_number, ARGUMENT_1, 0, NULL},
    ['M'] = {clp_unpickle_number, ARGUMENT_2, 0, NULL},
    ['J'] = {clp_unpickle_signed, ARGUMENT_4, 0, NULL},
    [0x8a] = {clp_unpickle_long, ARGUMENT_TEXT_1, 0, NULL},
    [0x8b] = {clp_unpickle_long, ARGUMENT_TEXT_4, 0, NULL},
    ['F'] = {clp_unpickle_real_text, ARGUMENT_LINE, 0, NULL},
    ['G'] = {clp_unpickle_real, ARGUMENT_8, 0, NULL},
    ['S'] = {clp_unpickle_text, ARGUMENT_LINE, CLP_FORM_QUOTED, NULL},
    ['T'] = {clp_unpickle_text, ARGUMENT_TEXT_4, CLP_FORM_UTF8, NULL},
    ['U'] = {clp_unpickle_text, ARGUMENT_TEXT_1, CLP_FORM_UTF8, NULL},
    ['V'] = {clp_unpickle_text, ARGUMENT_LINE, CLP_FORM_ESCAPED, NULL},
    ['X'] = {clp_unpickle_text, ARGUMENT_TEXT_4, CLP_FORM_UTF8, NULL},
    [0x8c] = {clp_unpickle_text, ARGUMENT_TEXT_1, CLP_FORM_UTF8, NULL},
    [0x8d] = {clp_unpickle_text, ARGUMENT_TEXT_8, CLP_FORM_UTF8, NULL},
    [')'] = {clp_unpickle_empty, ARGUMENT_NONE, CLP_PICKLED_TUPLE, NULL},
    [']'] = {clp_unpickle_empty, ARGUMENT_NONE, CLP_PICKLED_LIST, NULL},
    ['}'] = {clp_unpickle_empty, ARGUMENT_NONE, CLP_PICKLED_DICT, NULL},
    [0x85] = {clp_unpickle_tuple, ARGUMENT_NONE, 1, NULL},
    [0x86] = {clp_unpickle_tuple, ARGUMENT_NONE, 2, NULL},
    [0x87] = {clp_unpickle_tuple, ARGUMENT_NONE, 3, NULL},
    ['t'] = {clp_unpickle_gather, ARGUMENT_NONE, CLP_PICKLED_TUPLE, NULL},
    ['l'] = {clp_unpickle_gather, ARGUMENT_NONE, CLP_PICKLED_LIST, NULL},
    ['d'] = {clp_unpickle_gather, ARGUMENT_NONE, CLP_PICKLED_DICT, NULL},
    ['a'] = {clp_unpickle_add, ARGUMENT_NONE, CLP_PICKLED_LIST, NULL},
    ['s'] = {clp_unpickle_add, ARGUMENT_NONE, CLP_PICKLED_DICT, NULL},
    ['e'] = {clp_unpickle_extend, ARGUMENT_NONE, CLP_PICKLED_LIST, NULL},
    ['u'] = {clp_unpickle_extend, ARGUMENT_NONE, CLP_PICKLED_DICT, NULL},
    ['p'] = {clp_unpickle_memo_text, ARGUMENT_LINE, 'p', NULL},
    ['q'] = {clp_unpickle_put, ARGUMENT_1, 0, NULL},
    ['r'] = {clp_unpickle_put, ARGUMENT_4, 0, NULL},
    [0x94] = {clp_unpickle_memoize, ARGUMENT_NONE, 0, NULL},
    ['g'] = {clp_unpickle_memo_text, ARGUMENT_LINE, 'g', NULL},
    ['h'] = {clp_unpickle_get, ARGUMENT_1, 0, NULL},
    ['j'] = {clp_unpickle_get, ARGUMENT_4, 0, NULL},
    ['c'] = {clp_unpickle_name, ARGUMENT_LINES, 0, NULL},
    [0x93] = {clp_unpickle_stack_name, ARGUMENT_NONE, 0, NULL},
    ['R'] = {clp_unpickle_new, ARGUMENT_NONE, 'R', NULL},
    [0x81] = {clp_unpickle_new, ARGUMENT_NONE, 0, NULL},
    ['b'] = {clp_unpickle_build, ARGUMENT_NONE, 0, NULL},
    [0x80] = {run_protocol, ARGUMENT_1, 0, NULL},
    [0x95] = {run_frame, ARGUMENT_8, 0, NULL},
    /* Python's other instructions. */
    ['B'] = {.refusal = no_bytes},
    ['C'] = {.refusal = no_bytes},
    [0x8e] = {.refusal = no_bytes},
    [0x96] = {.refusal = no_bytes},
    [0x8f] = {.refusal = no_set},
    [0x90] = {.refusal = no_set},
    [0x91] = {.refusal = no_set},
    ['i'] = {.refusal = no_object},
    ['o'] = {.refusal = no_object},
    [0x92] = {.refusal = no_object},
    ['P'] = {.refusal = no_outside},
    ['Q'] = {.refusal = no_outside},
    [0x82] = {.refusal = no_outside},
    [0x83] = {.refusal = no_outside},
    [0x84] = {.refusal = no_outside},
    [0x97] = {.refusal = no_outside},
    [0x98] = {.refusal = no_outside},
};

static clp_status cut_off(struct clp_unpickler *machine)
{
    return refuse(machine, CLP_TRUNCATED, "the file ends within a value");
}

static clp_status read_number(struct clp_unpickler *machine, size_t bytes, uint64_t *number)
{
    if (machine->count - machine->at < bytes)
        return cut_off(machine);
    *number = 0;
    for (size_t i = bytes; i > 0; i--)
        *number = *number << 8 | machine->bytes[machine->at + i - 1];
    machine->at += bytes;
    return CLP_OK;
}

static clp_status read_text(struct clp_unpickler *machine, size_t length_bytes,
                            struct clp_argument *argument)
{
    uint64_t bytes = 0;

    if (read_number(machine, length_bytes, &bytes) != CLP_OK)
        return machine->fault->status;
    if (bytes > machine->count - machine->at)
        return refuse(machine, CLP_TRUNCATED, "a text longer than the file");
    argument->at = machine->at;
    argument->bytes = (size_t)bytes;
    machine->at += (size_t)bytes;
    return CLP_OK;
}

static clp_status read_line(struct clp_unpickler *machine, size_t *at, size_t *bytes)
{
    const unsigned char *start = machine->bytes + machine->at;
    const unsigned char *end = machine->at == machine->count
                                   ? NULL
                                   : memchr(start, '\n', machine->count - machine->at);

    if (end == NULL)
        return cut_off(machine);
    *at = machine->at;
    *bytes = (size_t)(end - start);
    machine->at += *bytes + 1;
    return CLP_OK;
}

static clp_status read_argument(struct clp_unpickler *machine, enum argument_kind kind,
                                struct clp_argument *argument)
{
    switch (kind) {
    case ARGUMENT_NONE:
        return CLP_OK;
    case ARGUMENT_1:
        return read_number(machine, 1, &argument->number);
    case ARGUMENT_2:
        return read_number(machine, 2, &argument->number);
    case ARGUMENT_4:
        return read_number(machine, 4, &argument->number);
    case ARGUMENT_8:
        argument->at = machine->at;
        return read_number(machine, 8, &argument->number);
    case ARGUMENT_TEXT_1:
        return read_text(machine, 1, argument);
    case ARGUMENT_TEXT_4:
        return read_text(machine, 4, argument);
    case ARGUMENT_TEXT_8:
        return read_text(machine, 8, argument);
    case ARGUMENT_LINES:
        if (read_line(machine, &argument->at, &argument->bytes) != CLP_OK)
            return machine->fault->status;
        return read_line(machine, &argument->next_at, &argument->next_bytes);
    case ARGUMENT_LINE:
        break;
    }
    return read_line(machine, &argument->at, &argument->bytes);
}

static clp_status run_one(struct clp_unpickler *machine, const struct instruction *instruction)
{
    struct clp_argument argument = {0};

    if (instruction->refusal != NULL)
        return refuse(machine, CLP_NOT_A_PROFILE, instruction->refusal);
    if (instruction->run == NULL)
        return corrupt(machine, "a byte that is no instruction of a pickle");
    if (read_argument(machine, instruction->argument, &argument) != CLP_OK)
        return machine->fault->status;
    return instruction->run(machine, &argument, instruction->detail);
}

static clp_status finish(struct clp_unpickler *machine)
{
    if (machine->mark_count != 0 || machine->stack_count != 1)
        return corrupt(machine, "an end with too much or too little on the stack");
    if (machine->at != machine->count) {
        machine->start = machine->at;
        return corrupt(machine, "more bytes behind the end");
    }
    machine->values->root = machine->stack[0];
    return CLP_OK;
}

static clp_status run(struct clp_unpickler *machine)
{
    for (;;) {
        machine->start = machine->at;
        if (machine->at == machine->count)
            return refuse(machine, CLP_TRUNCATED, "the file ends where more should follow");
        unsigned char byte = machine->bytes[machine->at++];
        if (byte == '.')
            return finish(machine);
        if (run_one(machine, &instructions[byte]) != CLP_OK)
            return machine->fault->status;
    }
}

clp_status clp_unpickle(struct clp_unpickled *values, struct clp_mem *mem, const char *bytes,
                        size_t count, struct clp_fault *fault)
{
    struct clp_unpickler machine = {.values = values, .fault = fault, .count = count,
                              .bytes = (const unsigned char *)bytes};
    clp_status status;

    *fault = (struct clp_fault){.status = CLP_OK};
    *values = (struct clp_unpickled){.mem = mem, .bytes = bytes, .item_count = 1};
    if (count == 0)
        status = refuse(&machine, CLP_EMPTY, NULL);
    else if (count >= UINT32_MAX)
        status = refuse(&machine, CLP_TOO_LARGE, NULL);
    else
        status = run(&machine);
    clp_mem_free(mem, machine.stack, machine.stack_room, sizeof *machine.stack);
    clp_mem_free(mem, machine.marks, machine.mark_room, sizeof *machine.marks);
    clp_mem_free(mem, machine.memo, machine.memo_room, sizeof *machine.memo);
    if (status != CLP_OK)
        clp_unpickled_clear(values);
    return status;
}
