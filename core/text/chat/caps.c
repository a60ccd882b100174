/* SPDX-License-Identifier: MIT
 *
 * Each probe is a conversation with unusual words, together with the words that its rendering must
 * contain, or with another conversation whose rendering must differ. */
#include "core/text/chat/chat.h"

#include <jansson.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/jinja/template.h"

#define USER "{\"role\": \"user\", \"content\": \"uuUser\"}"
#define TOOL                                                                                       \
	"{\"type\": \"function\", \"function\": {\"name\": \"zzTool\", \"description\": "          \
	"\"zzDoc\", "                                                                              \
	"\"parameters\": {\"type\": \"object\", \"properties\": {\"zzKey\": {\"type\": "           \
	"\"string\", "                                                                             \
	"\"description\": \"d\"}}, \"required\": [\"zzKey\"]}}}"
#define CALL(id, name)                                                                             \
	"{\"id\": \"" id "\", \"type\": \"function\", \"function\": {\"name\": \"" name            \
	"\", \"arguments\": {\"zzKey\": \"zzValue\"}}}"
#define TEXT(id, name)                                                                             \
	"{\"id\": \"" id "\", \"type\": \"function\", \"function\": {\"name\": \"" name            \
	"\", \"arguments\": \"{\\\"zzKey\\\": \\\"zzValue\\\"}\"}}"
#define CALLS(c) "{\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": [" c "]}"
#define ONE      CALL("aaaaaaaa1", "zzTool")
#define TWO      CALL("aaaaaaaa2", "zzOther")
#define ONE_T    TEXT("aaaaaaaa1", "zzTool")
#define TWO_T    TEXT("aaaaaaaa2", "zzOther")
#define RESULT                                                                                     \
	"{\"role\": \"tool\", \"name\": \"zzTool\", \"tool_call_id\": \"aaaaaaaa1\", "             \
	"\"content\": "                                                                            \
	"\"zzResult\"}"
#define VARS(messages, more)                                                                       \
	"{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\", \"documents\": null, " more             \
	"\"messages\": [" messages "]}"
#define NO_TOOLS   "\"tools\": null, \"add_generation_prompt\": true, "
#define WITH_TOOLS "\"tools\": [" TOOL "], \"add_generation_prompt\": true, "

static const struct {
	const char *name, *vars;
	const char *expect[2]; /* the rendering must contain these */
	const char *differs;   /* the rendering of this one must differ */
	const char *fallback;  /* rendered if `vars` fails to render */
} probes[LMI_CHAT_N_CAP] = {
	[LMI_CHAT_CAP_SYSTEM] = {"system",
				 VARS("{\"role\": \"system\", \"content\": \"ssSystem\"}, " USER,
				      NO_TOOLS),
				 {"ssSystem", "uuUser"},
				 NULL,
				 NULL},
	[LMI_CHAT_CAP_TOOLS] = {"tools", VARS(USER, WITH_TOOLS), {"zzTool", "zzKey"}, NULL, NULL},
	[LMI_CHAT_CAP_TOOL_CALLS] = {"tool_calls",
				     VARS(USER ", " CALLS(ONE), WITH_TOOLS),
				     {"zzTool", "zzValue"},
				     NULL,
				     VARS(USER ", " CALLS(ONE_T), WITH_TOOLS)},
	[LMI_CHAT_CAP_PARALLEL_CALLS] = {"parallel_tool_calls",
					 VARS(USER ", " CALLS(ONE ", " TWO), WITH_TOOLS),
					 {"zzOther", "zzValue"},
					 NULL,
					 VARS(USER ", " CALLS(ONE_T ", " TWO_T), WITH_TOOLS)},
	[LMI_CHAT_CAP_TOOL_RESULTS] = {"tool_results",
				       VARS(USER ", " CALLS(ONE) ", " RESULT, WITH_TOOLS),
				       {"zzResult", NULL},
				       NULL,
				       VARS(USER ", " CALLS(ONE_T) ", " RESULT, WITH_TOOLS)},
	[LMI_CHAT_CAP_REASONING] = {"reasoning",
				    VARS(USER
					 ", {\"role\": \"assistant\", \"content\": \"aaAnswer\", "
					 "\"reasoning_content\": \"rrThought\"}",
					 "\"tools\": null, \"add_generation_prompt\": false, "),
				    {"rrThought", "aaAnswer"},
				    NULL,
				    NULL},
	[LMI_CHAT_CAP_REASONING_SWITCH] = {"thinking_switch",
					   VARS(USER, NO_TOOLS "\"enable_thinking\": false, "),
					   {"uuUser", NULL},
					   VARS(USER, NO_TOOLS "\"enable_thinking\": true, "),
					   NULL},
	[LMI_CHAT_CAP_PARTS] = {"parts",
				VARS("{\"role\": \"user\", \"content\": [{\"type\": \"text\", "
				     "\"text\": \"ttPart\"}]}",
				     NO_TOOLS),
				{"ttPart", NULL},
				NULL,
				NULL},
	[LMI_CHAT_CAP_GENERATION] = {"generation_prompt",
				     VARS(USER, NO_TOOLS),
				     {"uuUser", NULL},
				     VARS(USER,
					  "\"tools\": null, \"add_generation_prompt\": false, "),
				     NULL},
	[LMI_CHAT_CAP_STRINGS] = {"strings", VARS(USER, NO_TOOLS), {"uuUser", NULL}, NULL, NULL},
};

