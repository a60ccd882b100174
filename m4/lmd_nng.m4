dnl SPDX-License-Identifier: MIT

dnl LMD_NNG: NNG_CFLAGS and NNG_LIBS.  Releases before 1.6 have no pkg-config file.
AC_DEFUN([LMD_NNG], [
  PKG_CHECK_MODULES([NNG], [nng >= 1.5], [], [
    AC_CHECK_HEADER([nng/nng.h], [],
      [AC_MSG_ERROR([nng/nng.h not found: install nng 1.5 or later (libnng-dev)])])
    lmd_save_libs=$LIBS
    AC_SEARCH_LIBS([nng_ctx_open], [nng], [],
      [AC_MSG_ERROR([libnng not found: install nng 1.5 or later (libnng-dev)])])
    LIBS=$lmd_save_libs
    NNG_LIBS=
    AS_IF([test "x$ac_cv_search_nng_ctx_open" != "xnone required"],
      [NNG_LIBS=$ac_cv_search_nng_ctx_open])
    AC_SUBST([NNG_CFLAGS])
    AC_SUBST([NNG_LIBS])])
])
