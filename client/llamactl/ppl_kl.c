/* SPDX-License-Identifier: MIT
 *
 * Saves the log-probabilities of a model on a text, and compares another model with them. The file
 * has the layout of llama.cpp's perplexity tool (docs/formats.md): the tokens, and for each scored
 * row the logarithms of all probabilities in 16 bits over the 16 nats below the largest. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/ppl.h"
#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/file.h"

#define MAGIC	   "_logits_"
#define HEAD_BYTES 20u
#define RANGE	   16.0f /* nats */
#define STEPS	   65535.0f

static enum lmd_status check_width(uint32_t width, uint32_t n_vocab, struct lmd_error *err)
{
	return width == n_vocab
		       ? LMD_OK
		       : lmd_fail(err, LMD_UNSUPPORTED, "rows of %u logits, the vocabulary has %u",
				  width, n_vocab);
}

/* Bytes of a row: scale, smallest logarithm, and a number for each token. */
static uint64_t row_bytes(uint32_t n_vocab)
{
	return 8 + 2 * (uint64_t)(n_vocab + n_vocab % 2);
}

/* ---- writing ---- */

struct saver {
	const struct lmi_ctl_windows *w;
	struct lmi_new_file f;
	uint32_t n_vocab;
	uint8_t *row;
	struct lmi_ctl_mean *nll;
};

static void pack(uint8_t *out, const float *logits, uint32_t n, double log_sum)
{
	float most = -INFINITY, least = INFINITY, scale;

	for (uint32_t i = 0; i < n; i++) {
		most = logits[i] > most ? logits[i] : most;
		least = logits[i] < least ? logits[i] : least;
	}
	least = least > most - RANGE ? least : most - RANGE;
	scale = (most - least) / STEPS;
	lmi_put_le32(out, lmi_f32_bits(scale));
	lmi_put_le32(out + 4, lmi_f32_bits((float)((double)least - log_sum)));
	for (uint32_t i = 0; i < n; i++) {
		float steps = scale > 0 && logits[i] > least ? (logits[i] - least) / scale : 0;

		lmi_put_le16(out + 8 + 2 * (size_t)i, (uint16_t)(steps < STEPS ? lrintf(steps)
									       : 65535));
	}
}

static enum lmd_status save_row(void *arg, uint32_t w, uint32_t row, lmd_token next, const float *v,
				uint32_t width, struct lmd_error *err)
{
	struct saver *s = arg;
	uint64_t rows = s->w->ctx - 1 - s->w->first, bytes = row_bytes(width);
	uint64_t at = HEAD_BYTES + 4 * (uint64_t)s->w->n * s->w->ctx +
		      (w * rows + row - s->w->first) * bytes;
	double log_sum = lmi_ctl_log_sum_exp(v, width);
	enum lmd_status st = check_width(width, s->n_vocab, err);

	if (st != LMD_OK)
		return st;
	if (!isfinite(log_sum))
		return lmd_fail(err, LMD_INVALID,
				"window %u: logits after token %u are not finite", w, row);
	lmi_ctl_mean_add(s->nll, log_sum - (double)v[next]);
	pack(s->row, v, width, log_sum);
	return lmi_new_file_write_at(&s->f, at, s->row, (size_t)bytes, err);
}

static enum lmd_status save_head(struct saver *s, struct lmd_error *err)
{
	uint64_t n = (uint64_t)s->w->n * s->w->ctx;
	uint8_t head[HEAD_BYTES] = MAGIC, b[4];
	enum lmd_status st;

	lmi_put_le32(head + 8, s->w->ctx);
	lmi_put_le32(head + 12, s->n_vocab);
	lmi_put_le32(head + 16, s->w->n);
	st = lmi_new_file_write(&s->f, head, sizeof(head), err);
	for (uint64_t i = 0; st == LMD_OK && i < n; i++) {
		lmi_put_le32(b, (uint32_t)s->w->tokens[i]);
		st = lmi_new_file_write(&s->f, b, sizeof(b), err);
	}
	return st;
}

static uint32_t n_vocab_of(const struct lmi_ctl_ppl *p)
{
	struct lmi_engine_info e;

	lmi_engine_info(p->engine, &e);
	return e.desc->n_vocab;
}

enum lmd_status lmi_ctl_ppl_save(struct lmi_ctl_ppl *p, struct lmi_ctl_windows *w, const char *path,
				 struct lmi_ctl_mean *nll, struct lmd_error *err)
{
	struct saver s = {.w = w, .nll = nll, .n_vocab = n_vocab_of(p)};
	enum lmd_status st = lmi_new_file_open(&s.f, path, 0644, err);

