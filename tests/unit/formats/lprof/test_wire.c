/* SPDX-License-Identifier: MIT */
/* Files are written by hand here, byte by byte, wherever the reader is on trial: our own writer
 * could share its mistakes. In the texts below a key or value reads "\xa4" "file": a str of 4. */
#include "profile/callees.h"
#include "helpers.h"
#include "formats/lprof/wire.h"
#include "formats/lprof/wire_reader.h"
#include "formats/lprof/wire_rows.h"
#include "formats/lprof/wire_texts.h"
#include "profile/calls.h"
#include "profile/missed.h"
#include "profile/texts.h"
#include <stdlib.h>
#include "profile/profile_merge.h"
#include <stdio.h>

static struct test_mem test;
static struct clp_profile profile;
static struct clp_buf out;
static struct clp_fault fault;

static void set_up(void)
{
    clp_profile_init(&profile, test_mem_init(&test, 0));
    clp_buf_init(&out, &test.mem);
}

static void tear_down(void)
{
    clp_profile_clear(&profile);
    clp_buf_clear(&out);
    test_mem_check_empty(&test);
}

TestSuite(wire, .init = set_up, .fini = tear_down);

/* ---- what we write, we read ---- */

static struct clp_profile_function *add(struct clp_profile *to, const char *file, const char *name,
                                        int32_t line)
{
    struct clp_profile_function *function = NULL;

    cr_assert_eq(clp_profile_add_function(to, file, name, line, &function), CLP_OK);
    return function;
}

/* Two functions with every measure, at both ends of its range, and one without lines. */
static void fill_functions(struct clp_profile *to)
{
#define ITS_NUMBER(field, ...) .field = CLP_MEASURE_##field + 1,
    struct clp_measures some = {CLP_MEASURE_TABLE(ITS_NUMBER, CLP_MEASURE_SKIP)}, most, none = {0};
#undef ITS_NUMBER

    some.time = 200;
    some.raw_time = 70000;
    some.self_increment = -11;
    memset(&most, 0xff, sizeof most);
    most.self_increment = INT64_MAX;
    most.largest = INT64_MIN;
    struct clp_profile_function *f = add(to, "a.py", "A.f.<locals>.g", 3);
    f->total = 12345;
    f->raw_total = UINT64_MAX;
    cr_assert_eq(clp_profile_add_line(to, f, 0, &some), CLP_OK);
    cr_assert_eq(clp_profile_add_line(to, f, 7, &none), CLP_OK);
    cr_assert_eq(clp_profile_add_line(to, f, INT32_MAX, &most), CLP_OK);
    f->lines[1].spread = (struct clp_profile_spread){1, UINT64_MAX, UINT32_MAX, 0, 2};
    cr_assert_eq(clp_profile_set_source(to, f, "def g():\n\0\xff", 11), CLP_OK);
    cr_assert_eq(clp_profile_set_text(to, &f->compiler, "numba"), CLP_OK);
    f->compiled = (struct clp_compiled){.calls = UINT64_MAX, .times = 2, .nanos = 70000};
    for (int32_t line = 1; line < INT32_MAX / 300; line *= 300)
        cr_assert_eq(clp_missed_add(to, f, line), CLP_OK);
    cr_assert_eq(clp_missed_add(to, f, INT32_MAX), CLP_OK);
    f = add(to, "b \xc3\xa9.py", "<module>", 0);
    some = (struct clp_measures){.hits = 1};
    cr_assert_eq(clp_profile_add_line(to, f, 70000, &some), CLP_OK);
    struct clp_profile_leak leak = {.line = 7, .bytes = UINT64_MAX, .bytes_per_call = 0.5,
                                    .bytes_per_second = 1e300, .confidence = 0.95, .margin = 7, .at_end = true,
                                    .held_by = (char[]){"a\xc3\xa9.b: list, 3 items"}};
    cr_assert_eq(clp_profile_add_leak(to, f, &leak), CLP_OK);
    leak = (struct clp_profile_leak){.line = 3, .bytes = 1};
    cr_assert_eq(clp_profile_add_leak(to, f, &leak), CLP_OK);
    add(to, "", "", 1);
}

static void fill_series(struct clp_profile *to)
{
    struct clp_profile_series *series;

    cr_assert_eq(clp_profile_add_series(to, 77, 1700000000.5, &series), CLP_OK);
    cr_assert_eq(clp_profile_add_sample(to, series, 0, UINT64_MAX), CLP_OK);
    cr_assert_eq(clp_profile_add_sample(to, series, UINT64_MAX, 0), CLP_OK);
    struct clp_profile_mark mark = {.file = (char[]){""}, .name = (char[]){"f g"},
                                    .first_line = INT32_MAX, .level = UINT32_MAX,
                                    .enter = UINT64_MAX, .leave = UINT64_MAX};
    cr_assert_eq(clp_profile_add_mark(to, series, &mark), CLP_OK);
    mark.enter = 0;
    cr_assert_eq(clp_profile_add_mark(to, series, &mark), CLP_OK);
    cr_assert_eq(clp_profile_add_series(to, 0, 0, &series), CLP_OK);
}

static void fill_processes(struct clp_profile *to)
{
    struct clp_profile_process process = {.pid = 77, .parent = UINT64_MAX, .start = 1.5,
                                          .wall = UINT64_MAX, .self = 3, .events = 4,
                                          .name = (char[]){"worker \xc3\xa9"},
                                          .pid_namespace = UINT64_MAX, .restart = 2,
                                          .host = (char[]){"node7"}, .boot = (char[]){"b"}, .rank = (char[]){"31"},
                                          .numbers = (char[]){"\0\xff"}, .numbers_bytes = 2};

    cr_assert_eq(clp_profile_add_process(to, &process), CLP_OK);
    process = (struct clp_profile_process){.pid = 1};
    cr_assert_eq(clp_profile_add_process(to, &process), CLP_OK);
}

static void fill_calls(struct clp_profile *to)
{
    static const struct clp_profile_call calls[] = {
        {.function = 1, .calls = UINT64_MAX, .time = UINT64_MAX, .again = UINT64_MAX, .increment = INT64_MAX},
        {.parent = 1, .line = INT32_MAX, .function = 0, .through = true, .increment = INT64_MIN},
        {.parent = 2, .line = 7, .function = 1, .calls = 3, .time = 4, .again = 5, .increment = -6},
        {.parent = 1, .function = CLP_CALL_DEEPER, .calls = 9}};

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        cr_assert_eq(clp_profile_add_call(to, &calls[i], NULL), CLP_OK);
    to->calls_cut = 9;
}

static void fill_meta(struct clp_profile *to)
{
    cr_assert_eq(clp_profile_set_text(to, &to->meta.python, "3.12.1"), CLP_OK);
    cr_assert_eq(clp_profile_set_text(to, &to->meta.command, "a.py -x"), CLP_OK);
    to->meta.pid = 77;
    to->meta.pid_namespace = 78;
    to->meta.restart = 3;
    cr_assert_eq(clp_profile_set_text(to, &to->meta.host, "node\xc3\xa9"), CLP_OK);
    cr_assert_eq(clp_profile_set_text(to, &to->meta.boot, "0-1"), CLP_OK);
    cr_assert_eq(clp_profile_set_text(to, &to->meta.rank, "12"), CLP_OK);
    to->meta.start = 1700000000.25;
    to->meta.wall = 5000000000;
    to->meta.overhead = 6;
    to->meta.overhead_error = 5;
    to->meta.events = 7;
    to->meta.reads = 8;
    to->meta.own_bytes = 9;
    to->meta.others_grown = 10;
    to->meta.others_released = 11;
    to->meta.gc_outside = UINT64_MAX;
    to->meta.gc_outside_runs = 12;
    to->meta.counter2_unread = UINT64_MAX;
    to->meta.gc_cleared = 1;
    to->meta.has_cpu = to->meta.has_queue = to->meta.has_called = 1;
    to->meta.has_io = to->meta.has_faults = to->meta.has_switches = 1;
    to->meta.tensors_read = CLP_TENSORS_READ_IN_PART;
    cr_assert_eq(clp_profile_set_text(to, &to->meta.counter2, "energy (mJ)"), CLP_OK);
    cr_assert_eq(clp_profile_set_text(to, &to->meta.memory, "anon"), CLP_OK);
    to->meta.has_memory = true;
    to->meta.inexact_memory = true;
    to->meta.memory_step = 4096;
    cr_assert_eq(clp_profile_set_text(to, &to->meta.leak_epoch, "handle"), CLP_OK);
    to->meta.leak_epochs = 5;
    cr_assert_eq(clp_profile_set_text(to, &to->meta.leak_unjudged, "main (1 call)"), CLP_OK);
    to->meta.no_source = 1;
}

static void fill_files(struct clp_profile *to)
{
    char text[400];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i * i / 3 % 7);
    cr_assert_eq(clp_profile_keep_file(to, "a.py", (struct clp_span){text, sizeof text}), CLP_OK);
    cr_assert_eq(clp_profile_keep_file(to, "copy of a.py", (struct clp_span){text, sizeof text}), CLP_OK);
    cr_assert_eq(clp_profile_keep_file(to, "", (struct clp_span){"", 0}), CLP_OK);
}

/* A profile with something in every place. */
static void fill(struct clp_profile *to)
{
    fill_functions(to);
    fill_series(to);
    fill_processes(to);
    fill_calls(to);
    fill_meta(to);
    fill_files(to);
}

Test(wire, everything_survives_the_round_trip)
{
    struct clp_profile before;

    clp_profile_init(&before, &test.mem);
    fill(&before);
    before.functions[0].source_changed = true;
    cr_assert_eq(clp_wire_encode(&before, &out), CLP_OK);
    cr_assert_eq(clp_wire_decode(out.bytes, out.used, &profile, &fault), CLP_OK, "%s at %zu",
                 fault.reason, (size_t)fault.offset);
    cr_assert_eq(fault.status, CLP_OK);
    cr_assert(test_same_profile(&before, &profile));
    test_check_profile(&profile);
    clp_profile_clear(&before);
}

