/* SPDX-License-Identifier: MIT */
#include "attach.h"

const char *clp_attach_damage(struct clp_recorder *recorder, PyCodeObject *code)
{
    const char *reason = NULL;
#if CLP_HAS_PROBES
    if (!recorder->knows_bytecode ||
        clp_code_lines_decode(code, &recorder->mem, &recorder->bytecode, NULL, NULL, &reason) !=
            CLP_CORRUPT)
        reason = NULL;
    PyErr_Clear();
#else
    (void)recorder, (void)code;
#endif
    return reason;
}

bool clp_attach_read_shape(struct clp_recorder *recorder, PyCodeObject *code, struct clp_code_lines *lines,
                           const char **damage)
{
    *damage = clp_attach_damage(recorder, code);
    if (*damage == NULL) {
        if (!clp_code_lines_init(lines, &recorder->mem, code, &recorder->opcodes))
            return false;
        if (lines->line_count <= CLP_FUNCTION_MOST_LINES)
            return true;
        *damage = "its lines are too far apart";
        clp_code_lines_clear(lines, &recorder->mem);
    }
    *lines = (struct clp_code_lines){.lowest_line = code->co_firstlineno, .line_count = 1};
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

    if (!clp_code_lines_init(&lines, &recorder->mem, code, &recorder->opcodes))
        return NULL;
    struct clp_selected *selected =
        clp_recorder_new_selected(recorder, (PyObject *)code, known->function, &lines);
    if (selected == NULL || !clp_attach_hang(selected, (PyObject *)code))
        return NULL;
    selected->text = known->text;
    return selected;
}
