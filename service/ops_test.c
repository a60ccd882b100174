/* SPDX-License-Identifier: MIT
 *
 * Ops on models, texts and plugins. */
#include <sys/stat.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/devices.h"
#include "core/base/alloc.h"
#include "tests/service_fixture.h"
#include "tests/tiny_tower.h"

static struct fx fx;

static void setup(void)
{
	fx_init(&fx);
}

static void teardown(void)
{
	fx_fini(&fx);
}

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

static bool is(const struct lmd_str *s, const char *want)
{
	return s->len == strlen(want) && !memcmp(s->ptr, want, s->len);
}

/* ---- add ---- */

static struct lmi_wire_request add(const char *name, const char *path)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_ADD, NULL);

	q.u.add.name = str(name);
	q.u.add.path = str(path);
	return q;
}

static struct lmi_wire_item run_add(const struct lmi_wire_request *q)
{
	struct lmi_wire_id id;

	ck_assert_msg(fx_call(&fx, &fx_admin, q), "%s", fx.a.err.text);
	id = fx.a.r.u.add.id;
	return fx_read(&fx, &fx_admin, &id, NULL, 0);
}

static void check_error(const struct lmi_wire_item *item, enum lmd_status st, const char *word)
{
	char text[600];

	ck_assert_int_eq(item->kind, LMI_WIRE_ITEM_ERROR);
	snprintf(text, sizeof(text), "%.*s", (int)item->u.error.text.len, item->u.error.text.ptr);
	ck_assert_msg(item->u.error.code == st && strstr(text, word), "%s", text);
}

START_TEST(adding)
{
	const char *dirs[] = {"/nonexistent", fx.dir};
	char link[330], bad[330];
	struct lmi_wire_item item;
	struct lmi_wire_request q;
	FILE *f;

	fx.o.model_dirs = dirs;
	fx.o.n_model_dirs = 2;
	fx_start(&fx);
	snprintf(link, sizeof(link), "%s/link.gguf", fx.dir);
	snprintf(bad, sizeof(bad), "%s/bad.gguf", fx.dir);
	f = fopen(bad, "w");
	fputs("GGUF, but no more than that", f);
	fclose(f);
	ck_assert_int_eq(symlink("/etc/passwd", link), 0);
	for (int copy = 0; copy < 2; copy++) {
		q = add(copy ? "copied" : "new", fx.model);
		q.u.add.copy = copy;
		item = run_add(&q);
		ck_assert_int_eq(item.kind, LMI_WIRE_ITEM_DONE);
		ck_assert_int_eq(item.u.done.finish, LMI_WIRE_FINISH_DONE);
	}
	q = fx_on(&fx, LMI_WIRE_OP_MODELS, NULL);
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert_uint_eq(fx.a.r.u.models.n_models, 4);
	ck_assert(is(&fx.a.r.u.models.models[0].name, "copied"));
	ck_assert(is(&fx.a.r.u.models.models[0].arch, "llama"));
	ck_assert(is(&fx.a.r.u.models.models[0].format, "gguf"));
	ck_assert(is(&fx.a.r.u.models.models[1].path, fx.model));
	ck_assert_uint_eq(fx.a.r.u.models.models[0].digest.len, 71);
	ck_assert(!is(&fx.a.r.u.models.models[0].path, fx.model));
	/* pages of a listing */
	q.u.models.after = str("copied");
	q.u.models.max = 2;
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(fx.a.r.u.models.n_models, 2);
	ck_assert(fx.a.r.u.models.more);
	ck_assert(is(&fx.a.r.u.models.models[1].name, "other"));
	/* errors */
	q = add("new", fx.model);
	item = run_add(&q);
	check_error(&item, LMD_INVALID, "new");
	q = add("x", "/etc/passwd");
	item = run_add(&q);
	check_error(&item, LMD_INVALID, "not below");
	q = add("x", link);
	item = run_add(&q);
	check_error(&item, LMD_INVALID, "not below");
	q = add("x", "relative.gguf");
	item = run_add(&q);
	check_error(&item, LMD_INVALID, "not absolute");
	q = add("x", "/nonexistent/model");
	item = run_add(&q);
	check_error(&item, LMD_NOTFOUND, "/nonexistent/model");
	q = add("x", bad);
	item = run_add(&q);
	ck_assert_int_eq(item.kind, LMI_WIRE_ITEM_ERROR);
	q = add("x", fx.model);
	q.u.add.has_digest = true;
	q.u.add.digest = str("sha256:00");
	item = run_add(&q);
	check_error(&item, LMD_INVALID, "the file has sha256:");
	/* replace another model: aliases are kept */
	q = fx_on(&fx, LMI_WIRE_OP_ALIAS, NULL);
	q.u.alias.alias = str("best");
	q.u.alias.model = str("new");
	ck_assert(fx_call(&fx, &fx_admin, &q));
	q = add("new", fx.other);
	q.u.add.replace = true;
	ck_assert_int_eq(run_add(&q).kind, LMI_WIRE_ITEM_DONE);
	q = fx_on(&fx, LMI_WIRE_OP_MODELS, NULL);
	q.u.models.has_model = true;
	q.u.models.model = str("best");
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert_uint_eq(fx.a.r.u.models.n_models, 1);
	ck_assert(is(&fx.a.r.u.models.models[0].path, fx.other));
	ck_assert_uint_eq(fx.a.r.u.models.models[0].n_aliases, 1);
}
END_TEST

