/* SPDX-License-Identifier: MIT
 *
 * Opening: reports, errors, corrupt databases, and migrations from every schema. */
#include "store/test_store.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/sha256.h"
#include "store/db.h"

static const char *in_dir(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static off_t size_of(const char *name)
{
	struct stat sb;

	return stat(in_dir(name), &sb) == 0 ? sb.st_size : -1;
}

static void put_bytes(const char *name, off_t at, const void *p, size_t n)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, p, n, at), n);
	close(fd);
}

/* Runs SQL on the closed database. */
static void by_hand(const char *sql)
{
	sqlite3 *db;
	char *why = NULL;

	ck_assert_int_eq(sqlite3_open(in_dir("registry.db"), &db), SQLITE_OK);
	ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, &why) == SQLITE_OK, "%s", why);
	ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

START_TEST(first)
{
	static const char *const files[] = {"registry.db", "registry.db-wal", "registry.lock"};
	struct stat sb;

	umask(0);
	open_store();
	ck_assert(report.fresh && !report.unclean && !report.moved_aside);
	ck_assert(report.schema_from == 0 && report.schema == lmi_store_sql_n);
	ck_assert_str_eq(lmi_store_dir(store), dir);
	ck_assert_int_eq(stat(dir, &sb), 0);
	ck_assert_uint_eq(sb.st_mode & 07777, 0700);
	for (size_t i = 0; i < LMD_LEN(files); i++) {
		ck_assert_int_eq(stat(in_dir(files[i]), &sb), 0);
		ck_assert_uint_eq(sb.st_mode & 07777, 0600);
	}
	OK(add("a", 1));
	close_store();
	ck_assert_int_eq(size_of("registry.db-wal"), -1);
	ck_assert_int_eq(size_of("registry.lock"), 0);
	open_store();
	ck_assert(!report.fresh && report.schema_from == lmi_store_sql_n);
}
END_TEST

START_TEST(settings_of_sqlite)
{
	static const struct {
		const char *pragma;
		int64_t want;
	} t[] = {
		{"PRAGMA synchronous", 2},
		{"PRAGMA foreign_keys", 1},
		{"PRAGMA trusted_schema", 0},
		{"PRAGMA application_id", LMI_STORE_APPLICATION_ID},
		{"SELECT journal_mode = 'wal' FROM pragma_journal_mode", 1},
	};

	open_store();
	for (size_t i = 0; i < LMD_LEN(t); i++) {
		int64_t v = -1;
		bool found;

		OK(lmi_store_db_number(store, &err, &v, &found, t[i].pragma, ""));
		ck_assert_msg(v == t[i].want, "%s: %lld", t[i].pragma, (long long)v);
	}
}
END_TEST

START_TEST(one_process)
{
	struct lmi_store *other = NULL;
	struct lmi_store_opts opts = {.now_ns = NOW};

	open_store();
	REFUSED(lmi_store_open(&other, dir, &opts, NULL, &err), LMD_BUSY, "another process");
	close_store();
	open_store();
	ck_assert(!report.unclean); /* the failed open left no mark */
}
END_TEST

