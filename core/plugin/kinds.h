/* SPDX-License-Identifier: MIT
 *
 * kinds.h - the loadable kinds: name, table size, mandatory members. */
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
	const char *id;             /* "arch": in file names and JSON */
	const char *word;           /* "architecture": in messages */
	size_t ops_bytes;           /* the host's size of the table */
	const struct lmi_member *must;
	uint32_t n_must;
	/* Checks rules between members of the widened table; NULL = none. */
	enum lmd_status (*check)(const void *ops, struct lmd_error *err);
};

/* Returns NULL for numbers that are not loadable kinds. */
const struct lmi_kind *lmi_kind(uint32_t kind);

/* [a-z0-9][a-z0-9_.-]{0,47} */
bool lmi_name_ok(const char *name);

/* Makes the host's own copy of a plugin's table: copies the smaller of both sizes to `out`
 * (kind->ops_bytes, zeroed by the caller), sets struct_size to the host's size, and checks the
 * mandatory members. The longer table of a newer plugin is cut; the missing members of an older
 * plugin are NULL. */
enum lmd_status lmi_ops_widen(const struct lmi_kind *kind, const void *ops, void *out,
			      struct lmd_error *err);

/* Makes the host's copy of factory `i` of a plugin, whose structs may differ in size from ours;
 * checks kind, name, aliases and sizes. */
enum lmd_status lmi_factory_widen(const struct lmd_plugin *p, uint32_t i, struct lmd_factory *out,
				  struct lmd_error *err);

#endif /* LLAMAD_CORE_PLUGIN_KINDS_H */
