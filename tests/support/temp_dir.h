// SPDX-License-Identifier: Apache-2.0
// A directory of a test's own, gone with it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace pinnace::testing {

class TempDir {
 public:
    TempDir() {
        std::string form = (std::filesystem::temp_directory_path() / "pinnace-test-XXXXXX").string();
        if (mkdtemp(form.data()) == nullptr) throw std::runtime_error("no temporary directory can be made");
        path_ = form;
    }
    ~TempDir() {
        std::error_code ignored;  // a test that failed already says more than this could
        std::filesystem::remove_all(path_, ignored);
    }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    const std::string& path() const { return path_; }

 private:
    std::string path_;
};

}  // namespace pinnace::testing
