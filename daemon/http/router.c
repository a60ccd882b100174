/* SPDX-License-Identifier: MIT
 *
 * Finds the route of a request.  Of several routes that match, the one with the longest literal
 * text wins, so that /v1/models/default can stand beside /v1/models/{model}. */
#include <stdio.h>
#include <string.h>

#include "daemon/http/http_impl.h"

const char *const lmi_http_method_names[LMI_HTTP_N_METHOD] = {
	[LMI_HTTP_GET] = "GET",   [LMI_HTTP_HEAD] = "HEAD",     [LMI_HTTP_POST] = "POST",
	[LMI_HTTP_PUT] = "PUT",   [LMI_HTTP_DELETE] = "DELETE", [LMI_HTTP_OPTIONS] = "OPTIONS",
};

/* Returns the number of literal characters if the path matches, otherwise -1. */
static int match(const char *pattern, const struct lmd_str *path, struct lmd_str *members)
{
	const char *p = path->ptr, *end = p + path->len;
	uint32_t n = 0;
	int literal = 0;

	while (*pattern) {
		if (*pattern == '{') {
			const char *slash;

			pattern = strchr(pattern, '}') + 1;
			slash = *pattern ? memchr(p, '/', (size_t)(end - p)) : NULL;
			slash = slash ? slash : end;
			if (slash == p || n == LMI_HTTP_MEMBERS)
				return -1;
			members[n++] = (struct lmd_str){.ptr = p, .len = (size_t)(slash - p)};
			p = slash;
			continue;
		}
		if (p == end || *p++ != *pattern++)
			return -1;
		literal++;
	}
	return p == end ? literal : -1;
}

/* Returns how many characters of the path are the same as those of a pattern. */
static int common(const char *pattern, const struct lmd_str *path)
{
	size_t n = 0;

	while (n < path->len && pattern[n] && pattern[n] != '{' && pattern[n] == path->ptr[n])
		n++;
	return (int)n;
}

/* Returns the API that has the path most similar to one that no route matches. */
static const struct lmi_http_api *similar_api(const struct lmi_http_routes *const *list,
					      const struct lmd_str *path)
{
	const struct lmi_http_api *api = NULL;
	int best = -1;

	for (; *list; list++) {
		for (uint32_t i = 0; i < (*list)->n; i++) {
			int same = common((*list)->v[i].path, path);

			if (same <= best)
				continue;
			best = same;
			api = (*list)->api;
		}
	}
	return api;
}

void lmi_http_route_find(struct lmi_http_found *out, const struct lmi_http_routes *const *all,
			 enum lmi_http_method method, const struct lmd_str *path)
{
	struct lmd_str members[LMI_HTTP_MEMBERS] = {{0}};
	int longest = -1;

	*out = (struct lmi_http_found){0};
	for (const struct lmi_http_routes *const *list = all; *list; list++) {
		for (uint32_t i = 0; i < (*list)->n; i++) {
			const struct lmi_http_route *r = &(*list)->v[i];
			int n = match(r->path, path, members);
			bool fits = r->method == method ||
				    (method == LMI_HTTP_HEAD && r->method == LMI_HTTP_GET);

			if (n < 0)
				continue;
			if (!out->allowed)
				out->api = (*list)->api;
			out->allowed |= 1u << r->method;
			if (!fits || n < longest || (n == longest && r->method != method))
				continue;
			longest = n;
			out->route = r;
			out->api = (*list)->api;
			memcpy(out->members, members, sizeof(members));
		}
	}
	if (!out->allowed)
		out->api = similar_api(all, path);
	if (out->allowed)
		out->allowed |= 1u << LMI_HTTP_OPTIONS;
	if (out->allowed & 1u << LMI_HTTP_GET)
		out->allowed |= 1u << LMI_HTTP_HEAD;
}

void lmi_http_methods_text(char *buf, size_t n, uint32_t set)
{
	size_t at = 0;

	*buf = 0;
	for (int m = 0; m < LMI_HTTP_N_METHOD; m++)
		if (set & 1u << m && at < n)
			at += (size_t)snprintf(buf + at, n - at, "%s%s", at ? ", " : "",
					       lmi_http_method_names[m]);
}
