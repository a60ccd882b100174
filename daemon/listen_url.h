/* SPDX-License-Identifier: MIT
 *
 * listen_url.h - the TCP addresses on which llamad listens. */
#ifndef LLAMAD_DAEMON_LISTEN_URL_H
#define LLAMAD_DAEMON_LISTEN_URL_H

#include <stdbool.h>

#include "llamad/status.h"

struct lmi_config;

struct lmi_daemon_listen_url {
	bool tls;
	bool loopback; /* reachable from this machine only */
};

/* Parses tcp://ADDR:PORT or tls+tcp://ADDR:PORT.  ADDR is a numeric address, 192.0.2.7 or
 * [2001:db8::7]; PORT is 0 to 65535, where 0 means any free port.  Returns LMD_INVALID if it is
 * something else. */
enum lmd_status lmi_daemon_listen_url_parse(struct lmi_daemon_listen_url *out, const char *url,
					    struct lmd_error *err);

/* Returns whether the key `http` is "off". */
bool lmi_daemon_http_is_off(const struct lmi_config *c);

/* Checks the keys `listen`, `http` and `http_origin`, and the keys that they require. */
enum lmd_status lmi_daemon_listen_check(const struct lmi_config *c, struct lmd_error *err);

#endif /* LLAMAD_DAEMON_LISTEN_URL_H */