/* Copies the model under that name; returns whether the store has a tower for it. */
static bool copy_has_tower(const char *name)
{
	struct lmi_wire_request q = add(name, fx.model);
	char path[400];

	q.u.add.copy = true;
	ck_assert_int_eq(run_add(&q).kind, LMI_WIRE_ITEM_DONE);
	q = fx_on(&fx, LMI_WIRE_OP_MODELS, NULL);
	q.u.models.has_model = true;
	q.u.models.model = str(name);
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert_uint_eq(fx.a.r.u.models.n_models, 1);
	(void)snprintf(path, sizeof(path), "%.*s.mmproj", (int)fx.a.r.u.models.models[0].path.len,
		       fx.a.r.u.models.models[0].path.ptr);
	return access(path, F_OK) == 0;
}

/* What stands beside a model under the name of a tower does not keep the model out. */
START_TEST(copies_with_and_without_tower)
{
	const char *dirs[] = {fx.dir};
	char tower[330], outside[330];

	fx.o.model_dirs = dirs;
	fx.o.n_model_dirs = 1;
	fx_start(&fx);
	(void)snprintf(tower, sizeof(tower), "%s/mmproj.gguf", fx.dir);
	(void)snprintf(outside, sizeof(outside), "%s.outside", fx.dir);
	lmt_tower_write(LMT_TOWER_MLP, outside);
	ck_assert_int_eq(symlink(outside, tower), 0);
	ck_assert(!copy_has_tower("a")); /* not below a model_dir */
	ck_assert_int_eq(unlink(tower), 0);
	ck_assert_int_eq(symlink(fx.other, tower), 0);
	ck_assert(!copy_has_tower("b")); /* another model */
	ck_assert_int_eq(unlink(tower), 0);
	ck_assert_int_eq(rename(outside, tower), 0);
	ck_assert(copy_has_tower("c"));
}
END_TEST

START_TEST(aliases_and_removal)
{
	char text[64];
	struct lmi_wire_request q;
	struct lmi_wire_id id;

	fx_start(&fx);
	q = fx_on(&fx, LMI_WIRE_OP_ALIAS, NULL);
	q.u.alias.alias = str("best");
	q.u.alias.model = str("tiny");
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert(!fx.a.r.u.alias.has_before);
	q = fx_generate(&fx, "best", "hello", 3);
	ck_assert(fx_call(&fx, &fx_user, &q));
	id = fx.a.r.u.generate.id;
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, text, sizeof(text)).u.done.n_out, 3);
	/* move the alias; the next request uses the new model */
	q = fx_on(&fx, LMI_WIRE_OP_ALIAS, NULL);
	q.u.alias.alias = str("best");
	q.u.alias.model = str("other");
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert(is(&fx.a.r.u.alias.before, "tiny"));
	q = fx_generate(&fx, "best", "hello", 3);
	ck_assert(fx_call(&fx, &fx_user, &q));
	id = fx.a.r.u.generate.id;
	(void)fx_read(&fx, &fx_user, &id, text, sizeof(text));
	q = fx_on(&fx, LMI_WIRE_OP_PS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(fx.a.r.u.ps.n_models, 2);
	/* a model in memory cannot be removed */
	q = fx_on(&fx, LMI_WIRE_OP_RM, "tiny");
	fx_check_refused(&fx, &fx_admin, &q, LMD_BUSY, "unload it first");
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_UNLOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert(!fx.a.r.u.rm.alias);
	ck_assert(fx_call(&fx, &fx_admin, &q)); /* repeated: gets the same reply */
	q = fx_generate(&fx, "tiny", "hello", 3);
	fx_check_refused(&fx, &fx_user, &q, LMD_NOTFOUND, "tiny");
	q = fx_on(&fx, LMI_WIRE_OP_RM, "best");
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert(fx.a.r.u.rm.alias);
	q = fx_on(&fx, LMI_WIRE_OP_RM, "best");
	fx_check_refused(&fx, &fx_admin, &q, LMD_NOTFOUND, "best");
	q = fx_generate(&fx, "other", "hello", 3);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert(access(fx.model, F_OK) == 0); /* the file itself is kept */
}
END_TEST

