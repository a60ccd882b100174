/* SPDX-License-Identifier: MIT
 *
 * See test_vfs.h.  A file of this VFS is a header followed by the real file. */
#include "store/test_vfs.h"

#include <sqlite3.h>
#include <string.h>

#include "tests/lmd_check.h"

static struct {
	enum test_fault what;
	uint64_t left;
	bool ever_after, failed;
} fault;

static sqlite3_vfs *real_vfs;
static sqlite3_vfs vfs;

struct file {
	sqlite3_file base;
	sqlite3_file *real;
};

static sqlite3_file *real_of(sqlite3_file *f)
{
	return ((struct file *)f)->real;
}

static bool hit(enum test_fault what)
{
	if (!fault.left || fault.what != what)
		return false;
	if (fault.left > 1) {
		fault.left--;
		return false;
	}
	if (!fault.ever_after)
		fault.left = 0;
	fault.failed = true;
	return true;
}

void test_vfs_arm(enum test_fault what, uint64_t nth, bool ever_after)
{
	fault.what = what;
	fault.left = nth;
	fault.ever_after = ever_after;
	fault.failed = false;
}

bool test_vfs_did_fail(void)
{
	return fault.failed;
}

static int file_close(sqlite3_file *f)
{
	return real_of(f)->pMethods->xClose(real_of(f));
}

static int file_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	if (hit(FAULT_IO))
		return SQLITE_IOERR_READ;
	return real_of(f)->pMethods->xRead(real_of(f), p, n, at);
}

static int file_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	if (hit(FAULT_IO))
		return SQLITE_IOERR_WRITE;
	if (hit(FAULT_FULL))
		return SQLITE_FULL;
	if (hit(FAULT_SHORT)) {
		(void)real_of(f)->pMethods->xWrite(real_of(f), p, n / 2, at);
		return SQLITE_IOERR_WRITE;
	}
	return real_of(f)->pMethods->xWrite(real_of(f), p, n, at);
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	if (hit(FAULT_IO))
		return SQLITE_IOERR_TRUNCATE;
	if (hit(FAULT_FULL))
		return SQLITE_FULL;
	return real_of(f)->pMethods->xTruncate(real_of(f), n);
}

static int file_sync(sqlite3_file *f, int flags)
{
	(void)f;
	(void)flags;
	return hit(FAULT_IO) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int file_size(sqlite3_file *f, sqlite3_int64 *n)
{
	if (hit(FAULT_IO))
		return SQLITE_IOERR_FSTAT;
	return real_of(f)->pMethods->xFileSize(real_of(f), n);
}

static int file_lock(sqlite3_file *f, int level)
{
	if (hit(FAULT_IO))
		return SQLITE_IOERR_LOCK;
	return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int file_unlock(sqlite3_file *f, int level)
{
	return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int file_reserved(sqlite3_file *f, int *out)
{
	if (hit(FAULT_IO))
		return SQLITE_IOERR_CHECKRESERVEDLOCK;
	return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
	return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static int file_sector(sqlite3_file *f)
{
	return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int file_traits(sqlite3_file *f)
{
	return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int shm_map(sqlite3_file *f, int page, int bytes, int extend, void volatile **out)
{
	if (hit(FAULT_IO))
		return SQLITE_IOERR_SHMMAP;
	return real_of(f)->pMethods->xShmMap(real_of(f), page, bytes, extend, out);
}

static int shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	if (!(flags & SQLITE_SHM_UNLOCK) && hit(FAULT_IO))
		return SQLITE_IOERR_SHMLOCK;
	return real_of(f)->pMethods->xShmLock(real_of(f), at, n, flags);
}

static void shm_barrier(sqlite3_file *f)
{
	real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int shm_unmap(sqlite3_file *f, int delete)
{
	return real_of(f)->pMethods->xShmUnmap(real_of(f), delete);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_traits,
	.xShmMap = shm_map,
	.xShmLock = shm_lock,
	.xShmBarrier = shm_barrier,
	.xShmUnmap = shm_unmap,
};

static int vfs_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out)
{
	struct file *mine = (struct file *)f;
	int rc;

	(void)v;
	f->pMethods = NULL;
	if (hit(FAULT_IO))
		return SQLITE_CANTOPEN;
	mine->real = (sqlite3_file *)(mine + 1);
	rc = real_vfs->xOpen(real_vfs, name, mine->real, flags, out);
	if (mine->real->pMethods)
		f->pMethods = &methods;
	return rc;
}

static int vfs_delete(sqlite3_vfs *v, const char *name, int sync)
{
	(void)v;
	if (hit(FAULT_IO))
		return SQLITE_IOERR_DELETE;
	return real_vfs->xDelete(real_vfs, name, sync);
}

static int vfs_access(sqlite3_vfs *v, const char *name, int flags, int *out)
{
	(void)v;
	if (hit(FAULT_IO))
		return SQLITE_IOERR_ACCESS;
	return real_vfs->xAccess(real_vfs, name, flags, out);
}

void test_vfs_register(void)
{
	real_vfs = sqlite3_vfs_find(NULL);
	ck_assert_ptr_nonnull(real_vfs);
	vfs = *real_vfs;
	vfs.zName = TEST_VFS;
	vfs.pNext = NULL;
	vfs.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
	vfs.xOpen = vfs_open;
	vfs.xDelete = vfs_delete;
	vfs.xAccess = vfs_access;
	ck_assert_int_eq(sqlite3_vfs_register(&vfs, 0), SQLITE_OK);
}
