#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Tests of the box itself, as TAP. Skips as a whole (77) when no kernel is there and none may be built.
set -euo pipefail
top=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd -P)
box() { "$top/scripts/box" "$@"; }

"$top/tests/box/kernel" >/dev/null || exit
source "$top/tests/support/tap.sh"
cd "$work"

# gives STATUS COMMAND...
gives() {
  local expected=$1 got=0
  shift
  "$@" || got=$?
  [[ $got == "$expected" ]] || { echo "expected status $expected, got $got"; return 1; }
}

# prints TEXT COMMAND...
prints() {
  local expected=$1 got
  shift
  got=$("$@")
  [[ $got == "$expected" ]] || { echo "expected '$expected', got '$got'"; return 1; }
}

numbers='seq 1 400000; seq 400000 -1 1 >&2'
keeps_output_apart() {
  box -- bash -c "$numbers" >out 2>err
  cmp out <(seq 1 400000) && cmp err <(seq 400000 -1 1)
}

survives_reopened_stdout() {
  prints $'one\ntwo\nthree' box -- bash -c 'echo one; echo two >/dev/stdout; echo three'
}

stops_in_time() {
  local start=$SECONDS
  gives 124 box --timeout 2 -- bash -c 'echo begun; sleep 60' 2>why && ((SECONDS - start < 20)) &&
    grep -q ' sleep .*, S: .*nanosleep' why
}

# Both must be alive at once: each waits until the other has written.
keeps_two_apart() {
  local script='echo $0 >/tmp/mine; : >$0.up; for i in {1..300}; do [[ -e $1.up ]] && break; sleep 0.1; done
    [[ -e $1.up ]] && ls /tmp | grep -x mine && cat /tmp/mine'
  box -- bash -c "$script" left right >left.out & local left=$!
  box -- bash -c "$script" right left >right.out
  wait "$left"
  prints $'mine\nleft' cat left.out && prints $'mine\nright' cat right.out
}

writes_outside() {
  box -- bash -c 'mkdir -p sub && echo inside >sub/file' && prints inside cat sub/file
}

sees_outside() {
  echo outside >given && prints outside box -- cat given
}

ends_long_sleep_at_once() {
  local start=$SECONDS
  box --virtual-time -- sleep 3600 && ((SECONDS - start < 20))
}

# What a boot and five sleeps take: the one to the hundredth of a second, the others to the nanosecond, which no
# two runs on real time have in common.
repeats_itself() {
  local script='import time
print(open("/proc/uptime").read().split()[0])
for i in range(1, 6):
  before = time.monotonic_ns()
  time.sleep(i / 100)
  print(time.monotonic_ns() - before)' run
  for run in first second; do
    box --virtual-time -- /usr/bin/python3 -c "$script" >"$run" || return
    (($(wc -l <"$run") == 6)) || { cat "$run"; return 1; }
  done
  diff first second
}

notices_kernel_trouble() {
  gives 125 box -- bash -c 'echo "<4>WARNING: made up for a test" >/dev/kmsg'
}

keeps_last_words() {
  gives 125 box -- bash -c 'echo last words; echo c >/proc/sysrq-trigger' >out 2>err &&
    prints "last words" cat out && grep "Kernel panic" err
}

