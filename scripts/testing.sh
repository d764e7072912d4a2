# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# Builds and tests build directories, and says what came of it. Sourced after lib.sh, by scripts/tests and by the
# test of it (tests/runner). Works in the current directory; whoever sources it may set:
#   words        the tests: names, suites, patterns; none: all
#   report_args  arguments of `testing.py report`

words=() report_args=()
tested=() broken=()

testing() { "$source_dir/run" world "$world" -- /usr/bin/python3 "$source_dir/scripts/testing.py" "$@"; }

# configure BUILD SETUP-ARGUMENTS...: a build directory that another version of meson, an aborted run or other arguments
# left behind is made anew.
configure() {
  local build=$1
  shift
  [[ -f $build/build.ninja && -f $build/.configured-with && $(<"$build/.configured-with") == "$*" ]] || rm -rf "$build"
  if [[ -f $build/build.ninja ]]; then # as its meson.build files say now
    "$source_dir/run" world "$world" -- ninja -C "$build" build.ninja >>"$log" 2>&1 </dev/null && return
    rm -rf "$build"
  fi
  logged "$log" "configuring $build" "$source_dir/run" world "$world" -- \
    meson setup "$build" -Dauto_features=enabled "$@" || return
  printf '%s' "$*" >"$build/.configured-with"
}

# run_in WORLD BUILD SETUP-ARGUMENTS...: configures build/BUILD, builds what the tests need, and runs them; those with a case
# that fails twice more, alone.
run_in() {
  local world=$1 build=build/$2 log=build/log/$2.log targets missing names again sampler
  shift 2
  mkdir -p build/log
  : >"$log"
  configure "$build" "$@" || { broken+=("$build: meson setup"); return 0; }
  targets=$(testing select "$build" "${words[@]}") || { broken+=("$build: no list of tests"); return 0; }
  if [[ $targets ]]; then
    mapfile -t targets <<<"$targets"
    logged "$log" "building $build" "$source_dir/run" world "$world" -- ninja -C "$build" "${targets[@]}" ||
      { broken+=("$build: ninja"); return 0; }
  fi
  # meson test from 1.7 on waits for ever for a program that it cannot start
  missing=$(testing missing "$build")
  [[ ! $missing ]] || { broken+=("$build: ${missing//$'\n'/; }"); return 0; }
  rm -f "$build"/meson-logs/{testlog,again1,again2}.json
  mapfile -t names < <(testing names "$build")
  say "testing $build: ${#names[@]} programs"
  while kill -0 $$; do # not longer than this script
    echo "$(date +%s) $(cut -d ' ' -f 1 /proc/loadavg)"
    sleep 5
  done >"$build/meson-logs/load.txt" 2>/dev/null &
  sampler=$!
  # one more than there are processors: a fifth of their time was idle, while tests wait for a display or a time limit
  meson_test testlog --num-processes "$(($(nproc) + 1))" "${names[@]}" || true
  mapfile -t again < <(testing again "$build")
  if [[ ${again[*]} ]]; then
    say "again, alone and twice: ${again[*]}"
    # not by --repeat, which ends with the first program that fails
    meson_test again1 --num-processes 1 "${again[@]}" || true
    meson_test again2 --num-processes 1 "${again[@]}" || true
  fi
  kill "$sampler"
  [[ -s $build/meson-logs/testlog.json ]] || broken+=("$build: no test ran")
  tested+=("$build")
}

# meson_test LOG ARGUMENT...: the limits of the tests are for a machine of one's own; a shared one may be several times as slow
meson_test() {
  "$source_dir/run" world "$world" -- meson test -C "$build" --no-rebuild --print-errorlogs --timeout-multiplier 3 \
    --logbase "$1" "${@:2}"
}

# What came of all build directories; the last line is the total. Status 1: something failed.
report() {
  local what
  for what in "${broken[@]}"; do report_args+=(--broken "$what"); done
  /usr/bin/python3 "$source_dir/scripts/testing.py" report "${report_args[@]}" "${tested[@]}"
}
