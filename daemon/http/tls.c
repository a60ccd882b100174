/* SPDX-License-Identifier: MIT
 *
 * TLS by OpenSSL, from version 1.2 on, without renegotiation and compression. */
#include "daemon/http/tls.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/stat.h>

static enum lmd_status bad_file(const char *name, const char *path, struct lmd_error *err)
{
	char why[160];

	ERR_error_string_n(ERR_peek_last_error(), why, sizeof(why));
	ERR_clear_error();
	return lmd_fail(err, LMD_INVALID, "%s: %.160s: %.150s", name, path, why);
}

/* Accepts a client's offer of protocols if HTTP/1.1 is one of them. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *n_out,
			   const unsigned char *in, unsigned n_in, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1";

	(void)ssl;
	(void)arg;
	return SSL_select_next_proto((unsigned char **)out, n_out, ours, sizeof(ours) - 1, in,
				     n_in) == OPENSSL_NPN_NEGOTIATED
		       ? SSL_TLSEXT_ERR_OK
		       : SSL_TLSEXT_ERR_NOACK;
}

static enum lmd_status check_mode(const char *key, struct lmd_error *err)
{
	struct stat sb;

	if (stat(key, &sb))
		return lmd_fail(err, LMD_IO, "tls_key: %.200s: %s", key, strerror(errno));
	if (sb.st_mode & 07)
		return lmd_fail(err, LMD_INVALID,
				"tls_key: %.200s: mode %04o lets other users access the key: use at "
				"most 0640",
				key, (unsigned)sb.st_mode & 07777);
	return LMD_OK;
}

enum lmd_status lmi_http_tls_open(struct ssl_ctx_st **out, const char *cert, const char *key,
				  struct lmd_error *err)
{
	enum lmd_status st = check_mode(key, err);
	SSL_CTX *tls = st == LMD_OK ? SSL_CTX_new(TLS_server_method()) : NULL;

	if (st != LMD_OK)
		return st;
	if (!tls || !SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION))
		st = lmd_fail(err, LMD_NOMEM, "no memory for TLS");
	if (st == LMD_OK && SSL_CTX_use_certificate_chain_file(tls, cert) != 1)
		st = bad_file("tls_cert", cert, err);
	if (st == LMD_OK && SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1)
		st = bad_file("tls_key", key, err);
	if (st == LMD_OK && SSL_CTX_check_private_key(tls) != 1)
		st = bad_file("tls_key", key, err);
	if (st != LMD_OK) {
		SSL_CTX_free(tls);
		return st;
	}
	(void)SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
					       SSL_OP_CIPHER_SERVER_PREFERENCE);
	(void)SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(tls, choose_protocol, NULL);
	*out = tls;
	return LMD_OK;
}

void lmi_http_tls_close(struct ssl_ctx_st *tls)
{
	SSL_CTX_free(tls);
}

struct bufferevent *lmi_http_tls_accept(struct ssl_ctx_st *tls, struct event_base *base, int fd)
{
	SSL *ssl = SSL_new(tls);
	struct bufferevent *bev;

	if (!ssl)
		return NULL;
	bev = bufferevent_openssl_socket_new(base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING,
					     BEV_OPT_CLOSE_ON_FREE);
	if (bev) /* many clients close without telling */
		bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
	else
		SSL_free(ssl);
	return bev;
}

void lmi_http_tls_shutdown(struct bufferevent *bev)
{
	SSL *ssl = bufferevent_openssl_get_ssl(bev);

	if (ssl)
		(void)SSL_shutdown(ssl);
	ERR_clear_error();
}
