/* SPDX-License-Identifier: MIT */
#include "attach.h"

bool clp_attach_read_shape(struct clp_recorder *recorder, PyCodeObject *code, struct clp_code_lines *lines)
{
    if (!clp_code_lines_init(lines, &recorder->mem, code, &recorder->bytecode))
        return false;
    if (lines->line_count > CLP_FUNCTION_MOST_LINES) {
        clp_code_lines_clear(lines, &recorder->mem);
        *lines = (struct clp_code_lines){.lowest_line = code->co_firstlineno, .line_count = 1,
                                         .damage = "its lines are too far apart"};
    }
    return true;
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

    if (!clp_code_lines_init(&lines, &recorder->mem, code, &recorder->bytecode))
        return NULL;
    struct clp_selected *selected =
        clp_recorder_new_selected(recorder, (PyObject *)code, known->function, &lines);
    if (selected == NULL || !clp_attach_hang(selected, (PyObject *)code))
        return NULL;
    selected->text = known->text;
    return selected;
}
