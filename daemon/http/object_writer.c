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
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/file.h"

/* Maximum number of files whose failures are known. */
#define FAILURES 1024u

struct waiting {
	struct waiting *next;
	int folder;
	char name[64];
	char *bytes; /* [n] */
	size_t n;
	int64_t changed_ns;
	bool append;
};

/* A file that could not be written. */
struct failure {
	struct failure *next;
	int folder;
	char name[64];
	int error;
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
	struct failure *failures; /* the newest first, at most FAILURES */
	int fd;                   /* eventfd */
};

/* ---- failures, under the lock ---- */

static int failure_of(const struct lmi_http_object_writer *w, int folder, const char *name)
{
	for (const struct failure *f = w->failures; f; f = f->next)
		if (f->folder == folder && !strcmp(f->name, name))
			return f->error;
	return 0;
}

static void forget_failure(struct lmi_http_object_writer *w, int folder, const char *name)
{
	struct failure **p = &w->failures, *f;

	while (*p && ((*p)->folder != folder || strcmp((*p)->name, name) != 0))
		p = &(*p)->next;
	f = *p;
	if (!f)
		return;
	*p = f->next;
	lmi_free(f);
}

/* Without memory the failure is only logged. */
static void note_failure(struct lmi_http_object_writer *w, const struct waiting *of, int error)
{
	struct failure *f, **p = &w->failures;

	forget_failure(w, of->folder, of->name);
	f = lmi_alloc(1, sizeof(*f));
	if (!f)
		return;
	*f = (struct failure){.next = w->failures, .folder = of->folder, .error = error};
	memcpy(f->name, of->name, sizeof(f->name));
	w->failures = f;
	for (unsigned i = 0; *p && i < FAILURES; i++)
		p = &(*p)->next;
	while (*p) {
		f = *p;
		*p = f->next;
		lmi_free(f);
	}
}

/* ---- the thread ---- */

/* Returns 0 or the error number of the system. */
static int append_to_file(const struct waiting *f)
{
	const struct timespec at = {.tv_sec = f->changed_ns / 1000000000,
				    .tv_nsec = f->changed_ns % 1000000000};
	const struct timespec times[2] = {at, at};
	int fd = openat(f->folder, f->name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			0600);
	struct stat before;
	int error;

	if (fd < 0)
		return errno;
	error = fstat(fd, &before) ? errno : 0;
	if (!error && (!lmi_file_write_all(fd, f->bytes, f->n) || futimens(fd, times) || fsync(fd))) {
		error = errno;
		(void)ftruncate(fd, before.st_size); /* the reader finds whole lines, or drops the last */
	}
	if (close(fd) && !error)
		error = errno;
	if (!error && !before.st_size && fsync(f->folder))
		error = errno;
	return error;
}

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
		/* after a failure nothing more is appended, so that the file has no gap */
		error = w->head->append ? failure_of(w, w->head->folder, w->head->name) : 0;
		(void)pthread_mutex_unlock(&w->lock);
		if (!error) {
			error = w->head->append ? append_to_file(w->head) : write_file(w->head);
			if (error)
				log_failure(w, error);
		}
		(void)pthread_mutex_lock(&w->lock);
		w->writing = false;
		if (error)
			note_failure(w, w->head, error);
		else if (!w->head->append)
			forget_failure(w, w->head->folder, w->head->name);
		pop(w);
		(void)pthread_cond_broadcast(&w->changed);
		(void)eventfd_write(w->fd, 1);
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
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd < 0) {
		lmi_free(w);
		return lmd_fail(err, LMD_IO, "eventfd: %s", strerror(errno));
	}
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->changed, NULL);
	if (!start(w)) {
		*out = w;
		return LMD_OK;
	}
	(void)pthread_cond_destroy(&w->changed);
	(void)pthread_mutex_destroy(&w->lock);
	(void)close(w->fd);
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
	while (w->failures) {
		struct failure *f = w->failures;

		w->failures = f->next;
		lmi_free(f);
	}
	(void)close(w->fd);
	lmi_free(w);
}

static bool is(const struct waiting *f, int folder, const char *name)
{
	return f->folder == folder && !strcmp(f->name, name);
}

/* Returns the file that waits and to which bytes can be added: the last one of that name, if it is an
 * append and is not being written. */
