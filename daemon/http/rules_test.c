/* SPDX-License-Identifier: MIT
 *
 * The rules of the listener for HTTP that need no connection: addresses, hosts and origins, routes,
 * the description. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http/admin/admin.h"
#include "daemon/http/chat_body.h"
#include "daemon/http/http_impl.h"
#include "tests/lmd_check.h"

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

START_TEST(service_tiers)
{
	static const struct {
		const char *json;
		enum lmi_wire_class class;
		const char *error; /* NULL: accepted */
	} cases[] = {
		{"\"priority\"", LMI_WIRE_CLASS_INTERACTIVE, NULL},
		{"\"flex\"", LMI_WIRE_CLASS_BATCH, NULL},
		{"\"auto\"", LMI_WIRE_CLASS_NORMAL, NULL},
		{"\"default\"", LMI_WIRE_CLASS_NORMAL, NULL},
		{"\"scale\"", LMI_WIRE_CLASS_NORMAL, NULL},
		{"\"fast\"", LMI_WIRE_CLASS_NORMAL,
		 "\"fast\" is not one of: auto, default, flex, priority, scale"},
		{"7", LMI_WIRE_CLASS_NORMAL, "must be a string"},
	};
	static const struct lmi_http_at at = {.name = "service_tier"};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_wire_req_generate q = {.class = LMI_WIRE_CLASS_NORMAL};
		struct lmd_error err = {0};
		struct lmd_arena *arena = lmi_arena_create(1 << 16);
		struct lmi_http_translation t = {.q = &q, .r = {.arena = arena, .err = &err}};
		json_t *v = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);

		ck_assert_ptr_nonnull(v);
		lmi_http_read_service_tier(&t, &at, v);
		ck_assert_int_eq(q.class, cases[i].class);
		ck_assert_int_eq(t.r.status, cases[i].error ? LMD_INVALID : LMD_OK);
		if (cases[i].error)
			ck_assert_msg(strstr(err.text, cases[i].error) != NULL, "%s", err.text);
		json_decref(v);
		lmi_arena_destroy(arena);
	}
}
END_TEST

START_TEST(addresses)
{
	static const struct {
		const char *text;
		bool good, loopback, path;
	} cases[] = {
		{"127.0.0.1:8080", true, true, false}, {"127.9.9.9:0", true, true, false},
		{"0.0.0.0:80", true, false, false},    {"192.0.2.7:65535", true, false, false},
		{"[::1]:8080", true, true, false},     {"[::]:8080", true, false, false},
		{"unix:/run/x.sock", true, false, true}, {"unix:x.sock", false, false, false},
		{"localhost:80", false, false, false}, {"127.0.0.1", false, false, false},
		{"127.0.0.1:", false, false, false},   {"127.0.0.1:65536", false, false, false},
		{"127.0.0.1:+1", false, false, false}, {"::1:8080", false, false, false},
		{"[::1]8080", false, false, false},    {"tls:0.0.0.0:443", true, false, false},
		{"tls:[::1]:443", true, true, false},  {"tls:unix:/x", false, false, false},
		{"tls:localhost:443", false, false, false},
		    {"[127.0.0.1]:80", false, false, false},
		{":80", false, false, false},	       {"", false, false, false},
	};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_http_address a;
		struct lmd_error err = {0};
		enum lmd_status st = lmi_http_address_parse(&a, cases[i].text, &err);

		ck_assert_msg((st == LMD_OK) == cases[i].good, "%s: %s", cases[i].text, err.text);
		if (st != LMD_OK)
			continue;
		ck_assert_msg(a.loopback == cases[i].loopback, "%s", cases[i].text);
		ck_assert_int_eq(a.path != NULL, cases[i].path);
	}
}
END_TEST

START_TEST(hosts)
{
	static const char *const local[] = {"localhost",      "LOCALHOST:8080", "a.localhost:1",
					    "127.0.0.1",      "127.1.2.3:8080", "[::1]",
					    "[::1]:8080",     "localhost."};
	static const char *const others[] = {"",	       "example.org",	 "localhost.example.org",
					     "notlocalhost",   ".localhost.x",	 "127.0.0.1.example.org",
					     "127.0.0.x",      "10.0.0.1",	 "[::2]",
					     "[::1]x",	       "127.1",		 "1127.0.0.1"};

	for (size_t i = 0; i < LMD_LEN(local); i++) {
		struct lmd_str s = str(local[i]);

		ck_assert_msg(lmi_http_host_is_local(&s), "%s", local[i]);
	}
	for (size_t i = 0; i < LMD_LEN(others); i++) {
		struct lmd_str s = str(others[i]);

		ck_assert_msg(!lmi_http_host_is_local(&s), "%s", others[i]);
	}
}
END_TEST

START_TEST(origins)
{
	static const char *const list[] = {"https://a.example", "http://localhost:3000"};
	static const char *const any[] = {"*"};
	struct lmd_str a = str("https://A.example"), b = str("https://a.example:444"), n = str("null");
	struct lmd_str host = str("localhost:8080"), self = str("http://localhost:8080");
	struct lmd_str port = str("http://localhost:80");

	ck_assert_ptr_eq(lmi_http_origin_allowed(list, 2, &a), list[0]);
	ck_assert_ptr_null(lmi_http_origin_allowed(list, 2, &b));
	ck_assert_ptr_null(lmi_http_origin_allowed(list, 2, &n));
	ck_assert_ptr_null(lmi_http_origin_allowed(NULL, 0, &a));
	ck_assert_str_eq(lmi_http_origin_allowed(any, 1, &n), "*");
	ck_assert(lmi_http_origin_is_host(&self, &host));
	ck_assert(!lmi_http_origin_is_host(&port, &host));
	ck_assert(!lmi_http_origin_is_host(&n, &host));
}
END_TEST

