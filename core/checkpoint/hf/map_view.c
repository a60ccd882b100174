/* SPDX-License-Identifier: MIT
 *
 * The functions of struct lmd_checkpoint: what a map of an architecture can read and add. */
#include <stdarg.h>
#include <stdio.h>

#include "core/checkpoint/hf/checkpoint_impl.h"

static struct lmi_checkpoint *impl(struct lmd_checkpoint *c)
{
	return (struct lmi_checkpoint *)c; /* its first member */
}

static const struct lmi_checkpoint *impl_const(const struct lmd_checkpoint *c)
{
	return (const struct lmi_checkpoint *)c;
}

/* ---- values ---- */

static bool has(const struct lmd_checkpoint *c, const char *names)
{
	return lmi_checkpoint_config_has(impl_const(c), names);
}

static int64_t get_int(struct lmd_checkpoint *c, const char *names, int64_t def, int64_t min,
		       int64_t max)
{
	return lmi_checkpoint_config_int(impl(c), names, def, min, max);
}

static int64_t need_int(struct lmd_checkpoint *c, const char *names, int64_t min, int64_t max)
{
	return lmi_checkpoint_config_require_int(impl(c), names, min, max);
}

static double get_float(struct lmd_checkpoint *c, const char *names, double def)
{
	return lmi_checkpoint_config_float(impl(c), names, def);
}

static bool get_bool(struct lmd_checkpoint *c, const char *names, bool def)
{
	return lmi_checkpoint_config_bool(impl(c), names, def);
}

static bool is_text(const struct lmd_checkpoint *c, const char *names, const char *text)
{
	return lmi_checkpoint_config_equals(impl_const(c), names, text);
}

static bool is_null(const struct lmd_checkpoint *c, const char *name)
{
	return lmi_json_node_is(lmi_json_node_get(impl_const(c)->text, name), LMI_JSON_NULL);
}

/* ---- lists ---- */

static int64_t list_len(const struct lmd_checkpoint *c, const char *names)
{
	const struct lmi_json_node *v = lmi_checkpoint_config_find(impl_const(c), names);

	return lmi_json_node_is(v, LMI_JSON_ARRAY) ? (int64_t)v->n : -1;
}

static const struct lmi_json_node *element(const struct lmd_checkpoint *c, const char *names,
					   uint32_t i)
{
	const struct lmi_json_node *v = lmi_checkpoint_config_find(impl_const(c), names);

	v = lmi_json_node_is(v, LMI_JSON_ARRAY) ? lmi_json_node_first(v) : NULL;
	while (v && i--)
		v = lmi_json_node_next(v);
	return v;
}

static bool list_is_text(const struct lmd_checkpoint *c, const char *names, uint32_t i,
			 const char *text)
{
	return lmi_json_node_eq(element(c, names, i), text);
}

static int64_t list_int(const struct lmd_checkpoint *c, const char *names, uint32_t i, int64_t max)
{
	const struct lmi_json_node *v = element(c, names, i);
	int64_t n = -1;

	return v && lmi_json_node_int(v, 0, max, &n) ? n : -1;
}

static bool window_layers(struct lmd_checkpoint *c, uint8_t *is)
{
	return lmi_checkpoint_window_layers(impl(c), is);
}

static double scalar(struct lmd_checkpoint *c, const char *before, uint32_t il, const char *after)
{
	return lmi_checkpoint_read_scalar(impl(c), before, il, after);
}

/* ---- keys ---- */

static void put_u32(struct lmd_checkpoint *c, const char *key, int64_t v)
{
	lmi_checkpoint_put_u32(impl(c), key, v);
}

static void put_f32(struct lmd_checkpoint *c, const char *key, double v)
{
	lmi_checkpoint_put_f32(impl(c), key, v);
}

static void put_bool(struct lmd_checkpoint *c, const char *key, bool v)
{
	lmi_checkpoint_put_bool(impl(c), key, v);
}

static void put_ints(struct lmd_checkpoint *c, const char *key, const int64_t *v, uint64_t n)
{
	lmi_checkpoint_put_ints(impl(c), key, v, n);
}

static void put_floats(struct lmd_checkpoint *c, const char *key, const double *v, uint64_t n)
{
	lmi_checkpoint_put_floats(impl(c), key, v, n);
}

static void put_bools(struct lmd_checkpoint *c, const char *key, const uint8_t *v, uint64_t n)
{
	lmi_checkpoint_put_bools(impl(c), key, v, n);
}

static void *alloc(struct lmd_checkpoint *c, size_t n, size_t item_bytes)
{
	return lmi_checkpoint_alloc(impl(c), n, item_bytes);
}

/* ---- errors ---- */

static void fail(struct lmd_checkpoint *c, enum lmd_status st, const char *fmt, ...)
{
	struct lmi_checkpoint *f = impl(c);
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	lmi_checkpoint_fail(f, st, "%s/config.json: %s", f->dir, text);
}

static bool failed(const struct lmd_checkpoint *c)
{
	return impl_const(c)->status != LMD_OK;
}

void lmi_checkpoint_init_view(struct lmi_checkpoint *f)
{
	f->pub = (struct lmd_checkpoint){
		.struct_size = sizeof(f->pub),
		.arch = f->map ? f->map->arch : NULL,
		.has = has,
		.get_int = get_int,
		.need_int = need_int,
		.get_float = get_float,
		.get_bool = get_bool,
		.is_text = is_text,
		.is_null = is_null,
		.list_len = list_len,
		.list_is_text = list_is_text,
		.list_int = list_int,
		.window_layers = window_layers,
		.scalar = scalar,
		.put_u32 = put_u32,
		.put_f32 = put_f32,
		.put_bool = put_bool,
		.put_ints = put_ints,
		.put_floats = put_floats,
		.put_bools = put_bools,
		.alloc = alloc,
		.fail = fail,
		.failed = failed,
	};
}
