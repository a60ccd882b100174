#version 450
// SPDX-License-Identifier: MIT
//
// attn_fast.glsl for any device.
#extension GL_GOOGLE_include_directive : require
#include "attn_fast.glsl"
