/* SPDX-License-Identifier: MIT */
/* What the tracers know of a code object, against what the interpreter says of the same code. */
#include "embedded.h"
#include "cpython/compat/opcodes.h"
#include "cpython/recorder/recorder.h"
#include "cpython/windows/selecting.h"
#include "cpython/code/code_lines.h"
#include "cpython/windows/starting.h"
#include "cpython/tracers/tracers.h"
#include "cpython/windows/code_window.h"
#include <criterion/criterion.h>
#include <limits.h>

static struct clp_mem mem;
static struct clp_bytecode bytecode;

static void start_python(void)
{
    test_start_interpreter();
    mem = clp_mem_system();
    cr_assert(clp_opcodes_read(&bytecode));
    cr_assert_eq(bytecode.known, CLP_HAS_PROBES);
    cr_assert_null(PyDict_GetItemString(PyImport_GetModuleDict(), "opcode"));
}

TestSuite(python_shape, .init = start_python);

/* The code of the function f that this source defines. Owned. */
static PyCodeObject *code_of(const char *source)
{
    PyObject *names = PyDict_New();
    PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins());
    PyObject *result = PyRun_String(source, Py_file_input, names, names);
    if (result == NULL)
        PyErr_Print();
    cr_assert_not_null(result);
    PyObject *code = PyFunction_GetCode(PyDict_GetItemString(names, "f"));
    Py_INCREF(code);
    Py_DECREF(result);
    Py_DECREF(names);
    return (PyCodeObject *)code;
}

static struct clp_code_lines shape_of(PyCodeObject *code)
{
    struct clp_code_lines shape;

    cr_assert(clp_code_lines_init(&shape, &mem, code, &bytecode));
    return shape;
}

Test(python_shape, span_covers_every_line)
{
    PyCodeObject *code = code_of("def f(x):\n"
                                 "    # nothing here\n"
                                 "    if x:\n"
                                 "        return 1\n"
                                 "\n"
                                 "    return [\n"
                                 "        2,\n"
                                 "        x]\n");
    struct clp_code_lines shape = shape_of(code);

    cr_assert_eq(shape.lowest_line, CLP_HAS_PROBES ? 1 : 3); /* RESUME is on line 1 */
    cr_assert_eq(shape.line_count, CLP_HAS_PROBES ? 6 : 5);
    cr_assert_eq(shape.lines[shape.line_count - 1], 8);
    cr_expect_eq(clp_code_lines_find(&shape, 7), shape.line_count - 2);
    cr_expect_eq(clp_code_lines_span(&shape), (uint32_t)(8 - shape.lowest_line + 1));
    cr_assert_null(shape.starts, "LINE events serve a short function");
    cr_assert_eq(shape.first_yield, INT_MAX);
    clp_code_lines_clear(&shape, &mem);
    cr_assert_eq(mem.bytes, 0);
    Py_DECREF(code);
}

#if CLP_CODE_ADAPTS

/* A loop's line is entered at the call, which would be adapted, and goes on at the loop's step. */
Test(python_shape, a_line_that_loads_a_global_is_slower_without_adaptation)
{
    PyCodeObject *code = code_of("def f(x):\n"
                                 "    for i in range(x):\n"
                                 "        print(i)\n"
                                 "    return x\n");
    struct clp_code_lines shape = shape_of(code);
    const uint8_t *of = shape.instructions;

    cr_expect_not(of[clp_code_lines_find(&shape, 2)] & CLP_FUNCTION_ADAPTS);
    cr_expect(of[clp_code_lines_find(&shape, 3)] & CLP_FUNCTION_ADAPTS);
    cr_expect_not(of[clp_code_lines_find(&shape, 4)] & CLP_FUNCTION_ADAPTS);
    clp_code_lines_clear(&shape, &mem);
    Py_DECREF(code);
}

#endif

#if CLP_LINES_MERGE

static bool merges_at(const struct clp_code_lines *shape, int32_t line)
{
    return (shape->instructions[clp_code_lines_find(shape, line)] & CLP_FUNCTION_MERGES) != 0;
}

