/* SPDX-License-Identifier: MIT
 *
 * The host's requirements on the table of each kind. A new kind is a row here. */
#include "core/plugin/kinds.h"

#include "core/plugin/registry.h"
#include "llamad/arch.h"
#include "llamad/backend.h"
#include "llamad/format.h"
#include "llamad/sampler.h"
#include "llamad/tokenizer.h"

#define MEMBER(type, name) {#name, offsetof(struct type, name)}

static const struct lmi_plugin_member backend_must[] = {
	MEMBER(lmd_backend_ops, enumerate),    MEMBER(lmd_backend_ops, open),
	MEMBER(lmd_backend_ops, close),        MEMBER(lmd_backend_ops, weight_query),
	MEMBER(lmd_backend_ops, weight_load),  MEMBER(lmd_backend_ops, weight_destroy),
	MEMBER(lmd_backend_ops, pool_create),  MEMBER(lmd_backend_ops, pool_op),
	MEMBER(lmd_backend_ops, pool_destroy), MEMBER(lmd_backend_ops, op_support),
	MEMBER(lmd_backend_ops, plan_compile), MEMBER(lmd_backend_ops, plan_run),
	MEMBER(lmd_backend_ops, plan_destroy), MEMBER(lmd_backend_ops, last_error),
};

static const struct lmi_plugin_member arch_must[] = {
	MEMBER(lmd_arch_ops, describe),
	MEMBER(lmd_arch_ops, build),
};

static const struct lmi_plugin_member tokenizer_must[] = {
	MEMBER(lmd_tokenizer_ops, open),   MEMBER(lmd_tokenizer_ops, close),
	MEMBER(lmd_tokenizer_ops, encode), MEMBER(lmd_tokenizer_ops, decode),
	MEMBER(lmd_tokenizer_ops, piece),
};

static const struct lmi_plugin_member sampler_must[] = {
	MEMBER(lmd_sampler_ops, init),
	MEMBER(lmd_sampler_ops, apply),
};

static const struct lmi_plugin_member format_must[] = {
	MEMBER(lmd_format_ops, probe),
	MEMBER(lmd_format_ops, open),
};

/* Functions that must be provided together. */
static enum lmd_status check_backend(const void *ops, struct lmd_error *err)
{
	const struct lmd_backend_ops *b = ops;

	if (!b->buffer_create != !b->buffer_destroy || !b->buffer_create != !b->buffer_copy)
		return lmd_fail(err, LMD_INVALID,
				"buffer_create, buffer_destroy and buffer_copy must be provided "
				"together");
	if (!b->buffer_map != !b->buffer_unmap || (b->buffer_map && !b->buffer_create))
		return lmd_fail(err, LMD_INVALID,
				"buffer_map and buffer_unmap must be provided together, with "
				"buffer_create");
	if (!b->queue_create != !b->queue_destroy || !b->queue_create != !b->event_create ||
	    !b->queue_create != !b->event_destroy || !b->queue_create != !b->event_record ||
	    !b->queue_create != !b->event_wait || !b->queue_create != !b->queue_wait_event)
		return lmd_fail(err, LMD_INVALID,
				"the functions of queues and events must be provided together");
	if (!b->group_create != !b->group_destroy)
		return lmd_fail(err, LMD_INVALID, "group_create and group_destroy must be provided "
						  "together");
	return LMD_OK;
}

static enum lmd_status check_arch(const void *ops, struct lmd_error *err)
{
	const struct lmd_arch_ops *a = ops;

	if (a->n_sets && (!a->sets || !a->dim))
		return lmd_fail(err, LMD_INVALID, "%u tensor sets without %s", a->n_sets,
				a->sets ? "dim" : "sets");
	return LMD_OK;
}

static enum lmd_status check_sampler(const void *ops, struct lmd_error *err)
{
	const struct lmd_sampler_ops *s = ops;

	if (s->n_params > 64 || (s->n_params && !s->params))
		return lmd_fail(err, LMD_INVALID, "%u parameters: %s", s->n_params,
				s->params ? "the limit is 64" : "the table is missing");
	for (uint32_t i = 0; i < s->n_params; i++) {
		const struct lmd_param *p = &s->params[i];

		if (!p->name || !lmi_plugin_name_ok(p->name))
			return lmd_fail(err, LMD_INVALID, "parameter %u has an invalid name", i);
		if (p->type < LMD_PARAM_INT || p->type > LMD_PARAM_TOKENS)
			return lmd_fail(err, LMD_INVALID, "parameter %s: type %u is outside 1..%d",
					p->name, p->type, LMD_PARAM_TOKENS);
	}
	return LMD_OK;
}

static const struct lmi_plugin_kind kinds[] = {
	{LMD_KIND_BACKEND, "backend", "backend", sizeof(struct lmd_backend_ops), backend_must,
	 LMD_LEN(backend_must), check_backend},
	{LMD_KIND_ARCH, "arch", "architecture", sizeof(struct lmd_arch_ops), arch_must,
	 LMD_LEN(arch_must), check_arch},
	{LMD_KIND_TOKENIZER, "tokenizer", "tokenizer", sizeof(struct lmd_tokenizer_ops),
	 tokenizer_must, LMD_LEN(tokenizer_must), NULL},
	{LMD_KIND_SAMPLER, "sampler", "sampler", sizeof(struct lmd_sampler_ops), sampler_must,
	 LMD_LEN(sampler_must), check_sampler},
	{LMD_KIND_FORMAT, "format", "format", sizeof(struct lmd_format_ops), format_must,
	 LMD_LEN(format_must), NULL},
};

const struct lmi_plugin_kind *lmi_plugin_kind(uint32_t kind)
{
	for (size_t i = 0; i < LMD_LEN(kinds); i++)
		if (kinds[i].kind == kind)
			return &kinds[i];
	return NULL;
}

const char *lmi_plugin_kind_id(uint32_t kind)
{
	const struct lmi_plugin_kind *k = lmi_plugin_kind(kind);

	return k ? k->id : NULL;
}
