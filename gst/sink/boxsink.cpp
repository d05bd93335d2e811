// SPDX-License-Identifier: LGPL-2.1-or-later
// boxsink: the boxes on frames become a file.
#include <glib/gstdio.h>
#include <gst/base/gstbasesink.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "gst/base/elements.h"
#include "gst/base/enums.h"
#include "gst/base/error.h"
#include "gst/base/outfile.h"
#include "gst/base/picture.h"
#include "gst/metas/analytics.h"
#include "gst/sink/boxwriter.h"

GST_DEBUG_CATEGORY_STATIC(boxsink_debug);
#define GST_CAT_DEFAULT boxsink_debug

namespace keepbox {
namespace {

struct SinkProps {
  BoxFormat format = BoxFormat::kJsonl;
  std::string location = "-";
  gint first_frame = -1;
  std::string image_ids, category_ids;
  std::string source;
  gboolean write_empty = TRUE;
};

/// What lives from start to stop.
struct Session {
  SinkProps props;
  BoxWriter writer;
  std::optional<OutFile> file;        // but for kKitti
  std::optional<NumberedName> names;  // of kKitti
  gint64 number = 0;                  // of the next frame
  guint64 frames = 0;
  bool analysed = false;  // some frame had analytics, if without boxes
  bool ended = false;     // by EOS, after which a seek may bring more frames
  bool failed = false;
  size_t told = 0;  // of the labels that were numbered
};

struct Sink {
  SinkProps props;  // under the object lock
  // The streaming thread's own:
  Size frame;
  std::optional<Session> session;
  std::vector<FrameBox> boxes;
  std::string text;
};

}  // namespace
}  // namespace keepbox

struct KeepboxBoxSink {
  GstBaseSink parent;
  keepbox::Sink* sink;
};
struct KeepboxBoxSinkClass {
  GstBaseSinkClass parent_class;
};

using namespace keepbox;

GType keepbox_box_sink_get_type();
G_DEFINE_TYPE(KeepboxBoxSink, keepbox_box_sink, GST_TYPE_BASE_SINK)
GST_ELEMENT_REGISTER_DEFINE(boxsink, "boxsink", GST_RANK_NONE, keepbox_box_sink_get_type())

