/* SPDX-License-Identifier: MIT */
#include "measure_rows.h"
#include "profile/measures.h"

static PyObject *row_of(const struct clp_measure_row *row)
{
    static const char *const units[] = {
        [CLP_MEASURE_COUNT] = "count", [CLP_MEASURE_NANOS] = "ns", [CLP_MEASURE_BYTES] = "bytes"};
    static const char *const merges[] = {
        [CLP_MERGE_SUM] = "sum", [CLP_MERGE_MAX] = "largest", [CLP_MERGE_MAXABS] = "furthest from 0"};
    static const char *const needs[] = {
        [CLP_NEEDS_LIGHT] = "light",
        [CLP_NEEDS_TIMES] = "times",       [CLP_NEEDS_CPU] = "cpu",           [CLP_NEEDS_QUEUE] = "queue",
        [CLP_NEEDS_CALLED] = "called",
        [CLP_NEEDS_IO] = "io",             [CLP_NEEDS_FAULTS] = "faults",     [CLP_NEEDS_SWITCHES] = "switches",
        [CLP_NEEDS_COUNTER1] = "counter1", [CLP_NEEDS_COUNTER2] = "counter2", [CLP_NEEDS_COUNTER3] = "counter3",
        [CLP_NEEDS_COUNTER4] = "counter4", [CLP_NEEDS_DEVICE1] = "device1",   [CLP_NEEDS_DEVICE2] = "device2",
        [CLP_NEEDS_DEVICE3] = "device3",   [CLP_NEEDS_DEVICE4] = "device4",   [CLP_NEEDS_DEVICE_TIME] = "device_time",
        [CLP_NEEDS_MEMORY] = "memory",     [CLP_NEEDS_ALLOCATED] = "allocated",
        [CLP_NEEDS_HEAP] = "heap",         [CLP_NEEDS_NATIVE] = "native"};

    return Py_BuildValue("(sssssssiNN)", row->field, row->name, row->title, row->about, units[row->kind],
                         merges[row->merge], needs[row->needs], row->page,
                         PyBool_FromLong(row->is_signed), PyBool_FromLong(row->kept));
}

PyObject *clp_measure_rows_tuple(void)
{
    PyObject *tuple = PyTuple_New(CLP_MEASURE_total);

    for (int i = 0; tuple != NULL && i < CLP_MEASURE_total; i++) {
        PyObject *row = row_of(&clp_measure_rows[i]);
        if (row == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, row);
    }
    return tuple;
}
