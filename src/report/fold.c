/* SPDX-License-Identifier: MIT */
#include "fold.h"
#include "base/escape.h"
#include "base/number.h"
#include "table.h"

void clp_fold_init(struct clp_fold *fold, struct clp_buf *out, bool marked)
{
    *fold = (struct clp_fold){.out = out, .marked = marked};
    clp_buf_init(&fold->hidden, out->mem);
}

void clp_fold_clear(struct clp_fold *fold)
{
    clp_buf_clear(&fold->hidden);
}

void clp_fold_add_row(const struct clp_fold *fold)
{
    clp_buf_add_text(fold->out, fold->marked ? CLP_MARK_FOLDED : "");
    clp_number_add(fold->out, fold->width, "...");
    clp_buf_add_text(fold->out, "\n");
}

void clp_fold_end(struct clp_fold *fold)
{
    if (fold->cold && fold->count > 1) {
        clp_buf_cut(fold->out, fold->start);
        clp_fold_add_row(fold);
        clp_buf_add(fold->out, clp_buf_text(&fold->hidden), fold->hidden.used);
    }
    clp_buf_cut(&fold->hidden, 0);
    fold->count = 0;
    fold->cold = false;
}

void clp_fold_note(struct clp_fold *fold, bool data, struct clp_span contents)
{
    if (fold->count++ == 0)
        fold->start = fold->out->used;
    fold->cold |= data;
    if (!fold->marked)
        return;
    clp_buf_add_text(&fold->hidden, CLP_MARK_HIDDEN);
    clp_escape_add(&fold->hidden, contents.text, contents.bytes);
    clp_buf_add_text(&fold->hidden, "\n");
}
