/* SPDX-License-Identifier: MIT
 *
 * Sections of the configuration that belong to one model, [model NAME]: a system prompt, a template,
 * how the model is loaded, and values of sampling parameters. */
#include "service/preset_sections.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/cpu_set.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "core/cli/conf_file.h"
#include "core/cli/opts.h"
#include "core/cli/suggest.h"
#include "core/quant/quant.h"
#include "llamad/attr.h"
#include "service/adapters.h"
#include "service/loaded_model.h"
#include "service/draft_pair.h"

#define SECTION "model "

/* The keys besides the sampling parameters. */
static const struct lmi_opt keys[] = {
	{.name = "system",
	 .type = LMI_OPT_STR,
	 .value = "TEXT",
	 .doc = "System prompt of conversations that have none."},
	{.name = "system_file",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "The same from a file."},
	{.name = "template",
	 .type = LMI_OPT_STR,
	 .value = "NAME|TEXT",
	 .doc = "Chat template in place of the model's own: the name of one of the model's variants "
		"or of a built-in template, or the text of a template if it contains a {."},
	{.name = "template_file",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "The text of the template from a file."},
	{.name = "ctx",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = 1u << 30,
	 .doc = "Context size of one sequence in tokens, when the model is loaded for a request."},
	{.name = "threads",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = 1024,
	 .doc = "Number of threads that run the model, in place of the key in [engine]."},
	{.name = "threads_batch",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = 1024,
	 .doc = "Number of threads for steps of more than 16 tokens, in place of the key in [engine]."},
	{.name = "cpus",
	 .type = LMI_OPT_STR,
	 .value = "LIST|MASK",
	 .doc = "Processors that the model's threads run on, such as 0-7,16 or 0xff, in place of the key in "
		"[engine]."},
	{.name = "kv_type",
	 .type = LMI_OPT_STR,
	 .value = "TYPE",
	 .doc = "Data type of the KV cache, when the model is loaded for a request."},
	{.name = "kv_type_k",
	 .type = LMI_OPT_STR,
	 .value = "TYPE",
	 .doc = "Data type of the keys in the KV cache, in place of kv_type."},
	{.name = "kv_type_v",
	 .type = LMI_OPT_STR,
	 .value = "TYPE",
	 .doc = "Data type of the values in the KV cache, in place of kv_type."},
	{.name = "adapters",
	 .type = LMI_OPT_STR,
	 .value = "NAME=FILE[:SCALE],...",
	 .doc = "LoRA adapters and control vectors that are loaded with the model, at most 16. A "
		"request chooses one by its name; others are not affected. The files are GGUF files "
		"or PEFT folders, by absolute paths; SCALE multiplies the adapter's own scale."},
	{.name = "adapters_dir",
	 .type = LMI_OPT_STR,
	 .value = "DIR",
	 .doc = "Folder of further adapters: a request for the adapter NAME that is not in the list gets "
		"NAME.gguf or the PEFT folder NAME from there. They are loaded when they are asked "
		"for; the model has room for 16 adapters, and the one that was requested longest ago "
		"makes room."},
	{.name = "adapter",
	 .type = LMI_OPT_STR,
	 .value = "NAME",
	 .doc = "The adapter of requests that name none. In the section of an alias, it makes the "
		"alias the adapted model."},
	{.name = "context_shift",
	 .type = LMI_OPT_STR,
	 .value = "BOOL",
	 .doc = "on or off: drop tokens from the middle of a full context and go on, for requests that do not "
		"say whether to."},
	{.name = "cache_reuse",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 0,
	 .max = 1 << 21,
	 .doc = "Move the rows of passages of at least N tokens that the prefix cache knows at other positions, for "
		"requests that do not say whether to; an approximation. 0 = off."},
	{.name = "n_keep",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = -1,
	 .max = 1u << 30,
	 .doc = "How many tokens at the beginning then stay, for requests that do not say; -1 = the "
		"whole prompt."},
	{.name = "mmproj",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "File of the vision tower (GGUF, architecture clip), which lets the model read pictures. "
		"By default, the file mmproj*.gguf in the model's folder is used, if there is exactly one "
		"and it fits."},
	{.name = "draft_model",
	 .type = LMI_OPT_STR,
	 .value = "FILE|auto|nextn",
	 .doc = "Speculative decoding: file of a smaller model with the same vocabulary, which "
		"guesses tokens, when the model is loaded for a request. nextn: the model's own draft "
		"layers guess them (multi-token prediction); a model without any is not loaded. auto: "
		"its own draft layers if it has any, otherwise the smallest model in "
		"memory that has the same vocabulary and at most a quarter of the weights; when "
		"that one is unloaded, the pairing ends and the model goes on."},
	{.name = "draft_lookup",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "Speculative decoding: a UTF-8 text of at most 16 MiB in which guesses are looked up beside "
		"the prompt and earlier answers, such as the code that answers are about. It is "
		"read when the model is loaded."},
	{.name = "draft_lookahead",
	 .type = LMI_OPT_STR,
	 .value = "BOOL",
	 .doc = "on or off (default): speculative decoding by lookahead as well, for devices on which rows of a step are "
		"cheap. Each step computes 9 rows more, as long as that pays and draft_max is 9 or more. A model whose "
		"attention cannot mask rows is not loaded with it."},
	{.name = "isolation",
	 .type = LMI_OPT_STR,
	 .value = "MODE",
	 .doc = "auto, off or process: whether the model's backend runs in a process of its own, so that a crash "
		"of its plugin ends the model's requests and nothing else. In place of the key in [engine]."},
	{.name = "keep_alive",
	 .type = LMI_OPT_TIME,
	 .value = "TIME",
	 .min = 0,
	 .max = 7 * 24 * 3600 * 1000,
	 .doc = "Idle time after which the model is unloaded; 0 = never."},
	{.name = "preload",
	 .type = LMI_OPT_STR,
	 .value = "BOOL",
	 .doc = "on or off: load the model when the daemon starts. Models are preloaded one after the "
		"other, while requests are served."},
	{.name = "group",
	 .type = LMI_OPT_STR,
	 .value = "NAME",
	 .doc = "Of all models with the same group, one is in memory: before another one is loaded, it "
		"finishes the requests that it has, and is unloaded."},
};

