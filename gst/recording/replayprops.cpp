// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties of the element that replays tensors, and its source of black frames.
#include "gst/recording/replayprops.h"

#include <gst/base/gstpushsrc.h>
#include <gst/video/video.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "gst/base/element.h"
#include "gst/tensors/provenance.h"

namespace keepbox {
namespace {

GType memory_type() {
  static const GType type = register_enum(
      "KeepboxReplayMemory", {{static_cast<int>(ReplayMemory::kSystem), "system", "System memory"},
                              {static_cast<int>(ReplayMemory::kCuda), "cuda",
                               "CUDA memory (GstCudaMemory), uploaded on a separate stream"}});
  return type;
}

GType sync_mode_type() {
  static const GType type = register_enum(
      "KeepboxSyncMode",
      {{static_cast<int>(SyncMode::kAuto), "auto",
        "By timestamp if the recording and the frames have timestamps, else by count. If the "
        "recording does not cover the stream's first frame, it is shifted so that both begin "
        "together, with a warning"},
       {static_cast<int>(SyncMode::kTimestamp), "timestamp",
        "By timestamp: the recorded frame that is current at a frame's stream time. Frames before "
        "the first one get no tensors; a recording or frames without timestamps are an error"},
       {static_cast<int>(SyncMode::kCount), "count",
        "By count: the first recorded frame for the first frame, and so on"}});
  return type;
}

constexpr auto kLatest = static_cast<gdouble>(Timeline::kLatest);

const Property<ReplayProps> kReplayProperties[] = {
    {"location",
     "Folder of a tensorrecord recording, a NumPy file (.npy), or a file of raw values. A NumPy "
     "file is one frame or one batch, as with dims; a raw file requires dims, and type if its "
     "values are not float32.",
     &ReplayProps::location},
    {"dims",
     "Dimensions of a tensor in a raw file, slowest first, such as 1,84,8400 or 1x84x8400. The "
     "file may contain several consecutive tensors, each of one frame. 8,84,8400 is a batch of 8 "
     "frames, which get their slices in turn; tensors with fewer than three dimensions above 1, "
     "such as 300,6, are one frame.",
     &ReplayProps::dims},
    {"type",
     "Data type of a raw file: float16, float32, float64, bfloat16, or int or uint followed by 8, "
     "16, 32 or 64.",
     &ReplayProps::type},
    {"tensor-id",
     "Tensor id for a raw or NumPy file; may be empty. Recordings contain their own ids.",
     &ReplayProps::id},
    {.name = "loop",
     .blurb = "Restart after the last recorded frame instead of ending the stream.",
     .member = &ReplayProps::loop,
     .live = true},
    {"memory", "Memory of the attached tensors.", &ReplayProps::memory, memory_type},
    {"sync-mode",
     "How recorded frames are matched to frames of the stream. Only tensorrecord folders have "
     "timestamps; with count, the recorded frame after a seek follows from the frame rate. Without "
     "a sink pad each recorded frame is played once, whatever the mode.",
     &ReplayProps::sync_mode, sync_mode_type},
    {"timestamp-offset",
     "Offset in nanoseconds that is added to recorded timestamps before they are compared with the "
     "stream's.",
     &ReplayProps::offset, nullptr, -kLatest, kLatest},
};

}  // namespace

const PropertyTable<ReplayProps>& replay_properties() {
  static constexpr PropertyTable<ReplayProps> table(kReplayProperties, kChangeWhenReady);
  return table;
}

}  // namespace keepbox

