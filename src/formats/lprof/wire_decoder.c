/* SPDX-License-Identifier: MIT */
#include "wire_decoder.h"
#include "base/escape.h"

static void tell(const struct clp_decoder *decoder, const struct clp_profile_function *function)
{
    struct clp_buf *out = &decoder->profile->left_out;

    clp_buf_add_format(out, "%s at byte %llu: %s; ", clp_status_text(decoder->fault->status),
                       (unsigned long long)decoder->fault->offset, decoder->fault->reason);
    if (function != NULL) {
        clp_buf_add_text(out, "function ");
        clp_escape_add_text(out, function->name);
        clp_buf_add_text(out, " of ");
        clp_escape_add_text(out, function->file);
        clp_buf_add_text(out, " is read without this part");
    } else {
        clp_buf_add_text(out, "it is left out");
    }
}

clp_status clp_wire_leave_out(struct clp_decoder *decoder, const struct clp_profile_function *function)
{
    if (decoder->fault->status != CLP_CORRUPT)
        return decoder->fault->status;
    if (decoder->profile->left_out_count++ == 0) /* a file may be wrong in millions of places */
        tell(decoder, function);
    *decoder->fault = (struct clp_fault){.status = CLP_OK};
    return decoder->profile->left_out.failed ? no_memory(decoder) : CLP_OK;
}
