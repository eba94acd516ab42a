/* SPDX-License-Identifier: MIT */
/* Files are written by hand here, instruction by instruction, or taken from Python's own pickler; in
 * the texts below "\x8c\x01" "f" is a text of one byte. */
#include "helpers.h"
#include "formats/pickle/pickle.h"
#include "formats/pickle/unpickle.h"
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

TestSuite(pickle, .init = set_up, .fini = tear_down);

#define DECODE(text) clp_pickle_decode(text, sizeof(text) - 1, &profile, &fault)

/* LineStats, up to the dict that its timings are put into. */
#define START_OF(module) "\x80\x04\x8c" module "\x8c\x09" "LineStats" "\x93)\x81}("
#define START START_OF("\x1c" "line_profiler._line_profiler")
#define TIMINGS "\x8c\x07" "timings"
#define UNIT "\x8c\x04" "unit"
#define NANO "G\x3e\x11\x2e\x0b\xe8\x26\xd6\x95"
#define END UNIT NANO "ub."
#define KEY "\x8c\x04" "a.py" "K\x03" "\x8c\x01" "f" "\x87"
/* A whole file around the lines of one function. */
#define FILE_OF(lines) START TIMINGS "}" KEY lines "s" END

static void check_one(const char *file, const char *name, int32_t first_line, size_t lines)
{
    cr_assert_eq(profile.function_count, 1);
    cr_assert_str_eq(profile.functions[0].file, file);
    cr_assert_str_eq(profile.functions[0].name, name);
    cr_assert_eq(profile.functions[0].first_line, first_line);
    cr_assert_eq(profile.functions[0].line_count, lines);
    test_check_profile(&profile);
}

static void check_line(size_t place, int32_t line, uint64_t hits, uint64_t time)
{
    const struct clp_profile_line *found = &profile.functions[0].lines[place];
    struct clp_measures expected = {.hits = hits, .time = time, .raw_time = time};

    cr_expect_eq(found->line, line);
    cr_expect(test_same_measures(&found->measures, &expected), "line %d", line);
}

/* ---- what Python writes ---- */

/* pickle.dumps(LineStats({("a.py", 3, "f"): [(4, 2, 70000), (5, 300, 1 << 40)]}, 1e-9), N) */
static const struct written {
    const char *bytes;
    size_t count;
} written[] = {
#define WRITTEN(text) {text, sizeof(text) - 1}
    WRITTEN("ccopy_reg\n_reconstructor\np0\n(cline_profiler._line_profiler\nLineStats\np1\n"
            "c__builtin__\nobject\np2\nNtp3\nRp4\n(dp5\nVtimings\np6\n(dp7\n(Va.py\np8\nI3\nVf\np9\n"
            "tp10\n(lp11\n(I4\nI2\nI70000\ntp12\na(I5\nI300\nL1099511627776L\ntp13\nassVunit\np14\n"
            "F1e-09\nsb."),
    WRITTEN("ccopy_reg\n_reconstructor\nq\0(cline_profiler._line_profiler\nLineStats\nq\1"
            "c__builtin__\nobject\nq\2Ntq\3Rq\4}q\5(X\7\0\0\0timingsq\6}q\7(X\4\0\0\0a.pyq\10K\3"
            "X\1\0\0\0fq\11tq\12]q\13((K\4K\2Jp\21\1\0tq\14(K\5M,\1L1099511627776L\ntq\15es"
            "X\4\0\0\0unitq\16G>\21.\13\350&\326\225ub."),
    WRITTEN("\200\2cline_profiler._line_profiler\nLineStats\nq\0)\201q\1}q\2(X\7\0\0\0timingsq\3}q\4"
            "X\4\0\0\0a.pyq\5K\3X\1\0\0\0fq\6\207q\7]q\10(K\4K\2Jp\21\1\0\207q\11K\5M,\1"
            "\212\6\0\0\0\0\0\1\207q\12esX\4\0\0\0unitq\13G>\21.\13\350&\326\225ub."),
    WRITTEN("\200\005\225\177\000\000\000\000\000\000\000\214\033line_profiler.line_profiler"
            "\224\214\011LineStats\224\223\224)\201\224}\224(\214\007timings\224}\224\214\004"
            "a.py\224K\003\214\001f\224\207\224]\224(K\004K\002Jp\021\001\000\207\224K\005M,"
            "\001\212\006\000\000\000\000\000\001\207\224es\214\004unit\224G>\021.\013\350&"
            "\326\225ub."),
    /* Python 2, whose texts are bytes */
    WRITTEN("\200\2c_line_profiler\nLineStats\nq\1)\201q\2}q\3(U\4unitq\4G>\21.\13\350&\326\225"
            "U\7timingsq\5}q\6U\4a.pyq\7K\3U\1f\207q\10]q\11(K\4K\2Jp\21\1\0\207q\nK\5M,\1"
            "\212\6\0\0\0\0\0\1\207q\13esub."),
    WRITTEN("ccopy_reg\n_reconstructor\np0\n(c_line_profiler\nLineStats\np1\n"
            "c__builtin__\nobject\np2\nNtRp3\n(dp4\nS'timings'\np5\n(dp6\n(S'a.py'\nI3\nS'f'\n"
            "t(lp7\n(I4\nI2\nI70000\nta(I5\nI300\nI1099511627776\ntassS'unit'\nF1.0000000000000001e-09\nsb."),
};