const char *lmi_chat_cap_name(enum lmi_chat_cap cap)
{
	return probes[cap].name;
}

/* Returns LMD_INVALID if the conversation does not render. */
static enum lmd_status render(const struct lmi_jinja *t, const char *text,
			      struct lmi_jinja_output *out)
{
	struct lmd_arena *arena = lmi_arena_create(1 << 20);
	json_t *j = json_loads(text, 0, NULL);
	struct lmi_jinja_value vars;
	struct lmi_jinja_input in = {.vars = &vars,
				     .n_vars = 1,
				     .limits = {.steps = 2000000, .memory_bytes = 32u << 20}};
	enum lmd_status st =
		arena && j ? lmi_jinja_tvalue_from_json(j, arena, &vars, NULL) : LMD_NOMEM;

	in.now.tm_mday = 1;
	in.now.tm_year = 100;
	if (st == LMD_OK && lmi_jinja_render(t, &in, out, NULL) != LMD_OK)
		st = LMD_INVALID;
	json_decref(j);
	lmi_arena_destroy(arena);
	return st;
}

static bool holds(const struct lmi_jinja_output *o, const char *word)
{
	/* a template that prints a content part as a dictionary does not support parts */
	return !word || (memmem(o->text, o->bytes, word, strlen(word)) &&
			 !memmem(o->text, o->bytes, "'type': 'text'", 14));
}

static enum lmd_status probe(const struct lmi_jinja *t, uint32_t k, bool *yes)
{
	struct lmi_jinja_output a = {0}, b = {0};
	enum lmd_status st = render(t, probes[k].vars, &a);

	if (st == LMD_INVALID && probes[k].fallback) {
		lmi_jinja_output_fini(&a);
		st = render(t, probes[k].fallback, &a);
	}
	*yes = st == LMD_OK && holds(&a, probes[k].expect[0]) && holds(&a, probes[k].expect[1]);
	if (*yes && probes[k].differs) {
		st = render(t, probes[k].differs, &b);
		*yes = st == LMD_OK && (a.bytes != b.bytes || memcmp(a.text, b.text, a.bytes) != 0);
	}
	lmi_jinja_output_fini(&a);
	lmi_jinja_output_fini(&b);
	return st == LMD_NOMEM ? st : LMD_OK;
}

enum lmd_status lmi_chat_caps(const struct lmi_jinja *t, uint32_t *out, struct lmd_error *err)
{
	*out = 0;
	for (uint32_t k = 0; k < LMI_CHAT_N_CAP; k++) {
		bool yes;

		if (probe(t, k, &yes) != LMD_OK)
			return lmd_fail(err, LMD_NOMEM,
					"out of memory while probing a chat template");
		*out |= (uint32_t)yes << k;
	}
	return LMD_OK;
}

enum lmd_status lmi_chat_caps_of_text(struct lmd_str text, uint32_t *out, struct lmd_error *err)
{
	struct lmi_jinja *t;
	enum lmd_status st = lmi_jinja_parse(&t, text.ptr, text.len, err);

	if (st != LMD_OK)
		return st;
	st = lmi_chat_caps(t, out, err);
	lmi_jinja_destroy(t);
	return st;
}
