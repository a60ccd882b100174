/* SPDX-License-Identifier: MIT
 *
 * The mixes as a table of rules.  A rule has file types, a role, conditions that must all hold, and
 * a type; the first rule that matches decides, and a tensor without a matching rule gets the type
 * of the file.  Rules with the same role and file types are sorted from the specific to the
 * general. */
#include "core/quantize/type_policy.h"

#include <stdlib.h>
#include <string.h>

#include "core/quant/quant.h"
#include "llamad/attr.h"

/* Conditions.  "Position" is the index of the tensor among those of its role, or in models with
 * experts the layer in its name, relative to their number. */
enum {
	GQA4 = 1u << 0,	     /* at least four query heads share keys and values */
	E4 = 1u << 1,	     /* at least four experts */
	E8 = 1u << 2,	     /* exactly eight experts */
	IMATRIX = 1u << 3,   /* there is an importance matrix */
	NO_IMATRIX = 1u << 4, /* there is no importance matrix */
	FEW_DOWN = 1u << 5,  /* LMD_QUANT_FIRST_DOWN */
	USUAL = 1u << 6,     /* not FEW_DOWN */
	FIRST2 = 1u << 7,    /* position 0 or 1 */
	FIRST4 = 1u << 8,    /* position 0..3 */
	FIRST_16TH = 1u << 9,/* in the first sixteenth */
	FIRST_8TH = 1u << 10,
	MIDDLE = 1u << 11,   /* neither in the first nor in the last eighth */
	MORE_BITS = 1u << 12,     /* in the first or last eighth, or every third in between */
	ODD_ROW = 1u << 13,  /* rows are not whole blocks of the file's type */
	STACK = 1u << 14,    /* matrices of several experts in one tensor */
	GQA2 = 1u << 15,     /* at least two query heads share keys and values */
	TIED = 1u << 16	     /* the embedding is also the head */
};

/* Sets of file types as bits; the types of ik_llama.cpp, 135 to 156, follow the others. */
#define BIT(id) ((id) < 64 ? (id) : (id) - 93)
#define T(ID) (1ull << BIT(LMI_FTYPE_##ID))
_Static_assert(BIT(LMI_FTYPE_Q6_0) == LMI_FTYPE_Q2_0 + 1 && BIT(LMI_FTYPE_IQ1_KT) == 63,
	       "a bit for each file type");

#define ANY   UINT64_MAX
#define IQ1   (T(IQ1_S) | T(IQ1_M))
#define IQ2SM (T(IQ2_S) | T(IQ2_M))
#define LOW   (IQ1 | T(IQ2_XXS) | T(IQ2_XS) | IQ2SM) /* these have rules of their own in all
						      * layers */
#define IQ4   (T(IQ4_NL) | T(IQ4_XS))
/* ik_llama.cpp: all types, those below four bits, and those that get a better attn_output in models
 * with experts */
#define IK (~0ull << BIT(LMI_FTYPE_Q6_0))
#define IK_LOW                                                                                     \
	(T(IQ2_K) | T(IQ3_K) | T(IQ2_KS) | T(IQ3_KS) | T(IQ2_KL) | T(IQ1_KT) | T(IQ2_KT) |         \
	 T(IQ3_KT))
#define IK_OUT                                                                                     \
	(T(IQ2_K) | T(IQ2_KS) | T(IQ3_K) | T(IQ3_KL) | T(IQ3_KS) | T(IQ4_K) | T(IQ4_KS) |          \
	 T(IQ4_KSS) | T(IQ5_KS) | T(IQ3_KT))
/* attn_output in models with eight experts */
#define OUT8                                                                                       \
	(T(Q2_K) | T(IQ3_XS) | T(IQ3_XXS) | T(Q3_K_S) | T(Q3_K_M) | T(Q4_K_S) | T(Q4_K_M) |        \
	 T(IQ3_S) | T(IQ3_M) | IQ4)

#define KEEP LMD_DTYPE_END /* the type of the file */

struct rule {
	uint64_t ftypes;
	enum lmi_quantize_tensor_role role;
	uint32_t when;
	int to;
};

