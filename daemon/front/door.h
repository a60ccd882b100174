/* SPDX-License-Identifier: MIT
 *
 * door.h - who may come in, how many of them, and how often they may try a key.
 *
 * A visitor is a user of this machine, known by the uid of its process, or an address.  The
 * addresses of one IPv6 network of 64 bits are one visitor.
 *
 * Pure: time is an argument. */
#ifndef LLAMAD_DAEMON_FRONT_DOOR_H
#define LLAMAD_DAEMON_FRONT_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"

struct lmi_visitor {
	bool remote;
	uint32_t uid;     /* not remote */
	uint8_t addr[16]; /* remote: IPv6, or IPv4 mapped into it */
};
#define LMI_VISITOR_TEXT 64
/* "uid 1000", "10.0.0.7", "2001:db8::/64"; returns buf. */
const char *lmi_visitor_text(const struct lmi_visitor *v, char buf[LMI_VISITOR_TEXT]);

struct lmi_door_limits {
	uint32_t connections;          /* at a time */
	uint32_t connections_per_user; /* of one visitor */
	uint32_t connections_kept;     /* further ones for root and the own uid */
};

/* Keys that one visitor may try at once, and the time after which it may try one more. */
#define LMI_DOOR_TRIES  10u
#define LMI_DOOR_TRY_MS 6000u
/* Visitors without a connection whose tries are remembered. */
#define LMI_DOOR_GONE_MAX 1024u

struct lmi_door {
	struct lmi_door_limits limits;
	uint32_t own_uid;
	struct lmi_door_entry *first; /* latest first */
	uint32_t n, n_gone;           /* connections; entries without one */
	uint64_t n_refused;
};

void lmi_door_init(struct lmi_door *d, const struct lmi_door_limits *limits, uint32_t own_uid);
void lmi_door_fini(struct lmi_door *d);

/* Root and the daemon's own user. */
bool lmi_door_is_admin(const struct lmi_door *d, const struct lmi_visitor *v);

/* One more connection.  LMD_BUSY, with a sentence for the visitor; LMD_NOMEM. */
enum lmd_status lmi_door_enter(struct lmi_door *d, const struct lmi_visitor *v,
			       struct lmd_error *err);
/* One less of a visitor that entered. */
void lmi_door_leave(struct lmi_door *d, const struct lmi_visitor *v);

/* A visitor that is in tries a key: it counts as wrong until lmi_door_passed.  LMD_BUSY:
 * *retry_ms says when it may. */
enum lmd_status lmi_door_try(struct lmi_door *d, const struct lmi_visitor *v, uint64_t now,
			     uint32_t *retry_ms, struct lmd_error *err);
/* It was right. */
void lmi_door_passed(struct lmi_door *d, const struct lmi_visitor *v);

#endif /* LLAMAD_DAEMON_FRONT_DOOR_H */
