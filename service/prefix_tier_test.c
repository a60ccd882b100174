/* SPDX-License-Identifier: MIT
 *
 * The disk tier of the prefix cache: what was computed before a restart is not computed again, by counted
 * tokens, and the answers stay the same; whose rows they are; limits; damaged files; slow disks. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cancel.h"
#include "service/prefix_files.h"
#include "service/prefix_fixture.h"

#define N_MAX 4096u

static void setup(void)
{
	prefix_fx_setup(5);
	prefix_fx.o.limits.prefix_disk_bytes = 64 << 20;
}

static void path_in_state(char out[600], const char *name)
{
	snprintf(out, 600, "%s/state/%s", prefix_fx.dir, name);
}

/* A restart after which the disk has what it had before the daemon ended, as if it had been killed. */
static void kill_and_restart(void)
{
	char now[600], kept[600];

	path_in_state(now, "prefixes");
	path_in_state(kept, "kept");
	ck_assert_int_eq(rename(now, kept), 0);
	prefix_fx_stop();
	ck_assert_int_eq(rename(kept, now), 0);
	fx_start(&prefix_fx);
	ck_assert(!lmi_svc_prefix_tier_is_on(prefix_fx.svc)); /* until it knows its files */
	prefix_fx_settle();
	ck_assert(lmi_svc_prefix_tier_is_on(prefix_fx.svc));
}

static const struct {
	const char *backend, *device;
} places[] = {{"ref", NULL}, {"cpu", NULL}, {NULL, "emu0"}};

/* A prompt of 4096 tokens: after the daemon was killed, all whole pages come from the disk. _i: place */
START_TEST(after_a_kill)
{
	char first[64], again[64], fresh[64];
	struct lmi_wire_item a, b;

	ck_assert_int_eq(setenv("LLAMAD_EMU", "late=1,seed=3", 1), 0);
	prefix_fx.o.inst.backend = places[_i].backend;
	prefix_fx.o.inst.device_list = places[_i].device;
	fx_start(&prefix_fx);
	a = prefix_fx_ask(&fx_user, "tiny", prefix_tokens, N_MAX, first, sizeof(first));
	ck_assert_int_eq(a.kind, LMI_WIRE_ITEM_DONE);
	ck_assert_int_eq(a.u.done.n_cached, 0);
	prefix_fx_settle();
	ck_assert_uint_gt(prefix_fx_stats().files.n_put, 0);
	kill_and_restart();
	b = prefix_fx_ask(&fx_user, "tiny", prefix_tokens, N_MAX, again, sizeof(again));
	printf("%s: %d of %u tokens were read from the disk\n",
	       places[_i].backend ? places[_i].backend : places[_i].device, (int)b.u.done.n_cached,
	       N_MAX);
	ck_assert_int_ge(b.u.done.n_cached * 100, N_MAX * 99);
	ck_assert_uint_eq(prefix_fx_stats().n_restored, (uint64_t)b.u.done.n_cached);
	ck_assert_str_eq(again, first);
	/* another user has the same answer, from rows of his own */
	b = prefix_fx_ask(&fx_other, "tiny", prefix_tokens, N_MAX, fresh, sizeof(fresh));
	ck_assert_int_eq(b.u.done.n_cached, 0);
	ck_assert_str_eq(fresh, first);
	prefix_fx_settle();
	fx_check_empty(&prefix_fx);
}
END_TEST

/* Random lengths and beginnings, with restarts between: each answer is that of a service without the tier,
 * and what is computed again is bounded. _i: kind of model */
