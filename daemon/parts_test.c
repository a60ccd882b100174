/* SPDX-License-Identifier: MIT
 *
 * The loop, messages to the service manager, the lock of the state folder, the path of the
 * socket. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mailbox.h"
#include "daemon/loop.h"
#include "daemon/notify.h"
#include "daemon/state_dir.h"
#include "tests/lmd_check.h"

static char folder[64];

static void set_up(void)
{
	snprintf(folder, sizeof(folder), "/tmp/llamad-parts-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void tear_down(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static const char *below(const char *name)
{
	static char path[4][160];
	static int i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s", folder, name);
	return path[i];
}

/* ---- loop ---- */

struct steps {
	struct lmi_loop *loop;
	int pipe[2];
	uint32_t n_read, n_signal, n_turn;
	uint64_t until;
};

static void on_readable(void *arg)
{
	struct steps *s = arg;
	char c;

	ck_assert_int_eq(read(s->pipe[0], &c, 1), 1);
	s->n_read++;
}

static void on_signal(void *arg)
{
	struct steps *s = arg;

	s->n_signal++;
}

/* tick 1 writes, tick 2 raises a signal, tick 3 sets a deadline, tick 4 comes at that time */
static uint64_t turn(void *arg, uint64_t now)
{
	struct steps *s = arg;

	switch (++s->n_turn) {
	case 1:
		ck_assert_int_eq(write(s->pipe[1], "x", 1), 1);
		return UINT64_MAX;
	case 2:
		ck_assert_uint_eq(s->n_read, 1);
		raise(SIGUSR1);
		return UINT64_MAX;
	case 3:
		ck_assert_uint_eq(s->n_signal, 1);
		s->until = now + 3000000;
		return s->until;
	default:
		ck_assert_uint_ge(now, s->until);
		lmi_loop_stop(s->loop);
		return UINT64_MAX;
	}
}

START_TEST(loop)
{
	struct steps s = {0};

	ck_assert_int_eq(lmi_loop_create(&s.loop, NULL), LMD_OK);
	ck_assert_int_eq(pipe(s.pipe), 0);
	ck_assert_int_eq(lmi_loop_watch(s.loop, s.pipe[0], on_readable, &s, NULL), LMD_OK);
	ck_assert_int_eq(lmi_loop_signal(s.loop, SIGUSR1, on_signal, &s, NULL), LMD_OK);
	lmi_loop_run(s.loop, turn, &s);
	ck_assert_uint_eq(s.n_turn, 4);
	lmi_loop_unwatch(s.loop, s.pipe[0]);
	lmi_loop_unwatch(s.loop, s.pipe[0]);
	lmi_loop_destroy(s.loop);
	lmi_loop_destroy(NULL);
	close(s.pipe[0]);
	close(s.pipe[1]);
}
END_TEST

/* ---- service manager ---- */

