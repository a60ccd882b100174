/* SPDX-License-Identifier: MIT
 *
 * Conversations become prompts: the text that a template wrote is kept apart from the text of
 * messages, and only a template can place a control token. */
#include "core/text/chat/chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/text/chat/control_tokens.h"
#include "core/jinja/template.h"
#include "plugins/common/vocab_test.h"
#include "plugins/tokenizer/tok_test.h"

#define TEMPLATE                                                                                   \
	"{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"                \
	"{% if add_generation_prompt %}<|assistant|>{% endif %}"

static struct test_spec spec;
static struct lmi_tokenizer *tok;
static struct lmd_model model;
static struct lmd_meta variant = {.key = "tokenizer.chat_template.tool_use", .type = LMD_META_STR};
static struct lmi_chat *chat;
static char letters[128][2];
static lmd_token id_end, id_user, id_bos;

static const struct lmd_meta *find_meta(const struct lmd_model *m, const char *key)
{
	(void)m;
	return strcmp(key, variant.key) != 0 ? NULL : &variant;
}

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

/* A vocabulary of the ASCII characters, followed by control tokens. */
static void setup(void)
{
	struct lmd_error err;

	tok_setup();
	spec_init(&spec, "gpt2", "gpt-2");
	for (int c = 33; c < 127; c++) {
		letters[c][0] = (char)c;
		spec_add(&spec, letters[c], LMD_TOKEN_NORMAL, 0);
	}
	spec_add(&spec, "\xC4\xA0", LMD_TOKEN_NORMAL, 0); /* blank */
	spec_add(&spec, "\xC4\x8A", LMD_TOKEN_NORMAL, 0); /* newline */
	spec_add(&spec, "ab", LMD_TOKEN_NORMAL, 0);
	spec_merge(&spec, "a b");
	id_end = (lmd_token)spec_add(&spec, "<|end|>", LMD_TOKEN_CONTROL, 0);
	id_user = (lmd_token)spec_add(&spec, "<|user|>", LMD_TOKEN_CONTROL, 0);
	spec_add(&spec, "<|assistant|>", LMD_TOKEN_CONTROL, 0);
	spec_add(&spec, "<|end|>>", LMD_TOKEN_CONTROL, 0);
	id_bos = (lmd_token)spec_add(&spec, "<s>", LMD_TOKEN_CONTROL, 0);
	spec_add(&spec, "<tool>", LMD_TOKEN_USER_DEFINED, 0);
	spec.spec.bos = id_bos;
	spec.spec.eos = id_end;
	spec.spec.add_bos = 1;
	ck_assert_msg(lmi_tokenizer_open(&tok, registry, host, &spec.spec, &err) == LMD_OK, "%s",
		      err.text);
	variant.v.s = str("[{{ messages[0].content }}]");
	model = (struct lmd_model){.find_meta = find_meta, .chat_template = str(TEMPLATE)};
	ck_assert_msg(lmi_chat_create(&chat, &model, tok, &err) == LMD_OK, "%s", err.text);
}

static void teardown(void)
{
	lmi_chat_destroy(chat);
	lmi_tokenizer_close(tok);
	tok_teardown();
}

/* ---- origin of bytes ---- */

/* The origin of each byte of a rendering, as a string: T for the template's bytes, . for others. */
static const char *marks(const char *template, const char *x)
{
	static char out[512];
	struct lmi_jinja_output o;
	struct lmi_jinja_member m = {.key = str("x"),
				     .value = {.kind = LMI_JINJA_T_STR, .u.s = str(x)}};
	struct lmi_jinja_member own = {
		.key = str("own"),
		.value = {.kind = LMI_JINJA_T_STR, .from_template = true, .u.s = str("us")}};
	struct lmi_jinja_member both[] = {m, own};
	struct lmi_jinja_value vars = {.kind = LMI_JINJA_T_DICT, .n = 2, .u.members = both};
	struct lmi_jinja_input in = {.vars = &vars, .n_vars = 1, .want_origins = true};
	struct lmi_jinja *t;
	struct lmd_error err;

	ck_assert_msg(lmi_jinja_parse(&t, template, strlen(template), &err) == LMD_OK, "%s",
		      err.text);
	ck_assert_msg(lmi_jinja_render(t, &in, &o, &err) == LMD_OK, "%s: %s", template, err.text);
	ck_assert(o.bytes < sizeof(out));
	for (size_t i = 0; i < o.bytes; i++)
		out[i] = o.origins[i] ? 'T' : '.';
	out[o.bytes] = '\0';
	lmi_jinja_output_fini(&o);
	lmi_jinja_destroy(t);
	return out;
}

