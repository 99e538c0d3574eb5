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

/// The topics around a control law: docs/reference/controllers.md of xplane_bridge has the contract.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nav_msgs/msg/odometry.hpp>
#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/imu.hpp>
#include <sensor_msgs/msg/nav_sat_fix.hpp>
#include <xplane_bridge/msg/air_data.hpp>
#include <xplane_bridge/msg/autopilot_target.hpp>
#include <xplane_bridge/msg/flight_controls.hpp>

#include "my_controller_cpp/law.hpp"

using my_controller_cpp::Controls;
using my_controller_cpp::Law;
using my_controller_cpp::State;
using my_controller_cpp::Target;
using nav_msgs::msg::Odometry;
using sensor_msgs::msg::Imu;
using sensor_msgs::msg::NavSatFix;
using xplane_bridge::msg::AirData;
using xplane_bridge::msg::AutopilotTarget;
using xplane_bridge::msg::FlightControls;

template<typename Message>
std::int64_t nanoseconds(const Message & message)
{
  return message.header.stamp.sec * std::int64_t{1000000000} + message.header.stamp.nanosec;
}

/// Hears the aircraft and what is to be held; answers each state once.
class MyController : public rclcpp::Node
{
public:
  MyController()
  : Node("my_controller"), lockstep_(declare_parameter("lockstep", false)),
    behind_sensors_(declare_parameter("behind_sensors", false))
  {
    publisher_ = create_publisher<FlightControls>("command/controls", 1);
    // The first subscription: what was heard together is handled in this order.
    subscriptions_.push_back(
      create_subscription<AutopilotTarget>(
        "command/target", rclcpp::QoS(10).transient_local(), [this](const AutopilotTarget & message) {
          coming_.push_back(message);
          answer();
        }));
    hear("fix", fix_, lockstep_);
    hear("air_data", air_, lockstep_);
    hear("odom", odom_, lockstep_);
    hear("controls", controls_, lockstep_);
    // The last one: behind sensors what is delivered with a state has come before it.
    hear("imu/data", imu_, true);
  }

private:
  /// Keep the newest message of a topic; those that a command waits for are answered.
  template<typename Message>
  void hear(const std::string & topic, std::optional<Message> & newest, bool answered)
  {
    subscriptions_.push_back(
      create_subscription<Message>(
        topic, 10, [this, &newest, answered](const Message & message) {
          if (!is_known(message)) {
            return;
          }
          newest = message;
          if (answered) {
            answer();
          }
        }));
  }

  /// Without a fix the last one is as good as any.
  static bool is_known(const NavSatFix & fix)
  {
    return !std::isnan(fix.altitude);
  }

  template<typename Message>
  static bool is_known(const Message &)
  {
    return true;
  }

  /// Command for the newest state, unless that is done or nothing is to be held.
  void answer()
  {
    if (!imu_ || !fix_ || !air_) {
      return;
    }
    const std::int64_t now = nanoseconds(*imu_);
    // In lockstep the simulator waits for the command, so all of a state comes; but sensors
    // deliver the others more seldom, and later.
    if (lockstep_ && controls_ && nanoseconds(*controls_) != now) {
      return;
    }
    if (lockstep_ && !behind_sensors_ && (nanoseconds(*fix_) != now ||
      nanoseconds(*air_) != now || (odom_ && nanoseconds(*odom_) != now)))
    {
      return;
    }
    while (!coming_.empty() && nanoseconds(coming_.front()) <= now) {
      take(coming_.front());
      coming_.pop_front();
    }
    if (!holds_ || now <= answered_) {
      return;
    }
    const State state = measured();
    if (!law_) {
      law_.emplace(
        state, controls_ ? Controls{controls_->elevator, 0.0, 0.0, controls_->throttle} :
        Controls{0.0, 0.0, 0.0, 0.74});
    }
    const Controls controls = law_->update(state, target_, std::min((now - answered_) * 1e-9, 0.2));
    FlightControls command;
    command.header.stamp = imu_->header.stamp;
    command.fields = FlightControls::ELEVATOR | FlightControls::AILERON | FlightControls::RUDDER |
      FlightControls::THROTTLE;
    command.elevator = controls.elevator;
    command.aileron = controls.aileron;
    command.rudder = controls.rudder;
    command.throttle = controls.throttle;
    publisher_->publish(command);
    answered_ = now;
  }

  /// Hold what is set, and what was held before; or release the aircraft.
  void take(const AutopilotTarget & message)
  {
    if (message.fields & AutopilotTarget::RELEASE) {
      target_ = Target{};
      law_.reset();
      holds_ = false;
      return;
    }
    holds_ = true;
    if (message.fields & AutopilotTarget::ALTITUDE) {
      target_.altitude = message.altitude;
    }
    if (message.fields & AutopilotTarget::AIRSPEED) {
      target_.airspeed = message.airspeed;
    }
    if (message.fields & AutopilotTarget::TRUE_HEADING) {
      target_.true_heading = message.true_heading;
      target_.course.reset();
    }
    if (message.fields & AutopilotTarget::COURSE) {
      target_.course = message.course;
      target_.true_heading.reset();
    }
  }

  State measured() const
  {
    const auto & q = imu_->orientation;
    const auto & rates = imu_->angular_velocity;
    const auto v = odom_ ? odom_->twist.twist.linear : Odometry().twist.twist.linear;
    State now;
    now.roll = std::atan2(2 * (q.w * q.x + q.y * q.z), 1 - 2 * (q.x * q.x + q.y * q.y));
    now.pitch = -std::asin(my_controller_cpp::limited(2 * (q.w * q.y - q.z * q.x)));
    now.heading = 1.5707963267948966 -
      std::atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y * q.y + q.z * q.z));
    now.course = now.heading +
      std::atan2(v.z * std::sin(now.roll) - v.y * std::cos(now.roll), v.x);
    now.roll_rate = rates.x;
    now.pitch_rate = -rates.y;
    now.yaw_rate = -rates.z;
    now.altitude = fix_->altitude;
    // Some simulators report the true airspeed only.
    now.airspeed = std::isnan(air_->indicated_airspeed) ?
      air_->true_airspeed : air_->indicated_airspeed;
    return now;
  }

  const bool lockstep_;
  const bool behind_sensors_;
  std::optional<Imu> imu_;
  std::optional<NavSatFix> fix_;
  std::optional<AirData> air_;
  std::optional<Odometry> odom_;
  std::optional<FlightControls> controls_;
  std::deque<AutopilotTarget> coming_;
  std::optional<Law> law_;
  Target target_;
  bool holds_ = false;
  std::int64_t answered_ = 0;
  rclcpp::Publisher<FlightControls>::SharedPtr publisher_;
  std::vector<rclcpp::SubscriptionBase::SharedPtr> subscriptions_;
};

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  rclcpp::spin(std::make_shared<MyController>());
  rclcpp::shutdown();
  return 0;
}