	if (st != LMD_OK)
		return st;
	s.row = lmi_alloc((size_t)row_bytes(s.n_vocab), 1);
	if (!s.row)
		st = lmd_fail(err, LMD_NOMEM, "no memory for a row of %u logits", s.n_vocab);
	if (st == LMD_OK)
		st = save_head(&s, err);
	if (st == LMD_OK)
		st = lmi_ctl_ppl_windows(p, w, LMI_ENGINE_WANT_LOGITS, save_row, &s, err);
	lmi_free(s.row);
	if (st == LMD_OK)
		return lmi_new_file_commit(&s.f, err);
	lmi_new_file_abort(&s.f);
	return st;
}

/* ---- reading ---- */

struct base {
	struct lmi_file f;
	uint32_t ctx, n_vocab, n_window;
};

static enum lmd_status base_open(struct base *b, const char *path, struct lmd_error *err)
{
	uint8_t head[HEAD_BYTES];
	uint64_t rows, want;
	enum lmd_status st = lmi_file_open(&b->f, path, err);

	if (st != LMD_OK)
		return st;
	if (b->f.bytes < HEAD_BYTES || lmi_file_read(&b->f, 0, head, HEAD_BYTES, err) != LMD_OK ||
	    memcmp(head, MAGIC, 8) != 0) {
		lmi_file_close(&b->f);
		return lmd_fail(err, LMD_INVALID, "%.200s: not a file written by --save-logits",
				path);
	}
	b->ctx = lmi_get_le32(head + 8);
	b->n_vocab = lmi_get_le32(head + 12);
	b->n_window = lmi_get_le32(head + 16);
	rows = b->ctx - 1 - b->ctx / 2;
	if (b->ctx < 4 || b->ctx > 1u << 20 || b->n_vocab < 1 || b->n_vocab > 1u << 22 ||
	    b->n_window < 1 || b->n_window > 1u << 20) {
		st = lmd_fail(err, LMD_INVALID,
			      "%.200s: %u windows of %u tokens, vocabulary of %u: out of range",
			      path, b->n_window, b->ctx, b->n_vocab);
	} else { /* below 2^20 * 2^20 * 2^24 */
		want = HEAD_BYTES + b->n_window * (4ull * b->ctx + rows * row_bytes(b->n_vocab));
		if (b->f.bytes < want)
			st = lmd_fail(err, LMD_CORRUPT, "%.200s: the file has %llu bytes, but %u "
							"windows take %llu",
				      path, (unsigned long long)b->f.bytes, b->n_window,
				      (unsigned long long)want);
	}
	if (st != LMD_OK)
		lmi_file_close(&b->f);
	return st;
}

enum lmd_status lmi_ctl_ppl_base_ctx(const char *path, uint32_t *ctx, struct lmd_error *err)
{
	struct base b;
	enum lmd_status st = base_open(&b, path, err);

	if (st != LMD_OK)
		return st;
	*ctx = b.ctx;
	lmi_file_close(&b.f);
	return LMD_OK;
}

static enum lmd_status read_tokens(const struct base *b, lmd_token **out, struct lmd_error *err)
{
	uint64_t n = (uint64_t)b->n_window * b->ctx;
	lmd_token *v = lmi_alloc((size_t)n, sizeof(*v));
	enum lmd_status st;

	*out = v;
	if (!v)
		return lmd_fail(err, LMD_NOMEM, "no memory for %llu tokens", (unsigned long long)n);
	st = lmi_file_read(&b->f, HEAD_BYTES, v, (size_t)n * sizeof(*v), err);
	for (uint64_t i = 0; st == LMD_OK && i < n; i++) {
		v[i] = (lmd_token)lmi_get_le32(&v[i]);
		if (v[i] < 0 || (uint32_t)v[i] >= b->n_vocab)
			st = lmd_fail(err, LMD_CORRUPT, "token %llu is %d, the vocabulary has %u",
				      (unsigned long long)i, v[i], b->n_vocab);
	}
	return st;
}

/* ---- comparing ---- */

struct compare {
	const struct lmi_ctl_windows *w;
	struct base base;
	uint8_t *row;
	float *kld, *dp; /* [n] */
	uint64_t n;
	struct lmi_ctl_mean nll, nll_base, ratio, kl, delta, delta2, top;
};

