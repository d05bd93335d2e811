// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes, reads and carries the mtds of classifiers' results.
#include "gst/metas/records/labelrecords.h"

#include <algorithm>
#include <cstddef>

namespace keepbox {
namespace {

constexpr const char* kLabelsName = "keepbox-labels";

struct LabelsHeader : BlockHead {
  GQuark model = 0, attribute = 0;
};

/// New members are appended.
struct Record {
  guint od_id = 0, class_id = 0;
  GQuark name = 0;
  gfloat level = 0;
  guint32 length = 0;  // of the text in bytes
  gchar text[kMaxLabelText] = {};
};

static_assert(alignof(Record) <= 4 && alignof(LabelsHeader) <= 4);

std::optional<RecordBlock> open_labels(const GstAnalyticsMtd& mtd) {
  return open_records(mtd, sizeof(LabelsHeader), sizeof(Record));
}

void map_labels(const GstAnalyticsMtd&, const PixelMap&) {}

const GstAnalyticsMtdImpl kLabelsImpl = {kLabelsName, transform_records<map_labels>, nullptr, {}};

/// Returns the text cut to whole characters that fit.
std::string_view cut_to_fit(const std::string& text) {
  if (text.size() <= kMaxLabelText) return text;
  const gchar* end = g_utf8_find_prev_char(text.data(), text.data() + kMaxLabelText + 1);
  return {text.data(), end};
}

Record record_of(const ObjectLabel& label) {
  Record out{label.od_id, label.class_id, label.name, label.level};
  const std::string_view text = cut_to_fit(label.text);
  out.length = static_cast<guint32>(text.size());
  std::ranges::copy(text, out.text);
  return out;
}

/// Adds an mtd for that many records, and returns where they begin.
guint8* add_block(GstAnalyticsRelationMeta* meta, const LabelSubject& about, gsize count) {
  const LabelsHeader header{
      {sizeof header, sizeof(Record), static_cast<guint32>(count)}, about.model, about.attribute};
  GstAnalyticsMtd mtd;
  auto* data = static_cast<guint8*>(gst_analytics_relation_meta_add_mtd(
      meta, &kLabelsImpl, sizeof header + count * sizeof(Record), &mtd));
  std::memcpy(data, &header, sizeof header);
  return data + sizeof header;
}

void add_records(GstAnalyticsRelationMeta* meta, const LabelSubject& about,
                 std::span<const Record> records) {
  if (records.empty()) return;
  std::memcpy(add_block(meta, about, records.size()), records.data(), records.size_bytes());
}

}  // namespace

void add_labels(GstAnalyticsRelationMeta* meta, const LabelSubject& about,
                std::span<const ObjectLabel> labels) {
  std::vector<Record> records;
  for (const ObjectLabel& each : labels) records.push_back(record_of(each));
  add_records(meta, about, records);
}

LabelRecords::LabelRecords(GstAnalyticsRelationMeta* meta) {
  for (const GstAnalyticsMtd& mtd : mtds_named(meta, kLabelsName))
    if (const auto block = open_labels(mtd)) {
      const auto header = read_as<LabelsHeader>(block->header);
      blocks_.push_back({*block, {header.model, header.attribute}});
    }
}

void LabelRecords::find(guint od_id, BoxLabels& out) const {
  for (const Block& block : blocks_) {
    const guint8* at = block.records.find(od_id);
    if (at == nullptr) continue;
    const auto record = read_as<Record>(at);
    BoxLabel label{
        .level = record.level, .attribute = block.about.attribute, .model = block.about.model};
    if (record.class_id != G_MAXUINT) label.class_id = record.class_id;
    if (const gchar* name = g_quark_to_string(record.name)) label.text = name;
    else
      label.text = {reinterpret_cast<const gchar*>(at) + offsetof(Record, text),
                    std::min<gsize>(record.length, kMaxLabelText)};
    out.add(label);
  }
}

bool is_labels(GstAnalyticsMtdType type) { return is_named(type, kLabelsName); }

void carry_labels(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                  std::span<const Placed> placed) {
  const auto block = open_labels(mtd);
  if (!block) return;
  const auto header = read_as<LabelsHeader>(block->header);
  std::vector<Record> carried;
  for (guint i = 0; i < block->count; ++i) {
    auto record = read_as<Record>(block->record(i));
    if (record.od_id != kWholeFrame) {
      if (!is_carried(placed, record.od_id)) continue;
      record.od_id = placed[record.od_id].od_id;
    }
    carried.push_back(record);
  }
  add_records(to, {header.model, header.attribute}, carried);
}

}  // namespace keepbox
