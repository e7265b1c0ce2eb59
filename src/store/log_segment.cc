#include "store/log_segment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <system_error>

namespace muster::store {
namespace {

constexpr std::string_view magic = "MLOG\x01";
constexpr unsigned char mark = 0xa7;
constexpr unsigned char mark_continues = 0xa8;
constexpr std::size_t record_head = 5;  // mark and size
constexpr std::size_t line_head = 8 + 1 + 2;

template <std::unsigned_integral T>
void put(T value, std::string& out) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}
template <std::unsigned_integral T>
bool take(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof(T)) return false;
  std::uint64_t v = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    v |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  value = static_cast<T>(v);
  bytes.remove_prefix(sizeof(T));
  return true;
}
std::string_view short_text(std::string_view text) { return text.substr(0, 0xffff); }
void put_text(std::string_view text, std::string& out) {
  put(static_cast<std::uint16_t>(short_text(text).size()), out);
  out += short_text(text);
}
bool take_text(std::string_view& bytes, std::string& text) {
  std::uint16_t size = 0;
  if (!take(bytes, size) || bytes.size() < size) return false;
  text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}
bool take_stream(std::string_view& bytes, ports::Stream& stream) {
  std::uint8_t number = 0;
  if (!take(bytes, number) || number > static_cast<std::uint8_t>(ports::Stream::Err)) return false;
  stream = static_cast<ports::Stream>(number);
  return true;
}

}  // namespace

std::string segment_head(const LogTotals& totals) {
  std::string head(magic);
  put(static_cast<std::uint32_t>(totals.size()), head);
  for (const auto& [key, total] : totals) {
    put_text(key.first, head);
    put(static_cast<std::uint8_t>(key.second), head);
    put(total, head);
  }
  return head;
}

std::optional<LogTotals> take_head(std::string_view& bytes) {
  if (!bytes.starts_with(magic)) return std::nullopt;
  bytes.remove_prefix(magic.size());
  std::uint32_t count = 0;
  if (!take(bytes, count)) return std::nullopt;
  LogTotals totals;
  for (; count > 0; --count) {
    std::pair<std::string, ports::Stream> key;
    std::uint64_t total = 0;
    if (!take_text(bytes, key.first) || !take_stream(bytes, key.second) || !take(bytes, total))
      return std::nullopt;
    totals[std::move(key)] = total;
  }
  return totals;
}

void add_record(const ports::LogLine& line, std::string& out) {
  out.push_back(static_cast<char>(line.continues ? mark_continues : mark));
  put(static_cast<std::uint32_t>(line_head + short_text(line.pod).size() + line.text.size()), out);
  put(static_cast<std::uint64_t>(line.at.ms), out);
  put(static_cast<std::uint8_t>(line.stream), out);
  put_text(line.pod, out);
  out += line.text;
}

std::optional<ports::LogLine> take_record(std::string_view& bytes) {
  std::string_view rest = bytes;
  std::uint8_t first = 0;
  std::uint32_t size = 0;
  if (!take(rest, first) || (first != mark && first != mark_continues) || !take(rest, size) ||
      rest.size() < size)
    return std::nullopt;
  std::string_view body = rest.substr(0, size);
  ports::LogLine line;
  line.continues = first == mark_continues;
  std::uint64_t at = 0;
  if (!take(body, at) || !take_stream(body, line.stream) || !take_text(body, line.pod))
    return std::nullopt;
  line.at = Time{static_cast<std::int64_t>(at)};
  line.text = body;
  bytes.remove_prefix(record_head + size);
  return line;
}

Result<std::string> read_bytes(const std::filesystem::path& file, std::uint64_t begin,
                               std::uint64_t most) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int code = errno;
    return Error{code == ENOENT ? Fault::NotFound : Fault::Unavailable,
                 fmt::format("logs: {}: {}", file.string(), std::generic_category().message(code))};
  }
  struct stat about{};
  std::string bytes;
  if (::fstat(fd, &about) == 0 && static_cast<std::uint64_t>(about.st_size) > begin)
    bytes.resize(std::min(most, static_cast<std::uint64_t>(about.st_size) - begin));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  ::close(fd);
  bytes.resize(done);
  return bytes;
}

}  // namespace muster::store