/* ---- routes ---- */

static void write_error(struct lmi_json_text *out, const struct lmi_http_error *e)
{
	lmi_json_text_str(out, e->text);
}

static const struct lmi_http_api one = {"one", "One", write_error}, two = {"two", "Two", write_error};
static const struct lmi_http_route ones[] = {
	{.method = LMI_HTTP_GET, .path = "/v1/models"},
	{.method = LMI_HTTP_GET, .path = "/v1/models/{model}"},
	{.method = LMI_HTTP_DELETE, .path = "/v1/models/{model}"},
	{.method = LMI_HTTP_GET, .path = "/v1/models/default"},
	{.method = LMI_HTTP_GET, .path = "/v1/{a}/x/{b}"},
};
static const struct lmi_http_route twos[] = {
	{.method = LMI_HTTP_POST, .path = "/api/chat"},
	{.method = LMI_HTTP_HEAD, .path = "/api/chat"},
};
static const struct lmi_http_routes first = {.api = &one, .v = ones, .n = LMD_LEN(ones)};
static const struct lmi_http_routes second = {.api = &two, .v = twos, .n = LMD_LEN(twos)};
static const struct lmi_http_routes *const list[] = {&first, &second, NULL};

static struct lmi_http_found find(enum lmi_http_method method, const char *path)
{
	struct lmd_str s = str(path);
	struct lmi_http_found f;

	lmi_http_route_find(&f, list, method, &s);
	return f;
}

START_TEST(routes)
{
	struct lmi_http_found f = find(LMI_HTTP_GET, "/v1/models");
	char text[64];

	ck_assert_ptr_eq(f.route, &ones[0]);
	ck_assert_ptr_eq(find(LMI_HTTP_HEAD, "/v1/models").route, &ones[0]);
	f = find(LMI_HTTP_GET, "/v1/models/a/b%20c"); /* the last member takes the rest */
	ck_assert_ptr_eq(f.route, &ones[1]);
	ck_assert_uint_eq(f.members[0].len, 7);
	ck_assert_ptr_eq(find(LMI_HTTP_GET, "/v1/models/default").route, &ones[3]);
	ck_assert_ptr_eq(find(LMI_HTTP_DELETE, "/v1/models/default").route, &ones[2]);
	f = find(LMI_HTTP_GET, "/v1/p/x/q");
	ck_assert_ptr_eq(f.route, &ones[4]);
	ck_assert_int_eq(*f.members[0].ptr, 'p');
	ck_assert_int_eq(*f.members[1].ptr, 'q');
	f = find(LMI_HTTP_GET, "/v1/models/");
	ck_assert_ptr_null(f.route);
	ck_assert_uint_eq(f.allowed, 0);
	f = find(LMI_HTTP_PUT, "/v1/models/x");
	ck_assert_ptr_null(f.route);
	lmi_http_methods_text(text, sizeof(text), f.allowed);
	ck_assert_str_eq(text, "GET, HEAD, DELETE, OPTIONS");
	ck_assert_ptr_eq(find(LMI_HTTP_HEAD, "/api/chat").route, &twos[1]);
	/* an error has the form of the API whose paths are most similar */
	ck_assert_ptr_eq(find(LMI_HTTP_GET, "/api/nothing").api, &two);
	ck_assert_ptr_eq(find(LMI_HTTP_GET, "/v1/nothing").api, &one);
	ck_assert_ptr_eq(find(LMI_HTTP_GET, "*").api, &one);
}
END_TEST

/* ---- the description ---- */

START_TEST(description)
{
	static const struct lmi_http_routes *const apis[] = {&lmi_http_admin_routes, &first, &second,
							     NULL};
	char *text = lmi_http_openapi(apis, "1.2");
	json_t *all = text ? json_loads(text, 0, NULL) : NULL, *paths, *path, *o;
	const char *name;
	size_t n = 0;

	ck_assert_ptr_nonnull(all);
	ck_assert_str_eq(json_string_value(json_object_get(all, "openapi")), "3.1.0");
	paths = json_object_get(all, "paths");
	json_object_foreach(paths, name, path) {
		const char *method;

		json_object_foreach(path, method, o) {
			n++;
			ck_assert(json_is_object(json_object_get(o, "responses")));
			ck_assert(json_is_string(json_object_get(o, "operationId")));
		}
	}
	ck_assert_uint_eq(n, LMD_LEN(ones) + LMD_LEN(twos) + lmi_http_admin_routes.n);
	o = json_object_get(json_object_get(paths, "/v1/{a}/x/{b}"), "get");
	ck_assert_uint_eq(json_array_size(json_object_get(o, "parameters")), 2);
	json_decref(all);
	free(text);
}
END_TEST

/* The schemas of all tables are JSON, and every route has a summary. */
START_TEST(tables)
{
	const struct lmi_http_routes *t = &lmi_http_admin_routes;

	for (uint32_t i = 0; i < t->n; i++)
		ck_assert(t->v[i].summary && *t->v[i].path == '/');
}
END_TEST

START_TEST(codes)
{
	for (int st = LMD_NOMEM; st < LMD_N_STATUS; st++) {
		ck_assert_int_ge(lmi_http_code((enum lmd_status)st), 400);
		ck_assert_str_ne(lmi_http_reason(lmi_http_code((enum lmd_status)st)), "Unknown");
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rules");
	TCase *t = tcase_create("rules");

	tcase_add_test(t, service_tiers);
	tcase_add_test(t, addresses);
	tcase_add_test(t, hosts);
	tcase_add_test(t, origins);
	tcase_add_test(t, routes);
	tcase_add_test(t, description);
	tcase_add_test(t, tables);
	tcase_add_test(t, codes);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