static void die_in_use(void)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct lmi_store_opts opts = {.now_ns = NOW};

		_exit(lmi_store_open(&store, dir, &opts, NULL, &err) == LMD_OK &&
				      add("by-the-dead", 4) == LMD_OK
			      ? 0
			      : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

START_TEST(unclean)
{
	open_store();
	OK(add("a", 1));
	close_store();
	die_in_use();
	ck_assert_int_gt(size_of("registry.lock"), 0);
	open_store();
	ck_assert(report.unclean && !report.moved_aside);
	ck_assert_int_eq(added("a"), 1);
	ck_assert_int_eq(added("by-the-dead"), 4);
	close_store();
	open_store();
	ck_assert(!report.unclean);
}
END_TEST

/* The next open moves the database aside and creates a new one; nothing is deleted. */
static void expect_moved(const char *suffix)
{
	char moved[128];

	OK(open_as(NULL));
	ck_assert(report.moved_aside && report.fresh);
	ck_assert_msg(report.reason[0], "no reason");
	snprintf(moved, sizeof(moved), "registry.db.corrupt-20261121T143000Z%s", suffix);
	ck_assert_str_eq(report.moved_to, moved);
	ck_assert_int_gt(size_of(moved), 0);
	ck_assert_int_eq(added("a"), -1);
	OK(add("a", 2));
	close_store();
	open_store();
	ck_assert(!report.moved_aside && !report.unclean);
	ck_assert_int_eq(added("a"), 2);
	close_store();
}

START_TEST(moved_aside)
{
	char junk[2048], name[80];

	memset(junk, 0xA5, sizeof(junk));
	/* not a database: detected even after a clean end */
	open_store();
	OK(add("a", 1));
	close_store();
	put_bytes("registry.db", 0, junk, sizeof(junk));
	expect_moved("");
	/* inconsistent pages: detected by the check after an unclean end */
	open_store();
	for (unsigned i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "model-%u", i);
		OK(add(name, i));
	}
	close_store();
	for (off_t at = 4096; at < size_of("registry.db"); at += 4096)
		put_bytes("registry.db", at, junk, sizeof(junk));
	put_bytes("registry.lock", 0, "open\n", 5);
	expect_moved(".2");
	ck_assert_int_gt(size_of("registry.db.corrupt-20261121T143000Z"), 0);
}
END_TEST

static struct lmi_store_report replaced;

static void on_replaced(void *arg, const struct lmi_store_report *r)
{
	(void)arg;
	replaced = *r;
}

static void open_reporting(void)
{
	const struct lmi_store_opts opts = {.now_ns = NOW, .replaced = on_replaced};

	OK(lmi_store_open(&store, dir, &opts, &report, &err));
}

static void add_many(uint32_t n)
{
	char name[80];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "model-%04u", i);
		OK(add(name, i));
	}
}

/* Overwrites one page in the middle of the table of models. */
static void damage(void)
{
	char junk[4096];
	sqlite3_stmt *q;
	sqlite3 *db;
	int64_t page = 0;

	ck_assert_int_eq(sqlite3_open(in_dir("registry.db"), &db), SQLITE_OK);
	if (sqlite3_prepare_v2(db, "SELECT pageno FROM dbstat WHERE name = 'models' AND pagetype = 'leaf' "
				   "ORDER BY pageno LIMIT 1 OFFSET 3", -1, &q, NULL) == SQLITE_OK) {
		ck_assert_int_eq(sqlite3_step(q), SQLITE_ROW);
		page = sqlite3_column_int64(q, 0);
	}
	sqlite3_finalize(q);
	ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
	page = page ? page : size_of("registry.db") / 4096 / 2;
	memset(junk, 0xA5, sizeof(junk));
	put_bytes("registry.db", (page - 1) * 4096, junk, sizeof(junk));
}

static uint32_t n_models(void)
{
	struct lmi_store_models list;
	uint32_t n;

	OK(lmi_store_model_list(store, &list, &err));
	n = list.n;
	lmi_store_models_fini(&list);
	return n;
}

/* Damage after a clean end is found at the next open; what can be read is kept. */
START_TEST(corrupt_at_rest)
{
	open_store();
	add_many(300);
	close_store();
	damage();
	OK(open_as(NULL));
	ck_assert(report.moved_aside && report.checked && !report.unclean);
	ck_assert_uint_gt(report.n_rows_kept, 200);
	ck_assert_uint_gt(n_models(), 100);
	ck_assert_uint_lt(n_models(), 300);
	ck_assert_int_eq(added("model-0000"), 0);
	ck_assert_int_eq(added("model-0299"), 299);
	OK(add("new", 5));
	close_store();
	open_store();
	ck_assert(!report.moved_aside && report.checked);
	ck_assert_int_eq(added("new"), 5);
}
END_TEST

