dnl SPDX-License-Identifier: MIT

dnl LMD_ISA: the instruction sets that kernels of backend cpu have variants for.  Sets AVX2_CFLAGS,
dnl AVX512_CFLAGS and VBMI_CFLAGS and the conditionals HAVE_AVX2 (LMD_CPU_AVX2), HAVE_AVX512
dnl (LMD_CPU_AVX512 and LMD_CPU_AVX512_VNNI) and HAVE_VBMI (these and LMD_CPU_AVX512_VBMI): does the
dnl compiler know them for this target?  What the machine of the build can run does not matter,
dnl variants are chosen when a device is opened.
AC_DEFUN([LMD_ISA], [
  LMD_ISA_FLAGS([AVX2], [-mavx2 -mfma -mf16c -mbmi2],
    [__m256 v = _mm256_cvtph_ps(_mm_setzero_si128()); v = _mm256_fmadd_ps(v, v, v); (void)v;])
  LMD_ISA_FLAGS([AVX512],
    [-mavx2 -mfma -mf16c -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni],
    [__m512i v = _mm512_setzero_si512(); v = _mm512_dpbusd_epi32(v, v, v); (void)v;])
  LMD_ISA_FLAGS([VBMI], [$AVX512_CFLAGS -mavx512vbmi],
    [__m512i v = _mm512_setzero_si512(); v = _mm512_permutexvar_epi8(v, v); (void)v;])
])

dnl LMD_ISA_FLAGS(name, flags, body of a test)
AC_DEFUN([LMD_ISA_FLAGS], [
  AC_MSG_CHECKING([whether $CC makes code for $1])
  lmd_save_cflags=$CFLAGS
  CFLAGS="$CFLAGS $2"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <immintrin.h>]], [[$3]])],
    [lmd_have=yes; $1_CFLAGS="$2"], [lmd_have=no; $1_CFLAGS=])
  CFLAGS=$lmd_save_cflags
  AC_MSG_RESULT([$lmd_have])
  AC_SUBST([$1_CFLAGS])
  AM_CONDITIONAL([HAVE_$1], [test "x$lmd_have" = xyes])
])
