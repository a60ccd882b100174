#version 450
// SPDX-License-Identifier: MIT
//
// product_tile.glsl for all types.
#extension GL_GOOGLE_include_directive : require
#define ALL_TYPES
#include "product_tile.glsl"