/* clang-format off */
#define TO(ID) LMD_DTYPE_##ID

static const struct rule rules[] = {
	/* the head, which may also be the embedding */
	{T(MXFP4_MOE), LMI_QUANTIZE_ROLE_OUTPUT, 0, TO(Q8_0)},
	{ANY, LMI_QUANTIZE_ROLE_OUTPUT, FEW_DOWN, TO(Q8_0)},
	{ANY, LMI_QUANTIZE_ROLE_OUTPUT, ODD_ROW, TO(Q8_0)},
	{LOW | T(IQ3_XXS), LMI_QUANTIZE_ROLE_OUTPUT, 0, TO(Q5_K)},
	{IK_LOW, LMI_QUANTIZE_ROLE_OUTPUT, TIED, TO(IQ4_K)},
	{IK_LOW, LMI_QUANTIZE_ROLE_OUTPUT, 0, TO(Q5_K)},
	{T(IQ3_KL) | T(IQ4_KS) | T(IQ4_KSS), LMI_QUANTIZE_ROLE_OUTPUT, TIED, TO(IQ5_K)},
	{T(IQ6_K) | T(Q8_KV), LMI_QUANTIZE_ROLE_OUTPUT, 0, KEEP},
	{T(Q8_0), LMI_QUANTIZE_ROLE_OUTPUT, 0, TO(Q8_0)},
	{ANY, LMI_QUANTIZE_ROLE_OUTPUT, 0, TO(Q6_K)},

	{T(IQ2_XXS) | T(IQ2_XS) | IQ1, LMI_QUANTIZE_ROLE_EMBD, 0, TO(Q2_K)},
	{IQ2SM | T(IQ3_XXS), LMI_QUANTIZE_ROLE_EMBD, 0, TO(IQ3_S)},
	{T(TQ1_0) | T(TQ2_0) | T(Q2_0), LMI_QUANTIZE_ROLE_EMBD, 0, TO(Q4_K)},
	{T(IQ1_BN) | T(IQ2_BN), LMI_QUANTIZE_ROLE_EMBD, 0, TO(IQ4_NL)},
	{T(IQ3_KT), LMI_QUANTIZE_ROLE_EMBD, 0, TO(IQ3_S)},

	/* types of ik_llama.cpp */
	{T(IQ2_KS) | T(IQ2_KT), LMI_QUANTIZE_ROLE_V, E4, TO(IQ4_K)},
	{T(IQ2_KS) | T(IQ2_KT), LMI_QUANTIZE_ROLE_V, GQA4, TO(IQ4_K)},
	{T(IQ2_KS) | T(IQ2_KT), LMI_QUANTIZE_ROLE_V, GQA2, TO(IQ3_K)},
	{T(IQ2_KS) | T(IQ2_KT), LMI_QUANTIZE_ROLE_V, 0, TO(Q2_K)},
	{T(IQ2_KS), LMI_QUANTIZE_ROLE_DOWN, FIRST_8TH, TO(Q2_K)},
	{IK, LMI_QUANTIZE_ROLE_V, E4, TO(Q8_0)},
	{T(IQ2_K), LMI_QUANTIZE_ROLE_V, GQA2, TO(IQ4_K)},
	{T(IQ2_K), LMI_QUANTIZE_ROLE_V, 0, TO(IQ3_K)},
	{T(IQ3_K), LMI_QUANTIZE_ROLE_V, GQA2, TO(IQ4_K)},
	{T(IQ3_KT), LMI_QUANTIZE_ROLE_V, GQA4, TO(IQ4_K)},
	{T(IQ3_KT), LMI_QUANTIZE_ROLE_V, 0, TO(IQ3_K)},
	{T(IQ4_KT), LMI_QUANTIZE_ROLE_V, GQA4, TO(IQ5_K)},
	{T(IQ4_KT), LMI_QUANTIZE_ROLE_V, 0, TO(IQ4_K)},
	{T(IQ3_KS) | T(IQ2_KL), LMI_QUANTIZE_ROLE_V, GQA2, TO(IQ4_KS)},
	{T(IQ3_KL), LMI_QUANTIZE_ROLE_V, GQA2, TO(IQ5_K)},
	{T(IQ3_KL), LMI_QUANTIZE_ROLE_V, 0, TO(IQ4_K)},
	{T(IQ4_K) | T(IQ4_KS) | T(IQ4_KSS), LMI_QUANTIZE_ROLE_V, GQA2, TO(IQ5_K)},
	{IK, LMI_QUANTIZE_ROLE_K, E4, TO(Q8_0)},
	{T(IQ4_KS) | T(IQ4_KSS), LMI_QUANTIZE_ROLE_DOWN, NO_IMATRIX | FIRST_8TH, TO(Q5_K)},
	{T(IQ3_KT), LMI_QUANTIZE_ROLE_DOWN, NO_IMATRIX | FIRST_8TH, TO(IQ4_K)},
	{T(IQ3_KT), LMI_QUANTIZE_ROLE_DOWN, NO_IMATRIX, TO(IQ3_K)},
	{T(IQ3_KL), LMI_QUANTIZE_ROLE_DOWN, MORE_BITS, TO(IQ4_KS)},
	{T(IQ3_KL), LMI_QUANTIZE_ROLE_GATE, MORE_BITS, TO(IQ4_KS)},
	{T(IQ3_KL), LMI_QUANTIZE_ROLE_UP, MORE_BITS, TO(IQ4_KS)},
	{IK_OUT, LMI_QUANTIZE_ROLE_O, USUAL | E4, TO(Q5_K)},
	{T(IQ2_KL), LMI_QUANTIZE_ROLE_O, USUAL | E4, TO(IQ4_KS)},
	{IK, LMI_QUANTIZE_ROLE_O, E4, KEEP},
	{T(IQ2_K), LMI_QUANTIZE_ROLE_O, USUAL, TO(IQ3_K)},
	{T(IQ3_KT), LMI_QUANTIZE_ROLE_O, USUAL | GQA4, TO(IQ3_K)},
	{T(IQ3_KL), LMI_QUANTIZE_ROLE_O, USUAL, TO(IQ4_KS)},

	/* one to two and a half bits */
	{LOW, LMI_QUANTIZE_ROLE_V, GQA4, TO(Q4_K)},
	{LOW, LMI_QUANTIZE_ROLE_V, E4, TO(Q4_K)},
	{IQ2SM, LMI_QUANTIZE_ROLE_V, 0, TO(IQ3_S)},
	{LOW, LMI_QUANTIZE_ROLE_V, 0, TO(Q2_K)},
	{LOW, LMI_QUANTIZE_ROLE_K, E8, TO(Q4_K)},
	{IQ2SM, LMI_QUANTIZE_ROLE_DOWN, FIRST_8TH, TO(IQ3_S)},
	{LOW, LMI_QUANTIZE_ROLE_DOWN, FIRST_8TH, TO(Q2_K)},
	{LOW, LMI_QUANTIZE_ROLE_O, E8, TO(Q5_K)},
	{IQ1, LMI_QUANTIZE_ROLE_O, 0, TO(IQ2_XXS)},
	{IQ2SM, LMI_QUANTIZE_ROLE_O, 0, TO(IQ3_S)},

	/* values */
	{ANY, LMI_QUANTIZE_ROLE_V, E8, TO(Q8_0)},
	{T(Q2_K), LMI_QUANTIZE_ROLE_V, GQA4, TO(Q4_K)},
	{T(Q2_K), LMI_QUANTIZE_ROLE_V, 0, TO(Q3_K)},
	{T(Q2_K_S), LMI_QUANTIZE_ROLE_V, GQA4, TO(Q4_K)},
	{T(IQ3_XXS), LMI_QUANTIZE_ROLE_V, GQA4, TO(Q4_K)},
	{T(IQ3_XXS), LMI_QUANTIZE_ROLE_V, NO_IMATRIX, TO(IQ3_S)},
	{T(IQ3_XS) | T(IQ3_S), LMI_QUANTIZE_ROLE_V, GQA4, TO(Q4_K)},
	{T(IQ3_M), LMI_QUANTIZE_ROLE_V, 0, TO(Q4_K)},
	{T(Q3_K_M), LMI_QUANTIZE_ROLE_V, FIRST2, TO(Q5_K)},
	{T(Q3_K_M), LMI_QUANTIZE_ROLE_V, 0, TO(Q4_K)},
	{T(Q3_K_L), LMI_QUANTIZE_ROLE_V, 0, TO(Q5_K)},
	{IQ4, LMI_QUANTIZE_ROLE_V, GQA4, TO(Q5_K)},
	{T(Q4_K_M) | T(Q5_K_M), LMI_QUANTIZE_ROLE_V, MORE_BITS, TO(Q6_K)},
	{T(Q4_K_S), LMI_QUANTIZE_ROLE_V, FIRST4, TO(Q5_K)},

	/* queries and keys */
	{ANY, LMI_QUANTIZE_ROLE_K, E8, TO(Q8_0)},
	{T(IQ3_XS), LMI_QUANTIZE_ROLE_K, 0, TO(IQ3_XXS)},
	{T(IQ3_XXS), LMI_QUANTIZE_ROLE_K, 0, TO(IQ2_S)},
	{T(IQ3_XS), LMI_QUANTIZE_ROLE_Q, 0, TO(IQ3_XXS)},
	{T(IQ3_XXS), LMI_QUANTIZE_ROLE_Q, 0, TO(IQ2_S)},

	{T(Q2_K), LMI_QUANTIZE_ROLE_DOWN, 0, TO(Q3_K)},
	{T(Q2_K_S), LMI_QUANTIZE_ROLE_DOWN, FIRST_8TH, TO(Q4_K)},
	{T(IQ3_XXS), LMI_QUANTIZE_ROLE_DOWN, NO_IMATRIX | FIRST_8TH, TO(Q4_K)},
	{T(IQ3_XXS), LMI_QUANTIZE_ROLE_DOWN, NO_IMATRIX, TO(Q3_K)},
	{T(Q3_K_M), LMI_QUANTIZE_ROLE_DOWN, FIRST_16TH, TO(Q5_K)},
	{T(Q3_K_M), LMI_QUANTIZE_ROLE_DOWN, USUAL, TO(Q4_K)},
	{T(Q3_K_M), LMI_QUANTIZE_ROLE_DOWN, MORE_BITS, TO(Q4_K)},
	{T(IQ3_M), LMI_QUANTIZE_ROLE_DOWN, FIRST_8TH, TO(Q4_K)},
	{T(IQ3_M), LMI_QUANTIZE_ROLE_DOWN, E8 | MORE_BITS, TO(Q4_K)},
	{T(Q3_K_L), LMI_QUANTIZE_ROLE_DOWN, FEW_DOWN, TO(Q4_K)},
	{T(Q3_K_L), LMI_QUANTIZE_ROLE_DOWN, 0, TO(Q5_K)},
	{T(Q4_K_M), LMI_QUANTIZE_ROLE_DOWN, FEW_DOWN | FIRST_16TH, TO(Q6_K)},
	{T(Q4_K_M), LMI_QUANTIZE_ROLE_DOWN, FEW_DOWN | MORE_BITS, TO(Q5_K)},
	{T(Q4_K_M), LMI_QUANTIZE_ROLE_DOWN, USUAL | MORE_BITS, TO(Q6_K)},
	{IQ4, LMI_QUANTIZE_ROLE_DOWN, NO_IMATRIX | FIRST_8TH, TO(Q5_K)},
	{T(Q5_K_M), LMI_QUANTIZE_ROLE_DOWN, MORE_BITS, TO(Q6_K)},
	{T(Q4_K_S), LMI_QUANTIZE_ROLE_DOWN, USUAL | FIRST_8TH, TO(Q5_K)},
	{T(Q4_0), LMI_QUANTIZE_ROLE_DOWN, IMATRIX | FIRST_8TH, TO(Q4_1)},
	{T(Q5_0), LMI_QUANTIZE_ROLE_DOWN, IMATRIX | FIRST_8TH, TO(Q5_1)},

	{OUT8, LMI_QUANTIZE_ROLE_O, USUAL | E8, TO(Q5_K)},
	{ANY, LMI_QUANTIZE_ROLE_O, USUAL | E8, KEEP},
	{T(Q2_K), LMI_QUANTIZE_ROLE_O, USUAL, TO(Q3_K)},
	{T(IQ3_XXS), LMI_QUANTIZE_ROLE_O, USUAL, TO(IQ3_S)},
	{T(Q3_K_M), LMI_QUANTIZE_ROLE_O, USUAL, TO(Q4_K)},
	{T(Q3_K_L), LMI_QUANTIZE_ROLE_O, USUAL, TO(Q5_K)},
	{T(IQ3_M), LMI_QUANTIZE_ROLE_O, USUAL, TO(Q4_K)},
	{T(Q3_K_L), LMI_QUANTIZE_ROLE_O, FEW_DOWN, TO(Q4_K)},

	{T(IQ3_XS), LMI_QUANTIZE_ROLE_GATE, MIDDLE, TO(IQ3_XXS)},
	{T(IQ3_XS), LMI_QUANTIZE_ROLE_UP, MIDDLE, TO(IQ3_XXS)},
};
#undef TO

