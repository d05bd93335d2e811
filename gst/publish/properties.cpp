// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of boxpublish's properties, and what they define.
#include "gst/publish/properties.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/infile.h"
#include "core/base/text.h"

namespace keepbox {
namespace {

constexpr guint kMaxQueue = 1u << 30;
constexpr gint64 kMaxQueueBytes = G_GINT64_CONSTANT(1) << 40;
constexpr gdouble kLongest = 86400;  // seconds
constexpr guint kLongestKeepAlive = 65535;
constexpr size_t kPasswordBytes = 4096;
constexpr const char* kUsernameVariable = "KEEPBOX_MQTT_USERNAME";
constexpr const char* kPasswordVariable = "KEEPBOX_MQTT_PASSWORD";

const Property<PublishProps> kPublishProperties[] = {
    {"address",
     "Address of the broker: HOST, HOST:PORT, mqtt://HOST:PORT or, with TLS, mqtts://HOST:PORT. "
     "The default port is 1883, or 8883 with TLS.",
     &PublishProps::address},
    {"what",
     "Comma-separated list of what is published. boxes: the JSON object of each frame, as boxsink "
     "writes it. counts: the number of boxes of each class, and the total, as plain text. tracks: "
     "JSON objects for the beginning, improvements and end of each object with a tracking id. "
     "lines "
     "and zones: JSON objects with the counts of boxcount, the number of objects of each class in "
     "each zone as plain text, and JSON objects for what happens, which are not retained.",
     &PublishProps::what},
    {"topic-boxes",
     "Topic of the JSON objects of frames. In topics, {source} is the property source or else the "
     "element's name, {class} a class or all, {model} the model of a box and {id} a tracking id.",
     &PublishProps::topic_boxes},
    {"topic-counts",
     "Topic of the number of boxes of a class; without {class}, only the total is published. No "
     "other publisher may use the topics: numbers that an earlier run left there become 0.",
     &PublishProps::topic_counts},
    {"topic-tracks", "Topic of the JSON objects of tracks.", &PublishProps::topic_tracks},
    {"topic-lines",
     "Topic of the JSON object with the crossings of a line; {name} is that of the line.",
     &PublishProps::topic_lines},
    {"topic-zones",
     "Topic of the JSON object with the numbers and times of a zone; {name} is that of the zone.",
     &PublishProps::topic_zones},
    {"topic-zone-counts",
     "Topic of the number of objects of a class in a zone, and with all for {class} of all of "
     "them.",
     &PublishProps::topic_zone_counts},
    {"topic-events",
     "Topic of the JSON objects for what happens at lines and in zones, as boxsink writes them "
     "with "
     "format=events-jsonl.",
     &PublishProps::topic_events},
    {"topic-availability",
     "Topic with the message online while the element is connected, and offline otherwise. If "
     "the connection is lost, the broker publishes offline (an MQTT will). Always retained; "
     "empty means no such topic.",
     &PublishProps::topic_availability},
    {"topic-camera",
     "Topic with the message online while frames arrive, stalled if none arrived for "
     "camera-timeout, and offline before the first frame and after the end of the stream. Always "
     "retained; it stays as it is if the connection is lost, see topic-availability. Empty means "
     "no such topic.",
     &PublishProps::topic_camera},
    {"qos",
     "Delivery of messages. 0: at most once; 1: at least once; 2: exactly once through lost "
     "connections, as long as the broker keeps the session of client-id, which has to be set. "
     "After a crash or a restart with queue-location, it is at least once.",
     &PublishProps::qos, nullptr, 0, 2},
    {"retain",
     "Comma-separated list of the messages (see what) that the broker keeps for later "
     "subscribers. They are published again after each new connection. With counts, those that an "
     "earlier run left on the broker are set to 0 when the first counts are published.",
     &PublishProps::retain},
    {"on-change",
     "Comma-separated list of messages that are published only if they changed. boxes: if the "
     "classes, the number of boxes per class, the tracking ids, or the classes and texts of the "
     "whole frame changed. counts: if the number changed. lines and zones: if a count, the objects "
     "in the "
     "zone or an alarm changed, not if only time passed.",
     &PublishProps::on_change},
    {"rate",
     "Maximum number of messages per second of running time: of boxes, of each count, and of "
     "improvements of each track; 0 means no limit. Boxes wait for a frame that the model looked "
     "at, but for no longer than a turn. Events are not limited. The last counts before EOS are "
     "always published, and then 0.",
     &PublishProps::rate, nullptr, 0, 1000},
    {"track-timeout",
     "Seconds of running time without a box after which a track ends, like lost-after of "
     "boxtrack. Frames that the model skipped end no track.",
     &PublishProps::track_timeout, nullptr, 0, kLongest},
    {"camera-timeout", "Seconds without a frame after which topic-camera is stalled.",
     &PublishProps::camera_timeout, nullptr, 0.1, kLongest},
    {"client-id", "MQTT client id; empty means a random one.", &PublishProps::client_id},
    {"username", "User name; empty means the environment variable KEEPBOX_MQTT_USERNAME, or none.",
     &PublishProps::username},
    {"password-file",
     "File with the password on its first line; empty means the environment variable "
     "KEEPBOX_MQTT_PASSWORD, or none.",
     &PublishProps::password_file},
    {"ca-file",
     "PEM file with the certificates of the authorities that may have issued the broker's; "
     "empty means those of the system.",
     &PublishProps::ca_file},
    {"cert-file", "PEM file with the certificate of the client, if the broker requires one.",
     &PublishProps::cert_file},
    {"key-file", "PEM file with the private key of cert-file, without a pass phrase.",
     &PublishProps::key_file},
    {"verify-host", "Require that the broker's certificate was issued for the host in address.",
     &PublishProps::verify_host},
    {"keep-alive", "Seconds without traffic after which the element pings the broker.",
     &PublishProps::keep_alive, nullptr, 5, kLongestKeepAlive},
    {"queue-size",
     "Maximum number of messages in the queue, which keeps them while the broker cannot take "
     "them. If it is exceeded, the oldest message is dropped and counted in stats; the last one "
     "of a retained topic is dropped after all others. Retained numbers are sent before all other "
     "messages; after an outage only the newest one of each topic is sent.",
     &PublishProps::queue_size, nullptr, 1, kMaxQueue},
    {"queue-bytes",
     "Maximum size of the queue in bytes. If it is exceeded, the oldest messages "
     "are dropped.",
     &PublishProps::queue_bytes, nullptr, 1, static_cast<gdouble>(kMaxQueueBytes)},
    {"queue-location",
     "Folder for the queue, used by this element only, so that messages are published even if "
     "the process ends first: queue.db, an SQLite database. The folder must be this user's, and "
     "no other user may write to it. Empty keeps messages in memory.",
     &PublishProps::queue_location},
    {"max-reconnect-interval",
     "Maximum pause in seconds between attempts to connect, which continue until one succeeds; "
     "the first pause is half a second, and again after a message was confirmed.",
     &PublishProps::max_reconnect_interval, nullptr, 0.01, kLongest},
    {"stop-timeout",
     "Maximum time in seconds for which stopping waits for messages to be delivered; to end the "
     "connection takes up to a second more. Messages that are not delivered by then are lost and "
     "counted as dropped, unless queue-location is set.",
     &PublishProps::stop_timeout, nullptr, 0, kLongest},
};

/// Returns a value, or else that of an environment variable.
std::string or_variable(const std::string& value, const char* variable) {
  const char* other = std::getenv(variable);
  return value.empty() && other != nullptr ? other : value;
}

Result<std::string> password_of(const PublishProps& props) {
  if (props.password_file.empty()) return or_variable({}, kPasswordVariable);
  KB_ASSIGN(const std::string text, read_text(props.password_file, kPasswordBytes,
                                              "set password-file= to a file with the password"));
  return text.substr(0, text.find_first_of("\r\n"));
}

Result<MqttSettings> broker_settings(const PublishProps& props, const std::string& source) {
  MqttSettings out;
  KB_ASSIGN(out.address, BrokerAddress::parse(props.address));
  KB_ASSIGN(out.password, password_of(props));
  KB_ASSIGN(const auto availability,
            TopicPattern::parse(props.topic_availability, "topic-availability"));
  out.availability = availability.of({.source = source});
  out.username = or_variable(props.username, kUsernameVariable);
  out.client_id = props.client_id;
  out.ca_file = props.ca_file;
  out.cert_file = props.cert_file;
  out.key_file = props.key_file;
  out.verify_host = props.verify_host;
  out.keep_alive = static_cast<int>(props.keep_alive);
  out.qos = static_cast<int>(props.qos);
  return out;
}

}  // namespace

const PropertyTable<PublishProps>& publish_properties() {
  static const auto rows = with_json_rows<PublishProps>(kPublishProperties);
  static const PropertyTable<PublishProps> table(rows, kChangeWhenReady);
  return table;
}

Result<PublishSettings> publish_settings(const PublishProps& props, const char* element) {
  PublishSettings out;
  out.source = props.source.empty() ? element : props.source;
  KB_ASSIGN(out.what, Kinds::parse(props.what, "what"));
  KB_ASSIGN(out.retain, Kinds::parse(props.retain, "retain"));
  KB_ASSIGN(out.on_change, Kinds::parse(props.on_change, "on-change"));
  KB_ASSIGN(out.boxes, TopicPattern::parse(props.topic_boxes, "topic-boxes"));
  KB_ASSIGN(out.counts, TopicPattern::parse(props.topic_counts, "topic-counts"));
  KB_ASSIGN(out.tracks, TopicPattern::parse(props.topic_tracks, "topic-tracks"));
  KB_ASSIGN(out.lines, TopicPattern::parse(props.topic_lines, "topic-lines"));
  KB_ASSIGN(out.zones, TopicPattern::parse(props.topic_zones, "topic-zones"));
  KB_ASSIGN(out.zone_counts, TopicPattern::parse(props.topic_zone_counts, "topic-zone-counts"));
  KB_ASSIGN(out.events, TopicPattern::parse(props.topic_events, "topic-events"));
  KB_ASSIGN(const auto camera, TopicPattern::parse(props.topic_camera, "topic-camera"));
  out.camera = camera.of({.source = out.source});
  KB_ASSIGN(out.writer, json_options(props));
  KB_ASSIGN(out.broker, broker_settings(props, out.source));
  if (out.what == Kinds{} || !out.has_topics())
    return reject(ErrorKind::kInvalid, "There is nothing to publish, or no topic for it",
                  "set what= to boxes, counts, tracks, lines or zones, and topics");
  return out;
}

bool PublishSettings::has_topics() const {
  const TopicPattern* all[] = {&boxes, &counts, &tracks, &lines, &zones, &zone_counts, &events};
  return std::ranges::none_of(all, [](const TopicPattern* each) { return each->empty(); });
}

Result<Kinds> Kinds::parse(const std::string& text, const char* property) {
  Kinds out;
  for (const std::string_view word : split(text, ',')) {
    if (word == "boxes") out.boxes = true;
    else if (word == "counts") out.counts = true;
    else if (word == "tracks") out.tracks = true;
    else if (word == "lines") out.lines = true;
    else if (word == "zones") out.zones = true;
    else if (!word.empty())
      return reject(ErrorKind::kInvalid,
                    std::string(property) + " has " + in_quotes(word) +
                        ", which is not boxes, counts, tracks, lines or zones",
                    "set " + std::string(property) + "= to a list of these, such as boxes,counts");
  }
  return out;
}

}  // namespace keepbox
