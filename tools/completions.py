# SPDX-License-Identifier: MIT
"""Makes the files in share/, shell completions and man pages, from what the commands themselves print.

    completions.py [FOLDER]      FOLDER holds ckernprof and clineprof; default: build/bin

The options come from --help. If an option takes one of a few values, they come from the message about a
wrong value.
"""
import pathlib
import re
import subprocess
import sys

SHARE = pathlib.Path("share")
MADE = "made by tools/completions.py"
ROW = re.compile(r"^  (?:(-\w)|  )(?:, |  )?(--[\w-]+)?(?: ?(\[?=?[A-Za-z]+\]?))?  +(\S.*)$")


class Option:
    def __init__(self, command, row, others):
        self.letter, self.name, self.argument, self.help = row
        self.names = [name for name in (self.letter, self.name, others.get(self.name)) if name]
        self.long = [name[2:] for name in self.names if name.startswith("--")]
        self.optional = (self.argument or "").startswith("[")
        self.may_take_next = self.argument == "[N]"
        self.argument = (self.argument or "").strip("[=]")
        self.values = []
        if self.argument in ("NAME", "KEY", "MODE", "WHEN"):
            self.values = values(command, self.name, "?")
        elif self.argument.islower():
            self.values = values(command, self.name + "=?")

    @property
    def ends(self):
        return self.help.endswith("ends the options")

    @property
    def takes_next(self):
        """Is the next word the option's value?"""
        return bool(self.argument) and not self.optional


class Command:
    """A program (ckernprof), or a command of a program (clineprof diff), as its --help describes it."""

    def __init__(self, folder, *words):
        self.words, self.folder = words, folder
        self.name = words[0]
        text = self.run("--help").stdout
        head, _, rest = text.partition("\n\n")
        self.usage = [line.split(maxsplit=1)[1] if line.startswith("usage: ") else line.strip()
                      for line in head.splitlines()]
        self.about = rest.partition("\n\n")[0]
        self.closing = rest.rstrip("\n").rpartition("\n\n")[2]
        others = aliases(self.run("--help-page").stdout)
        self.options = [Option(self, match.groups(), others) for match in map(ROW.match, text.splitlines())
                        if match and (match[1] or match[2])]

    def run(self, *more):
        return subprocess.run([self.folder / self.words[0], *self.words[1:], *more], text=True, capture_output=True)

    def commands(self):
        """The commands in the usage lines: {name: the words that may follow it}."""
        found = {}
        for line in self.usage:
            words = line.split()
            if len(words) > 1 and words[1].isalpha():
                found[words[1]] = words[2].split("|") if len(words) > 2 and "|" in words[2] else []
        return found


def aliases(page):
    """{name: alias} of the options that have two long names, from the table for docs/options.md."""
    rows = (re.findall(r"`(--(?!no-)[\w-]+)", line.split(" | ")[0]) for line in page.splitlines())
    return {row[0]: row[1] for row in rows if len(row) > 1}


def one_of(letters, options):
    """A regular expression for words that are one of these options. The option's letter may be the last of several
    joined letters, of which `letters` are the others."""
    names = [name for option in options for name in option.names if name.startswith("--")]
    ends = "".join(option.letter[1] for option in options if option.letter)
    return "(%s)" % "|".join([f"-[{letters}]*[{ends}]"] * bool(ends) + names)


class Words:
    """Regular expressions for the words before the program: the option that ends the options (last), options whose
    value is the next word (takes), and options whose value may be the next word (may_take)."""

    def __init__(self, options):
        switches = "".join(option.letter[1] for option in options if option.letter and not option.argument)
        self.last = one_of(switches, [option for option in options if option.ends])
        self.takes = one_of(switches, [option for option in options if option.takes_next])
        self.may_take = one_of(switches, [option for option in options if option.may_take_next])


def values(command, *words):
    said = command.run(*words, "?").stderr
    return re.split(", | or ", re.search(r" needs (?:some of )?(.*), not '\?'", said)[1])


# ---- bash ----


def bash_offer(words):
    return "COMPREPLY=($(compgen -W '%s' -- \"$now\"))" % " ".join(words)