namespace keepbox {
namespace {

constexpr Size kDefaultSize{320, 320};
constexpr size_t kMaxPixels = size_t{1} << 28;  // limit of the size in an index
constexpr FrameRate kDefaultRate{30, 1};
constexpr int64_t kTimeTolerance = 1'000'000;  // tolerance for frames at an even rate

struct State {
  Timeline recorded;
  int64_t frames = 0;
  Size size;  // 0x0: not recorded
  std::atomic<bool> loop = false;
  Timeline played;               // the recorded one, or at the rate of the caps
  std::atomic<int64_t> end = 0;  // end of one round, for queries; 0 unknown
  int64_t next = 0;
  bool placed = false;  // `next` was set from the segment
  GstBuffer* black = nullptr;
};

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_TYPE(KeepboxBlackSource, keepbox_black_source, GstPushSrc, GST_TYPE_PUSH_SRC)

using namespace keepbox;

namespace {

/// Returns the size, or 0x0 if it is too large to allocate.
Size checked(Size size) {
  const size_t pixels = size_t{size.width} * size.height;
  return pixels == 0 || pixels > kMaxPixels ? Size{} : size;
}

/// Returns 0/1 if the frames have no constant rate.
FrameRate rate_of(const Timeline& timeline) {
  if (timeline.empty()) return kDefaultRate;
  for (int64_t i = 0; i < timeline.frames(); ++i) {
    const int64_t even = timeline.first() + timeline.interval() * i;
    if (std::abs(timeline.begin_of(i) - even) > kTimeTolerance) return {};
  }
  FrameRate rate;
  gst_video_guess_framerate(static_cast<GstClockTime>(timeline.interval()), &rate.numerator,
                            &rate.denominator);
  return rate;
}

/// Makes a black frame of any format: a black pixel, converted and scaled.
GstBuffer* black_frame(GstVideoInfo* info) {
  GstVideoInfo pixel;
  gst_video_info_set_format(&pixel, GST_VIDEO_FORMAT_xRGB, 1, 1);
  pixel.fps_n = info->fps_n;  // the converter requires equal rates
  pixel.fps_d = info->fps_d;
  pixel.interlace_mode = info->interlace_mode;
  gpointer room = g_try_malloc0(info->size);
  GstStructure* plain =
      gst_structure_new("black", GST_VIDEO_CONVERTER_OPT_DITHER_METHOD,
                        GST_TYPE_VIDEO_DITHER_METHOD, GST_VIDEO_DITHER_NONE, nullptr);
  GstVideoConverter* converter = gst_video_converter_new(&pixel, info, plain);
  if (room == nullptr || converter == nullptr) {
    g_free(room);
    g_clear_pointer(&converter, gst_video_converter_free);
    return nullptr;
  }
  GstBuffer* from = gst_buffer_new_wrapped(g_malloc0(pixel.size), pixel.size);
  GstBuffer* to = gst_buffer_new_wrapped(room, info->size);
  GstVideoFrame source, target;
  gst_video_frame_map(&source, &pixel, from, GST_MAP_READ);
  gst_video_frame_map(&target, info, to, GST_MAP_WRITE);
  gst_video_converter_frame(converter, &source, &target);
  gst_video_frame_unmap(&target);
  gst_video_frame_unmap(&source);
  gst_buffer_unref(from);
  gst_video_converter_free(converter);
  return to;
}

/// Returns the recorded size, or else the size of the input that the tensors were made from.
Size size_of(GstBaseSrc* base) {
  const State& f = Self::of(base);
  if (f.size.width != 0) return f.size;
  const Size asked = checked(query_input_size(GST_ELEMENT(base)));
  return asked.width != 0 ? asked : kDefaultSize;
}

GstCaps* fixate(GstBaseSrc* base, GstCaps* caps) {
  const State& f = Self::of(base);
  const Size size = size_of(base);
  const FrameRate rate = rate_of(f.recorded);
  caps = gst_caps_make_writable(caps);
  GstStructure* structure = gst_caps_get_structure(caps, 0);
  gst_structure_fixate_field_string(structure, "format", "RGB");
  gst_structure_fixate_field_nearest_int(structure, "width", static_cast<gint>(size.width));
  gst_structure_fixate_field_nearest_int(structure, "height", static_cast<gint>(size.height));
  gst_structure_fixate_field_nearest_fraction(structure, "framerate", rate.numerator,
                                              rate.denominator);
  if (gst_structure_has_field(structure, "pixel-aspect-ratio"))
    gst_structure_fixate_field_nearest_fraction(structure, "pixel-aspect-ratio", 1, 1);
  return Self::parent_as<GstBaseSrcClass>()->fixate(base, caps);
}

gboolean set_caps(GstBaseSrc* base, GstCaps* caps) {
  State& f = Self::of(base);
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, caps)) return FALSE;
  gst_clear_buffer(&f.black);
  f.black = black_frame(&info);
  if (f.black == nullptr) return FALSE;
  const FrameRate rate = rate_of(f.recorded);
  const bool as_recorded =
      !f.recorded.empty() && f.recorded.first() >= 0 &&
      gst_util_fraction_compare(rate.numerator, rate.denominator, info.fps_n, info.fps_d) == 0;
  const FrameRate asked{info.fps_n, info.fps_d};
  f.played =
      as_recorded ? f.recorded : Timeline(f.frames, asked.numerator > 0 ? asked : kDefaultRate);
  f.end = f.played.end();
  return TRUE;
}

gboolean do_seek(GstBaseSrc* base, GstSegment* segment) {
  segment->time = segment->start;
  Self::of(base).placed = false;
  return TRUE;
}

/// Finds the first frame to play. A stream begins with its first frame, however late that was
/// recorded.
void place(GstBaseSrc* base, State& f) {
  GstSegment segment = base->segment;
  const int64_t first = f.played.first();
  f.placed = true;
  if (segment.rate < 0) {
    const int64_t stop =
        GST_CLOCK_TIME_IS_VALID(segment.stop) ? static_cast<int64_t>(segment.stop) : f.played.end();
    f.next = f.played.frame_at(stop - 1);
    while (f.played.begin_of(f.next) >= stop) --f.next;
    if (!f.loop) f.next = std::min(f.next, f.frames - 1);
    return;
  }
  f.next = std::max(f.played.frame_at(static_cast<int64_t>(segment.start)), int64_t{0});
  if (static_cast<int64_t>(segment.start) >= first) return;
  segment.start = segment.position = segment.time = static_cast<guint64>(first);
  gst_base_src_new_segment(base, &segment);
}

GstFlowReturn create(GstPushSrc* push, GstBuffer** out) {
  State& f = Self::of(push);
  auto* base = GST_BASE_SRC(push);
  if (!f.placed) place(base, f);
  if (f.next < 0 || (f.next >= f.frames && !f.loop)) return GST_FLOW_EOS;
  GstBuffer* buffer = gst_buffer_copy(f.black);
  const int64_t begin = f.played.begin_of(f.next);
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(begin);
  GST_BUFFER_DURATION(buffer) = static_cast<GstClockTime>(f.played.begin_of(f.next + 1) - begin);
  GST_BUFFER_OFFSET(buffer) = static_cast<guint64>(f.next);
  GST_BUFFER_OFFSET_END(buffer) = static_cast<guint64>(f.next + 1);
  f.next += base->segment.rate < 0 ? -1 : 1;
  *out = buffer;
  return GST_FLOW_OK;
}

gboolean query(GstBaseSrc* base, GstQuery* query) {
  const State& f = Self::of(base);
  GstFormat format = GST_FORMAT_UNDEFINED;
  if (GST_QUERY_TYPE(query) == GST_QUERY_DURATION)
    gst_query_parse_duration(query, &format, nullptr);
  if (format != GST_FORMAT_TIME) return Self::parent_as<GstBaseSrcClass>()->query(base, query);
  if (f.loop || f.end == 0) return FALSE;
  gst_query_set_duration(query, format, f.end);
  return TRUE;
}

gboolean stop(GstBaseSrc* base) {
  gst_clear_buffer(&Self::of(base).black);
  return TRUE;
}

gboolean is_seekable(GstBaseSrc*) { return TRUE; }

}  // namespace

