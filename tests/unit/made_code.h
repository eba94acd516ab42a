/* SPDX-License-Identifier: MIT */
/* A small assembler for tests of the rewriter, which shares nothing with it but the numbers of the
 * instructions. Statements stand between semicolons:
 *
 *     loop: FOR_ITER >end @3     a label; an instruction with a label or a number as its argument,
 *                                on line 3. Without @ the line is that of the statement before;
 *                                `@-` is no line
 *     NOP x300                   the same, 300 times
 *     NOP 1 +2                   with two EXTENDED_ARG more than it needs
 *     !line 7                    a probe: three instructions; !asked 7 adds a copy of what lies below
 *     .try a b h 2 lasti         an entry of the exception table: from a to before b, handled at h
 *     .consts 3   .stack 4   .first 5
 *
 * The label `end` is behind everything. Caches are filled in. */
#ifndef CLP_TEST_MADE_CODE_H
#define CLP_TEST_MADE_CODE_H

#include "helpers.h"
#include "rewrite/opcode_table.h"
#include "rewrite/rewrite.h"
#include <stdio.h>

enum { MADE_STATEMENTS = 1000, MADE_UNITS = 1 << 18, MADE_TABLE = 1 << 19, MADE_WORD = 48 };

struct made_statement {
    char label[MADE_WORD], target[MADE_WORD];
    uint8_t opcode, prefixes, more_prefixes;
    uint32_t argument, times, at;
    int32_t line;
    bool probe, asked, operand;
};

struct made_range {
    char start[MADE_WORD], end[MADE_WORD], handler[MADE_WORD];
    uint32_t depth;
    bool lasti;
};

struct made {
    struct clp_bytecode bytecode;
    const struct clp_rewritten *rewritten; /* names the probes; borrowed */
    struct made_statement statements[MADE_STATEMENTS];
    struct made_range ranges[16];
    size_t statement_count, range_count;
    int32_t line;
    uint32_t units;
    uint8_t code[MADE_UNITS * 2], exceptions[MADE_TABLE], locations[MADE_TABLE];
    struct clp_code view;
};

#define MADE_ROW(name, ...) {#name, {__VA_ARGS__}},
static const struct {
    const char *name;
    int16_t in[CLP_OPCODE_VERSIONS * 2]; /* number and cache units of each version */
} made_rows[] = {CLP_OPCODE_TABLE(MADE_ROW)};
#undef MADE_ROW

enum { MADE_ROWS = sizeof made_rows / sizeof *made_rows };

/* The opcode in this row; -1 when the version has none. */
static inline int made_opcode_in(size_t row, int minor)
{
    return made_rows[row].in[(minor - CLP_OPCODE_FIRST_MINOR) * 2];
}

/* The opcode of that name; the test ends when the version has none. */
static inline uint8_t made_opcode(const struct made *made, const char *name)
{
    for (size_t i = 0; i < MADE_ROWS; i++) {
        int number = made_opcode_in(i, made->bytecode.minor);
        if (strcmp(made_rows[i].name, name) == 0 && number >= 0)
            return (uint8_t)number;
    }
    cr_assert_fail("3.%d has no %s", made->bytecode.minor, name);
    return 0;
}

static inline bool made_is(const struct made *made, const struct made_statement *statement,
                           int flags)
{
    return clp_bytecode_is(&made->bytecode, statement->opcode, flags);
}

/* ---- reading ---- */

static inline uint32_t made_probe(const struct made *made, const char *kind, int32_t line)
{
    static const char *const names[CLP_PROBE_KINDS] = {
        [CLP_PROBE_ENTER] = "enter",     [CLP_PROBE_ENTER_LINE] = "enterline",
        [CLP_PROBE_LINE] = "line",       [CLP_PROBE_LAST_LINE] = "lastline",
        [CLP_PROBE_LEAVE] = "leave",     [CLP_PROBE_SUSPEND] = "suspend",
        [CLP_PROBE_RESUME] = "resume",   [CLP_PROBE_RESUME_IF] = "resumeif",
        [CLP_PROBE_LINE_ASKED] = "asked", [CLP_PROBE_CALL] = "call",
        [CLP_PROBE_CALLED] = "called",   [CLP_PROBE_MARK] = "mark",
        [CLP_PROBE_OPERATED] = "operated", [CLP_PROBE_ITERATED] = "iterated",
    };

    for (size_t i = 0; made->rewritten != NULL && i < made->rewritten->probe_count; i++) {
        struct clp_probe probe = made->rewritten->probes[i];
        if (strcmp(names[probe.kind], kind) == 0 && probe.line + (int32_t)probe.name == line)
            return made->view.const_count + (uint32_t)i;
    }
    cr_assert_fail("there is no probe %s %d", kind, line);
    return 0;
}

