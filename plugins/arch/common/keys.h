/* SPDX-License-Identifier: MIT
 *
 * keys.h - typed access to the metadata of a model, for architectures.
 *
 * All readers take a key without the architecture's prefix ("attention.head_count"); a key that
 * begins with '@' is used without a prefix ("@xielu.beta").  Each call says whether the key is
 * required and which values are allowed.  The first violation is kept in the reader; later calls
 * return their defaults, and the caller checks `st` once at the end.  Error messages name the
 * key, the value and the bound. */
#ifndef LLAMAD_ARCH_COMMON_KEYS_H
#define LLAMAD_ARCH_COMMON_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/model.h"
#include "llamad/status.h"

/* Bounds for every architecture; files with larger values are rejected. */
#define LMI_MAX_LAYER  1024u
#define LMI_MAX_HEAD   1024u
#define LMI_MAX_EXPERT 1024u
#define LMI_MAX_WIDTH  (1u << 22) /* embedding, feed-forward, one projection */
#define LMI_MAX_DK     (1u << 14) /* a head */
#define LMI_MAX_VOCAB  (1u << 24)
#define LMI_MAX_CTX    0x7fffffffu

struct lmi_keys {
	const struct lmd_model *model;
	enum lmd_status st;
	struct lmd_error *err;
};

enum lmi_need { LMI_OPTIONAL = 0, LMI_REQUIRED = 1 };

void lmi_keys_init(struct lmi_keys *k, const struct lmd_model *model, struct lmd_error *err);

/* Returns NULL if the file has no such key. */
const struct lmd_meta *lmi_key_find(const struct lmi_keys *k, const char *key);
bool lmi_key_has(const struct lmi_keys *k, const char *key);

/* Numbers in [lo, hi].  As integers, booleans count as 0 and 1. */
uint32_t lmi_key_u32(struct lmi_keys *k, const char *key, enum lmi_need need, uint32_t def,
		     uint32_t lo, uint32_t hi);
double lmi_key_f64(struct lmi_keys *k, const char *key, enum lmi_need need, double def, double lo,
		   double hi);
bool lmi_key_bool(struct lmi_keys *k, const char *key, enum lmi_need need, bool def);
/* ptr is NULL if the key is absent. */
struct lmd_str lmi_key_str(struct lmi_keys *k, const char *key, enum lmi_need need);

/* One value for each of n layers: a scalar applies to all of them, an array must have at least n
 * elements.  Returns false, with all of `out` set to `def`, if an optional key is absent. */
bool lmi_key_u32s(struct lmi_keys *k, const char *key, enum lmi_need need, uint32_t *out,
		  uint32_t n, uint32_t def, uint32_t lo, uint32_t hi);
bool lmi_key_f64s(struct lmi_keys *k, const char *key, enum lmi_need need, double *out, uint32_t n,
		  double def, double lo, double hi);

/* Does the key exist, with an array as its value? */
bool lmi_key_is_array(const struct lmi_keys *k, const char *key);
/* Number of elements of an array; 1 for a scalar, 0 if absent. */
uint64_t lmi_key_len(const struct lmi_keys *k, const char *key);

/* Reports an error of the architecture's own; it is kept unless there is an earlier one. */
void lmi_key_fail(struct lmi_keys *k, enum lmd_status st, const char *fmt, ...) LMD_PRINTF(3, 4);

#endif /* LLAMAD_ARCH_COMMON_KEYS_H */
