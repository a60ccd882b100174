#version 450
// SPDX-License-Identifier: MIT
//
// product_rows.glsl for the types that have decoders here (decode.glsl).
#extension GL_GOOGLE_include_directive : require
#include "product_rows.glsl"
