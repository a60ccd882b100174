/* SPDX-License-Identifier: MIT
 *
 * Groups of devices that reach each other's memory (kern/peer.h).  Devices tell each other what happens
 * in a run; the host tells them which ranks take no part in it, and reads how each run has ended, in
 * words of its own memory that all devices see.
 *
 * Threads: calls of different ranks may come from different threads; a word has one writer at a time. */
#include <string.h>

#include "gpu.h"

struct rank {
	struct gpu_dev *dev;
	gpu_ptr mail, peers; /* in its memory */
	uint64_t n_turn;
};

struct lmd_devgroup {
	const struct lmd_host *host;
	uint32_t n;
	uint64_t *refused; /* [n][GPU_N_TURN], then the ends of runs, too; in pinned memory */
	struct rank ranks[GPU_MAX_PEER];
};

static const char *name(const struct lmd_devgroup *g)
{
	return g->ranks[0].dev->vendor->name;
}

static uint64_t *ends_of(const struct lmd_devgroup *g, uint32_t rank)
{
	return g->refused + (size_t)(g->n + rank) * GPU_N_TURN;
}

/* ---- creating ---- */

static enum lmd_status check(const struct lmd_devgroup *g, uint32_t r, struct lmd_error *err)
{
	const struct gpu_dev *dev = g->ranks[r].dev;

	for (uint32_t k = 0; k < r; k++) {
		if (g->ranks[k].dev->number == dev->number)
			return lmd_fail(err, LMD_UNSUPPORTED,
					"%s: device %u is in the group twice; each rank needs its own",
					name(g), dev->index);
	}
	return LMD_OK;
}

/* Lets a device reach the memory of another one. */
static enum lmd_status enable(struct gpu_dev *dev, const struct gpu_dev *peer, struct lmd_error *err)
{
	const struct gpu_driver *drv = dev->drv;
	int can = 0, code = 0;
	enum lmd_status st = gpu_enter(dev, err);

	if (st != LMD_OK)
		return st;
	if (drv->peer_possible)
		code = drv->peer_possible(&can, dev->number, peer->number);
	if (code || !can)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: device %u cannot reach the memory of device %u", dev->vendor->name,
				dev->index, peer->index);
	if (dev->vendor->hip)
		code = drv->peer_enable_hip ? drv->peer_enable_hip(peer->number, 0) : GPU_CODE_NOT_FOUND;
	else
		code = drv->peer_enable ? drv->peer_enable(peer->context, 0) : GPU_CODE_NOT_FOUND;
	if (code && code != GPU_CODE_PEER_ENABLED)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: device %u does not reach the memory of device %u: %s",
				dev->vendor->name, dev->index, peer->index, gpu_driver_code(drv, code));
	return LMD_OK;
}

enum lmd_status gpu_peer_alloc(struct gpu_dev *dev, uint64_t bytes, gpu_ptr *out,
			       struct lmd_error *err)
{
	int code;

	*out = 0;
	if (!bytes || !dev->drv->peer_alloc_hip)
		return gpu_alloc(dev, bytes, "a device group", out, err);
	/* AMD's devices see each other's writes during a kernel in such memory only */
	code = dev->drv->peer_alloc_hip(out, (size_t)bytes, GPU_HIP_FINE_GRAINED);
	if (code == GPU_CODE_NOMEM)
		return lmd_fail(err, LMD_NOMEM, "%s: no device memory for a device group (%llu bytes)",
				dev->vendor->name, (unsigned long long)bytes);
	return gpu_check(dev, code, "memory of a device group", err);
}

static enum lmd_status create_words(struct lmd_devgroup *g, struct lmd_error *err)
{
	const size_t bytes = 2ul * g->n * GPU_N_TURN * sizeof(uint64_t);
	struct gpu_dev *dev = g->ranks[0].dev;
	void *p = NULL;
	enum lmd_status st = gpu_enter(dev, err);
	int code;

	if (st != LMD_OK)
		return st;
	code = dev->drv->host_alloc(&p, bytes, GPU_HOST_PORTABLE | GPU_HOST_MAPPED);
	if (code == GPU_CODE_NOMEM)
		return lmd_fail(err, LMD_NOMEM, "%s: no pinned memory for a device group", name(g));
	st = gpu_check(dev, code, "pinned memory", err);
	if (st == LMD_OK)
		g->refused = memset(p, 0, bytes);
	return st;
}

/* Mail of the ranks to this one, empty, as after the end of turn 0. */
static enum lmd_status create_mail(const struct lmd_devgroup *g, struct rank *r, struct lmd_error *err)
{
	struct gpu_mail mail[GPU_MAX_PEER];
	enum lmd_status st = gpu_enter(r->dev, err);

	memset(mail, 0, sizeof(mail));
	for (uint32_t k = 0; k < g->n; k++)
		mail[k].time = GPU_TIME(0, GPU_LAST_MEETING);
	if (st == LMD_OK)
		st = gpu_peer_alloc(r->dev, g->n * sizeof(*mail), &r->mail, err);
	return st == LMD_OK ? gpu_upload(r->dev, r->mail, mail, g->n * sizeof(*mail), err) : st;
}

static enum lmd_status create_peers(struct lmd_devgroup *g, uint32_t rank, struct lmd_error *err)
{
	struct rank *r = &g->ranks[rank];
	struct gpu_peers p = {.mail = r->mail, .rank = rank, .n = g->n};
	gpu_ptr words = 0;
	enum lmd_status st = gpu_enter(r->dev, err);

