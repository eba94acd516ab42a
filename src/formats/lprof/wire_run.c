/* SPDX-License-Identifier: MIT */
#include "wire_run.h"
#include "wire_fields.h"
#include "wire_objects.h"

/* ---- the timeline ---- */

static clp_status read_samples(struct clp_decoder *decoder, const msgpack_object *times,
                               const msgpack_object *sizes, struct clp_profile_series *series)
{
    uint64_t time, rss;

    for (uint32_t i = 0; i < times->via.array.size; i++) {
        if (!read_time(decoder, &times->via.array.ptr[i], &time) ||
            !read_uint64(&sizes->via.array.ptr[i], &rss))
            return refuse_here(decoder, "a sample that is not a number in its range");
        if (i > 0 && time < series->time[i - 1])
            return refuse_here(decoder, "samples are not in ascending order");
        if (clp_profile_add_sample(decoder->profile, series, time, rss) != CLP_OK)
            return no_memory(decoder);
    }
    return CLP_OK;
}

static clp_status read_mark(struct clp_decoder *decoder, const msgpack_object *object,
                            struct clp_profile_series *series)
{
    enum { LEVEL = CLP_KEYS, ENTER, LEAVE, COUNT };
    static const char *const names[COUNT] = {"file", "line", "name", "level", "enter", "leave"};
    const msgpack_object *found[COUNT];
    struct clp_profile_mark mark;
    uint64_t level;

    if (clp_wire_find_keys(decoder, object, names, COUNT, found) != CLP_OK)
        return decoder->fault->status;
    for (size_t i = 0; i < COUNT; i++)
        if (found[i] == NULL)
            return refuse_here(decoder, "a mark lacks one of its keys");
    if (!is_plain_text(found[CLP_KEY_FILE]) || !is_plain_text(found[CLP_KEY_NAME]) ||
        !read_line_number(found[CLP_KEY_LINE], &mark.first_line) ||
        !read_uint64(found[LEVEL], &level) || level > UINT32_MAX ||
        !read_time(decoder, found[ENTER], &mark.enter) ||
        !read_time(decoder, found[LEAVE], &mark.leave) || mark.leave < mark.enter)
        return refuse_here(decoder, "a mark holds something of the wrong kind or out of its range");
    if (clp_wire_copy_text(decoder, found[CLP_KEY_FILE], &decoder->file) != CLP_OK ||
        clp_wire_copy_text(decoder, found[CLP_KEY_NAME], &decoder->name) != CLP_OK)
        return CLP_NO_MEMORY;
    mark.level = (uint32_t)level;
    mark.file = (char *)(uintptr_t)clp_buf_text(&decoder->file);
    mark.name = (char *)(uintptr_t)clp_buf_text(&decoder->name);
    if (clp_profile_add_mark(decoder->profile, series, &mark) != CLP_OK)
        return no_memory(decoder);
    return CLP_OK;
}

static clp_status read_marks(struct clp_decoder *decoder, const msgpack_object *list,
                             struct clp_profile_series *series)
{
    if (list->type != MSGPACK_OBJECT_ARRAY)
        return refuse_here(decoder, "\"marks\" of a timeline are not a list");
    for (uint32_t i = 0; i < list->via.array.size; i++)
        if (read_mark(decoder, &list->via.array.ptr[i], series) != CLP_OK)
            return decoder->fault->status;
    return CLP_OK;
}

