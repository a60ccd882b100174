/* SPDX-License-Identifier: MIT
 *
 * recurrent.h - the architectures of arch-recurrent.so. */
#ifndef LLAMAD_ARCH_RECURRENT_RECURRENT_H
#define LLAMAD_ARCH_RECURRENT_RECURRENT_H

#include "llamad/arch.h"

extern const struct lmd_arch_ops arch_mamba, arch_mamba2, arch_jamba, arch_rwkv6, arch_rwkv6qwen2,
	arch_rwkv7, arch_arwkv7;

#endif /* LLAMAD_ARCH_RECURRENT_RECURRENT_H */
