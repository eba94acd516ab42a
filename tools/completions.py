# SPDX-License-Identifier: MIT
"""Makes share/ from what the commands themselves print: what shells complete, and the man pages.

    completions.py [FOLDER]      where ckernprof and clineprof are; default: build/bin

The options come from --help; the values of an option that takes one of a few come from what is said
of a wrong one.
"""
import pathlib
import re
import subprocess
import sys

SHARE = pathlib.Path("share")
MADE = "made by tools/completions.py"
ROW = re.compile(r"^  (?:(-\w)|  )(?:, |  )?(--[\w-]+)?(?: ?(\[?=?[A-Za-z]+\]?))?  +(\S.*)$")


class Option:
    def __init__(self, command, row):
        self.letter, self.name, self.argument, self.help = row
        self.names = [name for name in (self.letter, self.name) if name]
        self.optional = (self.argument or "").startswith("[")
        self.argument = (self.argument or "").strip("[=]")
        self.values = values(command, self.name) if self.argument in ("NAME", "KEY", "MODE") else []

    @property
    def takes_next(self):
        """Is the next word its value?"""
        return bool(self.argument) and not self.optional


class Command:
    """A program, or a command of it, by what its --help says."""

    def __init__(self, folder, *words):
        self.words, self.folder = words, folder
        self.name = words[0]
        text = self.run("--help").stdout
        head, _, rest = text.partition("\n\n")
        self.usage = [line.split(maxsplit=1)[1] if line.startswith("usage: ") else line.strip()
                      for line in head.splitlines()]
        self.about = rest.partition("\n\n")[0]
        self.closing = rest.rstrip("\n").rpartition("\n\n")[2]
        self.options = [Option(self, match.groups()) for match in map(ROW.match, text.splitlines())
                        if match and (match[1] or match[2])]

    def run(self, *more):
        return subprocess.run([self.folder / self.words[0], *self.words[1:], *more], text=True, capture_output=True)

    def commands(self):
        """{name: its own choice of words} of the programs behind the usage lines."""
        found = {}
        for line in self.usage:
            words = line.split()
            if len(words) > 1 and words[1].isalpha():
                found[words[1]] = words[2].split("|") if len(words) > 2 and "|" in words[2] else []
        return found


def values(command, name):
    said = command.run(name, "?", "?").stderr
    return re.split(", | or ", re.search(r" needs (?:some of )?(.*), not '\?'", said)[1])


# ---- bash ----


def bash_offer(words):
    return "COMPREPLY=($(compgen -W '%s' -- \"$now\"))" % " ".join(words)


def bash_options(options):
    """What follows an option that takes a value, and the options themselves."""
    takes = [option for option in options if option.takes_next]
    if takes:
        yield "  case $before in"
        for option in takes:
            if option.values:
                yield "  %s) %s; return ;;" % ("|".join(option.names), bash_offer(option.values))
        yield "  %s) return ;;" % "|".join(name for option in takes if not option.values for name in option.names)
        yield "  esac"
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
    """Behind the program all words are its own."""
    takes = "|".join(name for option in options if option.takes_next for name in option.names)
    yield "  for (( at = 1; at < COMP_CWORD; at++ )); do"
    yield "    case ${COMP_WORDS[at]} in"
    yield "    -m|-c|--) return ;;"
    yield f'    {takes}) [[ ${{COMP_WORDS[at+1]}} == "=" ]] && (( at++ )); (( at++ )) ;;'
    yield "    =) (( at++ )) ;;"
    yield "    -?*) ;;"
    yield "    *) return ;;"
    yield "    esac"
    yield "  done"


def bash(command, parts):
    yield f"# bash completion for {command.name}; {MADE}"
    yield f"_{command.name}() {{"
    yield "  local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at"
    yield "  COMPREPLY=()"
    yield "  # --name=value comes as three words"
    yield '  [[ $before == "=" ]] && before=${COMP_WORDS[COMP_CWORD-2]}'
    yield '  [[ $now == "=" ]] && now=""'
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
    for name in option.names:
        join = "" if not option.argument or name == option.letter else "=-" if option.optional else "="
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
                        "'1:command or profile:_alternative \"commands:command:(%s)\" \"files:profile:_files\"'"
                        % " ".join(parts), "'*:profile:_files'")


# ---- fish ----


def fish_word(text):
    return "'%s'" % text.replace("\\", "\\\\").replace("'", "\\'")


def fish_options(name, options, condition):
    for option in options:
        line = f"complete -c {name}" + (f" -n {fish_word(condition)}" if condition else "")
        line += f" -s {option.letter[1:]}" if option.letter else ""
        line += f" -l {option.name[2:]}" if option.name else ""
        if option.values:
            line += " -x -a %s" % fish_word(" ".join(option.values))
        elif option.takes_next:
            line += " -r"
        yield line + f" -d {fish_word(option.help)}"


def fish(command, parts):
    yield f"# {MADE}"
    none = "not __fish_seen_subcommand_from %s" % " ".join(parts) if parts else ""
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
