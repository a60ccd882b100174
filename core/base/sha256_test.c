/* SPDX-License-Identifier: MIT
 *
 * SHA-256 against the examples of FIPS 180-4 and NIST's vectors, in pieces of every size. */
#include <string.h>

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

/* RFC 4231, test cases 1, 2 and 6. */
START_TEST(hmac)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
		{"what do ya want for nothing?",
		 "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		{"Test Using Larger Than Block-Size Key - Hash Key First",
		 "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
	};
	char keys[3][131], hex[LMI_SHA256_HEX];
	const size_t n_key[3] = {20, 4, 131};
	uint8_t mac[LMI_SHA256_BYTES];

	memset(keys[0], 0x0b, sizeof(keys[0]));
	memcpy(keys[1], "Jefe", 4);
	memset(keys[2], 0xaa, sizeof(keys[2]));
	for (int i = 0; i < 3; i++) {
		ck_assert(lmi_sha256_hmac(mac, keys[i], n_key[i], cases[i].text, strlen(cases[i].text)));
		lmi_sha256_hex(hex, mac);
		ck_assert_str_eq(hex, cases[i].want);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sha256");
	TCase *tc = tcase_create("sha256");

	tcase_add_test(tc, vectors);
	tcase_add_test(tc, million);
	tcase_add_test(tc, unused);
	tcase_add_test(tc, hmac);
	suite_add_tcase(s, tc);
	return lmd_check_run(srunner_create(s));
}
