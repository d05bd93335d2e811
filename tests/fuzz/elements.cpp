// SPDX-License-Identifier: LGPL-2.1-or-later
// Lines of elements between the pads of a harness: each input frame gives an output frame, or the
// flow ends with an error on the bus; boxes are finite, and everything stops, for any frames,
// events, states and properties.
#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "gst/base/element.h"
#include "gst/metas/boxes.h"
#include "gst/recording/tensorwriter.h"
#include "tests/fuzz/elementframes.h"
#include "tests/fuzz/elementprops.h"
#include "tests/tempdir.h"

namespace keepbox::fuzz {
namespace {

struct Line {
  const char* text;  // LOCATION is a separate path, REPLAYED a recording
  bool passes;       // each frame passes at once
};

constexpr Line kLines[]{
    {"boxdecode", true},
    {"boxdecode ! boxoverlay", true},
    {"boxoverlay", true},
    {"framesave ! boxdecode ! framerestore", true},
    {"framesave ! videoconvertscale ! video/x-raw,width=32,height=24 ! boxdecode ! framerestore",
     true},
    {"framesave ! framesave ! boxdecode ! framerestore ! framerestore ! boxoverlay", true},
    {"boxdecode ! tensorrecord location=LOCATION", true},
    {"identity ! tensorreplay location=REPLAYED ! boxdecode ! boxoverlay", true},
    {"boxdecode ! boxpublish address=127.0.0.1:1 what=boxes,counts,tracks stop-timeout=0", true},
    {"boxdecode ! boxsink location=LOCATION", false},
    {"boxdecode ! boxsink location=LOCATION format=coco", false},
    {"framesave ! boxdecode ! boxdecode ! framerestore ! boxsink location=LOCATION%d format=kitti",
     false},
    {"boxtrack", true},
    {"boxdecode track-score-threshold=0.05 ! boxtrack predict=true ! boxoverlay draw-trails=1",
     true},
    {"boxdecode ! boxtrack ! boxcount lines=a=0,0.5,1,0.5 zones=b=0.1,0.1,0.9,0.1,0.5,0.9 "
     "! boxsink location=LOCATION format=events-csv",
     false},
    {"framesave ! boxdecode ! boxtrack ! framerestore ! boxsink location=LOCATION format=mot",
     false}};

std::optional<test::TempDir> files;

std::string with_paths(std::string line) {
  for (const auto& [word, path] : {std::pair<std::string, std::string>{"LOCATION", *files / "out"},
                                   {"REPLAYED", *files / "recording"}})
    if (const size_t at = line.find(word); at != line.npos) line.replace(at, word.size(), path);
  return line;
}

void write_recording() {
  auto writer = TensorWriter::create(*files / "recording");
  const std::vector<float> rows{1, 2, 20, 22, 0.9f, 0, 5, 5, 30, 30, 0.7f, 1};
  for (int64_t i = 0; i < 5; ++i) {
    const RecordedTensor tensor{{.id = "yolo-26-end2end-out",
                                 .data = rows.data(),
                                 .bytes = rows.size() * sizeof(float),
                                 .shape = {1, 2, 6}}};
    if (!writer->write({.tensors = {&tensor, 1}, .time = i * 33'000'000, .size = {32, 32}}))
      violated("no recording");
  }
  if (!writer->finish()) violated("no recording");
}

/// A line, its bus, and the results of pushed frames.
class Rig {
 public:
  Rig(Input& input, const Line& line)
      : line_(line),
        harness_(gst_harness_new_parse(with_paths(line.text).c_str())),
        bus_(gst_bus_new()),
        info_(any_info(input)) {
    gst_element_set_bus(harness_->element, bus_);
    GstIterator* all = gst_bin_iterate_recurse(GST_BIN(harness_->element));
    GValue each = G_VALUE_INIT;
    while (gst_iterator_next(all, &each) == GST_ITERATOR_OK) {
      auto* element = GST_ELEMENT(g_value_get_object(&each));
      if (std::string_view(G_OBJECT_TYPE_NAME(element)).starts_with("Keepbox"))
        elements.push_back(element);
      g_value_reset(&each);
    }
    gst_iterator_free(all);
    for (GstElement* element : elements)
      if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), "on-mismatch"))
        gst_util_set_object_arg(G_OBJECT(element), "on-mismatch",
                                input.chance(85) ? "pass" : "error");
    set_caps();
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  ~Rig() {
    gst_element_set_bus(harness_->element, nullptr);
    gst_harness_teardown(harness_);
    gst_object_unref(bus_);
  }

  void step(Input& input);

  std::vector<GstElement*> elements;

 private:
  void set_caps() { gst_harness_set_src_caps(harness_, gst_video_info_to_caps(&info_)); }
  void event(GstEvent* event) { gst_harness_push_event(harness_, event); }
  void segment(Input& input) {
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    if (input.chance(30)) segment.start = segment.time = input.below(100) * GST_MSECOND;
    if (input.chance(20)) segment.base = input.below(100) * GST_MSECOND;
    if (input.chance(15)) {
      segment.rate = -1;
      segment.stop = 10 * GST_SECOND;
    }
    event(gst_event_new_segment(&segment));
  }
  void flush(Input& input) {
    event(gst_event_new_flush_start());
    event(gst_event_new_flush_stop(TRUE));
    segment(input);
  }
  void restart(Input& input) {
    gst_element_set_state(harness_->element, input.chance(50) ? GST_STATE_READY : GST_STATE_NULL);
    gst_element_set_state(harness_->element, GST_STATE_PLAYING);
    event(gst_event_new_stream_start("again"));
    set_caps();
    segment(input);
    failed_ = false;
  }
  void push(Input& input);
  void look_at_bus();
  size_t drain();

