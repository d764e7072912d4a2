#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `meson install` puts on a machine can be found and used as README.md says. TAP.

Installs the build into a temporary directory and works with it from there alone: pkg-config, a C
application, a filter, gst-inspect-1.0, the Python of docs/library.md.

usage: installed.py SOURCE BUILD PREFIX MESON C-COMPILER [FEATURE...]
FEATUREs that were built: gir, dmabuf, egldmabuf, inspect, kmsdmabuf, metis, metis-cpu, va, verify
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from blocks import Tap, blocks

ELEMENTS = {'dmabuf': ('dmabufupload', 'dmabufdownload', 'dmabufrelabel'), 'egldmabuf': ('egldmabufupload', 'egldmabufdownload'),
            'kmsdmabuf': ('kmsdmabufsink',), 'va': ('vadmabufsrc', 'vadmabufconvert'),
            'metis': ('metisdmabufinfer', 'drmtensordecode', 'drmoverlay')}
WARNINGS = ['-std=gnu11', '-Wall', '-Wextra', '-Wno-unused-parameter', '-Werror']
PICTURE = 'videotestsrc num-buffers=1 pattern=smpte ! video/x-raw,format={},width={},height={}'
WIDTH, HEIGHT = 324, 242  # rows of RGB need no padding, those of DMA buffers do
TIME_LIMIT_S = 120


