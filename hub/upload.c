/* SPDX-License-Identifier: MIT
 *
 * A blob is an upload session of the registry: POST opens it, each PATCH adds a piece and returns the
 * address of the next, PUT with the digest closes it.  GET on that address tells how much arrived.
 * The address is kept in a file until the end, so that another process can continue. */
#include "hub/upload.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "hub/http.h"

#define PIECE      (16u << 20)
#define PIECE_MIN  (64u << 10)
#define IDLE_MAX   5    /* tries in a row in which nothing arrived */
#define CLOSE_S    900u /* a registry may compute the digest of all bytes before it answers */
#define PATH_BYTES 4096
#define WORDS      200 /* bytes of the registry's own words in a message */

void lmi_hub_registry_init(struct lmi_hub_registry *g, const struct lmi_hub_ref *r,
			   const struct lmi_hub_opts *o)
{
	*g = (struct lmi_hub_registry){.o = o, .base = r->base, .repo = r->repo, .piece = PIECE};
	(void)snprintf(g->scope, sizeof(g->scope), "repository:%s:pull,push", r->repo);
}

/* ---- requests ---- */

/* Writes what the registry said: "CODE: message", or nothing. */
static void own_words(char out[WORDS], const struct lmi_hub_reply *r)
{
	json_t *o = r->body ? json_loadb(r->body, r->n, 0, NULL) : NULL;
	const json_t *first = json_array_get(json_object_get(o, "errors"), 0);
	const char *code = json_string_value(json_object_get(first, "code"));
	const char *message = json_string_value(json_object_get(first, "message"));
	char plain[WORDS - 4], shown[WORDS - 4];

	*out = 0;
	if (code || message) {
		(void)snprintf(plain, sizeof(plain), "%s%s%s", code ? code : "",
			       code && message ? ": " : "", message ? message : "");
		(void)snprintf(out, WORDS, " (%s)",
			       lmi_printable_path(shown, sizeof(shown), plain));
	}
	json_decref(o);
}

/* The error of a reply, with what to do. */
static enum lmd_status refused(const struct lmi_hub_registry *g, const char *what,
			       const struct lmi_hub_reply *r, struct lmd_error *err)
{
	char host[LMI_HUB_HOST_MAX], words[WORDS];

	lmi_hub_host(host, g->base);
	own_words(words, r);
	switch (r->code) {
	case 401:
	case 403:
		return lmd_fail(err, LMD_DENIED,
				"%s does not let this user push to %s%s: `podman login %s` or `docker "
				"login %s` stores a user and a password",
				host, g->repo, words, host, host);
	case 404:
		return lmd_fail(err, LMD_NOTFOUND,
				"%s has no repository %s%s: create it there first, or check the name",
				host, g->repo, words);
	case 405:
		return lmd_fail(err, LMD_UNSUPPORTED, "%s does not accept uploads%s", host, words);
	case 413:
		return lmd_fail(err, LMD_IO,
				"%s: %s refuses %llu bytes at once%s: raise the limit for the size of "
				"requests of the registry or of the proxy before it",
				what, host, (unsigned long long)g->piece, words);
	case 429:
		return lmd_fail(err, LMD_BUSY,
				"%s: %s had too many requests%s: the same command continues later", what,
				host, words);
	case 507:
		return lmd_fail(err, LMD_IO,
				"%s: the disk of %s is full%s: when it has space, the same command "
				"continues",
				what, host, words);
	default:
		return lmd_fail(err, LMD_IO, "%s: %s answered with code %ld%s", what, host, r->code,
				words);
	}
}

/* Whether the URL is on the registry itself: others do not get the login. */
static bool is_own(const struct lmi_hub_registry *g, const char *url)
{
	size_t n = strlen(g->base);

	return !strncmp(url, g->base, n) && (url[n] == '/' || url[n] == '?' || !url[n]);
}

/* Makes a request and, if the registry asks for it, logs in and repeats it once. */
static enum lmd_status ask(struct lmi_hub_registry *g, struct lmi_hub_request *q,
			   struct lmi_hub_reply *r, struct lmd_error *err)
{
	bool own = is_own(g, q->url);
	enum lmd_status st;

