// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties and statistics of classdecode.
#include "gst/classify/properties.h"

#include <algorithm>

#include "core/classify/classify.h"

namespace keepbox {
namespace {

GType activation_type() {
  static const GType type = register_enum(
      "KeepboxActivation",
      {{-1, "auto",
        "None if the scores of each image add up to 1 on the first frame, softmax otherwise."},
       {static_cast<int>(Activation::kSoftmax), "softmax", "Classes exclude each other."},
       {static_cast<int>(Activation::kSigmoid), "sigmoid",
        "Several classes may apply, each by its own score."},
       {static_cast<int>(Activation::kNone), "none", "Scores are probabilities."}});
  return type;
}

GType keep_type() {
  static const GType type = register_enum(
      "KeepboxKeepResults",
      {{static_cast<int>(KeepResults::kNone), "none", "None: results are for one frame only."},
       {static_cast<int>(KeepResults::kLast), "last",
        "An object with a tracking id keeps its last result until there is a new one."},
       {static_cast<int>(KeepResults::kBest), "best",
        "An object with a tracking id keeps the result with the highest confidence so far, such "
        "as a number plate that was read when the car was near."}});
  return type;
}

const Property<ClassifyProps> kClassifyProperties[] = {
    {"activation", "Function that turns the scores of the model into probabilities.",
     &ClassifyProps::activation, activation_type},
    {"top-k", "Maximum number of classes per object, best first.", &ClassifyProps::top_k, nullptr,
     1, 1000},
    {"score-threshold", "Minimum confidence of a class or a text.",
     &ClassifyProps::score_threshold},
    {"label-file",
     "Text file with one class name, or one character of a text recogniser, per line; empty "
     "takes the names in the model's metadata.",
     &ClassifyProps::label_file},
    {"attribute",
     "Name of the attribute that the model determines, such as color. Empty takes the name of "
     "the tensor if the model has several, or else class or text.",
     &ClassifyProps::attribute},
    {"model-name",
     "Name of the model in the results; empty takes the name of its file without the ending.",
     &ClassifyProps::model_name},
    {"keep-results", "Results that an object has on frames without new ones.", &ClassifyProps::keep,
     keep_type},
};

}  // namespace

const PropertyTable<ClassifyProps>& classify_properties() {
  static constexpr PropertyTable<ClassifyProps> table(kClassifyProperties, kChangeWhilePlaying);
  return table;
}

void ClassifyStats::add(const ClassifyCounts& counts, GstClockTime time,
                        const std::string& recognised) {
  ++frames_;
  sum_.images += counts.images;
  sum_.results += counts.results;
  sum_.kept += counts.kept;
  time_ += time;
  recognised_ = recognised;
}

GstStructure* ClassifyStats::structure() const {
  const double frames = static_cast<double>(std::max<guint64>(frames_, 1));
  return gst_structure_new("classdecode-stats", "frames", G_TYPE_UINT64, frames_, "images",
                           G_TYPE_UINT64, sum_.images, "results", G_TYPE_UINT64, sum_.results,
                           "kept-results", G_TYPE_UINT64, sum_.kept, "recognized", G_TYPE_STRING,
                           recognised_.c_str(), "time-per-frame-us", G_TYPE_DOUBLE,
                           static_cast<double>(time_) / GST_USECOND / frames, nullptr);
}

}  // namespace keepbox
