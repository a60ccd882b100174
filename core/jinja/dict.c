/* SPDX-License-Identifier: MIT
 *
 * Dictionaries: entries in insertion order, with a hash index above a certain size. */
#include <string.h>

#include "core/jinja/ops.h"
#include "core/jinja/run.h"

#define INDEX_FROM 8   /* number of members from which on a dictionary has an index */
#define HASH_DEPTH 100 /* maximum nesting of tuples in a key */

static bool hashable(struct lmi_jinja_val v, uint32_t depth)
{
	switch ((enum lmi_jinja_vkind)v.kind) {
	case LMI_JINJA_V_LIST:
	case LMI_JINJA_V_DICT:
		return false;
	case LMI_JINJA_V_TUPLE:
		for (uint32_t i = 0; i < v.u.list->n; i++) {
			if (depth >= HASH_DEPTH || !hashable(v.u.list->v[i], depth + 1))
				return false;
		}
		return true;
	case LMI_JINJA_V_VIEW:
		return v.u.view->of == LMI_JINJA_VIEW_VALUES;
	default: /* everything else is a scalar or compares by identity */
		return true;
	}
}

bool lmi_jinja_val_hashable(struct lmi_jinja_val v)
{
	return hashable(v, 0);
}

static uint32_t hash_bytes(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h;
}

static uint32_t hash_int(uint64_t x)
{
	x *= 0x9E3779B97F4A7C15ull;
	return (uint32_t)(x >> 32);
}

/* Equal values have equal hashes, such as 1, 1.0 and True. */
static uint32_t hash(struct lmi_jinja_run *run, struct lmi_jinja_val v)
{
	uint32_t h = 7;

	switch ((enum lmi_jinja_vkind)v.kind) {
	case LMI_JINJA_V_STR:
		(void)lmi_jinja_run_step(run, v.n / 8); /* the caller checks for failure */
		return hash_bytes(v.u.s, v.n);
	case LMI_JINJA_V_BOOL:
	case LMI_JINJA_V_INT:
		return hash_int((uint64_t)lmi_jinja_integer(v));
	case LMI_JINJA_V_FLOAT:
		if (v.u.f >= -0x1p62 && v.u.f <= 0x1p62 && v.u.f == (double)(int64_t)v.u.f)
			return hash_int((uint64_t)(int64_t)v.u.f);
		return hash_bytes((const char *)&v.u.f, sizeof(v.u.f));
	case LMI_JINJA_V_TUPLE:
		for (uint32_t i = 0; i < v.u.list->n; i++)
			h = h * 31 + hash(run, v.u.list->v[i]);
		return h;
	default: /* by kind only; such keys are rare */
		return v.kind;
	}
}

struct lmi_jinja_val lmi_jinja_dict_new(struct lmi_jinja_run *run)
{
	struct lmi_jinja_dict *d = lmi_jinja_run_alloc(run, sizeof(*d));

	return (struct lmi_jinja_val){.kind = LMI_JINJA_V_DICT, .u.dict = d ? d : &run->nil_dict};
}

static bool key_is(struct lmi_jinja_run *run, const struct lmi_jinja_entry *e, uint32_t h,
		   struct lmi_jinja_val key)
{
	if (e->hash != h)
		return false;
	if (e->key.kind == LMI_JINJA_V_STR && key.kind == LMI_JINJA_V_STR)
		return e->key.n == key.n && !memcmp(e->key.u.s, key.u.s, key.n);
	return lmi_jinja_val_equal(run, e->key, key);
}

/* Returns the index of the entry, or n if there is none.  Long probe sequences count as steps, so
 * that keys chosen to collide cannot slow down rendering. */
static uint32_t find(struct lmi_jinja_run *run, const struct lmi_jinja_dict *d, uint32_t h,
		     struct lmi_jinja_val key)
{
	uint32_t n = 0;

	if (!d->index) {
		for (uint32_t i = 0; i < d->n; i++) {
			if (key_is(run, &d->e[i], h, key))
				return i;
		}
		return d->n;
	}
	for (uint32_t i = h & (d->n_index - 1); d->index[i]; i = (i + 1) & (d->n_index - 1)) {
		if (key_is(run, &d->e[d->index[i] - 1], h, key))
			return d->index[i] - 1;
		n++;
	}
	(void)lmi_jinja_run_step(run, n / 4); /* the caller checks for failure */
	return d->n;
}