	q->authorization = own ? g->login : NULL;
	st = lmi_hub_request(r, q, g->o, err);
	if (st != LMD_OK || r->code != 401 || !own || !*r->challenge)
		return st;
	lmi_hub_reply_fini(r);
	st = lmi_hub_registry_login(g->login, g->base, r->challenge, g->scope, g->o, err);
	return st == LMD_OK ? lmi_hub_request(r, q, g->o, err) : st;
}

/* Does the same, and tries again after errors that may pass. */
static enum lmd_status ask_again(struct lmi_hub_registry *g, struct lmi_hub_request *q,
				 struct lmi_hub_reply *r, struct lmd_error *err)
{
	for (unsigned n = 1;; n++) {
		enum lmd_status st = ask(g, q, r, err);

		if (n == IDLE_MAX || !lmi_hub_may_pass(st, r->code) || r->code == 507)
			return st;
		lmi_hub_reply_fini(r);
		if (!lmi_hub_wait(n, r->retry_after_s))
			return lmd_fail(err, LMD_CANCELLED, "cancelled");
	}
}

/* ---- the session ---- */

struct session {
	struct lmi_hub_registry *g;
	const struct lmi_hub_blob *b;
	char url[sizeof(((struct lmi_hub_reply *)0)->location)]; /* of the next request; "": none */
	uint64_t at;              /* bytes that the registry has */
	char path[PATH_BYTES];    /* of the file that keeps the URL; "": none */
};

static void report(struct session *s, uint64_t done)
{
	if (s->g->progress)
		s->g->progress(s->g->arg, done);
}

static void on_sent(void *arg, uint64_t n)
{
	struct session *s = arg;

	report(s, s->at + n);
}

/* The file's name is a digest of registry, repository and blob. */
static void name_file(struct session *s)
{
	uint8_t digest[LMI_SHA256_BYTES];
	char hex[LMI_SHA256_HEX];
	struct lmi_sha256 h;
	int n;

	s->path[0] = 0;
	if (!s->g->o->upload_dir || !lmi_sha256_init(&h))
		return;
	lmi_sha256_update(&h, s->g->base, strlen(s->g->base) + 1);
	lmi_sha256_update(&h, s->g->repo, strlen(s->g->repo) + 1);
	lmi_sha256_update(&h, s->b->sha256, strlen(s->b->sha256));
	if (!lmi_sha256_final(&h, digest))
		return;
	lmi_sha256_hex(hex, digest);
	n = snprintf(s->path, sizeof(s->path), "%s/%.32s", s->g->o->upload_dir, hex);
	if (n < 0 || (size_t)n >= sizeof(s->path))
		s->path[0] = 0;
}

/* Only a help for later: without the file an upload begins again. */
static void remember(struct session *s)
{
	struct lmi_new_file f;

	if (!*s->path || lmi_new_file_open(&f, s->path, 0600, NULL) != LMD_OK)
		return;
	if (lmi_new_file_write(&f, s->url, strlen(s->url), NULL) == LMD_OK)
		(void)lmi_new_file_commit(&f, NULL);
	lmi_new_file_abort(&f);
}

static void forget(struct session *s)
{
	if (*s->path)
		(void)unlink(s->path);
	s->url[0] = 0;
	s->at = 0;
}

static void recall(struct session *s)
{
	char *text = NULL;
	size_t n;

	if (!*s->path || lmi_file_read_all(s->path, sizeof(s->url) - 1, &text, &n, NULL) != LMD_OK)
		return;
	if (!strncmp(text, "https://", 8) ||
	    (!strncmp(text, "http://", 7) && strncmp(s->g->base, "https://", 8) != 0))
		(void)snprintf(s->url, sizeof(s->url), "%s", text);
	lmi_free(text);
}

/* Takes over what a reply says about the session. */
static void follow(struct session *s, const struct lmi_hub_reply *r)
{
	if (*r->location)
		(void)snprintf(s->url, sizeof(s->url), "%s", r->location);
	if (r->chunk_min > s->g->piece && r->chunk_min <= (1u << 30))
		s->g->piece = r->chunk_min;
}

/* Opens a session. */
static enum lmd_status open_session(struct session *s, struct lmd_error *err)
{
	const struct lmi_hub_body body = {.method = "POST"};
	char url[LMI_HUB_URL_MAX];
	struct lmi_hub_request q = {.url = url, .body = &body};
	struct lmi_hub_reply r;
	enum lmd_status st;

