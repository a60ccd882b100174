#version 450
// SPDX-License-Identifier: MIT
//
// product8_tile.glsl for devices with the feature shaderIntegerDotProduct.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_spirv_intrinsics : require
#define DOT4
#include "product8_tile.glsl"