static inline void made_read_directive(struct made *made, const char *text)
{
    struct made_range *range = &made->ranges[made->range_count];
    char lasti[8] = "";
    int number;

    if (sscanf(text, " .consts %d", &number) == 1)
        made->view.const_count = (uint32_t)number;
    else if (sscanf(text, " .stack %d", &number) == 1)
        made->view.stack_size = number;
    else if (sscanf(text, " .first %d", &number) == 1)
        made->view.first_line = number;
    else if (sscanf(text, " .try %47s %47s %47s %u %7s", range->start, range->end, range->handler,
                    &range->depth, lasti) >= 4)
        made->ranges[made->range_count++].lasti = strcmp(lasti, "lasti") == 0;
    else
        cr_assert_fail("no such directive: %s", text);
}

static inline void made_read_probe(struct made *made, struct made_statement *statement,
                                   const char *kind, int32_t line)
{
    statement->probe = true;
    statement->asked = strcmp(kind, "asked") == 0;
    statement->operand = strcmp(kind, "call") == 0 || strcmp(kind, "iterated") == 0; /* a COPY stands before it */
    statement->opcode = made_opcode(made, "LOAD_CONST");
    statement->argument = made_probe(made, kind, line);
}

static inline void made_read_word(struct made *made, struct made_statement *statement,
                                  const char *word)
{
    if (word[0] == '>')
        strcpy(statement->target, word + 1);
    else if (word[0] == '@')
        made->line = word[1] == '-' ? CLP_NO_LINE : atoi(word + 1);
    else if (word[0] == '+')
        statement->more_prefixes = (uint8_t)atoi(word + 1);
    else if (word[0] == 'x')
        statement->times = (uint32_t)atoi(word + 1);
    else
        statement->argument = (uint32_t)strtoul(word, NULL, 10);
}

static inline void made_read_statement(struct made *made, char *text)
{
    struct made_statement *statement = &made->statements[made->statement_count++];
    char *rest, *word = strtok_r(text, " ", &rest);

    cr_assert_lt(made->statement_count, MADE_STATEMENTS);
    *statement = (struct made_statement){.times = 1};
    if (word[strlen(word) - 1] == ':') {
        word[strlen(word) - 1] = 0;
        strcpy(statement->label, word);
        word = strtok_r(NULL, " ", &rest);
    }
    if (word[0] == '!') {
        char *line = strtok_r(NULL, " ", &rest);
        bool has_line = line != NULL && line[0] != '@';
        made_read_probe(made, statement, word + 1, has_line ? atoi(line) : 0);
        word = has_line ? strtok_r(NULL, " ", &rest) : line;
    } else {
        statement->opcode = made_opcode(made, word);
        word = strtok_r(NULL, " ", &rest);
    }
    for (; word != NULL; word = strtok_r(NULL, " ", &rest))
        made_read_word(made, statement, word);
    statement->line = made->line;
}

/* ---- addresses ---- */

static inline uint32_t made_body(const struct made *made, const struct made_statement *statement)
{
    return 1u + made->bytecode.op[statement->opcode].caches + (statement->probe ? 2 : 0) +
           (statement->operand ? made->bytecode.op[made_opcode(made, "CONTAINS_OP")].caches : 0u) +
           (statement->asked ? 1u + made->bytecode.op[made_opcode(made, "BINARY_OP")].caches : 0u);
}

static inline uint32_t made_address(const struct made *made, const char *label)
{
    for (size_t i = 0; i < made->statement_count; i++) {
        if (strcmp(made->statements[i].label, label) == 0)
            return made->statements[i].at;
    }
    cr_assert_str_eq(label, "end", "there is no label %s", label);
    return made->units;
}

