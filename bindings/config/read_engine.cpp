// SPDX-License-Identifier: Apache-2.0
// Reader: what concerns the engine as a process: transports, logging, threads, memory, limits, durability.
#include <fmt/format.h>

#include "bindings/config/reader.h"

namespace pinnace::config {

// Clients come through shared memory only; addresses of networks are said to be ignored.
void Reader::read_transport(pugi::xml_node element) {
    std::string name;
    std::string type = "shm";
    std::string socket;
    Section(document_, Unknown::warning)
        .one("Name", [&](pugi::xml_node e) { read_text(document_, e, name); })
        .one("Type", [&](pugi::xml_node e) { read_text(document_, e, type); })
        .one("SocketPath", [&](pugi::xml_node e) { read_text(document_, e, socket); })
        .one("InetAddr", [](pugi::xml_node) {})
        .one("MessageType", [](pugi::xml_node) {})
        .one("Protocol", [](pugi::xml_node) {})
        .read(element);
    if (type != "shm") {
        document_.warn(element, fmt::format("transport {} of type {} is ignored: clients come through shared "
                                            "memory, by a transport of type shm",
                                            name, type));
        return;
    }
    if (has_shared_memory_transport_)
        document_.error(element, "there are two transports of type shm; leave one of them out");
    has_shared_memory_transport_ = true;
    configuration_.engine.socket_path = socket;
}

void Reader::read_log_target(pugi::xml_node element) {
    LogTarget target;
    using Kind = LogTarget::Kind;
    Section(document_, Unknown::warning)
        .one("Protocol",
             [&](pugi::xml_node e) {
                 read_choice<Kind>(document_, e, target.kind,
                                   {{"file", Kind::file},
                                    {"stdout", Kind::standard_output},
                                    {"stderr", Kind::standard_error}});
             })
        .one("Level",
             [&](pugi::xml_node e) {
                 using Names = std::initializer_list<std::pair<std::string_view, std::string>>;
                 const Names levels{{"trace", "trace"},       {"debug", "debug"},         {"stats", "stats"},
                                    {"info", "info"},         {"warning", "warning"},     {"error", "error"},
                                    {"critical", "critical"}, {"emergency", "emergency"}, {"none", "none"}};
                 read_choice<std::string>(document_, e, target.level, levels);
             })
        .one("FileName", [&](pugi::xml_node e) { read_text(document_, e, target.file_name); })
        .read(element);
    if (target.kind == Kind::file && target.file_name.empty() && !element.child("FileName"))
        document_.error(element, "a target of Protocol file needs a FileName");
    configuration_.log_targets.push_back(std::move(target));
}

void Reader::read_threads(pugi::xml_node element) {
    EngineOptions& engine = configuration_.engine;
    const auto core = [&](pugi::xml_node e, std::optional<unsigned>& to) {
        std::uint64_t number = 0;
        if (document_.text(e) == "any") {
            to.reset();
        } else if (read_count(document_, e, number, 0, 65'535)) {
            to = static_cast<unsigned>(number);
        }
    };
    Section(document_, Unknown::warning)
        .one("Wait",
             [&](pugi::xml_node e) {
                 read_choice<WaitMode>(document_, e, engine.wait,
                                       {{"auto", WaitMode::automatic},
                                        {"spin", WaitMode::spin},
                                        {"yield", WaitMode::yield},
                                        {"block", WaitMode::block}});
             })
        .one("DispatcherCore", [&](pugi::xml_node e) { core(e, engine.dispatcher_cpu); })
        .one("JournalCore", [&](pugi::xml_node e) { core(e, engine.journal_cpu); })
        .one("Pin", [&](pugi::xml_node e) { read_switch(document_, e, engine.pin); })
        .read(element);
}

void Reader::read_memory(pugi::xml_node element) {
    EngineOptions& engine = configuration_.engine;
    constexpr std::uint64_t kLeast = 1u << 20;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
    Section(document_, Unknown::warning)
        .one("LogSize",
             [&](pugi::xml_node e) { read_size(document_, e, engine.log_small_size, kLeast, kMost); })
        .one("LargeLogSize",
             [&](pugi::xml_node e) { read_size(document_, e, engine.log_large_size, kLeast, kMost); })
        .one("ReadBufferSize",
             [&](pugi::xml_node e) { read_size(document_, e, engine.log_reread_size, kLeast, kMost); })
        .one("ExpectedMessages",
             [&](pugi::xml_node e) {
                 std::uint64_t count = 0;
                 if (read_count(document_, e, count, 0, UINT32_MAX))
                     engine.message_count_hint = static_cast<std::uint32_t>(count);
             })
        .read(element);
}

void Reader::read_limits(pugi::xml_node element) {
    EngineOptions& engine = configuration_.engine;
    const auto count32 = [&](pugi::xml_node e, std::uint32_t& to, std::uint64_t most) {
        std::uint64_t count = 0;
        if (read_count(document_, e, count, 1, most)) to = static_cast<std::uint32_t>(count);
    };
    Section(document_, Unknown::warning)
        .one("MessageSizeMax",
             [&](pugi::xml_node e) {
                 std::uint64_t size = 0;
                 if (read_size(document_, e, size, 64, 1u << 30))
                     engine.message_size_max = static_cast<std::uint32_t>(size);
             })
        .one("RingEntries", [&](pugi::xml_node e) { count32(e, engine.ring_entry_count, 1u << 20); })
        .one("SessionsPerUser",
             [&](pugi::xml_node e) { count32(e, engine.session_count_max_per_user, 65'536); })
        .one("MaxDedupIds",
             [&](pugi::xml_node e) {
                 read_count(document_, e, engine.dedup_count_max, 1, std::uint64_t{1} << 40);
             })
        .one("RejoinGrace", [&](pugi::xml_node e) { read_duration(document_, e, engine.rejoin_grace, 0); })
        .read(element);
}

void Reader::read_durability(pugi::xml_node element) {
    std::string policy = "group";
    Section(document_, Unknown::warning)
        .one("Policy",
             [&](pugi::xml_node e) {
                 read_choice<std::string>(
                     document_, e, policy,
                     {{"group", "group"}, {"interval", "interval"}, {"each", "each"}, {"none", "none"}});
                 if (policy != "group") not_built("durability policies other than group", e, policy);
             })
        .without_effect({"Interval"}, "not built yet: accepted, without effect")
        .read(element);
}

}  // namespace pinnace::config
