/* SPDX-License-Identifier: MIT
 *
 * Plugins that are added, removed and changed while a daemon is running. */
#include <signal.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llamad/plugin.h"
#include "tests/daemon/fixture.h"
#include "tests/lmd_check.h"

static struct lmt_daemon d;
static struct lmt_client c;

static void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *fmt, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, fmt);
	ck_assert_int_lt(vsnprintf(command, sizeof(command), fmt, ap), (int)sizeof(command));
	va_end(ap);
	ck_assert_msg(system(command) == 0, "%s", command);
}

/* Starts a daemon whose plugins are copies in its temporary folder. */
static void set_up(void)
{
	lmt_daemon_init(&d);
	ck_assert_int_eq(mkdir(d.plugins, 0755), 0);
	shell("cp -L '%s'/plugins/.libs/*.so '%s' && chmod 644 '%s'/*.so", lmd_build_dir(),
	      d.plugins, d.plugins);
	/* a failed load can be retried at once */
	lmt_daemon_config(&d, "[plugins]\ndefault_plugins = no\n[limits]\nfail = 0\n");
	lmt_daemon_start(&d, NULL);
	lmt_client_open(&c, &d);
	lmt_add(&c, &d);
}

static void tear_down(void)
{
	lmt_client_close(&c);
	lmt_daemon_stop(&d);
	lmt_daemon_fini(&d);
}

/* Runs a generation of three tokens; returns its last item, and its error message, if any, in
 * text. */
static enum lmi_wire_item_kind generate(char *text, size_t n)
{
	const struct lmi_wire_rep_next *r;
	struct lmi_wire_item last = {0};
	struct lmi_wire_id id;
	int64_t after = 0;

	lmt_generate(&c, "tiny", 3, &id);
	*text = 0;
	do {
		r = lmt_next(&c, &id, &after, LMT_PATIENCE_MS);
		if (r->n_items)
			last = r->items[r->n_items - 1];
		if (r->n_items && last.kind == LMI_WIRE_ITEM_ERROR)
			snprintf(text, n, "%.*s", (int)last.u.error.text.len,
				 last.u.error.text.ptr);
	} while (!r->end);
	return last.kind;
}

static void unload(void)
{
	const struct lmi_wire_rep_next *r;
	const struct lmi_wire_reply *reply;
	struct lmi_wire_request req;
	struct lmi_wire_id id;
	int64_t after = 0;

	lmi_wire_request_init(&req, LMI_WIRE_OP_UNLOAD);
	req.u.unload.model = (struct lmd_str){.ptr = "tiny", .len = 4};
	lmt_new_rid(&req);
	reply = lmt_ask(&c, &req);
	ck_assert_msg(!reply->failed, "%.*s", (int)reply->error.text.len, reply->error.text.ptr);
	id = reply->u.unload.id;
	do
		r = lmt_next(&c, &id, &after, LMT_PATIENCE_MS);
	while (!r->end);
}

/* Returns state and reason of a file after a scan of the folders. */
static void state_of(const char *name, char *text, size_t n)
{
	const struct lmi_wire_reply *r = lmt_ask_op(&c, LMI_WIRE_OP_PLUGINS_RELOAD);

	ck_assert_msg(!r->failed, "%.*s", (int)r->error.text.len, r->error.text.ptr);
	r = lmt_ask_op(&c, LMI_WIRE_OP_PLUGINS);
	ck_assert(!r->failed);
	*text = 0;
	for (uint32_t i = 0; i < r->u.plugins.n_plugins; i++) {
		const struct lmi_wire_plugin *p = &r->u.plugins.plugins[i];
		size_t len = strlen(name);

		if (p->file.len > len && !memcmp(p->file.ptr + p->file.len - len, name, len))
			snprintf(text, n, "%.*s: %.*s", (int)p->state.len, p->state.ptr,
				 (int)p->reason.len, p->reason.ptr);
	}
}

START_TEST(removed_and_put_back)
{
	static const char *const files[] = {"backend-null.so", "arch-dense.so", "sampler-basic.so"};
	char text[512];

	ck_assert_int_eq(generate(text, sizeof(text)), LMI_WIRE_ITEM_DONE);
	for (size_t i = 0; i < LMD_LEN(files); i++) {
		unload();
		shell("mv '%s/%s' '%s/kept'", d.plugins, files[i], d.dir);
		ck_assert_msg(generate(text, sizeof(text)) == LMI_WIRE_ITEM_ERROR, "%s", files[i]);
		ck_assert_msg(*text, "%s", files[i]);
		printf("without %s: %s\n", files[i], text);
		shell("mv '%s/kept' '%s/%s'", d.dir, d.plugins, files[i]);
		ck_assert_msg(generate(text, sizeof(text)) == LMI_WIRE_ITEM_DONE, "%s: %s",
			      files[i], text);
	}
}
END_TEST

/* Writes a copy of backend-null.so with another ABI version to `name`. */
static void put_wrong_abi(const char *name)
{
	static const uint32_t magic = LMD_PLUGIN_MAGIC;
	char path[256], *bytes, *at;
	struct stat sb;
	FILE *f;

	shell("cp '%s/backend-null.so' '%s/%s'", d.plugins, d.plugins, name);
	snprintf(path, sizeof(path), "%s/%s", d.plugins, name);
	ck_assert_int_eq(stat(path, &sb), 0);
	bytes = malloc((size_t)sb.st_size);
	f = fopen(path, "r+");
	ck_assert(f && bytes);
	ck_assert_uint_eq(fread(bytes, 1, (size_t)sb.st_size, f), (size_t)sb.st_size);
	/* the note is preceded by the name of its owner */
	for (at = bytes; (at = memmem(at, (size_t)(bytes + sb.st_size - at), "llamad\0", 8)); at++)
		if (!memcmp(at + 8, &magic, sizeof(magic)))
			break;
	ck_assert_ptr_nonnull(at);
	at += 8 + offsetof(struct lmd_note, abi_major) - offsetof(struct lmd_note, magic);
	*at = 99;
	rewind(f);
	ck_assert_uint_eq(fwrite(bytes, 1, (size_t)sb.st_size, f), (size_t)sb.st_size);
	fclose(f);
	free(bytes);
}

