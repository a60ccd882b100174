dnl SPDX-License-Identifier: MIT
dnl
dnl LMD_GPU: the compilers of GPU kernels.  The plugin backend-cuda is built where nvcc is, backend-hip
dnl only on request, since hipcc takes minutes; configure says what is missing and goes on.  NVCC and HIPCC
dnl name another compiler,
dnl CUDA_TARGETS ("90a") and HIP_TARGETS ("gfx90a") the devices that kernels are compiled for; for other
dnl NVIDIA devices the driver compiles the PTX when the plugin is first used: that for 8.0 if it can, since
dnl that for 7.5 has no kernels with matrix instructions.

AC_DEFUN([LMD_GPU], [
  AC_ARG_VAR([NVCC], [compiler of CUDA kernels])
  AC_ARG_VAR([HIPCC], [compiler of HIP kernels])
  AC_ARG_VAR([CUDA_TARGETS], [compute capabilities that kernels are compiled for, default "90a"])
  AC_ARG_VAR([HIP_TARGETS], [devices that kernels are compiled for, default "gfx90a"])
  AC_ARG_ENABLE([backend-cuda],
    [AS_HELP_STRING([--disable-backend-cuda], [do not build the backend plugin cuda])],
    [lmd_cuda=$enableval], [lmd_cuda=auto])
  AC_ARG_ENABLE([backend-hip],
    [AS_HELP_STRING([--enable-backend-hip], [build the backend plugin hip])],
    [lmd_hip=$enableval], [lmd_hip=no])
  : ${CUDA_TARGETS=90a}
  : ${HIP_TARGETS=gfx90a}
  lmd_cuda_wheels=${XDG_CACHE_HOME:-$HOME/.cache}/llamad/cuda
  lmd_path=$PATH:/usr/local/cuda/bin
  for lmd_dir in "$lmd_cuda_wheels"/lib/python3*/site-packages/nvidia/cu13/bin; do
    lmd_path=$lmd_path:$lmd_dir
  done
  LMD_GPU_COMPILER([cuda], [NVCC], [nvcc], [$lmd_path], [-fatbin], [cu],
    [scripts/deps cuda installs nvcc])
  LMD_GPU_COMPILER([hip], [HIPCC], [hipcc], [$PATH], [--genco], [hip],
    [Debian has it in hipcc, libamdhip64-dev and rocm-device-libs])
  NVCC_CODE="-gencode arch=compute_75,code=compute_75 -gencode arch=compute_80,code=compute_80"
  for lmd_target in $CUDA_TARGETS; do
    NVCC_CODE="$NVCC_CODE -gencode arch=compute_$lmd_target,code=sm_$lmd_target"
  done
  HIPCC_CODE=
  for lmd_target in $HIP_TARGETS; do
    HIPCC_CODE="$HIPCC_CODE --offload-arch=$lmd_target"
  done
  AC_SUBST([NVCC_CODE])
  AC_SUBST([HIPCC_CODE])
])

dnl LMD_GPU_COMPILER(vendor, VARIABLE, program, path, flag, suffix, what to do)
AC_DEFUN([LMD_GPU_COMPILER], [
  lmd_why=
  AS_IF([test "x$lmd_$1" = xno], [lmd_why="--enable-backend-$1 was not given"],
    [test "x$lmd_builtin" = xall], [lmd_why="plugins are linked in"],
    [AC_PATH_PROG([$2], [$3], [], [$4])
     AS_IF([test -z "$$2"], [lmd_why="no $3; $7"],
       [AC_MSG_CHECKING([whether $3 compiles a kernel])
        printf '%s\n' '#if defined(__HIP__)' '#include <hip/hip_runtime.h>' '#endif' \
          'extern "C" __global__ void k(float *x) { x@<:@threadIdx.x@:>@ = 1; }' >conftest.$6
        AS_IF([$$2 $5 -o conftest.bin conftest.$6 >&AS_MESSAGE_LOG_FD 2>&1], [AC_MSG_RESULT([yes])],
          [AC_MSG_RESULT([no]); lmd_why="$$2 does not compile a kernel, see config.log"])
        rm -f conftest.bin conftest.$6])])
  AS_IF([test -n "$lmd_why" && test "x$lmd_$1" = xyes],
    [AC_MSG_ERROR([--enable-backend-$1: $lmd_why])])
  AS_IF([test -n "$lmd_why"], [AC_MSG_NOTICE([the plugin backend-$1 is not built: $lmd_why])],
    [lmd_of_backend="$lmd_of_backend $1"])
  AM_CONDITIONAL(m4_translit([BUILD_BACKEND_$1], [a-z], [A-Z]), [test -z "$lmd_why"])
])