Test(wire, callees_survive)
{
    struct clp_measures measures = {.hits = 1, .time = 9, .self = 9, .native_time = 5, .library = 3};
    struct clp_profile before;

    clp_profile_init(&before, &test.mem);
    struct clp_profile_function *f = add(&before, "a.py", "f", 1);
    cr_assert_eq(clp_profile_add_line(&before, f, 2, &measures), CLP_OK);
    const struct clp_profile_callee callees[] = {
        {.line = 2, .name = (char[]){"re.sub"}, .library = true, .time = 3},
        {.line = 2, .name = (char[]){"@"}, .time = 4},
        {.line = 2, .name = (char[]){"re.sub"}, .time = 1},
        {.line = 1, .name = (char[]){"sorted"}, .time = UINT64_MAX},
        {.line = 1, .name = (char[]){"sorted"}, .time = 1}};
    for (size_t i = 0; i < sizeof callees / sizeof callees[0]; i++)
        cr_assert_eq(clp_callees_add(&before, f, &callees[i]), CLP_OK);
    cr_assert_eq(f->callee_count, 4);
    cr_assert_eq(f->callees[0].time, UINT64_MAX);
    cr_assert_str_eq(clp_callees_most(f, 2, false)->name, "@");
    cr_assert_str_eq(clp_callees_most(f, 2, true)->name, "re.sub");
    cr_assert_null(clp_callees_most(f, 3, true));
    cr_assert_eq(clp_wire_encode(&before, &out), CLP_OK);
    cr_assert_eq(clp_wire_decode(out.bytes, out.used, &profile, &fault), CLP_OK, "%s", fault.reason);
    cr_assert(test_same_profile(&before, &profile));
    clp_profile_clear(&before);
}

Test(wire, an_empty_profile_survives_too)
{
    struct clp_profile before;

    clp_profile_init(&before, &test.mem);
    cr_assert_eq(clp_wire_encode(&before, &out), CLP_OK);
    cr_assert_eq(clp_wire_decode(out.bytes, out.used, &profile, &fault), CLP_OK);
    cr_assert(test_same_profile(&before, &profile));
}

Test(wire, columns_of_zeroes_are_left_out)
{
    struct clp_measures measures = {.hits = 1};

    struct clp_profile_function *f = add(&profile, "a.py", "f", 1);
    cr_assert_eq(clp_profile_add_line(&profile, f, 1, &measures), CLP_OK);
    cr_assert_eq(clp_wire_encode(&profile, &out), CLP_OK);
    cr_assert_not_null(memmem(out.bytes, out.used, "\xa4hits", 5));
    cr_assert_null(memmem(out.bytes, out.used, "\xa8" "released", 9));
}

/* ---- files written by hand ---- */

#define KEY_FORMAT "\xa6" "format" "\xa9" "clineprof"
#define KEY_VERSION "\xa7" "version" "\x01"
#define FUNCTION_KEY "\xa4" "file" "\xa4" "a.py" "\xa4" "line" "\x03" "\xa4" "name" "\xa1" "f"
/* A whole file around one function, given as the map's size and what follows its key. */
#define FILE_START "\x83" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x91"
#define FILE_OF(size, rest) FILE_START size FUNCTION_KEY rest
#define LINES_OF(size, rest) FILE_OF("\x84", "\xa5" "lines" size "\xa4" "line" rest)

#define DECODE(text) clp_wire_decode(text, sizeof(text) - 1, &profile, &fault)

Test(wire, reads_a_file_written_by_hand)
{
    static const char file[] =
        "\xde\x00\x06" KEY_FORMAT KEY_VERSION
        "\xa4" "unit" "\xcb\x3e\x11\x2e\x0b\xe8\x26\xd6\x95" /* 1e-09 */
        "\xa9" "functions" "\x91" "\x87"
        "\xa8" "compiler" "\xa5" "numba"
        "\xa5" "total" "\xcd\x10\x00"
        FUNCTION_KEY
        "\xa9" "raw_total" "\xcf\x00\x00\x00\x01\x00\x00\x00\x00"
        "\xa5" "lines" "\x85"
        "\xa4" "hits" "\x92" "\x01" "\xcd\x03\xe8"
        "\xa4" "line" "\xdc\x00\x02" "\x04" "\xcc\xc8"
        "\xa4" "time" "\x92" "\xce\x00\x0f\x42\x40" "\x07"
        "\xa7" "largest" "\x92" "\xff" "\xd1\xf0\x00"
        "\xa5" "await" "\x92" "\xd0\x05" "\xd3\x00\x00\x00\x00\x00\x00\x00\x06"
        "\xa6" "source" "\x91" "\x84" FUNCTION_KEY "\xa4" "text" "\xd9\x09" "def f():\n"
        "\xa4" "meta" "\x84" "\xa3" "pid" "\x2a" "\xa5" "start" "\xca\x3f\xc0\x00\x00"
        "\xaa" "has_memory" "\xc3" "\xa6" "tracer" "\xda\x00\x05" "probe";

    cr_assert_eq(DECODE(file), CLP_OK, "%s at %zu", fault.reason, (size_t)fault.offset);
    cr_assert_eq(profile.function_count, 1);
    const struct clp_profile_function *f = &profile.functions[0];
    cr_assert_str_eq(f->file, "a.py");
    cr_assert_str_eq(f->name, "f");
    cr_assert_eq(f->first_line, 3);
    cr_assert_eq(f->total, 4096);
    cr_assert_eq(f->raw_total, UINT64_C(4294967296));
    cr_assert_str_eq(f->source, "def f():\n");
    cr_assert_str_eq(f->compiler, "numba");
    cr_assert_eq(f->line_count, 2);
    struct clp_measures first = {.hits = 1, .time = 1000000, .largest = -1, .await = 5};
    struct clp_measures second = {.hits = 1000, .time = 7, .largest = -4096, .await = 6};
    cr_assert_eq(f->lines[0].line, 4);
    cr_assert(test_same_measures(&f->lines[0].measures, &first));
    cr_assert_eq(f->lines[1].line, 200);
    cr_assert(test_same_measures(&f->lines[1].measures, &second));
    struct clp_profile_meta meta = {.tracer = "probe", .pid = 42, .start = 1.5,
                                    .has_memory = true};
    cr_assert(test_same_meta(&profile.meta, &meta));
}

/* And the other way: the writer's bytes are these and no others. */
Test(wire, writes_what_the_format_says)
{
    static const char expected[] =
        "\x86" KEY_FORMAT KEY_VERSION "\xa4" "unit" "\xcb\x3e\x11\x2e\x0b\xe8\x26\xd6\x95"
        "\xa9" "functions" "\x91" "\x87" FUNCTION_KEY
        "\xa5" "total" "\x05" "\xa9" "raw_total" "\x06"
        "\xa5" "lines" "\x83" "\xa4" "line" "\x92\x04\x05" "\xa4" "hits" "\x92\x01\x00"
        "\xa7" "largest" "\x92\x00\xff" "\xa4" "text" "\x93\x00\x00\x03"
        "\xa5" "texts" "\x91" "\xa3" "def"
        "\xa4" "meta" "\xde\x00\x11" "\xa6" "python" "\xa3" "3.9" "\xa6" "memory" "\xa3" "uss"
        "\xa3" "pid" "\x07"
        "\xa5" "start" "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00" "\xa4" "wall" "\x08"
        "\xa8" "overhead" "\x09" "\xae" "overhead_error" "\x02" "\xa6" "events" "\x0a"
        "\xa5" "reads" "\x0b"
        "\xa9" "own_bytes" "\x0c" "\xac" "others_grown" "\x0e"
        "\xaf" "others_released" "\x0f" "\xaa" "gc_outside" "\x10" "\xaf" "gc_outside_runs" "\x11" "\xaa" "has_memory" "\xc3" "\xae" "inexact_memory" "\xc2"
        "\xab" "memory_step" "\x0d";
    struct clp_profile_function *f = add(&profile, "a.py", "f", 3);

    f->total = 5;
    f->raw_total = 6;
    struct clp_measures measures = {.hits = 1};
    cr_assert_eq(clp_profile_add_line(&profile, f, 4, &measures), CLP_OK);
    measures = (struct clp_measures){.largest = -1};
    cr_assert_eq(clp_profile_add_line(&profile, f, 5, &measures), CLP_OK);
    cr_assert_eq(clp_profile_set_source(&profile, f, "def", 3), CLP_OK);
    cr_assert_eq(clp_profile_set_text(&profile, &profile.meta.python, "3.9"), CLP_OK);
    cr_assert_eq(clp_profile_set_text(&profile, &profile.meta.memory, "uss"), CLP_OK);
    profile.meta = (struct clp_profile_meta){
        .python = profile.meta.python, .memory = profile.meta.memory, .pid = 7, .start = 1.5, .wall = 8, .overhead = 9,
        .overhead_error = 2, .events = 10, .reads = 11, .own_bytes = 12, .has_memory = true, .memory_step = 13,
        .others_grown = 14, .others_released = 15, .gc_outside = 16, .gc_outside_runs = 17};
    cr_assert_eq(clp_wire_encode(&profile, &out), CLP_OK);
    cr_assert_eq(out.used, sizeof expected - 1);
    cr_assert_eq(memcmp(out.bytes, expected, out.used), 0);
}

#define TWO_FUNCTIONS                                                                        \
    "\xa9" "functions" "\x92" "\x84" FUNCTION_KEY "\xa5" "lines" "\x81" "\xa4" "line" "\x90" \
    "\x84" "\xa4" "file" "\xa4" "a.py" "\xa4" "line" "\x05" "\xa4" "name" "\xa1" "g"           \
    "\xa5" "lines" "\x81" "\xa4" "line" "\x90"

