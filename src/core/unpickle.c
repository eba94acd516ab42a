/* SPDX-License-Identifier: MIT */
/* One table says of each instruction what follows it in the file and which function runs it. What
 * is not in the table is refused; some have a reason of their own there. */
#include "unpickle.h"
#include "shown.h"
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define HIGHEST_PROTOCOL 5
#define MOST_VALUES ((size_t)1 << 26)
#define LONGEST_FLOAT 63

/* How a text is written. */
enum form { FORM_UTF8, FORM_QUOTED, FORM_ESCAPED };

/* The names a profile's pickle may use; each is known by its place. */
enum name { NAME_STATS, NAME_RECONSTRUCTOR, NAME_OBJECT };

static const struct {
    const char *module, *name;
    enum name what;
} names[] = {
    {"line_profiler.line_profiler", "LineStats", NAME_STATS},  /* 5.0 and newer */
    {"line_profiler._line_profiler", "LineStats", NAME_STATS}, /* 3.0 to 4.2 */
    {"line_profiler", "LineStats", NAME_STATS},
    {"_line_profiler", "LineStats", NAME_STATS},               /* before */
    {"copyreg", "_reconstructor", NAME_RECONSTRUCTOR},         /* protocols 0 and 1 */
    {"copy_reg", "_reconstructor", NAME_RECONSTRUCTOR},
    {"builtins", "object", NAME_OBJECT},
    {"__builtin__", "object", NAME_OBJECT},
};

struct machine {
    struct clp_unpickled *values;
    struct clp_fault *fault;
    const unsigned char *bytes;
    size_t count, at;
    size_t start; /* of the instruction that runs */
    struct clp_pickled *stack;
    size_t stack_count, stack_room;
    uint32_t *marks; /* heights of the stack */
    size_t mark_count, mark_room;
    struct clp_pickled *memo;
    size_t memo_count, memo_room;
};

/* What follows an instruction. */
struct argument {
    uint64_t number;
    size_t at, bytes; /* of a text, without its length or line end */
    size_t next_at, next_bytes; /* of a second line */
};

enum argument_kind { ARGUMENT_NONE, ARGUMENT_1, ARGUMENT_2, ARGUMENT_4, ARGUMENT_8, ARGUMENT_LINE,
                     ARGUMENT_LINES, ARGUMENT_TEXT_1, ARGUMENT_TEXT_4, ARGUMENT_TEXT_8 };

struct instruction {
    clp_status (*run)(struct machine *machine, const struct argument *argument, unsigned detail);
    enum argument_kind argument;
    unsigned detail;
    const char *refusal; /* of one that no profile needs */
};

static clp_status refuse(struct machine *machine, clp_status status, const char *reason)
{
    return clp_fault_set(machine->fault, status, machine->start, reason);
}

static clp_status corrupt(struct machine *machine, const char *reason)
{
    return refuse(machine, CLP_CORRUPT, reason);
}

static clp_status no_memory(struct machine *machine)
{
    return refuse(machine, CLP_NO_MEMORY, NULL);
}

/* Room for one more item in any of the tables; at least doubled. */
static bool reserve(struct machine *machine, void **block, size_t count, size_t *room,
                    size_t item_bytes)
{
    size_t wanted = *room == 0 ? 64 : *room * 2;

    return count < *room ||
           clp_mem_grow(machine->values->mem, block, room, wanted, item_bytes) == CLP_OK;
}

#define RESERVE(machine, table, count, room) \
    reserve(machine, (void **)&(table), count, &(room), sizeof *(table))

/* ---- the stack ---- */

static clp_status push(struct machine *machine, struct clp_pickled value)
{
    if (!RESERVE(machine, machine->stack, machine->stack_count, machine->stack_room))
        return no_memory(machine);
    value.at = (uint32_t)machine->start;
    machine->stack[machine->stack_count++] = value;
    return CLP_OK;
}

/* Below this nothing may be taken: what lies there belongs to an earlier mark. */
static size_t floor_of(const struct machine *machine)
{
    return machine->mark_count == 0 ? 0 : machine->marks[machine->mark_count - 1];
}

/* The `count` values on top, or NULL. */
static struct clp_pickled *top(struct machine *machine, size_t count)
{
    if (machine->stack_count - floor_of(machine) < count) {
        (void)corrupt(machine, "an instruction that lacks its values");
        return NULL;
    }
    return machine->stack + machine->stack_count - count;
}

static bool take_mark(struct machine *machine, size_t *height)
{
    if (machine->mark_count == 0) {
        (void)corrupt(machine, "an instruction that lacks its mark");
        return false;
    }
    *height = machine->marks[--machine->mark_count];
    return true;
}

