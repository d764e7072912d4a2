#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Upstream's elements at the other end of ours, in the box: the tables of docs/interop.md. TAP.

Each cell is a pipeline. The picture that it shows at its end is compared with the one that upstream's elements alone show:
the bytes of the last frame, or, of a display, the checksum that vkms makes of what it scans out. What negotiated and was
copied has to be in the page as it was found; the program prints the rows for the page as comments.

usage: interop.py SOURCE [NAME]...
  NAME  only the rows of these names, or raw: the formats in system memory
"""

import concurrent.futures
import fcntl
import functools
import multiprocessing
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

import gi

gi.require_version('Gst', '1.0')
gi.require_version('GstVideo', '1.0')
gi.require_version('GstDrm', '1.0')
from gi.repository import GLib, Gst, GstDrm, GstVideo  # noqa: E402

from blocks import Tap  # noqa: E402

LIMIT = 20 * Gst.SECOND  # for one pipeline on a busy machine
NEAR = 6  # of 255, the mean difference of a component: vkms, videoconvert and GL round YUV each in its own way
CRC = pathlib.Path('/sys/kernel/debug/dri/vkms/crtc-0/crc')
S_OUTPUT = 0xc004562f  # VIDIOC_S_OUTPUT: vivid's second output is HDMI, which takes frames that are not interlaced
MODEL = 'tests/data/models/blazeface-short-128.onnx'

# In a line OURS stands for an element of ours or upstream's in its place, FORMAT for the picture's format, and VIVID_IN,
# VIVID_OUT and FOLDER for paths. ' && ' is between pipelines that run one after the other, ' & ' between two at the same time,
# whose second one is what ends.
STILL = 'videotestsrc num-buffers=5 pattern=smpte-rp-219 ! video/x-raw,format=FORMAT,width=640,height=480,framerate=25/1'
OUT = 'appsink name=out sync=false max-buffers=1 drop=true wait-on-eos=false'
RGBA = STILL.replace('FORMAT', 'RGBA')
CONVERT = 'videoconvert ! video/x-raw,format=CHOSEN'
KMSSINK = 'kmssink name=out driver-name=vkms'
X264ENC = 'x264enc speed-preset=ultrafast tune=zerolatency'
MIRROR = 'videoflip video-direction=horiz'

# PipeWire's nodes by their names. A frame of the writer is lost where nobody reads yet, so it has no end of its own. It lends
# no memory to the source, which would still write into it when the reader goes.
WRITER = 'pipewiresink mode=provide use-bufferpool=false client-name=writer'
READER = 'pipewiresrc client-name=reader num-buffers=3'
CAMERA = f'{READER} target-object=camera'

DMA_DRM = 'video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12'
ANY_DRM = 'video/x-raw(memory:DMABuf),format=DMA_DRM'
APPSRC = f'{STILL} ! dmabufupload ! {DMA_DRM} ! {OUT} && appsrc name=in format=time'

VA = 'vadmabufsrc num-buffers=5'
# ours; the line that ends with it; upstream's line that makes the same picture in CHOSEN, the format that ours chose
PRODUCERS = (
    ('dmabufupload', f'{STILL} ! dmabufupload name=ours', f'{STILL} ! {CONVERT}'),
    ('dmabufrelabel', f'{STILL} ! dmabufupload ! video/x-raw ! dmabufrelabel name=ours', f'{STILL} ! {CONVERT}'),
    ('vadmabufconvert', f'{STILL} ! dmabufupload ! vadmabufconvert video-direction=horiz name=ours', f'{STILL} ! {MIRROR} ! {CONVERT}'),
    ('egldmabufdownload', f'{RGBA} ! glupload ! egldmabufdownload name=ours', f'{RGBA} ! {CONVERT}'),
    ('vadmabufsrc', f'{VA} name=ours', f'{VA} ! dmabufdownload ! {CONVERT}'),
    ('metisdmabufinfer', f'{STILL} ! dmabufupload ! metisdmabufinfer backend=cpu model=MODEL name=ours', f'{STILL} ! {CONVERT}'),
)
# upstream's; format; line
OURS_FIRST = (
    ('appsink', 'NV12', f'OURS ! {OUT}'),
    ('appsink, DMA_DRM', 'NV12', f'OURS ! capsfilter caps={ANY_DRM} ! {OUT}'),
    ('kmssink', 'BGRx', f'OURS ! {KMSSINK}'),
    # nobody reads what a compositor shows: what negotiated, and whether it plays
    ('waylandsink', 'BGRx', 'OURS ! waylandsink sync=false display=FOLDER/wayland'),
    ('glupload', 'BGRx', f'OURS ! glupload ! glcolorconvert ! video/x-raw(memory:GLMemory),format=RGBA,texture-target=2D ! gldownload ! video/x-raw ! {OUT}'),
    ('vapostproc', 'NV12', f'OURS ! vapostproc ! video/x-raw,width=320,height=240 ! {OUT}'),
    ('v4l2sink io-mode=mmap', 'NV12', 'OURS ! v4l2sink name=out sync=false device=VIVID_OUT io-mode=mmap'),
    ('v4l2sink io-mode=dmabuf-import', 'BGRx', 'OURS ! v4l2sink name=out sync=false device=VIVID_OUT io-mode=dmabuf-import'),
    ('v4l2sink io-mode=dmabuf-import, NV12', 'NV12', 'OURS ! v4l2sink name=out sync=false device=VIVID_OUT io-mode=dmabuf-import'),
    ('unixfdsink', 'NV12', f'OURS ! unixfdsink socket-path=FOLDER/socket unixfdsrc socket-path=FOLDER/socket ! {OUT} async=false'),
    ('pipewiresink', 'NV12', f'OURS ! {WRITER} & {READER} ! {OUT}'),
    ('video/x-raw, pipewiresink', 'NV12', f'OURS ! capsfilter caps=video/x-raw,format=FORMAT ! {WRITER} & {READER} ! {OUT}'),
    ('fpsdisplaysink', 'NV12', f'OURS ! fpsdisplaysink text-overlay=false video-sink="{OUT}"'),
    ('compositor', 'NV12', f'OURS ! compositor ! video/x-raw,format=NV12 ! {OUT}'),
    ('videoconvert', 'NV12', f'OURS ! videoconvert ! video/x-raw,format=BGRA ! {OUT}'),
    ('videoscale', 'NV12', f'OURS ! videoscale ! video/x-raw,format=FORMAT,width=320,height=240 ! {OUT}'),
    ('qroverlay', 'NV12', f'OURS ! qroverlay data=interop ! video/x-raw,format=FORMAT ! {OUT}'),
    ('textoverlay', 'NV12', f'OURS ! textoverlay text=interop ! {OUT}'),
    ('videocrop', 'NV12', f'OURS ! videocrop left=16 top=8 ! {OUT}'),
    ('videoflip', 'NV12', f'OURS ! videoflip video-direction=180 ! {OUT}'),
    ('videorate', 'NV12', f'OURS ! videorate ! video/x-raw,framerate=15/1 ! {OUT}'),
    ('imagefreeze', 'NV12', f'OURS ! imagefreeze num-buffers=3 ! {OUT}'),
    ('deinterlace', 'NV12', f'OURS ! deinterlace mode=interlaced ! {OUT}'),
    ('interlace', 'I420', f'OURS ! interlace ! {OUT}'),
    ('alpha', 'I420', f'OURS ! alpha alpha=0.5 ! video/x-raw,format=AYUV ! {OUT}'),
    ('tee, queue', 'NV12', f'OURS ! tee name=t t. ! queue ! fakesink t. ! queue ! {OUT}'),
    ('input-selector', 'NV12', f'OURS ! input-selector ! {OUT}'),
    ('rtpvrawpay', 'I420', f'OURS ! rtpvrawpay ! rtpvrawdepay ! {OUT}'),
    ('jpegenc', 'I420', f'OURS ! jpegenc ! jpegdec ! {OUT}'),
    ('theoraenc', 'I420', f'OURS ! theoraenc ! theoradec ! {OUT}'),
    ('vp8enc', 'I420', f'OURS ! vp8enc deadline=1000000 ! vp8dec ! {OUT}'),
    ('openh264enc', 'I420', f'OURS ! openh264enc ! openh264dec ! {OUT}'),
    ('avenc_mpeg4', 'I420', f'OURS ! avenc_mpeg4 ! avdec_mpeg4 ! {OUT}'),
    ('x264enc', 'I420', f'OURS ! {X264ENC} ! avdec_h264 ! {OUT}'),
    ('x265enc', 'I420', f'OURS ! x265enc speed-preset=ultrafast tune=zerolatency ! avdec_h265 ! {OUT}'),
    ('vulkanupload', 'BGRA', f'OURS ! vulkanupload ! vulkandownload ! {OUT}'),
    ('splitmuxsink', 'I420', f'OURS ! jpegenc ! splitmuxsink muxer=avimux location=FOLDER/part%d.avi && filesrc location=FOLDER/part0.avi ! avidemux ! jpegdec ! {OUT}'),
)

# ours; the line that begins with it; upstream's line in its place
CONSUMERS = (
    ('kmsdmabufsink', 'kmsdmabufsink name=ours driver-name=vkms mode=match', f'videoconvert ! video/x-raw,format=BGRx ! {OUT}'),
    ('egldmabufupload', f'egldmabufupload name=ours ! gldownload ! video/x-raw,format=FORMAT ! {OUT}', f'videoconvert ! video/x-raw,format=FORMAT ! {OUT}'),
    ('dmabufdownload', f'dmabufdownload name=ours ! {OUT}', OUT),
    ('vadmabufconvert', f'vadmabufconvert video-direction=horiz name=ours ! dmabufdownload ! video/x-raw,format=NV12 ! {OUT}', f'{MIRROR} ! videoconvert ! video/x-raw,format=NV12 ! {OUT}'),
    ('metisdmabufinfer', f'metisdmabufinfer backend=cpu model=MODEL name=ours ! {OUT}', OUT),
    ('drmoverlay', f'drmoverlay name=ours ! {OUT}', OUT),
)
FROM_VIVID = 'v4l2src num-buffers=3 device=VIVID_IN extra-controls=c,osd_text_mode=2 io-mode={}'
V4L2SRC = f'{FROM_VIVID} ! video/x-raw,format=FORMAT,width=640,height=480 ! OURS'
# upstream's; format; line
UPSTREAM_FIRST = (
    ('videotestsrc', 'NV12', f'{STILL} ! OURS'),
    ('appsrc, DMA_DRM', 'NV12', f'{APPSRC} ! OURS'),
    ('v4l2src io-mode=mmap', 'NV12', V4L2SRC.format('mmap')),
    ('v4l2src io-mode=dmabuf', 'NV12', V4L2SRC.format('dmabuf')),
    ('v4l2src io-mode=dmabuf, DMA_DRM', 'NV12', V4L2SRC.format('dmabuf').replace('video/x-raw,format=FORMAT', DMA_DRM)),
    ('pipewiresrc, from pipewiresink', 'NV12', f'{STILL} ! {WRITER} & {READER} ! OURS'),
    ('pipewiresrc, a camera', 'NV12', f'{CAMERA} ! video/x-raw,format=FORMAT,width=640,height=480,framerate=25/1 ! OURS'),
    ('gldownload', 'RGBA', f'{STILL} ! glupload ! gldownload ! OURS'),
    ('vapostproc', 'NV12', f'{STILL} ! vapostproc ! video/x-raw(ANY),format=FORMAT,width=800,height=600 ! OURS'),
    ('compositor', 'NV12', f'{STILL} ! compositor ! OURS'),
    ('videoconvert', 'BGRx', f'{STILL} ! videoconvert ! OURS'),
    ('videoscale', 'NV12', f'{STILL} ! videoscale ! video/x-raw,width=800,height=600 ! OURS'),
    ('qroverlay', 'NV12', f'{STILL} ! qroverlay data=interop ! OURS'),
    ('textoverlay', 'NV12', f'{STILL} ! textoverlay text=interop ! OURS'),
    ('videocrop', 'NV12', f'{STILL.replace("640", "672")} ! videocrop left=32 ! OURS'),
    ('videoflip', 'NV12', f'{STILL} ! videoflip video-direction=180 ! OURS'),
    ('videorate', 'NV12', f'{STILL} ! videorate ! video/x-raw,framerate=15/1 ! OURS'),
    ('imagefreeze', 'NV12', f'{STILL} ! imagefreeze num-buffers=3 ! OURS'),
    ('deinterlace', 'NV12', f'{STILL} ! deinterlace mode=interlaced ! OURS'),
    ('interlace', 'I420', f'{STILL} ! interlace ! OURS'),
    ('alpha', 'BGRA', f'{STILL} ! alpha alpha=1 ! video/x-raw,format=FORMAT ! OURS'),
    ('tee, queue', 'NV12', f'{STILL} ! tee name=t t. ! queue ! fakesink t. ! queue ! OURS'),
    ('input-selector', 'NV12', f'{STILL} ! input-selector ! OURS'),
    ('rtpvrawdepay', 'I420', f'{STILL} ! rtpvrawpay ! rtpvrawdepay ! OURS'),
    ('jpegdec', 'I420', f'{STILL} ! jpegenc ! jpegdec ! OURS'),
    ('theoradec', 'I420', f'{STILL} ! theoraenc ! theoradec ! OURS'),
    ('vp8dec', 'I420', f'{STILL} ! vp8enc deadline=1000000 ! vp8dec ! OURS'),
    ('openh264dec', 'I420', f'{STILL} ! openh264enc ! openh264dec ! OURS'),
    ('avdec_mpeg4', 'I420', f'{STILL} ! avenc_mpeg4 ! avdec_mpeg4 ! OURS'),
    ('avdec_h264', 'I420', f'{STILL} ! {X264ENC} ! avdec_h264 ! OURS'),
    ('avdec_h265', 'I420', f'{STILL} ! x265enc speed-preset=ultrafast tune=zerolatency ! avdec_h265 ! OURS'),
    ('vulkandownload', 'BGRA', f'{STILL} ! vulkanupload ! vulkandownload ! OURS'),
)


# Every format that glupload takes in system memory. Frames of 64x48, so that 66 of them take no time.
RAW = f'videotestsrc num-buffers=2 pattern=smpte-rp-219 ! video/x-raw,format=FORMAT,width=64,height=48 ! OURS ! video/x-raw,format=RGBA ! {OUT}'
UPLOAD = 'UPLOAD ! glcolorconvert ! gldownload'
READ_AS_RED = ('RGB16', 'BGR16')  # glcolorconvert takes the first component of such a texture for all of them


class Refused(Exception):
    """The first error of a pipeline, or that it has no end."""


class Missing(Exception):
    """An element that this GStreamer does not have."""


def video_format(caps):
    """The GstVideoFormat of caps whose layout is linear."""
    structure = caps.get_structure(0)
    if structure.get_string('format') != 'DMA_DRM':
        return structure.get_string('format')
    _, fourcc, modifier = GstDrm.format_parse(structure.get_string('drm-format'))
    return GstVideo.VideoFormat.to_string(GstDrm.format_to_video_format(fourcc, modifier))


def picture(sample):
    """The format of a frame, and its components, each as the bytes of its visible rows."""
    if not sample:
        raise Refused('no frame')
    caps, buffer = sample.get_caps(), sample.get_buffer()
    name, structure = video_format(caps), caps.get_structure(0)
    info = GstVideo.VideoInfo.new_from_caps(Gst.Caps.from_string(
        f'video/x-raw,format={name},width={structure.get_int("width")[1]},height={structure.get_int("height")[1]}'))
    layout, finfo, data = GstVideo.buffer_get_video_meta(buffer) or info, info.finfo, buffer.extract_dup(0, buffer.get_size())
    components = []
    for c in range(finfo.n_components):
        step, stride = finfo.pixel_stride[c], layout.stride[finfo.plane[c]]
        width, height = -(-info.width >> finfo.w_sub[c]), -(-info.height >> finfo.h_sub[c])
        if not stride:
            raise Refused('a frame without rows')
        first = layout.offset[finfo.plane[c]] + finfo.poffset[c]
        components.append(b''.join(data[at:at + width * step:step] for at in range(first, first + height * stride, stride)))
    return name, components


def screen():
    """The checksum of what the display scans out."""
    (CRC / 'control').write_text('auto')
    with open(CRC / 'data', 'rb', 0) as data:
        return 'screen', [[data.read(64).split()[1] for _ in range(2)][1]]


def start_linked(pipeline, writer):
    """pipewiresrc waits in its change of state until somebody links it, which a session manager would do."""
    starting = threading.Thread(target=pipeline.set_state, args=(Gst.State.PLAYING,))
    starting.start()
    while starting.is_alive() and subprocess.run(['pw-link', writer, 'reader'], stderr=subprocess.DEVNULL, check=False).returncode:
        time.sleep(0.05)
    starting.join(LIMIT / Gst.SECOND)
    if starting.is_alive():
        os._exit(1)  # nothing else ends it


def parse(line):
    try:
        return Gst.parse_launch(line)
    except GLib.Error as error:
        raise (Missing if error.matches(Gst.ParseError.quark(), Gst.ParseError.NO_SUCH_ELEMENT) else Refused)(error.message)


def run(line, pipelines, sample):
    """Plays the last of the pipelines to its end, while the others play."""
    for pipeline in pipelines[:-1]:
        pipeline.set_state(Gst.State.PLAYING)
    main = pipelines[-1]
    if 'pipewiresrc' in line:
        start_linked(main, 'camera' if CAMERA in line else 'writer')
    else:
        main.set_state(Gst.State.PLAYING)
    source = main.get_by_name('in')
    if source:
        for _ in range(3):
            source.emit('push-sample', sample)
        source.emit('end-of-stream')
    message = main.get_bus().timed_pop_filtered(LIMIT, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    if message and message.type == Gst.MessageType.EOS:
        return
    errors = [found for found in (p.get_bus().pop_filtered(Gst.MessageType.ERROR) for p in pipelines[:-1]) if found] or [message]
    raise Refused(errors[0].parse_error()[0].message if errors[0] else 'no end')


def play(line, side=None):
    """What pipelines show at their end, and the caps of that side and the copies of the element named ours."""
    Gst.init(None)
    shown = caps = copies = sample = None
    for part in line.split(' && '):
        pipelines = [parse(text) for text in part.split(' & ')]
        try:
            run(part, pipelines, sample)
            out, ours = (next(filter(None, (p.get_by_name(name) for p in pipelines)), None) for name in ('out', 'ours'))
            if 'kmssink' in part:
                shown = screen()
            elif 'kmsdmabufsink' in part:
                shown = picture(ours.emit('snapshot'))
            elif out:
                sample = out.get_property('last-sample')
                shown = picture(sample)
            if ours:
                caps = ours.get_static_pad(side).get_current_caps().to_string()
                copies = ours.get_property('drm-stats').get_value('copies')
        finally:
            # pipewiresink takes the memory away that it copies into when its reader goes: the writer stands still before
            for pipeline in pipelines[:-1]:
                pipeline.set_state(Gst.State.PAUSED)
                pipeline.get_state(Gst.SECOND)
            for pipeline in reversed(pipelines):
                pipeline.set_state(Gst.State.NULL)
    return shown, caps, copies


class Worker:
    """A process that plays: drivers crash."""

    def __init__(self):
        self.pool = None

    def play(self, *args):
        # GLib prints "Bail out!" where an assertion fails, which would end the TAP
        self.pool = self.pool or concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context('spawn'), os.dup2, (2, 1))
        try:
            return self.pool.submit(play, *args).result()
        except concurrent.futures.process.BrokenProcessPool:
            self.pool = None
            raise Refused('crashes')

    @functools.cache
    def play_once(self, line):
        return self.play(line)


def difference(shown, wanted):
    """'', 'near', or a problem."""
    if shown == wanted:
        return ''
    (name, have), (wanted_name, want) = shown, wanted
    if name == 'screen' or [len(c) for c in have[:3]] != [len(c) for c in want[:3]]:
        return f'{name} instead of {wanted_name}'
    worst = max(sum(abs(a - b) for a, b in zip(x, y)) / len(y) for x, y in zip(have, want))
    return 'near' if worst <= NEAR else f'differs by {worst:.1f}'


def cell(worker, line, side, plain):
    """What is said of a cell, and the reason where it does not show what upstream's elements show."""
    try:
        shown, caps, copies = worker.play(line, side)
    except Missing as missing:
        return f'not in GStreamer {VERSION}', str(missing)
    except Refused as why:
        return 'crashes' if str(why) == 'crashes' else 'no', str(why)
    caps = Gst.Caps.from_string(caps)
    try:
        wanted = shown and worker.play_once(plain.replace('CHOSEN', video_format(caps)))[0]
    except Refused as why:
        return 'upstream: no', str(why)
    structure = caps.get_structure(0)
    words = [structure.get_string('drm-format') or structure.get_string('format')]
    if caps.get_features(0).contains('memory:DMABuf'):
        words.insert(0, 'DMA_DRM' if structure.has_field('drm-format') else 'DMABuf')
    found = difference(shown, wanted)
    said = [' '.join(words)] + (['copied'] if copies else [])
    if found:
        said.append('near' if found == 'near' else 'another picture')
    return ', '.join(said), '' if found == 'near' else found