Test(pickle, every_protocol_says_the_same)
{
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        cr_assert(clp_pickle_is(written[i].bytes, written[i].count), "%zu", i);
        cr_assert_eq(clp_pickle_decode(written[i].bytes, written[i].count, &profile, &fault),
                     CLP_OK, "%zu: %s at %zu", i, fault.reason, (size_t)fault.offset);
        check_one("a.py", "f", 3, 2);
        check_line(0, 4, 2, 70000);
        check_line(1, 5, 300, UINT64_C(1) << 40);
        cr_expect_eq(profile.functions[0].total, (UINT64_C(1) << 40) + 70000);
        cr_expect_eq(profile.functions[0].raw_total, profile.functions[0].total);
        cr_expect_not(profile.meta.has_memory);
        cr_expect_null(profile.functions[0].source);
        clp_profile_clear(&profile);
    }
}

Test(pickle, every_cut_is_told)
{
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        for (size_t count = 1; count < written[i].count; count++) {
            char *copy = malloc(count); /* its end is watched by a sanitizer */
            memcpy(copy, written[i].bytes, count);
            cr_assert_eq(clp_pickle_decode(copy, count, &profile, &fault), CLP_TRUNCATED,
                         "%zu cut at %zu: %s", i, count, fault.reason);
            cr_assert_leq(fault.offset, count);
            free(copy);
        }
    }
}

Test(pickle, all_modules_the_class_was_in)
{
    static const char *const modules[] = {"\x0e" "_line_profiler", "\x0d" "line_profiler",
                                          "\x1b" "line_profiler.line_profiler",
                                          "\x1c" "line_profiler._line_profiler"};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        out.used = 0;
        clp_buf_add_text(&out, "\x80\x04\x8c");
        clp_buf_add_text(&out, modules[i]);
        clp_buf_add(&out, START TIMINGS "}" END + 32, sizeof(START TIMINGS "}" END) - 33);
        cr_assert_eq(clp_pickle_decode(out.bytes, out.used, &profile, &fault), CLP_OK, "%zu: %s", i,
                     fault.reason);
    }
}

/* ---- numbers ---- */

Test(pickle, numbers_in_all_their_forms)
{
    cr_assert_eq(DECODE(FILE_OF("](K\x04K\xff" "M\xff\xff\x87" "K\x05" "\x8b\x01\0\0\0\x07"
                                "\x8a\0\x87" "K\x06I12\nL34L\n\x87" "K\x07" "K\x01"
                                "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0\x87"
                                "J\xff\xff\xff\x7f" "K\1F2.5\n\x87" "e")),
                 CLP_OK, "%s", fault.reason);
    check_one("a.py", "f", 3, 5);
    check_line(0, 4, 255, 65535);
    check_line(1, 5, 7, 0);
    check_line(2, 6, 12, 34);
    check_line(3, 7, 1, UINT64_MAX);
    check_line(4, INT32_MAX, 1, 3);
    cr_expect_eq(profile.functions[0].total, UINT64_MAX, "the sum stops at the end of its type");
}

Test(pickle, lines_in_any_order_and_twice)
{
    cr_assert_eq(DECODE(FILE_OF("](K\x09K\1K\x0a\x87K\4K\2K\x14\x87K\x09K\3K\x1e\x87" "e")), CLP_OK);
    check_one("a.py", "f", 3, 2);
    check_line(0, 4, 2, 20);
    check_line(1, 9, 4, 40);
}

Test(pickle, the_unit_of_the_file)
{
#define IN(unit, ticks) START TIMINGS "}" KEY "](K\4K\1" ticks "\x87" "es" UNIT unit "ub."
    cr_assert_eq(DECODE(IN("G\x3e\xb0\xc6\xf7\xa0\xb5\xed\x8d", "K\x07")), CLP_OK);
    check_line(0, 4, 1, 7000); /* microseconds */
    clp_profile_clear(&profile);
    cr_assert_eq(DECODE(IN("K\1", "K\x07")), CLP_OK);
    check_line(0, 4, 1, UINT64_C(7000000000));
    clp_profile_clear(&profile);
    cr_assert_eq(DECODE(IN("F1e-10\n", "K\x10")), CLP_OK);
    check_line(0, 4, 1, 2); /* rounded */
    clp_profile_clear(&profile);
    cr_assert_eq(DECODE(IN("K\1", "\x8a\x05\0\0\0\0\7")), CLP_CORRUPT); /* 30 thousand million s */
    cr_assert_not_null(strstr(fault.reason, "time"));
    cr_assert_eq(DECODE(IN("F1e300\n", "F1e300\n")), CLP_CORRUPT);
    cr_assert_not_null(strstr(fault.reason, "time"));
}

