/* SPDX-License-Identifier: MIT
 *
 * address.h - addresses of servers, and error messages for servers that cannot be reached. */
#ifndef LLAMAD_CLIENT_LIB_ADDRESS_H
#define LLAMAD_CLIENT_LIB_ADDRESS_H

#include <stdbool.h>

#include "llamad/status.h"

/* Returns LMD_INVALID if url is not ipc://PATH, tcp://HOST:PORT or tls+tcp://HOST:PORT. */
enum lmd_status lmi_client_url_check(const char *url, struct lmd_error *err);

/* Fails with LMD_IO because no server listens at `url`.  is_default: the caller gave no address, so
 * the message names every address that was tried. */
enum lmd_status lmi_client_fail_unreachable(const char *url, bool is_default,
					    struct lmd_error *err);

/* Fails with LMD_IO because this user has no permission to use the socket at `url`.  If a group
 * has, the message names the group and how to join it. */
enum lmd_status lmi_client_fail_permission(const char *url, struct lmd_error *err);

#endif /* LLAMAD_CLIENT_LIB_ADDRESS_H */
