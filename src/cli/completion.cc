#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/cli.h"

namespace muster::cli {
namespace {

struct Word {
  std::string text;
  std::string help;
  bool takes_value = false;  // of an option
};

struct Place {
  std::string path;  // "queue list"; "" at the top
  std::vector<Word> verbs;
  std::vector<Word> options;
  std::string
      names;  // what its first argument names, as `complete-names` calls it; "": something else
};

/// What options of these names take.
struct Named {
  const char* options;  // as bash and zsh match them
  const char* kind;
};
constexpr Named named_options[] = {{"--queue|-q|--parent", "queues"},
                                   {"--cluster", "clusters"},
                                   {"--pool", "pools"},
                                   {"--after", "jobs"},
                                   {"--context", "contexts"}};

std::string kind_of(const std::string& positional) {
  if (positional == "JOB") return "jobs";
  if (positional == "QUEUE") return "queues";
  if (positional == "CLUSTER") return "clusters";
  if (positional == "POOL") return "pools";
  return "";
}

/// Up to the first mark that a shell's quotes would have to know about.
std::string plain(const std::string& text) {
  std::string out = text;
  std::erase_if(out, [](char c) { return c == '\'' || c == '"' || c == '`' || c == '\\'; });
  std::replace(out.begin(), out.end(), '\n', ' ');
  std::replace(out.begin(), out.end(), ':', ' ');
  return out;
}

void collect(const CLI::App& app, const std::string& path, std::vector<Place>& places) {
  Place place{path, {}, {}, {}};
  std::vector<std::pair<const CLI::App*, std::string>> below;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    // A group of "" hides a command from people.
    if (verb->get_name().empty() || verb->get_group().empty()) continue;
    place.verbs.push_back({verb->get_name(), plain(verb->get_description())});
    below.emplace_back(verb, (path.empty() ? "" : path + " ") + verb->get_name());
  }
  for (const CLI::Option* option : app.get_options()) {
    const bool takes_value = option->get_items_expected_max() > 0;
    for (const std::string& name : option->get_lnames())
      place.options.push_back({"--" + name, plain(option->get_description()), takes_value});
    for (const std::string& name : option->get_snames())
      place.options.push_back({"-" + name, plain(option->get_description()), takes_value});
    if (option->get_positional() && place.names.empty())
      place.names = kind_of(option->get_name(true));
  }
  if (path == "aw show" || path == "aw explain" || path == "aw move") place.names = "appwrappers";
  if (path == "context use" || path == "context delete") place.names = "contexts";
  places.push_back(std::move(place));
  for (const auto& [verb, verb_path] : below) collect(*verb, verb_path, places);
}

std::string words_of(const std::vector<Word>& words) {
  std::string out;
  for (const Word& word : words) out += (out.empty() ? "" : " ") + word.text;
  return out;
}

/// Branches of a `case` of the shells, the kind of names behind each word before the cursor.
std::string named_cases(std::string_view form) {
  std::string out;
  for (const Named& named : named_options)
    out += fmt::format(fmt::runtime(form), named.options, named.kind);
  return out;
}

std::string bash_script(const std::vector<Place>& places) {
  std::string verbs;
  std::string options;
  std::string names;
  for (const Place& place : places) {
    if (!place.verbs.empty())
      verbs += fmt::format("    '{}') echo '{}';;\n", place.path, words_of(place.verbs));
    options += fmt::format("    '{}') echo '{}';;\n", place.path, words_of(place.options));
    if (!place.names.empty())
      names += fmt::format("    '{}') echo {};;\n", place.path, place.names);
  }
  std::string script =
      R"SCRIPT(# bash completion of muster; use it with: source <(muster completion bash)
_muster_verbs() {
  case "$1" in
)SCRIPT";
  script += verbs;
  script += R"SCRIPT(  esac
}
_muster_options() {
  case "$1" in
)SCRIPT";
  script += options;
  script += R"SCRIPT(  esac
}
_muster_names() {
  case "$1" in
)SCRIPT";
  script += names;
  script += R"SCRIPT(  esac
}
_muster() {
  local current="${COMP_WORDS[COMP_CWORD]}" path='' kind='' names word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    [[ "$word" == -- ]] && return
    [[ " $(_muster_verbs "$path") " == *" $word "* ]] && path="${path:+$path }$word"
  done
  case "${COMP_WORDS[COMP_CWORD - 1]}" in
)SCRIPT";
  script += named_cases("    {}) kind={};;\n");
  script += R"SCRIPT(    *) [[ "$current" == -* ]] || kind="$(_muster_names "$path")";;
  esac
  if [[ -n "$kind" ]]; then
    names="$("${COMP_WORDS[0]}" complete-names "$kind" 2>/dev/null)"
    COMPREPLY=($(compgen -W "$names" -- "$current"))
  elif [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$(_muster_options "$path")" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$(_muster_verbs "$path")" -- "$current"))
  fi
}
complete -o default -F _muster muster
)SCRIPT";
  return script;
}

