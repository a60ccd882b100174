/* SPDX-License-Identifier: MIT
 *
 * What saved rows depend on: the files of the model, the adapters, and how the engine lays rows out. */
#include "service/rows_head.h"

#include <string.h>

#include "core/base/bytes.h"
#include "core/base/sha256.h"
#include "core/engine/adapter_ref.h"
#include "service/service_state.h"

static void add_file(struct lmi_sha256 *h, const struct lmi_engine_adapter_ref *r)
{
	struct stat sb;
	uint8_t b[20];

	lmi_engine_adapter_stat(&sb, r->path); /* a missing one is another adapter */
	lmi_put_le32(b, lmi_f32_bits(r->scale));
	lmi_put_le64(b + 4, (uint64_t)sb.st_size);
	lmi_put_le64(b + 12, (uint64_t)sb.st_mtim.tv_sec * 1000000000u + (uint64_t)sb.st_mtim.tv_nsec);
	lmi_sha256_update(h, b, sizeof(b));
	lmi_sha256_update(h, r->path, strlen(r->path) + 1);
}

/* The digest of the adapters of the rows; zeros: none. */
static enum lmd_status digest_adapters(uint8_t *out, const struct lmi_svc_loaded_model *loaded,
				       int32_t adapter, struct lmd_error *err)
{
	const struct lmi_engine_model_opts *o = &loaded->svc->o.inst;
	const struct lmi_svc_adapter_choice *c = lmi_svc_adapter_slots_get(loaded, adapter);
	struct lmi_sha256 h;

	memset(out, 0, LMI_ENGINE_DIGEST_BYTES);
	if (!adapter && !o->n_adapter_files)
		return LMD_OK;
	if (c && lmi_engine_adapter_key(c->refs, c->n) != c->key)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"the file of an adapter has changed since it was loaded: %.300s", c->text);
	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	for (uint32_t i = 0; c && i < c->n; i++)
		add_file(&h, &c->refs[i]);
	for (uint32_t i = 0; !adapter && i < o->n_adapter_files; i++)
		add_file(&h, &o->adapter_files[i]);
	return lmi_sha256_final(&h, out) ? LMD_OK
					 : lmd_fail(err, LMD_CANCELLED, "a digest was cancelled");
}

enum lmd_status lmi_svc_rows_head(struct lmi_engine_saved_head *out,
				  const struct lmi_svc_loaded_model *loaded, int32_t adapter,
				  struct lmd_error *err)
{
	const struct lmi_store_model *m = &loaded->record->m.v[0];
	const char *name = lmi_svc_model_record_name(loaded->record);
	struct lmi_sha256 h;
	enum lmd_status st;

	*out = (struct lmi_engine_saved_head){0};
	st = lmi_engine_saved_layout(loaded->engine, &out->layout, err);

	if (st != LMD_OK)
		return st;
	memcpy(out->model_name, name, strnlen(name, sizeof(out->model_name) - 1));
	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	lmi_sha256_update(&h, m->digest, strlen(m->digest));
	for (uint32_t i = 0; i < m->n_files && !*m->digest; i++) {
		const struct lmi_engine_adapter_ref file = {.path = m->files[i].path};

		add_file(&h, &file);
	}
	if (!lmi_sha256_final(&h, out->model))
		return lmd_fail(err, LMD_CANCELLED, "a digest was cancelled");
	return digest_adapters(out->adapter, loaded, adapter, err);
}
