/* SPDX-License-Identifier: MIT
 *
 * bytes.h - the contents of a message: items one after another, each padded to 8 bytes.
 *
 * The writer and the reader are sticky: after the first failure they do nothing, and the caller asks
 * once at the end. Every length is checked against what the message has. */
#ifndef LLAMAD_CORE_WORKER_BYTES_H
#define LLAMAD_CORE_WORKER_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lmd_arena;

struct lmi_worker_out {
	char *p; /* freed by lmi_worker_out_fini */
	size_t n, cap;
	bool failed; /* memory ran out */
};
/* Empties it and keeps its memory. */
void lmi_worker_out_reset(struct lmi_worker_out *o);
void lmi_worker_out_fini(struct lmi_worker_out *o);
/* Appends n bytes. Returns where they are until the next call; NULL: no memory. p NULL: zeros. */
void *lmi_worker_out_put(struct lmi_worker_out *o, const void *p, size_t n);
void lmi_worker_out_u64(struct lmi_worker_out *o, uint64_t v);
/* s may be NULL. */
void lmi_worker_out_text(struct lmi_worker_out *o, const char *s);

struct lmi_worker_in {
	const char *p;
	size_t n, at;
	bool failed; /* the message is too short, or memory ran out */
};
/* Returns the next n bytes, aligned to 8, which are part of the message; NULL: it has fewer. */
const void *lmi_worker_in_get(struct lmi_worker_in *i, uint64_t n);
/* Copies the next n bytes; zeros, if the message has fewer. */
void lmi_worker_in_read(struct lmi_worker_in *i, void *to, size_t n);
uint64_t lmi_worker_in_u64(struct lmi_worker_in *i);
/* Returns n items of so many bytes, copied to the arena; NULL if n is 0 or after a failure. */
void *lmi_worker_in_array(struct lmi_worker_in *i, struct lmd_arena *a, uint64_t n, size_t item);
/* Returns a text, copied to the arena; "" for NULL and after a failure. */
const char *lmi_worker_in_text(struct lmi_worker_in *i, struct lmd_arena *a);

#endif /* LLAMAD_CORE_WORKER_BYTES_H */