clp_status clp_wire_read_series(struct clp_decoder *decoder, struct clp_wire_span span)
{
    enum { PID, START, TIME, RSS, MARKS, COUNT };
    static const char *const names[COUNT] = {"pid", "start", "time", "rss", "marks"};
    const msgpack_object *found[COUNT];
    struct clp_profile_series *series;
    uint64_t pid = 0;
    double start = 0;
    msgpack_object object;

    if (clp_wire_unpack(decoder, span, &object) != CLP_OK ||
        clp_wire_find_keys(decoder, &object, names, COUNT, found) != CLP_OK)
        return decoder->fault->status;
    if (found[TIME] == NULL || found[TIME]->type != MSGPACK_OBJECT_ARRAY || found[RSS] == NULL ||
        found[RSS]->type != MSGPACK_OBJECT_ARRAY)
        return refuse_here(decoder, "\"time\" or \"rss\" of a timeline is missing or not a list");
    if (found[TIME]->via.array.size != found[RSS]->via.array.size)
        return refuse_here(decoder, "\"time\" and \"rss\" of a timeline are not equally long");
    if ((found[PID] != NULL && !read_uint64(found[PID], &pid)) ||
        (found[START] != NULL && !read_number(found[START], &start)))
        return refuse_here(decoder, "\"pid\" or \"start\" of a timeline is not a number");
    if (clp_profile_add_series(decoder->profile, pid, start, &series) != CLP_OK)
        return no_memory(decoder);
    if ((found[MARKS] == NULL || read_marks(decoder, found[MARKS], series) == CLP_OK) &&
        read_samples(decoder, found[TIME], found[RSS], series) == CLP_OK)
        return CLP_OK;
    clp_profile_drop_last_series(decoder->profile);
    return decoder->fault->status;
}

clp_status clp_wire_read_line_log(struct clp_decoder *decoder, struct clp_wire_span span)
{
    msgpack_object object;

    if (clp_wire_unpack(decoder, span, &object) != CLP_OK)
        return decoder->fault->status;
    if (object.type != MSGPACK_OBJECT_BIN)
        return refuse_here(decoder, "a log of lines is not bytes");
    return clp_profile_add_line_log(decoder->profile, object.via.bin.ptr, object.via.bin.size) == CLP_OK
               ? CLP_OK
               : no_memory(decoder);
}

/* ---- processes ---- */

static clp_status read_process_texts(struct clp_decoder *decoder, const msgpack_object *name,
                                     const msgpack_object *numbers,
                                     struct clp_profile_process *process)
{
    if (name != NULL && !is_plain_text(name))
        return refuse_here(decoder, "\"name\" of a process is not a text");
    if (numbers != NULL && numbers->type != MSGPACK_OBJECT_BIN)
        return refuse_here(decoder, "\"numbers\" of a process are not bytes");
    if (name != NULL && clp_wire_copy_text(decoder, name, &decoder->name) != CLP_OK)
        return CLP_NO_MEMORY;
    if (name != NULL)
        process->name = (char *)(uintptr_t)clp_buf_text(&decoder->name);
    if (numbers != NULL && numbers->via.bin.size != 0) {
        process->numbers = (char *)(uintptr_t)numbers->via.bin.ptr;
        process->numbers_bytes = numbers->via.bin.size;
    }
    return CLP_OK;
}

/* Stores a text of the row that was added last. */
static clp_status read_row_text(struct clp_decoder *decoder, const msgpack_object *object, const char *wrong,
                                char **text)
{
    if (object == NULL)
        return CLP_OK;
    if (!is_plain_text(object))
        return refuse_here(decoder, wrong);
    if (clp_wire_copy_text(decoder, object, &decoder->name) != CLP_OK)
        return CLP_NO_MEMORY;
    return clp_profile_set_text(decoder->profile, text, clp_buf_text(&decoder->name)) == CLP_OK ? CLP_OK
                                                                                             : no_memory(decoder);
}

static bool read_optional(const msgpack_object *object, uint64_t *value)
{
    return object == NULL || read_uint64(object, value);
}

