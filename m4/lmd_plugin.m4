dnl SPDX-License-Identifier: MIT
dnl
dnl LMD_PLUGIN(kind, name): --enable-KIND-NAME (default yes), the conditional
dnl BUILD_KIND_NAME, a row of the summary and, with --enable-builtin=all, an entry of
dnl core/plugin/builtin.inc.

AC_DEFUN([LMD_PLUGINS_INIT], [
  AC_ARG_ENABLE([builtin],
    [AS_HELP_STRING([--enable-builtin=all], [link all plugins into the programs instead of building .so files])],
    [lmd_builtin=$enableval], [lmd_builtin=no])
  AS_CASE([$lmd_builtin], [all|no], [], [AC_MSG_ERROR([--enable-builtin takes 'all' or 'no', not '$lmd_builtin'])])
  AM_CONDITIONAL([BUILTIN_PLUGINS], [test "x$lmd_builtin" = xall])
  LMD_BUILTIN_LIST=
  lmd_kinds=
])

AC_DEFUN([LMD_PLUGIN], [
  AC_ARG_ENABLE([$1-$2],
    [AS_HELP_STRING([--disable-$1-$2], [do not build the $1 plugin $2])],
    [lmd_enable_$1_$2=$enableval], [lmd_enable_$1_$2=yes])
  AM_CONDITIONAL(m4_translit([BUILD_$1_$2], [a-z-], [A-Z_]), [test "x$lmd_enable_$1_$2" != xno])
  AS_IF([test "x$lmd_enable_$1_$2" != xno],
    [AS_CASE([" $lmd_kinds "], [*" $1 "*], [lmd_of_$1="$lmd_of_$1 $2"],
       [lmd_kinds="$lmd_kinds $1"; lmd_of_$1=" $2"])
     AS_IF([test "x$lmd_builtin" = xall],
       [LMD_BUILTIN_LIST="$LMD_BUILTIN_LIST LMD_BUILTIN(llamad_plugin_$1_$2)"])])
])

AC_DEFUN([LMD_PLUGINS_DONE], [
  AC_SUBST([LMD_BUILTIN_LIST])
])

AC_DEFUN([LMD_SUMMARY], [
  AS_ECHO([""])
  AS_ECHO(["$PACKAGE_NAME $PACKAGE_VERSION"])
  AS_ECHO(["  prefix             $prefix"])
  AS_ECHO(["  compiler           $CC"])
  AS_ECHO(["  warnings = errors  $lmd_werror"])
  AS_ECHO(["  sanitizers         $lmd_sanitize"])
  AS_ECHO(["  fuzz targets       $lmd_fuzz"])
  AS_ECHO(["  tests (check)      $have_check"])
  AS_ECHO(["  Vulkan             $lmd_vulkan"])
  AS_ECHO(["  plugins linked in  $lmd_builtin"])
  for lmd_kind in $lmd_kinds; do
    eval "lmd_names=\$lmd_of_$lmd_kind"
    printf '  %-18s%s\n' "$lmd_kind plugins" "$lmd_names"
  done
  AS_ECHO([""])
])
