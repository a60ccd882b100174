/* SPDX-License-Identifier: MIT
 *
 * Copies of plugin files. glibc recognises a loaded object first by the name it was opened with,
 * then by device and inode. Both must be new for new code to be mapped: the name is unique while
 * the descriptor is open, and each memfd has its own inode. */
#include "core/plugin/plugin_image.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u
#endif

#define CHUNK 65536
#define SEAL_TRIES 10

static int make_memfd(const char *name)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	char label[64];
	int fd;

	snprintf(label, sizeof(label), "llamad:%.50s", name);
	/* kernels since 6.3 want to know that the memory will be mapped executable */
	fd = memfd_create(label, flags | MFD_EXEC);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(label, flags);
	return fd;
}

static enum lmd_status copy_bytes(struct lmi_plugin_image *c, int fd_in, struct lmd_error *err)
{
	char buf[CHUNK];
	uint64_t total = 0;
	ssize_t r;

	while ((r = pread(fd_in, buf, sizeof(buf), (off_t)total)) != 0) {
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return lmd_fail(err, LMD_IO, "reading at offset %llu: %s",
					(unsigned long long)total, strerror(errno));
		total += (uint64_t)r;
		if (total > LMI_PLUGIN_MAX_BYTES)
			return lmd_fail(err, LMD_INVALID, "larger than %llu bytes",
					(unsigned long long)LMI_PLUGIN_MAX_BYTES);
		if (!lmi_file_write_all(c->fd, buf, (size_t)r))
			return lmd_fail(err, LMD_IO, "copying at offset %llu: %s",
					(unsigned long long)total, strerror(errno));
	}
	if (!total)
		return lmd_fail(err, LMD_CORRUPT, "the file is empty");
	c->n = (size_t)total;
	return LMD_OK;
}

/* Nobody can change the copy afterwards. The kernel refuses that with EBUSY as long as it has a page in its
 * own hands, to migrate it for instance: it waits 150 ms itself, which a busy machine can exceed. */