bool lmi_svc_preset_is_section(const char *section)
{
	return !strncmp(section, SECTION, strlen(SECTION));
}

enum lmd_status lmi_svc_preset_list_begin(struct lmi_svc_preset_list *p, const char *section,
					  struct lmd_error *err)
{
	const char *name = section + strlen(SECTION);
	char shown[80];

	name += strspn(name, " \t");
	lmi_printable(shown, sizeof(shown), name, strlen(name));
	if (!*name)
		return lmd_fail(err, LMD_INVALID, "[model ] needs the name of a model: [model NAME]");
	for (uint32_t i = 0; i < p->n; i++)
		if (!strcmp(p->v[i].name, name))
			return lmd_fail(err, LMD_INVALID, "the section [model %s] occurs twice", shown);
	if (p->n == LMI_SVC_PRESETS_MAX)
		return lmd_fail(err, LMD_INVALID, "more than %d sections [model NAME]",
				LMI_SVC_PRESETS_MAX);
	p->v[p->n++] = (struct lmi_svc_preset){.name = name};
	return LMD_OK;
}

/* ---- values ---- */

static enum lmd_status read_file(const char *path, struct lmd_arena *arena, const char **out,
				 struct lmd_error *err)
{
	struct lmi_file f = {.fd = -1};
	char *text, shown[160];
	enum lmd_status st;

	lmi_printable_path(shown, sizeof(shown), path);
	if (*path != '/')
		return lmd_fail(err, LMD_INVALID, "'%s' is not an absolute path", shown);
	st = lmi_file_open(&f, path, err);
	if (st != LMD_OK)
		return st;
	if (f.bytes > LMI_SVC_PRESET_TEXT_BYTES) {
		lmi_file_close(&f);
		return lmd_fail(err, LMD_INVALID, "%s has %llu bytes, the maximum is %u", shown,
				(unsigned long long)f.bytes, LMI_SVC_PRESET_TEXT_BYTES);
	}
	text = lmi_arena_array(arena, (size_t)f.bytes + 1, 1);
	if (!text)
		st = lmd_fail(err, LMD_NOMEM, "no memory for the configuration");
	else if (f.bytes)
		st = lmi_file_read(&f, 0, text, (size_t)f.bytes, err);
	lmi_file_close(&f);
	if (st == LMD_OK && memchr(text, 0, (size_t)f.bytes))
		return lmd_fail(err, LMD_INVALID, "%s contains a zero byte", shown);
	*out = text;
	return st;
}

