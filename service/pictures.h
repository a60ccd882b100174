/* SPDX-License-Identifier: MIT
 *
 * pictures.h - the pictures in the messages of a request: decoded, fitted for the model's vision tower, and
 * put into the prompt. */
#ifndef LLAMAD_SERVICE_PICTURES_H
#define LLAMAD_SERVICE_PICTURES_H

#include "core/engine/engine.h"
#include "core/picture/layout.h"
#include "core/text/chat/chat.h"
#include "proto/proto.h"

/* Maximum number of pictures in the messages of one request. */
#define LMI_SVC_PICTURES_MAX 64u

/* A zeroed struct has no pictures. */
struct lmi_svc_pictures {
	struct lmi_picture_layout *layouts; /* [n] */
	struct lmi_chat_picture *chat;	    /* [n], their place in the prompt */
	uint32_t n;
	uint8_t (*digests)[32];		  /* [n_part] */
	struct lmi_engine_picture *parts; /* [n_part] for the engine, after lmi_svc_pictures_place */
	uint32_t n_part;
	char mark[48]; /* stands for a picture in the texts of messages */
};

/* Returns the number of pictures in the messages. */
uint32_t lmi_svc_pictures_count(const struct lmi_wire_req_generate *q);

/* Decodes and fits the pictures of a request. LMD_UNSUPPORTED: the model has no tower, or the format is
 * unknown; LMD_INVALID, LMD_CORRUPT: the message names the picture. Slow; any thread but the loop's. */
enum lmd_status lmi_svc_pictures_read(struct lmi_svc_pictures *out, const struct lmi_engine *e,
				      const struct lmi_wire_req_generate *q, struct lmd_error *err);
/* Returns the text of a message with a mark for each picture; *own: memory to be freed with lmi_free, or
 * NULL. LMD_NOMEM. */
enum lmd_status lmi_svc_pictures_mark(const struct lmi_svc_pictures *p,
				      const struct lmi_wire_chat_message *m, struct lmd_str *out, char **own,
				      struct lmd_error *err);
/* Makes the engine's list of them, from where lmi_chat_encode has put them. */
enum lmd_status lmi_svc_pictures_place(struct lmi_svc_pictures *p, const struct lmi_engine *e,
				       struct lmd_error *err);
void lmi_svc_pictures_fini(struct lmi_svc_pictures *p);

#endif /* LLAMAD_SERVICE_PICTURES_H */
