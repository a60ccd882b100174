/* SPDX-License-Identifier: MIT
 *
 * Multiple-choice tasks: which continuation does the model find most likely? A choice's score is
 * the mean log-probability of its own tokens, those after the part that all choices share. If a
 * tail of some words follows the choice (winogrande), only the tail is scored: the question is not
 * which name is likelier but with which name the sentence makes sense. */
#include <math.h>
#include <string.h>

#include "client/llamactl/ppl.h"
#include "core/base/alloc.h"

#define GROUP_TOKENS 4096u /* tokens of the tasks that are evaluated together */
#define TAIL_MIN     4u	   /* shorter tails say little, so the choice is scored with them */

struct continuation {
	lmd_token *tokens;
	uint32_t n, from; /* tokens from .. n-1 are scored */
	double sum;	  /* sum of negative log-probabilities */
};

struct scored_task {
	struct lmi_task task;
	uint32_t number; /* number of the task in the file */
	uint32_t common; /* tokens that all choices share at the start */
	struct continuation *continuations;
	uint32_t n_tokens;
};

struct group {
	struct lmi_ppl *p;
	struct scored_task *tasks; /* [n_par / 2] */
	uint32_t n, n_way, n_tokens;
	struct continuation **at; /* [n_par] choice of each sequence */
	struct lmi_input_seq *seqs;
	uint32_t n_right, n_done;
	double chance; /* expected number of right answers by chance */
};

/* Builds the text of a choice, and where its tail begins. */
static enum lmd_status encode(const struct lmi_ppl *p, const struct lmi_task *t, uint32_t i,
			      bool tail, struct lmi_tokens *out, struct lmd_error *err)
{
	const struct lmd_str *c = &t->choice[i];
	size_t n = t->begin.len + 1 + c->len + t->tail.len;
	char *text = lmi_alloc(n, 1), *to = text;
	enum lmd_status st;

	if (!text)
		return lmd_fail(err, LMD_NOMEM, "no memory for a text of %zu bytes", n);
	if (t->begin.len)
		memcpy(to, t->begin.ptr, t->begin.len);
	to += t->begin.len;
	if (t->space)
		*to++ = ' ';
	if (c->len)
		memcpy(to, c->ptr, c->len);
	to += c->len;
	if (tail && t->tail.len) {
		memcpy(to, t->tail.ptr, t->tail.len);
		to += t->tail.len;
	}
	st = lmi_tokenizer_encode(lmi_engine_tokenizer(p->engine), text, (size_t)(to - text),
				  LMD_ENCODE_ADD_SPECIAL, out, err);
	lmi_free(text);
	return st;
}

static enum lmd_status make_continuation(const struct lmi_ppl *p, struct scored_task *a, uint32_t i,
					 struct lmd_error *err)
{
	struct lmi_tokens all = {0}, head = {0};
	struct continuation *w = &a->continuations[i];
	enum lmd_status st = encode(p, &a->task, i, true, &all, err);

	if (st == LMD_OK && all.n > p->ctx)
		st = lmd_fail(err, LMD_INVALID, "task %u has %zu tokens, the context %u (--ctx)",
			      a->number, all.n, p->ctx);
	if (st == LMD_OK && a->task.tail.len)
		st = encode(p, &a->task, i, false, &head, err);
	if (st == LMD_OK) {
		*w = (struct continuation){.tokens = all.id, .n = (uint32_t)all.n};
		w->from = head.n < all.n ? (uint32_t)head.n : 0; /* 0: after the common part */
	} else {
		lmi_tokens_fini(&all);
	}
	lmi_tokens_fini(&head);
	return st;
}

/* Finds the part that all choices share, and where the scored part of each begins. */
static enum lmd_status set_scored_range(struct scored_task *a, struct lmd_error *err)
{
	const struct continuation *w = a->continuations;
	bool tails = true;
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < a->task.n; i++) {
		least = w[i].n < least ? w[i].n : least;
		tails = tails && w[i].from && w[i].n - w[i].from >= TAIL_MIN;
	}
	if (least < 2)
		return lmd_fail(err, LMD_INVALID, "task %u: a text of one token", a->number);
	for (a->common = 0; a->common < least - 1; a->common++)
		for (uint32_t i = 1; i < a->task.n; i++)
			if (w[i].tokens[a->common] != w[0].tokens[a->common])
				goto differ;
differ:
	a->common = a->common ? a->common : 1; /* the first token is never scored */
	for (uint32_t i = 0; i < a->task.n; i++)
		if (!tails || a->continuations[i].from < a->common)
			a->continuations[i].from = a->common;
	return LMD_OK;
}

static void drop(struct scored_task *a)
{
	for (uint32_t i = 0; a->continuations && i < a->task.n; i++)
		lmi_free(a->continuations[i].tokens);
	lmi_free(a->continuations);
	a->continuations = NULL;
}

static enum lmd_status prepare_task(const struct lmi_ppl *p, struct scored_task *a,
				    struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	a->n_tokens = 0;
	a->continuations = lmi_alloc(a->task.n, sizeof(*a->continuations));
	if (!a->continuations)
		return lmd_fail(err, LMD_NOMEM, "no memory for a task");
	for (uint32_t i = 0; st == LMD_OK && i < a->task.n; i++) {
		st = make_continuation(p, a, i, err);
		a->n_tokens += a->continuations[i].n;
	}
	return st == LMD_OK ? set_scored_range(a, err) : st;
}

