/* SPDX-License-Identifier: MIT
 *
 * The default sockets of users with and without a login session. */
#include "core/base/default_socket.h"

#include <string.h>
#include <unistd.h>

#include "llamad/attr.h"
#include "tests/lmd_check.h"

START_TEST(own_socket)
{
	static const struct {
		uint32_t uid;
		const char *runtime_dir, *path;
	} cases[] = {
		{7, "/run/user/7", "/run/user/7/llamad/llamad.sock"},
		{7, NULL, "/tmp/llamad-7/llamad.sock"},
		{7, "", "/tmp/llamad-7/llamad.sock"},
		{7, "relative", "/tmp/llamad-7/llamad.sock"},
		{4294967295u, NULL, "/tmp/llamad-4294967295/llamad.sock"},
		{0, NULL, "/run/llamad/llamad.sock"},
		{0, "relative", "/run/llamad/llamad.sock"},
		{0, "/run/user/0", "/run/user/0/llamad/llamad.sock"},
	};
	char path[64], begin[5];

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		enum lmi_default_socket own =
			lmi_default_socket_own(cases[i].uid, cases[i].runtime_dir);
		int n = lmi_default_socket_path(path, sizeof(path), own, cases[i].uid,
						cases[i].runtime_dir);

		ck_assert_str_eq(path, cases[i].path);
		ck_assert_int_eq(n, (int)strlen(path));
		/* a buffer that is too small */
		ck_assert_int_eq(lmi_default_socket_path(begin, sizeof(begin), own, cases[i].uid,
							 cases[i].runtime_dir),
				 n);
		ck_assert_uint_eq(strlen(begin), 4);
	}
}
END_TEST

/* The system's socket comes first if there is one on this machine. */
START_TEST(first_choice)
{
	bool system = access("/run/llamad/llamad.sock", F_OK) == 0;

	ck_assert_int_eq(lmi_default_socket_find(7, "/run/user/7"),
			 system ? LMI_DEFAULT_SOCKET_SYSTEM : LMI_DEFAULT_SOCKET_SESSION);
	ck_assert_int_eq(lmi_default_socket_find(7, NULL),
			 system ? LMI_DEFAULT_SOCKET_SYSTEM : LMI_DEFAULT_SOCKET_TMP);
	ck_assert_int_eq(lmi_default_socket_find(0, NULL), LMI_DEFAULT_SOCKET_SYSTEM);
}
END_TEST

/* Each daemon's socket for HTTP has a name of its own in the same folder. */
START_TEST(http_socket)
{
	static const char *const cases[][2] = {
		{"/run/llamad/llamad.sock", "/run/llamad/llamad-http.sock"},
		{"/tmp/two.sock", "/tmp/two-http.sock"},
		{"/tmp/sock", "/tmp/sock-http.sock"},
		{"/tmp/.sock", "/tmp/-http.sock"},
		{".sock", ".sock-http.sock"},
	};
	char path[64], begin[5];

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		int n = lmi_default_socket_http(path, sizeof(path), cases[i][0]);

		ck_assert_str_eq(path, cases[i][1]);
		ck_assert_int_eq(n, (int)strlen(path));
		ck_assert_int_eq(lmi_default_socket_http(begin, sizeof(begin), cases[i][0]), n);
		ck_assert_uint_eq(strlen(begin), 4);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("default socket");
	TCase *t = tcase_create("default socket");

	tcase_add_test(t, own_socket);
	tcase_add_test(t, first_choice);
	tcase_add_test(t, http_socket);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
