// SPDX-License-Identifier: Apache-2.0
// The main job's publisher: sends each line of the files as a message, at a steady rate, and waits until all
// is persisted. Usage: job_publisher SOCKET TOPIC LOG MESSAGES_PER_SECOND FILE...
// Log: P number hash time, for each message; then E persisted reconnects time.
#include <fstream>

#include "bindings/cpp/pinnace.h"
#include "tests/main_job/job_log.h"

namespace {

// Waits for the time of the next message; this is the rate of the job, not a wait for somebody.
void pace(std::int64_t until_ns) {
    const timespec until{until_ns / 1'000'000'000, until_ns % 1'000'000'000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
}

}  // namespace

int main(int argc, char** argv) {
    using namespace pinnace;
    if (argc < 6) job::Log::fail("usage: job_publisher SOCKET TOPIC LOG MESSAGES_PER_SECOND FILE...");
    job::Log log(argv[3]);
    const std::int64_t interval_ns = 1'000'000'000 / std::atoll(argv[4]);
    ConnectionOptions options;
    options.socket = argv[1];
    options.name = "job publisher";
    options.subscribes = false;
    auto connection = Connection::open(options);
    if (!connection) job::Log::fail(connection.error().text);
    auto publisher = Publisher::open(*connection, "job");
    if (!publisher) job::Log::fail(publisher.error().text);

    std::int64_t next_ns = job::monotonic_ns();
    for (int i = 5; i < argc; ++i) {
        std::ifstream file(argv[i]);
        for (std::string line; std::getline(file, line);) {
            pace(next_ns += interval_ns);
            const std::int64_t now_ns = job::monotonic_ns();
            const auto sent = publisher->publish(argv[2], std::string_view(line));
            if (!sent) job::Log::fail(sent.error().text);
            log.put('P', sent->number, job::hash_of(line), now_ns);
        }
    }
    const auto persisted = publisher->wait_persisted();
    if (!persisted) job::Log::fail(persisted.error().text);
    log.put('E', publisher->persisted(), connection->reconnect_count(), job::monotonic_ns());
    return connection->close() ? 0 : 1;
}