/* Damage in use: the call that meets it fails, the next one works on a new database. */
START_TEST(corrupt_in_use)
{
	struct lmi_store_models list;

	open_store();
	add_many(300);
	close_store();
	open_reporting();
	ck_assert(!report.moved_aside);
	damage();
	ck_assert_int_eq(sqlite3_db_release_memory(store->db), SQLITE_OK); /* its cache */
	REFUSED(lmi_store_model_list(store, &list, &err), LMD_CORRUPT, "malformed");
	ck_assert(!replaced.moved_aside);
	ck_assert_uint_eq(lmi_store_n_replaced(store), 0);
	ck_assert_uint_gt(n_models(), 100);
	ck_assert(replaced.moved_aside);
	ck_assert_uint_eq(lmi_store_n_replaced(store), 1);
	ck_assert_str_eq(replaced.moved_to, "registry.db.corrupt-20261121T143000Z");
	ck_assert_uint_gt(replaced.n_rows_kept, 200);
	OK(add("new", 5));
	close_store();
	ck_assert_int_eq(size_of("registry.lock"), 0);
	open_store();
	ck_assert(!report.moved_aside && !report.unclean);
	ck_assert_int_eq(added("new"), 5);
}
END_TEST

START_TEST(backup_and_restore)
{
	static const char *const bad[] = {"",	     "x",	"../x.backup", "a/b.backup",
					  ".backup", "-x.backup", "registry.db"};
	uint64_t bytes = 0;
	char junk[512];

	open_store();
	OK(add("a", 1));
	OK(lmi_store_backup(store, "one.backup", &bytes, &err));
	ck_assert_int_eq(size_of("one.backup"), bytes);
	REFUSED(lmi_store_backup(store, "one.backup", &bytes, &err), LMD_INVALID, "exists");
	for (size_t i = 0; i < LMD_LEN(bad); i++)
		REFUSED(lmi_store_backup(store, bad[i], &bytes, &err), LMD_INVALID, "name of a backup");
	OK(add("b", 2));
	OK(lmi_store_restore(store, "one.backup", &err));
	ck_assert_int_eq(added("a"), 1);
	ck_assert_int_eq(added("b"), -1);
	REFUSED(lmi_store_restore(store, "two.backup", &err), LMD_NOTFOUND, "two.backup");
	put_bytes("three.backup", 0, "nonsense", 8);
	REFUSED(lmi_store_restore(store, "three.backup", &err), LMD_CORRUPT, "three.backup");
	memset(junk, 0xA5, sizeof(junk));
	put_bytes("one.backup", 4096, junk, sizeof(junk));
	REFUSED(lmi_store_restore(store, "one.backup", &err), LMD_CORRUPT, "one.backup");
	ck_assert_int_eq(added("a"), 1);
	close_store();
	open_store();
	ck_assert(!report.unclean && !report.moved_aside);
	ck_assert_int_eq(added("a"), 1);
}
END_TEST

/* The log of a corrupt database is moved with it. */
START_TEST(log_kept)
{
	char junk[2048];

	open_store();
	OK(add("a", 1));
	close_store();
	die_in_use(); /* leaves its log */
	ck_assert_int_gt(size_of("registry.db-wal"), 0);
	memset(junk, 0xA5, sizeof(junk));
	put_bytes("registry.db", 0, junk, sizeof(junk));
	ck_assert_int_eq(truncate(in_dir("registry.db-wal"), 5000), 0); /* no frame is complete */
	expect_moved("");
	ck_assert_int_eq(size_of("registry.db.corrupt-20261121T143000Z-wal"), 5000);
}
END_TEST

static void expect_untouched(const char *message, enum lmd_status want)
{
	off_t size = size_of("registry.db");

	REFUSED(open_as(NULL), want, message);
	ck_assert_int_eq(size_of("registry.db"), size);
	ck_assert_int_eq(size_of("registry.lock"), 0);
	REFUSED(open_as(NULL), want, message);
}

