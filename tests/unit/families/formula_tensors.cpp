// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes anchors in every layout and type.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <format>
#include <limits>

#include "tests/unit/families/formula.h"

namespace keepbox::test {
namespace {

template <class T>
void put(Tensor& tensor, size_t i, T value) {
  std::memcpy(tensor.raw.data() + i * sizeof value, &value, sizeof value);
}

template <class T>
void store_integers(Tensor& tensor, std::vector<double>& values) {
  using Limits = std::numeric_limits<T>;
  const auto [low, high] = std::ranges::minmax(values);
  const double steps = double(Limits::max()) - double(Limits::min());
  tensor.scale = static_cast<float>(std::max(high - low, 1e-6) / steps);
  tensor.zero_point = static_cast<float>(std::round(double(Limits::min()) - low / tensor.scale));
  tensor.raw.resize(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const double number = std::round(values[i] / tensor.scale + tensor.zero_point);
    const auto whole =
        static_cast<T>(std::clamp(number, double(Limits::min()), double(Limits::max())));
    put(tensor, i, whole);
    values[i] = (double(whole) - double(tensor.zero_point)) * double(tensor.scale);
  }
}

void store_halves(Tensor& tensor, std::vector<double>& values) {
  tensor.raw.resize(values.size() * 2);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto half = static_cast<_Float16>(values[i]);
    put(tensor, i, half);
    values[i] = static_cast<double>(half);
  }
}

/// Stores as bfloat16, truncated instead of rounded.
void store_brains(Tensor& tensor, std::vector<double>& values) {
  tensor.raw.resize(values.size() * 2);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    put(tensor, i, static_cast<uint16_t>(bits >> 16));
    bits &= 0xffff0000u;
    float cut;
    std::memcpy(&cut, &bits, sizeof cut);
    values[i] = double{cut};
  }
}

/// Range of anchors in a tensor: all, or those of a level.
struct MapView {
  size_t first, count, anchors, columns, rows, channels;
  Order order;
};

size_t index(const MapView& sheet, const Place& place, size_t number, size_t channel) {
  const size_t n = number - sheet.first, cell = place.y * sheet.columns + place.x,
               cells = sheet.columns * sheet.rows;
  switch (sheet.order) {
    case Order::kPlanes: return channel * sheet.count + n;
    case Order::kMaps: return (place.anchor * sheet.channels + channel) * cells + cell;
    case Order::kPixels: return (cell * sheet.anchors + place.anchor) * sheet.channels + channel;
    case Order::kStacked: return (place.anchor * cells + cell) * sheet.channels + channel;
    default: return n * sheet.channels + channel;
  }
}

Shape shape_of(const MapView& s) {
  switch (s.order) {
    case Order::kPlanes: return {1, s.channels, s.count};
    case Order::kMaps: return {1, s.anchors * s.channels, s.rows, s.columns};
    case Order::kPixels: return {1, s.rows, s.columns, s.anchors * s.channels};
    case Order::kStacked: return {1, s.anchors, s.rows, s.columns, s.channels};
    case Order::kFlat: return {s.count, s.channels};
    case Order::kDeep: return {1, s.count, 1, s.channels};
    default: return {1, s.count, s.channels};
  }
}

std::string id_of(const Column& column, size_t stride) {
  std::string id = column.id;
  if (const size_t star = id.find('*'); star != id.npos)
    id.replace(star, 1, std::to_string(stride));
  return id;
}

/// Writes the tensor of some columns for a range of anchors.
Tensor write_one(MapView sheet, const std::vector<Column>& columns,
                 const std::vector<Place>& places, std::vector<Numbers>& numbers,
                 const Form& form) {
  sheet.channels = 0;
  for (const Column& column : columns) sheet.channels += column.channels;
  std::vector<double> values(sheet.count * sheet.channels);
  const auto visit = [&](auto&& use) {
    for (size_t i = sheet.first; i < sheet.first + sheet.count; ++i) {
      size_t channel = 0;
      for (const Column& column : columns)
        for (double& number : numbers[i][column.field])
          use(values[index(sheet, places[i], i, channel++)], number);
    }
  };
  visit([](double& value, double number) { value = number; });
  Tensor out = stored(values, shape_of(sheet), form.type);
  visit([](double value, double& number) { number = value; });
  out.id = id_of(columns[0], static_cast<size_t>(places[sheet.first].stride));
  return out;
}

