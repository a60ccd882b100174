/* SPDX-License-Identifier: MIT
 *
 * hub_impl.h - what the files of the hub share. */
#ifndef LLAMAD_HUB_HUB_IMPL_H
#define LLAMAD_HUB_HUB_IMPL_H

#include <stddef.h>

#include "core/base/arena.h"
#include "hub/hub.h"

#define LMI_HUB_AUTHORIZATION_MAX 4096 /* bytes of a value of Authorization */

enum lmi_hub_kind {
	LMI_HUB_HF,
	LMI_HUB_REGISTRY, /* OCI, with Ollama's */
	LMI_HUB_URL,
};

/* The signed manifest of a model: what follows the name of its first file, its first line, its size at most,
 * and the media type of its layer in OCI registries. */
#define LMI_HUB_SIGNATURE_SUFFIX ".sig"
#define LMI_HUB_SIGNATURE_FIRST	 "llamad-model-manifest 1\n"
#define LMI_HUB_SIGNATURE_MAX	 (80u << 20)
#define LMI_HUB_SIGNATURE_TYPE	 "application/vnd.llamad.model.signature.v1"

/* The media types of a vision tower's layer: in Ollama's registry, and in Docker's model specification. */
#define LMI_HUB_TOWER_TYPE_OLLAMA "application/vnd.ollama.image.projector"
#define LMI_HUB_TOWER_TYPE_DOCKER "application/vnd.docker.ai.mmproj"

/* A source in its parts; the texts are in the arena. */
struct lmi_hub_ref {
	enum lmi_hub_kind kind;
	const char *base;    /* URL of the server, without a slash at its end; URL: of the file */
	const char *repo;    /* "USER/REPO"; REGISTRY: any number of parts */
	const char *version; /* revision, tag or "sha256:HEX" */
	const char *choice;  /* HF: quantisation or file; NULL: the best */
	const char *prefix;  /* of the whole source: "hf:", "ollama:", "oci:HOST/" or "" */
};

/* Takes a source apart that has the form of one (lmi_hub_is_source). */
enum lmd_status lmi_hub_parse_long(struct lmi_hub_ref *out, const char *source,
				   const struct lmi_hub_opts *o, struct lmd_arena *a,
				   struct lmd_error *err);
/* Takes any source apart, through the catalogue if it is a short name. */
enum lmd_status lmi_hub_parse(struct lmi_hub_ref *out, const char *source,
			      const struct lmi_hub_opts *o, struct lmd_arena *a,
			      struct lmd_error *err);

#define LMI_HUB_SHOWN_URL 300
/* Writes a URL for messages and logs: without user, password, query and fragment, which may hold
 * secrets.  Returns buf. */
const char *lmi_hub_shown_url(char buf[LMI_HUB_SHOWN_URL], const char *url);

/* What separates the words of a data file's line. */
#define LMI_HUB_BLANK " \t\r"

/* Finds a file of data that belongs to this program: beside its installation, in the source tree
 * above its build folder, or in the data folder.  Returns false if there is none. */
bool lmi_hub_data_file(char *path, size_t n, const char *name);

/* Finds a short name in the file.  *out stays NULL if it has no such name. */
enum lmd_status lmi_hub_catalogue_find(const char **out, const char *file, const char *name,
				       struct lmd_arena *a, struct lmd_error *err);

/* A file of a repository, for the choice among them. */
struct lmi_hub_entry {
	const char *path; /* within the repository */
	uint64_t size;
	char sha256[LMI_SHA256_HEX];
};

/* Chooses the GGUF file that `want` names (NULL: the best) and, if it is split, all its parts: their
 * indices go to parts[], in order.  LMD_INVALID: no such file, with those that exist; LMD_NOTFOUND:
 * a part is missing; LMD_UNSUPPORTED: no GGUF file at all. */
enum lmd_status lmi_hub_choose(uint32_t parts[LMI_HUB_FILES_MAX], uint32_t *n_parts,
			       const struct lmi_hub_entry *e, uint32_t n, const char *want,
			       const char *repo, struct lmd_error *err);

/* Chooses the vision tower for the model whose first file is e[first]: in the same folder, or the nearest one
 * above it that has some, and of a type that loses little and has no needless bits.  Returns n if there is none. */
uint32_t lmi_hub_choose_tower(const struct lmi_hub_entry *e, uint32_t n, uint32_t first);

/* Chooses what a repository with safetensors needs to be loaded: weights, configuration, tokenizer
 * and chat template at its top.  Returns false if it has no safetensors or no configuration. */
bool lmi_hub_choose_folder(uint32_t parts[LMI_HUB_FILES_MAX], uint32_t *n_parts,
			   const struct lmi_hub_entry *e, uint32_t n);

/* Fill source, files, n_files and size. */
enum lmd_status lmi_hub_hf_files(struct lmi_hub_model *m, const struct lmi_hub_ref *r,
				 const struct lmi_hub_opts *o, struct lmd_error *err);
enum lmd_status lmi_hub_registry_files(struct lmi_hub_model *m, const struct lmi_hub_ref *r,
				       const struct lmi_hub_opts *o, struct lmd_error *err);
enum lmd_status lmi_hub_url_files(struct lmi_hub_model *m, const struct lmi_hub_ref *r,
				  const struct lmi_hub_opts *o, struct lmd_error *err);

/* Logs in to a registry that answered a request for `url` with this challenge (WWW-Authenticate):
 * with the user and password of o->auth_file if it has them, otherwise anonymously.  `out` becomes
 * the value of Authorization for the registry.  scope: what the token is for, such as
 * "repository:REPO:pull,push"; NULL: what the challenge says.  LMD_DENIED: the registry wants a
 * user and there is none, or refuses it. */
enum lmd_status lmi_hub_registry_login(char out[LMI_HUB_AUTHORIZATION_MAX], const char *url,
				       const char *challenge, const char *scope,
				       const struct lmi_hub_opts *o, struct lmd_error *err);

/* Copies the host and port of a URL. */
#define LMI_HUB_HOST_MAX 256
void lmi_hub_host(char out[LMI_HUB_HOST_MAX], const char *url);

/* Returns BASE/PATH with the bytes of the path that a URL cannot have as %XX; NULL if there is no
 * memory. */
const char *lmi_hub_url(struct lmd_arena *a, const char *base, const char *path);

/* Bytes of a file's name without ".gguf" and without the number of its part. */
size_t lmi_hub_stem(const char *name);

#endif /* LLAMAD_HUB_HUB_IMPL_H */