START_TEST(kinds_of_models)
{
	uint64_t rnd = lmd_seed("prefix tier kinds", 2);
	char path[300], text[3][64];
	const uint32_t n[3] = {700, 1500, 2300};
	bool was_asked[3] = {false};
	struct lmi_wire_item end;

	snprintf(path, sizeof(path), "%s/kind.gguf", prefix_fx.dir);
	lmt_tiny_write((enum lmt_tiny)_i, 11, path);
	fx_add_model(&prefix_fx, "kind", path);
	prefix_fx.o.limits.prefix_disk_bytes = 0;
	prefix_fx.o.inst.backend = "cpu";
	prefix_fx.o.inst.no_prefix_cache = true;
	fx_start(&prefix_fx);
	for (int k = 0; k < 3; k++)
		(void)prefix_fx_ask(&fx_user, "kind", prefix_tokens, n[k], text[k], sizeof(text[k]));
	prefix_fx_stop();
	prefix_fx.o.limits.prefix_disk_bytes = 64 << 20;
	prefix_fx.o.inst.no_prefix_cache = false;
	fx_start(&prefix_fx);
	for (int round = 0; round < 12; round++) {
		int k = (int)(lmd_rand(&rnd) % 3);
		uint32_t known = 0;
		char have[64];

		end = prefix_fx_ask(&fx_user, "kind", prefix_tokens, n[k], have, sizeof(have));
		ck_assert_str_eq(have, text[k]);
		for (int i = 0; i <= k; i++)
			known = was_asked[i] ? n[i] : known;
		/* states are kept every 512 tokens, pages are whole */
		ck_assert_int_ge(end.u.done.n_cached + 512, known);
		was_asked[k] = true;
		prefix_fx_settle();
		if (round % 2)
			kill_and_restart();
	}
	ck_assert_uint_gt(prefix_fx_stats().files.n_file, 0);
	fx_check_empty(&prefix_fx);
}
END_TEST

/* Rows that others have pushed out of memory come back from the disk, once, also for a longer prompt. */
START_TEST(evicted_rows)
{
	char text[64], want[64];
	struct lmi_wire_item end;

	prefix_fx.o.inst.backend = "cpu";
	prefix_fx.o.inst.kv_tokens = PREFIX_CTX;
	fx_start(&prefix_fx);
	(void)prefix_fx_ask(&fx_user, "tiny", prefix_tokens, 1000, want, sizeof(want));
	for (int i = 1; i < 3; i++)
		(void)prefix_fx_ask(&fx_user, "tiny", prefix_tokens + i, 4000, text, sizeof(text));
	prefix_fx_settle();
	ck_assert_uint_eq(prefix_fx_stats().n_restored, 0);
	end = prefix_fx_ask(&fx_user, "tiny", prefix_tokens, 1000, text, sizeof(text));
	ck_assert_str_eq(text, want);
	ck_assert_int_ge(end.u.done.n_cached, 960);
	ck_assert_uint_gt(prefix_fx_stats().n_restored, 900);
	/* what is in memory is not read again */
	end = prefix_fx_ask(&fx_user, "tiny", prefix_tokens, 1000, text, sizeof(text));
	ck_assert_uint_lt(prefix_fx_stats().n_restored, 1000);
	ck_assert_int_ge(end.u.done.n_cached, 960);
	prefix_fx_settle();
	fx_check_empty(&prefix_fx);
}
END_TEST

/* Short prompts are not worth a file unless their beginning is shared. */
START_TEST(what_is_saved)
{
	char text[64];
	uint64_t n;

	prefix_fx.o.inst.backend = "cpu";
	fx_start(&prefix_fx);
	(void)prefix_fx_ask(&fx_user, "tiny", prefix_tokens, 200, text, sizeof(text));
	prefix_fx_settle();
	ck_assert_uint_eq(prefix_fx_stats().files.n_file, 0);
	(void)prefix_fx_ask(&fx_user, "tiny", prefix_tokens, 210, text, sizeof(text));
	prefix_fx_settle();
	n = prefix_fx_stats().files.n_file;
	ck_assert_uint_gt(n, 0);
	(void)prefix_fx_ask(&fx_user, "tiny", prefix_tokens, 210, text, sizeof(text));
	prefix_fx_settle();
	ck_assert_uint_eq(prefix_fx_stats().files.n_put, n); /* nothing is written twice */
	(void)prefix_fx_ask(&fx_other, "tiny", prefix_tokens + 7, 1000, text, sizeof(text));
	prefix_fx_settle();
	ck_assert_uint_gt(prefix_fx_stats().files.n_file, n);
}
END_TEST

static uint64_t disk_bytes(uint32_t *n_file, char one[600])
{
	char root[600], path[700], folder[650];
	struct dirent *e, *f;
	uint64_t sum = 0;
	DIR *all, *d;

	*n_file = 0;
	path_in_state(root, "prefixes");
	all = opendir(root);
	while (all && (e = readdir(all))) {
		if (*e->d_name == '.')
			continue;
		snprintf(folder, sizeof(folder), "%.300s/%.64s", root, e->d_name);
		d = opendir(folder);
		while (d && (f = readdir(d))) {
			struct stat sb;

			if (*f->d_name == '.')
				continue;
			snprintf(path, sizeof(path), "%.400s/%.100s", folder, f->d_name);
			ck_assert_int_eq(stat(path, &sb), 0);
			ck_assert_uint_eq(sb.st_mode & 0777, 0600);
			sum += (uint64_t)sb.st_size;
			(*n_file)++;
			snprintf(one, 600, "%.599s", path);
		}
		if (d)
			closedir(d);
	}
	if (all)
		closedir(all);
	return sum;
}

