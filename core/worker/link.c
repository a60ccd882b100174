/* SPDX-License-Identifier: MIT
 *
 * A request waits for its reply as long as the worker's counter moves: a thread of the worker advances it
 * whatever the others compute, so a long step is told from a process that was stopped. */
#include "core/worker/link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/cpu_set.h"
#include "core/worker/reap.h"

#define WORKER_FD 3

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

/* Kernels since 6.3 want to know whether the memory will be mapped executable; older ones refuse the
 * flag. */
static int make_memfd(void)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("llamad-worker", flags | MFD_NOEXEC_SEAL);

	return fd < 0 && errno == EINVAL ? memfd_create("llamad-worker", flags) : fd;
}

void *lmi_worker_memory(uint64_t bytes, int *fd)
{
	void *p = MAP_FAILED;

	*fd = bytes && bytes < SIZE_MAX / 2 ? make_memfd() : -1;
	/* if the worker could shorten it, the next access would end this process */
	if (*fd >= 0 && !ftruncate(*fd, (off_t)bytes) &&
	    !fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (p != MAP_FAILED)
		return p;
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	return NULL;
}

/* ---- starting ---- */

/* Starts a process with the processors of the calling thread apart from what a team binds it to: a process
 * inherits the binding, and its threads would all be on the processor of one part of that team. */
static int spawn_unbound(pid_t *pid, const posix_spawn_file_actions_t *files,
			 const posix_spawnattr_t *attr, char **argv)
{
	const struct lmi_cpu_set now = lmi_cpu_set_allowed(), all = lmi_cpu_set_unbound();
	bool bound = !lmi_cpu_set_equal(&now, &all) && lmi_cpu_set_bind(&all);
	int e = posix_spawn(pid, "/proc/self/exe", files, attr, argv, environ);

	if (bound)
		(void)lmi_cpu_set_bind(&now);
	return e;
}

static enum lmd_status spawn(struct lmi_worker_link *l, int sock, struct lmd_error *err)
{
	char option[32], *argv[] = {(char[]){"llamad-worker"}, option, l->label, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid = 0;
	int e;

	(void)snprintf(option, sizeof(option), "--worker=%d", WORKER_FD);
	(void)sigemptyset(&none);
	e = posix_spawn_file_actions_init(&files);
	if (e)
		return lmd_fail(err, LMD_NOMEM, "worker: %s", strerror(e));
	e = posix_spawnattr_init(&attr);
	if (!e)
		e = posix_spawn_file_actions_adddup2(&files, sock, WORKER_FD);
	/* a group of its own: keys of the terminal are for this process */
	if (!e)
		e = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	if (!e)
		e = posix_spawnattr_setsigmask(&attr, &none);
	if (!e)
		e = spawn_unbound(&pid, &files, &attr, argv);
	(void)posix_spawnattr_destroy(&attr);
	(void)posix_spawn_file_actions_destroy(&files);
	if (e)
		return lmd_fail(err, e == ENOMEM || e == EAGAIN ? LMD_NOMEM : LMD_IO,
				"worker: no process: %s", strerror(e));
	atomic_store(&l->pid, pid);
	return LMD_OK;
}

static uint64_t patience_ns(void)
{
	const char *text = getenv("LLAMAD_WORKER_PATIENCE_MS");
	unsigned long ms = text ? strtoul(text, NULL, 10) : 0;

	return (ms ? ms : LMI_WORKER_PATIENCE_MS) * LMI_NS_PER_MS;
}

enum lmd_status lmi_worker_link_start(struct lmi_worker_link *l, const char *label, uint64_t timeout_ns,
				      int *page_fd, struct lmd_error *err)
{
	int sv[2];
	enum lmd_status st;

	*l = (struct lmi_worker_link){
		.sock = -1, .patience_ns = patience_ns(), .timeout_ns = timeout_ns};
	(void)pthread_mutex_init(&l->lock, NULL);
	(void)snprintf(l->label, sizeof(l->label), "%.63s", label ? label : "");
	(void)lmi_worker_reap_left();
	l->page = lmi_worker_memory(sizeof(*l->page), page_fd);
	if (!l->page)
		return lmd_fail(err, LMD_NOMEM, "worker: no shared memory: %s", strerror(errno));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return lmd_fail(err, LMD_NOMEM, "worker: no sockets: %s", strerror(errno));
	l->sock = sv[0];
	st = spawn(l, sv[1], err);
	(void)close(sv[1]);
	return st;
}

/* ---- its end ---- */

/* Returns false if the process does not end. */
static bool end(pid_t pid, int *status)
{
	(void)kill(pid, SIGKILL);
	return lmi_worker_reap(pid, LMI_WORKER_REAP_MS * LMI_NS_PER_MS, status);
}

/* Kills the process and notes how it ended. Called with the lock held, or by the only user. */
static void bury(struct lmi_worker_link *l, const char *why)
{
	pid_t pid = atomic_exchange(&l->pid, 0);
	int status = 0;
	bool ended;

	if (l->dead.status != LMD_OK)
		return;
	ended = !pid || end(pid, &status);
	if (!ended) {
		(void)lmd_fail(&l->dead, LMD_DEVICE,
			       "worker process %d %s, was killed, and has not ended within %d ms: it is stuck "
			       "in the kernel",
			       (int)pid, why ? why : "closed its connection", LMI_WORKER_REAP_MS);
		return;
	}
	/* a process that was ending by itself, such as one whose core is being written, tells its signal */
	if (why && !(WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL))
		(void)lmd_fail(&l->dead, LMD_DEVICE, "worker process %d %s and was ended", (int)pid, why);
	else if (WIFSIGNALED(status))
		(void)lmd_fail(&l->dead, LMD_DEVICE, "worker process %d ended by signal %d (%s)",
			       (int)pid, WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		(void)lmd_fail(&l->dead, LMD_DEVICE, "worker process %d ended with status %d", (int)pid,
			       WEXITSTATUS(status));
}

void lmi_worker_link_stop(struct lmi_worker_link *l)
{
	pid_t pid = atomic_exchange(&l->pid, 0);
	int status;

	if (l->sock >= 0)
		(void)close(l->sock);
	if (pid) /* all its objects are gone, and it keeps nothing elsewhere */
		(void)end(pid, &status);
	if (l->page)
		(void)munmap(l->page, sizeof(*l->page));
	lmi_worker_out_fini(&l->out);
	lmi_worker_out_fini(&l->in);
	(void)pthread_mutex_destroy(&l->lock);
}

/* ---- asking ---- */

void lmi_worker_link_begin(struct lmi_worker_link *l)
{
	(void)pthread_mutex_lock(&l->lock);
	lmi_worker_out_reset(&l->out);
}

void lmi_worker_link_end(struct lmi_worker_link *l)
{
	l->cancel = NULL;
	l->progress = NULL;
	(void)pthread_mutex_unlock(&l->lock);
}

/* Returns true if the worker has made progress. */
static bool pass_progress(struct lmi_worker_link *l)
{
	uint32_t n = __atomic_load_n(&l->page->progress, __ATOMIC_RELAXED), more = n - l->seen_progress;

	if (l->progress && more)
		__atomic_fetch_add(l->progress, more, __ATOMIC_RELAXED);
	l->seen_progress = n;
	return more != 0;
}

static bool tick(void *arg)
{
	struct lmi_worker_link *l = arg;
	uint32_t beat = __atomic_load_n(&l->page->beat, __ATOMIC_RELAXED);
	uint64_t now = lmi_clock_monotonic_ns();

	if (l->cancel && *l->cancel)
		__atomic_store_n(&l->page->cancel, 1, __ATOMIC_RELAXED);
	if (pass_progress(l))
		l->moved_ns = now;
	if (beat != l->seen_beat) {
		l->seen_beat = beat;
		l->beat_ns = now;
	}
	l->is_stuck = l->timeout_ns && now - l->moved_ns >= l->timeout_ns;
	return !l->is_stuck && now - l->beat_ns < l->patience_ns;
}

/* Sends a request and receives its reply. */
static enum lmd_status exchange(struct lmi_worker_link *l, uint32_t kind, int fd,
				struct lmi_worker_head *reply)
{
	const struct lmi_worker_head h = {.kind = kind, .bytes = l->out.n};
	int got = -1;
	enum lmd_status st;

	l->beat_ns = l->moved_ns = lmi_clock_monotonic_ns();
	__atomic_store_n(&l->page->cancel, 0, __ATOMIC_RELAXED);
	st = lmi_worker_send(l->sock, &h, l->out.p, fd, tick, l);
	if (st == LMD_OK)
		st = lmi_worker_receive(l->sock, reply, &l->in, &got, tick, l);
	if (got >= 0)
		(void)close(got); /* a worker sends none */
	(void)pass_progress(l);
	return st == LMD_OK && (reply->kind != kind || reply->status >= LMD_N_STATUS) ? LMD_CORRUPT : st;
}

enum lmd_status lmi_worker_link_ask(struct lmi_worker_link *l, uint32_t kind, int fd,
				    struct lmi_worker_in *in, struct lmd_error *err)
{
	struct lmi_worker_head reply = {0};
	enum lmd_status st;
	char why[96];

	*in = (struct lmi_worker_in){0};
	if (l->dead.status != LMD_OK)
		return lmd_fail(err, LMD_DEVICE, "%s", l->dead.text);
	if (l->out.failed)
		return lmd_fail(err, LMD_NOMEM, "worker: no memory for a message");
	if (l->out.n > LMI_WORKER_PAYLOAD_MAX)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"worker: a message of %zu bytes; at most %llu are allowed", l->out.n,
				LMI_WORKER_PAYLOAD_MAX);
	st = exchange(l, kind, fd, &reply);
	if (st != LMD_OK) {
		if (l->is_stuck)
			(void)snprintf(why, sizeof(why), "made no progress for %llu ms (isolation_timeout)",
				       (unsigned long long)(l->timeout_ns / LMI_NS_PER_MS));
		else
			(void)snprintf(why, sizeof(why), "did not move for %llu ms",
				       (unsigned long long)(l->patience_ns / LMI_NS_PER_MS));
		bury(l, st == LMD_TIMEOUT ? why
			: st == LMD_IO	  ? NULL
			: st == LMD_NOMEM ? "sent more than there is memory for"
					  : "sent what is no message");
		return lmd_fail(err, LMD_DEVICE, "%s", l->dead.text);
	}
	*in = (struct lmi_worker_in){.p = l->in.p, .n = l->in.n};
	if (reply.status == LMD_OK)
		return LMD_OK;
	return lmd_fail(err, (enum lmd_status)reply.status, "%.*s", (int)(in->n < 400 ? in->n : 400),
			in->p ? in->p : "");
}

enum lmd_status lmi_worker_link_check(struct lmi_worker_link *l, struct lmd_error *err)
{
	char byte;
	ssize_t n;

	if (l->dead.status == LMD_OK) {
		n = recv(l->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
			return LMD_OK;
		bury(l, n > 0 ? "sent what nobody asked for" : NULL);
	}
	return lmd_fail(err, LMD_DEVICE, "%s", l->dead.text);
}
