// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses the geometry of a plan's boxes. Host code.
#pragma once

#include "core/formula/geometry.h"
#include "core/formula/oriented.h"

namespace keepbox {

static_assert(BoxGeometry<Upright> && BoxGeometry<OrientedPolygon> &&
              BoxGeometry<OrientedGaussian>);

/// Returns what.operator()<Geometry>() with the geometry of these rules.
template <class What>
decltype(auto) with_geometry(const Rules& rules, What what) {
  if (!rules.oriented) return what.template operator()<Upright>();
  return rules.contract.oriented == OrientedOverlap::kPolygon
             ? what.template operator()<OrientedPolygon>()
             : what.template operator()<OrientedGaussian>();
}

}  // namespace keepbox
