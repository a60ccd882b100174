/* SPDX-License-Identifier: MIT
 *
 * llamactl push: uploads a model to a registry, from this machine's files. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/llamactl/interrupt.h"
#include "client/llamactl/model_files.h"
#include "client/llamactl/own_models.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "core/base/file.h"
#include "core/base/tower_file.h"
#include "core/sign/verify.h"
#include "hub/hub.h"
#include "store/modelfile.h"

#define MORE_MAX 8 /* parts that are not files of the model */

struct push {
	struct lmi_ctl_model_files files;
	struct lmi_store_modelfile modelfile;
	struct lmi_hub_part *parts; /* [files.n + MORE_MAX] */
	uint32_t n_parts;
	char *params, *messages; /* JSON, on the heap */
	char *signature;	 /* path of the signed manifest, on the heap */
	struct lmi_ctl_progress bar;
	struct lmi_cancel cancel;
};

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for the parts of a model");
}

/* ---- a Modelfile as the parts of Ollama's registry ---- */

/* A number, true or false as such, anything else as a text. */
static json_t *value_of(const char *text)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);

	if (json_is_number(v) || json_is_boolean(v))
		return v;
	json_decref(v);
	return json_string(text);
}

static enum lmd_status make_params(struct push *w, struct lmd_error *err)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < w->modelfile.n_params; i++) {
		const struct lmi_store_modelfile_param *p = &w->modelfile.params[i];
		json_t *list = json_object_get(o, p->name);

		if (strcmp(p->name, "stop") != 0)
			(void)json_object_set_new(o, p->name, value_of(p->value));
		else if (list)
			(void)json_array_append_new(list, json_string(p->value));
		else
			(void)json_object_set_new(o, p->name, json_pack("[s]", p->value));
	}
	w->params = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	return w->params ? LMD_OK : no_memory(err);
}

static enum lmd_status make_messages(struct push *w, struct lmd_error *err)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < w->modelfile.n_messages; i++) {
		const struct lmi_store_modelfile_message *m = &w->modelfile.messages[i];

		(void)json_array_append_new(
			list, json_pack("{s:s, s:s}", "role", m->role, "content", m->content));
	}
	w->messages = list ? json_dumps(list, JSON_COMPACT) : NULL;
	json_decref(list);
	return w->messages ? LMD_OK : no_memory(err);
}

static void add_text(struct push *w, enum lmi_hub_part_kind kind, const char *name, const char *text)
{
	if (text && *text)
		w->parts[w->n_parts++] =
			(struct lmi_hub_part){.kind = kind, .name = name, .text = text};
}

static enum lmd_status add_modelfile(struct push *w, struct lmd_error *err)
{
	const struct lmi_store_modelfile *m = &w->modelfile;
	const char *text = w->files.modelfile;
	enum lmd_status st = lmi_store_modelfile_parse(&w->modelfile, text, strlen(text), err);

	if (st == LMD_OK && m->adapter)
		st = lmd_fail(err, LMD_UNSUPPORTED,
			      "%s has an ADAPTER, which is not pushed: `llamactl export-lora` makes one model "
			      "of both",
			      w->files.name);
	if (st == LMD_OK && m->n_params)
		st = make_params(w, err);
	if (st == LMD_OK && m->n_messages)
		st = make_messages(w, err);
	if (st != LMD_OK)
		return st;
	add_text(w, LMI_HUB_PART_LICENSE, "LICENSE", m->license);
	add_text(w, LMI_HUB_PART_TEMPLATE, NULL, m->template);
	add_text(w, LMI_HUB_PART_SYSTEM, NULL, m->system);
	add_text(w, LMI_HUB_PART_PARAMS, NULL, w->params);
	add_text(w, LMI_HUB_PART_MESSAGES, NULL, w->messages);
	add_text(w, LMI_HUB_PART_MODELFILE, "Modelfile", text);
	return LMD_OK;
}

/* ---- the parts ---- */

/* The name of the model as one of a file. */
static void file_name(char out[160], const struct lmi_ctl_model_files *f)
{
	(void)snprintf(out, 160, "%s", f->name);
	for (char *c = out; *c; c++)
		*c = *c == '/' || *c == ':' ? '-' : *c;
}

/* The name of a file for those who pull it: a stored file has none of its own. */
static char *title_of(const struct lmi_ctl_model_files *f, uint32_t i)
{
	const char *base = lmi_file_base_name(f->paths[i]), *end = strrchr(base, '.');
	char *out = NULL, name[160];

	if (end && !strcmp(end, ".gguf") && strncmp(base, "model-0", 7) != 0)
		return strdup(base);
	file_name(name, f);
	if (f->n == 1 && asprintf(&out, "%s.gguf", name) < 0)
		return NULL;
	if (f->n > 1 && asprintf(&out, "%s-%05u-of-%05u.gguf", name, i + 1, f->n) < 0)
		return NULL;
	return out;
}

static enum lmd_status add_tower(struct push *w, struct lmd_error *err)
{
	const char *base = lmi_file_base_name(w->files.tower);
	char *title = NULL, name[160];

	file_name(name, &w->files);
	if (lmi_tower_is_name(base))
		title = strdup(base);
	else if (asprintf(&title, "mmproj-%s.gguf", name) < 0)
		title = NULL;
	if (!title)
		return no_memory(err);
	w->parts[w->n_parts++] =
		(struct lmi_hub_part){.kind = LMI_HUB_PART_TOWER, .name = title, .path = w->files.tower};
	return LMD_OK;
}

/* Adds the signed manifest of the model, if there is one beside its first file. */
static enum lmd_status add_signature(struct push *w, struct lmd_error *err)
{
	char *title = NULL;

