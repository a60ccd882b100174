/* SPDX-License-Identifier: MIT
 *
 * variants.h - the kernels that each instruction set's translation units give to table.c. */
#ifndef LLAMAD_CPU_KERN_VARIANTS_H
#define LLAMAD_CPU_KERN_VARIANTS_H

#include "kern.h"

/* Each list ends with an entry whose run is NULL. */
extern const struct kern_linear kern_exact_c[], kern_exact_avx2[], kern_exact_vnni[];
extern const struct kern_linear kern_small_avx2[], kern_small_vnni[], kern_grid_vbmi[];
extern const struct kern_linear kern_exact_amx[], kern_small_amx[], kern_ik_amx[];
extern const struct kern_linear kern_k_avx2[], kern_ik_k_avx2[], kern_ik_ks_avx2[],
	kern_ik_kt_avx2[];
extern const struct kern_linear kern_k_vnni[], kern_ik_k_vnni[], kern_ik_ks_vnni[],
	kern_ik_kt_vnni[];
extern const struct kern_linear kern_float_c[], kern_float_avx2[], kern_float_avx512[];

extern const struct kern_linear kern_exact_neon[], kern_exact_dotprod[], kern_exact_i8mm[];
extern const struct kern_linear kern_float_neon[];

extern const struct kern_linear kern_bf16_avx512[], kern_bf16_amx[];
/* How many times as fast products are in bf16 as in f32 on this processor. */
float kern_bf16_gain_avx512(void);

extern const struct kern_packed kern_packed_c[], kern_packed_avx2[], kern_packed_vnni[], kern_packed_amx[];
extern const struct kern_packed kern_packed_more_avx2[];
extern const struct kern_packed kern_packed_neon[], kern_packed_dotprod[], kern_packed_i8mm[];

extern const struct kern_act kern_act_c, kern_act_avx2, kern_act_neon;

#endif /* LLAMAD_CPU_KERN_VARIANTS_H */