/* The stream reports progress, up to all of the weights. */
START_TEST(a_load_is_told)
{
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	int64_t done = -1, total = -1;
	uint64_t after = 0;
	bool end = false;

	fx_start(&fx);
	q = fx_on(&fx, LMI_WIRE_OP_LOAD, "tiny");
	ck_assert(fx_call(&fx, &fx_admin, &q));
	id = fx.a.r.u.load.id;
	while (!end) {
		const struct lmi_wire_rep_next *r = &fx.a.r.u.next;

		q = fx_next(&id, after);
		ck_assert_msg(fx_call(&fx, &fx_admin, &q), "%s", fx.a.err.text);
		for (uint32_t i = 0; i < r->n_items; i++) {
			if (r->items[i].kind != LMI_WIRE_ITEM_PROGRESS)
				continue;
			ck_assert_int_ge(r->items[i].u.progress.done, done);
			done = r->items[i].u.progress.done;
			total = r->items[i].u.progress.total;
		}
		end = r->end;
		after = (uint64_t)r->last;
	}
	ck_assert_int_gt(total, 1000);
	ck_assert_int_eq(done, total);
}
END_TEST

START_TEST(info)
{
	struct lmi_wire_request q;
	const struct lmi_wire_rep_info *r = &fx.a.r.u.info;

	fx_start(&fx);
	q = fx_on(&fx, LMI_WIRE_OP_INFO, "tiny");
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_int_gt(r->elements, 1000);
	ck_assert_int_gt(r->weight_bytes, 1000);
	ck_assert_int_eq(r->n_ctx_train, LMT_CTX);
	ck_assert_int_eq(r->n_embd, LMT_EMBD);
	ck_assert_int_eq(r->n_vocab, LMT_VOCAB);
	ck_assert_uint_gt(r->n_types, 0);
	ck_assert_uint_eq(r->n_meta, 0);
	ck_assert(!r->has_resident);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	q.u.info.keys = true;
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_gt(r->n_meta, 5);
	ck_assert(r->has_resident);
	ck_assert_int_eq(r->resident.state, LMI_WIRE_MODEL_STATE_READY);
	ck_assert_int_eq(r->resident.n_ctx, LMT_CTX);
	ck_assert(is(&r->resident.backend, "null"));
	ck_assert_int_eq(r->model.state, LMI_WIRE_MODEL_STATE_READY);
	q = fx_on(&fx, LMI_WIRE_OP_INFO, "nobody");
	fx_check_refused(&fx, &fx_user, &q, LMD_NOTFOUND, "nobody");
	/* a loaded model is described without its file; only its metadata is read from there */
	ck_assert_int_eq(unlink(fx.model), 0);
	q = fx_on(&fx, LMI_WIRE_OP_INFO, "tiny");
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(r->n_vocab, LMT_VOCAB);
	ck_assert_int_gt(r->weight_bytes, 1000);
	ck_assert_uint_eq(r->n_meta, 0);
	ck_assert(r->has_resident);
	q.u.info.keys = true;
	fx_check_refused(&fx, &fx_user, &q, LMD_NOTFOUND, "tiny.gguf");
}
END_TEST

/* ---- load ---- */

