/* SPDX-License-Identifier: MIT
 *
 * A body is PART...--BOUNDARY--, where each part begins with --BOUNDARY and has header lines, an empty
 * line, and its content up to the line break before the next boundary (RFC 7578). */
#include "daemon/http/multipart.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BOUNDARY_MAX 70

/* Finds a parameter NAME=VALUE or NAME="VALUE" of a header; returns ptr NULL if there is none. */
static struct lmd_str parameter(struct lmd_str line, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i + n + 1 < line.len; i++) {
		const char *p = line.ptr + i, *end = line.ptr + line.len, *stop;

		if ((i && !strchr("; \t", p[-1])) || strncasecmp(p, name, n) || p[n] != '=')
			continue;
		p += n + 1;
		if (*p == '"') {
			stop = memchr(p + 1, '"', (size_t)(end - p - 1));
			if (stop)
				return (struct lmd_str){.ptr = p + 1, .len = (size_t)(stop - p - 1)};
			break;
		}
		stop = p;
		while (stop < end && !strchr("; \t", *stop))
			stop++;
		return (struct lmd_str){.ptr = p, .len = (size_t)(stop - p)};
	}
	return (struct lmd_str){0};
}

static bool begins(struct lmd_str line, const char *text)
{
	return line.len >= strlen(text) && !strncasecmp(line.ptr, text, strlen(text));
}

static const char *find(const char *p, const char *end, const char *what, size_t n)
{
	return p < end ? memmem(p, (size_t)(end - p), what, n) : NULL;
}

/* Reads the header lines of a part; returns its content, or NULL if they have no end. */
static const char *read_header(struct lmi_http_part *part, const char *p, const char *end)
{
	for (;;) {
		const char *stop = find(p, end, "\r\n", 2);
		struct lmd_str line = {.ptr = p, .len = stop ? (size_t)(stop - p) : 0};

		if (!stop)
			return NULL;
		p = stop + 2;
		if (!line.len)
			return p;
		if (!begins(line, "content-disposition:"))
			continue;
		part->name = parameter(line, "name");
		part->filename = parameter(line, "filename");
	}
}

enum lmd_status lmi_http_multipart(struct lmi_http_part parts[LMI_HTTP_PARTS_MAX], uint32_t *n,
				   const char *type, struct lmd_str body, struct lmd_error *err)
{
	struct lmd_str t = {.ptr = type, .len = type ? strlen(type) : 0}, boundary = {0};
	const char *p = body.ptr, *end = body.ptr + body.len;
	char mark[BOUNDARY_MAX + 5];
	size_t n_mark;

	*n = 0;
	if (begins(t, "multipart/form-data"))
		boundary = parameter(t, "boundary");
	if (!boundary.len || boundary.len > BOUNDARY_MAX)
		return lmd_fail(err, LMD_INVALID, "the body must be multipart/form-data with a boundary");
	n_mark = (size_t)snprintf(mark, sizeof(mark), "\r\n--%.*s", (int)boundary.len, boundary.ptr);
	if (body.len < n_mark || memcmp(p, mark + 2, n_mark - 2) != 0)
		return lmd_fail(err, LMD_INVALID, "the body does not begin with its boundary");
	p += n_mark - 2;
	while (end - p >= 2 && memcmp(p, "--", 2) != 0) {
		struct lmi_http_part part = {0};
		const char *content, *stop;

		if (*n == LMI_HTTP_PARTS_MAX)
			return lmd_fail(err, LMD_INVALID, "the body has more than %d parts",
					LMI_HTTP_PARTS_MAX);
		content = memcmp(p, "\r\n", 2) ? NULL : read_header(&part, p + 2, end);
		stop = content ? find(content - 2, end, mark, n_mark) : NULL;
		if (!stop || !part.name.ptr)
			return lmd_fail(err, LMD_INVALID, "part %u of the body has no %s", *n,
					stop ? "name" : "end");
		/* an empty content shares its line break with the boundary */
		part.content = (struct lmd_str){
			.ptr = content, .len = stop < content ? 0 : (size_t)(stop - content)};
		parts[(*n)++] = part;
		p = stop + n_mark;
	}
	return end - p >= 2 ? LMD_OK : lmd_fail(err, LMD_INVALID, "the body has no end");
}

const struct lmi_http_part *lmi_http_part_find(const struct lmi_http_part *parts, uint32_t n,
					       const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (parts[i].name.len == strlen(name) &&
		    !memcmp(parts[i].name.ptr, name, parts[i].name.len))
			return &parts[i];
	return NULL;
}
