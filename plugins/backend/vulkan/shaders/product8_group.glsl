// SPDX-License-Identifier: MIT
//
// A group of a weight's row times a group of a row that was rounded to 8 bits (round.glsl).
//
// DOT4: the product of four bytes is an instruction.  BROADCAST: eight lanes of a subgroup load a group of
// the rows together, each a word, since all lanes read the same; drivers that run on a CPU load word by word.

#ifdef DOT4
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
int dot_packed(uint a, uint b, spirv_literal int packing);
#define dot4(a, b) dot_packed(a, b, 0)
#else
int dot4(uint a, uint b)
{
	int x = int(a), y = int(b);

	return bitfieldExtract(x, 0, 8) * bitfieldExtract(y, 0, 8) +
	       bitfieldExtract(x, 8, 8) * bitfieldExtract(y, 8, 8) +
	       bitfieldExtract(x, 16, 8) * bitfieldExtract(y, 16, 8) + (x >> 24) * (y >> 24);
}
#endif

// A group of a rounded row.
struct Rounded {
	uvec4 lo, hi;
	float d;
	int s0, s1;
};

Rounded rounded_at(uvec2 row, uint g, uint groups)
{
	Rounded x;
	uint sums;

#ifdef BROADCAST
	uint i = gl_SubgroupInvocationID & 7u;
	uint word = Words(row).w[8u * g + i];
	uint tail = Words(row).w[8u * groups + 2u * g + (i & 1u)];

	x.lo = uvec4(subgroupBroadcast(word, 0u), subgroupBroadcast(word, 1u),
		     subgroupBroadcast(word, 2u), subgroupBroadcast(word, 3u));
	x.hi = uvec4(subgroupBroadcast(word, 4u), subgroupBroadcast(word, 5u),
		     subgroupBroadcast(word, 6u), subgroupBroadcast(word, 7u));
	x.d = uintBitsToFloat(subgroupBroadcast(tail, 0u));
	sums = subgroupBroadcast(tail, 1u);
#else
	x.lo = Quads(row).q[2u * g];
	x.hi = Quads(row).q[2u * g + 1u];
	x.d = uintBitsToFloat(Words(row).w[8u * groups + 2u * g]);
	sums = EXCESS != 0 || HAS_MINIMUM ? Words(row).w[8u * groups + 2u * g + 1u] : 0u;
#endif
	x.s0 = bitfieldExtract(int(sums), 0, 16);
	x.s1 = int(sums) >> 16;
	return x;
}

float times_group(Group w, Rounded x)
{
	int i0 = dot4(w.lo.x, x.lo.x) + dot4(w.lo.y, x.lo.y) + dot4(w.lo.z, x.lo.z) +
		 dot4(w.lo.w, x.lo.w);
	int i1 = dot4(w.hi.x, x.hi.x) + dot4(w.hi.y, x.hi.y) + dot4(w.hi.z, x.hi.z) +
		 dot4(w.hi.w, x.hi.w);

	if (TYPE == Q6_K)
		i0 = w.s0 * (i0 - EXCESS * x.s0) + w.s1 * (i1 - EXCESS * x.s1);
	else
		i0 += i1 - EXCESS * (x.s0 + x.s1);
	if (HAS_MINIMUM)
		return w.d * x.d * float(i0) + w.m * (x.d * float(x.s0 + x.s1));
	return w.d * x.d * float(i0);
}