/* Parts of the names of tensors that keep their type in all models; an architecture has a flag for
 * its own ones. */
static const char *const kept[] = {
	"_norm.weight",
	"ffn_gate_inp.weight", /* routers */
	/* projectors of other modalities */
	".position_embd", "sam.pos_embd", "sam.neck.", "sam.net_", ".rel_pos", ".patch_embd",
	".patch_merger", "a.rvq.codebook", "mm.a.code_embd",
};
/* clang-format on */

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && !strcmp(s + n - k, end);
}

/* Number of dimensions without trailing ones of size 1. */
static uint32_t rank(const struct lmd_tensor *t)
{
	uint32_t n = t->n_dim;

	while (n > 1 && t->dims[n - 1] == 1)
		n--;
	return n;
}

/* Is it "STEM.weight", where %d in the stem is the number of a layer? */
static bool is_of_stem(const char *name, const char *stem)
{
	const char *number = strstr(stem, "%d");
	size_t n = number ? (size_t)(number - stem) : strlen(stem);

	if (strncmp(name, stem, n))
		return false;
	name += n;
	if (number) {
		if (!strspn(name, "0123456789"))
			return false;
		name += strspn(name, "0123456789");
		stem = number + 2;
		n = strlen(stem);
		if (strncmp(name, stem, n))
			return false;
		name += n;
	}
	return !strcmp(name, ".weight");
}