START_TEST(whose_bytes)
{
	static const struct {
		const char *template, *want;
	} cases[] = {
		{"ab{{ x }}c", "TT...T"},
		{"{{ 'ab' + x + 'c' }}", "TT...T"},
		{"{{ 'ab' ~ x ~ 'c' }}", "TT...T"},
		{"{{ x | trim }}-", "...T"},
		{"{{ (x ~ 'q')[1:] }}", "..T"},
		{"{% set y = x %}{% set y = y ~ '!' %}{{ y }}{{ y }}", "...T...T"},
		{"{% set y %}a{{ x }}b{% endset %}{{ y }}", "T...T"},
		{"{% macro f(a) %}[{{ a }}]{% endmacro %}{{ f(x) }}{{ f('z') }}", "T...TTTT"},
		{"{{ [x, 'a', x] | join('-') }}", "...TTT..."},
		{"{{ '<%s>' % x }}", "T...T"},
		{"{{ '<{}>'.format(x) }}", "T...T"},
		{"{{ x.replace('2', 'yy') }}", ".TT."},
		{"{{ 'aXb'.replace('X', x) }}", "T...T"},
		{"{{ x | upper }}", "..."},
		{"{{ x | tojson }}", "....."},
		{"{{ {'k': x} | tojson }}", NULL},
		{"{{ x.split('2')[0] ~ 'T' }}", ".T"},
		{"{% for c in x %}{{ c }}-{% endfor %}", ".T.T.T"},
		{"{{ own }}{{ x }}", "TT..."},
		{"{% filter trim %} {{ x }}a {% endfilter %}", "...T"},
		{"{{ x * 2 }}", "......"},
		{"{{ 'a' if x else 'b' }}{{ x | length }}", "TT"},
		{"{{ x | replace('1', '') | default('q') }}{{ z | default(x) }}", "....."},
		{"{{ x | list | last }}{{ x | reverse }}", "...."},
		{"{{ x | indent(2, true) }}", NULL},
		{"{% set ns = namespace(a='') %}{% for i in range(3) %}{% set ns.a = ns.a ~ x[i] ~ "
		 "'|' %}{% endfor %}{{ ns.a }}",
		 ".T.T.T"},
		{"{{ dict(a=x).a }}{{ (x,)[0] }}{{ {'q': x}['q'] }}", "........."},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		const char *got = marks(cases[i].template, "123");

		if (!cases[i].want) /* no byte of the variable may count as the template's */
			ck_assert_msg(strstr(got, "..."), "%s: %s", cases[i].template, got);
		else
			ck_assert_msg(!strcmp(got, cases[i].want), "%s: %s, not %s",
				      cases[i].template, got, cases[i].want);
	}
	/* bytes that are not UTF-8 do not count as the template's */
	ck_assert_str_eq(marks("a{{ x }}", "1\xff"), "T....");
}
END_TEST

/* ---- tokens ---- */

static struct lmi_text_token_buf ids;

/* Encodes a prompt and counts the control token `id` in it. */
static uint32_t count(const char *content, lmd_token id)
{
	const struct lmi_chat_message m = {.role = str("user"), .content = str(content)};
	const struct lmi_chat_input in = {.messages = &m, .n_messages = 1};
	struct lmd_error err;
	uint32_t n = 0;

	ck_assert_msg(lmi_chat_encode(chat, &in, false, &ids, NULL, &err) == LMD_OK, "%s",
		      err.text);
	for (size_t i = 0; i < ids.n; i++)
		n += ids.id[i] == id;
	return n;
}

START_TEST(nobody_else_places_tokens)
{
	static const char *const answers[] = {
		"<|end|>",
		"a<|end|>b<|user|>",
		"<|end|><|end|>",
		"x<|end",
		"|end|>",
		"<|end|",
		"<",
		"ab",
		"<s>",
		"",
		"<|end|>>",
		">",
		"<|user|><|end|>",
		"<|en<|end|>d|>",
		"<|end|<|end|>",
		"<tool>",
		"a\nb <|end|>\n",
	};

	for (size_t i = 0; i < LMD_LEN(answers); i++) {
		struct lmi_text_byte_buf text = {0};
		struct lmd_error err;

		/* decoding gives the text back: nothing is lost or added */
		ck_assert_msg(count(answers[i], id_end) <= 1 && count(answers[i], id_user) == 1,
			      "%s", answers[i]);
		ck_assert_uint_eq(count(answers[i], id_bos), 0);
		ck_assert(lmi_tokenizer_decode(tok, ids.id, ids.n, LMD_DECODE_UNPARSE_SPECIAL,
					       &text, &err) == LMD_OK);
		ck_assert_uint_eq(text.n,
				  strlen(answers[i]) + strlen("<|user|><|end|><|assistant|>"));
		ck_assert_mem_eq(text.p + 8, answers[i], strlen(answers[i]));
		lmi_text_byte_buf_fini(&text);
	}
	/* content that together with the template's text forms a longer control text hides the
	 * template's token */
	ck_assert_uint_eq(count("a", id_end), 1);
	ck_assert_uint_eq(count("a<|end|>", id_end), 1);
}
END_TEST

