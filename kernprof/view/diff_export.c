/* SPDX-License-Identifier: MIT */
#include "diff_export.h"
#include "cpython/compat/compat.h"
#include "cli/first_path.h"
#include "bridge/console.h"
#include "bridge/values.h"
#include <math.h>
#include <string.h>

/* ---- values ---- */

static PyObject *none(void)
{
    Py_RETURN_NONE;
}

static PyObject *text_of(const char *text, size_t bytes)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)bytes, "backslashreplace");
}

/* An amount as a Python number: a time as a float in seconds; bytes and hits as an int if they are whole (an average
 * may not be). */
static PyObject *amount_of(enum clp_measure_kind kind, double value)
{
    if (kind == CLP_MEASURE_NANOS)
        return PyFloat_FromDouble(value * 1e-9);
    return value == floor(value) ? PyLong_FromDouble(value) : PyFloat_FromDouble(value);
}

static PyObject *range_of(enum clp_measure_kind kind, struct clp_side_range range)
{
    return Py_BuildValue("[NN]", amount_of(kind, range.low), amount_of(kind, range.high));
}

static bool is_one(struct clp_side_range range)
{
    return range.low == range.high;
}

/* What the test says of a change: its chance, and how exactly it is known. Nothing without a confidence. */
static bool add_test(PyObject *dict, const struct clp_comparison *comparison, enum clp_measure measure,
                     const struct clp_change *change)
{
    return comparison->options.confidence == 0 ||
           (clp_dict_set(dict, "p_value", PyFloat_FromDouble(change->chance)) &&
            clp_dict_set(dict, "margin", amount_of(clp_measure_rows[measure].kind, change->margin)));
}

/* The change of one measure as a dict. A side of several files with different values has a range, too. */
static PyObject *change_of(const struct clp_comparison *comparison, enum clp_measure measure,
                           const struct clp_change *change)
{
    enum clp_measure_kind kind = clp_measure_rows[measure].kind;
    PyObject *dict = Py_BuildValue(
        "{s:N,s:N,s:N,s:N,s:N}", "before", amount_of(kind, change->before.mean), "after",
        amount_of(kind, change->after.mean), "change", amount_of(kind, change->change), "percent",
        isfinite(change->percent) ? PyFloat_FromDouble(change->percent) : none(), "changed",
        PyBool_FromLong(change->changed));

    if (dict != NULL && !is_one(change->before) &&
        !clp_dict_set(dict, "before_range", range_of(kind, change->before)))
        Py_CLEAR(dict);
    if (dict != NULL && !is_one(change->after) &&
        !clp_dict_set(dict, "after_range", range_of(kind, change->after)))
        Py_CLEAR(dict);
    if (dict != NULL && !add_test(dict, comparison, measure, change))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *verdicts_of(unsigned verdicts)
{
    PyObject *list = PyList_New(0);

    for (unsigned i = 0; list != NULL && i < CLP_VERDICTS; i++)
        if (clp_verdict_is(verdicts, (enum clp_verdict)i) &&
            !clp_list_append(list, PyUnicode_FromString(clp_verdict_text((enum clp_verdict)i))))
            Py_CLEAR(list);
    return list;
}

static PyObject *counts_of(const size_t counts[CLP_VERDICTS])
{
    PyObject *dict = PyDict_New();

    for (unsigned i = 0; dict != NULL && i < CLP_VERDICTS; i++)
        if (!clp_dict_set(dict,
                          clp_verdict_text((enum clp_verdict)i), PyLong_FromSize_t(counts[i])))
            Py_CLEAR(dict);
    return dict;
}

/* ---- lines and functions ---- */

/* The changes of hits and of the measures that are compared and that both sides have, as a dict. */
static PyObject *changes_of(const struct clp_comparison *comparison,
                            const struct clp_side_samples *samples)
{
    PyObject *dict = PyDict_New();
    struct clp_change hits = clp_comparison_change(comparison, samples, CLP_MEASURE_hits);
    bool good = dict != NULL && clp_dict_set(dict, "hits", change_of(comparison, CLP_MEASURE_hits, &hits));

    for (size_t i = 0; good && i < comparison->options.measures.count; i++) {
        enum clp_measure measure = comparison->options.measures.items[i];
        if (!comparison->known[CLP_OLD][measure] || !comparison->known[CLP_NEW][measure])
            continue;
        struct clp_change change = clp_comparison_change(comparison, samples, measure);
        good = clp_dict_set(dict, clp_measure_rows[measure].name, change_of(comparison, measure, &change));
    }
    if (!good)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *line_of(const struct clp_compared_row *row, int side)
{
    return row->has[side] ? PyLong_FromLongLong(row->line[side]) : none();
}

static PyObject *row_text(const struct clp_compared_row *row, int side)
{
    return row->has[side] ? text_of(row->text[side].text != NULL ? row->text[side].text : "",
                                    row->text[side].bytes)
                          : none();
}

static bool is_for(const struct clp_diff *diff, const char *format)
{
    return strcmp(diff->request->format, format) == 0;
}

/* Does the object have what did not change? --all has no effect on --format github. */
static bool shows_all(const struct clp_diff *diff)
{
    return diff->request->all && !is_for(diff, "github");
}

static bool ran(const struct clp_diff *diff, const struct clp_compared_row *row, int side)
{
    return clp_comparison_ran(&diff->comparison, &row->samples, side);
}

/* The page has the mark of each line, too, and on which sides it ran. A new dict. */
static PyObject *row_of(const struct clp_diff *diff, const struct clp_compared_function *function,
                        const struct clp_compared_row *row)
{
    char mark = clp_comparison_mark(function, row);
    PyObject *dict = Py_BuildValue(
        "{s:[NN],s:[NN],s:N,s:N,s:N}", "line", line_of(row, CLP_OLD), line_of(row, CLP_NEW),
        "text", row_text(row, CLP_OLD), row_text(row, CLP_NEW), "edited",
        PyBool_FromLong(row->edited), "verdicts",
        verdicts_of(row->verdicts), "measures",
        changes_of(&diff->comparison, &row->samples));

    if (dict != NULL && is_for(diff, "html") &&
        (!clp_dict_set(dict, "mark", text_of(&mark, 1)) ||
         !clp_dict_set(dict, "ran", Py_BuildValue("[NN]", PyBool_FromLong(ran(diff, row, CLP_OLD)),
                                                  PyBool_FromLong(ran(diff, row, CLP_NEW))))))
        Py_CLEAR(dict);
    return dict;
}

/* Is the line in the object? It is if it ran and has a verdict; with --all if it ran; in the page always. */
static bool has_row(const struct clp_diff *diff, const struct clp_compared_row *row)
{
    if (is_for(diff, "html"))
        return true;
    return (ran(diff, row, CLP_OLD) || ran(diff, row, CLP_NEW)) && (shows_all(diff) || row->verdicts != 0);
}

static PyObject *rows_of(const struct clp_diff *diff, const struct clp_compared_function *function)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < function->row_count; i++)
        if (has_row(diff, &function->rows[i]) && !clp_list_append(list, row_of(diff, function, &function->rows[i])))
            Py_CLEAR(list);
    return list;
}