static enum lmd_status set_text(const char **out, const char *value, bool file,
				struct lmd_arena *arena, struct lmd_error *err)
{
	if (*out)
		return lmd_fail(err, LMD_INVALID, "the text is already set");
	if (file)
		return read_file(value, arena, out, err);
	*out = lmi_arena_strndup(arena, value, strlen(value));
	return *out ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for the configuration");
}

static enum lmd_status set_path(const char **out, const char *value, struct lmd_arena *arena,
				struct lmd_error *err)
{
	return *value == '/' ? set_text(out, value, false, arena, err)
			     : lmd_fail(err, LMD_INVALID, "'%.120s' is not an absolute path", value);
}

static enum lmd_status set_cpus(const char **out, const char *value, struct lmd_arena *arena,
				struct lmd_error *err)
{
	struct lmi_cpu_set cpus;
	enum lmd_status st = lmi_cpu_set_parse(&cpus, value, err);

	if (st == LMD_OK && strlen(value) > LMI_SVC_CPUS_BYTES)
		return lmd_fail(err, LMD_INVALID,
				"the list has %zu bytes, more than the limit of %d; a mask such as 0xff "
				"is shorter",
				strlen(value), LMI_SVC_CPUS_BYTES);
	return st == LMD_OK ? set_text(out, value, false, arena, err) : st;
}

static enum lmd_status set_bool(bool *has, bool *out, const char *text, struct lmd_error *err)
{
	*has = true;
	*out = !strcmp(text, "on");
	if (!*out && strcmp(text, "off") != 0)
		return lmd_fail(err, LMD_INVALID, "'%.40s' is neither on nor off", text);
	return LMD_OK;
}

static enum lmd_status set_sampling(struct lmi_svc_preset *p, int row, const char *text,
				    struct lmd_error *err)
{
	const struct lmi_sampler_scalar_row *r = &lmi_sampler_scalar_rows[row];
	char *end, shown[48];
	double x = strtod(text, &end);

	if (p->sampling.has[row])
		return lmd_fail(err, LMD_INVALID, "the key is already set");
	lmi_printable(shown, sizeof(shown), text, strlen(text));
	if (!*text || *end || !(x >= r->min && x <= r->max))
		return lmd_fail(err, LMD_INVALID, "'%s' is not a number from %g to %g", shown, r->min,
				r->max);
	if (r->type == LMD_PARAM_INT && x != (double)(int64_t)x)
		return lmd_fail(err, LMD_INVALID, "'%s' is not a whole number", shown);
	p->sampling.value[row] = x;
	p->sampling.has[row] = true;
	return LMD_OK;
}

/* Sets the type that the end of the key says: of both, keys or values. */
static enum lmd_status set_kv_type(struct lmi_svc_preset *p, const char *key, const char *text,
				   struct lmd_arena *arena, struct lmd_error *err)
{
	struct lmi_dtype_cache_names names = {.both = NULL};
	int32_t k_dtype, v_dtype;
	enum lmd_status st;

	*(!strcmp(key, "kv_type") ? &names.both : key[8] == 'k' ? &names.k : &names.v) = text;
	st = lmi_dtype_parse_cache(&names, false, &k_dtype, &v_dtype, err);
	return st == LMD_OK ? set_text(names.both ? &p->kv_type
				       : names.k  ? &p->kv_type_k
						  : &p->kv_type_v,
				       text, false, arena, err)
			    : st;
}

/* The words of the key isolation. */
static const char *const isolations[] = {[LMI_SVC_ISOLATION_OFF] = "off",
					 [LMI_SVC_ISOLATION_PROCESS] = "process",
					 [LMI_SVC_ISOLATION_AUTO] = "auto"};

static enum lmd_status set_isolation(struct lmi_svc_preset *p, const char *text, struct lmd_error *err)
{
	char shown[48];

