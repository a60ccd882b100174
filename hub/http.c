/* SPDX-License-Identifier: MIT */
#include "hub/http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "hub/hub_impl.h"
#include "llamad/version.h"

#define CONNECT_S      30L
#define SILENCE_S      60L /* a transfer without a byte for so long is broken off */
#define POST_SILENCE_S 10 /* how long a collector may take to answer */
#define REDIRECTS_MAX  10L
#define TRIES          3
#define WAIT_MAX_S     60

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode global_status;

static void init_once(void)
{
	global_status = curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct exchange {
	CURL *curl;
	const struct lmi_hub_request *q;
	struct lmi_hub_reply *r;
	size_t cap;
	uint64_t n_sent;    /* bytes of the request's body */
	enum lmd_status st; /* why a callback ended the transfer */
	struct lmd_error *err;
	char reason[CURL_ERROR_SIZE];
};

/* ---- headers ---- */

/* Returns the value if the line is this header, without blanks around it. */
static const char *value_of(const char *line, size_t n, const char *name, size_t *n_value)
{
	size_t k = strlen(name);

	if (n <= k || strncasecmp(line, name, k) != 0 || line[k] != ':')
		return NULL;
	line += k + 1;
	n -= k + 1;
	while (n && (*line == ' ' || *line == '\t'))
		line++, n--;
	while (n && strchr("\r\n \t", line[n - 1]))
		n--;
	*n_value = n;
	return line;
}

static void keep(char *out, size_t cap, const char *v, size_t n)
{
	if (n < cap) {
		memcpy(out, v, n);
		out[n] = 0;
	}
}

/* "bytes 100-199/1000" */
static void content_range(struct lmi_hub_reply *r, const char *v, size_t n)
{
	char text[96] = "";
	unsigned long long from, to, size;

	keep(text, sizeof(text), v, n);
	if (sscanf(text, "bytes %20llu-%20llu/%20llu", &from, &to, &size) == 3) {
		r->from = from;
		r->size = size;
	}
}

/* <URL>; rel="next" */
static void link_header(struct lmi_hub_reply *r, const char *v, size_t n)
{
	const char *end = memchr(v, '>', n);

	if (n > 2 && *v == '<' && end && memmem(end, n - (size_t)(end - v), "rel=\"next\"", 10))
		keep(r->next, sizeof(r->next), v + 1, (size_t)(end - v - 1));
}

/* "0-1023", in a reply about an upload */
static void upload_range(struct lmi_hub_reply *r, const char *v, size_t n)
{
	char text[64] = "";
	unsigned long long from, to;

	keep(text, sizeof(text), v, n);
	if (sscanf(strncmp(text, "bytes=", 6) ? text : text + 6, "%20llu-%20llu", &from, &to) == 2 && from == 0) {
		r->range_end = to;
		r->has_range = true;
	}
}

static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
	struct exchange *x = arg;
	struct lmi_hub_reply *r = x->r;
	const char *v;
	size_t k;

	if (n > 5 && !memcmp(line, "HTTP/", 5)) { /* a new reply, after a redirect */
		r->from = r->size = 0;
		r->etag[0] = r->next[0] = r->challenge[0] = r->location[0] = 0;
		r->retry_after_s = 0;
		r->has_range = false;
	} else if ((v = value_of(line, n, "etag", &k))) {
		keep(r->etag, sizeof(r->etag), v, k);
	} else if ((v = value_of(line, n, "content-range", &k))) {
		content_range(r, v, k);
	} else if ((v = value_of(line, n, "content-length", &k)) && !r->size) {
		r->size = strtoull(v, NULL, 10);
	} else if ((v = value_of(line, n, "link", &k))) {
		link_header(r, v, k);
	} else if ((v = value_of(line, n, "www-authenticate", &k))) {
		keep(r->challenge, sizeof(r->challenge), v, k);
	} else if ((v = value_of(line, n, "retry-after", &k))) {
		r->retry_after_s = (unsigned)strtoul(v, NULL, 10);
	} else if ((v = value_of(line, n, "location", &k))) {
		keep(r->location, sizeof(r->location), v, k);
	} else if ((v = value_of(line, n, "range", &k))) {
		upload_range(r, v, k);
	} else if ((v = value_of(line, n, "oci-chunk-min-length", &k))) {
		r->chunk_min = strtoull(v, NULL, 10);
	}
	return one * n;
}

