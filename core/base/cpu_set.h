/* SPDX-License-Identifier: MIT
 *
 * cpu_set.h - sets of processors, and the processors of the parts of a thread team. */
#ifndef LLAMAD_CORE_BASE_CPU_SET_H
#define LLAMAD_CORE_BASE_CPU_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_CPU_SET_MAX 1024u /* processors of the largest machine that is supported */

struct lmi_cpu_set {
	uint64_t word[LMI_CPU_SET_MAX / 64]; /* bit i % 64 of word i / 64: processor i */
};

/* Reads a list of processors and ranges such as "0-7,16", or a hexadecimal mask such as "0xff", whose
 * lowest bit is processor 0.  LMD_INVALID: it is neither, or names no processor, or one beyond
 * LMI_CPU_SET_MAX. */
enum lmd_status lmi_cpu_set_parse(struct lmi_cpu_set *out, const char *text, struct lmd_error *err);
/* Returns the processors that the calling thread may run on; an empty set if that is unknown. */
struct lmi_cpu_set lmi_cpu_set_allowed(void);
/* Binds the calling thread to the set.  Returns false if the system refuses, as it does for an empty set. */
bool lmi_cpu_set_bind(const struct lmi_cpu_set *s);
/* Returns the processors that the calling thread may run on apart from what lmi_cpu_set_bind did to it; an
 * empty set if that is unknown. A thread inherits the binding of the one that creates it, and does not
 * know; the creator gives it this set. */
struct lmi_cpu_set lmi_cpu_set_unbound(void);

bool lmi_cpu_set_has(const struct lmi_cpu_set *s, uint32_t cpu);
uint32_t lmi_cpu_set_count(const struct lmi_cpu_set *s);
bool lmi_cpu_set_equal(const struct lmi_cpu_set *a, const struct lmi_cpu_set *b);
struct lmi_cpu_set lmi_cpu_set_and(const struct lmi_cpu_set *a, const struct lmi_cpu_set *b);
struct lmi_cpu_set lmi_cpu_set_or(const struct lmi_cpu_set *a, const struct lmi_cpu_set *b);

/* Returns the set of the NUMA node that sysfs describes below `root` ("/sys"), without processors if
 * the node has none, or does not exist. */
struct lmi_cpu_set lmi_cpu_set_of_node(const char *root, uint32_t node);

/* ---- the processors of a team ---- */

enum lmi_cpu_numa {
	LMI_CPU_NUMA_OFF = 0,        /* nodes are ignored */
	LMI_CPU_NUMA_DISTRIBUTE = 1, /* part i on node i modulo their number */
	LMI_CPU_NUMA_ISOLATE = 2     /* all parts on the node of the calling thread */
};

/* Where the parts of a team run.  All zero: anywhere. */
struct lmi_cpu_place {
	const char *cpus; /* as lmi_cpu_set_parse reads it; NULL or "": all */
	bool strict;      /* each part on one processor */
	enum lmi_cpu_numa numa;
};

/* Finds the processors on which parts 0 to n - 1 run; more parts than processors share them.
 * n 0: one part for each processor.
 *
 * root: where sysfs is mounted; NULL: "/sys"
 * *out: [*n_out], to be freed with lmi_free; NULL if the parts run anywhere, and *n_out is the number
 * of processors.  LMD_INVALID: a processor that this process may not use, or numa with one node
 * alone; LMD_UNSUPPORTED: the system does not tell which it may use; LMD_NOMEM. */
enum lmd_status lmi_cpu_place(struct lmi_cpu_set **out, uint32_t *n_out,
			      const struct lmi_cpu_place *p, uint32_t n, const char *root,
			      struct lmd_error *err);

#endif /* LLAMAD_CORE_BASE_CPU_SET_H */
