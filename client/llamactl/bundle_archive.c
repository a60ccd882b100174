/* SPDX-License-Identifier: MIT
 *
 * The archive of a bundle.  What is read is the form that is written, and nothing else: files in the
 * top folder, no links, no owners. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/bundle.h"
#include "core/base/alloc.h"

#define BLOCK     512
#define PAX_MAX   64               /* bytes of a pax record with a size */
#define OCTAL_MAX (UINT64_C(1) << 33) /* sizes below this have a field of their own */

struct head {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct head) == BLOCK, "ustar");

static unsigned checksum(const struct head *h)
{
	struct head copy = *h;
	unsigned sum = 0;

	memset(copy.checksum, ' ', sizeof(copy.checksum)); /* the field counts as blanks */
	for (size_t i = 0; i < sizeof(copy); i++)
		sum += ((const unsigned char *)&copy)[i];
	return sum;
}

/* ---- writing ---- */

/* Writes size - 1 octal digits; the last byte stays 0. */
static void put_octal(char *out, size_t size, uint64_t v)
{
	for (size_t i = size - 1; i-- > 0; v /= 8)
		out[i] = (char)('0' + v % 8);
}

static void put_block(FILE *f, const char *name, char type, uint64_t size)
{
	struct head h = {.type = type, .magic = "ustar", .version = {'0', '0'}};

	(void)snprintf(h.name, sizeof(h.name), "%s", name);
	put_octal(h.mode, sizeof(h.mode), 0644);
	put_octal(h.uid, sizeof(h.uid), 0);
	put_octal(h.gid, sizeof(h.gid), 0);
	put_octal(h.size, sizeof(h.size), size);
	put_octal(h.mtime, sizeof(h.mtime), 0);
	put_octal(h.checksum, sizeof(h.checksum) - 1, checksum(&h));
	h.checksum[7] = ' ';
	(void)fwrite(&h, 1, sizeof(h), f);
}

void lmi_ctl_bundle_put_padding(FILE *f, uint64_t size)
{
	static const char zeros[BLOCK];

	(void)fwrite(zeros, 1, (BLOCK - size % BLOCK) % BLOCK, f);
}

/* "22 size=10000000000\n": the number before it counts the whole record. */
static void put_pax(FILE *f, uint64_t size)
{
	char rest[PAX_MAX], record[PAX_MAX + 8];
	int n = snprintf(rest, sizeof(rest), " size=%" PRIu64 "\n", size);
	int total = n + 2; /* a record has 10..99 bytes */

	(void)snprintf(record, sizeof(record), "%d%s", total, rest);
	put_block(f, "pax", 'x', (uint64_t)total);
	(void)fwrite(record, 1, (size_t)total, f);
	lmi_ctl_bundle_put_padding(f, (uint64_t)total);
}

void lmi_ctl_bundle_put_head(FILE *f, const char *name, uint64_t size)
{
	if (size >= OCTAL_MAX)
		put_pax(f, size);
	put_block(f, name, '0', size >= OCTAL_MAX ? 0 : size);
}

/* ---- reading ---- */

static enum lmd_status corrupt(struct lmd_error *err, const char *what)
{
	return lmd_fail(err, LMD_CORRUPT, "not a bundle: %s", what);
}

static enum lmd_status read_all(FILE *f, void *out, size_t n, struct lmd_error *err)
{
	if (fread(out, 1, n, f) == n)
		return LMD_OK;
	return ferror(f) ? lmd_fail(err, LMD_IO, "the bundle cannot be read")
			 : corrupt(err, "it ends too early");
}

/* An octal number that fills the field but for its last byte. */
static bool get_octal(const char *field, size_t size, uint64_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i + 1 < size; i++) {
		if (field[i] < '0' || field[i] > '7')
			return false;
		v = v * 8 + (uint64_t)(field[i] - '0');
	}
	*out = v;
	return true;
}

static bool is_zero(const void *block)
{
	const unsigned char *p = block;

	for (size_t i = 0; i < BLOCK; i++)
		if (p[i])
			return false;
	return true;
}