/* ---- texts ---- */

static void check_file(const char *bytes, size_t count, const char *expected)
{
    out.used = 0;
    clp_buf_add(&out, START TIMINGS "}", sizeof(START TIMINGS "}") - 1);
    clp_buf_add(&out, bytes, count);
    clp_buf_add(&out, "K\1\x8c\1f\x87]s" END, sizeof("K\1\x8c\1f\x87]s" END) - 1);
    cr_assert_eq(clp_pickle_decode(out.bytes, out.used, &profile, &fault), CLP_OK, "%s: %s",
                 expected, fault.reason);
    check_one(expected, "f", 1, 0);
    clp_profile_clear(&profile);
}

#define FILE_NAME(bytes, expected) check_file(bytes, sizeof(bytes) - 1, expected)

Test(pickle, texts_in_all_their_forms)
{
    FILE_NAME("\x8c\0", "");
    FILE_NAME("\x8c\x02\xc3\xa9", "\xc3\xa9");
    FILE_NAME("X\x02\0\0\0\xc3\xa9", "\xc3\xa9");
    FILE_NAME("\x8d\x02\0\0\0\0\0\0\0\xc3\xa9", "\xc3\xa9");
    FILE_NAME("T\x01\0\0\0\xe9", "\\xe9");                    /* Latin-1, as Python 2 had it */
    FILE_NAME("\x8c\x04" "a\xed\xb3\xa9", "a\\udce9");        /* how Python says a byte that is none */
    FILE_NAME("V\xe9\\u20ac\\U0001f600\\udce9\\n\n", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\\udce9\\n");
    FILE_NAME("S'\\xc3\\xa9 \\'\\\\\\t'\n", "\xc3\xa9 '\\\t");
    FILE_NAME("S\"it's\"\n", "it's");
}

Test(pickle, a_function_of_the_same_name_in_another_file_or_line)
{
    cr_assert_eq(DECODE(START TIMINGS "}(" "\x8c\1a\x94K\1\x8c\1f\x94\x87]" "h\0K\2h\1\x87]"
                        "\x8c\1bK\1h\1\x87]u" END), CLP_OK, "%s", fault.reason);
    cr_assert_eq(profile.function_count, 3);
    cr_assert_str_eq(profile.functions[1].file, "a");
    cr_assert_eq(profile.functions[1].first_line, 2);
    cr_assert_str_eq(profile.functions[2].name, "f");
}

Test(pickle, other_attributes_are_passed_over)
{
    cr_assert_eq(DECODE(START "\x8c\5other]" "\x8c\4more}(K\1NK\2\x88K\3\x89u" "J\xff\xff\xff\xff)"
                        "\x8a\x0a\1\1\1\1\1\1\1\1\1\1]" "\x8c\0N" TIMINGS "}" END), CLP_OK, "%s",
                 fault.reason);
    cr_assert_eq(profile.function_count, 0);
}

/* ---- what is refused ---- */

struct bad {
    const char *bytes;
    size_t count;
    clp_status status;
    const char *reason; /* a part of it */
    const char *found;
};

#define BAD(bytes, status, reason) {bytes, sizeof(bytes) - 1, status, reason, ""}
#define ASKS(bytes, found) \
    {bytes, sizeof(bytes) - 1, CLP_NOT_A_PROFILE, "asks for what no profile needs", found}

static const struct bad bad_files[] = {
    /* other pickles */
    ASKS("cos\nsystem\n(S'id'\ntR.", "os.system"),
    ASKS("\x80\x04\x8c\5posix\x8c\6system\x93\x8c\2id\x85R.", "posix.system"),
    ASKS("\x80\2c__builtin__\neval\n.", "__builtin__.eval"),
    ASKS("\x80\2cline_profiler\nLineProfiler\n.", "line_profiler.LineProfiler"),
    ASKS("\x80\2cline_profiler.line_profiler\nLineStats.__init__\n.",
         "line_profiler.line_profiler.LineStats.__init__"),
    ASKS("\x80\2c\x1b[2J\n\xff\n.", "?[2J.?"),
    ASKS("\x80\2c_line_profiler\nLineStat\n.", "_line_profiler.LineStat"),
    ASKS("\x80\2c_line_profile\nLineStats\n.", "_line_profile.LineStats"),
    ASKS("c0123456789012345678901234567890123456789012345678901234567890123456789012345678901\n"
         "01234567890123\n.",
         "01234567890123456789012345678901234567890123456789012345678901234567890123456789"
         "01.012345678901"),
    {"\x80\4}.", 4, CLP_NOT_A_PROFILE, "holds no statistics", "a dict"},
    {"\x80\4].", 4, CLP_NOT_A_PROFILE, "holds no statistics", "a list"},
    {"\x80\4N.", 4, CLP_NOT_A_PROFILE, "holds no statistics", "None"},
    {"\x80\4K\1.", 5, CLP_NOT_A_PROFILE, "holds no statistics", "a whole number"},
    BAD("\x80\3C\1a.", CLP_NOT_A_PROFILE, "bytes"),
    BAD("\x80\4\x8f.", CLP_NOT_A_PROFILE, "a set"),
    BAD("\x80\2(cos\nsystem\no.", CLP_NOT_A_PROFILE, "asks for"),
    BAD("(ios\nsystem\n.", CLP_NOT_A_PROFILE, "an object of a kind"),
    BAD("\x80\4)\x92.", CLP_NOT_A_PROFILE, "an object of a kind"),
    BAD("\x80\2Pname\n.", CLP_NOT_A_PROFILE, "outside"),
    BAD("\x80\2\x82\1.", CLP_NOT_A_PROFILE, "outside"),
    BAD("\x80\5\x97.", CLP_NOT_A_PROFILE, "outside"),
    BAD("\x80\6.", CLP_UNSUPPORTED, "newer protocol"),
    /* calls of what may be named but not so */
    BAD("\x80\2ccopy_reg\n_reconstructor\n)\x81.", CLP_NOT_A_PROFILE, "calls"),
    BAD("\x80\2c_line_profiler\nLineStats\n)R.", CLP_NOT_A_PROFILE, "calls"),
    BAD("\x80\2c_line_profiler\nLineStats\nK\1\x85\x81.", CLP_NOT_A_PROFILE, "calls"),
    BAD("\x80\2c_line_profiler\nLineStats\n]\x81.", CLP_NOT_A_PROFILE, "calls"),
    BAD("\x80\2ccopy_reg\n_reconstructor\nc_line_profiler\nLineStats\nNN\x87R.", CLP_NOT_A_PROFILE,
        "calls"),
    BAD("\x80\2ccopy_reg\n_reconstructor\nc_line_profiler\nLineStats\nc__builtin__\nobject\nK\1\x87R.",
        CLP_NOT_A_PROFILE, "calls"),
    BAD("\x80\2ccopy_reg\n_reconstructor\nc__builtin__\nobject\nc__builtin__\nobject\nN\x87R.",
        CLP_NOT_A_PROFILE, "calls"),
    BAD("\x80\2ccopy_reg\n_reconstructor\nc_line_profiler\nLineStats\nc__builtin__\nobject\n\x86R.",
        CLP_NOT_A_PROFILE, "calls"),
    BAD("\x80\2ccopy_reg\n_reconstructor\n(c_line_profiler\nLineStats\nc__builtin__\nobject\nNNtR.",
        CLP_NOT_A_PROFILE, "calls"),
    BAD("\x80\2ccopy_reg\n_reconstructor\nNR.", CLP_NOT_A_PROFILE, "calls"),
    BAD("\x80\2K\1)\x81.", CLP_NOT_A_PROFILE, "calls"),
    BAD("\x80\4K\1K\2\x93.", CLP_CORRUPT, "no text"),
    /* the machine */
    BAD("\x80\2\xff.", CLP_CORRUPT, "no instruction"),
    BAD("\x80\2" "0.", CLP_CORRUPT, "no instruction"),
    BAD("N\x80\2.", CLP_CORRUPT, "second beginning"),
    BAD("\x80\2.", CLP_CORRUPT, "stack"),
    BAD("\x80\2NN.", CLP_CORRUPT, "stack"),
    BAD("\x80\2(N.", CLP_CORRUPT, "stack"),
    BAD("\x80\2N.N", CLP_CORRUPT, "behind the end"),
    BAD("\x80\2\x85.", CLP_CORRUPT, "lacks its values"),
    BAD("\x80\2N(\x85.", CLP_CORRUPT, "lacks its values"),
    BAD("\x80\2](a.", CLP_CORRUPT, "lacks its values"),
    BAD("\x80\2t.", CLP_CORRUPT, "lacks its mark"),
    BAD("\x80\2Ne.", CLP_CORRUPT, "lacks its mark"),
    BAD("\x80\2Na.", CLP_CORRUPT, "takes none"),
    BAD("\x80\2NNa.", CLP_CORRUPT, "takes none"),
    BAD("\x80\2](](ae.", CLP_CORRUPT, "lacks its values"),
    BAD("\x80\2}(Ne.", CLP_CORRUPT, "takes none"),
    BAD("\x80\2](Ne(Nu.", CLP_CORRUPT, "takes none"),
    BAD("\x80\2(Ne.", CLP_CORRUPT, "takes none"),
    BAD("\x80\2]((Nee.", CLP_CORRUPT, "takes none"),
    BAD("\x80\2}(Nu.", CLP_CORRUPT, "no value"),
    BAD("\x80\2(Nd.", CLP_CORRUPT, "no value"),
    BAD("\x80\2}}b.", CLP_CORRUPT, "takes none"),
    BAD(START "u]b.", CLP_CORRUPT, "takes none"),
    BAD(START "ub}(" TIMINGS "Nub.", CLP_CORRUPT, "a state"),
    BAD("\x80\2\x94.", CLP_CORRUPT, "lacks its values"),
    BAD("\x80\2Nr\xff\xff\xff\xff.", CLP_CORRUPT, "memo number"),
    BAD("\x80\2Nr\xff\0\0\0.", CLP_CORRUPT, "memo number"),
    BAD("\x80\2Np99999999999999999999\n.", CLP_CORRUPT, "memo number"),
    BAD("\x80\2Np-1\n.", CLP_CORRUPT, "memo number"),
    BAD("\x80\2h\0.", CLP_CORRUPT, "never given"),
    BAD("\x80\2Nq\2h\1.", CLP_CORRUPT, "never given"),
    BAD("\x80\2Nq\0j\xff\xff\xff\xff.", CLP_CORRUPT, "never given"),
    BAD("\x80\2g7\n.", CLP_CORRUPT, "never given"),
    BAD("\x80\2I\n.", CLP_CORRUPT, "digits"),
    BAD("\x80\2I-\n.", CLP_CORRUPT, "digits"),
    BAD("\x80\2I1 \n.", CLP_CORRUPT, "something else"),
    BAD("\x80\2I1L\n.", CLP_CORRUPT, "something else"),
    BAD("\x80\2F\n.", CLP_CORRUPT, "float"),
    BAD("\x80\2F1e\n.", CLP_CORRUPT, "float"),
    BAD("\x80\2F1\0\n.", CLP_CORRUPT, "float"),
    BAD("\x80\2F1.00000000000000000000000000000000000000000000000000000000000000000000\n.", CLP_CORRUPT,
        "float"),
    BAD("\x80\2Sa\n.", CLP_CORRUPT, "quotes"),
    BAD("\x80\2S'\n.", CLP_CORRUPT, "quotes"),
    BAD("\x80\2S'a\"\n.", CLP_CORRUPT, "quotes"),
    /* cut off */
    BAD("\x80", CLP_TRUNCATED, "within"),
    BAD("\x80\4\x95\xff\xff\xff\xff\xff\xff\xff\xff.", CLP_TRUNCATED, "longer"),
    BAD("\x80\4\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", CLP_TRUNCATED, "longer"),
    BAD("\x80\4\x8b\xff\xff\xff\xff.", CLP_TRUNCATED, "longer"),
    BAD("\x80\2cos\nsystem", CLP_TRUNCATED, "within"),
    /* the statistics */
    BAD("\x80\2c_line_profiler\nLineStats\n)\x81.", CLP_CORRUPT, "without their content"),
    BAD(START "ub.", CLP_CORRUPT, "\"timings\" are missing"),
    BAD(START TIMINGS "}ub.", CLP_CORRUPT, "\"unit\" is missing"),
    BAD(START TIMINGS "]" END, CLP_CORRUPT, "no dict"),
    BAD(START TIMINGS "}" UNIT "Nub.", CLP_CORRUPT, "\"unit\""),
    BAD(START TIMINGS "}" UNIT "K\0ub.", CLP_CORRUPT, "\"unit\""),
    BAD(START TIMINGS "}" UNIT "F-1\nub.", CLP_CORRUPT, "\"unit\""),
    BAD(START TIMINGS "}" UNIT "Fnan\nub.", CLP_CORRUPT, "\"unit\""),
    BAD(START TIMINGS "}" UNIT "G\x7f\xf0\0\0\0\0\0\0ub.", CLP_CORRUPT, "\"unit\""),
    BAD(START TIMINGS "}N]s" END, CLP_CORRUPT, "key is no tuple"),
    BAD(START TIMINGS "}]]s" END, CLP_CORRUPT, "key is no tuple"),
    BAD(START TIMINGS "}\x8c\1aK\1\x86]s" END, CLP_CORRUPT, "key is no tuple"),
    BAD(START TIMINGS "}K\1K\1\x8c\1f\x87]s" END, CLP_CORRUPT, "file is no plain text"),
    BAD(START TIMINGS "}\x8c\3a\0bK\1\x8c\1f\x87]s" END, CLP_CORRUPT, "file is no plain text"),
    BAD(START TIMINGS "}V\\u12\nK\1\x8c\1f\x87]s" END, CLP_CORRUPT, "file is no plain text"),
    BAD(START TIMINGS "}V\\Uffffffff\nK\1\x8c\1f\x87]s" END, CLP_CORRUPT, "file is no plain text"),
    BAD(START TIMINGS "}S'\\q'\nK\1\x8c\1f\x87]s" END, CLP_CORRUPT, "file is no plain text"),
    BAD(START TIMINGS "}S'\\'\nK\1\x8c\1f\x87]s" END, CLP_CORRUPT, "file is no plain text"),
    BAD(START TIMINGS "}\x8c\1aK\1N\x87]s" END, CLP_CORRUPT, "name is no plain text"),
    BAD(START TIMINGS "}\x8c\1aI-1\n\x8c\1f\x87]s" END, CLP_CORRUPT, "first line"),
    BAD(START TIMINGS "}\x8c\1aI2147483648\n\x8c\1f\x87]s" END, CLP_CORRUPT, "first line"),
    BAD(START TIMINGS "}(" KEY "]" KEY "]u" END, CLP_CORRUPT, "listed before"),
    BAD(START TIMINGS "}(" KEY "]\x94\x8c\1aK\1\x8c\1f\x87h\0u" END, CLP_CORRUPT, "two functions"),
    BAD(FILE_OF("N"), CLP_CORRUPT, "no list"),
    BAD(FILE_OF(")"), CLP_CORRUPT, "no list"),
    BAD(FILE_OF("](Ne"), CLP_CORRUPT, "tuple of three"),
    BAD(FILE_OF("](K\4K\1\x86" "e"), CLP_CORRUPT, "tuple of three"),
    BAD(FILE_OF("](NK\1K\1\x87" "e"), CLP_CORRUPT, "line's number"),
    BAD(FILE_OF("](I-4\nK\1K\1\x87" "e"), CLP_CORRUPT, "line's number"),
    BAD(FILE_OF("](I2147483648\nK\1K\1\x87" "e"), CLP_CORRUPT, "line's number"),
    BAD(FILE_OF("](K\4I-1\nK\1\x87" "e"), CLP_CORRUPT, "hits"),
    BAD(FILE_OF("](K\4F1\nK\1\x87" "e"), CLP_CORRUPT, "hits"),
    BAD(FILE_OF("](K\4\x88K\1\x87" "e"), CLP_CORRUPT, "hits"),
    BAD(FILE_OF("](K\4I01\nK\1\x87" "e"), CLP_CORRUPT, "hits"),
    BAD(FILE_OF("](K\4I00\nK\1\x87" "e"), CLP_CORRUPT, "hits"),
    BAD(FILE_OF("](K\4K\1N\x87" "e"), CLP_CORRUPT, "time"),
    BAD(FILE_OF("](K\4K\1J\xff\xff\xff\xff\x87" "e"), CLP_CORRUPT, "time"),
    BAD(FILE_OF("](K\4K\1\x8a\1\xff\x87" "e"), CLP_CORRUPT, "time"),
    BAD(FILE_OF("](K\4K\1F-1\n\x87" "e"), CLP_CORRUPT, "time"),
    BAD(FILE_OF("](K\4K\1Fnan\n\x87" "e"), CLP_CORRUPT, "time"),
    BAD(FILE_OF("](K\4K\1Finf\n\x87" "e"), CLP_CORRUPT, "time"),
    BAD(FILE_OF("](K\4K\1\x8a\x09\0\0\0\0\0\0\0\0\1\x87" "e"), CLP_CORRUPT, "time"),
    BAD(FILE_OF("](K\4K\1L18446744073709551616L\n\x87" "e"), CLP_CORRUPT, "time"),
};

Test(pickle, bad_files_are_refused_with_their_reason)
{
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        const struct bad *bad = &bad_files[i];
        char *copy = malloc(bad->count); /* its end is watched by a sanitizer */
        memcpy(copy, bad->bytes, bad->count);
        cr_expect_eq(clp_pickle_decode(copy, bad->count, &profile, &fault), bad->status,
                     "%zu, %s: %d, %s", i, bad->reason, fault.status, fault.reason);
        cr_expect_eq(fault.status, bad->status);
        cr_expect_leq(fault.offset, bad->count);
        cr_expect(fault.reason != NULL && strstr(fault.reason, bad->reason) != NULL, "%zu: %s not %s",
                  i, fault.reason, bad->reason);
        if (bad->found[0] != 0)
            cr_expect_str_eq(fault.found, bad->found);
        cr_expect_eq(profile.function_count, 0);
        free(copy);
    }
}

