/* SPDX-License-Identifier: MIT
 *
 * A library for LD_PRELOAD that lets one call of the program fail: LMD_FAULT=CLASS:N fails the Nth
 * call of that class which the program itself makes (those of libraries count for socket and message), and
 * all later ones with LMD_FAULT=CLASS:N+.  Each failure is noted as a line in the file LMD_FAULT_LOG, with the
 * places of the call and of those around it in the program's code.  Only for glibc, whose allocator it calls by its inner names.
 *
 * LMD_FAULT=random:SEED:EVERY:MAX fails one in EVERY calls of all classes, but at most MAX: whether call N of a class
 * fails depends on the numbers alone.
 *
 * LMD_FAULT=CLASS:sites fails nothing, but notes each site from which the program makes such a call: a number that
 * stands for the innermost SITE_FRAMES functions of the program that are being called.  LMD_FAULT=CLASS:@SITE
 * fails the first call from that site.
 *
 * With LMD_FAULT_LIVE, a line with the process and the number of blocks that the program has allocated and not freed is
 * added to that file when the program ends. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
extern void __libc_free(void *p);

#define EXPORT	__attribute__((visibility("default")))
#define CALLER	__builtin_return_address(0)
#define FAILS(c) fails(c, CALLER)

static const char *const classes[] = {"open",  "read", "write",  "fsync", "rename",
				      "mmap", "malloc", "thread", "socket", "message"};
enum { OPEN, READ, WRITE, FSYNC, RENAME, MMAP, MALLOC, THREAD, SOCKET, MESSAGE, N_CLASS };

#define SITE_FRAMES 5
#define FRAMES	    20
#define SITES_MAX   65536u /* a power of two */

#define LIVE_MAX (1u << 20) /* blocks; a power of two */

static int armed = -1;
static uint64_t seed, every; /* every: 0 if failures are not random */
static _Atomic long n_call[N_CLASS];
static bool ever_after, lists_sites;
static _Atomic long *left; /* shared with the children of a fork */
static uint64_t wanted_site;			   /* 0: calls are counted */
static _Atomic uint64_t seen_sites[SITES_MAX]; /* a hash table; 0: free */
static uintptr_t begin, end; /* of the program's code */
static char log_path[256];
static const char *live_path; /* NULL: blocks are not counted */
static uintptr_t live[LIVE_MAX]; /* a hash table; 0: free */
static uint32_t n_live;
static atomic_flag live_lock = ATOMIC_FLAG_INIT;

static int find_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		if (h->p_type != PT_LOAD || !(h->p_flags & PF_X))
			continue;
		begin = info->dlpi_addr + h->p_vaddr;
		end = begin + h->p_memsz;
	}
	return 1; /* the first is the program */
}

/* Memory that is shared with the children of a fork. */
static _Atomic long *shared_number(long v)
{
	_Atomic long *p = (void *)syscall(SYS_mmap, NULL, sizeof(*p), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	*p = v;
	return p;
}

__attribute__((constructor)) static void arm(void)
{
	const char *text = getenv("LMD_FAULT"), *log = getenv("LMD_FAULT_LOG");
	size_t n;

	void *frame[1];

	(void)dl_iterate_phdr(find_program, NULL);
	live_path = getenv("LMD_FAULT_LIVE");
	if (!text || !log || strlen(log) >= sizeof(log_path))
		return;
	(void)backtrace(frame, 1); /* the first call loads a library */
	strcpy(log_path, log);
	if (!strncmp(text, "random:", 7)) {
		char *rest;

		seed = strtoull(text + 7, &rest, 10);
		every = *rest ? strtoull(rest + 1, &rest, 10) : 0;
		left = shared_number(*rest ? strtol(rest + 1, NULL, 10) : 1);
		return;
	}
	for (int c = 0; c < N_CLASS; c++) {
		n = strlen(classes[c]);
		if (strncmp(text, classes[c], n) || text[n] != ':')
			continue;
		lists_sites = !strcmp(text + n + 1, "sites");
		wanted_site = text[n + 1] == '@' ? strtoull(text + n + 2, NULL, 16) : 0;
		left = shared_number(lists_sites || wanted_site ? 1 : atol(text + n + 1));
		ever_after = text[strlen(text) - 1] == '+';
		armed = c;
	}
}

static void note_in(const char *path, const char *text)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	(void)syscall(SYS_write, fd, text, strlen(text));
	(void)syscall(SYS_close, fd);
}

