/* SPDX-License-Identifier: MIT
 *
 * Special tokens: ids given by the file or by the kind, or found by their customary texts; the
 * end-of-generation set; and a few corrections that files in circulation need. If a vocabulary has
 * several texts for one role, the first one in the list wins. */
#include "common/special.h"
#include "common/vocab.h"

#include <stdlib.h>
#include <strings.h>

#define FULLWIDTH_BAR "\xef\xbd\x9c" /* U+FF5C */
#define LOW_BLOCK     "\xe2\x96\x81" /* U+2581 */

static const char *const eot_texts[] = {
	"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>",
	"<|end_of_text|>", "<EOT>", "_<EOT>", "[EOT]",
	"<" FULLWIDTH_BAR "end" LOW_BLOCK "of" LOW_BLOCK "sentence" FULLWIDTH_BAR ">",
	"<end_of_utterance>", NULL,
};
static const char *const eom_texts[] = {"<|eom_id|>", NULL};
static const char *const fim_pre_texts[] = {
	"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>",
	"<" FULLWIDTH_BAR "fim" LOW_BLOCK "begin" FULLWIDTH_BAR ">",
	"<PRE>", LOW_BLOCK "<PRE>", "<|code_prefix|>", "<|prefix|>", NULL,
};
static const char *const fim_suf_texts[] = {
	"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>",
	"<" FULLWIDTH_BAR "fim" LOW_BLOCK "hole" FULLWIDTH_BAR ">",
	"<SUF>", LOW_BLOCK "<SUF>", "<|code_suffix|>", "<|suffix|>", NULL,
};
static const char *const fim_mid_texts[] = {
	"<|fim_middle|>", "<fim-middle>", "<fim_middle>",
	"<" FULLWIDTH_BAR "fim" LOW_BLOCK "end" FULLWIDTH_BAR ">",
	"<MID>", LOW_BLOCK "<MID>", "<|code_middle|>", "<|middle|>", NULL,
};
static const char *const fim_pad_texts[] = {
	"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]", NULL,
};
static const char *const fim_rep_texts[] = {
	"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>", NULL,
};
static const char *const fim_sep_texts[] = {"<|file_sep|>", NULL};

/* Texts that end a generation wherever they occur. */
static const char *const eog_texts[] = {
	"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>",
	"<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]",
	"[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>",
	"<" FULLWIDTH_BAR "end" LOW_BLOCK "of" LOW_BLOCK "sentence" FULLWIDTH_BAR ">", "[e~[", NULL,
};
/* Channel markers of a message format: part of the visible text. */
static const char *const visible_texts[] = {
	"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>", NULL,
};

static int32_t find_text(const struct lmi_vocab *v, const char *text)
{
	uint32_t id = lmi_vocab_find(v, text, strlen(text));

	return id == LMI_NONE ? -1 : (int32_t)id;
}

/* Returns the file's id if it is in range, otherwise the kind's if that is. */
static int32_t choose_id(const struct lmi_vocab *v, int32_t file, int32_t kind)
{
	if (file >= 0 && (uint32_t)file < v->n)
		return file;
	return kind >= 0 && (uint32_t)kind < v->n ? kind : -1;
}

static void by_text(struct lmi_vocab *v, int32_t *id, const char *const *texts)
{
	for (; *id < 0 && *texts; texts++) {
		*id = find_text(v, *texts);
		if (*id >= 0)
			v->attr[*id] |= LMI_ATTR_CONTROL;
	}
}

static void fill_ids(struct lmi_vocab *v, const struct lmi_vocab_defaults *def)
{
	const struct lmd_tokspec *s = v->spec;
	struct lmd_tok_info *f = &v->info;

	f->struct_size = sizeof(*f);
	f->n_tokens = v->n;
	f->bos = choose_id(v, s->bos, def->bos);
	f->eos = choose_id(v, s->eos, def->eos);
	f->unk = choose_id(v, s->unk, def->unk);
	f->sep = choose_id(v, s->sep, def->sep);
	f->pad = choose_id(v, s->pad, def->pad);
	f->mask = choose_id(v, s->mask, def->mask);
	f->cls = choose_id(v, s->cls, -1);
	f->eot = choose_id(v, s->eot, -1);
	f->eom = choose_id(v, s->eom, -1);
	f->fim_pre = choose_id(v, s->fim_pre, -1);
	f->fim_suf = choose_id(v, s->fim_suf, -1);
	f->fim_mid = choose_id(v, s->fim_mid, -1);
	f->fim_pad = choose_id(v, s->fim_pad, -1);
	f->fim_rep = choose_id(v, s->fim_rep, -1);
	f->fim_sep = choose_id(v, s->fim_sep, -1);
	by_text(v, &f->eot, eot_texts);
	by_text(v, &f->eom, eom_texts);
	by_text(v, &f->fim_pre, fim_pre_texts);
	by_text(v, &f->fim_suf, fim_suf_texts);
	by_text(v, &f->fim_mid, fim_mid_texts);
	by_text(v, &f->fim_pad, fim_pad_texts);
	by_text(v, &f->fim_rep, fim_rep_texts);
	by_text(v, &f->fim_sep, fim_sep_texts);
}

static int8_t flag_or(int8_t file, int8_t def)
{
	return file >= 0 ? file != 0 : def;
}

static enum lmd_status fill_flags(struct lmi_vocab *v, const struct lmi_vocab_defaults *def,
				  struct lmd_error *err)
{
	const struct lmd_tokspec *s = v->spec;
	struct lmd_tok_info *f = &v->info;

