/* SPDX-License-Identifier: MIT
 *
 * Keeps the folder of the repack cache below its limit. A file that another process has mapped may be
 * removed: its bytes live as long as the mapping. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/engine/repack_file.h"

#define N_MAX	   4096u /* files that are looked at in one go */
#define STALE_S	   (24 * 3600) /* nobody writes a file for so long */
#define NAME_BYTES (LMI_SHA256_HEX - 1)

struct found {
	char name[LMI_SHA256_HEX];
	uint64_t bytes;
	struct timespec used;
};

static int by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct found *)a)->used, *y = &((const struct found *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Is it the name of a file that is being written? */
static bool is_part(const char *name)
{
	char hex[LMI_SHA256_HEX];
	size_t n = strlen(name);

	if (n < NAME_BYTES + 6 || name[NAME_BYTES] != '.' || strcmp(name + n - 5, ".part") != 0)
		return false;
	memcpy(hex, name, NAME_BYTES);
	hex[NAME_BYTES] = '\0';
	return lmi_sha256_is_hex(hex);
}

/* Fills in a file of the cache; returns false for other names, and for the one that is replaced. Removes what a
 * writer has left. */
static bool look_at(DIR *d, const char *name, const char *replaced, struct found *out)
{
	struct stat sb;

	if (fstatat(dirfd(d), name, &sb, AT_SYMLINK_NOFOLLOW) || !S_ISREG(sb.st_mode))
		return false;
	if (is_part(name) && sb.st_mtime < time(NULL) - STALE_S)
		(void)unlinkat(dirfd(d), name, 0);
	if (strlen(name) != NAME_BYTES || !lmi_sha256_is_hex(name) || !strcmp(name, replaced))
		return false;
	memcpy(out->name, name, sizeof(out->name));
	out->bytes = (uint64_t)sb.st_size;
	out->used = sb.st_mtim;
	return true;
}

void lmi_engine_repack_trim(const char *dir, uint64_t max_bytes, const uint8_t *replaced)
{
	char hex[LMI_SHA256_HEX] = "";
	struct found *v = lmi_alloc(N_MAX, sizeof(*v));
	DIR *d = v ? opendir(dir) : NULL;
	const struct dirent *e;
	uint64_t sum = 0;
	size_t n = 0;

	if (replaced)
		lmi_sha256_hex(hex, replaced);
	while (d && n < N_MAX && (e = readdir(d)))
		if (look_at(d, e->d_name, hex, &v[n]))
			sum += v[n++].bytes;
	if (n)
		qsort(v, n, sizeof(*v), by_use);
	for (size_t i = 0; i < n && sum > max_bytes; i++) {
		(void)unlinkat(dirfd(d), v[i].name, 0);
		sum -= v[i].bytes;
	}
	if (d)
		(void)closedir(d);
	lmi_free(v);
}
