/* SPDX-License-Identifier: MIT
 *
 * The list of devices, and what of a model is on which device. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/engine/devices.h"
#include "service/model_status.h"
#include "service/ops.h"
#include "service/service_state.h"

#define MAX_FEATURE 8

/* A row with the memory that it refers to. */
struct shown {
	struct lmd_str features[MAX_FEATURE];
};

static uint32_t fill_features(const struct lmi_engine_device_row *d, struct lmd_str *out)
{
	static const struct {
		uint32_t cap;
		const char *name;
	} names[] = {
		{LMD_DEV_HOST_MEMORY, "host_memory"}, {LMD_DEV_IMPORT_HOST, "import"},
		{LMD_DEV_SAMPLE, "sampling"},         {LMD_DEV_GRAPH, "graphs"},
		{LMD_DEV_PEER, "peer"},
	};
	uint32_t n = 0;

	for (size_t i = 0; i < LMD_LEN(names); i++)
		if (d->caps & names[i].cap)
			out[n++] = lmi_svc_str(names[i].name);
	if (d->n_bucket)
		out[n++] = lmi_svc_str("buckets");
	return n;
}

static void fill_device(const struct lmi_engine_device_row *d, struct shown *s,
			struct lmi_wire_device *out)
{
	*out = (struct lmi_wire_device){
		.name = lmi_svc_str(d->name),
		.backend = lmi_svc_str(d->backend),
		.index = d->index,
		.description = lmi_svc_str(d->description),
		.memory_total = (int64_t)d->memory_total,
		.memory_free = (int64_t)d->memory_free,
		.memory_models = (int64_t)d->memory_models,
		.models = d->n_model,
		.state = lmi_svc_str(d->lost ? "lost" : d->open ? "in use" : "idle"),
		.losses = d->n_loss,
		.retry_ms = (int64_t)((d->wait_ns + LMI_NS_PER_MS - 1) / LMI_NS_PER_MS),
		.queue = lmi_svc_str(d->queues ? "queued" : "direct"),
		.features = s->features,
		.n_features = fill_features(d, s->features),
	};
}

static enum lmd_status send(struct lmi_svc_request *a,
			    const struct lmi_engine_device_row *rows, uint32_t n,
			    struct lmd_error *err)
{
	struct lmi_wire_device *v = lmi_alloc(n + 1u, sizeof(*v));
	struct shown *s = lmi_alloc(n + 1u, sizeof(*s));
	struct lmi_wire_reply r;

	if (v && s) {
		for (uint32_t i = 0; i < n; i++)
			fill_device(&rows[i], &s[i], &v[i]);
		lmi_wire_reply_init(&r, a->req);
		r.u.devices.devices = v;
		r.u.devices.n_devices = n;
		(void)lmi_svc_reply_send(a, &r);
	}
	lmi_free(v);
	lmi_free(s);
	return v && s ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for %u devices", n);
}

enum lmd_status lmi_svc_do_devices(struct lmi_svc_request *a, uint32_t *retry_ms,
				   struct lmd_error *err)
{
	struct lmi_engine_devices *set = a->svc->o.inst.devices, *own = NULL;
	struct lmi_engine_device_row *rows = NULL;
	enum lmd_status st = LMD_OK;
	uint32_t n = 0;

	(void)retry_ms;
	if (!set) { /* each engine has its own */
		st = lmi_engine_devices_create(&own, a->svc->o.plugins, a->svc->o.host, err);
		set = own;
	}
	if (st == LMD_OK)
		st = lmi_engine_devices_list(set, &rows, &n, err);
	if (st == LMD_OK)
		st = send(a, rows, n, err);
	lmi_free(rows);
	lmi_engine_devices_destroy(own);
	return st;
}

/* ---- placement of a model ---- */

static struct lmd_str device_name(const struct lmi_engine_placement *p, uint32_t i)
{
	return lmi_svc_str(i < p->n_device ? p->devices[i].name : "");
}

void lmi_svc_fill_placement(struct lmi_svc_placement *s, struct lmi_wire_resident *out)
{
	const struct lmi_engine_placement *p = &s->engine;

	for (uint32_t i = 0; i < p->n_device; i++)
		s->devices[i] = (struct lmi_wire_placement){
			.device = device_name(p, i),
			.first_layer = p->devices[i].first,
			.last_layer = p->devices[i].last,
			.ops = p->devices[i].n_op,
			.weight_bytes = (int64_t)p->devices[i].memory.weights,
			.kv_bytes = (int64_t)p->devices[i].memory.sequences,
			.scratch_bytes = (int64_t)p->devices[i].memory.step,
			.pid = p->devices[i].pid,
		};
	for (uint32_t i = 0; i < p->n_moved; i++)
		s->moved[i] = (struct lmi_wire_moved_ops){
			.op = lmi_svc_str(p->moved[i].op),
			.n = p->moved[i].n,
			.from = device_name(p, p->moved[i].from),
			.to = device_name(p, p->moved[i].to),
			.reason = lmi_svc_str(p->moved[i].reason),
		};
	out->placement = s->devices;
	out->n_placement = p->n_device;
	out->moved = s->moved;
	out->n_moved = p->n_moved;
	out->sampling = lmi_svc_str(p->sampling);
}
