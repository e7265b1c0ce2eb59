#include "auth/tokens.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "auth/private_file.h"
#include "base/testing/scratch.h"

namespace muster::auth {
namespace {

unsigned mode_of(const std::string& path) {
  struct stat about{};
  EXPECT_EQ(::stat(path.c_str(), &about), 0) << path;
  return about.st_mode & 07777;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct TokensTest : ::testing::Test {
  Scratch scratch;
  std::string path = scratch.file("tokens");
  std::unique_ptr<Tokens> tokens = open();

  std::unique_ptr<Tokens> open() {
    auto opened = Tokens::open(path);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  NewToken make(const std::string& user, const std::string& name, Time now = Time{1000}) {
    auto made = tokens->create(user, name, now);
    EXPECT_TRUE(made) << made.error().message;
    return *made;
  }
};

TEST_F(TokensTest, ATokenTellsItsUserAndAWrongOneNobody) {
  const NewToken ann = make("ann", "laptop");
  const NewToken bob = make("bob", "ci");
  EXPECT_EQ(tokens->user_of(ann.secret, Time{1}), "ann");
  EXPECT_EQ(tokens->user_of(bob.secret, Time{1}), "bob");
  // One character off, anywhere, is as wrong as everything off.
  for (std::size_t i = 0; i < ann.secret.size(); ++i) {
    std::string wrong = ann.secret;
    wrong[i] = wrong[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(tokens->user_of(wrong, Time{1}), std::nullopt) << i;
  }
  EXPECT_EQ(tokens->user_of("", Time{1}), std::nullopt);
  EXPECT_EQ(tokens->user_of(ann.secret + "A", Time{1}), std::nullopt);
  EXPECT_EQ(tokens->user_of(ann.info.id, Time{1}), std::nullopt);
  EXPECT_EQ(tokens->user_of(std::string(1 << 20, 'A'), Time{1}), std::nullopt);
}

TEST_F(TokensTest, SecretsAreLongAndNeverRepeat) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const NewToken made = make("ann", fmt::format("t{}", i));
    EXPECT_TRUE(made.secret.starts_with("mst_"));
    EXPECT_EQ(made.secret.size(), 47u);  // 256 bits
    EXPECT_TRUE(seen.insert(made.secret).second);
    EXPECT_TRUE(seen.insert(made.info.id).second);
  }
}

TEST_F(TokensTest, TheSecretIsNotInTheFile) {
  const NewToken made = make("ann", "laptop");
  const std::string text = text_of(path);
  EXPECT_NE(text.find(made.info.id), std::string::npos);
  EXPECT_EQ(text.find(made.secret), std::string::npos);
  EXPECT_EQ(text.find(made.secret.substr(4)), std::string::npos);
}

TEST_F(TokensTest, TheSameSecretHasAnotherHashInAnotherInstallation) {
  make("ann", "laptop");
  const std::string other = scratch.file("other");
  ASSERT_TRUE(Tokens::open(other));
  const auto key = [](const std::string& text) { return text.substr(text.find("key"), 68); };
  EXPECT_NE(key(text_of(path)), key(text_of(other)));
}

TEST_F(TokensTest, OnlyTheOwnerMayReadTheFile) {
  make("ann", "laptop");
  EXPECT_EQ(mode_of(path), 0600u);
}

TEST_F(TokensTest, AFileThatOthersMayReadIsRefusedWithTheFix) {
  make("ann", "laptop");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  const auto opened = Tokens::open(path);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("chmod 600"), std::string::npos) << opened.error().message;
}

TEST_F(TokensTest, TokensComeBackAfterARestart) {
  const NewToken made = make("ann", "laptop", Time{5000});
  tokens = open();
  EXPECT_EQ(tokens->user_of(made.secret, Time{6000}), "ann");
  ASSERT_EQ(tokens->list().size(), 1u);
  EXPECT_EQ(tokens->list()[0].created, Time{5000});
}

TEST_F(TokensTest, ARevokedTokenIsRefusedAtOnceAndAfterARestart) {
  const NewToken lost = make("ann", "laptop");
  const NewToken kept = make("ann", "desk");
  ASSERT_EQ(tokens->user_of(lost.secret, Time{1}), "ann");
  const auto revoked = tokens->revoke(lost.info.id);
  ASSERT_TRUE(revoked);
  EXPECT_EQ(revoked->name, "laptop");
  EXPECT_EQ(tokens->user_of(lost.secret, Time{2}), std::nullopt);
  EXPECT_EQ(tokens->user_of(kept.secret, Time{2}), "ann");
  tokens = open();
  EXPECT_EQ(tokens->user_of(lost.secret, Time{3}), std::nullopt);
  EXPECT_EQ(tokens->user_of(kept.secret, Time{3}), "ann");
}

TEST_F(TokensTest, ATokenIsRevokedByNameWhereThatIsClear) {
  make("ann", "ci");
  const NewToken bobs = make("bob", "ci");
  make("bob", "desk");
  EXPECT_EQ(tokens->revoke("ci").error().fault, Fault::Conflict);
  EXPECT_EQ(tokens->revoke("nothing").error().fault, Fault::NotFound);
  EXPECT_TRUE(tokens->revoke("desk"));
  EXPECT_TRUE(tokens->revoke(bobs.info.id));
  EXPECT_TRUE(tokens->revoke("ci"));
  EXPECT_EQ(tokens->size(), 0u);
}

TEST_F(TokensTest, AUserHasOneTokenOfAName) {
  make("ann", "laptop");
  EXPECT_EQ(tokens->create("ann", "laptop", Time{1}).error().fault, Fault::Conflict);
  EXPECT_TRUE(tokens->create("bob", "laptop", Time{1}));
}

TEST_F(TokensTest, NamesThatWouldBreakTheFileAreRefused) {
  for (const std::string bad : {"", " ", "a b", "a\nb", "-a", "\xc3\xa4"})
    EXPECT_EQ(tokens->create(bad, "laptop", Time{1}).error().fault, Fault::Invalid) << bad;
  EXPECT_EQ(tokens->create("ann", std::string(65, 'a'), Time{1}).error().fault, Fault::Invalid);
  EXPECT_TRUE(tokens->create("ann@example.org", "CI_1.x-2", Time{1}));
}

TEST_F(TokensTest, TheLastUseIsRememberedAcrossARestart) {
  const NewToken made = make("ann", "laptop");
  EXPECT_TRUE(tokens->list()[0].last_used.is_never());
  ASSERT_TRUE(tokens->user_of(made.secret, Time{7000}));
  EXPECT_EQ(tokens->list()[0].last_used, Time{7000});
  ASSERT_TRUE(tokens->save_uses());
  tokens = open();
  EXPECT_EQ(tokens->list()[0].last_used, Time{7000});
}

TEST_F(TokensTest, AnExpiredTokenIsRefusedAlsoAfterARestart) {
  const auto made = tokens->create("ann", "week", Time{1000}, Time{2000});
  ASSERT_TRUE(made);
  EXPECT_EQ(tokens->user_of(made->secret, Time{1999}), "ann");
  EXPECT_EQ(tokens->user_of(made->secret, Time{2000}), std::nullopt);
  tokens = open();
  EXPECT_EQ(tokens->list()[0].expires, Time{2000});
  EXPECT_EQ(tokens->user_of(made->secret, Time{1999}), "ann");
  EXPECT_EQ(tokens->user_of(made->secret, Time{2000}), std::nullopt);
  EXPECT_EQ(tokens->create("ann", "late", Time{1000}, Time{1000}).error().fault, Fault::Invalid);
}

TEST_F(TokensTest, ADamagedFileIsAnErrorThatNamesTheLine) {
  const NewToken made = make("ann", "laptop");
  const std::string good = text_of(path);
  const std::string line = good.substr(good.find("token "));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ":1:"},
      {"muster-tokens 2\n", ":1:"},
      {"muster-tokens 1\nkey 12\n", ":2:"},
      {good + "tokn\n", ":4:"},
      {good + line, ":4: ID"},
      {good + "token 0000000g " + std::string(64, '0') + " 1 1 1 a b\n", ":4: ID"},
      {good + "token 00000000 " + std::string(64, '0') + " x 1 1 a b\n", ":4: CREATED"},
      {good + "token 00000000 " + std::string(64, '0') + " 1 1 1 a! b\n", ":4: USER"},
  };
  for (const auto& [text, where] : cases) {
    ASSERT_TRUE(write_private_file(path, text));
    const auto opened = Tokens::open(path);
    ASSERT_FALSE(opened) << text;
    EXPECT_NE(opened.error().message.find(where), std::string::npos) << opened.error().message;
  }
  ASSERT_TRUE(write_private_file(path, good));
  EXPECT_EQ(open()->user_of(made.secret, Time{1}), "ann");
}