Test(wire, calls_are_read_before_their_functions_and_in_another_unit)
{
    static const char file[] =
        "\x85" KEY_FORMAT KEY_VERSION
        "\xa5" "calls" "\x89"
        "\xa6" "parent" "\x93\x00\x01\x01" "\xa4" "line" "\x93\x00\x04\x04"
        "\xa8" "function" "\x93\x00\x01\xff" "\xa7" "through" "\x93\x00\x01\x00"
        "\xa5" "calls" "\x93\x01\xcd\x03\xe8\x02" "\xa4" "time" "\x93\x09\x07\x00"
        "\xa5" "again" "\x93\x00\x02\x00" "\xa9" "increment" "\x93\x00\xd1\xf0\x00\x00"
        "\xa3" "cut" "\x02"
        "\xa4" "unit" "\xcb\x3e\xb0\xc6\xf7\xa0\xb5\xed\x8d" /* 1e-06 */
        TWO_FUNCTIONS;
    static const struct clp_profile_call expected[] = {
        {.function = 0, .calls = 1, .time = 9000},
        {.parent = 1, .line = 4, .function = 1, .through = true, .calls = 1000, .time = 7000, .again = 2000,
         .increment = -4096},
        {.parent = 1, .line = 4, .function = CLP_CALL_DEEPER, .calls = 2}};

    cr_assert_eq(DECODE(file), CLP_OK, "%s at %zu", fault.reason, (size_t)fault.offset);
    cr_assert_eq(profile.call_count, 3);
    cr_assert_eq(profile.calls_cut, 2);
    for (size_t i = 0; i < 3; i++)
        cr_assert(test_same_call(&profile.calls[i], &expected[i]), "call %zu", i);
}

Test(wire, writes_calls_as_the_format_says)
{
    static const char expected[] =
        "\xa5" "calls" "\x83" "\xa8" "function" "\x92\x00\xff" "\xa5" "calls" "\x92\x02\x03" "\xa3" "cut" "\x03";
    struct clp_profile_call call = {.calls = 2};

    add(&profile, "a.py", "f", 3);
    cr_assert_eq(clp_profile_add_call(&profile, &call, NULL), CLP_OK);
    call = (struct clp_profile_call){.function = CLP_CALL_DEEPER, .calls = 3};
    cr_assert_eq(clp_profile_add_call(&profile, &call, NULL), CLP_OK);
    profile.calls_cut = 3;
    cr_assert_eq(clp_wire_encode(&profile, &out), CLP_OK);
    cr_assert_eq((unsigned char)out.bytes[0], 0x87);
    cr_assert_geq(out.used, sizeof expected);
    cr_assert_eq(memcmp(out.bytes + out.used - (sizeof expected - 1), expected, sizeof expected - 1), 0);
}

Test(wire, skips_what_it_does_not_know)
{
    static const char file[] =
        "\x86" KEY_FORMAT KEY_VERSION
        "\x07" "\x93\x01\xc0\xc4\x02\xff\xff"                       /* a key that is a number */
        "\xa6" "future" "\x81\xa1" "x" "\xc7\x03\x05" "abc"           /* an extension type */
        "\xa9" "functions" "\x91" "\x85" FUNCTION_KEY "\xa1" "?" "\xca\x7f\xc0\x00\x00"
        "\xa5" "lines" "\x83" "\xa4" "line" "\x91\x04" "\xa3" "new" "\xa1" "x" "\xc0" "\xc0"
        "\xa4" "meta" "\x81" "\xa3" "new" "\xd4\x00\x00";

    cr_assert_eq(DECODE(file), CLP_OK, "%s at %zu", fault.reason, (size_t)fault.offset);
    cr_assert_eq(profile.functions[0].line_count, 1);
}

Test(wire, totals_default_to_the_sum_of_the_lines)
{
    cr_assert_eq(DECODE(LINES_OF("\x83", "\x92\x01\x02" "\xa4" "time" "\x92\x03\x04"
                                 "\xa8" "raw_time" "\x92\x05\x06")), CLP_OK);
    cr_assert_eq(profile.functions[0].total, 7);
    cr_assert_eq(profile.functions[0].raw_total, 11);
}

/* In a file with another unit every time is scaled, and nothing else. */
Test(wire, times_are_turned_into_nanoseconds)
{
    static const char file[] =
        "\x85" KEY_FORMAT KEY_VERSION
        "\xa4" "unit" "\xcb\x3e\xb0\xc6\xf7\xa0\xb5\xed\x8d" /* 1e-06 */
        "\xa9" "functions" "\x91" "\x86" FUNCTION_KEY "\xa5" "total" "\x02"
        "\xa9" "raw_total" "\x03" "\xa5" "lines" "\xde\x00\x15" "\xa4" "line" "\x91\x05"
        "\xa4" "hits" "\x91\x01" "\xa4" "time" "\x91\x01" "\xa8" "raw_time" "\x91\x02"
        "\xa4" "self" "\x91\x03" "\xa8" "raw_self" "\x91\x04" "\xa5" "await" "\x91\x05"
        "\xa3" "max" "\x91\x06" "\xa3" "rss" "\x91\x07" "\xa5" "grown" "\x91\x08"
        "\xa8" "released" "\x91\x09" "\xae" "self_increment" "\x91\x0a" "\xa7" "largest" "\x91\x0b"
        "\xa2" "gc" "\x91\x0c" "\xa7" "gc_runs" "\x91\x0d"
        "\xa3" "cpu" "\x91\x0e" "\xa4" "wait" "\x91\x0f" "\xa5" "queue" "\x91\x10"
        "\xa4" "read" "\x91\x11" "\xa6" "faults" "\x91\x12" "\xa8" "counter1" "\x91\x13"
        "\xa4" "meta" "\x8b" "\xaa" "gc_outside" "\x0a" "\xaf" "gc_outside_runs" "\x0b" "\xa4" "wall" "\x01" "\xa8" "overhead" "\x02" "\xae" "overhead_error"
        "\x09" "\xa3" "pid" "\x03"
        "\xa5" "start" "\x04" "\xa6" "events" "\x05" "\xa5" "reads" "\x06"
        "\xa9" "own_bytes" "\x07" "\xab" "memory_step" "\x08";
    struct clp_measures expected = {.hits = 1, .time = 1000, .raw_time = 2000, .self = 3000, .raw_self = 4000,
                                    .await = 5000, .max = 6000, .gc = 12000, .gc_runs = 13, .cpu = 14000,
                                    .wait = 15000, .queue = 16000, .read = 17, .faults = 18, .counter1 = 19,
                                    .rss = 7, .grown = 8, .released = 9, .self_increment = 10, .largest = 11};

    cr_assert_eq(DECODE(file), CLP_OK, "%s at %zu", fault.reason, (size_t)fault.offset);
    cr_assert(test_same_measures(&profile.functions[0].lines[0].measures, &expected));
    cr_assert_eq(profile.functions[0].total, 2000);
    cr_assert_eq(profile.functions[0].raw_total, 3000);
    struct clp_profile_meta meta = {.wall = 1000, .overhead = 2000, .overhead_error = 9000, .pid = 3, .start = 4,
                                    .events = 5, .reads = 6, .own_bytes = 7, .memory_step = 8,
                                    .gc_outside = 10000, .gc_outside_runs = 11};
    cr_assert(test_same_meta(&profile.meta, &meta));
}

/* ---- texts ---- */

#define KEY_TEXT "\xa4" "text"
#define NO_LINES "\xa5" "lines" "\x81" "\xa4" "line" "\x90"
#define TEXTS(texts, place) "\x84" KEY_FORMAT KEY_VERSION "\xa5" "texts" texts \
    "\xa9" "functions" "\x91" "\x85" FUNCTION_KEY NO_LINES KEY_TEXT place
/* "x\n\ndef f():\n    pass\n", compressed by Python's zlib */
#define COMPRESSED(bytes) "\x91\x82" "\xa5" "bytes" bytes "\xa4" "zlib" "\xc4\x1b" \
    "\x78\x9c\xab\xe0\xe2\x4a\x49\x4d\x53\x48\xd3\xd0\xb4\xe2\x52\x00\x82\x82\xc4\xe2\x62\x2e\x00\x37\x97\x05\x18"

static void give_text(struct clp_profile_function *function, const char *text)
{
    cr_assert_eq(clp_profile_set_source(&profile, function, text, strlen(text)), CLP_OK);
}

static bool has_text(const struct clp_profile_function *function, const char *text)
{
    return function->source_bytes == strlen(text) &&
           memcmp(function->source, text, function->source_bytes) == 0;
}

static void read_again(void)
{
    clp_profile_clear(&profile);
    cr_assert_eq(clp_wire_decode(out.bytes, out.used, &profile, &fault), CLP_OK, "%s", fault.reason);
}

Test(wire, a_function_has_a_part_of_a_text)
{
    static const char file[] = TEXTS("\x91" "\xab" "x\n\ndef f()\n", "\x93\x00\x03\x05");

    cr_assert_eq(DECODE(file), CLP_OK, "%s at %zu", fault.reason, (size_t)fault.offset);
    cr_assert(has_text(&profile.functions[0], "def f"));
}

Test(wire, the_viewer_does_not_copy_a_text)
{
    static const char file[] = TEXTS("\x91" "\xab" "x\n\ndef f()\n", "\x93\x00\x03\x05");

    clp_buf_add(&out, file, sizeof file - 1);
    const char *bytes = out.bytes;
    cr_assert_eq(clp_wire_decode_in_place(&out, &profile, &fault), CLP_OK);
    cr_assert(has_text(&profile.functions[0], "def f"));
    cr_assert(profile.functions[0].source > bytes && profile.functions[0].source < bytes + sizeof file);
}

