/* SPDX-License-Identifier: MIT
 *
 * Folders of copies. A folder gets its name when it is locked already, so that one with such a name and
 * without a lock is always one that was left. */
#include "core/plugin/copies.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define TEMPLATE "/tmp/llamad-copies.XXXXXX" /* as long as the final name */
#define NAME     (&LMI_PLUGIN_COPIES[5])     /* without the folder */

/* Opens and locks a folder; returns -1 if that fails or another process has locked it. */
static int lock(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		int reason = errno;

		(void)close(fd);
		errno = reason;
		return -1;
	}
	return fd;
}

/* Removes the files of a folder; takes ownership of the descriptor. */
static void empty(int own_fd)
{
	DIR *dir = fdopendir(own_fd);
	const struct dirent *de;

	if (!dir) {
		(void)close(own_fd);
		return;
	}
	while ((de = readdir(dir)))
		if (*de->d_name != '.')
			(void)unlinkat(own_fd, de->d_name, 0);
	(void)closedir(dir);
}

/* Removes what processes that were killed have left. */
static void remove_left(void)
{
	DIR *tmp = opendir("/tmp");
	const struct dirent *de;

	while (tmp && (de = readdir(tmp))) {
		int fd;

		if (strncmp(de->d_name, NAME, strlen(NAME)) != 0)
			continue;
		fd = lock(dirfd(tmp), de->d_name);
		if (fd < 0)
			continue;
		empty(fd);
		(void)unlinkat(dirfd(tmp), de->d_name, AT_REMOVEDIR);
	}
	if (tmp)
		(void)closedir(tmp);
}

enum lmd_status lmi_plugin_copies_create(struct lmi_plugin_copies *c, struct lmd_error *err)
{
	char first[] = TEMPLATE;
	int reason;

	_Static_assert(sizeof(first) == sizeof(c->path), "both names are equally long");
	remove_left();
	*c = (struct lmi_plugin_copies){.fd = -1};
	if (!mkdtemp(first))
		return lmd_fail(err, LMD_IO, "%s: %s", TEMPLATE, strerror(errno));
	memcpy(c->path, first, sizeof(first));
	memcpy(c->path, LMI_PLUGIN_COPIES, sizeof(LMI_PLUGIN_COPIES) - 1);
	c->fd = lock(AT_FDCWD, first);
	if (c->fd >= 0 && !rename(first, c->path))
		return LMD_OK;
	reason = errno;
	(void)rmdir(first);
	if (c->fd >= 0)
		(void)close(c->fd);
	*c = (struct lmi_plugin_copies){.fd = -1};
	return lmd_fail(err, LMD_IO, "%s: %s", first, strerror(reason));
}

void lmi_plugin_copies_remove(struct lmi_plugin_copies *c, const struct lmd_host *host)
{
	int fd;

	if (!*c->path)
		return;
	fd = openat(c->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		empty(fd);
	if (rmdir(c->path))
		host->log(host->ctx, "plugin", LMD_LOG_WARN, "could not remove: %s dir=%s",
			  strerror(errno), c->path);
	(void)close(c->fd);
	*c = (struct lmi_plugin_copies){.fd = -1};
}