Test(python_shape, ways_through_a_line_meet_again_or_do_not)
{
    PyCodeObject *code = code_of("def f(x, y, z):\n"
                                 "    a = x and y\n"
                                 "    a = x if y else z\n"
                                 "    a = x < y < z\n"
                                 "    a = x + y\n"
                                 "    if (x and y) or z:\n"
                                 "        a = 0\n"
                                 "    while x: x -= 1\n"
                                 "    return y if x else z\n");
    struct clp_code_lines shape = shape_of(code);

    cr_expect(merges_at(&shape, 2));
    cr_expect(merges_at(&shape, 3));
    cr_expect(merges_at(&shape, 4));
    cr_expect_not(merges_at(&shape, 5), "there is one way");
    cr_expect_not(merges_at(&shape, 6), "the body may begin before z is looked at");
    cr_expect_not(merges_at(&shape, 8), "the loop's end is another line");
    cr_expect_not(merges_at(&shape, 9), "each way returns");
    clp_code_lines_clear(&shape, &mem);
    Py_DECREF(code);
}

#endif

static bool yields_at(const struct clp_code_lines *shape, int offset)
{
    return clp_code_lines_marked(shape, offset, CLP_UNIT_YIELDS);
}

Test(python_shape, generator_tells_where_it_yields)
{
    PyCodeObject *code = code_of("def f(x):\n"
                                 "    a = yield x\n"
                                 "    yield from a\n");
    struct clp_code_lines shape = shape_of(code);

    if (CLP_HAS_PROBES) {
        int yields = 0;
        for (size_t unit = 0; unit < shape.unit_count; unit++)
            yields += yields_at(&shape, (int)unit * 2);
        cr_assert_eq(yields, 4, "two, and the RESUME behind each");
        cr_assert(yields_at(&shape, shape.first_yield));
        cr_assert_not(yields_at(&shape, -2));
        cr_assert_not(yields_at(&shape, INT_MAX));
    } else {
        cr_assert_eq(shape.first_yield, INT_MAX);
    }
    clp_code_lines_clear(&shape, &mem);
    cr_assert_eq(mem.bytes, 0);
    Py_DECREF(code);
}

/* 300 lines below its def, a function's lines no longer fit into what LINE keeps. */
static PyCodeObject *far_code(void)
{
    char source[2048] = "def f(x):\n    a = 0\n";

    for (int i = 0; i < 300; i++)
        strcat(source, "\n");
    strcat(source, "    for i in x:\n"
                   "        a += i\n"
                   "    return a\n");
    return code_of(source);
}

Test(python_shape, far_lines_have_their_starts_known)
{
    PyCodeObject *code = far_code();
    struct clp_code_lines shape = shape_of(code);
    int seen[4] = {0};

    if (CLP_LINE_EVENTS_SCAN && CLP_HAS_PROBES) {
        cr_assert_not_null(shape.starts);
        for (size_t unit = 0; unit < shape.unit_count; unit++) {
            int32_t line = shape.starts[unit];
            cr_assert(line == 0 || line == CLP_NO_LINE || line <= 2 ||
                      (line >= 303 && line <= 305));
            if (line == 2 || line >= 303)
                seen[line == 2 ? 0 : line - 302]++;
        }
        for (int i = 0; i < 4; i++)
            cr_assert_gt(seen[i], 0, "line %d begins nowhere", i == 0 ? 2 : 302 + i);
    } else {
        cr_assert_null(shape.starts);
    }
    clp_code_lines_clear(&shape, &mem);
    Py_DECREF(code);
}

static int count_loops(const char *source)
{
    PyCodeObject *code = code_of(source);
    struct clp_code_lines shape = shape_of(code);
    int loops = 0;

    for (size_t unit = 0; unit < shape.unit_count; unit++)
        loops += clp_code_lines_marked(&shape, (int)unit * 2, CLP_UNIT_LOOPS);
    clp_code_lines_clear(&shape, &mem);
    cr_assert_eq(mem.bytes, 0);
    Py_DECREF(code);
    return loops;
}

Test(python_shape, loops_within_a_line_are_known)
{
    int known = CLP_HAS_MONITORING; /* before, nobody needs them */

    cr_assert_eq(count_loops("def f(x):\n    for a in x: pass\n"), known);
    cr_assert_eq(count_loops("def f(x):\n    for a in x:\n        pass\n"), 0);
    cr_assert_eq(count_loops("def f(x):\n    return x and 1 or 2\n"), 0);
    /* comprehensions are part of the function since 3.12 */
    cr_assert_eq(count_loops("def f(x):\n    return [a for a in x]\n"),
                 CLP_HAS_MONITORING);
}