clp_status clp_wire_read_process(struct clp_decoder *decoder, struct clp_wire_span span)
{
    enum { PID, PARENT, START, WALL, SELF, EVENTS, NAME, NUMBERS, NAMESPACE, RESTART, HOST, BOOT, RANK, COUNT };
    static const char *const names[COUNT] = {"pid",     "parent",        "start",   "wall", "self", "events", "name",
                                             "numbers", "pid_namespace", "restart", "host", "boot", "rank"};
    const msgpack_object *found[COUNT];
    struct clp_profile_process process = {0};
    msgpack_object object;

    if (clp_wire_unpack(decoder, span, &object) != CLP_OK ||
        clp_wire_find_keys(decoder, &object, names, COUNT, found) != CLP_OK)
        return decoder->fault->status;
    if (!read_optional(found[PID], &process.pid) ||
        !read_optional(found[PARENT], &process.parent) ||
        !read_optional(found[EVENTS], &process.events) ||
        !read_optional(found[NAMESPACE], &process.pid_namespace) ||
        !read_optional(found[RESTART], &process.restart) ||
        (found[START] != NULL && !read_number(found[START], &process.start)) ||
        (found[WALL] != NULL && !read_time(decoder, found[WALL], &process.wall)) ||
        (found[SELF] != NULL && !read_time(decoder, found[SELF], &process.self)))
        return refuse_here(decoder, "a process holds something that is not a number in its range");
    if (read_process_texts(decoder, found[NAME], found[NUMBERS], &process) != CLP_OK)
        return decoder->fault->status;
    if (clp_profile_add_process(decoder->profile, &process) != CLP_OK)
        return no_memory(decoder);
    struct clp_profile_process *row = &decoder->profile->processes[decoder->profile->process_count - 1];
    if (read_row_text(decoder, found[HOST], "\"host\" of a process is not a text", &row->host) != CLP_OK ||
        read_row_text(decoder, found[BOOT], "\"boot\" of a process is not a text", &row->boot) != CLP_OK)
        return decoder->fault->status;
    return read_row_text(decoder, found[RANK], "\"rank\" of a process is not a text", &row->rank);
}

/* ---- meta ---- */

static clp_status read_meta_text(struct clp_decoder *decoder, const struct clp_wire_meta *field,
                                 const msgpack_object *object)
{
    char **text = (char **)(void *)((char *)&decoder->profile->meta + field->at);

    if (!is_plain_text(object))
        return refuse_here(decoder, field->wrong);
    if (clp_wire_copy_text(decoder, object, &decoder->name) != CLP_OK)
        return CLP_NO_MEMORY;
    if (clp_profile_set_text(decoder->profile, text, clp_buf_text(&decoder->name)) != CLP_OK)
        return no_memory(decoder);
    return CLP_OK;
}

static clp_status read_meta_field(struct clp_decoder *decoder, const struct clp_wire_meta *field,
                                  const msgpack_object *object)
{
    void *at = (char *)&decoder->profile->meta + field->at;
    bool good = false;

    switch (field->type) {
    case CLP_META_TEXT:
        return read_meta_text(decoder, field, object);
    case CLP_META_COUNT:
    case CLP_META_ASKED:
        good = read_uint64(object, at);
        break;
    case CLP_META_TIME:
        good = read_time(decoder, object, at);
        break;
    case CLP_META_FLAG:
        good = object->type == MSGPACK_OBJECT_BOOLEAN;
        if (good)
            *(bool *)at = object->via.boolean;
        break;
    case CLP_META_SECONDS:
        good = read_number(object, at);
        break;
    }
    return good ? CLP_OK : refuse_here(decoder, field->wrong);
}

clp_status clp_wire_read_meta(struct clp_decoder *decoder, const msgpack_object *object)
{
    const char *names[CLP_WIRE_METAS];
    const msgpack_object *found[CLP_WIRE_METAS];

    for (size_t i = 0; i < CLP_WIRE_METAS; i++)
        names[i] = clp_wire_metas[i].name;
    if (clp_wire_find_keys(decoder, object, names, CLP_WIRE_METAS, found) != CLP_OK)
        return decoder->fault->status;
    for (size_t i = 0; i < CLP_WIRE_METAS; i++) {
        if (found[i] != NULL && read_meta_field(decoder, &clp_wire_metas[i], found[i]) != CLP_OK &&
            clp_wire_leave_out(decoder, NULL) != CLP_OK)
            return decoder->fault->status;
    }
    return CLP_OK;
}
