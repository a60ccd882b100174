/* SPDX-License-Identifier: MIT
 *
 * listen_url.h - addresses of this machine on which llamad listens for others. */
#ifndef LLAMAD_DAEMON_LISTEN_URL_H
#define LLAMAD_DAEMON_LISTEN_URL_H

#include <stdbool.h>

#include "llamad/status.h"

struct lmi_config;

struct lmi_listen_url {
	bool tls;
	bool loopback; /* nobody else reaches it */
};

/* tcp://ADDR:PORT or tls+tcp://ADDR:PORT; ADDR as 192.0.2.7 or [2001:db8::7]; PORT 0 to 65535,
 * 0 being any free one.  LMD_INVALID. */
enum lmd_status lmi_listen_url_parse(struct lmi_listen_url *out, const char *url,
				     struct lmd_error *err);

/* What the key `listen` says, with those that it needs. */
enum lmd_status lmi_listen_check(const struct lmi_config *c, struct lmd_error *err);

#endif /* LLAMAD_DAEMON_LISTEN_URL_H */