	forget(s);
	(void)snprintf(url, sizeof(url), "%s/v2/%s/blobs/uploads/", s->g->base, s->g->repo);
	st = ask_again(s->g, &q, &r, err);
	if (st != LMD_OK)
		return st;
	if (r.code != 202 || !*r.location)
		st = r.code == 202 ? lmd_fail(err, LMD_IO, "%s: the registry names no address for the upload",
					      s->b->name)
				   : refused(s->g, s->b->name, &r, err);
	else
		follow(s, &r);
	lmi_hub_reply_fini(&r);
	return st;
}

/* Asks how much arrived; a session that ended leaves url empty. */
static enum lmd_status ask_status(struct session *s, struct lmd_error *err)
{
	struct lmi_hub_request q = {.url = s->url};
	struct lmi_hub_reply r;
	enum lmd_status st = ask_again(s->g, &q, &r, err);

	if (st != LMD_OK)
		return st;
	if (r.code == 204 || r.code == 202 || r.code == 200) {
		/* "0-0" stands for one byte and, in many registries, for none */
		s->at = r.has_range && r.range_end ? r.range_end + 1 : 0;
		follow(s, &r);
		if (s->at > s->b->size)
			forget(s);
	} else if (r.code == 404 || r.code == 405 || r.code == 410 || r.code == 400) {
		forget(s);
	} else {
		st = refused(s->g, s->b->name, &r, err);
	}
	lmi_hub_reply_fini(&r);
	return st;
}

/* Sends the next piece.  LMD_OK: there was a reply, of any code. */
static enum lmd_status send_piece(struct session *s, struct lmi_hub_reply *r, struct lmd_error *err)
{
	uint64_t left = s->b->size - s->at, n = left < s->g->piece ? left : s->g->piece;
	char range[64];
	const struct lmi_hub_body body = {
		.method = "PATCH",
		.type = "application/octet-stream",
		.range = range,
		.file = s->b->file,
		.at = s->at,
		.bytes = s->b->bytes ? (const char *)s->b->bytes + s->at : NULL,
		.n = n,
		.sent = on_sent,
		.arg = s,
	};
	struct lmi_hub_request q = {.url = s->url, .body = &body};
	enum lmd_status st;

	(void)snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)s->at,
		       (unsigned long long)(s->at + n - 1));
	st = ask(s->g, &q, r, err);
	if (st != LMD_OK || r->code < 200 || r->code > 204)
		return st;
	/* a registry may have kept less than was sent */
	s->at = r->has_range && r->range_end + 1 > s->at && r->range_end + 1 < s->at + n
			? r->range_end + 1
			: s->at + n;
	follow(s, r);
	remember(s);
	report(s, s->at);
	return LMD_OK;
}

/* Whether smaller pieces may help; they become smaller. */
static bool smaller_pieces(struct lmi_hub_registry *g)
{
	if (g->piece <= PIECE_MIN)
		return false;
	g->piece /= 2;
	return true;
}

/* Sends all pieces. */
static enum lmd_status send_all(struct session *s, struct lmd_error *err)
{
	unsigned n_idle = 0;
	uint64_t most = s->at;

