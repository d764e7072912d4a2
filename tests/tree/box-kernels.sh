#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/box/kernel makes the kernels that are asked for and no other, each named by its own inputs, and tests/box/module
# likewise a module. Works on a copy of the scripts, whose build-kernel and build-module only write down what they were to
# build. TAP.
# Usage: box-kernels.sh SOURCE_ROOT
set -uo pipefail
source "$(dirname "$(readlink -f "$0")")/../support/tap.sh"
mkdir -p "$work/tests" "$work/home" "$work/gst/metis/engine"
cp -r "$1/gst/metis/engine/axl" "$work/gst/metis/engine/"
cp -r "$1/scripts" "$work/"
cp -r "$1/tests/box" "$work/tests/"
cd "$work" || exit
export GST_DRM_CACHE=$work/cache HOME=$work/home
unset GST_DRM_BOX_NO_BUILD

cat >tests/box/build-kernel <<'END'
#!/bin/bash
into=$1
shift
echo "$*" >>built
for kind in "$@"; do
  mkdir -p "$into/out/$kind"
  printf '#!/bin/bash\nexit 9\n' >"$into/out/$kind/linux"
  chmod +x "$into/out/$kind/linux"
done
END

cat >tests/box/build-module <<'END'
#!/bin/bash
echo "module $1" >>built
mkdir -p "$3"
echo "$1" >"$3/some.ko"
[[ ! -e broken ]]
END

# builds EXPECTED COMMAND...: what the command had built, in one line per call of build-kernel
builds() {
  local expected=$1
  shift
  : >built
  "$@" >out 2>err || echo "status $?" >>built
  [[ $(<built) == "$expected" ]] || { echo "built: $(<built); expected: $expected"; cat out err; return 1; }
}

# tells KIND...: the last command printed an existing directory for each, named by its kind, then init
tells() {
  local kind dir n=0
  for kind in "$@"; do
    n=$((n + 1))
    dir=$(sed -n "${n}p" out)
    [[ $dir == "$work/cache/kernel-$kind-"* && -x $dir/linux ]] || return
  done
  [[ $(sed -n "$((n + 1))p" out) == */init && $(wc -l <out) == $((n + 1)) ]]
}

# after FILE COMMAND...: with one comment more in the file
after() {
  echo "// $count" >>"$1"
  shift
  "$@"
}

kernel() { tests/box/kernel "$@" && tells "$@"; }
skipped() { GST_DRM_BOX_NO_BUILD=1 tests/box/kernel "$@"; }

# The last command printed the path of a module for that kernel.
module() { tests/box/module "$@" && [[ $(<"$(<out)") == "$1" ]]; }
no_tools() { PATH=$work/bin GST_DRM_BOX_NO_BUILD=1 tests/box/module "$@"; }
broken() { touch broken; tests/box/module "$@"; local status=$?; rm broken; return $status; }
mkdir bin
for tool in bash dirname readlink cat sha256sum cut basename flock mkdir uname id; do ln -s "$(command -v "$tool")" bin/; done

echo 1..21
check "nothing there, none may be built: 77" builds "status 77" skipped virtual
check "virtual alone" builds "virtual" kernel virtual
check "there already" builds "" kernel virtual
check "no build needed, none allowed" builds "" skipped virtual
check "only what is missing" builds "smp" kernel smp virtual
check "both, in the order asked for" builds "" kernel virtual smp
check "another smp.config: that one" builds "smp" after tests/box/kernel-smp.config kernel smp virtual
check "another virtual.config does not concern smp" builds "" after tests/box/kernel-virtual.config kernel smp
check "another kernel.config: both, from one source" builds "smp virtual" after tests/box/kernel.config kernel smp virtual
check "another patch: both" builds "smp virtual" after tests/box/patches/0001-vkms-plane-buffers.patch kernel smp virtual
check "init has a name of its own" builds "" after tests/box/init.c kernel smp virtual
check "no such kind" builds "status 2" kernel nonsense
check "a module" builds "module smp" module smp npu
check "the module is there already" builds "" module smp npu
check "the module for the other kernel" builds "module virtual" module virtual npu
check "another source of the module" builds "module smp" after tests/box/npu/axl_main.c module smp npu
check "another header of the module" builds "module smp" after gst/metis/engine/axl/axl_uapi.h module smp npu
check "a module that does not build" builds $'module virtual\nstatus 1' broken virtual npu
check "nothing to build a module with: 77" builds "status 77" no_tools virtual npu
check "no such module" builds "status 1" tests/box/module smp nonsense
rm -r cache
# the stub is no kernel, so the box fails: 125
check "./run box --virtual-time, from nothing" builds $'virtual\nstatus 125' scripts/box --virtual-time -- true
exit "$failed"