Test(wire, reads_a_compressed_text)
{
    static const char file[] = TEXTS(COMPRESSED("\x15"), "\x93\x00\x03\x05");

    cr_assert_eq(DECODE(file), CLP_OK, "%s at %zu", fault.reason, (size_t)fault.offset);
    cr_assert(has_text(&profile.functions[0], "def f"));
}

/* How often the bytes of `text` stand in what was written. */
static size_t count_in_file(const char *text)
{
    size_t bytes = strlen(text), found = 0;

    for (size_t i = 0; i + bytes <= out.used; i++)
        found += memcmp(out.bytes + i, text, bytes) == 0;
    return found;
}

/* Two versions of one file, and a function that stands in both, but at its own line only in the first. */
Test(wire, a_text_inside_another_is_written_once)
{
    static const char module[] = "import os\ndef inner_of_both():\n    pass\n";
    static const char edited[] = "import re\nimport sys\ndef inner_of_both():\n    pass\n";
    static const char inner[] = "def inner_of_both():\n    pass\n";

    give_text(add(&profile, "a.py", "inner_of_both", 2), inner);
    give_text(add(&profile, "a.py", "<module>", 1), module);
    give_text(add(&profile, "a.py", "<module> (2)", 1), edited);
    give_text(add(&profile, "b.py", "other", 2), "def other(): 0\n");
    cr_assert_eq(clp_wire_encode(&profile, &out), CLP_OK);
    cr_assert_eq(count_in_file(inner), 2); /* in the two modules */
    read_again();
    cr_assert(has_text(&profile.functions[0], inner));
    cr_assert(has_text(&profile.functions[1], module));
    cr_assert(has_text(&profile.functions[2], edited));
    cr_assert(has_text(&profile.functions[3], "def other(): 0\n"));
}

/* More of one text than a reader takes: the writer then writes it again, so that its own files can be read. */
Test(wire, many_functions_of_one_text_can_be_read_again)
{
    char name[16];

    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "f%d", i);
        give_text(add(&profile, "a.py", name, 1), "f = g = 0\n");
    }
    cr_assert_eq(clp_wire_encode(&profile, &out), CLP_OK);
    cr_assert_geq(count_in_file("f = g = 0\n"), 200 / 16);
    read_again();
    for (size_t i = 0; i < 200; i++)
        cr_assert(has_text(&profile.functions[i], "f = g = 0\n"));
}

Test(wire, a_long_text_is_compressed_but_not_too_much)
{
    char words[4096], blanks[40000];

    for (size_t i = 0; i < sizeof words; i++)
        words[i] = i % 7 == 0 ? '\n' : (char)('a' + (i * 2654435761u >> 13) % 23);
    memset(blanks, ' ', sizeof blanks);
    struct clp_profile_function *function = add(&profile, "a.py", "f", 1);
    cr_assert_eq(clp_profile_set_source(&profile, function, words, sizeof words), CLP_OK);
    function = add(&profile, "b.py", "g", 1);
    cr_assert_eq(clp_profile_set_source(&profile, function, blanks, sizeof blanks), CLP_OK);
    cr_assert_eq(clp_wire_encode(&profile, &out), CLP_OK);
    cr_assert_lt(out.used, sizeof blanks + sizeof words / 2);
    cr_assert_gt(out.used, sizeof blanks);
    read_again();
    cr_assert_eq(profile.functions[0].source_bytes, sizeof words);
    cr_assert_eq(memcmp(profile.functions[0].source, words, sizeof words), 0);
    cr_assert_eq(memcmp(profile.functions[1].source, blanks, sizeof blanks), 0);
}

static void keep_file(const char *file, const char *text)
{
    cr_assert_eq(clp_profile_keep_file(&profile, file, (struct clp_span){text, strlen(text)}), CLP_OK);
}

static bool has_file(size_t place, const char *file, const char *text)
{
    const struct clp_profile_text *found = &profile.texts[place];

    return found->file != NULL && strcmp(found->file, file) == 0 && found->bytes == strlen(text) &&
           memcmp(found->text, text, found->bytes) == 0;
}

Test(wire, whole_files_hold_their_functions_and_are_kept_once_by_content)
{
    static const char text[] = "import os_of_all\ndef f():\n    pass\n";

    keep_file("a.py", text);
    keep_file("a.py", text);
    keep_file("copy.py", text);
    give_text(add(&profile, "a.py", "f", 2), "def f():\n    pass\n");
    give_text(add(&profile, "copy.py", "f", 2), "def f():\n    pass\n");
    cr_assert_eq(profile.text_count, 2);
    cr_assert_eq(clp_wire_encode(&profile, &out), CLP_OK);
    cr_assert_eq(count_in_file("import os_of_all"), 1);
    cr_assert_eq(count_in_file("def f()"), 1);
    read_again();
    cr_assert_eq(profile.text_count, 3); /* the text itself, and two files that have it */
    cr_assert(has_file(1, "a.py", text) && has_file(2, "copy.py", text));
    cr_assert(has_text(&profile.functions[1], "def f():\n    pass\n"));
    clp_buf_cut(&out, 0);
    cr_assert_eq(clp_wire_encode(&profile, &out), CLP_OK);
    cr_assert_eq(count_in_file("import os_of_all"), 1);
}

/* As of functions: files beyond what a reader takes of one text have it once more. */
Test(wire, many_files_of_one_text_can_be_read_again)
{
    enum { FILES = 100 };
    char file[16];

    for (int i = 0; i < FILES; i++) {
        snprintf(file, sizeof file, "%d.py", i);
        keep_file(file, "import os_of_all\n");
    }
    cr_assert_eq(clp_wire_encode(&profile, &out), CLP_OK);
    size_t copies = count_in_file("import os_of_all");
    cr_assert(copies >= FILES / CLP_WIRE_MOST_PARTS && copies < FILES / 4, "%zu", copies);
    read_again();
    cr_assert_eq(profile.text_count, copies + FILES);
    for (size_t i = 0; i < FILES; i++) {
        snprintf(file, sizeof file, "%zu.py", i);
        cr_assert(has_file(copies + i, file, "import os_of_all\n"));
    }
}

Test(wire, files_beyond_the_most_bytes_are_not_kept)
{
    size_t bytes = CLP_MOST_WHOLE_TEXTS / 3 * 2;
    char *text = calloc(bytes, 1);

    for (int i = 0; i < 2; i++) {
        text[0] = (char)i;
        cr_assert_eq(clp_profile_keep_file(&profile, "a.py", (struct clp_span){text, bytes}), CLP_OK);
    }
    cr_expect_eq(profile.text_count, 1);
    text[0] = 0;
    cr_assert_eq(clp_profile_keep_file(&profile, "equal.py", (struct clp_span){text, bytes}), CLP_OK);
    cr_expect_eq(profile.text_count, 2);
    keep_file("short.py", "0\n");
    cr_expect_eq(profile.text_count, 3);
    free(text);
}

/* ---- bad files ---- */

struct bad {
    const char *bytes;
    size_t count;
    clp_status status;
    const char *reason; /* a part of it; NULL: none is given */
};

#define LEFT_OUT CLP_OK /* the file is read, without the part that is wrong */
#define BAD(bytes, status, reason) {bytes, sizeof(bytes) - 1, status, reason}
#define DEEP4 "\x91\x91\x91\x91"

#define FILES(files) \
    "\x85" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x90" "\xa5" "texts" "\x91\xa3" "def" "\xa5" "files" files

#define A_FILE "\x82" "\xa4" "file" "\xa1" "a" KEY_TEXT "\x00"
#define A_DEF(name) \
    "\x85" "\xa4" "file" "\xa1" "a" "\xa4" "line" "\x01" "\xa4" "name" "\xa1" name NO_LINES KEY_TEXT "\x93\x00\x00\x03"

