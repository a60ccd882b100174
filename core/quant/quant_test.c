/* SPDX-License-Identifier: MIT
 *
 * Tensor types: the table, 16-bit floats, and for every type bit-exact decoding and the error of
 * the encoder, using the blocks of the parity pack.  Without a pack, small vectors computed by hand
 * are used instead. */
#include "tests/lmd_check.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/quant/decode_test.h"
#include "core/base/float16.h"
#include "core/quant/quant.h"

/* Reads a file of the pack; returns NULL if it does not exist.  The caller frees it. */
static uint8_t *read_file(const char *name, size_t *n)
{
	char path[4096];
	uint8_t *buf = NULL;
	long size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/quants/%s", lmd_parity_dir(), name);
	f = fopen(path, "rb");
	if (!f)
		return NULL;
	ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
	size = ftell(f);
	rewind(f);
	buf = malloc((size_t)size + 1);
	ck_assert_ptr_nonnull(buf);
	ck_assert_uint_eq(fread(buf, 1, (size_t)size, f), (size_t)size);
	fclose(f);
	*n = (size_t)size;
	return buf;
}

static json_t *pack_index(const char *test)
{
	char path[4096];
	json_t *j;

	if (!lmd_parity_dir()) {
		LMD_SKIP(test, "no parity pack");
		return NULL;
	}
	snprintf(path, sizeof(path), "%s/quants/index.json", lmd_parity_dir());
	j = json_load_file(path, 0, NULL);
	ck_assert_msg(j != NULL, "cannot read %s", path);
	return j;
}

static const char *text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static size_t number(const json_t *o, const char *key)
{
	return (size_t)json_integer_value(json_object_get(o, key));
}

static bool same_float(uint32_t got, uint32_t want)
{
	bool want_nan = (want & 0x7FFFFFFFu) > 0x7F800000u;

	return got == want || (want_nan && (got & 0x7FFFFFFFu) > 0x7F800000u);
}

/* Returns the index of the first value that differs, or n. */
static size_t first_difference(const float *got, const uint8_t *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!same_float(lmi_f32_bits(got[i]), lmi_get_le32(want + 4 * i)))
			return i;
	return n;
}

/* Is it the number of a type? Two types with one number do not compile here. */
static bool is_type(uint32_t id)
{
#define CASE(ID, name, number) case number:
	switch (id) {
	LMD_DTYPES_NUMBER(CASE)
	LMD_DTYPES_WEIGHT(CASE)
	LMD_DTYPES_ACTIVATION(CASE)
	case LMD_DTYPE_F8_E5M2:
	case LMD_DTYPE_F8_E4M3_FNUZ:
		return true;
	default:
		return false;
	}
}

