/* SPDX-License-Identifier: MIT
 *
 * draft_lookahead.h - sizes of lookahead decoding (draft_lookahead.c). */
#ifndef LLAMAD_CORE_ENGINE_DRAFT_LOOKAHEAD_H
#define LLAMAD_CORE_ENGINE_DRAFT_LOOKAHEAD_H

/* Columns of the window, tokens of an n-gram, and the rows that a step computes for a window: the first token of the
 * first column is the last known one, and the last token of each n-gram is what its row predicts. */
#define LMI_ENGINE_LOOKAHEAD_COLUMNS 5u
#define LMI_ENGINE_LOOKAHEAD_N       3u
#define LMI_ENGINE_LOOKAHEAD_ROWS    ((LMI_ENGINE_LOOKAHEAD_N - 1) * LMI_ENGINE_LOOKAHEAD_COLUMNS - 1)

#endif /* LLAMAD_CORE_ENGINE_DRAFT_LOOKAHEAD_H */
