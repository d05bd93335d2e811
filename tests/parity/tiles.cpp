// SPDX-License-Identifier: LGPL-2.1-or-later
// Inputs of other families as the tiles of a frame: each image has a place of its own in it.
#include <string_view>

#include "tests/parity/makers.h"

namespace keepbox::test {
namespace {

/// Repeats the tensors of a single image with values that differ a little.
void repeat_images(Input& input, size_t images) {
  for (Tensor& tensor : input.tensors) {
    const std::vector<float> first = tensor.values;
    for (size_t image = 1; image < images; ++image)
      for (const float value : first)
        tensor.values.push_back(value * (1 + 0.03f * static_cast<float>(image)));
    std::vector<size_t> dims(tensor.shape.dims().begin(), tensor.shape.dims().end());
    dims[0] = images;
    tensor.shape = Shape(std::span<const size_t>(dims));
  }
}

bool may_repeat(const Input& input) {
  return std::ranges::all_of(input.tensors, [](const Tensor& tensor) {
    return tensor.type == DataType::kFloat32 && tensor.shape.rank() > 1 && tensor.shape[0] == 1;
  });
}

/// Gives each image a place in the frame; some of them show all of it.
void place_images(Random& random, Settings& settings, size_t images) {
  const Size model = settings.model_size.width != 0 ? settings.model_size : settings.frame.size;
  const Size frame{uint32_t(pick(random, 60, 2000)), uint32_t(pick(random, 60, 2000))};
  for (size_t i = 0; i < images; ++i) {
    const float scale = uniform(random, 0.3f, 3);
    Letterbox map{.frame = frame,
                  .model = model,
                  .scale_x = scale,
                  .scale_y = pick(random, 0, 1) ? scale : uniform(random, 0.3f, 3),
                  .pad_x = uniform(random, -0.5f, 0.1f) * float(model.width),
                  .pad_y = uniform(random, -0.5f, 0.1f) * float(model.height)};
    if (pick(random, 0, 3) == 0) map.pad_x = map.pad_y = 0;
    settings.tiles.push_back({map, map.to_frame({0, 0, float(model.width), float(model.height)})});
  }
  settings.letterbox = settings.tiles.front().letterbox;
  settings.frame.size = pick(random, 0, 3) ? frame : Size{frame.width / 2, frame.height / 2};
  settings.tile_rules = {.merge = static_cast<TileMerge>(pick(random, 0, 2)),
                         .threshold = uniform(random, 0.1f, 0.9f),
                         .border = uniform(random, -1, 40)};
}

/// Returns an input of a family as tiles.
Input tiles_of(Random& random, std::string_view name) {
  const auto of_name = [&](const Family& each) { return each.name == name; };
  while (true) {
    Input input = std::ranges::find_if(families(), of_name)->make(random);
    const size_t own = input.tensors[0].shape[0];
    const size_t images = own > 1 ? own : size_t(pick(random, 2, 5));
    if (own == 1 && !may_repeat(input)) continue;
    if (own == 1) repeat_images(input, images);
    place_images(random, input.settings, images);
    input.settings.tile_rules.united = name != "oriented-planes" && pick(random, 0, 1) != 0;
    return input;
  }
}

Input tiles(Random& random) { return tiles_of(random, "batch"); }
Input tiles_of_planes(Random& random) { return tiles_of(random, "planes"); }
Input tiles_with_points(Random& random) { return tiles_of(random, "points"); }
Input tiles_with_masks(Random& random) { return tiles_of(random, "masks"); }
Input oriented_tiles(Random& random) { return tiles_of(random, "oriented-planes"); }

constexpr Family kTileFamilies[] = {
    {"tiles", "images of a frame with the place of another one", tiles},
    {"tiles-planes", "tiles of many candidates", tiles_of_planes},
    {"tiles-points", "points with the place of another tile", tiles_with_points},
    {"tiles-masks", "masks with the place of another tile", tiles_with_masks, 2},
    {"tiles-oriented", "oriented boxes with the place of another tile", oriented_tiles},
};

}  // namespace

std::span<const Family> tile_families() { return kTileFamilies; }

}  // namespace keepbox::test