Test(pickle, an_empty_file)
{
    cr_assert_eq(clp_pickle_decode("", 0, &profile, &fault), CLP_EMPTY);
}

/* ---- hostile sizes ---- */

/* Bytes before, a piece a number of times, bytes behind. */
static clp_status decode_many(const char *before, size_t before_bytes, const char *piece,
                              size_t piece_bytes, size_t times, const char *behind,
                              size_t behind_bytes)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf file;
    struct clp_profile read;

    clp_buf_init(&file, &test.mem);
    clp_profile_init(&read, &mem);
    clp_buf_add(&file, before, before_bytes);
    for (size_t i = 0; i < times; i++)
        clp_buf_add(&file, piece, piece_bytes);
    clp_buf_add(&file, behind, behind_bytes);
    clp_status status = clp_pickle_decode(file.bytes, file.used, &read, &fault);
    cr_expect_leq(mem.peak, 160 * file.used + 4096, "%zu bytes for %zu", mem.peak, file.used);
    cr_expect(status != CLP_OK || read.function_count != 0);
    clp_profile_clear(&read);
    clp_buf_clear(&file);
    cr_expect_eq(mem.bytes, 0);
    return status;
}

#define MANY(before, piece, times, behind)                                                       \
    decode_many(before, sizeof(before) - 1, piece, sizeof(piece) - 1, times, behind,              \
                sizeof(behind) - 1)

