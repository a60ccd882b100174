/* SPDX-License-Identifier: MIT
 *
 * answer_printer.h - prints the parts of an answer as they come, or collects them for --json:
 * content, reasoning and tool calls. */
#ifndef LLAMAD_CLIENT_LLAMACTL_ANSWER_PRINTER_H
#define LLAMAD_CLIENT_LLAMACTL_ANSWER_PRINTER_H

#include "client/llamactl/chat_args.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/markdown.h"
#include "client/llamactl/word_wrap.h"
#include "core/text/tokenizer.h"

struct lmi_ctl_printed_call;

/* Zero it, then set the members that the caller chooses. */
struct lmi_ctl_answer_printer {
	bool json;           /* collect everything, print nothing */
	bool collect;        /* also collect the content */
	bool show_reasoning; /* print the reasoning */
	bool dim;            /* print the reasoning dim */
	bool markdown;       /* show the content as markdown */
	bool fold;           /* show only that there is reasoning, and how long it took */
	bool terminal;       /* control characters become visible */
	struct lmi_text_byte_buf text, reasoning;
	struct lmi_ctl_printed_call *calls; /* [n_call] */
	uint32_t n_call;
	bool in_reasoning; /* the last text printed was reasoning */
	char last_byte;    /* last byte printed; 0: none yet */
	struct lmi_ctl_markdown md;
	struct lmi_text_byte_buf shown; /* buffer of markdown */
	struct lmi_ctl_word_wrap wrap;	/* of markdown */
	struct lmi_text_byte_buf wrapped;
	struct lmi_text_byte_buf plain; /* buffer of visible text */
	char last_plain;		/* last byte that was made visible */
	uint64_t fold_ns;		/* when the reasoning began */
};

/* Returns whether standard output is a terminal that understands styles, and NO_COLOR is not set. */
bool lmi_ctl_has_styles(void);

/* Decides from --raw, --special, --grammar and --tools whether the answer is parsed. */
bool lmi_ctl_answer_printer_wants_parsing(const struct lmi_args *a,
					  const struct lmi_ctl_chat_args *chat);
/* Reads --json, --show-reasoning and --hide-reasoning. By default reasoning is printed on a
 * terminal only. */
enum lmd_status lmi_ctl_answer_printer_init(struct lmi_ctl_answer_printer *s, struct lmi_ctl *ctl,
					    struct lmd_error *err);
void lmi_ctl_answer_printer_fini(struct lmi_ctl_answer_printer *s);

enum lmd_status lmi_ctl_answer_printer_text(struct lmi_ctl_answer_printer *s, const char *p,
					    size_t n, struct lmd_error *err);
enum lmd_status lmi_ctl_answer_printer_reasoning(struct lmi_ctl_answer_printer *s, const char *p,
						 size_t n, struct lmd_error *err);
enum lmd_status lmi_ctl_answer_printer_call(struct lmi_ctl_answer_printer *s, struct lmd_str name,
					    struct lmd_str id, struct lmd_error *err);
/* Appends to the arguments of the current call. */
enum lmd_status lmi_ctl_answer_printer_args(struct lmi_ctl_answer_printer *s, const char *p,
					    size_t n, struct lmd_error *err);
/* Ends the call and prints it as a line of JSON. */
enum lmd_status lmi_ctl_answer_printer_call_end(struct lmi_ctl_answer_printer *s, bool complete,
						struct lmd_error *err);

/* Prints a newline if the answer does not end in one; prints nothing for an answer that failed
 * before its first byte. */
void lmi_ctl_answer_printer_end_line(struct lmi_ctl_answer_printer *s, enum lmd_status st);
/* Returns the name, id and arguments of call i of n_call; they are valid until fini. */
void lmi_ctl_answer_printer_get_call(const struct lmi_ctl_answer_printer *s, uint32_t i,
				     struct lmd_str *name, struct lmd_str *id,
				     struct lmd_str *args);
/* Writes the members text and, if the answer was parsed, thinking and tool_calls. */
void lmi_ctl_answer_printer_json(const struct lmi_ctl_answer_printer *s, struct lmi_ctl_json *j);

#endif /* LLAMAD_CLIENT_LLAMACTL_ANSWER_PRINTER_H */
