/* SPDX-License-Identifier: MIT
 *
 * The table of files that were hashed, of the process.  It is small, so that a search looks at every
 * entry; a model has few files, and hashing one takes longer than that. */
#include "core/sign/remember.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

struct entry {
	struct lmi_sign_identity id;
	uint8_t content[LMI_SHA256_BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry table[LMI_SIGN_REMEMBERED];
static uint32_t n_entries, next;

static struct entry *find(const struct lmi_sign_identity *id)
{
	for (uint32_t i = 0; i < n_entries; i++)
		if (lmi_sign_identity_same(&table[i].id, id))
			return &table[i];
	return NULL;
}

bool lmi_sign_is_remembered(const struct lmi_sign_identity *id,
			    const uint8_t content[LMI_SHA256_BYTES])
{
	const struct entry *e;
	bool same;

	pthread_mutex_lock(&lock);
	e = find(id);
	same = e && !memcmp(e->content, content, LMI_SHA256_BYTES);
	pthread_mutex_unlock(&lock);
	return same;
}

void lmi_sign_remember(const struct lmi_sign_identity *id, const uint8_t content[LMI_SHA256_BYTES])
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find(id);
	if (!e) {
		e = &table[next];
		next = (next + 1) % LMI_SIGN_REMEMBERED;
		n_entries += n_entries < LMI_SIGN_REMEMBERED;
	}
	e->id = *id;
	memcpy(e->content, content, LMI_SHA256_BYTES);
	pthread_mutex_unlock(&lock);
}

bool lmi_sign_content(uint8_t out[LMI_SHA256_BYTES], uint64_t bytes, uint32_t chunk_bytes,
		      const uint8_t (*chunks)[LMI_SHA256_BYTES], uint32_t n)
{
	uint64_t sizes[2] = {bytes, chunk_bytes};
	struct lmi_sha256 h;

	if (!lmi_sha256_init(&h))
		return false;
	lmi_sha256_update(&h, sizes, sizeof(sizes));
	lmi_sha256_update(&h, chunks, (size_t)n * LMI_SHA256_BYTES);
	return lmi_sha256_final(&h, out);
}

int64_t lmi_sign_file_clock(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool lmi_sign_identity_is_before(const struct lmi_sign_identity *id, int64_t clock_ns)
{
	return id->mtime_ns < clock_ns && id->ctime_ns < clock_ns;
}
