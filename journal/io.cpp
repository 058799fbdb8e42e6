// SPDX-License-Identifier: Apache-2.0
#include "journal/io.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace pinnace::journal {

// ENOMEM leaks out of paths that must not wait in some kernels; like the others it goes away.
bool passes(int os_error) {
    return os_error == EAGAIN || os_error == EINTR || os_error == ENOMEM || os_error == EBUSY;
}

std::expected<std::unique_ptr<JournalIo>, Error> make_io(IoChoice choice, std::uint32_t depth,
                                                         Files::Handle held) {
    if (choice == IoChoice::pwritev2) return make_pwrite_io(depth, "asked for");
    const char* forbidden = std::getenv("PINNACE_NO_IO_URING");
    if (choice == IoChoice::automatic && forbidden != nullptr && std::strcmp(forbidden, "1") == 0) {
        return make_pwrite_io(depth, "PINNACE_NO_IO_URING is set");
    }
    auto uring = make_uring_io(depth, held);
    if (uring) return std::move(*uring);
    const int error = uring.error();
    if (choice == IoChoice::automatic)
        return make_pwrite_io(depth, "io_uring: " + std::string(std::strerror(error)));
    return std::unexpected(Error{
        ErrorKind::io, "io_uring cannot be used: " + std::string(std::strerror(error)) + ".", {}, 0, error});
}

}  // namespace pinnace::journal
