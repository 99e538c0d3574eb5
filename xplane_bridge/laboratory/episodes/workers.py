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
Processes that fly the aircraft of a vector environment, each a share of them in turn.

A step is one short message to a process and one back. Numbers are in memory that all share, a
record for each environment; a reply has only what is not there, which is rarely anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
import multiprocessing
from multiprocessing.connection import Connection
import os
import pickle
import select
import signal
import socket
import struct
import time
import traceback
from typing import Any, NoReturn, SupportsFloat

import cloudpickle
from gymnasium import Env, Space
from gymnasium.vector import AutoresetMode
import numpy as np
from numpy.typing import NDArray

SHARED = ('time', 'engaged')
"""What each step's info has, in the records."""

Infos = list[tuple[int, dict[str, Any]]]
"""What else is in the info of which environment."""

# The whole message of a step, and the whole reply where there is nothing to say.
_STEP, _NOTHING = b's', b''
# Where a worker is that waits for a message; otherwise it is at an environment.
_AT_NONE = -1
_UNREADY = (
    ". It imported your program, as a new process does: what is to run once stands below "
    "if __name__ == '__main__'")
# How long (s) a process that ends may take to do so.
_PATIENCE = 5.0


class WorkerError(RuntimeError):
    """A worker process has ended, or does not go on; the vector environment is closed then."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """What an environment raised, as text: not every exception survives being sent."""

    at: int
    sentence: str
    trace: str
    of_value: bool


def record(observations: Space[Any], actions: Space[Any]) -> np.dtype[Any]:
    """Return the layout of what is known of an environment."""
    return np.dtype([
        ('observation', observations.dtype, observations.shape),
        ('action', np.float64, actions.shape), ('reward', np.float64), ('time', np.float64),
        ('engaged', np.bool_), ('terminated', np.bool_), ('truncated', np.bool_)], align=True)


class Workers:
    """
    The processes; ``rows`` has a record for each environment, ``actions`` are written there.

    ``make`` makes an environment in its process. No environment may take longer than ``timeout``
    (s) for what is asked of it, without the time that its process waits for a processor.
    """

    def __init__(
        self, make: Callable[[], Env[Any, Any]], count: int, num_envs: int,
        layout: np.dtype[Any], mode: AutoresetMode, context: str, timeout: float,
    ) -> None:
        chosen = multiprocessing.get_context(context)
        self._timeout, self._owner = timeout, os.getpid()
        self._ready = False
        self._pipes: list[Connection] = []
        self._polls: list[select.poll] = []
        self._processes: list[Any] = []
        bounds = [number * num_envs // count for number in range(count + 1)]
        self._shares = [range(*ends) for ends in zip(bounds, bounds[1:], strict=False)]
        memory = chosen.RawArray('b', num_envs * layout.itemsize)
        self._at = chosen.RawArray('q', [_AT_NONE] * count)
        self.rows: NDArray[Any] = np.frombuffer(memory, layout)
        packed = cloudpickle.dumps(make)
        try:
            for number, share in enumerate(self._shares):
                pipe, other = chosen.Pipe()
                self._pipes.append(pipe)
                process = chosen.Process(  # type: ignore[attr-defined]
                    target=_work, name=f'worker {number}', daemon=True,
                    args=(packed, other, tuple(self._pipes), share, memory, layout, self._at,
                          number, mode))
                _bound(pipe, timeout)
                # Connection.poll() makes a new one each time, which takes longer than to poll.
                self._polls.append(poll := select.poll())
                poll.register(pipe, select.POLLIN)
                self._processes.append(process)
                process.start()
                # Its end must be nobody else's, so that reading ends when the process does.
                other.close()
            # They say so when their environments are made.
            self._ask(())
            self._ready = True
        except BaseException:
            self.kill()
            raise

    def step(self) -> Infos:
        """Step all environments by the actions in ``rows``; ValueError if one raised it."""
        return self._ask([_STEP] * len(self._pipes))

    def reset(self, seeds: Sequence[int | None], options: Mapping[str, Any] | None,
              chosen: Sequence[bool]) -> Infos:
        """Reset those that are chosen."""
        return self._ask([
            _packed('reset', _of(seeds, share), options, _of(chosen, share))
            for share in self._shares])

    def restore(self, snapshots: Sequence[Any]) -> Infos:
        """Restore a snapshot in each."""
        return self._ask([_packed('restore', _of(snapshots, share)) for share in self._shares])

    def call(self, name: str, *given: Any, **named: Any) -> tuple[Any, ...]:
        """Return an attribute of each environment, or what it returns when called."""
        found = self._ask([_packed('call', name, given, named)] * len(self._pipes))
        return tuple(value for _, value in found)

    def set_attr(self, name: str, values: Sequence[Any]) -> None:
        """Set an attribute of each environment."""
        self._ask([_packed('set_attr', name, _of(values, share)) for share in self._shares])

    @property
    def alive(self) -> bool:
        """Return whether they have not been ended."""
        return bool(self._processes)

    def close(self) -> None:
        """Close all environments and end their processes."""
        if os.getpid() != self._owner:
            # A copy in a process that was forked, where garbage is collected too.
            return
        try:
            with suppress(WorkerError):
                self._ask([_packed('close')] * len(self._pipes))
            for process in self._processes:
                process.join(_PATIENCE)
        finally:
            self.kill()

    def kill(self) -> None:
        """End the processes at once."""
        for process in self._processes:
            if process.pid is not None:
                process.kill()
                process.join(_PATIENCE)
        for pipe in self._pipes:
            pipe.close()
        self._processes, self._pipes = [], []

    def _ask(self, messages: Sequence[bytes]) -> list[Any]:
        """Return what the workers answer, in the order of the environments."""
        try:
            for number, message in enumerate(messages):
                try:
                    self._pipes[number].send_bytes(message)
                except BlockingIOError:
                    self._hangs(number)
                except OSError:
                    self._ended(number)
            answers, failure = self._answers()
        except BaseException:
            # What is still said would be taken for the answer to the next question.
            self.kill()
            raise
        if failure is not None:
            raise failure
        return answers

    def _answers(self) -> tuple[list[Any], Exception | None]:
        """Return what all workers say, and what an environment raised, if one did."""
        answers: list[Any] = []
        failure: Exception | None = None
        for number in range(len(self._pipes)):
            data = self._receive(number)
            answer = pickle.loads(data) if data != _NOTHING else []
            if not isinstance(answer, _Failure):
                answers += answer
            elif failure is None:
                sentence = f'environment {answer.at} (worker {number}): {answer.sentence}'
                failure = (ValueError if answer.of_value else RuntimeError)(sentence)
                failure.add_note(answer.trace)
        return answers, failure

    def _receive(self, number: int) -> bytes:
        at, since = None, 0.0
        while not self._polls[number].poll(self._timeout * 250.0):
            # On a busy machine a worker waits for its turn, which is no fault of its environment.
            now = time.monotonic() - _starved(self._processes[number].pid)
            if self._at[number] != at:
                at, since = self._at[number], now
            elif now - since > self._timeout:
                self._hangs(number)
        try:
            return self._pipes[number].recv_bytes()
        except BlockingIOError:
            self._hangs(number)
        except (EOFError, OSError):
            self._ended(number)

    def _hangs(self, number: int) -> NoReturn:
        raise WorkerError(
            f'{self._name(number)} has not answered for {self._timeout:g} s'
            f'{self._where(number)}: all are closed') from None

    def _ended(self, number: int) -> NoReturn:
        process = self._processes[number]
        process.join(_PATIENCE)
        raise WorkerError(
            f'{self._name(number)} has ended with exit code {process.exitcode}'
            f'{self._where(number)}: all are closed{"" if self._ready else _UNREADY}') from None

    def _name(self, number: int) -> str:
        first, last = self._shares[number][0], self._shares[number][-1]
        which = f'environment {first}' if first == last else f'environments {first} to {last}'
        return f'worker {number} ({which})'

    def _where(self, number: int) -> str:
        at = self._at[number]
        return '' if at == _AT_NONE else f', at environment {at}'


class _Share:
    """The environments of one worker."""

    def __init__(self, numbers: range, rows: NDArray[Any], note: Callable[[int], None],
                 mode: AutoresetMode) -> None:
        self._numbers, self._note, self._mode = numbers, note, mode
        self._observations, self._actions = rows['observation'], rows['action']
        self._rewards = rows['reward']
        self._terminated, self._truncated = rows['terminated'], rows['truncated']
        self._shared = [(name, rows[name]) for name in SHARED]
        self._envs: list[Env[Any, Any]] = []
        # Plain ones: numpy takes five times as long to look at one.
        self._over = [False] * len(numbers)

    def make(self, packed: bytes) -> None:
        for number in self._numbers:
            self._note(number)
            # Each has functions of its own, as it has where it is alone: they may remember things.
            self._envs.append(pickle.loads(packed)())

    def step(self) -> Infos:
        infos: Infos = []
        reward: SupportsFloat
        for place, env in enumerate(self._envs):
            self._note(self._numbers[place])
            if self._over[place] and self._mode is AutoresetMode.NEXT_STEP:
                observation, info = env.reset()
                reward, terminated, truncated = 0.0, False, False
            else:
                observation, reward, terminated, truncated, info = env.step(self._actions[place])
            over = self._over[place] = terminated or truncated
            if over and self._mode is AutoresetMode.SAME_STEP:
                last = {'final_obs': observation, 'final_info': info}
                observation, info = env.reset()
                info = last | info
            self._rewards[place] = reward
            self._terminated[place], self._truncated[place] = terminated, truncated
            self._tell(place, observation, info, infos)
        return infos

    def reset(self, seeds: Sequence[int | None], options: dict[str, Any] | None,
              chosen: Sequence[bool]) -> Infos:
        return self._begin(
            chosen, lambda place, env: env.reset(seed=seeds[place], options=options))

    def restore(self, snapshots: Sequence[Any]) -> Infos:
        return self._begin(
            [True] * len(self._envs),
            lambda place, env: env.unwrapped.restore(snapshots[place]))  # type: ignore[attr-defined]

    def call(self, name: str, given: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        return self._each(lambda _, env: (
            value(*given, **named) if callable(value := env.get_wrapper_attr(name)) else value))

    def set_attr(self, name: str, values: Sequence[Any]) -> None:
        self._each(lambda place, env: env.set_wrapper_attr(name, values[place]))

    def close(self) -> None:
        self._each(lambda _, env: env.close())

    def _each(self, do: Callable[[int, Env[Any, Any]], Any]) -> list[tuple[int, Any]]:
        found = []
        for place, env in enumerate(self._envs):
            self._note(self._numbers[place])
            found.append((self._numbers[place], do(place, env)))
        return found

    def _begin(self, chosen: Sequence[bool], begin: Callable[[int, Env[Any, Any]], Any]) -> Infos:
        infos: Infos = []
        for place, env in enumerate(self._envs):
            if not chosen[place]:
                continue
            self._note(self._numbers[place])
            observation, info = begin(place, env)
            self._terminated[place] = self._truncated[place] = self._over[place] = False
            self._tell(place, observation, info, infos)
        return infos

    def _tell(self, place: int, observation: Any, info: dict[str, Any], infos: Infos) -> None:
        self._observations[place] = observation
        for name, values in self._shared:
            values[place] = info.pop(name)
        if info:
            infos.append((self._numbers[place], info))


def _work(
    packed: bytes, pipe: Connection, others: Sequence[Connection], numbers: range, memory: Any,
    layout: np.dtype[Any], at: Any, worker: int, mode: AutoresetMode,
) -> None:
    """Fly a share of the environments, in a process of its own, until told to close."""
    # Ctrl-C is for whoever asks. SIG_IGN would be inherited by what an environment starts.
    signal.signal(signal.SIGINT, lambda *_: None)
    # The program that is imported here may have a handler of its own for it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Of whoever asks; as long as one is open here, reading would not end with that process.
    for other in others:
        other.close()
    rows = np.frombuffer(memory, layout)[numbers.start:numbers.stop]

    def note(number: int) -> None:
        at[worker] = number

    def answer(do: Callable[..., Any], *given: Any) -> None:
        try:
            found = do(*given)
            data = pickle.dumps(found) if found else _NOTHING
        except Exception as error:
            data = pickle.dumps(_Failure(
                at[worker], _said(error), traceback.format_exc(), isinstance(error, ValueError)))
        note(_AT_NONE)
        pipe.send_bytes(data)

    share = _Share(numbers, rows, note, mode)
    with suppress(EOFError, OSError):
        # Until whoever asks is gone. To watch for that in a thread costs a tenth of each step.
        answer(share.make, packed)
        while True:
            message = pipe.recv_bytes()
            name, *given = ('step',) if message == _STEP else pickle.loads(message)
            answer(getattr(share, name), *given)
            if name == 'close':
                return


def _starved(pid: int) -> float:
    """Return how long (s) a process has waited for a processor; 0 where that is not told."""
    try:
        with open(f'/proc/{pid}/schedstat') as file:
            return int(file.read().split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        return 0.0


def _bound(pipe: Connection, seconds: float) -> None:
    """Let no reading or writing of a part of a message take longer: BlockingIOError then."""
    with socket.socket(fileno=os.dup(pipe.fileno())) as end:
        whole = int(seconds)
        limit = struct.pack('ll', whole, max(int((seconds - whole) * 1e6), 1))
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else f'{type(error).__name__}: {error}'


def _packed(name: str, *given: Any) -> bytes:
    """Return a message; functions within are sent as they are, wherever they were defined."""
    data: bytes = cloudpickle.dumps((name, *given))
    return data


def _of(values: Sequence[Any], share: range) -> list[Any]:
    return list(values[share.start:share.stop])
