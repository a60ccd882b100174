/* SPDX-License-Identifier: MIT
 *
 * chat.h - turns a conversation into a prompt, as text and as tokens, with the model's chat
 * template or another one: which templates there are, what they support, and in which format the
 * model answers.
 *
 * Templates and the values they print are untrusted.  Rendering is bounded (template.h), but too
 * slow for an event loop's thread.  Only the template can place control tokens in the prompt, see
 * control_tokens.h. */
#ifndef LLAMAD_CORE_TEXT_CHAT_CHAT_H
#define LLAMAD_CORE_TEXT_CHAT_CHAT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "core/text/answer/parser.h"
#include "core/text/tokenizer.h"
#include "llamad/model.h"

struct lmi_jinja;

/* ---- the format of the answer: answer_format.c ---- */

/* How the model writes its answer to a prompt, for the answer parser (parser.h).  A zeroed struct
 * means that nothing is known yet. */
struct lmi_chat_answer_format {
	/* NULL until known: the format whose markers occur in the chat template */
	const struct lmi_answer_format *format;
	bool tools;  /* the prompt offered tools; otherwise unmarked JSON is not a call */
	struct json_t *tool_list; /* owned; NULL: not needed for the format */
	bool thinks; /* the answer starts inside the reasoning */
	/* control tokens that occur in markers, ascending: their text is part of the answer */
	struct lmi_text_token_buf shown;
};

void lmi_chat_answer_format_fini(struct lmi_chat_answer_format *a);

/* Creates an answer parser for this format.  LMD_NOMEM. */
enum lmd_status lmi_chat_answer_parser_create(const struct lmi_chat_answer_format *a,
					      struct lmi_answer_parser **out,
					      lmi_answer_event_fn fn, void *arg,
					      struct lmd_error *err);

/* ---- prompts: chat.c ---- */

#define LMI_CHAT_MESSAGES_MAX 4096

/* Absent members have ptr NULL. */
struct lmi_chat_message {
	struct lmd_str role; /* system, developer, user, assistant, tool, function */
	struct lmd_str content;
	struct lmd_str reasoning;    /* the assistant's reasoning */
	struct lmd_str name;         /* name of the tool or of the speaker */
	struct lmd_str tool_calls;   /* JSON array; assistant messages only */
	struct lmd_str tool_call_id; /* the call that a tool message answers */
};

/* A picture as it stands in the prompt: one or more parts, each a text, which may have control tokens, and
 * the rows after it. */
struct lmi_chat_picture_part {
	const char *before;
	uint32_t n_row;
	uint32_t first; /* set by lmi_chat_encode: its rows are the tokens [first, first + n_row), which are
			 * 0 */
};
struct lmi_chat_picture {
	struct lmi_chat_picture_part *parts; /* [n] */
	uint32_t n;
	const char *after; /* text after the last part */
};

struct lmi_chat_input {
	const struct lmi_chat_message *messages; /* [n_messages], at least 1 */
	uint32_t n_messages;
	struct lmd_str tools; /* JSON array, or ptr NULL */
	struct lmd_str args;  /* JSON object: additional template variables, or ptr NULL */
	/* Which template to use.  ptr NULL: the model's own.  A name: that variant of the model's
	 * template, or a built-in one.  Anything that contains "{": the text of a template. */
	struct lmd_str template;
	struct tm now; /* current time, for templates that print the date */
	/* [n_pictures] in order; lmi_chat_encode puts them where the contents of messages have this text,
	 * which nobody outside can know */
	struct lmi_chat_picture *pictures;
	uint32_t n_pictures;
	struct lmd_str picture_mark;
};

/* A model's chat template and control tokens.  Immutable; may be used by any number of threads. */
struct lmi_chat;

/* model and tok must outlive it.  A malformed template is not an error here, only when it is
 * used. */
enum lmd_status lmi_chat_create(struct lmi_chat **out, const struct lmd_model *model,
				const struct lmi_tokenizer *tok, struct lmd_error *err);
/* NULL allowed. */
void lmi_chat_destroy(struct lmi_chat *c);

/* Whether the model has a chat template of its own. */
bool lmi_chat_has_template(const struct lmi_chat *c);

/* Finds the variant of the model's template with that name; returns false if there is none.  *out is
 * valid as long as the model. */
