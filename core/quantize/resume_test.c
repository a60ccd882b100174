/* SPDX-License-Identifier: MIT
 *
 * Killed runs are resumed: wherever that happens, the file equals that of a single run; and nothing
 * is reused that was made from other inputs. */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/format/gguf/write.h"
#include "core/quantize/quantize.h"
#include "tests/faults.h"
#include "tests/temp_dir.h"

#define N_TENSOR 12
#define N_COL	 256
#define N_ROW	 40

/* ---- fixtures ---- */

static char src[64], dst[64], whole[64], partial[80], journal[96];
static struct lmd_error err;
static char note[256];
static unsigned n_notes;

static void write_source(float first)
{
	struct lmi_gguf_writer *w;
	float v[N_COL * N_ROW];
	uint32_t seed = 7;

	OK(lmi_gguf_writer_create(&w, 32, &err));
	lmi_gguf_put_str(w, "general.architecture", "llama");
	for (int i = 0; i < N_TENSOR; i++) {
		char name[32];

		snprintf(name, sizeof(name), "blk.%d.attn_q.weight", i);
		lmi_gguf_add_tensor(w, name, LMD_DTYPE_F32, 2, (const int64_t[]){N_COL, N_ROW});
	}
	OK(lmi_gguf_writer_start(w, src, &err));
	for (int i = 0; i < N_TENSOR; i++) {
		for (int k = 0; k < N_COL * N_ROW; k++) {
			seed = seed * 1664525u + 1013904223u;
			v[k] = (float)(int32_t)seed * 0x1p-31f;
		}
		v[0] = i ? v[0] : first;
		OK(lmi_gguf_writer_data(w, v, sizeof(v), &err));
	}
	OK(lmi_gguf_writer_finish(w, &err));
	lmi_gguf_writer_destroy(w);
}

static void on_note(void *arg, const char *text)
{
	(void)arg;
	n_notes++;
	snprintf(note, sizeof(note), "%s", text);
}

struct call {
	const char *to, *type;
	enum lmi_gguf_keep keep;
	const struct lmi_imatrix *imatrix;
	lmi_quantize_progress_fn progress;
};

static enum lmd_status run(const struct call *c)
{
	const struct lmi_quantize_opts o = {
		.ftype = lmi_ftype_by_name(c->type ? c->type : "Q4_0"),
		.pure = true,
		.imatrix = c->imatrix,
		.imatrix_path = "i.gguf",
		.output_type = -1,
		.embedding_type = -1,
		.n_thread = 2,
		.progress = c->progress,
		.resume = {.keep = c->keep, .note = on_note},
	};
	struct lmi_quantize_plan *p = NULL;
	struct lmi_model *m = NULL;
	enum lmd_status st = lmi_model_open(&m, src, LMI_OPEN_HEADER_ONLY, &err);

	n_notes = 0;
	note[0] = 0;
	if (st == LMD_OK)
		st = lmi_quantize_plan(&p, m, &o, &err);
	if (st == LMD_OK)
		st = lmi_quantize_run(p, c->to ? c->to : dst, &err);
	lmi_quantize_free(p);
	lmi_model_close(m);
	return st;
}

static const struct call resume = {.keep = LMI_GGUF_KEEP};

/* Runs in a child that is killed after n calls; returns true if it ended by itself. */
static bool run_until(unsigned n)
{
	int status;
	pid_t child = fork();

	if (!child) {
		fault_arm(FAULT_KILL, n);
		_exit(run(&resume) == LMD_OK ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status)) {
		ck_assert_int_eq(WTERMSIG(status), SIGKILL);
		return false;
	}
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	return true;
}

static bool is_same(const char *a, const char *b)
{
	char *x, *y;
	size_t n, m;
	bool same;

	OK(lmi_file_read_all(a, 1 << 24, &x, &n, &err));
	OK(lmi_file_read_all(b, 1 << 24, &y, &m, &err));
	same = n == m && !memcmp(x, y, n);
	lmi_free(x);
	lmi_free(y);
	return same;
}

