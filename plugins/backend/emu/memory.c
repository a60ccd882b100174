/* SPDX-License-Identifier: MIT
 *
 * The device's memory: one mapping, handed out first fit, which nobody can read or write outside of
 * the device's calls. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "emu.h"

#define ALIGN 64u

enum lmd_status emu_memory_open(struct emu_memory *m, const struct emu_settings *s,
				struct lmd_error *err)
{
	void *p = mmap(NULL, (size_t)s->memory, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return lmd_fail(err, LMD_NOMEM, "emu: %llu bytes of device memory: %s",
				(unsigned long long)s->memory, strerror(errno));
	/* With pages of 4 KiB nearly all time goes into the page tables: each call changes the access to
	 * all of them twice. */
	(void)madvise(p, (size_t)s->memory, MADV_HUGEPAGE);
	*m = (struct emu_memory){
		.base = p, .bytes = (size_t)s->memory, .fail_alloc = s->fail_alloc};
	(void)pthread_mutex_init(&m->lock, NULL);
	return LMD_OK;
}

void emu_memory_close(struct emu_memory *m)
{
	if (!m->base)
		return;
	(void)munmap(m->base, m->bytes);
	(void)munmap(m->blocks, m->cap_block * sizeof(*m->blocks));
	(void)pthread_mutex_destroy(&m->lock);
	*m = (struct emu_memory){0};
}

void emu_enter(struct emu_memory *m)
{
	(void)pthread_mutex_lock(&m->lock);
	if (!m->n_inside++)
		(void)mprotect(m->base, m->bytes, PROT_READ | PROT_WRITE);
	(void)pthread_mutex_unlock(&m->lock);
}

void emu_leave(struct emu_memory *m)
{
	(void)pthread_mutex_lock(&m->lock);
	if (!--m->n_inside)
		(void)mprotect(m->base, m->bytes, PROT_NONE);
	(void)pthread_mutex_unlock(&m->lock);
}

/* ---- blocks ---- */

/* Makes room for one more block in the list. */
static bool grow(struct emu_memory *m)
{
	uint32_t cap = m->cap_block ? m->cap_block * 2 : 4096;
	void *p;

	if (m->n_block < m->cap_block)
		return true;
	p = mmap(NULL, cap * sizeof(*m->blocks), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	if (m->n_block) {
		memcpy(p, m->blocks, m->n_block * sizeof(*m->blocks));
		(void)munmap(m->blocks, m->cap_block * sizeof(*m->blocks));
	}
	m->blocks = p;
	m->cap_block = cap;
	return true;
}

static void insert(struct emu_memory *m, uint32_t i, struct emu_block b)
{
	memmove(&m->blocks[i + 1], &m->blocks[i], (m->n_block - i) * sizeof(b));
	m->blocks[i] = b;
	m->n_block++;
}

static void remove_block(struct emu_memory *m, uint32_t i)
{
	m->n_block--;
	memmove(&m->blocks[i], &m->blocks[i + 1], (m->n_block - i) * sizeof(*m->blocks));
}

static struct emu_block *take(struct emu_memory *m, size_t bytes)
{
	struct emu_block *b = NULL;
	size_t end = 0;

	if (!grow(m))
		return NULL;
	for (uint32_t i = 0; i < m->n_block; i++) {
		b = &m->blocks[i];
		end = b->at + b->bytes;
		if (b->used || b->bytes < bytes)
			continue;
		if (b->bytes > bytes)
			insert(m, i + 1,
			       (struct emu_block){.at = b->at + bytes,
						  .bytes = b->bytes - bytes,
						  .dirty = b->dirty});
		m->blocks[i].bytes = bytes;
		return &m->blocks[i];
	}
	if (bytes > m->bytes - end)
		return NULL;
	m->blocks[m->n_block] = (struct emu_block){.at = end, .bytes = bytes};
	return &m->blocks[m->n_block++];
}

void *emu_alloc(struct emu_memory *m, size_t bytes)
{
	size_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN;
	struct emu_block *b = NULL;
	char *p = NULL;

	if (!bytes || room < bytes)
		return NULL;
	(void)pthread_mutex_lock(&m->lock);
	if (++m->n_alloc != m->fail_alloc && m->used + room <= m->bytes)
		b = take(m, room);
	if (b) {
		p = m->base + b->at;
		b->used = true;
		m->used += room;
		if (b->dirty)
			memset(p, 0, room);
	}
	(void)pthread_mutex_unlock(&m->lock);
	return p;
}

/* Joins a free block with the free one after it. */
static void join(struct emu_memory *m, uint32_t i)
{
	if (i + 1 >= m->n_block || m->blocks[i].used || m->blocks[i + 1].used)
		return;
	m->blocks[i].bytes += m->blocks[i + 1].bytes;
	m->blocks[i].dirty = true;
	remove_block(m, i + 1);
}

void emu_free(struct emu_memory *m, void *p)
{
	size_t at = p ? (size_t)((char *)p - m->base) : 0;

	if (!p)
		return;
	(void)pthread_mutex_lock(&m->lock);
	for (uint32_t i = 0; i < m->n_block; i++) {
		struct emu_block *b = &m->blocks[i];

		if (b->at != at || !b->used)
			continue;
		memset(m->base + b->at, 0xdb, b->bytes); /* shows reads of freed memory */
		m->used -= b->bytes;
		b->used = false;
		b->dirty = true;
		join(m, i);
		if (i)
			join(m, i - 1);
		break;
	}
	(void)pthread_mutex_unlock(&m->lock);
}
