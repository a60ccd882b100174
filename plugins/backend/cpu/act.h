/* SPDX-License-Identifier: MIT
 *
 * act.h - the activation functions of llamad/op.h, applied to rows. */
#ifndef LLAMAD_CPU_ACT_H
#define LLAMAD_CPU_ACT_H

#include "backend/common/act.h"
#include "kern/float.h"

/* y = act(a, b) for n numbers; b may be NULL (see host_mem_act).  y may be a or b. */
void cpu_act_row(const struct cpu_float *fl, uint32_t act, const float *p, const float *a,
		 const float *b, float *y, uint32_t n);

#endif /* LLAMAD_CPU_ACT_H */
