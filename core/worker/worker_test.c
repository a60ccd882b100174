/* SPDX-License-Identifier: MIT
 *
 * Messages between a process and its worker: plans survive, everything that is too short or unknown is
 * refused on both sides, and a worker ends with its process. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/cpu_set.h"
#include "core/plan/plan_ops_fixture.h"
#include "core/plugin/plugin_image.h"
#include "core/plugin/registry.h"
#include "core/worker/plan_codec.h"
#include "core/worker/proxy.h"
#include "core/worker/reap.h"
#include "tests/engine_fixture.h"
#include "tests/lmd_check.h"

static struct lmi_plan *all_ops(struct fx *fx)
{
	struct lmd_error err = {0};
	struct lmi_plan *p = NULL;

	fx_init_all_ops(fx);
	OK(lmi_plan_build(&p, &fx->params, &err));
	OK(lmi_plan_layout(p, &err));
	return p;
}

/* A plan arrives whole; one that is cut short anywhere is refused. */
START_TEST(plans_survive)
{
	struct lmi_worker_out a = {0};
	struct lmi_worker_in in;
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmd_plan read;
	struct lmi_plan *p;
	struct fx fx;

	p = all_ops(&fx);
	lmi_worker_put_plan(&a, lmi_plan_view(p), true);
	ck_assert(!a.failed);
	in = (struct lmi_worker_in){.p = a.p, .n = a.n};
	lmi_worker_get_plan(&in, arena, &read);
	ck_assert(!in.failed);
	ck_assert_uint_eq(in.at, a.n);
	ck_assert_uint_eq(read.n_op, lmi_plan_view(p)->n_op);
	ck_assert_str_eq(read.values[0].name, lmi_plan_view(p)->values[0].name);
	lmi_arena_destroy(arena);
	for (size_t n = 0; n < a.n; n += n < 4096 ? 8 : 264) {
		arena = lmi_arena_create(0);
		in = (struct lmi_worker_in){.p = a.p, .n = n};
		lmi_worker_get_plan(&in, arena, &read);
		ck_assert(in.failed);
		lmi_arena_destroy(arena);
	}
	lmi_worker_out_fini(&a);
	lmi_plan_destroy(p);
}
END_TEST

/* Counts that say more than there is. */
START_TEST(counts_are_not_believed)
{
	struct lmi_worker_out a = {0};
	struct lmi_plan *p;
	struct fx fx;

	p = all_ops(&fx);
	lmi_worker_put_plan(&a, lmi_plan_view(p), true);
	for (int i = 0; i < 10; i++) {
		struct lmd_arena *arena = lmi_arena_create(0);
		struct lmi_worker_in in = {.p = a.p, .n = a.n};
		struct lmd_plan *head = (struct lmd_plan *)(void *)a.p, read;
		uint32_t *n = (uint32_t *[]){&head->n_value, &head->n_op, &head->n_weight_ref,
					     &head->n_rope, &head->n_input, &head->n_output,
					     &head->n_group, &head->n_cache, &head->n_row_in,
					     &head->n_value}[i];
		uint32_t old = *n;

		*n = i == 9 ? UINT32_MAX : old + 100000;
		lmi_worker_get_plan(&in, arena, &read);
		ck_assert(in.failed);
		*n = old;
		lmi_arena_destroy(arena);
	}
	lmi_worker_out_fini(&a);
	lmi_plan_destroy(p);
}
END_TEST

START_TEST(messages_and_files_arrive)
{
	struct lmi_worker_head h = {.kind = 7, .bytes = 5}, got;
	struct lmi_worker_out payload = {0};
	int sv[2], fd = -1;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	ck_assert_int_eq(lmi_worker_send(sv[0], &h, "hello", sv[0], NULL, NULL), LMD_OK);
	h.bytes = 0;
	ck_assert_int_eq(lmi_worker_send(sv[0], &h, NULL, -1, NULL, NULL), LMD_OK);
	ck_assert_int_eq(lmi_worker_receive(sv[1], &got, &payload, &fd, NULL, NULL), LMD_OK);
	ck_assert_uint_eq(got.kind, 7);
	ck_assert_mem_eq(payload.p, "hello", 5);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	ck_assert_int_eq(lmi_worker_receive(sv[1], &got, &payload, &fd, NULL, NULL), LMD_OK);
	ck_assert_int_eq(fd, -1);
	ck_assert_int_eq(send(sv[0], "this is no header of a message at all", 37, 0), 37);
	ck_assert_int_eq(lmi_worker_receive(sv[1], &got, &payload, &fd, NULL, NULL), LMD_CORRUPT);
	(void)close(sv[0]);
	ck_assert_int_eq(lmi_worker_receive(sv[1], &got, &payload, &fd, NULL, NULL), LMD_IO);
	lmi_worker_out_fini(&payload);
	(void)close(sv[1]);
}
END_TEST

