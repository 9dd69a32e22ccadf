// Mutates the corpus for a bounded time: what libFuzzer does, on any compiler and under any
// sanitizer.  TRTSCOPE_FUZZ_SECONDS makes it longer.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "executorch_backend/blob_fuzzer.h"

namespace trtscope::executorch_backend {
namespace {

using Input = std::vector<std::byte>;

constexpr char kCorpus[] = "executorch_backend/testdata/blobs";

std::vector<Input> Corpus() {
  std::vector<Input> corpus;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    corpus.emplace_back(bytes.begin(), bytes.end());
  }
  return corpus;
}

class Mutator {
 public:
  explicit Mutator(const std::vector<Input>& corpus) : corpus_(corpus) {}

  Input Next() {
    Input input = corpus_[Below(corpus_.size())];
    for (size_t n = 1 + Below(4); n > 0; --n) Mutate(input);
    return input;
  }

 private:
  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void Mutate(Input& input) {
    if (input.empty()) input.push_back(std::byte{0});
    const size_t at = Below(input.size());
    switch (Below(8)) {
      case 0:
        input[at] ^= static_cast<std::byte>(1u << Below(8));
        break;
      case 1:
        input[at] = static_cast<std::byte>(Below(256));
        break;
      case 2:
        input.resize(at);
        break;
      case 3:
        input.insert(input.begin() + static_cast<ptrdiff_t>(at), Below(64),
                     static_cast<std::byte>(Below(256)));
        break;
      case 4:
        input.erase(input.begin() + static_cast<ptrdiff_t>(at),
                    input.begin() + static_cast<ptrdiff_t>(std::min(input.size(), at + Below(64))));
        break;
      case 5: {  // a number of the header
        static constexpr std::array<uint64_t, 9> kInteresting = {
            0, 1, 15, 16, 32, 0x7fffffff, 0xffffffff, ~uint64_t{0}, ~uint64_t{15}};
        const uint64_t value =
            Below(2) ? kInteresting[Below(kInteresting.size())] : Below(2 * input.size());
        const size_t field = 4 + 4 * Below(5);
        for (size_t i = 0; i < 8 && field + i < input.size(); ++i) {
          input[field + i] = static_cast<std::byte>(value >> (8 * i));
          if (field < 16 && i == 3) break;
        }
        break;
      }
      case 6: {  // a part of another input
        const Input& other = corpus_[Below(corpus_.size())];
        const size_t from = Below(other.size());
        const size_t count = std::min(Below(64), other.size() - from);
        input.insert(input.begin() + static_cast<ptrdiff_t>(at),
                     other.begin() + static_cast<ptrdiff_t>(from),
                     other.begin() + static_cast<ptrdiff_t>(from + count));
        break;
      }
      default: {  // a piece of JSON
        static const std::array<std::string, 12> kPieces = {
            "{",    "}",  "[",     "]",           ",",           "null",
            "true", "-1", "1e999", "\"\\ud800\"", "\"\\u0000\"", "18446744073709551615"};
        const std::string& piece = kPieces[Below(kPieces.size())];
        for (size_t i = 0; i < piece.size() && at + i < input.size(); ++i) {
          input[at + i] = static_cast<std::byte>(piece[i]);
        }
      }
    }
  }

  const std::vector<Input>& corpus_;
  std::mt19937_64 random_{20250101};  // the same inputs on every run
};

TEST(BlobMutation, CorpusAsItIs) {
  const std::vector<Input> corpus = Corpus();
  ASSERT_GE(corpus.size(), 8u);
  size_t parsed = 0;
  for (const Input& input : corpus) parsed += FuzzBlob(input);
  EXPECT_GE(parsed, 5u);
  EXPECT_LT(parsed, corpus.size());
}

TEST(BlobMutation, MutantsNeverCrash) {
  const char* const seconds = std::getenv("TRTSCOPE_FUZZ_SECONDS");
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 3);
  const std::vector<Input> corpus = Corpus();
  ASSERT_FALSE(corpus.empty());
  Mutator mutator(corpus);
  size_t tried = 0, parsed = 0;
  while (std::chrono::steady_clock::now() < end) {
    // An exact allocation, so that the sanitizer sees a read of one octet too many.
    const Input mutant = mutator.Next();
    const Input exact(mutant.begin(), mutant.end());
    parsed += FuzzBlob(exact);
    ++tried;
  }
  RecordProperty("mutants", std::to_string(tried));
  // A mutator that broke everything, or nothing, would test nothing.
  EXPECT_GT(parsed, tried / 1000);
  EXPECT_LT(parsed, tried);
}

}  // namespace
}  // namespace trtscope::executorch_backend
