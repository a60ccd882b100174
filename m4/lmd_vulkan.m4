dnl SPDX-License-Identifier: MIT
dnl
dnl LMD_VULKAN: whether the Vulkan backend can be built: headers of Vulkan and glslc, which compiles the
dnl shaders.  libvulkan itself is opened when the program runs.

AC_DEFUN([LMD_VULKAN], [
  AC_CHECK_HEADER([vulkan/vulkan.h], [lmd_vulkan=yes], [lmd_vulkan="no (vulkan/vulkan.h is missing)"])
  AC_PATH_PROG([GLSLC], [glslc])
  AS_IF([test "x$lmd_vulkan" = xyes && test -z "$GLSLC"], [lmd_vulkan="no (glslc is missing)"])
  AS_IF([test "x$lmd_vulkan" != xyes],
    [AS_IF([test "x$enable_backend_vulkan" = xyes],
       [AC_MSG_ERROR([the Vulkan backend needs vulkan/vulkan.h and glslc: libvulkan-dev and glslc])])
     enable_backend_vulkan=no])
])
