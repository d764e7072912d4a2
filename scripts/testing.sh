# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# Builds and tests build directories, and says what came of it. Sourced after lib.sh, by scripts/tests and by the
# test of it (tests/runner). Works in the current directory; whoever sources it may set:
#   meson_args  arguments of meson test: not every test runs then
#   count_args  arguments of count-results.py

meson_args=() count_args=()
logs=() broken=()

# run_in WORLD BUILD SETUP-ARGUMENTS...: configures, builds and tests build/BUILD.
run_in() {
  local world=$1 build=build/$2 status=0 log testlog missing
  shift 2
  log=build/log/${build#build/}.log testlog=$build/meson-logs/testlog.json
  mkdir -p build/log
  : >"$log"
  # a build directory that another version of meson or an aborted run left behind is made anew
  [[ -f $build/build.ninja && -f $build/.configured-with && $(<"$build/.configured-with") == "$*" ]] ||
    rm -rf "$build"
  if [[ ! -f $build/build.ninja ]]; then
    logged "$log" "configuring $build" "$source_dir/run" world "$world" -- \
      meson setup "$build" -Dauto_features=enabled "$@" || { broken+=("$build: meson setup"); return 0; }
    printf '%s' "$*" >"$build/.configured-with"
  fi
  logged "$log" "building $build" "$source_dir/run" world "$world" -- ninja -C "$build" ||
    { broken+=("$build: ninja"); return 0; }
  rm -f "$testlog"
  missing=$("$source_dir/run" world "$world" -- /usr/bin/python3 "$source_dir/scripts/missing-programs.py" "$build") ||
    { broken+=("$build: no list of tests"); return 0; }
  if [[ $missing ]]; then broken+=("$build: ${missing//$'\n'/; }"); return 0; fi
  say "testing $build"
  # the limits of the tests are for a machine of one's own; a shared one may be several times as slow
  # one more than there are processors: a fifth of their time was idle, while tests wait for a display or a time limit
  "$source_dir/run" world "$world" -- meson test -C "$build" --no-rebuild --print-errorlogs --timeout-multiplier 3 \
    --num-processes "$(($(nproc) + 1))" \
    "${meson_args[@]}" || status=$?
  # a log tells nothing of what meson did not come to
  [[ $status == 0 ]] || broken+=("$build: meson test, status $status")
  [[ -s $testlog ]] || broken+=("$build: no test ran")
  logs+=("$testlog")
}

# What came of all build directories; the last line is the total. Status 1: something failed.
report() {
  local what
  for what in "${broken[@]}"; do count_args+=(--broken "$what"); done
  /usr/bin/python3 "$source_dir/scripts/count-results.py" "${count_args[@]}" "${logs[@]}"
}
