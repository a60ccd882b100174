/* SPDX-License-Identifier: MIT
 *
 * plugin_check.h - checks the parts of a plugin that are not backends. */
#ifndef LLAMAD_LLAMACTL_PLUGIN_CHECK_H
#define LLAMAD_LLAMACTL_PLUGIN_CHECK_H

#include "core/plugin/registry.h"

/* Architectures, formats, tokenizers and samplers of a plugin; more than fit are not checked. */
struct lmi_ctl_plugin_parts {
	uint32_t n;
	struct {
		enum lmd_kind kind;
		char name[64];
	} part[64];
};
void lmi_ctl_plugin_parts_add(struct lmi_ctl_plugin_parts *p, const struct lmi_factory_info *info);

/* Takes each part from the registry, which loads it and checks its table, and runs samplers; prints a
 * line for each.  LMD_INVALID: the message says how many failed. */
enum lmd_status lmi_ctl_plugin_check(struct lmi_plugin_registry *r, const struct lmd_host *host,
				     const struct lmi_ctl_plugin_parts *parts, bool json,
				     struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_PLUGIN_CHECK_H */
