/* SPDX-License-Identifier: MIT
 *
 * caps.h - finds out what a chat template supports by rendering small conversations. */
#ifndef LLAMAD_CORE_TEXT_CHAT_CAPS_H
#define LLAMAD_CORE_TEXT_CHAT_CAPS_H

#include <stdint.h>

#include "llamad/status.h"

struct lmi_jinja;

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
	LMI_CHAT_N_CAP
};

const char *lmi_chat_cap_name(enum lmi_chat_cap cap);

/* Sets bit k for each capability k that the template has.  A template that fails to render a probe
 * lacks that capability.  LMD_NOMEM is the only error.  Any thread; slow. */
enum lmd_status lmi_chat_caps(const struct lmi_jinja *t, uint32_t *out, struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_CAPS_H */
