/* SPDX-License-Identifier: MIT
 *
 * checked.h - overflow-checked arithmetic on numbers from outside.
 *
 * Every size that depends on a file, a message or a request is computed with these functions. Each
 * returns false if the result does not fit, and then leaves *out unchanged. */
#ifndef LLAMAD_CORE_BASE_CHECKED_H
#define LLAMAD_CORE_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool lmi_mul_ok(uint64_t a, uint64_t b, uint64_t *out)
{
	uint64_t r;

	if (__builtin_mul_overflow(a, b, &r))
		return false;
	*out = r;
	return true;
}

static inline bool lmi_add_ok(uint64_t a, uint64_t b, uint64_t *out)
{
	uint64_t r;

	if (__builtin_add_overflow(a, b, &r))
		return false;
	*out = r;
	return true;
}

/* Rounds n up to a multiple of align, a power of two. */
static inline bool lmi_align_ok(uint64_t n, uint64_t align, uint64_t *out)
{
	uint64_t r;

	if (!lmi_add_ok(n, align - 1, &r))
		return false;
	*out = r & ~(align - 1);
	return true;
}

#endif /* LLAMAD_CORE_BASE_CHECKED_H */
