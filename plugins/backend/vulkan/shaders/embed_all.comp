#version 450
// SPDX-License-Identifier: MIT
//
// embed.glsl for all types.
#extension GL_GOOGLE_include_directive : require
#define ALL_TYPES
#include "embed.glsl"
