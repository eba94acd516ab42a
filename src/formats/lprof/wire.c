/* SPDX-License-Identifier: MIT */
#include "wire.h"
#include "wire_fields.h"
#include "wire_texts.h"
#include <msgpack.h>
#include <string.h>

static int write_bytes(void *data, const char *bytes, size_t count)
{
    struct clp_buf *out = data;

    clp_buf_add(out, bytes, count);
    return out->failed ? -1 : 0;
}

static void pack_bytes(msgpack_packer *packer, const char *bytes, size_t count)
{
    msgpack_pack_str(packer, count);
    msgpack_pack_str_body(packer, bytes, count);
}

static void pack_text(msgpack_packer *packer, const char *text)
{
    pack_bytes(packer, text, strlen(text));
}

/* Writes an entry of a map: a key and a whole number. */
static void pack_count(msgpack_packer *packer, const char *key, uint64_t value)
{
    pack_text(packer, key);
    msgpack_pack_uint64(packer, value);
}

static void pack_real(msgpack_packer *packer, const char *key, double value)
{
    pack_text(packer, key);
    msgpack_pack_double(packer, value);
}

static void pack_named(msgpack_packer *packer, const char *key, const char *text)
{
    pack_text(packer, key);
    pack_text(packer, text);
}

static void pack_bool(msgpack_packer *packer, bool value)
{
    if (value)
        msgpack_pack_true(packer);
    else
        msgpack_pack_false(packer);
}

static const uint64_t *cell(const struct clp_profile_line *line,
                            const struct clp_wire_column *column)
{
    return (const uint64_t *)(const void *)((const char *)&line->measures + column->at);
}

static bool is_zero(const struct clp_profile_function *function,
                    const struct clp_wire_column *column)
{
    for (size_t i = 0; i < function->line_count; i++) {
        if (*cell(&function->lines[i], column) != 0)
            return false;
    }
    return true;
}

static void pack_column(msgpack_packer *packer, const struct clp_profile_function *function,
                        const struct clp_wire_column *column)
{
    pack_text(packer, column->name);
    msgpack_pack_array(packer, function->line_count);
    for (size_t i = 0; i < function->line_count; i++) {
        uint64_t value = *cell(&function->lines[i], column);
        if (column->is_signed)
            msgpack_pack_int64(packer, (int64_t)value);
        else
            msgpack_pack_uint64(packer, value);
    }
}

static void pack_lines(msgpack_packer *packer, const struct clp_profile_function *function)
{
    bool wanted[CLP_WIRE_COLUMNS];
    size_t count = 1;

    for (size_t i = 0; i < CLP_WIRE_COLUMNS; i++) {
        wanted[i] = !is_zero(function, &clp_wire_columns[i]);
        count += wanted[i];
    }
    msgpack_pack_map(packer, count);
    pack_text(packer, "line");
    msgpack_pack_array(packer, function->line_count);
    for (size_t i = 0; i < function->line_count; i++)
        msgpack_pack_int32(packer, function->lines[i].line);
    for (size_t i = 0; i < CLP_WIRE_COLUMNS; i++) {
        if (wanted[i])
            pack_column(packer, function, &clp_wire_columns[i]);
    }
}

static void pack_key(msgpack_packer *packer, const struct clp_profile_function *function)
{
    pack_named(packer, "file", function->file);
    pack_text(packer, "line");
    msgpack_pack_int32(packer, function->first_line);
    pack_named(packer, "name", function->name);
}

static void pack_true(msgpack_packer *packer, const char *name)
{
    pack_text(packer, name);
    msgpack_pack_true(packer);
}

static void pack_leak(msgpack_packer *packer, const struct clp_profile_leak *leak)
{
    msgpack_pack_map(packer, 6u + leak->per_execution + leak->at_end + (leak->held_by != NULL));
    pack_text(packer, "line");
    msgpack_pack_int32(packer, leak->line);
    pack_count(packer, "bytes", leak->bytes);
    pack_real(packer, "bytes_per_call", leak->bytes_per_call);
    pack_real(packer, "bytes_per_second", leak->bytes_per_second);
    pack_real(packer, "confidence", leak->confidence);
    pack_count(packer, "margin", leak->margin);
    if (leak->per_execution)
        pack_true(packer, "per_execution");
    if (leak->at_end)
        pack_true(packer, "at_end");
    if (leak->held_by != NULL)
        pack_named(packer, "held_by", leak->held_by);
}

static void pack_leaks(msgpack_packer *packer, const struct clp_profile_function *function)
{
    pack_text(packer, "leaks");
    msgpack_pack_array(packer, function->leak_count);
    for (size_t i = 0; i < function->leak_count; i++)
        pack_leak(packer, &function->leaks[i]);
}

