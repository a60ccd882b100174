/* SPDX-License-Identifier: MIT
 *
 * chat_messages.h - the messages of a conversation, which can be taken back, saved and loaded. */
#ifndef LLAMAD_LLAMACTL_CHAT_MESSAGES_H
#define LLAMAD_LLAMACTL_CHAT_MESSAGES_H

#include "proto/proto.h"

/* Zeroed at first. */
struct lmi_ctl_messages {
	struct lmi_wire_chat_message *v; /* [n]; owns its texts, except roles */
	uint32_t n, cap;
};

void lmi_ctl_messages_fini(struct lmi_ctl_messages *m);

/* Appends a message; the text is copied. role: "system", "user", "assistant" or "tool". */
enum lmd_status lmi_ctl_messages_add(struct lmi_ctl_messages *m, const char *role,
				     const char *text, size_t n, struct lmd_error *err);
/* Set members of the last message; the texts are copied. NULL: left out. */
enum lmd_status lmi_ctl_messages_set_calls(struct lmi_ctl_messages *m, const char *json,
					   struct lmd_error *err);
enum lmd_status lmi_ctl_messages_set_result_of(struct lmi_ctl_messages *m, struct lmd_str name,
					       struct lmd_str id, struct lmd_error *err);
/* Gives the last message pictures, which stand before its text. Takes the data of each, which was allocated
 * with lmi_alloc. */
enum lmd_status lmi_ctl_messages_set_pictures(struct lmi_ctl_messages *m, struct lmi_wire_picture *own_v,
					      uint32_t n, struct lmd_error *err);
/* Replaces or adds the system message at the beginning; NULL or "": removes it. */
enum lmd_status lmi_ctl_messages_set_system(struct lmi_ctl_messages *m, const char *text,
					    struct lmd_error *err);
/* Returns the system message, or NULL. */
const struct lmd_str *lmi_ctl_messages_system(const struct lmi_ctl_messages *m);
/* Returns the number of messages before the last one of the user; m->n if there is none. */
uint32_t lmi_ctl_messages_last_question(const struct lmi_ctl_messages *m);
/* Keeps the first n messages. */
void lmi_ctl_messages_cut(struct lmi_ctl_messages *m, uint32_t n);

/* Writes them as JSON to a file of mode 0600 (LMD_UNSUPPORTED: there are pictures), or replaces them by those of such a file. */
enum lmd_status lmi_ctl_messages_save(const struct lmi_ctl_messages *m, const char *path,
				      const char *model, struct lmd_error *err);
enum lmd_status lmi_ctl_messages_load(struct lmi_ctl_messages *m, const char *path,
				      struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_CHAT_MESSAGES_H */
