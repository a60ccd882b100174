/* SPDX-License-Identifier: MIT
 *
 * llamactl plugins test: checks a plugin. Runs the conformance cases of all operations on a backend
 * and on another backend, and compares the results; for other kinds see plugin_check.h. The file under
 * test gets a registry of its own, so that an installed plugin of the same name cannot take its
 * place. */
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/plugin_check.h"
#include "core/conformance/opcase.h"

struct out {
	struct lmi_ctl_json j;
	bool json, all;
};

static void json_case(struct out *o, const struct lmi_opcase_result *r)
{
	static const char *const verdict[] = {"pass", "fail", "skip"};

	lmi_ctl_json_flat_object(&o->j, NULL);
	lmi_ctl_json_str(&o->j, "op", r->op);
	lmi_ctl_json_str(&o->j, "case", r->name);
	lmi_ctl_json_str(&o->j, "layout", r->layout);
	lmi_ctl_json_str(&o->j, "activations", r->setting);
	lmi_ctl_json_str(&o->j, "verdict", verdict[r->verdict]);
	lmi_ctl_json_f64(&o->j, "nmse", r->nmse);
	lmi_ctl_json_f64(&o->j, "max_abs", r->max_abs);
	lmi_ctl_json_f64(&o->j, "tol_nmse", r->tol_nmse);
	lmi_ctl_json_f64(&o->j, "tol_abs", r->tol_abs);
	lmi_ctl_json_str(&o->j, "tol_why", r->why);
	lmi_ctl_json_str(&o->j, "text", r->text);
	lmi_ctl_json_end(&o->j);
}

static void text_case(const struct out *o, const struct lmi_opcase_result *r)
{
	static const char *const verdict[] = {"ok", "FAIL", "skip"};

	if (!o->all && r->verdict == LMI_OPCASE_PASS)
		return;
	printf("%-4s %-10s %s; %s; %s", verdict[r->verdict], r->op, r->name, r->layout, r->setting);
	if (*r->text)
		printf(": %s\n", r->text);
	else
		printf(": nmse %.3g, greatest error %.3g rms\n", r->nmse, r->max_abs);
}

static void on_case(void *arg, const struct lmi_opcase_result *r)
{
	struct out *o = arg;

	if (o->json)
		json_case(o, r);
	else
		text_case(o, r);
}

/* ---- the backend of a file ---- */

struct find {
	const char *base;     /* last component of the file's path */
	bool in_file;         /* the factories listed next belong to the file */
	bool seen;
	char name[64]; /* of its backend, or "" */
	struct lmi_ctl_plugin_parts others;
	char reason[LMD_ERROR_TEXT];
};

static void on_plugin(void *arg, const struct lmi_plugin_info *p)
{
	struct find *f = arg;
	const char *slash = strrchr(p->file, '/');

	f->in_file = !strcmp(slash ? slash + 1 : p->file, f->base);
	if (!f->in_file)
		return;
	f->seen = true;
	snprintf(f->reason, sizeof(f->reason), "%s", p->reason);
}

static void on_factory(void *arg, const struct lmi_factory_info *info)
{
	struct find *f = arg;

	if (f->in_file && info->kind != LMD_KIND_BACKEND)
		lmi_ctl_plugin_parts_add(&f->others, info);
	if (!f->in_file || info->kind != LMD_KIND_BACKEND || f->name[0])
		return;
	snprintf(f->name, sizeof(f->name), "%s", info->name);
	if (info->score == 0)
		snprintf(f->reason, sizeof(f->reason), "%s", info->reason);
}

/* Creates a registry of the file's folder alone and finds the name of its backend; name is "" if it has
 * parts of other kinds only. */
static enum lmd_status open_file(struct lmi_ctl *ctl, const struct lmd_host *host, const char *path,
				 struct lmi_plugin_registry **out, char *name, size_t n,
				 struct lmi_ctl_plugin_parts *others, struct lmd_error *err)
{
	char dir_of[PATH_MAX], base_of[PATH_MAX];
	const char *dirs[1];
	struct find f = {0};
	struct lmi_plugin_registry_opts opts = {
		.dirs = dirs,
		.n_dirs = 1,
		.no_default_dirs = true,
		.trust = lmi_arg_int(&ctl->args, "plugin-trust") ? LMI_PLUGIN_TRUST_SYSTEM
								 : LMI_PLUGIN_TRUST_OWNER,
		.host = host,
	};
	enum lmd_status st;

	if (strlen(path) >= PATH_MAX)
		return lmd_fail(err, LMD_INVALID, "%.60s...: the path is too long", path);
	snprintf(dir_of, sizeof(dir_of), "%s", path);
	snprintf(base_of, sizeof(base_of), "%s", path);
	dirs[0] = dirname(dir_of);
	f.base = basename(base_of);
	st = lmi_plugin_registry_create(out, &opts, err);
	if (st != LMD_OK)
		return st;
	lmi_plugin_registry_list(*out, on_plugin, on_factory, &f);
	if ((f.name[0] || f.others.n) && !f.reason[0]) {
		snprintf(name, n, "%s", f.name);
		*others = f.others;
		return LMD_OK;
	}
	lmi_plugin_registry_destroy(*out);
	*out = NULL;
	if (!f.seen)
		return lmd_fail(err, LMD_NOTFOUND, "%s: there is no such plugin", path);
	return lmd_fail(err, LMD_UNSUPPORTED, "%s: %.300s", path,
			f.reason[0] ? f.reason : "it is empty");
}

