/* SPDX-License-Identifier: MIT */
#include "decorators.h"
#include "cpython/code/code_lines.h"

#if CLP_HAS_PROBES

static bool is_profile(PyObject *name)
{
    return PyUnicode_CompareWithASCIIString(name, "profile") == 0;
}

/* The index of the name that the instruction loads, or CLP_NOWHERE. */
static uint32_t name_loaded(const struct clp_bytecode *bytecode,
                            const struct clp_instruction *item)
{
    /* in some instructions the lowest bit says what else is pushed */
    if (item->opcode == bytecode->load_global ||
        (item->opcode == bytecode->load_attr && bytecode->minor >= 12))
        return item->argument >> 1;
    if (item->opcode == bytecode->load_name || item->opcode == bytecode->load_attr)
        return item->argument;
    return CLP_NOWHERE;
}

static void add_line(struct clp_decorators *decorators, int32_t line)
{
    if (decorators->count == decorators->room &&
        clp_mem_grow(&decorators->recorder->mem, (void **)&decorators->lines, &decorators->room,
                     decorators->room * 2 + 16, sizeof *decorators->lines) != CLP_OK)
        return; /* without memory one line is missing, which does no harm */
    decorators->lines[decorators->count++] = line;
}

/* Notes the lines on which the definer loads the name. */
static void read_definer(void *data, PyCodeObject *code, const struct clp_decoded *decoded)
{
    for (uint32_t i = 0; i < decoded->count; i++) {
        uint32_t at = name_loaded(decoded->bytecode, &decoded->items[i]);
        if (at < (uint32_t)PyTuple_GET_SIZE(code->co_names) &&
            is_profile(PyTuple_GET_ITEM(code->co_names, (Py_ssize_t)at)))
            add_line(data, decoded->items[i].line);
    }
}

/* Calls `use` with the decoded code. Does nothing where the code cannot be read. */
static void with_decoded(struct clp_recorder *recorder, PyCodeObject *code, clp_decoded_use *use,
                         void *data)
{
    const char *reason;

    if (recorder->bytecode.known)
        (void)clp_code_lines_decode(code, &recorder->mem, &recorder->bytecode, use, data, &reason);
    PyErr_Clear();
}

static bool is_among(PyObject *names)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        if (is_profile(PyTuple_GET_ITEM(names, i)))
            return true;
    }
    return false;
}

void clp_decorators_init(struct clp_decorators *decorators, struct clp_recorder *recorder,
                         PyCodeObject *definer)
{
    *decorators = (struct clp_decorators){.recorder = recorder};
    if (is_among(definer->co_names))
        with_decoded(recorder, definer, read_definer, decorators);
}

void clp_decorators_clear(struct clp_decorators *decorators)
{
    clp_mem_free(&decorators->recorder->mem, decorators->lines, decorators->room,
                 sizeof *decorators->lines);
    decorators->lines = NULL;
    decorators->count = decorators->room = 0;
}

/* Finds the line of the first statement of a function. Its decorators and its def stand above that line. */
static void find_body(void *data, PyCodeObject *code, const struct clp_decoded *decoded)
{
    int32_t *line = data;

    for (uint32_t i = decoded->entry + 1; i < decoded->count; i++) {
        *line = decoded->items[i].line;
        if (*line > code->co_firstlineno)
            return;
    }
    *line = code->co_firstlineno;
}

bool clp_decorators_have_profile(const struct clp_decorators *decorators, PyCodeObject *code)
{
    int32_t body = code->co_firstlineno;

    if (decorators->count == 0)
        return false;
    with_decoded(decorators->recorder, code, find_body, &body);
    for (size_t i = 0; i < decorators->count; i++) {
        if (decorators->lines[i] >= code->co_firstlineno && decorators->lines[i] < body)
            return true;
    }
    return false;
}

#endif