def start_weston(folder):
    """A compositor without a screen, at `folder`/wayland. Mesa 22's software renderer crashes on DMA buffers: no GL there."""
    version = int(subprocess.run(['weston', '--version'], capture_output=True, text=True, check=True).stdout.split()[1].split('.')[0])
    weston = subprocess.Popen(['weston', '--no-config', '--backend=headless-backend.so', '--idle-time=0', '--socket=wayland',
                               *(['--renderer=gl'] if version >= 12 else [])],
                              env=os.environ | {'XDG_RUNTIME_DIR': folder}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (pathlib.Path(folder) / 'wayland').exists() and weston.poll() is None:
        time.sleep(0.05)
    return weston


PIPEWIRE = """
context.properties = { core.daemon = true, core.name = pipewire-0, support.dbus = false, mem.allow-mlock = false }
context.spa-libs = { support.* = support/libspa-support, api.v4l2.* = v4l2/libspa-v4l2 }
context.modules = [ PROTOCOL, { name = libpipewire-module-spa-node-factory }, { name = libpipewire-module-link-factory }, { name = libpipewire-module-access } ]
context.objects = [ { factory = spa-node-factory, args = { factory.name = api.v4l2.source, node.name = camera, api.v4l2.path = VIVID_IN } } ]
"""
PIPEWIRE_CLIENT = """
context.properties = { support.dbus = false, mem.allow-mlock = false }
context.spa-libs = { support.* = support/libspa-support }
context.modules = [ PROTOCOL ]
"""
PROTOCOL = ', '.join(f'{{ name = libpipewire-module-{name} }}' for name in ('protocol-native', 'client-node', 'adapter', 'metadata'))


def start_pipewire(folder, camera):
    """PipeWire's daemon at `folder`, with a camera, and without a session manager, which needs D-Bus; None if not installed."""
    if not shutil.which('pipewire'):
        return None
    for name, text in (('pipewire.conf', PIPEWIRE), ('client.conf', PIPEWIRE_CLIENT)):
        (pathlib.Path(folder) / name).write_text(text.replace('PROTOCOL', PROTOCOL).replace('VIVID_IN', camera), encoding='utf-8')
    os.environ |= {'PIPEWIRE_CONFIG_DIR': folder, 'PIPEWIRE_RUNTIME_DIR': folder}
    pipewire = subprocess.Popen(['pipewire'], stderr=subprocess.DEVNULL)
    while not (pathlib.Path(folder) / 'pipewire-0').exists() and pipewire.poll() is None:
        time.sleep(0.05)
    return pipewire


def table(tap, page, worker, heads, rows, place):
    """Runs the cells of a direction; each row is a case."""
    print(f'# | {heads[0]} | {" | ".join(heads[1:])} |\n# |{"---|" * len(heads)}')
    for name, *rest in rows:
        if sys.argv[2:] and name not in sys.argv[2:] or 'pipewire' in name and not shutil.which('pipewire'):
            continue
        cells = [cell(worker, *place(rest, ours)) for ours in heads[1:]]
        row = f'| {name} | {" | ".join(said for said, _ in cells)} |'
        print(f'# {row}')
        for ours, (_, why) in zip(heads[1:], cells):
            if why:
                print(f'# {ours}: {why}')
        tap.case(name, '' if row in page else 'the page has another row')


def formats_of(factory):
    """The GstVideoFormats that an element's sink pad takes in system memory."""
    caps = next(t for t in Gst.ElementFactory.find(factory).get_static_pad_templates() if t.direction == Gst.PadDirection.SINK).get_caps()
    names = map(GstVideo.VideoFormat.to_string, GstVideo.video_formats_raw())
    return {name for name in names if caps.can_intersect(Gst.Caps.from_string(f'video/x-raw, format={name}'))}


def raw_formats(tap, worker):
    """Frames in system memory: egldmabufupload shows what glupload shows, or, where that dies, refuses or shows something else, what
    videoconvert makes: glupload of 1.28 imports frames of its own pool of DMA buffers, GRAY8 as red alone."""
    ours = formats_of('egldmabufupload')
    for name in sorted(formats_of('glupload')):
        if GstVideo.VideoFormat.get_info(GstVideo.VideoFormat.from_string(name)).flags & GstVideo.VideoFormatFlags.TILED:
            tap.case(f'{name}, in tiles: refused', f'egldmabufupload takes {name}' if name in ours else '')
            continue
        line = RAW.replace('FORMAT', name)
        found = ''
        try:
            shown = worker.play(line.replace('OURS', UPLOAD.replace('UPLOAD', 'egldmabufupload name=ours')), 'sink')[0]
            try:
                found = difference(shown, worker.play(line.replace('OURS', UPLOAD.replace('UPLOAD', 'glupload')))[0])
            except Refused as why:
                found = str(why)
            if found not in ('', 'near'):
                flags = GstVideo.VideoFormat.get_info(GstVideo.VideoFormat.from_string(name)).flags
                told = 1 if name in READ_AS_RED else 4 if flags & GstVideo.VideoFormatFlags.ALPHA else 3
                found = difference(*((kind, parts[:told]) for kind, parts in (shown, worker.play(line.replace('OURS', 'videoconvert'))[0])))
        except Refused as why:
            found = str(why)
        tap.case(f'{name} in system memory', '' if found == 'near' else found)


def main():
    source = pathlib.Path(sys.argv[1])
    page = (source / 'docs/interop.md').read_text(encoding='utf-8').splitlines()
    title = f'## GStreamer {VERSION}'
    if title in page:
        page = page[page.index(title) + 1:]
        page = page[:next(n for n, line in enumerate(page) if line.startswith('## '))]
    devices = {(node / 'name').read_text().strip(): f'/dev/{node.name}' for node in pathlib.Path('/sys/class/video4linux').iterdir()}
    with open(devices['vivid-000-vid-out'], 'rb+', 0) as output:
        fcntl.ioctl(output, S_OUTPUT, struct.pack('i', 1))
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        words = {'VIVID_IN': devices['vivid-000-vid-cap'], 'VIVID_OUT': devices['vivid-000-vid-out'], 'FOLDER': folder, 'MODEL': str(source / MODEL)}

        def fill(line, **more):
            for word, value in (more | words).items():
                line = line.replace(word, value)
            return line
        servers = [server for server in (start_weston(folder), start_pipewire(folder, words['VIVID_IN'])) if server]
        worker = Worker()
        producers = {ours: (line, plain) for ours, line, plain in PRODUCERS}
        consumers = {ours: (line, plain) for ours, line, plain in CONSUMERS}

        def ours_first(row, ours):
            picture_format, line = row
            begin, plain = producers[ours]
            plain_line = line.replace('dmabuf-import', 'mmap')  # upstream's line has no DMA buffers
            plain_line = plain_line.replace(f'capsfilter caps={ANY_DRM} ! ', '').replace(f'{WRITER} & {READER} ! ', '')
            if WRITER in line:
                begin = begin.replace('num-buffers=5', '')
            return fill(line, OURS=begin, FORMAT=picture_format), 'src', fill(plain_line, OURS=plain, FORMAT=picture_format)

        def upstream_first(row, ours):
            picture_format, line = row
            end, plain = consumers[ours]
            # on Mesa's software renderer upstream's glupload imports DMA buffers and shows other pixels
            plain_line = line.replace(APPSRC, STILL).replace(DMA_DRM, 'video/x-raw,format=NV12').replace('io-mode=dmabuf', 'io-mode=mmap')
            plain_line = plain_line.replace(f'{WRITER} & {READER} ! ', '').replace(CAMERA, FROM_VIVID.format('mmap'))
            if WRITER in line:
                line = line.replace('num-buffers=5', '')
            return fill(line, OURS=end, FORMAT=picture_format), 'sink', fill(plain_line, OURS=plain, FORMAT=picture_format)
        if not sys.argv[2:] or 'raw' in sys.argv[2:]:
            raw_formats(tap, worker)
        table(tap, page, worker, ["upstream's after ours", *producers], OURS_FIRST, ours_first)
        table(tap, page, worker, ["upstream's before ours", *consumers], UPSTREAM_FIRST, upstream_first)
        for server in servers:
            server.kill()
            server.wait()
    tap.end()


if __name__ == '__main__':
    Gst.init(None)
    VERSION = '.'.join(map(str, Gst.version()[:2]))
    main()