static const struct bad bad_files[] = {
    /* texts */
    BAD("\x84" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x90" "\xa5" "texts" "\x05", LEFT_OUT, "\"texts\" are not"),
    BAD("\x84" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x90" "\xa5" "files" "\x05", LEFT_OUT, "\"files\" are not"),
    BAD(TEXTS("\x91\x05", "\x93\x00\x00\x01"), LEFT_OUT, "neither a text nor a map"),
    BAD(TEXTS("\x91\x81" "\xa5" "bytes" "\x05", "\x93\x00\x00\x01"), LEFT_OUT, "lacks"),
    BAD(TEXTS(COMPRESSED("\xc0"), "\x93\x00\x00\x01"), LEFT_OUT, "lacks"),
    BAD(TEXTS(COMPRESSED("\x05"), "\x93\x00\x00\x01"), LEFT_OUT, "zlib"),
    BAD(TEXTS(COMPRESSED("\x7f"), "\x93\x00\x00\x01"), LEFT_OUT, "zlib"),
    BAD(TEXTS(COMPRESSED("\xcd\xff\xff"), "\x93\x00\x00\x01"), LEFT_OUT, "more than it may"),
    BAD(TEXTS(COMPRESSED("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), "\x93\x00\x00\x01"), LEFT_OUT, "more than it may"),
    BAD(TEXTS("\x91\xa3" "def", "\x05"), LEFT_OUT, "three numbers"),
    BAD(TEXTS("\x91\xa3" "def", "\x92\x00\x01"), LEFT_OUT, "three numbers"),
    BAD(TEXTS("\x91\xa3" "def", "\x93\x00\x00\xff"), LEFT_OUT, "three numbers"),
    BAD(TEXTS("\x91\xa3" "def", "\x93\x01\x00\x01"), LEFT_OUT, "not there"),
    BAD(TEXTS("\x91\xa3" "def", "\x93\x00\x00\x00"), LEFT_OUT, "beyond the end"),
    BAD(TEXTS("\x91\xa3" "def", "\x93\x00\x01\x03"), LEFT_OUT, "beyond the end"),
    BAD(TEXTS("\x91\xa3" "def", "\x93\x00\x01\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), LEFT_OUT, "beyond the end"),
    BAD(FILES("\x91\x05"), LEFT_OUT, "not a map"),
    BAD(FILES("\x99" A_FILE A_FILE A_FILE A_FILE A_FILE A_FILE A_FILE A_FILE A_FILE), LEFT_OUT, "files have more"),
    BAD("\x84" KEY_FORMAT KEY_VERSION "\xa5" "texts" "\x91\xa3" "def" "\xa9" "functions" "\x99"
        A_DEF("0") A_DEF("1") A_DEF("2") A_DEF("3") A_DEF("4") A_DEF("5") A_DEF("6") A_DEF("7") A_DEF("8"),
        LEFT_OUT, "functions have more"),
    BAD(FILES("\x91\x81" KEY_TEXT "\x00"), LEFT_OUT, "\"files\" lacks"),
    BAD(FILES("\x91\x82" "\xa4" "file" "\xa1" "a" KEY_TEXT "\x01"), LEFT_OUT, "\"files\" lacks"),
    BAD(FILES("\x91\x82" "\xa4" "file" "\xa2" "a\0" KEY_TEXT "\x00"), LEFT_OUT, "\"files\" lacks"),
    /* other things than a profile */
    BAD("", CLP_EMPTY, NULL),
    BAD("\x80", CLP_NOT_A_PROFILE, "\"format\""),
    BAD("\x80\x06", CLP_NOT_A_PROFILE, "begin"),
    BAD("hello\n", CLP_NOT_A_PROFILE, "begin"),
    BAD("x", CLP_NOT_A_PROFILE, "map"),
    BAD("\x93\x01\x02\x03", CLP_NOT_A_PROFILE, "map"),
    BAD("\x89PNG\r\n\x1a\n", CLP_NOT_A_PROFILE, "begin"),
    BAD("\x81\x01\x02", CLP_NOT_A_PROFILE, "\"format\""),
    BAD("\x81\xa6" "format" "\xa9" "clineproF", CLP_NOT_A_PROFILE, "\"clineprof\""),
    BAD("\x81\xa6" "format" "\x01", CLP_NOT_A_PROFILE, "\"clineprof\""),
    /* the top map */
    BAD("\x81" KEY_FORMAT, CLP_CORRUPT, "\"version\" is missing"),
    BAD("\x82" KEY_FORMAT "\xa7" "version" "\xa1" "1", CLP_CORRUPT, "\"version\""),
    BAD("\x82" KEY_FORMAT "\xa7" "version" "\x00", CLP_CORRUPT, "\"version\""),
    BAD("\x82" KEY_FORMAT "\xa7" "version" "\xff", CLP_CORRUPT, "\"version\""),
    BAD("\x82" KEY_FORMAT "\xa7" "version" "\x02", CLP_TOO_NEW, "\"version\""),
    BAD("\x82" KEY_FORMAT KEY_VERSION, CLP_CORRUPT, "\"functions\" are missing"),
    BAD("\x83" KEY_FORMAT KEY_VERSION KEY_VERSION, CLP_CORRUPT, "twice"),
    BAD("\x83" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x80", CLP_CORRUPT, "not a list"),
    BAD(FILE_OF("\x84", "\xa5" "lines" "\x81" "\xa4" "line" "\x90") "\xc0", CLP_CORRUPT, "behind"),
    BAD(FILE_OF("\x85", "\xa5" "lines" "\x81" "\xa4" "line" "\x90" "\xae" "source_changed" "\x01"),
        LEFT_OUT, "\"source_changed\""),
    /* missed lines */
#define MISSED(value) FILE_OF("\x85", "\xa5" "lines" "\x81" "\xa4" "line" "\x90" "\xa6" "missed" value)
    BAD(MISSED("\x05"), LEFT_OUT, "\"missed\" of a function is not a list"),
    BAD(MISSED("\x91\xc0"), LEFT_OUT, "\"missed\" of a function are not"),
    BAD(MISSED("\x91\xff"), LEFT_OUT, "\"missed\" of a function are not"),
    BAD(MISSED("\x91\xce\x80\x00\x00\x00"), LEFT_OUT, "\"missed\" of a function are not"),
    BAD(MISSED("\x92\x03\x03"), LEFT_OUT, "\"missed\" of a function are not"),
    /* leaks */
#define LEAKS(value) FILE_OF("\x85", "\xa5" "lines" "\x81" "\xa4" "line" "\x90" \
                             "\xa5" "leaks" value)
#define LEAK(line, bytes, rest) \
    LEAKS("\x91\x85" "\xa4" "line" line "\xa5" "bytes" bytes rest)
    BAD(LEAKS("\x80"), LEFT_OUT, "\"leaks\""),
    BAD(LEAKS("\x91\x90"), LEFT_OUT, "not a map"),
    BAD(LEAKS("\x91\x80"), LEFT_OUT, "lacks"),
#define RATES(confidence) "\xae" "bytes_per_call" "\x00" "\xb0" "bytes_per_second" "\x00" \
                          "\xaa" "confidence" confidence
    BAD(LEAK("\xff", "\x00", RATES("\x00")), LEFT_OUT, "a leak holds"),
    BAD(LEAK("\x00", "\xff", RATES("\x00")), LEFT_OUT, "a leak holds"),
    BAD(LEAK("\x00", "\x00", RATES("\xca\x7f\xc0\x00\x00")), LEFT_OUT, "a leak holds"),
    BAD(LEAKS("\x91\x86" "\xa4" "line" "\x00" "\xa5" "bytes" "\x00" RATES("\x00") "\xa6" "margin" "\xff"),
        LEFT_OUT, "not a number in its range"),
    BAD(LEAKS("\x91\x86" "\xa4" "line" "\x00" "\xa5" "bytes" "\x00" RATES("\x00") "\xa6" "at_end" "\x01"),
        LEFT_OUT, "not a truth value"),
    BAD(LEAKS("\x91\x86" "\xa4" "line" "\x00" "\xa5" "bytes" "\x00" RATES("\x00") "\xa7" "held_by" "\x00"),
        LEFT_OUT, "\"held_by\" of a leak"),
    BAD(LEAKS("\x91\x86" "\xa4" "line" "\x00" "\xa5" "bytes" "\x00" RATES("\x00") "\xa7" "held_by" "\xa1\x00"),
        LEFT_OUT, "\"held_by\" of a leak"),
#undef RATES
#undef LEAK
#undef LEAKS
    BAD(FILE_OF("\x85", "\xa5" "lines" "\x81" "\xa4" "line" "\x90" "\xa8" "compiler" "\x01"),
        LEFT_OUT, "\"compiler\""),
    BAD(FILE_OF("\x85", "\xa5" "lines" "\x81" "\xa4" "line" "\x90" "\xa8" "compiled" "\x92\x01\x01"),
        LEFT_OUT, "\"compiled\""),
    BAD(FILE_OF("\x85", "\xa5" "lines" "\x81" "\xa4" "line" "\x90" "\xa8" "compiled" "\x93\x01\xff\x01"),
        LEFT_OUT, "\"compiled\""),
    /* processes */
#define PROCESSES(value) \
    BAD("\x84" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x90" "\xa9" "processes" value, \
        LEFT_OUT,
    PROCESSES("\x80") "\"processes\" is not a list"),
    PROCESSES("\x91\x90") "not a map"),
    PROCESSES("\x91\x81" "\xa3" "pid" "\xff") "a process holds"),
    PROCESSES("\x91\x81" "\xa5" "start" "\xa0") "a process holds"),
    PROCESSES("\x91\x81" "\xa4" "wall" "\xa0") "a process holds"),
    PROCESSES("\x91\x81" "\xa4" "name" "\x01") "\"name\" of a process"),
    PROCESSES("\x91\x81" "\xa7" "numbers" "\xa1" "a") "\"numbers\" of a process"),
#undef PROCESSES
    /* calls */
#define CALLS(value) BAD("\x84" KEY_FORMAT KEY_VERSION TWO_FUNCTIONS "\xa5" "calls" value, LEFT_OUT,
#define PARENTS(parents, functions) CALLS("\x82" "\xa8" "function" functions "\xa6" "parent" parents)
#define NUMBER(name, value) CALLS("\x82" "\xa8" "function" "\x91\x00" name "\x91" value)
    CALLS("\x90") "not a map"),
    CALLS("\x80") "\"function\" of \"calls\" is missing"),
    CALLS("\x81" "\xa8" "function" "\x01") "\"function\" of \"calls\" is missing or not a list"),
    CALLS("\x81" "\xa8" "function" "\x91\xc0") "\"function\" of \"calls\" holds"),
    CALLS("\x81" "\xa8" "function" "\x91\xfe") "\"function\" of \"calls\" holds"),
    CALLS("\x81" "\xa8" "function" "\x91\xce\xff\xff\xff\xff") "\"function\" of \"calls\" holds"),
    CALLS("\x81" "\xa8" "function" "\x91\x02") "a call of a function that is not listed"),
    CALLS("\x81" "\xa8" "function" "\x92\x00\x00") "a call that was listed before"),
    CALLS("\x82" "\xa8" "function" "\x90" "\xa3" "cut" "\xff") "\"cut\""),
    CALLS("\x82" "\xa8" "function" "\x90" "\xa4" "time" "\x00") "\"time\" of \"calls\" is not a list"),
    CALLS("\x82" "\xa8" "function" "\x90" "\xa4" "time" "\x91\x00") "equally long"),
    PARENTS("\x92\x00\x02", "\x92\x00\x01") "a call stands before"),
    PARENTS("\x92\x01\x00", "\x92\x00\x01") "a call stands before"),
    PARENTS("\x92\x00\xce\xff\xff\xff\xff", "\x92\x00\x01") "\"parent\" of \"calls\" holds"),
    PARENTS("\x92\x00\x01", "\x92\xff\x01") "from calls that were joined"),
    PARENTS("\x94\x00\x01\x02\x03", "\x94\x00\x01\x00\x01") "a call from a call that is recursion"),
    NUMBER("\xa4" "line", "\xff") "\"line\" of \"calls\" holds"),
    NUMBER("\xa4" "line", "\xce\x80\x00\x00\x00") "\"line\" of \"calls\" holds"),
    NUMBER("\xa7" "through", "\x02") "\"through\" of \"calls\" holds"),
    NUMBER("\xa5" "calls", "\xff") "\"calls\" of \"calls\" holds"),
    NUMBER("\xa4" "time", "\xff") "\"time\" of \"calls\" holds"),
    NUMBER("\xa5" "again", "\xa0") "\"again\" of \"calls\" holds"),
    NUMBER("\xa9" "increment", "\xcf\x80\x00\x00\x00\x00\x00\x00\x00") "\"increment\" of \"calls\" holds"),