/* The kernel delivers two descriptors where there is room for one: the second one is closed. */
START_TEST(one_file_is_kept)
{
	struct lmi_worker_head h = {.kind = 7, .n_fd = 1}, got;
	struct lmi_worker_out payload = {0};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} room = {.bytes = {0}};
	struct iovec v = {.iov_base = &h, .iov_len = sizeof(h)};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &room,
			   .msg_controllen = sizeof(room)};
	int sv[2], fd = -1, free_fd;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	/* the header as it is sent */
	ck_assert_int_eq(lmi_worker_send(sv[0], &h, NULL, -1, NULL, NULL), LMD_OK);
	ck_assert_int_eq(recv(sv[1], &h, sizeof(h), 0), sizeof(h));
	h.n_fd = 1;
	room.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(2 * sizeof(int)),
				     .cmsg_level = SOL_SOCKET,
				     .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&room.head), sv, sizeof(sv));
	free_fd = dup(0);
	(void)close(free_fd);
	ck_assert_int_eq(sendmsg(sv[0], &m, 0), sizeof(h));
	ck_assert_int_eq(lmi_worker_receive(sv[1], &got, &payload, &fd, NULL, NULL), LMD_OK);
	ck_assert_int_eq(fd, free_fd);
	(void)close(fd);
	fd = dup(0);
	ck_assert_int_eq(fd, free_fd);
	ck_assert_int_lt(fcntl(fd + 1, F_GETFD), 0);
	(void)close(fd);
	lmi_worker_out_fini(&payload);
	(void)close(sv[0]);
	(void)close(sv[1]);
}
END_TEST

static bool give_up(void *arg)
{
	return ++*(int *)arg < 3;
}

START_TEST(a_wait_can_be_given_up)
{
	struct lmi_worker_head got;
	struct lmi_worker_out payload = {0};
	int sv[2], fd, n = 0;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	ck_assert_int_eq(lmi_worker_receive(sv[1], &got, &payload, &fd, give_up, &n), LMD_TIMEOUT);
	ck_assert_int_eq(n, 3);
	lmi_worker_out_fini(&payload);
	(void)close(sv[0]);
	(void)close(sv[1]);
}
END_TEST

/* ---- a worker ---- */

static struct lmt_env env;

static void open_ref(struct lmi_worker_proxy *w)
{
	struct lmi_worker_opts o = {.params = {.struct_size = sizeof(o.params)},
				    .threads = {.n = 1},
				    .info = {.caps = LMD_DEV_HOST_MEMORY},
				    .label = "test"};
	struct lmd_error err = {0};

	memset(w, 0, sizeof(*w));
	OK(lmt_env_init(&env, &err));
	OK(lmi_factory_take(env.registry, LMD_KIND_BACKEND, "ref", &o.backend, &err));
	OK(lmi_worker_open(w, &o, &err));
	lmi_factory_give(env.registry, o.backend);
}

static void close_ref(struct lmi_worker_proxy *w)
{
	lmi_worker_backend_ops.close(w);
	lmt_env_fini(&env);
}

/* A file that was replaced after this process had loaded it does not run in a worker. */
START_TEST(other_code_is_refused)
{
	static const uint8_t other[LMI_PLUGIN_DIGEST_BYTES] = {1, 2, 3};
	static struct lmi_worker_proxy w;
	struct lmi_worker_opts o = {.params = {.struct_size = sizeof(o.params)},
				    .threads = {.n = 1},
				    .info = {.caps = LMD_DEV_HOST_MEMORY},
				    .label = "test"};
	const struct lmi_factory *ref;
	struct lmi_factory f;
	struct lmd_error err = {0};

	OK(lmt_env_init(&env, &err));
	OK(lmi_factory_take(env.registry, LMD_KIND_BACKEND, "ref", &ref, &err));
	f = *ref;
	f.digest = other;
	o.backend = &f;
	ck_assert_int_eq(lmi_worker_open(&w, &o, &err), LMD_INVALID);
	ck_assert_msg(strstr(err.text, "is not the version of backend ref") != NULL, "%s", err.text);
	ck_assert_int_eq(lmi_worker_pid(&w), 0);
	lmi_factory_give(env.registry, ref);
	lmt_env_fini(&env);
}
END_TEST

