/* SPDX-License-Identifier: MIT */
#include "client/llamactl/vocab_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/json_out.h"
#include "core/checkpoint/open.h"
#include "core/checkpoint/tokenizer/hf_tokenizer.h"

static enum lmd_status open_file(struct lmi_ctl_vocab_file *v,
				 struct lmi_plugin_registry *plugins, const char *path,
				 struct lmd_error *err)
{
	enum lmd_status st;

	if (lmi_hf_is_tokenizer_path(path)) {
		st = lmi_hf_tokenizer_open(&v->hf, path, err);
		if (st == LMD_OK)
			v->spec = *lmi_hf_tokenizer_spec(v->hf);
		return st;
	}
	st = lmi_model_open_any(&v->model, plugins, path, LMI_OPEN_HEADER_ONLY, err);
	if (st == LMD_OK)
		v->spec = *lmi_model_view(v->model)->tok;
	return st;
}

enum lmd_status lmi_ctl_vocab_file_open(struct lmi_ctl_vocab_file *v, struct lmi_ctl *ctl,
					const char *path, const char *pre, struct lmd_error *err)
{
	struct lmi_plugin_registry *registry;
	const struct lmd_host *host;
	enum lmd_status st;

	memset(v, 0, sizeof(*v));
	st = lmi_ctl_host(ctl, &host, err);
	if (st == LMD_OK)
		st = lmi_ctl_registry(ctl, &registry, err);
	if (st == LMD_OK)
		st = open_file(v, registry, path, err);
	if (st != LMD_OK)
		return st;
	if (pre)
		v->spec.pre = pre;
	st = lmi_tokenizer_open(&v->tok, registry, host, &v->spec, err);
	if (st != LMD_OK)
		lmd_error_prefix(err, path);
	return st;
}

void lmi_ctl_vocab_file_close(struct lmi_ctl_vocab_file *v)
{
	lmi_tokenizer_close(v->tok);
	lmi_model_close(v->model);
	lmi_hf_tokenizer_close(v->hf);
	memset(v, 0, sizeof(*v));
}

enum lmd_status lmi_ctl_batch_bool(const json_t *line, const char *key, bool def, bool *out,
				   struct lmd_error *err)
{
	const json_t *v = json_object_get(line, key);

	if (v && !json_is_boolean(v))
		return lmd_fail(err, LMD_INVALID, "\"%s\" is neither true nor false", key);
	*out = v ? json_is_true(v) : def;
	return LMD_OK;
}

static void print_error(const struct lmd_error *err)
{
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_flat_object(&j, NULL);
	lmi_ctl_json_str(&j, "error", err->text);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

enum lmd_status lmi_ctl_batch(lmi_ctl_batch_fn answer, void *arg, struct lmd_error *err)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	while ((n = getline(&line, &cap, stdin)) > 0) {
		struct lmd_error e;
		json_error_t je;
		json_t *j = json_loadb(line, (size_t)n, 0, &je);
		enum lmd_status st;

		if (json_is_object(j))
			st = answer(arg, j, &e);
		else
			st = lmd_fail(&e, LMD_INVALID, "not a JSON object: %s",
				      j ? "another kind of value" : je.text);
		if (st != LMD_OK)
			print_error(&e);
		json_decref(j);
		/* flush for a caller that waits for this answer before it sends the next line */
		if (fflush(stdout))
			break;
	}
	free(line);
	if (ferror(stdin))
		return lmd_fail(err, LMD_IO, "standard input: %s", strerror(errno));
	return LMD_OK;
}
