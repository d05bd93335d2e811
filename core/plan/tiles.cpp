// SPDX-License-Identifier: LGPL-2.1-or-later
// Divides frames into tiles.
#include "core/plan/tiles.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <utility>

namespace keepbox {
namespace {

/// Tiles along one axis.
struct TileRow {
  uint32_t side = 0;
  std::vector<uint32_t> at;
};

/// Returns the side, enlarged so that a tile at the end begins at a whole chroma sample.
uint32_t whole_samples_left(uint32_t side, uint32_t length, uint32_t chroma) {
  while (side < length && (length - side) % chroma != 0) ++side;
  return side;
}

/// Returns `count` tiles that are spread over a length.
TileRow spread(uint32_t length, uint32_t count, double overlap, uint32_t chroma) {
  constexpr double kRounding = 1e-4;  // of an overlap in single precision
  const double exact = std::ceil(length / (count - (count - 1) * overlap) - kRounding);
  const uint32_t side = std::clamp(static_cast<uint32_t>(exact), 1u, length);
  TileRow out{.side = whole_samples_left(side, length, chroma)};
  const uint32_t free = length - out.side;
  for (uint32_t i = 0; i < count; ++i)
    out.at.push_back(count == 1 ? 0
                                : static_cast<uint32_t>(std::lround(1.0 * i * free / (count - 1))));
  return out;
}

/// Returns tiles of a size, at most kMaxTiles + 1 of them.
TileRow of_size(uint32_t length, uint32_t side, double overlap, uint32_t chroma) {
  TileRow out{.side = whole_samples_left(std::min(side, length), length, chroma)};
  const auto shared = static_cast<uint32_t>(side * overlap);
  const uint32_t step = std::max(side - std::min(shared, side), 1u);
  for (uint32_t at = 0; out.at.size() <= kMaxTiles; at += step) {
    out.at.push_back(std::min(at, length - out.side));
    if (length - out.side <= at) break;
  }
  return out;
}

size_t whole_frames(const TileGrid& grid) { return grid.whole ? 1 : 0; }

std::unexpected<Error> too_many(std::string_view which) {
  return reject(ErrorKind::kInvalid, std::format("{} more than {} tiles", which, kMaxTiles),
                "set fewer or larger tiles, or less overlap, in tiles=");
}

}  // namespace

Status check_grid(const TileGrid& grid) {
  if (size_t{grid.columns} * grid.rows + whole_frames(grid) <= kMaxTiles) return {};
  return too_many(std::format("tiles={}x{} makes", grid.columns, grid.rows));
}

Tile moved(const Tile& from, Size to, double scale_x, double scale_y, double dx, double dy) {
  const auto map = [](float at, double scale, double by) {
    return static_cast<float>(at * scale + by);
  };
  const Box& area = from.area;
  return {moved(from.letterbox, to, scale_x, scale_y, dx, dy),
          {map(area.x1, scale_x, dx), map(area.y1, scale_y, dy), map(area.x2, scale_x, dx),
           map(area.y2, scale_y, dy)}};
}

Tile scaled_to(const Tile& from, Size to) {
  const Size frame = from.letterbox.frame;
  if (frame == to) return from;  // bit-exact
  return moved(from, to, double{1} * to.width / frame.width, double{1} * to.height / frame.height);
}

Result<std::vector<PixelArea>> tile_areas(const Picture& frame, const TileGrid& grid) {
  const bool spaced = grid.columns != 0;
  const Size chroma{std::max(frame.chroma.width, 1u), std::max(frame.chroma.height, 1u)};
  const auto axis = [&](uint32_t length, uint32_t count, uint32_t sample) {
    return spaced ? spread(length, std::max(count, 1u), grid.overlap, sample)
                  : of_size(length, grid.size, grid.overlap, sample);
  };
  KB_TRY(check_grid(grid));
  const TileRow x = axis(frame.size.width, grid.columns, chroma.width),
                y = axis(frame.size.height, grid.rows, chroma.height);
  if (x.at.size() * y.at.size() + whole_frames(grid) > kMaxTiles)
    return too_many(std::format("A frame of {}x{} has", frame.size.width, frame.size.height));
  const auto whole_samples = [](uint32_t at, uint32_t sample) { return at - at % sample; };
  std::vector<PixelArea> out;
  for (const uint32_t top : y.at)
    for (const uint32_t left : x.at)
      out.push_back(
          {whole_samples(left, chroma.width), whole_samples(top, chroma.height), {x.side, y.side}});
  if (grid.whole) out.push_back({0, 0, frame.size});
  return out;
}

FramePlanes planes_at(const FramePlanes& frame, const FrameForm& form, uint32_t x, uint32_t y) {
  FramePlanes out = frame;
  std::array<bool, FramePlanes::kMax> done{};
  for (const FrameComponent& each : form.components) {
    if (std::exchange(done[each.plane], true)) continue;
    out.data[each.plane] += ptrdiff_t{y / each.sub_y} * frame.stride[each.plane] +
                            ptrdiff_t{x / each.sub_x} * each.step;
  }
  return out;
}

Tile tile_of(const PixelArea& area, Size frame, const Letterbox& of_area) {
  const Letterbox map = moved(of_area, frame, 1, 1, area.x, area.y);
  const auto edge = [](uint32_t at) { return static_cast<float>(at); };
  const Box seen = map.to_frame({0, 0, edge(map.model.width), edge(map.model.height)});
  return {map,
          {std::max(edge(area.x), seen.x1), std::max(edge(area.y), seen.y1),
           std::min(edge(area.x + area.size.width), seen.x2),
           std::min(edge(area.y + area.size.height), seen.y2)}};
}

}  // namespace keepbox
