/* SPDX-License-Identifier: MIT */
/* Greenlets: stacks of the program's own, between which a thread switches at any call. The greenlet
 * module tells of each switch, through the trace function that it has for each thread. We take that
 * place, as soon as the module is there, and call the program's own trace function ourselves. */
#ifndef CLP_GREENLETS_H
#define CLP_GREENLETS_H

#include "recorder.h"

/* Sees to it that switches are told: now, or when the module is imported. Never fails: what goes wrong
 * is found again at the next call. */
void clp_greenlets_watch(struct clp_recorder *recorder);

/* Imports are not watched any more. */
void clp_greenlets_unwatch(struct clp_recorder *recorder);

/* The calling thread tells of its switches from now on, if the module is there. */
void clp_greenlets_hook(struct clp_recorder *recorder, struct clp_thread *thread);

#endif
