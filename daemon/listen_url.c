/* SPDX-License-Identifier: MIT
 *
 * Only numeric addresses are accepted: a name could resolve to another address later, and so change
 * who can connect. */
#include "daemon/listen_url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#include "core/base/printable.h"
#include "daemon/config.h"
#include "daemon/http/address.h"
#include "llamad/attr.h"

#define LISTEN_MAX 16u
#define ORIGIN_MAX 255u

/* Parses the port after the colon; returns -1 if it is invalid. */
static int port_of(const char *text)
{
	int port = 0;

	if (!*text)
		return -1;
	for (; *text; text++) {
		if (!isdigit((unsigned char)*text))
			return -1;
		port = port * 10 + (*text - '0');
		if (port > 65535)
			return -1;
	}
	return port;
}

static bool parse_addr(struct lmi_daemon_listen_url *out, const char *text, size_t n)
{
	char addr[INET6_ADDRSTRLEN + 1];
	struct in6_addr v6;
	struct in_addr v4;
	bool brackets = n > 2 && text[0] == '[' && text[n - 1] == ']';

	if (brackets) {
		text++;
		n -= 2;
	}
	if (n >= sizeof(addr))
		return false;
	memcpy(addr, text, n);
	addr[n] = 0;
	if (brackets) {
		out->loopback = inet_pton(AF_INET6, addr, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
		return inet_pton(AF_INET6, addr, &v6) == 1;
	}
	if (inet_pton(AF_INET, addr, &v4) != 1)
		return false;
	out->loopback = ntohl(v4.s_addr) >> 24 == 127;
	return true;
}

enum lmd_status lmi_daemon_listen_url_parse(struct lmi_daemon_listen_url *out, const char *url,
					    struct lmd_error *err)
{
	static const char *const schemes[] = {"tcp://", "tls+tcp://"};
	const char *colon = strrchr(url, ':');
	char shown[120];

	*out = (struct lmi_daemon_listen_url){0};
	for (size_t i = 0; i < LMD_LEN(schemes); i++) {
		size_t n = strlen(schemes[i]);

		if (strncmp(url, schemes[i], n))
			continue;
		out->tls = i == 1;
		if (colon > url + n && parse_addr(out, url + n, (size_t)(colon - url) - n) &&
		    port_of(colon + 1) >= 0)
			return LMD_OK;
	}
	return lmd_fail(err, LMD_INVALID,
			"listen: '%s' is not tls+tcp://ADDR:PORT or tcp://ADDR:PORT with a numeric "
			"address and a port of at most 65535",
			lmi_printable(shown, sizeof(shown), url, strlen(url)));
}

bool lmi_daemon_http_is_off(const struct lmi_config *c)
{
	return c->http.n == 1 && !strcmp(c->http.item[0], "off");
}

static enum lmd_status check_http(const struct lmi_config *c, const char *text,
				  struct lmd_error *err)
{
	struct lmi_http_address a;
	enum lmd_status st;

	if (!strcmp(text, "off"))
		return lmi_daemon_http_is_off(c)
			       ? LMD_OK
			       : lmd_fail(err, LMD_INVALID,
					  "http: 'off' and an address are both set: remove one of them");
	st = lmi_http_address_parse(&a, text, err);
	if (st == LMD_OK && a.tls && (!c->tls_cert || !c->tls_key))
		return lmd_fail(err, LMD_INVALID, "http: %s requires %s, a PEM file, to be set", text,
				c->tls_cert ? "tls_key" : "tls_cert");
	if (st != LMD_OK || a.path || a.tls || a.loopback || c->plain_tcp)
		return st;
	return lmd_fail(err, LMD_INVALID,
			"http: %s sends keys and texts without encryption: use tls:%s, or 127.0.0.1 "
			"behind a proxy that adds TLS, or set plain_tcp = yes",
			text, text);
}

/* An origin is a scheme and a host, as browsers send it. */
static bool is_origin(const char *text)
{
	const char *host = strstr(text, "://");

	if (!strcmp(text, "*"))
		return true;
	return host && host > text && host[3] && strlen(text) <= ORIGIN_MAX && !host[3 + strcspn(host + 3, "/?#@, \t")];
}

enum lmd_status lmi_daemon_listen_check(const struct lmi_config *c, struct lmd_error *err)
{
	const char *const files[] = {c->tls_cert, c->tls_key};
	struct lmi_daemon_listen_url u;
	char shown[120];

	for (size_t i = 0; i < LMD_LEN(files); i++)
		if (files[i] && *files[i] != '/')
			return lmd_fail(err, LMD_INVALID, "%s: '%s' is not an absolute path",
					i ? "tls_key" : "tls_cert",
					lmi_printable_path(shown, sizeof(shown), files[i]));
	if (c->listen.n > LISTEN_MAX || c->http.n > LISTEN_MAX)
		return lmd_fail(err, LMD_INVALID, "%s: %u addresses, the maximum is %u",
				c->listen.n > LISTEN_MAX ? "listen" : "http",
				c->listen.n > LISTEN_MAX ? c->listen.n : c->http.n, LISTEN_MAX);
	for (uint32_t i = 0; i < c->listen.n; i++) {
		const char *url = c->listen.item[i];
		enum lmd_status st = lmi_daemon_listen_url_parse(&u, url, err);

		if (st != LMD_OK)
			return st;
		if (u.tls && (!c->tls_cert || !c->tls_key))
			return lmd_fail(err, LMD_INVALID,
					"listen: %s requires %s, a PEM file, to be set", url,
					c->tls_cert ? "tls_key" : "tls_cert");
		if (!u.tls && !u.loopback && !c->plain_tcp)
			return lmd_fail(
				err, LMD_INVALID,
				"listen: %s sends keys and texts without encryption: use tls+tcp, "
				"or set plain_tcp = yes",
				url);
	}
	for (uint32_t i = 0; i < c->http.n; i++)
		if (check_http(c, c->http.item[i], err) != LMD_OK)
			return LMD_INVALID;
	for (uint32_t i = 0; i < c->http_origins.n; i++)
		if (!is_origin(c->http_origins.item[i]))
			return lmd_fail(err, LMD_INVALID,
					"http_origin: '%s' is not an origin such as "
					"https://example.org or http://localhost:3000, or *",
					lmi_printable(shown, sizeof(shown), c->http_origins.item[i],
						      strlen(c->http_origins.item[i])));
	if (!c->tls_cert != !c->tls_key)
		return lmd_fail(err, LMD_INVALID, "%s is set and %s is not: set both or neither",
				c->tls_cert ? "tls_cert" : "tls_key",
				c->tls_cert ? "tls_key" : "tls_cert");
	return LMD_OK;
}