  const Line& line_;
  GstHarness* harness_;
  GstBus* bus_;
  GstVideoInfo info_;
  GstClockTime time_ = 0;
  bool failed_ = false;  // an error was posted
};

void Rig::look_at_bus() {
  while (GstMessage* message = gst_bus_pop(bus_)) {
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      g_autoptr(GError) error = nullptr;
      gst_message_parse_error(message, &error, nullptr);
      const std::string_view text = error->message;
      count("errors:" + std::string(text.substr(0, text.find_first_of("0123456789\"/,"))));
      failed_ = true;
    }
    gst_message_unref(message);
  }
}

/// @return the number of output frames.
size_t Rig::drain() {
  size_t frames = 0;
  while (GstBuffer* buffer = gst_harness_try_pull(harness_)) {
    std::vector<FrameBox> boxes;
    KeypointStore others;
    read_boxes(buffer, boxes, &others);
    for (const FrameBox& box : boxes)
      if (box.anchor && !std::isfinite(box.box.x1 + box.box.y1 + box.box.x2 + box.box.y2))
        violated("a box of numbers that are not finite");
    count("boxes out", boxes.size());
    gst_buffer_unref(buffer);
    ++frames;
  }
  while (GstEvent* event = gst_harness_try_pull_event(harness_)) gst_event_unref(event);
  while (GstEvent* event = gst_harness_try_pull_upstream_event(harness_)) gst_event_unref(event);
  return frames;
}

void Rig::push(Input& input) {
  drain();
  GstBuffer* frame = any_frame(input, info_);
  if (input.chance(90)) GST_BUFFER_PTS(frame) = time_;
  if (input.chance(50)) GST_BUFFER_DURATION(frame) = 33 * GST_MSECOND;
  time_ += 33 * GST_MSECOND;
  GstBuffer* held = input.chance(20) ? gst_buffer_ref(frame) : nullptr;
  const GstFlowReturn flow = gst_harness_push(harness_, frame);
  look_at_bus();
  const size_t out = drain();
  gst_clear_buffer(&held);
  if (flow == GST_FLOW_OK) {
    count("frames through");
    if (line_.passes && out != 1) violated("a frame in is not a frame out: " + std::to_string(out));
  } else {
    count(std::string("frames that end as:") + gst_flow_get_name(flow));
    if (flow == GST_FLOW_ERROR && !failed_) violated("a flow error without one on the bus");
    flow == GST_FLOW_ERROR ? restart(input) : flush(input);
  }
}

void Rig::step(Input& input) {
  const uint32_t kind = input.below(100);
  if (kind < 62) return push(input);
  if (kind < 68) {
    info_ = any_info(input);
    return set_caps();
  }
  if (kind < 72) return flush(input);
  if (kind < 75) return event(gst_event_new_gap(time_, 1000));
  if (kind < 78) return segment(input);
  if (kind < 80) {
    event(gst_event_new_eos());
    return flush(input);
  }
  if (kind < 82) return restart(input);
  if (kind < 84) {
    if (line_.passes) gst_harness_push_upstream_event(harness_, gst_event_new_reconfigure());
    return;
  }
  if (kind < 86) return event(gst_event_new_tag(gst_tag_list_new(GST_TAG_TITLE, "t", nullptr)));
  count("properties set",
        change_property(input, elements[input.below(static_cast<uint32_t>(elements.size()))]));
}

/// Changes properties from another thread while frames run.
void change_from_aside(std::span<const uint8_t> bytes, const std::vector<GstElement*>& elements,
                       const std::atomic<bool>& stop) {
  Input input(bytes);
  while (!input.empty() && !stop) {
    change_property(input, elements[input.below(static_cast<uint32_t>(elements.size()))]);
    std::this_thread::yield();
  }
}

}  // namespace

const char* const kSurface = "elements";

void set_up() {
  gst_init(nullptr, nullptr);
  g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL));
  GST_ELEMENT_REGISTER(boxcount, nullptr);
  GST_ELEMENT_REGISTER(boxdecode, nullptr);
  GST_ELEMENT_REGISTER(boxoverlay, nullptr);
  GST_ELEMENT_REGISTER(boxpublish, nullptr);
  GST_ELEMENT_REGISTER(boxsink, nullptr);
  GST_ELEMENT_REGISTER(boxtrack, nullptr);
  GST_ELEMENT_REGISTER(framesave, nullptr);
  GST_ELEMENT_REGISTER(framerestore, nullptr);
  GST_ELEMENT_REGISTER(tensorrecord, nullptr);
  GST_ELEMENT_REGISTER(tensorreplay, nullptr);
  if (access("/dev/shm", W_OK | X_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
  files.emplace();
  write_recording();
}

void run_one(Input& input) {
  const Line& line = input.pick(kLines);
  const auto aside = input.chance(30) ? input.bytes(200) : std::span<const uint8_t>();
  {
    Rig rig(input, line);
    std::atomic<bool> stop = false;
    std::thread other;
    if (!aside.empty()) other = std::thread([&] { change_from_aside(aside, rig.elements, stop); });
    for (int i = 0; i < 30 && !input.empty(); ++i) rig.step(input);
    stop = true;
    if (other.joinable()) other.join();
  }
  count(std::string("lines:") + line.text);
  std::error_code ignored;
  std::filesystem::remove_all(*files / "out", ignored);
}

}  // namespace keepbox::fuzz
