"""A simulated X-Plane with the plugin, in this process, that a test can look into."""

from contextlib import contextmanager

from xplane_bridge.simulators.aircraft import Aircraft
from xplane_bridge.simulators.endpoints import UdpEndpoint
from xplane_bridge.simulators.server import running
from xplane_bridge.simulators.world import World
from xplane_bridge.simulators.xpc import XpcFace


class XpcPeer:
    """What a test sees of it, each between two frames."""

    def __init__(self, server, face):
        self.server = server
        self.face = face

    @property
    def port(self):
        """Return the UDP port that it listens to."""
        return self.face.endpoint.address[1]

    @property
    def screen(self):
        """Return what the plugin shows."""
        return self.server.call(lambda _: self.face.plugin.screen)

    @property
    def received(self):
        """Return how many datagrams the plugin has handled."""
        return self.server.call(lambda _: self.face.plugin.counters.handled)

    def world(self, name):
        """Return an attribute of the world."""
        return self.server.call(lambda world: getattr(world, name))

    def state(self, name):
        """Return a figure of the aircraft's state."""
        return getattr(self.server.state(), name)

    def jsbsim(self, name):
        """Return a property of JSBSim, as it has it."""
        return self.server.call(lambda world: world.aircraft.property_value(name))

    def dataref(self, name):
        """Return the values of a dataref."""
        return self.server.call(lambda _: self.face.store.read(name).values)

    def pause(self, on=True):
        """Stop time as X-Plane's own pause does: frames go on, with the same state in each."""
        def pause(world):
            world.paused = on

        self.server.call(pause)


@contextmanager
def flying(make_world=lambda: World(Aircraft()), frame_rate=60.0, port=0, **options):
    """Run X-Plane with the plugin for as long as the context lasts."""
    face = XpcFace(UdpEndpoint(port=port), **options)
    with running(face, make_world=make_world, frame_rate=frame_rate) as server:
        yield XpcPeer(server, face)