START_TEST(newer_schema)
{
	open_store();
	OK(add("a", 1));
	close_store();
	by_hand("PRAGMA user_version = 99");
	expect_untouched("schema 99 was created by a newer llamad", LMD_UNSUPPORTED);
	put_bytes("registry.lock", 0, "open\n", 5); /* nor after an unclean end */
	REFUSED(open_as(NULL), LMD_UNSUPPORTED, "schema 99");
	ck_assert_int_eq(size_of("registry.lock"), 5);
}
END_TEST

START_TEST(not_ours)
{
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	by_hand("CREATE TABLE t (a)");
	expect_untouched("another program's database", LMD_INVALID);
	by_hand("PRAGMA application_id = 7");
	expect_untouched("application id 7", LMD_INVALID);
	ck_assert_int_eq(unlink(in_dir("registry.db")), 0);
	ck_assert_int_eq(symlink("/tmp/elsewhere", in_dir("registry.db")), 0);
	REFUSED(open_as(NULL), LMD_IO, "registry.db");
	ck_assert_int_eq(unlink(in_dir("registry.db")), 0);
	ck_assert_int_eq(mkdir(in_dir("registry.db"), 0700), 0);
	REFUSED(open_as(NULL), LMD_IO, "registry.db");
}
END_TEST

START_TEST(folders)
{
	struct lmi_store_opts opts = {.now_ns = NOW};
	char deep[200];

	snprintf(deep, sizeof(deep), "%s/no/such", base_dir);
	REFUSED(lmi_store_open(&store, deep, &opts, NULL, &err), LMD_IO,
		"cannot create the folder");
	REFUSED(lmi_store_open(&store, put_file("f", "x"), &opts, NULL, &err), LMD_IO,
		"cannot open the folder");
	REFUSED(lmi_store_open(&store, "", &opts, NULL, &err), LMD_INVALID, "state folder");
	REFUSED(lmi_store_open(&store, NULL, &opts, NULL, &err), LMD_INVALID, "state folder");
}
END_TEST