static void pack_callee(msgpack_packer *packer, const struct clp_profile_callee *callee)
{
    msgpack_pack_array(packer, 4);
    msgpack_pack_int32(packer, callee->line);
    pack_bool(packer, callee->library);
    msgpack_pack_uint64(packer, callee->time);
    pack_text(packer, callee->name);
}

static void pack_callees(msgpack_packer *packer, const struct clp_profile_function *function)
{
    pack_text(packer, "callees");
    msgpack_pack_array(packer, function->callee_count);
    for (size_t i = 0; i < function->callee_count; i++)
        pack_callee(packer, &function->callees[i]);
}

static void pack_missed(msgpack_packer *packer, const struct clp_profile_function *function)
{
    pack_text(packer, "missed");
    msgpack_pack_array(packer, function->missed_count);
    for (size_t i = 0; i < function->missed_count; i++)
        msgpack_pack_int32(packer, function->missed[i]);
}

/* Five numbers for each line, in the order of struct clp_profile_spread. */
static void pack_spread(msgpack_packer *packer, const struct clp_profile_function *function)
{
    pack_text(packer, "spread");
    msgpack_pack_array(packer, function->line_count * CLP_WIRE_SPREAD);
    for (size_t i = 0; i < function->line_count; i++) {
        const struct clp_profile_spread *spread = &function->lines[i].spread;
        msgpack_pack_uint64(packer, spread->least);
        msgpack_pack_uint64(packer, spread->most);
        msgpack_pack_uint32(packer, spread->least_in);
        msgpack_pack_uint32(packer, spread->most_in);
        msgpack_pack_uint32(packer, spread->count);
    }
}

/* Says where the function's text stands. */
static void pack_place(msgpack_packer *packer, const struct clp_profile_function *function,
                       const struct clp_wire_place *place)
{
    pack_text(packer, "text");
    msgpack_pack_array(packer, 3);
    msgpack_pack_uint64(packer, place->text);
    msgpack_pack_uint64(packer, place->start);
    msgpack_pack_uint64(packer, function->source_bytes);
}

static bool has_hash(const struct clp_profile_function *function)
{
    return function->source == NULL && function->text_hash != 0;
}

static bool is_compiled_known(const struct clp_compiled *compiled)
{
    return compiled->calls != 0 || compiled->times != 0;
}

static void pack_compiled(msgpack_packer *packer, const struct clp_compiled *compiled)
{
    pack_text(packer, "compiled");
    msgpack_pack_array(packer, 3);
    msgpack_pack_uint64(packer, compiled->calls);
    msgpack_pack_uint64(packer, compiled->times);
    msgpack_pack_uint64(packer, compiled->nanos);
}

static void pack_functions(msgpack_packer *packer, const struct clp_profile *profile,
                           const struct clp_wire_texts *texts)
{
    msgpack_pack_array(packer, profile->function_count);
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct clp_profile_function *function = &profile->functions[i];
        bool spread = clp_profile_has_spread(function);
        msgpack_pack_map(packer, 6u + (function->missed_count != 0 ? 1u : 0u) +
                                     (function->leak_count != 0 ? 1u : 0u) +
                                     (function->callee_count != 0 ? 1u : 0u) +
                                     (function->source != NULL ? 1u : 0u) +
                                     (has_hash(function) ? 1u : 0u) + (function->source_changed ? 1u : 0u) +
                                     (function->compiler != NULL ? 1u : 0u) +
                                     (is_compiled_known(&function->compiled) ? 1u : 0u) + (spread ? 1u : 0u));
        pack_key(packer, function);
        pack_count(packer, "total", function->total);
        pack_count(packer, "raw_total", function->raw_total);
        pack_text(packer, "lines");
        pack_lines(packer, function);
        if (function->missed_count != 0)
            pack_missed(packer, function);
        if (function->leak_count != 0)
            pack_leaks(packer, function);
        if (function->callee_count != 0)
            pack_callees(packer, function);
        if (function->source != NULL)
            pack_place(packer, function, &texts->places[i]);
        if (has_hash(function))
            pack_count(packer, "text_hash", function->text_hash);
        if (function->source_changed) {
            pack_text(packer, "source_changed");
            pack_bool(packer, true);
        }
        if (function->compiler != NULL)
            pack_named(packer, "compiler", function->compiler);
        if (is_compiled_known(&function->compiled))
            pack_compiled(packer, &function->compiled);
        if (spread)
            pack_spread(packer, function);
    }
}

static void pack_numbers(msgpack_packer *packer, const char *name, const uint64_t *numbers,
                         size_t count)
{
    pack_text(packer, name);
    msgpack_pack_array(packer, count);
    for (size_t i = 0; i < count; i++)
        msgpack_pack_uint64(packer, numbers[i]);
}

