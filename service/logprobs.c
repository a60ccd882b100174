/* SPDX-License-Identifier: MIT */
#include "service/logprobs.h"

#include <string.h>

#include "proto/buf.h"

/* What precedes the text of an entry. */
struct head {
	lmd_token token;
	float logprob;
	uint32_t n_text;
};

bool lmi_svc_logprobs_pack(struct lmi_wire_buf *out, const struct lmi_tokenizer *t,
			   const struct lmi_engine_logprob *v, uint32_t n)
{
	char small[64];

	out->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct head h = {.token = v[i].token, .logprob = v[i].logprob};
		size_t bytes = lmi_tokenizer_piece(t, v[i].token, LMD_DECODE_UNPARSE_SPECIAL, small,
						   sizeof(small)),
		       at = out->n + sizeof(h);

		h.n_text = (uint32_t)bytes;
		if (!lmi_wire_buf_add(out, &h, sizeof(h)))
			return false;
		if (bytes <= sizeof(small)) {
			if (bytes && !lmi_wire_buf_add(out, small, bytes))
				return false;
			continue;
		}
		for (size_t k = 0; k < bytes; k += sizeof(small)) /* room for a long one */
			if (!lmi_wire_buf_add(out, small,
					      bytes - k < sizeof(small) ? bytes - k
									: sizeof(small)))
				return false;
		(void)lmi_tokenizer_piece(t, v[i].token, LMD_DECODE_UNPARSE_SPECIAL,
					  (char *)out->p + at, bytes);
	}
	return true;
}

void lmi_svc_logprobs_unpack(struct lmi_wire_token_logprob *out, uint32_t n, const char *bytes)
{
	for (uint32_t i = 0; i < n; i++) {
		struct head h;

		memcpy(&h, bytes, sizeof(h));
		bytes += sizeof(h);
		out[i] = (struct lmi_wire_token_logprob){
			.token = h.token,
			.logprob = (double)h.logprob,
			.text = {.ptr = bytes, .len = h.n_text}};
		bytes += h.n_text;
	}
}
