#version 450
// SPDX-License-Identifier: MIT
//
// product8_tile.glsl for any device.
#extension GL_GOOGLE_include_directive : require
#include "product8_tile.glsl"
