# Copyright 2026 xplane_bridge contributors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.


"""
Draw the aircraft's URDF with matplotlib: docs/images/aircraft_model.png.

draw_aircraft.py xplane_bridge/data/view/aircraft.urdf docs/images/aircraft_model.png
"""

import math
import sys

import matplotlib
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
import numpy as np

from xplane_bridge.bridges.conversions import aircraft_model
from xplane_bridge.bridges.conversions.axes import rotate

matplotlib.use('Agg')
from matplotlib import pyplot
from matplotlib.transforms import Bbox

LIGHT = np.array((0.4, 0.3, 0.85)) / math.hypot(0.4, 0.3, 0.85)
POSES = (
    ('controls centred', {'throttle': 0.0}, 0.35),
    ('aileron 1 (right wing down), elevator 1 (nose up),\nrudder 1 (nose right), flaps 1',
     {'aileron': 1.0, 'elevator': 1.0, 'rudder': 1.0, 'flaps': 1.0}, 1.2),
)


def faces(shape):
    """Return the faces of a shape in its link's frame, each an array of points."""
    if shape.kind == 'box':
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        points = corners * np.array(shape.size) / 2.0
        found = [points[list(one)] for one in (
            (0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))]
    elif shape.kind == 'cylinder':
        radius, length = shape.size
        turn = np.linspace(0.0, math.tau, 25)
        ring = np.stack((radius * np.cos(turn), radius * np.sin(turn), 0.0 * turn), axis=1)
        low, high = ring - (0, 0, length / 2.0), ring + (0, 0, length / 2.0)
        found = [low, high, *(np.array((low[i], low[i + 1], high[i + 1], high[i]))
                              for i in range(24))]
    else:
        u, v = np.linspace(0.0, math.tau, 13), np.linspace(-math.pi / 2, math.pi / 2, 7)
        grid = shape.size[0] * np.array([[
            (math.cos(b) * math.cos(a), math.cos(b) * math.sin(a), math.sin(b)) for a in u]
            for b in v])
        found = [np.array((grid[i, j], grid[i, j + 1], grid[i + 1, j + 1], grid[i + 1, j]))
                 for i in range(6) for j in range(12)]
    return [np.array([rotate(shape.orientation, point) for point in face])
            + np.array(shape.position) for face in found]


def draw(axes, model, controls, propeller):
    """Draw the aircraft with its controls at these values."""
    angles = {**model.positions(controls), aircraft_model.PROPELLER: propeller}
    placed = {joint.child: (joint.position, joint.rotation(angles[name]))
              for name, joint in model.joints.items()}
    polygons, colours = [], []
    for link, shapes in model.links.items():
        at, rotation = placed.get(link, ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)))
        for shape in shapes:
            for face in faces(shape):
                points = np.array([rotate(rotation, point) for point in face]) + at
                normal = np.cross(points[1] - points[0], points[2] - points[0])
                length = max(float(np.linalg.norm(normal)), 1e-9)
                shade = 0.62 + 0.38 * abs(normal @ LIGHT) / length
                # Small pieces are sorted better by distance than long ones.
                for piece in cut(points):
                    polygons.append(piece)
                    colours.append(np.array(shape.colour[:3]) * shade)
    axes.add_collection3d(Poly3DCollection(
        polygons, facecolors=colours, edgecolors='none', clip_on=False))


def cut(points, longest=0.35):
    """Return the pieces of a quadrilateral; others as they are."""
    if len(points) != 4:
        return [points]
    a, b, c, d = points
    along = max(1, math.ceil(np.linalg.norm(b - a) / longest))
    across = max(1, math.ceil(np.linalg.norm(d - a) / longest))

    def at(i, j):
        s, t = i / along, j / across
        return a * (1 - s) * (1 - t) + b * s * (1 - t) + c * s * t + d * (1 - s) * t

    return [np.array((at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)))
            for i in range(along) for j in range(across)]


def main(urdf, picture):
    """Draw it twice, seen from behind, from the left and above."""
    model = aircraft_model.load(urdf)
    figure = pyplot.figure(figsize=(13.0, 4.6))
    for number, (title, controls, propeller) in enumerate(POSES, start=1):
        axes = figure.add_subplot(1, 2, number, projection='3d', proj_type='persp')
        draw(axes, model, controls, propeller)
        axes.set(xlim=(-5.6, 2.6), ylim=(-5.6, 5.6), zlim=(-2.4, 2.4))
        axes.set_box_aspect((8.2, 11.2, 4.8), zoom=1.3)
        axes.view_init(elev=28.0, azim=152.0)
        axes.set_axis_off()
        axes.set_title(title, y=0.9, fontsize=11)
    figure.subplots_adjust(0.0, 0.0, 1.0, 1.0, 0.0)
    figure.savefig(picture, dpi=85, bbox_inches=Bbox.from_extents(0.8, 1.2, 12.3, 4.3))


if __name__ == '__main__':
    main(*sys.argv[1:])
