/* SPDX-License-Identifier: MIT
 *
 * Which files the disk tier has from earlier runs. The time of change of a file gives the order of use. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "service/prefix_files_impl.h"

static bool parse_hex(const char *s, uint8_t *out, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < 2 * n; i++) {
		const char *d = s[i] ? strchr(digits, s[i]) : NULL;

		if (!d)
			return false;
		out[i / 2] = (uint8_t)(out[i / 2] << 4 | (d - digits));
	}
	return true;
}

/* Is it the name of a file of this tier? */
static bool parse_name(const char *name, struct lmi_svc_prefix_key *key)
{
	char *end;
	unsigned long group;

	if (strlen(name) < LMI_SHA256_HEX + 1 || !parse_hex(name, key->chain, LMI_SHA256_BYTES) ||
	    name[LMI_SHA256_HEX - 1] != '-' || name[LMI_SHA256_HEX] < '0' ||
	    name[LMI_SHA256_HEX] > '9')
		return false;
	group = strtoul(name + LMI_SHA256_HEX, &end, 10);
	key->group = (uint32_t)group;
	return !*end && group <= UINT32_MAX;
}

struct found {
	struct lmi_svc_prefix_entry *e;
	int64_t used_ns;
};

struct scan {
	struct found *v; /* [n], room for cap */
	size_t n, cap;
	const struct lmi_cancel *cancel; /* NULL: none */
	bool cancelled;
};

static bool goes_on(struct scan *s)
{
	s->cancelled = s->cancelled || (s->cancel && lmi_cancel_is_set(s->cancel));
	return !s->cancelled;
}

static void scan_file(struct scan *s, DIR *d, const char *name, uint64_t tenant)
{
	struct lmi_svc_prefix_key key = {.tenant = tenant};
	struct lmi_svc_prefix_entry *e = NULL;
	struct stat sb;

	if (fstatat(dirfd(d), name, &sb, AT_SYMLINK_NOFOLLOW) || !S_ISREG(sb.st_mode))
		return;
	if (parse_name(name, &key) && sb.st_size > LMI_SVC_PREFIX_HEAD_BYTES &&
	    s->n < LMI_SVC_PREFIX_ENTRIES_MAX) {
		if (s->n == s->cap) {
			size_t cap = s->cap ? s->cap * 2 : 1024;
			struct found *v = lmi_realloc(s->v, cap, sizeof(*v));

			if (v) {
				s->v = v;
				s->cap = cap;
			}
		}
		e = s->n < s->cap ? lmi_alloc(1, sizeof(*e)) : NULL;
	}
	if (!e) { /* left of an interrupted write, or no room for it */
		(void)unlinkat(dirfd(d), name, 0);
		return;
	}
	e->key = key;
	e->bytes = (uint64_t)sb.st_size;
	s->v[s->n++] = (struct found){.e = e,
				      .used_ns = (int64_t)sb.st_mtim.tv_sec * 1000000000 +
						 sb.st_mtim.tv_nsec};
}

static DIR *open_folder(int at, const char *path, int flags)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		(void)close(fd);
	return d;
}

static void scan_folders(struct scan *s, const char *root)
{
	DIR *all = open_folder(AT_FDCWD, root, 0), *d; /* may be a link to another disk */
	const struct dirent *e, *f;

	while (all && goes_on(s) && (e = readdir(all))) {
		uint8_t b[8] = {0};
		uint64_t tenant = 0;

		if (strlen(e->d_name) != 16 || !parse_hex(e->d_name, b, sizeof(b)) ||
		    !(d = open_folder(dirfd(all), e->d_name, O_NOFOLLOW)))
			continue;
		for (size_t i = 0; i < sizeof(b); i++)
			tenant = tenant << 8 | b[i];
		while (goes_on(s) && (f = readdir(d)))
			scan_file(s, d, f->d_name, tenant);
		(void)closedir(d);
	}
	if (all)
		(void)closedir(all);
}

static int by_time(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

/* Adds what was found, the oldest first. */
static void add_all(struct lmi_svc_prefix_files *f, struct scan *s)
{
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_time);
	for (size_t i = 0; i < s->n; i++) {
		bool added;

		(void)pthread_mutex_lock(&f->lock);
		added = !s->cancelled && lmi_svc_prefix_index_add(&f->index, s->v[i].e);
		(void)pthread_mutex_unlock(&f->lock);
		if (!added)
			lmi_free(s->v[i].e);
	}
	lmi_free(s->v);
}

bool lmi_svc_prefix_files_scan(struct lmi_svc_prefix_files *f, const struct lmi_cancel *cancel)
{
	struct scan s = {.cancel = cancel};
	char root[PATH_MAX];

	(void)pthread_mutex_lock(&f->scan_lock);
	if (snprintf(root, sizeof(root), "%s/prefixes", f->state_dir) < (int)sizeof(root))
		scan_folders(&s, root);
	add_all(f, &s);
	if (!s.cancelled)
		lmi_svc_prefix_files_trim(f);
	(void)pthread_mutex_unlock(&f->scan_lock);
	return !s.cancelled;
}
