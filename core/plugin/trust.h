/* SPDX-License-Identifier: MIT
 *
 * trust.h - whose files are loaded: the check of owner and mode. */
#ifndef LLAMAD_CORE_PLUGIN_TRUST_H
#define LLAMAD_CORE_PLUGIN_TRUST_H

#include <sys/stat.h>

#include "core/plugin/registry.h"

/* Checks an opened file or folder by its descriptor and its stat.  `what` ("file",
 * "folder PATH") begins the sentence.
 *
 * OWNER   owned by the effective user or root, not writable by group or others
 * SYSTEM  owned by root, not writable by group or others, and not writable by the
 *         effective user unless that is root */
enum lmd_status lmi_trust_check(enum lmi_trust trust, int fd, const struct stat *sb,
				const char *what, struct lmd_error *err);

/* The check of the modes and owners alone, as a pure function of its arguments. */
enum lmd_status lmi_trust_judge(enum lmi_trust trust, uid_t euid, uid_t owner, mode_t mode,
				const char *what, struct lmd_error *err);

#endif /* LLAMAD_CORE_PLUGIN_TRUST_H */