START_TEST(loading_with_options)
{
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	const struct lmi_wire_rep_ps *r = &fx.a.r.u.ps;

	fx_start(&fx);
	q = fx_on(&fx, LMI_WIRE_OP_LOAD, "tiny");
	q.u.load.n_ctx = 64;
	q.u.load.n_seq = 3;
	q.u.load.keep_alive_ms = -1;
	ck_assert(fx_call(&fx, &fx_admin, &q));
	id = fx.a.r.u.load.id;
	ck_assert_int_eq(fx_read(&fx, &fx_admin, &id, NULL, 0).kind, LMI_WIRE_ITEM_DONE);
	q = fx_on(&fx, LMI_WIRE_OP_PS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(r->models[0].n_ctx, 64);
	ck_assert_int_eq(r->models[0].n_seq, 3);
	ck_assert_int_eq(r->models[0].keep_alive_ms, -1);
	fx.now += 1000 * 3600 * FX_MS * 24; /* never unloaded */
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 1);
	/* other options: a new engine replaces it */
	q = fx_on(&fx, LMI_WIRE_OP_LOAD, "tiny");
	q.u.load.n_ctx = 96;
	q.u.load.keep_alive_ms = 1000;
	ck_assert(fx_call(&fx, &fx_admin, &q));
	id = fx.a.r.u.load.id;
	ck_assert_int_eq(fx_read(&fx, &fx_admin, &id, NULL, 0).kind, LMI_WIRE_ITEM_DONE);
	fx_settle(&fx);
	q = fx_on(&fx, LMI_WIRE_OP_PS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(r->n_models, 1);
	ck_assert_int_eq(r->models[0].n_ctx, 96);
	fx.now += 1001 * FX_MS;
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 0);
	/* invalid options are reported */
	q = fx_on(&fx, LMI_WIRE_OP_LOAD, "tiny");
	q.u.load.kv_type = str("nonsense");
	fx_check_refused(&fx, &fx_admin, &q, LMD_INVALID, "nonsense");
	q = fx_on(&fx, LMI_WIRE_OP_LOAD, "tiny");
	q.u.load.kv_type_v = str("q8_1");
	fx_check_refused(&fx, &fx_admin, &q, LMD_INVALID,
			 "kv_type_v: 'q8_1' is not a data type for a KV cache");
	q = fx_on(&fx, LMI_WIRE_OP_LOAD, "tiny");
	q.u.load.draft_model = str("unknown");
	fx_check_refused(&fx, &fx_admin, &q, LMD_NOTFOUND, "draft model");
	q = fx_on(&fx, LMI_WIRE_OP_LOAD, "tiny");
	q.u.load.mmproj = (struct lmd_str){.ptr = "tower and more", .len = 5};
	fx_check_refused(&fx, &fx_admin, &q, LMD_INVALID,
			 "mmproj: 'tower' is not an absolute path");
	q = fx_on(&fx, LMI_WIRE_OP_LOAD, "tiny");
	q.u.load.draft_model = str("tiny");
	ck_assert(fx_call(&fx, &fx_admin, &q));
	id = fx.a.r.u.load.id;
	ck_assert_int_eq(fx_read(&fx, &fx_admin, &id, NULL, 0).kind, LMI_WIRE_ITEM_DONE);
	q = fx_on(&fx, LMI_WIRE_OP_LOAD, "tiny");
	q.u.load.backend = str("nonsense");
	ck_assert(fx_call(&fx, &fx_admin, &q));
	id = fx.a.r.u.load.id;
	{
		struct lmi_wire_item item = fx_read(&fx, &fx_admin, &id, NULL, 0);

		check_error(&item, LMD_NOTFOUND, "nonsense");
	}
}
END_TEST

/* ---- texts ---- */

START_TEST(tokens_and_back)
{
	static char longer[6000];
	struct lmi_wire_request q;
	lmd_token ids[3] = {40, 69, 5000};

	memset(longer, 'q', sizeof(longer) - 1);
	fx_start(&fx);
	q = fx_on(&fx, LMI_WIRE_OP_TOKENIZE, NULL);
	q.u.tokenize.model = str("tiny");
	q.u.tokenize.text = str("HeLLo");
	q.u.tokenize.add_special = false;
	q.u.tokenize.pieces = true;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_uint_eq(fx.a.r.u.tokenize.n_tokens, 5);
	ck_assert_int_eq(fx.a.r.u.tokenize.tokens[0], 'H' - 32);
	ck_assert_uint_eq(fx.a.r.u.tokenize.n_pieces, 5);
	ck_assert(is(&fx.a.r.u.tokenize.pieces[1], "e"));
	q.u.tokenize.text = str(longer); /* handled in another thread */
	q.u.tokenize.pieces = false;
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_eq(fx.a.r.u.tokenize.n_tokens, sizeof(longer) - 1);
	q = fx_on(&fx, LMI_WIRE_OP_DETOKENIZE, NULL);
	q.u.detokenize.model = str("tiny");
	q.u.detokenize.tokens = ids;
	q.u.detokenize.n_tokens = 2;
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert(is(&fx.a.r.u.detokenize.text, "He"));
	q.u.detokenize.n_tokens = 3;
	fx_check_refused(&fx, &fx_user, &q, LMD_INVALID, "5000");
	/* a long prompt is handled in another thread as well */
	fx.o.limits.inline_bytes = 4;
	ck_assert_int_eq(lmi_service_set_limits(fx.svc, &fx.o.limits, NULL), LMD_OK);
	q = fx_generate(&fx, "tiny", "hello", 3);
	ck_assert(fx_call(&fx, &fx_user, &q));
	struct lmi_wire_id id = fx.a.r.u.generate.id;
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, longer, sizeof(longer)).u.done.n_out, 3);
	/* nothing is left if the client disconnects meanwhile */
	q = fx_generate(&fx, "tiny", "hello", 3);
	ck_assert(fx_call(&fx, &fx_user, &q));
	lmi_service_disconnected(fx.svc, fx.now, fx_user.conn);
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_stream, 0);
}
END_TEST

