/* SPDX-License-Identifier: MIT
 *
 * JPEG files with each orientation, as Pillow turns them, and damaged EXIF data. */
#include "core/picture/orientation.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/lmd_check.h"
#include "tests/pictures/oriented.gen.h"

#define FILE_OF(n)                                         \
	{                                                  \
		file_##n, rgb_##n, sizeof(file_##n)        \
	}
static const struct {
	const uint8_t *bytes, *rgb;
	size_t n;
} files[] = {FILE_OF(1), FILE_OF(2), FILE_OF(3), FILE_OF(4), FILE_OF(5), FILE_OF(6), FILE_OF(7), FILE_OF(8)};

/* The directory of file 6: the tag's place, which the test finds by its bytes (big-endian). */
static size_t tag_of(const uint8_t *bytes, size_t n)
{
	static const uint8_t tag[8] = {0x01, 0x12, 0, 3, 0, 0, 0, 1};

	for (size_t i = 0; i + sizeof(tag) <= n; i++)
		if (!memcmp(bytes + i, tag, sizeof(tag)))
			return i;
	ck_abort_msg("the file has no orientation");
	return 0;
}

START_TEST(turned_like_pillow)
{
	bool turned = _i >= 4;
	struct lmi_picture_pixels p = {0};
	struct lmd_error err;
	enum lmd_status st = lmi_picture_decode(&p, files[_i].bytes, files[_i].n, &err);

	ck_assert_uint_eq(lmi_picture_orientation(files[_i].bytes, files[_i].n), (unsigned)_i + 1);
#ifndef LMD_HAVE_JPEG
	ck_assert_int_eq(st, LMD_UNSUPPORTED);
	return;
#endif
	ck_assert_msg(st == LMD_OK, "%s", err.text);
	ck_assert_uint_eq(p.w, turned ? 8 : 12);
	ck_assert_uint_eq(p.h, turned ? 12 : 8);
	for (size_t i = 0; i < sizeof(rgb_1); i++) /* versions of libjpeg differ a little */
		ck_assert_msg(abs(p.rgb[i] - files[_i].rgb[i]) <= 2, "value %zu is %d, expected %d", i, p.rgb[i],
			      files[_i].rgb[i]);
	lmi_picture_pixels_fini(&p);
}
END_TEST

/* What is damaged or unknown counts as upright, and no byte behind the end is read (the copies end there). */
START_TEST(damaged_data)
{
	size_t n = sizeof(file_6), tag = tag_of(file_6, n);
	static const struct {
		int at; /* from the tag */
		uint8_t value;
	} wrong[] = {{1, 0x13}, {3, 4}, {7, 2}, {9, 0}, {9, 9}, {8, 1}};
	uint8_t *copy;

	for (size_t i = 0; i <= n; i++) {
		unsigned got;

		copy = lmi_alloc(i ? i : 1, 1);
		memcpy(copy, file_6, i);
		got = lmi_picture_orientation(copy, i);
		ck_assert(got == LMI_PICTURE_UPRIGHT || got == 6);
		lmi_free(copy);
	}
	copy = lmi_alloc(n, 1);
	for (size_t i = 0; i < LMD_LEN(wrong); i++) {
		memcpy(copy, file_6, n);
		copy[tag + wrong[i].at] = wrong[i].value;
		ck_assert_msg(lmi_picture_orientation(copy, n) == LMI_PICTURE_UPRIGHT, "case %zu", i);
	}
	for (size_t i = 0; i < n; i++) { /* any other byte */
		unsigned got;

		memcpy(copy, file_6, n);
		copy[i] ^= 0x55;
		got = lmi_picture_orientation(copy, n);
		ck_assert(got >= 1 && got <= 8);
	}
	lmi_free(copy);
}
END_TEST

#ifdef LMD_HAVE_JPEG
/* Each allocation fails in turn: an error, and nothing is left. */
START_TEST(no_memory)
{
	struct lmi_picture_pixels p = {0};
	struct lmi_alloc_stats s;

	for (uint64_t i = 1; i <= 2; i++) {
		lmi_alloc_fail_nth(i, false);
		ck_assert_int_eq(lmi_picture_decode(&p, file_8, sizeof(file_8), NULL), LMD_NOMEM);
		lmi_alloc_fail_nth(0, false);
		lmi_alloc_stats(&s);
		ck_assert_uint_eq(s.n_live, 0);
	}
}
END_TEST
#endif

int main(void)
{
	Suite *s = suite_create("orientation");
	TCase *t = tcase_create("orientation");

	tcase_add_loop_test(t, turned_like_pillow, 0, (int)LMD_LEN(files));
	tcase_add_test(t, damaged_data);
#ifdef LMD_HAVE_JPEG
	tcase_add_test(t, no_memory);
#endif
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