static void index_add(struct lmi_jinja_dict *d, uint32_t entry)
{
	uint32_t i = d->e[entry].hash & (d->n_index - 1);

	while (d->index[i])
		i = (i + 1) & (d->n_index - 1);
	d->index[i] = entry + 1;
}

/* Rebuilds the index with space to double. */
static bool index_make(struct lmi_jinja_run *run, struct lmi_jinja_dict *d, uint32_t n_index)
{
	if (n_index > d->n_index) {
		uint32_t *p = lmi_jinja_run_alloc(run, n_index * sizeof(*p));

		if (!p)
			return false;
		d->index = p;
		d->n_index = n_index;
	}
	memset(d->index, 0, d->n_index * sizeof(*d->index));
	for (uint32_t i = 0; i < d->n; i++)
		index_add(d, i);
	return true;
}

struct lmi_jinja_val *lmi_jinja_dict_find(struct lmi_jinja_run *run, const struct lmi_jinja_dict *d,
					  struct lmi_jinja_val key)
{
	uint32_t i;

	if (!lmi_jinja_val_hashable(key)) {
		lmi_jinja_run_fail(run, "unhashable type: '%s'", lmi_jinja_val_type(key));
		return NULL;
	}
	i = find(run, d, hash(run, key), key);
	return i < d->n ? &d->e[i].value : NULL;
}

struct lmi_jinja_val *lmi_jinja_dict_find_str(struct lmi_jinja_run *run,
					      const struct lmi_jinja_dict *d, const char *s,
					      size_t n)
{
	struct lmi_jinja_val key = lmi_jinja_strn(s, n);
	uint32_t i = find(run, d, hash(run, key), key);

	return i < d->n ? &d->e[i].value : NULL;
}

static bool make_room(struct lmi_jinja_run *run, struct lmi_jinja_dict *d)
{
	if (d->n == d->cap) {
		uint32_t cap = d->cap ? 2 * d->cap : 4;
		struct lmi_jinja_entry *p =
			cap > d->cap ? lmi_jinja_run_alloc(run, cap * sizeof(*p)) : NULL;

		if (!p)
			return false;
		if (d->n)
			memcpy(p, d->e, d->n * sizeof(*p));
		d->e = p;
		d->cap = cap;
	}
	if (d->n >= INDEX_FROM && d->n_index < 2 * (d->n + 1))
		return index_make(run, d, d->n_index ? 2 * d->n_index : 4 * INDEX_FROM);
	return true;
}

void lmi_jinja_dict_set(struct lmi_jinja_run *run, struct lmi_jinja_dict *d,
			struct lmi_jinja_val key, struct lmi_jinja_val v)
{
	struct lmi_jinja_val *old = lmi_jinja_dict_find(run, d, key);

	if (run->failed)
		return;
	if (old) {
		*old = v;
		return;
	}
	if (!make_room(run, d))
		return;
	d->e[d->n] = (struct lmi_jinja_entry){.key = key, .value = v, .hash = hash(run, key)};
	d->n++;
	if (d->index)
		index_add(d, d->n - 1);
}

bool lmi_jinja_dict_remove(struct lmi_jinja_run *run, struct lmi_jinja_dict *d,
			   struct lmi_jinja_val key)
{
	uint32_t i;

	if (!lmi_jinja_dict_find(run, d, key))
		return false;
	i = find(run, d, hash(run, key), key);
	if (!lmi_jinja_run_step(run, d->n))
		return false;
	memmove(&d->e[i], &d->e[i + 1], (d->n - i - 1) * sizeof(*d->e));
	d->n--;
	return !d->index || index_make(run, d, d->n_index);
}

struct lmi_jinja_val lmi_jinja_dict_copy(struct lmi_jinja_run *run, const struct lmi_jinja_dict *d)
{
	struct lmi_jinja_val c = lmi_jinja_dict_new(run);

	for (uint32_t i = 0; i < d->n && lmi_jinja_run_step(run, 1); i++)
		lmi_jinja_dict_set(run, c.u.dict, d->e[i].key, d->e[i].value);
	return c;
}
