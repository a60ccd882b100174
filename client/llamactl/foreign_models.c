/* SPDX-License-Identifier: MIT
 *
 * The folders of other programs are read and never written.  What does not have the expected form
 * is passed over. */
#include "client/llamactl/foreign_models.h"

#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/sha256.h"
#include "hub/hub.h"

#define DEPTH_MAX  6
#define MODELS_MAX 4096

struct search {
	struct lmi_ctl_foreign_models *out;
	struct lmd_error *err;
	enum lmd_status st; /* the first failure */
	enum lmi_ctl_foreign program;
	size_t n_top; /* length of the folder's path */
};

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n > k && !strcasecmp(text + n - k, end);
}

static void add(struct search *s, const char *name, const char *path, uint64_t bytes)
{
	struct lmi_ctl_foreign_model *v;

	if (s->st != LMD_OK || s->out->n == MODELS_MAX)
		return;
	v = lmi_realloc(s->out->v, s->out->n + 1, sizeof(*v));
	if (v) {
		s->out->v = v;
		v += s->out->n;
		*v = (struct lmi_ctl_foreign_model){
			.name = strdup(name), .path = strdup(path), .bytes = bytes};
		s->out->n++;
	}
	if (!v || !v->name || !v->path)
		s->st = lmd_fail(s->err, LMD_NOMEM, "no memory for a list of models");
}

/* ---- Ollama: manifests/HOST/USER/NAME/TAG names blobs/sha256-HEX ---- */

/* Writes the model's name from the path below "manifests/". */
static void ollama_name(char *out, size_t size, const char *path)
{
	char *tag;

	if (!strncmp(path, "registry.ollama.ai/", 19))
		path += 19;
	if (!strncmp(path, "library/", 8))
		path += 8;
	(void)snprintf(out, size, "%s", path);
	tag = strrchr(out, '/');
	if (!tag)
		return;
	*tag = ':';
	if (!strcmp(tag, ":latest"))
		*tag = 0;
}

static void read_manifest(struct search *s, const char *path)
{
	json_t *o = json_load_file(path, 0, NULL), *layer;
	char blob[PATH_MAX], name[PATH_MAX];
	size_t i;

	json_array_foreach(json_object_get(o, "layers"), i, layer)
	{
		const char *kind = json_string_value(json_object_get(layer, "mediaType"));
		const char *digest = json_string_value(json_object_get(layer, "digest"));
		struct stat sb;

		if (!kind || !digest || strcmp(kind, "application/vnd.ollama.image.model") != 0 ||
		    strncmp(digest, "sha256:", 7) != 0 || !lmi_sha256_is_hex(digest + 7))
			continue;
		(void)snprintf(blob, sizeof(blob), "%.*s/blobs/sha256-%s", (int)s->n_top, path,
			       digest + 7);
		ollama_name(name, sizeof(name), path + s->n_top + strlen("/manifests/"));
		if (!stat(blob, &sb))
			add(s, name, blob, (uint64_t)sb.st_size);
		break;
	}
	json_decref(o);
}

/* ---- files and folders ---- */

/* "NAME-00002-of-00005.gguf": a part other than the first. */
static bool is_later_part(const char *name)
{
	const char *of = strstr(name, "-of-");

	return of && of - name >= 6 && of[-6] == '-' && strncmp(of - 5, "00001", 5) != 0;
}

static void add_gguf(struct search *s, const char *path, const char *base, uint64_t bytes)
{
	char name[LMI_HUB_NAME_MAX + 1];

	if (strcasestr(base, "mmproj") || strcasestr(base, "imatrix") || is_later_part(base))
		return;
	lmi_hub_file_default_name(name, base);
	add(s, name, path, bytes);
}

/* The models--USER--REPO in the path of a snapshot; "" if there is none. */
static void repository_name(char *out, size_t size, const char *path)
{
	const char *p = strstr(path, "/models--"), *repo = p ? strstr(p + 9, "--") : NULL;

	(void)snprintf(out, size, "%.*s", repo ? (int)strcspn(repo + 2, "/") : 0, repo ? repo + 2 : "");
}