/* ---- the command ---- */

static bool is_path(const char *s)
{
	size_t n = strlen(s);

	return strchr(s, '/') || (n > 3 && !strcmp(s + n - 3, ".so"));
}

static enum lmd_status test(struct lmi_ctl *ctl, const struct lmd_host *host,
			    const struct lmi_factory *a, const struct lmi_factory *b,
			    struct lmd_error *err)
{
	struct out o = {.json = lmi_arg_flag(&ctl->args, "json"),
			.all = lmi_arg_flag(&ctl->args, "all")};
	const struct lmi_opcase_opts opts = {
		.host = host,
		.a = a,
		.b = b,
		.filter = lmi_arg_str(&ctl->args, "only"),
		.seed = (uint64_t)lmi_arg_int(&ctl->args, "seed"),
		.report = on_case,
		.arg = &o,
	};
	struct lmi_opcase_totals t;
	enum lmd_status st;

	if (!lmi_opcase_count(opts.filter) && !lmi_opcase_count_device(opts.filter))
		return lmi_ctl_usage(ctl, err, "option '--only': no case contains '%s'",
				     opts.filter);
	if (o.json) {
		lmi_ctl_json_init(&o.j, stdout);
		lmi_ctl_json_array(&o.j, NULL);
	}
	st = lmi_opcase_run(&opts, &t, err);
	if (o.json) {
		lmi_ctl_json_end(&o.j);
		lmi_ctl_json_fini(&o.j);
	}
	if (st != LMD_OK)
		return st;
	if (!o.json)
		printf("%u passed, %u failed, %u skipped\n", t.n_pass, t.n_fail, t.n_skip);
	if (t.n_fail)
		return lmd_fail(err, LMD_INVALID, "%s: %u of %u cases differ from %s", a->f->name,
				t.n_fail, t.n_pass + t.n_fail + t.n_skip, b->f->name);
	return LMD_OK;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *what = lmi_arg_pos(&ctl->args, 0);
	const struct lmi_factory *a = NULL, *b = NULL;
	struct lmi_plugin_registry *all, *own = NULL;
	struct lmi_ctl_plugin_parts others = {0};
	const struct lmd_host *host;
	char name[64];
	enum lmd_status st = lmi_ctl_host(ctl, &host, err);

	if (st == LMD_OK)
		st = lmi_ctl_registry(ctl, &all, err);
	if (st != LMD_OK)
		return st;
	snprintf(name, sizeof(name), "%s", what);
	if (is_path(what))
		st = open_file(ctl, host, what, &own, name, sizeof(name), &others, err);
	if (st == LMD_OK && !*name) {
		st = lmi_ctl_plugin_check(own, host, &others, lmi_arg_flag(&ctl->args, "json"), err);
		lmi_plugin_registry_destroy(own);
		return st;
	}
	if (st == LMD_OK)
		st = lmi_factory_take(own ? own : all, LMD_KIND_BACKEND, name, &a, err);
	if (st == LMD_OK)
		st = lmi_factory_take(all, LMD_KIND_BACKEND, lmi_arg_str(&ctl->args, "against"), &b,
				      err);
	if (st == LMD_OK)
		st = test(ctl, host, a, b, err);
	if (b)
		lmi_factory_give(all, b);
	if (a)
		lmi_factory_give(own ? own : all, a);
	lmi_plugin_registry_destroy(own);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "against",
	 .type = LMI_OPT_STR,
	 .value = "NAME",
	 .def = "ref",
	 .doc = "Backend to compare with."},
	{.name = "only",
	 .type = LMI_OPT_STR,
	 .value = "TEXT",
	 .doc = "Run only the cases whose operation and name contain TEXT, such as \"linear q4\" "
		"or \"attn\"."},
	{.name = "seed",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "1",
	 .max = 1e15,
	 .doc = "Seed of the random numbers."},
	{.name = "all", .type = LMI_OPT_FLAG, .doc = "Also print the cases that pass."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_plugins_test = {
	.name = "plugins test",
	.args = "PLUGIN",
	.brief = "Check a plugin; a backend is compared with another one",
	.doc = "PLUGIN is a plugin file (FILE.so) or the name of a backend. A file without a backend "
	       "is loaded, its tables are checked, and its samplers run on rows of random logits "
	       "with the defaults of their parameters.\n\nEvery operation of a backend "
	       "runs in small plans with random numbers, in several layouts of a step; results, "
	       "pages and states must agree within the tolerance of each case. The exit status "
	       "is 1 if a case fails. Operations that the backend does not have are split into "
	       "simpler ones; if that is not possible, or a type is not supported, the case is "
	       "skipped.\n\nWith --json each case has op, case, layout, activations, verdict, "
	       "nmse, max_abs, tol_nmse, tol_abs, tol_why and text.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
