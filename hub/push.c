/* SPDX-License-Identifier: MIT
 *
 * A model becomes layers, a description and a manifest.  Media types: those of Ollama's registry, and
 * elsewhere those of Docker's model specification, which llama.cpp and Docker's model runner read. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "core/base/file.h"
#include "hub/http.h"
#include "hub/upload.h"

#define DIGEST_PIECE (1u << 20)

struct target {
	const char *manifest, *config; /* media types */
	const char *part[LMI_HUB_PART_SIGNATURE + 1]; /* NULL: the registry has no such layer */
};

static const struct target ollama = {
	.manifest = "application/vnd.docker.distribution.manifest.v2+json",
	.config = "application/vnd.docker.container.image.v1+json",
	.part = {[LMI_HUB_PART_MODEL] = "application/vnd.ollama.image.model",
		 [LMI_HUB_PART_TOWER] = LMI_HUB_TOWER_TYPE_OLLAMA,
		 [LMI_HUB_PART_LICENSE] = "application/vnd.ollama.image.license",
		 [LMI_HUB_PART_TEMPLATE] = "application/vnd.ollama.image.template",
		 [LMI_HUB_PART_SYSTEM] = "application/vnd.ollama.image.system",
		 [LMI_HUB_PART_PARAMS] = "application/vnd.ollama.image.params",
		 [LMI_HUB_PART_MESSAGES] = "application/vnd.ollama.image.messages"},
};

static const struct target oci = {
	.manifest = "application/vnd.oci.image.manifest.v1+json",
	.config = "application/vnd.docker.ai.model.config.v0.1+json",
	.part = {[LMI_HUB_PART_MODEL] = "application/vnd.docker.ai.gguf.v3",
		 [LMI_HUB_PART_TOWER] = LMI_HUB_TOWER_TYPE_DOCKER,
		 [LMI_HUB_PART_LICENSE] = "application/vnd.docker.ai.license",
		 [LMI_HUB_PART_MODELFILE] = "application/vnd.llamad.modelfile.v1",
		 [LMI_HUB_PART_SIGNATURE] = LMI_HUB_SIGNATURE_TYPE},
};

struct push {
	const struct lmi_hub_push *p;
	const struct target *to;
	struct lmi_hub_registry g;
	struct lmi_hub_blob *blobs; /* [p->n_parts] */
	struct lmi_file *files;     /* [p->n_parts]; fd -1: none */
	uint64_t total, before;     /* bytes of all parts, and of those before this one */
	json_t *layers, *diff_ids;
};

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for a manifest");
}

static void report(const struct push *w, uint64_t done, bool checking)
{
	if (w->p->transfer.progress)
		w->p->transfer.progress(w->p->transfer.arg, w->before + done, w->total, checking);
}

/* ---- digests ---- */

static enum lmd_status digest_file(const struct push *w, struct lmi_hub_blob *b, struct lmd_error *err)
{
	uint8_t digest[LMI_SHA256_BYTES], *buf = lmi_alloc(DIGEST_PIECE, 1);
	struct lmi_sha256 h;
	enum lmd_status st = LMD_OK;

	if (!buf || !lmi_sha256_init(&h)) {
		lmi_free(buf);
		return lmd_fail(err, LMD_NOMEM, "no memory to compute a digest");
	}
	for (uint64_t at = 0; at < b->size && st == LMD_OK;) {
		size_t n = b->size - at < DIGEST_PIECE ? (size_t)(b->size - at) : DIGEST_PIECE;

		st = lmi_file_read(b->file, at, buf, n, err);
		if (st == LMD_OK)
			lmi_sha256_update(&h, buf, n);
		at += n;
		report(w, at, true);
		if (st == LMD_OK && !lmi_cancel_step(n / 16))
			st = lmd_fail(err, LMD_CANCELLED, "cancelled");
	}
	lmi_free(buf);
	if (st != LMD_OK)
		lmi_sha256_fini(&h);
	else if (!lmi_sha256_final(&h, digest))
		st = lmd_fail(err, LMD_INTERNAL, "the digest cannot be computed");
	else
		lmi_sha256_hex(b->sha256, digest);
	return st;
}

static enum lmd_status digest_text(char hex[LMI_SHA256_HEX], const char *text, struct lmd_error *err)
{
	uint8_t digest[LMI_SHA256_BYTES];
	struct lmi_sha256 h;

	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory to compute a digest");
	lmi_sha256_update(&h, text, strlen(text));
	if (!lmi_sha256_final(&h, digest))
		return lmd_fail(err, LMD_INTERNAL, "the digest cannot be computed");
	lmi_sha256_hex(hex, digest);
	return LMD_OK;
}

/* ---- parts ---- */

