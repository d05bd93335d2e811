// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties and statistics of boxcount.
#include "gst/count/properties.h"

#include <algorithm>

namespace keepbox {
namespace {

constexpr gint64 kLongest = 86400 * gint64{GST_SECOND};
constexpr gdouble kWidestBand = 10000;
constexpr gdouble kMostObjects = Counter::kMaxObjects;

GType place_of_box_type() {
  static const GType type = register_enum(
      "KeepboxPlaceOfBox", {{static_cast<int>(PlaceOfBox::kBottom), "bottom",
                             "The middle of the lower edge, where feet and wheels are."},
                            {static_cast<int>(PlaceOfBox::kCenter), "center",
                             "The centre, for cameras that look straight down."}});
  return type;
}

const Property<CountProps> kCountProperties[] = {
    {"lines",
     "Lines that objects cross, as NAME=X1,Y1,X2,Y2 with semicolons between them. Coordinates are "
     "fractions of the frame if all of a line are at most 1, otherwise pixels. Seen from the first "
     "point to the second, crossings from right to left are in, others out; two more words give "
     "the directions other names, as in gate=0.1,0.5,0.9,0.5,enter,leave.",
     &CountProps::lines},
    {"zones",
     "Zones in which objects are, as NAME=X1,Y1,X2,Y2,X3,Y3 with three or more corners, and "
     "semicolons between them; coordinates as in lines.",
     &CountProps::zones},
    {"file",
     "JSON file with further lines and zones: {\"lines\": [{\"name\", \"points\": [[x, y], [x, "
     "y]], "
     "\"directions\": [in, out]}], \"zones\": [{\"name\", \"points\", \"dwell-alarm\": ns, "
     "\"crowd-alarm\"}]}. Directions and alarms may be left out.",
     &CountProps::file},
    {.name = "point",
     .blurb = "Point of a box that is the place of its object.",
     .member = &CountProps::point,
     .enum_type = place_of_box_type},
    {.name = "band",
     .blurb =
         "How far an object must be beyond a line or an edge before it has crossed it, so that "
         "a box that jitters does not count: pixels, or below 1 a share of the box's height.",
     .member = &CountProps::band,
     .lowest = 0,
     .highest = kWidestBand},
    {.name = "lost-after",
     .blurb =
         "Time in nanoseconds without a sighting after which an object is gone: its visits end "
         "at the last sighting. Before that, its path goes straight to the next sighting. "
         "Frames that its model skipped do not end objects.",
     .member = &CountProps::lost_after,
     .lowest = 0,
     .highest = kLongest},
    {.name = "dwell-alarm",
     .blurb =
         "Time in nanoseconds in a zone after which the message boxcount-dwelt is posted, once "
         "per visit. -1 posts none.",
     .member = &CountProps::dwell_alarm,
     .lowest = -1,
     .highest = kLongest},
    {.name = "crowd-alarm",
     .blurb =
         "Number of objects in a zone above which the message boxcount-crowded is posted, once "
         "until there are fewer again. -1 posts none.",
     .member = &CountProps::crowd_alarm,
     .highest = kMostObjects},
    {.name = "include-classes",
     .blurb =
         "Comma-separated labels of the boxes that count, such as person,dog. Boxes of a label "
         "with ! before it do not count: !dog counts all others. Empty counts all.",
     .member = &CountProps::include_classes},
    {.name = "model-name",
     .blurb = "Count only the boxes of the model with this name (model-name of boxdecode); empty "
              "counts the boxes of all models.",
     .member = &CountProps::model_name},
};

}  // namespace

const PropertyTable<CountProps>& count_properties() {
  static constexpr PropertyTable<CountProps> table(kCountProperties, kChangeWhilePlaying);
  return table;
}

CountSettings settings_of(const CountProps& props, int64_t interval) {
  CountSettings out{.band = props.band,
                    .lost_after = props.lost_after,
                    .dwell_alarm = props.dwell_alarm,
                    .crowd_alarm = props.crowd_alarm};
  if (interval > 0) out.interval = interval;
  return out;
}

void CountStats::add(const Counter& counter, guint boxes, GstClockTime time) {
  ++frames_;
  boxes_ += boxes;
  objects_ = static_cast<guint>(counter.objects());
  time_ += time;
  line_names_.clear(), zone_names_.clear();
  for (const CountLine& line : counter.shapes().lines) line_names_.push_back(line.name);
  for (const CountZone& zone : counter.shapes().zones) zone_names_.push_back(zone.name);
  lines_.assign(counter.lines().begin(), counter.lines().end());
  zones_.assign(counter.zones().begin(), counter.zones().end());
}

namespace {

double seconds(int64_t time) { return static_cast<double>(time) / GST_SECOND; }

GstStructure* structure_of(const std::string& name, const LineTotals& line) {
  return gst_structure_new("line", "name", G_TYPE_STRING, name.c_str(), "in", G_TYPE_UINT64,
                           line.crossed[kIn], "out", G_TYPE_UINT64, line.crossed[kOut],
                           "uncertain-in", G_TYPE_UINT64, line.uncertain[kIn], "uncertain-out",
                           G_TYPE_UINT64, line.uncertain[kOut], nullptr);
}

GstStructure* structure_of(const std::string& name, const ZoneTotals& zone) {
  return gst_structure_new("zone", "name", G_TYPE_STRING, name.c_str(), "now", G_TYPE_UINT,
                           zone.now, "visits", G_TYPE_UINT64, zone.visits, "mean-seconds",
                           G_TYPE_DOUBLE, seconds(zone.mean()), "max-seconds", G_TYPE_DOUBLE,
                           seconds(zone.longest), nullptr);
}

/// Adds a list of structures to a structure.
template <class Totals>
void add_list(GstStructure* to, const char* field, const std::vector<std::string>& names,
              const std::vector<Totals>& totals) {
  GValue list = G_VALUE_INIT;
  gst_value_list_init(&list, static_cast<guint>(names.size()));
  for (size_t i = 0; i < names.size(); ++i) {
    GValue each = G_VALUE_INIT;
    g_value_init(&each, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&each, structure_of(names[i], totals[i]));
    gst_value_list_append_and_take_value(&list, &each);
  }
  gst_structure_take_value(to, field, &list);
}

}  // namespace

GstStructure* CountStats::structure() const {
  guint64 crossings = 0, uncertain = 0, visits = 0;
  guint now = 0;
  for (const LineTotals& line : lines_) {
    crossings += line.crossed[kIn] + line.crossed[kOut];
    uncertain += line.uncertain[kIn] + line.uncertain[kOut];
  }
  for (const ZoneTotals& zone : zones_) visits += zone.visits, now += zone.now;
  const double frames = static_cast<double>(std::max<guint64>(frames_, 1));
  GstStructure* out =
      gst_structure_new("boxcount-stats", "frames", G_TYPE_UINT64, frames_, "boxes", G_TYPE_UINT64,
                        boxes_, "crossings", G_TYPE_UINT64, crossings, "uncertain-crossings",
                        G_TYPE_UINT64, uncertain, "visits", G_TYPE_UINT64, visits, "now",
                        G_TYPE_UINT, now, "objects", G_TYPE_UINT, objects_, "time-per-frame-us",
                        G_TYPE_DOUBLE, static_cast<double>(time_) / GST_USECOND / frames, nullptr);
  add_list(out, "lines", line_names_, lines_);
  add_list(out, "zones", zone_names_, zones_);
  return out;
}

}  // namespace keepbox
