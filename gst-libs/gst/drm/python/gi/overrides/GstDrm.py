# SPDX-License-Identifier: LGPL-2.1-or-later
"""What makes GstDrm feel at home in Python: sets that are counted, walked and intersected, and planes.

PyGObject loads this module by its place, gi/overrides, when GstDrm is imported.
"""
from gi.overrides import override
from gi.repository import Gst

from ..module import get_introspection_module

GstDrm = get_introspection_module('GstDrm')

__all__ = ['FormatSet']


def _pair(item):
    """(fourcc, modifier) of such a pair or of a drm-format string."""
    if isinstance(item, str):
        _, fourcc, modifier = GstDrm.format_parse(item)
        return fourcc, modifier
    if isinstance(item, tuple) and len(item) == 2 and all(isinstance(number, int) for number in item):
        return item
    raise TypeError(f'a member of a format set is a pair (fourcc, modifier) or a drm-format string, not {item!r}')


class FormatSet(GstDrm.FormatSet):
    """A set of (fourcc, modifier) pairs, sorted; FormatSet(['NV12', (fourcc, modifier)]) makes one.

    An empty set is false, and None, not a set, stands for any format.
    """

    __hash__ = None  # a set can be added to

    def __new__(cls, members=()):
        if isinstance(members, str):
            raise TypeError(f'a format set is made of a list of members: FormatSet([{members!r}])')
        new_set = GstDrm.FormatSet.new()
        for member in members:
            fourcc, modifier = _pair(member)
            if not new_set.add(fourcc, modifier) and not new_set.contains(fourcc, modifier):
                raise ValueError(f'0x{fourcc:08x} is no fourcc: it has to be 4 printable ASCII characters')
        return new_set

    def __init__(self, members=()):
        pass  # Boxed.__init__() refuses arguments

    @staticmethod
    def new_from_caps(caps):
        """The pairs that caps take; None where they take any format."""
        if not isinstance(caps, Gst.Caps):
            raise TypeError(f'expected Gst.Caps, not {type(caps).__name__}')
        try:
            return GstDrm.FormatSet.new_from_caps(caps)
        except TypeError:  # how PyGObject says that a constructor returned NULL
            return None

    @property
    def fourccs(self):
        """The fourccs that the set has pairs of, each once."""
        return self.get_fourccs()

    def __len__(self):
        return self.get_size()

    def __iter__(self):
        for index in range(self.get_size()):
            found, fourcc, modifier = self.get(index)
            if found:
                yield fourcc, modifier

    def __contains__(self, item):
        return self.contains(*_pair(item))

    def __eq__(self, other):
        return self.is_equal(other) if isinstance(other, GstDrm.FormatSet) else NotImplemented

    def __le__(self, other):
        return self.is_subset(other) if isinstance(other, GstDrm.FormatSet) else NotImplemented

    def __ge__(self, other):
        return other.is_subset(self) if isinstance(other, GstDrm.FormatSet) else NotImplemented

    def __lt__(self, other):
        return self <= other and self != other if isinstance(other, GstDrm.FormatSet) else NotImplemented

    def __gt__(self, other):
        return self >= other and self != other if isinstance(other, GstDrm.FormatSet) else NotImplemented

    def __and__(self, other):
        return self.intersect(other) if other is None or isinstance(other, GstDrm.FormatSet) else NotImplemented

    __rand__ = __and__  # None & set

    def __or__(self, other):
        return self.union(other) if isinstance(other, GstDrm.FormatSet) else NotImplemented

    def __sub__(self, other):
        return self.subtract(other) if isinstance(other, GstDrm.FormatSet) else NotImplemented

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __str__(self):
        return self.to_string()

    def __repr__(self):
        return f'<GstDrm.FormatSet {self.to_string()}>'


FormatSet = override(FormatSet)


# override() takes registered types only, and these two are plain structures: they are added to in place.

def _planes_of(frame):
    """A copy of every plane, in order. The descriptors belong to the buffer: keep that while they are used."""
    return [frame.get_plane(index)[1] for index in range(min(frame.n_planes, GstDrm.MAX_PLANES))]


def _plane_text(plane):
    return (f'<GstDrm.FramePlane fd={plane.fd} offset={plane.offset} stride={plane.stride} size={plane.size} '
            f'device={plane.device} inode={plane.inode}>')


GstDrm.Frame.planes = property(_planes_of)
GstDrm.FramePlane.__repr__ = _plane_text
