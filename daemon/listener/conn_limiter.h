/* SPDX-License-Identifier: MIT
 *
 * door.h - connection limiter: how many connections each peer may have, and how often it may try to
 * authenticate.
 *
 * A peer is a user of this machine, identified by the uid of its process, or a network address.
 * All addresses of an IPv6 /64 network are one peer.
 *
 * Pure: the time is an argument. */
#ifndef LLAMAD_DAEMON_LISTENER_CONN_LIMITER_H
#define LLAMAD_DAEMON_LISTENER_CONN_LIMITER_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"

struct lmi_daemon_visitor {
	bool remote;
	uint32_t uid;     /* if not remote */
	uint8_t addr[16]; /* if remote: an IPv6 or IPv4-mapped address */
};
#define LMI_DAEMON_VISITOR_TEXT 64
/* Formats a peer as "uid 1000", "10.0.0.7" or "2001:db8::/64"; returns buf. */
const char *lmi_daemon_visitor_text(const struct lmi_daemon_visitor *v,
				    char buf[LMI_DAEMON_VISITOR_TEXT]);

struct lmi_daemon_door_limits {
	uint32_t connections;          /* maximum for all peers */
	uint32_t connections_per_user; /* maximum for one peer */
	uint32_t connections_kept;     /* additional ones for root and own_uid */
};

/* Authentication attempts that a peer may make at once, and the time until it gets one more. */
#define LMI_DAEMON_DOOR_TRIES  10u
#define LMI_DAEMON_DOOR_TRY_MS 6000u
/* Maximum number of peers without a connection whose attempts are remembered. */
#define LMI_DAEMON_DOOR_GONE_MAX 1024u

struct lmi_daemon_door {
	struct lmi_daemon_door_limits limits;
	uint32_t own_uid;
	struct lmi_daemon_door_entry *first; /* newest first */
	uint32_t n, n_gone;           /* number of connections; of entries without one */
	uint64_t n_refused;
};

void lmi_daemon_door_init(struct lmi_daemon_door *d, const struct lmi_daemon_door_limits *limits,
			  uint32_t own_uid);
void lmi_daemon_door_fini(struct lmi_daemon_door *d);

/* Returns whether the peer is root or the daemon's own user. */
bool lmi_daemon_door_is_admin(const struct lmi_daemon_door *d, const struct lmi_daemon_visitor *v);

/* Counts a new connection of the peer.  Returns LMD_BUSY if there are too many, with an error
 * message for the peer, or LMD_NOMEM. */
enum lmd_status lmi_daemon_door_enter(struct lmi_daemon_door *d, const struct lmi_daemon_visitor *v,
				      struct lmd_error *err);
/* Uncounts a connection that lmi_daemon_door_enter() counted. */
void lmi_daemon_door_leave(struct lmi_daemon_door *d, const struct lmi_daemon_visitor *v);

/* Counts an authentication attempt of a connected peer, which is taken as failed until
 * lmi_daemon_door_passed().  Returns LMD_BUSY if there were too many; *retry_ms is then the time to
 * wait. */
enum lmd_status lmi_daemon_door_try(struct lmi_daemon_door *d, const struct lmi_daemon_visitor *v,
				    uint64_t now, uint32_t *retry_ms, struct lmd_error *err);
/* Call this after the key was accepted; it takes back the count of the attempt. */
void lmi_daemon_door_passed(struct lmi_daemon_door *d, const struct lmi_daemon_visitor *v);

#endif /* LLAMAD_DAEMON_LISTENER_CONN_LIMITER_H */
