/* SPDX-License-Identifier: MIT
 *
 * All kernels in one unit for the devices' compilers. */
#include "backend/gpu/kern/attn.h"
#include "backend/gpu/kern/exact_attn.h"
#include "backend/gpu/kern/exact_linear.h"
#include "backend/gpu/kern/fast.h"
#include "backend/gpu/kern/glu.h"
#include "backend/gpu/kern/group.h"
#include "backend/gpu/kern/hadamard.h"
#include "backend/gpu/kern/halves.h"
#include "backend/gpu/kern/linear.h"
#include "backend/gpu/kern/lora.h"
#include "backend/gpu/kern/mixers.h"
#include "backend/gpu/kern/norm.h"
#include "backend/gpu/kern/peer.h"
#include "backend/gpu/kern/rope_kv.h"
#include "backend/gpu/kern/rows.h"
#include "backend/gpu/kern/sample.h"
#include "backend/gpu/kern/select.h"
#include "backend/gpu/kern/split.h"
#include "backend/gpu/kern/state.h"
/* Code for devices without matrix units does not have these kernels, and the host looks for them by name. */
#if defined(__HIP__)
#if defined(__gfx90a__) || defined(__gfx942__)
#include "backend/gpu/kern/amd/tile.h"
#elif defined(__GFX11__)
#include "backend/gpu/kern/amd/wmma.h"
#endif
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#include "backend/gpu/kern/nv/flash.h"
#include "backend/gpu/kern/nv/tile.h"
#include "backend/gpu/kern/nv/tile16.h"
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)
#include "backend/gpu/kern/nv/wgmma16.h"
#endif
#endif
