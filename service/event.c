/* SPDX-License-Identifier: MIT
 *
 * Events of requests: the op, who sent it, the name that it is about and its result. */
#include "service/event.h"

#include <stdio.h>

#include "core/base/printable.h"
#include "service/service_state.h"
#include "service/usage.h"

static void report(const struct lmi_service *svc, struct lmi_svc_event *e,
		   const struct lmi_svc_principal *principal)
{
	char who[LMI_SVC_USAGE_PRINCIPAL] = "daemon";

	if (!svc->hooks.event)
		return;
	if (principal)
		lmi_svc_usage_principal(who, principal);
	e->principal = who;
	svc->hooks.event(svc->hooks.arg, e);
}

void lmi_svc_event(const struct lmi_service *svc, const char *event,
		   const struct lmi_svc_principal *principal, const char *subject,
		   const char *detail)
{
	struct lmi_svc_event e = {.event = event, .subject = subject, .detail = detail};

	report(svc, &e, principal);
}

/* Returns what the request is about: a name, a label or a file. */
static struct lmd_str subject_of(const struct lmi_wire_request *q)
{
	switch (q->op) {
	case LMI_WIRE_OP_ADAPTER_SET:
		return q->u.adapter_set.model;
	case LMI_WIRE_OP_ADD:
		return q->u.add.name;
	case LMI_WIRE_OP_ALIAS:
		return q->u.alias.alias;
	case LMI_WIRE_OP_CREATE:
		return q->u.create.name;
	case LMI_WIRE_OP_KEY_ADD:
		return q->u.key_add.label;
	case LMI_WIRE_OP_KEY_RM:
		return q->u.key_rm.label;
	case LMI_WIRE_OP_KEY_SET:
		return q->u.key_set.label;
	case LMI_WIRE_OP_LOAD:
		return q->u.load.model;
	case LMI_WIRE_OP_PULL:
		return q->u.pull.name;
	case LMI_WIRE_OP_REGISTRY_BACKUP:
		return q->u.registry_backup.name;
	case LMI_WIRE_OP_REGISTRY_RESTORE:
		return q->u.registry_restore.name;
	case LMI_WIRE_OP_RELOAD:
		return q->u.reload.model;
	case LMI_WIRE_OP_RM:
		return q->u.rm.name;
	case LMI_WIRE_OP_UNLOAD:
		return q->u.unload.model;
	default:
		return (struct lmd_str){.ptr = ""};
	}
}

/* Returns whether the op answers when its job starts. */
static bool is_job(enum lmi_wire_op op)
{
	return op == LMI_WIRE_OP_ADD || op == LMI_WIRE_OP_PULL || op == LMI_WIRE_OP_LOAD ||
	       op == LMI_WIRE_OP_RELOAD || op == LMI_WIRE_OP_UNLOAD;
}

static void report_request(const struct lmi_svc_request *r, const char *detail, bool refused)
{
	const struct lmi_wire_request *q = r->req;
	struct lmi_svc_event e = {.detail = detail, .refused = refused};
	struct lmd_str subject;
	char shown[256];

	if (q->op <= LMI_WIRE_OP_NONE || q->op >= LMI_WIRE_N_OP ||
	    lmi_wire_ops[q->op].role != LMI_WIRE_ROLE_ADMIN ||
	    lmi_wire_ops[q->op].changes == LMI_WIRE_CHANGES_NO)
		return;
	subject = subject_of(q);
	e.event = lmi_wire_ops[q->op].name;
	e.subject = lmi_printable(shown, sizeof(shown), subject.ptr ? subject.ptr : "", subject.len);
	report(r->svc, &e, &r->principal);
}

void lmi_svc_event_of_request(const struct lmi_svc_request *r, const struct lmd_error *err)
{
	report_request(r, err ? err->text : is_job(r->req->op) ? "started" : "ok", err != NULL);
}

void lmi_svc_event_of_job(const struct lmi_svc_request *r, const struct lmd_error *err)
{
	report_request(r, err ? err->text : "ok", false);
}
