/* SPDX-License-Identifier: MIT
 *
 * Properties of every tokenizer, whatever the vocabulary: text survives a round trip, arbitrary
 * bytes are accepted, streaming equals decoding, results do not depend on the buffer size or the
 * thread, and an encoder does what its definition says. */
#include <math.h>
#include <pthread.h>

#include "core/base/alloc.h"
#include "core/format/format.h"
#include "core/text/detok.h"
#include "plugins/tokenizer/tok_test.h"

struct vocab {
	struct lmi_model *model;
	struct lmd_tokspec spec;
	struct lmi_tokenizer *t;
};

/* Opens a file of the pack; returns false if there is no pack. */
static bool open_vocab(struct vocab *v, const char *file, const char *pre)
{
	struct lmd_error err;
	char path[1024];

	if (!lmd_parity_dir())
		return false;
	snprintf(path, sizeof(path), "%s/tokenizers/%s.gguf", lmd_parity_dir(), file);
	ck_assert_msg(lmi_model_open(&v->model, path, LMI_OPEN_HEADER_ONLY, &err) == LMD_OK, "%s",
		      err.text);
	v->spec = *lmi_model_view(v->model)->tok;
	v->spec.clean_spaces = 0;
	if (pre)
		v->spec.pre = pre;
	ck_assert_msg(lmi_tokenizer_open(&v->t, registry, host, &v->spec, &err) == LMD_OK, "%s",
		      err.text);
	return true;
}

static void close_vocab(struct vocab *v)
{
	lmi_tokenizer_close(v->t);
	lmi_model_close(v->model);
}

static const char *const all_files[] = {
	"vocabs/ggml-vocab-gpt-2", "vocabs/ggml-vocab-llama-spm", "vocabs/ggml-vocab-phi-3",
	"vocabs/ggml-vocab-bert-bge", "vocabs/ggml-vocab-deepseek-coder", "pre/probe-raw",
	"synth/ugm-charsmap", "synth/ugm-keep-spaces", "synth/rwkv", "synth/plamo2",
	"synth/spm-no-prefix", "synth/wpm-cased", "synth/hybriddna",
};