namespace {

GType box_format_type() {
  static const GType type = register_enum(
      "KeepboxBoxFormat",
      {{static_cast<int>(BoxFormat::kJsonl), "jsonl",
        "A JSON object a frame and line, as DL Streamer's gvametaconvert writes it"},
       {static_cast<int>(BoxFormat::kCoco), "coco",
        "An array of COCO results, as pycocotools loads it"},
       {static_cast<int>(BoxFormat::kMot), "mot",
        "Lines of MOTChallenge; frames count from 1, the pixels of boxes from 0"},
       {static_cast<int>(BoxFormat::kKitti), "kitti",
        "Lines of KITTI object results, a file a frame"},
       {static_cast<int>(BoxFormat::kCsv), "csv", "A header and a line a box"}});
  return type;
}

enum { kFormat = 1, kLocation, kFirstFrame, kImageIds, kCategoryIds, kSource, kWriteEmpty };

KeepboxBoxSink* cast(gpointer object) { return reinterpret_cast<KeepboxBoxSink*>(object); }

Result<BoxWriter> make_writer(const SinkProps& props) {
  WriterOptions options{.source = props.source, .write_empty = props.write_empty != FALSE};
  const bool coco = props.format == BoxFormat::kCoco;
  if (coco && !props.image_ids.empty()) {
    auto ids = load_coco_ids(props.image_ids.c_str(), "image-ids");
    if (!ids) return std::unexpected(ids.error());
    options.images = std::move(*ids);
  }
  if (coco && !props.category_ids.empty()) {
    auto ids = load_coco_ids(props.category_ids.c_str(), "category-ids");
    if (!ids) return std::unexpected(ids.error());
    options.categories = std::move(*ids);
  }
  return BoxWriter(props.format, std::move(options));
}

/// A missing folder is found here, before any frame is spent on it.
Status check_folder(const std::string& path) {
  g_autofree gchar* folder = g_path_get_dirname(path.c_str());
  if (g_access(folder, W_OK | X_OK) == 0) return {};
  return file_error("a folder " + std::string(folder) + " that can be written to",
                    g_strerror(errno), "make it, or set location= to another path");
}

Result<Session> open_session(const SinkProps& props) {
  auto writer = make_writer(props);
  if (!writer) return std::unexpected(writer.error());
  Session out{.props = props, .writer = std::move(*writer)};
  out.number = props.format == BoxFormat::kMot ? 1 : 0;
  if (props.first_frame >= 0) out.number = props.first_frame;
  if (props.format == BoxFormat::kKitti) {
    auto names = NumberedName::parse(props.location);
    if (!names) return std::unexpected(names.error());
    out.names = std::move(*names);
    KB_TRY(check_folder(out.names->of(out.number)));
    return out;
  }
  auto file = OutFile::open(props.location);
  if (!file) return std::unexpected(file.error());
  out.file = std::move(*file);
  if (!out.writer.head().empty()) KB_TRY(out.file->write(out.writer.head()));
  return out;
}

Status write_file_of_frame(const Session& session, const std::string& text) {
  auto file = OutFile::open(session.names->of(session.number));
  if (!file) return std::unexpected(file.error());
  KB_TRY(file->write(text));
  return file->finish({});
}

void tell_numbered(KeepboxBoxSink* self, Session& session) {
  for (; session.told < session.writer.numbered().size(); ++session.told) {
    const gchar* label = g_quark_to_string(session.writer.numbered()[session.told]);
    GST_WARNING_OBJECT(self, "category_id %" G_GSIZE_FORMAT " stands for \"%s\", whose class its "
                       "decoder does not give; set category-ids= for the data set's own",
                       session.told + 1, label != nullptr ? label : "");
  }
}

Status write_frame(KeepboxBoxSink* self, Session& session, GstBuffer* buffer) {
  Sink& s = *self->sink;
  if (session.ended && session.file) KB_TRY(session.file->resume());
  session.ended = false;
  session.analysed |= read_boxes(buffer, s.boxes);
  FrameInfo frame{.number = session.number, .size = s.frame};
  if (GST_BUFFER_PTS_IS_VALID(buffer)) frame.timestamp = GST_BUFFER_PTS(buffer);
  s.text.clear();
  KB_TRY(session.writer.write(frame, s.boxes, s.text));
  tell_numbered(self, session);
  if (session.file && !s.text.empty()) KB_TRY(session.file->write(s.text));
  if (session.names && (!s.boxes.empty() || session.props.write_empty))
    KB_TRY(write_file_of_frame(session, s.text));
  ++session.number;
  ++session.frames;
  return {};
}

/// Posts an error, after which nothing is written until the next start.
bool check(KeepboxBoxSink* self, const Status& status) {
  if (status) return true;
  if (self->sink->session) self->sink->session->failed = true;
  post_error(GST_ELEMENT(self), status.error());
  return false;
}

/// Gives the file its name, unless that is done or an error forbids it.
bool finish(KeepboxBoxSink* self) {
  Session& session = *self->sink->session;
  if (session.ended || session.failed) return !session.failed;
  session.ended = true;
  if (session.frames != 0 && !session.analysed)
    post_warning(GST_ELEMENT(self),
                 {.kind = ErrorKind::kMismatch,
                  .expected = "frames with GstAnalyticsRelationMeta",
                  .found = "none among " + std::to_string(session.frames),
                  .hint = "put a decoder such as boxdecode before boxsink"});
  return !session.file || check(self, session.file->finish(session.writer.tail()));
}

gboolean start(GstBaseSink* base) {
  KeepboxBoxSink* self = cast(base);
  GST_OBJECT_LOCK(self);
  const SinkProps props = self->sink->props;
  GST_OBJECT_UNLOCK(self);
  auto session = open_session(props);
  if (!session) return check(self, std::unexpected(session.error()));
  self->sink->session.emplace(std::move(*session));
  return TRUE;
}

gboolean stop(GstBaseSink* base) {
  KeepboxBoxSink* self = cast(base);
  if (!self->sink->session) return TRUE;
  const Session& session = *self->sink->session;
  const std::string& location = session.props.location;
  bool done = true;
  // Without EOS nobody said that these are all boxes: the file keeps the name of a part.
  if (!session.ended && !session.failed && session.file && location != "-")
    GST_WARNING_OBJECT(self, "stopped before EOS: %s.part has the boxes so far", location.c_str());
  else
    done = finish(self);
  GST_INFO_OBJECT(self, "%" G_GUINT64_FORMAT " frames written%s", session.frames,
                  done ? "" : ", not complete");
  self->sink->session.reset();
  return done;
}

gboolean set_caps(GstBaseSink* base, GstCaps* caps) {
  const auto picture = picture_of(caps);
  if (!picture) return FALSE;
  cast(base)->sink->frame = picture->size;
  return TRUE;
}

GstFlowReturn render(GstBaseSink* base, GstBuffer* buffer) {
  KeepboxBoxSink* self = cast(base);
  Session& session = *self->sink->session;
  const bool done = !session.failed && check(self, write_frame(self, session, buffer));
  return done ? GST_FLOW_OK : GST_FLOW_ERROR;
}

gboolean handle_event(GstBaseSink* base, GstEvent* event) {
  KeepboxBoxSink* self = cast(base);
  // Without its end the file is no result, and EOS would say that it is.
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && self->sink->session && !finish(self)) {
    gst_event_unref(event);
    return FALSE;
  }
  return GST_BASE_SINK_CLASS(keepbox_box_sink_parent_class)->event(base, event);
}