static bool arch_keeps_type(const struct lmd_arch_ops *arch, const char *name)
{
	for (uint32_t s = 0; arch && s < arch->n_sets; s++) {
		for (uint32_t i = 0; i < arch->sets[s].n_rows; i++) {
			const struct lmd_tensor_row *r = &arch->sets[s].rows[i];

			if (!(r->flags & LMD_TENSOR_KEEP_TYPE))
				continue;
			if (is_of_stem(name, r->stem) || (r->alt && is_of_stem(name, r->alt)))
				return true;
		}
	}
	return false;
}

bool lmi_quantize_mix_keeps_type(const struct lmd_tensor *t, const char *name,
				 const struct lmd_arch_ops *arch)
{
	const struct lmi_dtype *type = lmi_dtype(t->dtype);

	if (rank(t) < 2 || !type->dequant || !(type->quant || type->memory_only) ||
	    !ends_in(name, "weight"))
		return true;
	if (!strcmp(name, "position_embd.weight") || !strcmp(name, "token_types.weight"))
		return true;
	for (size_t i = 0; i < LMD_LEN(kept); i++)
		if (strstr(name, kept[i]))
			return true;
	return arch_keeps_type(arch, name);
}

enum lmi_quantize_tensor_role lmi_quantize_tensor_role_of(const char *name)
{
	static const struct {
		const char *part;
		enum lmi_quantize_tensor_role role;
	} parts[] = {
		{"attn_qkv.weight", LMI_QUANTIZE_ROLE_V},
		{"attn_kv_b.weight", LMI_QUANTIZE_ROLE_V},
		{"attn_v.weight", LMI_QUANTIZE_ROLE_V},
		{"attn_k.weight", LMI_QUANTIZE_ROLE_K},
		{"attn_q.weight", LMI_QUANTIZE_ROLE_Q},
		{"attn_output.weight", LMI_QUANTIZE_ROLE_O},
		{"ffn_up", LMI_QUANTIZE_ROLE_UP},
		{"ffn_gate", LMI_QUANTIZE_ROLE_GATE},
		{"ffn_down", LMI_QUANTIZE_ROLE_DOWN},
	};

