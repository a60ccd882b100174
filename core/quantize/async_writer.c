/* SPDX-License-Identifier: MIT
 *
 * A ring of buffers between two threads: one fills the next free buffer, the other passes filled
 * buffers on.  A single lock is held for a few instructions. */
#include "core/quantize/async_writer.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/alloc.h"

struct buffer {
	uint8_t *p;
	size_t cap, n;
	lmi_quantize_async_writer_fn fn;
	void *arg;
};

struct lmi_quantize_async_writer {
	struct buffer ring[LMI_QUANTIZE_ASYNC_WRITER_BUFFERS];
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	uint64_t n_queued, n_done; /* counters; n_queued - n_done buffers are queued or in use */
	bool closed;
	struct lmd_error err; /* status LMD_OK: no call has failed */
};

static void *writer_main(void *arg)
{
	struct lmi_quantize_async_writer *b = arg;
	struct lmd_error err = {.status = LMD_OK};

	(void)pthread_mutex_lock(&b->lock);
	for (;;) {
		struct buffer *x = &b->ring[b->n_done % LMI_QUANTIZE_ASYNC_WRITER_BUFFERS];

		while (b->n_queued == b->n_done && !b->closed)
			(void)pthread_cond_wait(&b->changed, &b->lock);
		if (b->n_queued == b->n_done)
			break;
		(void)pthread_mutex_unlock(&b->lock);
		if (err.status == LMD_OK)
			err.status = x->fn(x->arg, x->p, x->n, &err);
		(void)pthread_mutex_lock(&b->lock);
		b->err = err;
		b->n_done++;
		(void)pthread_cond_signal(&b->changed);
	}
	(void)pthread_mutex_unlock(&b->lock);
	return NULL;
}

/* Signals are left to the thread that started the work. */
static int start(struct lmi_quantize_async_writer *b)
{
	sigset_t all, old;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&b->thread, NULL, writer_main, b);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

enum lmd_status lmi_quantize_async_writer_create(struct lmi_quantize_async_writer **out,
						 struct lmd_error *err)
{
	struct lmi_quantize_async_writer *b = lmi_alloc(1, sizeof(*b));
	int rc;

	if (!b)
		return lmd_fail(err, LMD_NOMEM, "no memory for buffers");
	(void)pthread_mutex_init(&b->lock, NULL);
	(void)pthread_cond_init(&b->changed, NULL);
	rc = start(b);
	if (!rc) {
		*out = b;
		return LMD_OK;
	}
	(void)pthread_cond_destroy(&b->changed);
	(void)pthread_mutex_destroy(&b->lock);
	lmi_free(b);
	return lmd_fail(err, LMD_NOMEM, "cannot start a writer thread: %s", strerror(rc));
}

void lmi_quantize_async_writer_destroy(struct lmi_quantize_async_writer *b)
{
	if (!b)
		return;
	(void)pthread_mutex_lock(&b->lock);
	b->closed = true;
	(void)pthread_cond_signal(&b->changed);
	(void)pthread_mutex_unlock(&b->lock);
	(void)pthread_join(b->thread, NULL);
	(void)pthread_cond_destroy(&b->changed);
	(void)pthread_mutex_destroy(&b->lock);
	for (int i = 0; i < LMI_QUANTIZE_ASYNC_WRITER_BUFFERS; i++)
		lmi_free(b->ring[i].p);
	lmi_free(b);
}

/* Waits until at most `most` buffers are queued or in use. */
static enum lmd_status wait_for(struct lmi_quantize_async_writer *b, uint64_t most,
				struct lmd_error *err)
{
	struct lmd_error e;

	(void)pthread_mutex_lock(&b->lock);
	while (b->n_queued - b->n_done > most)
		(void)pthread_cond_wait(&b->changed, &b->lock);
	e = b->err;
	(void)pthread_mutex_unlock(&b->lock);
	return e.status == LMD_OK ? LMD_OK : lmd_fail(err, e.status, "%s", e.text);
}

enum lmd_status lmi_quantize_async_writer_get_buffer(struct lmi_quantize_async_writer *b,
						     uint8_t **buf, size_t n, struct lmd_error *err)
{
	struct buffer *x = &b->ring[b->n_queued % LMI_QUANTIZE_ASYNC_WRITER_BUFFERS];
	enum lmd_status st = wait_for(b, LMI_QUANTIZE_ASYNC_WRITER_BUFFERS - 1, err);

	if (st != LMD_OK)
		return st;
	if (n > x->cap) {
		lmi_free(x->p);
		x->cap = 0;
		x->p = lmi_alloc(n, 1);
		if (!x->p)
			return lmd_fail(err, LMD_NOMEM, "no memory for %zu bytes of tensor data",
					n);
		x->cap = n;
	}
	*buf = x->p;
	return LMD_OK;
}

void lmi_quantize_async_writer_submit(struct lmi_quantize_async_writer *b,
				      lmi_quantize_async_writer_fn fn, void *arg, size_t n)
{
	struct buffer *x = &b->ring[b->n_queued % LMI_QUANTIZE_ASYNC_WRITER_BUFFERS];

	x->fn = fn;
	x->arg = arg;
	x->n = n;
	(void)pthread_mutex_lock(&b->lock);
	b->n_queued++;
	(void)pthread_cond_signal(&b->changed);
	(void)pthread_mutex_unlock(&b->lock);
}

enum lmd_status lmi_quantize_async_writer_flush(struct lmi_quantize_async_writer *b,
						struct lmd_error *err)
{
	return wait_for(b, 0, err);
}
