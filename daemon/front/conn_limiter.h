/* SPDX-License-Identifier: MIT
 *
 * conn_limiter.h - connection limiter: how many connections each peer may have, and how often it
 * may try to authenticate.
 *
 * A peer is a user of this machine, identified by the uid of its process, or a network address. All
 * addresses of an IPv6 /64 network are one peer.
 *
 * Pure: the time is an argument. */
#ifndef LLAMAD_DAEMON_FRONT_CONN_LIMITER_H
#define LLAMAD_DAEMON_FRONT_CONN_LIMITER_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"

struct lmi_conn_peer {
	bool remote;
	uint32_t uid;     /* if not remote */
	uint8_t addr[16]; /* if remote: an IPv6 or IPv4-mapped address */
};
#define LMI_CONN_PEER_TEXT 64
/* Formats a peer as "uid 1000", "10.0.0.7" or "2001:db8::/64"; returns buf. */
const char *lmi_conn_peer_text(const struct lmi_conn_peer *v, char buf[LMI_CONN_PEER_TEXT]);

struct lmi_conn_limiter_limits {
	uint32_t connections;          /* maximum for all peers */
	uint32_t connections_per_user; /* maximum for one peer */
	uint32_t connections_kept;     /* additional ones for root and own_uid */
};

/* Authentication attempts that a peer may make at once, and the time until it gets one more. */
#define LMI_CONN_LIMITER_ATTEMPTS_MAX 10u
#define LMI_CONN_LIMITER_ATTEMPT_MS   6000u
/* Maximum number of peers without a connection whose attempts are remembered. */
#define LMI_CONN_LIMITER_IDLE_MAX 1024u

struct lmi_conn_limiter {
	struct lmi_conn_limiter_limits limits;
	uint32_t own_uid;
	struct lmi_conn_limiter_entry *first; /* newest first */
	uint32_t n, n_idle;                   /* number of connections; of entries without one */
	uint64_t n_refused;
};

void lmi_conn_limiter_init(struct lmi_conn_limiter *d, const struct lmi_conn_limiter_limits *limits,
			   uint32_t own_uid);
void lmi_conn_limiter_fini(struct lmi_conn_limiter *d);

/* Returns whether the peer is root or the daemon's own user. */
bool lmi_conn_limiter_is_admin(const struct lmi_conn_limiter *d, const struct lmi_conn_peer *v);

/* Counts a new connection of the peer.  Returns LMD_BUSY if there are too many, with an error
 * message for the peer, or LMD_NOMEM. */
enum lmd_status lmi_conn_limiter_admit(struct lmi_conn_limiter *d, const struct lmi_conn_peer *v,
				       struct lmd_error *err);
/* Uncounts a connection that lmi_conn_limiter_admit() counted. */
void lmi_conn_limiter_leave(struct lmi_conn_limiter *d, const struct lmi_conn_peer *v);

/* Counts an authentication attempt of a connected peer, which is taken as failed until
 * lmi_conn_limiter_auth_ok().  Returns LMD_BUSY if there were too many; *retry_ms is then the time
 * to wait. */
enum lmd_status lmi_conn_limiter_auth_attempt(struct lmi_conn_limiter *d,
					      const struct lmi_conn_peer *v, uint64_t now,
					      uint32_t *retry_ms, struct lmd_error *err);
/* Call this after the key was accepted; it takes back the count of the attempt. */
void lmi_conn_limiter_auth_ok(struct lmi_conn_limiter *d, const struct lmi_conn_peer *v);

#endif /* LLAMAD_DAEMON_FRONT_CONN_LIMITER_H */
