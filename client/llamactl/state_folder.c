/* SPDX-License-Identifier: MIT */
#include "client/llamactl/state_folder.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/printable.h"
#include "store/store.h"

/* Becomes the owner of the folder, so that root leaves no files that the daemon cannot open. */
static enum lmd_status become_owner(const char *dir, struct lmd_error *err)
{
	char shown[160];
	struct stat sb;

	lmi_printable_path(shown, sizeof(shown), dir);
	if (stat(dir, &sb))
		return lmd_fail(err, errno == ENOENT ? LMD_NOTFOUND : LMD_IO, "%s: %s", shown,
				strerror(errno));
	if (geteuid() || !sb.st_uid)
		return LMD_OK;
	if (setgroups(0, NULL) || setegid(sb.st_gid) || seteuid(sb.st_uid))
		return lmd_fail(err, LMD_DENIED, "%s: cannot become its owner %u: %s", shown,
				(unsigned)sb.st_uid, strerror(errno));
	return LMD_OK;
}

enum lmd_status lmi_ctl_open_state_folder(struct lmi_store **out, const char *dir, bool read_only,
					  struct lmd_error *err)
{
	const struct lmi_store_opts opts = {.now_ns = (int64_t)time(NULL) * 1000000000,
					    .read_only = read_only};
	enum lmd_status st = become_owner(dir, err);

	return st == LMD_OK ? lmi_store_open(out, dir, &opts, NULL, err) : st;
}