/* Once over all of it; false when an argument did not fit yet. */
static inline bool made_lay_out(struct made *made)
{
    bool fits = true;

    made->units = 0;
    for (size_t i = 0; i < made->statement_count; i++) {
        struct made_statement *statement = &made->statements[i];
        statement->at = made->units;
        made->units += statement->times * (statement->prefixes + made_body(made, statement));
    }
    for (size_t i = 0; i < made->statement_count; i++) {
        struct made_statement *statement = &made->statements[i];
        uint32_t next = statement->at + statement->prefixes + made_body(made, statement);
        uint8_t needed = statement->more_prefixes;
        if (statement->target[0] != 0) {
            uint32_t to = made_address(made, statement->target);
            statement->argument =
                made_is(made, statement, CLP_OP_BACKWARD) ? next - to : to - next;
        }
        for (uint32_t rest = statement->argument >> 8; rest != 0; rest >>= 8)
            needed++;
        if (needed > statement->prefixes) {
            statement->prefixes = needed;
            fits = false;
        }
    }
    return fits;
}

/* ---- writing ---- */

static inline void made_unit(struct made *made, uint8_t opcode, uint32_t argument)
{
    cr_assert_lt(made->view.code_bytes, sizeof made->code - 1);
    made->code[made->view.code_bytes++] = opcode;
    made->code[made->view.code_bytes++] = (uint8_t)argument;
}

static inline void made_operator(struct made *made, const struct made_statement *statement)
{
    uint8_t opcode = made_opcode(made, statement->asked     ? "BINARY_OP"
                                       : statement->operand ? "CONTAINS_OP"
                                                            : "UNARY_NEGATIVE");

    if (statement->asked)
        made_unit(made, made_opcode(made, "COPY"), made->bytecode.minor >= 14 ? 2 : 3);
    made_unit(made, opcode, 0);
    for (uint8_t cache = 0; cache < made->bytecode.op[opcode].caches; cache++)
        made_unit(made, 0, 0);
}

static inline void made_write_code(struct made *made, const struct made_statement *statement)
{
    for (uint32_t time = 0; time < statement->times; time++) {
        for (uint8_t prefix = statement->prefixes; prefix > 0; prefix--)
            made_unit(made, made_opcode(made, "EXTENDED_ARG"),
                      prefix < 4 ? statement->argument >> 8 * prefix : 0);
        made_unit(made, statement->opcode, statement->argument);
        for (uint8_t cache = 0; cache < made->bytecode.op[statement->opcode].caches; cache++)
            made_unit(made, 0, 0);
        if (statement->probe) {
            made_operator(made, statement);
            made_unit(made, made_opcode(made, "POP_TOP"), 0);
        }
    }
}

/* An entry per instruction (more where it has over eight units): without columns, or nothing. */
static inline void made_write_location(struct made *made, const struct made_statement *statement,
                                       int32_t *line)
{
    uint32_t units = statement->times * (statement->prefixes + made_body(made, statement));

    while (units > 0) {
        uint32_t now = units < 8 ? units : 8;
        uint8_t *at = &made->locations[made->view.location_bytes];
        cr_assert_lt(made->view.location_bytes, sizeof made->locations - 8);
        units -= now;
        if (statement->line == CLP_NO_LINE) {
            at[0] = (uint8_t)(128 | 15 << 3 | (now - 1));
            made->view.location_bytes++;
            continue;
        }
        int32_t delta = statement->line - *line;
        uint32_t number = delta < 0 ? (uint32_t)-delta << 1 | 1 : (uint32_t)delta << 1;
        *line = statement->line;
        *at++ = (uint8_t)(128 | 13 << 3 | (now - 1));
        for (; number > 63; number >>= 6)
            *at++ = (uint8_t)(64 | (number & 63));
        *at++ = (uint8_t)number;
        made->view.location_bytes = (size_t)(at - made->locations);
    }
}

static inline void made_number(struct made *made, uint32_t number, uint8_t start)
{
    int shift = 30;

    while (shift > 0 && number >> shift == 0)
        shift -= 6;
    for (; shift >= 0; shift -= 6) {
        made->exceptions[made->view.exception_bytes++] =
            (uint8_t)(start | (shift > 0 ? 64 : 0) | (number >> shift & 63));
        start = 0;
    }
}

