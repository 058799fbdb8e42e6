// SPDX-License-Identifier: Apache-2.0
#include "shm/layout.h"

#include "shm/ring_math.h"

namespace pinnace::shm {

namespace {

bool is_power_of_two_between(std::uint64_t value, std::uint64_t minimum, std::uint64_t maximum) {
    return is_power_of_two(value) && value >= minimum && value <= maximum;
}

}  // namespace

bool is_valid(const SessionGeometry& geometry) {
    return is_power_of_two_between(geometry.submit_capacity, kSubmitCapacityMin, kSubmitCapacityMax) &&
           is_power_of_two_between(geometry.ack_count, kEntryCountMin, kEntryCountMax) &&
           is_power_of_two_between(geometry.delivery_count, kEntryCountMin, kEntryCountMax) &&
           is_power_of_two_between(geometry.answer_count, kEntryCountMin, kEntryCountMax);
}

bool is_valid(const AreaGeometry& geometry, std::uint64_t body_size_max) {
    const std::uint64_t frame_max =
        round_up<std::uint64_t>(kLogHeaderSize + body_size_max, kLogFrameAlignment);
    return body_size_max <= kMessageSizeMaxMax &&
           is_power_of_two_between(geometry.slot_size, kPageSize, std::uint64_t{1} << 30) &&
           is_power_of_two_between(geometry.slot_count, 2, std::uint64_t{1} << 20) &&
           geometry.data_size() <= std::uint64_t{1} << 40 && geometry.data_size() / 2 >= frame_max;
}

}  // namespace pinnace::shm
