dnl SPDX-License-Identifier: MIT

dnl LMD_ISA: the instruction sets that kernels of backend cpu have variants for.  Sets NAME_CFLAGS and
dnl the conditional HAVE_NAME for each: does the compiler know it for this target?
dnl   x86-64   AVX2 (LMD_CPU_AVX2), AVX512 (LMD_CPU_AVX512 and LMD_CPU_AVX512_VNNI), VBMI (these
dnl            and LMD_CPU_AVX512_VBMI), BF16 (those of AVX512 and LMD_CPU_AVX512_BF16), AMX (all of these,
dnl            LMD_CPU_AMX_INT8 and LMD_CPU_AMX_BF16)
dnl   aarch64  NEON (LMD_CPU_NEON), DOTPROD (this and LMD_CPU_DOTPROD), I8MM (these and LMD_CPU_I8MM)
dnl What the machine of the build can run does not matter, variants are chosen when a device is
dnl opened.
AC_DEFUN([LMD_ISA], [
  LMD_ISA_FLAGS([AVX2], [-mavx2 -mfma -mf16c -mbmi2], [immintrin.h],
    [__m256 v = _mm256_cvtph_ps(_mm_setzero_si128()); v = _mm256_fmadd_ps(v, v, v); (void)v;])
  LMD_ISA_FLAGS([AVX512],
    [-mavx2 -mfma -mf16c -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni], [immintrin.h],
    [__m512i v = _mm512_setzero_si512(); v = _mm512_dpbusd_epi32(v, v, v); (void)v;])
  LMD_ISA_FLAGS([VBMI], [$AVX512_CFLAGS -mavx512vbmi], [immintrin.h],
    [__m512i v = _mm512_setzero_si512(); v = _mm512_permutexvar_epi8(v, v); (void)v;])
  LMD_ISA_FLAGS([BF16], [$AVX512_CFLAGS -mavx512bf16], [immintrin.h],
    [__m512 v = _mm512_setzero_ps(); v = _mm512_dpbf16_ps(v, (__m512bh)v, (__m512bh)v); (void)v;])
  LMD_ISA_FLAGS([AMX],
    [$AVX512_CFLAGS -mavx512vbmi -mavx512bf16 -mamx-tile -mamx-int8 -mamx-bf16], [immintrin.h],
    [__m512i v = _mm512_setzero_si512(); v = _mm512_permutexvar_epi8(v, v); (void)v;
     __m512 f = _mm512_setzero_ps(); f = _mm512_dpbf16_ps(f, (__m512bh)f, (__m512bh)f); (void)f;
     _tile_dpbssd(0, 1, 2); _tile_dpbf16ps(0, 1, 2);])
  LMD_ISA_FLAGS([NEON], [-march=armv8-a], [arm_neon.h],
    [float32x4_t v = vdupq_n_f32(0); v = vrndnq_f32(vfmaq_f32(v, v, v)); (void)v;])
  LMD_ISA_FLAGS([DOTPROD], [-march=armv8.2-a+dotprod], [arm_neon.h],
    [int8x16_t v = vdupq_n_s8(0); int32x4_t s = vdotq_s32(vdupq_n_s32(0), v, v); (void)s;])
  LMD_ISA_FLAGS([I8MM], [-march=armv8.2-a+dotprod+i8mm], [arm_neon.h],
    [int8x16_t v = vdupq_n_s8(0); int32x4_t s = vmmlaq_s32(vdupq_n_s32(0), v, v); (void)s;])
])

dnl LMD_ISA_FLAGS(name, flags, header, body of a test)
AC_DEFUN([LMD_ISA_FLAGS], [
  AC_MSG_CHECKING([whether $CC makes code for $1])
  lmd_save_cflags=$CFLAGS
  CFLAGS="$CFLAGS $2"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <$3>]], [[$4]])],
    [lmd_have=yes; $1_CFLAGS="$2"], [lmd_have=no; $1_CFLAGS=])
  CFLAGS=$lmd_save_cflags
  AC_MSG_RESULT([$lmd_have])
  AC_SUBST([$1_CFLAGS])
  AM_CONDITIONAL([HAVE_$1], [test "x$lmd_have" = xyes])
])
