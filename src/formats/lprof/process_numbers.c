/* SPDX-License-Identifier: MIT */
#include "process_numbers.h"
#include "profile/profile_merge.h"
#include "profile/texts.h"
#include "wire.h"
#include "wire_reader.h"
#include <string.h>

/* ---- keeping numbers apart ---- */

static void encode_numbers(const struct clp_profile *profile, struct clp_buf *bytes)
{
    struct clp_profile bare = *profile; /* without source, which is in the sum */
    struct clp_mem *mem = profile->mem;
    size_t count = profile->function_count;
    struct clp_profile_function *functions = clp_mem_alloc(mem, count, sizeof *functions);

    if (functions == NULL)
        return;
    memcpy(functions, profile->functions, count * sizeof *functions);
    for (size_t i = 0; i < count; i++) {
        functions[i].text_hash = clp_profile_text_hash(&functions[i]);
        functions[i].source = NULL;
    }
    bare.functions = functions;
    bare.process_count = bare.series_count = bare.text_count = bare.line_log_count = 0;
    (void)clp_wire_encode(&bare, bytes);
    clp_mem_free(mem, functions, count, sizeof *functions);
}

clp_status clp_process_numbers_add(struct clp_profile *one, uint64_t parent, const char *name, bool apart)
{
    struct clp_profile_process row = {
        .pid = one->meta.pid,
        .parent = parent,
        .start = one->meta.start,
        .pid_namespace = one->meta.pid_namespace,
        .restart = one->meta.restart,
        .host = one->meta.host,
        .boot = one->meta.boot,
        .rank = one->meta.rank,
        .wall = one->meta.wall,
        .self = clp_profile_self(one),
        .events = one->meta.events,
        .name = (char *)(uintptr_t)(name[0] != 0 ? name : NULL),
    };
    struct clp_buf bytes;

    clp_buf_init(&bytes, one->mem);
    if (apart)
        encode_numbers(one, &bytes);
    if (bytes.used != 0 && !bytes.failed) {
        row.numbers = bytes.bytes;
        row.numbers_bytes = bytes.used;
    }
    clp_status status = clp_profile_add_process(one, &row);
    clp_buf_clear(&bytes);
    return status;
}

/* ---- taking a sum apart ---- */

clp_status clp_process_numbers_merge(struct clp_profile *sum, const struct clp_profile_process *process,
                                     struct clp_fault *fault)
{
    struct clp_profile one;

    clp_profile_init(&one, sum->mem);
    clp_status status =
        clp_wire_decode(process->numbers, process->numbers_bytes, &one, fault);
    if (status == CLP_OK && one.left_out_count != 0)
        status = clp_fault_set(fault, CLP_CORRUPT, 0, "the numbers of a process");
    if (status == CLP_OK)
        status = clp_profile_add_process(&one, process);
    if (status == CLP_OK)
        status = clp_profile_merge(sum, &one);
    clp_profile_clear(&one);
    return status;
}

static bool is_same_text(const struct clp_profile_function *one, const struct clp_profile_function *other)
{
    return one->text_hash == 0 || one->text_hash == clp_profile_text_hash(other);
}

static bool is_variant_of(const struct clp_profile_function *one, const struct clp_profile_function *other)
{
    size_t bytes = clp_profile_plain_name(one);

    return one->first_line == other->first_line && clp_profile_plain_name(other) == bytes &&
           memcmp(one->name, other->name, bytes) == 0 && strcmp(one->file, other->file) == 0;
}

/* Sets *whole to the function with the source of `function`: the one of its name or, where texts differed in a merge,
 * the one with its text. */
static clp_status find_whole(struct clp_profile *from, const struct clp_profile_function *function,
                             struct clp_profile_function **whole)
{
    clp_status status = clp_profile_add_function(from, function->file, function->name, function->first_line, whole);

    for (size_t i = 0; status == CLP_OK && !is_same_text(function, *whole) && i < from->function_count; i++)
        if (is_variant_of(function, &from->functions[i]) && is_same_text(function, &from->functions[i]))
            *whole = &from->functions[i];
    return status;
}

clp_status clp_process_numbers_copy_sources(struct clp_profile *into, struct clp_profile *from)
{
    clp_status status = CLP_OK;

    for (size_t i = 0; i < into->function_count && status == CLP_OK; i++) {
        struct clp_profile_function *function = &into->functions[i], *whole;
        status = find_whole(from, function, &whole);
        if (status == CLP_OK && is_same_text(function, whole))
            status = clp_profile_set_source(into, function, whole->source, whole->source_bytes);
    }
    return status;
}

/* Moves the memory over time, which belongs to the process that the run began with. */
static void move_series(struct clp_profile *into, struct clp_profile *from)
{
    into->series = from->series;
    into->series_count = from->series_count;
    into->series_room = from->series_room;
    from->series = NULL;
    from->series_count = from->series_room = 0;
}

clp_status clp_process_numbers_keep(struct clp_profile *profile,
                                    bool (*keeps)(const void *data,
                                                  const struct clp_profile_process *process),
                                    const void *data)
{
    clp_status status = CLP_OK;
    struct clp_profile sum;
    struct clp_fault fault;

    clp_profile_init(&sum, profile->mem);
    for (size_t i = 0; i < profile->process_count && status == CLP_OK; i++) {
        const struct clp_profile_process *process = &profile->processes[i];
        if (keeps(data, process))
            status = process->numbers != NULL ? clp_process_numbers_merge(&sum, process, &fault) : CLP_CORRUPT;
    }
    if (status == CLP_OK)
        status = clp_process_numbers_copy_sources(&sum, profile);
    if (status != CLP_OK) {
        clp_profile_clear(&sum);
        return status == CLP_NO_MEMORY ? status : CLP_CORRUPT;
    }
    move_series(&sum, profile);
    sum.denied = profile->denied;
    clp_profile_clear(profile);
    *profile = sum;
    return CLP_OK;
}
