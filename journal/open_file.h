// SPDX-License-Identifier: Apache-2.0
// An open file that is closed whatever happens.
#pragma once

#include <utility>

#include "journal/files.h"

namespace pinnace::journal {

class OpenFile {
 public:
    OpenFile(Files& files, Files::Handle file) : files_(files), file_(file) {}
    ~OpenFile() {
        if (file_ >= 0) files_.close(file_);
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    Files::Handle get() const { return file_; }

 private:
    Files& files_;
    Files::Handle file_;
};

}  // namespace pinnace::journal
