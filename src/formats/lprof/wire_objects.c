/* SPDX-License-Identifier: MIT */
#include "wire_objects.h"

clp_status clp_wire_unpack(struct clp_decoder *decoder, struct clp_wire_span span,
                           msgpack_object *object)
{
    size_t at = 0;

    msgpack_zone_clear(&decoder->zone);
    switch (msgpack_unpack(decoder->bytes + span.start, span.end - span.start, &at, &decoder->zone,
                           object)) {
    case MSGPACK_UNPACK_SUCCESS:
        return CLP_OK;
    case MSGPACK_UNPACK_NOMEM_ERROR:
        return no_memory(decoder);
    default:
        return refuse_here(decoder, "msgpack-c cannot read it");
    }
}

clp_status clp_wire_find_keys(struct clp_decoder *decoder, const msgpack_object *map,
                              const char *const *names, size_t count, const msgpack_object **found)
{
    memset(found, 0, count * sizeof *found);
    if (map->type != MSGPACK_OBJECT_MAP)
        return refuse_here(decoder, "not a map where one must be");
    for (uint32_t i = 0; i < map->via.map.size; i++) {
        const msgpack_object_kv *pair = &map->via.map.ptr[i];
        size_t k = 0;
        while (k < count && !is_text(&pair->key, names[k]))
            k++;
        if (k == count)
            continue;
        if (found[k] != NULL)
            return refuse_here(decoder, "a map with the same key twice");
        found[k] = &pair->val;
    }
    return CLP_OK;
}

clp_status clp_wire_copy_text(struct clp_decoder *decoder, const msgpack_object *object,
                              struct clp_buf *copy)
{
    copy->used = 0;
    clp_buf_add(copy, object->via.str.ptr, object->via.str.size);
    return copy->failed ? no_memory(decoder) : CLP_OK;
}
