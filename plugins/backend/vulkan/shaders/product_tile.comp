#version 450
// SPDX-License-Identifier: MIT
//
// product_tile.glsl for the types that have decoders here (decode.glsl).
#extension GL_GOOGLE_include_directive : require
#include "product_tile.glsl"
