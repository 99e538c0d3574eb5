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

"""Stand-in for hypothesis where it is not installed: property tests are skipped."""

import pytest


class _Anything:
    """Any strategy, however constructed, combined or decorated."""

    def __getattr__(self, name):
        return self

    def __call__(self, *_, **__):
        return self

    def __or__(self, _):
        return self


strategies = _Anything()


def given(*_, **__):
    """Return a decorator that skips the test."""
    return pytest.mark.skip(reason='hypothesis is not installed')


class settings:  # noqa: N801 -- its name in hypothesis
    """A decorator that changes nothing."""

    def __init__(self, *_, **__):
        pass

    def __call__(self, test):
        return test

    @staticmethod
    def register_profile(*_, **__):
        """Do nothing."""

    @staticmethod
    def load_profile(*_):
        """Do nothing."""


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    return _Anything()
