/* SPDX-License-Identifier: MIT
 *
 * The processors of the parts of a team.  The nodes of a machine take turns, so that the first parts,
 * which work alone when there is little to do (team.h), are on all of them. */
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/cpu.h"
#include "core/base/cpu_set.h"

#define MAX_NODE 64u

/* Finds the processors on which the parts may run, whatever their node. */
static enum lmd_status find_usable(struct lmi_cpu_set *out, const char *cpus, struct lmd_error *err)
{
	struct lmi_cpu_set allowed = lmi_cpu_set_unbound(); /* another team may bind the caller */
	enum lmd_status st;

	if (!lmi_cpu_set_count(&allowed))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"cpus: the system does not tell which processors this process may use");
	*out = allowed;
	if (!cpus || !*cpus)
		return LMD_OK;
	st = lmi_cpu_set_parse(out, cpus, err);
	if (st != LMD_OK) {
		lmd_error_prefix(err, "cpus");
		return st;
	}
	for (uint32_t i = 0; i < LMI_CPU_SET_MAX; i++)
		if (lmi_cpu_set_has(out, i) && !lmi_cpu_set_has(&allowed, i))
			return lmd_fail(err, LMD_INVALID,
					"cpus: this process may not use processor %u; `taskset -cp %d` "
					"lists those that it may use",
					i, (int)getpid());
	return LMD_OK;
}

/* Finds the nodes that have usable processors: *n, and of each those processors. */
static enum lmd_status find_nodes(struct lmi_cpu_set *node, uint32_t *n, const char *root,
				  const struct lmi_cpu_set *usable, struct lmd_error *err)
{
	uint32_t n_node = 0;

	*n = 0;
	for (uint32_t i = 0; i < MAX_NODE; i++) {
		struct lmi_cpu_set s = lmi_cpu_set_of_node(root, i);

		n_node += lmi_cpu_set_count(&s) > 0;
		s = lmi_cpu_set_and(&s, usable);
		if (lmi_cpu_set_count(&s))
			node[(*n)++] = s;
	}
	if (n_node < 2)
		return lmd_fail(err, LMD_INVALID,
				"numa: this machine has %s; set it to off",
				n_node ? "one NUMA node" : "no NUMA nodes");
	return *n ? LMD_OK
		  : lmd_fail(err, LMD_INVALID, "numa: no node has a processor that may be used");
}

/* Returns the node of the processor that the calling thread is on now. */
static const struct lmi_cpu_set *own_node(const struct lmi_cpu_set *node, uint32_t n)
{
	uint32_t cpu = lmi_cpu_current();

	for (uint32_t i = 0; i < n; i++)
		if (lmi_cpu_set_has(&node[i], cpu))
			return &node[i];
	return &node[0];
}

/* Returns the set with the processor of number `index` in s, modulo their number, alone. */
static struct lmi_cpu_set one_of(const struct lmi_cpu_set *s, uint32_t index)
{
	struct lmi_cpu_set one = {{0}};
	uint32_t skip = index % lmi_cpu_set_count(s), i = 0;

	while (!lmi_cpu_set_has(s, i) || skip--)
		i++;
	one.word[i / 64] = 1ull << i % 64;
	return one;
}

enum lmd_status lmi_cpu_place(struct lmi_cpu_set **out, uint32_t *n_out,
			      const struct lmi_cpu_place *p, uint32_t n, const char *root,
			      struct lmd_error *err)
{
	struct lmi_cpu_set usable = lmi_cpu_set_unbound(), node[MAX_NODE], *parts;
	uint32_t n_node = 1;
	enum lmd_status st;

	*out = NULL;
	*n_out = n ? n : lmi_cpu_set_count(&usable);
	*n_out = *n_out ? *n_out : lmi_cpu_count(); /* of a machine with too many for a set */
	if ((!p->cpus || !*p->cpus) && !p->strict && !p->numa)
		return LMD_OK;
	st = find_usable(&usable, p->cpus, err);
	node[0] = usable;
	if (st == LMD_OK && p->numa)
		st = find_nodes(node, &n_node, root ? root : "/sys", &usable, err);
	if (st != LMD_OK)
		return st;
	if (p->numa == LMI_CPU_NUMA_ISOLATE) {
		usable = node[0] = *own_node(node, n_node);
		n_node = 1;
	}
	*n_out = n ? n : lmi_cpu_set_count(&usable);
	parts = lmi_alloc(*n_out, sizeof(*parts));
	if (!parts)
		return lmd_fail(err, LMD_NOMEM, "cpus: no memory for %u threads", *n_out);
	for (uint32_t i = 0; i < *n_out; i++)
		parts[i] = p->strict ? one_of(&node[i % n_node], i / n_node) : node[i % n_node];
	*out = parts;
	return LMD_OK;
}
