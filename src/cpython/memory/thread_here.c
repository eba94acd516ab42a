/* SPDX-License-Identifier: MIT */
#include "thread_here.h"

__thread struct clp_thread *clp_thread_here;
