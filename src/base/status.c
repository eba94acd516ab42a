/* SPDX-License-Identifier: MIT */
#include "status.h"
#include <string.h>

#define CLP_STATUS_MESSAGE(code, text) text,
static const char *const messages[] = {CLP_STATUS_TABLE(CLP_STATUS_MESSAGE)};
#undef CLP_STATUS_MESSAGE

clp_status clp_fault_set(struct clp_fault *fault, clp_status status, uint64_t offset,
                         const char *reason)
{
    *fault = (struct clp_fault){.status = status, .offset = offset, .reason = reason};
    return status;
}

const char *clp_status_text(clp_status status)
{
    if ((unsigned)status >= CLP_STATUS_COUNT)
        return "unknown status";
    return messages[status];
}

const char *clp_fault_text(const struct clp_fault *fault)
{
    if (fault->os_error != 0 && fault->reason != NULL)
        return fault->reason;
    return fault->os_error != 0 ? strerror(fault->os_error) : clp_status_text(fault->status);
}
