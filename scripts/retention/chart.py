# SPDX-License-Identifier: BSD-2-Clause
"""Line charts as SVG, for light and dark pages.

A chart is a title, two axes, and named series of points. Axes are linear or
logarithmic. The colours are those of Okabe and Ito, which do not depend on
seeing red and green; each series has a mark of its own as well.
"""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 76, 178, 44, 58
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
           "#8c8c8c"]
STYLE = """
    text { fill: #222; font: 12px "DejaVu Sans", Helvetica, Arial, sans-serif }
    .title { font-size: 14px; font-weight: bold }
    .page { fill: #fff }
    .grid { stroke: #ddd }
    .axis { stroke: #555 }
    @media (prefers-color-scheme: dark) {
      text { fill: #ddd }
      .page { fill: #1b1d21 }
      .grid { stroke: #3a3d42 }
      .axis { stroke: #aaa }
    }
"""


class Axis:
    """From values to a line of pixels."""

    def __init__(self, label, values, log=False, start=None):
        self.label, self.log = label, log
        low = min(values) if start is None else start
        high = max(values)
        if log:
            self.low = math.floor(math.log10(low))
            self.high = max(math.ceil(math.log10(high)), self.low + 1)
            self.ticks = [10.0 ** e for e in range(self.low, self.high + 1)]
        else:
            step = self.step(high - low)
            self.low = math.floor(low / step) * step
            self.high = max(math.ceil(high / step - 1e-9) * step,
                            self.low + step)
            count = round((self.high - self.low) / step)
            self.ticks = [self.low + i * step for i in range(count + 1)]

    @staticmethod
    def step(span):
        """1, 2 or 5 times a power of ten, for about five ticks."""
        if span <= 0:
            return 1.0
        unit = 10.0 ** math.floor(math.log10(span / 5))
        return next(unit * k for k in (1, 2, 5, 10) if unit * k >= span / 5)

    def part(self, value):
        """Where a value lies, from 0 to 1."""
        if self.log:
            value = math.log10(max(value, 10.0 ** self.low))
        return (value - self.low) / (self.high - self.low)


def number(value):
    """A tick's label: three digits at most, thousands by name."""
    for name, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:g}{name}"
    return f"{value:.3g}"


def mark(shape, x, y, colour):
    """A mark of one of four shapes."""
    if shape == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'
    points = {
        1: ((-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)),
        2: ((0, -4.5), (4.2, 3), (-4.2, 3)),
        3: ((0, -4.8), (4.8, 0), (0, 4.8), (-4.8, 0)),
    }[shape]
    text = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in points)
    return f'<polygon points="{text}" fill="{colour}"/>'


def series_lines(index, name, points, place):
    """One series: its line, its marks, and its name at the right."""
    colour, shape = COLOURS[index % len(COLOURS)], index % 4
    pixels = [place(x, y) for x, y in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in pixels)
    yield (f'<polyline points="{path}" fill="none" stroke="{colour}" '
           f'stroke-width="1.8"/>')
    for x, y in pixels:
        yield mark(shape, x, y, colour)
    x, y = WIDTH - RIGHT + 16, TOP + 10 + 20 * index
    yield mark(shape, x, y, colour)
    yield f'<text x="{x + 10}" y="{y + 4}">{escape(name)}</text>'


def axis_lines(x_axis, y_axis, place):
    """The grid, the ticks, and the names of both axes."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for value in y_axis.ticks:
        y = place(None, value)[1]
        yield (f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" '
               f'class="grid"/>')
        yield (f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
               f'{number(value)}</text>')
    for value in x_axis.ticks:
        x = place(value, None)[0]
        yield (f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" '
               f'y2="{bottom + 5}" class="axis"/>')
        yield (f'<text x="{x:.1f}" y="{bottom + 19}" text-anchor="middle">'
               f'{number(value)}</text>')
    yield (f'<path d="M{LEFT} {TOP} V{bottom} H{right}" fill="none" '
           f'class="axis"/>')
    yield (f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 14}" '
           f'text-anchor="middle">{escape(x_axis.label)}</text>')
    middle = (TOP + bottom) / 2
    yield (f'<text x="18" y="{middle}" text-anchor="middle" '
           f'transform="rotate(-90 18 {middle})">{escape(y_axis.label)}'
           f'</text>')


def draw(title, x_axis, y_axis, series):
    """The text of an SVG file; series are (name, [(x, y), ...])."""
    def place(x, y):
        return (LEFT + x_axis.part(x) * (WIDTH - LEFT - RIGHT)
                if x is not None else LEFT,
                HEIGHT - BOTTOM - y_axis.part(y) * (HEIGHT - TOP - BOTTOM)
                if y is not None else HEIGHT - BOTTOM)

    lines = [
        "<!-- SPDX-License-Identifier: BSD-2-Clause -->",
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
        f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" class="page"/>',
        f'<text x="{LEFT}" y="24" class="title">{escape(title)}</text>',
    ]
    lines += axis_lines(x_axis, y_axis, place)
    for index, (name, points) in enumerate(series):
        lines += series_lines(index, name, points, place)
    return "\n".join(lines) + "\n</svg>\n"
