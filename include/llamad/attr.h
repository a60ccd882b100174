/* SPDX-License-Identifier: MIT
 *
 * attr.h - compiler features under portable names.
 *
 * This is the only public file that depends on the compiler.  C11 and C++17 both accept it; with an
 * unknown compiler the macros are empty, which costs only warnings. */
#ifndef LLAMAD_ATTR_H
#define LLAMAD_ATTR_H

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

#endif /* LLAMAD_ATTR_H */
