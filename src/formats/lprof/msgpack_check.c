/* SPDX-License-Identifier: MIT */
#include "msgpack_check.h"

/* What the first byte of an item tells: the number of bytes of the length field behind it, and the number of
 * bytes that follow besides those that the length counts. */
struct form {
    unsigned char kind, length_bytes, fixed_bytes;
};

#define UNUSED_FORM 255 /* 0xc1 means nothing in msgpack */

static const struct form forms[32] = {
    /* c0 nil, false, true */
    {CLP_MSGPACK_PLAIN, 0, 0}, {UNUSED_FORM, 0, 0}, {CLP_MSGPACK_PLAIN, 0, 0}, {CLP_MSGPACK_PLAIN, 0, 0},
    /* c4 bin 8, 16, 32; ext 8, 16, 32, whose type byte comes first */
    {CLP_MSGPACK_PLAIN, 1, 0}, {CLP_MSGPACK_PLAIN, 2, 0}, {CLP_MSGPACK_PLAIN, 4, 0},
    {CLP_MSGPACK_PLAIN, 1, 1}, {CLP_MSGPACK_PLAIN, 2, 1}, {CLP_MSGPACK_PLAIN, 4, 1},
    /* ca float 32, 64 */
    {CLP_MSGPACK_PLAIN, 0, 4}, {CLP_MSGPACK_PLAIN, 0, 8},
    /* cc uint 8, 16, 32, 64; int 8, 16, 32, 64 */
    {CLP_MSGPACK_PLAIN, 0, 1}, {CLP_MSGPACK_PLAIN, 0, 2}, {CLP_MSGPACK_PLAIN, 0, 4}, {CLP_MSGPACK_PLAIN, 0, 8},
    {CLP_MSGPACK_PLAIN, 0, 1}, {CLP_MSGPACK_PLAIN, 0, 2}, {CLP_MSGPACK_PLAIN, 0, 4}, {CLP_MSGPACK_PLAIN, 0, 8},
    /* d4 fixext 1, 2, 4, 8, 16 with their type byte */
    {CLP_MSGPACK_PLAIN, 0, 2}, {CLP_MSGPACK_PLAIN, 0, 3}, {CLP_MSGPACK_PLAIN, 0, 5}, {CLP_MSGPACK_PLAIN, 0, 9},
    {CLP_MSGPACK_PLAIN, 0, 17},
    /* d9 str 8, 16, 32; array 16, 32; map 16, 32 */
    {CLP_MSGPACK_TEXT, 1, 0}, {CLP_MSGPACK_TEXT, 2, 0}, {CLP_MSGPACK_TEXT, 4, 0},
    {CLP_MSGPACK_ARRAY, 2, 0}, {CLP_MSGPACK_ARRAY, 4, 0}, {CLP_MSGPACK_MAP, 2, 0}, {CLP_MSGPACK_MAP, 4, 0},
};

static clp_status refuse(struct clp_msgpack_check *check, clp_status status, size_t offset, const char *reason)
{
    return clp_fault_set(check->fault, status, offset, reason);
}

/* The form of an item with this first byte. Short items carry their length in it. */
static struct form form_of(unsigned char first, uint64_t *count)
{
    *count = 0;
    if (first >= 0xc0 && first < 0xe0)
        return forms[first - 0xc0];
    if (first >= 0xa0 && first < 0xc0) {
        *count = first & 0x1f;
        return (struct form){CLP_MSGPACK_TEXT, 0, 0};
    }
    if (first >= 0x80 && first < 0xa0) {
        *count = first & 0x0f;
        return (struct form){first < 0x90 ? CLP_MSGPACK_MAP : CLP_MSGPACK_ARRAY, 0, 0};
    }
    return (struct form){CLP_MSGPACK_PLAIN, 0, 0};
}