/* The limit holds on the disk; what was used lately stays; 0 removes everything. */
START_TEST(limits)
{
	struct lmi_service_limits l = prefix_fx.o.limits;
	char text[64], one[600];
	uint32_t n;

	prefix_fx.o.inst.backend = "cpu";
	l.prefix_disk_bytes = prefix_fx.o.limits.prefix_disk_bytes = 1 << 20;
	fx_start(&prefix_fx);
	for (int i = 0; i < 4; i++) {
		(void)prefix_fx_ask(&fx_user, "tiny", prefix_tokens + i, 1200, text, sizeof(text));
		prefix_fx_settle();
		ck_assert_uint_le(disk_bytes(&n, one), l.prefix_disk_bytes);
		ck_assert_uint_eq(disk_bytes(&n, one), prefix_fx_stats().files.n_bytes);
		ck_assert_uint_eq(n, prefix_fx_stats().files.n_file);
	}
	ck_assert_uint_gt(prefix_fx_stats().files.n_evicted, 0);
	kill_and_restart();
	ck_assert_uint_eq(disk_bytes(&n, one), prefix_fx_stats().files.n_bytes);
	/* the newest one is there from its beginning */
	ck_assert_int_gt(prefix_fx_ask(&fx_user, "tiny", prefix_tokens + 3, 1200, text, sizeof(text)).u.done.n_cached,
			 300);
	prefix_fx_settle();
	l.prefix_disk_bytes = 0;
	ck_assert_int_eq(lmi_service_set_limits(prefix_fx.svc, &l, NULL), LMD_OK);
	prefix_fx_settle();
	ck_assert_uint_eq(disk_bytes(&n, one), 0);
	(void)prefix_fx_ask(&fx_user, "tiny", prefix_tokens + 9, 1200, text, sizeof(text));
	ck_assert(!lmi_svc_prefix_tier_is_busy(prefix_fx.svc));
	ck_assert_uint_eq(disk_bytes(&n, one), 0);
}
END_TEST

/* A damaged or cut file is dropped and computed again. _i: damaged, cut */
START_TEST(damaged_files)
{
	char text[64], want[64], one[600];
	uint32_t n;
	int fd;

	prefix_fx.o.inst.backend = "cpu";
	fx_start(&prefix_fx);
	(void)prefix_fx_ask(&fx_user, "tiny", prefix_tokens, 1000, want, sizeof(want));
	prefix_fx_settle();
	(void)disk_bytes(&n, one);
	ck_assert_uint_gt(n, 20);
	if (_i) {
		ck_assert_int_eq(truncate(one, 100), 0);
	} else {
		uint8_t b;

		fd = open(one, O_RDWR);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(pread(fd, &b, 1, 200), 1);
		b ^= 4;
		ck_assert_int_eq(pwrite(fd, &b, 1, 200), 1);
		close(fd);
	}
	kill_and_restart();
	ck_assert_int_eq(prefix_fx_ask(&fx_user, "tiny", prefix_tokens, 1000, text, sizeof(text)).u.done.n_cached, 0);
	ck_assert_str_eq(text, want);
	ck_assert_uint_eq(prefix_fx_stats().files.n_damaged, 1);
	prefix_fx_settle(); /* which has written it again */
	kill_and_restart();
	ck_assert_int_ge(prefix_fx_ask(&fx_user, "tiny", prefix_tokens, 1000, text, sizeof(text)).u.done.n_cached, 960);
	ck_assert_str_eq(text, want);
}
END_TEST

/* A request waits for a disk that does not answer no longer than computing takes, and a cancelled one leaves
 * nothing. */