std::vector<MapView> sheets_of(const Form& form, const std::vector<Place>& places) {
  std::vector<MapView> out;
  for (size_t i = 0; i < places.size(); ++i) {
    if (out.empty() || (form.levels && places[i].level != places[i - 1].level))
      out.push_back({.first = i,
                     .count = 0,
                     .anchors = 1,
                     .columns = places[i].columns,
                     .rows = places[i].rows,
                     .channels = 0,
                     .order = form.order});
    MapView& sheet = out.back();
    ++sheet.count;
    sheet.anchors = std::max(sheet.anchors, places[i].anchor + 1);
  }
  return out;
}

}  // namespace

Tensor stored(std::vector<double>& values, const Shape& shape, DataType type) {
  Tensor out{.shape = shape, .type = type};
  switch (type) {
    case DataType::kInt8: store_integers<int8_t>(out, values); break;
    case DataType::kUInt8: store_integers<uint8_t>(out, values); break;
    case DataType::kInt16: store_integers<int16_t>(out, values); break;
    case DataType::kFloat16: store_halves(out, values); break;
    case DataType::kBFloat16: store_brains(out, values); break;
    default:
      for (double& value : values) {
        out.values.push_back(static_cast<float>(value));
        value = double{out.values.back()};
      }
  }
  return out;
}

std::vector<Place> places(const Model& model, const Form& form) {
  std::vector<Place> out;
  const double width = form.input.width, height = form.input.height;
  if (model.strides.empty())
    for (size_t i = 0; i < model.anchors[0]; ++i) out.push_back({.width = width, .height = height});
  const bool split = form.order == Order::kMaps || form.order == Order::kStacked;
  const bool cell_major = form.order == Order::kPixels || (model.cell_major && !split);
  for (size_t level = 0; level < model.strides.size(); ++level) {
    const size_t stride = model.strides[level];
    const size_t anchors = model.anchors[std::min(level, model.anchors.size() - 1)];
    const size_t columns = (form.input.width + stride - 1) / stride,
                 rows = (form.input.height + stride - 1) / stride, cells = columns * rows;
    for (size_t i = 0; i < cells * anchors; ++i) {
      const size_t cell = cell_major ? i / anchors : i % cells;
      out.push_back({.level = level,
                     .anchor = cell_major ? i % anchors : i / cells,
                     .x = cell % columns,
                     .y = cell / columns,
                     .columns = columns,
                     .rows = rows,
                     .stride = double(stride),
                     .width = width,
                     .height = height});
    }
  }
  return out;
}

std::vector<Tensor> write(const Model& model, const Form& form, const std::vector<Place>& places,
                          std::vector<Numbers>& numbers) {
  std::vector<MapView> sheets = sheets_of(form, places);
  if (model.coarse_first) std::ranges::reverse(sheets);
  std::vector<std::vector<Column>> groups;
  for (const Column& column : model.columns) {
    if (column.optional && !form.optional) continue;
    if (groups.empty() || !(model.together || column.behind)) groups.emplace_back();
    groups.back().push_back(column);
  }
  std::vector<Tensor> out;
  const auto add = [&](const MapView& sheet, const std::vector<Column>& columns) {
    out.push_back(write_one(sheet, columns, places, numbers, form));
  };
  if (model.level_first)
    for (const MapView& sheet : sheets)
      for (const auto& columns : groups) add(sheet, columns);
  else
    for (const auto& columns : groups)
      for (const MapView& sheet : sheets) add(sheet, columns);
  return out;
}

std::string to_string(const Form& form) {
  constexpr const char* kOrders[] = {"rows", "planes", "maps", "pixels", "stacked", "flat", "deep"};
  return std::format("{}{} {}x{} {}{}{}", kOrders[static_cast<size_t>(form.order)],
                     form.levels ? " a level" : "", form.input.width, form.input.height,
                     keepbox::to_string(form.type),
                     form.optional ? "" : " without optional tensors",
                     !form.multi_label   ? ""
                     : *form.multi_label ? " of all labels"
                                         : " of the best label");
}

}  // namespace keepbox::test