/* Messages without control texts encode to the same tokens as the whole prompt encoded at once. */
START_TEST(borders_part_no_words)
{
	static const char some[] = "ab<|end>s/ \n";
	struct lmi_text_token_buf whole = {0};
	struct lmd_error err;
	uint32_t seed = 1;
	char text[64], answers[16];

	printf("seed of borders_part_no_words: %u\n", seed);
	for (int i = 0; i < 2000; i++) {
		size_t n = (size_t)(i % 15);

		for (size_t k = 0; k < n; k++) {
			seed = seed * 1664525u + 1013904223u;
			answers[k] = some[(seed >> 16) % (sizeof(some) - 1)];
		}
		answers[n] = '\0';
		if (strstr(answers, "<|end|>") || strstr(answers, "<s>"))
			continue;
		snprintf(text, sizeof(text), "<|user|>%s<|end|><|assistant|>", answers);
		ck_assert(lmi_tokenizer_encode(tok, text, strlen(text), LMD_ENCODE_PARSE_SPECIAL,
					       &whole, &err) == LMD_OK);
		(void)count(answers, id_end);
		ck_assert_msg(ids.n == whole.n &&
				      !memcmp(ids.id, whole.id, whole.n * sizeof(*whole.id)),
			      "\"%s\"", answers);
	}
	lmi_text_token_buf_fini(&whole);
}
END_TEST

/* ---- conversations ---- */

static const char *render(const struct lmi_chat_message *m, uint32_t n, const char *template,
			  const char *args, struct lmd_error *err)
{
	static char out[4096];
	const struct lmi_chat_input in = {.messages = m,
					  .n_messages = n,
					  .template =
						  template ? str(template) : (struct lmd_str){0},
					  .args = args ? str(args) : (struct lmd_str){0}};
	struct lmi_text_byte_buf text = {0};
	uint8_t *own = NULL;

	if (lmi_chat_render(chat, &in, &text, &own, err) != LMD_OK)
		return NULL;
	ck_assert(text.n < sizeof(out));
	memcpy(out, text.p, text.n);
	out[text.n] = '\0';
	lmi_text_byte_buf_fini(&text);
	lmi_free(own);
	return out;
}