/* Requests that are empty or cut short are refused, and the worker goes on. */
START_TEST(short_requests_are_refused)
{
	static struct lmi_worker_proxy w;
	struct lmi_worker_in in;
	struct lmd_error err = {0};
	pid_t pid;

	open_ref(&w);
	pid = lmi_worker_pid(&w);
	for (uint32_t kind = 0; kind <= LMI_WORKER_N_KIND; kind++)
		for (size_t n = 0; n <= 56; n += 8) {
			lmi_worker_link_begin(&w.link);
			memset(lmi_worker_out_put(&w.link.out, NULL, n), n % 3 ? 0xff : 0, n);
			if (lmi_worker_link_ask(&w.link, kind, -1, &in, &err) == LMD_DEVICE)
				ck_abort_msg("request %u of %zu bytes: %s", kind, n, err.text);
			lmi_worker_link_end(&w.link);
		}
	ck_assert_int_eq(lmi_worker_pid(&w), pid);
	close_ref(&w);
	ck_assert_int_lt(kill(pid, 0), 0);
}
END_TEST

/* What is too large for a message is refused here, and the worker goes on. */
START_TEST(large_requests_are_refused)
{
	static struct lmi_worker_proxy w;
	struct lmi_worker_in in;
	struct lmd_error err = {0};
	pid_t pid;

	open_ref(&w);
	pid = lmi_worker_pid(&w);
	lmi_worker_link_begin(&w.link);
	w.link.out.n = LMI_WORKER_PAYLOAD_MAX + 8; /* none of it is read */
	ck_assert_int_eq(lmi_worker_link_ask(&w.link, LMI_WORKER_RUN, -1, &in, &err), LMD_UNSUPPORTED);
	lmi_worker_link_end(&w.link);
	ck_assert_int_eq(lmi_worker_pid(&w), pid);
	close_ref(&w);
}
END_TEST

START_TEST(buffers_are_shared)
{
	static struct lmi_worker_proxy w;
	const struct lmd_backend_ops *ops = &lmi_worker_backend_ops;
	struct lmd_buffer *a = NULL, *b = NULL;
	struct lmd_error err = {0};
	char text[6] = "";
	void *p = NULL;

	open_ref(&w);
	OK(ops->buffer_create(&w, 4096, LMD_BUF_PINNED, NULL, &a, &err));
	OK(ops->buffer_create(&w, 10, LMD_BUF_DEVICE, NULL, &b, &err));
	OK(ops->buffer_map(&w, a, &p, &err));
	memcpy((char *)p + 100, "hello", 6);
	OK(ops->buffer_copy(&w, NULL, b, NULL, 4, a, NULL, 100, 6, NULL, &err));
	OK(ops->buffer_copy(&w, NULL, NULL, text, 0, b, NULL, 4, 6, NULL, &err));
	ck_assert_str_eq(text, "hello");
	ck_assert_int_eq(ops->buffer_copy(&w, NULL, b, NULL, 5, a, NULL, 0, 6, NULL, &err), LMD_INVALID);
	ops->buffer_destroy(&w, a);
	ops->buffer_destroy(&w, b);
	close_ref(&w);
}
END_TEST

/* The memory that both processes map keeps its size, and none of it can be executed. */
START_TEST(shared_memory_is_sealed)
{
	int fd;
	void *p = lmi_worker_memory(4096, &fd);

	ck_assert_ptr_nonnull(p);
	ck_assert_int_lt(ftruncate(fd, 0), 0);
	ck_assert_int_lt(ftruncate(fd, 8192), 0);
	ck_assert_int_ne(fcntl(fd, F_GET_SEALS) & F_SEAL_SEAL, 0);
	if (fcntl(fd, F_GET_SEALS) & 0x20) /* F_SEAL_EXEC, since Linux 6.3 */
		ck_assert_int_lt(fchmod(fd, 0700), 0);
	ck_assert_int_eq(munmap(p, 4096), 0);
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

/* An object gets the number of one that is gone. */
START_TEST(numbers_are_used_again)
{
	static struct lmi_worker_proxy w;
	const struct lmd_backend_ops *ops = &lmi_worker_backend_ops;
	struct lmd_buffer *v[300] = {0};
	struct lmd_error err = {0};

	open_ref(&w);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < LMD_LEN(v); i++)
			OK(ops->buffer_create(&w, 10, LMD_BUF_DEVICE, NULL, &v[i], &err));
		for (size_t i = 0; i < LMD_LEN(v); i++)
			ops->buffer_destroy(&w, v[i]);
		ck_assert_int_ne(ops->buffer_create(&w, UINT64_MAX, LMD_BUF_DEVICE, NULL, &v[0], &err),
				 LMD_OK);
	}
	ck_assert_uint_eq(w.n_number, LMD_LEN(v));
	close_ref(&w);
}
END_TEST