START_TEST(a_slow_disk)
{
	char text[64], want[64];
	struct lmi_wire_request q;
	struct lmi_wire_id id;
	int32_t copy[1000];
	uint64_t began;

	prefix_fx.o.inst.backend = "cpu";
	fx_start(&prefix_fx);
	(void)prefix_fx_ask(&fx_user, "tiny", prefix_tokens, 1000, want, sizeof(want));
	prefix_fx_settle();
	kill_and_restart();
	fx_load(&prefix_fx);
	for (int i = 0; i < 1000; i++)
		copy[i] = prefix_tokens[i];
	q = fx_generate(&prefix_fx, "tiny", "", 8);
	q.u.generate.has_prompt = false;
	q.u.generate.has_tokens = true;
	q.u.generate.tokens = copy;
	q.u.generate.n_tokens = 1000;
	ck_assert_msg(fx_call(&prefix_fx, &fx_user, &q), "%s", prefix_fx.a.err.text);
	id = prefix_fx.a.r.u.generate.id;
	began = prefix_fx.now;
	for (int i = 0; i < 10; i++)
		fx_turn(&prefix_fx); /* no job runs */
	ck_assert_uint_eq(fx_stats(&prefix_fx).n_running, 0);
	ck_assert_uint_le(lmi_service_deadline(prefix_fx.svc), began + 1000 * FX_MS);
	prefix_fx.now = began + 1000 * FX_MS;
	fx_turn(&prefix_fx);
	ck_assert_uint_eq(fx_stats(&prefix_fx).n_running, 1);
	ck_assert_uint_eq(prefix_fx_stats().n_timed_out, 1);
	ck_assert_uint_eq(prefix_fx_stats().n_timed_out_memory, 0);
	ck_assert_int_eq(fx_read(&prefix_fx, &fx_user, &id, text, sizeof(text)).u.done.n_cached, 0);
	ck_assert_str_eq(text, want);
	prefix_fx_settle();
	kill_and_restart();
	fx_load(&prefix_fx);
	q = fx_generate(&prefix_fx, "tiny", "", 8);
	q.u.generate.has_prompt = false;
	q.u.generate.has_tokens = true;
	q.u.generate.tokens = copy;
	q.u.generate.n_tokens = 1000;
	ck_assert_msg(fx_call(&prefix_fx, &fx_user, &q), "%s", prefix_fx.a.err.text);
	id = prefix_fx.a.r.u.generate.id;
	fx_turn(&prefix_fx);
	lmi_wire_request_init(&q, LMI_WIRE_OP_CANCEL);
	q.u.cancel.id = id;
	ck_assert_msg(fx_call(&prefix_fx, &fx_user, &q), "%s", prefix_fx.a.err.text);
	prefix_fx_settle();
	(void)fx_read(&prefix_fx, &fx_user, &id, text, sizeof(text));
	fx_check_empty(&prefix_fx);
}
END_TEST

/* What a key has saved goes with the key, and what is being saved. */
START_TEST(a_removed_key)
{
	struct lmi_svc_principal app = {
		.uid = 7, .role = LMI_SVC_ROLE_USER, .remote = true, .conn = 9, .key_label = "app"};
	struct lmi_wire_request q;
	char text[64], digest[65], one[600];
	uint32_t n, of_user;

	prefix_fx.o.inst.backend = "cpu";
	fx_start(&prefix_fx);
	memset(digest, 'a', 64);
	digest[64] = 0;
	lmi_wire_request_init(&q, LMI_WIRE_OP_KEY_ADD);
	q.u.key_add.label = (struct lmd_str){.ptr = "app", .len = 3};
	q.u.key_add.digest = (struct lmd_str){.ptr = digest, .len = 64};
	ck_assert_msg(fx_call(&prefix_fx, &fx_admin, &q), "%s", prefix_fx.a.err.text);
	(void)prefix_fx_ask(&fx_user, "tiny", prefix_tokens, 600, text, sizeof(text));
	prefix_fx_settle();
	(void)disk_bytes(&of_user, one);
	(void)prefix_fx_ask(&app, "tiny", prefix_tokens, 600, text, sizeof(text));
	prefix_fx_settle();
	(void)disk_bytes(&n, one);
	ck_assert_uint_eq(n, 2 * of_user);
	prefix_fx_begin(&app, "tiny", prefix_tokens + 700, 600);
	prefix_fx_begin(&app, "tiny", prefix_tokens + 1400, 600);
	for (int i = 0; i < 100000 && !lmi_svc_prefix_tier_is_busy(prefix_fx.svc); i++) {
		(void)lmi_jobs_run_one(prefix_fx.work);
		fx_turn(&prefix_fx);
	}
	ck_assert(lmi_svc_prefix_tier_is_busy(prefix_fx.svc));
	lmi_wire_request_init(&q, LMI_WIRE_OP_KEY_RM);
	q.u.key_rm.label = (struct lmd_str){.ptr = "app", .len = 3};
	ck_assert_msg(fx_call(&prefix_fx, &fx_admin, &q), "%s", prefix_fx.a.err.text);
	fx_settle(&prefix_fx);
	prefix_fx_settle();
	(void)disk_bytes(&n, one);
	ck_assert_uint_eq(n, of_user);
}
END_TEST

