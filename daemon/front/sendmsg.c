/* SPDX-License-Identifier: MIT
 *
 * sendmsg(2) for nng 1.5, part of the program and not of a library.
 *
 * A peer that connects and closes at once makes nng's first send to it fail with EPIPE.  nng
 * before 1.6 takes that for the end of its own listener and never accepts again: one such peer
 * would lock everybody out.  A definition in the program comes before that of libc for all its
 * libraries, so that nng sees ECONNRESET instead, which it takes for what it is: the end of one
 * connection. */
#include <errno.h>
#include <nng/nng.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "llamad/attr.h"

#if NNG_MAJOR_VERSION == 1 && NNG_MINOR_VERSION < 6
LMD_EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	ssize_t n = syscall(SYS_sendmsg, fd, message, flags);

	if (n < 0 && errno == EPIPE)
		errno = ECONNRESET;
	return n;
}
#else
LMD_STATIC_ASSERT(1, "nng does it");
#endif
