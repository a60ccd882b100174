/* SPDX-License-Identifier: MIT
 *
 * kinds.h - the loadable kinds: name, size of the table, members that must be there. */
#ifndef LLAMAD_CORE_PLUGIN_KINDS_H
#define LLAMAD_CORE_PLUGIN_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/host.h"
#include "llamad/plugin.h"
#include "llamad/status.h"

struct lmi_member {
	const char *name;
	size_t offset;
};

struct lmi_kind {
	uint32_t kind;              /* enum lmd_kind */
	const char *id;             /* "arch": in names of files and in JSON */
	const char *word;           /* "architecture": in sentences */
	size_t ops_bytes;           /* the host's width of the table */
	const struct lmi_member *must;
	uint32_t n_must;
	/* Further rules between members, of the widened table; NULL = none. */
	enum lmd_status (*check)(const void *ops, struct lmd_error *err);
};

/* NULL for numbers that no plugin may carry. */
const struct lmi_kind *lmi_kind(uint32_t kind);

/* [a-z0-9][a-z0-9_.-]{0,47} */
bool lmi_name_ok(const char *name);

/* The host's own copy of a plugin's table: the smaller of both sizes is copied into `out`
 * (kind->ops_bytes, zeroed by the caller), struct_size becomes the host's, and the members
 * that must be there are checked.  A longer table of a newer plugin loses its end, a
 * shorter one of an older plugin has NULL there. */
enum lmd_status lmi_ops_widen(const struct lmi_kind *kind, const void *ops, void *out,
			      struct lmd_error *err);

/* The same for factory `i` of a plugin, whose structs may be of another size than ours;
 * checks kind, name, aliases and sizes. */
enum lmd_status lmi_factory_widen(const struct lmd_plugin *p, uint32_t i, struct lmd_factory *out,
				  struct lmd_error *err);

#endif /* LLAMAD_CORE_PLUGIN_KINDS_H */
