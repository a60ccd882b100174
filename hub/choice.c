/* SPDX-License-Identifier: MIT
 *
 * Which of the files of a repository: by quantisation or name, with all parts of a split file. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/file.h"
#include "core/base/tower_file.h"
#include "hub/hub_impl.h"

/* Without a choice the first of these that exists: what a small machine runs well, then smaller
 * losses, then the rest. */
static const char *const preferred[] = {"Q4_K_M", "Q4_K_S", "IQ4_XS", "Q4_0", "MXFP4",
					"Q5_K_M", "Q5_K_S", "Q6_K",   "Q8_0", "BF16",
					"F16",	  "F32"};

static bool contains(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (; *text; text++)
		if (!strncasecmp(text, word, n))
			return true;
	return false;
}

static bool is_gguf(const char *path)
{
	size_t n = strlen(path);

	return n > 5 && !strcasecmp(path + n - 5, ".gguf");
}

/* Vision towers and importance matrices stand beside models. */
static bool is_model(const char *path)
{
	const char *base = lmi_file_base_name(path);

	return is_gguf(path) && !contains(base, "mmproj") && !contains(base, "imatrix");
}

/* "NAME-00002-of-00005.gguf": sets the numbers, and the length of NAME.  Otherwise *n_part is 1. */
static size_t split_name(const char *path, unsigned *part, unsigned *n_part)
{
	size_t n = strlen(path) - 5; /* of ".gguf" */
	const char *p = path + n - 15;

	*part = *n_part = 1;
	if (n < 16 || p[0] != '-' || memcmp(p + 6, "-of-", 4) || strspn(p + 1, "0123456789") != 5 ||
	    strspn(p + 10, "0123456789") != 5)
		return n;
	*part = (unsigned)strtoul(p + 1, NULL, 10);
	*n_part = (unsigned)strtoul(p + 10, NULL, 10);
	return n - 15;
}

size_t lmi_hub_stem(const char *name)
{
	unsigned part, n_part;
	size_t n = strlen(name);

	return n > 5 && !strcasecmp(name + n - 5, ".gguf") ? split_name(name, &part, &n_part) : n;
}

/* Returns whether the path has the word between characters that are not of a quantisation's name:
 * Q4_K is not in model-Q4_K_M.gguf. */
static bool has_quantisation(const char *path, const char *want)
{
	size_t n = strlen(want);

	for (const char *p = path; *p; p++) {
		if (strncasecmp(p, want, n) != 0)
			continue;
		if ((p == path || strchr("-._/", p[-1])) && (!p[n] || strchr("-./", p[n])))
			return true;
	}
	return false;
}

static bool matches(const char *path, const char *want)
{
	size_t n = strlen(want);

	if (n > 5 && !strcasecmp(want + n - 5, ".gguf"))
		return !strcmp(path, want) || !strcmp(lmi_file_base_name(path), want);
	return has_quantisation(path, want);
}

/* The first file in the order of length, then of letters, of those that match; n: none. */
static uint32_t first_match(const struct lmi_hub_entry *e, uint32_t n, const char *want)
{
	uint32_t best = n;

	for (uint32_t i = 0; i < n; i++) {
		unsigned part, n_part;
		size_t len = strlen(e[i].path), best_len = best < n ? strlen(e[best].path) : 0;

		if (!is_model(e[i].path) || (want && !matches(e[i].path, want)))
			continue;
		(void)split_name(e[i].path, &part, &n_part);
		if (part != 1 && !(want && !strcmp(lmi_file_base_name(e[i].path), lmi_file_base_name(want))))
			continue;
		if (best == n || len < best_len ||
		    (len == best_len && strcmp(e[i].path, e[best].path) < 0))
			best = i;
	}
	return best;
}

static uint32_t best_match(const struct lmi_hub_entry *e, uint32_t n)
{
	for (size_t i = 0; i < sizeof(preferred) / sizeof(*preferred); i++) {
		uint32_t k = first_match(e, n, preferred[i]);

		if (k < n)
			return k;
	}
	return first_match(e, n, NULL);
}

static enum lmd_status no_match(const struct lmi_hub_entry *e, uint32_t n, const char *want,
				const char *repo, struct lmd_error *err)
{
	char list[240] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < n; i++) {
		unsigned part, n_part;
		int k;

		if (!is_model(e[i].path))
			continue;
		(void)split_name(e[i].path, &part, &n_part);
		if (part != 1)
			continue;
		k = snprintf(list + len, sizeof(list) - len, "%s%s", len ? ", " : "", e[i].path);
		if (k < 0 || (size_t)k >= sizeof(list) - len) {
			(void)snprintf(list + len, sizeof(list) - len, "%s", len ? ", ..." : "...");
			break;
		}
		len += (size_t)k;
	}
	if (!*list)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s has neither a GGUF file nor safetensors with a config.json",
				repo);
	return lmd_fail(err, LMD_INVALID, "%s has no file for '%.64s'; it has %s", repo, want, list);
}

