/* SPDX-License-Identifier: MIT
 *
 * Checks owner and mode of files whose code will run in this process. A file that other users may
 * write is rejected, whatever it contains at the moment. */
#include "core/plugin/trust.h"

#include <fcntl.h>
#include <unistd.h>

enum lmd_status lmi_trust_judge(enum lmi_trust trust, uid_t euid, uid_t owner, mode_t mode,
				const char *what, struct lmd_error *err)
{
	if (trust == LMI_TRUST_SYSTEM && owner != 0)
		return lmd_fail(
			err, LMD_INVALID,
			"%s belongs to user %u, but trust \"system\" allows only root's", what,
			(unsigned)owner);
	if (owner != euid && owner != 0)
		return lmd_fail(err, LMD_INVALID,
				"%s belongs to user %u, not to user %u or root", what,
				(unsigned)owner, (unsigned)euid);
	if (mode & (S_IWGRP | S_IWOTH))
		return lmd_fail(err, LMD_INVALID, "%s is writable by %s (mode %04o)", what,
				mode & S_IWOTH ? "everybody" : "its group", (unsigned)mode & 07777);
	return LMD_OK;
}

enum lmd_status lmi_trust_check(enum lmi_trust trust, int fd, const struct stat *sb,
				const char *what, struct lmd_error *err)
{
	enum lmd_status st =
		lmi_trust_judge(trust, geteuid(), sb->st_uid, sb->st_mode, what, err);
	char path[64];

	if (st != LMD_OK || trust != LMI_TRUST_SYSTEM || geteuid() == 0)
		return st;
	/* access lists may grant more than the mode */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!faccessat(AT_FDCWD, path, W_OK, AT_EACCESS))
		return lmd_fail(err, LMD_INVALID,
				"%s is writable by user %u, which runs this process", what,
				(unsigned)geteuid());
	return LMD_OK;
}