static clp_status run_mark(struct machine *machine, const struct argument *argument,
                           unsigned detail)
{
    (void)argument;
    (void)detail;
    if (!RESERVE(machine, machine->marks, machine->mark_count, machine->mark_room))
        return no_memory(machine);
    machine->marks[machine->mark_count++] = (uint32_t)machine->stack_count;
    return CLP_OK;
}

/* ---- numbers ---- */

static struct clp_pickled number_of(uint64_t number)
{
    return (struct clp_pickled){.kind = CLP_PICKLED_NUMBER, .as.number = number};
}

static struct clp_pickled of_kind(enum clp_pickled_kind kind)
{
    return (struct clp_pickled){.kind = (unsigned char)kind};
}

static clp_status run_plain(struct machine *machine, const struct argument *argument,
                            unsigned detail)
{
    (void)argument;
    return push(machine, of_kind((enum clp_pickled_kind)detail));
}

static clp_status run_number(struct machine *machine, const struct argument *argument,
                             unsigned detail)
{
    (void)detail;
    return push(machine, number_of(argument->number));
}

static clp_status run_signed(struct machine *machine, const struct argument *argument,
                             unsigned detail)
{
    (void)detail;
    return push(machine, argument->number <= INT32_MAX ? number_of(argument->number)
                                                       : of_kind(CLP_PICKLED_NEGATIVE));
}

/* Any number of bytes, the lowest first, in two's complement. */
static clp_status run_long(struct machine *machine, const struct argument *argument,
                           unsigned detail)
{
    const unsigned char *bytes = machine->bytes + argument->at;
    size_t count = argument->bytes;
    uint64_t number = 0;

    (void)detail;
    if (count != 0 && bytes[count - 1] >= 0x80)
        return push(machine, of_kind(CLP_PICKLED_NEGATIVE));
    while (count != 0 && bytes[count - 1] == 0)
        count--;
    if (count > sizeof number)
        return push(machine, of_kind(CLP_PICKLED_HUGE));
    while (count != 0)
        number = number << 8 | bytes[--count];
    return push(machine, number_of(number));
}

/* "12", "-3"; with an L behind it where the instruction says so, or "01" for True. */
static clp_status run_decimal(struct machine *machine, const struct argument *argument,
                              unsigned detail)
{
    const unsigned char *bytes = machine->bytes + argument->at;
    size_t count = argument->bytes, at = 0;
    struct clp_pickled value = number_of(0);

    if (detail == 'I' && count == 2 && bytes[0] == '0' && (bytes[1] | 1) == '1')
        return push(machine, of_kind(CLP_PICKLED_FLAG));
    if (detail == 'L' && count != 0 && bytes[count - 1] == 'L')
        count--;
    bool negative = count != 0 && bytes[0] == '-';
    at += negative;
    if (at == count)
        return corrupt(machine, "a number without digits");
    for (; at < count; at++) {
        unsigned digit = (unsigned)bytes[at] - '0';
        if (digit > 9)
            return corrupt(machine, "a number with something else in it");
        if (value.as.number > (UINT64_MAX - digit) / 10)
            value.kind = CLP_PICKLED_HUGE;
        value.as.number = value.as.number * 10 + digit;
    }
    return push(machine, negative ? of_kind(CLP_PICKLED_NEGATIVE) : value);
}

static clp_status push_real(struct machine *machine, double real)
{
    return push(machine, (struct clp_pickled){.kind = CLP_PICKLED_REAL, .as.real = real});
}

/* Its bytes stand in the file the highest first. */
static clp_status run_real(struct machine *machine, const struct argument *argument,
                           unsigned detail)
{
    const unsigned char *bytes = machine->bytes + argument->at;
    uint64_t bits = 0;
    double real;

    (void)detail;
    for (size_t i = 0; i < sizeof bits; i++)
        bits = bits << 8 | bytes[i];
    memcpy(&real, &bits, sizeof real);
    return push_real(machine, real);
}

/* The program may have set a locale that writes 0,9 for 0.9. */
static clp_status run_real_text(struct machine *machine, const struct argument *argument,
                                unsigned detail)
{
    char text[LONGEST_FLOAT + 1] = "", *end;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);

    (void)detail;
    if (plain == (locale_t)0)
        return no_memory(machine);
    if (argument->bytes <= LONGEST_FLOAT)
        memcpy(text, machine->bytes + argument->at, argument->bytes);
    double real = strtod_l(text, &end, plain);
    freelocale(plain);
    if (text[0] == 0 || end != text + argument->bytes)
        return corrupt(machine, "a float that is none");
    return push_real(machine, real);
}

/* ---- texts ---- */

