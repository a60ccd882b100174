/* SPDX-License-Identifier: MIT
 *
 * copies.h - the folder of a registry that maps plugins from files (LMI_PLUGIN_IMAGE_FILE).
 *
 * Its owner holds a lock on it, which ends with the process. A folder that nobody has locked was left
 * by a process that was killed; it is removed when the next folder is made. */
#ifndef LLAMAD_CORE_PLUGIN_COPIES_H
#define LLAMAD_CORE_PLUGIN_COPIES_H

#include "llamad/host.h"
#include "llamad/status.h"

/* What names of folders begin with. */
#define LMI_PLUGIN_COPIES "/tmp/llamad-copies-"

struct lmi_plugin_copies {
	char path[sizeof(LMI_PLUGIN_COPIES) + 6]; /* "": there is none */
	int fd;
};

/* LMD_IO: the folder cannot be made; c->path is "" then. */
enum lmd_status lmi_plugin_copies_create(struct lmi_plugin_copies *c, struct lmd_error *err);
/* Removes the folder and what is in it. */
void lmi_plugin_copies_remove(struct lmi_plugin_copies *c, const struct lmd_host *host);

#endif /* LLAMAD_CORE_PLUGIN_COPIES_H */
