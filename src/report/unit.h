/* SPDX-License-Identifier: MIT */
/* The unit of times in reports: a number of seconds, or one of these, which are no number of seconds. */
#ifndef CLP_UNIT_H
#define CLP_UNIT_H

#include <stdbool.h>

#define CLP_UNIT_AUTO 0.0     /* each time has the unit that fits it */
#define CLP_UNIT_USUAL (-1.0) /* for who prints: AUTO on a terminal, elsewhere 1e-6. No report has it */

/* Sets *unit by a word: "ms" is 1e-3, "auto" CLP_UNIT_AUTO. False for other words and for NULL. */
bool clp_unit_named(const char *word, double *unit);

/* What clp_unit_named and numbers allow, for messages. */
#define CLP_UNIT_WORDS "a number above 0, such as 1e-3, or auto, s, ms, us or ns"

#endif
