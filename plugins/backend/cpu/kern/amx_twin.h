/* SPDX-License-Identifier: MIT
 *
 * amx_twin.h - the tile operations of amx_tile.h in plain C, for tests.
 *
 * They follow the operation sections of the manual, including what an instruction rejects: where it raises
 * #GP or #UD, these print why and abort.  Each thread has tiles of its own. */
#ifndef LLAMAD_CPU_KERN_AMX_TWIN_H
#define LLAMAD_CPU_KERN_AMX_TWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kern.h"

struct kern_amx_config;

void kern_amx_twin_configure(const struct kern_amx_config *c);
void kern_amx_twin_release(void);
/* Has the calling thread tiles? */
bool kern_amx_twin_configured(void);
void kern_amx_twin_zero(int t);
void kern_amx_twin_load(int t, const void *p, ptrdiff_t stride);
void kern_amx_twin_store(int t, void *p, ptrdiff_t stride);
void kern_amx_twin_dpbssd(int c, int a, int b);

/* Tiles of bf16: each product of two numbers is exact before it is added.  Of the products of a row and a
 * column, those of the first numbers of all pairs are added up from 0 in ascending order, with one rounding
 * each (a fused multiply-add to nearest even), so are those of the second numbers, then both sums, and the
 * result is added to c.  Numbers below the smallest normal f32 count as 0, whether read or computed. */
void kern_amx_twin_dpbf16ps(int c, int a, int b);

/* The kernels of this folder over these operations; each list ends with an entry whose run is NULL.  They
 * run on any machine, slowly. */
extern const struct kern_linear kern_linear_amx_twin[];
extern const struct kern_packed kern_packed_amx_twin[];

#endif /* LLAMAD_CPU_KERN_AMX_TWIN_H */
