/* SPDX-License-Identifier: MIT
 *
 * TLS with OpenSSL between two buffers; link.c moves the bytes.  The TLS of nng is not used: with mbedTLS 2 it
 * accepts no addresses in certificates, and it does not tell why a handshake failed. */
#include "client/lib/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "llamad/attr.h"

struct lmi_client_tls_config {
	SSL_CTX *ctx;
	char host[256]; /* a name, or an address without brackets */
	bool is_address;
};

struct lmi_client_tls {
	SSL *ssl;
	BIO *in, *out; /* owned by ssl */
	const struct lmi_client_tls_config *config;
	char cause[LMI_CLIENT_TLS_CAUSE]; /* "": none */
};

/* Bundles of distributions other than that for which OpenSSL was built, whose default may lead nowhere. */
static const char *const bundles[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
				      "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

static const char *openssl_error(void)
{
	unsigned long e = ERR_peek_last_error();
	const char *text = e ? ERR_reason_error_string(e) : NULL;

	return text ? text : "unknown error";
}

static enum lmd_status load_authorities(SSL_CTX *ctx, const char *ca_file, struct lmd_error *err)
{
	unsigned long e;

	if (ca_file) {
		if (SSL_CTX_load_verify_file(ctx, ca_file) == 1)
			return LMD_OK;
		e = ERR_peek_error();
		return lmd_fail(err, LMD_IO, "%.300s: cannot be read as certificates in PEM: %s", ca_file,
				ERR_SYSTEM_ERROR(e) ? strerror(ERR_GET_REASON(e)) : openssl_error());
	}
	/* without any, each handshake fails and says so */
	(void)SSL_CTX_set_default_verify_paths(ctx);
	for (size_t i = 0; i < LMD_LEN(bundles); i++)
		if (SSL_CTX_load_verify_file(ctx, bundles[i]) == 1)
			break;
	return LMD_OK;
}

static bool take_host(struct lmi_client_tls_config *c, const char *url)
{
	const char *host = strstr(url, "://"), *colon = strrchr(url, ':');
	size_t n;

	if (!host || colon < host + 3)
		return false;
	host += 3;
	n = (size_t)(colon - host);
	if (n > 1 && *host == '[' && host[n - 1] == ']') {
		host++;
		n -= 2;
	}
	if (!n || n >= sizeof(c->host))
		return false;
	memcpy(c->host, host, n);
	c->host[n] = 0;
	return true;
}

enum lmd_status lmi_client_tls_config_create(struct lmi_client_tls_config **out, const char *url,
					     const char *ca_file, struct lmd_error *err)
{
	struct lmi_client_tls_config *c = lmi_alloc(1, sizeof(*c));
	ASN1_OCTET_STRING *address;
	enum lmd_status st;

	ERR_clear_error();
	if (c)
		c->ctx = SSL_CTX_new(TLS_client_method());
	if (!c || !c->ctx) {
		lmi_client_tls_config_destroy(c);
		return lmd_fail(err, LMD_NOMEM, "no memory for TLS");
	}
	SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_mode(c->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					 SSL_MODE_RELEASE_BUFFERS);
	(void)SSL_CTX_set_options(c->ctx, SSL_OP_NO_RENEGOTIATION);
	if (!take_host(c, url) || !SSL_CTX_set_min_proto_version(c->ctx, TLS1_2_VERSION)) {
		st = lmd_fail(err, LMD_INVALID, "%.300s: the name of the host must have 1 to 255 bytes", url);
	} else {
		address = a2i_IPADDRESS(c->host);
		c->is_address = address != NULL;
		ASN1_OCTET_STRING_free(address);
		st = load_authorities(c->ctx, ca_file, err);
	}
	ERR_clear_error();
	if (st == LMD_OK)
		*out = c;
	else
		lmi_client_tls_config_destroy(c);
	return st;
}

void lmi_client_tls_config_destroy(struct lmi_client_tls_config *c)
{
	if (!c)
		return;
	SSL_CTX_free(c->ctx);
	lmi_free(c);
}

/* The server has to have this name or address as a subjectAltName, and is told the name. */
static bool set_host(const struct lmi_client_tls *t)
{
	const struct lmi_client_tls_config *c = t->config;

	if (c->is_address)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(t->ssl), c->host) == 1;
	SSL_set_hostflags(t->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return SSL_set1_host(t->ssl, c->host) == 1 && SSL_set_tlsext_host_name(t->ssl, c->host) == 1;
}

struct lmi_client_tls *lmi_client_tls_create(const struct lmi_client_tls_config *c)
{
	struct lmi_client_tls *t = lmi_alloc(1, sizeof(*t));
	bool ok = false;

	if (!t)
		return NULL;
	t->config = c;
	t->ssl = SSL_new(c->ctx);
	t->in = BIO_new(BIO_s_mem());
	t->out = BIO_new(BIO_s_mem());
	if (t->ssl && t->in && t->out) {
		BIO_set_mem_eof_return(t->in, -1); /* an empty buffer is not the end */
		SSL_set_bio(t->ssl, t->in, t->out);
		SSL_set_connect_state(t->ssl);
		ok = set_host(t);
	} else {
		BIO_free(t->in);
		BIO_free(t->out);
	}
	if (!ok) {
		lmi_client_tls_destroy(t);
		ERR_clear_error();
		return NULL;
	}
	return t;
}

void lmi_client_tls_destroy(struct lmi_client_tls *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	lmi_free(t);
}

/* Notes why the session failed, unless it only has to wait for the server. */
static void note(struct lmi_client_tls *t, int result)
{
	int kind = SSL_get_error(t->ssl, result);
	long verified = SSL_get_verify_result(t->ssl);

	if (*t->cause || kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
		return;
	if (kind == SSL_ERROR_ZERO_RETURN)
		(void)snprintf(t->cause, sizeof(t->cause), "the server closed the connection");
	else if (verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH)
		(void)snprintf(t->cause, sizeof(t->cause), "the certificate is not for the %s %.120s",
			       t->config->is_address ? "address" : "name", t->config->host);
	else if (verified != X509_V_OK)
		(void)snprintf(t->cause, sizeof(t->cause), "the certificate is not trusted: %s",
			       X509_verify_cert_error_string(verified));
	else if (!SSL_is_init_finished(t->ssl))
		(void)snprintf(t->cause, sizeof(t->cause), "the server does not use TLS, or not as this client: %s",
			       openssl_error());
	else
		(void)snprintf(t->cause, sizeof(t->cause), "TLS failed: %s", openssl_error());
	ERR_clear_error();
}

bool lmi_client_tls_input(struct lmi_client_tls *t, const void *p, size_t n)
{
	size_t done;

	return BIO_write_ex(t->in, p, n, &done) == 1 && done == n;
}

size_t lmi_client_tls_read(struct lmi_client_tls *t, void *p, size_t size)
{
	size_t n = 0;
	int rv;

	if (*t->cause)
		return 0;
	ERR_clear_error();
	rv = SSL_read_ex(t->ssl, p, size, &n);
	if (rv == 1)
		return n;
	note(t, rv);
	return 0;
}

size_t lmi_client_tls_write(struct lmi_client_tls *t, const void *p, size_t n)
{
	size_t done = 0;
	int rv;

	if (*t->cause || !n)
		return 0;
	ERR_clear_error();
	rv = SSL_write_ex(t->ssl, p, n, &done);
	if (rv == 1)
		return done;
	note(t, rv);
	return 0;
}

size_t lmi_client_tls_output(struct lmi_client_tls *t, void *p, size_t size)
{
	size_t n = 0;

	return BIO_read_ex(t->out, p, size, &n) == 1 ? n : 0;
}

const char *lmi_client_tls_cause(const struct lmi_client_tls *t)
{
	return *t->cause ? t->cause : NULL;
}