static PyObject *file_of(const struct clp_profile_function *function)
{
    return function != NULL ? text_of(function->file, strlen(function->file)) : none();
}

/* The number of the caller in the page; -1 for code that is not selected. */
static Py_ssize_t number_of(const struct clp_comparison *comparison, const struct clp_compared_function *function)
{
    return function != NULL ? function - comparison->functions : -1;
}

static PyObject *call_of(const struct clp_diff *diff, const struct clp_compared_call *call)
{
    const struct clp_comparison *comparison = &diff->comparison;
    const struct clp_compared_function *caller = call->caller;
    const struct clp_compared_row *row = call->row;
    struct clp_change calls = clp_comparison_change(comparison, &call->samples, CLP_MEASURE_hits);
    struct clp_change time = clp_comparison_change(comparison, &call->samples, CLP_MEASURE_time);
    const struct clp_profile_function *before = caller != NULL ? caller->sides[CLP_OLD] : NULL;
    const struct clp_profile_function *after = caller != NULL ? caller->sides[CLP_NEW] : NULL;
    const struct clp_profile_function *one = after != NULL ? after : before;

    PyObject *dict = Py_BuildValue(
        "{s:N,s:[NN],s:[NN],s:N,s:N}", "name", one != NULL ? text_of(one->name, strlen(one->name)) : none(), "file",
        file_of(before), file_of(after), "line", row != NULL ? line_of(row, CLP_OLD) : none(),
        row != NULL ? line_of(row, CLP_NEW) : none(), "calls", change_of(comparison, CLP_MEASURE_hits, &calls), "time",
        change_of(comparison, CLP_MEASURE_time, &time));
    if (dict != NULL && is_for(diff, "html") &&
        !clp_dict_set(dict, "number", PyLong_FromSsize_t(number_of(comparison, caller))))
        Py_CLEAR(dict);
    return dict;
}

