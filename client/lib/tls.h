/* SPDX-License-Identifier: MIT
 *
 * tls.h - TLS of a connection, without its socket: encrypted bytes in and out, plain bytes in and out.
 *
 * The name or the address of the server has to be in its certificate, and the certificate has to be
 * trusted.  One thread at a time may use a session. */
#ifndef LLAMAD_CLIENT_LIB_TLS_H
#define LLAMAD_CLIENT_LIB_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_CLIENT_TLS_CAUSE 200

/* What the sessions with a server have in common. */
struct lmi_client_tls_config;
struct lmi_client_tls;

/* url: tls+tcp://HOST:PORT.  ca_file: trusted certificates in PEM; NULL: the system's.  LMD_IO: the file
 * cannot be read or has no certificate. */
enum lmd_status lmi_client_tls_config_create(struct lmi_client_tls_config **out, const char *url,
					     const char *ca_file, struct lmd_error *err);
/* NULL allowed. */
void lmi_client_tls_config_destroy(struct lmi_client_tls_config *c);

/* Creates a session whose handshake begins with lmi_client_tls_output.  Returns NULL if memory runs out. */
struct lmi_client_tls *lmi_client_tls_create(const struct lmi_client_tls_config *c);
/* NULL allowed. */
void lmi_client_tls_destroy(struct lmi_client_tls *t);

/* Takes n bytes that arrived.  Returns false if memory runs out. */
bool lmi_client_tls_input(struct lmi_client_tls *t, const void *p, size_t n);
/* Decrypts at most `size` bytes of what arrived, and advances the handshake.  Returns how many; 0: more has
 * to arrive, or the session has failed. */
size_t lmi_client_tls_read(struct lmi_client_tls *t, void *p, size_t size);
/* Encrypts at most n bytes.  Returns how many; 0: the handshake has not ended, or the session has failed. */
size_t lmi_client_tls_write(struct lmi_client_tls *t, const void *p, size_t n);
/* Moves at most `size` encrypted bytes for the server to p.  Returns how many. */
size_t lmi_client_tls_output(struct lmi_client_tls *t, void *p, size_t size);

/* Returns why the session has failed; NULL: it has not. */
const char *lmi_client_tls_cause(const struct lmi_client_tls *t);

#endif /* LLAMAD_CLIENT_LIB_TLS_H */