TEST_F(TokensTest, ATokenThatCouldNotBeWrittenDoesNotExist) {
  const NewToken made = make("ann", "laptop");
  std::filesystem::remove(path);
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);  // a file cannot replace a folder
  EXPECT_EQ(tokens->create("bob", "ci", Time{1}).error().fault, Fault::Unavailable);
  EXPECT_EQ(tokens->size(), 1u);
  // Safety first: what is revoked is refused even if the file could not say so.
  EXPECT_EQ(tokens->revoke("laptop").error().fault, Fault::Unavailable);
  EXPECT_EQ(tokens->user_of(made.secret, Time{1}), std::nullopt);
}

TEST_F(TokensTest, TheFirstStartMakesOneTokenInAPrivateFile) {
  const std::string file = scratch.file("admin.token");
  auto made = make_first_token(*tokens, file, "admin", Time{1000});
  ASSERT_TRUE(made);
  EXPECT_TRUE(*made);
  EXPECT_EQ(mode_of(file), 0600u);
  std::string secret = text_of(file);
  ASSERT_TRUE(secret.ends_with('\n'));
  secret.pop_back();
  EXPECT_EQ(tokens->user_of(secret, Time{1}), "admin");

  made = make_first_token(*tokens, file, "admin", Time{2000});
  ASSERT_TRUE(made);
  EXPECT_FALSE(*made);
  EXPECT_EQ(text_of(file), secret + "\n");
}

