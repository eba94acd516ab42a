/* SPDX-License-Identifier: MIT */
/* Folds rows of a table that --min-percent leaves out: consecutive rows, of which at least one has data, become one row
 * of "...". In a marked report the source of folded rows is still there, for the colours of strings over several lines
 * (table.h). */
#ifndef CLP_FOLD_H
#define CLP_FOLD_H

#include "base/buf.h"
#include "profile/source.h"

struct clp_fold {
    struct clp_buf *out;   /* borrowed: the report */
    struct clp_buf hidden; /* source of the rows in the current stretch */
    bool marked;
    size_t width; /* of the column of line numbers, in characters */
    size_t start, count; /* of the current stretch: the offset of its text in `out`, and its number of rows */
    bool cold; /* has any of these rows data? */
};

void clp_fold_init(struct clp_fold *fold, struct clp_buf *out, bool marked);
void clp_fold_clear(struct clp_fold *fold);

/* Notes a row that can be folded, before it is added to the report. */
void clp_fold_note(struct clp_fold *fold, bool data, struct clp_span contents);

/* Ends the stretch: folds its rows if there are at least two. To be called before each row that stays, and at the end
 * of a table. */
void clp_fold_end(struct clp_fold *fold);

/* Adds a row of "..." in the place of rows. */
void clp_fold_add_row(const struct clp_fold *fold);

#endif