static enum lmd_status open_parts(struct push *w, struct lmd_error *err)
{
	for (uint32_t i = 0; i < w->p->n_parts; i++) {
		const struct lmi_hub_part *part = &w->p->parts[i];
		struct lmi_hub_blob *b = &w->blobs[i];
		enum lmd_status st = LMD_OK;

		b->name = part->name ? part->name : w->to->part[part->kind];
		if (part->path) {
			st = lmi_file_open(&w->files[i], part->path, err);
			b->file = &w->files[i];
			b->size = w->files[i].bytes;
		} else {
			b->bytes = part->text;
			b->size = strlen(part->text);
		}
		if (st != LMD_OK)
			return st;
		w->total += w->to->part[part->kind] ? b->size : 0;
	}
	return LMD_OK;
}

static enum lmd_status digest_parts(struct push *w, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	w->before = 0;
	for (uint32_t i = 0; i < w->p->n_parts && st == LMD_OK; i++) {
		struct lmi_hub_blob *b = &w->blobs[i];

		if (!w->to->part[w->p->parts[i].kind])
			continue;
		st = b->file ? digest_file(w, b, err) : digest_text(b->sha256, b->bytes, err);
		w->before += b->size;
	}
	return st;
}

static void on_progress(void *arg, uint64_t done)
{
	report(arg, done, false);
}

/* A row of the manifest. */
static json_t *descriptor(const char *type, const struct lmi_hub_blob *b, const char *title)
{
	char digest[LMI_SHA256_HEX + 8];
	json_t *row;

	(void)snprintf(digest, sizeof(digest), "sha256:%s", b->sha256);
	row = json_pack("{s:s, s:s, s:I}", "mediaType", type, "digest", digest, "size",
			(json_int_t)b->size);
	if (row && title)
		(void)json_object_set_new(row, "annotations",
					  json_pack("{s:s}", "org.opencontainers.image.title", title));
	return row;
}

static enum lmd_status send_parts(struct push *w, struct lmi_hub_pushed *out, struct lmd_error *err)
{
	w->before = 0;
	for (uint32_t i = 0; i < w->p->n_parts; i++) {
		const struct lmi_hub_part *part = &w->p->parts[i];
		const char *type = w->to->part[part->kind];
		const struct lmi_hub_blob *b = &w->blobs[i];
		char digest[LMI_SHA256_HEX + 8];
		bool sent;
		enum lmd_status st;

		if (!type)
			continue;
		st = lmi_hub_upload_blob(&w->g, b, &sent, err);
		if (st != LMD_OK)
			return st;
		*(sent ? &out->bytes_sent : &out->bytes_kept) += b->size;
		w->before += b->size;
		report(w, 0, false);
		(void)snprintf(digest, sizeof(digest), "sha256:%s", b->sha256);
		if (json_array_append_new(w->layers, descriptor(type, b, w->to == &oci ? part->name : NULL)) ||
		    json_array_append_new(w->diff_ids, json_string(digest)))
			return no_memory(err);
	}
	return LMD_OK;
}

/* ---- description and manifest ---- */

/* What `ollama show` and Docker print without the file. */
static json_t *describe(const struct push *w)
{
	const struct lmi_hub_push *p = w->p;

	if (w->to == &ollama)
		return json_pack("{s:s, s:s, s:[s], s:s, s:s, s:s, s:{s:s, s:O}}", "model_format", "gguf",
				 "model_family", p->arch, "model_families", p->arch, "file_type",
				 p->quant, "architecture", "amd64", "os", "linux", "rootfs", "type",
				 "layers", "diff_ids", w->diff_ids);
	return json_pack("{s:{s:s, s:s, s:s}, s:{}, s:{s:s, s:O}}", "config", "format", "gguf",
			 "architecture", p->arch, "quantization", p->quant, "descriptor", "rootfs", "type",
			 "rootfs", "diff_ids", w->diff_ids);
}

/* Sends the description and returns its row of the manifest. */
static enum lmd_status send_config(struct push *w, json_t **row, struct lmd_error *err)
{
	json_t *o = describe(w);
	char *text = o ? json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	struct lmi_hub_blob b = {.name = "the description", .bytes = text, .size = text ? strlen(text) : 0};
	enum lmd_status st = text ? digest_text(b.sha256, text, err) : no_memory(err);
	bool sent;

	json_decref(o);
	w->g.progress = NULL;
	if (st == LMD_OK)
		st = lmi_hub_upload_blob(&w->g, &b, &sent, err);
	*row = st == LMD_OK ? descriptor(w->to->config, &b, NULL) : NULL;
	free(text);
	return st == LMD_OK && !*row ? no_memory(err) : st;
}