TEST_F(TokensTest, AFirstTokenThatCouldNotBeShownIsMadeAgainNextTime) {
  EXPECT_FALSE(make_first_token(*tokens, scratch.file("missing/admin.token"), "admin", Time{1}));
  EXPECT_EQ(tokens->size(), 0u);
  EXPECT_TRUE(*make_first_token(*tokens, scratch.file("admin.token"), "admin", Time{1}));
}

TEST_F(TokensTest, APrivateFileDoesNotFollowALink) {
  const std::string target = scratch.file("target");
  ASSERT_TRUE(write_private_file(target, "theirs"));
  const std::string link = scratch.file("link");
  ASSERT_EQ(::symlink(target.c_str(), link.c_str()), 0);
  EXPECT_FALSE(read_private_file(link));
  ASSERT_TRUE(write_private_file(link, "ours"));
  EXPECT_EQ(text_of(target), "theirs");
  EXPECT_EQ(*read_private_file(link), "ours");
}

TEST_F(TokensTest, LookUpsGoOnWhileTokensComeAndGo) {
  const NewToken kept = make("ann", "laptop");
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> looked = 0;
  std::thread reader([&] {
    while (!stop) {
      if (tokens->user_of(kept.secret, Time{1}) != "ann") ++wrong;
      ++looked;
    }
  });
  for (int i = 0; i < 20 || looked == 0; ++i) {
    const NewToken made = make("bob", fmt::format("t{}", i));
    EXPECT_TRUE(tokens->revoke(made.info.id));
    EXPECT_EQ(tokens->user_of(made.secret, Time{1}), std::nullopt);
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace muster::auth