	if (st == LMD_OK)
		st = gpu_check(r->dev, r->dev->drv->host_address(&words, g->refused, 0),
			       "pinned memory", err);
	p.refused = words;
	p.ends = words + (uint64_t)(g->n + rank) * GPU_N_TURN * sizeof(uint64_t);
	for (uint32_t k = 0; k < g->n; k++)
		p.out[k] = g->ranks[k].mail + rank * sizeof(struct gpu_mail);
	if (st == LMD_OK)
		st = gpu_alloc(r->dev, sizeof(p), "a device group", &r->peers, err);
	return st == LMD_OK ? gpu_upload(r->dev, r->peers, &p, sizeof(p), err) : st;
}

static enum lmd_status create(struct lmd_devgroup *g, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t r = 0; st == LMD_OK && r < g->n; r++)
		st = check(g, r, err);
	for (uint32_t i = 0; st == LMD_OK && i < g->n * g->n; i++) {
		if (i / g->n != i % g->n)
			st = enable(g->ranks[i / g->n].dev, g->ranks[i % g->n].dev, err);
	}
	if (st == LMD_OK)
		st = create_words(g, err);
	for (uint32_t r = 0; st == LMD_OK && r < g->n; r++)
		st = create_mail(g, &g->ranks[r], err);
	for (uint32_t r = 0; st == LMD_OK && r < g->n; r++)
		st = create_peers(g, r, err);
	return st;
}

enum lmd_status gpu_devgroup_create(void *const *states, uint32_t n, struct lmd_devgroup **out,
				    struct lmd_error *err)
{
	const struct lmd_host *h;
	struct lmd_devgroup *g;
	enum lmd_status st;

	if (n < 2 || n > GPU_MAX_PEER)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: a group of %u devices; 2 to %d are possible",
				gpu_vendor.name, n, GPU_MAX_PEER);
	h = ((const struct gpu_dev *)states[0])->host;
	g = h->alloc(h->ctx, sizeof(*g));
	if (!g)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for a device group", gpu_vendor.name);
	*g = (struct lmd_devgroup){.host = h, .n = n};
	for (uint32_t r = 0; r < n; r++)
		g->ranks[r].dev = states[r];
	st = create(g, err);
	if (st != LMD_OK) {
		gpu_devgroup_destroy(g);
		return st;
	}
	*out = g;
	return LMD_OK;
}

void gpu_devgroup_destroy(struct lmd_devgroup *g)
{
	if (!g)
		return;
	for (uint32_t r = 0; r < g->n; r++) {
		(void)gpu_enter(g->ranks[r].dev, NULL);
		gpu_free(g->ranks[r].dev, g->ranks[r].mail);
		gpu_free(g->ranks[r].dev, g->ranks[r].peers);
	}
	if (g->refused) {
		(void)gpu_enter(g->ranks[0].dev, NULL);
		(void)g->ranks[0].dev->drv->host_free(g->refused);
	}
	g->host->free(g->host->ctx, g);
}

/* ---- running ---- */

gpu_ptr gpu_devgroup_peers(const struct lmd_devgroup *g, const struct gpu_dev *dev, uint32_t rank,
			   uint32_t n, struct lmd_error *err)
{
	if (!g) {
		(void)lmd_fail(err, LMD_INVALID, "%s: a collective needs a group of devices",
			       dev->vendor->name);
		return 0;
	}
	if (rank >= g->n || n != g->n || g->ranks[rank].dev != dev) {
		(void)lmd_fail(err, LMD_INVALID,
			       "%s: the plan is for rank %u of %u, device %u is another of %u",
			       dev->vendor->name, rank, n, dev->index, g->n);
		return 0;
	}
	return g->ranks[rank].peers;
}

uint64_t gpu_devgroup_turn(struct lmd_devgroup *g, uint32_t rank)
{
	return ++g->ranks[rank].n_turn;
}

void gpu_devgroup_refuse(struct lmd_devgroup *g, uint32_t rank, uint64_t turn)
{
	__atomic_store_n(&g->refused[rank * GPU_N_TURN + turn % GPU_N_TURN], turn, __ATOMIC_RELEASE);
}

enum lmd_status gpu_devgroup_check(const struct lmd_devgroup *g, uint32_t rank, uint64_t turn,
				   struct lmd_error *err)
{
	for (uint32_t r = 0; r < g->n; r++) {
		if (__atomic_load_n(&g->refused[r * GPU_N_TURN + turn % GPU_N_TURN],
				    __ATOMIC_ACQUIRE) == turn)
			return lmd_fail(err, LMD_CANCELLED, "%s: rank %u of %u failed, so rank %u stops",
					name(g), r, g->n, rank);
	}
	return LMD_OK;
}

enum lmd_status gpu_devgroup_result(const struct lmd_devgroup *g, uint32_t rank, uint64_t turn,
				    struct lmd_error *err)
{
	uint64_t end = __atomic_load_n(&ends_of(g, rank)[turn % GPU_N_TURN], __ATOMIC_ACQUIRE);

	if (end == (turn << 8 | GPU_PEER_CANCELLED))
		return lmd_fail(err, LMD_CANCELLED, "%s: another rank failed, so rank %u stops", name(g),
				rank);
	if (end == (turn << 8 | GPU_PEER_TIMEOUT))
		return lmd_fail(err, LMD_TIMEOUT, "%s: rank %u waited too long for the other ranks",
				name(g), rank);
	return LMD_OK;
}