# vm.max_map_count is 65530 on most machines, and pages that do not lie side by side take a mapping each.
touches_scattered_pages() {
  prints 0 box "$@" --timeout 120 -- /usr/bin/python3 -c 'import mmap
pages = 70000
memory = mmap.mmap(-1, pages * 8192, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(pages):
  memory[page * 8192] = page & 255
print(sum(memory[page * 8192] != page & 255 for _ in range(2) for page in range(pages)))'
}

# However it ends. That the files lie there while it runs is seen from inside.
frees_its_files() {
  mkdir -p tmp
  [[ $(TMPDIR=$work/tmp box -- ls -A "$work/tmp") == gst-drm-box.* ]] || { echo "no files there"; return 1; }
  TMPDIR=$work/tmp gives 3 box -- bash -c 'exit 3' || return
  TMPDIR=$work/tmp gives 124 box --timeout 2 -- sleep 60 || return
  TMPDIR=$work/tmp gives 125 box -- bash -c 'echo c >/proc/sysrq-trigger' || return
  [[ ! $(ls -A tmp) ]] || { ls -A tmp; return 1; }
}

if [[ -e /etc/gst-drm-world ]]; then echo 1..27; else echo 1..29; fi
check "status 0" gives 0 box -- true
check "status 3" gives 3 box -- bash -c 'exit 3'
check "killed by a signal: 128 + n" gives 137 box -- bash -c 'kill -KILL $$'
check "no such command: 127" gives 127 box -- no-such-command
check "not executable: 126" gives 126 box -- /etc/passwd
check "unknown option: 125" gives 125 box --nonsense
check "--build of what is no build directory: 125" gives 125 box --build "$work" -- true
check "output whole, stdout and stderr apart" keeps_output_apart
check "a reopened /dev/stdout loses nothing" survives_reopened_stdout
check "time limit: 124" stops_in_time
check "two at once, each with its own /tmp" keeps_two_apart
check "writes show outside" writes_outside
check "outside files show inside" sees_outside
check "arguments keep blanks and quotes" prints "a  b|'c\"|" box -- printf '%s|' 'a  b' "'c\""
check "environment passed" prints "x y" env SELFTEST='x y' "$top/scripts/box" -- printenv SELFTEST
check "--env adds to it" prints "a=b" box --env SELFTEST=a=b -- printenv SELFTEST
check "same working directory" prints "$work" box -- pwd
check "graphics and dma-buf devices" \
  box -- ls /dev/dri/card0 /dev/dri/renderD128 /dev/udmabuf /dev/dma_heap/system /dev/video0
check "debugfs, tracefs, configfs, shm, pts" box -- bash -c 'ls /sys/kernel/debug/dma_buf/bufinfo \
  /sys/kernel/debug/sync/sw_sync /sys/kernel/tracing/events/dma_fence /sys/kernel/config/vkms && \
  touch /dev/shm/x $HOME/.selftest $XDG_RUNTIME_DIR/x && rm $HOME/.selftest && [[ -c /dev/pts/ptmx ]]'
check "virtual time: an hour passes at once" ends_long_sleep_at_once
check "virtual time: runs repeat themselves" repeats_itself
check "more scattered pages than the host allows mappings" touches_scattered_pages
check "the same where there are no seccomp filters" touches_scattered_pages --kernel-arg seccomp=off
check "a kernel warning fails the run: 125" notices_kernel_trouble
check "a panic: 125, its log, and the output so far" keeps_last_words
check "leaves no files behind" frees_its_files
here=$(cat /etc/gst-drm-world 2>/dev/null || echo debian12)
check "world $here has Debian's python" \
  prints /usr/bin/python3 "$top/scripts/world" "$here" -- python3 -c 'import sys; print(sys.executable)'
# From within debian13 there is no other world to go to: these two cases are for debian12 alone.
if [[ ! -e /etc/gst-drm-world ]]; then
  if GST_DRM_WORLD_NO_BUILD=1 "$top/scripts/world" debian13 >/dev/null 2>&1; then
    check "world debian13, natively" prints "debian13 $work" \
      "$top/scripts/world" debian13 -- bash -c 'echo $(cat /etc/gst-drm-world) $PWD'
    check "world debian13, in the box" prints "debian13 $work" \
      box --world debian13 -- bash -c 'echo $(cat /etc/gst-drm-world) $PWD'
  else
    skip "world debian13, natively" "the world is not made (./run world debian13)"
    skip "world debian13, in the box" "the world is not made (./run world debian13)"
  fi
fi
exit "$failed"