#undef NUMBER
#undef PARENTS
#undef CALLS
    /* the timeline */
#define TIMELINE(value) \
    BAD("\x84" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x90" "\xa8" "timeline" value, \
        LEFT_OUT,
    TIMELINE("\x80") "\"timeline\" is not a list"),
    TIMELINE("\x91\x90") "not a map"),
    TIMELINE("\x91\x80") "\"time\""),
    TIMELINE("\x91\x82" "\xa4" "time" "\x90" "\xa3" "rss" "\x91\x00") "equally long"),
    TIMELINE("\x91\x82" "\xa4" "time" "\x91\xff" "\xa3" "rss" "\x91\x00") "a sample"),
    TIMELINE("\x91\x82" "\xa4" "time" "\x91\x00" "\xa3" "rss" "\x91\xff") "a sample"),
    TIMELINE("\x91\x82" "\xa4" "time" "\x92\x02\x01" "\xa3" "rss" "\x92\x00\x00") "ascending"),
#define MARKS(value) TIMELINE("\x91\x83" "\xa4" "time" "\x90" "\xa3" "rss" "\x90" "\xa5" "marks" value)
#define MARK(file, line, level, enter, leave) \
    MARKS("\x91\x86" "\xa4" "file" file "\xa4" "line" line "\xa4" "name" "\xa1" "f" \
          "\xa5" "level" level "\xa5" "enter" enter "\xa5" "leave" leave)
    MARKS("\x80") "\"marks\""),
    MARKS("\x91\x90") "not a map"),
    MARKS("\x91\x80") "a mark lacks"),
    MARK("\x00", "\x01", "\x00", "\x00", "\x00") "a mark holds"),
    MARK("\xa1" "a", "\xff", "\x00", "\x00", "\x00") "a mark holds"),
    MARK("\xa1" "a", "\x01", "\xff", "\x00", "\x00") "a mark holds"),
    MARK("\xa1" "a", "\x01", "\x00", "\x00", "\xc0") "a mark holds"),
    MARK("\xa1" "a", "\x01", "\x00", "\x02", "\x01") "a mark holds"),
#undef MARK
#undef MARKS
    TIMELINE("\x91\x83" "\xa3" "pid" "\xff" "\xa4" "time" "\x90" "\xa3" "rss" "\x90") "\"pid\""),
#undef TIMELINE
#define UNIT(value) \
    BAD("\x84" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x90" "\xa4" "unit" value, \
        CLP_CORRUPT, "\"unit\"")
    UNIT("\x00"),
    UNIT("\xff"),
    UNIT("\xa4" "1e-9"),
    UNIT("\xca\x7f\x80\x00\x00"), /* infinity */
    UNIT("\xca\x7f\xc0\x00\x00"), /* not a number */
    UNIT("\xca\xbf\x80\x00\x00"), /* -1 */
#undef UNIT
    /* functions */
    BAD(FILE_START "\x01", LEFT_OUT, "not a map"),
    BAD(FILE_START "\x80", LEFT_OUT, "\"file\""),
    BAD(FILE_START "\x81" "\xa4" "file" "\x01", LEFT_OUT, "\"file\""),
    BAD(FILE_START "\x81" "\xa4" "file" "\xa3" "a\0b", LEFT_OUT, "\"file\""),
    BAD(FILE_START "\x81" "\xa4" "file" "\xc4\x01" "a", LEFT_OUT, "\"file\""),
    BAD(FILE_START "\x81" "\xa4" "file" "\xa1" "a", LEFT_OUT, "\"line\""),
    BAD(FILE_START "\x82" "\xa4" "file" "\xa1" "a" "\xa4" "line" "\xff", LEFT_OUT, "\"line\""),
    BAD(FILE_START "\x82" "\xa4" "file" "\xa1" "a" "\xa4" "line" "\xce\x80\x00\x00\x00",
        LEFT_OUT, "\"line\""),
    BAD(FILE_START "\x82" "\xa4" "file" "\xa1" "a" "\xa4" "line" "\x01", LEFT_OUT, "\"name\""),
    BAD(FILE_START "\x83" "\xa4" "file" "\xa1" "a" "\xa4" "line" "\x01" "\xa4" "name" "\xa1" "\0",
        LEFT_OUT, "\"name\""),
    BAD(FILE_OF("\x83", ""), LEFT_OUT, "\"lines\""),
    BAD(FILE_OF("\x84", "\xa4" "name" "\xa1" "g"), LEFT_OUT, "same key twice"),
    BAD(FILE_OF("\x84", "\xa5" "lines" "\x90"), LEFT_OUT, "not a map"),
    BAD(FILE_OF("\x85", "\xa5" "lines" "\x81" "\xa4" "line" "\x90" "\xa5" "total" "\xff"),
        LEFT_OUT, "\"total\""),
    BAD(FILE_OF("\x85", "\xa5" "lines" "\x81" "\xa4" "line" "\x90" "\xa9" "raw_total" "\xc0"),
        LEFT_OUT, "\"raw_total\""),
    BAD("\x83" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x92"
        "\x84" FUNCTION_KEY "\xa5" "lines" "\x81" "\xa4" "line" "\x90"
        "\x84" FUNCTION_KEY "\xa5" "lines" "\x81" "\xa4" "line" "\x90",
        LEFT_OUT, "listed before"),
    /* lines */
    BAD(FILE_OF("\x84", "\xa5" "lines" "\x80"), LEFT_OUT, "\"line\" is missing"),
    BAD(LINES_OF("\x81", "\x05"), LEFT_OUT, "\"line\" is missing or not a list"),
    BAD(LINES_OF("\x81", "\x91\xff"), LEFT_OUT, "line number"),
    BAD(LINES_OF("\x81", "\x91\xce\x80\x00\x00\x00"), LEFT_OUT, "line number"),
    BAD(LINES_OF("\x81", "\x91\xa1" "5"), LEFT_OUT, "line number"),
    BAD(LINES_OF("\x81", "\x92\x05\x05"), LEFT_OUT, "ascending"),
    BAD(LINES_OF("\x81", "\x92\x05\x04"), LEFT_OUT, "ascending"),
    BAD(LINES_OF("\x82", "\x91\x05" "\xa4" "hits" "\x05"), LEFT_OUT, "\"hits\" is not a list"),
    BAD(LINES_OF("\x82", "\x91\x05" "\xa4" "hits" "\x90"), LEFT_OUT, "\"hits\" and \"line\""),
    BAD(LINES_OF("\x82", "\x91\x05" "\xa4" "time" "\x92\x01\x02"), LEFT_OUT, "\"time\" and"),
    BAD(LINES_OF("\x82", "\x91\x05" "\xa4" "hits" "\x91\xff"), LEFT_OUT, "\"hits\" holds"),
    BAD(LINES_OF("\x82", "\x91\x05" "\xa3" "rss" "\x91\xc0"), LEFT_OUT, "\"rss\" holds"),
    BAD(LINES_OF("\x82", "\x91\x05" "\xa4" "time" "\x91\xca\x3f\x80\x00\x00"), LEFT_OUT,
        "\"time\" holds"),
    BAD(LINES_OF("\x82", "\x91\x05" "\xa7" "largest" "\x91\xcf\x80\x00\x00\x00\x00\x00\x00\x00"),
        LEFT_OUT, "\"largest\" holds"),
    /* a time of 2 to the 63rd in seconds; and 1e308 seconds per tick, infinite in nanoseconds */
    BAD("\x84" KEY_FORMAT KEY_VERSION "\xa4" "unit" "\x01" "\xa9" "functions" "\x91" "\x84"
        FUNCTION_KEY "\xa5" "lines" "\x82" "\xa4" "line" "\x91\x05"
        "\xa4" "time" "\x91\xcf\x80\x00\x00\x00\x00\x00\x00\x00", LEFT_OUT, "\"time\" holds"),
    BAD("\x84" KEY_FORMAT KEY_VERSION "\xa4" "unit" "\xcb\x7f\xe1\xcc\xf3\x85\xeb\xc8\xa0"
        "\xa9" "functions" "\x91" "\x84" FUNCTION_KEY "\xa5" "lines" "\x82" "\xa4" "line" "\x91\x05"
        "\xa3" "max" "\x91\x00", LEFT_OUT, "\"max\" holds"),
    /* source */
