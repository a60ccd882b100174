// SPDX-License-Identifier: MIT
//
// Functions for which Vulkan asks for less precision than the ops need, and activations (op.h).

// x for x > 20; log(1 + exp x) otherwise
float softplus(float x)
{
	float e = exp(min(x, 20.0));

	if (x > 20.0)
		return x;
	return e < 0.01 ? e * (1.0 - e * (0.5 - e * (1.0 / 3.0 - e * 0.25))) : log(1.0 + e);
}

float tanh_of(float x)
{
	float s = x * x;

	if (abs(x) < 0.3)
		return x * (1.0 + s * (-1.0 / 3.0 +
				       s * (2.0 / 15.0 + s * (-17.0 / 315.0 + s * (62.0 / 2835.0)))));
	return sign(x) * (1.0 - 2.0 / (exp(2.0 * min(abs(x), 20.0)) + 1.0));
}

float expm1_of(float x)
{
	if (abs(x) < 0.2)
		return x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0 +
			x * (1.0 / 120.0 + x / 720.0)))));
	return exp(x) - 1.0;
}

// Maclaurin's series up to 2, beyond it the continued fraction of the complement
float erf_of(float x)
{
	float a = abs(x), s = a * a, sum = a, term = a, f = 0.0;

	if (a > 4.0)
		return sign(x);
	if (a < 2.0) {
		for (int n = 1; n < 28; n++) {
			term *= -s / float(n);
			sum += term / float(2 * n + 1);
		}
		return sign(x) * 1.1283791670955126 * sum;
	}
	for (int n = 24; n > 0; n--)
		f = 0.5 * float(n) / (a + f);
	return sign(x) * (1.0 - exp(-s) * 0.5641895835477563 / (a + f));
}

float sigmoid(float x)
{
	return 1.0 / (1.0 + exp(-x));
}

float softcap_of(float x, float cap)
{
	return cap != 0.0 ? cap * tanh_of(x / cap) : x;
}

float clamp_to(float x, float limit)
{
	return max(-limit, min(limit, x));
}

// sine and cosine of an angle in turns of 2^-32
vec2 sincos_turns(uint t)
{
	uint quadrant = (t + 0x20000000u) >> 30;
	float r = float(int(t - (quadrant << 30))) * 1.4629180792671596e-9; // 2 pi / 2^32
	float s = r * r;
	float sn = r * (1.0 + s * (-1.0 / 6.0 + s * (1.0 / 120.0 +
		s * (-1.0 / 5040.0 + s / 362880.0))));
	float cs = 1.0 + s * (-0.5 + s * (1.0 / 24.0 + s * (-1.0 / 720.0 +
		s * (1.0 / 40320.0 - s / 3628800.0))));

	if ((quadrant & 1u) != 0u)
		return (quadrant & 2u) != 0u ? vec2(-cs, sn) : vec2(cs, -sn);
	return (quadrant & 2u) != 0u ? vec2(-sn, -cs) : vec2(sn, cs);
}

// sine and cosine of radians: the angle is reduced in two parts, good to 1e-6 up to 10^5
vec2 sincos_of(float x)
{
	float n = roundEven(x * 0.63661977236758134);
	float r = fma(n, -1.5707963705062866, x);
	uint quadrant = uint(int(n)) & 3u;
	float s, sn, cs;

	r = fma(n, 4.371139000186241e-8, r);
	s = r * r;
	sn = r * (1.0 + s * (-1.0 / 6.0 + s * (1.0 / 120.0 + s * (-1.0 / 5040.0 + s / 362880.0))));
	cs = 1.0 + s * (-0.5 + s * (1.0 / 24.0 + s * (-1.0 / 720.0 +
		s * (1.0 / 40320.0 - s / 3628800.0))));
	if ((quadrant & 1u) != 0u)
		return (quadrant & 2u) != 0u ? vec2(-cs, sn) : vec2(cs, -sn);
	return (quadrant & 2u) != 0u ? vec2(-sn, -cs) : vec2(sn, cs);
}

// The activation `fn` of x, times the factor of the second operand b if there is one.
float activation(uint fn, vec4 p, float x, float b, bool has_b)
{
	float v = x, f = has_b ? b : 1.0;

	switch (fn) {
	case 1u: v = x * sigmoid(x); break;
	case 2u:
		v = 0.5 * x * (1.0 + tanh_of(0.79788456080286536 * (x + 0.044715 * x * x * x)));
		break;
	case 3u: v = 0.5 * x * (1.0 + erf_of(x * 0.70710678118654752)); break;
	case 4u: v = x * sigmoid(1.702 * x); break;
	case 5u: v = max(x, 0.0); break;
	case 6u: v = max(x, 0.0) * max(x, 0.0); break;
	case 7u: v = sigmoid(x); break;
	case 8u: v = softplus(x); break;
	case 9u: v = tanh_of(x); break;
	case 10u:
		v = x > 0.0 ? p.y * x * x + p.z * x : (expm1_of(min(x, p.w)) - x) * p.x + p.z * x;
		break;
	case 11u:
		v = min(x, p.y);
		v *= sigmoid(p.x * v);
		f = has_b ? clamp_to(b, p.y) + 1.0 : 1.0;
		break;
	case 12u:
		v = min(x, p.x);
		v *= sigmoid(v);
		f = has_b ? clamp_to(b, p.x) : 1.0;
		break;
	case 13u:
		v = min(x * sigmoid(x), p.x);
		f = has_b ? clamp_to(b, p.x) : 1.0;
		break;
	case 14u:
		v = p.x * tanh_of(x / p.x) * sigmoid(x);
		f = has_b && p.y > 0.0 ? p.y * tanh_of(b / p.y) : f;
		break;
	case 15u: v = exp(x); break;
	}
	return v * f;
}
