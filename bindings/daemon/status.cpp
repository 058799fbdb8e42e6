// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/status.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>

namespace pinnace::daemon {
namespace {

std::string json_number(std::optional<unsigned> number) {
    return number ? fmt::format("{}", *number) : "null";
}

void put_queues(fmt::memory_buffer& out, const Core& core) {
    const char* comma = "";
    for (QueueId queue = 0; queue < core.queue_count(); ++queue) {
        const QueueStatus status = core.status(queue);
        const std::string age = status.oldest == 0
                                    ? "null"
                                    : fmt::format("{}", (core.now() - status.oldest_published) / 1'000'000);
        fmt::format_to(std::back_inserter(out),
                       R"({}{{"name":{},"depth":{},"leased":{},"oldest_position":{},"oldest_age_ms":{}}})",
                       comma, json_text(status.name), status.depth, status.leased, status.oldest, age);
        comma = ",";
    }
}

void put_sessions(fmt::memory_buffer& out, const std::vector<Control::SessionFacts>& sessions) {
    const char* comma = "";
    for (const Control::SessionFacts& s : sessions) {
        auto& session = const_cast<shm::ServerSession&>(*s.session);
        fmt::format_to(std::back_inserter(out),
                       R"({}{{"id":{},"pid":{},"uid":{},"name":{},"consumer":{},"submitted_bytes":{},)"
                       R"("acknowledgments":{},"deliveries":{},"untaken":{}}})",
                       comma, s.id, s.pid, s.uid, json_text(s.name), s.consumer, session.submit().position(),
                       session.acks().index(), session.deliveries().written(),
                       session.deliveries().written() - session.deliveries().refresh());
        comma = ",";
    }
}

}  // namespace

std::string json_text(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
            out += c;
        }
    }
    return out + "\"";
}

std::string make_status(const EngineReport& report, Dispatcher& dispatcher, const journal::Journal& journal,
                        const std::vector<Control::SessionFacts>& sessions) {
    const Core& core = dispatcher.pump().core();
    const journal::Status j = journal.status();
    fmt::memory_buffer out;
    fmt::format_to(
        std::back_inserter(out),
        R"({{"version":"{}","epoch":{},"engine_time_ns":{},"data":{},"socket":{},"wait":"{}","clock":"{}",)",
        PINNACE_VERSION, report.epoch, core.now(), json_text(report.data_directory),
        json_text(report.socket_path), report.wait, report.clock);
    fmt::format_to(std::back_inserter(out),
                   R"("threads":[{{"name":"dispatcher","cpu":{}}},{{"name":"journal","cpu":{}}}],)",
                   json_number(report.dispatcher_cpu), json_number(report.journal_cpu));
    fmt::format_to(std::back_inserter(out), R"("memory":{{"rung":{},"state_bytes":{}}},)",
                   json_text(report.memory_rung), core.state_byte_count());
    const EvaluationCounts counts = core.evaluation_counts();
    fmt::format_to(
        std::back_inserter(out),
        R"("expressions":{{"evaluations":{},"malformed":{},"patterns_stopped":{},"texts_too_long":{}}},)",
        counts.evaluations, counts.malformed, counts.patterns_stopped, counts.texts_too_long);
    fmt::format_to(
        std::back_inserter(out),
        R"("journal":{{"state":"{}","errno":{},"io":{},"records":{},"durable":{},"segment":{},"segments":{},)"
        R"("spares":{},"batches":{},"bytes_written":{},)"
        R"("checkpoint":{{"generation":{},"segment":{},"bytes":{},"error":{}}}}},)",
        journal::to_text(j.state), j.os_error, json_text(j.io), dispatcher.log().appended(), j.durable,
        j.segment_number, j.segment_count, j.spare_count, j.batch_count, j.byte_count,
        j.checkpoint_generation, j.checkpoint_segment, j.checkpoint_size,
        j.checkpoint_error.empty() ? "null" : json_text(j.checkpoint_error));
    fmt::format_to(std::back_inserter(out), R"("sessions":[)");
    put_sessions(out, sessions);
    fmt::format_to(std::back_inserter(out), R"(],"queues":[)");
    put_queues(out, core);
    fmt::format_to(std::back_inserter(out), "]}}");
    return fmt::to_string(out);
}

}  // namespace pinnace::daemon