static void note(const char *text)
{
	note_in(log_path, text);
}

/* Returns the site of the call that is being made, never 0. */
static uint64_t site(void)
{
	void *frame[FRAMES];
	int n = backtrace(frame, FRAMES), n_own = 0;
	uint64_t h = 0xcbf29ce484222325u;

	for (int i = 0; i < n && n_own < SITE_FRAMES; i++) {
		uintptr_t at = (uintptr_t)frame[i];

		if (at < begin || at >= end)
			continue;
		n_own++;
		h = (h ^ (at - begin)) * 0x100000001b3u;
	}
	return h ? h : 1;
}

/* Returns whether the site was not seen before. */
static bool is_new(uint64_t s)
{
	for (uint32_t i = 0; i < SITES_MAX; i++) {
		uint64_t old = 0;

		if (atomic_compare_exchange_strong(&seen_sites[(s + i) % SITES_MAX], &old, s))
			return true;
		if (old == s)
			return false;
	}
	return false;
}

/* Notes where the functions of the program are that are being called, the innermost first. */
static void note_callers(void)
{
	void *frame[FRAMES];
	int n = backtrace(frame, FRAMES), n_own = 0;
	char text[200] = "failed, called at";

	for (int i = 0; i < n && n_own < SITE_FRAMES; i++) {
		size_t len = strlen(text);

		if ((uintptr_t)frame[i] < begin || (uintptr_t)frame[i] >= end)
			continue;
		n_own++;
		(void)snprintf(text + len, sizeof(text) - len, " %#lx",
			       (unsigned long)((uintptr_t)frame[i] - begin));
	}
	strcat(text, "\n");
	note(text);
}

static bool is_own(const void *caller)
{
	return (uintptr_t)caller >= begin && (uintptr_t)caller < end;
}

/* Whether call n of a class fails: splitmix64 of the three numbers. */
static bool is_chosen(int class, long n)
{
	uint64_t x = seed * N_CLASS + (uint64_t)class + (uint64_t)n * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (x ^ x >> 31) % every == 0;
}

static bool fails(int class, const void *caller)
{
	char text[32];
	long nth;

	if (armed != class && !every)
		return false;
	/* the socket libraries make the socket calls on behalf of the program */
	if (class != SOCKET && class != MESSAGE && !is_own(caller))
		return false;
	if (every) {
		if (!is_chosen(class, atomic_fetch_add(&n_call[class], 1)) || atomic_fetch_sub(left, 1) <= 0)
			return false;
		note(classes[class]);
		note(" ");
		note_callers();
		return true;
	}
	if (lists_sites) {
		uint64_t s = site();

		(void)snprintf(text, sizeof(text), "%llx\n", (unsigned long long)s);
		if (is_new(s))
			note(text);
		return false;
	}
	if (wanted_site && site() != wanted_site)
		return false;
	nth = atomic_fetch_sub(left, 1);
	if (nth != 1 && (nth > 1 || !ever_after))
		return false;
	note_callers();
	return true;
}

static int fail(int e)
{
	errno = e;
	return -1;
}

/* The function that would be called without this library. */
#define NEXT(name)                                                                                 \
	static __typeof__(name) *next;                                                             \
	if (!next)                                                                                 \
	next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* ---- files: what makes a descriptor or a name is `open` ---- */