/* ---- devices ---- */

static const struct lmi_wire_device *find_device(const char *name)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_DEVICES, NULL);
	const struct lmi_wire_rep_devices *r = &fx.a.r.u.devices;

	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	for (uint32_t i = 0; i < r->n_devices; i++)
		if (is(&r->devices[i].name, name))
			return &r->devices[i];
	return NULL;
}

/* A loaded model takes memory of its device, and ps tells where it is. */
START_TEST(devices_are_listed)
{
	struct lmi_engine_devices *set;
	const struct lmi_wire_resident *row;
	const struct lmi_wire_device *d;
	struct lmi_wire_request q;
	struct lmi_wire_id id;

	ck_assert_int_eq(lmi_engine_devices_create(&set, fx.env.registry, fx.env.host, NULL),
			 LMD_OK);
	fx.o.inst.devices = set;
	fx_start(&fx);
	d = find_device("null0");
	ck_assert_ptr_nonnull(d);
	ck_assert(is(&d->state, "idle") && is(&d->backend, "null") && is(&d->queue, "direct"));
	ck_assert_ptr_null(find_device("null1"));
	q = fx_on(&fx, LMI_WIRE_OP_LOAD, "tiny");
	q.u.load.devices = str("null0");
	ck_assert_msg(fx_call(&fx, &fx_admin, &q), "%s", fx.a.err.text);
	id = fx.a.r.u.load.id;
	ck_assert_int_eq(fx_read(&fx, &fx_admin, &id, NULL, 0).kind, LMI_WIRE_ITEM_DONE);
	d = find_device("null0");
	ck_assert(is(&d->state, "in use") && d->models == 1 && d->memory_models > 0);
	q = fx_on(&fx, LMI_WIRE_OP_PS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	row = &fx.a.r.u.ps.models[0];
	ck_assert_uint_eq(row->n_placement, 1);
	ck_assert(is(&row->placement[0].device, "null0") && row->placement[0].ops > 0);
	ck_assert_int_eq(row->placement[0].first_layer, 0);
	ck_assert_uint_eq(row->n_moved, 0);
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
	lmi_engine_devices_destroy(set);
}
END_TEST

/* ---- plugins ---- */

static void copy_plugin(const char *name, const char *dir, const char *more)
{
	char from[600], to[600], tmp[610], buf[65536];
	FILE *a, *b;
	size_t n;

	snprintf(from, sizeof(from), "%s/plugins/.libs/%s.so", lmd_build_dir(), name);
	snprintf(to, sizeof(to), "%s/%s.so", dir, name);
	snprintf(tmp, sizeof(tmp), "%s.new", to);
	a = fopen(from, "rb");
	b = fopen(tmp, "wb");
	ck_assert_msg(a && b, "%s", from);
	while ((n = fread(buf, 1, sizeof(buf), a)))
		ck_assert_uint_eq(fwrite(buf, 1, n, b), n);
	fputs(more, b); /* other bytes: a new version */
	fclose(a);
	fclose(b);
	ck_assert_int_eq(chmod(tmp, 0700), 0);
	ck_assert_int_eq(rename(tmp, to), 0);
}

static const struct lmi_wire_plugin *find_plugin(const char *name, int64_t generation)
{
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_PLUGINS, NULL);
	const struct lmi_wire_rep_plugins *r = &fx.a.r.u.plugins;

	q.u.plugins.factories = true;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	for (uint32_t i = 0; i < r->n_plugins; i++)
		if (is(&r->plugins[i].name, name) && r->plugins[i].generation == generation)
			return &r->plugins[i];
	return NULL;
}

