/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: any bytes as a model's answer for the answer parser.
 *
 * The first byte selects the format, whether the prompt left the reasoning open (bit 7), and
 * whether calls have markers (bit 6).  The second says how the rest, the text, is divided into
 * pieces: the first has 1 + (low four bits) bytes, each later one 1 + (high four bits) bytes.
 *
 * Invariants: the division into pieces, even of one byte each, changes only how events are divided;
 * the raw bytes of all events are the input; content and reasoning are reported as written; calls
 * start and end alternately and have names, and the arguments of complete calls are JSON objects;
 * arguments and memory are bounded by a multiple of the answer's size.
 *
 * There is a dictionary with the markers of all formats:
 *     tests/fuzz/parse_fuzz -dict=SOURCE/tests/fuzz/parse.dict FOLDER */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/json_tree.h"
#include "core/text/parse/parse.h"
#include "core/text/parse/parse_cases.h"
#include "core/text/tokenizer.h"
#include "llamad/attr.h"
#include "tests/fuzz/target.h"

#define THINKS         0x80
#define MARKED         0x40
#define NAME_MAX_BYTES 128 /* LMI_PARSE_NAME_MAX, which is private */
#define GROWTH         32  /* maximum bytes of arguments per byte of the answer: 1e9 as a real */

/* The collected events; consecutive ones of one kind are joined. */
struct collected {
	struct lmi_text events, raw, args;
	enum lmi_out_kind last;
	bool in_call;
	uint32_t n_call;
	size_t n_args; /* bytes of arguments of all calls */
};

static void add(struct lmi_text *t, const void *p, size_t n)
{
	REQUIRE(lmi_text_add(t, p, n, NULL) == LMD_OK);
}

static void check_call_end(const struct collected *t, const struct lmi_out *o)
{
	struct lmi_jtree tree = {0};

	REQUIRE(t->in_call && !o->text.len);
	if (!o->complete)
		return;
	REQUIRE(lmi_jtree_parse(&tree, t->args.p, t->args.n, NULL, NULL) == LMD_OK);
	REQUIRE(tree.root->type == LMI_JOBJECT);
	lmi_jtree_fini(&tree);
}

static void check(struct collected *t, const struct lmi_out *o)
{
	switch (o->kind) {
	case LMI_OUT_CONTENT:
	case LMI_OUT_REASONING:
		REQUIRE(!t->in_call && o->text.len == o->raw.len);
		REQUIRE(!memcmp(o->text.ptr, o->raw.ptr, o->raw.len));
		break;
	case LMI_OUT_CALL:
		REQUIRE(!t->in_call && ++t->n_call <= LMI_PARSE_CALLS_MAX);
		REQUIRE(o->text.len && o->text.len <= NAME_MAX_BYTES);
		t->in_call = true;
		t->args.n = 0;
		break;
	case LMI_OUT_ARGS:
		REQUIRE(t->in_call);
		add(&t->args, o->text.ptr, o->text.len);
		t->n_args += o->text.len;
		break;
	case LMI_OUT_CALL_END:
		check_call_end(t, o);
		t->in_call = false;
		break;
	case LMI_OUT_MARKUP:
		REQUIRE(!o->text.len);
		break;
	}
}

static void take(void *arg, const struct lmi_out *o)
{
	struct collected *t = arg;
	char kind[] = {0, (char)('a' + o->kind), o->complete ? '1' : '0'};

	check(t, o);
	add(&t->raw, o->raw.ptr, o->raw.len);
	if (o->kind == LMI_OUT_MARKUP || (o->kind != LMI_OUT_CALL_END && !o->text.len))
		return;
	if (o->kind != t->last || o->kind == LMI_OUT_CALL || o->kind == LMI_OUT_CALL_END)
		add(&t->events, kind, sizeof(kind));
	add(&t->events, o->text.ptr, o->text.len);
	if (o->id.ptr) {
		add(&t->events, "\0#", 2);
		add(&t->events, o->id.ptr, o->id.len);
	}
	t->last = o->kind;
}

static void parse_pieces(struct collected *t, const uint8_t *head, const char *text, size_t n,
			 size_t first, size_t step)
{
	static uint32_t n_format;
	struct lmi_parse *p;
	struct lmd_str name;

	while (lmi_parse_format_name(n_format))
		n_format++;
	name.ptr = lmi_parse_format_name((head[0] & 63u) % n_format);
	name.len = strlen(name.ptr);
	t->events.n = t->raw.n = t->args.n = t->n_args = 0;
	t->last = LMI_OUT_MARKUP;
	t->in_call = false;
	t->n_call = 0;
	REQUIRE(lmi_parse_create(&p, lmi_parse_format(name), take, t, NULL) == LMD_OK);
	if (head[0] & THINKS)
		lmi_parse_thinks(p);
	if (head[0] & MARKED)
		lmi_parse_marked(p);
	for (size_t at = 0; at < n;) {
		size_t k = at ? step : first;

		k = k < n - at ? k : n - at;
		REQUIRE(lmi_parse_feed(p, text + at, k, NULL) == LMD_OK);
		at += k;
	}
	lmi_parse_finish(p);
	lmi_parse_destroy(p);
	REQUIRE(!t->in_call);
	REQUIRE(t->raw.n == n && (!n || !memcmp(t->raw.p, text, n)));
	REQUIRE(t->n_args <= GROWTH * n + 64);
}

static bool same(const struct lmi_text *a, const struct lmi_text *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->p, b->p, a->n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct collected whole = {.n_call = 0}, pieces = {.n_call = 0};
	const char *text = (const char *)data + 2;
	struct lmi_alloc_stats stats;
	size_t n;

	if (size < 2)
		return 0;
	n = size - 2;
	lmi_alloc_reset_peak();
	parse_pieces(&whole, data, text, n, n, 1);
	parse_pieces(&pieces, data, text, n, 1 + (data[1] & 15u), 1 + (data[1] >> 4));
	REQUIRE(same(&whole.events, &pieces.events));
	parse_pieces(&pieces, data, text, n, 1, 1);
	REQUIRE(same(&whole.events, &pieces.events));
	lmi_text_fini(&whole.events);
	lmi_text_fini(&whole.raw);
	lmi_text_fini(&whole.args);
	lmi_text_fini(&pieces.events);
	lmi_text_fini(&pieces.raw);
	lmi_text_fini(&pieces.args);
	lmi_alloc_stats(&stats);
	REQUIRE(stats.n_live == 0);
	REQUIRE(stats.peak_bytes < (1u << 20) + 8 * GROWTH * n);
	return 0;
}

static uint8_t number_of(const char *format)
{
	const char *want = lmi_parse_name(
		lmi_parse_format((struct lmd_str){.ptr = format, .len = strlen(format)}));
	uint8_t i = 0;

	while (strcmp(lmi_parse_format_name(i), want) != 0)
		i++;
	return i;
}

bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	size_t n;

	if (k >= LMD_LEN(lmt_parse_cases))
		return false;
	n = strlen(lmt_parse_cases[k].text);
	*out = (struct fuzz_bytes){malloc(n + 2), n + 2};
	REQUIRE(out->p);
	out->p[0] = number_of(lmt_parse_cases[k].format);
	out->p[1] = (uint8_t)(37 * k);
	memcpy(out->p + 2, lmt_parse_cases[k].text, n);
	return true;
}
