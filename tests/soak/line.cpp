// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes the tensors and the pipeline, and plays it.
#include "tests/soak/line.h"

#include <fstream>
#include <random>
#include <vector>

namespace keepbox::soak {
namespace {

// Sizes for a 64x64 input: three grids, and prototypes of a quarter of its size.
constexpr size_t kAnchors = 84, kClasses = 6, kPoints = 5, kPrototypes = 16, kMap = 16;
constexpr size_t kPose = 4 + kClasses + 3 * kPoints, kSegments = 4 + kClasses + kPrototypes;
constexpr size_t kFrames = 7;

constexpr GstClockTime kPatience = 60 * GST_SECOND;

std::string dims(std::initializer_list<size_t> sizes) {
  std::string out = " loop=true type=float32 dims=1";
  for (const size_t size : sizes) out += ',' + std::to_string(size);
  return out;
}

/// Writes frames with varying numbers of passing boxes, with keypoints or mask coefficients.
void write_boxes(const std::string& path, size_t rows, unsigned seed) {
  std::mt19937 random(seed);
  const auto number = [&](float low, float high) {
    return low + (high - low) * static_cast<float>(random() % 65536) / 65536;
  };
  std::ofstream file(path, std::ios::binary);
  for (size_t frame = 0; frame < kFrames; ++frame) {
    std::vector<float> numbers(rows * kAnchors);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const size_t row = i / kAnchors, anchor = i % kAnchors;
      const bool passes = anchor % (6 * kFrames) < frame && row == 4 + anchor % kClasses;
      numbers[i] = row < 2 ? number(0, 64) : row < 4 ? number(4, 30) : number(-1, 1);
      if (row >= 4 && row < 4 + kClasses) numbers[i] = passes ? number(0.3f, 1) : 0.01f;
    }
    file.write(reinterpret_cast<const char*>(numbers.data()),
               static_cast<std::streamsize>(numbers.size() * sizeof(float)));
  }
}

}  // namespace

void write_tensors(const std::string& folder) {
  write_boxes(folder + "/pose.raw", kPose, 1);
  write_boxes(folder + "/segments.raw", kSegments, 2);
  std::ofstream file(folder + "/prototypes.raw", std::ios::binary);
  for (size_t i = 0; i < kPrototypes * kMap * kMap; ++i) {
    const float number = i % 5 < 2 ? 1.0f : -0.5f;
    file.write(reinterpret_cast<const char*>(&number), sizeof number);
  }
}

Line::Line(const std::string& folder, uint64_t frames, const std::string& location) {
  const std::string text =
      "videotestsrc pattern=black num-buffers=" + std::to_string(frames) +
      " ! video/x-raw,format=RGB,width=96,height=64,framerate=30/1 ! framesave"
      " ! queue max-size-buffers=2 ! videoconvertscale ! video/x-raw,width=64,height=64"
      " ! tensorreplay location=" +
      folder + "/pose.raw" + dims({kPose, kAnchors}) +
      " ! boxdecode model-name=pose detector=yolov8-pose num-classes=" + std::to_string(kClasses) +
      " ! tensorreplay location=" + folder + "/segments.raw" + dims({kSegments, kAnchors}) +
      " ! tensorreplay location=" + folder + "/prototypes.raw" + dims({kPrototypes, kMap, kMap}) +
      " ! boxdecode model-name=segments mask-size=frame track-score-threshold=0.1"
      " ! framerestore ! boxtrack predict=true"
      " ! boxcount lines=a=0,0.5,1,0.5 zones=b=0,0,0.5,0,0.5,1 ! boxoverlay draw-trails=1"
      " ! boxsink name=sink location=" +
      location;
  GError* error = nullptr;
  pipeline_ = gst_parse_launch(text.c_str(), &error);
  if (error != nullptr) g_error("%s", error->message);
  bus_ = gst_element_get_bus(pipeline_);
  g_autoptr(GstElement) sink = gst_bin_get_by_name(GST_BIN(pipeline_), "sink");
  g_autoptr(GstPad) pad = gst_element_get_static_pad(sink, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, this, nullptr);
}

Line::~Line() {
  gst_element_set_state(pipeline_, GST_STATE_NULL);
  gst_object_unref(bus_);
  gst_object_unref(pipeline_);
}

GstPadProbeReturn Line::on_frame(GstPad*, GstPadProbeInfo*, gpointer data) {
  Line& self = *static_cast<Line*>(data);
  ++self.count_;
  if (self.frame_) self.frame_(self.count_);
  return GST_PAD_PROBE_OK;
}

/// Returns the text of an error, or "" if the expected message came first. The timeout applies to
/// the progress of frames, because a million of them take long.
std::string Line::await(GstMessageType what) {
  for (uint64_t before = count_;; before = count_) {
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus_, kPatience, static_cast<GstMessageType>(what | GST_MESSAGE_ERROR));
    if (message == nullptr && count_ != before) continue;
    if (message == nullptr) return "no frame in a minute";
    g_autoptr(GError) error = nullptr;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
      gst_message_parse_error(message, &error, nullptr);
    gst_message_unref(message);
    return error != nullptr ? error->message : "";
  }
}

std::string Line::play() {
  gst_element_set_state(pipeline_, GST_STATE_PLAYING);
  std::string error = await(GST_MESSAGE_EOS);
  gst_element_set_state(pipeline_, GST_STATE_NULL);
  return error;
}

std::string Line::cut(const std::string& location) {
  g_autoptr(GstElement) sink = gst_bin_get_by_name(GST_BIN(pipeline_), "sink");
  g_object_set(sink, "location", location.c_str(), nullptr);
  gst_element_set_state(pipeline_, GST_STATE_PAUSED);
  std::string error = await(GST_MESSAGE_ASYNC_DONE);
  gst_element_set_state(pipeline_, GST_STATE_NULL);
  return error;
}

}  // namespace keepbox::soak
