dnl SPDX-License-Identifier: MIT

dnl LMD_NNG: NNG_CFLAGS and NNG_LIBS.  Releases before 1.6 have no pkg-config file.
AC_DEFUN([LMD_NNG], [
  PKG_CHECK_MODULES([NNG], [nng >= 1.5], [], [
    AC_CHECK_HEADER([nng/nng.h], [],
      [AC_MSG_ERROR([nng/nng.h not found: install nng 1.5 or later (Debian: libnng-dev; Fedora: nng-devel; Arch: nng)])])
    lmd_save_libs=$LIBS
    AC_SEARCH_LIBS([nng_ctx_open], [nng], [],
      [AC_MSG_ERROR([libnng not found: install nng 1.5 or later (Debian: libnng-dev; Fedora: nng-devel; Arch: nng)])])
    LIBS=$lmd_save_libs
    NNG_LIBS=
    AS_IF([test "x$ac_cv_search_nng_ctx_open" != "xnone required"],
      [NNG_LIBS=$ac_cv_search_nng_ctx_open])
    AC_SUBST([NNG_CFLAGS])
    AC_SUBST([NNG_LIBS])])
])

dnl LMD_NEED(variable, modules, Debian's package, Arch's package): PKG_CHECK_MODULES whose error names
dnl the packages.  Fedora installs by the name of the pkg-config module.
AC_DEFUN([LMD_NEED], [
  PKG_CHECK_MODULES([$1], [$2], [], [AC_MSG_ERROR([$2 not found: install it
  Debian, Ubuntu:  apt-get install $3
  Fedora:          dnf install 'pkgconfig(m4_bpatsubst([$2], [ .*]))'
  Arch:            pacman -S $4
(scripts/deps installs everything on Debian and Ubuntu; docs/operations.md lists all packages)])])
])