std::string text_of(const GValue* value) {
  const gchar* text = g_value_get_string(value);
  return text != nullptr ? text : "";
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  SinkProps& props = cast(object)->sink->props;
  GST_OBJECT_LOCK(object);
  switch (id) {
    case kFormat: props.format = static_cast<BoxFormat>(g_value_get_enum(value)); break;
    case kLocation: props.location = text_of(value); break;
    case kFirstFrame: props.first_frame = g_value_get_int(value); break;
    case kImageIds: props.image_ids = text_of(value); break;
    case kCategoryIds: props.category_ids = text_of(value); break;
    case kSource: props.source = text_of(value); break;
    case kWriteEmpty: props.write_empty = g_value_get_boolean(value); break;
    default: G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
  GST_OBJECT_UNLOCK(object);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  const SinkProps& props = cast(object)->sink->props;
  const auto set_text = [value](const std::string& text) {
    g_value_set_string(value, text.empty() ? nullptr : text.c_str());
  };
  GST_OBJECT_LOCK(object);
  switch (id) {
    case kFormat: g_value_set_enum(value, static_cast<gint>(props.format)); break;
    case kLocation: set_text(props.location); break;
    case kFirstFrame: g_value_set_int(value, props.first_frame); break;
    case kImageIds: set_text(props.image_ids); break;
    case kCategoryIds: set_text(props.category_ids); break;
    case kSource: set_text(props.source); break;
    case kWriteEmpty: g_value_set_boolean(value, props.write_empty); break;
    default: G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
  GST_OBJECT_UNLOCK(object);
}

void finalize(GObject* object) {
  delete cast(object)->sink;
  G_OBJECT_CLASS(keepbox_box_sink_parent_class)->finalize(object);
}

constexpr auto kFlags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                 GST_PARAM_MUTABLE_READY);

void install_text(GObjectClass* object, guint id, const char* name, const char* value,
                  const char* blurb) {
  g_object_class_install_property(object, id,
                                  g_param_spec_string(name, name, blurb, value, kFlags));
}

void install_properties(GObjectClass* object) {
  g_object_class_install_property(
      object, kFormat,
      g_param_spec_enum("format", "format", "Format of the file.", box_format_type(),
                        static_cast<gint>(BoxFormat::kJsonl), kFlags));
  install_text(object, kLocation, "location", "-",
               "Path of the file, - for stdout (run gst-launch-1.0 with -q); for kitti a pattern "
               "with one %d or %0Nd, such as labels/%06d.txt. The file is called PATH.part until "
               "EOS (gst-launch-1.0 -e sends it when interrupted), and then replaces one that "
               "exists.");
  g_object_class_install_property(
      object, kFirstFrame,
      g_param_spec_int("first-frame", "first-frame",
                       "Number of the first frame; -1 is 1 for mot and 0 for the others. Every "
                       "buffer counts.",
                       -1, G_MAXINT, -1, kFlags));
  install_text(object, kImageIds, "image-ids", nullptr,
               "Text file with the image_id of one frame a line, for coco; without it the frame's "
               "number is used.");
  install_text(object, kCategoryIds, "category-ids", nullptr,
               "Text file for coco: line N has the category_id of class N, and after it the label "
               "for decoders that give no class number. Without it class numbers from 0 are "
               "written, which are not COCO's own ids (1 to 90), or 1, 2 ... for labels in the "
               "order of their appearance.");
  install_text(object, kSource, "source", nullptr,
               "Name of the stream in each line of jsonl; empty leaves the field out.");
  g_object_class_install_property(
      object, kWriteEmpty,
      g_param_spec_boolean("write-empty", "write-empty",
                           "Frames without boxes get a line of jsonl or a file of kitti too.", TRUE,
                           kFlags));
}

}  // namespace

static void keepbox_box_sink_init(KeepboxBoxSink* self) {
  self->sink = new Sink;
  auto* base = GST_BASE_SINK(self);
  gst_base_sink_set_sync(base, FALSE);
  gst_base_sink_set_qos_enabled(base, FALSE);
  gst_base_sink_set_last_sample_enabled(base, FALSE);  // it would keep a frame from its pool
}

static void keepbox_box_sink_class_init(KeepboxBoxSinkClass* klass) {
  auto* object = G_OBJECT_CLASS(klass);
  auto* element = GST_ELEMENT_CLASS(klass);
  auto* sink = GST_BASE_SINK_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(boxsink_debug, "boxsink", 0, "Writing of detections");

  object->set_property = set_property;
  object->get_property = get_property;
  object->finalize = finalize;
  install_properties(object);

  gst_element_class_set_static_metadata(
      element, "Detection box sink", "Sink/Analyzer/Video",
      "Writes the boxes on frames (GstAnalyticsODMtd of any decoder) as JSON lines, COCO results, "
      "MOT, KITTI or CSV",
      "The keepbox developers");
  g_autoptr(GstCaps) caps = gst_caps_from_string("video/x-raw(ANY)");
  gst_element_class_add_pad_template(
      element, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  sink->start = start;
  sink->stop = stop;
  sink->set_caps = set_caps;
  sink->render = render;
  sink->event = handle_event;
}