/* Only the source, the file of a single run and the result exist; removes the result. */
static void check_result(void)
{
	ck_assert(is_same(whole, dst));
	ck_assert_uint_eq(temp_n_files(), 3);
	ck_assert_int_eq(unlink(dst), 0);
}

static void setup(void)
{
	const struct call single = {.to = whole};

	temp_dir_make();
	snprintf(src, sizeof(src), "%s", temp_path("src.gguf"));
	snprintf(dst, sizeof(dst), "%s", temp_path("dst.gguf"));
	snprintf(whole, sizeof(whole), "%s", temp_path("whole.gguf"));
	snprintf(partial, sizeof(partial), "%s.partial", dst);
	snprintf(journal, sizeof(journal), "%s.journal", partial);
	write_source(0.5f);
	OK(run(&single));
}

static void teardown(void)
{
	struct lmi_alloc_stats s;

	temp_dir_remove();
	lmi_alloc_stats(&s);
	ck_assert_uint_eq(s.n_live, 0);
}

/* ---- tests ---- */

/* Killed at every call that writes, truncates, renames or removes. */
START_TEST(killed_anywhere)
{
	unsigned n = 0, n_resumed = 0;

	for (;; n++) {
		if (run_until(n))
			break;
		OK(run(&resume));
		n_resumed += strstr(note, "resuming after") != NULL;
		check_result();
	}
	ck_assert_uint_gt(n, 2 * N_TENSOR);
	ck_assert_uint_gt(n_resumed, N_TENSOR);
	printf("killed at %u calls, resumed after %u\n", n, n_resumed);
}
END_TEST

/* Killed repeatedly until it finishes. */
START_TEST(killed_often)
{
	unsigned seed = 20251, n = 0;

	printf("seed %u\n", seed);
	for (int i = 0; i < 20; i++) {
		while (!run_until(5 + rand_r(&seed) % 12))
			n++;
		check_result();
	}
	ck_assert_uint_gt(n, 20);
}
END_TEST

/* Cancels after half of the tensors. */
static bool cancel_half(void *arg, uint64_t done, uint64_t total)
{
	(void)arg;
	return done <= total / 2;
}

static void leave_half(void)
{
	const struct call c = {.keep = LMI_GGUF_KEEP, .progress = cancel_half};

	ck_assert_int_eq(run(&c), LMD_CANCELLED);
	ck_assert_ptr_nonnull(strstr(err.text, "dst.gguf.partial, the same command resumes"));
	ck_assert_uint_eq(temp_n_files(), 4);
}

