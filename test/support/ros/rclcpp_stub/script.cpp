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

/// Spin a node with the messages that stand on stdin, a state or a target on each line:
///
/// state SEC NANOSEC  QW QX QY QZ  RATE RATE RATE  ALTITUDE INDICATED TRUE  V V V  ELEVATOR THROTTLE
/// sensed, as state: behind sensors that deliver imu/data only
/// target SEC NANOSEC FIELDS ALTITUDE TRUE_HEADING COURSE AIRSPEED

#include <iostream>
#include <sstream>
#include <string>

#include <nav_msgs/msg/odometry.hpp>
#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/imu.hpp>
#include <sensor_msgs/msg/nav_sat_fix.hpp>
#include <xplane_bridge/msg/air_data.hpp>
#include <xplane_bridge/msg/autopilot_target.hpp>
#include <xplane_bridge/msg/flight_controls.hpp>

static void say_state(rclcpp::Node & node, std::istream & line, bool all)
{
  sensor_msgs::msg::Imu imu;
  sensor_msgs::msg::NavSatFix fix;
  xplane_bridge::msg::AirData air;
  xplane_bridge::msg::FlightControls controls;
  nav_msgs::msg::Odometry odom;
  auto & q = imu.orientation;
  auto & rates = imu.angular_velocity;
  auto & v = odom.twist.twist.linear;
  line >> imu.header.stamp.sec >> imu.header.stamp.nanosec;
  for (double * value : {&q.w, &q.x, &q.y, &q.z, &rates.x, &rates.y, &rates.z, &fix.altitude,
      &air.indicated_airspeed, &air.true_airspeed, &v.x, &v.y, &v.z, &controls.elevator,
      &controls.throttle})
  {
    // A stream reads no nan.
    std::string word;
    line >> word;
    *value = std::stod(word);
  }
  fix.header = air.header = controls.header = odom.header = imu.header;
  if (!all) {
    node.say("controls", controls);
    node.say("imu/data", imu);
    return;
  }
  node.say("fix", fix);
  node.say("imu/data", imu);
  node.say("air_data", air);
  node.say("controls", controls);
  node.say("odom", odom);
}

void rclcpp::spin(std::shared_ptr<rclcpp::Node> node)
{
  for (std::string text; std::getline(std::cin, text); ) {
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    if (kind == "state" || kind == "sensed") {
      say_state(*node, line, kind == "state");
    } else {
      xplane_bridge::msg::AutopilotTarget target;
      line >> target.header.stamp.sec >> target.header.stamp.nanosec >> target.fields >>
      target.altitude >> target.true_heading >> target.course >> target.airspeed;
      node->say("command/target", target);
    }
  }
}
