// SPDX-License-Identifier: Apache-2.0
// Machine: the filters of subscriptions, and the classes of messages that they make (D11, D12).
#include "core/machine.h"

namespace pinnace {

std::expected<void, RequestError> Machine::check_filter(std::string_view filter) const {
    if (filter.empty()) return {};
    return std::unexpected(RequestError{Answer::bad_filter, "filters are not built yet"});
}

std::uint32_t Machine::filter_slot(Queue& queue, std::string_view filter) {
    PINNACE_CHECK(filter.empty() && !queue.filters.empty());
    return 0;
}

void Machine::drop_filter_slot(Queue& queue, std::uint32_t slot) {
    PINNACE_CHECK(slot < queue.filters.size());
}

}  // namespace pinnace