static enum lmd_status compare_row(void *arg, uint32_t w, uint32_t row, lmd_token next,
				   const float *v, uint32_t width, struct lmd_error *err)
{
	struct compare *c = arg;
	uint64_t rows = c->w->ctx - 1 - c->w->first, bytes = row_bytes(width);
	uint64_t index = w * rows + row - c->w->first;
	uint64_t at = HEAD_BYTES + 4 * (uint64_t)c->base.n_window * c->w->ctx + index * bytes;
	double log_sum = lmi_ctl_log_sum_exp(v, width), scale, least, kl = 0, ours, theirs;
	uint32_t best = 0, most = 0;
	enum lmd_status st = check_width(width, c->base.n_vocab, err);

	if (st == LMD_OK)
		st = lmi_file_read(&c->base.f, at, c->row, (size_t)bytes, err);
	if (st != LMD_OK)
		return st;
	scale = (double)lmi_bits_f32(lmi_get_le32(c->row));
	least = (double)lmi_bits_f32(lmi_get_le32(c->row + 4));
	if (!isfinite(log_sum) || !isfinite(scale) || !isfinite(least))
		return lmd_fail(err, LMD_INVALID,
				"window %u: logits after token %u are not finite", w, row);
	for (uint32_t i = 0; i < width; i++) {
		uint32_t u = lmi_get_le16(c->row + 8 + 2 * (size_t)i);
		double lp = least + scale * u;

		best = v[i] > v[best] ? i : best;
		most = u > most ? u : most;
		if (lp > -(double)RANGE) /* smaller ones were clipped and carry no information */
			kl += exp(lp) * (lp - ((double)v[i] - log_sum));
	}
	ours = log_sum - (double)v[next];
	theirs = -(least + scale * lmi_get_le16(c->row + 8 + 2 * (size_t)next));
	lmi_ctl_mean_add(&c->nll, ours);
	lmi_ctl_mean_add(&c->nll_base, theirs);
	lmi_ctl_mean_add(&c->ratio, ours - theirs);
	lmi_ctl_mean_add(&c->kl, kl);
	lmi_ctl_mean_add(&c->top, lmi_get_le16(c->row + 8 + 2 * (size_t)best) == most);
	c->kld[c->n] = (float)kl;
	c->dp[c->n] = (float)(exp(-ours) - exp(-theirs));
	lmi_ctl_mean_add(&c->delta, (double)c->dp[c->n]);
	lmi_ctl_mean_add(&c->delta2, (double)c->dp[c->n] * (double)c->dp[c->n]);
	c->n++;
	return LMD_OK;
}

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static const struct {
	const char *name;
	double p;
} levels[] = {{"max", 1},     {"p99.9", 0.999}, {"p99", 0.99}, {"p95", 0.95}, {"p90", 0.9},
	      {"median", 0.5}, {"p10", 0.1},	 {"p5", 0.05},	{"p1", 0.01},	{"min", 0}};

/* Writes a figure: name, value, uncertainty. */
static void json_pair(struct lmi_ctl_json *j, const char *key, double v, double e)
{
	lmi_ctl_json_flat_object(j, key);
	lmi_ctl_json_f64(j, "value", v);
	lmi_ctl_json_f64(j, "error", e);
	lmi_ctl_json_end(j);
}

static void json_levels(struct lmi_ctl_json *j, const char *key, const float *v, uint64_t n)
{
	lmi_ctl_json_flat_object(j, key);
	for (size_t i = 0; i < LMD_LEN(levels); i++)
		lmi_ctl_json_f64(j, levels[i].name, lmi_ctl_percentile(v, n, levels[i].p));
	lmi_ctl_json_end(j);
}

