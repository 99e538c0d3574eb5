// Copyright 2026 xplane_bridge contributors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

/// What the controllers in docs and examples use of rclcpp, for machines that have only the
/// messages: topics are function calls, and commands are printed. The test's own script.cpp spins.

#ifndef RCLCPP__RCLCPP_HPP_
#define RCLCPP__RCLCPP_HPP_

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>

namespace rclcpp
{

struct QoS
{
  QoS(std::size_t) {}
  QoS & transient_local() {return *this;}
};

template<typename Message>
struct Publisher
{
  using SharedPtr = std::shared_ptr<Publisher>;

  void publish(const Message & command)
  {
    std::printf(
      "%d %u %u %.17g %.17g %.17g %.17g\n", command.header.stamp.sec, command.header.stamp.nanosec,
      command.fields, command.elevator, command.aileron, command.rudder, command.throttle);
  }
};

struct SubscriptionBase
{
  using SharedPtr = std::shared_ptr<SubscriptionBase>;
};

template<typename Message>
struct Subscription : SubscriptionBase
{
  using SharedPtr = std::shared_ptr<Subscription>;
};

class Node
{
public:
  explicit Node(const std::string &) {}

  /// A parameter that is a bool is true if the environment has it.
  template<typename T>
  T declare_parameter(const std::string & name, const T & value)
  {
    if constexpr (std::is_same_v<T, bool>) {
      return value || std::getenv(name.c_str()) != nullptr;
    }
    return value;
  }

  template<typename Message>
  typename Publisher<Message>::SharedPtr create_publisher(const std::string &, const QoS &)
  {
    return std::make_shared<Publisher<Message>>();
  }

  template<typename Message, typename Function>
  typename Subscription<Message>::SharedPtr create_subscription(
    const std::string & topic, const QoS &, Function function)
  {
    static_assert(std::is_invocable_v<Function, const Message &>);
    callbacks_[topic] = [function](const void * message) {
        function(*static_cast<const Message *>(message));
      };
    return std::make_shared<Subscription<Message>>();
  }

  template<typename Message>
  void say(const std::string & topic, const Message & message)
  {
    if (callbacks_.count(topic)) {
      callbacks_[topic](&message);
    }
  }

private:
  std::map<std::string, std::function<void(const void *)>> callbacks_;
};

inline void init(int, char **) {}
inline void shutdown() {}
void spin(std::shared_ptr<Node> node);

}  // namespace rclcpp

#endif  // RCLCPP__RCLCPP_HPP_
