/* SPDX-License-Identifier: MIT
 *
 * ftype.h - file types: the name of a mix of tensor types. */
#ifndef LLAMAD_CORE_QUANT_FTYPE_H
#define LLAMAD_CORE_QUANT_FTYPE_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/types.h"

/* Values of the key general.file_type that have rules of their own.  A file whose tensors are all of
 * one type has the number that stands in the description of that type (core/quant/quant.h). */
enum lmi_ftype_id {
	LMI_FTYPE_F32 = 0,
	LMI_FTYPE_F16 = 1,
	LMI_FTYPE_Q4_0 = 2,
	LMI_FTYPE_Q4_1 = 3,
	LMI_FTYPE_Q8_0 = 7,
	LMI_FTYPE_Q5_0 = 8,
	LMI_FTYPE_Q5_1 = 9,
	LMI_FTYPE_Q2_K = 10,
	LMI_FTYPE_Q3_K_S = 11,
	LMI_FTYPE_Q3_K_M = 12,
	LMI_FTYPE_Q3_K_L = 13,
	LMI_FTYPE_Q4_K_S = 14,
	LMI_FTYPE_Q4_K_M = 15,
	LMI_FTYPE_Q5_K_S = 16,
	LMI_FTYPE_Q5_K_M = 17,
	LMI_FTYPE_Q6_K = 18,
	LMI_FTYPE_IQ2_XXS = 19,
	LMI_FTYPE_IQ2_XS = 20,
	LMI_FTYPE_Q2_K_S = 21,
	LMI_FTYPE_IQ3_XS = 22,
	LMI_FTYPE_IQ3_XXS = 23,
	LMI_FTYPE_IQ1_S = 24,
	LMI_FTYPE_IQ4_NL = 25,
	LMI_FTYPE_IQ3_S = 26,
	LMI_FTYPE_IQ3_M = 27,
	LMI_FTYPE_IQ2_S = 28,
	LMI_FTYPE_IQ2_M = 29,
	LMI_FTYPE_IQ4_XS = 30,
	LMI_FTYPE_IQ1_M = 31,
	LMI_FTYPE_BF16 = 32,
	LMI_FTYPE_TQ1_0 = 36,
	LMI_FTYPE_TQ2_0 = 37,
	LMI_FTYPE_MXFP4_MOE = 38,
	LMI_FTYPE_NVFP4 = 39,
	LMI_FTYPE_Q1_0 = 40,
	LMI_FTYPE_Q2_0 = 41,
	/* of ik_llama.cpp */
	LMI_FTYPE_Q6_0 = 135,
	LMI_FTYPE_IQ1_BN = 136,
	LMI_FTYPE_IQ2_BN = 137,
	LMI_FTYPE_IQ2_K = 138,
	LMI_FTYPE_IQ3_K = 139,
	LMI_FTYPE_IQ4_K = 140,
	LMI_FTYPE_IQ5_K = 141,
	LMI_FTYPE_IQ6_K = 142,
	LMI_FTYPE_IQ4_KS = 145,
	LMI_FTYPE_IQ3_KL = 146,
	LMI_FTYPE_IQ2_KS = 147,
	LMI_FTYPE_IQ4_KSS = 148,
	LMI_FTYPE_Q8_KV = 149,
	LMI_FTYPE_IQ5_KS = 150,
	LMI_FTYPE_IQ2_KT = 151,
	LMI_FTYPE_IQ3_KT = 152,
	LMI_FTYPE_IQ4_KT = 153,
	LMI_FTYPE_IQ3_KS = 154,
	LMI_FTYPE_IQ2_KL = 155,
	LMI_FTYPE_IQ1_KT = 156
};
/* All numbers of file types are below this. */
#define LMI_FTYPE_END 256

/* A file type: the value of the key general.file_type, which stands for a mix of tensor types. */
struct lmi_ftype {
	uint32_t id;
	const char *name;    /* "Q4_K_M" */
	const char *alias;   /* another name for it, or NULL */
	enum lmd_dtype type; /* of tensors that no rule covers */
};

/* Returns NULL if the number is not a file type. */
const struct lmi_ftype *lmi_ftype(uint32_t id);

/* Looks up a name (case-insensitive), alias, or decimal number; NULL if there is none. */
const struct lmi_ftype *lmi_ftype_by_name(const char *name);

/* All names, separated by spaces, for error messages and help; returns buf. */
const char *lmi_ftype_names(char *buf, size_t n);

#endif /* LLAMAD_CORE_QUANT_FTYPE_H */