#define SOURCE(rest) \
    BAD("\x84" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x91" "\x84" FUNCTION_KEY \
        "\xa5" "lines" "\x81" "\xa4" "line" "\x90" "\xa6" "source" rest
    SOURCE("\x80"), LEFT_OUT, "\"source\" is not a list"),
    SOURCE("\x91\xc0"), LEFT_OUT, "not a map"),
    SOURCE("\x91\x83" FUNCTION_KEY), LEFT_OUT, "\"text\""),
    SOURCE("\x91\x84" FUNCTION_KEY "\xa4" "text" "\x01"), LEFT_OUT, "\"text\""),
    SOURCE("\x91\x84" "\xa4" "file" "\xa1" "?" "\xa4" "line" "\x03" "\xa4" "name" "\xa1" "f"
           "\xa4" "text" "\xa1" "x"), LEFT_OUT, "not listed"),
    SOURCE("\x92\x84" FUNCTION_KEY "\xa4" "text" "\xa1" "x"
           "\x84" FUNCTION_KEY "\xa4" "text" "\xa1" "x"), LEFT_OUT, "twice"),
#undef SOURCE
    /* meta */
#define META(rest) \
    BAD("\x84" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x90" "\xa4" "meta" rest, LEFT_OUT, \
        "meta")
    META("\x81" "\xa3" "pid" "\xff"),
    META("\x81" "\xa6" "python" "\x03"),
    META("\x81" "\xa6" "python" "\xa2" "3\0"),
    META("\x81" "\xa4" "wall" "\xca\x3f\x80\x00\x00"),
    META("\x81" "\xaa" "has_memory" "\x01"),
    META("\x81" "\xa5" "start" "\xa1" "0"),
    META("\x81" "\xa5" "start" "\xca\x7f\xc0\x00\x00"),
#undef META
    BAD("\x84" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x90" "\xa4" "meta" "\x90", LEFT_OUT,
        "not a map"),
    /* headers that promise what is not there */
    BAD("\xdf\xff\xff\xff\xff" KEY_FORMAT, CLP_NOT_A_PROFILE, "begin"),
    BAD("\x8f" KEY_FORMAT, CLP_TRUNCATED, NULL),
    BAD("\x83" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\xdd\xff\xff\xff\xff", CLP_TRUNCATED,
        "more values than bytes"),
    BAD("\x83" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\xdf\xff\xff\xff\xff" "\x01\x02",
        CLP_TRUNCATED, "more values than bytes"),
    BAD("\x83" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\xde\x00\x01" "\x01", CLP_TRUNCATED,
        "more values than bytes"),
    BAD(LINES_OF("\x81", "\xdd\x00\x00\x00\x05" "\x01\x02\x03\x04"), CLP_TRUNCATED,
        "more values than bytes"),
    BAD("\x83" KEY_FORMAT KEY_VERSION "\xdb\xff\xff\xff\xff" "abc", CLP_TRUNCATED, "text"),
    BAD("\x83" KEY_FORMAT KEY_VERSION "\xc6\xff\xff\xff\xff" "abc", CLP_TRUNCATED, "text"),
    BAD("\x83" KEY_FORMAT KEY_VERSION "\xc9\xff\xff\xff\xff" "abc", CLP_TRUNCATED, "text"),
    BAD("\x83" KEY_FORMAT KEY_VERSION "\x01" "\xcf\x00", CLP_TRUNCATED, "within"),
    BAD("\x83" KEY_FORMAT KEY_VERSION "\x01" "\xc1", CLP_CORRUPT, "does not use"),
    BAD("\x83" KEY_FORMAT KEY_VERSION "\x01" DEEP4 DEEP4 DEEP4 "\x91\x91\x90", CLP_CORRUPT, "deep"),
};

static void check_same_rows(const struct clp_profile *there,
                            const struct clp_profile_function *packed,
                            const struct clp_profile_function *expected)
{
    struct clp_wire_rows rows;

    clp_wire_rows_start(&rows, there, packed);
    for (size_t i = 0; i < expected->line_count; i++, clp_wire_rows_next(&rows)) {
        cr_assert_not_null(rows.at);
        cr_assert_eq(rows.at->line, expected->lines[i].line);
        cr_assert(test_same_measures(&rows.at->measures, &expected->lines[i].measures));
    }
    cr_assert_null(rows.at);
}

/* Read in place the bytes are what `profile` and `fault` say of them. */
static void check_in_place(const char *bytes, size_t count, clp_status status)
{
    struct clp_profile there;
    struct clp_fault other;
    struct clp_buf copy;

    clp_buf_init(&copy, &test.mem);
    clp_buf_add(&copy, bytes, count);
    clp_profile_init(&there, &test.mem);
    cr_assert_eq(clp_wire_decode_in_place(&copy, &there, &other), status);
    cr_assert_eq(other.offset, fault.offset);
    cr_assert_eq(other.reason, fault.reason);
    cr_assert_eq(there.left_out_count, profile.left_out_count);
    cr_assert_str_eq(clp_buf_text(&there.left_out), clp_buf_text(&profile.left_out));
    cr_assert_eq(there.function_count, profile.function_count);
    for (size_t i = 0; i < there.function_count; i++) {
        const struct clp_profile_function *a = &there.functions[i], *b = &profile.functions[i];
        cr_assert_str_eq(a->file, b->file);
        cr_assert_str_eq(a->name, b->name);
        cr_assert_eq(a->total, b->total);
        cr_assert_eq(a->raw_total, b->raw_total);
        cr_assert_eq(a->leak_count, b->leak_count);
        cr_assert_eq(a->line_count, b->line_count);
        cr_assert_eq(a->source_bytes, b->source_bytes);
        cr_assert(b->source == NULL || memcmp(a->source, b->source, b->source_bytes) == 0);
        check_same_rows(&there, a, b);
    }
    clp_profile_clear(&there);
    clp_buf_clear(&copy);
}

Test(wire, bad_files_are_told_by_name)
{
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        const struct bad *bad = &bad_files[i];
        clp_status status = clp_wire_decode(bad->bytes, bad->count, &profile, &fault);
        cr_expect_eq(status, bad->status, "bad file %zu: %s, %s", i, clp_status_text(status),
                     fault.reason);
        cr_expect_eq(fault.status, status);
        cr_expect_leq(fault.offset, bad->count);
        const char *told = status == LEFT_OUT ? clp_buf_text(&profile.left_out) : fault.reason;
        cr_expect(bad->reason == NULL || (told != NULL && strstr(told, bad->reason) != NULL),
                  "bad file %zu: the reason is %s", i, told);
        cr_expect_eq(profile.left_out_count != 0, status == LEFT_OUT);
        cr_expect(status == LEFT_OUT || profile.function_count == 0);
        test_check_profile(&profile);
        check_in_place(bad->bytes, bad->count, status);
        clp_profile_clear(&profile);
        test_mem_check_empty(&test);
    }
}

#define LIST_OF(text) "\xa4" "line" "\x92\x04\x05" "\xa4" "hits" text

/* Of two functions the first has a wrong part; the calls are whole. */
#define TWO_AND_CALLS(first) \
    "\x84" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x92" first "\x84" "\xa4" "file" "\xa4" "b.py" "\xa4" "line" "\x01" \
    "\xa4" "name" "\xa1" "g" "\xa5" "lines" "\x82" LIST_OF("\x92\x01\x02") \
    "\xa5" "calls" "\x83" "\xa8" "function" "\x92\x00\x01" "\xa6" "parent" "\x92\x00\x01" "\xa5" "calls" "\x92\x03\x03"

Test(wire, the_rest_of_a_function_is_read)
{
    cr_assert_eq(DECODE(TWO_AND_CALLS("\x87" FUNCTION_KEY "\xa5" "lines" "\x82" LIST_OF("\x92\x07\x08") "\xa5" "total" "\x09"
                                      "\xa6" "missed" "\x92\x06\x03" "\xa8" "compiler" "\xa5" "numba")), CLP_OK);
    const struct clp_profile_function *function = &profile.functions[0];
    cr_expect_eq(profile.left_out_count, 1);
    cr_expect_not_null(strstr(clp_buf_text(&profile.left_out), "; function f of a.py is read without this part"));
    cr_expect_eq(function->missed_count, 0);
    cr_assert_eq(function->line_count, 2);
    cr_expect_eq(function->lines[1].measures.hits, 8);
    cr_expect_eq(function->total, 9);
    cr_expect_str_eq(function->compiler, "numba");
    cr_assert_eq(profile.function_count, 2);
    cr_expect_eq(profile.functions[1].lines[1].measures.hits, 2);
    cr_expect_eq(profile.call_count, 2);
}

/* A column is no use without the others. */
Test(wire, wrong_lines_leave_what_is_beside_them)
{
    cr_assert_eq(DECODE(TWO_AND_CALLS("\x86" FUNCTION_KEY "\xa5" "lines" "\x82" LIST_OF("\x92\x07\xc0") "\xa5" "total" "\x09"
                                      "\xa6" "missed" "\x91\x06")), CLP_OK);
    cr_expect_eq(profile.left_out_count, 1);
    cr_expect_eq(profile.functions[0].line_count, 0);
    cr_expect_eq(profile.functions[0].missed_count, 1);
    cr_expect_eq(profile.functions[0].total, 9);
    cr_expect_eq(profile.call_count, 2);
}

/* Calls name functions by number: without one they would be those of others. */
Test(wire, calls_go_with_a_function_that_cannot_be_named)
{
    cr_assert_eq(DECODE(TWO_AND_CALLS("\x81" "\xa4" "file" "\xa4" "a.py")), CLP_OK);
    cr_expect_eq(profile.left_out_count, 2);
    cr_assert_eq(profile.function_count, 1);
    cr_expect_str_eq(profile.functions[0].name, "g");
    cr_expect_eq(profile.call_count, 0);
}

Test(wire, as_deep_as_allowed_is_allowed)
{
    cr_assert_eq(DECODE("\x84" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x90"
                        "\x01" DEEP4 DEEP4 DEEP4 "\x91\x90"), CLP_OK);
}

Test(wire, a_million_levels_do_not_reach_the_stack)
{
    clp_buf_add_text(&out, "\x83" KEY_FORMAT KEY_VERSION "\xa4" "deep");
    clp_buf_add_repeated(&out, '\x91', 1000000);
    clp_buf_add_text(&out, "\x01");
    cr_assert_eq(clp_wire_decode(out.bytes, out.used, &profile, &fault), CLP_CORRUPT);
    cr_assert_eq(fault.offset, 1 + 17 + 9 + 5 + 14);
}