/* A process that does not end is left, and reaped when it has. */
START_TEST(a_process_that_does_not_end_is_left)
{
	pid_t pid = fork();
	int status = 0;

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		for (;;)
			(void)pause();
	}
	ck_assert(!lmi_worker_reap(pid, 1000000, &status));
	ck_assert_uint_eq(lmi_worker_reap_left(), 1);
	ck_assert_int_eq(kill(pid, 0), 0);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	while (lmi_worker_reap_left())
		(void)sched_yield();
	ck_assert_int_eq(waitpid(pid, &status, WNOHANG), -1); /* it was reaped */
	pid = fork();
	if (!pid)
		_exit(3);
	ck_assert(lmi_worker_reap(pid, 60000000000, &status));
	ck_assert_int_eq(WEXITSTATUS(status), 3);
}
END_TEST

/* When the other process is gone, which closes its socket, a worker ends by itself. */
START_TEST(a_worker_ends_with_its_process)
{
	static struct lmi_worker_proxy w;
	int status = -1;
	pid_t pid;

	open_ref(&w);
	pid = lmi_worker_pid(&w);
	(void)close(w.link.sock);
	w.link.sock = -1;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	atomic_store(&w.link.pid, 0);
	close_ref(&w);
}
END_TEST

/* Returns the processors that the main thread of a process may run on. */
static struct lmi_cpu_set processors_of(pid_t pid)
{
	struct lmi_cpu_set s = {{0}};
	cpu_set_t set;

	ck_assert_int_eq(sched_getaffinity(pid, sizeof(set), &set), 0);
	for (uint32_t i = 0; i < LMI_CPU_SET_MAX; i++)
		if (CPU_ISSET(i, &set))
			s.word[i / 64] |= 1ull << i % 64;
	return s;
}

/* A worker that is started by a thread which a team has bound to one processor may use all of them, and the
 * thread stays where it is. With one processor there is nothing to see. */
START_TEST(a_worker_is_not_bound)
{
	static struct lmi_worker_proxy w;
	struct lmi_cpu_set all = lmi_cpu_set_allowed(), one = {{0}}, now;
	uint32_t cpu = 0;

	while (!lmi_cpu_set_has(&all, cpu))
		cpu++;
	one.word[cpu / 64] = 1ull << cpu % 64;
	ck_assert(lmi_cpu_set_bind(&one));
	open_ref(&w);
	now = processors_of(lmi_worker_pid(&w));
	ck_assert(lmi_cpu_set_equal(&now, &all));
	now = lmi_cpu_set_allowed();
	ck_assert(lmi_cpu_set_equal(&now, &one));
	now = lmi_cpu_set_unbound();
	ck_assert(lmi_cpu_set_equal(&now, &all));
	close_ref(&w);
	ck_assert(lmi_cpu_set_bind(&all));
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("worker");
	TCase *t = tcase_create("worker");
	int status;

	if (lmi_worker_main_if_asked(argc, argv, &status))
		return status;
	tcase_set_timeout(t, 60);
	tcase_add_test(t, plans_survive);
	tcase_add_test(t, counts_are_not_believed);
	tcase_add_test(t, messages_and_files_arrive);
	tcase_add_test(t, one_file_is_kept);
	tcase_add_test(t, a_wait_can_be_given_up);
	tcase_add_test(t, other_code_is_refused);
	tcase_add_test(t, short_requests_are_refused);
	tcase_add_test(t, large_requests_are_refused);
	tcase_add_test(t, buffers_are_shared);
	tcase_add_test(t, shared_memory_is_sealed);
	tcase_add_test(t, numbers_are_used_again);
	tcase_add_test(t, a_process_that_does_not_end_is_left);
	tcase_add_test(t, a_worker_ends_with_its_process);
	tcase_add_test(t, a_worker_is_not_bound);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
