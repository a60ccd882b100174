/* SPDX-License-Identifier: MIT
 *
 * ppl.h - the parts of llamactl perplexity: an open engine that scores token lists, texts split
 * into windows, comparison with saved logits, multiple-choice tasks, and their statistics. */
#ifndef LLAMAD_LLAMACTL_PPL_H
#define LLAMAD_LLAMACTL_PPL_H

#include "client/llamactl/embedded.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/progress.h"
#include "core/text/tokenizer.h"

/* ---- statistics: ppl_stats.c ---- */

/* Running mean and variance. */
struct lmi_mean {
	uint64_t n;
	double mean, m2;
};
void lmi_mean_add(struct lmi_mean *m, double x);
/* Standard error of the mean; 0 for fewer than two numbers. */
double lmi_mean_error(const struct lmi_mean *m);
/* Returns the quantile p (0..1) with interpolation; v[n] is sorted, n >= 1. */
double lmi_percentile(const float *v, uint64_t n, double p);
/* Returns the log of the sum of exponentials. */
double lmi_log_sum_exp(const float *v, uint32_t n);

/* ---- evaluation: ppl_windows.c ---- */

struct lmi_ppl {
	struct lmi_ctl *ctl;
	struct lmi_engine *engine;
	uint32_t ctx;	/* tokens of a window */
	uint32_t n_par; /* sequences at a time */
	struct lmi_progress bar;
};

/* Called with row `row` of sequence `seq`: the logits for the token after it. */
typedef enum lmd_status (*lmi_ppl_row_fn)(void *arg, uint32_t seq, uint32_t row, const float *v,
					  uint32_t width, struct lmd_error *err);

/* Evaluates sequences together; rows of different sequences may arrive in any order. */
enum lmd_status lmi_ppl_eval(struct lmi_ppl *p, const struct lmi_input_seq *seqs, uint32_t n,
			     enum lmi_want want, lmi_ppl_row_fn fn, void *arg,
			     struct lmd_error *err);

/* Pieces of a text, each evaluated alone in an empty context. */
struct lmi_windows {
	lmd_token *tokens; /* the begin token replaces the first token of each window if the
			    * vocabulary asks for one; the original is restored afterwards */
	uint64_t n_tokens;
	uint32_t ctx, step; /* window w begins at token w * step */
	uint32_t first;	    /* tokens first + 1 .. ctx - 1 of a window are scored */
	uint32_t n;
};

/* Called with row `row` of window w, which predicts token `next`. */
typedef enum lmd_status (*lmi_window_fn)(void *arg, uint32_t w, uint32_t row, lmd_token next,
					 const float *v, uint32_t width, struct lmd_error *err);
enum lmd_status lmi_ppl_windows(struct lmi_ppl *p, struct lmi_windows *w, enum lmi_want want,
				lmi_window_fn fn, void *arg, struct lmd_error *err);

/* ---- saved logits: ppl_kl.c ---- */

/* Scores the windows and writes the log-probabilities to a file (docs/formats.md). */
enum lmd_status lmi_ppl_save(struct lmi_ppl *p, struct lmi_windows *w, const char *path,
			     struct lmi_mean *nll, struct lmd_error *err);
/* Evaluates the windows of such a file (at most n_most of them, 0 = all), compares, and prints. */
enum lmd_status lmi_ppl_compare(struct lmi_ppl *p, const char *path, uint32_t n_most,
				struct lmd_error *err);
/* Reads the window length of the file, for the engine's context. */
enum lmd_status lmi_ppl_base_ctx(const char *path, uint32_t *ctx, struct lmd_error *err);

/* ---- tasks with choices: ppl_choice.c, ppl_tasks.c ---- */

enum lmi_task_format { LMI_TASK_HELLASWAG, LMI_TASK_WINOGRANDE, LMI_TASK_CHOICE };
#define LMI_MAX_CHOICES 100u

/* A beginning and several continuations; texts are borrowed from the file's bytes. The tokens that
 * a choice adds are scored; with a tail (winogrande: the words after the gap) only the tail. */
struct lmi_task {
	uint32_t n; /* choices */
	struct lmd_str begin;
	struct lmd_str choice[LMI_MAX_CHOICES];
	struct lmd_str tail;
	bool space; /* a blank separates beginning and choice */
	uint8_t right[LMI_MAX_CHOICES];
};

/* A file of tasks in memory. */
struct lmi_task_file {
	enum lmi_task_format format;
	const char *path;
	char *bytes;
	size_t n_bytes, at;
	uint32_t n_task; /* tasks read so far */
	uint32_t n_all;	 /* CHOICE: number of tasks in the file */
	bool headed;	 /* WINOGRANDE: the first line was a title */
	uint64_t base;	 /* CHOICE: position that the offsets are relative to */
};
enum lmd_status lmi_task_file_init(struct lmi_task_file *f, struct lmd_error *err);
/* Reads the next task; LMD_NOTFOUND without an error message at the end of the file. May change
 * the bytes of the file in place. */
enum lmd_status lmi_task_next(struct lmi_task_file *f, struct lmi_task *t, struct lmd_error *err);

/* Runs the tasks of a file (at most `max`; 0 = all) and prints the share of right answers. */
enum lmd_status lmi_ppl_tasks(struct lmi_ppl *p, struct lmi_task_file *f, uint32_t max,
			      struct lmd_error *err);

/* Reads a file of at most 256 MiB; free *out with lmi_free. */
enum lmd_status lmi_ppl_read(const char *path, char **out, size_t *n, struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_PPL_H */
