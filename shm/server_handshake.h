// SPDX-License-Identifier: Apache-2.0
// ServerHandshake: from a fresh connection to a session, one non-blocking step at a time.
//
// Nothing is allocated before a valid hello, and nothing of a handshake outlives its object: a client that
// dies, stalls or lies at any step costs one connection until the control thread drops the object (its
// time-out is the caller's). Thread: control.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "shm/engine_regions.h"
#include "shm/server_session.h"

namespace pinnace::shm {

struct AdmissionLimits {
    // What is wanted is cut to it. Backing and clearing it takes the control thread's time: 0.3 ms a MiB.
    SessionGeometry largest{256u << 20, 1u << 18, 1u << 18, 1u << 16};
    std::uint32_t session_count_max = 4096;
    std::uint32_t session_count_max_per_user = 1024;
    std::uint64_t memory_size_max_per_user = std::uint64_t{16} << 30;
};

// What all handshakes of an engine share: quotas and the regions that are in use. It must outlive the
// sessions.
class Admission {
 public:
    Admission(EngineRegions& regions, const AdmissionLimits& limits);

    EngineRegions& regions() { return regions_; }
    const AdmissionLimits& limits() const { return limits_; }
    std::uint64_t next_session_id() { return ++session_id_; }
    // Refuses every hello from now on.
    void stop() { is_stopping_ = true; }
    bool is_stopping() const { return is_stopping_; }

    // Takes quota for a session; it is given back when the returned object goes. Null: refused, `why` says
    // so.
    std::shared_ptr<void> take_quota(uid_t user, std::uint64_t memory_size, std::string& why);
    // Marks a region that a client brought as in use (a region never serves two sessions). Null: it is
    // already.
    std::shared_ptr<void> take_region(const FileIdentity& file);
    std::uint32_t session_count() const { return state_->session_count; }

 private:
    struct User {
        std::uint32_t session_count = 0;
        std::uint64_t memory_size = 0;
    };
    struct State {
        std::uint32_t session_count = 0;
        std::map<uid_t, User> users;
        std::set<FileIdentity> regions;
    };

    EngineRegions& regions_;
    AdmissionLimits limits_;
    std::uint64_t session_id_ = 0;
    bool is_stopping_ = false;
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

class ServerHandshake {
 public:
    enum class State : std::uint8_t { awaiting_hello, awaiting_mapped, done, failed };

    ServerHandshake(Fd socket, Admission& admission);

    int fd() const { return parts_.socket.get(); }
    // To be called whenever the socket is readable.
    State step();
    State state() const { return state_; }
    // Why it failed, as one line for the log.
    const std::string& failure() const { return failure_; }
    // The process at the other end, as far as known.
    const PeerCredentials& credentials() const { return parts_.watch.credentials(); }
    std::unique_ptr<ServerSession> take_session();
    // Of a handshake that failed after the client got its memory; see Remains.
    Remains take_remains();

 private:
    void on_hello(std::span<const std::byte> bytes, std::vector<Fd>& descriptors);
    void on_mapped(std::span<const std::byte> bytes, const Received& received);
    bool check_versions(const HelloMessage& hello);
    bool choose_geometry(const HelloMessage& hello);
    bool make_regions(const HelloMessage& hello, std::vector<Fd>& descriptors);
    bool adopt(const HelloMessage& hello, Fd old_region);
    bool send_welcome();
    bool map_up();
    void refuse(RefusalReason reason, const std::string& text);
    void fail(const std::string& text);

    Admission& admission_;
    State state_ = State::awaiting_hello;
    std::string failure_;
    ServerSessionParts parts_;
    std::shared_ptr<void> quota_;
    std::shared_ptr<void> region_;
    Memfd up_file_;
    Fd client_wake_;
    std::uint64_t nonce_ = 0;
};

}  // namespace pinnace::shm