/* ---- body ---- */

static enum lmd_status append(struct exchange *x, const void *data, size_t n)
{
	struct lmi_hub_reply *r = x->r;
	char url[LMI_HUB_SHOWN_URL];

	if (n > LMI_HUB_BODY_MAX - r->n)
		return lmd_fail(x->err, LMD_CORRUPT, "%s: the reply exceeds the limit of %u bytes",
				lmi_hub_shown_url(url, x->q->url), LMI_HUB_BODY_MAX);
	if (r->n + n + 1 > x->cap) {
		size_t cap = 2 * (r->n + n + 1);
		char *more = lmi_realloc(r->body, cap, 1);

		if (!more)
			return lmd_fail(x->err, LMD_NOMEM, "no memory for a reply of %zu bytes",
					cap);
		r->body = more;
		x->cap = cap;
	}
	memcpy(r->body + r->n, data, n);
	r->n += n;
	r->body[r->n] = 0;
	return LMD_OK;
}

static size_t on_body(char *data, size_t one, size_t n, void *arg)
{
	struct exchange *x = arg;

	(void)curl_easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &x->r->code);
	n *= one;
	if (x->q->sink && (x->r->code == 200 || x->r->code == 206))
		x->st = x->q->sink(x->q->arg, x->r, data, n, x->err);
	else
		x->st = append(x, data, n);
	return x->st == LMD_OK ? n : 0;
}

/* ---- what is sent ---- */

/* A piece of the request's body. */
static size_t on_read(char *out, size_t one, size_t n, void *arg)
{
	struct exchange *x = arg;
	const struct lmi_hub_body *b = x->q->body;
	uint64_t left = b->n - x->n_sent;

	n = one * n < left ? one * n : (size_t)left;
	if (b->file)
		x->st = lmi_file_read(b->file, b->at + x->n_sent, out, n, x->err);
	else if (n)
		memcpy(out, (const char *)b->bytes + x->n_sent, n);
	if (x->st != LMD_OK) {
		x->st = LMD_CORRUPT; /* trying again does not help */
		return CURL_READFUNC_ABORT;
	}
	x->n_sent += n;
	if (b->sent)
		b->sent(b->arg, x->n_sent);
	return n;
}

/* libcurl sends the body again on another connection. */
static int on_seek(void *arg, curl_off_t at, int origin)
{
	struct exchange *x = arg;

	if (origin != SEEK_SET || at < 0 || (uint64_t)at > x->q->body->n)
		return CURL_SEEKFUNC_FAIL;
	x->n_sent = (uint64_t)at;
	return CURL_SEEKFUNC_OK;
}

/* libcurl calls it at least once a second. */
static int on_tick(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct exchange *x = arg;

	(void)a, (void)b, (void)c, (void)d;
	if (lmi_cancel_step(1))
		return 0;
	x->st = lmd_fail(x->err, LMD_CANCELLED, "cancelled");
	return 1;
}

/* ---- the request ---- */

static void set_protocols(CURL *c, bool https)
{
#if LIBCURL_VERSION_NUM >= 0x075500
	(void)curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, https ? "https" : "http,https");
#else
	(void)curl_easy_setopt(c, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	(void)curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS,
			       https ? (long)CURLPROTO_HTTPS
				     : (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

/* Returns false if memory runs out. */
static bool add_header(struct curl_slist **list, const char *name, const char *value)
{
	size_t n = strlen(name) + strlen(value) + 3;
	char *line = lmi_alloc(n, 1);
	struct curl_slist *more = NULL;

	if (line) {
		(void)snprintf(line, n, "%s: %s", name, value);
		more = curl_slist_append(*list, line);
		lmi_free(line);
	}
	if (more)
		*list = more;
	return more != NULL;
}

/* A header of ours is not sent to another host after a redirect. */
static bool headers_of(struct curl_slist **list, const struct lmi_hub_request *q)
{
	char bearer[2200];
	char range[48];

	if (q->accept && !add_header(list, "Accept", q->accept))
		return false;
	if (q->from) {
		(void)snprintf(range, sizeof(range), "bytes=%llu-", (unsigned long long)q->from);
		if (!add_header(list, "Range", range) ||
		    (q->etag && *q->etag && !add_header(list, "If-Range", q->etag)))
			return false;
	}
	/* without Expect a body is sent at once; libcurl would wait a second for an answer */
	if (q->body && (!add_header(list, "Expect", "") ||
			(q->body->type && !add_header(list, "Content-Type", q->body->type)) ||
			(q->body->range && !add_header(list, "Content-Range", q->body->range))))
		return false;
	if (q->authorization && *q->authorization)
		return add_header(list, "Authorization", q->authorization);
	if (!q->bearer)
		return true;
	(void)snprintf(bearer, sizeof(bearer), "Bearer %s", q->bearer);
	return add_header(list, "Authorization", bearer);
}

static void set_body(struct exchange *x, const struct lmi_hub_body *b)
{
	CURL *c = x->curl;

	(void)curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
	(void)curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, b->method);
	(void)curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)b->n);
	(void)curl_easy_setopt(c, CURLOPT_READFUNCTION, on_read);
	(void)curl_easy_setopt(c, CURLOPT_READDATA, x);
	(void)curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, on_seek);
	(void)curl_easy_setopt(c, CURLOPT_SEEKDATA, x);
	if (b->silence_s)
		(void)curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)b->silence_s);
}

