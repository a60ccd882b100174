/* SPDX-License-Identifier: MIT
 *
 * Only numeric addresses are accepted: a name could resolve to another address later, and so change
 * who can connect. */
#include "daemon/http/address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "core/base/printable.h"

static enum lmd_status parse_unix(struct lmi_http_address *out, const char *text,
				  struct lmd_error *err)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&out->sa;
	char shown[120];

	out->path = text + strlen("unix:");
	if (*out->path != '/')
		return lmd_fail(err, LMD_INVALID, "http: '%s' is not unix: and an absolute path",
				lmi_printable_path(shown, sizeof(shown), text));
	if (strlen(out->path) >= sizeof(un->sun_path))
		return lmd_fail(err, LMD_INVALID,
				"http: the path '%s' has %zu bytes, the maximum is %zu",
				lmi_printable_path(shown, sizeof(shown), out->path),
				strlen(out->path), sizeof(un->sun_path) - 1);
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, out->path, strlen(out->path) + 1);
	out->n_sa = sizeof(*un);
	return LMD_OK;
}

/* Returns the port, or -1 if it is invalid. */
static int parse_port(const char *text)
{
	long port = isdigit((unsigned char)*text) && strlen(text) <= 5 ? atol(text) : -1;

	return strspn(text, "0123456789") == strlen(text) && port <= 65535 ? (int)port : -1;
}

static bool parse_tcp(struct lmi_http_address *out, const char *text)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&out->sa;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->sa;
	const char *colon = strrchr(text, ':');
	char addr[INET6_ADDRSTRLEN + 1];
	bool brackets = *text == '[';
	size_t n;
	int port;

	if (!colon || (brackets && (colon == text || colon[-1] != ']')))
		return false;
	text += brackets;
	n = (size_t)(colon - text) - brackets;
	port = parse_port(colon + 1);
	if (n >= sizeof(addr) || port < 0)
		return false;
	memcpy(addr, text, n);
	addr[n] = 0;
	if (brackets) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		out->n_sa = sizeof(*v6);
		if (inet_pton(AF_INET6, addr, &v6->sin6_addr) != 1)
			return false;
		out->loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
		return true;
	}
	v4->sin_family = AF_INET;
	v4->sin_port = htons((uint16_t)port);
	out->n_sa = sizeof(*v4);
	if (inet_pton(AF_INET, addr, &v4->sin_addr) != 1)
		return false;
	out->loopback = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return true;
}

enum lmd_status lmi_http_address_parse(struct lmi_http_address *out, const char *text,
				       struct lmd_error *err)
{
	char shown[120];

	*out = (struct lmi_http_address){0};
	if (!strncmp(text, "unix:", strlen("unix:")))
		return parse_unix(out, text, err);
	out->tls = !strncmp(text, "tls:", strlen("tls:"));
	if (parse_tcp(out, text + (out->tls ? strlen("tls:") : 0)))
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID,
			"http: '%s' is not ADDR:PORT, [ADDR]:PORT, tls:ADDR:PORT or unix:/PATH with a "
			"numeric address and a port of at most 65535",
			lmi_printable(shown, sizeof(shown), text, strlen(text)));
}

enum lmd_status lmi_http_address_of(struct lmi_http_address *out, int fd, struct lmd_error *err)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&out->sa;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&out->sa;

	*out = (struct lmi_http_address){.n_sa = sizeof(out->sa)};
	if (getsockname(fd, (struct sockaddr *)&out->sa, &out->n_sa))
		return lmd_fail(err, LMD_INVALID, "http: the descriptor %d: %s", fd, strerror(errno));
	switch (out->sa.ss_family) {
	case AF_UNIX:
		out->path = "";
		return LMD_OK;
	case AF_INET:
		out->loopback = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
		return LMD_OK;
	case AF_INET6:
		out->loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
		return LMD_OK;
	default:
		return lmd_fail(err, LMD_INVALID,
				"http: the descriptor %d is neither a unix socket nor TCP", fd);
	}
}
