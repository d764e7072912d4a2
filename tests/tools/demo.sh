#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The player of ./run demo: what it plays, what it prints, and what it says of a file without video. Runs in
# the box, on virtual time. TAP.
# Usage: demo.sh PLAYER [CLIP-MAKER PHOTOGRAPH MODEL [NPU-MODELS]]
# With the last ones the clip of ./run demo is made and a face looked for, by the CPU and by the box's test NPU.
set -uo pipefail
verify=$(dirname "$1")/gst-drm-verify-1.0
player=$1 clip_maker=${2:-} photograph=${3:-} model=${4:-} npu_models=${5:-}
source "$(dirname "$(readlink -f "$0")")/../support/tap.sh"
cd "$work" || exit
export GST_REGISTRY_FORK=no

# play FILE ARGUMENT...: into the files out and err; on the box's display
play() {
  rm -f shown.png
  "$player" --png shown.png --sink "driver-name=vkms mode=match" --limit 60 "$@" >out 2>err
}

plays() {
  play clip.webm || { cat out err; return 1; }
  cat out err
  grep -q 'what the display scanned out: shown.png' out && [[ $(head -c 4 shown.png | tail -c 3) == PNG ]] &&
    grep -qE '^  shown +[1-9]' out
}

# Each link begins where the one before it ended, from a decoder to the display.
in_order() {
  sed -n '/^links$/,/^frames$/p' out >links
  cat links
  awk '/->/ { if (last != "" && $1 != last) exit 1; if (last == "" && $1 !~ /dec/) exit 1; last = $3; n++ }
    END { exit !(last == "display" && n >= 3) }' links
}

# has_none TEXT FILE: status 1, and one line that says so
has_none() {
  local status=0
  play "$2" || status=$?
  cat out err
  [[ $status == 1 ]] && grep -qF "demo: $2 has no video that can be decoded here; $1" err &&
    ! grep -q 'not-linked\|ERROR from' err
}

without_decoder() {
  GST_PLUGIN_FEATURE_RANK=vp8dec:NONE,avdec_vp8:NONE,v4l2slvp8dec:NONE has_none "nothing in it is known" clip.webm
}

# 2.5 s into the clip the photograph's corner is at 240,80 (tools/demo/clip.cpp), so the face, which is at 180,82 in the
# photograph, 94 pixels wide, lies at 365,208 in the picture, 147 pixels wide: a yellow line of 100 pixels and more has to
# run above it, and one below it.
boxed() {
  gst-launch-1.0 -q filesrc location=shown.png ! pngdec ! videoconvert ! video/x-raw,format=RGB ! \
    filesink location=shown.rgb && python3 - <<'END'
width, data = 640, open('shown.rgb', 'rb').read()
def is_yellow(x, y):
    r, g, b = data[3 * (y * width + x):][:3]
    return r > 180 and g > 160 and b < 110
lines = [y for y in range(150, 480) if all(is_yellow(x, y) for x in range(390, 490))]
print('yellow lines:', lines)
raise SystemExit(not (lines and lines[0] < 290 and lines[-1] > 340))
END
}

# The boxes are on a plane over the picture: the frames stay as they are.
copies_nothing() {
  [[ $(awk '/copies by (metisdmabufinfer|drmoverlay|kmsdmabufsink)/ { print $4 }' out | tr '\n' ' ') == "0 0 0 " ]]
}

# finds_the_face ARGUMENT...: of the player
finds_the_face() {
  [[ -f face.webm ]] || "$clip_maker" "$photograph" face.webm || return
  play face.webm "$@" || { cat out err; return 1; }
  cat out err
  awk '/reached the sink/ { frames = $4 } /frames with a box/ { found = $5 }
    END { exit !(frames == 150 && found >= 0.95 * frames) }' out && boxed && copies_nothing
}

# with the arguments of ./run demo --npu
npu_finds_the_face() {
  insmod "$GST_DRM_BOX_MODULE" || return
  finds_the_face --infer "backend=axl model=$npu_models/skin.npu" \
    --decode "threshold=0.55 labels-file=$npu_models/skin.labels"
}

# The procedure of the document on zero-copy: I1 to I4 hold from a source to the NPU and the display, and result.json says it.
npu_verifies() {
  "$verify" --json result.json videotestsrc num-buffers=60 ! video/x-raw,format=NV12,width=640,height=480 ! dmabufupload ! \
    metisdmabufinfer backend=axl model="$npu_models/skin.npu" ! kmsdmabufsink driver-name=vkms mode=match || return
  python3 - <<'END'
import json
result = json.load(open('result.json'))
print({key: value for key, value in result.items() if key not in ('detail', 'violations')}, result['detail'] | {'links': []})
invariants = {key: value for key, value in result.items() if key[0] == 'I'}
detail = result['detail']
raise SystemExit(bool(invariants != dict.fromkeys(('I1_attach_count_ge2', 'I2_known_exporter', 'I3_axl_imports', 'I4_no_memcpy_hot'), True) or result['pass'] is not True
                 or not 2 <= detail['imports'] <= 60 or not 1 <= detail['releases'] <= detail['imports'] or not detail['multi_attach_inodes'] or not detail['exporters'] or detail['memcpy_hot']))
END
}

# In the demo itself a conversion comes before the NPU: it alone copies, and is named.
npu_names_the_copy() {
  GST_TRACERS=drmverify GST_DRM_VERIFY_FILE=$PWD/traces-%p.json play face.webm --infer "backend=axl model=$npu_models/skin.npu" \
    --decode "threshold=0.55 labels-file=$npu_models/skin.labels" || return
  "$verify" --trace traces-*.json --json result.json
  [[ $? == 1 ]] && grep -q '"memcpy_hot": \["convert"\]' result.json && grep -q '"I3_axl_imports": true' result.json
}

gst-launch-1.0 -q videotestsrc num-buffers=30 ! video/x-raw,format=I420,width=320,height=240,framerate=30/1 ! \
  vp8enc deadline=1 ! webmmux ! filesink location=clip.webm || exit
gst-launch-1.0 -q audiotestsrc num-buffers=20 ! wavenc ! filesink location=sound.wav || exit
gst-launch-1.0 -q audiotestsrc num-buffers=20 ! vorbisenc ! oggmux ! filesink location=sound.ogg || exit
echo 'a text, and no clip' >text.mp4
# the same on each run: some noise looks like a format to GStreamer
python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(1).randbytes(100000))' >noise.mp4
: >empty.mp4

faces=${clip_maker:+x}${npu_models:+x}
verified=''
[[ ! $npu_models || ! -x $verify ]] || verified=xx
echo "1..$((8 + ${#faces} + ${#verified}))"
check "plays a clip" plays
check "prints the links from source to sink" in_order
check "sound alone: wav" has_none "what it has: audio/x-raw" sound.wav
check "sound alone: ogg" has_none "what it has: audio/x-raw" sound.ogg
check "a text" has_none "nothing in it is known" text.mp4
check "noise" has_none "nothing in it is known" noise.mp4
check "an empty file" has_none "nothing in it is known" empty.mp4
check "no decoder for it" without_decoder
[[ ! $clip_maker ]] || check "finds the face and draws a box around it, without a copy" \
  finds_the_face --infer "backend=cpu model=$model"
[[ ! $npu_models ]] || check "the test NPU finds it, too" npu_finds_the_face
if [[ $verified ]]; then
  check "I1 to I4 hold from a source to the NPU and the display" npu_verifies
  check "the demo's conversion is what copies" npu_names_the_copy
fi
exit "$failed"