static int open_at(int dir, const char *path, int flags, unsigned mode)
{
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

#define MODE                                                                                       \
	unsigned mode = 0;                                                                         \
	va_list ap;                                                                                \
	va_start(ap, flags);                                                                       \
	if (flags & (O_CREAT | O_TMPFILE))                                                         \
		mode = va_arg(ap, unsigned);                                                       \
	va_end(ap);                                                                                \
	if (FAILS(OPEN))                                                                           \
	return fail(EMFILE)

EXPORT int open(const char *path, int flags, ...)
{
	MODE;
	return open_at(AT_FDCWD, path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
	MODE;
	return open_at(AT_FDCWD, path, flags, mode);
}

EXPORT int openat(int dir, const char *path, int flags, ...)
{
	MODE;
	return open_at(dir, path, flags, mode);
}

EXPORT int openat64(int dir, const char *path, int flags, ...)
{
	MODE;
	return open_at(dir, path, flags, mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	NEXT(fopen64);
	return FAILS(OPEN) ? (fail(EMFILE), NULL) : next(path, mode);
}

EXPORT DIR *opendir(const char *path)
{
	NEXT(opendir);
	return FAILS(OPEN) ? (fail(EMFILE), NULL) : next(path);
}

EXPORT DIR *fdopendir(int fd)
{
	NEXT(fdopendir);
	return FAILS(OPEN) ? (fail(ENOMEM), NULL) : next(fd);
}

EXPORT int mkostemp64(char *path, int flags)
{
	NEXT(mkostemp64);
	return FAILS(OPEN) ? fail(ENOSPC) : next(path, flags);
}

EXPORT int memfd_create(const char *name, unsigned flags)
{
	return FAILS(OPEN) ? fail(EMFILE) : (int)syscall(SYS_memfd_create, name, flags);
}

EXPORT int pipe2(int out[2], int flags)
{
	return FAILS(OPEN) ? fail(EMFILE) : (int)syscall(SYS_pipe2, out, flags);
}

EXPORT int mkdir(const char *path, mode_t mode)
{
	return FAILS(OPEN) ? fail(ENOSPC) : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

EXPORT int mkdirat(int dir, const char *path, mode_t mode)
{
	return FAILS(OPEN) ? fail(ENOSPC) : (int)syscall(SYS_mkdirat, dir, path, mode);
}

EXPORT ssize_t getrandom(void *p, size_t n, unsigned flags)
{
	return FAILS(READ) ? fail(ENOSYS) : syscall(SYS_getrandom, p, n, flags);
}

EXPORT ssize_t read(int fd, void *p, size_t n)
{
	return FAILS(READ) ? fail(EIO) : syscall(SYS_read, fd, p, n);
}

EXPORT ssize_t pread64(int fd, void *p, size_t n, off64_t at)
{
	return FAILS(READ) ? fail(EIO) : syscall(SYS_pread64, fd, p, n, at);
}

/* The kernel needs no space for a write to an eventfd, and no disk: it does not fail. */
static bool is_eventfd(int fd)
{
	static const char kind[] = "anon_inode:[eventfd]";
	char path[40], to[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, to, sizeof(to)) == sizeof(kind) - 1 && !memcmp(to, kind, sizeof(kind) - 1);
}

EXPORT ssize_t write(int fd, const void *p, size_t n)
{
	bool may_fail = (armed == WRITE || every) && !is_eventfd(fd);

	return may_fail && FAILS(WRITE) ? fail(ENOSPC) : syscall(SYS_write, fd, p, n);
}

EXPORT ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
	return FAILS(WRITE) ? fail(ENOSPC) : syscall(SYS_pwrite64, fd, p, n, at);
}

EXPORT int ftruncate64(int fd, off64_t n)
{
	return FAILS(WRITE) ? fail(EIO) : (int)syscall(SYS_ftruncate, fd, n);
}

EXPORT int fsync(int fd)
{
	return FAILS(FSYNC) ? fail(EIO) : (int)syscall(SYS_fsync, fd);
}

EXPORT int fdatasync(int fd)
{
	return FAILS(FSYNC) ? fail(EIO) : (int)syscall(SYS_fdatasync, fd);
}

EXPORT int rename(const char *from, const char *to)
{
	return FAILS(RENAME) ? fail(EIO)
			     : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORT int renameat(int a, const char *from, int b, const char *to)
{
	return FAILS(RENAME) ? fail(EIO) : (int)syscall(SYS_renameat2, a, from, b, to, 0);
}

EXPORT int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
	return FAILS(RENAME) ? fail(EIO) : (int)syscall(SYS_renameat2, a, from, b, to, flags);
}

EXPORT int symlink(const char *to, const char *from)
{
	return FAILS(RENAME) ? fail(EIO) : (int)syscall(SYS_symlinkat, to, AT_FDCWD, from);
}

EXPORT int linkat(int a, const char *from, int b, const char *to, int flags)
{
	return FAILS(RENAME) ? fail(EIO) : (int)syscall(SYS_linkat, a, from, b, to, flags);
}

/* ---- memory ---- */

EXPORT void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
	if (FAILS(MMAP)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, from);
}

EXPORT void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t from)
{
	if (FAILS(MMAP)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, from);
}

EXPORT void *mremap(void *at, size_t old, size_t n, int flags, ...)
{
	if (FAILS(MMAP)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mremap, at, old, n, flags, NULL);
}

static uint32_t live_slot(uintptr_t p)
{
	return (uint32_t)(p * 0x9e3779b97f4a7c15u >> 44) % LIVE_MAX;
}

/* Counts a block of the program, which is returned. */
static void *add_live(void *p, const void *caller)
{
	uint32_t i = live_slot((uintptr_t)p);

	if (!live_path || !p || !is_own(caller))
		return p;
	while (atomic_flag_test_and_set(&live_lock))
		;
	while (live[i])
		i = (i + 1) % LIVE_MAX;
	live[i] = (uintptr_t)p;
	n_live++;
	if (n_live > LIVE_MAX / 2)
		abort();
	atomic_flag_clear(&live_lock);
	return p;
}

static void remove_live(void *p)
{
	uint32_t i = live_slot((uintptr_t)p);

	if (!live_path || !p)
		return;
	while (atomic_flag_test_and_set(&live_lock))
		;
	while (live[i] && live[i] != (uintptr_t)p)
		i = (i + 1) % LIVE_MAX;
	if (live[i]) {
		n_live--;
		live[i] = 0;
		/* those behind it move up, as far as their slots allow */
		for (uint32_t k = (i + 1) % LIVE_MAX; live[k]; k = (k + 1) % LIVE_MAX) {
			uint32_t want = live_slot(live[k]);

			if ((k - want) % LIVE_MAX < (k - i) % LIVE_MAX)
				continue;
			live[i] = live[k];
			live[k] = 0;
			i = k;
		}
	}
	atomic_flag_clear(&live_lock);
}

__attribute__((destructor)) static void note_live(void)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%ld %u\n", (long)getpid(), n_live);
	if (live_path)
		note_in(live_path, text);
}