	for (int i = LMI_SVC_ISOLATION_OFF; i < (int)LMD_LEN(isolations); i++)
		if (!strcmp(text, isolations[i])) {
			p->isolation = i;
			return LMD_OK;
		}
	lmi_printable(shown, sizeof(shown), text, strlen(text));
	return lmd_fail(err, LMD_INVALID, "'%s' is none of auto, off and process", shown);
}

static enum lmd_status set_adapters(struct lmi_svc_preset *p, const char *text,
				    struct lmd_arena *arena, struct lmd_error *err)
{
	struct lmi_svc_adapters parsed;
	enum lmd_status st = lmi_svc_adapters_parse(&parsed, text, err);

	if (st != LMD_OK)
		return st;
	lmi_svc_adapters_fini(&parsed);
	return set_text(&p->adapters, text, false, arena, err);
}

static enum lmd_status set_key(struct lmi_svc_preset *p, const struct lmi_opt *o, const char *text,
			       struct lmd_arena *arena, struct lmd_error *err)
{
	struct lmi_opt_value v = {.opt = o};
	enum lmd_status st = lmi_opt_set(&v, text, err);

	if (st != LMD_OK)
		return st;
	if (!strncmp(o->name, "system", 6))
		return set_text(&p->system, text, o->name[6] == '_', arena, err);
	if (!strncmp(o->name, "template", 8))
		return set_text(&p->template, text, o->name[8] == '_', arena, err);
	if (!strcmp(o->name, "adapters"))
		return set_adapters(p, text, arena, err);
	if (!strcmp(o->name, "adapter"))
		return set_text(&p->adapter, text, false, arena, err);
	if (!strcmp(o->name, "mmproj"))
		return set_path(&p->mmproj, text, arena, err);
	if (!strcmp(o->name, "draft_model"))
		return strcmp(text, LMI_SVC_DRAFT_AUTO) && strcmp(text, LMI_ENGINE_DRAFT_OWN)
			       ? set_path(&p->draft_model, text, arena, err)
			       : set_text(&p->draft_model, text, false, arena, err);
	if (!strcmp(o->name, "draft_lookup"))
		return set_path(&p->draft_lookup, text, arena, err);
	if (!strcmp(o->name, "draft_lookahead"))
		return set_bool(&p->has_draft_lookahead, &p->draft_lookahead, text, err);
	if (!strcmp(o->name, "adapters_dir"))
		return set_path(&p->adapters_dir, text, arena, err);
	if (!strncmp(o->name, "kv_type", 7))
		return set_kv_type(p, o->name, text, arena, err);
	if (!strcmp(o->name, "ctx")) {
		p->n_ctx = (uint32_t)v.i;
		return LMD_OK;
	}
	if (!strcmp(o->name, "threads") || !strcmp(o->name, "threads_batch")) {
		*(o->name[7] ? &p->n_thread_batch : &p->n_thread) = (uint32_t)v.i;
		return LMD_OK;
	}
	if (!strcmp(o->name, "cpus"))
		return set_cpus(&p->cpus, text, arena, err);
	if (!strcmp(o->name, "context_shift"))
		return set_bool(&p->has_context_shift, &p->context_shift, text, err);
	if (!strcmp(o->name, "cache_reuse")) {
		p->has_cache_reuse = true;
		p->cache_reuse = (uint32_t)v.i;
		return LMD_OK;
	}
	if (!strcmp(o->name, "preload"))
		return set_bool(&p->has_preload, &p->preload, text, err);
	if (!strcmp(o->name, "group"))
		return set_text(&p->group, text, false, arena, err);
	if (!strcmp(o->name, "isolation"))
		return set_isolation(p, text, err);
	if (!strcmp(o->name, "n_keep")) {
		p->has_n_keep = true;
		p->n_keep = v.i;
		return LMD_OK;
	}
	p->has_keep_alive = true;
	p->keep_alive_ms = v.i ? v.i : -1;
	return LMD_OK;
}

enum lmd_status lmi_svc_preset_list_set(struct lmi_svc_preset_list *p, const char *key,
					const char *value, struct lmd_arena *arena,
					struct lmd_error *err)
{
	struct lmi_svc_preset *last = &p->v[p->n - 1];
	int row = lmi_sampler_scalar_find(key);
	const struct lmi_opt *o = NULL;
	char shown[64], where[80];
	enum lmd_status st;

