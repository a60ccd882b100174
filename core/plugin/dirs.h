/* SPDX-License-Identifier: MIT
 *
 * dirs.h - where plugins are looked for when nobody says where. */
#ifndef LLAMAD_CORE_PLUGIN_DIRS_H
#define LLAMAD_CORE_PLUGIN_DIRS_H

#include <stdint.h>

#define LMI_MAX_DEFAULT_DIRS 2

/* Fills up to LMI_MAX_DEFAULT_DIRS absolute paths (each to be given to lmi_free) for a program
 * at `exe` and returns their number; -1 without memory.
 *
 * A program in the top folder B of a build tree (or in B/.libs, where libtool puts it) uses
 * B/plugins/.libs alone: mixing it with an installed version would hide what is tested.
 * Otherwise P/lib/llamad/plugins for a program in P/bin, so that an installed tree may be
 * moved, then `plugindir`, the place that configure chose.  exe NULL: plugindir alone. */
int lmi_default_dirs(const char *exe, const char *plugindir, char *out[LMI_MAX_DEFAULT_DIRS]);

#endif /* LLAMAD_CORE_PLUGIN_DIRS_H */
