/* SPDX-License-Identifier: MIT
 *
 * text_bench - measures the cost of text processing around a model, on one core: sampling a token
 * and computing a grammar's token mask, which happen for each token; and building a vocabulary's
 * index, compiling a schema and rendering a prompt, which happen once.
 *
 *     bench/text_bench [ROUNDS [PLUGIN_FOLDER]]
 *
 * The vocabulary is synthetic: 128,256 tokens such as those of a byte-pair encoding: bytes, pieces
 * of words with and without a leading space, numbers, punctuation, and characters of three bytes.
 * Figures are CPU times, so that other processes matter little: median, 99th percentile, and
 * maximum. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/engine/sample.h"
#include "core/grammar/grammar.h"
#include "core/plugin/host_services.h"
#include "core/plugin/registry.h"
#include "core/jinja/template.h"
#include "llamad/attr.h"

#define N_VOCAB 128256u
#define EOG     (N_VOCAB - 1)

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % below);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void must(enum lmd_status st, const struct lmd_error *err)
{
	if (st == LMD_OK)
		return;
	fprintf(stderr, "text_bench: %s\n", err->text);
	exit(1);
}

/* ---- times ---- */

struct times {
	uint64_t *ns;
	size_t n, cap;
};

static void add_time(struct times *t, uint64_t ns)
{
	if (t->n == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 1024;
		t->ns = realloc(t->ns, t->cap * sizeof(*t->ns));
		if (!t->ns)
			exit(1);
	}
	t->ns[t->n++] = ns;
}

static int by_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void report(const char *what, struct times *t)
{
	if (!t->n)
		return;
	qsort(t->ns, t->n, sizeof(*t->ns), by_ns);
	printf("%-46s %9.1f %9.1f %9.1f us  %zu\n", what, (double)t->ns[t->n / 2] / 1e3,
	       (double)t->ns[t->n * 99 / 100] / 1e3, (double)t->ns[t->n - 1] / 1e3, t->n);
	t->n = 0;
}

/* ---- the vocabulary ---- */

struct piece {
	uint8_t n;
	char s[23];
};

static struct piece pieces[N_VOCAB];
static const int32_t eog[] = {EOG};

static size_t piece(const void *ctx, lmd_token id, char *out, size_t cap)
{
	const struct piece *p = &pieces[id];

	(void)ctx;
	memcpy(out, p->s, p->n < cap ? p->n : cap);
	return p->n;
}

static void put(struct piece *p, const char *s, size_t n)
{
	if (p->n + n > sizeof(p->s))
		return;
	memcpy(p->s + p->n, s, n);
	p->n = (uint8_t)(p->n + n);
}

static void word(struct piece *p)
{
	static const char *const part[] = {"a",  "e",  "i",  "o", "u",  "st",  "er",   "in", "th",
					   "re", "an", "on", "t", "n",  "s",   "c",    "l",  "d",
					   "m",  "p",  "b",  "g", "qu", "ing", "tion", "y"};

	for (uint32_t k = 0, n = 1 + draw(4); k < n; k++) {
		const char *s = part[draw(LMD_LEN(part))];

		put(p, s, strlen(s));
	}
	if (!draw(6))
		p->s[0] = (char)(p->s[0] >= 'a' ? p->s[0] - 32 : p->s[0]);
}

static void make_vocab(void)
{
	static const char *const marks[] = {"\"", "{",  "}", "[", "]", ":", ",",  ".", "(",
					    ")",  "\n", "=", "-", "_", "/", "\\", "'", ";"};

	for (uint32_t i = 0; i < N_VOCAB; i++) {
		struct piece *p = &pieces[i];
		uint32_t kind = i < 256 ? 9 : draw(10);

		if (i == EOG) {
			put(p, "<|end|>", 7);
		} else if (kind == 9 && i < 256) {
			char c = (char)i;

			put(p, &c, 1);
		} else if (kind < 3) {
			put(p, " ", 1);
			word(p);
		} else if (kind < 6) {
			word(p);
		} else if (kind == 6) {
			char digits[8];

			put(p, digits, (size_t)snprintf(digits, sizeof(digits), "%u", draw(1000)));
		} else if (kind == 7) {
			for (uint32_t k = 0, n = 1 + draw(4); k < n; k++) {
				const char *s = marks[draw(LMD_LEN(marks))];

				put(p, s, 1);
			}
		} else {
			for (uint32_t k = 0, n = 1 + draw(3); k < n; k++) {
				char c[3] = {(char)(0xe4 + draw(5)), (char)(0x80 + draw(64)),
					     (char)(0x80 + draw(64))};

				put(p, c, 3);
			}
		}
	}
}

static const struct lmd_sample_vocab vocab = {.struct_size = sizeof(vocab),
					      .n_tokens = N_VOCAB,
					      .piece = piece,
					      .eog = eog,
					      .n_eog = 1,
					      .eot = -1,
					      .eos = EOG,
					      .nl = -1};