static void pack_mark(msgpack_packer *packer, const struct clp_profile_mark *mark)
{
    msgpack_pack_map(packer, 6);
    pack_named(packer, "file", mark->file);
    pack_text(packer, "line");
    msgpack_pack_int32(packer, mark->first_line);
    pack_named(packer, "name", mark->name);
    pack_text(packer, "level");
    msgpack_pack_uint32(packer, mark->level);
    pack_count(packer, "enter", mark->enter);
    pack_count(packer, "leave", mark->leave);
}

static void pack_marks(msgpack_packer *packer, const struct clp_profile_series *series)
{
    pack_text(packer, "marks");
    msgpack_pack_array(packer, series->mark_count);
    for (size_t i = 0; i < series->mark_count; i++)
        pack_mark(packer, &series->marks[i]);
}

static void pack_timeline(msgpack_packer *packer, const struct clp_profile *profile)
{
    pack_text(packer, "timeline");
    msgpack_pack_array(packer, profile->series_count);
    for (size_t i = 0; i < profile->series_count; i++) {
        const struct clp_profile_series *series = &profile->series[i];
        msgpack_pack_map(packer, series->mark_count != 0 ? 5 : 4);
        pack_count(packer, "pid", series->pid);
        pack_real(packer, "start", series->start);
        pack_numbers(packer, "time", series->time, series->count);
        pack_numbers(packer, "rss", series->rss, series->count);
        if (series->mark_count != 0)
            pack_marks(packer, series);
    }
}

/* Returns a number of a context as it stands in the file: a function is -1 where contexts were joined. Numbers without a
 * sign that do not fit in int64_t keep their bits. */
static int64_t call_number(const struct clp_profile_call *call, enum clp_wire_call column)
{
    switch (column) {
    case CLP_WIRE_CALL_parent: return call->parent;
    case CLP_WIRE_CALL_line: return call->line;
    case CLP_WIRE_CALL_function: return call->function == CLP_CALL_DEEPER ? -1 : (int64_t)call->function;
    case CLP_WIRE_CALL_through: return call->through;
    case CLP_WIRE_CALL_calls: return (int64_t)call->calls;
    case CLP_WIRE_CALL_time: return (int64_t)call->time;
    case CLP_WIRE_CALL_again: return (int64_t)call->again;
    default: return call->increment;
    }
}

static bool has_numbers(const struct clp_profile *profile, enum clp_wire_call column)
{
    for (size_t i = 0; i < profile->call_count; i++)
        if (call_number(&profile->calls[i], column) != 0)
            return true;
    return column == CLP_WIRE_CALL_function; /* which is always written: it says how many contexts there are */
}

static void pack_call_column(msgpack_packer *packer, const struct clp_profile *profile, enum clp_wire_call column)
{
    pack_text(packer, clp_wire_calls[column].name);
    msgpack_pack_array(packer, profile->call_count);
    for (size_t i = 0; i < profile->call_count; i++) {
        int64_t number = call_number(&profile->calls[i], column);
        if (clp_wire_calls[column].is_signed)
            msgpack_pack_int64(packer, number);
        else
            msgpack_pack_uint64(packer, (uint64_t)number);
    }
}

static void pack_calls(msgpack_packer *packer, const struct clp_profile *profile)
{
    size_t count = profile->calls_cut != 0;

    for (enum clp_wire_call i = 0; i < CLP_WIRE_CALLS; i++)
        count += has_numbers(profile, i);
    pack_text(packer, "calls");
    msgpack_pack_map(packer, count);
    for (enum clp_wire_call i = 0; i < CLP_WIRE_CALLS; i++)
        if (has_numbers(profile, i))
            pack_call_column(packer, profile, i);
    if (profile->calls_cut != 0)
        pack_count(packer, "cut", profile->calls_cut);
}

/* Writes an entry of a map if there is such a text. */
static void pack_if_known(msgpack_packer *packer, const char *key, const char *text)
{
    if (text != NULL)
        pack_named(packer, key, text);
}

static void pack_process(msgpack_packer *packer, const struct clp_profile_process *process)
{
    msgpack_pack_map(packer, 6u + (process->name != NULL) + (process->numbers != NULL) + (process->host != NULL) +
                                 (process->boot != NULL) + (process->rank != NULL) +
                                 (process->pid_namespace != 0) + (process->restart != 0));
    pack_count(packer, "pid", process->pid);
    pack_count(packer, "parent", process->parent);
    pack_real(packer, "start", process->start);
    pack_count(packer, "wall", process->wall);
    pack_count(packer, "self", process->self);
    pack_count(packer, "events", process->events);
    pack_if_known(packer, "name", process->name);
    pack_if_known(packer, "host", process->host);
    pack_if_known(packer, "boot", process->boot);
    if (process->pid_namespace != 0)
        pack_count(packer, "pid_namespace", process->pid_namespace);
    pack_if_known(packer, "rank", process->rank);
    if (process->restart != 0)
        pack_count(packer, "restart", process->restart);
    if (process->numbers != NULL) {
        pack_text(packer, "numbers");
        msgpack_pack_bin(packer, process->numbers_bytes);
        msgpack_pack_bin_body(packer, process->numbers, process->numbers_bytes);
    }
}