	if (!strcmp(name, "output.weight"))
		return LMI_QUANTIZE_ROLE_OUTPUT;
	if (!strcmp(name, "token_embd.weight") || !strcmp(name, "per_layer_token_embd.weight"))
		return LMI_QUANTIZE_ROLE_EMBD;
	for (size_t i = 0; i < LMD_LEN(parts); i++)
		if (strstr(name, parts[i].part))
			return parts[i].role;
	return LMI_QUANTIZE_ROLE_OTHER;
}

int64_t lmi_quantize_mix_layer(const char *name)
{
	char *end;
	long v;

	if (strncmp(name, "blk.", 4) || name[4] < '0' || name[4] > '9')
		return -1;
	v = strtol(name + 4, &end, 10);
	return *end == '.' && v <= INT32_MAX ? v : -1;
}

int lmi_quantize_mix_compare_names(const char *a, const char *b)
{
	int64_t x = lmi_quantize_mix_layer(a), y = lmi_quantize_mix_layer(b);

	return x != y ? (x < y ? -1 : 1) : strcmp(a, b);
}

/* Is it the size of model whose attn_v is small, compared with attn_q, so that it gets more bits? */
static bool has_small_v(const struct lmi_quantize_mix_params *f)
{
	if (f->traits.flags & LMD_QUANT_V_GROUPED && f->n_head == f->n_head_kv)
		return false;
	return f->traits.v_layers && f->n_layer == f->traits.v_layers;
}