static clp_status run_text(struct machine *machine, const struct argument *argument,
                           unsigned detail)
{
    struct clp_pickled value = {.kind = CLP_PICKLED_TEXT, .form = (unsigned char)detail};
    size_t at = argument->at, bytes = argument->bytes;

    if (detail == FORM_QUOTED) {
        if (bytes < 2 || machine->bytes[at] != machine->bytes[at + bytes - 1] ||
            (machine->bytes[at] != '\'' && machine->bytes[at] != '"'))
            return corrupt(machine, "a text without quotes");
        at++;
        bytes -= 2;
    }
    value.as.text.at = (uint32_t)at;
    value.as.text.bytes = (uint32_t)bytes;
    return push(machine, value);
}

static void add_code_point(struct clp_buf *out, uint32_t code)
{
    char bytes[4];
    size_t count;

    if (code >= 0xd800 && code < 0xe000) {
        clp_buf_add_format(out, "\\u%04x", (unsigned)code);
        return;
    }
    if (code < 0x80) {
        bytes[0] = (char)code;
        count = 1;
    } else {
        count = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
        for (size_t i = count - 1; i > 0; i--, code >>= 6)
            bytes[i] = (char)(0x80 | (code & 0x3f));
        bytes[0] = (char)(leads[count] | code);
    }
    clp_buf_add(out, bytes, count);
}

/* Python writes a lone surrogate as if it were a character. */
static bool is_surrogate(const unsigned char *text, size_t left)
{
    return left >= 3 && text[0] == 0xed && (text[1] & 0xe0) == 0xa0 && (text[2] & 0xc0) == 0x80;
}

static void add_utf8(struct clp_buf *out, const unsigned char *text, size_t bytes)
{
    for (size_t at = 0, size; at < bytes; at += size) {
        size = clp_shown_utf8_bytes(text + at, bytes - at);
        if (size != 0) {
            clp_buf_add(out, (const char *)text + at, size);
        } else if (is_surrogate(text + at, bytes - at)) {
            size = 3;
            add_code_point(out, 0xd000u | (text[at + 1] & 0x3fu) << 6 | (text[at + 2] & 0x3fu));
        } else {
            size = 1;
            clp_buf_add_format(out, "\\x%02x", text[at]);
        }
    }
}

static bool read_hex(const unsigned char *text, size_t bytes, size_t digits, uint32_t *code)
{
    *code = 0;
    for (size_t i = 0; i < digits; i++) {
        unsigned char c = i < bytes ? text[i] : 0, low = c | 0x20;
        if (!(c >= '0' && c <= '9') && !(low >= 'a' && low <= 'f'))
            return false;
        *code = *code << 4 | (c <= '9' ? c - (unsigned)'0' : low - (unsigned)'a' + 10);
    }
    return true;
}

/* Latin-1 with \uNNNN and \UNNNNNNNN in it; a backslash before anything else is one. */
static bool add_escaped(struct clp_buf *out, const unsigned char *text, size_t bytes)
{
    uint32_t code;

    for (size_t at = 0; at < bytes; at++) {
        unsigned char next = text[at] == '\\' && at + 1 < bytes ? text[at + 1] : 0;
        size_t digits = next == 'u' ? 4 : next == 'U' ? 8 : 0;
        if (digits == 0) {
            add_code_point(out, text[at]);
            continue;
        }
        if (!read_hex(text + at + 2, bytes - at - 2, digits, &code) || code > 0x10ffff)
            return false;
        add_code_point(out, code);
        at += 1 + digits;
    }
    return true;
}

/* As Python 2 shows bytes; \xNN is a byte of what is UTF-8 then. */
static bool add_quoted(struct clp_buf *out, const unsigned char *text, size_t bytes)
{
    static const char from[] = "\\'\"nrt", to[] = "\\'\"\n\r\t";
    struct clp_buf plain;
    bool good = true;

    clp_buf_init(&plain, out->mem);
    for (size_t at = 0; at < bytes && good; at++) {
        char byte = (char)text[at];
        uint32_t code;
        if (byte == '\\') {
            char next = at + 1 < bytes ? (char)text[at + 1] : 0;
            const char *found = next != 0 ? strchr(from, next) : NULL;
            bool hex = next == 'x' && read_hex(text + at + 2, bytes - at - 2, 2, &code);
            good = found != NULL || hex;
            byte = hex ? (char)code : found != NULL ? to[found - from] : 0;
            at += hex ? 3 : 1;
        }
        clp_buf_add(&plain, &byte, 1);
    }
    add_utf8(out, (const unsigned char *)clp_buf_text(&plain), plain.used);
    out->failed |= plain.failed;
    clp_buf_clear(&plain);
    return good;
}

bool clp_unpickled_add_text(const struct clp_unpickled *values, const struct clp_pickled *value,
                            struct clp_buf *out)
{
    const unsigned char *text = (const unsigned char *)values->bytes + value->as.text.at;
    size_t bytes = value->as.text.bytes;