static struct waiting *find_append(const struct lmi_http_object_writer *w, int folder, const char *name)
{
	struct waiting *found = NULL;

	for (struct waiting *f = w->head; f; f = f->next)
		if (is(f, folder, name))
			found = f->append && !(w->writing && f == w->head) ? f : NULL;
	return found;
}

/* Adds a file to the queue, or its bytes to one that waits, which frees it; under the lock. */
static enum lmd_status enqueue(struct lmi_http_object_writer *w, struct waiting *own_f,
			       struct lmd_error *err)
{
	struct waiting *f = own_f->append ? find_append(w, own_f->folder, own_f->name) : NULL;
	size_t n = own_f->n;
	char *bytes = NULL;

	if (w->head && w->bytes + n > LMI_HTTP_OBJECT_WAITING) {
		waiting_free(own_f);
		return lmd_fail(err, LMD_BUSY, "the disk is too slow for what is to be stored");
	}
	if (f)
		bytes = lmi_alloc(f->n + n + 1, 1);
	if (bytes) {
		memcpy(bytes, f->bytes, f->n);
		memcpy(bytes + f->n, own_f->bytes, n);
		lmi_free(f->bytes);
		f->bytes = bytes;
		f->n += n;
		f->changed_ns = own_f->changed_ns;
		waiting_free(own_f);
	} else {
		*w->end = own_f;
		w->end = &own_f->next;
	}
	w->bytes += n;
	(void)pthread_cond_broadcast(&w->changed);
	return LMD_OK;
}

static enum lmd_status add(struct lmi_http_object_writer *w, const struct waiting *file,
			   const char *name, const void *bytes, struct lmd_error *err)
{
	struct waiting *f = lmi_alloc(1, sizeof(*f));
	enum lmd_status st;

	if (f) {
		*f = *file;
		f->bytes = lmi_alloc(f->n + 1, 1);
	}
	if (!f || !f->bytes) {
		lmi_free(f);
		return lmd_fail(err, LMD_NOMEM, "no memory for an object");
	}
	(void)snprintf(f->name, sizeof(f->name), "%s", name);
	if (f->n)
		memcpy(f->bytes, bytes, f->n);
	(void)pthread_mutex_lock(&w->lock);
	st = enqueue(w, f, err);
	(void)pthread_mutex_unlock(&w->lock);
	return st;
}

enum lmd_status lmi_http_object_writer_put(struct lmi_http_object_writer *w, int folder,
					   const char *name, const void *bytes, size_t n,
					   int64_t changed_ns, struct lmd_error *err)
{
	const struct waiting f = {.folder = folder, .n = n, .changed_ns = changed_ns};

	return add(w, &f, name, bytes, err);
}

enum lmd_status lmi_http_object_writer_append(struct lmi_http_object_writer *w, int folder,
					      const char *name, const void *bytes, size_t n,
					      int64_t changed_ns, struct lmd_error *err)
{
	const struct waiting f = {.folder = folder, .n = n, .changed_ns = changed_ns, .append = true};

	return add(w, &f, name, bytes, err);
}

size_t lmi_http_object_writer_waiting(struct lmi_http_object_writer *w, int folder, const char *name,
				      int *error)
{
	size_t n = 0;

	(void)pthread_mutex_lock(&w->lock);
	for (const struct waiting *f = w->head; f; f = f->next)
		if (is(f, folder, name))
			n += f->n;
	*error = failure_of(w, folder, name);
	(void)pthread_mutex_unlock(&w->lock);
	return n;
}

int lmi_http_object_writer_fd(const struct lmi_http_object_writer *w)
{
	return w->fd;
}

char *lmi_http_object_writer_get(struct lmi_http_object_writer *w, int folder, const char *name,
				 size_t *n)
{
	const struct waiting *found = NULL;
	char *text = NULL;

	(void)pthread_mutex_lock(&w->lock);
	for (const struct waiting *f = w->head; f; f = f->next)
		found = is(f, folder, name) ? f : found;
	if (found && !found->append)
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
	forget_failure(w, folder, name);
	(void)pthread_mutex_unlock(&w->lock);
}

void lmi_http_object_writer_flush(struct lmi_http_object_writer *w)
{
	(void)pthread_mutex_lock(&w->lock);
	while (w->head)
		(void)pthread_cond_wait(&w->changed, &w->lock);
	(void)pthread_mutex_unlock(&w->lock);
}
