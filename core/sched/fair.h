/* SPDX-License-Identifier: MIT
 *
 * fair.h - how clients share the rows of steps.
 *
 * Each client has an account for each class of its sequences, with a count of what was computed for
 * it: a row of class interactive counts one eighth of one of class batch, a row of class normal a
 * quarter, and a row that generates a token as two. What has the smallest count comes first. An
 * account that had no sequence begins with the smallest count of those that have some, so that
 * nobody collects claims. While two accounts always have something to compute, their counts differ by
 * at most what one step computes, so nobody starves, in no class.
 *
 * Pure arithmetic; nothing is allocated. */
#ifndef LLAMAD_CORE_SCHED_FAIR_H
#define LLAMAD_CORE_SCHED_FAIR_H

#include <stdbool.h>
#include <stdint.h>

struct lmi_sched_account {
	uint64_t client, served;
	uint32_t class; /* enum lmi_sched_class */
	uint32_t n_seq; /* 0: nobody's, or had something before */
	/* spread.c, for one step: the sequences that generate, those of them that the step could
	 * compute, and how many of those come before the one whose turn it is, or were seen */
	uint32_t n_gen, n_ready, n_before, n_seen;
	uint64_t turn, next_turn; /* arrival of the last sequence that had its turn */
};

struct lmi_sched_fair {
	struct lmi_sched_account *account; /* [n], zeroed at the start; of the caller */
	uint32_t n;			   /* at least the number of sequences */
};

/* Adds a sequence of a client; returns the number of its account. */
uint32_t lmi_sched_fair_enter(struct lmi_sched_fair *f, uint64_t client, uint32_t class);
/* Removes a sequence. */
void lmi_sched_fair_leave(struct lmi_sched_fair *f, uint32_t account);
/* Counts rows that are computed. */
void lmi_sched_fair_charge(struct lmi_sched_fair *f, uint32_t account, uint32_t n_row,
			   bool generates);
/* Was account a served less than b? */
bool lmi_sched_fair_less(const struct lmi_sched_fair *f, uint32_t a, uint32_t b);

#endif /* LLAMAD_CORE_SCHED_FAIR_H */
