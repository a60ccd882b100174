/* SPDX-License-Identifier: MIT
 *
 * A file at a URL. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/printable.h"
#include "hub/http.h"
#include "hub/hub_impl.h"

/* The beginning of the file beside the model. */
struct beginning {
	char text[sizeof(LMI_HUB_SIGNATURE_FIRST) - 1];
	size_t n;
	uint64_t size; /* of the whole file; 0: unknown */
};

/* Keeps the first bytes, and ends the transfer when there are enough of them. */
static enum lmd_status on_beginning(void *arg, const struct lmi_hub_reply *r, const void *data, size_t n,
				    struct lmd_error *err)
{
	struct beginning *b = arg;
	size_t left = sizeof(b->text) - b->n;

	(void)err;
	b->size = r->size;
	memcpy(b->text + b->n, data, n < left ? n : left);
	b->n += n < left ? n : left;
	return n < left ? LMD_OK : LMD_UNSUPPORTED;
}

/* Finds the signed manifest beside the file.  A URL with a query is one of that file alone.  Some
 * servers answer every path with a page: what does not begin as a manifest is none. */
static enum lmd_status find_manifest(struct lmi_hub_model *m, const struct lmi_hub_opts *o,
				     struct lmd_error *err)
{
	const struct lmi_hub_file *of = &m->files[0];
	struct lmi_hub_file *f = lmi_arena_array(m->arena, 1, sizeof(*f));
	struct beginning b = {.n = 0};
	struct lmi_hub_request q = {.sink = on_beginning, .arg = &b};
	struct lmi_hub_reply reply;
	enum lmd_status st;

	if (!f)
		return lmd_fail(err, LMD_NOMEM, "no memory for a file");
	if (strpbrk(of->url, "?#"))
		return LMD_OK;
	f->name = lmi_arena_printf(m->arena, "%s" LMI_HUB_SIGNATURE_SUFFIX, of->name);
	f->url = q.url = lmi_arena_printf(m->arena, "%s" LMI_HUB_SIGNATURE_SUFFIX, of->url);
	if (!f->name || !f->url)
		return lmd_fail(err, LMD_NOMEM, "no memory for a file");
	st = lmi_hub_request(&reply, &q, o, err);
	if (st == LMD_OK)
		lmi_hub_reply_fini(&reply);
	else if (b.n < sizeof(b.text))
		return st;
	f->size = b.size;
	if (b.n == sizeof(b.text) && !memcmp(b.text, LMI_HUB_SIGNATURE_FIRST, sizeof(b.text)) && f->size &&
	    f->size <= LMI_HUB_SIGNATURE_MAX)
		m->manifest = f;
	return LMD_OK;
}

enum lmd_status lmi_hub_url_files(struct lmi_hub_model *m, const struct lmi_hub_ref *r,
				  const struct lmi_hub_opts *o, struct lmd_error *err)
{
	struct lmi_hub_file *f = lmi_arena_array(m->arena, 1, sizeof(*f));
	const struct lmi_hub_request q = {.url = r->base, .head = true};
	size_t end = strcspn(r->base, "?#"), start = end;
	char shown[LMI_HUB_SHOWN_URL];
	struct lmi_hub_reply reply;
	enum lmd_status st;

	while (start && r->base[start - 1] != '/')
		start--;
	if (end - start < 6 || strncasecmp(r->base + end - 5, ".gguf", 5) != 0)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: the name of the file does not end in .gguf",
				lmi_hub_shown_url(shown, r->base));
	st = lmi_hub_get(&reply, &q, o, false, err);
	if (st != LMD_OK)
		return st;
	lmi_hub_reply_fini(&reply);
	m->source = r->base;
	if (!f)
		return lmd_fail(err, LMD_NOMEM, "no memory for a file");
	f->name = lmi_arena_strndup(m->arena, r->base + start, end - start);
	f->url = r->base;
	f->size = m->size = reply.size;
	m->files = f;
	m->n_files = 1;
	return f->name ? find_manifest(m, o, err) : lmd_fail(err, LMD_NOMEM, "no memory for a file");
}

const char *lmi_hub_shown_url(char buf[LMI_HUB_SHOWN_URL], const char *url)
{
	size_t end = strcspn(url, "?#"), scheme, host, authority;
	const char *slashes = strstr(url, "://");
	char plain[LMI_HUB_SHOWN_URL];

	scheme = slashes && slashes < url + end ? (size_t)(slashes - url) + 3 : 0;
	host = scheme;
	authority = scheme + strcspn(url + scheme, "/?#");
	for (size_t i = scheme; scheme && i < authority; i++) /* a password may have an @ */
		if (url[i] == '@')
			host = i + 1;
	(void)snprintf(plain, sizeof(plain), "%.*s%.*s", (int)scheme, url, (int)(end - host),
		       url + host);
	return lmi_printable_path(buf, LMI_HUB_SHOWN_URL, plain);
}

const char *lmi_hub_url(struct lmd_arena *a, const char *base, const char *path)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = strlen(base), k = n + 1;
	char *url = lmi_arena_alloc(a, n + 3 * strlen(path) + 2, 1);

	if (!url)
		return NULL;
	memcpy(url, base, n);
	url[n] = '/';
	for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
		if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/",
			   *p)) {
			url[k++] = (char)*p;
		} else {
			url[k++] = '%';
			url[k++] = hex[*p >> 4];
			url[k++] = hex[*p & 15];
		}
	}
	return url;
}