static enum lmd_status read_block(FILE *f, struct head *h, uint64_t *size, bool *end,
				  struct lmd_error *err)
{
	uint64_t sum;
	enum lmd_status st = read_all(f, h, sizeof(*h), err);

	*end = st == LMD_OK && is_zero(h);
	if (st != LMD_OK || *end)
		return st;
	if (memcmp(h->magic, "ustar", 6) != 0 || !get_octal(h->checksum, 7, &sum) ||
	    sum != checksum(h))
		return corrupt(err, "the head of a member is damaged");
	if (!get_octal(h->size, sizeof(h->size), size))
		return corrupt(err, "the size of a member is not a number");
	if (!memchr(h->name, 0, sizeof(h->name)) || !*h->name || strchr(h->name, '/') || *h->prefix)
		return corrupt(err, "the name of a member is not one of a file");
	return LMD_OK;
}

/* A pax record with a size alone. */
static enum lmd_status read_pax(FILE *f, uint64_t n, uint64_t *size, struct lmd_error *err)
{
	char text[PAX_MAX + 1] = "", *end;
	unsigned long long total, v = 0;
	enum lmd_status st;

	if (n > PAX_MAX)
		return corrupt(err, "a pax record with more than a size");
	st = read_all(f, text, (size_t)n, err);
	if (st != LMD_OK)
		return st;
	total = strtoull(text, &end, 10);
	if (total != n || strncmp(end, " size=", 6) != 0 || end[6] < '1' || end[6] > '9')
		return corrupt(err, "a pax record with more than a size");
	v = strtoull(end + 6, &end, 10);
	if (strcmp(end, "\n") != 0 || v > LMI_CTL_BUNDLE_SIZE_MAX)
		return corrupt(err, "a size beyond 2^50 bytes");
	*size = v;
	return lmi_ctl_bundle_skip_padding(f, n, err);
}

enum lmd_status lmi_ctl_bundle_next(FILE *f, char name[LMI_CTL_BUNDLE_NAME_MAX + 1], uint64_t *size,
				    bool *end, struct lmd_error *err)
{
	struct head h;
	uint64_t large = 0;
	enum lmd_status st = read_block(f, &h, size, end, err);

	if (st == LMD_OK && !*end && h.type == 'x') {
		st = read_pax(f, *size, &large, err);
		if (st == LMD_OK)
			st = read_block(f, &h, size, end, err);
		if (st == LMD_OK && (*end || h.type != '0'))
			return corrupt(err, "a pax record without a file");
	}
	if (st != LMD_OK || *end)
		return st;
	if (h.type != '0')
		return corrupt(err, "a member that is not a file");
	*size = large ? large : *size;
	(void)snprintf(name, LMI_CTL_BUNDLE_NAME_MAX + 1, "%s", h.name);
	return LMD_OK;
}

enum lmd_status lmi_ctl_bundle_skip_padding(FILE *f, uint64_t size, struct lmd_error *err)
{
	char rest[BLOCK];

	return read_all(f, rest, (BLOCK - size % BLOCK) % BLOCK, err);
}

enum lmd_status lmi_ctl_bundle_read_index(struct lmi_ctl_bundle *out, FILE *f, struct lmd_error *err)
{
	char name[LMI_CTL_BUNDLE_NAME_MAX + 1], *text;
	uint64_t size;
	bool end;
	enum lmd_status st = lmi_ctl_bundle_next(f, name, &size, &end, err);

	if (st != LMD_OK)
		return st;
	if (end || strcmp(name, LMI_CTL_BUNDLE_INDEX) != 0 || size > LMI_CTL_BUNDLE_INDEX_MAX)
		return corrupt(err, "it does not begin with " LMI_CTL_BUNDLE_INDEX);
	text = lmi_alloc((size_t)size + 1, 1);
	if (!text)
		return lmd_fail(err, LMD_NOMEM, "no memory for the index of a bundle");
	st = read_all(f, text, (size_t)size, err);
	if (st == LMD_OK)
		st = lmi_ctl_bundle_skip_padding(f, size, err);
	if (st == LMD_OK)
		st = lmi_ctl_bundle_parse(out, text, (size_t)size, err);
	lmi_free(text);
	return st;
}