	if (asprintf(&w->signature, "%s" LMI_SIGN_SUFFIX, w->files.paths[0]) < 0) {
		w->signature = NULL;
		return no_memory(err);
	}
	if (access(w->signature, R_OK) != 0)
		return LMD_OK;
	if (asprintf(&title, "%s" LMI_SIGN_SUFFIX, w->parts[0].name) < 0)
		return no_memory(err);
	w->parts[w->n_parts++] = (struct lmi_hub_part){
		.kind = LMI_HUB_PART_SIGNATURE, .name = title, .path = w->signature};
	return LMD_OK;
}

static enum lmd_status make_parts(struct push *w, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	w->parts = lmi_alloc(w->files.n + MORE_MAX, sizeof(*w->parts));
	if (!w->parts)
		return no_memory(err);
	for (uint32_t i = 0; i < w->files.n; i++) {
		char *title = title_of(&w->files, i);

		if (!title)
			return no_memory(err);
		w->parts[w->n_parts++] = (struct lmi_hub_part){
			.kind = LMI_HUB_PART_MODEL, .name = title, .path = w->files.paths[i]};
	}
	if (w->files.tower)
		st = add_tower(w, err);
	if (st == LMD_OK && w->files.modelfile)
		st = add_modelfile(w, err);
	return st == LMD_OK && w->files.n ? add_signature(w, err) : st;
}

static void fini(struct push *w)
{
	for (uint32_t i = 0; i < w->n_parts; i++)
		if (w->parts[i].path)
			free((char *)(uintptr_t)w->parts[i].name);
	lmi_free(w->parts);
	free(w->params);
	free(w->messages);
	free(w->signature);
	lmi_store_modelfile_fini(&w->modelfile);
	lmi_ctl_model_files_fini(&w->files);
}

/* ---- the transfer ---- */

static void on_progress(void *arg, uint64_t done, uint64_t total, bool checking)
{
	struct push *w = arg;

	lmi_ctl_progress_show(&w->bar, checking ? "hash" : "upload", done, total);
}

static enum lmd_status upload(struct lmi_ctl *ctl, struct push *w, struct lmi_hub_pushed *done,
			      struct lmd_error *err)
{
	const char *dest = lmi_arg_pos(&ctl->args, 1);
	struct lmi_ctl_hub_paths paths;
	struct lmi_hub_opts o;
	const struct lmi_hub_push p = {.dest = dest,
				       .parts = w->parts,
				       .n_parts = w->n_parts,
				       .arch = w->files.arch,
				       .quant = w->files.quant,
				       .transfer = {.progress = on_progress, .arg = w}};
	enum lmd_status st;

	lmi_ctl_hub_opts(&o, &paths);
	lmi_ctl_hub_make_upload_dir(&o);
	lmi_ctl_interrupt_install();
	(void)lmi_cancel_attach(&w->cancel);
	lmi_ctl_interrupt_cancel(&w->cancel);
	lmi_ctl_progress_init(&w->bar);
	st = lmi_hub_push(done, &p, &o, err);
	lmi_ctl_progress_end(&w->bar);
	lmi_ctl_interrupt_cancel(NULL);
	(void)lmi_cancel_attach(NULL);
	if (st == LMD_CANCELLED)
		(void)lmd_fail(err, st, "stopped by a signal; the same command continues");
	return st;
}

static void print(struct lmi_ctl *ctl, const struct lmi_hub_pushed *done)
{
	char digest[LMI_SHA256_HEX + 8];
	json_t *o;

	(void)snprintf(digest, sizeof(digest), "sha256:%s", done->digest);
	if (!lmi_arg_flag(&ctl->args, "json")) {
		puts(digest);
		return;
	}
	o = json_pack("{s:s, s:s, s:I, s:I}", "destination", lmi_arg_pos(&ctl->args, 1), "digest",
		      digest, "bytes_sent", (json_int_t)done->bytes_sent, "bytes_kept",
		      (json_int_t)done->bytes_kept);
	lmi_ctl_remote_print(o);
	json_decref(o);
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct lmi_hub_pushed done = {0};
	struct push w = {0};
	enum lmd_status st =
		lmi_ctl_model_files_find(&w.files, ctl, lmi_arg_pos(&ctl->args, 0), err);

	if (st == LMD_OK)
		st = make_parts(&w, err);
	if (st == LMD_OK)
		st = upload(ctl, &w, &done, err);
	if (st == LMD_OK)
		print(ctl, &done);
	fini(&w);
	return st;
}

static const struct lmi_opt opts[] = {
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_push = {
	.name = "push",
	.args = "NAME DEST",
	.brief = "Upload a model to a registry",
	.doc = "NAME is a GGUF file, or a model of `llamactl list` whose files are on this machine. DEST is "
	       "oci:HOST/REPO[:TAG] for an OCI registry, or ollama:USER/NAME[:TAG]. The vision tower beside the "
	       "model goes with it. Files that the registry has are not sent again; after an interruption the same "
	       "command continues. A model made by "
	       "`llamactl create` is pushed with its Modelfile: as the template, system prompt, parameters, "
	       "messages and licence that Ollama expects, or as a file beside the model. Prints the digest of "
	       "the manifest.\n\nUser and password are those that `podman login HOST` or `docker login "
	       "HOST` stored, in the file of REGISTRY_AUTH_FILE, $XDG_RUNTIME_DIR/containers/auth.json, or "
	       "config.json in DOCKER_CONFIG or ~/.docker; programs that keep passwords (credsStore) are not "
	       "asked. OLLAMA_REGISTRY is the address of a registry in place of Ollama's. With --json: an "
	       "object with destination, digest, bytes_sent, and bytes_kept, which were there already.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