/* As a user without write permission: an error message, and the rows are kept. */
START_TEST(read_only)
{
	pid_t pid;
	int status;

	if (geteuid() != 0) {
		LMD_SKIP("read_only", "needs to be root, to become another user");
		return;
	}
	open_store();
	OK(add("a", 1));
	close_store();
	ck_assert_int_eq(chmod(base_dir, 0755), 0);
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_assert_int_eq(chmod(in_dir("registry.db"), 0644), 0);
	ck_assert_int_eq(chmod(in_dir("registry.lock"), 0644), 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (setuid(65534) < 0)
			_exit(2);
		_exit(open_as(NULL) == LMD_IO && strstr(err.text, "registry.lock") &&
				      strstr(err.text, "Permission denied")
			      ? 0
			      : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	open_store();
	ck_assert_int_eq(added("a"), 1);
}
END_TEST

/* Returns a sum over the names and contents of the folder's files, without sqlite's index. */
static const char *sum_of_folder(void)
{
	static char sum[64];
	char cmd[256];
	FILE *f;

	snprintf(cmd, sizeof(cmd), "cd '%s' && for f in $(find . -type f | grep -v 'shm$' | sort); do echo $f; cat $f; done | cksum",
		 dir);
	f = popen(cmd, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(sum, sizeof(sum), f));
	ck_assert_int_eq(pclose(f), 0);
	return sum;
}

static enum lmd_status open_to_read(void)
{
	const struct lmi_store_opts opts = {.now_ns = NOW, .read_only = true};
	char before[64];
	enum lmd_status st;

	snprintf(before, sizeof(before), "%s", sum_of_folder());
	st = lmi_store_open(&store, dir, &opts, &report, &err);
	ck_assert_str_eq(sum_of_folder(), before);
	return st;
}

static void close_unchanged(void)
{
	char before[64];

	snprintf(before, sizeof(before), "%s", sum_of_folder());
	close_store();
	ck_assert_str_eq(sum_of_folder(), before);
}

/* A folder with a name that means something in a URI, and an unfinished import, which stays. */
START_TEST(reading_changes_nothing)
{
	struct lmi_store *other = NULL;
	const struct lmi_store_opts opts = {.now_ns = NOW};

	snprintf(dir, sizeof(dir), "%s/a%%41?b=#c", base_dir);
	REFUSED(lmi_store_open(&other, dir, &(struct lmi_store_opts){.read_only = true}, NULL, &err), LMD_IO,
		"cannot open the folder");
	open_store();
	OK(add("a", 1));
	close_store();
	ck_assert(!mkdir(in_dir("models"), 0700) || errno == EEXIST);
	put_bytes("models/import-1-1.part", 0, "x", 1);
	OK(open_to_read());
	ck_assert(!report.unclean && report.schema_from == lmi_store_sql_n);
	ck_assert_int_eq(added("a"), 1);
	ck_assert_int_ne(add("b", 2), LMD_OK);
	REFUSED(lmi_store_open(&other, dir, &opts, NULL, &err), LMD_BUSY, "another process");
	close_unchanged();
	open_store();
	REFUSED(lmi_store_open(&other, dir, &(struct lmi_store_opts){.read_only = true}, NULL, &err),
		LMD_BUSY, "another process");
	close_store();
	/* what is only in the log is read as well */
	die_in_use();
	OK(open_to_read());
	ck_assert(report.unclean);
	ck_assert_int_eq(added("by-the-dead"), 4);
	close_unchanged();
}
END_TEST

START_TEST(a_damaged_registry_is_only_read)
{
	static const char junk[2048] = {1};

	open_store();
	OK(add("a", 1));
	close_store();
	put_bytes("registry.db", 0, junk, sizeof(junk));
	REFUSED(open_to_read(), LMD_CORRUPT, "not a database");
	ck_assert_int_eq(truncate(in_dir("registry.db"), 0), 0);
	REFUSED(open_to_read(), LMD_INVALID, "registry.db: is empty");
	ck_assert_int_eq(unlink(in_dir("registry.lock")), 0);
	ck_assert_int_eq(unlink(in_dir("registry.db")), 0);
	REFUSED(open_to_read(), LMD_IO, "");
}
END_TEST

/* Rows as a release with that schema would have written them. */
static const char *const rows_of[] = {
	"INSERT INTO models (id, name, digest, size, format, arch, facts, state, added_at, "
	"imported) "
	"VALUES (1, 'old', printf('%064d', 7), 10, 'gguf', 'llama', '{}', 0, 5, 0);"
	"INSERT INTO model_files VALUES (1, 0, '/old.gguf', printf('%064d', 7), 10, 1, 2, 3, 4);"
	"INSERT INTO aliases VALUES ('second', 1)",
	"INSERT INTO keys VALUES (printf('%064d', 9), 'label', 1, 5, 0);"
	"INSERT INTO usage VALUES ('uid:0', 20000, 12)",
	"INSERT INTO settings VALUES ('key', 'value');"
	"INSERT INTO kv VALUES ('space', 'key', x'0102')",
	"INSERT INTO usage VALUES (1, '', 20001, 1, 2, 3, 4, 5, 6, 7)",
	"INSERT INTO usage VALUES (1, 'hash', '', 20001, 1, 2, 3, 4, 5, 6, 7)",
};

static void expect_rows(unsigned schema)
{
	uint64_t n;

	ck_assert_int_eq(added("second"), 2);
	if (schema > 1) {
		OK(lmi_store_usage_sum(store, "uid:0", NULL, 0, 30000, &n, &err));
		ck_assert_uint_eq(n, 12);
	}
}

/* Databases as created by each earlier release. */
START_TEST(from_each_schema)
{
	ck_assert_uint_eq(LMD_LEN(rows_of), lmi_store_sql_n);
	for (unsigned schema = 1; schema <= lmi_store_sql_n; schema++) {
		char pragma[128];

		make_dir();
		ck_assert_int_eq(mkdir(dir, 0700), 0);
		by_hand("PRAGMA journal_mode = WAL");
		for (unsigned i = 0; i < schema; i++) {
			by_hand(lmi_store_sql[i].text);
			by_hand(rows_of[i]);
		}
		snprintf(pragma, sizeof(pragma),
			 "PRAGMA user_version = %u; PRAGMA application_id = %d", schema,
			 LMI_STORE_APPLICATION_ID);
		by_hand(pragma);
		open_store();
		ck_assert(!report.fresh && report.schema_from == schema);
		ck_assert_uint_eq(report.schema, lmi_store_sql_n);
		expect_rows(schema);
		OK(lmi_store_alias_set(store, "new", "old", &err));
		close_store();
		open_store();
		ck_assert_uint_eq(report.schema_from, lmi_store_sql_n);
		expect_rows(schema);
		remove_dir();
	}
	make_dir();
}
END_TEST

/* A migration that fails leaves the old schema with its rows. */
START_TEST(all_or_none)
{
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	by_hand(lmi_store_sql[0].text);
	by_hand(rows_of[0]);
	by_hand("CREATE TABLE kv (in_the_way); PRAGMA user_version = 1;"
		"PRAGMA application_id = 1819107684");
	REFUSED(open_as(NULL), LMD_INTERNAL, "003-values.sql: ");
	by_hand("DROP TABLE kv");
	open_store();
	ck_assert_uint_eq(report.schema_from, 1);
	expect_rows(1);
}
END_TEST

/* A released migration never changes. */
START_TEST(migrations_are_frozen)
{
	static const struct {
		const char *name, *digest;
	} t[] = {
		{"001-models.sql",
		 "208c1f32becb4426816b208da790662543d04184f8bd4e716940d8ede8c0d1d8"},
		{"002-access.sql",
		 "763cf5954ce21becf7c541e9d3b3c914f459d83f2484b09f4ddbf644a3cf9472"},
		{"003-values.sql",
		 "47ce326898f9b7695727ee379bcfc88cba4fd2ff96355d2ae4cc3173246bada9"},
		{"004-usage.sql",
		 "c67f54495ebae4b521e063a8b42b26fc16575568a2ce0c5bb5f8842d342f2672"},
		{"005-usage-of-keys.sql",
		 "6fd69fcaf9551f09ac71000cdf98476af1e15d41163d0e1d26c701ea26aad256"},
	};

	ck_assert_uint_eq(LMD_LEN(t), lmi_store_sql_n);
	for (unsigned i = 0; i < lmi_store_sql_n; i++) {
		uint8_t raw[LMI_SHA256_BYTES];
		char hex[LMI_SHA256_HEX];
		struct lmi_sha256 h;

		ck_assert(lmi_sha256_init(&h));
		lmi_sha256_update(&h, lmi_store_sql[i].text, strlen(lmi_store_sql[i].text));
		ck_assert(lmi_sha256_final(&h, raw));
		lmi_sha256_hex(hex, raw);
		ck_assert_str_eq(lmi_store_sql[i].name, t[i].name);
		ck_assert_str_eq(hex, t[i].digest);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("store-open");
	TCase *tc = tcase_create("open");

	tcase_add_checked_fixture(tc, make_dir, remove_dir);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, first);
	tcase_add_test(tc, settings_of_sqlite);
	tcase_add_test(tc, one_process);
	tcase_add_test(tc, unclean);
	tcase_add_test(tc, moved_aside);
	tcase_add_test(tc, corrupt_at_rest);
	tcase_add_test(tc, corrupt_in_use);
	tcase_add_test(tc, backup_and_restore);
	tcase_add_test(tc, log_kept);
	tcase_add_test(tc, newer_schema);
	tcase_add_test(tc, not_ours);
	tcase_add_test(tc, folders);
	tcase_add_test(tc, read_only);
	tcase_add_test(tc, reading_changes_nothing);
	tcase_add_test(tc, a_damaged_registry_is_only_read);
	tcase_add_test(tc, from_each_schema);
	tcase_add_test(tc, all_or_none);
	tcase_add_test(tc, migrations_are_frozen);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
