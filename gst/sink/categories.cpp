// SPDX-License-Identifier: LGPL-2.1-or-later
// Numbers of categories, images and objects in files.
#include "gst/sink/categories.h"

#include <algorithm>
#include <charconv>

#include "core/base/infile.h"
#include "gst/base/error.h"
#include "gst/sink/classes.h"
#include "gst/tensors/labels.h"

namespace keepbox {
namespace {

constexpr int64_t kStep = 1000;  // between attempts to find a free number
constexpr int64_t kLastOfCoco = 90;
constexpr size_t kMaxListBytes = size_t{1} << 26;  // limit of a list of ids

Result<CocoId> parse_id(std::string_view line) {
  CocoId out;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), out.id);
  std::string_view name(end, line.data() + line.size());
  if (error != std::errc{} || (!name.empty() && !g_ascii_isspace(name.front())))
    return file_error("\"" + utf8(line) + "\", does not begin with an integer");
  const size_t first = name.find_first_not_of(" \t\r");
  if (first != name.npos) out.name = name.substr(first, name.find_last_not_of(" \t\r") - first + 1);
  return out;
}

/// Splits a text into lines, without empty ones at the end.
std::vector<std::string_view> lines_of(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// @param path for errors
Result<std::vector<CocoId>> parse_ids(std::string_view text, const std::string& path,
                                      const std::string& hint) {
  std::vector<CocoId> ids;
  for (const std::string_view line : lines_of(text)) {
    auto id = parse_id(line);
    if (!id)
      return file_error(
          "Line " + std::to_string(ids.size() + 1) + " of " + path + ", " + id.error().statement(),
          hint);
    ids.push_back(std::move(*id));
  }
  if (ids.empty()) return file_error(path + " is empty", hint);
  return ids;
}

/// Returns a box's index in COCO's table. Without a class number its label decides.
std::optional<size_t> coco_row(const FrameBox& box) {
  if (!box.class_id) return coco_class_called(name_of(box.label));
  if (box.coco && *box.class_id < coco_classes().size()) return *box.class_id;
  return std::nullopt;
}

/// Formats ` of the model "face"`, if the model is known.
std::string model_of(const FrameBox& box) {
  const std::string model = name_of(box.model);
  return model.empty() ? model : " of the model \"" + model + '"';
}

/// Formats `class 3 "nose" of the model "face"`, as far as known.
std::string text_of(const FrameBox& box) {
  const std::string label = name_of(box.label);
  return (box.class_id ? "class " + std::to_string(*box.class_id) : "the label") +
         (label.empty() ? "" : " \"" + label + '"') + model_of(box);
}

}  // namespace

Result<std::vector<CocoId>> load_coco_ids(const char* path, const char* property) {
  const std::string hint = std::string("set ") + property +
                           "= to a text file with one number per line, optionally followed by a "
                           "name";
  KB_ASSIGN(const auto text, read_text(path, kMaxListBytes, hint));
  return parse_ids(text, path, hint);
}

Result<std::vector<std::string>> load_names(const char* path, const char* property) {
  const std::string hint =
      std::string("set ") + property + "= to a text file with one name per line";
  KB_ASSIGN(const auto text, read_text(path, kMaxListBytes, hint));
  std::vector<std::string> names;
  for (const std::string_view line : lines_of(text)) {
    const size_t first = line.find_first_not_of(" \t\r");
    const size_t last = line.find_last_not_of(" \t\r");
    if (first == line.npos || line.substr(first, last - first).find_first_of(" \t") != line.npos)
      return file_error("Line " + std::to_string(names.size() + 1) + " of " + path + ", \"" +
                            utf8(line) + "\", is not one word",
                        hint);
    names.emplace_back(line.substr(first, last - first + 1));
  }
  if (names.empty()) return file_error(std::string(path) + " is empty", hint);
  return names;
}

Result<int64_t> CategoryIds::of(const FrameBox& box) {
  if (!given_.empty()) return given_id(box);
  const Class key{box.model, box.class_id, box.label};
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const auto row = coco_row(box);
  coco_chosen_ |= row.has_value();
  report(box, row.has_value());
  const int64_t id = number_of(box, row);
  known_.emplace(key, id);
  return id;
}