Test(pickle, memory_grows_with_the_file_only)
{
    enum { TIMES = 100000 };

    cr_expect_eq(MANY("\x80\2", "N", TIMES, "."), CLP_CORRUPT);
    cr_expect_eq(MANY("\x80\2", "(", TIMES, "."), CLP_CORRUPT);
    cr_expect_eq(MANY("\x80\2", "]", TIMES, "."), CLP_CORRUPT);
    cr_expect_eq(MANY("\x80\2", "]\x94", TIMES, "."), CLP_CORRUPT);
    cr_expect_eq(MANY("\x80\2]", "\x85", TIMES, "."), CLP_NOT_A_PROFILE);
    cr_expect_eq(MANY("\x80\2]q\0(", "h\0", TIMES, "e."), CLP_NOT_A_PROFILE);
    cr_expect_eq(MANY("\x80\2]q\0", "h\0a", TIMES, "."), CLP_NOT_A_PROFILE);
    /* each list holds the one before ten times: 10 to the 10,000th items for who walks them */
    cr_expect_eq(MANY("\x80\2]q\0", "0]q\0(h\0h\0h\0h\0h\0h\0h\0h\0h\0h\0e", 1, "."), CLP_CORRUPT);
    cr_expect_eq(MANY(START TIMINGS "}" KEY "](K\4K\1K\1\x87q\0", "h\0", TIMES, "es" END), CLP_OK);
    cr_expect_eq(MANY(START TIMINGS "}" KEY "](", "K\4K\1K\1\x87", TIMES, "es" END), CLP_OK);
}