	while (s->at < s->b->size) {
		struct lmi_hub_reply r;
		enum lmd_status st = *s->url ? LMD_OK : open_session(s, err);
		bool again;

		if (st != LMD_OK)
			return st;
		st = send_piece(s, &r, err);
		if (st == LMD_OK && r.code >= 200 && r.code <= 204) {
			lmi_hub_reply_fini(&r);
			n_idle = s->at > most ? 0 : n_idle;
			most = s->at > most ? s->at : most;
			continue;
		}
		n_idle += r.code == 413 ? 0 : 1;
		again = (lmi_hub_may_pass(st, r.code) && r.code != 507) || r.code == 404 ||
			r.code == 410 || r.code == 416 ||
			(st == LMD_OK && r.code == 413 && smaller_pieces(s->g));
		if (st == LMD_OK && (!again || n_idle == IDLE_MAX))
			st = refused(s->g, s->b->name, &r, err);
		lmi_hub_reply_fini(&r);
		if (!again || n_idle == IDLE_MAX)
			return st;
		if (st == LMD_IO) /* some proxies cut off a body that is too large */
			(void)smaller_pieces(s->g);
		if (n_idle && (r.code != 416 || n_idle > 1) && !lmi_hub_wait(n_idle, r.retry_after_s))
			return lmd_fail(err, LMD_CANCELLED, "cancelled");
		st = *s->url ? ask_status(s, err) : LMD_OK;
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

/* Closes the session.  *again: the registry lost it. */
static enum lmd_status close_session(struct session *s, bool *again, struct lmd_error *err)
{
	const struct lmi_hub_body body = {.method = "PUT",
					  .type = "application/octet-stream",
					  .silence_s = CLOSE_S};
	char url[LMI_HUB_URL_MAX];
	struct lmi_hub_request q = {.url = url, .body = &body};
	struct lmi_hub_reply r;
	enum lmd_status st;

	*again = false;
	(void)snprintf(url, sizeof(url), "%s%cdigest=sha256:%s", s->url,
		       strchr(s->url, '?') ? '&' : '?', s->b->sha256);
	st = ask_again(s->g, &q, &r, err);
	if (st != LMD_OK)
		return st;
	if (r.code == 404 || r.code == 410 || r.code == 416)
		*again = true;
	else if (r.code == 400)
		st = lmd_fail(err, LMD_CORRUPT,
			      "%s: the registry got other bytes than were announced; did the file change "
			      "meanwhile? The same command begins this file again",
			      s->b->name);
	else if (r.code < 200 || r.code > 204)
		st = refused(s->g, s->b->name, &r, err);
	if (st == LMD_OK || st == LMD_CORRUPT)
		forget(s);
	lmi_hub_reply_fini(&r);
	return st;
}

/* ---- blobs and manifests ---- */

static enum lmd_status exists(struct lmi_hub_registry *g, const struct lmi_hub_blob *b, bool *yes,
			      struct lmd_error *err)
{
	char url[LMI_HUB_URL_MAX];
	struct lmi_hub_request q = {.url = url, .head = true};
	struct lmi_hub_reply r;
	enum lmd_status st;

	(void)snprintf(url, sizeof(url), "%s/v2/%s/blobs/sha256:%s", g->base, g->repo, b->sha256);
	st = ask_again(g, &q, &r, err);
	*yes = st == LMD_OK && r.code == 200;
	if (st == LMD_OK && r.code != 200 && r.code != 404)
		st = refused(g, b->name, &r, err);
	if (st == LMD_OK)
		lmi_hub_reply_fini(&r);
	return st;
}

enum lmd_status lmi_hub_upload_blob(struct lmi_hub_registry *g, const struct lmi_hub_blob *b,
				    bool *sent, struct lmd_error *err)
{
	struct session s = {.g = g, .b = b};
	bool yes, again = true;
	enum lmd_status st = exists(g, b, &yes, err);

	*sent = st == LMD_OK && !yes;
	if (!*sent)
		return st;
	name_file(&s);
	recall(&s);
	if (*s.url)
		st = ask_status(&s, err);
	for (unsigned n = 0; n < 2 && again && st == LMD_OK; n++) {
		if (!*s.url)
			st = open_session(&s, err);
		if (st == LMD_OK)
			st = send_all(&s, err);
		if (st == LMD_OK)
			st = close_session(&s, &again, err);
	}
	return st == LMD_OK && again ? lmd_fail(err, LMD_IO, "%s: the registry loses its uploads", b->name)
				     : st;
}

enum lmd_status lmi_hub_upload_manifest(struct lmi_hub_registry *g, const char *version,
					const char *type, const char *text, struct lmd_error *err)
{
	const struct lmi_hub_body body = {
		.method = "PUT", .type = type, .bytes = text, .n = strlen(text)};
	char url[LMI_HUB_URL_MAX];
	struct lmi_hub_request q = {.url = url, .body = &body};
	struct lmi_hub_reply r;
	enum lmd_status st;

	(void)snprintf(url, sizeof(url), "%s/v2/%s/manifests/%s", g->base, g->repo, version);
	st = ask_again(g, &q, &r, err);
	if (st != LMD_OK)
		return st;
	if (r.code < 200 || r.code > 204)
		st = refused(g, "the manifest", &r, err);
	lmi_hub_reply_fini(&r);
	return st;
}
