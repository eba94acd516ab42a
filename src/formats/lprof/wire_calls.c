/* SPDX-License-Identifier: MIT */
#include "wire_calls.h"
#include "profile/calls.h"
#include "wire_fields.h"
#include "wire_objects.h"
#include "wire_rows.h"
#include "wire_split.h"

/* Reads the next number of a column. A negative one comes as its bits. A column that the file lacks has zeros. */
static clp_status read_number_of(struct clp_decoder *decoder, struct clp_msgpack_check *walk,
                                 const struct clp_wire_call_column *column, uint64_t *value)
{
    bool negative;

    *value = 0;
    if (walk->bytes == NULL)
        return CLP_OK;
    if (!clp_msgpack_check_number(walk, value, &negative) ||
        (negative ? (int64_t)*value < column->lowest : *value > column->highest) ||
        (column->is_time && !clp_profile_scale_time(decoder->scale, value)))
        return refuse_here(decoder, column->not_number);
    return CLP_OK;
}

/* Reads the next context, and sees that its parent and its function are there. */
static clp_status read_call(struct clp_decoder *decoder, struct clp_msgpack_check *walks,
                            struct clp_profile_call *call)
{
    const struct clp_profile *profile = decoder->profile;
    uint64_t value[CLP_WIRE_CALLS];

    for (size_t i = 0; i < CLP_WIRE_CALLS; i++)
        if (read_number_of(decoder, &walks[i], &clp_wire_calls[i], &value[i]) != CLP_OK)
            return decoder->fault->status;
    *call = (struct clp_profile_call){
        .parent = (uint32_t)value[CLP_WIRE_CALL_parent],
        .line = (int32_t)value[CLP_WIRE_CALL_line],
        .function = (uint32_t)value[CLP_WIRE_CALL_function], /* -1 becomes CLP_CALL_DEEPER */
        .through = value[CLP_WIRE_CALL_through] != 0,
        .calls = value[CLP_WIRE_CALL_calls],
        .time = value[CLP_WIRE_CALL_time],
        .again = value[CLP_WIRE_CALL_again],
        .increment = (int64_t)value[CLP_WIRE_CALL_increment],
    };
    if (call->parent > profile->call_count)
        return refuse_here(decoder, "a call stands before the call that it is part of");
    if (call->function != CLP_CALL_DEEPER && call->function >= profile->function_count)
        return refuse_here(decoder, "a call of a function that is not listed");
    if (call->parent != 0 && profile->calls[call->parent - 1].function == CLP_CALL_DEEPER)
        return refuse_here(decoder, "a call from calls that were joined");
    return CLP_OK;
}

/* Refuses contexts below a leaf of recursion: they would count time twice. */
static clp_status check_leaves(struct clp_decoder *decoder)
{
    const struct clp_profile *profile = decoder->profile;
    uint32_t *homes = clp_mem_alloc(profile->mem, profile->call_count, sizeof *homes);
    clp_status status = CLP_OK;

    if (profile->call_count == 0)
        return CLP_OK;
    if (homes == NULL || clp_profile_call_homes(profile, homes) != CLP_OK)
        status = no_memory(decoder);
    for (size_t i = 0; i < profile->call_count && status == CLP_OK; i++) {
        uint32_t parent = profile->calls[i].parent;
        if (parent != 0 && homes[parent - 1] != parent - 1)
            status = refuse_here(decoder, "a call from a call that is recursion");
    }
    clp_mem_free(profile->mem, homes, profile->call_count, sizeof *homes);
    return status;
}

/* Finds the columns. One that the file lacks has `bytes` NULL. */
static clp_status find_columns(struct clp_decoder *decoder, const struct clp_wire_span *spans,
                               struct clp_msgpack_check *walks, uint64_t *count)
{
    uint64_t items;

    if (clp_wire_start_column(decoder, spans[CLP_WIRE_CALL_function], &walks[CLP_WIRE_CALL_function], count,
                              "column \"function\" of \"calls\" is missing or not a list") != CLP_OK)
        return decoder->fault->status;
    for (size_t i = 0; i < CLP_WIRE_CALLS; i++) {
        const struct clp_wire_call_column *column = &clp_wire_calls[i];
        if (i == CLP_WIRE_CALL_function)
            continue;
        walks[i].bytes = NULL;
        if (spans[i].end == 0)
            continue;
        if (clp_wire_start_column(decoder, spans[i], &walks[i], &items, column->not_list) != CLP_OK)
            return decoder->fault->status;
        if (items != *count)
            return refuse_here(decoder, column->not_as_long);
    }
    return CLP_OK;
}

static clp_status read_cut(struct clp_decoder *decoder, struct clp_wire_span span)
{
    msgpack_object object;

    if (span.end == 0)
        return CLP_OK;
    if (clp_wire_unpack(decoder, span, &object) != CLP_OK)
        return decoder->fault->status;
    return read_uint64(&object, &decoder->profile->calls_cut)
               ? CLP_OK
               : refuse_here(decoder, "\"cut\" of \"calls\" is not a whole number");
}

static clp_status read_tree(struct clp_decoder *decoder, struct clp_wire_span map)
{
    enum { CUT = CLP_WIRE_CALLS, COUNT };
    const char *names[COUNT] = {[CUT] = "cut"};
    struct clp_wire_span spans[COUNT];
    struct clp_msgpack_check walks[CLP_WIRE_CALLS];
    struct clp_profile *profile = decoder->profile;
    struct clp_profile_call call;
    uint64_t count;

    for (size_t i = 0; i < CLP_WIRE_CALLS; i++)
        names[i] = clp_wire_calls[i].name;
    if (clp_wire_split(decoder, map, names, COUNT, spans) != CLP_OK ||
        find_columns(decoder, spans, walks, &count) != CLP_OK)
        return decoder->fault->status;
    for (uint64_t i = 0; i < count; i++) {
        if (read_call(decoder, walks, &call) != CLP_OK)
            return decoder->fault->status;
        if (clp_profile_add_call(profile, &call, NULL) != CLP_OK)
            return no_memory(decoder);
        if (profile->call_count == i)
            return refuse_here(decoder, "a call that was listed before");
    }
    return check_leaves(decoder) != CLP_OK ? decoder->fault->status : read_cut(decoder, spans[CUT]);
}

clp_status clp_wire_read_calls(struct clp_decoder *decoder, struct clp_wire_span map)
{
    clp_status status = decoder->lost_function
                            ? refuse_here(decoder, "\"calls\" are of functions of which one cannot be read")
                            : read_tree(decoder, map);

    if (status != CLP_OK)
        clp_profile_drop_calls(decoder->profile);
    return status;
}