/* A text of a thousand bytes that as many functions share. */
Test(pickle, one_long_text_for_many_functions)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_profile read;

    clp_profile_init(&read, &mem);
    clp_buf_add(&out, START TIMINGS "}(", sizeof(START TIMINGS "}(") - 1);
    clp_buf_add_text(&out, "X");
    clp_buf_add(&out, "\x40\x9c\0\0", 4);
    clp_buf_add_repeated(&out, 'a', 40000);
    clp_buf_add(&out, "q\0K\0\x8c\1f\x87]", 9);
    for (unsigned i = 1; i < 10000; i++) {
        clp_buf_add(&out, "h\0M", 3);
        clp_buf_add(&out, (const char[]){(char)(i & 255), (char)(i >> 8)}, 2);
        clp_buf_add(&out, "\x8c\1f\x87]", 5);
    }
    clp_buf_add(&out, "u" END, sizeof("u" END) - 1);
    cr_assert_eq(clp_pickle_decode(out.bytes, out.used, &read, &fault), CLP_TOO_LARGE, "%s",
                 fault.reason);
    cr_expect_leq(mem.peak, 300 * out.used);
    cr_expect_eq(mem.bytes, 0);
}

/* ---- is it a pickle? ---- */

Test(pickle, is_told_from_other_files)
{
#define IS(text) clp_pickle_is(text, sizeof(text) - 1)
    cr_expect(IS("\x80\2"));
    cr_expect(IS("\x80\5\x95"));
    cr_expect(IS("\x80\6"));
    cr_expect(IS("cos\nsystem\n"));
    cr_expect_not(IS(""));
    cr_expect_not(IS("\x80"));
    cr_expect_not(IS("\x80\xa6"));
    cr_expect_not(IS("\x86\xa6" "format"));
    cr_expect_not(IS("class A:\n    pass\n"));
    cr_expect_not(IS("c\n\n"));
    cr_expect_not(IS("cos\nsystem"));
    cr_expect_not(IS("cos\n"));
    cr_expect_not(IS("cos\0\nsystem\n"));
    cr_expect_not(IS("hello\n"));
}

