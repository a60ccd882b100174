/* SPDX-License-Identifier: MIT
 *
 * streams.h - the architectures of arch-streams.so, which have several residual streams. */
#ifndef LLAMAD_ARCH_STREAMS_STREAMS_H
#define LLAMAD_ARCH_STREAMS_STREAMS_H

#include "llamad/arch.h"

extern const struct lmd_arch_ops arch_deepseek4, arch_gemma3n, arch_qwen4exp;

#endif /* LLAMAD_ARCH_STREAMS_STREAMS_H */