void lmi_quantize_mix_init(struct lmi_quantize_mix *m, const struct lmi_ftype *ftype,
			   const struct lmi_quantize_mix_params *params)
{
	*m = (struct lmi_quantize_mix){.ftype = ftype, .params = *params};
}

static uint32_t at_position(int64_t i, int64_t n)
{
	uint32_t c = 0;

	if (i < 2)
		c |= FIRST2;
	if (i < 4)
		c |= FIRST4;
	if (i < n / 16)
		c |= FIRST_16TH;
	if (i < n / 8)
		c |= FIRST_8TH;
	if (i >= n / 8 && i < 7 * n / 8)
		c |= MIDDLE;
	if (i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2)
		c |= MORE_BITS;
	return c;
}

static bool has(uint64_t ftypes, const struct lmi_ftype *f)
{
	if ((f->id > LMI_FTYPE_Q2_0 && f->id < LMI_FTYPE_Q6_0) || f->id > LMI_FTYPE_IQ1_KT)
		return ftypes == ANY; /* a type that no rule names */
	return (ftypes >> BIT(f->id) & 1) != 0;
}

/* Returns the conditions that hold for a tensor, and counts it. */
static uint32_t conditions(struct lmi_quantize_mix *m, const struct lmd_tensor *t, const char *name,
			   enum lmi_quantize_tensor_role role)
{
	const struct lmi_quantize_mix_params *f = &m->params;
	bool few = f->traits.flags & LMD_QUANT_FIRST_DOWN, low = has(LOW, m->ftype);
	int64_t layer = lmi_quantize_mix_layer(name), i = 0, n = f->n_layer;
	uint32_t c = few ? FEW_DOWN : USUAL;

