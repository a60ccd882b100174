/* SPDX-License-Identifier: MIT
 *
 * address.h - addresses of servers, and why one of them does not answer. */
#ifndef LLAMAD_CLIENT_LIB_ADDRESS_H
#define LLAMAD_CLIENT_LIB_ADDRESS_H

#include <stdbool.h>

#include "llamad/status.h"

/* LMD_INVALID when it is not ipc://PATH, tcp://HOST:PORT or tls+tcp://HOST:PORT. */
enum lmd_status lmi_client_url_check(const char *url, struct lmd_error *err);

/* Nobody listens at `url`.  is_default: the caller named no address, so the message names every
 * place that was looked at.  LMD_IO. */
enum lmd_status lmi_client_nobody(const char *url, bool is_default, struct lmd_error *err);

/* The system refuses this user the socket at `url`.  If a group may use it, the message names the
 * group and how to join it.  LMD_IO. */
enum lmd_status lmi_client_no_permission(const char *url, struct lmd_error *err);

#endif /* LLAMAD_CLIENT_LIB_ADDRESS_H */