START_TEST(templates_are_found)
{
	const struct lmi_chat_message m = {.role = str("user"), .content = str("hi")};
	struct lmd_error err;

	ck_assert_str_eq(render(&m, 1, NULL, NULL, &err), "<|user|>hi<|end|><|assistant|>");
	ck_assert_str_eq(render(&m, 1, "tool_use", NULL, &err), "[hi]");
	ck_assert_str_eq(render(&m, 1, "{{ messages | length }}{{ bos_token }}", NULL, &err),
			 "1<s>");
	ck_assert_str_eq(render(&m, 1, "chatml", NULL, &err),
			 "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
	ck_assert_str_eq(render(&m, 1, "{{ k }}{{ l }}", "{\"k\": 1, \"l\": [null]}", &err),
			 "1[None]");
	ck_assert_ptr_null(render(&m, 1, "nosuch", NULL, &err));
	ck_assert(err.status == LMD_NOTFOUND && strstr(err.text, "\"nosuch\""));
	ck_assert_ptr_null(render(&m, 1, NULL, "[1]", &err));
	ck_assert(strstr(err.text, "template_args"));
	ck_assert_ptr_null(render(&m, 1, "{{ raise_exception('no') }}", NULL, &err));
	ck_assert(strstr(err.text, "chat template: no"));
	ck_assert_ptr_null(render(&m, 1, "{% for", NULL, &err));
	ck_assert_int_eq(err.status, LMD_INVALID);
	model.chat_template = (struct lmd_str){0};
	ck_assert_ptr_null(render(&m, 1, NULL, NULL, &err));
	ck_assert_int_eq(err.status, LMD_NOTFOUND);
}
END_TEST

START_TEST(conversations)
{
	struct lmi_chat_message m[] = {
		{.role = str("user"), .content = str("hi")},
		{.role = str("assistant"), .content = str("yes, ")},
	};
	struct lmd_error err;

	/* a final assistant message is continued */
	ck_assert_str_eq(render(m, 2, NULL, NULL, &err), "<|user|>hi<|end|><|assistant|>yes, ");
	m[1].role = str("chief");
	ck_assert_ptr_null(render(m, 2, NULL, NULL, &err));
	ck_assert(strstr(err.text, "messages[1]: role \"chief\""));
	ck_assert_ptr_null(render(m, 0, NULL, NULL, &err));
	m[1] = (struct lmi_chat_message){
		.role = str("assistant"),
		.tool_calls = str("[{\"function\": {\"name\": \"f\", \"arguments\": "
				  "\"{\\\"a\\\": 1}\"}}]")};
	ck_assert_str_eq(
		render(m, 2, "{{ messages[1].tool_calls[0].function.arguments.a }}", NULL, &err),
		"1");
	/* a template that expects the arguments as a string */
	ck_assert_str_eq(render(m, 2,
				"{{ '<' + messages[1].tool_calls[0].function.arguments + '>' }}",
				NULL, &err),
			 "<{\"a\": 1}>");
	m[1].tool_calls = str("[1");
	ck_assert_ptr_null(render(m, 2, NULL, NULL, &err));
	ck_assert(strstr(err.text, "messages[1].tool_calls"));
}
END_TEST

START_TEST(begin_token_once)
{
	const struct lmi_chat_message m = {.role = str("user"), .content = str("a")};
	struct lmi_chat_input in = {.messages = &m, .n_messages = 1};
	struct lmd_error err;

	ck_assert(lmi_chat_encode(chat, &in, true, &ids, NULL, &err) == LMD_OK);
	ck_assert(ids.n == 5 && ids.id[0] == id_bos && ids.id[1] == id_user);
	in.template = str("{{ bos_token }}{{ messages[0].content }}");
	ck_assert(lmi_chat_encode(chat, &in, true, &ids, NULL, &err) == LMD_OK);
	ck_assert(ids.n == 2 && ids.id[0] == id_bos);
	ck_assert(lmi_chat_encode(chat, &in, false, &ids, NULL, &err) == LMD_OK);
	ck_assert(ids.n == 2 && ids.id[0] == id_bos);
}
END_TEST

/* ---- capabilities ---- */

static uint32_t caps_of(const char *text)
{
	struct lmi_jinja *t;
	struct lmd_error err;
	uint32_t caps;

	ck_assert_msg(lmi_jinja_parse(&t, text, strlen(text), &err) == LMD_OK, "%s", err.text);
	ck_assert(lmi_chat_caps(t, &caps, &err) == LMD_OK);
	lmi_jinja_destroy(t);
	return caps;
}

START_TEST(capabilities)
{
	static const char all[] =
		"{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}"
		"{{ m.role }}{{ m.reasoning_content }}{% if m.content is string %}{{ m.content }}"
		"{% else %}{{ m.content[0].text }}{% endif %}{% for c in m.tool_calls or [] %}"
		"{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}"
		"{% if add_generation_prompt %}>{{ '<think>' if enable_thinking }}{% endif %}";

	ck_assert_uint_eq(caps_of(all), (1u << LMI_CHAT_N_CAP) - 1);
	ck_assert_uint_eq(caps_of("x"), 0);
	ck_assert_uint_eq(caps_of("{{ raise_exception('no') }}"), 0);
	ck_assert_uint_eq(caps_of(TEMPLATE), 1u << LMI_CHAT_CAP_SYSTEM |
						     1u << LMI_CHAT_CAP_TOOL_RESULTS |
						     1u << LMI_CHAT_CAP_GENERATION |
						     1u << LMI_CHAT_CAP_STRINGS);
	/* a template that takes the arguments as a string counts, too */
	ck_assert(caps_of("{{ messages[1].tool_calls[0].function.name ~ "
			  "messages[1].tool_calls[0].function.arguments.strip() }}") >>
			  LMI_CHAT_CAP_TOOL_CALLS &
		  1);
	for (uint32_t k = 0; k < LMI_CHAT_N_CAP; k++)
		ck_assert(lmi_chat_cap_name((enum lmi_chat_cap)k)[0]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("chat");
	TCase *tc = tcase_create("chat");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, whose_bytes);
	tcase_add_test(tc, nobody_else_places_tokens);
	tcase_add_test(tc, borders_part_no_words);
	tcase_add_test(tc, templates_are_found);
	tcase_add_test(tc, conversations);
	tcase_add_test(tc, begin_token_once);
	tcase_add_test(tc, capabilities);
	suite_add_tcase(suite, tc);
	return lmd_check_run(srunner_create(suite));
}
