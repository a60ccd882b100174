/* SPDX-License-Identifier: MIT
 *
 * Logins at a registry: a token, or user and password.  They come from the file that `docker login`
 * and `podman login` write, where the field "auth" is what Basic sends. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "hub/http.h"
#include "hub/hub_impl.h"

#define AUTH_FILE_MAX (1u << 20)
#define BASIC_MAX     2048

void lmi_hub_host(char out[LMI_HUB_HOST_MAX], const char *url)
{
	const char *host = strstr(url, "://");

	host = host ? host + 3 : url;
	(void)snprintf(out, LMI_HUB_HOST_MAX, "%.*s", (int)strcspn(host, "/?#"), host);
}

/* ---- user and password ---- */

/* Whether a key of "auths" means the host: HOST, or a URL of it. */
static bool is_host(const char *key, const char *host)
{
	char of_key[LMI_HUB_HOST_MAX];

	lmi_hub_host(of_key, key);
	return !strcmp(of_key, host);
}

/* Finds what Basic sends to the host; "" if the file has nothing for it. */
static enum lmd_status find_basic(char out[BASIC_MAX], const char *file, const char *host,
				  struct lmd_error *err)
{
	const char *key;
	json_t *all, *row;
	char *text = NULL;
	size_t n;
	enum lmd_status st;

	*out = 0;
	if (!file)
		return LMD_OK;
	st = lmi_file_read_all(file, AUTH_FILE_MAX, &text, &n, err);
	if (st != LMD_OK)
		return st;
	all = json_loadb(text, n, 0, NULL);
	lmi_free(text);
	if (!all)
		return lmd_fail(err, LMD_INVALID, "%.200s: the logins of registries are not JSON", file);
	json_object_foreach(json_object_get(all, "auths"), key, row)
	{
		const char *auth = json_string_value(json_object_get(row, "auth"));

		if (auth && is_host(key, host) && strlen(auth) < BASIC_MAX &&
		    auth[strspn(auth, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789+/=_-")] == 0)
			(void)snprintf(out, BASIC_MAX, "%s", auth);
	}
	json_decref(all);
	return LMD_OK;
}

/* ---- tokens ---- */

/* Copies the value of a parameter of the challenge: Bearer realm="...",service="...". */
static bool parameter(char *out, size_t cap, const char *challenge, const char *name)
{
	char key[16];
	const char *p;
	size_t n;

	(void)snprintf(key, sizeof(key), "%s=\"", name);
	p = strstr(challenge, key);
	if (!p)
		return false;
	p += strlen(key);
	n = strcspn(p, "\"");
	if (n >= cap)
		return false;
	memcpy(out, p, n);
	out[n] = 0;
	return true;
}

/* Appends "&name=value" with the bytes that a query cannot have as %XX. */
static bool add_query(char *url, size_t cap, const char *name, const char *value)
{
	size_t n = strlen(url);
	int k = snprintf(url + n, cap - n, "%c%s=", strchr(url, '?') ? '&' : '?', name);

	for (n += (size_t)k; *value; value++) {
		bool plain = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~",
				    *value);

		if (n + 4 > cap)
			return false;
		n += (size_t)snprintf(url + n, cap - n, plain ? "%c" : "%%%02X",
				      (unsigned char)*value);
	}
	return n + 1 < cap;
}

/* The address at which a token is given. */
static enum lmd_status token_url(char url[LMI_HUB_URL_MAX], const char *challenge,
				 const char *scope, struct lmd_error *err)
{
	char service[256], of_challenge[512];

	if (!parameter(url, LMI_HUB_URL_MAX / 2, challenge, "realm") ||
	    (strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0))
		return lmd_fail(err, LMD_DENIED,
				"the registry asks for a kind of login that is not supported: %.160s",
				challenge);
	if (!scope && parameter(of_challenge, sizeof(of_challenge), challenge, "scope"))
		scope = of_challenge;
	if ((parameter(service, sizeof(service), challenge, "service") &&
	     !add_query(url, LMI_HUB_URL_MAX, "service", service)) ||
	    (scope && !add_query(url, LMI_HUB_URL_MAX, "scope", scope)))
		return lmd_fail(err, LMD_CORRUPT, "the registry's challenge is too long");
	return LMD_OK;
}

static enum lmd_status read_token(char out[LMI_HUB_AUTHORIZATION_MAX], const char *url,
				  const struct lmi_hub_reply *r, struct lmd_error *err)
{
	json_t *reply = json_loadb(r->body ? r->body : "", r->n, 0, NULL);
	const char *got = json_string_value(json_object_get(reply, "token"));
	char shown[LMI_HUB_SHOWN_URL];
	enum lmd_status st = LMD_OK;

	got = got ? got : json_string_value(json_object_get(reply, "access_token"));
	if (!got || strlen(got) + 8 > LMI_HUB_AUTHORIZATION_MAX || strpbrk(got, "\r\n"))
		st = lmd_fail(err, LMD_CORRUPT, "%s: the reply has no token",
			      lmi_hub_shown_url(shown, url));
	else
		(void)snprintf(out, LMI_HUB_AUTHORIZATION_MAX, "Bearer %s", got);
	json_decref(reply);
	return st;
}

static enum lmd_status get_token(char out[LMI_HUB_AUTHORIZATION_MAX], const char *challenge,
				 const char *scope, const char *basic, const char *host, bool https,
				 const struct lmi_hub_opts *o, struct lmd_error *err)
{
	char url[LMI_HUB_URL_MAX], login[BASIC_MAX + 8];
	struct lmi_hub_request q = {.url = url};
	struct lmi_hub_reply r;
	enum lmd_status st = token_url(url, challenge, scope, err);

	if (st != LMD_OK)
		return st;
	if (*basic && https && strncmp(url, "https://", 8) != 0)
		return lmd_fail(err, LMD_DENIED,
				"the registry wants the password without encryption at %.160s", url);
	(void)snprintf(login, sizeof(login), "Basic %s", basic);
	q.authorization = *basic ? login : NULL;
	st = lmi_hub_get(&r, &q, o, false, err);
	if (st == LMD_DENIED)
		return lmd_fail(err, st,
				"%s gives no token %s: `podman login %s` or `docker login %s` stores a "
				"user and a password",
				host, *basic ? "to the user who is logged in" : "without a login", host, host);
	if (st != LMD_OK)
		return st;
	st = read_token(out, url, &r, err);
	lmi_hub_reply_fini(&r);
	return st;
}

enum lmd_status lmi_hub_registry_login(char out[LMI_HUB_AUTHORIZATION_MAX], const char *url,
				       const char *challenge, const char *scope,
				       const struct lmi_hub_opts *o, struct lmd_error *err)
{
	char host[LMI_HUB_HOST_MAX], basic[BASIC_MAX];
	enum lmd_status st;

	lmi_hub_host(host, url);
	st = find_basic(basic, o->auth_file, host, err);
	if (st != LMD_OK)
		return st;
	if (!strncmp(challenge, "Bearer ", 7))
		return get_token(out, challenge, scope, basic, host, !strncmp(url, "https://", 8), o, err);
	if (strncmp(challenge, "Basic", 5) != 0)
		return lmd_fail(err, LMD_DENIED,
				"%s asks for a kind of login that is not supported: %.160s", host,
				challenge);
	if (!*basic)
		return lmd_fail(err, LMD_DENIED,
				"%s wants a user and a password: `podman login %s` or `docker login "
				"%s` stores them",
				host, host, host);
	(void)snprintf(out, LMI_HUB_AUTHORIZATION_MAX, "Basic %s", basic);
	return LMD_OK;
}
