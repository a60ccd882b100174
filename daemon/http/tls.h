/* SPDX-License-Identifier: MIT
 *
 * tls.h - TLS for connections of HTTP. */
#ifndef LLAMAD_DAEMON_HTTP_TLS_H
#define LLAMAD_DAEMON_HTTP_TLS_H

#include "llamad/status.h"

struct bufferevent;
struct event_base;
struct ssl_ctx_st; /* OpenSSL */

/* Reads a certificate with its chain, and its private key, from PEM files.  Returns LMD_INVALID if
 * they cannot be used or other users may access the key. */
enum lmd_status lmi_http_tls_open(struct ssl_ctx_st **out, const char *cert, const char *key,
				  struct lmd_error *err);
/* NULL allowed.  Connections that use it continue. */
void lmi_http_tls_close(struct ssl_ctx_st *tls);
/* Returns a bufferevent that accepts TLS on fd and closes fd when it is freed; NULL if out of
 * memory. */
struct bufferevent *lmi_http_tls_accept(struct ssl_ctx_st *tls, struct event_base *base, int fd);
/* Tells the client that nothing more is sent. */
void lmi_http_tls_shutdown(struct bufferevent *bev);

#endif /* LLAMAD_DAEMON_HTTP_TLS_H */
