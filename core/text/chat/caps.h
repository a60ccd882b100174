/* SPDX-License-Identifier: MIT
 *
 * caps.h - what a chat template can express, found out by rendering small conversations. */
#ifndef LLAMAD_CORE_TEXT_CHAT_CAPS_H
#define LLAMAD_CORE_TEXT_CHAT_CAPS_H

#include <stdint.h>

#include "llamad/status.h"

struct lmi_template;

enum lmi_chat_cap {
	LMI_CAP_SYSTEM,          /* a system's message */
	LMI_CAP_TOOLS,           /* the tools there are */
	LMI_CAP_TOOL_CALLS,      /* a call by an assistant */
	LMI_CAP_PARALLEL_CALLS,  /* two in one message */
	LMI_CAP_TOOL_RESULTS,    /* what a tool answered */
	LMI_CAP_REASONING,       /* what an assistant thought, in the latest message */
	LMI_CAP_THINKING_SWITCH, /* enable_thinking changes the prompt */
	LMI_CAP_PARTS,           /* content as a list of parts */
	LMI_CAP_GENERATION,      /* add_generation_prompt changes the prompt */
	LMI_N_CAP
};

const char *lmi_chat_cap_name(enum lmi_chat_cap cap);

/* Bit k says that cap k was seen.  What fails to render is not supported.  LMD_NOMEM alone.  Any
 * thread; slow. */
enum lmd_status lmi_chat_caps(const struct lmi_template *t, uint32_t *out, struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_CAPS_H */
