/* SPDX-License-Identifier: MIT
 *
 * moe.h - the architectures of arch-moe.so: the name in files, the identifier of the table.
 * A new one is a file here and a line in this list. */
#ifndef LLAMAD_ARCH_MOE_MOE_H
#define LLAMAD_ARCH_MOE_MOE_H

#include "arch/common/decoder.h"

#define LMI_MOE_LIST(X)                                                                            \
	X("grovemoe", grovemoe)                                                                    \
	X("minimax-m3", minimax_m3)                                                                \
	X("qwen2moe", qwen2moe)

#define LMI_MOE_EXTERN(name, ident) extern const struct lmd_arch_ops lmi_arch_##ident;
LMI_MOE_LIST(LMI_MOE_EXTERN)

#endif /* LLAMAD_ARCH_MOE_MOE_H */