    if (value->form == FORM_QUOTED)
        return add_quoted(out, text, bytes);
    if (value->form == FORM_ESCAPED)
        return add_escaped(out, text, bytes);
    add_utf8(out, text, bytes);
    return true;
}

/* ---- containers ---- */

static clp_status push_node(struct machine *machine, enum clp_pickled_kind kind)
{
    struct clp_unpickled *values = machine->values;
    struct clp_pickled value = of_kind(kind);

    if (!RESERVE(machine, values->nodes, values->node_count, values->node_room))
        return no_memory(machine);
    if (values->node_count == MOST_VALUES)
        return refuse(machine, CLP_TOO_LARGE, "too many values");
    value.as.node = (uint32_t)values->node_count;
    values->nodes[values->node_count++] = (struct clp_pickled_node){0};
    return push(machine, value);
}

static clp_status add_item(struct machine *machine, uint32_t node, const struct clp_pickled *value)
{
    struct clp_unpickled *values = machine->values;
    struct clp_pickled_node *into = &values->nodes[node];

    if (!RESERVE(machine, values->items, values->item_count, values->item_room))
        return no_memory(machine);
    if (values->item_count == MOST_VALUES)
        return refuse(machine, CLP_TOO_LARGE, "too many values");
    uint32_t place = (uint32_t)values->item_count++;
    values->items[place] = (struct clp_pickled_item){.value = *value};
    if (into->count++ == 0)
        into->first = place;
    else
        values->items[into->last].next = place;
    into->last = place;
    return CLP_OK;
}

/* Moves what lies on the stack from `height` on into the node. */
static clp_status add_items(struct machine *machine, uint32_t node, size_t height)
{
    clp_status status = CLP_OK;

    for (size_t i = height; i < machine->stack_count && status == CLP_OK; i++)
        status = add_item(machine, node, &machine->stack[i]);
    machine->stack_count = height;
    return status;
}

static clp_status run_empty(struct machine *machine, const struct argument *argument,
                            unsigned detail)
{
    (void)argument;
    return push_node(machine, (enum clp_pickled_kind)detail);
}

/* A new container of what lies on the stack from `height` on. */
static clp_status gather(struct machine *machine, enum clp_pickled_kind kind, size_t height)
{
    clp_status status = push_node(machine, kind);

    if (status != CLP_OK)
        return status;
    struct clp_pickled value = machine->stack[--machine->stack_count];
    status = add_items(machine, value.as.node, height);
    return status == CLP_OK ? push(machine, value) : status;
}

static clp_status run_tuple(struct machine *machine, const struct argument *argument,
                            unsigned detail)
{
    (void)argument;
    if (top(machine, detail) == NULL)
        return machine->fault->status;
    return gather(machine, CLP_PICKLED_TUPLE, machine->stack_count - detail);
}

static clp_status run_gather(struct machine *machine, const struct argument *argument,
                             unsigned detail)
{
    size_t height;

    (void)argument;
    if (!take_mark(machine, &height))
        return machine->fault->status;
    if (detail == CLP_PICKLED_DICT && (machine->stack_count - height) % 2 != 0)
        return corrupt(machine, "a dict with a key that has no value");
    return gather(machine, (enum clp_pickled_kind)detail, height);
}

/* Adds what lies from `height` on to the container below it. */
static clp_status extend(struct machine *machine, size_t height, unsigned kind)
{
    if (height <= floor_of(machine) || machine->stack[height - 1].kind != kind)
        return corrupt(machine, "items for something that takes none");
    if (kind == CLP_PICKLED_DICT && (machine->stack_count - height) % 2 != 0)
        return corrupt(machine, "a dict with a key that has no value");
    return add_items(machine, machine->stack[height - 1].as.node, height);
}

static clp_status run_extend(struct machine *machine, const struct argument *argument,
                             unsigned detail)
{
    size_t height;

    (void)argument;
    if (!take_mark(machine, &height))
        return machine->fault->status;
    return extend(machine, height, detail);
}

/* One item, or one key and its value. */
static clp_status run_add(struct machine *machine, const struct argument *argument,
                          unsigned detail)
{
    size_t count = detail == CLP_PICKLED_DICT ? 2 : 1;

    (void)argument;
    if (top(machine, count) == NULL)
        return machine->fault->status;
    return extend(machine, machine->stack_count - count, detail);
}

/* ---- the memo ---- */

/* Writers number what they make, so a number beyond the bytes so far is no writer's. */
static clp_status remember(struct machine *machine, uint64_t place)
{
    const struct clp_pickled *value = top(machine, 1);
    size_t room = machine->memo_room == 0 ? 64 : machine->memo_room;

    if (value == NULL)
        return machine->fault->status;
    if (place > machine->start)
        return corrupt(machine, "a memo number that no pickle of this size reaches");
    while (room <= place)
        room *= 2;
    if (room != machine->memo_room &&
        clp_mem_grow(machine->values->mem, (void **)&machine->memo, &machine->memo_room, room,
                     sizeof *machine->memo) != CLP_OK)
        return no_memory(machine);
    machine->memo[place] = *value;
    machine->memo_count++;
    return CLP_OK;
}

