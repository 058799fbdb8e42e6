// SPDX-License-Identifier: Apache-2.0
// Texts of configuration elements to a QueueConfig, with the refusals of Q2 that one queue's elements show by
// themselves. The command line's --queue, the scenario line `queue` and the XML reader all use this.
//
// What needs other definitions or expressions is refused later: topics that are not covered, cycles of
// dead-letter queues (Core::finish_definitions), expressions that do not parse (Core::define_queue).
// Each text of an error begins with the element's name.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.h"

namespace pinnace {

struct ConfigElement {
    std::string name;
    std::string value;
};

// `elements` in the order given; UnderlyingTopic may come several times. Name (or Topic) may be among them.
std::expected<QueueConfig, Refusal> parse_queue(std::span<const ConfigElement> elements,
                                                QueueTag tag = QueueTag::queue);

// The same with everything that is wrong, in order; the configuration is then what could be read.
QueueConfig parse_queue(std::span<const ConfigElement> elements, QueueTag tag, std::vector<Refusal>& wrong);

// `NAME Element=value …`; blanks part the words, '…' and "…" group as in a shell.
std::expected<QueueConfig, Refusal> parse_queue_line(std::string_view line);

// "; did you mean X?" with the name that is written most alike, or nothing.
std::string suggestion(std::string_view name, std::span<const std::string_view> known);

// A whole number and one of ns us ms s m h d; a bare 0 is none. Nothing: not a duration, or beyond the clock.
std::optional<Duration> parse_duration(std::string_view text);
// A whole number, not negative.
std::optional<std::uint64_t> parse_count(std::string_view text);
// A whole number of bytes, perhaps with B, KB, MB, GB or KiB, MiB, GiB.
std::optional<std::uint64_t> parse_size(std::string_view text);

}  // namespace pinnace