clp_status clp_msgpack_check_head(struct clp_msgpack_check *check, struct clp_msgpack_check_head *head)
{
    size_t at = check->at;

    if (at == check->count)
        return refuse(check, CLP_TRUNCATED, at, "the file ends where more should follow");
    struct form form = form_of(check->bytes[at], &head->count);
    if (form.kind == UNUSED_FORM)
        return refuse(check, CLP_CORRUPT, at, "a byte that msgpack does not use");
    at++;
    if (check->count - at < (size_t)form.length_bytes + form.fixed_bytes)
        return refuse(check, CLP_TRUNCATED, check->at, "the file ends within a value");
    for (size_t i = 0; i < form.length_bytes; i++)
        head->count = head->count << 8 | check->bytes[at++];
    at += form.fixed_bytes;
    uint64_t body_bytes = form.kind == CLP_MSGPACK_TEXT || form.kind == CLP_MSGPACK_PLAIN ? head->count : 0;
    if (check->count - at < body_bytes)
        return refuse(check, CLP_TRUNCATED, check->at, "a text longer than the file");
    head->kind = form.kind;
    head->start = check->at;
    head->body = at;
    check->at = at + (size_t)body_bytes;
    return CLP_OK;
}

/* Returns the size of a whole number with this first byte; 0: the item is none. */
static size_t number_bytes(unsigned char first)
{
    if (first < 0x80 || first >= 0xe0)
        return 1;
    return first >= 0xcc && first <= 0xd3 ? 1 + ((size_t)1 << (first & 3)) : 0;
}

/* Moves behind a whole number, the kind of item that most of a profile is made of, faster than
 * clp_msgpack_check_head. Returns false and moves nowhere if another item, or nothing whole, comes next. */
static bool skip_number(struct clp_msgpack_check *check)
{
    size_t left = check->count - check->at, bytes = left != 0 ? number_bytes(check->bytes[check->at]) : 0;

    if (bytes == 0 || bytes > left)
        return false;
    check->at += bytes;
    return true;
}

/* `owed` counts, for each level, the items that are still to come. Each takes at least one byte, so more than
 * the bytes that are left cannot be owed. This limits what msgpack-c allocates to a multiple of the file's
 * size. */
clp_status clp_msgpack_check_item(struct clp_msgpack_check *check)
{
    uint64_t owed[CLP_MSGPACK_CHECK_DEPTH] = {1};
    uint64_t owed_sum = 1;
    size_t depth = 0;
    struct clp_msgpack_check_head head;

    while (owed_sum > 0) {
        while (owed[depth] == 0)
            depth--;
        owed[depth]--;
        owed_sum--;
        size_t start = check->at;
        bool is_number = skip_number(check);
        if (!is_number && clp_msgpack_check_head(check, &head) != CLP_OK)
            return check->fault->status;
        if (++check->items > CLP_MSGPACK_CHECK_ITEMS)
            return refuse(check, CLP_TOO_LARGE, start, "too many values: 67,108,864 are the most");
        if (is_number)
            continue;
        if (head.kind != CLP_MSGPACK_ARRAY && head.kind != CLP_MSGPACK_MAP)
            continue;
        if (++depth == CLP_MSGPACK_CHECK_DEPTH)
            return refuse(check, CLP_CORRUPT, head.start, "nested deeper than any profile");
        owed[depth] = head.kind == CLP_MSGPACK_MAP ? head.count * 2 : head.count;
        owed_sum += owed[depth];
        if (owed_sum > check->count - check->at)
            return refuse(check, CLP_TRUNCATED, head.start, "more values than bytes follow");
    }
    return CLP_OK;
}

static uint64_t read_big_endian(const unsigned char *bytes, size_t count)
{
    uint64_t value = 0;

    for (size_t i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

bool clp_msgpack_check_number(struct clp_msgpack_check *check, uint64_t *value, bool *negative)
{
    unsigned char first = check->bytes[check->at];

    *negative = false;
    if (first < 0x80 || first >= 0xe0) { /* the byte itself is the number */
        *value = (uint64_t)(int64_t)(signed char)first;
        *negative = first >= 0xe0;
        check->at++;
        return true;
    }
    if (first < 0xcc || first > 0xd3)
        return false;
    size_t bytes = (size_t)1 << (first & 3);
    *value = read_big_endian(check->bytes + check->at + 1, bytes);
    check->at += 1 + bytes;
    if (first < 0xd0)
        return true;
    *negative = *value >> (8 * bytes - 1) != 0;
    if (*negative && bytes < 8)
        *value |= UINT64_MAX << (8 * bytes);
    return true;
}
