/* SPDX-License-Identifier: MIT
 *
 * llamactl info: prints the contents of a model file and the size of its weights. Only the header
 * is read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/meta_text.h"
#include "client/llamactl/daemon_model.h"
#include "client/llamactl/model_choice.h"
#include "client/llamactl/own_models.h"
#include "core/base/printable.h"
#include "core/checkpoint/open.h"
#include "core/quant/quant.h"
#include "hub/shape.h"

#define SHOWN_ELEMENTS 8  /* of an array in the text form */
#define JSON_ELEMENTS  64 /* longer arrays are cut unless --full */

static const char weights_note[] =
	"weights only; llamactl explain adds the context and the working memory";

/* Tensors, elements and bytes by type. */
struct totals {
	struct total {
		uint32_t n;
		uint64_t elements, bytes;
	} by_dtype[LMD_DTYPE_END], all;
};

static uint64_t n_elements(const struct lmd_tensor *t)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < t->n_dim; i++)
		n *= (uint64_t)t->dims[i];
	return n;
}

static void add(struct total *t, const struct lmd_tensor *x)
{
	t->n++;
	t->elements += n_elements(x);
	t->bytes += x->bytes;
}

static struct totals count(const struct lmd_model *m)
{
	struct totals t = {0};

	for (uint32_t i = 0; i < m->n_tensors; i++) {
		add(&t.by_dtype[m->tensors[i].dtype], &m->tensors[i]);
		add(&t.all, &m->tensors[i]);
	}
	return t;
}

static uint64_t file_bytes(const struct lmi_model *m)
{
	struct lmi_model_file f;
	uint64_t n = 0;

	for (uint32_t i = 0; i < lmi_model_n_files(m); i++) {
		lmi_model_file(m, i, &f);
		n += f.bytes;
	}
	return n;
}

static void json_keys(struct lmi_ctl_json *j, const struct lmd_model *m, bool full)
{
	lmi_ctl_json_object(j, "keys");
	for (uint32_t i = 0; i < m->n_meta; i++)
		lmi_ctl_meta_json(j, m->meta[i].key, &m->meta[i],
				  full ? UINT64_MAX : JSON_ELEMENTS);
	lmi_ctl_json_end(j);
}

static void json_tensors(struct lmi_ctl_json *j, const struct lmd_model *m)
{
	lmi_ctl_json_array(j, "tensors");
	for (uint32_t i = 0; i < m->n_tensors; i++) {
		const struct lmd_tensor *t = &m->tensors[i];

		lmi_ctl_json_flat_object(j, NULL);
		lmi_ctl_json_str(j, "name", t->name);
		lmi_ctl_json_str(j, "type", lmi_dtype(t->dtype)->name);
		lmi_ctl_json_flat_array(j, "dims");
		for (uint32_t k = 0; k < t->n_dim; k++)
			lmi_ctl_json_int(j, NULL, t->dims[k]);
		lmi_ctl_json_end(j);
		lmi_ctl_json_uint(j, "bytes", t->bytes);
		lmi_ctl_json_uint(j, "file", t->file);
		lmi_ctl_json_uint(j, "offset", t->offset);
		lmi_ctl_json_end(j);
	}
	lmi_ctl_json_end(j);
}

static void json_types(struct lmi_ctl_json *j, const struct totals *t)
{
	lmi_ctl_json_array(j, "types");
	for (uint32_t i = 0; i < LMD_DTYPE_END; i++) {
		if (!t->by_dtype[i].n)
			continue;
		lmi_ctl_json_flat_object(j, NULL);
		lmi_ctl_json_str(j, "type", lmi_dtype(i)->name);
		lmi_ctl_json_uint(j, "tensors", t->by_dtype[i].n);
		lmi_ctl_json_uint(j, "elements", t->by_dtype[i].elements);
		lmi_ctl_json_uint(j, "bytes", t->by_dtype[i].bytes);
		lmi_ctl_json_end(j);
	}
	lmi_ctl_json_end(j);
}