/* ---- sampling ---- */

static float normal(void)
{
	float sum = 0;

	for (int i = 0; i < 12; i++)
		sum += (float)draw(1u << 24) / (float)(1u << 24);
	return sum - 6;
}

static void bench_chain(struct lmi_plugin_registry *registry, const struct lmd_host *host,
			const char *what, const struct lmi_sampler_params *p, int rounds,
			bool peaked)
{
	struct lmi_sampler_spec_list *list = lmi_alloc(1, sizeof(*list));
	float *logits = lmi_alloc(N_VOCAB, sizeof(*logits));
	struct lmi_sampler_chain_opts o = {
		.registry = registry, .host = host, .vocab = &vocab, .n_vocab = N_VOCAB, .seed = 1};
	struct times t = {0};
	struct lmi_sampler_chain *ch;
	struct lmd_error err;

	lmi_sampler_specs(list, p);
	o.specs = list->spec;
	o.n_specs = list->n;
	must(lmi_sampler_chain_create(&ch, &o, &err), &err);
	for (uint32_t i = 0; i < N_VOCAB; i++)
		logits[i] = (peaked ? 1.5f : 3.0f) * normal();
	for (int r = 0; r < rounds; r++) {
		uint64_t t0;
		lmd_token id;

		for (uint32_t i = 0; i < (peaked ? 20u : 1000u); i++)
			logits[draw(N_VOCAB)] = (peaked ? 12.0f : 3.0f) * normal();
		t0 = now_ns();
		must(lmi_sampler_chain_sample(ch, logits, N_VOCAB, NULL, &id), &err);
		lmi_sampler_chain_accept(ch, id, false);
		add_time(&t, now_ns() - t0);
	}
	report(what, &t);
	lmi_sampler_chain_destroy(ch);
	lmi_free(logits);
	lmi_free(list);
	free(t.ns);
}

static void bench_chains(struct lmi_plugin_registry *registry, const struct lmd_host *host,
			 int rounds)
{
	struct lmi_sampler_params p;

	lmi_sampler_params_default(&p);
	bench_chain(registry, host, "default chain, logits spread", &p, rounds, false);
	bench_chain(registry, host, "default chain, logits peaked", &p, rounds, true);
	p.repeat_penalty = 1.1;
	bench_chain(registry, host, "default chain with penalties", &p, rounds, false);
	lmi_sampler_params_default(&p);
	p.top_k = 0;
	bench_chain(registry, host, "top_p and min_p without top_k", &p, rounds, false);
	p.top_p = 1;
	bench_chain(registry, host, "min_p alone", &p, rounds, false);
	p.temp = 0;
	bench_chain(registry, host, "greedy", &p, rounds, false);
}

/* ---- grammars ---- */

/* A schema of about `bytes` bytes: objects with strings, numbers, enums and lists. */
static char *make_schema(size_t bytes)
{
	char *s = malloc(bytes + 4096);
	size_t n = 0, k = 0;

	if (!s)
		exit(1);
	n += (size_t)sprintf(s + n, "{\"type\": \"object\", \"properties\": {");
	while (n < bytes) {
		const char *comma = k ? ", " : "";

		switch (k % 5) {
		case 0:
			n += (size_t)sprintf(
				s + n,
				"%s\"name_%zu\": {\"type\": \"string\", \"maxLength\": "
				"40}",
				comma, k);
			break;
		case 1:
			n += (size_t)sprintf(s + n,
					     "%s\"count_%zu\": {\"type\": \"integer\", "
					     "\"minimum\": 0, \"maximum\": %zu}",
					     comma, k, 1000 + k);
			break;
		case 2:
			n += (size_t)sprintf(s + n,
					     "%s\"kind_%zu\": {\"enum\": [\"small\", \"large\", "
					     "\"huge_%zu\", null]}",
					     comma, k, k);
			break;
		case 3:
			n += (size_t)sprintf(
				s + n,
				"%s\"list_%zu\": {\"type\": \"array\", \"items\": "
				"{\"type\": \"object\", \"properties\": {\"x\": "
				"{\"type\": \"number\"}, \"y\": {\"type\": "
				"\"string\"}}, \"required\": [\"x\"]}, \"maxItems\": 8}",
				comma, k);
			break;
		default:
			n += (size_t)sprintf(s + n,
					     "%s\"code_%zu\": {\"type\": \"string\", \"pattern\": "
					     "\"^[A-Z]{2}-[0-9]{4}$\"}",
					     comma, k);
		}
		k++;
	}
	(void)sprintf(s + n, "}, \"required\": [\"name_0\", \"count_1\", \"kind_2\"]}");
	return s;
}

/* A token that the mask allows; the end token only if nothing else is allowed. */
static lmd_token any_of(const uint64_t *mask)
{
	uint32_t from = draw(N_VOCAB);

	for (uint32_t i = 0; i < N_VOCAB; i++) {
		uint32_t id = (from + i) % N_VOCAB;

		if (id != EOG && mask[id / 64] >> (id % 64) & 1)
			return (lmd_token)id;
	}
	return EOG;
}

