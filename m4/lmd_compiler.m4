dnl SPDX-License-Identifier: MIT

dnl LMD_CORE_IS_A_FOLDER: before AC_INIT.  After each test autoconf removes a file named core, left
dnl by a test program that crashed; here the name is a folder's, and rm would complain.
AC_DEFUN([LMD_CORE_IS_A_FOLDER],
  [m4_map_args_w([_AC_INIT_PREPARE _AC_COMPILE_IFELSE _AC_LINK_IFELSE _AC_RUN_IFELSE
    _AM_PROG_CC_C_O], [_LMD_KEEP_CORE(], [)])])
m4_define([_LMD_KEEP_CORE],
  [m4_define([$1], m4_bpatsubst(m4_dquote(m4_defn([$1])), [rm -f core ], [rm -f ]))])

dnl LMD_WARNINGS: LMD_WARN_CFLAGS with what this compiler knows; --enable-werror.
AC_DEFUN([LMD_WARNINGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors (for CI)])],
    [lmd_werror=$enableval], [lmd_werror=no])
  LMD_WARN_CFLAGS=
  m4_foreach_w([lmd_flag], [-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
      -Wconversion -Wno-sign-conversion -Wpointer-arith -Wvla -Wundef],
    [LMD_TRY_CFLAG(lmd_flag, [LMD_WARN_CFLAGS])])
  AS_IF([test "x$lmd_werror" = xyes], [LMD_WARN_CFLAGS="$LMD_WARN_CFLAGS -Werror"])
  AC_SUBST([LMD_WARN_CFLAGS])
])

dnl LMD_VECTORIZE: LMD_VECT_CFLAGS for loops over the values of a block.  At -O2 gcc vectorises
dnl only where it never costs a byte of code; clang needs no word.  LMD_BLEND_CFLAGS: a choice between
dnl two values is no branch, even if the comparison could trap, which nobody asks for; no value changes.
dnl LMD_KERN_DEBUG_CFLAGS: kernels have no record of where each variable is, which takes half of the time
dnl to compile them and half of their file.
AC_DEFUN([LMD_VECTORIZE], [
  LMD_VECT_CFLAGS=
  LMD_BLEND_CFLAGS=
  LMD_TRY_CFLAG([-fvect-cost-model=dynamic], [LMD_VECT_CFLAGS])
  LMD_TRY_CFLAG([-fno-trapping-math], [LMD_BLEND_CFLAGS])
  AC_SUBST([LMD_VECT_CFLAGS])
  AC_SUBST([LMD_BLEND_CFLAGS])
  LMD_KERN_DEBUG_CFLAGS=
  LMD_TRY_CFLAG([-fno-var-tracking], [LMD_KERN_DEBUG_CFLAGS])
  LMD_TRY_CFLAG([-fno-var-tracking-assignments], [LMD_KERN_DEBUG_CFLAGS])
  AC_SUBST([LMD_KERN_DEBUG_CFLAGS])
])

AC_DEFUN([LMD_TRY_CFLAG], [
  AC_MSG_CHECKING([whether $CC accepts $1])
  lmd_save_cflags=$CFLAGS
  CFLAGS="$CFLAGS -Werror $1"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
    [AC_MSG_RESULT([yes]); $2="$$2 $1"], [AC_MSG_RESULT([no])])
  CFLAGS=$lmd_save_cflags
])

dnl LMD_SANITIZE: --enable-sanitize=address,undefined|thread
dnl
dnl LMD_SAN_KERN_CFLAGS: for unrolled kernels, where a check in line at each access makes functions of
dnl so many blocks that compiling them takes minutes.  Addresses are checked by calls instead.
AC_DEFUN([LMD_SANITIZE], [
  AC_ARG_ENABLE([sanitize],
    [AS_HELP_STRING([--enable-sanitize=LIST], [build with -fsanitize=LIST (address,undefined or thread)])],
    [lmd_sanitize=$enableval], [lmd_sanitize=no])
  LMD_SAN_CFLAGS=
  AS_CASE([$lmd_sanitize],
    [no], [],
    [yes], [lmd_sanitize=address,undefined],
    [])
  AS_IF([test "x$lmd_sanitize" != xno],
    [LMD_SAN_CFLAGS="-fsanitize=$lmd_sanitize -fno-omit-frame-pointer -fno-sanitize-recover=all"
     LMD_SAN_KERN_CFLAGS=
     LMD_TRY_CFLAG([--param=asan-instrumentation-with-call-threshold=0], [LMD_SAN_KERN_CFLAGS])
     LMD_TRY_CFLAG([-mllvm -asan-instrumentation-with-call-threshold=0], [LMD_SAN_KERN_CFLAGS])])
  AC_SUBST([LMD_SAN_CFLAGS])
  AC_SUBST([LMD_SAN_KERN_CFLAGS])
  AM_CONDITIONAL([SANITIZE], [test "x$lmd_sanitize" != xno])
])

dnl LMD_FUZZERS: --enable-fuzz builds the libFuzzer targets (needs clang).
AC_DEFUN([LMD_FUZZERS], [
  AC_ARG_ENABLE([fuzz],
    [AS_HELP_STRING([--enable-fuzz], [build libFuzzer targets (compiler must be clang)])],
    [lmd_fuzz=$enableval], [lmd_fuzz=no])
  AS_IF([test "x$lmd_fuzz" = xyes],
    [AC_MSG_CHECKING([whether $CC has libFuzzer])
     lmd_save_cflags=$CFLAGS
     CFLAGS="$CFLAGS -fsanitize=fuzzer-no-link"
     AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])],
       [AC_MSG_RESULT([no]); AC_MSG_ERROR([--enable-fuzz needs CC=clang with its fuzzer run time])])
     CFLAGS=$lmd_save_cflags
     LMD_SAN_CFLAGS="$LMD_SAN_CFLAGS -fsanitize=fuzzer-no-link"])
  AM_CONDITIONAL([FUZZ], [test "x$lmd_fuzz" = xyes])
])
