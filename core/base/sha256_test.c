/* SPDX-License-Identifier: MIT
 *
 * SHA-256 against the examples of FIPS 180-4 and NIST's vectors, in pieces of every size. */
#include "core/base/sha256.h"

#include "llamad/attr.h"
#include "tests/lmd_check.h"

static void digest(char *hex, const void *data, size_t n, size_t piece)
{
	uint8_t out[LMI_SHA256_BYTES];
	struct lmi_sha256 h;

	ck_assert(lmi_sha256_init(&h));
	for (size_t at = 0; at < n; at += piece)
		lmi_sha256_update(&h, (const char *)data + at, n - at < piece ? n - at : piece);
	ck_assert(lmi_sha256_final(&h, out));
	lmi_sha256_fini(&h);
	lmi_sha256_hex(hex, out);
}

START_TEST(vectors)
{
	static const struct {
		const char *text, *want;
	} t[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
		 "klmnopqrlmnopqrsmnopqrstnopqrstu",
		 "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
	};
	char hex[LMI_SHA256_HEX];

	for (size_t i = 0; i < LMD_LEN(t); i++) {
		size_t n = strlen(t[i].text);

		for (size_t piece = 1; piece <= n + 1; piece++) {
			digest(hex, t[i].text, n, piece);
			ck_assert_str_eq(hex, t[i].want);
		}
	}
}
END_TEST

START_TEST(million)
{
	static char a[1000000];
	char hex[LMI_SHA256_HEX];

	memset(a, 'a', sizeof(a));
	for (size_t piece = 1000; piece <= sizeof(a); piece = piece * 7 + 1) {
		digest(hex, a, sizeof(a), piece);
		ck_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67"
				      "f1809a48a497200e046d39ccc7112cd0");
	}
}
END_TEST

START_TEST(unused)
{
	struct lmi_sha256 h = {0};

	lmi_sha256_fini(&h);
	ck_assert(lmi_sha256_init(&h));
	lmi_sha256_update(&h, "x", 1);
	lmi_sha256_fini(&h); /* abandon it */
	lmi_sha256_fini(&h);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sha256");
	TCase *tc = tcase_create("sha256");

	tcase_add_test(tc, vectors);
	tcase_add_test(tc, million);
	tcase_add_test(tc, unused);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
