/* SPDX-License-Identifier: MIT
 *
 * carrier.h - the copy of a plugin's file that is checked and then run.
 *
 * A file is copied once; all checks look at the copy, and the copy is what the dynamic
 * loader maps.  So nothing can change between check and use, and a file that is replaced
 * or overwritten on disk touches nothing that runs.  Two carriers:
 *
 * SEALED  anonymous memory (memfd) with all seals, loaded as /proc/self/fd/N.  The dynamic
 *         loader knows objects by that name, so the descriptor stays open as long as the object
 *         is mapped: a re-used number would give the old code.
 * FILE    a file in a private folder, named by its SHA-256: for debuggers and sanitizers, which
 *         want to read symbols from a path.  The same content is the same file, so it is left
 *         to the folder's owner to remove. */
#ifndef LLAMAD_CORE_PLUGIN_CARRIER_H
#define LLAMAD_CORE_PLUGIN_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_DIGEST_BYTES 32
/* Greatest file that is taken. */
#define LMI_PLUGIN_MAX_BYTES (2ull << 30)

struct lmi_carrier {
	int fd;                 /* -1 = none */
	const void *bytes;      /* the copy, mapped read-only until lmi_carrier_open or _close */
	size_t n;
	uint8_t digest[LMI_DIGEST_BYTES];
	void *handle;           /* of dlopen, NULL before */
	char path[4096];        /* FILE: of the copy; "" otherwise */
};

/* Copies `fd_in` from its beginning, at most LMI_PLUGIN_MAX_BYTES.  `folder` NULL makes a
 * SEALED carrier, else a FILE in that folder.  `name` helps to recognise the memory in
 * /proc.  Digest and bytes are filled.  Nothing is left behind on failure. */
enum lmd_status lmi_carrier_copy(struct lmi_carrier *c, int fd_in, const char *folder,
				 const char *name, struct lmd_error *err);

/* Maps the object with RTLD_NOW | RTLD_LOCAL: its constructors run.  LMD_INVALID with the
 * loader's sentence. */
enum lmd_status lmi_carrier_open(struct lmi_carrier *c, struct lmd_error *err);

/* Unmaps and releases; an object that the dynamic loader keeps (it may not be unloadable)
 * keeps its descriptor, too.  A zeroed struct with fd -1 is fine. */
void lmi_carrier_close(struct lmi_carrier *c);

#endif /* LLAMAD_CORE_PLUGIN_CARRIER_H */