static enum lmd_status send_manifest(struct push *w, const char *version, struct lmi_hub_pushed *out,
				     struct lmd_error *err)
{
	json_t *config, *o;
	char *text;
	enum lmd_status st = send_config(w, &config, err);

	if (st != LMD_OK)
		return st;
	o = json_pack("{s:i, s:s, s:o, s:O}", "schemaVersion", 2, "mediaType", w->to->manifest, "config",
		      config, "layers", w->layers);
	text = o ? json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	json_decref(o);
	st = text ? digest_text(out->digest, text, err) : no_memory(err);
	if (st == LMD_OK)
		st = lmi_hub_upload_manifest(&w->g, version, w->to->manifest, text, err);
	free(text);
	return st;
}

/* ---- the push ---- */

static enum lmd_status check(const struct push *w, const struct lmi_hub_ref *r, struct lmd_error *err)
{
	uint32_t n_model = 0;

	for (uint32_t i = 0; i < w->p->n_parts; i++)
		n_model += w->p->parts[i].kind == LMI_HUB_PART_MODEL;
	if (strchr(r->version, ':'))
		return lmd_fail(err, LMD_INVALID, "%s: a push names a tag, not a digest", w->p->dest);
	if (w->to == &ollama && n_model > 1)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"Ollama cannot load a model in %u parts: `llamactl merge` makes one file of "
				"them",
				n_model);
	return LMD_OK;
}

static enum lmd_status run(struct push *w, const struct lmi_hub_ref *r, struct lmi_hub_pushed *out,
			   struct lmd_error *err)
{
	enum lmd_status st = check(w, r, err);

	w->g.progress = on_progress;
	w->g.arg = w;
	if (st == LMD_OK)
		st = open_parts(w, err);
	if (st == LMD_OK)
		st = digest_parts(w, err);
	if (st == LMD_OK)
		st = send_parts(w, out, err);
	return st == LMD_OK ? send_manifest(w, r->version, out, err) : st;
}

/* The memory for the parts, and what it takes to talk to the registry. */
static enum lmd_status prepare(struct push *w, struct lmi_hub_ref *r, const struct lmi_hub_opts *o,
			       struct lmd_arena *a, struct lmd_error *err)
{
	enum lmd_status st;

	if (!lmi_hub_is_source(w->p->dest))
		return lmd_fail(err, LMD_INVALID,
				"'%.200s' is not a destination: expected oci:HOST/REPO[:TAG] or "
				"ollama:USER/NAME[:TAG]",
				w->p->dest);
	st = lmi_hub_parse_long(r, w->p->dest, o, a, err);
	if (st != LMD_OK)
		return st;
	if (r->kind != LMI_HUB_REGISTRY)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"'%.200s': models are pushed to oci:HOST/REPO[:TAG] or "
				"ollama:USER/NAME[:TAG]",
				w->p->dest);
	w->to = !strcmp(r->prefix, "ollama:") ? &ollama : &oci;
	w->blobs = lmi_arena_array(a, w->p->n_parts, sizeof(*w->blobs));
	w->files = lmi_arena_array(a, w->p->n_parts, sizeof(*w->files));
	w->layers = json_array();
	w->diff_ids = json_array();
	if (!w->blobs || !w->files || !w->layers || !w->diff_ids)
		return no_memory(err);
	for (uint32_t i = 0; i < w->p->n_parts; i++)
		w->files[i].fd = -1;
	lmi_hub_registry_init(&w->g, r, o);
	return LMD_OK;
}

enum lmd_status lmi_hub_push(struct lmi_hub_pushed *out, const struct lmi_hub_push *p,
			     const struct lmi_hub_opts *o, struct lmd_error *err)
{
	struct lmd_arena *a = lmi_arena_create(0);
	struct push *w = a ? lmi_arena_array(a, 1, sizeof(*w)) : NULL;
	struct lmi_hub_pushed done = {0};
	struct lmi_hub_ref r;
	enum lmd_status st;

	if (!w) {
		lmi_arena_destroy(a);
		return no_memory(err);
	}
	w->p = p;
	st = p->n_parts && p->n_parts <= LMI_HUB_PARTS_MAX
		     ? prepare(w, &r, o, a, err)
		     : lmd_fail(err, LMD_INVALID, "%u parts of a model: 1 to %d are possible", p->n_parts,
				LMI_HUB_PARTS_MAX);
	if (st == LMD_OK)
		st = run(w, &r, &done, err);
	for (uint32_t i = 0; w->files && i < p->n_parts; i++)
		lmi_file_close(&w->files[i]);
	json_decref(w->layers);
	json_decref(w->diff_ids);
	lmi_arena_destroy(a);
	if (st == LMD_OK)
		*out = done;
	return st;
}
