/* SPDX-License-Identifier: MIT
 *
 * builtin.h - plugins that are linked into the program (--enable-builtin=all). */
#ifndef LLAMAD_CORE_PLUGIN_BUILTIN_H
#define LLAMAD_CORE_PLUGIN_BUILTIN_H

#include "llamad/plugin.h"

/* Terminated by NULL; empty in ordinary builds. */
extern const struct lmd_plugin *const lmi_builtin_plugins[];

#endif /* LLAMAD_CORE_PLUGIN_BUILTIN_H */
