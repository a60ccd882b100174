/* SPDX-License-Identifier: MIT
 *
 * option_groups.h - options that several commands share, for the texts that describe them once. */
#ifndef LLAMAD_LLAMACTL_OPTION_GROUPS_H
#define LLAMAD_LLAMACTL_OPTION_GROUPS_H

#include "core/cli/opts.h"

struct lmi_ctl_option_group {
	const char *title; /* "Engine options" */
	const struct lmi_opt *opts;
	uint32_t n_opts;
};
/* A title of NULL ends the list. */
extern const struct lmi_ctl_option_group lmi_ctl_option_groups[];

/* Returns whether the command has all options of the group. */
bool lmi_ctl_has_option_group(const struct lmi_cli_cmd *c, const struct lmi_ctl_option_group *g);
/* Returns the group that describes this option of the command; NULL: none, since the command does not have the whole
 * group, or another text for this option. */
const struct lmi_ctl_option_group *lmi_ctl_option_group_of(const struct lmi_cli_cmd *c, const struct lmi_opt *o);

#endif /* LLAMAD_LLAMACTL_OPTION_GROUPS_H */