bool lmi_chat_find_variant(const struct lmi_chat *c, struct lmd_str name, struct lmd_str *out);

/* Renders the prompt up to where the answer begins.  If the last message is the assistant's, its
 * text is the beginning of the answer.  *own: [out->n], 1 for each byte that the template wrote;
 * caller frees.  LMD_INVALID if the template or a message is invalid; LMD_NOTFOUND if there is no
 * such template. */
enum lmd_status lmi_chat_render(const struct lmi_chat *c, const struct lmi_chat_input *in,
				struct lmi_text_byte_buf *out, uint8_t **own,
				struct lmd_error *err);
/* Renders the prompt and encodes it; the result replaces the content of `out`.
 * begin: add the BOS token if the vocabulary wants one and the template did not write it.
 * answer: NULL allowed; receives the answer format, found from the template in use or, if that says
 * nothing, from the model's own. */
enum lmd_status lmi_chat_encode(const struct lmi_chat *c, const struct lmi_chat_input *in,
				bool begin, struct lmi_text_token_buf *out,
				struct lmi_chat_answer_format *answer, struct lmd_error *err);

/* Finds the answer format for a plain prompt that no template rendered. */
enum lmd_status lmi_chat_find_answer_format(const struct lmi_chat *c, struct lmd_str prompt,
					    struct lmi_chat_answer_format *answer,
					    struct lmd_error *err);

/* ---- finding a template: find_template.c ---- */

/* Finds the template for `requested`: a text that contains "{" is itself a template; a name is that
 * of a variant of the model's template or, failing that, of a built-in one; ptr NULL or empty means
 * the model's own template.  The model may be NULL.  The result is valid as long as the model and
 * `requested`.  LMD_NOTFOUND names the template that does not exist. */
enum lmd_status lmi_chat_find_template(struct lmd_str *out, const struct lmd_model *model,
				       struct lmd_str requested, struct lmd_error *err);

/* Looks up the model's template variant `name` in its metadata; returns false if there is none. */
bool lmi_chat_find_variant_in(struct lmd_str *out, const struct lmd_model *m, struct lmd_str name);

/* ---- built-in templates, for models that have none or a wrong one: builtin_templates.c ---- */

/* The templates of core/text/formats.  build-aux/gen-chat-formats generates the table. */
struct lmi_chat_builtin_template {
	const char *name;
	const char *text;
};

/* Sorted by name, ascending. */
extern const struct lmi_chat_builtin_template lmi_chat_builtins[];
extern const unsigned lmi_chat_builtins_n;

/* Returns NULL if there is no template of that name. */
const struct lmi_chat_builtin_template *lmi_chat_builtin_find(struct lmd_str name);

/* ---- what a template supports, found out by rendering small conversations: caps.c ---- */

enum lmi_chat_cap {
	LMI_CHAT_CAP_SYSTEM,           /* a system message */
	LMI_CHAT_CAP_TOOLS,            /* a list of tools */
	LMI_CHAT_CAP_TOOL_CALLS,       /* a tool call of the assistant */
	LMI_CHAT_CAP_PARALLEL_CALLS,   /* two tool calls in one message */
	LMI_CHAT_CAP_TOOL_RESULTS,     /* the result of a tool call */
	LMI_CHAT_CAP_REASONING,        /* the assistant's reasoning, in the latest message */
	LMI_CHAT_CAP_REASONING_SWITCH, /* the variable enable_thinking changes the prompt */
	LMI_CHAT_CAP_PARTS,            /* content as a list of parts */
	LMI_CHAT_CAP_GENERATION,       /* the variable add_generation_prompt changes the prompt */
	LMI_CHAT_CAP_STRINGS,          /* content as a string */
	LMI_CHAT_N_CAP
};

const char *lmi_chat_cap_name(enum lmi_chat_cap cap);

/* Sets bit k for each capability k that the template has.  A template that fails to render a probe
 * lacks that capability.  LMD_NOMEM is the only error.  Any thread; slow. */
enum lmd_status lmi_chat_caps(const struct lmi_jinja *t, uint32_t *out, struct lmd_error *err);
/* Does the same for the text of a template.  LMD_INVALID if it is malformed. */
enum lmd_status lmi_chat_caps_of_text(struct lmd_str text, uint32_t *out, struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_CHAT_H */