static clp_status run_memoize(struct machine *machine, const struct argument *argument,
                              unsigned detail)
{
    (void)argument;
    (void)detail;
    return remember(machine, machine->memo_count);
}

static clp_status recall(struct machine *machine, uint64_t place)
{
    if (place >= machine->memo_room || machine->memo[place].kind == CLP_PICKLED_UNSET)
        return corrupt(machine, "a memo number that was never given");
    return push(machine, machine->memo[place]);
}

static clp_status run_put(struct machine *machine, const struct argument *argument,
                          unsigned detail)
{
    (void)detail;
    return remember(machine, argument->number);
}

static clp_status run_get(struct machine *machine, const struct argument *argument,
                          unsigned detail)
{
    (void)detail;
    return recall(machine, argument->number);
}

/* The same with a number in digits. */
static clp_status run_memo_text(struct machine *machine, const struct argument *argument,
                                unsigned detail)
{
    if (run_decimal(machine, argument, 0) != CLP_OK)
        return machine->fault->status;
    struct clp_pickled place = machine->stack[--machine->stack_count];
    if (place.kind != CLP_PICKLED_NUMBER)
        return corrupt(machine, "a memo number that was never given");
    return detail == 'p' ? remember(machine, place.as.number) : recall(machine, place.as.number);
}

/* ---- names and objects ---- */

/* Appends to the fault what it is about, nothing in it that a terminal obeys. */
static void tell(struct clp_fault *fault, const char *text, size_t bytes)
{
    size_t used = strlen(fault->found);

    for (size_t i = 0; i < bytes && used + 1 < sizeof fault->found; i++)
        fault->found[used++] = text[i] > ' ' && text[i] < 0x7f ? text[i] : '?';
    fault->found[used] = 0;
}

static bool is_same(const struct machine *machine, const struct clp_pickled *value,
                    const char *text)
{
    return value->kind == CLP_PICKLED_TEXT && value->as.text.bytes == strlen(text) &&
           memcmp(machine->bytes + value->as.text.at, text, value->as.text.bytes) == 0;
}

static clp_status refuse_name(struct machine *machine, const struct clp_pickled *module,
                              const struct clp_pickled *name)
{
    const char *bytes = (const char *)machine->bytes;

    (void)refuse(machine, CLP_NOT_A_PROFILE, "the pickle asks for what no profile needs");
    tell(machine->fault, bytes + module->as.text.at, module->as.text.bytes);
    tell(machine->fault, ".", 1);
    tell(machine->fault, bytes + name->as.text.at, name->as.text.bytes);
    return CLP_NOT_A_PROFILE;
}

static clp_status push_name(struct machine *machine, const struct clp_pickled *module,
                            const struct clp_pickled *name)
{
    struct clp_pickled value = of_kind(CLP_PICKLED_CLASS);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!is_same(machine, module, names[i].module) || !is_same(machine, name, names[i].name))
            continue;
        value.as.name = names[i].what;
        return push(machine, value);
    }
    return refuse_name(machine, module, name);
}

static clp_status run_name(struct machine *machine, const struct argument *argument,
                           unsigned detail)
{
    struct clp_pickled module = of_kind(CLP_PICKLED_TEXT), name = module;

    (void)detail;
    module.as.text.at = (uint32_t)argument->at;
    module.as.text.bytes = (uint32_t)argument->bytes;
    name.as.text.at = (uint32_t)argument->next_at;
    name.as.text.bytes = (uint32_t)argument->next_bytes;
    return push_name(machine, &module, &name);
}

static clp_status run_stack_name(struct machine *machine, const struct argument *argument,
                                 unsigned detail)
{
    struct clp_pickled *both = top(machine, 2), module, name;

    (void)argument;
    (void)detail;
    if (both == NULL)
        return machine->fault->status;
    module = both[0];
    name = both[1];
    if (module.kind != CLP_PICKLED_TEXT || name.kind != CLP_PICKLED_TEXT)
        return corrupt(machine, "a name that is no text");
    machine->stack_count -= 2;
    return push_name(machine, &module, &name);
}

static bool is_class(const struct clp_pickled *value, enum name name)
{
    return value->kind == CLP_PICKLED_CLASS && value->as.name == name;
}

/* LineStats.__new__(LineStats) */
static bool makes_stats(const struct machine *machine, const struct clp_pickled *call)
{
    return is_class(&call[0], NAME_STATS) && call[1].kind == CLP_PICKLED_TUPLE &&
           machine->values->nodes[call[1].as.node].count == 0;
}

