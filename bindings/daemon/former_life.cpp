// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/former_life.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>

namespace pinnace::daemon {
namespace {

constexpr std::uint16_t kSessionBegins = 1;

}  // namespace

ProcessIdentity identify_process(std::int32_t pid) {
    ProcessIdentity process{pid, 0, 0};
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string text;
    if (!std::getline(file, text)) return process;
    // The second field is the name in parentheses and may hold anything; fields are counted from its end.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return process;
    // A zombie does nothing any more.
    if (name_end + 2 < text.size() && (text[name_end + 2] == 'Z' || text[name_end + 2] == 'X'))
        return process;
    std::size_t at = name_end;
    for (int field = 2; field < 22; ++field) {
        at = text.find(' ', at + 1);
        if (at == std::string::npos) return process;
    }
    process.start_time = std::strtoull(text.c_str() + at, nullptr, 10);
    return process;
}

RecordHeader session_record(std::uint64_t key, bool begins, Time now) {
    RecordHeader header;
    header.kind = static_cast<std::uint16_t>(RecordKind::session);
    header.flags = begins ? kSessionBegins : std::uint16_t{0};
    header.number = key;
    header.time = now;
    return header;
}

std::expected<void, std::string> FormerLife::apply(const RecordView& record) {
    switch (static_cast<RecordKind>(record.header.kind)) {
        case RecordKind::stop:
            missing_.clear();
            return {};
        case RecordKind::session:
            break;
        default:
            return {};
    }
    if (record.header.flags == 0) {
        missing_.erase(record.header.number);
        return {};
    }
    ProcessIdentity process;
    if (record.header.flags != kSessionBegins || record.head.size() != sizeof process) {
        return std::unexpected("a session record has an unknown form");
    }
    std::memcpy(&process, record.head.data(), sizeof process);
    missing_[record.header.number] = process;
    return {};
}

void FormerLife::wait_from(std::int64_t now_ns) {
    deadline_ns_ = now_ns + grace_ns_;
    check(now_ns);
}

void FormerLife::is_back(std::uint64_t key) {
    missing_.erase(key);
    if (missing_.empty()) end();
}

void FormerLife::check(std::int64_t now_ns) {
    if (over()) return;
    std::erase_if(missing_, [](const auto& entry) {
        const ProcessIdentity now = identify_process(entry.second.pid);
        return now.start_time != entry.second.start_time;
    });
    if (missing_.empty() || now_ns >= deadline_ns_) end();
}

}  // namespace pinnace::daemon
