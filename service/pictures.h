/* SPDX-License-Identifier: MIT
 *
 * pictures.h - the pictures in the messages of a request: decoded, fitted for the model's vision tower, and
 * put into the prompt. */
#ifndef LLAMAD_SERVICE_PICTURES_H
#define LLAMAD_SERVICE_PICTURES_H

#include <stdatomic.h>

#include "core/engine/engine.h"
#include "core/picture/layout.h"
#include "core/text/chat/chat.h"
#include "proto/proto.h"

/* Maximum number of pictures in the messages of one request. */
#define LMI_SVC_PICTURES_MAX 64u
/* Maximum bytes of the decoded pictures of all requests that wait for the engine; a request that is alone may
 * exceed it. */
#define LMI_SVC_PICTURES_BYTES ((uint64_t)1 << 30)

/* What stands for a picture where a prompt is shown as text. */
#define LMI_SVC_PICTURE_SHOWN "<picture>"

/* A zeroed struct has no pictures. */
struct lmi_svc_pictures {
	struct lmi_picture_layout *layouts; /* [n] */
	struct lmi_chat_picture *chat;	    /* [n], their place in the prompt */
	uint32_t n;
	uint8_t (*digests)[32];		  /* [n_part] */
	struct lmi_engine_picture *parts; /* [n_part] for the engine, after lmi_svc_pictures_place */
	uint32_t n_part;
	_Atomic uint64_t *total; /* of the bytes of all requests, which `bytes` is a part of; NULL: not counted */
	uint64_t bytes;
	char mark[48]; /* stands for a picture in the texts of messages */
};

/* Returns the number of pictures in the messages. */
uint32_t lmi_svc_pictures_count(const struct lmi_wire_req_generate *q);

/* Decodes and fits the pictures of a request; of *out, `total` is read. LMD_UNSUPPORTED: the model has no tower,
 * or the format is unknown; LMD_INVALID: the message names the picture; LMD_BUSY: with those of other requests
 * they exceed LMI_SVC_PICTURES_BYTES. Slow; any thread but the loop's. The caller releases *out with _fini, also
 * after a failure. */
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