/* copyreg._reconstructor(LineStats, object, None) */
static bool reconstructs_stats(const struct machine *machine, const struct clp_pickled *call)
{
    const struct clp_unpickled *values = machine->values;
    const struct clp_pickled *item;

    if (!is_class(&call[0], NAME_RECONSTRUCTOR) || call[1].kind != CLP_PICKLED_TUPLE ||
        values->nodes[call[1].as.node].count != 3)
        return false;
    uint32_t at = values->nodes[call[1].as.node].first;
    bool good = is_class(clp_unpickled_next(values, &at), NAME_STATS) &&
                is_class(clp_unpickled_next(values, &at), NAME_OBJECT);
    item = clp_unpickled_next(values, &at);
    return good && item->kind == CLP_PICKLED_NONE;
}

static clp_status run_new(struct machine *machine, const struct argument *argument,
                          unsigned detail)
{
    struct clp_pickled *call = top(machine, 2);

    (void)argument;
    if (call == NULL)
        return machine->fault->status;
    if (!(detail == 'R' ? reconstructs_stats(machine, call) : makes_stats(machine, call)))
        return refuse(machine, CLP_NOT_A_PROFILE, "the pickle calls what no profile needs");
    machine->stack_count -= 2;
    return push_node(machine, CLP_PICKLED_OBJECT);
}

static clp_status run_build(struct machine *machine, const struct argument *argument,
                            unsigned detail)
{
    struct clp_pickled *both = top(machine, 2), state;

    (void)argument;
    (void)detail;
    if (both == NULL)
        return machine->fault->status;
    if (both[0].kind != CLP_PICKLED_OBJECT || both[1].kind != CLP_PICKLED_DICT ||
        machine->values->nodes[both[0].as.node].count != 0)
        return corrupt(machine, "a state for something that takes none");
    state = both[1];
    machine->stack_count--;
    return add_item(machine, both[0].as.node, &state);
}

/* ---- instructions ---- */

static clp_status run_frame(struct machine *machine, const struct argument *argument,
                            unsigned detail)
{
    (void)detail;
    if (argument->number > machine->count - machine->at)
        return refuse(machine, CLP_TRUNCATED, "a frame longer than the file");
    return CLP_OK;
}

static clp_status run_protocol(struct machine *machine, const struct argument *argument,
                               unsigned detail)
{
    (void)detail;
    if (argument->number > HIGHEST_PROTOCOL)
        return refuse(machine, CLP_UNSUPPORTED, "a pickle of a newer protocol than 5");
    if (machine->start != 0)
        return corrupt(machine, "a second beginning");
    return CLP_OK;
}

static const char no_bytes[] = "the pickle holds bytes, which no profile needs";
static const char no_set[] = "the pickle holds a set, which no profile needs";
static const char no_object[] = "the pickle holds an object of a kind that no profile needs";
static const char no_outside[] = "the pickle refers to something outside it";

