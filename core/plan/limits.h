// SPDX-License-Identifier: LGPL-2.1-or-later
// Limits of a plan: wanted classes with their thresholds, and the numbers of candidates.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace keepbox {

// Classes of a plan: thresholds, filters and the number of candidates.

/// Returns the number of classes without the background.
uint32_t foreground_classes(const Layout& layout);

/// Returns for each class id 1 if the class passes the class filters, otherwise 0.
std::vector<uint8_t> class_filter(const Layout& layout, const Settings& settings);

/// Settles thresholds and filters of all classes.
void settle_classes(Plan& plan, const Settings& settings);

/// Returns the maximum number of candidates with a class filter. @param wanted from class_filter().
uint64_t candidates_of(const Plan& plan, std::span<const uint8_t> wanted);

/// Returns that number as text: "8400 anchors of 80 classes".
std::string labels_text(const Plan& plan, uint64_t candidates);

/// Settles whether each class of an anchor may be a candidate. A family's default is dropped with a
/// warning if that would be too many; an explicit setting is an error.
Status settle_labels(Plan& plan, const Settings& settings);

// Method and limits of suppression, by settings, contract and family.

/// Returns the contract with class_agnostic of the settings; rules that do not apply to oriented
/// boxes are off.
NmsContract settle_contract(const NmsContract& contract, const Settings& settings, bool oriented);

/// Settles Rules::reach for OrientedGaussian, by method and threshold.
void settle_reach(Rules& rules);

/// Returns a warning if a frame had more candidates than the method's own limit.
/// @param compared number of candidates that reached suppression.
std::optional<Error> ceiling_reached(const Plan& plan, uint32_t candidates, uint32_t compared);

/// Returns an error instead, for callers that want all candidates to be compared.
Status check_ceiling(const Plan& plan, uint32_t candidates);

/// Settles the method and all limits. @pre the plan has its layout, family and contract.
void settle_limits(Plan& plan, const Settings& settings);

// The size and region filters, and their tables in a plan.

/// Returns kInvalid, naming the property, for sizes that are negative or not finite, invalid class
/// ids, empty regions or more than kMaxRegions.
Status check_filters(const FilterSettings& settings);

/// Fills the filter tables of a plan. @pre rules.class_ids is settled.
/// @param parts see Settings::parts.
void settle_filters(Plan& plan, const FilterSettings& settings, bool parts);

}  // namespace keepbox
