/* SPDX-License-Identifier: MIT
 *
 * Which web pages may use the APIs.
 *
 * A browser sends requests for any page to any address.  Two checks keep pages away: the origin of
 * a page must be one of those configured, and the name in Host must be one of this machine if the
 * listener can only be reached from it, since a page can make its own name resolve to a loopback
 * address (DNS rebinding). */
#include <string.h>
#include <strings.h>

#include "daemon/http/http_impl.h"

/* Returns the length of a host without its port. */
static size_t name_length(const struct lmd_str *host)
{
	size_t n = host->len;

	while (n && host->ptr[n - 1] >= '0' && host->ptr[n - 1] <= '9')
		n--;
	return n && host->ptr[n - 1] == ':' && (*host->ptr != '[' || host->ptr[n - 2] == ']')
		       ? n - 1
		       : host->len;
}

bool lmi_http_host_is_local(const struct lmd_str *host)
{
	static const char *const names[] = {"localhost", "localhost.", "[::1]"};
	static const char tail[] = ".localhost";
	size_t n = name_length(host), dots = 0;

	for (size_t i = 0; i < LMD_LEN(names); i++)
		if (n == strlen(names[i]) && !strncasecmp(host->ptr, names[i], n))
			return true;
	if (n > strlen(tail) && !strncasecmp(host->ptr + n - strlen(tail), tail, strlen(tail)))
		return true;
	/* 127.0.0.0/8 */
	for (size_t i = 0; i < n; i++) {
		if (host->ptr[i] != '.' && (host->ptr[i] < '0' || host->ptr[i] > '9'))
			return false;
		dots += host->ptr[i] == '.';
	}
	return n > 4 && dots == 3 && !strncmp(host->ptr, "127.", 4);
}

const char *lmi_http_origin_allowed(const char *const *origins, uint32_t n,
				    const struct lmd_str *origin)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(origins[i], "*") ||
		    (strlen(origins[i]) == origin->len &&
		     !strncasecmp(origins[i], origin->ptr, origin->len)))
			return origins[i];
	return NULL;
}

bool lmi_http_origin_is_host(const struct lmd_str *origin, const struct lmd_str *host)
{
	static const char *const schemes[] = {"http://", "https://"};

	for (size_t i = 0; i < LMD_LEN(schemes); i++) {
		size_t n = strlen(schemes[i]);

		if (host->len && origin->len == n + host->len &&
		    !strncasecmp(origin->ptr, schemes[i], n) &&
		    !strncasecmp(origin->ptr + n, host->ptr, host->len))
			return true;
	}
	return false;
}
