/* SPDX-License-Identifier: MIT */
#include "decorators.h"

#if CLP_HAS_PROBES

static enum clp_decorator meaning_of(PyObject *name)
{
    static const char *const compilers[] = {"njit", "jit", "vectorize", "guvectorize", "cfunc",
                                            "stencil", "compile", "script", "ccall"};

    if (PyUnicode_CompareWithASCIIString(name, "profile") == 0)
        return CLP_DECORATOR_PROFILE;
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        if (PyUnicode_CompareWithASCIIString(name, compilers[i]) == 0)
            return CLP_DECORATOR_COMPILES;
    }
    return CLP_DECORATOR_NONE;
}

bool clp_decorators_compiler_loaded(void)
{
    static const char *const modules[] = {"numba", "torch", "cython", "taichi"};
    PyObject *loaded = PyImport_GetModuleDict(); /* borrowed */

    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (PyDict_GetItemString(loaded, modules[i]) != NULL)
            return true;
    }
    return false;
}

/* The index of the name that the instruction loads, or CLP_NOWHERE. */
static uint32_t name_loaded(const struct clp_bytecode *bytecode,
                            const struct clp_instruction *item)
{
    /* the lowest bit of some says what else is pushed */
    if (item->opcode == bytecode->load_global ||
        (item->opcode == bytecode->load_attr && bytecode->minor >= 12))
        return item->argument >> 1;
    if (item->opcode == bytecode->load_name || item->opcode == bytecode->load_attr)
        return item->argument;
    return CLP_NOWHERE;
}

static void add_use(struct clp_decorators *decorators, int32_t line, enum clp_decorator what)
{
    if (decorators->count == decorators->room &&
        clp_mem_grow(&decorators->recorder->mem, (void **)&decorators->uses, &decorators->room,
                     decorators->room * 2 + 16, sizeof *decorators->uses) != CLP_OK)
        return; /* one less is known: no harm */
    decorators->uses[decorators->count++] = (struct clp_decorator_use){line, what};
}

static void add_uses(struct clp_decorators *decorators, PyObject *names,
                     const struct clp_decoded *decoded)
{
    for (uint32_t i = 0; i < decoded->count; i++) {
        uint32_t at = name_loaded(decoded->bytecode, &decoded->items[i]);
        enum clp_decorator what = CLP_DECORATOR_NONE;
        if (at < (uint32_t)PyTuple_GET_SIZE(names))
            what = meaning_of(PyTuple_GET_ITEM(names, (Py_ssize_t)at));
        if (what != CLP_DECORATOR_NONE)
            add_use(decorators, decoded->items[i].line, what);
    }
}

/* Nothing happens where the code cannot be read. */
static void with_decoded(struct clp_recorder *recorder, PyCodeObject *code, clp_decoded_use *use,
                         void *data)
{
    const char *reason;

    if (recorder->knows_bytecode)
        (void)clp_shape_decode(code, &recorder->mem, &recorder->bytecode, use, data, &reason);
    PyErr_Clear();
}

static void read_definer(void *data, PyCodeObject *code, const struct clp_decoded *decoded)
{
    add_uses(data, code->co_names, decoded);
}

static bool has_such_names(PyObject *names)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        if (meaning_of(PyTuple_GET_ITEM(names, i)) != CLP_DECORATOR_NONE)
            return true;
    }
    return false;
}

void clp_decorators_init(struct clp_decorators *decorators, struct clp_recorder *recorder,
                         PyCodeObject *definer)
{
    *decorators = (struct clp_decorators){.recorder = recorder, .definer = definer};
    if (has_such_names(definer->co_names))
        with_decoded(recorder, definer, read_definer, decorators);
}

void clp_decorators_clear(struct clp_decorators *decorators)
{
    clp_mem_free(&decorators->recorder->mem, decorators->uses, decorators->room,
                 sizeof *decorators->uses);
    decorators->uses = NULL;
    decorators->count = decorators->room = 0;
}

/* The line of the first statement: decorators stand above it, and so does the def. */
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

struct def {
    PyCodeObject *code; /* borrowed */
    int32_t line;
};

/* The line of the `def`, where the definer loads the code. */
static void find_def(void *data, PyCodeObject *definer, const struct clp_decoded *decoded)
{
    struct def *def = data;

    for (uint32_t i = 0; i < decoded->count; i++) {
        const struct clp_instruction *item = &decoded->items[i];
        if (item->opcode == decoded->bytecode->load_const &&
            item->argument < (uint32_t)PyTuple_GET_SIZE(definer->co_consts) &&
            PyTuple_GET_ITEM(definer->co_consts, (Py_ssize_t)item->argument) ==
                (PyObject *)def->code)
            def->line = item->line;
    }
}

/* Is there such a use from the code's first line up to, and without, this one? */
static bool stands_before(const struct clp_decorators *decorators, const PyCodeObject *code,
                          int32_t end, enum clp_decorator what)
{
    for (size_t i = 0; i < decorators->count; i++) {
        const struct clp_decorator_use *use = &decorators->uses[i];
        if (use->what == what && use->line >= code->co_firstlineno && use->line < end)
            return true;
    }
    return false;
}

bool clp_decorators_have(const struct clp_decorators *decorators, PyCodeObject *code,
                         enum clp_decorator what)
{
    int32_t body = code->co_firstlineno;

    if (decorators->count == 0)
        return false;
    with_decoded(decorators->recorder, code, find_body, &body);
    if (!stands_before(decorators, code, body, what))
        return false;
    if (what != CLP_DECORATOR_COMPILES)
        return true;
    struct def def = {code, body};
    with_decoded(decorators->recorder, decorators->definer, find_def, &def);
    return stands_before(decorators, code, def.line, what); /* re.compile() may be a default */
}

#endif
