/* SPDX-License-Identifier: MIT
 *
 * The audit log: any change of it is found, and crashes leave it intact. */
#include "store/audit.h"

#include <stdio.h>
#include <string.h>

#include "store/test_store.h"

static struct lmi_store_audit *audit;
static char log_path[128], head_path[128], key_path[128];
static struct lmi_store_audit_key keys[2];
static const struct lmi_store_audit_key *key; /* of the log; NULL: none */

static void open_log(uint64_t rotate_bytes)
{
	ck_assert_msg(lmi_store_audit_open(&audit, dir, key, rotate_bytes, &err) == LMD_OK, "%s", err.text);
}

static void close_log(void)
{
	lmi_store_audit_close(audit);
	audit = NULL;
}

static void append(const char *event)
{
	const struct lmi_store_audit_event e = {
		.at_ns = NOW, .event = event, .principal = "uid:0", .subject = "a\"b\n", .detail = "ok"};

	ck_assert_msg(lmi_store_audit_append(audit, &e, &err) == LMD_OK, "%s", err.text);
}

static enum lmd_status verify(uint64_t *n)
{
	struct lmi_store_audit_result r;
	enum lmd_status st = lmi_store_audit_verify(dir, key, NULL, NULL, &r, &err);

	*n = r.n;
	return st;
}

static void set_up(void)
{
	make_dir();
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	snprintf(log_path, sizeof(log_path), "%s/audit.log", dir);
	snprintf(head_path, sizeof(head_path), "%s/audit.head", dir);
	snprintf(key_path, sizeof(key_path), "%s/audit.key", base_dir);
	memset(keys[0].bytes, 'k', sizeof(keys[0].bytes));
	key = NULL;
	open_log(0);
}

static void set_up_with_key(void)
{
	set_up();
	close_log();
	(void)unlink(log_path);
	(void)unlink(head_path);
	key = &keys[0];
	open_log(0);
}

static void tear_down(void)
{
	close_log();
	remove_dir();
}

static char text[65536];

static size_t read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t n;

	ck_assert_ptr_nonnull(f);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	return n;
}

static void write_file(const char *path, const char *bytes, size_t n)
{
	FILE *f = fopen(path, "w");

	ck_assert(f && fwrite(bytes, 1, n, f) == n);
	ck_assert_int_eq(fclose(f), 0);
}

