// SPDX-License-Identifier: LGPL-2.1-or-later
// Kinds of messages.
#pragma once

#include <gst/gst.h>

#include <string>

#include "core/base/result.h"
#include "gst/base/props.h"
#include "gst/publish/counts.h"
#include "gst/publish/mqttclient.h"
#include "gst/sink/frameinfo.h"

namespace keepbox {

/// A set of the kinds of messages.
struct Kinds {
  bool boxes = false;   // the boxes of a frame, as a JSON object
  bool counts = false;  // numbers of objects
  bool tracks = false;  // the beginning, changes and end of objects with a tracking id
  bool lines = false;   // the counts of boxcount's lines, and what crosses them
  bool zones = false;   // those of its zones, and what happens in them

  /// Parses a list such as "boxes,counts", possibly empty. @param property for errors
  static Result<Kinds> parse(const std::string& text, const char* property);
  friend bool operator==(const Kinds&, const Kinds&) = default;
};

// The properties of boxpublish.

/// Property values as set. Plain data: copied under the object lock.
struct PublishProps : JsonProps {
  std::string address = "localhost";
  std::string what = "boxes";
  std::string topic_boxes = "keepbox/{source}/boxes";
  std::string topic_counts = "keepbox/{source}/counts/{class}";
  std::string topic_tracks = "keepbox/{source}/tracks";
  std::string topic_lines = "keepbox/{source}/lines/{name}";
  std::string topic_zones = "keepbox/{source}/zones/{name}";
  std::string topic_zone_counts = "keepbox/{source}/zones/{name}/{class}";
  std::string topic_events = "keepbox/{source}/events";
  std::string topic_availability = "keepbox/{source}/available";
  std::string topic_camera = "keepbox/{source}/camera";
  guint qos = 1;
  std::string retain = "counts,lines,zones", on_change = "counts,lines,zones";
  gdouble rate = 0;             // per second; 0: no limit
  gdouble track_timeout = 1;    // seconds
  gdouble camera_timeout = 10;  // seconds
  std::string client_id, username, password_file;
  std::string ca_file, cert_file, key_file;
  bool verify_host = true;
  guint keep_alive = 30;  // seconds
  guint queue_size = 10000;
  gint64 queue_bytes = gint64{64} << 20;
  std::string queue_location;
  gdouble max_reconnect_interval = 30;  // seconds
  gdouble stop_timeout = 5;             // seconds
};

const PropertyTable<PublishProps>& publish_properties();

/// Checked settings from properties.
struct PublishSettings {
  Kinds what, retain, on_change;
  TopicPattern boxes, counts, tracks, lines, zones, zone_counts, events;

  bool has_topics() const;
  std::string source;  // of topics
  std::string camera;  // topic of the camera's state; empty: none
  WriterOptions writer;
  MqttSettings broker;
};

/// @param element name, for topics if there is no `source`
Result<PublishSettings> publish_settings(const PublishProps& props, const char* element);

}  // namespace keepbox