/* ---- what we write ---- */

static struct clp_profile_function *add(struct clp_profile *to, const char *file, const char *name,
                                        int32_t line)
{
    struct clp_profile_function *function = NULL;

    cr_assert_eq(clp_profile_add_function(to, file, name, line, &function), CLP_OK);
    return function;
}

static void fill(struct clp_profile *to)
{
    static const uint64_t numbers[] = {1, 255, 256, 65535, 65536, INT32_MAX, UINT64_C(1) << 31,
                                       UINT32_MAX, UINT64_C(1) << 63, UINT64_MAX};
    char long_name[301] = "";

    memset(long_name, 'n', sizeof long_name - 1);
    struct clp_profile_function *function = add(to, "a.py", "A.f.<locals>.g", 3);
    for (int32_t i = 0; i < 10; i++) {
        struct clp_measures measures = {.hits = numbers[i], .time = numbers[9 - i],
                                        .raw_time = numbers[9 - i]};
        cr_assert_eq(clp_profile_add_line(to, function, i == 9 ? INT32_MAX : i * 7001, &measures),
                     CLP_OK);
        function->total = function->raw_total = UINT64_MAX;
    }
    add(to, "b \xc3\xa9.py", "<module>", 0);
    add(to, "", "", INT32_MAX);
    add(to, long_name, long_name, 256);
}