/* Finds the parts with the same name as e[first]. */
static enum lmd_status find_parts(uint32_t parts[LMI_HUB_FILES_MAX], uint32_t *n_parts,
				  const struct lmi_hub_entry *e, uint32_t n, uint32_t first,
				  struct lmd_error *err)
{
	unsigned part, n_part;
	size_t len = split_name(e[first].path, &part, &n_part);

	if (!n_part || n_part > LMI_HUB_FILES_MAX)
		return lmd_fail(err, LMD_INVALID, "%s: %u parts exceed the limit of %d",
				e[first].path, n_part, LMI_HUB_FILES_MAX);
	*n_parts = n_part;
	if (n_part == 1) {
		parts[0] = first;
		return LMD_OK;
	}
	for (uint32_t k = 0; k < n_part; k++) {
		parts[k] = n;
		for (uint32_t i = 0; i < n; i++) {
			unsigned q, n_q;

			if (is_model(e[i].path) && split_name(e[i].path, &q, &n_q) == len &&
			    q == k + 1 && n_q == n_part && !memcmp(e[i].path, e[first].path, len))
				parts[k] = i;
		}
		if (parts[k] == n)
			return lmd_fail(err, LMD_NOTFOUND, "%s: part %u of %u is not there",
					e[first].path, k + 1, n_part);
	}
	return LMD_OK;
}

enum lmd_status lmi_hub_choose(uint32_t parts[LMI_HUB_FILES_MAX], uint32_t *n_parts,
			       const struct lmi_hub_entry *e, uint32_t n, const char *want,
			       const char *repo, struct lmd_error *err)
{
	uint32_t i = want ? first_match(e, n, want) : best_match(e, n);

	if (i == n)
		return no_match(e, n, want ? want : "", repo, err);
	return find_parts(parts, n_parts, e, n, i, err);
}

/* ---- vision towers ---- */

/* The place of a vision tower's type among those that are preferred. */
static size_t rank_of(const char *path)
{
	static const char *const types[] = {"F16", "BF16", "Q8_0", "F32"};
	size_t i = 0;

	while (i < LMD_LEN(types) && !has_quantisation(lmi_file_base_name(path), types[i]))
		i++;
	return i;
}

uint32_t lmi_hub_choose_tower(const struct lmi_hub_entry *e, uint32_t n, uint32_t first)
{
	uint32_t best = n;
	size_t deepest = 0;

	for (uint32_t i = 0; i < n; i++) {
		const char *path = e[i].path, *name = lmi_file_base_name(path);
		size_t folder = (size_t)(name - path); /* with its slash */

		if (!lmi_tower_is_name(name) || strncmp(path, e[first].path, folder) != 0 ||
		    (best < n && folder < deepest))
			continue;
		if (best == n || folder > deepest || rank_of(path) < rank_of(e[best].path) ||
		    (rank_of(path) == rank_of(e[best].path) && strcmp(path, e[best].path) < 0))
			best = i;
		deepest = folder;
	}
	return best;
}

/* ---- folders ---- */

/* Files besides the weights that the checkpoint reader uses. */
static const char *const needed[] = {
	"config.json",	       "generation_config.json", "tokenizer.json",
	"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
	"tokenizer.model",     "vocab.json",		 "merges.txt",
	"chat_template.jinja", "chat_template.json",	 "model.safetensors.index.json",
	"preprocessor_config.json"};

static bool is_needed(const char *path)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!strcmp(path, needed[i]))
			return true;
	return false;
}

/* "model.safetensors" and "model-00001-of-00004.safetensors", but not copies in another form. */
static bool is_weights(const char *path)
{
	size_t n = strlen(path);

	return n > 12 && !strcmp(path + n - 12, ".safetensors") && !strchr(path, '/') &&
	       !strncmp(path, "model", 5);
}

bool lmi_hub_choose_folder(uint32_t parts[LMI_HUB_FILES_MAX], uint32_t *n_parts,
			   const struct lmi_hub_entry *e, uint32_t n)
{
	bool has_config = false, has_weights = false;

	*n_parts = 0;
	for (uint32_t i = 0; i < n && *n_parts < LMI_HUB_FILES_MAX; i++) {
		if (!is_weights(e[i].path) && !is_needed(e[i].path))
			continue;
		has_config = has_config || !strcmp(e[i].path, "config.json");
		has_weights = has_weights || is_weights(e[i].path);
		parts[(*n_parts)++] = i;
	}
	return has_config && has_weights;
}
