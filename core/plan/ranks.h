/* SPDX-License-Identifier: MIT
 *
 * ranks.h - merges the ranks of a tensor-parallel plan. */
#ifndef LLAMAD_CORE_PLAN_RANKS_H
#define LLAMAD_CORE_PLAN_RANKS_H

#include "core/plan/plan_priv.h"

/* Interleaves the ops of n_rank >= 2 ranks, which follow one another in p: those of rank r are
 * first[r] .. first[r + 1]-1. Replaces their exchanges by ops that read the values of all ranks,
 * and checks the plan. n_device > 1: as many devices form a group, each has its share of the ranks
 * in order, and the exchanges become collectives of the group (lmi_plan_params.n_device).
 * LMD_UNSUPPORTED: there is no exchange, so every rank would compute everything. */
enum lmd_status lmi_plan_merge_ranks(struct lmi_plan *p, uint32_t *first, uint32_t n_rank,
				     uint32_t n_device, struct lmd_error *err);

#endif /* LLAMAD_CORE_PLAN_RANKS_H */