/* ---- a recorder around the interpreter ---- */

static uint64_t hits_of(const struct clp_recorder *recorder, int32_t line)
{
    uint64_t hits = 0;

    for (const struct clp_thread *thread = recorder->engine.threads; thread != NULL;
         thread = thread->next) {
        for (size_t i = 0; i < thread->block_room; i++) {
            const struct clp_block *block = thread->blocks[i];
            uint32_t cell = block != NULL ? clp_line_map_find(block->map, line) : CLP_NO_CELL;
            if (cell != CLP_NO_CELL)
                hits += block->cells[cell].hits;
        }
    }
    return hits;
}

static void count_far_code(const char *tracer)
{
    static struct clp_recorder recorder; /* outlives the interpreter, as code objects do not */
    static struct clp_code_window window;
    PyCodeObject *code = far_code();
    PyObject *name = PyUnicode_FromString("f"), *globals = PyDict_New();
    PyObject *numbers = Py_BuildValue("([iii])", 1, 2, 3);

    cr_assert(clp_recorder_learn(&recorder) && clp_recorder_init(&recorder));
    cr_assert(clp_tracer_start(&recorder, tracer));
    cr_assert_gt(recorder.engine.costs.line, 0, "calibration found no cost");
    cr_assert_eq(recorder.engine.functions.count, 0, "calibration left its functions behind");
    clp_code_window_init(&window, &recorder, false, false, 0, false, 0);
    cr_assert(clp_code_window_open(&window));
    PyObject *function = PyFunction_New((PyObject *)code, globals);
    cr_assert(clp_tracer_select(&window, function, name, false));
    cr_assert(clp_tracer_select(&window, function, name, false), "selecting again is no error");
    cr_assert_eq(recorder.engine.functions.count, 1);

    PyObject *result = PyObject_CallObject(function, numbers);
    cr_assert_eq(PyLong_AsLong(result), 6);
    cr_assert_eq(hits_of(&recorder, 2), 1);
    cr_assert_eq(hits_of(&recorder, 303), 4);
    cr_assert_eq(hits_of(&recorder, 304), 3);
    cr_assert_eq(hits_of(&recorder, 305), 1);
    cr_assert_eq(clp_thread_here->top, clp_thread_here->stack, "the stack is not balanced");
    cr_assert(clp_code_window_close(&window));
    cr_assert_not(recorder.displaced);
    Py_DECREF(result);
    result = PyObject_CallObject(function, numbers);
    cr_assert_eq(hits_of(&recorder, 2), 1, "counted after the end");
    Py_DECREF(result);
    Py_DECREF(function);
    Py_DECREF(numbers);
    Py_DECREF(globals);
    Py_DECREF(name);
    Py_DECREF(code);
}

Test(python_shape, settrace_counts)
{
    count_far_code("settrace");
}

#if CLP_HAS_MONITORING
Test(python_shape, monitoring_counts)
{
    count_far_code("monitoring");
}
#endif

Test(python_shape, preferred_tracer_counts)
{
    count_far_code(NULL);
}

Test(python_shape, unknown_tracer_is_refused)
{
    struct clp_recorder recorder;

    cr_assert(clp_recorder_learn(&recorder) && clp_recorder_init(&recorder));
    cr_assert_not(clp_tracer_start(&recorder, "crystal ball"));
    cr_assert(PyErr_ExceptionMatches(PyExc_ValueError));
}

Test(python_shape, hidden_frames_come_back)
{
    PyThreadState *state = PyThreadState_Get();
    const void *before = clp_compat_running_frame(state);
    struct clp_hidden_frames hidden = clp_compat_hide_frames(state);

    PyObject *depth = PyRun_String("__import__('sys')._getframe(0).f_back is None", Py_eval_input,
                                   PyEval_GetBuiltins(), PyEval_GetBuiltins());
    cr_assert_eq(depth, Py_True);
    clp_compat_show_frames(state, hidden);
    cr_assert_eq(clp_compat_running_frame(state), before);
}
