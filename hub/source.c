/* SPDX-License-Identifier: MIT
 *
 * Sources: the forms of their text. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/printable.h"
#include "hub/hub_impl.h"

#define HF     "https://huggingface.co"
#define OLLAMA "https://registry.ollama.ai"
#define PART   256 /* bytes of a repository, revision or choice */

static const char alnum[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

static const char *after(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

/* Forms that are only another spelling of hf:. */
static const char *hf_part(const char *text)
{
	static const char *const prefixes[] = {"hf:", "hf.co/", "huggingface.co/",
					       "https://hf.co/", "https://huggingface.co/"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		const char *rest = after(text, prefixes[i]);

		if (rest)
			return rest;
	}
	return NULL;
}

bool lmi_hub_is_source(const char *text)
{
	return hf_part(text) || after(text, "ollama:") || after(text, "oci:") ||
	       after(text, "http://") || after(text, "https://");
}

/* Returns whether it has 1..PART bytes of [A-Za-z0-9] and `more`, no "..", and begins with a letter
 * or digit. */
static bool is_word(const char *s, size_t n, const char *more)
{
	if (!n || n > PART || !strchr(alnum, s[0]))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((!strchr(alnum, s[i]) && !strchr(more, s[i])) ||
		    (s[i] == '.' && i + 1 < n && s[i + 1] == '.'))
			return false;
	return true;
}

static enum lmd_status bad(const char *source, const char *why, struct lmd_error *err)
{
	char show[LMI_HUB_SHOWN_URL];

	return lmd_fail(err, LMD_INVALID, "source '%s': %s", lmi_hub_shown_url(show, source), why);
}

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for a source");
}

/* USER/REPO, as far as the first of the bytes in `ends`; *rest: what follows. */
static const char *two_parts(struct lmd_arena *a, const char *s, const char *ends,
			     const char **rest)
{
	const char *slash = strchr(s, '/');
	size_t first = slash ? (size_t)(slash - s) : 0;
	size_t second = slash ? strcspn(slash + 1, ends) : 0;

	if (!slash || !is_word(s, first, "._-") || !is_word(slash + 1, second, "._-"))
		return NULL;
	*rest = slash + 1 + second;
	return lmi_arena_strndup(a, s, first + 1 + second);
}

/* The path of a page of one file: /blob/REVISION/FILE or /resolve/REVISION/FILE. */
static bool page_path(struct lmi_hub_ref *r, const char *rest, struct lmd_arena *a)
{
	const char *p = after(rest, "/blob/"), *slash;

	p = p ? p : after(rest, "/resolve/");
	slash = p ? strchr(p, '/') : NULL;
	if (!slash || !is_word(p, (size_t)(slash - p), "._-"))
		return false;
	r->version = lmi_arena_strndup(a, p, (size_t)(slash - p));
	r->choice = lmi_arena_strndup(a, slash + 1, strcspn(slash + 1, "?#"));
	return r->version && r->choice && *r->choice;
}

static enum lmd_status parse_hf(struct lmi_hub_ref *r, const char *source, const char *p,
				const struct lmi_hub_opts *o, struct lmd_arena *a,
				struct lmd_error *err)
{
	const char *rest = "";

	r->kind = LMI_HUB_HF;
	r->prefix = "hf:";
	r->base = o->hf_url ? o->hf_url : HF;
	r->version = "main";
	r->repo = two_parts(a, p, "@:/", &rest);
	if (!r->repo)
		return bad(source, "expected hf:USER/REPO[@REVISION][:QUANTISATION or :FILE]", err);
	if (*rest == '/') {
		if (rest[1] && !page_path(r, rest, a))
			return bad(source, "a repository has two parts, USER/REPO; a file follows "
					   "after a colon",
				   err);
		return LMD_OK;
	}
	if (*rest == '@') {
		size_t n = strcspn(rest + 1, ":");

		if (!is_word(rest + 1, n, "._-/"))
			return bad(source, "the revision after '@' is not a branch, tag or commit",
				   err);
		r->version = lmi_arena_strndup(a, rest + 1, n);
		rest += 1 + n;
	}
	if (*rest == ':') {
		size_t n = strlen(rest + 1);

		if (!n || n > PART || strstr(rest, ".."))
			return bad(source, "a quantisation or a file has to follow the colon", err);
		r->choice = lmi_arena_strndup(a, rest + 1, n);
	}
	return r->version && (*rest != ':' || r->choice) ? LMD_OK : no_memory(err);
}

/* REPO[:TAG|@DIGEST] */
static enum lmd_status parse_registry(struct lmi_hub_ref *r, const char *source, const char *p,
				      struct lmd_arena *a, struct lmd_error *err)
{
	size_t n = strcspn(p, ":@");
	const char *version = p[n] ? p + n + 1 : "latest";
	const char *hex = after(version, "sha256:");

	r->kind = LMI_HUB_REGISTRY;
	if (!is_word(p, n, "._-/") || p[n - 1] == '/' || memchr(p, ':', n))
		return bad(source, "the repository is missing, or has characters other than "
				   "letters, digits and ._-/",
			   err);
	if (p[n] == '@' ? !hex || !lmi_sha256_is_hex(hex)
			: !is_word(version, strlen(version), "._-"))
		return bad(source, "a tag has to follow ':', or sha256: and 64 digits '@'", err);
	r->repo = lmi_arena_strndup(a, p, n);
	r->version = lmi_arena_strndup(a, version, strlen(version));
	return r->repo && r->version ? LMD_OK : no_memory(err);
}

static enum lmd_status parse_ollama(struct lmi_hub_ref *r, const char *source, const char *p,
				    const struct lmi_hub_opts *o, struct lmd_arena *a,
				    struct lmd_error *err)
{
	enum lmd_status st = parse_registry(r, source, p, a, err);

	r->prefix = "ollama:";
	r->base = o->ollama_url ? o->ollama_url : OLLAMA;
	if (st == LMD_OK && !strchr(r->repo, '/'))
		r->repo = lmi_arena_printf(a, "library/%s", r->repo);
	return st == LMD_OK && !r->repo ? no_memory(err) : st;
}

/* Registries on this machine have no certificate. */
static bool is_local(const char *host, size_t n)
{
	size_t name = memchr(host, ':', n) ? strcspn(host, ":") : n;

	return (name == 9 && !memcmp(host, "localhost", 9)) ||
	       (name == 9 && !memcmp(host, "127.0.0.1", 9));
}

static enum lmd_status parse_oci(struct lmi_hub_ref *r, const char *source, const char *p,
				 struct lmd_arena *a, struct lmd_error *err)
{
	const char *slash = strchr(p, '/');
	size_t n = slash ? (size_t)(slash - p) : 0;

	if (!slash || !is_word(p, n, ".-:"))
		return bad(source, "expected oci:HOST/REPO[:TAG]", err);
	r->prefix = lmi_arena_printf(a, "oci:%.*s/", (int)n, p);
	r->base = lmi_arena_printf(a, "http%s://%.*s", is_local(p, n) ? "" : "s", (int)n, p);
	if (!r->prefix || !r->base)
		return no_memory(err);
	return parse_registry(r, source, slash + 1, a, err);
}

static enum lmd_status parse_url(struct lmi_hub_ref *r, const char *source, struct lmd_arena *a,
				 struct lmd_error *err)
{
	const char *host = strstr(source, "://") + 3;

	if (!*host || *host == '/' || !strchr(host, '/'))
		return bad(source, "the URL names no file", err);
	if (memchr(host, '@', strcspn(host, "/")))
		return bad(source, "a URL with a user name or password is not accepted", err);
	r->kind = LMI_HUB_URL;
	r->prefix = "";
	r->base = lmi_arena_strndup(a, source, strlen(source));
	return r->base ? LMD_OK : no_memory(err);
}

/* A blank or a control character would change requests. */
static enum lmd_status check_bytes(const char *source, struct lmd_error *err)
{
	if (strlen(source) > LMI_HUB_SOURCE_MAX)
		return lmd_fail(err, LMD_INVALID, "source: %zu bytes exceed the limit of %d",
				strlen(source), LMI_HUB_SOURCE_MAX);
	for (const char *c = source; *c; c++)
		if (*c <= ' ' || *c > '~')
			return bad(source, "a blank, control or non-ASCII character", err);
	return LMD_OK;
}

enum lmd_status lmi_hub_parse_long(struct lmi_hub_ref *out, const char *source,
				   const struct lmi_hub_opts *o, struct lmd_arena *a,
				   struct lmd_error *err)
{
	struct lmi_hub_ref *r = out;
	enum lmd_status st = check_bytes(source, err);
	const char *p = hf_part(source);

	*out = (struct lmi_hub_ref){0};
	if (st != LMD_OK)
		return st;
	if (p)
		return parse_hf(r, source, p, o, a, err);
	p = after(source, "ollama:");
	if (p)
		return parse_ollama(r, source, p, o, a, err);
	p = after(source, "oci:");
	if (p)
		return parse_oci(r, source, p, a, err);
	return parse_url(r, source, a, err);
}

static enum lmd_status check_short_name(const char *name, struct lmd_error *err)
{
	enum lmd_status st = check_bytes(name, err);

	if (st != LMD_OK || is_word(name, strlen(name), "._:-/"))
		return st;
	return bad(name, "neither a short name nor hf:..., ollama:..., oci:... or a URL", err);
}

/* Bytes of a short name without ":latest", the tag that Ollama's names have by default. */
static size_t short_length(const char *name)
{
	size_t n = strlen(name);

	return n > 7 && !strcmp(name + n - 7, ":latest") ? n - 7 : n;
}

static enum lmd_status not_in_catalogue(const char *name, struct lmd_error *err)
{
	if (strchr(name, '/'))
		return lmd_fail(err, LMD_NOTFOUND,
				"'%s' is not in the catalogue of short names; for Hugging Face: "
				"hf:%s, for Ollama's registry: ollama:%s",
				name, name, name);
	return lmd_fail(err, LMD_NOTFOUND,
			"'%s' is not in the catalogue of short names; name its source: ollama:%s, "
			"hf:USER/REPO, oci:HOST/REPO or a URL",
			name, name);
}

enum lmd_status lmi_hub_parse(struct lmi_hub_ref *out, const char *source,
			      const struct lmi_hub_opts *o, struct lmd_arena *a,
			      struct lmd_error *err)
{
	const char *found = NULL;
	enum lmd_status st;

	if (lmi_hub_is_source(source))
		return lmi_hub_parse_long(out, source, o, a, err);
	st = check_short_name(source, err);
	if (st == LMD_OK && o->catalogue) {
		const char *name = lmi_arena_strndup(a, source, short_length(source));

		st = name ? lmi_hub_catalogue_find(&found, o->catalogue, name, a, err)
			  : no_memory(err);
	}
	if (st != LMD_OK)
		return st;
	if (!found)
		return not_in_catalogue(source, err);
	if (!lmi_hub_is_source(found))
		return bad(found, "in the catalogue, but not a source", err);
	return lmi_hub_parse_long(out, found, o, a, err);
}

/* ---- names ---- */

static bool ends_with(const char *s, size_t n, const char *end)
{
	size_t k = strlen(end);

	return n > k && !strncasecmp(s + n - k, end, k);
}

/* Appends the bytes that a name can have. */
static void append(char out[LMI_HUB_NAME_MAX + 1], const char *text, size_t n)
{
	size_t k = strlen(out);

	for (size_t i = 0; i < n && k < LMI_HUB_NAME_MAX; i++)
		if (strchr(alnum, text[i]) || (k && strchr("_:/-", text[i])) ||
		    (k && text[i] == '.' && out[k - 1] != '.'))
			out[k++] = text[i];
	out[k] = 0;
}

static void append_file(char out[LMI_HUB_NAME_MAX + 1], const char *path, size_t n)
{
	const char *end = path + n, *start = end;
	char name[LMI_HUB_SOURCE_MAX + 1];

	while (start > path && start[-1] != '/')
		start--;
	(void)snprintf(name, sizeof(name), "%.*s", (int)(end - start), start);
	append(out, name, lmi_hub_stem(name));
}

/* A source may consist of nothing but bytes that a name cannot have. */
static void name_empty(char out[LMI_HUB_NAME_MAX + 1])
{
	if (!*out)
		memcpy(out, "model", 6);
}

void lmi_hub_file_default_name(char out[LMI_HUB_NAME_MAX + 1], const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	*out = 0;
	append_file(out, path, n);
	name_empty(out);
}

static void name_of(char out[LMI_HUB_NAME_MAX + 1], const struct lmi_hub_ref *r)
{
	const char *repo = r->repo ? r->repo : "";
	size_t n;

	switch (r->kind) {
	case LMI_HUB_HF:
		repo = strchr(repo, '/') + 1;
		n = strlen(repo);
		if (r->choice && ends_with(r->choice, strlen(r->choice), ".gguf")) {
			append_file(out, r->choice, strlen(r->choice));
			return;
		}
		append(out, repo, ends_with(repo, n, "-gguf") ? n - 5 : n);
		break;
	case LMI_HUB_REGISTRY:
		repo = strncmp(repo, "library/", 8) ? repo : repo + 8;
		append(out, repo, strlen(repo));
		if (strcmp(r->version, "latest") != 0 && !strchr(r->version, ':')) {
			append(out, ":", 1);
			append(out, r->version, strlen(r->version));
		}
		return;
	case LMI_HUB_URL: append_file(out, r->base, strcspn(r->base, "?#")); return;
	}
	if (r->choice) {
		append(out, ":", 1);
		append(out, r->choice, strlen(r->choice));
	}
}

enum lmd_status lmi_hub_default_name(char out[LMI_HUB_NAME_MAX + 1], const char *source,
				     struct lmd_error *err)
{
	const struct lmi_hub_opts o = {0};
	struct lmd_arena *a = NULL;
	struct lmi_hub_ref r;
	enum lmd_status st;

	*out = 0;
	if (!lmi_hub_is_source(source)) {
		st = check_short_name(source, err);
		if (st == LMD_OK)
			append(out, source, short_length(source));
	} else {
		a = lmi_arena_create(0);
		st = a ? lmi_hub_parse_long(&r, source, &o, a, err) : no_memory(err);
		if (st == LMD_OK)
			name_of(out, &r);
	}
	lmi_arena_destroy(a);
	if (st == LMD_OK)
		name_empty(out);
	return st;
}
