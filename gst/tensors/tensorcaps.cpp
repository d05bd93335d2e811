// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes the sink caps from the table of detectors.
#include "gst/tensors/tensorcaps.h"

#include <algorithm>
#include <vector>

#include "core/base/text.h"
#include "core/model/detector.h"
#include "gst/base/library.h"

namespace keepbox {
namespace {

constexpr std::string_view kNormalized = "-normalized";
constexpr std::string_view kOld = "Gst.Model.";  // ids of GStreamer 1.26, which has no tensor caps

struct Group {
  std::string name, tensors;
  bool more = false;  // than one tensor
};

void add(std::vector<Group>& groups, std::string_view id) {
  const std::string name = group_of(id);
  if (!std::ranges::contains(groups, name, &Group::name)) groups.push_back({name, {}, name != id});
}

/// True if the id follows the registry's grammar. Ids with a level's stride are names of a model's
/// outputs: they do not name a group, and caps cannot contain the *.
bool has_group(std::string_view id) {
  return !id.empty() && !id.starts_with(kOld) && !id.contains('*');
}

/// Returns the groups of a family's ids in one column. Models mix ids of several groups (a face
/// detector outputs SSD's boxes), and any of them may be the model's group.
std::vector<Group> groups_of(const DetectorSpec& spec, size_t column) {
  std::vector<Group> groups;
  std::string tensors;
  for (const TensorRule& rule : spec.rules()) {
    const std::string_view id = rule.ids[column];
    if (!has_group(id)) continue;
    add(groups, id);
    append(tensors, "(GstCaps)[tensor/strided, tensor-id=(string)" + std::string(id) + "]");
  }
  for (Group& group : groups) group.tensors = tensors;
  return groups;
}

/// Returns caps with a place for each tensor and a last one for further outputs of the model,
/// because a list is only a subset of one of the same length.
std::string caps_of(const Group& group) {
  return "video/x-raw(ANY), tensors=(structure)[tensorgroups, " + group.name + "=(/uniquelist){ " +
         group.tensors + (group.more ? ", (GstCaps)[tensor/strided]" : "") + " };]";
}

/// Functions of GStreamer 1.28 for unique lists.
struct UniqueLists {
  guint (*size)(const GValue* list);
  const GValue* (*value)(const GValue* list, guint index);
};

UniqueLists unique_lists() {
  UniqueLists out;
  find_function(out.size, "gst_value_unique_list_get_size");
  find_function(out.value, "gst_value_unique_list_get_value");
  return out;
}

/// Marks the caps inside a template as permanent: GStreamer exempts only the template's own caps
/// from leak detection.
void mark_lasting(const GstStructure& groups) {
  const UniqueLists lists = unique_lists();
  if (lists.size == nullptr || lists.value == nullptr) return;
  for (gint field = 0; field < gst_structure_n_fields(&groups); ++field) {
    const gchar* name = gst_structure_nth_field_name(&groups, static_cast<guint>(field));
    const GValue* list = gst_structure_get_value(&groups, name);
    for (guint i = 0; i < lists.size(list); ++i)
      GST_MINI_OBJECT_FLAG_SET(const_cast<GstCaps*>(gst_value_get_caps(lists.value(list, i))),
                               GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED);
  }
}

void mark_lasting(const GstCaps* caps) {
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    const GValue* groups = gst_structure_get_value(gst_caps_get_structure(caps, i), "tensors");
    if (groups != nullptr) mark_lasting(*gst_value_get_structure(groups));
  }
}

}  // namespace

std::string group_of(std::string_view tensor_id) {
  const bool normalized = tensor_id.ends_with(kNormalized);
  std::string_view group = tensor_id;
  if (normalized) group.remove_suffix(kNormalized.size());
  if (group.ends_with("-out") || !group.contains('-')) return std::string(tensor_id);
  return std::string(group.substr(0, group.rfind('-'))) +
         std::string(normalized ? kNormalized : "");
}

GstCaps* tensor_sink_caps() {
  guint major = 0, minor = 0, micro = 0, nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  GstCaps* caps = gst_caps_new_empty();
  if (major > 1 || minor >= 28)
    for (const DetectorSpec& spec : detectors())
      for (size_t column = 0; column < TensorRule{}.ids.size(); ++column)
        for (const Group& group : groups_of(spec, column)) {
          GstCaps* one = gst_caps_from_string(caps_of(group).c_str());
          if (one != nullptr) caps = gst_caps_merge(caps, one);  // two families may share an id
        }
  mark_lasting(caps);
  if (gst_caps_is_empty(caps)) gst_caps_append(caps, gst_caps_from_string("video/x-raw(ANY)"));
  return caps;
}

}  // namespace keepbox