static enum lmd_status on_row(void *arg, uint32_t seq, uint32_t row, const float *v,
			      uint32_t width, struct lmd_error *err)
{
	struct group *g = arg;

	(void)width;
	(void)err;
	if (row + 1 >= g->at[seq]->from)
		g->at[seq]->sum += (double)v[0];
	return LMD_OK;
}

static void score_task(struct group *g, const struct scored_task *a)
{
	uint32_t best = 0, right = 0;
	double least = INFINITY;

	for (uint32_t i = 0; i < a->task.n; i++) {
		const struct continuation *w = &a->continuations[i];
		double mean = w->sum / (w->n - w->from);

		right += a->task.right[i];
		if (mean < least) {
			least = mean;
			best = i;
		}
	}
	g->n_right += a->task.right[best];
	g->chance += (double)right / a->task.n;
	g->n_done++;
}

static enum lmd_status run_group(struct group *g, struct lmd_error *err)
{
	enum lmd_status st;
	uint32_t k = 0;

	for (uint32_t t = 0; t < g->n; t++) {
		const struct scored_task *a = &g->tasks[t];
		uint32_t first = k;

		for (uint32_t i = 0; i < a->task.n; i++, k++) {
			bool fork = i && a->common > 1;

			g->at[k] = &a->continuations[i];
			g->seqs[k] = (struct lmi_input_seq){
				.tokens = a->continuations[i].tokens,
				.n_tokens = a->continuations[i].n,
				.fork_of = fork ? first : LMI_NO_FORK,
				.fork_at = fork ? a->common - 1 : 0,
				.out_from = a->continuations[i].from - 1};
		}
	}
	st = lmi_ppl_eval(g->p, g->seqs, k, LMI_WANT_NLL, on_row, g, err);
	for (uint32_t t = 0; t < g->n; t++) {
		if (st == LMD_OK)
			score_task(g, &g->tasks[t]);
		drop(&g->tasks[t]);
	}
	g->n = g->n_way = g->n_tokens = 0;
	return st;
}

static enum lmd_status run_all(struct group *g, struct lmi_task_file *f, uint32_t max,
			       struct lmd_error *err)
{
	struct scored_task next = {0};
	enum lmd_status st = LMD_OK;

	for (;;) {
		st = max && f->n_task >= max ? LMD_NOTFOUND : lmi_task_next(f, &next.task, err);
		if (st != LMD_OK)
			break;
		next.number = f->n_task;
		st = prepare_task(g->p, &next, err);
		if (st == LMD_OK && g->n &&
		    (g->n_way + next.task.n > g->p->n_par ||
		     g->n_tokens + next.n_tokens > GROUP_TOKENS)) {
			st = run_group(g, err);
			lmi_progress_show(&g->p->bar, "tasks", f->at, f->n_bytes);
		}
		if (st != LMD_OK) {
			drop(&next);
			break;
		}
		g->n_way += next.task.n;
		g->n_tokens += next.n_tokens;
		g->tasks[g->n++] = next;
		next.continuations = NULL;
	}
	if (st == LMD_NOTFOUND)
		st = g->n ? run_group(g, err) : LMD_OK;
	return st;
}

static void print_result(const struct group *g, enum lmi_task_format format, bool json)
{
	static const char *const names[] = {"hellaswag", "winogrande", "multiple-choice"};
	double n = g->n_done, share = g->n_right / n;
	double error = n > 1 ? sqrt(share * (1 - share) / (n - 1)) : 0;
	struct lmi_json j;

	if (!json) {
		printf("%s: %.2f %% +- %.2f %% right (%u of %u tasks; by chance %.2f %%)\n",
		       names[format], 100 * share, 100 * error, g->n_right, g->n_done,
		       100 * g->chance / n);
		return;
	}
	lmi_json_init(&j, stdout);
	lmi_json_object(&j, NULL);
	lmi_json_str(&j, "task", names[format]);
	lmi_json_uint(&j, "tasks", g->n_done);
	lmi_json_uint(&j, "right", g->n_right);
	lmi_json_f64(&j, "accuracy", share);
	lmi_json_f64(&j, "error", error);
	lmi_json_f64(&j, "chance", g->chance / n);
	lmi_json_end(&j);
	lmi_json_fini(&j);
}

enum lmd_status lmi_ppl_tasks(struct lmi_ppl *p, struct lmi_task_file *f, uint32_t max,
			      struct lmd_error *err)
{
	struct group g = {.p = p};
	enum lmd_status st = LMD_OK;

	g.tasks = lmi_alloc(p->n_par, sizeof(*g.tasks));
	g.at = lmi_alloc(p->n_par, sizeof(struct continuation *));
	g.seqs = lmi_alloc(p->n_par, sizeof(*g.seqs));
	if (!g.tasks || !g.at || !g.seqs)
		st = lmd_fail(err, LMD_NOMEM, "no memory for %u sequences", p->n_par);
	if (st == LMD_OK)
		st = lmi_task_file_init(f, err);
	if (st == LMD_OK)
		st = run_all(&g, f, max, err);
	lmi_progress_end(&p->bar);
	if (st == LMD_OK && !g.n_done)
		st = lmd_fail(err, LMD_INVALID, "%.160s: the file contains no task", f->path);
	if (st == LMD_OK)
		print_result(&g, f->format, lmi_arg_flag(&p->ctl->args, "json"));
	for (uint32_t i = 0; g.tasks && i < g.n; i++)
		drop(&g.tasks[i]);
	lmi_free(g.tasks);
	lmi_free(g.at);
	lmi_free(g.seqs);
	return st;
}
