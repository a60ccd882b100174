#version 450
// SPDX-License-Identifier: MIT
//
// attn_fast.glsl for drivers that run on a CPU and have subgroups of 8 lanes or more.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#define BROADCAST
#include "attn_fast.glsl"