/* A backend, an architecture, a tokenizer and a sampler are replaced while a generation runs: it
 * finishes with the old code, and later requests use the new code. */
START_TEST(plugins_are_swapped)
{
	static const char *const names[] = {"arch-dense", "tokenizer-bpe", "sampler-basic",
					    "backend-null"};
	const char *dirs[1], *name = names[_i];
	char file[64], dir[300], text[300], want[300];
	struct lmi_plugin_registry_opts ro = {.no_default_dirs = true, .host = fx.env.host};
	struct lmi_plugin_registry *plugins;
	struct lmi_wire_id old, new;
	struct lmi_wire_request q;
	bool renews = strcmp(name, "sampler-basic") != 0;
	struct stat sb;

	snprintf(dir, sizeof(dir), "%s/plugins/.libs/backend-null.so", lmd_build_dir());
	if (stat(dir, &sb)) {
		LMD_SKIP("plugins_are_swapped", "plugins are linked in");
		return;
	}
	snprintf(dir, sizeof(dir), "%s/plugins", fx.dir);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	for (size_t i = 0; i < LMD_LEN(names); i++)
		copy_plugin(names[i], dir, "");
	copy_plugin("tokenizer-spm", dir, "");
	dirs[0] = dir;
	ro.dirs = dirs;
	ro.n_dirs = 1;
	ck_assert_int_eq(lmi_plugin_registry_create(&plugins, &ro, NULL), LMD_OK);
	fx.o.plugins = plugins;
	fx_start(&fx);
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	q = fx_generate(&fx, "tiny", "hello", 100);
	ck_assert(fx_call(&fx, &fx_user, &q));
	old = fx.a.r.u.generate.id;
	fx_turn(&fx);
	if (!strcmp(name, "tokenizer-bpe") && !find_plugin(name, 1)->users)
		name = "tokenizer-spm"; /* the model's tokenizer */
	ck_assert_int_gt(find_plugin(name, 1)->users, 0);
	ck_assert_uint_gt(find_plugin(name, 1)->n_factories, 0);
	q = fx_on(&fx, LMI_WIRE_OP_PLUGINS_RELOAD, NULL);
	q.u.plugins_reload.has_file = true;
	q.u.plugins_reload.file = str("none.so");
	fx_check_refused(&fx, &fx_admin, &q, LMD_NOTFOUND, "none.so");
	copy_plugin(name, dir, "more");
	snprintf(file, sizeof(file), "%s.so", name);
	q.u.plugins_reload.has_file = renews; /* by name, and all */
	q.u.plugins_reload.file = str(file);
	ck_assert_msg(fx_call(&fx, &fx_admin, &q), "%s", fx.a.err.text);
	ck_assert_uint_eq(fx.a.r.u.plugins_reload.n_added, 1);
	ck_assert_uint_eq(fx.a.r.u.plugins_reload.n_removed, 1);
	ck_assert_uint_eq(fx_stats(&fx).n_model, renews ? 2 : 1);
	q = fx_generate(&fx, "tiny", "hello", 20);
	ck_assert(fx_call(&fx, &fx_user, &q));
	new = fx.a.r.u.generate.id;
	fx_turn(&fx);
	ck_assert_int_gt(find_plugin(name, 1)->users, 0);
	ck_assert(is(&find_plugin(name, 1)->state, "retired"));
	ck_assert_int_gt(find_plugin(name, 2)->users, 0);
	(void)fx_read(&fx, &fx_user, &new, text, sizeof(text));
	fx_expect("hello", 20, want);
	ck_assert_str_eq(text, want);
	(void)fx_read(&fx, &fx_user, &old, text, sizeof(text));
	fx_expect("hello", 100, want);
	ck_assert_str_eq(text, want);
	fx_settle(&fx);
	ck_assert_uint_eq(fx_stats(&fx).n_model, 1);
	ck_assert(!find_plugin(name, 1) || !find_plugin(name, 1)->users);
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
	lmi_plugin_registry_destroy(plugins);
}
END_TEST

