// Values of several kinds, one after the other, as the journal and snapshots hold them: the size of
// the rest, the number and version of the kind, the body (bytes.h). Numbers and versions never
// change their meaning; what a newer Muster wrote is refused with the reason.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/result.h"
#include "store/bytes.h"

namespace muster::store::wire {

struct Kind {
  std::uint8_t number = 0;
  std::uint8_t version = 0;  // that is written; older ones are read
  std::string_view name = {};
};

/// What a stream of frames is called in errors, and what one of them is.
struct Stream {
  std::string_view name;
  std::string_view item;
};

/// Numbers of kinds are below this.
constexpr std::size_t kinds_max = 64;

template <typename Body>
struct KnownKind {
  Kind kind;
  void (*decode)(Reader&, Body&) = nullptr;
};

/// The kinds of a variant by number; kind_of(type) says each one's.
template <typename Body, typename KindOf>
constexpr auto known_kinds(KindOf kind_of) {
  std::array<KnownKind<Body>, kinds_max> table{};
  [&]<typename... Ts>(std::type_identity<std::variant<Ts...>>) {
    ((table[kind_of(std::type_identity<Ts>{}).number] = {kind_of(std::type_identity<Ts>{}),
                                                         [](Reader& reader, Body& into) {
                                                           reader(into.template emplace<Ts>());
                                                         }}),
     ...);
  }(std::type_identity<Body>{});
  return table;
}

/// Whether each kind has a number of its own.
template <typename Body>
constexpr bool all_differ(const std::array<KnownKind<Body>, kinds_max>& known) {
  std::size_t named = 0;
  for (const KnownKind<Body>& kind : known) named += kind.decode != nullptr ? 1 : 0;
  return named == std::variant_size_v<Body>;
}

/// Appends a frame; `write` gets the writer of its body.
template <typename Write>
void put_frame(Kind kind, std::string& out, Write&& write) {
  static thread_local std::string frame;
  frame.clear();
  frame.push_back(static_cast<char>(kind.number));
  frame.push_back(static_cast<char>(kind.version));
  Writer writer(frame, kind.version);
  write(writer);
  Writer(out, 1).number(frame.size());
  out.append(frame);
}

/// Takes a frame off `bytes`; `before` reads what stands before the body.
template <typename Body, typename Before>
Status take_frame(const Stream& stream, const std::array<KnownKind<Body>, kinds_max>& known_kinds,
                  std::string_view& bytes, Body& body, Before&& before) {
  Reader outer(bytes, 0);
  const std::uint64_t size = outer.number();
  if (!outer.ok()) return invalid(fmt::format("{}: {}", stream.name, outer.wrong()));
  if (size < 2 || size > outer.rest().size())
    return invalid(fmt::format("{}: the last {} is cut off", stream.name, stream.item));
  const std::string_view frame = outer.rest().substr(0, size);
  const auto number = static_cast<unsigned char>(frame[0]);
  const auto version = static_cast<unsigned char>(frame[1]);
  const KnownKind<Body> known = number < kinds_max ? known_kinds[number] : KnownKind<Body>{};
  if (known.decode == nullptr)
    return invalid(
        fmt::format("{}: unknown kind of {} {}: a newer Muster wrote it; upgrade this one to read "
                    "it",
                    stream.name, stream.item, number));
  if (version == 0 || version > known.kind.version)
    return invalid(
        fmt::format("{}: {} of version {}, this Muster knows up to {}: a newer one wrote it; "
                    "upgrade this one to read it",
                    stream.name, known.kind.name, version, known.kind.version));
  Reader reader(frame.substr(2), version);
  before(reader);
  known.decode(reader, body);
  if (!reader.ok())
    return invalid(fmt::format("{}: {}: {}", stream.name, known.kind.name, reader.wrong()));
  if (!reader.rest().empty())
    return invalid(fmt::format("{}: {}: {} bytes too many", stream.name, known.kind.name,
                               reader.rest().size()));
  bytes = outer.rest().substr(size);
  return Ok{};
}

}  // namespace muster::store::wire
