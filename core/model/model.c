/* SPDX-License-Identifier: MIT
 *
 * The container behind struct lmd_model.  Everything that the view points to lives in one arena of
 * limited size; mappings and descriptors belong to the parts. */
#include "core/model/model.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/printable.h"

static const struct lmd_meta *find_meta(const struct lmd_model *view, const char *key)
{
	const struct lmi_model *m = view->lookup;
	uint32_t i;

	return lmi_strmap_find(&m->keys, key, &i) ? &m->meta[i] : NULL;
}

static const struct lmd_tensor *find_tensor(const struct lmd_model *view, const char *name)
{
	const struct lmi_model *m = view->lookup;
	uint32_t i;

	return lmi_strmap_find(&m->names, name, &i) ? &m->tensors[i] : NULL;
}

struct lmi_model *lmi_model_create(uint64_t heap_bytes)
{
	struct lmi_model *m = lmi_alloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->heap_bytes = heap_bytes;
	m->arena = lmi_arena_create(heap_bytes);
	if (!m->arena) {
		lmi_free(m);
		return NULL;
	}
	m->view.struct_size = sizeof(m->view);
	m->view.tok = &m->tok;
	m->view.find_meta = find_meta;
	m->view.find_tensor = find_tensor;
	m->view.lookup = m;
	return m;
}

void lmi_model_destroy(struct lmi_model *m)
{
	if (!m)
		return;
	if (m->reader_close)
		m->reader_close(m->reader_state);
	for (uint32_t i = 0; i < m->n_parts; i++) {
		lmi_map_close(&m->parts[i].map);
		lmi_file_close(&m->parts[i].file);
	}
	lmi_arena_destroy(m->arena);
	lmi_free(m);
}

enum lmd_status lmi_model_no_memory(const struct lmi_model *m, uint64_t bytes,
				    struct lmd_error *err)
{
	uint64_t used = lmi_arena_used(m->arena);

	if (bytes > m->heap_bytes - used)
		return lmd_fail(err, LMD_INVALID,
				"keys, vocabulary and tensor table need %llu bytes in addition to "
				"%llu in use, but the limit is %llu",
				(unsigned long long)bytes, (unsigned long long)used,
				(unsigned long long)m->heap_bytes);
	return lmd_fail(err, LMD_NOMEM, "no memory for %llu bytes of the model's tables",
			(unsigned long long)bytes);
}

enum lmd_status lmi_model_reserve_meta(struct lmi_model *m, uint32_t n, struct lmd_error *err)
{
	m->meta = lmi_arena_array(m->arena, n + 1, sizeof(*m->meta));
	if (!m->meta || !lmi_strmap_init(&m->keys, m->arena, n))
		return lmi_model_no_memory(m, n * (sizeof(*m->meta) + 48ull), err);
	m->cap_meta = n;
	m->view.meta = m->meta;
	return LMD_OK;
}

enum lmd_status lmi_model_reserve_tensors(struct lmi_model *m, uint32_t n, struct lmd_error *err)
{
	m->tensors = lmi_arena_array(m->arena, n + 1, sizeof(*m->tensors));
	if (!m->tensors || !lmi_strmap_init(&m->names, m->arena, n))
		return lmi_model_no_memory(m, n * (sizeof(*m->tensors) + 48ull), err);
	m->cap_tensors = n;
	m->view.tensors = m->tensors;
	return LMD_OK;
}

enum lmd_status lmi_model_reserve_parts(struct lmi_model *m, uint32_t n, struct lmd_error *err)
{
	struct lmi_model_part *parts = lmi_arena_array(m->arena, n, sizeof(*parts));

	if (!parts)
		return lmi_model_no_memory(m, n * sizeof(*parts), err);
	for (uint32_t i = 0; i < n; i++)
		parts[i].file.fd = -1;
	if (m->n_parts) /* keep the parts that are already there */
		memcpy(parts, m->parts, m->n_parts * sizeof(*parts));
	m->parts = parts;
	m->n_parts = n;
	m->view.n_files = n;
	return LMD_OK;
}

enum lmd_status lmi_model_add_meta(struct lmi_model *m, const struct lmd_meta *v,
				   struct lmd_error *err)
{
	uint32_t i = m->view.n_meta;
	char show[80];

	if (i == m->cap_meta)
		return lmd_fail(err, LMD_INTERNAL, "more keys than the %u reserved", i);
	if (!lmi_strmap_add(&m->keys, v->key, i))
		return lmd_fail(err, LMD_CORRUPT, "key %s appears twice",
				lmi_printable(show, sizeof(show), v->key, strlen(v->key)));
	m->meta[i] = *v;
	m->view.n_meta++;
	return LMD_OK;
}

enum lmd_status lmi_model_add_tensor(struct lmi_model *m, const struct lmd_tensor *t,
				     struct lmd_error *err)
{
	uint32_t i = m->view.n_tensors;
	char show[80];

	if (i == m->cap_tensors)
		return lmd_fail(err, LMD_INTERNAL, "more tensors than the %u reserved", i);
	if (!lmi_strmap_add(&m->names, t->name, i))
		return lmd_fail(err, LMD_CORRUPT, "tensor %s appears twice",
				lmi_printable(show, sizeof(show), t->name, strlen(t->name)));
	m->tensors[i] = *t;
	m->view.n_tensors++;
	return LMD_OK;
}
