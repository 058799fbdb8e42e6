// SPDX-License-Identifier: Apache-2.0
// Configuration: what an XML file says, with defaults filled in. Reading and writing go together: what is
// written reads back as the same, and is written the same again.
//
//     const Loaded loaded = config::load("pinnace.xml");
//     if (!loaded.has_errors()) Engine::start(engine_options(loaded.configuration));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/config/document.h"
#include "bindings/daemon/engine.h"
#include "core/definitions.h"

namespace pinnace::config {

struct LogTarget {
    enum class Kind : std::uint8_t { file, standard_output, standard_error };
    Kind kind = Kind::standard_error;
    std::string level = "info";
    std::string file_name;  // of kind file
};

struct Configuration {
    std::string name;         // of the instance
    Definitions definitions;  // topics, queues, actions, message types
    // Directories, threads, memory, limits. Its own lists of definitions stay empty.
    EngineOptions engine;
    std::vector<LogTarget> log_targets;
};

struct Loaded {
    Configuration configuration;
    std::vector<Problem> problems;  // in the order of the file
    bool has_errors() const;
    // All problems, a line each (more where an expression is shown), for `file`.
    std::string text(std::string_view file, bool with_warnings) const;
};

// `text` is the file's content. Reads nothing but the environment.
Loaded parse(std::string_view text, const Environment& environment = process_environment);
// The error is why the file cannot be read.
std::expected<Loaded, std::string> load(const std::string& path);

// The effective configuration, defaults included, as a file.
std::string write(const Configuration& configuration);

// What a running engine takes over of a changed configuration, and what it does not, by the elements' names.
struct Changes {
    Definitions added;                 // message types, topics and queues that are new
    std::vector<QueueConfig> changed;  // queues with other limits, the rest as it is
    std::vector<std::string> applied;  // "SOW/Queue Q/LeasePeriod", "SOW/Queue New", …
    std::vector<std::string> refused;  // needs a restart
    Configuration running;             // what then runs
};
Changes compare(const Configuration& running, const Configuration& next);
// The first thing that a core refuses of the definitions.
std::expected<void, std::string> try_definitions(const Definitions& definitions);

// What the engine is started with.
EngineOptions engine_options(const Configuration& configuration);

}  // namespace pinnace::config