/* A missing plugin is found when a request needs it. */
START_TEST(a_look_up_that_misses)
{
	const char *dirs[1];
	char dir[300], text[64];
	struct lmi_plugin_registry_opts ro = {.no_default_dirs = true, .host = fx.env.host};
	struct lmi_plugin_registry *plugins;
	struct lmi_wire_item item;
	struct lmi_wire_id id;
	struct lmi_wire_request q;
	struct stat sb;

	snprintf(dir, sizeof(dir), "%s/plugins/.libs/backend-null.so", lmd_build_dir());
	if (stat(dir, &sb)) {
		LMD_SKIP("a_look_up_that_misses", "plugins are linked in");
		return;
	}
	snprintf(dir, sizeof(dir), "%s/plugins", fx.dir);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	dirs[0] = dir;
	ro.dirs = dirs;
	ro.n_dirs = 1;
	ck_assert_int_eq(lmi_plugin_registry_create(&plugins, &ro, NULL), LMD_OK);
	fx.o.plugins = plugins;
	fx.o.limits.fail_ms = 0;
	fx_start(&fx);
	item = fx_job_op(&fx, LMI_WIRE_OP_LOAD, "tiny");
	check_error(&item, LMD_NOTFOUND, "llama");
	copy_plugin("arch-dense", dir, "");
	copy_plugin("backend-null", dir, "");
	copy_plugin("tokenizer-spm", dir, "");
	copy_plugin("tokenizer-bpe", dir, "");
	ck_assert_int_eq(fx_job_op(&fx, LMI_WIRE_OP_LOAD, "tiny").kind, LMI_WIRE_ITEM_DONE);
	q = fx_generate(&fx, "tiny", "hello", 3);
	fx_check_refused(&fx, &fx_user, &q, LMD_NOTFOUND, "greedy");
	copy_plugin("sampler-basic", dir, "");
	q = fx_generate(&fx, "tiny", "hello", 3);
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	id = fx.a.r.u.generate.id;
	ck_assert_int_eq(fx_read(&fx, &fx_user, &id, text, sizeof(text)).u.done.n_out, 3);
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
	lmi_plugin_registry_destroy(plugins);
}
END_TEST

/* ---- the server ---- */