START_TEST(broken_ones_are_refused_by_name)
{
	char text[512];

	shell("head -c 3000 '%s/backend-null.so' > '%s/x-truncated.so'", d.plugins, d.plugins);
	shell("head -c 40 '%s/backend-null.so' > '%s/x-head.so'", d.plugins, d.plugins);
	shell("echo text > '%s/x-text.so'", d.plugins);
	shell(": > '%s/x-empty.so'", d.plugins);
	shell("cp '%s/backend-null.so' '%s/x-open.so' && chmod 666 '%s/x-open.so'", d.plugins,
	      d.plugins, d.plugins);
	shell("ln -s backend-null.so '%s/x-link.so'", d.plugins);
	shell("mkfifo '%s/x-fifo.so'", d.plugins);
	put_wrong_abi("x-abi.so");
	static const struct {
		const char *file, *says;
	} cases[] = {
		{"x-truncated.so", "refused: "},  {"x-head.so", "refused: "},
		{"x-text.so", "not an ELF file"}, {"x-empty.so", "refused: "},
		{"x-open.so", "writable"},        {"x-abi.so", "ABI"},
	};
	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		state_of(cases[i].file, text, sizeof(text));
		ck_assert_msg(strncmp(text, "refused: ", 9) == 0 && strstr(text, cases[i].says),
			      "%s: '%s'", cases[i].file, text);
	}
	/* links and pipes are not opened; the plugin itself works */
	state_of("x-link.so", text, sizeof(text));
	ck_assert_msg(strncmp(text, "loaded", 6) != 0, "x-link.so: %s", text);
	state_of("x-fifo.so", text, sizeof(text));
	ck_assert_msg(strncmp(text, "loaded", 6) != 0, "x-fifo.so: %s", text);
	ck_assert_int_eq(generate(text, sizeof(text)), LMI_WIRE_ITEM_DONE);
}
END_TEST

/* A file whose code was damaged, at each reload in other bytes: the daemon refuses what crashes, and
 * goes on with the version that it has. */
START_TEST(damaged_code)
{
	uint64_t rnd = lmd_seed("damaged code", 1);
	char path[256], text[512], *bytes;
	struct stat sb;
	FILE *f;

	ck_assert_int_eq(generate(text, sizeof(text)), LMI_WIRE_ITEM_DONE);
	snprintf(path, sizeof(path), "%s/sampler-basic.so", d.plugins);
	ck_assert_int_eq(stat(path, &sb), 0);
	bytes = malloc((size_t)sb.st_size);
	f = fopen(path, "r");
	ck_assert(f && bytes);
	ck_assert_uint_eq(fread(bytes, 1, (size_t)sb.st_size, f), (size_t)sb.st_size);
	fclose(f);
	for (int i = 0; i < 40; i++) {
		char *bad = malloc((size_t)sb.st_size);

		ck_assert_ptr_nonnull(bad);
		memcpy(bad, bytes, (size_t)sb.st_size);
		for (int k = 0; k < 1 + i % 7; k++)
			bad[lmd_rand(&rnd) % (uint64_t)sb.st_size] ^= (char)(1 + lmd_rand(&rnd) % 255);
		shell("rm '%s'", path);
		f = fopen(path, "w");
		ck_assert_ptr_nonnull(f);
		ck_assert_uint_eq(fwrite(bad, 1, (size_t)sb.st_size, f), (size_t)sb.st_size);
		ck_assert_int_eq(fchmod(fileno(f), 0644), 0);
		fclose(f);
		free(bad);
		state_of("sampler-basic.so", text, sizeof(text));
	}
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, (size_t)sb.st_size, f), (size_t)sb.st_size);
	fclose(f);
	free(bytes);
	state_of("sampler-basic.so", text, sizeof(text));
	ck_assert_msg(generate(text, sizeof(text)) == LMI_WIRE_ITEM_DONE, "%s", text);
}
END_TEST

/* Another process replaces files all the time while models are loaded and used. */
START_TEST(replaced_while_loading)
{
	char text[512];
	int n = 0, status;
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (!child) {
		char command[1024];

		snprintf(command, sizeof(command),
			 "cd '%s' && for i in $(seq 40); do for f in backend-null arch-dense "
			 "sampler-basic; do cp $f.so ../$f.new && mv -f ../$f.new $f.so || exit 1; "
			 "done; done",
			 d.plugins);
		_exit(system(command) ? 1 : 0);
	}
	do {
		ck_assert_msg(generate(text, sizeof(text)) == LMI_WIRE_ITEM_DONE, "%s", text);
		unload();
		n++;
	} while (!waitpid(child, &status, WNOHANG));
	ck_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	ck_assert_int_gt(n, 1);
	ck_assert_int_eq(generate(text, sizeof(text)), LMI_WIRE_ITEM_DONE);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("plugins of a daemon");
	TCase *t = tcase_create("plugins");

	tcase_set_timeout(t, 180);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, removed_and_put_back);
	tcase_add_test(t, broken_ones_are_refused_by_name);
	tcase_add_test(t, damaged_code);
	tcase_add_test(t, replaced_while_loading);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
