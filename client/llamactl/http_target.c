/* SPDX-License-Identifier: MIT */
#include "client/llamactl/http_target.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "llamad/version.h"

#define CONNECT_MS 30000L

static enum lmd_status set_url(struct lmi_ctl_http_target *t, const char *url, struct lmd_error *err)
{
	bool is_unix = !strncmp(url, "unix:/", 6);
	size_t n = strlen(url);
	char shown[200];

	if (is_unix) {
		t->unix_path = url + 5;
		url = "http://localhost";
		n = strlen(url);
	} else if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
		return lmd_fail(err, LMD_INVALID,
				"'%s' is not a URL: http://HOST:PORT, https://HOST or unix:/PATH",
				lmi_printable_path(shown, sizeof(shown), url));
	}
	n -= n && url[n - 1] == '/';
	n -= n > 3 && !strncmp(url + n - 3, "/v1", 3) ? 3 : 0;
	if (n >= sizeof(t->base))
		return lmd_fail(err, LMD_INVALID, "the URL has %zu bytes, the maximum is %zu", n,
				sizeof(t->base) - 1);
	(void)snprintf(t->base, sizeof(t->base), "%.*s", (int)n, url);
	return LMD_OK;
}

static bool add_header(struct lmi_ctl_http_target *t, const char *line)
{
	struct curl_slist *more = curl_slist_append(t->headers, line);

	if (more)
		t->headers = more;
	return more != NULL;
}

static bool add_key(struct lmi_ctl_http_target *t, const char *key)
{
	char bearer[1024];
	bool good;

	(void)snprintf(bearer, sizeof(bearer), "Authorization: Bearer %s", key);
	good = add_header(t, bearer);
	explicit_bzero(bearer, sizeof(bearer));
	return good;
}

enum lmd_status lmi_ctl_http_target_init(struct lmi_ctl_http_target *t, const char *url,
					 const char *key, const char *ca_file,
					 struct lmd_error *err)
{
	enum lmd_status st;

	*t = (struct lmi_ctl_http_target){.ca_file = ca_file};
	st = set_url(t, url, err);
	if (st == LMD_OK && key && strlen(key) > 1024 - 32)
		st = lmd_fail(err, LMD_INVALID, "the key has %zu bytes, the maximum is %u",
			      strlen(key), 1024 - 32);
	if (st != LMD_OK)
		return st;
	/* Expect: would cost a round trip before the body */
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
	    !add_header(t, "Content-Type: application/json") || !add_header(t, "Expect:") ||
	    (key && !add_key(t, key)))
		return lmd_fail(err, LMD_NOMEM, "no memory for transfers");
	return LMD_OK;
}

void lmi_ctl_http_target_fini(struct lmi_ctl_http_target *t)
{
	curl_slist_free_all(t->headers);
	t->headers = NULL;
}

static bool is_loopback(const char *url)
{
	static const char *const hosts[] = {"://127.", "://localhost", "://[::1]"};

	for (size_t i = 0; i < LMD_LEN(hosts); i++)
		if (strstr(url, hosts[i]))
			return true;
	return false;
}

static void set_protocols(CURL *c)
{
#if LIBCURL_VERSION_NUM >= 0x075500
	(void)curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	(void)curl_easy_setopt(c, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

CURL *lmi_ctl_http_target_handle(const struct lmi_ctl_http_target *t)
{
	CURL *c = curl_easy_init();

	if (!c)
		return NULL;
	set_protocols(c);
	(void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	(void)curl_easy_setopt(c, CURLOPT_USERAGENT, "llamactl/" LMD_VERSION);
	(void)curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->headers);
	if (t->ca_file)
		(void)curl_easy_setopt(c, CURLOPT_CAINFO, t->ca_file);
	if (t->unix_path)
		(void)curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, t->unix_path);
	if (t->unix_path || is_loopback(t->base))
		(void)curl_easy_setopt(c, CURLOPT_PROXY, "");
	return c;
}

bool lmi_ctl_http_target_request(const struct lmi_ctl_http_target *t, CURL *c, const char *path,
				 const char *body)
{
	size_t n = strlen(t->base) + strlen(path) + 1;
	char *url = lmi_alloc(n, 1);
	bool good = url != NULL;

	if (good) {
		(void)snprintf(url, n, "%s%s", t->base, path);
		(void)curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
		(void)curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
		good = curl_easy_setopt(c, CURLOPT_URL, url) == CURLE_OK;
	}
	lmi_free(url);
	return good;
}