static void print_json(const struct compare *c)
{
	double q = exp(c->nll.mean), b = exp(c->nll_base.mean), r = exp(c->ratio.mean);
	double rms = sqrt(c->delta2.mean);
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	json_pair(&j, "perplexity", q, q * lmi_ctl_mean_error(&c->nll));
	json_pair(&j, "perplexity_base", b, b * lmi_ctl_mean_error(&c->nll_base));
	json_pair(&j, "perplexity_ratio", r, r * lmi_ctl_mean_error(&c->ratio));
	json_pair(&j, "log_ratio", c->ratio.mean, lmi_ctl_mean_error(&c->ratio));
	json_pair(&j, "kld", c->kl.mean, lmi_ctl_mean_error(&c->kl));
	json_levels(&j, "kld_percentiles", c->kld, c->n);
	json_pair(&j, "delta_p", c->delta.mean, lmi_ctl_mean_error(&c->delta));
	json_pair(&j, "delta_p_rms", rms, rms > 0 ? lmi_ctl_mean_error(&c->delta2) / (2 * rms) : 0);
	json_levels(&j, "delta_p_percentiles", c->dp, c->n);
	json_pair(&j, "same_top", c->top.mean, lmi_ctl_mean_error(&c->top));
	lmi_ctl_json_uint(&j, "scored", c->n);
	lmi_ctl_json_uint(&j, "windows", c->w->n);
	lmi_ctl_json_uint(&j, "ctx", c->w->ctx);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static void print_levels(const char *title, const float *v, uint64_t n, double scale)
{
	printf("%s\n", title);
	for (size_t i = 0; i < LMD_LEN(levels); i++)
		printf("  %-8s %12.6f\n", levels[i].name,
		       scale * lmi_ctl_percentile(v, n, levels[i].p));
}

static void print_text(const struct compare *c)
{
	double q = exp(c->nll.mean), b = exp(c->nll_base.mean), r = exp(c->ratio.mean);
	double rms = sqrt(c->delta2.mean);

	printf("perplexity            %.4f +- %.4f\n", q, q * lmi_ctl_mean_error(&c->nll));
	printf("perplexity, base      %.4f +- %.4f\n", b, b * lmi_ctl_mean_error(&c->nll_base));
	printf("ratio                 %.6f +- %.6f\n", r, r * lmi_ctl_mean_error(&c->ratio));
	printf("mean KL divergence    %.6f +- %.6f\n", c->kl.mean, lmi_ctl_mean_error(&c->kl));
	printf("same best token       %.3f %% +- %.3f %%\n", 100 * c->top.mean,
	       100 * lmi_ctl_mean_error(&c->top));
	printf("mean change of p      %.4f %% +- %.4f %%\n", 100 * c->delta.mean,
	       100 * lmi_ctl_mean_error(&c->delta));
	printf("rms change of p       %.4f %% +- %.4f %%\n", 100 * rms,
	       rms > 0 ? 100 * lmi_ctl_mean_error(&c->delta2) / (2 * rms) : 0);
	print_levels("KL divergence", c->kld, c->n, 1);
	print_levels("change of p, %", c->dp, c->n, 100);
	printf("%llu tokens scored in %u windows of %u\n", (unsigned long long)c->n, c->w->n,
	       c->w->ctx);
}

static enum lmd_status compare_all(struct lmi_ctl_ppl *p, struct compare *c,
				   struct lmi_ctl_windows *w, struct lmd_error *err)
{
	uint32_t n_vocab = n_vocab_of(p);
	uint64_t n = (uint64_t)w->n * (w->ctx - 1 - w->first);
	enum lmd_status st;

	if (c->base.n_vocab != n_vocab)
		return lmd_fail(err, LMD_INVALID,
				"the saved logits belong to a vocabulary of %u tokens, the "
				"model's has %u",
				c->base.n_vocab, n_vocab);
	st = read_tokens(&c->base, &w->tokens, err);
	c->row = lmi_alloc((size_t)row_bytes(n_vocab), 1);
	c->kld = lmi_alloc((size_t)n, sizeof(float));
	c->dp = lmi_alloc((size_t)n, sizeof(float));
	if (st == LMD_OK && (!c->row || !c->kld || !c->dp))
		st = lmd_fail(err, LMD_NOMEM, "no memory for %llu scores", (unsigned long long)n);
	if (st == LMD_OK)
		st = lmi_ctl_ppl_windows(p, w, LMI_ENGINE_WANT_LOGITS, compare_row, c, err);
	if (st != LMD_OK)
		return st;
	qsort(c->kld, (size_t)c->n, sizeof(float), by_value);
	qsort(c->dp, (size_t)c->n, sizeof(float), by_value);
	(lmi_arg_flag(&p->ctl->args, "json") ? print_json : print_text)(c);
	return LMD_OK;
}

enum lmd_status lmi_ctl_ppl_compare(struct lmi_ctl_ppl *p, const char *path, uint32_t n_most,
				    struct lmd_error *err)
{
	struct compare c = {0};
	struct lmi_ctl_windows w = {0};
	enum lmd_status st = base_open(&c.base, path, err);

	if (st != LMD_OK)
		return st;
	w.ctx = w.step = c.base.ctx;
	w.first = w.ctx / 2;
	w.n = n_most && n_most < c.base.n_window ? n_most : c.base.n_window;
	w.n_tokens = (uint64_t)w.n * w.ctx;
	c.w = &w;
	st = compare_all(p, &c, &w, err);
	lmi_file_close(&c.base.f);
	lmi_free(w.tokens);
	lmi_free(c.row);
	lmi_free(c.kld);
	lmi_free(c.dp);
	return st;
}
