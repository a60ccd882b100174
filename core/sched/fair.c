/* SPDX-License-Identifier: MIT
 *
 * Accounts of clients; see fair.h. */
#include "core/sched/fair.h"

#include <assert.h>

#include "core/sched/sched.h"

/* What a row counts in each class. */
static const uint64_t prices[LMI_SCHED_N_CLASS] = {
	[LMI_SCHED_INTERACTIVE] = 1, [LMI_SCHED_NORMAL] = 2, [LMI_SCHED_BATCH] = 8};

uint32_t lmi_sched_fair_enter(struct lmi_sched_fair *f, uint64_t client, uint32_t class)
{
	uint64_t least = UINT64_MAX;
	uint32_t own = f->n;

	for (uint32_t i = 0; i < f->n; i++) {
		struct lmi_sched_account *a = &f->account[i];
		bool same = a->client == client && a->class == class;

		if (a->n_seq && same) {
			a->n_seq++;
			return i;
		}
		if (a->n_seq && a->served < least)
			least = a->served;
		if (!a->n_seq && (own == f->n || same))
			own = i;
	}
	assert(own < f->n);
	if (f->account[own].client != client || f->account[own].class != class)
		f->account[own] = (struct lmi_sched_account){.client = client, .class = class};
	f->account[own].n_seq = 1;
	if (least != UINT64_MAX && f->account[own].served < least)
		f->account[own].served = least;
	return own;
}

void lmi_sched_fair_leave(struct lmi_sched_fair *f, uint32_t account)
{
	assert(f->account[account].n_seq);
	f->account[account].n_seq--;
}

void lmi_sched_fair_charge(struct lmi_sched_fair *f, uint32_t account, uint32_t n_row,
			   bool generates)
{
	struct lmi_sched_account *a = &f->account[account];

	a->served += prices[a->class] * n_row * (generates ? 2 : 1);
}

bool lmi_sched_fair_less(const struct lmi_sched_fair *f, uint32_t a, uint32_t b)
{
	return f->account[a].served < f->account[b].served;
}