static struct lmi_svc_prefix_files *open_files(const char *root, uint64_t max_bytes)
{
	struct lmi_svc_prefix_files *f;

	ck_assert_int_eq(lmi_svc_prefix_files_create(&f, root, max_bytes, NULL), LMD_OK);
	ck_assert(lmi_svc_prefix_files_scan(f, NULL));
	return f;
}

/* Leftovers of a killed daemon are removed, and names that are none of the tier's. The folder may be a link,
 * that of a user may not. */
START_TEST(leftovers)
{
	struct lmi_svc_prefix_key key = {.tenant = 0x1234, .group = 3, .chain = {1, 2, 3}};
	char root[600], path[700], moved[700], back[16];
	struct lmi_svc_prefix_files_stats s;
	struct lmi_svc_prefix_files *f;
	struct lmd_error err;
	int fd;

	path_in_state(root, "");
	f = open_files(root, 1000);
	ck_assert_int_eq(lmi_svc_prefix_files_get(f, &key, back, 5, &err), LMD_NOTFOUND);
	ck_assert_int_eq(lmi_svc_prefix_files_put(f, &key, "hello", 5, &err), LMD_OK);
	ck_assert_int_eq(lmi_svc_prefix_files_put(f, &key, "hello", 5, &err), LMD_OK);
	ck_assert_int_eq(lmi_svc_prefix_files_get(f, &key, back, 5, &err), LMD_OK);
	ck_assert_msg(!memcmp(back, "hello", 5), "other bytes");
	ck_assert_int_eq(lmi_svc_prefix_files_put(f, &key, root, 1000, &err), LMD_OK);
	key.group = 4;
	ck_assert_int_eq(lmi_svc_prefix_files_put(f, &key, path, 1000, &err), LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(err.text, "prefix_disk_bytes of 1000"));
	lmi_svc_prefix_files_destroy(f);
	snprintf(path, sizeof(path), "%.500s/prefixes/0000000000001234/00.17", root);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	snprintf(back, sizeof(back), "elsewhere");
	snprintf(moved, sizeof(moved), "%.500s/%s", root, back);
	snprintf(path, sizeof(path), "%.500s/prefixes", root);
	ck_assert_int_eq(rename(path, moved), 0);
	ck_assert_int_eq(symlink(back, path), 0);
	snprintf(path, sizeof(path), "%.500s/0000000000000099", moved);
	ck_assert_int_eq(symlink("0000000000001234", path), 0);
	snprintf(path, sizeof(path), "%.500s/0000000000001234/00.17", moved);
	f = open_files(root, 1000);
	ck_assert_int_ne(access(path, F_OK), 0);
	lmi_svc_prefix_files_stats(f, &s);
	ck_assert_uint_eq(s.n_file, 1);
	key.group = 3;
	ck_assert_int_eq(lmi_svc_prefix_files_get(f, &key, back, 5, &err), LMD_OK);
	key.chain[5] = 1;
	ck_assert_int_eq(lmi_svc_prefix_files_get(f, &key, back, 5, &err), LMD_NOTFOUND);
	key.tenant = 0x99;
	ck_assert_int_eq(lmi_svc_prefix_files_put(f, &key, "hello", 5, &err), LMD_IO);
	ck_assert_ptr_nonnull(strstr(err.text, "not a folder"));
	lmi_svc_prefix_files_destroy(f);
	f = open_files(root, 0);
	lmi_svc_prefix_files_stats(f, &s);
	ck_assert_uint_eq(s.n_file, 0);
	lmi_svc_prefix_files_destroy(f);
}
END_TEST

/* ---- tenants ---- */

#define PAGE_BYTES 916u /* with its head 1000 */

static void put_pages(struct lmi_svc_prefix_files *f, uint64_t tenant, uint8_t from, uint8_t n)
{
	static const char rows[PAGE_BYTES];

	for (uint32_t i = from; i < (uint32_t)from + n; i++) {
		const struct lmi_svc_prefix_key key = {.tenant = tenant, .chain = {(uint8_t)i}};

		ck_assert_int_eq(lmi_svc_prefix_files_put(f, &key, rows, PAGE_BYTES, NULL), LMD_OK);
	}
}

