/* SPDX-License-Identifier: MIT
 *
 * sanitized.h - LMI_SANITIZED is 1 in a build with a sanitizer that the compiler announces. */
#ifndef LLAMAD_CORE_BASE_SANITIZED_H
#define LLAMAD_CORE_BASE_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LMI_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
	__has_feature(undefined_behavior_sanitizer)
#define LMI_SANITIZED 1
#endif
#endif
#ifndef LMI_SANITIZED
#define LMI_SANITIZED 0
#endif

#endif /* LLAMAD_CORE_BASE_SANITIZED_H */