static size_t put_utf8(char *s, uint32_t c)
{
	if (c < 0x80)
		return s[0] = (char)c, 1;
	if (c < 0x800) {
		s[0] = (char)(0xc0 | c >> 6);
		s[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		s[0] = (char)(0xe0 | c >> 12);
		s[1] = (char)(0x80 | (c >> 6 & 63));
		s[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	s[0] = (char)(0xf0 | c >> 18);
	s[1] = (char)(0x80 | (c >> 12 & 63));
	s[2] = (char)(0x80 | (c >> 6 & 63));
	s[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* Random valid UTF-8: letters, runs of white space, anything. */
static size_t random_text(uint64_t *seed, char *s, size_t cap)
{
	size_t n = 0, many = lmd_rand(seed) % 60;

	while (many-- && n + 16 < cap) {
		uint64_t r = lmd_rand(seed);
		uint32_t c = (uint32_t)(r >> 8);

		switch (r % 8) {
		case 0:
		case 1:
		case 2:
			c = 'a' + c % 26;
			break;
		case 3:
			c = c % 128;
			break;
		case 4:
			for (size_t k = c % 9; k; k--)
				s[n++] = ' ';
			c = "\n\t \r"[c % 4];
			break;
		case 5:
			c = 0x80 + c % 0x3000;
			break;
		default:
			c = c % 0x110000;
		}
		if (c >= 0xd800 && c < 0xe000)
			c = 0xe9;
		n += put_utf8(s + n, c);
	}
	return n;
}

static void encode(const struct lmi_tokenizer *t, const char *s, size_t n, uint32_t flags,
		   struct lmi_tokens *ids)
{
	struct lmd_error err;

	ck_assert_msg(lmi_tokenizer_encode(t, s, n, flags, ids, &err) == LMD_OK, "%s", err.text);
}

static void decode(const struct lmi_tokenizer *t, const struct lmi_tokens *ids, uint32_t flags,
		   struct lmi_text *out)
{
	struct lmd_error err;

	ck_assert_msg(lmi_tokenizer_decode(t, ids->id, ids->n, flags, out, &err) == LMD_OK, "%s",
		      err.text);
}

/* Streaming gives the same bytes as decode, and complete characters as soon as possible. */
static void check_stream(const struct lmi_tokenizer *t, const struct lmi_tokens *ids,
			 uint32_t flags, bool utf8)
{
	size_t room = lmi_detok_room(t), n = 0;
	struct lmi_text want = {0};
	struct lmi_detok d;
	uint64_t before;
	char *out;

	decode(t, ids, flags, &want);
	out = malloc(want.n + room + 8);
	lmi_detok_init(&d, t, flags | LMI_DETOK_BEGIN);
	before = lmi_alloc_thread_count();
	for (size_t i = 0; i < ids->n; i++) {
		size_t got = lmi_detok_add(&d, ids->id[i], out + n);

		ck_assert_uint_le(got, room);
		n += got;
		ck_assert_uint_le(n, want.n);
		ck_assert(!utf8 || !lmi_utf8_partial(out, n));
	}
	n += lmi_detok_flush(&d, out + n);
	ck_assert_uint_eq(lmi_alloc_thread_count(), before);
	ck_assert_uint_eq(n, want.n);
	ck_assert_int_eq(memcmp(out, want.p, n), 0);
	free(out);
	lmi_text_fini(&want);
}

START_TEST(text_comes_back)
{
	static const struct {
		const char *file, *pre;
	} lossless[] = {
		{"vocabs/ggml-vocab-gpt-2", NULL}, {"vocabs/ggml-vocab-gpt-2", "qwen2"},
		{"vocabs/ggml-vocab-gpt-2", "gpt-4o"}, {"vocabs/ggml-vocab-gpt-2", "deepseek-llm"},
		{"vocabs/ggml-vocab-gpt-2", "tiny_aya"}, {"vocabs/ggml-vocab-gpt-2", "kimi-k2"},
		{"vocabs/ggml-vocab-llama-spm", NULL}, {"vocabs/ggml-vocab-deepseek-llm", NULL},
		{"synth/spm-no-prefix", NULL}, {"synth/rwkv", NULL}, {"synth/plamo2", NULL},
	};
	uint64_t seed = lmd_seed("round trip", 21);
	struct lmi_tokens ids = {0};
	struct lmi_text back = {0};

	for (size_t i = 0; i < LMD_LEN(lossless); i++) {
		struct vocab v;

		if (!open_vocab(&v, lossless[i].file, lossless[i].pre)) {
			LMD_SKIP("text_comes_back", "no parity pack");
			return;
		}
		for (int round = 0; round < 400; round++) {
			char text[1024];
			size_t n = random_text(&seed, text, sizeof(text));
			bool block = memmem(text, n, "\xe2\x96\x81", 3) != NULL;
			bool bom = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3);

			if ((block && !strcmp(v.spec.kind, "llama")) ||
			    (bom && !strcmp(v.spec.kind, "plamo2")))
				continue;
			encode(v.t, text, n, 0, &ids);
			decode(v.t, &ids, LMD_DECODE_UNPARSE_SPECIAL, &back);
			ck_assert_msg(back.n == n && !memcmp(back.p, text, n), "%s: '%.*s'",
				      lossless[i].file, (int)n, text);
			check_stream(v.t, &ids, LMD_DECODE_UNPARSE_SPECIAL, true);
		}
		close_vocab(&v);
	}
	lmi_tokens_fini(&ids);
	lmi_text_fini(&back);
}
END_TEST

START_TEST(any_bytes)
{
	uint64_t seed = lmd_seed("any bytes", 22);
	struct lmi_tokens ids = {0};
	struct lmi_text back = {0};

	for (size_t i = 0; i < LMD_LEN(all_files); i++) {
		struct vocab v;

		if (!open_vocab(&v, all_files[i], NULL)) {
			LMD_SKIP("any_bytes", "no parity pack");
			return;
		}
		for (int round = 0; round < 300; round++) {
			char text[300];
			size_t n = lmd_rand(&seed) % sizeof(text);
			uint32_t flags = (uint32_t)lmd_rand(&seed) % 4;

			for (size_t k = 0; k < n; k++) {
				uint64_t r = lmd_rand(&seed);

				text[k] = (char)(r % 3 ? r >> 8 : (r >> 8) % 128);
			}
			encode(v.t, text, n, flags, &ids);
			for (size_t k = 0; k < ids.n; k++)
				ck_assert(ids.id[k] >= 0 &&
					  (uint32_t)ids.id[k] < lmi_tokenizer_info(v.t)->n_tokens);
			decode(v.t, &ids, LMD_DECODE_REMOVE_SPECIAL, &back);
			check_stream(v.t, &ids, round % 2 ? LMD_DECODE_UNPARSE_SPECIAL : 0, false);
		}
		close_vocab(&v);
	}
	lmi_tokens_fini(&ids);
	lmi_text_fini(&back);
}
END_TEST

/* n > cap is the total number, and the first cap are written. */
START_TEST(small_buffers)
{
	static const char text[] = "The quick brown fox, 123 \xe4\xbd\xa0\xe5\xa5\xbd </s> jumps!";
	struct lmi_tokens ids = {0};
	struct lmi_text whole = {0};

	for (size_t i = 0; i < LMD_LEN(all_files); i++) {
		const struct lmi_factory *f;
		struct lmd_tok_info info;
		struct vocab v;
		void *state;

		if (!open_vocab(&v, all_files[i], NULL)) {
			LMD_SKIP("small_buffers", "no parity pack");
			return;
		}
		encode(v.t, text, sizeof(text) - 1, 3, &ids);
		decode(v.t, &ids, LMD_DECODE_UNPARSE_SPECIAL, &whole);
		ck_assert_int_eq(
			lmi_factory_take(registry, LMD_KIND_TOKENIZER, v.spec.kind, &f, NULL),
			LMD_OK);
		state = lmi_alloc(1, f->f->state_bytes);
		ck_assert_int_eq(f->ops.tokenizer->open(state, host, &v.spec, &info, NULL), LMD_OK);
		for (size_t cap = 0; cap <= ids.n; cap++) {
			lmd_token *out = malloc(cap * sizeof(*out) + 1);
			size_t n = 0;

			ck_assert_int_eq(f->ops.tokenizer->encode(state, text, sizeof(text) - 1, 3,
								  out, cap, &n, NULL),
					 LMD_OK);
			ck_assert_uint_eq(n, ids.n);
			ck_assert(!cap || !memcmp(out, ids.id, cap * sizeof(*out)));
			free(out);
		}
		for (size_t cap = 0; cap <= whole.n; cap++) {
			char *out = malloc(cap + 1);
			size_t n = 0;

			ck_assert_int_eq(f->ops.tokenizer->decode(state, ids.id, ids.n,
								  LMD_DECODE_UNPARSE_SPECIAL, out,
								  cap, &n, NULL),
					 LMD_OK);
			ck_assert_uint_eq(n, whole.n);
			ck_assert(!cap || !memcmp(out, whole.p, cap));
			free(out);
		}
		f->ops.tokenizer->close(state);
		lmi_free(state);
		lmi_factory_give(registry, f);
		close_vocab(&v);
	}
	lmi_tokens_fini(&ids);
	lmi_text_fini(&whole);
}
END_TEST

/* No piece is longer than announced; ids outside the vocabulary are rejected. */
START_TEST(pieces)
{
	struct lmi_tokens ids = {0};
	struct lmi_text text = {0};
	struct lmd_error err;

	for (size_t i = 0; i < LMD_LEN(all_files); i++) {
		const struct lmd_tok_info *f;
		struct vocab v;
		lmd_token bad[3];
		char one;

		if (!open_vocab(&v, all_files[i], NULL)) {
			LMD_SKIP("pieces", "no parity pack");
			return;
		}
		f = lmi_tokenizer_info(v.t);
		for (uint32_t id = 0; id < f->n_tokens; id++)
			ck_assert_uint_le(lmi_tokenizer_piece(v.t, (lmd_token)id,
							      LMD_DECODE_UNPARSE_SPECIAL, &one, 1),
					  f->max_piece_bytes);
		bad[0] = 1;
		bad[1] = 0;
		bad[2] = (lmd_token)f->n_tokens;
		ck_assert_uint_eq(lmi_tokenizer_piece(v.t, bad[2], 0, &one, 1), 0);
		ck_assert_uint_eq(lmi_tokenizer_piece(v.t, -1, 0, &one, 1), 0);
		ck_assert_int_eq(lmi_tokenizer_decode(v.t, bad, 3, 0, &text, &err), LMD_INVALID);
		ck_assert_ptr_nonnull(strstr(err.text, "position 2"));
		for (uint32_t k = 0; k < f->n_eog; k++)
			ck_assert(lmi_tokenizer_is_eog(v.t, f->eog[k]));
		ck_assert(!lmi_tokenizer_is_eog(v.t, -1));
		close_vocab(&v);
	}
	lmi_tokens_fini(&ids);
	lmi_text_fini(&text);
}
END_TEST

/* Returns the letters that are tokens by themselves. */
static size_t letters(const struct vocab *v, char *out)
{
	size_t n = 0;

	for (uint32_t t = 0; t < v->spec.n_tokens; t++) {
		const struct lmd_str *s = &v->spec.text[t];

		if (s->len == 1 && *s->ptr >= 'a' && *s->ptr <= 'z' && n < 26)
			out[n++] = *s->ptr;
	}
	ck_assert_uint_gt(n, 5);
	return n;
}

/* SentencePiece by its definition on texts: merge the pair that makes the best token, leftmost
 * first. The text has no blanks, so nothing is escaped, and is ASCII, so a character is a byte. */
static size_t slow_spm(const struct vocab *v, const char *s, size_t n, lmd_token *out)
{
	size_t at[128], k = n, n_out = 0;

	for (size_t i = 0; i <= n; i++)
		at[i] = i;
	for (;;) {
		lmd_token best = -1;
		size_t where = 0;

		for (size_t i = 0; i + 2 <= k; i++)
			for (uint32_t t = 0; t < v->spec.n_tokens; t++)
				if (v->spec.text[t].len == at[i + 2] - at[i] &&
				    !memcmp(v->spec.text[t].ptr, s + at[i], at[i + 2] - at[i]) &&
				    (best < 0 || v->spec.score[t] > v->spec.score[best])) {
					best = (lmd_token)t;
					where = i;
				}
		if (best < 0)
			break;
		memmove(&at[where + 1], &at[where + 2], (k - where - 1) * sizeof(at[0]));
		k--;
	}
	for (size_t i = 0; i < k; i++)
		for (uint32_t t = 0; t < v->spec.n_tokens; t++)
			if (v->spec.text[t].len == at[i + 1] - at[i] &&
			    !memcmp(v->spec.text[t].ptr, s + at[i], at[i + 1] - at[i]))
				out[n_out++] = (lmd_token)t;
	return n_out;
}

START_TEST(spm_by_definition)
{
	uint64_t seed = lmd_seed("spm", 23);
	struct lmi_tokens ids = {0};
	char letter[26];
	size_t n_letter;
	struct vocab v;

	if (!open_vocab(&v, "synth/spm-no-prefix", NULL)) {
		LMD_SKIP("spm_by_definition", "no parity pack");
		return;
	}
	n_letter = letters(&v, letter);
	for (int round = 0; round < 60; round++) {
		char text[64];
		lmd_token want[64];
		size_t n = 1 + lmd_rand(&seed) % 50, n_want;

		for (size_t i = 0; i < n; i++)
			text[i] = letter[lmd_rand(&seed) % n_letter];
		n_want = slow_spm(&v, text, n, want);
		encode(v.t, text, n, 0, &ids);
		ck_assert_msg(ids.n == n_want && !memcmp(ids.id, want, n_want * sizeof(*want)),
			      "'%.*s'", (int)n, text);
	}
	lmi_tokens_fini(&ids);
	close_vocab(&v);
}
END_TEST

/* Unigram: no segmentation of the text is better than the one found. */
START_TEST(unigram_by_definition)
{
	uint64_t seed = lmd_seed("unigram", 24);
	struct lmi_tokens ids = {0};
	char letter[26];
	size_t n_letter;
	struct vocab v;

	if (!open_vocab(&v, "synth/ugm-keep-spaces", NULL)) {
		LMD_SKIP("unigram_by_definition", "no parity pack");
		return;
	}
	n_letter = letters(&v, letter);
	for (int round = 0; round < 60; round++) {
		char text[64];
		double best[64], sum = 0;
		size_t n = 4 + lmd_rand(&seed) % 40;

		for (size_t i = 0; i < n; i++)
			text[i] = letter[lmd_rand(&seed) % n_letter];
		encode(v.t, text, n, 0, &ids);
		for (size_t i = 0; i < ids.n; i++)
			sum += v.spec.score[ids.id[i]];
		memmove(text + 3, text, n);      /* the space in front that the file requires */
		memcpy(text, "\xe2\x96\x81", 3);
		n += 3;
		best[0] = 0;
		for (size_t i = 1; i <= n; i++) {
			best[i] = -INFINITY;
			for (uint32_t t = 0; t < v.spec.n_tokens; t++) {
				size_t len = v.spec.text[t].len;

				if (v.spec.type[t] == LMD_TOKEN_NORMAL && len <= i &&
				    !memcmp(v.spec.text[t].ptr, text + i - len, len))
					best[i] = fmax(best[i], best[i - len] + v.spec.score[t]);
			}
		}
		ck_assert_msg(fabs(sum - best[n]) < 1e-9, "%.9g, best %.9g", sum, best[n]);
	}
	lmi_tokens_fini(&ids);
	close_vocab(&v);
}
END_TEST

struct thread_arg {
	const struct lmi_tokenizer *t;
	const char *text;
	size_t n;
	const struct lmi_tokens *want;
	bool same;
};

static void *encode_often(void *p)
{
	struct thread_arg *a = p;
	struct lmi_tokens ids = {0};

	a->same = true;
	for (int i = 0; i < 20; i++)
		a->same = a->same &&
			  lmi_tokenizer_encode(a->t, a->text, a->n, 3, &ids, NULL) == LMD_OK &&
			  ids.n == a->want->n &&
			  !memcmp(ids.id, a->want->id, ids.n * sizeof(*ids.id));
	lmi_tokens_fini(&ids);
	return NULL;
}

START_TEST(many_threads)
{
	static char text[8000];
	uint64_t seed = lmd_seed("threads", 25);
	struct lmi_tokens want = {0};
	size_t n = 0;

	while (n < sizeof(text) - 1100)
		n += random_text(&seed, text + n, 1024);
	for (size_t i = 0; i < LMD_LEN(all_files); i++) {
		struct thread_arg arg[4];
		pthread_t th[4];
		struct vocab v;

		if (!open_vocab(&v, all_files[i], NULL)) {
			LMD_SKIP("many_threads", "no parity pack");
			return;
		}
		encode(v.t, text, n, 3, &want);
		for (int k = 0; k < 4; k++) {
			arg[k] = (struct thread_arg){v.t, text, n, &want, false};
			ck_assert_int_eq(pthread_create(&th[k], NULL, encode_often, &arg[k]), 0);
		}
		for (int k = 0; k < 4; k++) {
			pthread_join(th[k], NULL);
			ck_assert(arg[k].same);
		}
		close_vocab(&v);
	}
	lmi_tokens_fini(&want);
}
END_TEST

/* Every allocation of open and encode may fail: there is an error, and nothing leaks. */
START_TEST(out_of_memory)
{
	static const char text[] =
		"Hello w\xc3\xb6rld \xe4\xbd\xa0 <dna>ACG</dna> \xff aaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	static const char *const small[] = {
		"synth/ugm-charsmap", "synth/rwkv", "synth/plamo2", "synth/spm-no-prefix",
		"synth/wpm-cased", "synth/hybriddna", "pre/probe-raw",
	};

	for (size_t i = 0; i < LMD_LEN(small); i++) {
		struct lmi_tokens ids = {0};
		struct lmi_tokenizer *t = NULL;
		struct lmd_error err;
		struct vocab v;

		if (!open_vocab(&v, small[i], NULL)) {
			LMD_SKIP("out_of_memory", "no parity pack");
			return;
		}
		for (uint64_t nth = 1; !t; nth++) {
			struct lmi_alloc_stats before, after;
			enum lmd_status st;

			lmi_alloc_stats(&before);
			lmi_alloc_fail_nth(nth, false);
			st = lmi_tokenizer_open(&t, registry, host, &v.spec, &err);
			if (!lmi_alloc_did_fail()) {
				ck_assert_msg(st == LMD_OK, "%s", err.text);
				break;
			}
			ck_assert_msg(st == LMD_NOMEM, "%s: %d %s", small[i], st, err.text);
			lmi_alloc_stats(&after);
			ck_assert_uint_eq(before.n_live, after.n_live);
		}
		for (uint64_t nth = 1;; nth++) {
			struct lmi_alloc_stats before, after;
			enum lmd_status st;

			lmi_tokens_fini(&ids);
			lmi_alloc_stats(&before);
			lmi_alloc_fail_nth(nth, false);
			st = lmi_tokenizer_encode(t, text, sizeof(text) - 1, 3, &ids, &err);
			if (!lmi_alloc_did_fail()) {
				ck_assert_int_eq(st, LMD_OK);
				break;
			}
			/* the word cache is optional */
			ck_assert(st == LMD_NOMEM || st == LMD_OK);
			ck_assert(st == LMD_OK || !ids.n);
			lmi_tokens_fini(&ids);
			lmi_alloc_stats(&after);
			ck_assert_uint_eq(before.n_live, after.n_live);
		}
		lmi_alloc_fail_nth(0, false);
		lmi_tokens_fini(&ids);
		lmi_tokenizer_close(t);
		close_vocab(&v);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("laws");
	TCase *tc = tcase_create("laws");
	SRunner *r;

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, tok_setup, tok_teardown);
	tcase_add_test(tc, text_comes_back);
	tcase_add_test(tc, any_bytes);
	tcase_add_test(tc, small_buffers);
	tcase_add_test(tc, pieces);
	tcase_add_test(tc, spm_by_definition);
	tcase_add_test(tc, unigram_by_definition);
	tcase_add_test(tc, many_threads);
	tcase_add_test(tc, out_of_memory);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	return lmd_check_run(r);
}