	lmi_printable(shown, sizeof(shown), key, strlen(key));
	for (size_t i = 0; i < LMD_LEN(keys); i++)
		o = strcmp(keys[i].name, key) ? o : &keys[i];
	if (!o && row < 0) {
		struct lmi_cli_suggest s;

		lmi_cli_suggest_init(&s, key);
		for (size_t i = 0; i < LMD_LEN(keys); i++)
			lmi_cli_suggest_consider(&s, keys[i].name);
		for (size_t i = 0; i < LMI_SAMPLER_N_SCALAR; i++)
			lmi_cli_suggest_consider(&s, lmi_sampler_scalar_rows[i].name);
		if (s.best)
			return lmd_fail(err, LMD_INVALID,
					"[model NAME] has no key '%s' (did you mean '%s'?)", shown,
					s.best);
		return lmd_fail(err, LMD_INVALID, "[model NAME] has no key '%s'", shown);
	}
	if (!*value)
		return lmd_fail(err, LMD_INVALID, "the key '%s' needs a value", shown);
	st = o ? set_key(last, o, value, arena, err) : set_sampling(last, row, value, err);
	if (st == LMD_INVALID) {
		(void)snprintf(where, sizeof(where), "key '%s'", shown);
		lmd_error_prefix(err, where);
	}
	return st;
}

/* ---- the whole ---- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same(const struct lmi_svc_preset *a, const struct lmi_svc_preset *b)
{
	for (int i = 0; i < LMI_SAMPLER_N_SCALAR; i++)
		if (a->sampling.has[i] != b->sampling.has[i] ||
		    a->sampling.value[i] != b->sampling.value[i])
			return false;
	return !strcmp(a->name, b->name) && same_text(a->system, b->system) &&
	       same_text(a->template, b->template) && a->n_ctx == b->n_ctx &&
	       a->n_thread == b->n_thread && a->n_thread_batch == b->n_thread_batch &&
	       same_text(a->cpus, b->cpus) &&
	       same_text(a->kv_type, b->kv_type) && same_text(a->kv_type_k, b->kv_type_k) &&
	       same_text(a->kv_type_v, b->kv_type_v) && same_text(a->adapters, b->adapters) &&
	       same_text(a->adapters_dir, b->adapters_dir) &&
	       same_text(a->adapter, b->adapter) && same_text(a->mmproj, b->mmproj) &&
	       same_text(a->draft_model, b->draft_model) &&
	       same_text(a->draft_lookup, b->draft_lookup) &&
	       a->has_draft_lookahead == b->has_draft_lookahead &&
	       a->draft_lookahead == b->draft_lookahead &&
	       a->isolation == b->isolation && a->has_context_shift == b->has_context_shift &&
	       a->context_shift == b->context_shift && a->has_n_keep == b->has_n_keep &&
	       a->has_cache_reuse == b->has_cache_reuse && a->cache_reuse == b->cache_reuse &&
	       a->n_keep == b->n_keep && a->has_keep_alive == b->has_keep_alive &&
	       a->keep_alive_ms == b->keep_alive_ms && a->has_preload == b->has_preload &&
	       a->preload == b->preload && same_text(a->group, b->group);
}

bool lmi_svc_preset_same_lists(const struct lmi_svc_preset *a, uint32_t n_a,
			       const struct lmi_svc_preset *b, uint32_t n_b)
{
	if (n_a != n_b)
		return false;
	for (uint32_t i = 0; i < n_a; i++)
		if (!same(&a[i], &b[i]))
			return false;
	return true;
}

/* ---- the sections alone ---- */

struct reader {
	struct lmi_svc_preset_list list;
	struct lmd_arena *arena;
};

static enum lmd_status take_section(void *arg, const char *name, struct lmd_error *err)
{
	struct reader *r = arg;

	return lmi_svc_preset_is_section(name) ? lmi_svc_preset_list_begin(&r->list, name, err)
					       : LMD_OK;
}

static enum lmd_status take_pair(void *arg, const char *section, const char *key, const char *value,
				 struct lmd_error *err)
{
	struct reader *r = arg;

	return lmi_svc_preset_is_section(section)
		       ? lmi_svc_preset_list_set(&r->list, key, value, r->arena, err)
		       : LMD_OK;
}