namespace keepbox {

void set_source_frames(GstElement* source, Timeline timeline, size_t frames, Size size) {
  State& f = Self::of(source);
  f.recorded = std::move(timeline);
  f.frames = static_cast<int64_t>(frames);
  f.size = checked(size);
}

void set_source_loop(GstElement* source, bool loop) { Self::of(source).loop = loop; }

}  // namespace keepbox

static void keepbox_black_source_init(KeepboxBlackSource* self) {
  self->make_state();
  gst_base_src_set_format(GST_BASE_SRC(self), GST_FORMAT_TIME);
}

static void keepbox_black_source_class_init(KeepboxBlackSourceClass* klass) {
  auto* element = GST_ELEMENT_CLASS(klass);
  auto* base = GST_BASE_SRC_CLASS(klass);
  Self::set_up(klass);
  describe(klass, "Black frames", "Source/Video", "Produces a black frame for each recorded frame");
  // Formats of the running GStreamer, which may have more than the one at build time.
  g_autoptr(GstCaps) caps = gst_video_make_raw_caps(nullptr, 0);
  gst_element_class_add_pad_template(
      element, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  base->fixate = fixate;
  base->set_caps = set_caps;
  base->do_seek = do_seek;
  base->query = query;
  base->stop = stop;
  base->is_seekable = is_seekable;
  GST_PUSH_SRC_CLASS(klass)->create = create;
}