START_TEST(table)
{
	uint32_t n_quant = 0, n_all = 0;
	uint64_t bytes = 7;
	char buf[128];

	for (uint32_t id = 0; id < LMD_DTYPE_END; id++) {
		const struct lmi_dtype *t = lmi_dtype(id);

		if (!t)
			continue;
		n_all++;
		n_quant += t->is_quant;
		ck_assert(is_type(id));
		ck_assert_uint_eq(t->id, id);
		ck_assert_ptr_eq(lmi_dtype_by_name(t->name), t);
		ck_assert_ptr_nonnull(t->dequant);
		ck_assert_uint_gt(t->block_elems, 0);
		ck_assert(lmi_quant_row_bytes(t, t->block_elems * 3ull, &bytes));
		ck_assert_uint_eq(bytes, t->block_bytes * 3ull + t->row_bytes_extra);
		ck_assert_uint_le(t->n_f16, LMD_LEN(t->f16_at));
		for (uint32_t i = 0; i < t->n_f16; i++)
			ck_assert_uint_le(t->f16_at[i] + 2u, t->block_bytes);
		ck_assert(!t->file_type.name || t->file_type.type == t->id);
		if (t->block_elems > 1)
			ck_assert(!lmi_quant_row_bytes(t, t->block_elems + 1ull, &bytes));
	}
#define IS_WEIGHT(ID, name, number) \
	ck_assert_msg(lmi_dtype(number)->is_quant, "%s is listed as a weight", #name);
#define IS_ACTIVATION(ID, name, number) \
	ck_assert_msg(lmi_dtype(number)->is_activation, "%s is listed as an activation", #name);
	LMD_DTYPES_WEIGHT(IS_WEIGHT)
	LMD_DTYPES_ACTIVATION(IS_ACTIVATION)
	printf("%u types, %u of them quantised weights\n", n_all, n_quant);
	ck_assert_ptr_nonnull(lmi_dtype_by_name("Q4_K"));
	ck_assert_ptr_null(lmi_dtype_by_name("q4_"));
	ck_assert_ptr_null(lmi_dtype_by_name(""));
	ck_assert_ptr_null(lmi_dtype(4));
	ck_assert_ptr_null(lmi_dtype(LMD_DTYPE_END));
	ck_assert_ptr_null(lmi_dtype(UINT32_MAX));
	ck_assert_ptr_nonnull(strstr(lmi_dtype_explain_unknown(4, buf, sizeof(buf)), "q4_2"));
	ck_assert_ptr_nonnull(strstr(lmi_dtype_explain_unknown(38, buf, sizeof(buf)), "removed"));
	ck_assert_ptr_nonnull(
		strstr(lmi_dtype_explain_unknown(77, buf, sizeof(buf)), "77 is unknown"));
	ck_assert(!lmi_quant_row_bytes(lmi_dtype(LMD_DTYPE_F64), UINT64_MAX / 4, &bytes));
	for (uint32_t id = 0; id < LMD_DTYPE_END; id++) {
		const struct lmi_dtype *t = lmi_dtype(lmi_dtype_in_file(id));

		ck_assert(!t || (!t->memory_only && (t->quant || t->id == id)));
	}
	ck_assert(lmi_quant_row_bytes(lmi_dtype(LMD_DTYPE_F32), 0, &bytes));
	ck_assert_uint_eq(bytes, 0);
}
END_TEST

START_TEST(half_by_hand)
{
	static const struct {
		float f;
		uint16_t f16, bf16;
	} t[] = {
		{0.0f, 0x0000, 0x0000},
		{-0.0f, 0x8000, 0x8000},
		{1.0f, 0x3C00, 0x3F80},
		{-2.0f, 0xC000, 0xC000},
		{65504.0f, 0x7BFF, 0x4780},
		{65519.996f, 0x7BFF, 0x4780},
		{65520.0f, 0x7C00, 0x4780},
		{0x1p-24f, 0x0001, 0x3380},
		{0x1p-25f, 0x0000, 0x3300},
		{0x1.8p-24f, 0x0002, 0x33C0},
		{0x1.000002p-25f, 0x0001, 0x3300},
		{0x1.002p0f, 0x3C00, 0x3F80},
		{0x1.006p0f, 0x3C02, 0x3F80},
		{0x1.ffcp-15f, 0x0400, 0x3880},
		{0x1p-149f, 0x0000, 0x0000},
		{0x1.01p0f, 0x3C04, 0x3F80},
		{0x1.03p0f, 0x3C0C, 0x3F82},
	};

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		ck_assert_msg(lmi_f32_to_f16(t[i].f) == t[i].f16, "f16 of %a: %04x, not %04x",
			      t[i].f, lmi_f32_to_f16(t[i].f), t[i].f16);
		ck_assert_msg(lmi_f32_to_bf16(t[i].f) == t[i].bf16, "bf16 of %a: %04x, not %04x",
			      t[i].f, lmi_f32_to_bf16(t[i].f), t[i].bf16);
	}
	for (uint32_t h = 0; h < 65536; h++) {
		float f = lmi_f16_to_f32((uint16_t)h), b = lmi_bf16_to_f32((uint16_t)h);

		if (f == f)
			ck_assert_uint_eq(lmi_f32_to_f16(f), h);
		else
			ck_assert_uint_gt(lmi_f32_to_f16(f) & 0x7FFF, 0x7C00);
		if (b == b)
			ck_assert_uint_eq(lmi_f32_to_bf16(b), h);
		else
			ck_assert_uint_gt(lmi_f32_to_bf16(b) & 0x7FFF, 0x7F80);
	}
}
END_TEST

START_TEST(half_parity)
{
	static const char *const wide[2] = {"f16", "bf16"};
	json_t *index = pack_index("half_parity");
	uint8_t *in, *want;
	size_t n_in, n;

	if (!index)
		return;
	for (int k = 0; k < 2; k++) {
		const struct lmi_dtype *t = lmi_dtype_by_name(wide[k]);
		char name[32];
		float got;
		uint8_t code[2];

		snprintf(name, sizeof(name), "%s.f32", wide[k]);
		want = read_file(name, &n);
		ck_assert_ptr_nonnull(want);
		ck_assert_uint_eq(n, 65536 * 4);
		for (uint32_t h = 0; h < 65536; h++) {
			lmi_put_le16(code, (uint16_t)h);
			t->dequant(code, &got, 1);
			ck_assert_msg(same_float(lmi_f32_bits(got), lmi_get_le32(want + 4 * h)),
				      "%s %04x", wide[k], h);
		}
		free(want);
		in = read_file("narrow.f32", &n_in);
		snprintf(name, sizeof(name), "narrow.%s", wide[k]);
		want = read_file(name, &n);
		ck_assert(in && want && n_in == 2 * n);
		for (size_t i = 0; i < n / 2; i++) {
			uint16_t top = k ? 0x7F80 : 0x7C00, w = lmi_get_le16(want + 2 * i), g;
			float x = lmi_bits_f32(lmi_get_le32(in + 4 * i));

			t->quant(&x, code, 1, NULL);
			g = lmi_get_le16(code);
			ck_assert_msg(g == w || ((w & 0x7FFF) > top && (g & 0x7FFF) > top),
				      "%s of %a: %04x, not %04x", wide[k], x, g, w);
		}
		LMD_CASES(name, n / 2, 0, 0);
		free(in);
		free(want);
	}
	json_decref(index);
}
END_TEST

/* Decodes all blocks of one type; if a value differs, prints it and returns false. */
static bool decode_type(const struct lmi_dtype *t, const json_t *e)
{
	size_t n_blocks = number(e, "n_blocks"), n = n_blocks * t->block_elems, n_blk, n_want, i;
	uint8_t *blk = read_file(text(e, "blocks"), &n_blk),
		*want = read_file(text(e, "expect"), &n_want);
	uint8_t *odd = malloc(n_blk + 1);
	float *got = malloc(n * sizeof(*got));

	ck_assert(blk && want && odd && got);
	ck_assert_uint_eq(n_blk, n_blocks * t->block_bytes);
	ck_assert_uint_eq(n_want, n * 4);
	memcpy(odd + 1, blk, n_blk);
	t->dequant(odd + 1, got, n);
	i = first_difference(got, want, n);
	if (i < n)
		printf("%s: block %zu value %zu: %a, not %a\n", t->name, i / t->block_elems,
		       i % t->block_elems, got[i], lmi_bits_f32(lmi_get_le32(want + 4 * i)));
	free(blk);
	free(want);
	free(odd);
	free(got);
	return i == n;
}

START_TEST(decode_parity)
{
	json_t *index = pack_index("decode_parity"), *e;
	unsigned passed = 0, failed = 0, skipped = 0;
	size_t k;

	if (!index)
		return;
	json_array_foreach(json_object_get(index, "types"), k, e)
	{
		const struct lmi_dtype *t = lmi_dtype((uint32_t)number(e, "id"));

		if (!t) {
			LMD_SKIP(text(e, "name"), "no such type");
			skipped++;
			continue;
		}
		ck_assert_str_eq(t->name, text(e, "name"));
		ck_assert_uint_eq(t->block_elems, number(e, "block_elems"));
		ck_assert_uint_eq(t->block_bytes, number(e, "block_bytes"));
		if (!number(e, "n_blocks"))
			continue;
		if (decode_type(t, e))
			passed++;
		else
			failed++;
	}
	LMD_CASES("tensor types decoded", passed, failed, skipped);
	json_decref(index);
	ck_assert_uint_eq(failed, 0);
}
END_TEST

struct rows {
	float *x, *w;
	size_t n_rows, width;
	const json_t *names;
};

static double row_error(const struct rows *r, size_t row, const float *got, bool weighted)
{
	double sum = 0, sw = 0;

	for (size_t i = 0; i < r->width; i++) {
		double e = (double)got[i] - r->x[row * r->width + i], w = weighted ? r->w[i] : 1;

		sum += w * e * e;
		sw += w;
	}
	return sqrt(sum / sw);
}

/* Encodes all rows, with or without importance; returns the number of rows whose error exceeds the
 * bound. */
static unsigned encode_type(const struct lmi_dtype *t, const struct rows *r, const json_t *e,
			    const char *how, bool imatrix)
{
	json_t *bar = json_object_get(e, imatrix ? "weighted_rmse" : "rmse");
	size_t row_bytes = r->width / t->block_elems * t->block_bytes, n_ref;
	uint8_t *blk = malloc(row_bytes), *ref = read_file(text(e, "file"), &n_ref);
	float *got = malloc(r->width * sizeof(*got));
	double worst = 0, sum = 0;
	unsigned bad = 0, n_sum = 0;

	ck_assert(blk && got && ref);
	ck_assert_uint_eq(n_ref, row_bytes * r->n_rows);
	for (size_t i = 0; i < r->n_rows; i++) {
		double want = json_real_value(json_array_get(bar, i)), mine;

		t->dequant(ref + i * row_bytes, got, r->width); /* checks that row_error() is the
								 * measure of the pack */
		ck_assert_double_eq_tol(row_error(r, i, got, imatrix), want, 1e-9 + want * 1e-6);
		t->quant(r->x + i * r->width, blk, r->width, imatrix ? r->w : NULL);
		t->dequant(blk, got, r->width);
		mine = row_error(r, i, got, imatrix);
		if (want > 0) {
			worst = fmax(worst, mine / want);
			sum += mine / want;
			n_sum++;
		}
		if (mine <= 1.02 * want)
			continue;
		printf("%s %s: row %s: error %g, bound 1.02 * %g\n", t->name, how,
		       json_string_value(json_array_get(r->names, i)), mine, want);
		bad++;
	}
	printf("%s %s: error relative to the reference: %.3f, worst row %.3f\n", t->name, how,
	       sum / n_sum, worst);
	free(blk);
	free(ref);
	free(got);
	return bad;
}

START_TEST(encode_parity)
{
	json_t *index = pack_index("encode_parity"), *e;
	unsigned passed = 0, failed = 0, skipped = 0;
	struct rows r = {0};
	size_t k, n;

	if (!index)
		return;
	r.x = (float *)(void *)read_file("rows.f32", &n);
	r.width = number(json_object_get(index, "rows"), "row_elems");
	r.n_rows = number(json_object_get(index, "rows"), "n_rows");
	r.names = json_object_get(json_object_get(index, "rows"), "names");
	ck_assert_uint_eq(n, r.width * r.n_rows * 4);
	r.w = (float *)(void *)read_file("imatrix.f32", &n);
	ck_assert_uint_eq(n, r.width * 4);
	json_array_foreach(json_object_get(index, "types"), k, e)
	{
		const struct lmi_dtype *t = lmi_dtype((uint32_t)number(e, "id"));

		for (int imatrix = 0; imatrix < 2; imatrix++) {
			const char *how = imatrix ? "imatrix" : "plain";
			json_t *enc = json_object_get(json_object_get(e, "encode"), how);

			if (!enc || !json_object_get(enc, "rmse"))
				continue;
			if (!t || !t->quant) {
				LMD_SKIP(text(e, "name"), "no encoder (%s)", how);
				skipped++;
			} else if (encode_type(t, &r, enc, how, imatrix)) {
				failed++;
			} else {
				passed++;
			}
		}
	}
	LMD_CASES("encoders", passed, failed, skipped);
	free(r.x);
	free(r.w);
	json_decref(index);
	ck_assert_uint_eq(failed, 0);
}
END_TEST

/* Plain rounding is the textbook formula: the bytes are those of the pack for types whose encoder
 * uses the same formula. */
START_TEST(near_parity)
{
	static const char *const types[] = {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0"};
	size_t n_x, n_ref;
	float *x;

	if (!lmd_parity_dir()) {
		LMD_SKIP("near_parity", "no parity pack");
		return;
	}
	x = (float *)(void *)read_file("rows.f32", &n_x);
	for (size_t i = 0; i < LMD_LEN(types); i++) {
		const struct lmi_dtype *t = lmi_dtype_by_name(types[i]);
		uint8_t *ref, *got;
		char name[64];

		snprintf(name, sizeof(name), "%s.rows_plain.blk", types[i]);
		ref = read_file(name, &n_ref);
		got = malloc(n_ref);
		ck_assert(ref && got);
		(t->quant_nearest ? t->quant_nearest : t->quant)(x, got, n_x / 4, NULL);
		for (size_t k = 0; k < n_ref; k++)
			ck_assert_msg(got[k] == ref[k], "%s: byte %zu of block %zu: %02x, not %02x",
				      t->name, k % t->block_bytes, k / t->block_bytes, got[k],
				      ref[k]);
		free(ref);
		free(got);
	}
	LMD_CASES("plain rounding", LMD_LEN(types), 0, 0);
	free(x);
}
END_TEST

static void encode_odd(const struct lmi_dtype *t, lmi_quant_encode_fn quant, const float *x,
		       const float *w, size_t n)
{
	size_t bytes = n / t->block_elems * t->block_bytes + t->row_bytes_extra;
	uint8_t blk[2][4096];
	float y[512];

	ck_assert_uint_lt(bytes, sizeof(blk[0]));
	for (int k = 0; k < 2; k++) {
		memset(blk[k], k ? 0xAA : 0x55, sizeof(blk[k]));
		quant(x, blk[k], n, w);
		ck_assert_uint_eq(blk[k][bytes], k ? 0xAA : 0x55);
	}
	ck_assert_msg(!memcmp(blk[0], blk[1], bytes), "%s: not all bytes written", t->name);
	t->dequant(blk[0], y, n);
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(y[i] == y[i] && (t->is_activation || isfinite(y[i])),
			      "%s: value %zu is %a", t->name, i, y[i]);
}

/* Any input gives a block that decodes to finite values, and the bytes depend only on the input. */
START_TEST(encode_hostile)
{
	enum { N = 512 };
	static const float odd[] = {NAN,    INFINITY, -INFINITY, 3e38f, -3e38f,
				    1e-45f, -0.0f,    1e-8f,     70000};
	uint64_t seed = lmd_seed("encode_hostile", 42);
	float x[N], w[N];

	for (uint32_t id = 0; id < LMD_DTYPE_END; id++) {
		const struct lmi_dtype *t = lmi_dtype(id);

		if (!t || !t->quant || t->block_elems == 1) /* floats keep NaN */
			continue;
		for (int round = 0; round < 40; round++) {
			for (int i = 0; i < N; i++) {
				uint64_t r = lmd_rand(&seed);

				x[i] = r % 3 && round % 4 ? (float)(int8_t)(r >> 8) * 0.01f
							  : odd[(r >> 8) % LMD_LEN(odd)];
				w[i] = round % 3 ? (float)(r >> 40 & 255) : odd[r >> 40 & 7];
			}
			encode_odd(t, t->quant, x, round % 2 ? w : NULL, N);
			if (t->quant_nearest)
				encode_odd(t, t->quant_nearest, x, NULL, N);
		}
	}
}
END_TEST

static void decode_hex(const char *type, const char *hex, float *y, size_t n)
{
	const struct lmi_dtype *t = lmi_dtype_by_name(type);
	uint8_t blk[512] = {0};
	size_t bytes = strlen(hex) / 2;

	ck_assert_ptr_nonnull(t);
	ck_assert_uint_eq(bytes, t->block_bytes * (n / t->block_elems));
	for (size_t i = 0; i < bytes; i++) {
		unsigned v;

		ck_assert_int_eq(sscanf(hex + 2 * i, "%2x", &v), 1);
		blk[i] = (uint8_t)v;
	}
	t->dequant(blk, y, n);
}

/* The values decoded from pseudo-random bytes have the hash in the type's description, which was
 * recorded when the decoders agreed with the pack, or with those of ik_llama.cpp. */
START_TEST(decode_hashes)
{
	unsigned n = 0, bad = 0;

	for (uint32_t id = 0; id < LMD_DTYPE_END; id++) {
		const struct lmi_dtype *t = lmi_dtype(id);
		uint64_t got;

		if (!t)
			continue;
		got = decode_hash(t);
		n++;
		if (got == t->decode_hash)
			continue;
		bad++;
		printf("%s: .decode_hash is 0x%016llX, values give 0x%016llX\n", t->name,
		       (unsigned long long)t->decode_hash, (unsigned long long)got);
	}
	LMD_CASES("types decoded", n - bad, bad, 0);
	ck_assert_uint_eq(bad, 0);
}
END_TEST

/* Returns the relative error of one row of nearly normal values. */
static double encode_error(const struct lmi_dtype *t, lmi_quant_encode_fn quant, const float *w)
{
	enum { WIDTH = 1024 };
	static float x[WIDTH], y[WIDTH];
	static uint8_t row[WIDTH * 8];
	uint64_t seed = 11;
	double e2 = 0, x2 = 0;

	for (int i = 0; i < WIDTH; i++) {
		uint64_t v = lmd_rand(&seed);

		x[i] = 0;
		for (int k = 0; k < 4; k++)
			x[i] += ((float)(v >> 16 * k & 0xFFFF) - 32767.5f) * 1e-6f;
	}
	quant(x, row, WIDTH, w);
	t->dequant(row, y, WIDTH);
	for (int i = 0; i < WIDTH; i++) {
		e2 += pow((double)y[i] - x[i], 2);
		x2 += pow(x[i], 2);
	}
	return sqrt(e2 / x2);
}

/* Every encoder gives values about as good as its number of bits allows. */
START_TEST(encode_all)
{
	for (uint32_t id = 0; id < LMD_DTYPE_END; id++) {
		const struct lmi_dtype *t = lmi_dtype(id);
		double bits, most;

		if (!t || !t->quant || t->block_elems == 1)
			continue;
		bits = 8.0 * t->block_bytes / t->block_elems;
		most = 0.01 + 2.7 * pow(2, -bits);
		ck_assert_msg(encode_error(t, t->quant, NULL) <= most, "%s: error %g, bound %g",
			      t->name, encode_error(t, t->quant, NULL), most);
		if (t->quant_nearest)
			ck_assert_msg(encode_error(t, t->quant_nearest, NULL) <= 1.5 * most,
				      "%s, nearest: error %g, bound %g", t->name,
				      encode_error(t, t->quant_nearest, NULL), 1.5 * most);
	}
}
END_TEST

START_TEST(decode_by_hand)
{
	float y[64];

	/* d = 2; nibbles of byte j are j and 15 - j */
	decode_hex("q4_0", "0040f0e1d2c3b4a5968778695a4b3c2d1e0f", y, 32);
	for (int j = 0; j < 16; j++) {
		ck_assert_float_eq(y[j], (float)(j - 8) * 2);
		ck_assert_float_eq(y[j + 16], (float)(15 - j - 8) * 2);
	}
	/* d = 0.5, m = -1 */
	decode_hex("q4_1", "003800bcf0e1d2c3b4a5968778695a4b3c2d1e0f", y, 32);
	ck_assert_float_eq(y[3], 0.5f);
	ck_assert_float_eq(y[16], 6.5f);
	/* d = 1, fifth bit of values 0 and 31 */
	decode_hex("q5_0", "003c01000080f0e1d2c3b4a5968778695a4b3c2d1e0f", y, 32);
	ck_assert_float_eq(y[0], 0);
	ck_assert_float_eq(y[1], -15);
	ck_assert_float_eq(y[16], -1);
	ck_assert_float_eq(y[31], 0);
	/* d = 1/4, codes 1, -1, 127, -128 */
	decode_hex("q8_0", "003401ff7f8000000000000000000000000000000000000000000000000000000000",
		   y, 32);
	ck_assert_float_eq(y[0], 0.25f);
	ck_assert_float_eq(y[1], -0.25f);
	ck_assert_float_eq(y[2], 31.75f);
	ck_assert_float_eq(y[3], -32);
	ck_assert_float_eq(y[4], 0);
	/* d = 0.5, m = -3; codes 0, 1, 255 */
	decode_hex("q8_a",
		   "0000003f000040c0"
		   "0001ff0000000000000000000000000000000000000000000000000000000000",
		   y, 32);
	ck_assert_float_eq(y[0], -3);
	ck_assert_float_eq(y[1], -2.5f);
	ck_assert_float_eq(y[2], 124.5f);
	ck_assert_float_eq(y[31], -3);
	/* d = 1; code 15 for value 1, 8 for the others: column 1 of the matrix times 7 */
	decode_hex("q4_0_rot",
		   "003c888f8888888888888888888888888888"
		   "003c88888888888888888888888888888888",
		   y, 64);
	for (int j = 0; j < 64; j++)
		ck_assert_float_eq(y[j], j % 2 ? -0.875f : 0.875f);
	decode_hex("i16", "feff", y, 1);
	ck_assert_float_eq(y[0], -2);
	decode_hex("f64", "000000000000f8bf", y, 1);
	ck_assert_float_eq(y[0], -1.5f);
}
END_TEST

/* Decodes every code of the 8-bit floats by definition, and encodes it back. */
START_TEST(f8_by_hand)
{
	for (unsigned b = 0; b < 256; b++) {
		uint8_t in = (uint8_t)b, back;
		unsigned e4 = b >> 3 & 15, m3 = b & 7, e5 = b >> 2 & 31, m2 = b & 3;
		double sign = b & 0x80 ? -1 : 1, want;
		float got;

		lmi_quant_f8_e4m3.dequant(&in, &got, 1);
		want = sign * (e4 ? ldexp(8 + m3, (int)e4 - 10) : ldexp(m3, -9));
		if (e4 == 15 && m3 == 7)
			ck_assert(isnan(got));
		else
			ck_assert_double_eq((double)got, want);
		lmi_quant_f8_e4m3.quant(&got, &back, 1, NULL);
		ck_assert_uint_eq(back, in);

		lmi_quant_f8_e5m2.dequant(&in, &got, 1);
		want = sign * (e5 ? ldexp(4 + m2, (int)e5 - 17) : ldexp(m2, -16));
		if (e5 == 31 && m2)
			ck_assert(isnan(got));
		else if (e5 == 31)
			ck_assert(isinf(got) && (got < 0) == (sign < 0));
		else
			ck_assert_double_eq((double)got, want);
		lmi_quant_f8_e5m2.quant(&got, &back, 1, NULL);
		if (!isnan(got))
			ck_assert_uint_eq(back, in);
	}
}
END_TEST

/* Rounding to nearest with ties to even, at the ends of the range. */
START_TEST(f8_rounding)
{
	static const struct {
		float x, e4m3, e5m2;
	} rows[] = {
		{1.0625f, 1.0f, 1.0f},        {1.1875f, 1.25f, 1.25f},
		{0x1p-10f, 0.0f, 0x1p-10f},   {0x1.8p-9f, 0x1p-8f, 0x1.8p-9f},
		{460.0f, 448.0f, 448.0f},     {1e9f, 448.0f, INFINITY},
		{-1e9f, -448.0f, -INFINITY},  {0x1p-17f, 0.0f, 0.0f},
		{0x1.8p-17f, 0.0f, 0x1p-16f}, {57344.0f, 448.0f, 57344.0f},
		{61439.0f, 448.0f, 57344.0f},
	};

	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		uint8_t b;
		float y;

		lmi_quant_f8_e4m3.quant(&rows[i].x, &b, 1, NULL);
		lmi_quant_f8_e4m3.dequant(&b, &y, 1);
		ck_assert_msg(y == rows[i].e4m3, "%g: %g", (double)rows[i].x, (double)y);
		lmi_quant_f8_e5m2.quant(&rows[i].x, &b, 1, NULL);
		lmi_quant_f8_e5m2.dequant(&b, &y, 1);
		ck_assert_msg(y == rows[i].e5m2, "%g: %g", (double)rows[i].x, (double)y);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("quant");
	TCase *tc = tcase_create("types");

	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, table);
	tcase_add_test(tc, half_by_hand);
	tcase_add_test(tc, half_parity);
	tcase_add_test(tc, decode_by_hand);
	tcase_add_test(tc, decode_hashes);
	tcase_add_test(tc, decode_parity);
	tcase_add_test(tc, encode_all);
	tcase_add_test(tc, encode_parity);
	tcase_add_test(tc, near_parity);
	tcase_add_test(tc, encode_hostile);
	tcase_add_test(tc, f8_by_hand);
	tcase_add_test(tc, f8_rounding);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