static bool seal(int fd)
{
	int left = SEAL_TRIES;

	while (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		if (errno != EBUSY || !--left)
			return false;
	return true;
}

static enum lmd_status map_and_hash(struct lmi_plugin_image *c, struct lmd_error *err)
{
	void *p = mmap(NULL, c->n, PROT_READ, MAP_PRIVATE, c->fd, 0);

	if (p == MAP_FAILED)
		return lmd_fail(err, LMD_NOMEM, "mapping %zu bytes: %s", c->n, strerror(errno));
	c->bytes = p;
	if (!EVP_Digest(p, c->n, c->digest, NULL, EVP_sha256(), NULL))
		return lmd_fail(err, LMD_INTERNAL, "SHA-256 of %zu bytes failed", c->n);
	return LMD_OK;
}

/* Names the private file after its digest, so that equal contents share one file. */
static enum lmd_status name_by_digest(struct lmi_plugin_image *c, const char *folder,
				      struct lmd_error *err)
{
	char path[sizeof(c->path)], hex[2 * LMI_PLUGIN_DIGEST_BYTES + 1];
	int n;

	for (int i = 0; i < LMI_PLUGIN_DIGEST_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", c->digest[i]);
	n = snprintf(path, sizeof(path), "%s/%s.so", folder, hex);
	if (n < 0 || (size_t)n >= sizeof(path) || rename(c->path, path))
		return lmd_fail(err, LMD_IO, "%s: %s", path, strerror(errno));
	memcpy(c->path, path, sizeof(path));
	return LMD_OK;
}

enum lmd_status lmi_plugin_image_copy(struct lmi_plugin_image *c, int fd_in, const char *folder,
				      const char *name, struct lmd_error *err)
{
	enum lmd_status st;
	int n;

	*c = (struct lmi_plugin_image){.fd = -1};
	if (folder) {
		n = snprintf(c->path, sizeof(c->path), "%s/copy-XXXXXX", folder);
		if (n < 0 || (size_t)n >= sizeof(c->path)) {
			c->path[0] = 0;
			return lmd_fail(err, LMD_INVALID, "%.200s: the path is too long", folder);
		}
		c->fd = mkostemp(c->path, O_CLOEXEC);
	} else {
		c->fd = make_memfd(name);
	}
	if (c->fd < 0 && !folder && errno == EACCES)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"this system forbids executable memory that is in no file (sysctl "
				"vm.memfd_noexec is 2); set it to 0 or 1, or build with "
				"--enable-builtin=all");
	if (c->fd < 0) {
		c->path[0] = 0;
		return lmd_fail(err, LMD_IO, "cannot create %s for the copy: %s",
				folder ? folder : "anonymous memory", strerror(errno));
	}
	st = copy_bytes(c, fd_in, err);
	if (st == LMD_OK && !folder && !seal(c->fd))
		st = lmd_fail(err, LMD_IO, "sealing the copy: %s", strerror(errno));
	if (st == LMD_OK)
		st = map_and_hash(c, err);
	if (st == LMD_OK && folder)
		st = name_by_digest(c, folder, err);
	if (st != LMD_OK) {
		if (folder)
			(void)unlink(c->path);
		lmi_plugin_image_close(c);
	}
	return st;
}

static void unmap(struct lmi_plugin_image *c)
{
	if (c->bytes)
		munmap((void *)(uintptr_t)c->bytes, c->n);
	c->bytes = NULL;
}

/* The name given to the dynamic loader. */
static void object_name(const struct lmi_plugin_image *c, char *buf, size_t n)
{
	if (c->path[0])
		snprintf(buf, n, "%s", c->path);
	else
		snprintf(buf, n, "/proc/self/fd/%d", c->fd);
}

/* Returns true if an object with this name is mapped. */
static bool is_mapped(const char *name)
{
	void *h = dlopen(name, RTLD_NOW | RTLD_NOLOAD);

	if (h)
		dlclose(h);
	return h != NULL;
}

/* The process may have loaded another library from the same descriptor number and closed the
 * descriptor since. In that case move to the next free number. */
static enum lmd_status fresh_name(struct lmi_plugin_image *c, char *name, size_t n,
				  struct lmd_error *err)
{
	object_name(c, name, n);
	for (int tries = 0; !c->path[0] && is_mapped(name); tries++) {
		int fd = tries < 64 ? fcntl(c->fd, F_DUPFD_CLOEXEC, c->fd + 1) : -1;

		if (fd < 0)
			return lmd_fail(err, LMD_IO, "no unused descriptor to load from: %s",
					strerror(errno));
		close(c->fd);
		c->fd = fd;
		object_name(c, name, n);
	}
	return LMD_OK;
}

enum lmd_status lmi_plugin_image_open(struct lmi_plugin_image *c, struct lmd_error *err)
{
	enum lmd_status st;
	char name[sizeof(c->path)];
	const char *why, *colon;

	unmap(c);
	st = fresh_name(c, name, sizeof(name), err);
	if (st != LMD_OK)
		return st;
	c->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (c->handle)
		return LMD_OK;
	/* "NAME: reason": the name means nothing to the reader */
	why = dlerror();
	why = why ? why : "no reason given";
	colon = strncmp(why, name, strlen(name)) ? NULL : why + strlen(name);
	return lmd_fail(err, LMD_INVALID, "loading: %s",
			colon && !strncmp(colon, ": ", 2) ? colon + 2 : why);
}

void lmi_plugin_image_unload(struct lmi_plugin_image *c)
{
	if (c->handle)
		dlclose(c->handle);
	c->handle = NULL;
}

void lmi_plugin_image_close(struct lmi_plugin_image *c)
{
	char name[sizeof(c->path)];
	bool keep = false;

	unmap(c);
	if (c->handle) {
		object_name(c, name, sizeof(name));
		dlclose(c->handle);
		keep = !c->path[0] && is_mapped(name);
	}
	if (c->fd >= 0 && !keep)
		close(c->fd);
	*c = (struct lmi_plugin_image){.fd = -1};
}
