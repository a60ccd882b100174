/* SPDX-License-Identifier: MIT
 *
 * What saved rows depend on: the files of the model, the adapters, and how the engine lays rows out. */
#include "service/rows_head.h"

#include <string.h>
#include <sys/stat.h>

#include "core/base/bytes.h"
#include "core/base/sha256.h"
#include "core/engine/adapter_ref.h"
#include "service/service_state.h"

static void add_file(struct lmi_sha256 *h, const char *path, float scale)
{
	struct stat sb = {0};
	uint8_t b[20];

	if (stat(path, &sb)) /* a missing one is another adapter */
		sb = (struct stat){0};
	lmi_put_le32(b, lmi_f32_bits(scale));
	lmi_put_le64(b + 4, (uint64_t)sb.st_size);
	lmi_put_le64(b + 12, (uint64_t)sb.st_mtim.tv_sec * 1000000000u + (uint64_t)sb.st_mtim.tv_nsec);
	lmi_sha256_update(h, b, sizeof(b));
	lmi_sha256_update(h, path, strlen(path) + 1);
}

static void add_adapter(struct lmi_sha256 *h, const struct lmi_engine_adapter_ref *r)
{
	char file[PATH_MAX];

	for (uint32_t i = 0; lmi_engine_adapter_part(r->path, i, file); i++)
		add_file(h, file, r->scale);
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
	/* the rows are those of the files that were read */
	if (c && lmi_engine_adapter_key(c->refs, c->n) != c->key)
		return lmd_fail(err, LMD_BUSY, "adapter %.300s: its files have changed since they were read",
				c->text);
	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	for (uint32_t i = 0; c && i < c->n; i++)
		add_adapter(&h, &c->refs[i]);
	for (uint32_t i = 0; !adapter && i < o->n_adapter_files; i++)
		add_adapter(&h, &o->adapter_files[i]);
	return lmi_sha256_final(&h, out) ? LMD_OK
					 : lmd_fail(err, LMD_CANCELLED, "a digest was cancelled");
}

enum lmd_status lmi_svc_model_digest(uint8_t out[LMI_SHA256_BYTES], const struct lmi_store_model *m,
				     struct lmd_error *err)
{
	struct lmi_sha256 h;

	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	lmi_sha256_update(&h, m->digest, strlen(m->digest));
	for (uint32_t i = 0; i < m->n_files && !*m->digest; i++)
		add_file(&h, m->files[i].path, 0);
	return lmi_sha256_final(&h, out) ? LMD_OK
					 : lmd_fail(err, LMD_CANCELLED, "a digest was cancelled");
}

enum lmd_status lmi_svc_rows_head(struct lmi_engine_saved_head *out,
				  const struct lmi_svc_loaded_model *loaded, int32_t adapter,
				  struct lmd_error *err)
{
	const char *name = lmi_svc_model_record_name(loaded->record);
	enum lmd_status st;

	*out = (struct lmi_engine_saved_head){0};
	st = lmi_engine_saved_layout(loaded->engine, &out->layout, err);

	if (st != LMD_OK)
		return st;
	memcpy(out->model_name, name, strnlen(name, sizeof(out->model_name) - 1));
	st = lmi_svc_model_digest(out->model, &loaded->record->m.v[0], err);
	return st == LMD_OK ? digest_adapters(out->adapter, loaded, adapter, err) : st;
}
