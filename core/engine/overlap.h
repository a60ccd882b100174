/* SPDX-License-Identifier: MIT
 *
 * overlap.h - decides whether the decoding sequences of an engine take turns in two half batches.
 *
 * While one half is on the device, the host samples the other.  That hides the host's work, but the
 * device pays its fixed cost per step (reading all weights, above all) twice.  So it pays if the
 * host's work on all sequences takes longer than the fixed cost of a step, which is estimated from
 * the times of steps of different sizes: least squares, recent steps count more.
 *
 * If a step passes several devices one after the other, each of them waits for the others while
 * there is one batch, and computes one half while the next device computes the other.  What that
 * gains depends on the share of each device, so both ways are measured: the time for a row of
 * generated tokens, in some steps of each.  The slower one is tried again after a while, later each
 * time that it loses, and when the number of sequences has changed by a factor of two.
 *
 * Pure arithmetic: no clock, no threads. */
#ifndef LLAMAD_CORE_ENGINE_OVERLAP_H
#define LLAMAD_CORE_ENGINE_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

/* What steps of one way took; recent ones weigh more. */
struct lmi_engine_overlap_way {
	double ns, rows;
	/* halves of steps since it was chosen, or since the number of sequences changed */
	uint32_t n_half;
};

/* Sums over the steps so far, in which each step weighs less than the one after it.  Zeroed at the
 * start. */
struct lmi_engine_overlap {
	double n, x, y, xx, xy;	  /* steps; rows, ns on the device, and their products */
	double host_ns, host_out; /* ns on the host, and the output rows they were spent on */
	bool halves;              /* the last answer */
	/* for several devices */
	struct lmi_engine_overlap_way ways[2]; /* whole steps, halves */
	bool tries;                            /* the way of now is compared with the other one */
	uint32_t n_seq;                        /* when the ways began to be measured */
	uint32_t n_half,
		n_wait; /* halves of steps since the last trial; when the next one begins */
};

/* Adds the time that the device took for a step of n_row rows. */
void lmi_engine_overlap_add_device(struct lmi_engine_overlap *o, uint32_t n_row, uint64_t ns);
/* Adds the time that the host took for a step with n_out output rows. */
void lmi_engine_overlap_add_host(struct lmi_engine_overlap *o, uint32_t n_out, uint64_t ns);
/* Adds the time from the end of a step's predecessor to its own end, with all work of the host between
 * them; its n_row rows were nothing but generated tokens and guesses. */
void lmi_engine_overlap_add_turn(struct lmi_engine_overlap *o, bool halves, uint32_t n_row,
				 uint64_t ns);
/* Returns the part of a step's time in ns that does not depend on its rows.  If all steps had about
 * the same number of rows, that is all of it. */
double lmi_engine_overlap_fixed_ns(const struct lmi_engine_overlap *o);
/* Returns the time that the host takes for a step with n_out output rows; 0: unknown. */
double lmi_engine_overlap_host_ns(const struct lmi_engine_overlap *o, uint32_t n_out);
/* Returns true if n_seq sequences should be computed in two halves on one device.  What was true the last
 * time stays so a little longer, so that noise does not decide. */
bool lmi_engine_overlap_pays(struct lmi_engine_overlap *o, uint32_t n_seq);
/* Returns true if the next step of n_seq sequences should be computed in two halves on devices that a step
 * passes one after the other. */
bool lmi_engine_overlap_in_turns(struct lmi_engine_overlap *o, uint32_t n_seq);

#endif /* LLAMAD_CORE_ENGINE_OVERLAP_H */
