/* SPDX-License-Identifier: MIT */
#include "attach.h"
#include "cpython/code/statements.h"

bool clp_attach_read_shape(struct clp_recorder *recorder, PyCodeObject *code, uint32_t text,
                           struct clp_code_lines *lines)
{
    if (!clp_code_lines_init(lines, &recorder->mem, code, &recorder->bytecode))
        return false;
    if (clp_code_lines_span(lines) > CLP_FUNCTION_MOST_LINES) {
        clp_code_lines_clear(lines, &recorder->mem);
        clp_code_lines_set_one(lines, code->co_firstlineno);
        lines->damage = "its lines are too far apart";
    }
    bool done = clp_code_lines_fold(lines, &recorder->mem, clp_statements_of(recorder->statements, text), code);
    if (!done)
        clp_code_lines_clear(lines, &recorder->mem);
    return done;
}

bool clp_attach_hang(struct clp_selected *selected, PyObject *code)
{
    selected->code = code;
    selected->identity = (uintptr_t)code;
    if (clp_recorder_list_code(selected) &&
        clp_compat_set_code_data(code, selected->recorder->code_slot, selected) == 0)
        return true;
    clp_recorder_code_gone(selected);
    return false;
}

struct clp_selected *clp_attach_more(struct clp_recorder *recorder, PyCodeObject *code,
                                     const struct clp_selected *known)
{
    struct clp_code_lines lines;

    if (!clp_attach_read_shape(recorder, code, known->text, &lines))
        return NULL;
    struct clp_selected *selected =
        clp_recorder_new_selected(recorder, (PyObject *)code, known->function, &lines);
    if (selected == NULL || !clp_attach_hang(selected, (PyObject *)code))
        return NULL;
    selected->text = known->text;
    return selected;
}