static void pack_processes(msgpack_packer *packer, const struct clp_profile *profile)
{
    pack_text(packer, "processes");
    msgpack_pack_array(packer, profile->process_count);
    for (size_t i = 0; i < profile->process_count; i++)
        pack_process(packer, &profile->processes[i]);
}

static void pack_meta_field(msgpack_packer *packer, const struct clp_profile_meta *meta,
                            const struct clp_wire_meta *field)
{
    const void *at = (const char *)meta + field->at;

    pack_text(packer, field->name);
    switch (field->type) {
    case CLP_META_TEXT:
        pack_text(packer, *(char *const *)at);
        break;
    case CLP_META_COUNT:
    case CLP_META_ASKED:
    case CLP_META_TIME:
        msgpack_pack_uint64(packer, *(const uint64_t *)at);
        break;
    case CLP_META_FLAG:
        pack_bool(packer, *(const bool *)at);
        break;
    case CLP_META_SECONDS:
        msgpack_pack_double(packer, *(const double *)at);
        break;
    }
}

/* Is the entry written? Texts that are not known are left out, and counts that are 0 because nobody asked for
 * them. */
static bool is_known(const struct clp_profile_meta *meta, const struct clp_wire_meta *field)
{
    const void *at = (const char *)meta + field->at;

    if (field->type == CLP_META_ASKED)
        return *(const uint64_t *)at != 0;
    return field->type != CLP_META_TEXT || *(char *const *)at != NULL;
}

static void pack_meta(msgpack_packer *packer, const struct clp_profile_meta *meta)
{
    size_t count = 0;

    for (size_t i = 0; i < CLP_WIRE_METAS; i++)
        count += is_known(meta, &clp_wire_metas[i]);
    msgpack_pack_map(packer, count);
    for (size_t i = 0; i < CLP_WIRE_METAS; i++) {
        if (is_known(meta, &clp_wire_metas[i]))
            pack_meta_field(packer, meta, &clp_wire_metas[i]);
    }
}

static void pack_line_logs(msgpack_packer *packer, const struct clp_profile *profile)
{
    pack_text(packer, "line_log");
    msgpack_pack_array(packer, profile->line_log_count);
    for (size_t i = 0; i < profile->line_log_count; i++) {
        msgpack_pack_bin(packer, profile->line_logs[i].count);
        msgpack_pack_bin_body(packer, profile->line_logs[i].bytes, profile->line_logs[i].count);
    }
}

static clp_status pack_profile(const struct clp_profile *profile, const struct clp_wire_texts *texts,
                               msgpack_packer *packer)
{
    bool has_files = clp_wire_texts_files(texts) != 0;
    clp_status status;

    msgpack_pack_map(packer, 6u + has_files + (profile->series_count != 0) + (profile->process_count != 0) +
                                 (profile->call_count != 0) + (profile->line_log_count != 0));
    pack_text(packer, "format"); /* first, so that the first bytes tell the format */
    pack_text(packer, CLP_WIRE_FORMAT);
    pack_text(packer, "version");
    msgpack_pack_int(packer, CLP_WIRE_VERSION);
    pack_text(packer, "unit");
    msgpack_pack_double(packer, CLP_WIRE_UNIT);
    pack_text(packer, "functions");
    pack_functions(packer, profile, texts);
    pack_text(packer, "texts");
    status = clp_wire_texts_pack(texts, packer);
    if (has_files) {
        pack_text(packer, "files");
        clp_wire_texts_pack_files(texts, packer);
    }
    pack_text(packer, "meta");
    pack_meta(packer, &profile->meta);
    if (profile->series_count != 0)
        pack_timeline(packer, profile);
    if (profile->process_count != 0)
        pack_processes(packer, profile);
    if (profile->call_count != 0)
        pack_calls(packer, profile);
    if (profile->line_log_count != 0)
        pack_line_logs(packer, profile);
    return status;
}

clp_status clp_wire_encode(const struct clp_profile *profile, struct clp_buf *out)
{
    struct clp_wire_texts texts;
    msgpack_packer packer;

    msgpack_packer_init(&packer, out, write_bytes);
    clp_status status = clp_wire_texts_lay_out(&texts, profile);
    if (status == CLP_OK)
        status = pack_profile(profile, &texts, &packer);
    clp_wire_texts_clear(&texts);
    return out->failed ? CLP_NO_MEMORY : status;
}