def bash_options(options):
    """Lines of bash that complete the value of an option, or an option."""
    takes = [option for option in options if option.takes_next]
    joins = [option for option in options if option.optional and option.values]
    if takes:
        yield "  case $before in"
        for option in joins:
            yield "  %s=) %s; return ;;" % (option.name, bash_offer(option.values))
        for option in takes:
            if option.values:
                names = "|".join(f"{name}|{name}=" for name in option.names)
                yield "  %s) %s; return ;;" % (names, bash_offer(option.values))
        yield "  esac"
        yield f"  [[ $before =~ ^{Words(options).takes}=?$ ]] && return"
    names = [name for option in options for name in option.names]
    if names:
        yield "  [[ $now == -* ]] && %s" % bash_offer(names)


def bash_part(name, part, choice):
    yield f"  {name})"
    if choice:
        yield "  (( COMP_CWORD == 2 )) && " + bash_offer(choice)
    yield from bash_options(part.options)
    yield "  return ;;"


def bash_end_of_options(options):
    """Lines of bash that offer nothing behind the program, whose own words follow it."""
    words = Words(options)
    yield "  for (( at = 1; at < COMP_CWORD; at++ )); do"
    yield "    word=${COMP_WORDS[at]} next=${COMP_WORDS[at+1]}"
    yield f"    [[ $word == -- || $word =~ ^{words.last} ]] && return"
    yield f'    if [[ $word == "=" || $next == "=" || $word =~ ^{words.takes}$ ]]; then'
    yield '      [[ $word != "=" && $next == "=" ]] && (( at++ )); (( at++ ))'
    yield f"    elif [[ $word =~ ^{words.may_take}$ && $next =~ ^[0-9.]+$ ]]; then"
    yield "      (( at++ ))"
    yield "    elif [[ $word != -?* ]]; then"
    yield "      return"
    yield "    fi"
    yield "  done"


def bash(command, parts):
    yield f"# bash completion for {command.name}; {MADE}"
    yield f"_{command.name}() {{"
    yield "  local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at word next"
    yield "  COMPREPLY=()"
    yield "  # bash splits --name=value into three words"
    yield '  [[ $before == "=" ]] && before=${COMP_WORDS[COMP_CWORD-2]}='
    yield '  [[ $now == "=" ]] && before=$before= now=""'
    if parts:
        yield "  (( COMP_CWORD > 1 )) && case ${COMP_WORDS[1]} in"
        for name, (part, choice) in parts.items():
            yield from bash_part(name, part, choice)
        yield "  esac"
    else:
        yield from bash_end_of_options(command.options)
    yield from bash_options(command.options)
    if parts:
        yield "  (( COMP_CWORD == 1 )) && [[ $now != -* ]] && " + bash_offer(parts)
    yield "  return 0"
    yield "}"
    yield f"complete -o default -F _{command.name} {command.name}"


# ---- zsh ----


def zsh_word(text):
    return "'%s'" % re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")


def zsh_option(option):
    about = zsh_word(option.help)[1:-1]
    value = ""
    if option.argument:
        action = "(%s)" % " ".join(option.values) if option.values else "_files"
        value = "%s:%s:%s" % (":" if option.optional else "", option.argument.lower(), action)
        value += ":*::argument:_files" * option.ends
    for name in option.names:
        join = "=-" if option.optional and not option.may_take_next else "="
        join = "" if not option.argument or name == option.letter else join
        yield f"'*{name}{join}[{about}]{value}'"


def zsh_arguments(flags, options, *rest):
    specs = [spec for option in options for spec in zsh_option(option)] + list(rest)
    return f"_arguments {flags} \\\n    " + " \\\n    ".join(specs)


def zsh(command, parts):
    yield f"#compdef {command.name}"
    yield f"# {MADE}"
    if not parts:
        yield zsh_arguments("-s -S -A '-*'", command.options, "'1:program:_files'", "'*::argument:_files'")
        return
    yield "if (( CURRENT > 2 )); then"
    yield "  case $words[2] in"
    for name, (part, choice) in parts.items():
        first = ["'1:command:(%s)'" % " ".join(choice)] if choice else []
        yield f"  {name}) shift words; (( CURRENT-- ))"
        yield "    " + zsh_arguments("-s -S", part.options, *first, "'*:file:_files'")
        yield "    return ;;"
    yield "  esac"
    yield "fi"
    yield zsh_arguments("-s -S", command.options,
                        "'1:command or profile: _alternative \"commands:command:(%s)\" \"files:profile:_files\"'"
                        % " ".join(parts), "'*:profile:_files'")


