/* SPDX-License-Identifier: MIT
 *
 * plugin_image.h - the copy of a plugin file that is checked and then run.
 *
 * A file is copied once. All checks look at the copy, and the dynamic loader maps the copy. So
 * nothing can change between check and use, and replacing or overwriting the file on disk does not
 * affect running code. There are two kinds of copy:
 *
 * SEALED  anonymous memory (memfd) with all seals, loaded as /proc/self/fd/N.  The dynamic
 *         loader identifies objects by that name, so the descriptor stays open as long as the
 *         object is mapped: a reused number would give the old code.
 * FILE    a file in a private folder, named by its SHA-256, for debuggers and sanitizers, which
 *         read symbols from a path.  Equal contents share one file, so the owner of the folder
 *         has to remove it. */
#ifndef LLAMAD_CORE_PLUGIN_PLUGIN_IMAGE_H
#define LLAMAD_CORE_PLUGIN_PLUGIN_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_PLUGIN_DIGEST_BYTES 32
/* Maximum size of a plugin file. */
#define LMI_PLUGIN_MAX_BYTES (2ull << 30)

struct lmi_plugin_image {
	int fd;                 /* -1 = none */
	const void *bytes; /* the copy, mapped read-only until lmi_plugin_image_open or _close */
	size_t n;
	uint8_t digest[LMI_PLUGIN_DIGEST_BYTES];
	void *handle;           /* from dlopen; NULL before */
	char path[4096];        /* FILE: path of the copy; otherwise "" */
};

/* Copies `fd_in` from its start, at most LMI_PLUGIN_MAX_BYTES. If `folder` is NULL, makes a SEALED
 * copy, otherwise a FILE in that folder. `name` labels the memory in /proc. Fills digest and bytes.
 * Leaves nothing behind on failure. */
enum lmd_status lmi_plugin_image_copy(struct lmi_plugin_image *c, int fd_in, const char *folder,
				      const char *name, struct lmd_error *err);

/* Maps the object with RTLD_NOW | RTLD_LOCAL, which runs its constructors. LMD_INVALID with the
 * loader's message on failure. */
enum lmd_status lmi_plugin_image_open(struct lmi_plugin_image *c, struct lmd_error *err);

/* Unmaps the object; the copy can be opened again. */
void lmi_plugin_image_unload(struct lmi_plugin_image *c);

/* Unmaps and releases the copy. If the dynamic loader keeps the object (it may not be unloadable),
 * the descriptor stays open as well. A zeroed struct with fd -1 is allowed. */
void lmi_plugin_image_close(struct lmi_plugin_image *c);

#endif /* LLAMAD_CORE_PLUGIN_PLUGIN_IMAGE_H */
