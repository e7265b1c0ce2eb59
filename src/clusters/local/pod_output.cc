#include "clusters/local/pod_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace muster::clusters {
namespace {

constexpr std::size_t header_size = 13;  // stream 1, milliseconds 8, length 4, little endian
constexpr std::size_t chunk_most = 65536;

template <typename Number>
void put_number(std::string& out, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
}

template <typename Number>
Number get_number(std::string_view in) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    value |= std::uint64_t{static_cast<unsigned char>(in[i])} << (8 * i);
  return static_cast<Number>(value);
}

}  // namespace

Result<OutputFile> OutputFile::make(const std::string& path, std::int64_t most) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!fd.is_open()) return io_error("make", path);
  return OutputFile(std::move(fd), most);
}

bool OutputFile::put(ports::Stream stream, Time now, std::string_view bytes) {
  std::string chunk;
  chunk.reserve(header_size + bytes.size());
  put_number(chunk, static_cast<std::uint8_t>(stream));
  put_number(chunk, now.ms);
  put_number(chunk, static_cast<std::uint32_t>(bytes.size()));
  chunk += bytes;
  std::string_view rest = chunk;
  while (!rest.empty()) {
    const ssize_t n = ::write(fd_.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {  // half a chunk may not stay; if it does, the reader waits for its rest for ever
      if (rest.size() < chunk.size() && ::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0)
        fd_.close();
      return false;
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  size_ += chunk.size();
  return true;
}

void OutputFile::note_missing(Time now) {
  if (missing_ == 0) return;
  const std::string note =
      left_ <= 0
          ? "[the output is longer than is kept: the rest is missing]\n"
          : fmt::format("[{} bytes of output are missing: they could not be written]\n", missing_);
  if (put(ports::Stream::Note, now, note)) missing_ = 0;
}

void OutputFile::append(ports::Stream stream, Time now, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, chunk_most);
    bytes.remove_prefix(part.size());
    if (left_ > 0) note_missing(now);
    left_ -= static_cast<std::int64_t>(part.size());
    if (left_ <= 0 || !put(stream, now, part)) missing_ += part.size();
  }
}

void OutputFile::close(Time now) {
  note_missing(now);
  fd_.close();
}

Result<std::vector<ports::OutputChunk>> read_output(const std::string& path, std::uint64_t position,
                                                    std::size_t most) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return io_error("open", path);
  std::string read(std::max(most, chunk_most + header_size), '\0');
  ssize_t n = 0;
  do {
    n = ::pread(fd.get(), read.data(), read.size(), static_cast<off_t>(position));
  } while (n < 0 && errno == EINTR);
  if (n < 0) return io_error("read", path);
  std::string_view rest = std::string_view(read).substr(0, static_cast<std::size_t>(n));
  std::vector<ports::OutputChunk> chunks;
  while (rest.size() >= header_size) {
    const auto stream = get_number<std::uint8_t>(rest);
    const Time at{get_number<std::int64_t>(rest.substr(1))};
    const std::size_t length = get_number<std::uint32_t>(rest.substr(9));
    const bool is_chunk =
        stream <= static_cast<std::uint8_t>(ports::Stream::Err) && length <= chunk_most;
    if (!is_chunk && !chunks.empty()) break;  // said when it is the first
    if (!is_chunk) return invalid(fmt::format("{}: no chunk of output at byte {}", path, position));
    if (rest.size() < header_size + length) break;
    position += header_size + length;
    chunks.push_back({static_cast<ports::Stream>(stream), at,
                      std::string(rest.substr(header_size, length)), position});
    rest.remove_prefix(header_size + length);
  }
  return chunks;
}

}  // namespace muster::clusters
