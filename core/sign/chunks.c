/* SPDX-License-Identifier: MIT
 *
 * Hashes chunks.  Every thread takes the next chunk that nobody has, in ascending order, so that the
 * lowest chunk that differs is found whatever the number of threads: those before it were taken
 * earlier and are finished.  Each thread holds one piece of a chunk in memory. */
#include "core/sign/chunks.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "core/base/cpu.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "core/base/team.h"

#define PIECE (1u << 20)
#define SHOW  112

struct run {
	struct lmi_sign_hash *h;
	const struct lmi_sign_work *work;
	struct lmi_cancel *cancel; /* of the calling thread; may be NULL */
	uint8_t *pieces;	   /* PIECE for each part */
	uint64_t total;
	_Atomic uint64_t done;
	_Atomic uint32_t next, bad;
	_Atomic int stop; /* the status that ends the work */
	struct lmd_error *err; /* written by the part that set `stop` */
};

void lmi_sign_identity_of(struct lmi_sign_identity *out, const struct stat *sb)
{
	*out = (struct lmi_sign_identity){
		.dev = (uint64_t)sb->st_dev,
		.ino = (uint64_t)sb->st_ino,
		.bytes = (uint64_t)sb->st_size,
		.mtime_ns = (int64_t)sb->st_mtim.tv_sec * 1000000000 + sb->st_mtim.tv_nsec,
		.ctime_ns = (int64_t)sb->st_ctim.tv_sec * 1000000000 + sb->st_ctim.tv_nsec,
	};
}

bool lmi_sign_identity_same(const struct lmi_sign_identity *a, const struct lmi_sign_identity *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->bytes == b->bytes &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

uint64_t lmi_sign_n_chunks(uint64_t bytes, uint32_t chunk_bytes)
{
	return bytes / chunk_bytes + (bytes % chunk_bytes != 0);
}

/* Ends the work with a status, once. */
static void stop_with(struct run *r, enum lmd_status st, const struct lmd_error *why)
{
	int none = LMD_OK;

	if (atomic_compare_exchange_strong(&r->stop, &none, (int)st) && r->err)
		*r->err = *why;
}

static const struct lmi_sign_input *file_of(const struct lmi_sign_hash *h, uint32_t chunk)
{
	uint32_t i = h->n_files;

	while (i > 0 && h->files[i - 1].first_chunk > chunk)
		i--;
	/* an empty file has the same first chunk as the one after it */
	return &h->files[i - 1];
}

static enum lmd_status read_piece(const struct lmi_sign_input *f, uint64_t at, uint8_t *buf,
				  size_t n, struct lmd_error *err)
{
	const struct lmi_file file = {.fd = f->fd, .bytes = f->bytes};
	enum lmd_status st = lmi_file_read(&file, at, buf, n, err);
	char show[SHOW];

	if (st != LMD_OK)
		lmd_error_prefix(err, lmi_printable_path(show, sizeof(show), f->path));
	return st;
}

static void hash_chunk(struct run *r, uint32_t chunk, uint8_t *buf)
{
	struct lmi_sign_hash *h = r->h;
	const struct lmi_sign_input *f = file_of(h, chunk);
	uint64_t at = (uint64_t)(chunk - f->first_chunk) * h->chunk_bytes;
	uint64_t end = at + h->chunk_bytes < f->bytes ? at + h->chunk_bytes : f->bytes;
	struct lmd_error err = {0};
	struct lmi_sha256 sha;
	enum lmd_status st = LMD_OK;

	if (f->skip)
		return;
	if (!lmi_sha256_init(&sha)) {
		st = lmd_fail(&err, LMD_NOMEM, "no memory for a SHA-256");
		stop_with(r, st, &err);
		return;
	}
	while (st == LMD_OK && at < end) {
		size_t n = end - at < PIECE ? (size_t)(end - at) : PIECE;

		st = read_piece(f, at, buf, n, &err);
		if (st == LMD_OK)
			lmi_sha256_update(&sha, buf, n);
		at += n;
		r->done += n;
	}
	if (st == LMD_OK && sha.cancelled)
		st = lmd_fail(&err, LMD_CANCELLED, "cancelled");
	if (st == LMD_OK && !lmi_sha256_final(&sha, h->digests[chunk]))
		st = lmd_fail(&err, LMD_INTERNAL, "SHA-256 failed");
	lmi_sha256_fini(&sha);
	if (st != LMD_OK) {
		stop_with(r, st, &err);
	} else if (h->expected && memcmp(h->digests[chunk], h->expected[chunk], LMI_SHA256_BYTES)) {
		uint32_t bad = r->bad;

		while (chunk < bad && !atomic_compare_exchange_weak(&r->bad, &bad, chunk))
			;
	}
}

static void run_part(void *arg, uint32_t part, uint32_t n)
{
	struct run *r = arg;
	struct lmi_cancel *previous = part ? lmi_cancel_attach(r->cancel) : NULL;
	const struct lmi_sign_work *w = r->work;

	(void)n;
	while (r->stop == LMD_OK && r->bad == UINT32_MAX) {
		uint32_t chunk = atomic_fetch_add(&r->next, 1);

		if (chunk >= r->h->n_chunks)
			break;
		hash_chunk(r, chunk, r->pieces + (size_t)part * PIECE);
		if (!part && w->progress && !w->progress(w->arg, r->done, r->total)) {
			struct lmd_error err;
			enum lmd_status st = lmd_fail(&err, LMD_CANCELLED, "cancelled");

			stop_with(r, st, &err);
		}
	}
	if (part)
		(void)lmi_cancel_attach(previous);
}

static uint32_t thread_count(const struct lmi_sign_work *w, uint32_t n_chunks)
{
	uint32_t n = w->n_threads ? w->n_threads : lmi_cpu_count();

	n = n < LMI_SIGN_THREADS_MAX ? n : LMI_SIGN_THREADS_MAX;
	n = n < n_chunks ? n : n_chunks;
	return n ? n : 1;
}

enum lmd_status lmi_sign_hash_run(struct lmi_sign_hash *h, const struct lmi_sign_work *work,
				  struct lmd_error *err)
{
	struct run r = {.h = h, .work = work, .bad = UINT32_MAX, .err = err};
	struct lmi_team_opts opts = {.n = thread_count(work, h->n_chunks)};
	struct lmd_team *team = NULL;
	enum lmd_status st;

	for (uint32_t i = 0; i < h->n_files; i++)
		r.total += h->files[i].skip ? 0 : h->files[i].bytes;
	h->bad_chunk = UINT32_MAX;
	if (!r.total)
		return LMD_OK;
	r.cancel = lmi_cancel_attach(NULL);
	(void)lmi_cancel_attach(r.cancel);
	r.pieces = lmi_alloc(opts.n, PIECE);
	if (!r.pieces)
		return lmd_fail(err, LMD_NOMEM, "no memory to check a file");
	st = opts.n > 1 ? lmi_team_create(&team, &opts, err) : LMD_OK;
	if (st == LMD_OK) {
		lmi_team_run(team, run_part, &r);
		st = (enum lmd_status)r.stop;
	}
	lmi_team_destroy(team);
	lmi_free(r.pieces);
	if (st == LMD_OK && r.bad == UINT32_MAX && work->progress &&
	    (!work->progress(work->arg, r.total, r.total) || !lmi_cancel_step(0)))
		st = lmd_fail(err, LMD_CANCELLED, "cancelled");
	h->bad_chunk = r.bad;
	return st;
}
