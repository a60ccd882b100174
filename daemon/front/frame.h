/* SPDX-License-Identifier: MIT
 *
 * frame.h - the bytes of a REQ peer, taken apart as they come.
 *
 * First eight bytes that say who speaks, then messages, each behind its length (docs/protocol.md,
 * "Transport").  A message begins with its route: the number of the request, which alone has its
 * highest bit set, behind the numbers of those who passed it on.  The reply begins with the same
 * bytes.
 *
 * Memory grows with the bytes that have come, not with the length that was announced.  A message
 * that is too long is passed over up to four times the bound, so that its sender can be told.
 *
 * Pure: bytes in, events out. */
#ifndef LLAMAD_DAEMON_FRONT_FRAME_H
#define LLAMAD_DAEMON_FRONT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LMI_FRAME_HELLO_BYTES 8u
#define LMI_FRAME_HEAD_BYTES  9u /* at most */
#define LMI_FRAME_ROUTE_BYTES 32u

struct lmi_frames {
	bool ipc;     /* a byte 1 before each length */
	uint64_t max; /* bytes of a message without its route; counts from the next one on */
	/* the rest is of the reader */
	bool greeted;
	uint32_t n_head; /* of the first bytes, or of what is before a message */
	uint8_t head[LMI_FRAME_HEAD_BYTES];
	bool in_body, too_long;
	uint64_t len, got; /* of the message, route included; got: all that came */
	uint8_t *kept;     /* of too long ones the route alone */
	uint64_t cap;
};

enum lmi_frame_event {
	LMI_FRAME_MORE,    /* nothing is complete */
	LMI_FRAME_GREETED, /* a REQ socket is at the other end */
	LMI_FRAME_MESSAGE, /* out: a message */
	LMI_FRAME_LONG,    /* out: the route and the length of one that was too long */
	LMI_FRAME_BAD,     /* no such protocol, or far too long: nothing more is understood */
	LMI_FRAME_NOMEM,
};

struct lmi_frame {
	const uint8_t *route;
	uint32_t n_route;
	const uint8_t *body; /* LMI_FRAME_MESSAGE */
	uint64_t n_body;
};

/* What this side sends first. */
extern const uint8_t lmi_frame_hello[LMI_FRAME_HELLO_BYTES];

/* Takes bytes from *p, *n until something is complete; all are taken with LMI_FRAME_MORE.  *out
 * lives until the next call. */
enum lmi_frame_event lmi_frames_feed(struct lmi_frames *f, const uint8_t **p, size_t *n,
				     struct lmi_frame *out);
/* Bytes of something came that is not complete. */
bool lmi_frames_inside(const struct lmi_frames *f);
/* Writes what is before a message of n bytes, route included; returns how many bytes. */
uint32_t lmi_frame_head(bool ipc, uint64_t n, uint8_t out[LMI_FRAME_HEAD_BYTES]);
/* A zeroed struct is allowed. */
void lmi_frames_fini(struct lmi_frames *f);

#endif /* LLAMAD_DAEMON_FRONT_FRAME_H */
