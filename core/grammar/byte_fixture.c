/* SPDX-License-Identifier: MIT */
#include "core/grammar/byte_fixture.h"

#include <string.h>

#include "core/base/alloc.h"
#include "tests/lmd_check.h"

struct lmi_grammar_vocab *lmt_bytes;

void lmt_bytes_setup(void)
{
	struct lmd_error err;

	ck_assert_msg(lmi_gr_vocab_create(&lmt_bytes, NULL, &err) == LMD_OK, "%s", err.text);
}

void lmt_bytes_teardown(void)
{
	struct lmi_alloc_stats s;

	lmi_gr_vocab_destroy(lmt_bytes);
	lmi_alloc_stats(&s);
	ck_assert_uint_eq(s.n_live, 0);
}

struct lmi_grammar_matcher *lmt_bytes_matcher(const struct lmi_grammar *g)
{
	const struct lmi_gr_matcher_opts o = {.grammar = g, .vocab = lmt_bytes};
	struct lmi_grammar_matcher *m = NULL;
	struct lmd_error err;

	ck_assert_msg(lmi_gr_matcher_create(&m, &o, &err) == LMD_OK, "%s", err.text);
	return m;
}

bool lmt_bytes_accepts(struct lmi_grammar_matcher *m, const char *text)
{
	struct lmi_grammar_state *s = NULL;
	struct lmd_error err;
	size_t n;
	bool ok;

	ck_assert_msg(lmi_gr_state_create(&s, m, &err) == LMD_OK, "%s", err.text);
	ok = lmi_gr_state_accept_text(s, text, strlen(text), &n) == LMD_OK &&
	     lmi_gr_state_may_end(s);
	lmi_gr_state_destroy(s);
	return ok;
}
