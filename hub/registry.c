/* SPDX-License-Identifier: MIT
 *
 * OCI registries, and Ollama's: a manifest names the layers, one of which is the model. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/base/tower_file.h"
#include "hub/http.h"
#include "hub/hub_impl.h"

#define ACCEPT                                                                          \
	"application/vnd.docker.distribution.manifest.v2+json, "                        \
	"application/vnd.oci.image.manifest.v1+json, "                                  \
	"application/vnd.oci.image.index.v1+json, "                                     \
	"application/vnd.docker.distribution.manifest.list.v2+json"

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for a manifest");
}

/* ---- manifests ---- */

static enum lmd_status get_manifest(json_t **out, const struct lmi_hub_ref *r, const char *version,
				    struct lmd_arena *a, const struct lmi_hub_opts *o,
				    struct lmd_error *err)
{
	char login[LMI_HUB_AUTHORIZATION_MAX], shown[LMI_HUB_SHOWN_URL];
	struct lmi_hub_request q = {.accept = ACCEPT};
	struct lmi_hub_reply reply;
	enum lmd_status st;

	q.url = lmi_arena_printf(a, "%s/v2/%s/manifests/%s", r->base, r->repo, version);
	if (!q.url)
		return no_memory(err);
	st = lmi_hub_get(&reply, &q, o, true, err);
	if (st == LMD_OK && reply.code == 401) {
		st = lmi_hub_registry_login(login, q.url, reply.challenge, NULL, o, err);
		lmi_hub_reply_fini(&reply);
		q.authorization = login;
		if (st == LMD_OK)
			st = lmi_hub_get(&reply, &q, o, false, err);
	}
	if (st != LMD_OK)
		return st;
	*out = json_loadb(reply.body ? reply.body : "", reply.n, 0, NULL);
	lmi_hub_reply_fini(&reply);
	return *out ? LMD_OK
		    : lmd_fail(err, LMD_CORRUPT, "%s: the manifest is not JSON",
			       lmi_hub_shown_url(shown, q.url));
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static const char *title_of(const json_t *layer)
{
	return text_of(json_object_get(layer, "annotations"), "org.opencontainers.image.title");
}

static bool is_tower(const json_t *layer)
{
	const char *type = text_of(layer, "mediaType");

	return !strcmp(type, LMI_HUB_TOWER_TYPE_OLLAMA) || !strcmp(type, LMI_HUB_TOWER_TYPE_DOCKER) ||
	       lmi_tower_is_name(title_of(layer));
}

static bool is_gguf(const json_t *layer)
{
	const char *type = text_of(layer, "mediaType"), *title = title_of(layer);
	size_t n = strlen(title);

	return !strcmp(type, "application/vnd.ollama.image.model") || strstr(type, ".gguf") ||
	       (n > 5 && !strcmp(title + n - 5, ".gguf"));
}

static enum lmd_status add_layer(struct lmi_hub_model *m, struct lmi_hub_file *f,
				 const struct lmi_hub_ref *r, const json_t *layer,
				 struct lmd_error *err)
{
	const char *digest = text_of(layer, "digest");
	const char *hex = strncmp(digest, "sha256:", 7) == 0 ? digest + 7 : "";

