/* SPDX-License-Identifier: MIT
 *
 * Sets of processors. */
#include "core/base/cpu_set.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/base/printable.h"

#define MASK_DIGITS (LMI_CPU_SET_MAX / 4)

_Static_assert(LMI_CPU_SET_MAX <= CPU_SETSIZE, "a set fits into a cpu_set_t");

static void add(struct lmi_cpu_set *s, uint32_t cpu)
{
	s->word[cpu / 64] |= 1ull << cpu % 64;
}

bool lmi_cpu_set_has(const struct lmi_cpu_set *s, uint32_t cpu)
{
	return cpu < LMI_CPU_SET_MAX && (s->word[cpu / 64] >> cpu % 64 & 1);
}

uint32_t lmi_cpu_set_count(const struct lmi_cpu_set *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < LMI_CPU_SET_MAX / 64; i++)
		n += (uint32_t)__builtin_popcountll(s->word[i]);
	return n;
}

bool lmi_cpu_set_equal(const struct lmi_cpu_set *a, const struct lmi_cpu_set *b)
{
	return !memcmp(a, b, sizeof(*a));
}

struct lmi_cpu_set lmi_cpu_set_and(const struct lmi_cpu_set *a, const struct lmi_cpu_set *b)
{
	struct lmi_cpu_set s;

	for (uint32_t i = 0; i < LMI_CPU_SET_MAX / 64; i++)
		s.word[i] = a->word[i] & b->word[i];
	return s;
}

struct lmi_cpu_set lmi_cpu_set_or(const struct lmi_cpu_set *a, const struct lmi_cpu_set *b)
{
	struct lmi_cpu_set s;

	for (uint32_t i = 0; i < LMI_CPU_SET_MAX / 64; i++)
		s.word[i] = a->word[i] | b->word[i];
	return s;
}

/* ---- text ---- */

static uint32_t digit(char c)
{
	return c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
	       : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
	       : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
				      : 16;
}

static bool parse_mask(struct lmi_cpu_set *out, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++) {
		uint32_t d = digit(text[n - 1 - i]);

		if (d > 15 || (d && i >= MASK_DIGITS))
			return false;
		if (i < MASK_DIGITS)
			out->word[i / 16] |= (uint64_t)d << i % 16 * 4;
	}
	return n > 0;
}

/* Reads a number and moves *text behind it; returns false if there is none below LMI_CPU_SET_MAX. */
static bool parse_number(const char **text, uint32_t *out)
{
	const char *p = *text;

	for (*out = 0; digit(*p) < 10 && *out < LMI_CPU_SET_MAX; p++)
		*out = *out * 10 + digit(*p);
	if (p == *text || *out >= LMI_CPU_SET_MAX)
		return false;
	*text = p;
	return true;
}

static bool parse_list(struct lmi_cpu_set *out, const char *p)
{
	for (;; p++) {
		uint32_t first, last;

		if (!parse_number(&p, &first))
			return false;
		last = first;
		if (*p == '-') {
			p++;
			if (!parse_number(&p, &last) || last < first)
				return false;
		}
		for (uint32_t i = first; i <= last; i++)
			add(out, i);
		if (*p != ',')
			return !*p;
	}
}

enum lmd_status lmi_cpu_set_parse(struct lmi_cpu_set *out, const char *text, struct lmd_error *err)
{
	struct lmi_cpu_set s = {{0}};
	char shown[64];
	bool is_mask = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');

	if (!(is_mask ? parse_mask(&s, text + 2) : parse_list(&s, text)) || !lmi_cpu_set_count(&s))
		return lmd_fail(err, LMD_INVALID,
				"'%s' is not a set of processors, such as 0-7,16 or 0xff, with numbers "
				"below %u",
				lmi_printable(shown, sizeof(shown), text, strlen(text)), LMI_CPU_SET_MAX);
	*out = s;
	return LMD_OK;
}

/* ---- the system ---- */

struct lmi_cpu_set lmi_cpu_set_allowed(void)
{
	struct lmi_cpu_set s = {{0}};
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return s;
	for (uint32_t i = 0; i < LMI_CPU_SET_MAX; i++)
		if (CPU_ISSET(i, &set))
			add(&s, i);
	return s;
}

/* Of this thread: where it may run when it is not bound; no processors while it is not bound. */
static _Thread_local struct lmi_cpu_set unbound;

struct lmi_cpu_set lmi_cpu_set_unbound(void)
{
	return lmi_cpu_set_count(&unbound) ? unbound : lmi_cpu_set_allowed();
}

bool lmi_cpu_set_bind(const struct lmi_cpu_set *s)
{
	const struct lmi_cpu_set before = lmi_cpu_set_unbound();
	cpu_set_t set;

	CPU_ZERO(&set);
	for (uint32_t i = 0; i < LMI_CPU_SET_MAX; i++)
		if (lmi_cpu_set_has(s, i))
			CPU_SET(i, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return false;
	unbound = lmi_cpu_set_equal(s, &before) ? (struct lmi_cpu_set){{0}} : before;
	return true;
}

struct lmi_cpu_set lmi_cpu_set_of_node(const char *root, uint32_t node)
{
	struct lmi_cpu_set s = {{0}};
	char path[PATH_MAX], line[4096] = "";
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/devices/system/node/node%u/cpulist", root, node);
	f = fopen(path, "re");
	if (!f)
		return s;
	if (fgets(line, sizeof(line), f))
		line[strcspn(line, "\n")] = '\0';
	(void)fclose(f);
	(void)lmi_cpu_set_parse(&s, line, NULL);
	return s;
}
