/* SPDX-License-Identifier: MIT
 *
 * The lock is flock(2) on a file that contains the pid of its holder.  The kernel releases it when
 * the process ends, so there are no stale locks. */
#include "daemon/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/printable.h"

#define SHOWN 160

enum lmd_status lmi_daemon_make_folder(const char *path, unsigned mode, struct lmd_error *err)
{
	char part[PATH_MAX], shown[SHOWN];
	size_t n = strlen(path);
	struct stat sb;

	if (n >= sizeof(part))
		return lmd_fail(err, LMD_INVALID, "%s: the path has %zu bytes, the maximum is %d",
				lmi_printable_path(shown, sizeof(shown), path), n, PATH_MAX - 1);
	for (size_t i = 1; i <= n; i++) {
		if (i < n && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		/* look first, since an existing folder may be on a read-only file system */
		if (!stat(part, &sb) && S_ISDIR(sb.st_mode))
			continue;
		/* chmod, since the umask may have removed bits of the mode */
		if (!mkdir(part, (mode_t)mode) && !chmod(part, (mode_t)mode))
			continue;
		if (errno != EEXIST)
			return lmd_fail(err, LMD_IO, "%s: cannot create the folder: %s",
					lmi_printable_path(shown, sizeof(shown), part),
					strerror(errno));
	}
	if (stat(path, &sb))
		return lmd_fail(err, LMD_IO, "%s: %s",
				lmi_printable_path(shown, sizeof(shown), path), strerror(errno));
	if (!S_ISDIR(sb.st_mode))
		return lmd_fail(err, LMD_INVALID, "%s: is not a folder",
				lmi_printable_path(shown, sizeof(shown), path));
	return LMD_OK;
}

enum lmd_status lmi_daemon_make_private_folder(const char *path, struct lmd_error *err)
{
	char shown[SHOWN];
	struct stat sb;

	lmi_printable_path(shown, sizeof(shown), path);
	if (mkdir(path, 0700) && errno != EEXIST)
		return lmd_fail(err, LMD_IO, "%s: cannot create the folder: %s", shown, strerror(errno));
	if (lstat(path, &sb))
		return lmd_fail(err, LMD_IO, "%s: %s", shown, strerror(errno));
	if (!S_ISDIR(sb.st_mode) || sb.st_uid != geteuid() || (sb.st_mode & 077))
		return lmd_fail(err, LMD_INVALID,
				"%s: must be a folder of user %u with mode 0700: remove it, set "
				"XDG_RUNTIME_DIR, or give --socket ipc:///PATH",
				shown, (unsigned)geteuid());
	return LMD_OK;
}

/* Reads the pid that the holder of the lock wrote; returns "?" if there is none. */
static const char *holder(int fd, char *buf, size_t n)
{
	ssize_t got = pread(fd, buf, n - 1, 0);
	size_t k = 0;

	while (got > 0 && k < (size_t)got && buf[k] >= '0' && buf[k] <= '9')
		k++;
	if (!k)
		buf[k++] = '?';
	buf[k] = 0;
	return buf;
}

/* Who can write the state folder can replace the registry, with the keys of administrators in it. */
static enum lmd_status check_rights(const char *dir, struct lmd_error *err)
{
	char shown[SHOWN];
	struct stat sb;

	lmi_printable_path(shown, sizeof(shown), dir);
	if (stat(dir, &sb))
		return lmd_fail(err, LMD_IO, "%s: %s", shown, strerror(errno));
	if (sb.st_uid != geteuid() && sb.st_uid)
		return lmd_fail(err, LMD_INVALID,
				"%s: the state folder belongs to user %u, it must belong to user %u",
				shown, (unsigned)sb.st_uid, (unsigned)geteuid());
	if (sb.st_mode & 022)
		return lmd_fail(err, LMD_INVALID,
				"%s: mode %04o of the state folder lets other users write it: use "
				"0700",
				shown, (unsigned)sb.st_mode & 07777);
	return LMD_OK;
}

enum lmd_status lmi_daemon_state_lock(int *fd, const char *dir, struct lmd_error *err)
{
	enum lmd_status st = lmi_daemon_make_folder(dir, 0700, err);
	char path[PATH_MAX], pid[24], shown[SHOWN];
	int lock, n;

	if (st == LMD_OK)
		st = check_rights(dir, err);
	if (st != LMD_OK)
		return st;
	if (snprintf(path, sizeof(path), "%s/llamad.lock", dir) >= (int)sizeof(path))
		return lmd_fail(err, LMD_INVALID, "%s: the path is too long",
				lmi_printable_path(shown, sizeof(shown), dir));
	lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (lock < 0)
		return lmd_fail(err, LMD_IO, "%s: %s",
				lmi_printable_path(shown, sizeof(shown), path), strerror(errno));
	if (flock(lock, LOCK_EX | LOCK_NB)) {
		st = errno == EWOULDBLOCK
			     ? lmd_fail(err, LMD_BUSY,
					"another llamad (pid %s) is using the state folder %s",
					holder(lock, pid, sizeof(pid)),
					lmi_printable_path(shown, sizeof(shown), dir))
			     : lmd_fail(err, LMD_IO, "%s: cannot lock: %s",
					lmi_printable_path(shown, sizeof(shown), path),
					strerror(errno));
		close(lock);
		return st;
	}
	/* the pid is only for error messages, so a full disk does not matter */
	n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (!ftruncate(lock, 0) && pwrite(lock, pid, (size_t)n, 0) != n)
		(void)ftruncate(lock, 0);
	*fd = lock;
	return LMD_OK;
}

/* Returns whether a process listens on the socket. */
static bool is_live(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool live;

	if (fd < 0)
		return true;
	memcpy(addr.sun_path, path, strlen(path));
	/* EAGAIN: the listener's queue is full */
	live = !connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) || errno == EAGAIN;
	close(fd);
	return live;
}

enum lmd_status lmi_daemon_socket_claim(const char *path, struct lmd_error *err)
{
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)], shown[SHOWN];
	const char *slash = strrchr(path, '/');
	enum lmd_status st = LMD_OK;
	struct stat sb;

	lmi_printable_path(shown, sizeof(shown), path);
	if (!slash || strlen(path) >= sizeof(dir))
		return lmd_fail(err, LMD_INVALID, "%s: is not a valid path of a socket", shown);
	if (slash > path) {
		memcpy(dir, path, (size_t)(slash - path));
		dir[slash - path] = 0;
		st = lmi_daemon_make_folder(dir, 0750, err);
	}
	if (st != LMD_OK || (lstat(path, &sb) && errno == ENOENT))
		return st;
	if (!S_ISSOCK(sb.st_mode))
		return lmd_fail(err, LMD_INVALID, "%s: exists and is not a socket", shown);
	if (is_live(path))
		return lmd_fail(err, LMD_BUSY, "another llamad is listening on ipc://%s", shown);
	if (unlink(path) && errno != ENOENT)
		return lmd_fail(err, LMD_IO, "%s: cannot remove the old socket: %s", shown,
				strerror(errno));
	return LMD_OK;
}