static void change(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);
	char c;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, &c, 1, at), 1);
	c ^= 1;
	ck_assert_int_eq(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

static off_t bytes_of(const char *path)
{
	struct stat sb;

	ck_assert_int_eq(stat(path, &sb), 0);
	return sb.st_size;
}

START_TEST(stopped)
{
	leave_half();
	OK(run(&resume));
	ck_assert_ptr_nonnull(strstr(note, "of 12 tensors"));
	ck_assert_uint_eq(n_notes, 1);
	check_result();
	OK(run(&resume)); /* nothing to resume, so there is no note */
	ck_assert_uint_eq(n_notes, 0);
	check_result();
}
END_TEST

/* Damage that a loss of power may do to either file. */
START_TEST(damaged)
{
	off_t n;

	leave_half();
	n = bytes_of(partial);
	change(partial, n - 3000);
	OK(run(&resume));
	ck_assert_ptr_nonnull(strstr(note, "resuming after"));
	check_result();

	leave_half();
	change(partial, 10); /* in the header */
	OK(run(&resume));
	ck_assert_ptr_nonnull(
		strstr(note, "contains no complete tensor; starting from the beginning"));
	check_result();

	leave_half();
	ck_assert_int_eq(truncate(partial, bytes_of(partial) / 2), 0);
	OK(run(&resume));
	ck_assert_ptr_nonnull(strstr(note, "resuming after"));
	check_result();

	leave_half();
	ck_assert_int_eq(truncate(journal, bytes_of(journal) - 5), 0);
	OK(run(&resume));
	ck_assert_ptr_nonnull(strstr(note, "resuming after"));
	check_result();

	leave_half();
	change(journal, bytes_of(journal) - 20); /* where a segment ends */
	OK(run(&resume));
	check_result();

	leave_half();
	ck_assert_int_eq(unlink(journal), 0);
	OK(run(&resume));
	ck_assert_ptr_nonnull(strstr(note, "starting from the beginning"));
	check_result();

	leave_half();
	ck_assert_int_eq(unlink(partial), 0);
	OK(run(&resume));
	ck_assert_uint_eq(n_notes, 0);
	check_result();
}
END_TEST

START_TEST(other_inputs)
{
	const struct call restart = {.keep = LMI_GGUF_KEEP_ANEW}, single = {.to = whole};
	const struct call q8 = {.keep = LMI_GGUF_KEEP, .type = "Q8_0"};
	struct lmi_imatrix im;
	float sum[N_COL], one = 1;
	struct call with = resume;

	leave_half(); /* another source */
	write_source(0.25f);
	OK(run(&single));
	OK(run(&resume));
	ck_assert_ptr_nonnull(strstr(note, "is from another source"));
	check_result();

	leave_half(); /* another type */
	OK(run(&q8));
	ck_assert_ptr_nonnull(strstr(note, "is from another source, other options"));
	ck_assert(!is_same(whole, dst));
	ck_assert_int_eq(unlink(dst), 0);

	leave_half(); /* importances */
	for (int i = 0; i < N_COL; i++)
		sum[i] = (float)(1 + i);
	lmi_imatrix_init(&im);
	OK(lmi_imatrix_add(&im, "blk.1.attn_q.weight", N_COL, 1, sum, NULL, &one, &err));
	with.imatrix = &im;
	OK(run(&with));
	lmi_imatrix_fini(&im);
	ck_assert_ptr_nonnull(strstr(note, "is from another source"));
	ck_assert_int_eq(unlink(dst), 0);

	leave_half(); /* by request */
	OK(run(&restart));
	ck_assert_uint_eq(n_notes, 0);
	check_result();
}
END_TEST

START_TEST(rejected)
{
	int fd;

	leave_half();
	fd = open(partial, O_RDONLY);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	ck_assert_int_eq(run(&resume), LMD_BUSY);
	ck_assert_ptr_nonnull(strstr(err.text, "another process"));
	close(fd);
	OK(run(&resume));
	ck_assert_ptr_nonnull(strstr(note, "resuming after"));
	check_result();

	/* the run does not write to other files through links */
	ck_assert_int_eq(symlink(src, partial), 0);
	ck_assert_int_eq(run(&resume), LMD_IO);
	ck_assert_int_eq(unlink(partial), 0);
	ck_assert_int_eq(link(src, partial), 0);
	ck_assert_int_eq(run(&resume), LMD_INVALID);
	ck_assert_int_eq(unlink(partial), 0);
	ck_assert_int_eq(mkfifo(partial, 0600), 0);
	ck_assert_int_eq(run(&resume), LMD_INVALID);
	ck_assert_int_eq(unlink(partial), 0);
	ck_assert_int_eq(mkdir(journal, 0700), 0);
	ck_assert_int_eq(run(&resume), LMD_IO);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("resume");
	TCase *tc = tcase_create("files");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, killed_anywhere);
	tcase_add_test(tc, killed_often);
	tcase_add_test(tc, stopped);
	tcase_add_test(tc, damaged);
	tcase_add_test(tc, other_inputs);
	tcase_add_test(tc, rejected);
	suite_add_tcase(s, tc);
	return lmd_check_run(r);
}
