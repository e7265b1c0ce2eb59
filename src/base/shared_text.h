// A text that many objects have alike: copies share it.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace muster {

class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text)  // NOLINT(google-explicit-constructor): it stands for the text
      : text_(std::make_shared<const std::string>(std::move(text))) {}
  SharedText(const char* text)  // NOLINT(google-explicit-constructor): the same
      : SharedText(std::string(text)) {}

  const std::string& operator*() const {
    static const std::string none;
    return text_ ? *text_ : none;
  }
  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || *a == *b;
  }

 private:
  std::shared_ptr<const std::string> text_;
};

}  // namespace muster