/* The callers that explain the function's change; with --all, and in the page, every caller. A new list. */
static PyObject *callers_of(const struct clp_diff *diff, const struct clp_compared_function *function)
{
    bool all = shows_all(diff) || is_for(diff, "html");
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < function->call_count; i++)
        if ((all || function->calls[i].explains) && !clp_list_append(list, call_of(diff, &function->calls[i])))
            Py_CLEAR(list);
    return list;
}

static PyObject *first_line_of(const struct clp_profile_function *function)
{
    return function != NULL ? PyLong_FromLong(function->first_line) : none();
}

static PyObject *function_of(const struct clp_diff *diff,
                             const struct clp_compared_function *function)
{
    const struct clp_comparison *comparison = &diff->comparison;
    const struct clp_profile_function *before = function->sides[CLP_OLD];
    const struct clp_profile_function *after = function->sides[CLP_NEW];
    const struct clp_profile_function *one = after != NULL ? after : before;
    struct clp_change total =
        clp_comparison_change(comparison, &function->samples, CLP_MEASURE_total);

    PyObject *dict = Py_BuildValue(
        "{s:N,s:[NN],s:[NN],s:N,s:N,s:N,s:N,s:N}", "name", text_of(one->name, strlen(one->name)), "file",
        file_of(before), file_of(after), "line", first_line_of(before), first_line_of(after), "verdicts",
        verdicts_of(function->verdicts), "total", change_of(comparison, CLP_MEASURE_total, &total), "measures",
        changes_of(comparison, &function->samples), "lines", rows_of(diff, function), "callers",
        callers_of(diff, function));

    if (dict != NULL && is_for(diff, "html") &&
        !clp_dict_set(dict, "number", PyLong_FromSsize_t(number_of(comparison, function))))
        Py_CLEAR(dict);
    return dict;
}

/* The functions that changed; with --all every function. --top is for github's summary alone. A new list. */
static PyObject *functions_of(const struct clp_diff *diff)
{
    const struct clp_comparison *comparison = &diff->comparison;
    struct clp_comparison_list list;

    if (clp_comparison_list_make(&list, comparison, shows_all(diff)) != CLP_OK)
        return PyErr_NoMemory();
    PyObject *functions = PyList_New(0);
    for (size_t i = 0; functions != NULL && i < list.count; i++) {
        if (diff->request->top != 0 && i == diff->request->top && !is_for(diff, "github"))
            break;
        if (!clp_list_append(functions, function_of(diff, &comparison->functions[list.places[i]])))
            Py_CLEAR(functions);
    }
    clp_comparison_list_clear(&list, diff->mem);
    return functions;
}

/* ---- limits ---- */

/* A broken limit as a dict. For GitHub and the page `gone` says that the line or function is no longer there, so that
 * no annotation can be shown at it. The page also has the function's number. */