static void set_options(struct exchange *x, const struct lmi_hub_opts *o)
{
	CURL *c = x->curl;

	set_protocols(c, !strncmp(x->q->url, "https:", 6));
	(void)curl_easy_setopt(c, CURLOPT_URL, x->q->url);
	(void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
	(void)curl_easy_setopt(c, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
	(void)curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	(void)curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
	(void)curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, SILENCE_S);
	(void)curl_easy_setopt(c, CURLOPT_USERAGENT, "llamad/" LMD_VERSION);
	(void)curl_easy_setopt(c, CURLOPT_ERRORBUFFER, x->reason);
	(void)curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(c, CURLOPT_HEADERDATA, x);
	(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(c, CURLOPT_WRITEDATA, x);
	(void)curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
	(void)curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_tick);
	(void)curl_easy_setopt(c, CURLOPT_XFERINFODATA, x);
	(void)curl_easy_setopt(c, CURLOPT_NOBODY, x->q->head ? 1L : 0L);
	if (o->ca_file)
		(void)curl_easy_setopt(c, CURLOPT_CAINFO, o->ca_file);
	if (o->rate)
		(void)curl_easy_setopt(c, CURLOPT_MAX_RECV_SPEED_LARGE, (curl_off_t)o->rate);
	if (x->q->body)
		set_body(x, x->q->body);
}

/* Makes the address of Location absolute.  One that leaves https is dropped. */
static void resolve_location(struct lmi_hub_reply *r, const char *url)
{
	CURLU *u = *r->location ? curl_url() : NULL;
	char *full = NULL;

	if (u && !curl_url_set(u, CURLUPART_URL, url, 0) &&
	    !curl_url_set(u, CURLUPART_URL, r->location, 0))
		(void)curl_url_get(u, CURLUPART_URL, &full, 0);
	*r->location = 0;
	if (full && (!strncmp(full, "https://", 8) ||
		     (!strncmp(full, "http://", 7) && strncmp(url, "https://", 8) != 0)))
		keep(r->location, sizeof(r->location), full, strlen(full));
	curl_free(full);
	curl_url_cleanup(u);
}

static enum lmd_status network_error(struct exchange *x, CURLcode code)
{
	char url[LMI_HUB_SHOWN_URL];

	if (x->st != LMD_OK)
		return x->st;
	return lmd_fail(x->err, code == CURLE_OUT_OF_MEMORY ? LMD_NOMEM : LMD_IO, "%s: %s",
			lmi_hub_shown_url(url, x->q->url),
			*x->reason ? x->reason : curl_easy_strerror(code));
}

enum lmd_status lmi_hub_request(struct lmi_hub_reply *out, const struct lmi_hub_request *q,
				const struct lmi_hub_opts *o, struct lmd_error *err)
{
	struct exchange x = {.q = q, .r = out, .err = err};
	struct curl_slist *headers = NULL;
	enum lmd_status st = LMD_OK;
	char url[LMI_HUB_SHOWN_URL];
	CURLcode code;

	*out = (struct lmi_hub_reply){0};
	if (o->offline)
		return lmd_fail(err, LMD_DENIED, "%s: the network is not used, because HF_HUB_OFFLINE is set",
				lmi_hub_shown_url(url, q->url));
	(void)pthread_once(&once, init_once);
	x.curl = global_status == CURLE_OK ? curl_easy_init() : NULL;
	if (!x.curl || !headers_of(&headers, q)) {
		st = lmd_fail(err, LMD_NOMEM, "no memory for a transfer");
	} else {
		set_options(&x, o);
		(void)curl_easy_setopt(x.curl, CURLOPT_HTTPHEADER, headers);
		code = curl_easy_perform(x.curl);
		(void)curl_easy_getinfo(x.curl, CURLINFO_RESPONSE_CODE, &out->code);
		if (code != CURLE_OK)
			st = network_error(&x, code);
		resolve_location(out, q->url);
	}
	curl_slist_free_all(headers);
	curl_easy_cleanup(x.curl);
	if (st != LMD_OK)
		lmi_hub_reply_fini(out);
	return st;
}

void lmi_hub_reply_fini(struct lmi_hub_reply *r)
{
	lmi_free(r->body);
	r->body = NULL;
}

/* ---- trying again ---- */

bool lmi_hub_may_pass(enum lmd_status st, long code)
{
	return st == LMD_IO || (st == LMD_OK && (code == 408 || code == 429 || code >= 500));
}

bool lmi_hub_wait(unsigned n, unsigned retry_after_s)
{
	unsigned s = retry_after_s ? retry_after_s : 1u << (n < 6 ? n - 1 : 5);
	const struct timespec tick = {.tv_nsec = 50000000};

	s = s < WAIT_MAX_S ? s : WAIT_MAX_S;
	for (unsigned i = 0; i < s * 20; i++) {
		if (!lmi_cancel_step(1))
			return false;
		(void)nanosleep(&tick, NULL);
	}
	return true;
}

enum lmd_status lmi_hub_code_error(const struct lmi_hub_request *q, const struct lmi_hub_reply *r,
				   struct lmd_error *err)
{
	char url[LMI_HUB_SHOWN_URL];

	(void)lmi_hub_shown_url(url, q->url);
	if (r->code == 404)
		return lmd_fail(err, LMD_NOTFOUND,
				"%s: does not exist (404); check the name, and the tag or revision",
				url);
	if (r->code == 401 || r->code == 403)
		return lmd_fail(err, LMD_DENIED,
				"%s: access was refused (%ld); the model does not exist, or it needs "
				"%s token whose owner has accepted its licence",
				url, r->code, q->bearer || q->authorization ? "another" : "a");
	return lmd_fail(err, LMD_IO, "%s: the server answered with code %ld", url, r->code);
}

enum lmd_status lmi_hub_get(struct lmi_hub_reply *out, const struct lmi_hub_request *q,
			    const struct lmi_hub_opts *o, bool challenge, struct lmd_error *err)
{
	enum lmd_status st;

	for (unsigned n = 1;; n++) {
		st = lmi_hub_request(out, q, o, err);
		if (n == TRIES || !lmi_hub_may_pass(st, out->code))
			break;
		lmi_hub_reply_fini(out);
		if (!lmi_hub_wait(n, out->retry_after_s))
			return lmd_fail(err, LMD_CANCELLED, "cancelled");
	}
	if (st != LMD_OK)
		return st;
	if (out->code == 200 || (out->code == 401 && challenge && *out->challenge))
		return LMD_OK;
	st = lmi_hub_code_error(q, out, err);
	lmi_hub_reply_fini(out);
	return st;
}

enum lmd_status lmi_hub_post(const char *url, const char *type, const void *bytes, size_t n,
			     const struct lmi_hub_opts *o, struct lmd_error *err)
{
	const struct lmi_hub_body body = {
		.method = "POST", .type = type, .bytes = bytes, .n = n, .silence_s = POST_SILENCE_S};
	const struct lmi_hub_request q = {.url = url, .body = &body};
	struct lmi_hub_reply r;
	enum lmd_status st = lmi_hub_request(&r, &q, o, err);
	char shown[LMI_HUB_SHOWN_URL];

	if (st != LMD_OK)
		return st;
	if (r.code < 200 || r.code > 299)
		st = lmd_fail(err, LMD_IO, "%s: the server answered with code %ld",
			      lmi_hub_shown_url(shown, url), r.code);
	lmi_hub_reply_fini(&r);
	return st;
}
