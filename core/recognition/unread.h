// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors that a family leaves unread, as evidence against it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/recognition/layout.h"

namespace keepbox {

/// Returns the indices of the tensors that a layout reads, in ascending order.
std::vector<size_t> read_tensors(const Layout& layout);

/// True if two tensors differ in one dimension at most and share a grid's cells or as many
/// channels: other values of the same anchors, or the same values of another level.
bool belong_together(const Shape& a, const Shape& b);

/// Returns the unread tensors that belong together with one that is read, other than those that the
/// family ignores.
std::vector<size_t> unread_parts(const Layout& layout, std::span<const TensorView> tensors);

/// Returns the unread tensors with a name of one of the family's optional tensors, which have other
/// channels than that.
std::vector<size_t> misfits(const Layout& layout, std::span<const TensorView> tensors);

}  // namespace keepbox
