/* SPDX-License-Identifier: MIT
 *
 * The table of remembered words: its size.  Each call pays for zeroing its own, so it follows the
 * text, to at most 512 KiB. */
#include "common/word_cache.h"

#define SLOTS_MIN 256
#define SLOTS_MAX 8192
#define SLOT_TEXT 256 /* bytes of text to a slot */

bool lmi_word_table(const struct lmi_job *j, struct lmi_buf *table)
{
	size_t slots = SLOTS_MIN;

	while (slots < SLOTS_MAX && slots * SLOT_TEXT <= j->text_bytes)
		slots *= 2;
	return lmi_buf_need(table, j->host, slots * sizeof(struct lmi_word_slot));
}
