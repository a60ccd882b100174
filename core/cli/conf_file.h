/* SPDX-License-Identifier: MIT
 *
 * conf_file.h - files of sections and keys:
 *
 *     # a comment
 *     [section]
 *     key = value */
#ifndef LLAMAD_CORE_CLI_CONF_FILE_H
#define LLAMAD_CORE_CLI_CONF_FILE_H

#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

struct lmd_arena;

/* Maximum length of a file and of a line, in bytes. */
#define LMI_CLI_CONF_BYTES (1u << 20)
#define LMI_CLI_CONF_LINE  4096u

struct lmi_cli_conf {
	/* Called for each section, and for each key of it.  The texts stay valid as long as the arena.
	 * An error ends the reading; its message gets the file and the line as a prefix. */
	enum lmd_status (*section)(void *arg, const char *name, struct lmd_error *err);
	enum lmd_status (*pair)(void *arg, const char *section, const char *key, const char *value,
				struct lmd_error *err);
	void *arg;
	const char *path;
	struct lmd_arena *arena;
	uint32_t line; /* the current one, from 1; 0 at the beginning */
};

/* Reads the file.  LMD_INVALID for a line that is none of the three, LMD_NOTFOUND, LMD_IO. */
LMD_NODISCARD enum lmd_status lmi_cli_conf_read(struct lmi_cli_conf *c, struct lmd_error *err);

#endif /* LLAMAD_CORE_CLI_CONF_FILE_H */
