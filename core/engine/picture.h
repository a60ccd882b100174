/* SPDX-License-Identifier: MIT
 *
 * picture.h - the pictures of a sequence: rows of numbers in the place of tokens.
 *
 * In the sequence's list of tokens, the row of a picture has a number below 0 that follows from the
 * content of the whole picture and from the place in it (30 bits of a digest for each row). So equal
 * numbers stand for equal rows, as equal tokens do, and whatever compares tokens, such as the prefix
 * cache, tells pictures apart. */
#ifndef LLAMAD_CORE_ENGINE_PICTURE_H
#define LLAMAD_CORE_ENGINE_PICTURE_H

#include "core/base/sha256.h"
#include "core/engine/command.h"
#include "core/engine/instance.h"
#include "core/sched/sched.h"

/* Maximum number of pictures of a sequence. */
#define LMI_ENGINE_MAX_PICTURE 1024u

struct lmi_engine_seq_picture {
	uint32_t first, n;       /* its rows are [first, first + n) of the sequence */
	uint32_t grid_w, grid_h; /* as in the command */
	bool both_ways;
	float *rows; /* [n][n_input_embd]; NULL: the tower has yet to compute them from */
	uint8_t *patches; /* [patches_w * patches_h][patch width]; NULL otherwise */
	uint32_t patches_w, patches_h;
	uint8_t digest[LMI_SHA256_BYTES]; /* of its content */
};

/* Does a number in the place of a token stand for the row of a picture? */
static inline bool lmi_engine_is_picture_row(lmd_token token)
{
	return token < 0 && token >= -(1 << 30);
}

/* Checks the pictures of a command's sequence. */
enum lmd_status lmi_engine_pictures_check(const struct lmi_inst *inst,
					  const struct lmi_engine_input_seq *in,
					  struct lmd_error *err);
/* Copies them, and replaces the tokens in their places. *out: [in->n_pictures]; *spans: [*n_span] of those
 * whose rows see each other, NULL if there are none. LMD_NOMEM. */
enum lmd_status lmi_engine_pictures_copy(struct lmi_engine_seq_picture **out,
					 const struct lmi_inst *inst,
					 const struct lmi_engine_input_seq *in, lmd_token *tokens,
					 struct lmi_sched_span **spans, uint32_t *n_span,
					 struct lmd_error *err);
/* Computes the digest of a picture's content, or copies the one that it has. Returns false if memory ran out or
 * the work was cancelled. */
bool lmi_engine_picture_digest_of(const struct lmi_inst *inst, const struct lmi_engine_picture *p,
				  uint8_t out[LMI_SHA256_BYTES]);
/* Returns the next picture whose rows the tower has yet to compute; NULL: there is none. */
struct lmi_engine_seq_picture *lmi_engine_pictures_next(struct lmi_engine_seq_picture *v, uint32_t n);
/* v may be NULL. */
void lmi_engine_pictures_destroy(struct lmi_engine_seq_picture *v, uint32_t n);

/* Returns the picture that a row of the sequence belongs to; NULL: it is a token. */
const struct lmi_engine_seq_picture *lmi_engine_picture_at(const struct lmi_engine_seq_picture *v,
							   uint32_t n, uint32_t row);
/* Computes the positions of a row. The rows of a picture with a grid have the time, the line and the
 * column as positions, counted from where the picture begins; what follows it begins after the largest of
 * them (M-RoPE, arXiv 2409.12191, section 2.1). All other rows are numbered. */
void lmi_engine_picture_positions(const struct lmi_engine_seq_picture *v, uint32_t n, uint32_t row,
				  int32_t pos[4]);

#endif /* LLAMAD_CORE_ENGINE_PICTURE_H */