	c |= f->n_head_kv > 0 && f->n_head / f->n_head_kv >= 4 ? GQA4 : 0;
	c |= f->n_head_kv > 0 && f->n_head / f->n_head_kv >= 2 ? GQA2 : 0;
	c |= f->n_expert >= 4 ? E4 : 0;
	c |= f->n_expert == 8 ? E8 : 0;
	c |= f->has_imatrix ? IMATRIX : NO_IMATRIX;
	c |= t->dims[0] % lmi_dtype(m->ftype->type)->block_elems ? ODD_ROW : 0;
	c |= t->n_dim > 2 && t->dims[2] > 1 ? STACK : 0;
	if (role == LMI_QUANTIZE_ROLE_V) {
		i = m->i_v++;
		n = f->n_v;
	} else if (role == LMI_QUANTIZE_ROLE_DOWN) {
		i = m->i_down++;
	} else if (role == LMI_QUANTIZE_ROLE_UP) {
		i = m->i_up++;
	} else if (role == LMI_QUANTIZE_ROLE_GATE) {
		i = m->i_gate++;
	}
	/* models with experts may have several such tensors in a layer */
	if (f->n_expert > 1 && role != LMI_QUANTIZE_ROLE_V && !low && layer >= 0)
		i = layer;
	return c | at_position(i, n);
}

/* Files of 4-bit floats: experts get MXFP4, everything else 8 bits. */
static enum lmd_dtype mxfp4_type(const struct lmi_quantize_mix *m,
				 enum lmi_quantize_tensor_role role, uint32_t have)
{
	bool expert = role == LMI_QUANTIZE_ROLE_UP || role == LMI_QUANTIZE_ROLE_GATE ||
		      role == LMI_QUANTIZE_ROLE_DOWN;

	if (!(m->params.traits.flags & LMD_QUANT_MORE_STACKS))
		expert = true;
	return (have & STACK) && expert ? LMD_DTYPE_MXFP4 : LMD_DTYPE_Q8_0;
}

enum lmd_dtype lmi_quantize_mix_type(struct lmi_quantize_mix *m, const struct lmd_tensor *t,
				     const char *name)
{
	enum lmi_quantize_tensor_role role = lmi_quantize_tensor_role_of(name);
	enum lmd_dtype type = m->ftype->type;
	bool tied = role == LMI_QUANTIZE_ROLE_EMBD && !m->params.has_output;
	uint32_t have;

	if (tied)
		role = LMI_QUANTIZE_ROLE_OUTPUT;
	have = conditions(m, t, name, role) | (tied ? TIED : 0);
	if (m->ftype->id == LMI_FTYPE_MXFP4_MOE && role != LMI_QUANTIZE_ROLE_OUTPUT)
		return mxfp4_type(m, role, have);
	for (size_t i = 0; i < LMD_LEN(rules); i++) {
		const struct rule *r = &rules[i];

		if (r->role == role && has(r->ftypes, m->ftype) &&
		    (r->when & have) == r->when) {
			if (r->to != KEEP)
				type = (enum lmd_dtype)r->to;
			break;
		}
	}
	if (role == LMI_QUANTIZE_ROLE_V && !has(LOW, m->ftype) && has_small_v(&m->params) &&
	    (type == LMD_DTYPE_Q3_K || type == LMD_DTYPE_Q4_K))
		type = LMD_DTYPE_Q5_K;
	return type;
}

