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
The C++ controller of docs/first_controller.md, compiled with the real messages.

rclcpp has no wheel, so a stub of a few lines replaces it. test_docs_commands.py flies the Python
controller.
"""

import os
from pathlib import Path
import shutil
import subprocess

from docs_blocks import blocks, ROOT
import pytest

RCLCPP = """
#include <iostream>
#include <memory>
#include <string>
#include <type_traits>

#include <sensor_msgs/msg/imu.hpp>

namespace rclcpp {
template<typename M> struct Publisher {
  using SharedPtr = std::shared_ptr<Publisher>;
  void publish(const M & m) {
    std::cout << m.fields << ' ' << m.aileron << ' ' << m.elevator << std::endl;
  }
};
struct Callback {
  virtual ~Callback() = default;
  virtual void call(const sensor_msgs::msg::Imu &) = 0;
};
template<typename M> struct Subscription {using SharedPtr = std::shared_ptr<Subscription>;};
class Node {
public:
  explicit Node(const std::string &) {}
  template<typename T> T declare_parameter(const std::string &, T value) {return value;}
  template<typename M> typename Publisher<M>::SharedPtr create_publisher(
    const std::string &, int) {return std::make_shared<Publisher<M>>();}
  template<typename M, typename F> typename Subscription<M>::SharedPtr create_subscription(
    const std::string &, int, F function) {
    static_assert(std::is_invocable_v<F, const M &>);
    struct Held : Callback {
      F f;
      explicit Held(F g) : f(g) {}
      void call(const sensor_msgs::msg::Imu & imu) override {f(imu);}
    };
    callback = std::make_shared<Held>(function);
    return std::make_shared<Subscription<M>>();
  }
  std::shared_ptr<Callback> callback;
};
inline void init(int, char **) {}
inline void shutdown() {}
// One message: level, at rest, heading east.
inline void spin(std::shared_ptr<Node> node) {
  sensor_msgs::msg::Imu imu;
  imu.header.stamp.sec = 1;
  imu.orientation.w = 1.0;
  node->callback->call(imu);
}
}
"""


@pytest.mark.slow
def test_the_first_controller_in_cpp_commands_right_wing_down_and_nose_up(tmp_path):
    (source,) = [
        block for block in blocks(ROOT / 'docs/first_controller.md') if block.language == 'cpp']
    includes = [
        Path(prefix) / 'include' for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(':')]
    includes = [
        package for include in includes if include.is_dir() for package in include.iterdir()]
    if shutil.which('g++') is None or not any(
            (include / 'sensor_msgs/msg/imu.hpp').exists() for include in includes):
        pytest.skip('needs g++ and the C++ messages')
    (tmp_path / 'rclcpp').mkdir()
    (tmp_path / 'rclcpp' / 'rclcpp.hpp').write_text(RCLCPP)
    file = tmp_path / source.options['file']
    file.write_text('\n'.join(source.lines) + '\n')
    program = tmp_path / 'controller'
    compiled = subprocess.run(
        ['g++', '-std=c++17', '-O0', '-Wall', '-Wextra', '-Werror', f'-I{tmp_path}',
         *(f'-isystem{include}' for include in includes), str(file), '-o', str(program)],
        capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr
    fields, aileron, elevator = map(
        float, subprocess.run([program], capture_output=True, text=True).stdout.split())
    # ELEVATOR 1 and AILERON 2; bank is 20 degrees off and pitch 3.
    assert fields == 3
    assert aileron == pytest.approx(0.8 * 0.349066, rel=1e-4)
    assert elevator == pytest.approx(1.5 * 0.0523599, rel=1e-4)
