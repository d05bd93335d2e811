// SPDX-License-Identifier: LGPL-2.1-or-later
// Plans an input for each picture of a frame.
#include "gst/infer/objects/pictures.h"

#include <utility>

namespace keepbox {
namespace {

Result<std::vector<PixelArea>> areas_of(const Picture& frame, const TileGrid& grid) {
  if (!grid.any()) return std::vector<PixelArea>{{0, 0, frame.size}};
  return tile_areas(frame, grid);
}

}  // namespace

Result<Picture> leading_picture(const Picture& frame, const TileGrid& grid) {
  KB_ASSIGN(const std::vector<PixelArea> areas, areas_of(frame, grid));
  Picture out = frame;
  out.size = areas.front().size;
  return out;
}

Result<Pictures> plan_pictures(const FrameForm& form, const Picture& frame, const TileGrid& grid,
                               const InputForm& input, ResizeMode mode) {
  KB_ASSIGN(const std::vector<PixelArea> areas, areas_of(frame, grid));
  Pictures out;
  for (const PixelArea& area : areas) {
    FrameForm part = form;
    part.size = area.size;
    KB_ASSIGN(InputPlan plan, plan_input(part, frame.par_n, frame.par_d, input, mode));
    if (grid.any()) out.tiles.push_back(tile_of(area, frame.size, plan.letterbox));
    out.plans.push_back({std::move(plan), area});
  }
  out.max_pictures = static_cast<unsigned>(out.plans.size());
  out.geometry = grid.any() ? out.tiles.front().letterbox : out.plans.front().plan.letterbox;
  return out;
}

Result<Pictures> plan_objects(const FrameForm& form, const Picture& frame, unsigned max_pictures,
                              const InputForm& input) {
  Pictures out;
  KB_ASSIGN(out.crops, plan_crops(form, frame.par_n, frame.par_d, input));
  out.max_pictures = max_pictures;
  out.geometry = {.frame = input.size, .model = input.size};
  return out;
}

}  // namespace keepbox