enum lmd_dtype lmi_quantize_mix_fallback(enum lmd_dtype type, int64_t n_col)
{
	static const struct {
		enum lmd_dtype from, to;
	} fallbacks[] = {
		{LMD_DTYPE_IQ1_S, LMD_DTYPE_IQ4_NL},   {LMD_DTYPE_IQ1_M, LMD_DTYPE_IQ4_NL},
		{LMD_DTYPE_IQ2_XXS, LMD_DTYPE_IQ4_NL}, {LMD_DTYPE_IQ2_XS, LMD_DTYPE_IQ4_NL},
		{LMD_DTYPE_IQ2_S, LMD_DTYPE_IQ4_NL},   {LMD_DTYPE_IQ3_XXS, LMD_DTYPE_IQ4_NL},
		{LMD_DTYPE_IQ3_S, LMD_DTYPE_IQ4_NL},   {LMD_DTYPE_IQ4_XS, LMD_DTYPE_IQ4_NL},
		{LMD_DTYPE_Q2_K, LMD_DTYPE_Q4_0},      {LMD_DTYPE_Q3_K, LMD_DTYPE_Q4_0},
		{LMD_DTYPE_TQ1_0, LMD_DTYPE_Q4_0},     {LMD_DTYPE_TQ2_0, LMD_DTYPE_Q4_0},
		{LMD_DTYPE_Q2_0, LMD_DTYPE_Q4_0},      {LMD_DTYPE_Q1_0, LMD_DTYPE_Q4_0},
		{LMD_DTYPE_NVFP4, LMD_DTYPE_Q4_0},     {LMD_DTYPE_Q4_K, LMD_DTYPE_Q5_0},
		{LMD_DTYPE_Q5_K, LMD_DTYPE_Q5_1},      {LMD_DTYPE_Q6_K, LMD_DTYPE_Q8_0},
		{LMD_DTYPE_IQ2_K, LMD_DTYPE_IQ4_NL},   {LMD_DTYPE_IQ2_KS, LMD_DTYPE_IQ4_NL},
		{LMD_DTYPE_IQ2_KL, LMD_DTYPE_IQ4_NL},  {LMD_DTYPE_IQ3_K, LMD_DTYPE_IQ4_NL},
		{LMD_DTYPE_IQ3_KS, LMD_DTYPE_IQ4_NL},  {LMD_DTYPE_IQ4_KS, LMD_DTYPE_IQ4_NL},
		{LMD_DTYPE_IQ4_KSS, LMD_DTYPE_IQ4_NL}, {LMD_DTYPE_IQ4_K, LMD_DTYPE_Q5_0},
		{LMD_DTYPE_IQ5_KS, LMD_DTYPE_Q5_0},    {LMD_DTYPE_IQ5_K, LMD_DTYPE_Q6_0},
		{LMD_DTYPE_IQ6_K, LMD_DTYPE_Q8_0},     {LMD_DTYPE_IQ1_BN, LMD_DTYPE_Q4_0},
		{LMD_DTYPE_IQ2_BN, LMD_DTYPE_Q4_0},    {LMD_DTYPE_IQ1_KT, LMD_DTYPE_IQ4_NL},
		{LMD_DTYPE_IQ2_KT, LMD_DTYPE_IQ4_NL},  {LMD_DTYPE_IQ3_KT, LMD_DTYPE_IQ4_NL},
		{LMD_DTYPE_IQ4_KT, LMD_DTYPE_IQ4_NL},
	};

	if (n_col % lmi_dtype(type)->block_elems == 0)
		return type;
	for (size_t i = 0; i < LMD_LEN(fallbacks); i++)
		if (fallbacks[i].from == type &&
		    n_col % lmi_dtype(fallbacks[i].to)->block_elems == 0)
			return fallbacks[i].to;
	return LMD_DTYPE_F16;
}

bool lmi_quantize_mix_needs_imatrix(const char *name, enum lmd_dtype type,
				    const struct lmi_ftype *ftype)
{
	enum lmi_quantize_tensor_role role = lmi_quantize_tensor_role_of(name);

	if (lmi_dtype(type)->needs_importance)
		return true;
	if (role == LMI_QUANTIZE_ROLE_OUTPUT || role == LMI_QUANTIZE_ROLE_EMBD)
		return false;
	switch (type) {
	case LMD_DTYPE_IQ3_XXS:
	case LMD_DTYPE_IQ2_XXS:
	case LMD_DTYPE_IQ2_XS:
	case LMD_DTYPE_IQ2_S:
	case LMD_DTYPE_IQ1_S:
	case LMD_DTYPE_IQ1_M:
		return true;
	case LMD_DTYPE_Q2_K:
		return ftype && ftype->id == LMI_FTYPE_Q2_K_S;
	default:
		return false;
	}
}
