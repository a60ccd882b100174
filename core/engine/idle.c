/* SPDX-License-Identifier: MIT
 *
 * What an engine without work waits for: commands, and the end of the workers in which its devices are.
 * So a worker that ends while it has nothing to do is reaped at once, and its model is loaded again before
 * somebody asks for it. */
#include <poll.h>

#include "core/engine/draft_model.h"
#include "core/engine/draft_nextn.h"
#include "core/engine/engine_impl.h"
#include "core/engine/tower.h"
#include "core/worker/worker.h"

#define MAX_FD (3 * LMI_ENGINE_MAX_DEVICE + 1)

/* Adds the sockets of an instance's workers; returns the number of entries. */
static nfds_t add_workers(const struct lmi_inst *inst, struct pollfd *p, nfds_t n)
{
	for (uint32_t i = 0; i < inst->n_device; i++)
		if (inst->devices[i].open->isolated) /* -1 after its end, which poll ignores */
			p[n++] = (struct pollfd){.fd = lmi_worker_fd(inst->devices[i].state),
						 .events = POLLIN};
	return n;
}

/* Finds all workers that have ended; err: of the first of them. */
static enum lmd_status check_workers(struct lmi_inst *inst, struct lmd_error *err)
{
	enum lmd_status first = LMD_OK;

	for (uint32_t i = 0; i < inst->n_device; i++) {
		struct lmi_inst_device *d = &inst->devices[i];
		struct lmd_error why = {0};
		enum lmd_status st;

		if (!d->open->isolated)
			continue;
		st = lmi_inst_check(inst, d, lmi_worker_check(d->state, &why), &why);
		if (st != LMD_OK && first == LMD_OK) {
			first = st;
			*err = why;
		}
	}
	return first;
}

void lmi_engine_wait_idle(struct lmi_engine *e)
{
	struct pollfd p[MAX_FD] = {{.fd = e->commands.fd, .events = POLLIN}};
	struct lmi_inst *draft = e->inst->draft	  ? lmi_engine_draft_model_inst(e->inst->draft)
				 : e->inst->nextn ? lmi_engine_nextn_inst(e->inst->nextn)
						  : NULL;
	struct lmi_inst *tower = e->inst->tower ? lmi_engine_tower_inst(e->inst->tower) : NULL;
	nfds_t n = add_workers(e->inst, p, 1), n_ready = 0;
	struct lmd_error err = {0};

	if (draft)
		n = add_workers(draft, p, n);
	if (tower)
		n = add_workers(tower, p, n);
	if (poll(p, n, -1) <= 0)
		return;
	for (nfds_t i = 1; i < n; i++)
		n_ready += p[i].revents != 0;
	if (p[0].revents)
		(void)lmi_engine_eventfd_wait(e->commands.fd, 0);
	if (!n_ready)
		return;
	if (draft)
		(void)check_workers(draft, &err); /* it guesses no more */
	if (check_workers(e->inst, &err) != LMD_OK || (tower && check_workers(tower, &err) != LMD_OK)) {
		lmi_engine_break(e, &err);
		lmi_engine_event_ring_wake(&e->events);
	}
}
