// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses the geometry of a plan's boxes. Host code.
#pragma once

#include "core/formula/geometry.h"
#include "core/formula/oriented.h"

namespace keepbox {

static_assert(BoxGeometry<Upright> && BoxGeometry<OrientedPolygon> &&
              BoxGeometry<OrientedGaussian>);

/// Returns call.operator()<Geometry>() with the geometry of these rules.
template <class Call>
decltype(auto) with_geometry(const Rules& rules, Call call) {
  if (!rules.oriented) return call.template operator()<Upright>();
  return rules.contract.oriented == OrientedOverlap::kPolygon
             ? call.template operator()<OrientedPolygon>()
             : call.template operator()<OrientedGaussian>();
}

}  // namespace keepbox
