/* SPDX-License-Identifier: MIT
 *
 * What models take of the memory of the devices, and the list of devices for users. */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/engine/devices_impl.h"
#include "core/engine/memory_plan.h"
#include "core/plugin/registry.h"

/* ---- the ledger ---- */

/* Returns the entry in which the memory of models is counted. */
static struct lmi_engine_device_entry *ledger_of(const struct lmi_engine_open_device *d)
{
	struct lmi_engine_device_entry *e = ((const struct lmi_engine_device_state *)d)->entry;

	return e->base ? e->base : e;
}

/* Is the device's memory that of the machine? */
static bool has_host_memory(const struct lmi_engine_open_device *d, const struct lmd_device_info *info)
{
	return (d ? &ledger_of(d)->device.info : info)->caps & LMD_DEV_HOST_MEMORY;
}

/* Called with the lock held. */
static void memory_of(const struct lmi_engine_open_device *d, const struct lmd_device_info *info,
		      uint64_t *total, uint64_t *left)
{
	*total = info->memory_bytes;
	*left = info->free_bytes;
	if (has_host_memory(d, info) && !*total) {
		*total = lmi_engine_memory_total();
		*left = lmi_engine_memory_available();
	} else if (d && d->ops->memory) {
		(void)d->ops->memory(d->state, total, left, NULL);
	}
}

/* Returns what models in all processes have left of a device, beside one of them. It is the most that is
 * free, since a device may show each process what that has taken alone. */
static uint64_t unclaimed(const struct lmi_engine_device_entry *e, uint64_t total,
			  const struct lmi_engine_claim *beside)
{
	uint64_t claimed = e->claimed - (beside ? beside->bytes : 0);

	if (!e->has_workers || e->device.info.caps & LMD_DEV_HOST_MEMORY || !total)
		return UINT64_MAX;
	return total > claimed ? total - claimed : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t lmi_engine_device_free(struct lmi_engine_devices *set,
				const struct lmi_engine_open_device *d)
{
	const struct lmi_engine_device_entry *e = ledger_of(d);
	uint64_t total, left;

	(void)pthread_mutex_lock(&set->lock);
	memory_of(d, &d->device->info, &total, &left);
	if (left || !has_host_memory(d, &d->device->info))
		left = smaller(left > e->loading ? left - e->loading : 0, unclaimed(e, total, NULL));
	else
		left = UINT64_MAX; /* unknown */
	(void)pthread_mutex_unlock(&set->lock);
	return left;
}

enum lmd_status lmi_engine_device_claim(struct lmi_engine_devices *set,
					struct lmi_engine_open_device *d,
					struct lmi_engine_claim *claim, uint64_t bytes,
					bool loading, bool check, struct lmd_error *err)
{
	struct lmi_engine_device_entry *e = ledger_of(d);
	uint64_t others, total, left;
	bool fits;

	(void)pthread_mutex_lock(&set->lock);
	others = e->loading - (claim->loading ? claim->bytes : 0);
	memory_of(d, &d->device->info, &total, &left);
	fits = !check || (!left && has_host_memory(d, &d->device->info)) || /* unknown */
	       (others <= left && bytes <= smaller(left - others, unclaimed(e, total, claim)));
	if (fits) {
		e->claimed += bytes - claim->bytes;
		e->loading = others + (loading ? bytes : 0);
		*claim = (struct lmi_engine_claim){.bytes = bytes, .loading = loading};
	}
	(void)pthread_mutex_unlock(&set->lock);
	return fits ? LMD_OK
		    : lmd_fail(err, LMD_NOMEM,
			       "device %s: needs %llu MiB, but %llu MiB are free and %llu of them "
			       "are meant for models that are being loaded",
			       d->device->name, (unsigned long long)(bytes >> 20),
			       (unsigned long long)(left >> 20),
			       (unsigned long long)(others >> 20));
}

/* ---- for users ---- */

static void fill_row(struct lmi_engine_devices *set, const struct lmi_factory *f, uint32_t index,
		     const struct lmd_device_info *info, struct lmi_engine_device_row *r)
{
	const struct lmi_engine_open_device *open = NULL;
	uint64_t most = UINT64_MAX;

	*r = (struct lmi_engine_device_row){.index = index,
					    .caps = info->caps,
					    .queues = f->ops.backend->queue_create != NULL,
					    .n_bucket = info->n_bucket};
	(void)snprintf(r->name, sizeof(r->name), "%.44s%u", f->f->name, index);
	(void)snprintf(r->backend, sizeof(r->backend), "%.47s", f->f->name);
	memcpy(r->description, info->name, sizeof(r->description));
	r->description[sizeof(r->description) - 1] = '\0';
	(void)pthread_mutex_lock(&set->lock);
	for (const struct lmi_engine_device_state *s = set->states; s; s = s->next) {
		if (strcmp(ledger_of(&s->open)->device.name, r->name) != 0)
			continue;
		r->open = true;
		r->n_model += s->n_user;
		if (!s->open.isolated && !lmi_engine_device_state_is_lost(s) && s->open.backend == f)
			open = &s->open;
	}
	for (uint32_t i = 0; i < LMI_ENGINE_DEVICES_MAX; i++) {
		if (!set->entries[i].used || strcmp(set->entries[i].device.name, r->name) != 0)
			continue;
		r->memory_models = set->entries[i].claimed;
		most = unclaimed(&set->entries[i], info->memory_bytes, NULL);
		r->lost = set->entries[i].lost;
		r->n_loss = set->entries[i].n_loss;
		r->wait_ns = lmi_device_holdoff_left(&set->entries[i].holdoff, lmi_engine_devices_now(set));
	}
	memory_of(open, info, &r->memory_total, &r->memory_free);
	r->memory_free = smaller(r->memory_free, most);
	(void)pthread_mutex_unlock(&set->lock);
}

static enum lmd_status list_backend(struct lmi_engine_devices *set, const struct lmi_factory *f,
				    struct lmi_engine_device_row **rows, uint32_t *n)
{
	struct lmd_device_info *all;
	struct lmi_engine_device_row *more;
	char why[160] = "";
	uint32_t n_new;

	if (lmi_engine_devices_enumerate(set->host, f, &all, &n_new, why, sizeof(why)) != LMD_OK)
		return LMD_NOMEM;
	more = lmi_realloc(*rows, *n + (size_t)n_new + 1, sizeof(*more));
	if (!more) {
		lmi_free(all);
		return LMD_NOMEM;
	}
	*rows = more;
	for (uint32_t i = 0; i < n_new; i++)
		fill_row(set, f, i, &all[i], &more[*n + i]);
	*n += n_new;
	lmi_free(all);
	return LMD_OK;
}

enum lmd_status lmi_engine_devices_list(struct lmi_engine_devices *set,
					struct lmi_engine_device_row **out, uint32_t *n,
					struct lmd_error *err)
{
	const struct lmi_factory **f = NULL;
	uint32_t n_f = 0;
	enum lmd_status st =
		lmi_factory_take_all(set->registry, LMD_KIND_BACKEND, &f, &n_f, err);

	*out = NULL;
	*n = 0;
	for (uint32_t i = 0; st == LMD_OK && i < n_f; i++) {
		st = list_backend(set, f[i], out, n);
		if (st != LMD_OK)
			(void)lmd_fail(err, st, "devices: no memory");
	}
	for (uint32_t i = 0; f && i < n_f; i++)
		lmi_factory_give(set->registry, f[i]);
	lmi_free(f);
	if (st != LMD_OK) {
		lmi_free(*out);
		*out = NULL;
	}
	return st;
}
