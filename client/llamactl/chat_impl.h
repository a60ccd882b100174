/* SPDX-License-Identifier: MIT
 *
 * chat_impl.h - shared by the files of a conversation. */
#ifndef LLAMAD_LLAMACTL_CHAT_IMPL_H
#define LLAMAD_LLAMACTL_CHAT_IMPL_H

#include <limits.h>

#include "client/llamactl/chat_messages.h"
#include "client/llamactl/generation.h"
#include "client/llamactl/line_editor.h"

/* Maximum number of pictures in a message. */
#define LMI_CTL_CHAT_PICTURES 16

struct lmi_ctl_chat {
	struct lmi_ctl_generation *g;
	struct lmi_ctl_messages messages;	/* with a chat template */
	struct lmi_text_token_buf tokens;	/* without */
	struct lmi_ctl_line_editor *editor;
	struct lmi_text_byte_buf attached;	/* files that precede the next message */
	char session[PATH_MAX]; /* file with the messages of --session; "": none */
	struct lmi_wire_picture pictures[LMI_CTL_CHAT_PICTURES]; /* [n_picture], likewise; it owns their data */
	uint32_t n_picture;
	bool use_template;
	bool markdown, fold, verbose; /* how answers are shown */
	bool leave;
	bool answer; /* the last message is to be answered again */
};

/* Forgets the files that would go with the next message. */
void lmi_ctl_chat_drop_files(struct lmi_ctl_chat *c);
/* Returns whether the line is a command: it begins with a slash and a letter or '?'. */
bool lmi_ctl_chat_is_command(const char *line);
/* Runs a command. A command that fails has said why on standard error, and the conversation goes
 * on; only a lack of memory ends it. */
enum lmd_status lmi_ctl_chat_command(struct lmi_ctl_chat *c, const char *line,
				     struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_CHAT_IMPL_H */
