/* SPDX-License-Identifier: MIT
 *
 * A file holds "L" while its model is being loaded and "H" otherwise, the number of deaths so far,
 * and when the last load began: "L 1 1795271400\nNAME\n".  An "L" that is found when a load begins
 * was left by a process that died. */
#include "service/load_guard.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/sha256.h"
#include "store/store.h"

#define NS_PER_S    1000000000ll
#define DEATHS_MAX  1000u
#define PATH_BYTES  (LMI_STORE_PATH_MAX + 100)

struct guard {
	char state;
	struct lmi_svc_load_guard g;
};

static bool path_of(char path[PATH_BYTES], const char *dir, const char *name)
{
	uint8_t digest[LMI_SHA256_BYTES];
	char hex[LMI_SHA256_HEX];
	struct lmi_sha256 h;

	if (!lmi_sha256_init(&h))
		return false;
	lmi_sha256_update(&h, name, strlen(name));
	if (!lmi_sha256_final(&h, digest))
		return false;
	lmi_sha256_hex(hex, digest);
	return snprintf(path, PATH_BYTES, "%s/loading/%s", dir, hex) < PATH_BYTES;
}

/* A file that cannot be read or makes no sense counts as none. */
static struct guard read_guard(const char *path)
{
	struct guard g = {.state = 'H'}, got;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[64];
	long long begin;
	ssize_t n;

	if (fd < 0)
		return g;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return g;
	text[n] = 0;
	if (sscanf(text, "%c %5u %19lld", &got.state, &got.g.n_death, &begin) != 3 ||
	    (got.state != 'L' && got.state != 'H') || got.g.n_death > DEATHS_MAX || begin < 0)
		return g;
	got.g.begin_s = begin;
	return got;
}

static void write_guard(const char *path, const struct guard *g, const char *name)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd < 0)
		return;
	(void)dprintf(fd, "%c %u %lld\n%s\n", g->state, g->g.n_death, (long long)g->g.begin_s, name);
	close(fd);
}

static uint64_t pause_s(uint32_t n_death)
{
	uint64_t s = LMI_SVC_LOAD_GUARD_PAUSE_S;

	for (uint32_t i = 2; i < n_death && s < LMI_SVC_LOAD_GUARD_PAUSE_MAX_S; i++)
		s *= 2;
	return s < LMI_SVC_LOAD_GUARD_PAUSE_MAX_S ? s : LMI_SVC_LOAD_GUARD_PAUSE_MAX_S;
}

/* Counts a load that did not end as a death. */
static void count_death(struct guard *g)
{
	g->g.n_death += g->g.n_death < DEATHS_MAX;
	g->state = 'H';
}

/* Fails if the model is in quarantine. */
static enum lmd_status check(const struct lmi_svc_load_guard *g, int64_t now_s, struct lmd_error *err)
{
	int64_t begin = g->begin_s < now_s ? g->begin_s : now_s; /* the clock may have been set back */
	int64_t left = begin + (int64_t)pause_s(g->n_death) - now_s;

	if (g->n_death < 2 || left <= 0)
		return LMD_OK;
	return lmd_fail(err, LMD_UNSUPPORTED,
			"the model is in quarantine: llamad died %u times while loading it; it "
			"is tried again in %lld s, or at once by `llamactl load`",
			g->n_death, (long long)left);
}

void lmi_svc_load_guard_read(struct lmi_svc_load_guard *out, const char *state_dir, const char *name)
{
	char path[PATH_BYTES];
	struct guard g;

	*out = (struct lmi_svc_load_guard){0};
	if (!path_of(path, state_dir, name))
		return;
	g = read_guard(path);
	if (g.state == 'L')
		count_death(&g);
	*out = g.g;
}

bool lmi_svc_load_guard_refuses(const struct lmi_svc_load_guard *g, int64_t now_ns,
				struct lmd_error *err)
{
	return check(g, now_ns / NS_PER_S, err) != LMD_OK;
}

enum lmd_status lmi_svc_load_guard_begin(const char *state_dir, const char *name, int64_t now_ns,
					 bool forced, struct lmd_error *err)
{
	char path[PATH_BYTES], *slash;
	enum lmd_status st;
	struct guard g;

	if (!path_of(path, state_dir, name))
		return LMD_OK;
	g = read_guard(path);
	if (g.state == 'L') {
		count_death(&g);
		write_guard(path, &g, name);
	}
	st = forced ? LMD_OK : check(&g.g, now_ns / NS_PER_S, err);
	if (st != LMD_OK)
		return st;
	slash = strrchr(path, '/');
	*slash = 0;
	(void)mkdir(path, 0700); /* usually exists */
	*slash = '/';
	g.state = 'L';
	g.g.begin_s = now_ns / NS_PER_S;
	write_guard(path, &g, name);
	return LMD_OK;
}

void lmi_svc_load_guard_end(const char *state_dir, const char *name, bool good)
{
	char path[PATH_BYTES];
	struct guard g;

	if (!path_of(path, state_dir, name))
		return;
	g = read_guard(path);
	if (good || !g.g.n_death) {
		(void)unlink(path);
		return;
	}
	g.state = 'H';
	write_guard(path, &g, name);
}
