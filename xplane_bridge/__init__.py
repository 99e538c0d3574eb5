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

"""Connect a ROS 2 autonomy stack to a flight or space simulator."""

import os
import pkgutil

if not os.path.isdir(os.path.join(__path__[0], 'msg')):
    # This is the checkout's folder, which Python finds first if it is the current folder; the
    # messages are in the built package of the same name. Only in this case: of two installed
    # versions, only the first may be used.
    __path__ = pkgutil.extend_path(__path__, __name__)
