#version 450
// SPDX-License-Identifier: MIT
//
// product8.glsl for drivers that run on a CPU and have subgroups of 8 lanes or more.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#define BROADCAST
#include "product8.glsl"
