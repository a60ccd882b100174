/* SPDX-License-Identifier: MIT
 *
 * plan_ops_fixture_priv.h - tests: shared by the files that build the plan with every op. */
#ifndef LLAMAD_CORE_PLAN_PLAN_OPS_FIXTURE_PRIV_H
#define LLAMAD_CORE_PLAN_PLAN_OPS_FIXTURE_PRIV_H

#include "core/plan/plan_ops_fixture.h"

#define X1 (LMD_SPACE_X0 + 1)

enum { D = 16, V = 32, H = 4, HK = 2, DK = 8 };
enum { G_FULL, G_STATE, G_BATCH, G_COMP, G_CROSS, G_XB, N_GROUP };
enum { C_KV, C_CONV, C_SSD, C_INDEX, C_MLA, C_MAMBA, C_RWKV, C_POOL, C_CROSS, C_SHIFT, N_CACHE };
extern const struct lmd_cache fx_caches[N_CACHE];

/* The plan while it is emitted. */
struct em {
	struct fx *fx;
	const struct lmd_builder *b;
	uint32_t count[LMD_N_OP];
};

/* Appends an op, changed if it is the one that fx->arg selects. */
void fx_emit(struct em *m, struct lmd_op *op);

/* Create values: in any row space; over TOKENS; lists of ids over TOKENS. */
uint32_t fx_val(struct em *m, enum lmd_space space, enum lmd_vtype vtype, uint32_t width,
		const char *name);
uint32_t fx_tok(struct em *m, uint32_t width, const char *name);
uint32_t fx_ids(struct em *m, uint32_t width, const char *name);

/* A weight [n, k]; a weight operand of n numbers; an RMS norm with such a weight. */
uint32_t fx_wt(struct em *m, const char *name, int64_t n, int64_t k);
struct lmd_operand fx_wvec(struct em *m, const char *name, uint32_t n);
struct lmd_norm fx_rms(struct em *m, const char *name, uint32_t n);
/* Emits y = x W^T, the simplest way to get a value of a given width. */
uint32_t fx_linear(struct em *m, uint32_t x, uint32_t k, uint32_t n, const char *name);

/* Emit parts of the plan; x is a value of D columns. */
void fx_experts(struct em *m, uint32_t x);
void fx_row_ops(struct em *m, uint32_t x, uint32_t hash);
void fx_ew_and_mix(struct em *m, uint32_t x);
void fx_convs(struct em *m, uint32_t x);
void fx_scans(struct em *m, uint32_t x);
void fx_sparse(struct em *m, uint32_t x);
void fx_maps(struct em *m);
/* Emits the whole TAIL plan. */
void fx_tail(struct em *m);

#endif /* LLAMAD_CORE_PLAN_PLAN_OPS_FIXTURE_PRIV_H */
