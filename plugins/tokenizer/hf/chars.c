/* SPDX-License-Identifier: MIT
 *
 * Character sets: ASCII by general category, all other characters from tables, because the
 * programs that the files were made for use different versions of Unicode in different places. */
#include "tokenizer/hf/hf_kind.h"

#include "common/uni.h"

/* Returns the value of the range that contains cp, or 0. */
static uint32_t look_up(const struct hf_char_range *r, uint32_t n, uint32_t cp)
{
	uint32_t low = 0;

	while (low < n) {
		uint32_t mid = low + (n - low) / 2;

		if (cp > r[mid].last)
			low = mid + 1;
		else if (cp < r[mid].first)
			n = mid;
		else
			return r[mid].value;
	}
	return 0;
}

bool hf_is_space(uint32_t cp)
{
	return lmi_ucd_is(cp, LMI_UCD_SPACE);
}

bool hf_is_word(uint32_t cp)
{
	if (cp < 0x80)
		return lmi_ucd_is(cp, LMI_UCD_L | 1u << LMI_ND | 1u << LMI_PC);
	return look_up(hf_words, hf_n_words, cp);
}

bool hf_is_punctuation(uint32_t cp)
{
	return cp < 0x80 ? lmi_ucd_is(cp, LMI_UCD_P | LMI_UCD_S)
			 : look_up(hf_punctuation, hf_n_punctuation, cp) != 0;
}

bool hf_is_number(uint32_t cp)
{
	return cp < 0x80 ? lmi_ucd_is(cp, LMI_UCD_N) : look_up(hf_numbers, hf_n_numbers, cp) != 0;
}

bool hf_is_mark(uint32_t cp)
{
	return cp >= 0x80 && look_up(hf_marks, hf_n_marks, cp);
}

bool hf_is_accent(uint32_t cp)
{
	return cp >= 0x80 && look_up(hf_accents, hf_n_accents, cp);
}

bool hf_is_other(uint32_t cp)
{
	if (cp < 0x80)
		return (cp < 0x20 && cp != '\t' && cp != '\n' && cp != '\r') || cp == 0x7f;
	return look_up(hf_others, hf_n_others, cp);
}

uint32_t hf_lower(uint32_t cp)
{
	uint32_t low = lmi_ucd_lower(cp);

	for (uint32_t i = 0; low == cp && cp >= hf_lower_pairs[0].first && i < hf_n_lower_pairs;
	     i++)
		if (hf_lower_pairs[i].first == cp)
			return hf_lower_pairs[i].last;
	return low;
}

uint32_t hf_script(uint32_t cp)
{
	return look_up(hf_scripts, hf_n_scripts, cp);
}

bool hf_is_chinese(uint32_t cp)
{
	static const uint32_t range[][2] = {
		{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
		{0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f},
	};

	for (size_t i = 0; cp >= 0x3400 && i < LMD_LEN(range); i++)
		if (cp >= range[i][0] && cp <= range[i][1])
			return true;
	return false;
}