/// Reports the numbering of a model by its first box, and labels that are not all COCO's.
void CategoryIds::report(const FrameBox& box, bool coco) {
  const std::string of_model = model_of(box);
  const auto [at, first] = models_.try_emplace(box.model);
  LabelsSeen& seen = at->second;
  if (first) {
    const char* ids =
        box.class_id ? coco ? "COCO's own for its 80 classes, 1 to 90" : "the class numbers, from 0"
                     : "COCO's own for labels with the names of its classes, and "
                       "1001, 1002 ... for others in order of appearance";
    messages_.chosen.push_back("category ids" + of_model + " are " + ids);
  }
  if (box.class_id) return;
  if (coco) seen.coco = true;
  else if (seen.other.empty()) seen.other = name_of(box.label);
  if (!seen.coco || seen.other.empty() || std::exchange(seen.reported, true)) return;
  messages_.wrong.push_back(problem(ErrorKind::kMismatch,
                                    "Some labels" + of_model +
                                        " are COCO's and others are not, such as \"" + seen.other +
                                        "\": these get category ids outside of COCO's",
                                    "set category-ids="));
}

int64_t CategoryIds::number_of(const FrameBox& box, std::optional<size_t> row) {
  const int64_t wanted = row            ? coco_classes()[*row].id
                         : box.class_id ? *box.class_id
                                        : kStep + ++labels_;
  int64_t id = wanted;
  while (!is_free(id, row)) id += kStep;
  taken_.emplace(id, row);
  const std::string used = "category_id " + std::to_string(id) + " is used for " + text_of(box);
  if (id != wanted)
    messages_.odd.push_back(
        used + ", because " + std::to_string(wanted) +
        " is taken or reserved for COCO; set category-ids= to choose the numbers");
  else if (!row && !box.class_id)
    messages_.odd.push_back(used +
                            ", whose decoder gives no class number; set category-ids= to "
                            "choose the numbers of the data set");
  return id;
}

bool CategoryIds::is_free(int64_t id, std::optional<size_t> row) const {
  if (!row && coco_chosen_ && id >= 1 && id <= kLastOfCoco) return false;
  const auto taken = taken_.find(id);
  // Two models with COCO's classes share its numbers.
  return taken == taken_.end() || (row && taken->second == row);
}

Result<int64_t> CategoryIds::given_id(const FrameBox& box) {
  if (!first_model_) first_model_ = box.model;
  const std::string label = name_of(box.label);
  const bool first = box.model == *first_model_;
  const bool listed = first && box.class_id && *box.class_id < given_.size();
  const CocoId* by_class = listed ? &given_[*box.class_id] : nullptr;
  const auto by_name = std::ranges::find(given_, label, &CocoId::name);
  if (by_class != nullptr && (by_class->name.empty() || by_class->name == label))
    return by_class->id;
  if (!label.empty() && by_name != given_.end()) return by_name->id;
  if (by_class != nullptr) return by_class->id;  // the name is spelt differently
  if (first && box.class_id)
    return file_error("category-ids= lists " + std::to_string(given_.size()) +
                          " classes, but a box is of class " + std::to_string(*box.class_id),
                      "add a line per class to the file of category-ids=");
  const char* hint = first ? "write the label after its number: this decoder gives no class numbers"
                           : "write the label after its number: class numbers apply only to the "
                             "model of the first box";
  return file_error("category-ids= does not list the label \"" + label + '"', hint);
}

void MotIds::start_frame() {
  on_this_frame_.clear();
  for (Model& model : models_) model.newest_before = model.newest;
}

MotIds::Model& MotIds::model_of(GQuark name) {
  const auto found = std::ranges::find(models_, name, &Model::name);
  return found != models_.end() ? *found : models_.emplace_back(Model{.name = name});
}

/// True if another model has that id. A tracker of both models would have given a new id that is
/// higher than all of earlier frames.
bool MotIds::is_of_another(const Model& model, guint64 id) const {
  const auto found = on_this_frame_.find(id);
  if (found != on_this_frame_.end() && found->second != model.name) return true;
  if (model.newest && id <= *model.newest) return false;
  return std::ranges::any_of(models_, [&](const Model& other) {
    return &other != &model && !other.raised_from && other.newest_before &&
           id <= *other.newest_before;
  });
}

void MotIds::raise(Model& model, guint64 from) {
  model.raised_from = from;
  model.raise = ++raised_ * kStep;
  warning_ = problem(ErrorKind::kMismatch,
                     "Objects of several models have the same ids, and MOTChallenge files have no "
                     "column for the model: ids of the model \"" +
                         name_of(model.name) + "\" are raised by " + std::to_string(model.raise),
                     "use one boxtrack after all decoders, whose ids differ");
}

guint64 MotIds::of(const ObjectKey& object) {
  Model& model = model_of(object.model);
  if (!model.raised_from) {
    if (is_of_another(model, object.id)) raise(model, object.id);
    else on_this_frame_.emplace(object.id, object.model);
  }
  model.newest = std::max(model.newest.value_or(0), object.id);
  const bool raised = model.raised_from && object.id >= *model.raised_from;
  return raised ? object.id + model.raise : object.id;
}

}  // namespace keepbox
