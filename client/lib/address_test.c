/* SPDX-License-Identifier: MIT
 *
 * Error messages about addresses. */
#include "client/lib/address.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <string.h>
#include <unistd.h>

#include "llamad/client.h"
#include "tests/lmd_check.h"

static struct lmd_error err;

static void says(const char *what)
{
	ck_assert_msg(strstr(err.text, what) != NULL, "'%s' in: %s", what, err.text);
}

START_TEST(forms)
{
	static const char *const good[] = {"ipc:///run/x.sock", "ipc://x", "tcp://a:1",
					   "tcp://[::1]:65535", "tls+tcp://host.example:7777"};
	static const char *const bad[] = {"",
					  "http://localhost:11434",
					  "/tmp/x.sock",
					  "localhost:80",
					  "ipc://",
					  "tcp://",
					  "tcp://host",
					  "tcp://:80",
					  "tcp://host:",
					  "tcp://host:0",
					  "tcp://host:65536",
					  "tcp://host:80/path",
					  "tls://host:80",
					  "inproc://x"};
	struct lmd_client_opts o = {.struct_size = sizeof(o)};
	struct lmd_client *c;

	for (size_t i = 0; i < LMD_LEN(good); i++)
		ck_assert_msg(lmi_client_url_check(good[i], &err) == LMD_OK, "%s", err.text);
	for (size_t i = 0; i < LMD_LEN(bad); i++) {
		o.url = bad[i];
		ck_assert_int_eq(lmd_client_open(&c, &o, &err), LMD_INVALID);
		says(bad[i]);
		says("is not an address: use ipc://PATH, tcp://HOST:PORT or tls+tcp://HOST:PORT");
	}
}
END_TEST

START_TEST(nobody_listens)
{
	ck_assert_int_eq(lmi_client_fail_unreachable("ipc:///a/b", false, &err), LMD_IO);
	ck_assert_str_eq(err.text, "ipc:///a/b: no server is listening; is llamad running?");
	/* without an address the message names all of them */
	ck_assert_int_eq(
		lmi_client_fail_unreachable("ipc:///run/user/7/llamad/llamad.sock", true, &err),
		LMD_IO);
	says("no server is listening at ipc:///run/llamad/llamad.sock or ");
	says(" or ipc:///run/user/7/llamad/llamad.sock; start one with ");
	ck_assert_int_eq(lmi_client_fail_unreachable("ipc:///tmp/llamad-7/llamad.sock", true, &err),
			 LMD_IO);
	says("no server is listening at ipc:///run/llamad/llamad.sock or ");
	says(" or ipc:///tmp/llamad-7/llamad.sock; start one with ");
	ck_assert_int_eq(lmi_client_fail_unreachable("ipc:///run/llamad/llamad.sock", true, &err),
			 LMD_IO);
	ck_assert_str_eq(err.text,
			 "ipc:///run/llamad/llamad.sock: no server is listening; is llamad running?");
}
END_TEST

/* Returns a group, other than root's, that this process can give a file to, or NULL. */
static const struct group *some_group(void)
{
	gid_t gids[64];
	int n = getgroups(LMD_LEN(gids), gids);
	const struct group *g = NULL;

	if (!geteuid())
		return getgrgid(1);
	for (int i = 0; i < n && !g; i++)
		g = gids[i] ? getgrgid(gids[i]) : NULL;
	return g;
}

START_TEST(a_socket_of_a_group)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	const struct group *g = some_group();
	char dir[] = "/tmp/llamad-address.XXXXXX", url[128], want[200];

	if (!g) {
		close(fd);
		return; /* this machine has no such group */
	}
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/sock", dir);
	snprintf(url, sizeof(url), "ipc://%s", a.sun_path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(chown(a.sun_path, (uid_t)-1, g->gr_gid), 0);
	snprintf(want, sizeof(want), "add yourself to the group: sudo usermod -aG %s $USER",
		 g->gr_name);
	ck_assert_int_eq(chmod(a.sun_path, 0660), 0);
	ck_assert_int_eq(lmi_client_fail_permission(url, &err), LMD_IO);
	says("permission denied");
	says(want);
	/* the group has no permission */
	ck_assert_int_eq(chmod(a.sun_path, 0600), 0);
	ck_assert_int_eq(lmi_client_fail_permission(url, &err), LMD_IO);
	says("permission denied");
	ck_assert_ptr_null(strstr(err.text, "usermod"));
	unlink(a.sun_path);
	/* the folder belongs to the group */
	ck_assert_int_eq(chown(dir, (uid_t)-1, g->gr_gid), 0);
	ck_assert_int_eq(chmod(dir, 0750), 0);
	ck_assert_int_eq(lmi_client_fail_permission(url, &err), LMD_IO);
	says(want);
	rmdir(dir);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("client addresses");
	TCase *t = tcase_create("addresses");

	tcase_add_test(t, forms);
	tcase_add_test(t, nobody_listens);
	tcase_add_test(t, a_socket_of_a_group);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