static void three(void)
{
	uint64_t n = 0;

	append("start");
	append("key_add");
	append("stop");
	ck_assert_msg(verify(&n) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(n, 3);
}

START_TEST(every_byte_of_the_log)
{
	const char *const files[] = {log_path, head_path};
	uint64_t n;

	three();
	for (int i = 0; i < 2; i++) {
		size_t bytes = read_file(files[i]);

		for (size_t k = 0; k < bytes; k++)
			for (int bit = 0; bit < 8; bit++) {
				text[k] ^= (char)(1 << bit);
				write_file(files[i], text, bytes);
				ck_assert_msg(verify(&n) == LMD_CORRUPT, "file %d, byte %zu, bit %d", i,
					      k, bit);
				text[k] ^= (char)(1 << bit);
			}
		write_file(files[i], text, bytes);
	}
	ck_assert_int_eq(verify(&n), LMD_OK);
}
END_TEST

/* The log ends, or one line ends, after any number of bytes; also after a restart. */
START_TEST(truncated)
{
	size_t bytes, at = 0;
	char all[4096];
	uint64_t n;

	three();
	close_log();
	bytes = read_file(log_path);
	memcpy(all, text, bytes);
	for (size_t k = 0; k < bytes; k++) {
		write_file(log_path, all, k);
		ck_assert_msg(verify(&n) == LMD_CORRUPT, "%zu bytes of the log", k);
	}
	for (size_t k = 0; k < bytes; k++) { /* up to the end of the line that has byte k */
		const char *end = memchr(all + k, '\n', bytes - k);

		memcpy(text, all, k);
		memcpy(text + k, end, bytes - (size_t)(end - all));
		if (all[k] == '\n')
			continue;
		write_file(log_path, text, k + bytes - (size_t)(end - all));
		ck_assert_msg(verify(&n) == LMD_CORRUPT, "%zu bytes of a line", k);
		at++;
	}
	ck_assert_uint_gt(at, 3 * 200);
	write_file(log_path, all, bytes - 1);
	open_log(0);
	append("start");
	ck_assert_int_eq(verify(&n), LMD_CORRUPT);
}
END_TEST

/* Any selection of the lines in any order but the whole log. */
START_TEST(removed_and_reordered)
{
	static const char *const orders[] = {"", "1", "12", "13", "23", "132", "213", "321", "1123", "1233"};
	const char *at[5];
	char all[4096];
	uint64_t n;

	three();
	all[read_file(log_path)] = 0;
	strcpy(all, text);
	at[1] = all;
	at[2] = strchr(at[1], '\n') + 1;
	at[3] = strchr(at[2], '\n') + 1;
	at[4] = strchr(at[3], '\n') + 1;
	for (size_t i = 0; i < LMD_LEN(orders); i++) {
		char made[8192] = "";

		for (const char *p = orders[i]; *p; p++)
			strncat(made, at[*p - '0'], (size_t)(at[*p - '0' + 1] - at[*p - '0']));
		write_file(log_path, made, strlen(made));
		ck_assert_msg(verify(&n) == LMD_CORRUPT, "order '%s'", orders[i]);
	}
	(void)unlink(log_path);
	ck_assert_int_eq(verify(&n), LMD_CORRUPT);
	write_file(log_path, all, strlen(all));
	ck_assert_int_eq(verify(&n), LMD_OK);
	(void)unlink(head_path);
	ck_assert_int_eq(verify(&n), LMD_CORRUPT);
}
END_TEST

START_TEST(rotated)
{
	char path[160];
	uint64_t n;

	close_log();
	open_log(600);
	for (int i = 0; i < 10; i++)
		append("load");
	close_log();
	open_log(600);
	append("stop");
	ck_assert_msg(verify(&n) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(n, 11);
	snprintf(path, sizeof(path), "%s/audit-%020d.log", dir, 1);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(verify(&n), LMD_CORRUPT);
}
END_TEST

/* Killed while a record was written, and before audit.head was. */
START_TEST(after_a_crash)
{
	size_t bytes, head;
	char saved[200];
	uint64_t n;

	three();
	head = read_file(head_path);
	memcpy(saved, text, head);
	append("load");
	write_file(head_path, saved, head);
	ck_assert_msg(verify(&n) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(n, 4);
	close_log();
	bytes = read_file(log_path);
	memcpy(text + bytes, "{\"seq\":5,\"ti", 12);
	write_file(log_path, text, bytes + 12);
	ck_assert_msg(verify(&n) == LMD_OK, "%s", err.text);
	open_log(0);
	ck_assert_uint_eq(lmi_store_audit_repaired(audit), 12);
	append("stop");
	ck_assert_msg(verify(&n) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(n, 5);
	close_log();
	open_log(0);
	ck_assert_uint_eq(lmi_store_audit_repaired(audit), 0);
}
END_TEST

/* A damaged log is continued and stays damaged. */
START_TEST(damage_stays)
{
	size_t bytes;
	uint64_t n;

	three();
	close_log();
	bytes = read_file(log_path);
	text[bytes / 2] ^= 1;
	write_file(log_path, text, bytes);
	open_log(0);
	append("start");
	ck_assert_int_eq(verify(&n), LMD_CORRUPT);
}
END_TEST

/* ---- with a key only ---- */

static enum lmd_status open_again(const struct lmi_store_audit_key *with)
{
	close_log();
	return lmi_store_audit_open(&audit, dir, with, 0, &err);
}

START_TEST(key_files)
{
	char text_of[70] = "";
	struct stat sb;

	REFUSED(lmi_store_audit_key_read(&keys[1], key_path, &err), LMD_NOTFOUND, "No such file");
	ck_assert_int_eq(lmi_store_audit_key_make(key_path, &err), LMD_OK);
	ck_assert_int_eq(stat(key_path, &sb), 0);
	ck_assert_uint_eq(sb.st_mode & 07777, 0600);
	ck_assert_int_eq(lmi_store_audit_key_read(&keys[1], key_path, &err), LMD_OK);
	ck_assert_uint_eq(read_file(key_path), 65);
	for (size_t i = 0; i < 32; i++)
		snprintf(text_of + 2 * i, 3, "%02x", keys[1].bytes[i]);
	ck_assert_int_eq(memcmp(text_of, text, 64), 0);
	REFUSED(lmi_store_audit_key_make(key_path, &err), LMD_IO, "File exists");
	ck_assert_int_eq(chmod(key_path, 0640), 0);
	ck_assert_int_eq(lmi_store_audit_key_read(&keys[1], key_path, &err), LMD_OK);
	ck_assert_int_eq(chmod(key_path, 0644), 0);
	REFUSED(lmi_store_audit_key_read(&keys[1], key_path, &err), LMD_INVALID, "mode 0644");
	ck_assert_int_eq(chmod(key_path, 0600), 0);
	write_file(key_path, text_of, 63);
	REFUSED(lmi_store_audit_key_read(&keys[1], key_path, &err), LMD_INVALID, "64 lower-case hex");
	(void)unlink(key_path);
}
END_TEST

/* The MAC was computed with Python: hmac.new(b"k" * 32, LINE[:LINE.index(b',"mac"')], "sha256"). */
START_TEST(mac_of_a_record)
{
	static const char want[] = 
		"\"mac\":\"ed05d39bccc1b95cd237e4528fe5b80158a12850911812603dde2fa14070640c\"}";
	size_t n;

	append("start");
	n = read_file(log_path);
	text[n] = 0;
	ck_assert_ptr_nonnull(strstr(text, ",\"mac\":\""));
	ck_assert_msg(strstr(text, want), "%s", text);
}
END_TEST

/* A log that was made again without the key, or with another one. */
START_TEST(made_again)
{
	uint64_t n;

	three();
	close_log();
	(void)unlink(log_path);
	(void)unlink(head_path);
	for (int other = 0; other < 2; other++) {
		ck_assert_int_eq(lmi_store_audit_open(&audit, dir, other ? &keys[1] : NULL, 0, &err), LMD_OK);
		append("start");
		append("stop");
		close_log();
		ck_assert_int_eq(verify(&n), LMD_CORRUPT);
		if (other)
			REFUSED(lmi_store_audit_open(&audit, dir, key, 0, &err), LMD_DENIED, "another one");
		(void)unlink(log_path);
		(void)unlink(head_path);
	}
}
END_TEST

/* The latest records are removed, and audit.head is made again without the key or removed; a daemon does
 * not give such a log a new MAC. */
START_TEST(shortened)
{
	char all[4096], head[200], *second;
	uint64_t n;

	three();
	close_log();
	all[read_file(log_path)] = 0;
	strcpy(all, text);
	second = strchr(all, '\n') + 1;
	snprintf(head, sizeof(head), "%020d %.64s\n", 1, second - 67);
	write_file(log_path, all, (size_t)(second - all));
	ck_assert_int_eq(verify(&n), LMD_CORRUPT);
	write_file(head_path, head, strlen(head));
	REFUSED(verify(&n), LMD_CORRUPT, "made without the key");
	REFUSED(lmi_store_audit_open(&audit, dir, key, 0, &err), LMD_DENIED, "audit log was changed");
	(void)unlink(head_path);
	REFUSED(lmi_store_audit_open(&audit, dir, key, 0, &err), LMD_DENIED, "audit log was changed");
	/* also with the records in an older file */
	snprintf(text, sizeof(text), "%s/audit-%020d.log", dir, 1);
	ck_assert_int_eq(rename(log_path, text), 0);
	REFUSED(lmi_store_audit_open(&audit, dir, key, 0, &err), LMD_DENIED, "audit log was changed");
}
END_TEST

/* A log that begins without a key goes on with one, and then only with that one. */
START_TEST(key_introduced)
{
	struct lmi_store_audit_result r;
	const char *hash;

	ck_assert_int_eq(open_again(key), LMD_OK);
	close_log();
	(void)unlink(log_path);
	(void)unlink(head_path);
	key = NULL;
	open_log(0);
	three();
	key = &keys[0];
	ck_assert_int_eq(open_again(key), LMD_OK);
	ck_assert_uint_eq(lmi_store_audit_last(audit, &hash), 3);
	append("start");
	append("load");
	ck_assert_int_eq(lmi_store_audit_verify(dir, key, NULL, NULL, &r, &err), LMD_OK);
	ck_assert_uint_eq(r.n, 5);
	ck_assert_uint_eq(r.n_plain, 3);
	ck_assert_uint_eq(r.n_unchecked, 0);
	ck_assert_int_eq(lmi_store_audit_verify(dir, NULL, NULL, NULL, &r, &err), LMD_OK);
	ck_assert_uint_eq(r.n_unchecked, 2);
	REFUSED(open_again(NULL), LMD_DENIED, "set audit_key");
	REFUSED(open_again(&keys[1]), LMD_DENIED, "audit_key is another one");
	ck_assert_int_eq(open_again(key), LMD_OK);
	append("stop");
	ck_assert_int_eq(lmi_store_audit_verify(dir, key, NULL, NULL, &r, &err), LMD_OK);
	ck_assert_uint_eq(r.n, 6);
	ck_assert_uint_eq(lmi_store_audit_last(audit, &hash), 6);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("audit");
	TCase *tc = tcase_create("audit");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, every_byte_of_the_log);
	tcase_add_test(tc, truncated);
	tcase_add_test(tc, removed_and_reordered);
	tcase_add_test(tc, rotated);
	tcase_add_test(tc, after_a_crash);
	tcase_add_test(tc, damage_stays);
	suite_add_tcase(s, tc);
	tc = tcase_create("with a key");
	tcase_add_checked_fixture(tc, set_up_with_key, tear_down);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, every_byte_of_the_log);
	tcase_add_test(tc, truncated);
	tcase_add_test(tc, removed_and_reordered);
	tcase_add_test(tc, rotated);
	tcase_add_test(tc, after_a_crash);
	tcase_add_test(tc, damage_stays);
	tcase_add_test(tc, key_files);
	tcase_add_test(tc, mac_of_a_record);
	tcase_add_test(tc, made_again);
	tcase_add_test(tc, shortened);
	tcase_add_test(tc, key_introduced);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