std::string zsh_list(const std::vector<Word>& words) {
  std::string out;
  for (const Word& word : words) out += fmt::format(" '{}:{}'", word.text, word.help);
  return out;
}

std::string zsh_script(const std::vector<Place>& places) {
  std::string cases;
  for (const Place& place : places)
    cases += fmt::format("    '{}') verbs=({}) options=({}) kind='{}';;\n", place.path,
                         zsh_list(place.verbs), zsh_list(place.options), place.names);
  std::string script = R"SCRIPT(#compdef muster
# zsh completion of muster; use it with: source <(muster completion zsh)
_muster_place() {
  case "$1" in
)SCRIPT";
  script += cases;
  script += R"SCRIPT(    *) verbs=() options=() kind='';;
  esac
}
_muster() {
  local place='' kind='' word i
  local -a verbs options
  _muster_place ''
  for ((i = 2; i < CURRENT; i++)); do
    word="${words[i]}"
    [[ "$word" == -- ]] && { _files; return; }
    if (( ${verbs[(I)$word:*]} )); then
      place="${place:+$place }$word"
      _muster_place "$place"
    fi
  done
  case "${words[CURRENT - 1]}" in
)SCRIPT";
  script += named_cases(
      "    {}) compadd -- ${{(f)\"$($words[1] complete-names {} 2>/dev/null)\"}}; return;;\n");
  script += R"SCRIPT(  esac
  if [[ "${words[CURRENT]}" == -* ]]; then
    _describe option options
  elif (( ${#verbs} )); then
    _describe command verbs
  elif [[ -n "$kind" ]]; then
    compadd -- ${(f)"$($words[1] complete-names $kind 2>/dev/null)"}
  else
    _files
  fi
}
compdef _muster muster
)SCRIPT";
  return script;
}

/// What the value of an option names; "": something else.
std::string kind_of_option(const std::string& option) {
  for (const Named& named : named_options) {
    for (const std::string_view name : split(named.options, '|')) {
      if (name == option) return named.kind;
    }
  }
  return "";
}

std::string fish_option(const std::string& at, const Word& option) {
  const bool is_long = option.text.starts_with("--");
  std::string line = fmt::format("{} {} {} -d '{}'", at, is_long ? "-l" : "-s",
                                 option.text.substr(is_long ? 2 : 1), option.help);
  const std::string kind = kind_of_option(option.text);
  if (option.takes_value) line += kind.empty() ? " -r" : " -x";
  if (!kind.empty()) line += fmt::format(" -a '(muster complete-names {} 2>/dev/null)'", kind);
  return line + "\n";
}

std::string fish_script(const std::vector<Place>& places) {
  std::string script =
      R"SCRIPT(# fish completion of muster; use it with: muster completion fish | source
function __muster_verbs
  switch "$argv[1]"
)SCRIPT";
  for (const Place& place : places) {
    if (!place.verbs.empty())
      script += fmt::format("    case '{}'\n      string split ' ' '{}'\n", place.path,
                            words_of(place.verbs));
  }
  script += R"SCRIPT(  end
end
function __muster_at
  set -l words (commandline -opc)
  set -e words[1]
  set -l path ''
  for word in $words
    test "$word" = --; and return 1
    contains -- "$word" (__muster_verbs "$path"); and set path (string trim "$path $word")
  end
  test "$path" = "$argv[1]"
end
complete -c muster -e
)SCRIPT";
  for (const Place& place : places) {
    const std::string at = fmt::format("complete -c muster -n '__muster_at \"{}\"'", place.path);
    for (const Word& verb : place.verbs)
      script += fmt::format("{} -f -a {} -d '{}'\n", at, verb.text, verb.help);
    if (!place.names.empty())
      script += fmt::format("{} -f -a '(muster complete-names {} 2>/dev/null)'\n", at, place.names);
    for (const Word& option : place.options) script += fish_option(at, option);
  }
  return script;
}

}  // namespace

Result<std::string> completion_script(const CLI::App& app, const std::string& shell) {
  std::vector<Place> places;
  collect(app, "", places);
  if (shell == "bash") return bash_script(places);
  if (shell == "zsh") return zsh_script(places);
  if (shell == "fish") return fish_script(places);
  return invalid(fmt::format("{}: expected bash, zsh or fish", shell));
}

void add_completion(CLI::App& app, const SharedHost& host) {
  CLI::App* command =
      add_command(app, "completion", "Print a script that lets your shell complete commands");
  command->footer(
      "Use it with:\n"
      "  source <(muster completion bash)       in ~/.bashrc\n"
      "  source <(muster completion zsh)        in ~/.zshrc\n"
      "  muster completion fish | source        in ~/.config/fish/config.fish");
  const auto shell = std::make_shared<std::string>();
  add_option(*command, "SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([host, shell, &app] {
    const auto script = completion_script(app, *shell);
    if (script) host->out(*script);
  });
}

}  // namespace muster::cli