static int manager(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

START_TEST(notify)
{
	const char *path = below("notify");
	int fd = manager(path);
	struct lmi_notify n;
	char text[512] = "";

	lmi_notify_init(&n, path, "30000000", NULL, 7);
	ck_assert_int_ge(n.fd, 0);
	ck_assert_uint_eq(n.watchdog_ns, 30000000000u);
	lmi_notify_send(&n, "READY=1\nSTATUS=%s", "fine");
	ck_assert_int_eq(recv(fd, text, sizeof(text), 0), 19);
	ck_assert_str_eq(text, "READY=1\nSTATUS=fine");
	/* a manager that has gone or does not read causes no error */
	for (int i = 0; i < 5000; i++)
		lmi_notify_send(&n, "WATCHDOG=1");
	close(fd);
	lmi_notify_send(&n, "STOPPING=1");
	lmi_notify_fini(&n);
	lmi_notify_fini(&n);
}
END_TEST

START_TEST(notify_environment)
{
	static const struct {
		const char *path, *usec, *pid;
		bool on;
		uint64_t watchdog_ns;
	} cases[] = {
		{NULL, "5000000", NULL, false, 0},
		{"", NULL, NULL, false, 0},
		{"relative", NULL, NULL, false, 0},
		{"/x", NULL, NULL, true, 0},
		{"@name", "1000", "7", true, 1000000},
		{"/x", "1000", "8", true, 0},
		{"/x", "-1", NULL, true, 0},
		{"/x", "10s", NULL, true, 0},
		{"/x", "0", NULL, true, 0},
		{"/x", "99999999999999999999", NULL, true, 0},
	};
	char deep[200];
	struct lmi_notify n;

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		lmi_notify_init(&n, cases[i].path, cases[i].usec, cases[i].pid, 7);
		ck_assert_msg((n.fd >= 0) == cases[i].on, "case %zu", i);
		ck_assert_msg(n.watchdog_ns == cases[i].watchdog_ns, "case %zu", i);
		lmi_notify_send(&n, "READY=1");
		lmi_notify_fini(&n);
	}
	memset(deep, '/', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = 0;
	lmi_notify_init(&n, deep, NULL, NULL, 7);
	ck_assert_int_eq(n.fd, -1);
}
END_TEST

/* ---- state folder ---- */

START_TEST(lock)
{
	const char *dir = below("a/b/state");
	struct lmd_error err = {0};
	char want[64];
	struct stat sb;
	int fd = -1, again = -1, status;
	pid_t child;

	ck_assert_int_eq(lmi_state_lock(&fd, dir, &err), LMD_OK);
	ck_assert_int_eq(stat(dir, &sb), 0);
	ck_assert_uint_eq(sb.st_mode & 07777, 0700);
	ck_assert_int_eq(lmi_state_lock(&again, dir, &err), LMD_BUSY);
	snprintf(want, sizeof(want), "another llamad (pid %ld) is using the state folder",
		 (long)getpid());
	ck_assert_msg(strstr(err.text, want) != NULL, "%s", err.text);
	close(fd);
	/* the lock is released when its process ends */
	child = fork();
	if (!child)
		_exit(lmi_state_lock(&again, dir, NULL) == LMD_OK ? 0 : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	ck_assert_int_eq(lmi_state_lock(&fd, dir, &err), LMD_OK);
	close(fd);
}
END_TEST

START_TEST(state_folder_refusals)
{
	struct lmd_error err = {0};
	char deep[5000];
	int fd = -1, file;

	file = open(below("file"), O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(file, 0);
	close(file);
	ck_assert_int_eq(lmi_state_lock(&fd, below("file"), &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "/file: is not a folder"));
	ck_assert_int_eq(lmi_state_lock(&fd, below("file/below"), &err), LMD_IO);
	ck_assert_ptr_nonnull(strstr(err.text, "cannot create the folder: Not a directory"));
	ck_assert_int_eq(lmi_state_lock(&fd, "/proc/llamad", &err), LMD_IO);
	ck_assert_ptr_nonnull(strstr(err.text, "/proc/llamad"));
	memset(deep, 'x', sizeof(deep) - 1);
	deep[0] = '/';
	deep[sizeof(deep) - 1] = 0;
	ck_assert_int_eq(lmi_state_lock(&fd, deep, &err), LMD_INVALID);
	/* a lock file that is a link cannot be used to write elsewhere */
	ck_assert_int_eq(mkdir(below("state"), 0700), 0);
	ck_assert_int_eq(symlink("/etc/passwd", below("state/llamad.lock")), 0);
	ck_assert_int_eq(lmi_state_lock(&fd, below("state"), &err), LMD_IO);
	ck_assert_int_eq(fd, -1);
}
END_TEST

/* ---- socket ---- */

static int listener(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(fd, 0), 0);
	return fd;
}

START_TEST(private_folder)
{
	const char *path = below("private");
	struct lmd_error err = {0};
	struct stat sb;

	umask(0);
	ck_assert_int_eq(lmi_make_private_folder(path, &err), LMD_OK);
	ck_assert_int_eq(stat(path, &sb), 0);
	ck_assert_uint_eq(sb.st_mode & 07777, 0700);
	ck_assert_int_eq(lmi_make_private_folder(path, &err), LMD_OK); /* again */
	/* a folder that others may enter */
	ck_assert_int_eq(chmod(path, 0750), 0);
	ck_assert_int_eq(lmi_make_private_folder(path, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "with mode 0700"));
	/* a symbolic link to a valid folder */
	ck_assert_int_eq(chmod(path, 0700), 0);
	ck_assert_int_eq(symlink(path, below("link")), 0);
	ck_assert_int_eq(lmi_make_private_folder(below("link"), &err), LMD_INVALID);
	/* another user's folder; only root can create one */
	if (!geteuid()) {
		ck_assert_int_eq(chown(path, 7, 7), 0);
		ck_assert_int_eq(lmi_make_private_folder(path, &err), LMD_INVALID);
	} else {
		LMD_SKIP("private_folder", "another user's folder needs root");
	}
}
END_TEST

START_TEST(socket_place)
{
	const char *path = below("run/llamad.sock");
	struct lmd_error err = {0};
	struct stat sb;
	int fd;

	umask(077);
	ck_assert_int_eq(lmi_socket_claim(path, &err), LMD_OK);
	ck_assert_int_eq(stat(below("run"), &sb), 0);
	ck_assert_uint_eq(sb.st_mode & 07777, 0750);
	fd = listener(path);
	for (int i = 0; i < 4; i++) { /* the last ones find the queue full */
		ck_assert_int_eq(lmi_socket_claim(path, &err), LMD_BUSY);
		ck_assert_ptr_nonnull(strstr(err.text, "another llamad is listening on ipc://"));
	}
	close(fd);
	/* a stale socket is removed */
	ck_assert_int_eq(lmi_socket_claim(path, &err), LMD_OK);
	ck_assert_int_ne(lstat(path, &sb), 0);
	/* a file that is not a socket is kept */
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert_int_eq(lmi_socket_claim(path, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "exists and is not a socket"));
	ck_assert_int_eq(lstat(path, &sb), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("daemon");
	TCase *t = tcase_create("parts");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, loop);
	tcase_add_test(t, notify);
	tcase_add_test(t, notify_environment);
	tcase_add_test(t, lock);
	tcase_add_test(t, state_folder_refusals);
	tcase_add_test(t, private_folder);
	tcase_add_test(t, socket_place);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