# ---- fish ----


def fish_word(text):
    return "'%s'" % text.replace("\\", "\\\\").replace("'", "\\'")


def fish_options(name, options, condition):
    for option in options:
        line = f"complete -c {name}" + (f" -n {fish_word(condition)}" if condition else "")
        line += f" -s {option.letter[1:]}" if option.letter else ""
        line += "".join(f" -l {name}" for name in option.long)
        if option.values:
            line += " -x -a %s" % fish_word(" ".join(option.values))
        elif option.takes_next:
            line += " -r"
        yield line + f" -d {fish_word(option.help)}"


def fish_end_of_options(name, options):
    words = Words(options)
    yield f"function __{name}_takes_options"
    yield "  set -l next none"
    yield "  for word in (commandline -opc)[2..-1]"
    yield "    if test $next = number; and string match -qr '^[0-9.]+$' -- $word; or test $next = any"
    yield "      set next none"
    yield f"    else if test x$word = x--; or string match -qr '^{words.last}' -- $word"
    yield "      return 1"
    yield f"    else if string match -qr '^{words.takes}$' -- $word"
    yield "      set next any"
    yield f"    else if string match -qr '^{words.may_take}$' -- $word"
    yield "      set next number"
    yield "    else if string match -qr '^-.' -- $word"
    yield "      set next none"
    yield "    else"
    yield "      return 1"
    yield "    end"
    yield "  end"
    yield "  return 0"
    yield "end"


def fish(command, parts):
    yield f"# {MADE}"
    none = "not __fish_seen_subcommand_from %s" % " ".join(parts) if parts else f"__{command.name}_takes_options"
    if not parts:
        yield from fish_end_of_options(command.name, command.options)
    yield from fish_options(command.name, command.options, none)
    for name, (part, choice) in parts.items():
        yield f"complete -c {command.name} -n __fish_use_subcommand -a {name}"
        seen = f"__fish_seen_subcommand_from {name}"
        yield from fish_options(command.name, part.options, seen)
        if choice:
            yield f"complete -c {command.name} -n {fish_word(seen)} -a {fish_word(' '.join(choice))}"


# ---- man pages ----


def roff(text):
    return re.sub(r"(?m)^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"))


def man_options(options):
    for option in options:
        yield ".TP"
        between = " " if not option.optional else ""
        argument = option.argument and (f"[={option.argument}]" if option.optional and option.name else option.argument)
        shown = ", ".join(r"\fB%s\fR" % roff(name) for name in option.names)
        yield shown + (between + r"\fI%s\fR" % roff(argument) if argument else "")
        yield roff(option.help)


def man(command, parts):
    about = {"ckernprof": "profile a Python program line by line", "clineprof": "print profiles of ckernprof"}
    other = ({*about} - {command.name}).pop()
    yield rf'.\" {MADE}'
    yield f'.TH {command.name.upper()} 1 "" clineprof "User Commands"'
    yield ".SH NAME"
    yield f"{command.name} \\- {about[command.name]}"
    yield ".SH SYNOPSIS"
    for line in command.usage:
        name, rest = line.split(maxsplit=1)
        yield rf"\fB{name}\fR {roff(rest)}" + "\n.br"
    yield ".SH DESCRIPTION"
    yield roff(command.about)
    yield ".SH OPTIONS"
    yield from man_options(command.options)
    yield ".PP\n" + roff(command.closing)
    for name, (part, _) in parts.items():
        if part.options:
            yield f".SH {command.name.upper()} {name.upper()}"
            yield roff(part.about)
            yield from man_options(part.options)
    yield ".SH SEE ALSO"
    yield f".BR {other} (1)"


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/bin").resolve()
    to = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else SHARE
    for name in "ckernprof", "clineprof":
        command = Command(folder, name)
        parts = {part: (Command(folder, name, part), choice) for part, choice in command.commands().items()}
        for path, make in [(f"bash-completion/completions/{name}", bash), (f"zsh/site-functions/_{name}", zsh),
                           (f"fish/vendor_completions.d/{name}.fish", fish), (f"man/man1/{name}.1", man)]:
            (to / path).parent.mkdir(parents=True, exist_ok=True)
            (to / path).write_text("\n".join(make(command, parts)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