static const struct instruction instructions[256] = {
    ['('] = {run_mark, ARGUMENT_NONE, 0, NULL},
    ['N'] = {run_plain, ARGUMENT_NONE, CLP_PICKLED_NONE, NULL},
    [0x88] = {run_plain, ARGUMENT_NONE, CLP_PICKLED_FLAG, NULL},
    [0x89] = {run_plain, ARGUMENT_NONE, CLP_PICKLED_FLAG, NULL},
    ['I'] = {run_decimal, ARGUMENT_LINE, 'I', NULL},
    ['L'] = {run_decimal, ARGUMENT_LINE, 'L', NULL},
    ['K'] = {run_number, ARGUMENT_1, 0, NULL},
    ['M'] = {run_number, ARGUMENT_2, 0, NULL},
    ['J'] = {run_signed, ARGUMENT_4, 0, NULL},
    [0x8a] = {run_long, ARGUMENT_TEXT_1, 0, NULL},
    [0x8b] = {run_long, ARGUMENT_TEXT_4, 0, NULL},
    ['F'] = {run_real_text, ARGUMENT_LINE, 0, NULL},
    ['G'] = {run_real, ARGUMENT_8, 0, NULL},
    ['S'] = {run_text, ARGUMENT_LINE, FORM_QUOTED, NULL},
    ['T'] = {run_text, ARGUMENT_TEXT_4, FORM_UTF8, NULL},
    ['U'] = {run_text, ARGUMENT_TEXT_1, FORM_UTF8, NULL},
    ['V'] = {run_text, ARGUMENT_LINE, FORM_ESCAPED, NULL},
    ['X'] = {run_text, ARGUMENT_TEXT_4, FORM_UTF8, NULL},
    [0x8c] = {run_text, ARGUMENT_TEXT_1, FORM_UTF8, NULL},
    [0x8d] = {run_text, ARGUMENT_TEXT_8, FORM_UTF8, NULL},
    [')'] = {run_empty, ARGUMENT_NONE, CLP_PICKLED_TUPLE, NULL},
    [']'] = {run_empty, ARGUMENT_NONE, CLP_PICKLED_LIST, NULL},
    ['}'] = {run_empty, ARGUMENT_NONE, CLP_PICKLED_DICT, NULL},
    [0x85] = {run_tuple, ARGUMENT_NONE, 1, NULL},
    [0x86] = {run_tuple, ARGUMENT_NONE, 2, NULL},
    [0x87] = {run_tuple, ARGUMENT_NONE, 3, NULL},
    ['t'] = {run_gather, ARGUMENT_NONE, CLP_PICKLED_TUPLE, NULL},
    ['l'] = {run_gather, ARGUMENT_NONE, CLP_PICKLED_LIST, NULL},
    ['d'] = {run_gather, ARGUMENT_NONE, CLP_PICKLED_DICT, NULL},
    ['a'] = {run_add, ARGUMENT_NONE, CLP_PICKLED_LIST, NULL},
    ['s'] = {run_add, ARGUMENT_NONE, CLP_PICKLED_DICT, NULL},
    ['e'] = {run_extend, ARGUMENT_NONE, CLP_PICKLED_LIST, NULL},
    ['u'] = {run_extend, ARGUMENT_NONE, CLP_PICKLED_DICT, NULL},
    ['p'] = {run_memo_text, ARGUMENT_LINE, 'p', NULL},
    ['q'] = {run_put, ARGUMENT_1, 0, NULL},
    ['r'] = {run_put, ARGUMENT_4, 0, NULL},
    [0x94] = {run_memoize, ARGUMENT_NONE, 0, NULL},
    ['g'] = {run_memo_text, ARGUMENT_LINE, 'g', NULL},
    ['h'] = {run_get, ARGUMENT_1, 0, NULL},
    ['j'] = {run_get, ARGUMENT_4, 0, NULL},
    ['c'] = {run_name, ARGUMENT_LINES, 0, NULL},
    [0x93] = {run_stack_name, ARGUMENT_NONE, 0, NULL},
    ['R'] = {run_new, ARGUMENT_NONE, 'R', NULL},
    [0x81] = {run_new, ARGUMENT_NONE, 0, NULL},
    ['b'] = {run_build, ARGUMENT_NONE, 0, NULL},
    [0x80] = {run_protocol, ARGUMENT_1, 0, NULL},
    [0x95] = {run_frame, ARGUMENT_8, 0, NULL},
    /* What Python has besides. */
    ['B'] = {.refusal = no_bytes},
    ['C'] = {.refusal = no_bytes},
    [0x8e] = {.refusal = no_bytes},
    [0x96] = {.refusal = no_bytes},
    [0x8f] = {.refusal = no_set},
    [0x90] = {.refusal = no_set},
    [0x91] = {.refusal = no_set},
    ['i'] = {.refusal = no_object},
    ['o'] = {.refusal = no_object},
    [0x92] = {.refusal = no_object},
    ['P'] = {.refusal = no_outside},
    ['Q'] = {.refusal = no_outside},
    [0x82] = {.refusal = no_outside},
    [0x83] = {.refusal = no_outside},
    [0x84] = {.refusal = no_outside},
    [0x97] = {.refusal = no_outside},
    [0x98] = {.refusal = no_outside},
};

static clp_status cut_off(struct machine *machine)
{
    return refuse(machine, CLP_TRUNCATED, "the file ends within a value");
}

static clp_status read_number(struct machine *machine, size_t bytes, uint64_t *number)
{
    if (machine->count - machine->at < bytes)
        return cut_off(machine);
    *number = 0;
    for (size_t i = bytes; i > 0; i--)
        *number = *number << 8 | machine->bytes[machine->at + i - 1];
    machine->at += bytes;
    return CLP_OK;
}

static clp_status read_text(struct machine *machine, size_t length_bytes,
                            struct argument *argument)
{
    uint64_t bytes = 0;

    if (read_number(machine, length_bytes, &bytes) != CLP_OK)
        return machine->fault->status;
    if (bytes > machine->count - machine->at)
        return refuse(machine, CLP_TRUNCATED, "a text longer than the file");
    argument->at = machine->at;
    argument->bytes = (size_t)bytes;
    machine->at += (size_t)bytes;
    return CLP_OK;
}

static clp_status read_line(struct machine *machine, size_t *at, size_t *bytes)
{
    const unsigned char *start = machine->bytes + machine->at;
    const unsigned char *end = machine->at == machine->count
                                   ? NULL
                                   : memchr(start, '\n', machine->count - machine->at);

    if (end == NULL)
        return cut_off(machine);
    *at = machine->at;
    *bytes = (size_t)(end - start);
    machine->at += *bytes + 1;
    return CLP_OK;
}