static inline void made_write_range(struct made *made, const struct made_range *range)
{
    uint32_t start = made_address(made, range->start);

    made_number(made, start, 128);
    made_number(made, made_address(made, range->end) - start, 0);
    made_number(made, made_address(made, range->handler), 0);
    made_number(made, range->depth << 1 | range->lasti, 0);
}

/* ---- all of it ---- */

/* Probes are named as the result of a rewrite has them, if one is given. */
static inline void made_assemble(struct made *made, int minor, const char *text,
                                 const struct clp_rewritten *rewritten, uint32_t const_count)
{
    static char copy[1 << 16];
    char *rest;

    memset(made, 0, sizeof *made);
    cr_assert(clp_bytecode_init(&made->bytecode, minor));
    made->view = (struct clp_code){.code = made->code, .exceptions = made->exceptions,
                                   .locations = made->locations, .first_line = 1,
                                   .stack_size = 1, .const_count = const_count};
    made->rewritten = rewritten;
    made->line = 1;
    cr_assert_lt(strlen(text), sizeof copy);
    strcpy(copy, text);
    for (char *part = strtok_r(copy, ";", &rest); part != NULL; part = strtok_r(NULL, ";", &rest)) {
        part += strspn(part, " ");
        if (*part == '.')
            made_read_directive(made, part);
        else if (*part != 0)
            made_read_statement(made, part);
    }
    while (!made_lay_out(made))
        continue;
    int32_t line = made->view.first_line;
    for (size_t i = 0; i < made->statement_count; i++) {
        made_write_code(made, &made->statements[i]);
        made_write_location(made, &made->statements[i], &line);
    }
    for (size_t i = 0; i < made->range_count; i++)
        made_write_range(made, &made->ranges[i]);
}

static inline void made_init(struct made *made, int minor, const char *text)
{
    made_assemble(made, minor, text, NULL, 0);
}

/* ---- looking at results ---- */

/* NOPs behind the end, which no table knows. */
static inline void made_append(struct made *made, int count)
{
    for (; count > 0; count--) {
        made->code[made->view.code_bytes++] = made_opcode(made, "NOP");
        made->code[made->view.code_bytes++] = 0;
    }
}

/* The lines of all units of a location table that has no forms but those written above; returns
 * how many units there are. */
static inline size_t made_lines(const uint8_t *table, size_t bytes, int32_t line, int32_t *lines)
{
    size_t units = 0;

    for (size_t i = 0; i < bytes;) {
        unsigned form = table[i] >> 3 & 15, count = (table[i] & 7u) + 1, shift = 0;
        uint32_t number = 0;
        cr_assert(table[i] & 128, "byte %zu starts no location", i);
        cr_assert(form == 13 || form == 15, "a location has form %u", form);
        i++;
        if (form == 13) {
            do
                number |= (uint32_t)(table[i] & 63) << shift;
            while (shift += 6, table[i++] & 64);
            line += number & 1 ? -(int32_t)(number >> 1) : (int32_t)(number >> 1);
        }
        while (count-- > 0)
            lines[units++] = form == 13 ? line : CLP_NO_LINE;
    }
    return units;
}

static inline const char *made_name(int minor, uint8_t opcode)
{
    for (size_t i = 0; i < MADE_ROWS; i++) {
        if (made_opcode_in(i, minor) == opcode)
            return made_rows[i].name;
    }
    return opcode == 0 ? "" : "?";
}

/* Both codes, side by side, for whoever has to find out why they differ. */
static inline void made_print(int minor, const uint8_t *ours, size_t our_bytes,
                              const uint8_t *wanted, size_t wanted_bytes)
{
    fprintf(stderr, "3.%d: what came, what was wanted\n", minor);
    for (size_t i = 0; (i < our_bytes || i < wanted_bytes) && i < 400; i += 2) {
        fprintf(stderr, "%4zu", i / 2);
        if (i < our_bytes)
            fprintf(stderr, "  %-28s %3d", made_name(minor, ours[i]), ours[i + 1]);
        else
            fprintf(stderr, "  %-28s %3s", "-", "");
        if (i < wanted_bytes)
            fprintf(stderr, "  %-28s %3d", made_name(minor, wanted[i]), wanted[i + 1]);
        fprintf(stderr, "\n");
    }
}

#endif
