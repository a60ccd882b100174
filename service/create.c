/* SPDX-License-Identifier: MIT
 *
 * Op create: a name with a Modelfile. The Modelfile is checked on the loop's thread, the registry is
 * changed by a job, and the row then joins the list. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/printable.h"
#include "service/call.h"
#include "service/names.h"
#include "service/ops.h"
#include "service/preset_rows.h"
#include "service/service_state.h"

struct creation {
	struct lmi_svc_preset_row *row;
	char model[LMI_STORE_NAME_MAX + 1]; /* what FROM names, without aliases */
};

static void end(struct lmi_svc_call *c)
{
	struct creation *k = c->data;

	lmi_svc_preset_rows_destroy(k->row);
	lmi_svc_call_destroy(c);
}

/* Whether the adapter belongs to the model shows when it is loaded. */
static enum lmd_status check_adapter(const char *path, struct lmd_error *err)
{
	char shown[160];

	if (!path || !access(path, R_OK))
		return LMD_OK;
	return lmd_fail(err, errno == ENOENT ? LMD_NOTFOUND : LMD_IO, "ADAPTER: %s: %s",
			lmi_printable_path(shown, sizeof(shown), path), strerror(errno));
}

static void run(void *arg)
{
	struct lmi_svc_call *c = arg;
	struct creation *k = c->data;
	struct lmi_store *store = c->request.svc->o.store;
	struct lmi_store_models found = {0};

	c->err.status = check_adapter(k->row->file.adapter, &c->err);
	if (c->err.status == LMD_OK)
		c->err.status = lmi_store_model_find(store, k->row->file.from, &found, &c->err);
	if (c->err.status == LMD_OK) {
		(void)snprintf(k->model, sizeof(k->model), "%s", found.v[0].name);
		c->err.status = lmi_store_preset_set(store, k->row->name, k->model, k->row->text,
						     &c->err);
	}
	lmi_store_models_fini(&found);
}

static void answer(struct lmi_svc_call *c)
{
	struct creation *k = c->data;
	struct lmi_wire_reply r;

	lmi_svc_names_change(c->request.svc, k->row->name);
	if (c->err.status != LMD_OK) {
		lmi_svc_request_fail(&c->request, &c->err, 0);
		end(c);
		return;
	}
	lmi_svc_preset_rows_put(c->request.svc, k->row);
	k->row = NULL;
	lmi_wire_reply_init(&r, c->request.req);
	r.u.create.model = lmi_svc_str(k->model);
	lmi_svc_request_reply(&c->request, &r);
	end(c);
}

enum lmd_status lmi_svc_do_create(struct lmi_svc_request *a, uint32_t *retry_ms,
				  struct lmd_error *err)
{
	const struct lmi_wire_req_create *q = &a->req->u.create;
	char name[LMI_STORE_NAME_MAX + 1];
	struct lmi_svc_call *c;
	struct creation *k;
	enum lmd_status st;

	(void)retry_ms;
	if (!a->svc->o.store)
		return lmd_fail(err, LMD_UNSUPPORTED, "this server has no registry");
	(void)snprintf(name, sizeof(name), "%.*s", (int)q->name.len, q->name.ptr);
	st = lmi_store_name_check(name, err);
	if (st == LMD_OK)
		st = lmi_svc_call_create(&c, a, err);
	if (st != LMD_OK)
		return st;
	k = c->data = lmi_arena_alloc(c->request.arena, sizeof(*k), _Alignof(struct creation));
	if (!k) {
		lmi_svc_call_destroy(c);
		return lmd_fail(err, LMD_NOMEM, "no memory for a call");
	}
	*k = (struct creation){0};
	c->done = answer;
	st = lmi_svc_preset_row_create(&k->row, name, q->modelfile.ptr, q->modelfile.len, err);
	if (st == LMD_OK && !strcmp(k->row->file.from, name))
		st = lmd_fail(err, LMD_INVALID, "'%s' cannot be made from itself", name);
	if (st == LMD_OK)
		st = lmi_svc_call_submit(c, a->svc->o.registry, run, err);
	if (st != LMD_OK)
		end(c);
	return st;
}