static clp_status read_argument(struct machine *machine, enum argument_kind kind,
                                struct argument *argument)
{
    switch (kind) {
    case ARGUMENT_NONE:
        return CLP_OK;
    case ARGUMENT_1:
        return read_number(machine, 1, &argument->number);
    case ARGUMENT_2:
        return read_number(machine, 2, &argument->number);
    case ARGUMENT_4:
        return read_number(machine, 4, &argument->number);
    case ARGUMENT_8:
        argument->at = machine->at;
        return read_number(machine, 8, &argument->number);
    case ARGUMENT_TEXT_1:
        return read_text(machine, 1, argument);
    case ARGUMENT_TEXT_4:
        return read_text(machine, 4, argument);
    case ARGUMENT_TEXT_8:
        return read_text(machine, 8, argument);
    case ARGUMENT_LINES:
        if (read_line(machine, &argument->at, &argument->bytes) != CLP_OK)
            return machine->fault->status;
        return read_line(machine, &argument->next_at, &argument->next_bytes);
    case ARGUMENT_LINE:
        break;
    }
    return read_line(machine, &argument->at, &argument->bytes);
}

static clp_status run_one(struct machine *machine, const struct instruction *instruction)
{
    struct argument argument = {0};

    if (instruction->refusal != NULL)
        return refuse(machine, CLP_NOT_A_PROFILE, instruction->refusal);
    if (instruction->run == NULL)
        return corrupt(machine, "a byte that is no instruction of a pickle");
    if (read_argument(machine, instruction->argument, &argument) != CLP_OK)
        return machine->fault->status;
    return instruction->run(machine, &argument, instruction->detail);
}

static clp_status finish(struct machine *machine)
{
    if (machine->mark_count != 0 || machine->stack_count != 1)
        return corrupt(machine, "an end with too much or too little on the stack");
    if (machine->at != machine->count) {
        machine->start = machine->at;
        return corrupt(machine, "more bytes behind the end");
    }
    machine->values->root = machine->stack[0];
    return CLP_OK;
}

static clp_status run(struct machine *machine)
{
    for (;;) {
        machine->start = machine->at;
        if (machine->at == machine->count)
            return refuse(machine, CLP_TRUNCATED, "the file ends where more should follow");
        unsigned char byte = machine->bytes[machine->at++];
        if (byte == '.')
            return finish(machine);
        if (run_one(machine, &instructions[byte]) != CLP_OK)
            return machine->fault->status;
    }
}

clp_status clp_unpickle(struct clp_unpickled *values, struct clp_mem *mem, const char *bytes,
                        size_t count, struct clp_fault *fault)
{
    struct machine machine = {.values = values, .fault = fault, .count = count,
                              .bytes = (const unsigned char *)bytes};
    clp_status status;

    *fault = (struct clp_fault){.status = CLP_OK};
    *values = (struct clp_unpickled){.mem = mem, .bytes = bytes, .item_count = 1};
    if (count == 0)
        status = refuse(&machine, CLP_EMPTY, NULL);
    else if (count >= UINT32_MAX)
        status = refuse(&machine, CLP_TOO_LARGE, NULL);
    else
        status = run(&machine);
    clp_mem_free(mem, machine.stack, machine.stack_room, sizeof *machine.stack);
    clp_mem_free(mem, machine.marks, machine.mark_room, sizeof *machine.marks);
    clp_mem_free(mem, machine.memo, machine.memo_room, sizeof *machine.memo);
    if (status != CLP_OK)
        clp_unpickled_clear(values);
    return status;
}

/* ---- what came out ---- */

void clp_unpickled_clear(struct clp_unpickled *values)
{
    clp_mem_free(values->mem, values->nodes, values->node_room, sizeof *values->nodes);
    clp_mem_free(values->mem, values->items, values->item_room, sizeof *values->items);
    *values = (struct clp_unpickled){.mem = values->mem};
}

struct clp_pickled_node *clp_unpickled_node(const struct clp_unpickled *values,
                                            const struct clp_pickled *value)
{
    return &values->nodes[value->as.node];
}

const struct clp_pickled *clp_unpickled_next(const struct clp_unpickled *values, uint32_t *at)
{
    const struct clp_pickled_item *item;

    if (*at == 0)
        return NULL;
    item = &values->items[*at];
    *at = item->next;
    return &item->value;
}

const char *clp_pickled_kind_text(const struct clp_pickled *value)
{
#define CLP_PICKLED_TEXT_OF(kind, text) text,
    static const char *const texts[] = {CLP_PICKLED_TABLE(CLP_PICKLED_TEXT_OF)};
#undef CLP_PICKLED_TEXT_OF
    return texts[value->kind];
}