static void print_json(const struct lmi_model *model, const struct totals *t, bool full)
{
	const struct lmd_model *m = lmi_model_view(model);
	struct lmi_model_file f;
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_str(&j, "format", m->format);
	lmi_ctl_json_str(&j, "arch", m->arch);
	lmi_ctl_json_str(&j, "name", m->name);
	lmi_ctl_json_uint(&j, "bytes", file_bytes(model));
	lmi_ctl_json_array(&j, "files");
	for (uint32_t i = 0; i < lmi_model_n_files(model); i++) {
		lmi_model_file(model, i, &f);
		lmi_ctl_json_flat_object(&j, NULL);
		lmi_ctl_json_str(&j, "path", f.path);
		lmi_ctl_json_uint(&j, "bytes", f.bytes);
		lmi_ctl_json_end(&j);
	}
	lmi_ctl_json_end(&j);
	lmi_ctl_json_uint(&j, "elements", t->all.elements);
	lmi_ctl_json_object(&j, "memory");
	lmi_ctl_json_uint(&j, "weights", t->all.bytes);
	lmi_ctl_json_str(&j, "note", weights_note);
	lmi_ctl_json_end(&j);
	json_types(&j, t);
	json_keys(&j, m, full);
	json_tensors(&j, m);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static void print_keys(const struct lmd_model *m, bool full)
{
	char show[160];

	printf("\n%u keys\n", m->n_meta);
	for (uint32_t i = 0; i < m->n_meta; i++) {
		const struct lmd_meta *v = &m->meta[i];

		printf("  %-40s ", lmi_printable(show, sizeof(show), v->key, strlen(v->key)));
		lmi_ctl_meta_print(v, full ? UINT64_MAX : SHOWN_ELEMENTS);
		putchar('\n');
	}
}

static void print_text(const struct lmi_model *model, const struct totals *t, bool full)
{
	const struct lmd_model *m = lmi_model_view(model);
	struct lmi_model_file f;
	char show[160], size[24];

	printf("name          %s\narchitecture  %s\nformat        %s\n", m->name, m->arch,
	       m->format);
	for (uint32_t i = 0; i < lmi_model_n_files(model); i++) {
		lmi_model_file(model, i, &f);
		printf("file          %s, %s\n", lmi_printable_path(show, sizeof(show), f.path),
		       lmi_ctl_show_size(size, sizeof(size), f.bytes));
	}
	printf("elements      %" PRIu64 " in %u tensors\n", t->all.elements, t->all.n);
	printf("memory        %s (%s)\n", lmi_ctl_show_size(size, sizeof(size), t->all.bytes),
	       weights_note);
	for (uint32_t i = 0; i < LMD_DTYPE_END; i++)
		if (t->by_dtype[i].n)
			printf("  %-10s  %6u tensors %16" PRIu64 " elements %12s\n",
			       lmi_dtype(i)->name, t->by_dtype[i].n, t->by_dtype[i].elements,
			       lmi_ctl_show_size(size, sizeof(size), t->by_dtype[i].bytes));
	print_keys(m, full);
	printf("\n%u tensors\n", m->n_tensors);
	for (uint32_t i = 0; i < m->n_tensors; i++) {
		const struct lmd_tensor *x = &m->tensors[i];

		printf("  %-40s %-8s", lmi_printable(show, sizeof(show), x->name, strlen(x->name)),
		       lmi_dtype(x->dtype)->name);
		for (uint32_t k = 0; k < x->n_dim; k++)
			printf("%s%" PRId64, k ? " x " : " ", x->dims[k]);
		putchar('\n');
	}
}

/* ---- a well-known name, whose sizes are known without a file ---- */

static void print_shape(const struct lmi_hub_shape *s, bool json)
{
	double params = (double)lmi_hub_shape_params(s);
	double active = (double)lmi_hub_shape_active(s);
	const struct {
		const char *key, *title;
		uint32_t value;
	} sizes[] = {
		{"n_layer", "layers", s->n_layer},	  {"width", "width", s->width},
		{"ffn", "feed-forward", s->ffn},	  {"n_head", "heads", s->n_head},
		{"n_kv_head", "KV heads", s->n_kv_head},  {"head", "head size", s->head},
		{"n_expert", "experts", s->n_expert},	  {"n_expert_used", "used", s->n_used},
		{"window", "window", s->window},	  {"n_vocab", "vocabulary", s->n_vocab},
		{"n_ctx", "trained context", s->n_ctx},
	};
	struct lmi_ctl_json j;

	if (!json) {
		printf("%-16s%s (well known; no file was read)\n", "name", s->name);
		printf("%-16s%.1f billion, %.1f of them for a token\n", "parameters", params * 1e-9,
		       active * 1e-9);
		for (size_t i = 0; i < LMD_LEN(sizes); i++)
			if (sizes[i].value)
				printf("%-16s%u\n", sizes[i].title, sizes[i].value);
		return;
	}
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_str(&j, "name", s->name);
	lmi_ctl_json_uint(&j, "parameters", lmi_hub_shape_params(s));
	lmi_ctl_json_uint(&j, "active", lmi_hub_shape_active(s));
	for (size_t i = 0; i < LMD_LEN(sizes); i++)
		lmi_ctl_json_uint(&j, sizes[i].key, sizes[i].value);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static bool find_shape(const char *word, struct lmi_hub_shape *s)
{
	struct lmd_error none = {0};
	char file[4096];

	return !lmi_ctl_is_file_argument(word) && lmi_hub_default_shapes(file, sizeof(file)) &&
	       lmi_hub_shape_find(s, file, word, &none) == LMD_OK;
}

/* ---- the command ---- */

static enum lmd_status info_file(struct lmi_ctl *ctl, const char *path, struct lmd_error *err)
{
	struct lmi_model *m = NULL;
	struct totals t;
	enum lmd_status st;

	st = lmi_ctl_open_model(ctl, &m, path, LMI_OPEN_HEADER_ONLY, err);
	if (st != LMD_OK)
		return st;
	t = count(lmi_model_view(m));
	if (lmi_arg_flag(&ctl->args, "json"))
		print_json(m, &t, lmi_arg_flag(&ctl->args, "full"));
	else
		print_text(m, &t, lmi_arg_flag(&ctl->args, "full"));
	lmi_model_close(m);
	return LMD_OK;
}

/* Describes a model of the user's own store. */
static enum lmd_status info_own(struct lmi_ctl *ctl, const char *name, struct lmd_error *err)
{
	char *path = NULL;
	bool own;
	enum lmd_status st = lmi_ctl_models_client(ctl, &own, err);

	if (st == LMD_OK)
		st = lmi_ctl_own_model_path(ctl, name, &path, err);
	if (st == LMD_OK)
		st = info_file(ctl, path, err);
	free(path);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *word = lmi_arg_pos(&ctl->args, 0);
	struct lmi_hub_shape s;
	enum lmd_status st;

	if (lmi_ctl_is_named(ctl, word))
		st = lmi_ctl_named_info(ctl, err);
	else if (lmi_ctl_is_file_argument(word) || !access(word, F_OK))
		st = info_file(ctl, word, err);
	else
		st = info_own(ctl, word, err);

	if (st == LMD_OK || !find_shape(word, &s))
		return st;
	*err = (struct lmd_error){0};
	print_shape(&s, lmi_arg_flag(&ctl->args, "json"));
	return LMD_OK;
}

static const struct lmi_opt opts[] = {
	LMI_OPT_JSON,
	{.name = "full",
	 .type = LMI_OPT_FLAG,
	 .doc = "Print long arrays, such as the vocabulary, in full."},
};

const struct lmi_cli_cmd lmi_ctl_cmd_info = {
	.name = "info",
	.args = "FILE",
	.brief = "Print the keys, tensors and sizes of a model file",
	.doc = "FILE is a GGUF file, the first file of a set NAME-00001-of-0000N.gguf, a Hugging "
	       "Face folder, or a model in the format of a plugin. Only "
	       "the header is read; it is checked just as when the model is loaded.\n\nInstead "
	       "of a file, FILE may be the name of a model of `llamactl list`, or a well-known "
	       "name such as llama3.1:8b, whose sizes are printed. With --json "
	       "sizes are in bytes.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
