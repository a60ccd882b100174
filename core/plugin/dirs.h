/* SPDX-License-Identifier: MIT
 *
 * dirs.h - the folders that are searched for plugins by default. */
#ifndef LLAMAD_CORE_PLUGIN_DIRS_H
#define LLAMAD_CORE_PLUGIN_DIRS_H

#include <stdint.h>

#define LMI_PLUGIN_MAX_DEFAULT_DIRS 2

/* Fills in up to LMI_PLUGIN_MAX_DEFAULT_DIRS absolute paths for a program at `exe` and returns
 * their number; -1 if memory runs out. The caller frees each path with lmi_free.
 *
 * A program in the top folder B of a build tree (or in B/.libs, where libtool puts it) uses
 * B/plugins/.libs only: mixing it with an installed version would hide what is being tested.
 * Otherwise the folders are P/lib/llamad/plugins for a program in P/bin, so that an installed tree
 * can be moved, and then `plugindir`, chosen by configure. If exe is NULL, only plugindir. */
int lmi_plugin_default_dirs(const char *exe, const char *plugindir,
			    char *out[LMI_PLUGIN_MAX_DEFAULT_DIRS]);

#endif /* LLAMAD_CORE_PLUGIN_DIRS_H */