	if (!lmi_sha256_is_hex(hex))
		return lmd_fail(err, LMD_CORRUPT, "%s: a layer's digest '%.80s' is not sha256:HEX",
				r->repo, digest);
	f->name = lmi_arena_printf(m->arena, "sha256-%s", hex);
	f->url = lmi_arena_printf(m->arena, "%s/v2/%s/blobs/%s", r->base, r->repo, digest);
	f->size = (uint64_t)json_integer_value(json_object_get(layer, "size"));
	memcpy(f->sha256, hex, sizeof(f->sha256));
	m->size += f->size;
	return f->name && f->url ? LMD_OK : no_memory(err);
}

/* A layer with the signed manifest of the model. */
static enum lmd_status add_signature(struct lmi_hub_model *m, const struct lmi_hub_ref *r,
				     const json_t *layer, struct lmd_error *err)
{
	struct lmi_hub_file *f = lmi_arena_array(m->arena, 1, sizeof(*f));
	uint64_t size = m->size;
	enum lmd_status st = f ? add_layer(m, f, r, layer, err) : no_memory(err);

	m->size = size; /* of the model alone */
	if (st == LMD_OK && f->size && f->size <= LMI_HUB_SIGNATURE_MAX)
		m->manifest = f;
	return st;
}

/* A layer with a vision tower: the first one is the model's. */
static enum lmd_status add_tower(struct lmi_hub_model *m, const struct lmi_hub_ref *r,
				 const json_t *layer, struct lmd_error *err)
{
	struct lmi_hub_file *f = lmi_arena_array(m->arena, 1, sizeof(*f));
	enum lmd_status st = f ? add_layer(m, f, r, layer, err) : no_memory(err);

	if (st != LMD_OK)
		return st;
	f->name = lmi_arena_printf(m->arena, "mmproj-%s.gguf", f->name);
	m->tower = f;
	return f->name ? LMD_OK : no_memory(err);
}

static enum lmd_status read_manifest(struct lmi_hub_model *m, const struct lmi_hub_ref *r,
				     const json_t *manifest, struct lmd_error *err)
{
	const json_t *layers = json_object_get(manifest, "layers");
	size_t n = json_array_size(layers);
	struct lmi_hub_file *f;
	enum lmd_status st;

	if (n > LMI_HUB_FILES_MAX)
		return lmd_fail(err, LMD_CORRUPT, "%s: %zu layers exceed the limit of %d", r->repo,
				n, LMI_HUB_FILES_MAX);
	f = lmi_arena_array(m->arena, n ? n : 1, sizeof(*f));
	if (!f)
		return no_memory(err);
	for (size_t i = 0; i < n; i++) {
		const json_t *layer = json_array_get(layers, i);

		if (!strcmp(text_of(layer, "mediaType"), LMI_HUB_SIGNATURE_TYPE))
			st = add_signature(m, r, layer, err);
		else if (is_tower(layer))
			st = m->tower ? LMD_OK : add_tower(m, r, layer, err);
		else if (is_gguf(layer))
			st = add_layer(m, &f[m->n_files++], r, layer, err);
		else
			st = LMD_OK;
		if (st != LMD_OK)
			return st;
	}
	m->files = f;
	if (m->manifest && m->n_files) { /* it lies beside the first file */
		f = (struct lmi_hub_file *)(uintptr_t)m->manifest;
		f->name = lmi_arena_printf(m->arena, "%s" LMI_HUB_SIGNATURE_SUFFIX, m->files[0].name);
		if (!f->name)
			return no_memory(err);
	}
	return m->n_files ? LMD_OK
			  : lmd_fail(err, LMD_UNSUPPORTED, "%s:%s has no layer with a GGUF file",
				     r->repo, r->version);
}

enum lmd_status lmi_hub_registry_files(struct lmi_hub_model *m, const struct lmi_hub_ref *r,
				       const struct lmi_hub_opts *o, struct lmd_error *err)
{
	json_t *manifest = NULL;
	enum lmd_status st = get_manifest(&manifest, r, r->version, m->arena, o, err);
	const char *inner = text_of(json_array_get(json_object_get(manifest, "manifests"), 0),
				    "digest");
	const char *repo = strncmp(r->repo, "library/", 8) ? r->repo : r->repo + 8;

	if (st == LMD_OK && *inner) { /* an index of manifests: models are the same everywhere */
		const char *version = lmi_arena_strndup(m->arena, inner, strlen(inner));

		json_decref(manifest);
		manifest = NULL;
		st = version ? get_manifest(&manifest, r, version, m->arena, o, err)
			     : no_memory(err);
	}
	if (st == LMD_OK)
		st = read_manifest(m, r, manifest, err);
	json_decref(manifest);
	if (st != LMD_OK)
		return st;
	m->source = lmi_arena_printf(m->arena, "%s%s%c%s", r->prefix, repo,
				     strchr(r->version, ':') ? '@' : ':', r->version);
	return m->source ? LMD_OK : no_memory(err);
}