	f->add_bos = flag_or(s->add_bos, def->add_bos);
	f->add_eos = flag_or(s->add_eos, def->add_eos);
	f->add_sep = flag_or(s->add_sep, def->add_sep);
	f->add_space_prefix = flag_or(s->add_space_prefix, def->add_space_prefix);
	f->clean_spaces = flag_or(s->clean_spaces, def->clean_spaces);
	if (def->force_add_bos)
		f->add_bos = 1;
	if (f->add_bos && f->bos < 0)
		return lmd_fail(err, LMD_CORRUPT, "vocabulary: add_bos_token is on, but there is "
						  "no bos_token_id");
	if (f->add_eos && f->eos < 0)
		return lmd_fail(err, LMD_CORRUPT, "vocabulary: add_eos_token is on, but there is "
						  "no eos_token_id");
	return LMD_OK;
}

struct idset {
	int32_t *id;
	uint32_t n;
};

static bool has(const struct idset *s, int32_t id)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->id[i] == id)
			return true;
	return false;
}

static void put(struct idset *s, int32_t id)
{
	if (id >= 0 && !has(s, id))
		s->id[s->n++] = id;
}

static bool drop(struct idset *s, int32_t id)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->id[i] == id) {
			s->id[i] = s->id[--s->n];
			return true;
		}
	}
	return false;
}

static int by_id(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return x < y ? -1 : x > y;
}

static bool ends(const struct lmi_vocab *v, const struct idset *s, const char *text)
{
	int32_t id = find_text(v, text);

	return id >= 0 && has(s, id);
}

static enum lmd_status fill_eog(struct lmi_vocab *v, struct lmd_error *err)
{
	struct lmd_tok_info *f = &v->info;
	struct idset s = {lmi_host_array(v->host, LMD_LEN(eog_texts) + 6, sizeof(int32_t)), 0};
	int32_t id;

	if (!s.id)
		return lmd_fail(err, LMD_NOMEM,
				"vocabulary: no memory for the end-of-generation set");
	put(&s, f->fim_pad);
	put(&s, f->fim_rep);
	put(&s, f->fim_sep);
	for (size_t i = 0; eog_texts[i]; i++) {
		id = find_text(v, eog_texts[i]);
		put(&s, id);
		if (id >= 0)
			v->attr[id] |= LMI_ATTR_CONTROL;
	}
	for (size_t i = 0; visible_texts[i]; i++) {
		id = find_text(v, visible_texts[i]);
		if (id >= 0)
			v->attr[id] = LMI_ATTR_USER;
	}
	put(&s, f->eos);
	put(&s, f->eot);
	put(&s, f->eom);
	/* Formats in which <|end|> ends a message but another token ends the turn. */
	if ((ends(v, &s, "<|call|>") || ends(v, &s, "<|calls|>")) &&
	    (ends(v, &s, "<|return|>") || ends(v, &s, "<|flush|>"))) {
		id = find_text(v, "<|end|>");
		if (id >= 0 && drop(&s, id))
			v->attr[id] = LMI_ATTR_USER;
	}
	/* Vocabularies in which </s> is markup. */
	if (ends(v, &s, "<|tool_response>")) {
		id = find_text(v, "</s>");
		if (id >= 0 && drop(&s, id))
			v->attr[id] = LMI_ATTR_NORMAL;
	}
	qsort(s.id, s.n, sizeof(*s.id), by_id);
	v->eog = s.id;
	f->eog = v->eog;
	f->n_eog = s.n;
	return LMD_OK;
}

/* Returns true if the text contains the word, ignoring the case of ASCII letters. */
static bool contains_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (; text && *text; text++)
		if (!strncasecmp(text, word, n))
			return true;
	return false;
}

static void set_strip(struct lmi_vocab *v, const char *text, uint8_t attr, bool on)
{
	int32_t id = find_text(v, text);

	if (id >= 0)
		v->attr[id] = (uint8_t)(on ? v->attr[id] | attr : v->attr[id] & ~attr);
}

/* Determines which special tokens strip adjacent white space; this is known only by model
 * family. */
static void fill_strip(struct lmi_vocab *v, const struct lmi_vocab_defaults *def)
{
	const char *arch = v->spec->arch, *model = v->spec->model;

	if (def->mask_lstrip || contains_word(arch, "nomic-bert-moe") ||
	    contains_word(arch, "jina-bert-v3")) {
		set_strip(v, "<mask>", LMI_ATTR_LSTRIP, true);
	} else if (contains_word(model, "phi-3") || contains_word(model, "phi3")) {
		for (uint32_t i = 0; i < v->n; i++)
			if (v->attr[i] & (LMI_ATTR_HIDDEN | LMI_ATTR_USER))
				v->attr[i] |= LMI_ATTR_RSTRIP;
		set_strip(v, "</s>", LMI_ATTR_RSTRIP, true);
		set_strip(v, "<unk>", LMI_ATTR_RSTRIP, false);
		set_strip(v, "<s>", LMI_ATTR_RSTRIP, false);
		set_strip(v, "<|endoftext|>", LMI_ATTR_RSTRIP, false);
	} else if (contains_word(model, "modern-bert")) {
		set_strip(v, "[MASK]", LMI_ATTR_LSTRIP, true);
	}
}

enum lmd_status lmi_vocab_finish(struct lmi_vocab *v, const struct lmi_vocab_defaults *def,
				 struct lmd_error *err)
{
	enum lmd_status st;

	fill_ids(v, def);
	st = fill_flags(v, def, err);
	if (st == LMD_OK)
		st = fill_eog(v, err);
	if (st == LMD_OK) {
		fill_strip(v, def);
		st = lmi_special_init(v, err);
	}
	return st;
}
