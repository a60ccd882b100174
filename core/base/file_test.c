/* SPDX-License-Identifier: MIT
 *
 * Reading, mapping and replacing files; escaping of bytes for a line of text. */
#include "core/base/file.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "llamad/attr.h"
#include "tests/lmd_check.h"

static char dir[] = "/tmp/lmd-file-XXXXXX";
static char path[128];
static struct lmd_error err;

static void make_dir(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/f", dir);
}

static void remove_dir(void)
{
	struct lmi_alloc_stats s;
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	ck_assert_int_eq(system(cmd), 0);
	lmi_alloc_stats(&s);
	ck_assert_uint_eq(s.n_live, 0);
}

static int n_entries(void)
{
	char cmd[128];
	FILE *f;
	int n = -1;

	snprintf(cmd, sizeof(cmd), "ls -A %s | wc -l", dir);
	f = popen(cmd, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%d", &n), 1);
	pclose(f);
	return n;
}

static void put(const char *text)
{
	struct lmi_new_file f;

	ck_assert_int_eq(lmi_new_file_open(&f, path, 0640, &err), LMD_OK);
	ck_assert_int_eq(lmi_new_file_write(&f, text, strlen(text), &err), LMD_OK);
	ck_assert_uint_eq(f.bytes, strlen(text));
	ck_assert_int_eq(lmi_new_file_commit(&f, &err), LMD_OK);
	lmi_new_file_abort(&f); /* does nothing after commit */
}

static void expect(const char *text)
{
	struct lmi_file f;
	char buf[64] = {0};

	ck_assert_int_eq(lmi_file_open(&f, path, &err), LMD_OK);
	ck_assert_uint_eq(f.bytes, strlen(text));
	ck_assert_int_eq(lmi_file_read(&f, 0, buf, f.bytes, &err), LMD_OK);
	ck_assert_str_eq(buf, text);
	lmi_file_close(&f);
	lmi_file_close(&f);
}

/* Only files are read; the error says what else it is. */
START_TEST(what_is_not_a_file)
{
	static const struct {
		const char *path, *kind;
	} v[] = {{dir, "a directory"}, {"/dev/null", "a device"}, {path, "a FIFO"}};
	struct lmi_file f;

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	for (size_t i = 0; i < LMD_LEN(v); i++) {
		ck_assert_int_eq(lmi_file_open(&f, v[i].path, &err), LMD_INVALID);
		ck_assert_msg(strstr(err.text, v[i].kind) != NULL, "%s", err.text);
	}
	ck_assert_int_eq(remove(path), 0);
}
END_TEST

START_TEST(replace)
{
	struct lmi_new_file f;
	struct stat sb;

	put("first");
	expect("first");
	ck_assert_int_eq(stat(path, &sb), 0);
	ck_assert_uint_eq(sb.st_mode & 0137, 0); /* mode & ~umask */
	put("second");
	expect("second");
	ck_assert_int_eq(lmi_new_file_open(&f, path, 0600, &err), LMD_OK);
	ck_assert_int_eq(lmi_new_file_write(&f, "third", 5, &err), LMD_OK);
	ck_assert_int_eq(n_entries(), 2);
	lmi_new_file_abort(&f);
	expect("second");
	ck_assert_int_eq(n_entries(), 1);
	ck_assert_int_eq(lmi_new_file_open(&f, dir, 0600, &err), LMD_INVALID);
	ck_assert_int_eq(lmi_new_file_open(&f, "/dev/null", 0600, &err), LMD_INVALID);
	ck_assert_int_eq(lmi_new_file_open(&f, "/nonexistent/f", 0600, &err), LMD_NOTFOUND);
	ck_assert_int_eq(err.status, LMD_NOTFOUND);
	lmi_new_file_abort(&f);
	for (uint64_t n = 1; n < 4; n++) {
		enum lmd_status st;

		lmi_alloc_fail_nth(n, false);
		st = lmi_new_file_open(&f, path, 0600, &err);
		lmi_alloc_fail_nth(0, false);
		ck_assert_int_eq(st, n < 3 ? LMD_NOMEM : LMD_OK);
		lmi_new_file_abort(&f);
	}
	ck_assert_int_eq(n_entries(), 1);
}
END_TEST

START_TEST(write_at)
{
	struct lmi_new_file f;

	ck_assert_int_eq(lmi_new_file_open(&f, path, 0600, &err), LMD_OK);
	ck_assert_int_eq(lmi_new_file_write_at(&f, 6, "world", 5, &err), LMD_OK);
	ck_assert_uint_eq(f.bytes, 11);
	ck_assert_int_eq(lmi_new_file_write_at(&f, 0, "hello ", 6, &err), LMD_OK);
	ck_assert_uint_eq(f.bytes, 11);
	ck_assert_int_eq(lmi_new_file_write(&f, "!", 1, &err), LMD_OK); /* after everything written
									 * so far */
	ck_assert_int_eq(lmi_new_file_commit(&f, &err), LMD_OK);
	expect("hello world!");
}
END_TEST

START_TEST(map)
{
	struct lmi_map m = {0}, copy = {0};
	struct lmi_file f;
	char buf[8];

	put("0123456789");
	ck_assert_int_eq(lmi_file_open(&f, path, &err), LMD_OK);
	ck_assert_int_eq(lmi_file_read(&f, 8, buf, 3, &err), LMD_IO);
	ck_assert_ptr_nonnull(strstr(err.text, "the file ends at byte 10"));
	ck_assert_int_eq(lmi_map_open(&m, &f, 11, &err), LMD_INVALID);
	ck_assert_int_eq(lmi_map_open(&m, &f, 10, &err), LMD_OK);
	ck_assert_mem_eq(m.ptr, "0123456789", 10);
	ck_assert_int_eq(lmi_map_read(&copy, &f, 4, 3, &err), LMD_OK);
	ck_assert_mem_eq(copy.ptr, "456", 3);
	ck_assert_int_eq(lmi_map_read(&copy, &f, 8, 0, &err), LMD_NOMEM);
	lmi_map_close(&copy);
	ck_assert_int_eq(lmi_map_read(&copy, &f, 8, 3, &err), LMD_IO);
	lmi_file_close(&f);
	lmi_map_close(&m);
	lmi_map_close(&m);
}
END_TEST

static bool count_bytes(void *arg, uint64_t done)
{
	uint64_t *last = arg;

	ck_assert_uint_ge(done, *last);
	*last = done;
	return true;
}

static bool give_up(void *arg, uint64_t done)
{
	(void)arg;
	(void)done;
	return false;
}

/* Cached and direct reads of any byte range return the same bytes as the file. */
START_TEST(load_is_the_same)
{
	static const uint64_t edges[] = {0, 1, 511, 512, 4095, 4096, 4097, 12287, 12288, 20000};
	char *text = malloc(20001);
	struct lmi_file f;

	for (int i = 0; i < 20000; i++)
		text[i] = (char)('a' + (i * 7 + i / 13) % 26);
	text[20000] = 0;
	put(text);
	ck_assert_int_eq(lmi_file_open(&f, path, &err), LMD_OK);
	for (size_t a = 0; a < LMD_LEN(edges); a++)
		for (size_t b = a + 1; b < LMD_LEN(edges); b++)
			for (int direct = 0; direct < 2; direct++) {
				uint64_t n = edges[b] - edges[a], seen = 0;
				struct lmi_map m;

				ck_assert_int_eq(lmi_map_load(&m, &f, edges[a], n, direct,
							      count_bytes, &seen, &err),
						 LMD_OK);
				ck_assert_mem_eq(m.ptr, text + edges[a], n);
				ck_assert_uint_eq(seen, n);
				lmi_map_close(&m);
				ck_assert_int_eq(lmi_map_load(&m, &f, edges[a], n, direct, give_up,
							      NULL, &err),
						 LMD_CANCELLED);
			}
	lmi_file_close(&f);
	free(text);
}
END_TEST

START_TEST(injected_faults)
{
	struct lmi_file f;
	char buf[8];

	put("01234567");
	ck_assert_int_eq(lmi_file_open(&f, path, &err), LMD_OK);
	for (int how = LMI_FILE_FAULT_EIO; how <= LMI_FILE_FAULT_END; how++) {
		bool harmless = how == LMI_FILE_FAULT_SHORT || how == LMI_FILE_FAULT_EINTR;

		lmi_file_fail_nth(1, (enum lmi_file_fault)how);
		ck_assert_int_eq(lmi_file_read(&f, 0, buf, 8, &err), harmless ? LMD_OK : LMD_IO);
		ck_assert(lmi_file_did_fail());
		ck_assert_int_eq(lmi_file_read(&f, 0, buf, 8, &err), LMD_OK);
		ck_assert_mem_eq(buf, "01234567", 8);
	}
	lmi_file_fail_nth(0, LMI_FILE_FAULT_EIO);
	ck_assert(!lmi_file_did_fail());
	lmi_file_close(&f);
}
END_TEST

START_TEST(write_all)
{
	struct sigaction was, ignore = {.sa_handler = SIG_IGN};
	char got[100000] = {0}, want[sizeof(got)];
	FILE *f = tmpfile();
	int pipe_fd[2];

	memset(want, 'x', sizeof(want));
	ck_assert_ptr_nonnull(f);
	ck_assert(lmi_file_write_all(fileno(f), want, sizeof(want)));
	ck_assert(lmi_file_write_all(fileno(f), NULL, 0));
	ck_assert_int_eq(pread(fileno(f), got, sizeof(got), 0), sizeof(got));
	ck_assert_mem_eq(got, want, sizeof(got));
	fclose(f);
	ck_assert(!sigaction(SIGPIPE, &ignore, &was));
	ck_assert(!pipe(pipe_fd));
	close(pipe_fd[0]);
	ck_assert(!lmi_file_write_all(pipe_fd[1], want, 1));
	ck_assert_int_eq(errno, EPIPE);
	close(pipe_fd[1]);
	ck_assert(!sigaction(SIGPIPE, &was, NULL));
}
END_TEST

START_TEST(base_name)
{
	ck_assert_str_eq(lmi_file_base_name("/a/b.gguf"), "b.gguf");
	ck_assert_str_eq(lmi_file_base_name("b.gguf"), "b.gguf");
	ck_assert_str_eq(lmi_file_base_name("a/"), "");
	ck_assert_str_eq(lmi_file_base_name(""), "");
}
END_TEST

START_TEST(show)
{
	static const struct {
		const char *s;
		size_t len, n;
		const char *want;
	} t[] = {
		{"plain", 5, 80, "plain"},
		{"", 0, 8, ""},
		{"a\nb\0c", 5, 80, "a\\x0ab\\x00c"},
		{"\xC3\xA9", 2, 80, "\\xc3\\xa9"},
		{"12345678", 8, 9, "12345678"},
		{"12345678", 8, 8, "1234..."},
		{"\1\1\1", 3, 13, "\\x01\\x01\\x01"},
		{"\1\1\1\1", 4, 12, "\\x01\\x01..."},
		{"\177~", 2, 80, "\\x7f~"},
	};
	char buf[80];

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		memset(buf, 'x', sizeof(buf));
		ck_assert_str_eq(lmi_printable(buf, t[i].n, t[i].s, t[i].len), t[i].want);
		ck_assert_uint_lt(strlen(buf), t[i].n);
	}
	ck_assert_str_eq(lmi_printable_path(buf, 16, "/short"), "/short");
	ck_assert_str_eq(lmi_printable_path(buf, 16, "/a/long/path/to/file.gguf"),
			 "...to/file.gguf");
	ck_assert_str_eq(lmi_printable_number(buf, 0.5), "0.5");
	ck_assert_str_eq(lmi_printable_number(buf, -10000), "-10000");
	ck_assert_str_eq(lmi_printable_number(buf, 0.1), "0.1");
	ck_assert_str_eq(lmi_printable_number(buf, (double)1e-5f), "9.9999997473787516e-06");
	ck_assert_str_eq(lmi_printable_number(buf, 1.0 / 3), "0.33333333333333331");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("file");
	TCase *tc = tcase_create("file");

	tcase_add_checked_fixture(tc, make_dir, remove_dir);
	tcase_add_test(tc, what_is_not_a_file);
	tcase_add_test(tc, replace);
	tcase_add_test(tc, write_at);
	tcase_add_test(tc, map);
	tcase_add_test(tc, load_is_the_same);
	tcase_add_test(tc, injected_faults);
	tcase_add_test(tc, write_all);
	tcase_add_test(tc, base_name);
	tcase_add_test(tc, show);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
