/* SPDX-License-Identifier: MIT
 *
 * trust.h - decides by owner and mode which files may be loaded. */
#ifndef LLAMAD_CORE_PLUGIN_TRUST_H
#define LLAMAD_CORE_PLUGIN_TRUST_H

#include <sys/stat.h>

#include "core/plugin/registry.h"

/* Checks an open file or folder by its descriptor and its stat. The error message starts with
 * `what` ("file", "folder PATH").
 *
 * OWNER   owned by the effective user or root, not writable by group or others
 * SYSTEM  owned by root, not writable by group or others, and not writable by the
 *         effective user unless that is root */
enum lmd_status lmi_trust_check(enum lmi_trust trust, int fd, const struct stat *sb,
				const char *what, struct lmd_error *err);

/* Checks owner and mode alone, as a pure function of its arguments. */
enum lmd_status lmi_trust_judge(enum lmi_trust trust, uid_t euid, uid_t owner, mode_t mode,
				const char *what, struct lmd_error *err);

#endif /* LLAMAD_CORE_PLUGIN_TRUST_H */
