/* SPDX-License-Identifier: MIT */
/* How the pace of the processor becomes the pace of the charges. */
#include "embedded.h"
#include "cpython/recorder/pace.h"
#include "cpython/recorder/recorder.h"
#include <criterion/criterion.h>

static struct clp_recorder recorder;

static void start_python(void)
{
    test_start_interpreter();
    recorder.clock = clp_clock_start();
    cr_assert(clp_pace_make(&recorder));
}

TestSuite(python_pace, .init = start_python);

/* What the work takes is next to nothing of what it took in the calibration, which is one half of the mean. */
Test(python_pace, charges_follow_the_mean)
{
    clp_pace_begin(&recorder, UINT64_MAX / 2);
    cr_expect(clp_pace_is_due(&recorder, 1));
    (void)clp_pace_look(&recorder);
    cr_expect_eq(recorder.engine.costs.pace, CLP_PACE_ONE / 2);
    (void)clp_pace_look(&recorder);
    cr_expect_eq(recorder.engine.costs.pace, (CLP_PACE_ONE + 1) / 3);
    cr_expect_not(clp_pace_is_due(&recorder, clp_clock_read(&recorder.clock)), "not within the same millisecond");
}

Test(python_pace, a_look_that_was_interrupted_does_not_count)
{
    clp_pace_begin(&recorder, 1);
    uint64_t cost = clp_pace_look(&recorder);
    cr_expect_leq(cost, 6, "the work twice, three times as slow as usual: the rest is the program's");
    cr_expect_eq(recorder.engine.costs.pace, 0);
    cr_expect_eq(clp_pace_mean(&recorder), CLP_PACE_ONE, "that of the calibration");
}

Test(python_pace, nobody_looks_before_it_is_known_how_long_the_work_takes)
{
    cr_expect_eq(clp_pace_mean(&recorder), 0);
    cr_expect_not(clp_pace_is_due(&recorder, UINT64_MAX));
    clp_pace_begin(&recorder, 0);
    cr_expect_not(clp_pace_is_due(&recorder, UINT64_MAX - 1));
    cr_expect_eq(recorder.engine.pace_span, UINT64_MAX);
}

Test(python_pace, an_exception_of_the_program_stays)
{
    clp_pace_begin(&recorder, UINT64_MAX / 2);
    PyErr_SetString(PyExc_KeyError, "the program's");
    (void)clp_pace_look(&recorder);
    cr_expect(PyErr_ExceptionMatches(PyExc_KeyError));
    cr_expect_eq(recorder.engine.costs.pace, 0);
}
