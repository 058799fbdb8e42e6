// SPDX-License-Identifier: Apache-2.0
// The main job's consumer: takes messages, says what it got, and acknowledges, until it is told to stop
// (SIGTERM). Usage: job_consumer SOCKET QUEUE LOG MAX_BACKLOG
// Log: D epoch position count hash time, for each delivery; A number position time, for each acknowledgment;
// M number time, when all acknowledgments up to a number are durable; E reconnects time.
#include <csignal>

#include "bindings/cpp/pinnace.h"
#include "tests/main_job/job_log.h"

namespace {

volatile std::sig_atomic_t is_stopped = 0;
void on_signal(int) { is_stopped = 1; }

}  // namespace

int main(int argc, char** argv) {
    using namespace pinnace;
    if (argc != 5) job::Log::fail("usage: job_consumer SOCKET QUEUE LOG MAX_BACKLOG");
    std::signal(SIGTERM, on_signal);
    job::Log log(argv[3]);
    ConnectionOptions options;
    options.socket = argv[1];
    options.name = "job consumer";
    auto connection = Connection::open(options);
    if (!connection) job::Log::fail(connection.error().text);
    auto subscriber =
        Subscriber::open(*connection, argv[2], {.max_backlog = std::strtoull(argv[4], nullptr, 10)});
    if (!subscriber) job::Log::fail(subscriber.error().text);

    std::uint64_t durable = 0;
    const auto report_durable = [&] {
        const std::uint64_t now = subscriber->durable_acks();
        // What was answered otherwise is passed by the mark and is not durable.
        for (const VerbAnswer& answer : subscriber->answers()) log.put('U', answer.number);
        if (now != durable) log.put('M', now, job::monotonic_ns());
        durable = now;
    };
    std::uint64_t last = 0;
    while (is_stopped == 0) {
        const auto messages = subscriber->take(8, std::chrono::milliseconds(50));
        if (!messages) job::Log::fail(messages.error().text);
        for (const Message& message : *messages) {
            log.put('D', connection->epoch(), message.bookmark().position, message.count(),
                    job::hash_of(message.text()), job::monotonic_ns());
            const auto number = subscriber->ack(message);
            if (!number) job::Log::fail(number.error().text);
            log.put('A', *number, message.bookmark().position, job::monotonic_ns());
            last = *number;
        }
        report_durable();
    }
    if (const auto done = subscriber->wait_durable(last, std::chrono::seconds(30)); !done) {
        job::Log::fail(done.error().text);
    }
    report_durable();
    log.put('E', connection->reconnect_count(), job::monotonic_ns());
    return 0;
}
