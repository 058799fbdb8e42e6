// SPDX-License-Identifier: Apache-2.0
// Rule 20: under load the dispatcher makes no system call and no allocation.
//
// The allocation hook counts what the dispatcher's thread asks of the heap. System calls are counted by a
// filter that traps each of them in that thread alone; a trapped call is not carried out, so the whole runs
// in a child process.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "bindings/cpp/pinnace.h"
#include "bindings/daemon/engine.h"
#include "tests/support/allocation_watch.h"
#include "tests/support/temp_dir.h"

namespace pinnace::testing {
namespace {

std::atomic<long> call_count{0};
std::atomic<long> wake_count{0};
std::atomic<int> last_call{0};

// The one place from which the filter lets the watched thread call the kernel: its address behind the
// instruction.
extern "C" const char pinnace_test_call_end[];
extern "C" long pinnace_test_call(long number, long a, long b, long c, long d, long e, long f);
asm(R"(
    .text
    .globl pinnace_test_call, pinnace_test_call_end
pinnace_test_call:
    mov %rdi, %rax
    mov %rsi, %rdi
    mov %rdx, %rsi
    mov %rcx, %rdx
    mov %r8, %r10
    mov %r9, %r8
    mov 8(%rsp), %r9
    syscall
pinnace_test_call_end:
    ret
)");

void on_trap(int, siginfo_t* info, void* context) {
    greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    if (info->si_syscall == SYS_futex) {  // the journal thread is woken after it was idle; never per message
        wake_count.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
        registers[REG_RAX] =
            pinnace_test_call(SYS_futex, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                              registers[REG_R10], registers[REG_R8], registers[REG_R9]);
        return;
    }
    registers[REG_RAX] = -ENOSYS;
    call_count.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
    last_call.store(info->si_syscall, std::memory_order_relaxed);
}

// From now on each system call of this thread is counted, and none but futex is carried out.
void trap_system_calls() {
    struct sigaction action = {};
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSYS, &action, nullptr);
    const auto allowed = reinterpret_cast<std::uintptr_t>(pinnace_test_call_end);
    const auto ip = static_cast<std::uint32_t>(offsetof(seccomp_data, instruction_pointer));
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 4, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(allowed), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(allowed >> 32), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    const sock_fprog program{8, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(77);
}

// Publishes, takes and acknowledges; leaves the connection open, since closing it is news for the dispatcher.
void pass_messages(Publisher& publisher, Subscriber& subscriber, int count) {
    int sent = 0;
    int done = 0;
    while (done < count) {
        for (; sent < count && sent - done < 64; ++sent) {  // never deeper than before the watch
            if (!publisher.publish("orders",
                                   "sixty-four bytes of a message, more or less, to be passed on...."))
                _exit(2);
        }
        const auto messages = subscriber.take(16);
        if (!messages) _exit(3);
        for (const Message& message : *messages) {
            if (!subscriber.ack(message)) _exit(4);
            ++done;
        }
    }
}

[[noreturn]] void run_under_watch(const std::string& directory) {
    EngineOptions options;
    options.data_directory = directory;
    options.wait = WaitMode::spin;
    options.pin = false;
    options.segment_size = 256u << 20;
    options.message_size_max = 1u << 20;
    QueueConfig queue;
    queue.name = "orders";
    queue.lease_period = 10'000'000'000;
    options.definitions.queues.push_back(queue);
    auto engine = Engine::start(options);
    if (!engine) _exit(5);
    ConnectionOptions client;
    client.socket = (*engine)->report().socket_path;
    client.wait = ConnectionOptions::Wait::yield;
    auto connection = Connection::open(client);
    if (!connection) _exit(6);
    auto publisher = Publisher::open(*connection);
    auto subscriber = Subscriber::open(*connection, "orders", {.max_backlog = 64});
    if (!publisher || !subscriber) _exit(7);
    pass_messages(*publisher, *subscriber, 20'000);  // states, batches and buffers reach their size
    (*engine)->run_in_dispatcher([] {
        trap_system_calls();
        watch_allocations(true);
    });
    // The answer to the command above is the last thing that may be told to the control thread.
    pass_messages(*publisher, *subscriber, 1'000);
    const long calls_before = call_count.load();
    const long allocations_before = watched_allocation_count();
    const long wakes_before = wake_count.load();
    constexpr int kCount = 50'000;
    pass_messages(*publisher, *subscriber, kCount);
    const long calls = call_count.load() - calls_before;
    const long allocations = watched_allocation_count() - allocations_before;
    const long wakes = wake_count.load() - wakes_before;
    const bool quiet = calls == 0 && allocations == 0 && wakes * 100 < kCount;
    if (!quiet) {
        std::fprintf(stderr,
                     "%ld system calls (the last one %d), %ld wake-ups of the journal, %ld allocations\n",
                     calls, last_call.load(), wakes, allocations);
    }
    std::fflush(stderr);
    _exit(quiet ? 0 : 1);
}

TEST(Dispatcher, MakesNoSystemCallAndNoAllocationUnderLoad) {
    if (!kAllocationsAreCounted) GTEST_SKIP() << "a sanitizer makes system calls and allocations of its own";
    const TempDir directory;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) run_under_watch(directory.path());
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this kernel or container lets nobody filter system calls";
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace pinnace::testing
