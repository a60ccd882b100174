/* SPDX-License-Identifier: MIT
 *
 * attr.h - compiler features under portable names.
 *
 * This is the only public file that depends on the compiler.  C11 and C++17 both accept it; with an
 * unknown compiler the macros are empty, which costs only warnings. */
#ifndef LLAMAD_ATTR_H
#define LLAMAD_ATTR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#define LMD_BEGIN_DECLS extern "C" {
#define LMD_END_DECLS   }
#define LMD_STATIC_ASSERT(expr, text) static_assert(expr, text)
#else
#define LMD_BEGIN_DECLS
#define LMD_END_DECLS
#define LMD_STATIC_ASSERT(expr, text) _Static_assert(expr, text)
#endif

/* clang's address sanitizer pads globals even in a section of fixed layout. */
#if defined(__clang__)
#define LMD_NO_REDZONE    __attribute__((no_sanitize("address")))
#else
#define LMD_NO_REDZONE
#endif

#if defined(__GNUC__) || defined(__clang__)
#define LMD_EXPORT        __attribute__((visibility("default")))
#define LMD_HIDDEN        __attribute__((visibility("hidden")))
#define LMD_PRINTF(f, a)  __attribute__((format(printf, f, a)))
#define LMD_PURE          __attribute__((pure))
#define LMD_NODISCARD     __attribute__((warn_unused_result))
#define LMD_UNUSED        __attribute__((unused))
#define LMD_NOTE_SECTION  __attribute__((section(".note.llamad"), used, aligned(4))) LMD_NO_REDZONE
#define LMD_LIKELY(x)     __builtin_expect(!!(x), 1)
#define LMD_UNLIKELY(x)   __builtin_expect(!!(x), 0)
#else
#define LMD_EXPORT
#define LMD_HIDDEN
#define LMD_PRINTF(f, a)
#define LMD_PURE
#define LMD_NODISCARD
#define LMD_UNUSED
#define LMD_NOTE_SECTION
#define LMD_LIKELY(x)     (x)
#define LMD_UNLIKELY(x)   (x)
#endif

/* Number of elements of a true array. */
#define LMD_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* ---- growth (docs/abi.md) ---- */

/* Is `member` within the first p->struct_size bytes of *p?  To be asked before reading a member that
 * is newer than the oldest minor version that a plugin supports. */
#define LMD_HAS(p, member)                                                                         \
	((size_t)((const char *)(&(p)->member + 1) - (const char *)(p)) <= (p)->struct_size)

/* Fills a struct for which the other side provided the memory, of which it may know fewer members or
 * more: copies n bytes of *src, except struct_size, as far as dst->struct_size allows.  Both structs
 * begin with struct_size. */
static inline void lmd_put(void *dst, const void *src, size_t n)
{
	uint32_t room;

	memcpy(&room, dst, sizeof(room));
	if (n > room)
		n = room;
	if (n > sizeof(room))
		memcpy((char *)dst + sizeof(room), (const char *)src + sizeof(room),
		       n - sizeof(room));
}
#define LMD_PUT(dst, src) lmd_put((dst), (src), sizeof(*(src)))

#endif /* LLAMAD_ATTR_H */