/* Returns how many of the pages [from, from + n) are there. */
static uint32_t count_pages(struct lmi_svc_prefix_files *f, uint64_t tenant, uint8_t from, uint8_t n)
{
	uint32_t sum = 0;

	for (uint32_t i = from; i < (uint32_t)from + n; i++) {
		const struct lmi_svc_prefix_key key = {.tenant = tenant, .chain = {(uint8_t)i}};

		sum += lmi_svc_prefix_files_has(f, &key);
	}
	return sum;
}

/* One tenant cannot push out all pages of another one. _i: restart before it tries */
START_TEST(shares_of_tenants)
{
	struct lmi_svc_prefix_files *f;
	struct lmi_svc_prefix_files_stats s;
	char root[600];

	path_in_state(root, "");
	f = open_files(root, 100 * 1000);
	put_pages(f, 1, 0, 100);
	ck_assert_uint_eq(count_pages(f, 1, 0, 100), 100); /* alone it has all */
	put_pages(f, 2, 0, 10);
	ck_assert_uint_eq(count_pages(f, 1, 0, 10), 0); /* the oldest ones make room */
	ck_assert_uint_eq(count_pages(f, 1, 10, 90), 90);
	if (_i) {
		lmi_svc_prefix_files_destroy(f);
		f = open_files(root, 100 * 1000);
	}
	put_pages(f, 1, 100, 150); /* more than there is room for */
	ck_assert_uint_eq(count_pages(f, 2, 0, 10), 10);
	ck_assert_uint_eq(count_pages(f, 1, 160, 90), 90);
	put_pages(f, 2, 10, 200); /* both have more than their share of 25 */
	ck_assert_uint_eq(count_pages(f, 1, 225, 25), 25);
	ck_assert_uint_eq(count_pages(f, 1, 0, 250), 25);
	ck_assert_uint_eq(count_pages(f, 2, 135, 75), 75);
	lmi_svc_prefix_files_forget(f, 1);
	put_pages(f, 2, 210, 40);
	ck_assert_uint_eq(count_pages(f, 2, 0, 250), 100);
	lmi_svc_prefix_files_stats(f, &s);
	ck_assert_uint_eq(s.n_file, 100);
	ck_assert_uint_eq(s.n_bytes, 100 * 1000);
	lmi_svc_prefix_files_destroy(f);
}
END_TEST

/* Reading the folder is cut short, and nothing is lost by that. */
START_TEST(a_scan_that_is_cancelled)
{
	struct lmi_svc_prefix_files *f;
	struct lmi_svc_prefix_files_stats s;
	struct lmi_cancel cancel = {0};
	char root[600], text[64];

	path_in_state(root, "");
	f = open_files(root, 100 * 1000);
	put_pages(f, 1, 0, 50);
	lmi_svc_prefix_files_destroy(f);
	ck_assert_int_eq(lmi_svc_prefix_files_create(&f, root, 100 * 1000, NULL), LMD_OK);
	lmi_cancel_set(&cancel);
	ck_assert(!lmi_svc_prefix_files_scan(f, &cancel));
	lmi_svc_prefix_files_stats(f, &s);
	ck_assert_uint_eq(s.n_file, 0);
	lmi_svc_prefix_files_destroy(f);
	fx_start(&prefix_fx);
	prefix_fx_stop(); /* before the job has run */
	fx_start(&prefix_fx);
	(void)prefix_fx_ask(&fx_user, "tiny", prefix_tokens, 100, text, sizeof(text)); /* it waits for nothing */
	prefix_fx_settle();
	ck_assert_uint_eq(prefix_fx_stats().files.n_file, 50);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("disk tier");
	TCase *t = tcase_create("disk tier");

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, setup, prefix_fx_teardown);
	tcase_add_loop_test(t, after_a_kill, 0, (int)LMD_LEN(places));
	tcase_add_loop_test(t, kinds_of_models, 0, LMT_N_TINY);
	tcase_add_test(t, evicted_rows);
	tcase_add_test(t, what_is_saved);
	tcase_add_test(t, limits);
	tcase_add_loop_test(t, damaged_files, 0, 2);
	tcase_add_test(t, a_slow_disk);
	tcase_add_test(t, a_removed_key);
	tcase_add_test(t, leftovers);
	tcase_add_loop_test(t, shares_of_tenants, 0, 2);
	tcase_add_test(t, a_scan_that_is_cancelled);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
