/* SPDX-License-Identifier: MIT */
#include "client/llamactl/tar_output.h"

#include <string.h>

#define BLOCK 512

struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "ustar");

/* Writes size - 1 octal digits; the last byte stays 0. */
static void put_octal(char *out, size_t size, uint64_t v)
{
	for (size_t i = size - 1; i-- > 0; v /= 8)
		out[i] = (char)('0' + v % 8);
}

void lmi_ctl_tar_put(FILE *f, const char *name, const void *bytes, size_t n, int64_t seconds)
{
	static const char zeros[BLOCK];
	struct header h = {.type = '0', .magic = "ustar", .version = {'0', '0'}};
	unsigned sum = 0;

	(void)snprintf(h.name, sizeof(h.name), "%s", name);
	put_octal(h.mode, sizeof(h.mode), 0600);
	put_octal(h.uid, sizeof(h.uid), 0);
	put_octal(h.gid, sizeof(h.gid), 0);
	put_octal(h.size, sizeof(h.size), n);
	put_octal(h.mtime, sizeof(h.mtime), (uint64_t)seconds);
	memset(h.checksum, ' ', sizeof(h.checksum)); /* the checksum field counts as blanks */
	for (size_t i = 0; i < sizeof(h); i++)
		sum += ((const unsigned char *)&h)[i];
	put_octal(h.checksum, sizeof(h.checksum) - 1, sum);
	(void)fwrite(&h, 1, sizeof(h), f);
	(void)fwrite(bytes, 1, n, f);
	(void)fwrite(zeros, 1, (BLOCK - n % BLOCK) % BLOCK, f);
}

void lmi_ctl_tar_end(FILE *f)
{
	static const char zeros[2 * BLOCK];

	(void)fwrite(zeros, 1, sizeof(zeros), f);
}