static void take_file(struct search *s, const char *folder, const char *base)
{
	char path[PATH_MAX], name[PATH_MAX];
	struct stat sb;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, base);
	if (stat(path, &sb) || !S_ISREG(sb.st_mode))
		return;
	if (s->program == LMI_CTL_FOREIGN_OLLAMA) {
		read_manifest(s, path);
	} else if (ends_with(base, ".gguf")) {
		add_gguf(s, path, base, (uint64_t)sb.st_size);
	} else if (s->program == LMI_CTL_FOREIGN_HUGGINGFACE &&
		   (!strcmp(base, "model.safetensors") ||
		    !strcmp(base, "model.safetensors.index.json"))) {
		repository_name(name, sizeof(name), folder);
		if (*name)
			add(s, name, folder, (uint64_t)sb.st_size);
	}
}

static void walk(struct search *s, const char *folder, unsigned depth)
{
	DIR *d = opendir(folder);
	char path[PATH_MAX];
	struct dirent *e;
	struct stat sb;

	while (d && s->st == LMD_OK && (e = readdir(d))) {
		if (e->d_name[0] == '.' || !strcmp(e->d_name, "blobs"))
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) >= sizeof(path))
			continue;
		if (lstat(path, &sb))
			continue;
		if (!S_ISDIR(sb.st_mode))
			take_file(s, folder, e->d_name);
		else if (depth < DEPTH_MAX)
			walk(s, path, depth + 1);
	}
	if (d)
		(void)closedir(d);
}

/* ---- the folders ---- */

static const struct place {
	enum lmi_ctl_foreign program;
	const char *variable; /* NULL: below the home folder */
	const char *below;
} places[] = {
	{LMI_CTL_FOREIGN_OLLAMA, "OLLAMA_MODELS", ""},
	{LMI_CTL_FOREIGN_OLLAMA, NULL, "/.ollama/models"},
	{LMI_CTL_FOREIGN_OLLAMA, "", "/usr/share/ollama/.ollama/models"},
	{LMI_CTL_FOREIGN_LMSTUDIO, NULL, "/.lmstudio/models"},
	{LMI_CTL_FOREIGN_LMSTUDIO, NULL, "/.cache/lm-studio/models"},
	{LMI_CTL_FOREIGN_HUGGINGFACE, "HF_HUB_CACHE", ""},
	{LMI_CTL_FOREIGN_HUGGINGFACE, "HF_HOME", "/hub"},
	{LMI_CTL_FOREIGN_HUGGINGFACE, NULL, "/.cache/huggingface/hub"},
	{LMI_CTL_FOREIGN_LLAMACPP, "LLAMA_CACHE", ""},
	{LMI_CTL_FOREIGN_LLAMACPP, NULL, "/.cache/llama.cpp"},
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct lmi_ctl_foreign_model *)a)->name,
		      ((const struct lmi_ctl_foreign_model *)b)->name);
}

enum lmd_status lmi_ctl_foreign_find(struct lmi_ctl_foreign_models *out, enum lmi_ctl_foreign program,
				     struct lmd_error *err)
{
	struct search s = {.out = out, .err = err, .program = program};
	bool given = false;

	*out = (struct lmi_ctl_foreign_models){0};
	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !given; i++) {
		const struct place *p = &places[i];
		const char *base = p->variable && !*p->variable ? "" : getenv(p->variable ? p->variable : "HOME");

		if (p->program != program || !base || (p->variable && *p->variable && !*base))
			continue;
		given = p->variable && *p->variable;
		(void)snprintf(out->folder, sizeof(out->folder), "%s%s", base, p->below);
		s.n_top = strlen(out->folder);
		if (program == LMI_CTL_FOREIGN_OLLAMA) {
			char manifests[PATH_MAX + 16];

			(void)snprintf(manifests, sizeof(manifests), "%s/manifests", out->folder);
			walk(&s, manifests, 0);
		} else {
			walk(&s, out->folder, 0);
		}
		if (out->n)
			break;
	}
	if (s.st != LMD_OK)
		lmi_ctl_foreign_fini(out);
	else if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_name);
	return s.st;
}

void lmi_ctl_foreign_fini(struct lmi_ctl_foreign_models *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		free(m->v[i].name);
		free(m->v[i].path);
	}
	lmi_free(m->v);
	*m = (struct lmi_ctl_foreign_models){0};
}