enum lmd_status lmi_svc_preset_read_file(const struct lmi_svc_preset **out, uint32_t *n,
					 const char *path, struct lmd_arena *arena,
					 struct lmd_error *err)
{
	struct reader *r = lmi_alloc(1, sizeof(*r));
	struct lmi_cli_conf c = {
		.section = take_section, .pair = take_pair, .arg = r, .path = path, .arena = arena};
	struct lmi_svc_preset *v;
	enum lmd_status st;

	if (!r)
		return lmd_fail(err, LMD_NOMEM, "no memory for the configuration");
	r->arena = arena;
	st = lmi_cli_conf_read(&c, err);
	v = lmi_arena_array(arena, r->list.n + 1, sizeof(*v));
	if (st == LMD_OK && !v)
		st = lmd_fail(err, LMD_NOMEM, "no memory for the configuration");
	if (st == LMD_OK) {
		memcpy(v, r->list.v, r->list.n * sizeof(*v));
		*out = v;
		*n = r->list.n;
	}
	lmi_free(r);
	return st;
}

/* ---- texts ---- */

/* A text of several lines came from a file; it is shown in a comment. */
static void print_text(FILE *f, const char *key, const char *text)
{
	if (text && !strchr(text, '\n'))
		fprintf(f, "%s = %s\n", key, text);
	else if (text)
		fprintf(f, "# %s: %zu bytes from a file\n", key, strlen(text));
}

void lmi_svc_preset_print(FILE *f, const struct lmi_svc_preset *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct lmi_svc_preset *p = &v[i];

		fprintf(f, "\n[model %s]\n", p->name);
		print_text(f, "system", p->system);
		print_text(f, "template", p->template);
		if (p->n_ctx)
			fprintf(f, "ctx = %u\n", p->n_ctx);
		if (p->n_thread)
			fprintf(f, "threads = %u\n", p->n_thread);
		if (p->n_thread_batch)
			fprintf(f, "threads_batch = %u\n", p->n_thread_batch);
		print_text(f, "cpus", p->cpus);
		print_text(f, "kv_type", p->kv_type);
		print_text(f, "kv_type_k", p->kv_type_k);
		print_text(f, "kv_type_v", p->kv_type_v);
		print_text(f, "adapters", p->adapters);
		print_text(f, "adapters_dir", p->adapters_dir);
		print_text(f, "adapter", p->adapter);
		if (p->has_context_shift)
			fprintf(f, "context_shift = %s\n", p->context_shift ? "on" : "off");
		if (p->has_cache_reuse)
			fprintf(f, "cache_reuse = %u\n", p->cache_reuse);
		if (p->has_n_keep)
			fprintf(f, "n_keep = %lld\n", (long long)p->n_keep);
		print_text(f, "mmproj", p->mmproj);
		print_text(f, "draft_model", p->draft_model);
		print_text(f, "draft_lookup", p->draft_lookup);
		if (p->has_draft_lookahead)
			fprintf(f, "draft_lookahead = %s\n", p->draft_lookahead ? "on" : "off");
		if (p->isolation)
			fprintf(f, "isolation = %s\n", isolations[p->isolation]);
		if (p->has_keep_alive)
			fprintf(f, "keep_alive = %lldms\n",
				(long long)(p->keep_alive_ms < 0 ? 0 : p->keep_alive_ms));
		if (p->has_preload)
			fprintf(f, "preload = %s\n", p->preload ? "on" : "off");
		print_text(f, "group", p->group);
		for (int k = 0; k < LMI_SAMPLER_N_SCALAR; k++)
			if (p->sampling.has[k])
				fprintf(f, "%s = %.17g\n", lmi_sampler_scalar_rows[k].name,
					p->sampling.value[k]);
	}
}

void lmi_svc_preset_doc(void (*put)(FILE *f, const char *key, const char *value, const char *doc),
			FILE *f)
{
	for (size_t i = 0; i < LMD_LEN(keys); i++)
		put(f, keys[i].name, keys[i].value, keys[i].doc);
	put(f, "temp", "T",
	    "Temperature of requests that set none. In the same way all other sampling parameters "
	    "of op generate that are one number: top_k, top_p, min_p, repeat_penalty and so on.");
}