EXPORT void free(void *p)
{
	remove_live(p);
	__libc_free(p);
}

EXPORT void *malloc(size_t n)
{
	return FAILS(MALLOC) ? NULL : add_live(__libc_malloc(n), CALLER);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return FAILS(MALLOC) ? NULL : add_live(__libc_calloc(n, size), CALLER);
}

EXPORT void *realloc(void *p, size_t n)
{
	void *new;

	if (FAILS(MALLOC))
		return NULL;
	remove_live(p); /* first: another thread may get the address */
	new = __libc_realloc(p, n);
	(void)add_live(new ? new : p, CALLER);
	return new;
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
	return FAILS(MALLOC) ? NULL : add_live(__libc_memalign(align, n), CALLER);
}

EXPORT int posix_memalign(void **out, size_t align, size_t n)
{
	void *p = FAILS(MALLOC) ? NULL : add_live(__libc_memalign(align, n), CALLER);

	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

static char *copy(const char *s, size_t n)
{
	char *p = __libc_malloc(n + 1);

	if (p) {
		memcpy(p, s, n);
		p[n] = 0;
	}
	return p;
}

EXPORT char *strdup(const char *s)
{
	return FAILS(MALLOC) ? NULL : add_live(copy(s, strlen(s)), CALLER);
}

EXPORT char *strndup(const char *s, size_t n)
{
	return FAILS(MALLOC) ? NULL : add_live(copy(s, strnlen(s, n)), CALLER);
}

/* ---- threads, processes and sockets ---- */

EXPORT pid_t fork(void)
{
	NEXT(fork);
	pid_t pid;

	if (FAILS(THREAD))
		return fail(EAGAIN);
	while (atomic_flag_test_and_set(&live_lock)) /* not held in the child */
		;
	pid = next();
	atomic_flag_clear(&live_lock);
	return pid;
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	NEXT(posix_spawnp);
	return FAILS(THREAD) ? EAGAIN : next(pid, file, actions, attr, argv, env);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg)
{
	NEXT(pthread_create);
	return FAILS(THREAD) ? EAGAIN : next(thread, attr, run, arg);
}

EXPORT int socket(int domain, int type, int protocol)
{
	return FAILS(SOCKET) ? fail(EMFILE) : (int)syscall(SYS_socket, domain, type, protocol);
}

EXPORT int socketpair(int domain, int type, int protocol, int out[2])
{
	return FAILS(SOCKET) ? fail(EMFILE)
			     : (int)syscall(SYS_socketpair, domain, type, protocol, out);
}

EXPORT int bind(int fd, const struct sockaddr *a, socklen_t n)
{
	return FAILS(SOCKET) ? fail(EADDRINUSE) : (int)syscall(SYS_bind, fd, a, n);
}

EXPORT int listen(int fd, int backlog)
{
	return FAILS(SOCKET) ? fail(ENOBUFS) : (int)syscall(SYS_listen, fd, backlog);
}

EXPORT int connect(int fd, const struct sockaddr *a, socklen_t n)
{
	return FAILS(SOCKET) ? fail(ECONNREFUSED) : (int)syscall(SYS_connect, fd, a, n);
}

EXPORT int accept4(int fd, struct sockaddr *a, socklen_t *n, int flags)
{
	return FAILS(SOCKET) ? fail(EMFILE) : (int)syscall(SYS_accept4, fd, a, n, flags);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	return FAILS(MESSAGE) ? fail(EPIPE) : syscall(SYS_sendmsg, fd, m, flags);
}

EXPORT ssize_t send(int fd, const void *p, size_t n, int flags)
{
	return FAILS(MESSAGE) ? fail(EPIPE) : syscall(SYS_sendto, fd, p, n, flags, NULL, 0);
}

EXPORT ssize_t sendto(int fd, const void *p, size_t n, int flags, const struct sockaddr *a,
		      socklen_t n_a)
{
	return FAILS(MESSAGE) ? fail(EPIPE) : syscall(SYS_sendto, fd, p, n, flags, a, n_a);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	return FAILS(MESSAGE) ? fail(ECONNRESET) : syscall(SYS_recvmsg, fd, m, flags);
}

EXPORT ssize_t readv(int fd, const struct iovec *v, int n)
{
	return FAILS(MESSAGE) ? fail(ECONNRESET) : syscall(SYS_readv, fd, v, n);
}

EXPORT ssize_t writev(int fd, const struct iovec *v, int n)
{
	return FAILS(MESSAGE) ? fail(EPIPE) : syscall(SYS_writev, fd, v, n);
}

EXPORT int eventfd(unsigned count, int flags)
{
	return FAILS(SOCKET) ? fail(EMFILE) : (int)syscall(SYS_eventfd2, count, flags);
}