static void bench_masks(const struct lmi_grammar_vocab *v, const char *what, const char *schema,
			int rounds)
{
	struct lmi_gr_matcher_opts o = {.vocab = v};
	struct times compile = {0}, mask_times = {0};
	struct lmi_grammar *g = NULL;
	struct lmi_grammar_matcher *m;
	struct lmi_grammar_state *s;
	struct lmd_error err;
	char line[80];

	for (int i = 0; i < 10; i++) {
		uint64_t t0 = now_ns();

		lmi_grammar_destroy(g);
		must(lmi_grammar_from_schema(&g, schema, strlen(schema), &err), &err);
		add_time(&compile, now_ns() - t0);
	}
	snprintf(line, sizeof(line), "%s: %zu bytes compiled", what, strlen(schema));
	report(line, &compile);
	o.grammar = g;
	/* each answer has its own matcher, which starts with an empty cache */
	for (int r = 0; r < rounds; r++) {
		must(lmi_gr_matcher_create(&m, &o, &err), &err);
		must(lmi_gr_state_create(&s, m, &err), &err);
		for (int i = 0; i < 200; i++) {
			uint64_t t0 = now_ns();
			const uint64_t *mask;
			lmd_token id;

			must(lmi_gr_state_mask(s, &mask), &err);
			add_time(&mask_times, now_ns() - t0);
			id = any_of(mask);
			if (id == EOG)
				break;
			must(lmi_gr_state_accept(s, id), &err);
		}
		lmi_gr_state_destroy(s);
		lmi_gr_matcher_destroy(m);
	}
	snprintf(line, sizeof(line), "%s: token mask", what);
	report(line, &mask_times);
	lmi_grammar_destroy(g);
	free(compile.ns);
	free(mask_times.ns);
}

static void bench_grammars(int rounds)
{
	struct times t = {0};
	struct lmi_grammar_vocab *v = NULL;
	struct lmd_error err;
	char *schema = make_schema(10 * 1024);

	for (int i = 0; i < 3; i++) {
		uint64_t t0 = now_ns();

		lmi_gr_vocab_destroy(v);
		must(lmi_gr_vocab_create(&v, &vocab, &err), &err);
		add_time(&t, now_ns() - t0);
	}
	report("vocabulary index", &t);
	bench_masks(v, "any JSON", "{}", rounds / 10 + 1);
	bench_masks(v, "schema", schema, rounds / 10 + 1);
	lmi_gr_vocab_destroy(v);
	free(schema);
	free(t.ns);
}

/* ---- templates ---- */

static void bench_template(int rounds)
{
	static const char text[] =
		"{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content | trim + "
		"'<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n"
		"{% endif %}";
	json_t *vars = json_pack("{s:b, s:[]}", "add_generation_prompt", 1, "messages");
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmi_jinja_value v;
	struct lmi_jinja_input in = {.vars = &v, .n_vars = 1, .want_origins = true};
	struct lmi_jinja *t;
	struct times times = {0};
	struct lmd_error err;

	for (int i = 0; i < 40; i++)
		(void)json_array_append_new(
			json_object_get(vars, "messages"),
			json_pack(
				"{s:s, s:s}", "role", i % 2 ? "assistant" : "user", "content",
				"A message of a length that people write, with some words more."));
	must(lmi_jinja_tvalue_from_json(vars, arena, &v, &err), &err);
	must(lmi_jinja_parse(&t, text, sizeof(text) - 1, &err), &err);
	for (int i = 0; i < rounds; i++) {
		struct lmi_jinja_output out;
		uint64_t t0 = now_ns();

		must(lmi_jinja_render(t, &in, &out, &err), &err);
		add_time(&times, now_ns() - t0);
		lmi_jinja_output_fini(&out);
	}
	report("ChatML prompt of 40 messages", &times);
	lmi_jinja_destroy(t);
	lmi_arena_destroy(arena);
	json_decref(vars);
	free(times.ns);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 300;
	struct lmi_plugin_registry *registry;
	struct lmd_host *host;
	const char *const dir = argc > 2 ? argv[2] : "plugins/sampler/basic/.libs";
	struct lmi_plugin_registry_opts o = {.dirs = &dir, .n_dirs = 1};
	struct lmd_error err;

	if (lmi_host_create(&host, UINT64_MAX) != LMD_OK)
		return 1;
	o.host = host;
	must(lmi_plugin_registry_create(&registry, &o, &err), &err);
	make_vocab();
	printf("%-46s %9s %9s %9s\n", "vocabulary of 128256 tokens", "median", "p99", "max");
	bench_chains(registry, host, rounds);
	bench_grammars(rounds);
	bench_template(rounds);
	lmi_plugin_registry_destroy(registry);
	lmi_host_destroy(host);
	return 0;
}