START_TEST(what_the_server_says)
{
	struct lmi_wire_request q;
	uint32_t n_seen = 0;

	fx.o.limits.max_running = 5;
	fx_start(&fx);
	q = fx_on(&fx, LMI_WIRE_OP_HELLO, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert(is(&fx.a.r.u.hello.server, "llamad"));
	ck_assert_int_eq(fx.a.r.u.hello.role, LMI_WIRE_ROLE_USER);
	/* exactly the ops that it may use */
	for (uint32_t i = 0; i < fx.a.r.u.hello.n_features; i++) {
		const struct lmd_str *op = &fx.a.r.u.hello.features[i];

		ck_assert_int_eq(lmi_wire_ops[lmi_wire_op_find(op->ptr, op->len)].role,
				 LMI_WIRE_ROLE_USER);
	}
	ck_assert_uint_ge(fx.a.r.u.hello.n_features, 10);
	q = fx_on(&fx, LMI_WIRE_OP_HELLO, NULL);
	ck_assert(fx_call(&fx, &fx_admin, &q));
	ck_assert_uint_eq(fx.a.r.u.hello.n_features, LMI_WIRE_N_OP - 1);
	q = fx_on(&fx, LMI_WIRE_OP_LIMITS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	for (uint32_t i = 0; i < fx.a.r.u.limits.n_limits; i++) {
		const struct lmi_wire_limit *l = &fx.a.r.u.limits.limits[i];

		if (!is(&l->name, "max_running") && !is(&l->name, "sessions"))
			continue;
		n_seen++;
		ck_assert_int_eq(l->value, 5);
	}
	ck_assert_uint_eq(n_seen, 2); /* the present and the old name, once each */
	q = fx_on(&fx, LMI_WIRE_OP_STATUS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.r.u.status.state, LMI_WIRE_SERVER_STATE_READY);
	ck_assert_int_eq(fx.a.r.u.status.models, 2);
	ck_assert_int_eq(fx.a.r.u.status.resident, 0);
	q = fx_on(&fx, LMI_WIRE_OP_STATS, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_uint_gt(fx.a.r.u.stats.n_metrics, 10);
	/* drain, then accept work again */
	q = fx_on(&fx, LMI_WIRE_OP_DRAIN, NULL);
	ck_assert(fx_call(&fx, &fx_admin, &q));
	q = fx_on(&fx, LMI_WIRE_OP_PING, NULL);
	ck_assert(fx_call(&fx, &fx_user, &q));
	ck_assert_int_eq(fx.a.r.u.ping.state, LMI_WIRE_SERVER_STATE_DRAINING);
	q = fx_generate(&fx, "tiny", "hello", 3);
	fx_check_refused(&fx, &fx_user, &q, LMD_CANCELLED, "shutting down");
	q = fx_on(&fx, LMI_WIRE_OP_DRAIN, NULL);
	q.u.drain.on = false;
	ck_assert(fx_call(&fx, &fx_admin, &q));
	q = fx_generate(&fx, "tiny", "hello", 3);
	ck_assert(fx_call(&fx, &fx_user, &q));
	/* this process supports neither */
	q = fx_on(&fx, LMI_WIRE_OP_SHUTDOWN, NULL);
	fx_check_refused(&fx, &fx_admin, &q, LMD_UNSUPPORTED, "shutdown");
	q = fx_on(&fx, LMI_WIRE_OP_CONFIG_RELOAD, NULL);
	fx_check_refused(&fx, &fx_admin, &q, LMD_UNSUPPORTED, "configuration");
}
END_TEST

START_TEST(limits_have_ranges)
{
	struct lmd_error err = {0};

	fx_start(&fx);
	for (uint32_t i = 0; i < lmi_svc_n_limits; i++) {
		const struct lmi_svc_limit *row = &lmi_svc_limits[i];
		struct lmi_service_limits l;

		lmi_service_limits_default(&l);
		ck_assert_uint_eq(lmi_svc_limit_get(&l, row), row->def);
		lmi_svc_limit_set(&l, row, row->max);
		ck_assert_int_eq(lmi_service_limits_check(&l, &err), LMD_OK);
		lmi_svc_limit_set(&l, row, row->max + 1);
		ck_assert_int_eq(lmi_service_set_limits(fx.svc, &l, &err), LMD_INVALID);
		ck_assert_ptr_eq(strstr(err.text, row->name), err.text);
		lmi_svc_limit_set(&l, row, row->min);
		ck_assert_int_eq(lmi_service_limits_check(&l, &err), LMD_OK);
		if (!row->min)
			continue;
		lmi_svc_limit_set(&l, row, row->min - 1);
		ck_assert_int_eq(lmi_service_limits_check(&l, &err), LMD_INVALID);
	}
}
END_TEST

/* ---- apply_template ---- */

/* The prompt is what the same messages generate from. */
START_TEST(a_conversation_as_a_prompt)
{
	const struct lmi_wire_chat_message m[2] = {
		{.role = str("system"), .content = str("Be brief.")},
		{.role = str("user"), .content = str("abc")}};
	struct lmi_wire_request q = fx_on(&fx, LMI_WIRE_OP_APPLY_TEMPLATE, NULL);
	const struct lmi_wire_rep_apply_template *r = &fx.a.r.u.apply_template;
	int64_t n;

	fx_start(&fx);
	q.u.apply_template.model = str("tiny");
	q.u.apply_template.messages = m;
	q.u.apply_template.n_messages = 2;
	q.u.apply_template.has_template = true;
	q.u.apply_template.template =
		str("{% for m in messages %}{{ m.role }}: {{ m.content }};{% endfor %}{{ x }}");
	q.u.apply_template.has_template_args = true;
	q.u.apply_template.template_args = str("{\"x\": \"end\"}");
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_msg(is(&r->prompt, "system: Be brief.;user: abc;end"), "%.*s", (int)r->prompt.len,
		      r->prompt.ptr);
	ck_assert_int_gt(r->n_prompt, 0);
	ck_assert_uint_eq(r->n_tokens, 0);
	n = r->n_prompt;
	q.u.apply_template.tokens = true;
	ck_assert_msg(fx_call(&fx, &fx_user, &q), "%s", fx.a.err.text);
	ck_assert_int_eq(r->n_tokens, n);
	q.u.apply_template.template = str("{{ nothing.here.at_all() }}");
	ck_assert(!fx_call(&fx, &fx_user, &q));
	q.u.apply_template.n_messages = 0;
	fx_check_refused(&fx, &fx_user, &q, LMD_INVALID, "messages");
	fx_settle(&fx);
	fx_check_empty(&fx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("service ops");
	TCase *t = tcase_create("ops");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, adding);
	tcase_add_test(t, copies_with_and_without_tower);
	tcase_add_test(t, aliases_and_removal);
	tcase_add_test(t, a_load_is_told);
	tcase_add_test(t, info);
	tcase_add_test(t, loading_with_options);
	tcase_add_test(t, tokens_and_back);
	tcase_add_test(t, devices_are_listed);
	tcase_add_loop_test(t, plugins_are_swapped, 0, 4);
	tcase_add_test(t, a_look_up_that_misses);
	tcase_add_test(t, what_the_server_says);
	tcase_add_test(t, limits_have_ranges);
	tcase_add_test(t, a_conversation_as_a_prompt);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
