/* SPDX-License-Identifier: MIT
 *
 * plugin_examples.h - the sources of the examples of plugins, embedded by the build. */
#ifndef LLAMAD_LLAMACTL_PLUGIN_EXAMPLES_H
#define LLAMAD_LLAMACTL_PLUGIN_EXAMPLES_H

struct lmi_ctl_plugin_example {
	const char *name; /* of the file, without its folder */
	const char *text;
};

extern const struct lmi_ctl_plugin_example lmi_ctl_plugin_examples[];
extern const unsigned lmi_ctl_plugin_examples_n;

#endif /* LLAMAD_LLAMACTL_PLUGIN_EXAMPLES_H */
