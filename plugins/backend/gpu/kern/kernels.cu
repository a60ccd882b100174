/* SPDX-License-Identifier: MIT
 *
 * All kernels in one unit for the devices' compilers. */
#include "backend/gpu/kern/attn.h"
#include "backend/gpu/kern/fast.h"
#include "backend/gpu/kern/linear.h"
#include "backend/gpu/kern/lora.h"
#include "backend/gpu/kern/mixers.h"
#include "backend/gpu/kern/norm.h"
#include "backend/gpu/kern/rope_kv.h"
#include "backend/gpu/kern/rows.h"
#include "backend/gpu/kern/select.h"
#include "backend/gpu/kern/split.h"
#include "backend/gpu/kern/state.h"
#ifndef __HIP__
#include "backend/gpu/kern/nv/tile.h"
#endif