static PyObject *breach_of(const struct clp_diff *diff, const struct clp_breach *breach)
{
    const struct clp_compared_row *row = breach->row;
    bool after = row != NULL ? row->has[CLP_NEW] : breach->function->sides[CLP_NEW] != NULL;
    const struct clp_profile_function *one = breach->function->sides[after ? CLP_NEW : CLP_OLD];

    PyObject *dict = Py_BuildValue(
        "{s:N,s:s,s:N,s:N,s:N,s:N,s:N}", "gate", text_of(breach->limit->text, breach->limit->bytes),
        "measure", clp_measure_rows[breach->limit->measure].name, "file", file_of(one), "line",
        row != NULL ? line_of(row, after ? CLP_NEW : CLP_OLD) : first_line_of(one), "function",
        text_of(one->name, strlen(one->name)), "text",
        row != NULL ? row_text(row, after ? CLP_NEW : CLP_OLD) : none(), "change",
        change_of(&diff->comparison, breach->limit->measure, &breach->change));
    if (dict != NULL && !is_for(diff, "json") && !clp_dict_set(dict, "gone", PyBool_FromLong(!after)))
        Py_CLEAR(dict);
    if (dict != NULL && is_for(diff, "html") &&
        !clp_dict_set(dict, "number", PyLong_FromSsize_t(number_of(&diff->comparison, breach->function))))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *limits_of(const struct clp_diff *diff)
{
    PyObject *broken = PyList_New(0);

    if (diff->request->fail_on == NULL) {
        Py_XDECREF(broken);
        return none();
    }
    for (size_t i = 0; broken != NULL && i < diff->breach_count; i++)
        if (!clp_list_append(broken, breach_of(diff, &diff->breaches[i])))
            Py_CLEAR(broken);
    return Py_BuildValue("{s:s,s:N,s:N}", "expression", diff->request->fail_on, "passed",
                         PyBool_FromLong(diff->breach_count == 0), "broken", broken);
}

/* ---- the object ---- */

static PyObject *side_of(const struct clp_diff *diff, int side)
{
    size_t start = side == CLP_OLD ? 0 : diff->request->counts[CLP_OLD];
    size_t count = diff->request->counts[side];
    PyObject *files = PyList_New(0);
    double wall = 0;

    for (size_t i = 0; files != NULL && i < count; i++) {
        wall += (double)diff->profiles[side][i].meta.wall * 1e-9 / (double)count;
        if (!clp_list_append(files, PyUnicode_DecodeFSDefault(diff->request->files[start + i])))
            Py_CLEAR(files);
    }
    return Py_BuildValue("{s:N,s:d}", "files", files, "wall", wall);
}

static PyObject *floor_of(const struct clp_compare_options *options)
{
    return Py_BuildValue("{s:d,s:d,s:d}", "time", options->time_floor * 1e-9, "time_per_hit",
                         options->hit_floor * 1e-9, "bytes", options->bytes_floor);
}

static PyObject *summary_of(const struct clp_comparison *comparison)
{
    struct clp_comparison_tally tally = clp_comparison_count(comparison);

    return Py_BuildValue("{s:N,s:N,s:n,s:n}", "functions", counts_of(tally.functions), "lines",
                         counts_of(tally.lines), "changed_within", (Py_ssize_t)tally.within,
                         "unchanged", (Py_ssize_t)tally.unchanged);
}

/* The confidence in percent and the number of tests; None without a confidence. */
static PyObject *confidence_of(const struct clp_comparison *comparison)
{
    if (comparison->options.confidence == 0)
        return none();
    return Py_BuildValue("{s:d,s:n}", "percent", 100 * comparison->options.confidence, "tests",
                         (Py_ssize_t)comparison->tests);
}

PyObject *clp_diff_object(const struct clp_diff *diff)
{
    return Py_BuildValue(
        "{s:s,s:i,s:N,s:N,s:N,s:N,s:N,s:N,s:N}", "format", "clineprof-diff", "version", 1, "before",
        side_of(diff, CLP_OLD), "after", side_of(diff, CLP_NEW), "noise_floor", floor_of(&diff->comparison.options),
        "confidence", confidence_of(&diff->comparison), "summary", summary_of(&diff->comparison), "functions",
        functions_of(diff), "gates", limits_of(diff));
}

/* The object, and what the page says above its tables if `said` is not NULL. */
static PyObject *object_of(const struct clp_diff *diff, const char *said)
{
    PyObject *object = clp_diff_object(diff);

    if (object != NULL && said != NULL && !clp_dict_set(object, "said", text_of(said, strlen(said))))
        Py_CLEAR(object);
    return object;
}

/* The module of clineprof._formats whose of_comparison() makes the text. */
static const char *module_of(const struct clp_diff *diff)
{
    if (is_for(diff, "html"))
        return "clineprof._formats.comparison";
    return is_for(diff, "github") ? "clineprof._formats.github" : "clineprof._formats.json";
}

/* Makes the text: a new tuple (bytes, was everything written?), or NULL with an exception set. */
static PyObject *make(const struct clp_diff *diff, const char *said)
{
    PyObject *object = clp_first_path_leave() ? object_of(diff, said) : NULL, *made = NULL;
    PyObject *module = object != NULL ? PyImport_ImportModule(module_of(diff)) : NULL;

    if (module != NULL)
        made = PyObject_CallMethod(module, "of_comparison", "Ozn", object, diff->request->measures,
                                   (Py_ssize_t)diff->request->top);
    Py_XDECREF(object);
    Py_XDECREF(module);
    return made;
}

bool clp_diff_export(const struct clp_diff *diff, const char *said, struct clp_buf *out)
{
    int collects = PyGC_Disable(); /* millions of objects are made, none of which is garbage before the end */
    PyObject *made = make(diff, said);
    const char *bytes;
    Py_ssize_t count;
    int done = 0;

    if (made != NULL && PyArg_ParseTuple(made, "y#p", &bytes, &count, &done))
        clp_buf_add(out, bytes, (size_t)count);
    else
        clp_console_complain_format("clineprof", "cannot make %s", diff->request->format);
    PyErr_Clear();
    Py_XDECREF(made);
    if (collects)
        (void)PyGC_Enable();
    return done;
}
