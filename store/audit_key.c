/* SPDX-License-Identifier: MIT
 *
 * The key of the audit log: a file with 64 hex digits, made with 32 random bytes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/sha256.h"
#include "store/audit.h"

#define FILE_MAX 256

static enum lmd_status fail(struct lmd_error *err, const char *path)
{
	return lmd_fail(err, errno == ENOENT ? LMD_NOTFOUND : LMD_IO, "%.300s: %s", path, strerror(errno));
}

static int value_of(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

enum lmd_status lmi_store_audit_key_read(struct lmi_store_audit_key *key, const char *path,
					 struct lmd_error *err)
{
	char text[FILE_MAX + 1];
	struct stat sb;
	ssize_t n = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO would wait for its writer */
	enum lmd_status st = LMD_OK;

	if (fd < 0 || fstat(fd, &sb)) {
		st = fail(err, path);
	} else if (!S_ISREG(sb.st_mode)) {
		st = lmd_fail(err, LMD_INVALID, "%.300s: not a regular file", path);
	} else if (sb.st_mode & 037) {
		st = lmd_fail(err, LMD_INVALID,
			      "%.300s: mode %04o lets other users read or change the key: use at most 0640",
			      path, (unsigned)sb.st_mode & 07777);
	} else {
		n = pread(fd, text, FILE_MAX, 0);
		st = n < 0 ? fail(err, path) : LMD_OK;
	}
	if (fd >= 0)
		(void)close(fd);
	if (st != LMD_OK)
		return st;
	text[n] = 0;
	text[strcspn(text, " \t\r\n")] = 0;
	if (!lmi_sha256_is_hex(text)) {
		st = lmd_fail(err, LMD_INVALID, "%.300s: the first line is not 64 lower-case hex digits",
			      path);
	} else {
		for (size_t i = 0; i < sizeof(key->bytes); i++)
			key->bytes[i] = (uint8_t)(value_of(text[2 * i]) << 4 | value_of(text[2 * i + 1]));
	}
	explicit_bzero(text, sizeof(text));
	return st;
}

enum lmd_status lmi_store_audit_key_make(const char *path, struct lmd_error *err)
{
	uint8_t bytes[LMI_SHA256_BYTES];
	char text[LMI_SHA256_HEX];
	enum lmd_status st = LMD_OK;
	bool written;
	int fd;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return lmd_fail(err, LMD_IO, "getrandom: %s", strerror(errno));
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail(err, path);
	lmi_sha256_hex(text, bytes);
	text[LMI_SHA256_HEX - 1] = '\n';
	written = lmi_file_write_all(fd, text, sizeof(text)) && fsync(fd) == 0;
	if (close(fd) || !written) {
		st = fail(err, path);
		(void)unlink(path);
	}
	explicit_bzero(bytes, sizeof(bytes));
	explicit_bzero(text, sizeof(text));
	return st;
}