class Installed:
    def __init__(self, args, work):
        self.source, self.build = pathlib.Path(args[0]), args[1]
        self.prefix = work / 'stage' / args[2].lstrip('/')
        self.meson, self.cc, self.features = args[3], args[4], args[5:]
        self.work = work
        # Debian's own directories, and nothing of the build
        self.environment = {'PATH': os.environ['PATH'], 'HOME': str(work), 'LC_ALL': 'C.UTF-8', 'G_DEBUG': 'fatal-criticals',
                            'GST_REGISTRY_1_0': str(work / 'registry.bin')}

    def run(self, *command, **more):
        """Standard output; a problem is an exception that says all that was printed."""
        done = subprocess.run(command, cwd=self.work, env=self.environment | more, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIME_LIMIT_S)
        if done.returncode:
            raise RuntimeError(f'{" ".join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}')
        return done.stdout

    def install(self):
        """As a package is staged: DESTDIR, and then the prefix of the .pc file moved along."""
        self.run(self.meson, 'install', '-C', self.build, '--no-rebuild', '--destdir', self.work / 'stage')
        (pc_file,) = self.prefix.glob('**/gst-drm-1.0.pc')
        text = pc_file.read_text(encoding='utf-8')
        moved = re.sub(r'^prefix=.*$', f'prefix={self.prefix}', text, flags=re.M)
        if moved == text:
            raise RuntimeError(f'no prefix= in the .pc file:\n{text}')
        pc_file.write_text(moved, encoding='utf-8')
        libdir = pc_file.parent.parent
        # README: PKG_CONFIG_PATH, ldconfig, GST_PLUGIN_PATH, GI_TYPELIB_PATH
        self.environment |= {'PKG_CONFIG_PATH': str(libdir / 'pkgconfig'), 'LD_LIBRARY_PATH': str(libdir),
                             'GST_PLUGIN_PATH': str(libdir / 'gstreamer-1.0'),
                             'GI_TYPELIB_PATH': str(libdir / 'girepository-1.0')}
        # PyGObject finds an override in gi/overrides of a folder that Python searches
        overrides = sorted(self.prefix.glob('**/gi/overrides/GstDrm.py'))
        if overrides:
            self.environment['PYTHONPATH'] = os.pathsep.join(str(path.parents[2]) for path in overrides)

    def variable(self, name):
        return pathlib.Path(self.run('pkg-config', f'--variable={name}', 'gst-drm-1.0').strip())

    def flags(self, *packages):
        return self.run('pkg-config', '--cflags', '--libs', *packages).split()

    # --- cases ------------------------------------------------------------------------------------

    def variables(self):
        wanted = {'pluginsdir': f'libgst{f}.so' for f in self.features if f in ('dmabuf', 'va')}
        if 'gir' in self.features:
            wanted |= {'girdir': 'GstDrm-1.0.gir', 'typelibdir': 'GstDrm-1.0.typelib', 'pythondir': 'gi/overrides/GstDrm.py'}
        for name, file in wanted.items():
            file = file.replace('libgstva.so', 'libgstvadmabuf.so')
            if not (self.variable(name) / file).is_file():
                raise RuntimeError(f'{name} is {self.variable(name)}, and {file} is not there')
        # what the library is built with is nothing that its users have to have
        if private := self.run('pkg-config', '--print-requires-private', 'gst-drm-1.0').split():
            raise RuntimeError(f'Requires.private: {private}')

    def exports(self):
        """Of the library what its headers declare, of a plugin what GStreamer looks for."""
        libdir = self.variable('pluginsdir').parent
        text = ''.join(path.read_text(encoding='utf-8') for path in self.prefix.glob('include/**/*.h'))
        declared = {*re.findall(r'GST_DRM_API\s[^;{]*?\b(gst_\w+)\s*\(', text),
                    *(f'{name}_get_type' for name in re.findall(r'G_DECLARE_\w+\(\w+, (\w+),', text))}
        found = {name.split('@')[0] for name in self.names(libdir / 'libgstdrm-1.0.so') if re.fullmatch(r'gst_\w+@@GST_DRM_1.0', name)}
        if found != declared or len(found) < 100:
            raise RuntimeError(f'exported alone: {sorted(found - declared)}, declared alone: {sorted(declared - found)}')
        for plugin in (libdir / 'gstreamer-1.0').glob('*.so'):
            names = self.names(plugin)
            if not names or not all(name.startswith('gst_plugin_') or name == 'gst_drm_innermost_lock' for name in names):
                raise RuntimeError(f'{plugin.name}: {names}')

    def names(self, library):
        return [line.split()[-1] for line in self.run('nm', '-D', '--defined-only', library).splitlines()]

    def probe(self):
        """The program that the plugin starts for each render node."""
        lines = self.run(self.variable('pluginsdir') / 'gst-drm' / 'gst-drm-va-probe', '/dev/dri/there-is-none').splitlines()
        if not lines[0].startswith('gst-drm-va-probe ') or not lines[-2].startswith('none ') or lines[-1] != 'end':
            raise RuntimeError('\n'.join(lines))

    def headers(self):
        """Those that are included by name, and no private one."""
        found = {path.name for path in self.prefix.glob('include/**/*.h')}
        wanted = {path.name for path in (self.source / 'gst-libs/gst/drm').glob('*.h') if 'private' not in path.name}
        if found != wanted:
            raise RuntimeError(f'installed: {sorted(found)}\nwanted: {sorted(wanted)}')

    def application(self):
        program = self.work / 'application'
        self.run(self.cc, *WARNINGS, self.source / 'docs/examples/application.c', '-o', program, *self.flags('gst-drm-1.0'))
        lines = self.run(program, '3').splitlines()
        if len(lines) != 3 or not all(re.match(r'(XR24|NV12) \(LINEAR\) 640x480, plane 0: offset 0 stride \d+', line)
                                      for line in lines):
            raise RuntimeError('\n'.join(lines))

    def application_fails(self):
        """A pipeline that cannot be: the reason on stderr, and status 1."""
        try:
            self.run(self.work / 'application', '3', GST_PLUGIN_PATH='')
        except RuntimeError as wrong:
            if 'no element "dmabufupload"' not in str(wrong) or 'status 1' not in str(wrong):
                raise
        else:
            raise RuntimeError('it ended well without the plugins')

    def detections(self):
        """The example of docs/detections.md, with the model that is installed and a photograph of a face."""
        program = self.work / 'detections'
        self.run(self.cc, *WARNINGS, self.source / 'docs/examples/detections.c', '-o', program, *self.flags('gstreamer-1.0'))
        (model,) = self.prefix.glob('**/blazeface-short-128.onnx')
        text = self.run(program, model, self.source / 'tests/data/models/astronaut.png')
        if not re.fullmatch(r'face 0\.9\d: 9\dx9\d pixels at 1[78]\d, [78]\d\n', text):
            raise RuntimeError(text)

    def elements(self):
        for feature in self.features:
            for element in ELEMENTS.get(feature, ()):
                text = self.run('gst-inspect-1.0', element)
                where = re.search(r'Filename\s+(\S+)', text)[1]
                if not where.startswith(str(self.prefix)):
                    raise RuntimeError(f'{element} comes from {where}')

    def tool(self, name, word, completed):
        """A tool with its page and what bash completes, each where a user's programs look for it."""
        (tool,) = self.prefix.glob(f'**/bin/{name}')
        version = self.run(tool, '--version')
        if not version.startswith(f'{name} '):
            raise RuntimeError(version)
        page = self.prefix / f'share/man/man1/{name}.1'
        options = set(re.findall(r'\\-\\-([a-z]+)', page.read_text(encoding='utf-8')))
        wanted = set(re.findall(r'^  (?:-h, )?--([a-z]+)', self.run(tool, '--help'), re.M)) - {'help'}
        if options != {name for name in wanted if not name.startswith('gst')}:
            raise RuntimeError(f'the page has {sorted(options)}, --help {sorted(wanted)}')
        # bash-completion loads the file that is named as the command
        completion = self.prefix / 'share/bash-completion/completions' / name
        function = '_' + name.removesuffix('-1.0').replace('-', '_')
        words = self.run('bash', '-c', f'source {completion} && complete -p {name} && COMP_WORDS=({name} {word}) COMP_CWORD=1 && '
                         f'{function} && echo "${{COMPREPLY[@]}}"').splitlines()
        if words[-1] != completed:
            raise RuntimeError('\n'.join(words))
        return tool

    def schema(self, name, document):
        self.run(sys.executable, self.source / 'tests/tools/schema.py', self.prefix / f'share/gst-drm/{name}.schema.json', document)

    def inspect(self):
        tool = self.tool('gst-drm-inspect-1.0', '--pi', '--pipeline')
        saved = self.work / 'machine.json'
        self.run(tool, '--save', saved, __EGL_VENDOR_LIBRARY_FILENAMES='/dev/null', VK_DRIVER_FILES='/dev/null', VK_ICD_FILENAMES='/dev/null')
        self.schema('gst-drm-inspect-1.0', saved)

    def verify(self):
        """It finds the tracer, whose process has no dma-buf to see."""
        tool = self.tool('gst-drm-verify-1.0', '--fr', '--frames')
        saved = self.work / 'result.json'
        self.run(tool, '--skip', 'I1,I2,I3', '--json', saved, 'videotestsrc', 'num-buffers=3', '!', 'fakesink')
        self.schema('gst-drm-verify-1.0', saved)

    def filter(self):
        plugin = self.work / 'plugins' / 'libgstdrmflip.so'
        plugin.parent.mkdir()
        self.run(self.cc, *WARNINGS, '-shared', '-fPIC', self.source / 'docs/examples/filter.c', '-o', plugin,
                 *self.flags('gst-drm-1.0', 'gstreamer-base-1.0'))
        self.environment['GST_PLUGIN_PATH'] += f':{plugin.parent}'
        self.run('gst-inspect-1.0', 'drmflip')

    def cannot_link(self):
        """The message that docs/your-own-element.md explains."""
        page = (self.source / 'docs/your-own-element.md').read_text(encoding='utf-8')
        wanted = re.search(r'^WARNING: erroneous pipeline: could not link.*$', page, re.M)[0]
        done = subprocess.run(['gst-launch-1.0', 'videotestsrc', '!', 'drmflip', '!', 'fakesink'], env=self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIME_LIMIT_S)
        if done.returncode == 0 or wanted not in done.stdout:
            raise RuntimeError(f'status {done.returncode}, not "{wanted}"\n{done.stdout}')

    def picture(self, video_format, chain):
        out = self.work / 'picture'
        line = f'{PICTURE.format(video_format, WIDTH, HEIGHT)} ! {chain} videoconvert ! video/x-raw,format=RGB ! filesink location={out}'
        self.run('gst-launch-1.0', '-q', *line.split())
        pixels = out.read_bytes()
        return [pixels[at:at + 3 * WIDTH] for at in range(0, len(pixels), 3 * WIDTH)]

    def flips(self, video_format):
        """Rows in the opposite order, and as they were when turned twice."""
        plain = self.picture(video_format, '')
        flipped = self.picture(video_format, 'dmabufupload ! drmflip ! dmabufdownload !')
        again = self.picture(video_format, 'dmabufupload ! drmflip ! drmflip ! dmabufdownload !')
        if len(plain) != HEIGHT or flipped != plain[::-1] or again != plain:
            raise RuntimeError(f'{len(plain)} rows, flipped: {flipped == plain[::-1]}, back again: {again == plain}')

    def python(self):
        for block in blocks(self.source):
            if block.language == 'python' and (block.path != 'docs/detections.md' or 'metis-cpu' in self.features):
                done = subprocess.run(['/usr/bin/python3', '-c', block.text], env=self.environment, text=True, cwd=self.source,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIME_LIMIT_S)
                # such as that of a version that was not required
                if done.returncode or 'Warning' in done.stdout:
                    raise RuntimeError(f'{block.where}: status {done.returncode}\n{done.stdout}')

    def compiles_as_printed(self):
        """The commands in the heads of the C examples."""
        for example in ('application', 'detections', 'filter'):
            text = (self.source / f'docs/examples/{example}.c').read_text(encoding='utf-8')
            self.compile_in_place(re.search(r'^ \*   (cc (?:.*\\\n)?.*)$', text, re.M)[1].replace('\\\n *', ''))
        for block in blocks(self.source):
            for _, command in block.commands() if block.language == 'sh' else ():
                if command.startswith('cc '):
                    self.compile_in_place(command)

    def not_installed(self):
        """As `meson devenv` has it, beside libdrm: <drm.h> is the kernel's."""
        source = self.work / 'beside-libdrm.c'
        source.write_text('#include <drm.h>\n#include <gst/drm/drm.h>\nint main(void) { return DRM_IOCTL_GEM_CLOSE == 0; }\n', encoding='utf-8')
        path = f'{pathlib.Path(self.build).resolve() / "meson-uninstalled"}'
        flags = self.run('pkg-config', '--cflags', 'gst-drm-1.0', 'libdrm', PKG_CONFIG_PATH=path).split()
        self.run(self.cc, *WARNINGS, '-fsyntax-only', source, *flags)

    def compile_in_place(self, command):
        self.run('bash', '-c', f'cd {self.source}/docs/examples && {command} '.replace(' -o ', f' -o {self.work}/'))


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as work:
        installed = Installed(sys.argv[1:], pathlib.Path(work))
        cases = [('installs', installed.install), ('pkg-config knows where things are', installed.variables),
                 ('library and plugins export what is public', installed.exports),
                 ('the headers are there', installed.headers), ('the commands of the C examples', installed.compiles_as_printed),
                 ('from the build directory, beside libdrm', installed.not_installed)]
        if 'va' in installed.features:
            cases.append(('the program that probes VA-API drivers', installed.probe))
        if 'inspect' in installed.features:
            cases.append(('gst-drm-inspect-1.0 with its page, schema and completion', installed.inspect))
        if 'verify' in installed.features:
            cases.append(('gst-drm-verify-1.0 with its page, schema and completion', installed.verify))
        if 'dmabuf' in installed.features:
            cases += [('gst-inspect-1.0 finds the elements', installed.elements),
                      ('the application in C', installed.application),
                      ('the application in C, without the plugins', installed.application_fails),
                      ('the filter in C is found', installed.filter),
                      ('could not link', installed.cannot_link)]
            cases += [(f'the filter in C turns {name}', lambda name=name: installed.flips(name)) for name in ('NV12', 'BGRx')]
        if 'metis-cpu' in installed.features:
            cases.append(('the detections in C', installed.detections))
        if 'gir' in installed.features:
            cases.append(('the Python of the docs', installed.python))
        for name, case in cases:
            try:
                case()
                tap.case(name)
            except (RuntimeError, ValueError, OSError, subprocess.TimeoutExpired, TypeError) as problem:
                tap.case(name, str(problem) or repr(problem))
    tap.end()


if __name__ == '__main__':
    main()
