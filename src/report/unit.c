/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "profile/amount.h"
#include <string.h>

bool clp_unit_named(const char *word, double *unit)
{
    double nanos = word != NULL ? clp_amount_unit(CLP_MEASURE_NANOS, word, strlen(word)) : 0;
    bool known = nanos != 0 || (word != NULL && strcmp(word, "auto") == 0);

    if (known)
        *unit = nanos != 0 ? nanos * 1e-9 : CLP_UNIT_AUTO;
    return known;
}
