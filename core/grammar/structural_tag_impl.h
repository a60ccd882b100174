/* SPDX-License-Identifier: MIT
 *
 * structural_tag_impl.h - shared by the files of structural tags (structural_tag*.c).
 *
 * The first error is kept by the builder. After it, what returns an expression returns NULL or an
 * expression that is not used, and what defines or appends does nothing. `type` is the name of a format
 * in messages, `v` its object. */
#ifndef LLAMAD_GRAMMAR_STRUCTURAL_TAG_IMPL_H
#define LLAMAD_GRAMMAR_STRUCTURAL_TAG_IMPL_H

#include <jansson.h>

#include "core/grammar/expr.h"
#include "core/grammar/free_text.h"

#define LMI_GR_TAGS_MEMBERS    5  /* of a format, besides type */
#define LMI_GR_TAGS_NAME_BYTES 64 /* of a name in a message */

struct lmi_gr_tags {
	struct lmi_grammar_builder *b;
	uint32_t depth; /* of formats in formats */
};

/* ---- members (structural_tag_members.c) ---- */

/* Members of a format besides type; NULL: no more. */
typedef const char *const lmi_gr_tags_members[LMI_GR_TAGS_MEMBERS];

/* Says what is wrong with a member. */
void lmi_gr_tags_fail(struct lmi_gr_tags *t, const char *type, const char *member,
		      const char *what);
bool lmi_gr_tags_failed(const struct lmi_gr_tags *t);
/* Refuses members that the format does not have. */
void lmi_gr_tags_check_members(struct lmi_gr_tags *t, const json_t *v, const char *type,
			       lmi_gr_tags_members members);

struct lmd_str lmi_gr_tags_text_of(const json_t *v);
struct lmd_str lmi_gr_tags_get_text(struct lmi_gr_tags *t, const json_t *v, const char *type,
				    const char *member);
/* False if it is missing. */
bool lmi_gr_tags_get_bool(struct lmi_gr_tags *t, const json_t *v, const char *type,
			  const char *member);
/* Returns a list of at least `min` and at most 256 elements. An absent one is empty (NULL). */
const json_t *lmi_gr_tags_get_list(struct lmi_gr_tags *t, const json_t *v, const char *type,
				   const char *member, size_t min);
/* Returns the strings of a list, none of them empty, in the builder's arena; *n: their number. */
struct lmi_gr_free_text_stop *lmi_gr_tags_get_stops(struct lmi_gr_tags *t, const json_t *v,
						    const char *type, const char *member,
						    size_t min, uint32_t *n);

/* ---- expressions (structural_tag_members.c) ---- */

struct lmi_grammar_expr *lmi_gr_tags_text(struct lmi_gr_tags *t, struct lmd_str s);
struct lmi_grammar_expr *lmi_gr_tags_list(struct lmi_gr_tags *t, enum lmi_grammar_expr_kind kind);
void lmi_gr_tags_append(struct lmi_gr_tags *t, struct lmi_grammar_expr *list,
			struct lmi_grammar_expr *e);
uint32_t lmi_gr_tags_add_rule(struct lmi_gr_tags *t, const char *name);
void lmi_gr_tags_define(struct lmi_gr_tags *t, uint32_t rule, struct lmi_grammar_expr *e);
struct lmi_grammar_expr *lmi_gr_tags_call(struct lmi_gr_tags *t, uint32_t rule);

/* ---- formats (structural_tag.c) ---- */

/* A format of any type. */
struct lmi_grammar_expr *lmi_gr_tags_format(struct lmi_gr_tags *t, const json_t *v);
/* The name of type i of formats; NULL after the last one. */
const char *lmi_gr_tags_type(size_t i);
/* The format that is the member `content`. */
struct lmi_grammar_expr *lmi_gr_tags_content(struct lmi_gr_tags *t, const json_t *v,
					     const char *type);
/* A value of a JSON schema. */
struct lmi_grammar_expr *lmi_gr_tags_schema(struct lmi_gr_tags *t, const json_t *s);

/* ---- tags (structural_tag_tags.c) ---- */

struct lmi_grammar_expr *lmi_gr_tags_tag(struct lmi_gr_tags *t, const json_t *v);
struct lmi_grammar_expr *lmi_gr_tags_with_separator(struct lmi_gr_tags *t, const json_t *v);
struct lmi_grammar_expr *lmi_gr_tags_triggered(struct lmi_gr_tags *t, const json_t *v);
/* Free text with the tags of a list, which is that member of the format. */
struct lmi_grammar_expr *lmi_gr_tags_text_with_tags(struct lmi_gr_tags *t, const json_t *v,
						    const char *type, const char *member);

#endif /* LLAMAD_GRAMMAR_STRUCTURAL_TAG_IMPL_H */
