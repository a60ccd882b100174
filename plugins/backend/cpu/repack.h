/* SPDX-License-Identifier: MIT
 *
 * repack.h - copies of weights in groups of sixteen rows, with which products of few rows are up
 * to three times as fast (kern/kern.h, "repacked weights").
 *
 * The memory is reserved when a weight is loaded and reported as memory beyond the file.  A group
 * is copied by the thread that first multiplies it, so loading takes no longer, and a part of a
 * model that is not used, such as an expert, takes no memory.  The rows in the file stay in use
 * until then, and wherever there is no copy; the results have the same bits.
 *
 * Copies that the host has kept from an earlier run (lmd_weight_desc.stored) are used where they are:
 * they take no memory of the device's, and nothing is copied.
 *
 * LLAMAD_CPU_REPACK in the environment: "on", "off", or "auto", the default, which stops when the
 * copies would take more than an eighth of the memory that was available when the device was
 * opened.  What a weight takes of it ends with the weight. */
#ifndef LLAMAD_CPU_REPACK_H
#define LLAMAD_CPU_REPACK_H

#include "cpu.h"

/* Reads the environment when a device is opened. */
enum lmd_status cpu_repack_open(struct cpu_dev *dev, struct lmd_error *err);
void cpu_repack_close(struct cpu_dev *dev);

/* The layout of copies, for lmd_weight_plan.layout; counts up when kern/packed.h changes. */
#define CPU_REPACK_LAYOUT 1u

/* Has the host a copy of the weight? */
bool cpu_repack_is_stored(const struct cpu_dev *dev, const struct lmd_weight_desc *d);
/* Writes the whole copy of a weight (weight_export).  Leaves the weight unchanged. */
enum lmd_status cpu_repack_export(const struct lmd_weight *w, void *out, size_t cap, size_t *n);

/* Decides whether a weight is to be repacked.  Returns the bytes that this takes, 0 = no.  Gives the
 * same answer for the same data until the weight is loaded, or for ten minutes after the last question if
 * it is not; a weight that has a copy keeps its answer until it is destroyed. */
uint64_t cpu_repack_bytes(struct cpu_dev *dev, const struct lmd_weight_desc *d);

/* Reserves the memory of a weight if cpu_repack_bytes() decides so, or uses the copy that the host
 * has. */
enum lmd_status cpu_repack_create(struct cpu_dev *dev, const struct lmd_weight_desc *d,
				  struct lmd_weight *w, struct lmd_error *err);
void cpu_repack_destroy(struct cpu_dev *dev, struct lmd_weight *w);

/* Returns the repacked rows [lo, hi) of a slice, of which those that were not are repacked now, and
 * the bytes from group to group.  NULL: use the rows in the file, because the weight is not
 * repacked, lo is within a group, or another thread is just repacking one of the groups. */
const void *cpu_repack_rows(const struct lmd_weight *w, uint32_t slice, uint32_t lo, uint32_t hi,
			    size_t *group_bytes);
/* The kernel for these rows. */
const struct kern_packed *cpu_repack_kernel(const struct lmd_weight *w);

/* Address that a product with row n of a slice will read, to prefetch it; NULL if n is past the
 * last row. */
const void *cpu_weight_at(const struct lmd_weight *w, uint32_t slice, uint32_t n);

#endif /* LLAMAD_CPU_REPACK_H */
