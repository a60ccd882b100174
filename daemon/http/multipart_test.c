/* SPDX-License-Identifier: MIT */
#include "daemon/http/multipart.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lmd_check.h"

#define TYPE "multipart/form-data; boundary=\"b-1\""

static struct lmi_http_part parts[LMI_HTTP_PARTS_MAX];
static struct lmd_error err;
static uint32_t n;

static enum lmd_status split(const char *type, const char *body, size_t bytes)
{
	return lmi_http_multipart(parts, &n, type, (struct lmd_str){.ptr = body, .len = bytes}, &err);
}

static void is(struct lmd_str s, const char *want)
{
	ck_assert_uint_eq(s.len, strlen(want));
	ck_assert_mem_eq(s.ptr, want, s.len);
}

static const char form[] =
	"--b-1\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n"
	"--b-1\r\ncontent-type: text/plain\r\nContent-Disposition: form-data; name=file; "
	"filename=\"a b.txt\"\r\n\r\nx\r\n--b-\r\n\r\n--b-1\r\n"
	"Content-Disposition: form-data; filename=\"e\"; name=\"empty\"\r\n\r\n\r\n--b-1--\r\n";

START_TEST(a_form)
{
	ck_assert_msg(split(TYPE, form, sizeof(form) - 1) == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(n, 3);
	is(lmi_http_part_find(parts, n, "purpose")->content, "batch");
	ck_assert_ptr_null(parts[0].filename.ptr);
	is(lmi_http_part_find(parts, n, "file")->content, "x\r\n--b-\r\n");
	is(parts[1].filename, "a b.txt");
	is(lmi_http_part_find(parts, n, "empty")->content, "");
	is(parts[2].filename, "e");
	ck_assert_ptr_null(lmi_http_part_find(parts, n, "other"));
	ck_assert(split("multipart/form-data; boundary=b-1; charset=x", form, sizeof(form) - 1) ==
		  LMD_OK);
}
END_TEST

START_TEST(mistakes)
{
	static const struct {
		const char *type, *body, *why;
	} t[] = {
		{NULL, form, "must be multipart"},
		{"application/json", form, "must be multipart"},
		{"multipart/form-data", form, "must be multipart"},
		{"multipart/form-data; boundary=", form, "must be multipart"},
		{"multipart/form-data; boundary=\"x", form, "must be multipart"},
		{TYPE, "", "does not begin"},
		{TYPE, "--b-2\r\n", "does not begin"},
		{TYPE, "--b-1", "does not begin"},
		{TYPE, "--b-1--", NULL},
		{TYPE, "--b-1\r\n", "part 0 of the body has no end"},
		{TYPE, "--b-1x--", "part 0 of the body has no end"},
		{TYPE, "--b-1\r\nContent-Disposition: form-data; name=a\r\n\r\nx", "has no end"},
		{TYPE, "--b-1\r\nX: y\r\n\r\nx\r\n--b-1--", "part 0 of the body has no name"},
	};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		ck_assert_int_eq(split(t[i].type, t[i].body, strlen(t[i].body)),
				 t[i].why ? LMD_INVALID : LMD_OK);
		if (!t[i].why)
			continue;
		ck_assert_msg(strstr(err.text, t[i].why) != NULL, "%zu: %s", i, err.text);
	}
}
END_TEST

START_TEST(too_many_parts)
{
	static char body[4096];

	for (int i = 0; i <= LMI_HTTP_PARTS_MAX; i++)
		strcat(body, "--b-1\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n");
	strcat(body, "--b-1--");
	ck_assert_int_eq(split(TYPE, body, strlen(body)), LMD_INVALID);
	ck_assert_str_eq(err.text, "the body has more than 16 parts");
}
END_TEST

/* Every beginning of a form, in memory of its size, and forms with changed bytes. */
START_TEST(any_bytes)
{
	for (size_t i = 0; i < sizeof(form); i++) {
		char *copy = malloc(i + 1);

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, form, i);
		(void)split(TYPE, copy, i);
		for (int c = 0; i && c < 256; c += 5) {
			copy[i / 2] = (char)c;
			(void)split(TYPE, copy, i);
		}
		free(copy);
	}
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("multipart");
	Suite *s = suite_create("multipart");

	tcase_add_test(t, a_form);
	tcase_add_test(t, mistakes);
	tcase_add_test(t, too_many_parts);
	tcase_add_test(t, any_bytes);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