Test(wire, the_offset_points_at_the_function)
{
    static const char good[] = "\x84" FUNCTION_KEY "\xa5" "lines" "\x81" "\xa4" "line" "\x90";
    size_t start;

    clp_buf_add_text(&out, "\x83" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\x92");
    clp_buf_add(&out, good, sizeof good - 1);
    start = out.used;
    clp_buf_add(&out, good, sizeof good - 1);
    cr_assert_eq(clp_wire_decode(out.bytes, out.used, &profile, &fault), CLP_OK);
    cr_assert_eq(profile.left_out_count, 1);
    char told[32];
    (void)snprintf(told, sizeof told, "damaged at byte %zu: ", start);
    cr_assert_eq(strncmp(clp_buf_text(&profile.left_out), told, strlen(told)), 0);
}

/* Memory stays in proportion to the file, whatever it says. Lines without measures are the worst
 * there is: a byte each. (msgpack-c's own memory is not counted here; it holds one function at a
 * time.) */
Test(wire, memory_is_bounded_by_the_size_of_the_file)
{
    enum { FUNCTIONS = 200, LINES = 128 };

    clp_buf_add_text(&out, "\x83" KEY_FORMAT KEY_VERSION "\xa9" "functions" "\xdc");
    clp_buf_add(&out, "\x00\xc8", 2);
    for (int i = 0; i < FUNCTIONS; i++) {
        clp_buf_add_format(&out, "\x84" "\xa4" "file" "\xa4" "a.py" "\xa4" "line" "\x03"
                                 "\xa4" "name" "\xa3" "%03d" "\xa5" "lines" "\x81"
                                 "\xa4" "line", i);
        clp_buf_add(&out, "\xdc\x00\x80", 3);
        for (int line = 0; line < LINES; line++)
            clp_buf_add(&out, &(char){(char)line}, 1);
    }
    size_t before = test.mem.bytes;
    cr_assert_eq(clp_wire_decode(out.bytes, out.used, &profile, &fault), CLP_OK, "%s",
                 fault.reason);
    cr_assert_eq(profile.function_count, FUNCTIONS);
    cr_assert_eq(profile.functions[FUNCTIONS - 1].line_count, LINES);
    cr_assert_lt(profile.mem->peak - before, 2 * sizeof(struct clp_profile_line) * out.used);
    check_in_place(out.bytes, out.used, CLP_OK);
}

/* Texts that are compressed as much, and shared as much, as they may be: read, and copied by a merge. */
Test(wire, memory_for_texts_is_bounded_by_the_size_of_the_file)
{
    enum { BYTES = 40000 };
    char *text = malloc(BYTES), name[8];
    struct clp_profile sum;
    uint32_t random = 1;

    for (size_t i = 0; i < BYTES; i++) { /* is compressed to a fourteenth */
        random = random * 1103515245 + 12345;
        text[i] = (random >> 16) % 40 != 0 ? ' ' : (char)('a' + (random >> 24) % 4);
    }
    for (int i = 0; i < CLP_WIRE_MOST_PARTS; i++) {
        snprintf(name, sizeof name, "%d", i);
        struct clp_profile_function *function = add(&profile, "a.py", name, 1);
        cr_assert_eq(clp_profile_set_source(&profile, function, text, BYTES), CLP_OK);
    }
    free(text);
    cr_assert_eq(clp_wire_encode(&profile, &out), CLP_OK);
    cr_assert(out.used > BYTES / CLP_WIRE_MOST_RATIO && out.used < BYTES / (CLP_WIRE_MOST_RATIO / 2), "%zu", out.used);
    clp_profile_clear(&profile);
    cr_assert_eq(clp_wire_decode(out.bytes, out.used, &profile, &fault), CLP_OK, "%s", fault.reason);
    clp_profile_init(&sum, &test.mem);
    cr_assert_eq(clp_profile_merge(&sum, &profile), CLP_OK);
    cr_assert_lt(test.mem.bytes - out.used, 300 * out.used);
    clp_profile_clear(&sum);
}

/* The same file: its bytes, and an entry for each function. */
Test(wire, what_is_read_in_place_takes_little_more_than_the_file)
{
    enum { FUNCTIONS = 200, LINES = 1000 };

    for (int i = 0; i < FUNCTIONS; i++) {
        struct clp_profile_function *function;
        char name[8];
        (void)snprintf(name, sizeof name, "%d", i);
        cr_assert_eq(clp_profile_add_function(&profile, "a.py", name, 1, &function), CLP_OK);
        for (int line = 1; line <= LINES; line++)
            cr_assert_eq(clp_profile_add_line(&profile, function, line,
                                              &(struct clp_measures){.hits = 1}), CLP_OK);
    }
    cr_assert_eq(clp_wire_encode(&profile, &out), CLP_OK);
    size_t count = out.used, before = test.mem.bytes;
    struct clp_profile there;
    clp_profile_init(&there, &test.mem);
    test.mem.peak = before;
    cr_assert_eq(clp_wire_decode_in_place(&out, &there, &fault), CLP_OK);
    cr_expect_eq(out.used, 0, "the profile has them");
    cr_expect_lt(test.mem.peak - before, count / 5);
    for (int i = 0; i < FUNCTIONS; i++)
        check_same_rows(&there, &there.functions[i], &profile.functions[i]);
    cr_expect_lt(test.mem.peak - before, count / 5);
    clp_profile_clear(&there);
}

/* ---- damage ---- */

/* What can be read must be a whole profile, and be read again the same. */
static void decode_anything(const char *bytes, size_t count)
{
    struct clp_profile again;
    struct clp_buf copy;
    size_t held = test.mem.bytes;

    fault.status = CLP_STATUS_COUNT;
    clp_status status = clp_wire_decode(bytes, count, &profile, &fault);
    cr_assert_eq(fault.status, status);
    cr_assert_leq(fault.offset, count);
    check_in_place(bytes, count, status);
    if (status == CLP_OK) {
        test_check_profile(&profile);
        clp_buf_init(&copy, &test.mem);
        clp_profile_init(&again, &test.mem);
        cr_assert_eq(clp_wire_encode(&profile, &copy), CLP_OK);
        cr_assert_eq(clp_wire_decode(copy.bytes, copy.used, &again, &fault), CLP_OK);
        cr_assert_eq(again.left_out_count, 0, "%s", clp_buf_text(&again.left_out));
        cr_assert(test_same_profile(&profile, &again));
        clp_buf_clear(&copy);
        clp_profile_clear(&again);
        clp_profile_clear(&profile);
    }
    cr_assert_eq(test.mem.bytes, held, "%zu bytes leaked", test.mem.bytes - held);
}

static void encode_full(void)
{
    fill(&profile);
    cr_assert_eq(clp_wire_encode(&profile, &out), CLP_OK);
    clp_profile_clear(&profile);
}

Test(wire, every_truncation_is_noticed)
{
    encode_full();
    for (size_t count = 1; count < out.used; count++) {
        char *exact = malloc(count); /* so that a sanitizer sees a read behind the end */
        memcpy(exact, out.bytes, count);
        cr_assert_eq(clp_wire_decode(exact, count, &profile, &fault), CLP_TRUNCATED,
                     "cut at %zu: %s, %s", count, clp_status_text(fault.status), fault.reason);
        free(exact);
    }
}

#if defined __has_feature /* clang */
#if __has_feature(address_sanitizer)
#define UNDER_ADDRESS_SANITIZER
#endif
#elif defined __SANITIZE_ADDRESS__
#define UNDER_ADDRESS_SANITIZER
#endif

/* Each value is tried at every STEPth byte only: all would take minutes, and an hour under a tool. */
#ifdef CLP_PLAIN_CRITERION_H
#define STEP 61
#elif defined UNDER_ADDRESS_SANITIZER
#define STEP 23
#else
#define STEP 17
#endif

Test(wire, every_changed_byte_is_survived)
{
    encode_full();
    for (size_t i = 0; i < out.used; i++) {
        char before = out.bytes[i];
        for (int value = (int)(i % STEP); value < 256; value += STEP) {
            out.bytes[i] = (char)value;
            decode_anything(out.bytes, out.used);
        }
        out.bytes[i] = before;
    }
}

Test(wire, out_of_memory_anywhere_leaves_the_profile_empty)
{
    size_t fail_at = 0;
    bool failed;

    encode_full();
    do {
        struct test_mem failing;
        struct clp_profile to;
        clp_profile_init(&to, test_mem_init(&failing, ++fail_at));
        clp_status status = clp_wire_decode(out.bytes, out.used, &to, &fault);
        failed = test_mem_failed(&failing);
        cr_assert_eq(status, failed ? CLP_NO_MEMORY : CLP_OK);
        cr_assert_eq(fault.status, status);
        cr_assert(!failed || to.function_count == 0);
        if (failed)
            test_mem_check_empty(&failing);
        clp_profile_clear(&to);
        test_mem_check_empty(&failing);
    } while (failed);
    cr_assert_gt(fail_at, 15);
}

Test(wire, out_of_memory_while_writing_is_said)
{
    size_t fail_at = 0;
    bool failed;

    fill(&profile);
    do {
        struct test_mem failing;
        struct clp_buf to;
        clp_buf_init(&to, test_mem_init(&failing, ++fail_at));
        clp_status status = clp_wire_encode(&profile, &to);
        failed = test_mem_failed(&failing);
        cr_assert_eq(status, failed ? CLP_NO_MEMORY : CLP_OK);
        clp_buf_clear(&to);
        test_mem_check_empty(&failing);
    } while (failed);
    cr_assert_gt(fail_at, 3);
}
