/* SPDX-License-Identifier: MIT */
#include "wire_split.h"
#include <string.h>

static void note_value(struct clp_wire_split *split, const struct clp_msgpack_check *check,
                       const struct clp_msgpack_check_head *key, struct clp_wire_span value)
{
    for (size_t k = 0; key->kind == CLP_MSGPACK_TEXT && k < split->count; k++) {
        if (key->count != strlen(split->names[k]) ||
            memcmp(check->bytes + key->body, split->names[k], key->count) != 0)
            continue;
        if (split->spans[k].end != 0 && split->twice == 0)
            split->twice = key->start;
        split->spans[k] = value;
    }
}

clp_status clp_wire_split_pairs(struct clp_msgpack_check *check, uint64_t pairs,
                                struct clp_wire_split *split)
{
    struct clp_msgpack_check_head key;

    memset(split->spans, 0, split->count * sizeof *split->spans);
    for (uint64_t i = 0; i < pairs; i++) {
        struct clp_msgpack_check ahead = *check;
        if (clp_msgpack_check_item(check) != CLP_OK || clp_msgpack_check_head(&ahead, &key) != CLP_OK)
            return check->fault->status;
        struct clp_wire_span value = {.start = check->at};
        if (clp_msgpack_check_item(check) != CLP_OK)
            return check->fault->status;
        value.end = check->at;
        note_value(split, check, &key, value);
    }
    return CLP_OK;
}

clp_status clp_wire_split(struct clp_decoder *decoder, struct clp_wire_span map,
                          const char *const *names, size_t count, struct clp_wire_span *spans)
{
    struct clp_msgpack_check check = clp_wire_walk(decoder, map);
    struct clp_wire_split split = {names, count, spans, 0};
    struct clp_msgpack_check_head head;

    if (clp_msgpack_check_head(&check, &head) != CLP_OK)
        return decoder->fault->status;
    if (head.kind != CLP_MSGPACK_MAP)
        return refuse_here(decoder, "not a map where one must be");
    if (clp_wire_split_pairs(&check, head.count, &split) != CLP_OK)
        return decoder->fault->status;
    return split.twice == 0 ? CLP_OK : refuse_here(decoder, "a map with the same key twice");
}