Test(pickle, what_is_written_is_read_again)
{
    struct clp_profile before;

    clp_profile_init(&before, &test.mem);
    fill(&before);
    cr_assert_eq(clp_pickle_encode(&before, &out), CLP_OK);
    cr_assert_eq(clp_pickle_decode(out.bytes, out.used, &profile, &fault), CLP_OK, "%s at %zu",
                 fault.reason, (size_t)fault.offset);
    cr_assert(test_same_profile(&before, &profile));
    test_check_profile(&profile);
    clp_profile_clear(&before);
}

Test(pickle, writes_what_python_would)
{
    static const char expected[] =
        "\x80\4\x8c\x1c" "line_profiler._line_profiler" "\x8c\x09" "LineStats" "\x93)\x81}("
        TIMINGS "}(" KEY "](K\4K\1M\xe8\3\x87" "eu" END;
    struct clp_measures measures = {.hits = 1, .time = 1000, .raw_time = 1040, .self = 900};

    struct clp_profile_function *function = add(&profile, "a.py", "f", 3);
    cr_assert_eq(clp_profile_add_line(&profile, function, 4, &measures), CLP_OK);
    cr_assert_eq(clp_pickle_encode(&profile, &out), CLP_OK);
    cr_assert_eq(out.used, sizeof expected - 1);
    cr_assert_eq(memcmp(out.bytes, expected, out.used), 0);
}

/* line_profiler divides by the hits, and Python takes no text that is not UTF-8. */
Test(pickle, writes_nothing_that_line_profiler_stumbles_over)
{
    struct clp_measures none = {0}, time_only = {.time = 5};
    struct clp_profile again;

    struct clp_profile_function *function = add(&profile, "\xff" "a\xc3", "f", -3);
    cr_assert_eq(clp_profile_add_line(&profile, function, 4, &none), CLP_OK);
    cr_assert_eq(clp_profile_add_line(&profile, function, 5, &time_only), CLP_OK);
    cr_assert_eq(clp_pickle_encode(&profile, &out), CLP_OK);
    clp_profile_init(&again, &test.mem);
    cr_assert_eq(clp_pickle_decode(out.bytes, out.used, &again, &fault), CLP_OK, "%s",
                 fault.reason);
    cr_expect_str_eq(again.functions[0].file, "\\xffa\\xc3");
    cr_expect_eq(again.functions[0].first_line, 0);
    cr_assert_eq(again.functions[0].line_count, 1);
    cr_expect_eq(again.functions[0].lines[0].line, 5);
    cr_expect_eq(again.functions[0].lines[0].measures.hits, 1);
    cr_expect_eq(again.functions[0].lines[0].measures.time, 5);
    clp_profile_clear(&again);
}

/* ---- memory that runs out ---- */

Test(pickle, every_allocation_may_fail)
{
    struct clp_buf file;
    struct clp_profile filled;

    clp_buf_init(&file, &test.mem);
    clp_profile_init(&filled, &test.mem);
    fill(&filled);
    cr_assert_eq(clp_pickle_encode(&filled, &file), CLP_OK);
    for (size_t fail_at = 1;; fail_at++) {
        struct test_mem failing;
        struct clp_profile read;
        clp_profile_init(&read, test_mem_init(&failing, fail_at));
        clp_status status = clp_pickle_decode(file.bytes, file.used, &read, &fault);
        bool failed = test_mem_failed(&failing);
        cr_assert_eq(status, failed ? CLP_NO_MEMORY : CLP_OK, "at %zu", fail_at);
        clp_profile_clear(&read);
        test_mem_check_empty(&failing);
        if (!failed)
            break;
    }
    for (size_t fail_at = 1;; fail_at++) {
        struct test_mem failing;
        struct clp_buf bytes;
        clp_buf_init(&bytes, test_mem_init(&failing, fail_at));
        clp_status status = clp_pickle_encode(&filled, &bytes);
        bool failed = test_mem_failed(&failing);
        cr_assert_eq(status, failed ? CLP_NO_MEMORY : CLP_OK, "at %zu", fail_at);
        clp_buf_clear(&bytes);
        test_mem_check_empty(&failing);
        if (!failed)
            break;
    }
    clp_buf_clear(&file);
    clp_profile_clear(&filled);
}
