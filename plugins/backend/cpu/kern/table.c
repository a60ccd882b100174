/* SPDX-License-Identifier: MIT
 *
 * Table of all kernels.  The lists come from the translation units of the instruction sets, best
 * first; lists that the compiler could not build are left out. */
#include "variants.h"

static const struct kern_linear *const lists[] = {
#ifdef KERN_WITH_AMX
	kern_exact_amx,
	kern_small_amx,
	kern_ik_amx,
#endif
#ifdef KERN_WITH_VBMI
	kern_grid_vbmi,
#endif
#ifdef KERN_WITH_AVX512
	kern_exact_vnni,
	kern_k_vnni,
	kern_small_vnni,
	kern_ik_k_vnni,
	kern_ik_ks_vnni,
	kern_ik_kt_vnni,
#endif
#ifdef KERN_WITH_AVX2
	kern_exact_avx2,
	kern_k_avx2,
	kern_small_avx2,
	kern_ik_k_avx2,
	kern_ik_ks_avx2,
	kern_ik_kt_avx2,
#endif
#ifdef KERN_WITH_I8MM
	kern_exact_i8mm,
#endif
#ifdef KERN_WITH_DOTPROD
	kern_exact_dotprod,
#endif
#ifdef KERN_WITH_NEON
	kern_exact_neon,
#endif
	kern_exact_c,
#ifdef KERN_WITH_AMX
	kern_bf16_amx,
#endif
#ifdef KERN_WITH_BF16
	kern_bf16_avx512,
#endif
#ifdef KERN_WITH_AVX512
	kern_float_avx512,
#endif
#ifdef KERN_WITH_AVX2
	kern_float_avx2,
#endif
#ifdef KERN_WITH_NEON
	kern_float_neon,
#endif
	kern_float_c,
};

static const struct kern_packed *const packed[] = {
#ifdef KERN_WITH_AMX
	kern_packed_amx,
#endif
#ifdef KERN_WITH_AVX512
	kern_packed_vnni,
#endif
#ifdef KERN_WITH_AVX2
	kern_packed_avx2,    kern_packed_more_avx2,
#endif
#ifdef KERN_WITH_I8MM
	kern_packed_i8mm,
#endif
#ifdef KERN_WITH_DOTPROD
	kern_packed_dotprod,
#endif
#ifdef KERN_WITH_NEON
	kern_packed_neon,
#endif
	kern_packed_c,
};

static const struct kern_act *const acts[] = {
#ifdef KERN_WITH_AVX2
	&kern_act_avx2,
#endif
#ifdef KERN_WITH_NEON
	&kern_act_neon,
#endif
	&kern_act_c,
};

const struct kern_act *kern_act_at(size_t i)
{
	return i < sizeof(acts) / sizeof(acts[0]) ? acts[i] : NULL;
}

const struct kern_act *kern_act_find(uint64_t flags)
{
	size_t i = 0;

	while ((acts[i]->flags & flags) != acts[i]->flags)
		i++;
	return acts[i];
}

const struct kern_linear *kern_linear_at(size_t i)
{
	for (size_t j = 0; j < sizeof(lists) / sizeof(lists[0]); j++)
		for (const struct kern_linear *l = lists[j]; l->run; l++)
			if (!i--)
				return l;
	return NULL;
}

const struct kern_linear *kern_linear_find(uint32_t dtype, enum kern_act_kind act, uint64_t flags)
{
	const struct kern_linear *l;

	for (size_t i = 0; (l = kern_linear_at(i)) != NULL; i++)
		if (l->dtype == dtype && l->act == act && (l->flags & flags) == l->flags)
			return l;
	return NULL;
}

const struct kern_linear *kern_bf16_find(uint64_t flags)
{
	const struct kern_linear *l = kern_linear_find(LMD_DTYPE_BF16, KERN_ACT_BF16, flags);

#ifdef KERN_WITH_BF16
	if (l == kern_bf16_avx512 && kern_bf16_gain_avx512() < 1.5f)
		return NULL;
#endif
	return l;
}

const struct kern_packed *kern_packed_at(size_t i)
{
	for (size_t j = 0; j < sizeof(packed) / sizeof(packed[0]); j++)
		for (const struct kern_packed *l = packed[j]; l->run; l++)
			if (!i--)
				return l;
	return NULL;
}

const struct kern_packed *kern_packed_find(uint32_t dtype, uint64_t flags)
{
	const struct kern_packed *l;

	for (size_t i = 0; (l = kern_packed_at(i)) != NULL; i++)
		if (l->dtype == dtype && (l->flags & flags) == l->flags)
			return l;
	return NULL;
}
