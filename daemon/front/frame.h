/* SPDX-License-Identifier: MIT
 *
 * frame.h - incremental parser of the bytes from a REQ peer.
 *
 * The peer sends eight bytes of handshake, then messages, each preceded by its length
 * (docs/protocol.md, "Transport").  A message begins with its route: the numbers of the proxies
 * that passed it on, then the number of the request, which is the only one with its highest bit
 * set.  The reply begins with the same bytes.
 *
 * Memory grows with the bytes received, not with the announced length.  A message that is too long
 * is skipped if it has at most four times the maximum length, so that an error can be returned.
 *
 * Pure: bytes in, events out. */
#ifndef LLAMAD_DAEMON_FRONT_FRAME_H
#define LLAMAD_DAEMON_FRONT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LMI_FRONT_FRAME_HELLO_BYTES 8u
#define LMI_FRONT_FRAME_HEAD_BYTES  9u /* at most */
#define LMI_FRONT_FRAME_ROUTE_BYTES 32u

struct lmi_front_frames {
	bool ipc; /* each length is preceded by a byte 1 */
	/* maximum bytes of a message without its route; applies to the next message */
	uint64_t max;
	/* private */
	bool handshake_done;
	uint32_t n_head; /* received bytes of the handshake or of a message's length */
	uint8_t head[LMI_FRONT_FRAME_HEAD_BYTES];
	bool in_body, too_long;
	uint64_t len, got; /* length of the message with its route; bytes received of it */
	uint8_t *buf;      /* the message; only the route if it is too long */
	uint64_t cap;
};

enum lmi_front_frame_event {
	LMI_FRONT_FRAME_MORE,      /* more bytes are needed */
	LMI_FRONT_FRAME_HANDSHAKE, /* the handshake is complete: the peer is a REQ socket */
	LMI_FRONT_FRAME_MESSAGE,   /* out is a message */
	LMI_FRONT_FRAME_LONG, /* out is the route and the length of a message that was too long */
	LMI_FRONT_FRAME_BAD, /* another protocol, or much too long: the connection must be closed */
	LMI_FRONT_FRAME_NOMEM,
};

struct lmi_front_frame {
	const uint8_t *route;
	uint32_t n_route;
	const uint8_t *body; /* only with LMI_FRONT_FRAME_MESSAGE */
	uint64_t n_body;
};

/* The handshake that this side sends. */
extern const uint8_t lmi_front_frame_hello[LMI_FRONT_FRAME_HELLO_BYTES];

/* Consumes bytes from *p, *n up to the next event; LMI_FRONT_FRAME_MORE means that all were
 * consumed. *out is valid until the next call. */
enum lmi_front_frame_event lmi_front_frames_feed(struct lmi_front_frames *f, const uint8_t **p,
						 size_t *n, struct lmi_front_frame *out);
/* Returns whether the handshake or a message is incomplete. */
bool lmi_front_frames_incomplete(const struct lmi_front_frames *f);
/* Returns the length of the message whose bytes are expected; 0 outside of messages, and for one that is too
 * long. */
uint64_t lmi_front_frames_expects(const struct lmi_front_frames *f);
/* Writes the bytes that precede a message of n bytes (including the route); returns their
 * number. */
uint32_t lmi_front_frame_head(bool ipc, uint64_t n, uint8_t out[LMI_FRONT_FRAME_HEAD_BYTES]);
/* A zeroed struct is allowed. */
void lmi_front_frames_fini(struct lmi_front_frames *f);

#endif /* LLAMAD_DAEMON_FRONT_FRAME_H */
