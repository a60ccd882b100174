/* SPDX-License-Identifier: MIT
 *
 * frames.h - the bytes of a connection, on the side of the client (docs/protocol.md, "Transport").
 *
 * Both sides begin with eight bytes of handshake.  Then each message is preceded by its length and
 * begins with the number of its request.
 *
 * Pure: bytes in, messages out. */
#ifndef LLAMAD_CLIENT_LIB_FRAMES_H
#define LLAMAD_CLIENT_LIB_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LMI_CLIENT_HANDSHAKE_BYTES  8u
#define LMI_CLIENT_FRAME_HEAD_BYTES 13u /* length and number, at most */
#define LMI_CLIENT_REPLY_MAX	    ((uint64_t)64 << 20)

/* The handshake that a client sends. */
extern const uint8_t lmi_client_handshake[LMI_CLIENT_HANDSHAKE_BYTES];

enum lmi_client_frame_event {
	LMI_CLIENT_FRAME_MORE,      /* more bytes are needed */
	LMI_CLIENT_FRAME_HANDSHAKE, /* the server's handshake is complete */
	LMI_CLIENT_FRAME_MESSAGE,
	LMI_CLIENT_FRAME_BAD, /* another protocol, or a length that is not allowed */
	LMI_CLIENT_FRAME_NOMEM,
};

struct lmi_client_frames {
	bool ipc; /* each length is preceded by a byte 1 */
	/* private */
	bool handshake_done;
	uint32_t n_head; /* received bytes of the handshake or of a message's length and number */
	uint8_t head[LMI_CLIENT_FRAME_HEAD_BYTES];
	bool in_body;
	uint64_t len, got, cap; /* of the body; memory grows with the bytes received */
	uint8_t *body;
};

struct lmi_client_frame_message {
	uint32_t number;
	uint8_t *own_body; /* [n], or NULL if n is 0; freed by the caller with lmi_free */
	uint64_t n;
};

/* Consumes bytes from *p, *n up to the next event; LMI_CLIENT_FRAME_MORE means that all were
 * consumed.  *out is written with LMI_CLIENT_FRAME_MESSAGE. */
enum lmi_client_frame_event lmi_client_frames_feed(struct lmi_client_frames *f, const uint8_t **p,
						   size_t *n,
						   struct lmi_client_frame_message *out);
/* Writes what precedes a request of n bytes; returns the number of bytes. */
uint32_t lmi_client_frame_head(bool ipc, uint32_t number, uint64_t n,
			       uint8_t out[LMI_CLIENT_FRAME_HEAD_BYTES]);
/* A zeroed struct is allowed. */
void lmi_client_frames_fini(struct lmi_client_frames *f);

#endif /* LLAMAD_CLIENT_LIB_FRAMES_H */
