/* SPDX-License-Identifier: MIT
 *
 * A queue of files and the thread that writes them.  The file that is being written stays at the head
 * of the queue until it has its name. */
#include "daemon/http/object_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/file.h"

struct waiting {
	struct waiting *next;
	int folder;
	char name[64];
	char *bytes; /* [n] */
	size_t n;
	int64_t changed_ns;
};

struct lmi_http_object_writer {
	const struct lmd_host *host;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;     /* a file was added or written, or the end was asked for */
	struct waiting *head, **end; /* in the order of the calls */
	bool writing;               /* the head */
	bool stop;
	uint64_t bytes;
};

/* ---- the thread ---- */

/* Returns 0 or the error number of the system. */
static int write_file(const struct waiting *f)
{
	const struct timespec at = {.tv_sec = f->changed_ns / 1000000000,
				    .tv_nsec = f->changed_ns % 1000000000};
	const struct timespec times[2] = {at, at};
	int fd = openat(f->folder, LMI_HTTP_OBJECT_TEMPORARY,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int error;

	if (fd < 0)
		return errno;
	error = !lmi_file_write_all(fd, f->bytes, f->n) || futimens(fd, times) || fsync(fd) ? errno : 0;
	if (close(fd) && !error)
		error = errno;
	if (!error && renameat(f->folder, LMI_HTTP_OBJECT_TEMPORARY, f->folder, f->name))
		error = errno;
	if (!error && fsync(f->folder))
		error = errno;
	if (error)
		(void)unlinkat(f->folder, LMI_HTTP_OBJECT_TEMPORARY, 0);
	return error;
}

static void waiting_free(struct waiting *f)
{
	lmi_free(f->bytes);
	lmi_free(f);
}

/* Removes the head of the queue. */
static void pop(struct lmi_http_object_writer *w)
{
	struct waiting *f = w->head;

	w->head = f->next;
	if (!w->head)
		w->end = &w->head;
	w->bytes -= f->n;
	waiting_free(f);
}

static void log_failure(const struct lmi_http_object_writer *w, int error)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);

	w->host->log(w->host->ctx, "http", LMD_LOG_WARN, "the object %s cannot be stored: %s",
		     w->head->name, c ? strerror_l(error, c) : "");
	if (c)
		freelocale(c);
}

static void *work(void *arg)
{
	struct lmi_http_object_writer *w = arg;

	(void)pthread_mutex_lock(&w->lock);
	for (;;) {
		int error;

		while (!w->head && !w->stop)
			(void)pthread_cond_wait(&w->changed, &w->lock);
		if (!w->head)
			break;
		w->writing = true;
		(void)pthread_mutex_unlock(&w->lock);
		error = write_file(w->head);
		if (error)
			log_failure(w, error);
		(void)pthread_mutex_lock(&w->lock);
		w->writing = false;
		pop(w);
		(void)pthread_cond_broadcast(&w->changed);
	}
	(void)pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* ---- what the loop calls ---- */

/* Starts the thread without signals, which are the loop's. */
static int start(struct lmi_http_object_writer *w)
{
	sigset_t all, before;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&w->thread, NULL, work, w);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

enum lmd_status lmi_http_object_writer_create(struct lmi_http_object_writer **out,
					      const struct lmd_host *host, struct lmd_error *err)
{
	struct lmi_http_object_writer *w = lmi_alloc(1, sizeof(*w));

	if (!w)
		return lmd_fail(err, LMD_NOMEM, "no memory for stored objects");
	w->host = host;
	w->end = &w->head;
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->changed, NULL);
	if (!start(w)) {
		*out = w;
		return LMD_OK;
	}
	(void)pthread_cond_destroy(&w->changed);
	(void)pthread_mutex_destroy(&w->lock);
	lmi_free(w);
	return lmd_fail(err, LMD_BUSY, "the system has no thread for stored objects");
}

void lmi_http_object_writer_destroy(struct lmi_http_object_writer *w)
{
	if (!w)
		return;
	(void)pthread_mutex_lock(&w->lock);
	w->stop = true;
	(void)pthread_cond_broadcast(&w->changed);
	(void)pthread_mutex_unlock(&w->lock);
	(void)pthread_join(w->thread, NULL);
	(void)pthread_cond_destroy(&w->changed);
	(void)pthread_mutex_destroy(&w->lock);
	lmi_free(w);
}

enum lmd_status lmi_http_object_writer_put(struct lmi_http_object_writer *w, int folder,
					   const char *name, const void *bytes, size_t n,
					   int64_t changed_ns, struct lmd_error *err)
{
	struct waiting *f = lmi_alloc(1, sizeof(*f));
	enum lmd_status st = LMD_OK;

	if (f)
		f->bytes = lmi_alloc(n + 1, 1);
	if (!f || !f->bytes) {
		lmi_free(f);
		return lmd_fail(err, LMD_NOMEM, "no memory for an object");
	}
	f->folder = folder;
	(void)snprintf(f->name, sizeof(f->name), "%s", name);
	if (n)
		memcpy(f->bytes, bytes, n);
	f->n = n;
	f->changed_ns = changed_ns;
	(void)pthread_mutex_lock(&w->lock);
	if (w->head && w->bytes + n > LMI_HTTP_OBJECT_WAITING) {
		st = lmd_fail(err, LMD_BUSY, "the disk is too slow for what is to be stored");
	} else {
		*w->end = f;
		w->end = &f->next;
		w->bytes += n;
		(void)pthread_cond_broadcast(&w->changed);
	}
	(void)pthread_mutex_unlock(&w->lock);
	if (st != LMD_OK)
		waiting_free(f);
	return st;
}

static bool is(const struct waiting *f, int folder, const char *name)
{
	return f->folder == folder && !strcmp(f->name, name);
}

char *lmi_http_object_writer_get(struct lmi_http_object_writer *w, int folder, const char *name,
				 size_t *n)
{
	const struct waiting *found = NULL;
	char *text = NULL;

	(void)pthread_mutex_lock(&w->lock);
	for (const struct waiting *f = w->head; f; f = f->next)
		found = is(f, folder, name) ? f : found;
	if (found)
		text = lmi_alloc(found->n + 1, 1);
	if (text) {
		memcpy(text, found->bytes, found->n);
		*n = found->n;
	}
	(void)pthread_mutex_unlock(&w->lock);
	return text;
}

void lmi_http_object_writer_forget(struct lmi_http_object_writer *w, int folder, const char *name)
{
	struct waiting **p;

	(void)pthread_mutex_lock(&w->lock);
	p = w->writing ? &w->head->next : &w->head;
	while (*p) {
		struct waiting *f = *p;

		if (!is(f, folder, name)) {
			p = &f->next;
			continue;
		}
		*p = f->next;
		if (!f->next)
			w->end = p;
		w->bytes -= f->n;
		waiting_free(f);
	}
	while (w->writing && is(w->head, folder, name))
		(void)pthread_cond_wait(&w->changed, &w->lock);
	(void)pthread_mutex_unlock(&w->lock);
}

void lmi_http_object_writer_flush(struct lmi_http_object_writer *w)
{
	(void)pthread_mutex_lock(&w->lock);
	while (w->head)
		(void)pthread_cond_wait(&w->changed, &w->lock);
	(void)pthread_mutex_unlock(&w->lock);
}
