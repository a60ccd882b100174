/* SPDX-License-Identifier: MIT
 *
 * Converts tables of plugins that were built with an older or newer minor version of the headers to
 * the host's own size, so that no call site has to compare sizes. */
#include <string.h>

#include "core/plugin/kinds.h"

/* Limits that no valid plugin reaches. */
#define MAX_TABLE_BYTES 65536u
#define MAX_ALIASES     256u
#define MAX_STATE_BYTES (1ull << 30)
#define NAME_MAX_LEN    48u

bool lmi_name_ok(const char *name)
{
	size_t n = strnlen(name, NAME_MAX_LEN + 1);

	if (!n || n > NAME_MAX_LEN)
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = name[i];
		bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

		if (!word && (!i || (c != '_' && c != '.' && c != '-')))
			return false;
	}
	return true;
}

enum lmd_status lmi_ops_widen(const struct lmi_kind *kind, const void *ops, void *out,
			      struct lmd_error *err)
{
	uint32_t size, own = (uint32_t)kind->ops_bytes;

	if (!ops)
		return lmd_fail(err, LMD_INVALID, "the %s table is missing", kind->word);
	memcpy(&size, ops, sizeof(size));
	if (size < sizeof(size) || size > MAX_TABLE_BYTES)
		return lmd_fail(err, LMD_INVALID, "invalid size of the %s table: %u bytes",
				kind->word, size);
	memcpy(out, ops, size < own ? size : own);
	memcpy(out, &own, sizeof(own));
	for (uint32_t i = 0; i < kind->n_must; i++) {
		void *member;

		memcpy(&member, (const char *)out + kind->must[i].offset, sizeof(member));
		if (!member)
			return lmd_fail(err, LMD_INVALID,
					"the %s table (%u bytes) lacks the mandatory member '%s'",
					kind->word, size, kind->must[i].name);
	}
	return kind->check ? kind->check(out, err) : LMD_OK;
}

static enum lmd_status check_aliases(const struct lmd_factory *f, struct lmd_error *err)
{
	uint32_t n = 0;

	for (const char *a = f->aliases; a && *a; a += strlen(a) + 1) {
		if (!lmi_name_ok(a))
			return lmd_fail(
				err, LMD_INVALID,
				"factory '%s': invalid name of alias %u (must match "
				"[a-z0-9][a-z0-9_.-]*, at most %u)",
				f->name, n, NAME_MAX_LEN);
		if (++n > MAX_ALIASES)
			return lmd_fail(err, LMD_INVALID, "factory '%s': more than %u aliases",
					f->name, MAX_ALIASES);
	}
	return LMD_OK;
}

enum lmd_status lmi_factory_widen(const struct lmd_plugin *p, uint32_t i, struct lmd_factory *out,
				  struct lmd_error *err)
{
	const uint32_t need = offsetof(struct lmd_factory, ops) + sizeof(out->ops);
	uint32_t stride, size;
	const char *at;

	/* all factories of an object were compiled with the same headers */
	memcpy(&stride, p->factories, sizeof(stride));
	if (stride < need || stride > MAX_TABLE_BYTES || stride % _Alignof(struct lmd_factory))
		return lmd_fail(err, LMD_INVALID, "factory %u: size is %u bytes, must be at least "
						  "%u", i,
				stride, need);
	at = (const char *)p->factories + (size_t)i * stride;
	memcpy(&size, at, sizeof(size));
	if (size != stride)
		return lmd_fail(err, LMD_INVALID, "factory %u: size is %u bytes, but the first one "
						  "has %u",
				i, size, stride);
	*out = (struct lmd_factory){0};
	memcpy(out, at, stride < sizeof(*out) ? stride : sizeof(*out));
	out->struct_size = sizeof(*out);
	if (!out->name || !lmi_name_ok(out->name))
		return lmd_fail(err, LMD_INVALID,
				"factory %u: invalid name (must match [a-z0-9][a-z0-9_.-]*, at "
				"most %u)",
				i, NAME_MAX_LEN);
	if (!lmi_kind(out->kind))
		return lmd_fail(err, LMD_INVALID, "factory '%s': kind %u cannot be loaded",
				out->name, out->kind);
	if (out->state_bytes > MAX_STATE_BYTES)
		return lmd_fail(err, LMD_INVALID,
				"factory '%s': state of %zu bytes exceeds the limit of %llu",
				out->name, out->state_bytes, (unsigned long long)MAX_STATE_BYTES);
	return check_aliases(out, err);
}
