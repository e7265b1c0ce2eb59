// One file of a log: a head that says how much each pod had written before it, then records of one
// line each. A record that is not whole is the end of what there is: it is being written, or its
// writer was killed. Pure, but for reading a file.
//
//   head    "MLOG" version:u8 count:u32 { pod:text16 stream:u8 total:u64 }
//   record  mark:u8 size:u32 { at:i64 stream:u8 pod:text16 text:rest }
//
// The mark says whether a line begins or goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "ports/log_store.h"

namespace muster::store {

/// Bytes of text by pod and stream.
using LogTotals = std::map<std::pair<std::string, ports::Stream>, std::uint64_t>;

std::string segment_head(const LogTotals& totals);
/// Takes the head off the front of a segment's bytes; nothing if it is not whole.
std::optional<LogTotals> take_head(std::string_view& bytes);

void add_record(const ports::LogLine& line, std::string& out);
/// Takes a record off the front; nothing if it is not whole. The line's offset is left 0.
std::optional<ports::LogLine> take_record(std::string_view& bytes);

/// The bytes of a file from `begin` on, at most `most`. NotFound if it is gone.
Result<std::string> read_bytes(const std::filesystem::path& file, std::uint64_t begin,
                               std::uint64_t most);

}  // namespace muster::store
