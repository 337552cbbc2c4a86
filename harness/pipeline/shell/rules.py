"""What single shell commands do, as data: denied, seen through, reading, and what has to be asked for.

`harness.pipeline.shell.classify` finds the commands of a text and asks here about each. Only reading is listed;
whatever is in no table has to be asked for. A predicate gets a command's arguments and says in words what is not
reading in them, or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command, unquoted. ``exact``: the shell passes just this text on.

    ``operand``: whatever the word expands to, it is no option. ``src/*.py`` is an operand but not exact; ``*.py`` is
    neither, because a file can be named ``-o.py``.
    """

    text: str
    exact: bool = True
    operand: bool = False


Predicate = Callable[[Sequence[Word]], "str | None"]


def names(text: str) -> frozenset[str]:
    """The words of ``text``, for tables."""
    return frozenset(text.split())


RAISES_PRIVILEGES = names("sudo sudoedit sudo-rs doas su pkexec run0 runuser gosu su-exec dzdo calife")
REMOVES = names("rm unlink shred srm wipe grm")
NESTED_SHELLS = names(
    "sh bash zsh dash ksh ksh93 mksh ash fish csh tcsh rbash rzsh rksh yash posh pwsh powershell nu elvish xonsh osh "
    "bash-static static-sh sash lksh oksh loksh pdksh hush ysh murex bosh eval source ."
)
DENIED: Mapping[str, str] = {
    **dict.fromkeys(RAISES_PRIVILEGES, "raises privileges"),
    **dict.fromkeys(REMOVES, "removes files for good"),
    **dict.fromkeys(NESTED_SHELLS, "starts a nested shell, whose commands nobody has checked"),
}
"""Names that are denied (seed 000), with the reason. Kin of the seed's names are denied as they are."""


def denied(name: str) -> str | None:
    """Why the command ``name`` (a bare name or a path) is denied, or None. Case is ignored, as on some file systems."""
    base = name.rsplit("/", 1)[-1].lower().removesuffix(".exe")
    return DENIED.get(base) or DENIED.get(re.sub(r"(?:-|(?<!\d)(?<!\d\.))\d++(\.\d++)*+$", "", base))


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A command that runs the command in its arguments.

    ``valued`` and ``valued_long`` are options whose value is the next word, ``flags`` those without a value;
    ``positionals`` counts the words before the inner command. ``asks`` is why the wrapper alone has to be asked for.
    """

    flags: str = ""
    valued: str = ""
    flags_long: frozenset[str] = frozenset()
    valued_long: frozenset[str] = frozenset()
    positionals: int = 0
    assignments: bool = False
    asks: str | None = None


_WRAPPERS: Mapping[str, Wrapper] = {
    "timeout": Wrapper("v", "ks", names("--foreground --preserve-status --verbose"), names("--signal --kill-after"), 1),
    "nohup": Wrapper(),
    "nice": Wrapper("0123456789", "n", valued_long=names("--adjustment")),
    "ionice": Wrapper("t", "cn", names("--ignore"), names("--class --classdata")),
    "time": Wrapper("pv"),
    "stdbuf": Wrapper("", "ioe", valued_long=names("--input --output --error")),
    "env": Wrapper("i0v", "u", names("--ignore-environment --null --debug"), names("--unset"), assignments=True),
    "setsid": Wrapper("cfw", "", names("--ctty --fork --wait")),
    "command": Wrapper("p"),
    "builtin": Wrapper(),
    "exec": Wrapper("cl", "a"),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "chronic": Wrapper("ve"),
    "nocorrect": Wrapper(),
    "linux32": Wrapper(),
    "linux64": Wrapper(),
    "eatmydata": Wrapper(),
    "nocache": Wrapper(),
    "catchsegv": Wrapper(),
    "unbuffer": Wrapper("p"),
    "noglob": Wrapper(),
    "taskset": Wrapper("", "", positionals=1, asks="pins a process"),
    "chrt": Wrapper("", "", positionals=1, asks="changes scheduling"),
    "xargs": Wrapper(
        "0rtxo",
        "nPLsdEIa",
        names("--null --no-run-if-empty --verbose --exit"),
        names("--max-args --max-procs --max-lines --max-chars --delimiter --arg-file"),
    ),
    "coproc": Wrapper(asks="runs in the background"),
    "chroot": Wrapper(positionals=1, asks="changes the root folder"),
    "unshare": Wrapper(asks="changes namespaces"),
    "nsenter": Wrapper(asks="changes namespaces"),
    "fakeroot": Wrapper(asks="changes what a program sees"),
    "proot": Wrapper(asks="changes what a program sees"),
    "strace": Wrapper(asks="traces a program"),
    "ltrace": Wrapper(asks="traces a program"),
    "gdb": Wrapper(asks="runs a program under a debugger"),
    "firejail": Wrapper(asks="runs a program in a sandbox"),
    "bwrap": Wrapper(asks="runs a program in a sandbox"),
    "systemd-run": Wrapper(asks="runs a program as a service"),
    "watch": Wrapper(asks="runs a command again and again"),
    "parallel": Wrapper(asks="runs commands made from its input"),
    **dict.fromkeys(
        names("numactl cpulimit prlimit setarch valgrind perf rlwrap xvfb-run dbus-run-session dbus-launch faketime"),
        Wrapper(asks="runs a program under other conditions"),
    ),
    **dict.fromkeys(
        names(
            "proxychains proxychains4 torsocks torify tsocks caffeinate setpriv sg capsh start-stop-daemon daemonize"
        ),
        Wrapper(asks="runs a program under other conditions"),
    ),
    "script": Wrapper(asks="writes a transcript"),
    "flock": Wrapper(asks="makes a lock file"),
    "entr": Wrapper(asks="runs a command on changes"),
    "ssh": Wrapper(asks="runs commands on another machine"),
    "trap": Wrapper(asks="registers commands to run later"),
    "alias": Wrapper(asks="changes what names mean"),
    "bind": Wrapper(asks="registers commands to run later"),
    "complete": Wrapper(asks="registers commands to run later"),
    "mapfile": Wrapper(asks="may register a callback"),
    "readarray": Wrapper(asks="may register a callback"),
}
WRAPPERS: Mapping[str, Wrapper] = {
    **_WRAPPERS,
    **{f"g{name}": _WRAPPERS[name] for name in names("timeout nohup nice env stdbuf xargs time")},
}
"""Seen through (bug report G12). Those with ``asks`` are read loosely: a denied name anywhere in them denies."""

ASKS: Mapping[str, str] = {
    **dict.fromkeys(("mv", "rename"), "moves or renames files"),
    **dict.fromkeys(names("cp install ln rsync scp dd tee truncate split csplit touch mkdir mktemp"), "writes files"),
    **dict.fromkeys(names("rmdir"), "removes folders"),
    **dict.fromkeys(names("chmod chown chgrp setfacl chattr"), "changes permissions"),
    **dict.fromkeys(names("curl wget nc ncat netcat telnet ftp sftp socat ping"), "uses the network"),
    **dict.fromkeys(
        names("pip pip3 pipx uv npm npx pnpm yarn bun apt apt-get yum dnf brew gem cargo conda poetry go composer"),
        "may install packages or run their code",
    ),
    **dict.fromkeys(
        names("python python2 python3 perl ruby node deno php lua tclsh expect osascript"),
        "runs a program that was not read",
    ),
    **dict.fromkeys(names("kill pkill killall"), "ends processes"),
    **dict.fromkeys(names("less more man vi vim nano ed ex emacs"), "can start other programs"),
}
"""Reasons for well-known names; a name in no table is asked for as unknown."""

READS_WITH_ANY_ARGUMENTS = names(
    "ls cat tac head tail wc nl od hexdump strings grep egrep fgrep cut tr paste join comm expand unexpand fold fmt pr "
    "rev column diff cmp stat du df basename dirname realpath readlink pwd echo true false : which type whereis "
    "printenv id whoami groups users logname who uname arch nproc uptime free ps pgrep tty locale getconf seq expr "
    "factor sleep md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum zcat zgrep bzcat xzcat jq "
    "cd pushd popd dirs exit return break continue shift readelf cal lsblk lscpu pathchk zipinfo "
    "help w last getent bc yes md5 shasum sha1 sha256 numfmt tsort eza exa lsmod lspci lsusb pstree vmstat iostat "
    "sw_vers vm_stat"
)
"""No option of these writes, runs a program or sets a variable."""


def _opaque(arguments: Sequence[Word]) -> str | None:
    doubtful = next((word.text for word in arguments if not word.exact and not word.operand), None)
    return None if doubtful is None else f"{doubtful} may expand to any option"


def without(short: str = "", long: str = "", *, valued: str = "") -> Predicate:
    """Reading as long as none of these options is there, abbreviated and clustered ones included.

    A cluster is read up to a letter of ``valued``, which takes the rest. ``--`` ends nothing, as it may be a value.
    """
    longs = tuple(long.split())

    def judge(arguments: Sequence[Word]) -> str | None:
        for text in (word.text for word in arguments):
            name = text.partition("=")[0]
            if name.startswith("--") and len(name) > 2 and any(option.startswith(name) for option in longs):
                return f"the option {name} does more than read"
            if re.match(r"-[^-]", text):
                cluster = re.split(f"[{valued}]", text[1:], maxsplit=1)[0] if valued else text[1:]
                if any(letter in short for letter in cluster):
                    return f"the option {text} does more than read"
        return _opaque(arguments)

    return judge


def only(pattern: str, why: str, inner: Predicate = _opaque) -> Predicate:
    """Reading if each word matches ``pattern``."""
    compiled = re.compile(pattern)

    def judge(arguments: Sequence[Word]) -> str | None:
        if any(not word.exact or not compiled.fullmatch(word.text) for word in arguments):
            return why
        return inner(arguments)

    return judge


def _version_only(arguments: Sequence[Word]) -> str | None:
    texts = [word.text for word in arguments if word.exact]
    return None if len(arguments) == 1 and texts in (["--version"], ["-V"]) else "runs a program that was not read"


_TOOLS_WITH_VERSION = names(
    "python python2 python3 ruby perl php gcc g++ clang make cmake ninja meson rustc rustup ruff mypy cargo npx uv bun "
    "deno black isort pyright tsc eslint prettier jest vitest kubectl helm terraform gh aws kotlin swift sqlite3 psql "
    "mysql bundle gem composer pre-commit poetry pipenv conda"
)
"""Tools whose ``--version`` runs nothing of the folder's own: no plugins, no launcher that its settings name."""


def _one_argument(arguments: Sequence[Word]) -> str | None:
    return None if len(arguments) == 1 else "runs a program that was not read"


def _version_or(subcommands: str, options: str = r"$^") -> Predicate:
    """Asking for the version, or one of ``subcommands`` with words and these options."""
    allowed = names(subcommands)
    known = re.compile(options)

    def judge(arguments: Sequence[Word]) -> str | None:
        if _version_only(arguments) is None:
            return None
        plain = all(word.exact and (word.text[:1] != "-" or known.fullmatch(word.text)) for word in arguments)
        if arguments and arguments[0].text in allowed and plain:
            return None
        return "may install packages or run their code"

    return judge


def _one_operand(valued: str, inner: Predicate) -> Predicate:
    def judge(arguments: Sequence[Word]) -> str | None:
        operands, value = 0, False
        if not all(word.exact for word in arguments):
            return "a second file may be written"
        for word in arguments:
            if not value and word.text[:1] != "-":
                operands += 1
            value = not value and len(word.text) == 2 and word.text[0] == "-" and word.text[1] in valued
        return "the second file is written" if operands > 1 else inner(arguments)

    return judge


def _printf(arguments: Sequence[Word]) -> str | None:
    if any(word.text.startswith("-v") for word in arguments[:1]):
        return "sets a variable"
    if any(re.search(r"%[-+ #0'\d.*]*[a-z]*n", word.text) for word in arguments[:2]):
        return "%n sets a variable"
    return _opaque(arguments[:1])


def _unzip(arguments: Sequence[Word]) -> str | None:
    lists = arguments and re.fullmatch(r"-[lvZ]", arguments[0].text)
    plain = all(word.exact and word.text[:1] != "-" for word in arguments[1:])
    return None if lists and plain else "only listing an archive is reading"


def _date(arguments: Sequence[Word]) -> str | None:
    if any(re.fullmatch(r"\d{8,12}(\.\d\d)?", word.text) for word in arguments):
        return "sets the clock"
    return without("s", "--set", valued="dfrI")(arguments)


def _unpacks_to_output(arguments: Sequence[Word]) -> str | None:
    options = [word for word in arguments if word.text[:1] == "-"]
    harmless = options and all(
        word.exact and re.fullmatch(r"-(d?c|cd|k?l|lv|t)|--(list|test)", word.text) for word in options
    )
    return _opaque(arguments) if harmless else "replaces files"


def _needs_option(why: str) -> Predicate:
    return lambda arguments: None if arguments and arguments[0].text[:1] == "-" else why


_SED_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/I?)"
_SED_STEP = re.compile(
    rf"\s*(?:{_SED_ADDRESS}(?:,[+~]?{_SED_ADDRESS})?\s*!?\s*)?"
    r"(?:[pdqPDgGhHxnNl=]|s([^\w\s\\])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpI\d]*)\s*(?:[;\n]\s*|$)"
)


def _sed_script(script: Word) -> str | None:
    if not script.exact or len(script.text) > 2000:
        return "the sed script is not known"
    at = 0
    while at < len(script.text):
        step = _SED_STEP.match(script.text, at)
        if step is None or step.end() == at:
            return f"the sed script may write files or run commands: {script.text}"
        at = step.end()
    return None


def _sed(arguments: Sequence[Word]) -> str | None:
    scripts: list[Word] = []
    first: Word | None = None
    rest = iter(arguments)
    for word in rest:
        if word.text in {"-e", "-ne", "-Ee", "-re", "-nEe", "-nre", "--expression"} and word.exact:
            scripts.append(next(rest, Word("")))
        elif word.text.startswith("-") and len(word.text) > 1:
            known = re.fullmatch(r"-[nErsuz]+|--(quiet|silent|regexp-extended|null-data|sandbox|version)", word.text)
            if known is None or not word.exact:
                return f"the sed option {word.text} may write files"
        elif first is None:
            first = word
    if not scripts and first is not None:
        scripts = [first]
    return _opaque(arguments) or next(filter(None, map(_sed_script, scripts)), None)


_AWK_HARM = re.compile(r"system|getline|printf?\s*\(?[^;}]*>|[|>@]|\\\n|close")


def _without_comparisons(program: str) -> str:
    """The program without ``>`` where it can only compare: in a pattern, outside every action.

    Only of programs whose strings and braces can be told apart at sight: no regular expression, escape or comment.
    """
    if re.search(r"[/\\#]", program):
        return program
    actions = re.compile(r"\{[^{}]*\}")
    bare = re.sub(r"\"[^\"\n]*\"", '""', program)
    patterns = actions.sub(" ", bare)
    if re.search(r"[{}]|\bprintf?\b", patterns) or patterns.count('"') % 2:
        return program
    return " ".join([patterns.replace(">", " "), *actions.findall(bare), *re.findall(r"\"[^\"\n]*\"", program)])


def _awk(arguments: Sequence[Word]) -> str | None:
    rest = iter(arguments)
    for word in rest:
        if word.text in {"-F", "-v"} and word.exact:
            if not next(rest, Word("")).exact:
                return f"the value of {word.text} may become other words"
        elif word.text.startswith("-") and not (word.exact and re.match(r"-[Fv].|--version$", word.text)):
            return f"the awk option {word.text} may load or run code"
        elif not word.text.startswith("-"):
            harmless = word.exact and not _AWK_HARM.search(_without_comparisons(word.text).replace("||", " "))
            return _opaque(arguments) if harmless else f"the awk program may write or run something: {word.text}"
    return _opaque(arguments)


def _tar(arguments: Sequence[Word]) -> str | None:
    for at, word in enumerate(arguments):
        option = word.text.startswith("-") or at == 0
        listing = r"-?[tvzjJaf]+|--(list|verbose|gzip|bzip2|xz|zstd|file=[^:]*)"
        if not word.exact or ":" in word.text or (option and not re.fullmatch(listing, word.text)):
            return "only listing an archive is reading"
    lists = any(re.fullmatch(r"-?[vzjJaf]*t[tvzjJaf]*|--list", w.text) for w in arguments[:1]) or any(
        re.fullmatch(r"-[vzjJaf]*t[tvzjJaf]*|--list", w.text) for w in arguments
    )
    return None if lists else "only listing an archive is reading"


_SETTING = r"[a-z_][a-z0-9_]*"
READS: Mapping[str, Predicate] = {
    "sort": without("o", "--output --compress-program", valued="ktST"),
    "shuf": without("o", "--output"),
    "iconv": without("o", "--output"),
    "tree": without("oR", "--output"),
    "file": without("C", "--compile"),
    "date": _date,
    "rg": without("", "--pre --hostname-bin"),
    "base64": without("o", "--output"),
    **dict.fromkeys(("nm", "objdump", "size"), without("", "--plugin")),
    **dict.fromkeys(("fd", "fdfind"), without("xX", "--exec --exec-batch")),
    "ag": without("", "--pager"),
    "node": only(r"-v|--version", "runs a program that was not read", _one_argument),
    **dict.fromkeys(("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz"), _unpacks_to_output),
    "tee": only(r"/dev/(null|stdout|stderr)|-a", "writes files"),
    "history": only(r"\d+", "changes the history"),
    "top": only(r"-b?n\d*|-b|\d+", "runs until it is stopped", _needs_option("runs until it is stopped")),
    "ss": only(r"-[tlnpuaxemois46rH]+", "may close connections"),
    "netstat": only(r"-[a-zA-Z]+", "is not known to only read"),
    "lsof": only(r"-[inPlRtw]+|-i:?[\w:@.-]+|-p|\d+|:\d+", "may write a cache"),
    "ip": only(r"-(br|4|6|c|s|d|o)|a|addr|address|r|route|l|link|n|neigh|show|list|ls", "changes the network"),
    "ifconfig": only(r"-a", "changes the network"),
    "mount": only(r"-l", "mounts a file system"),
    "dmesg": only(r"-[TtkuxL]+", "may clear the log"),
    "journalctl": only(
        r"-[nuxebkpra]+|--no-pager|--(since|until|unit|lines|priority)(=.*)?|[\w][\w.@: -]*", "may rotate the logs"
    ),
    "systemctl": _version_or(
        "status is-active is-enabled is-failed list-units list-unit-files show cat", "--no-pager|--all"
    ),
    "apt": _version_or("list show policy", "--installed|--upgradable|-a"),
    "dpkg": only(r"-[lLsS]|--list|--status|[\w][\w.+:/-]*", "changes packages", _needs_option("changes packages")),
    "jobs": only(r"-[lnprs]+|%.*", "jobs -x runs a command"),
    "wait": only(r"-[fn]+|%?\d+", "wait -p sets a variable"),
    "uniq": _one_operand("fsw", _opaque),
    "xxd": _one_operand("clgos", without("r", "--revert")),
    "hostname": only(r"-[fisIdA]|--(fqdn|long|short|domain|all-fqdns|ip-address)", "may set the host name"),
    "sed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "nawk": _awk,
    "tar": _tar,
    "printf": _printf,
    "test": without("vR"),
    "[": without("vR"),
    "set": only(r"[-+][eux]+o?|[-+]o|pipefail|errexit|nounset|xtrace", "changes how the shell reads what follows"),
    "read": only(rf"-r|-d|-rd|-n|-s|{_SETTING}|", "sets variables that other commands may use"),
    "hash": only(r"$^", "changes where commands are found"),
    "unzip": only(
        r"-[lvZ]+|[^-].*",
        "only listing an archive is reading",
        lambda a: None if re.fullmatch(r"-[lvZ]+", a[0].text if a else "") else "only listing an archive is reading",
    ),
    **dict.fromkeys(_TOOLS_WITH_VERSION, _version_only),
    "java": only(r"--?version", "runs a program that was not read", _one_argument),
    "npm": _version_or("-v ls list", r"-v|--depth=\d+|-g|--global|--all|--json|--prod|--long"),
    "docker": _version_or("ps images version info", r"-[aq]+|--all|--quiet|--no-trunc|--format=[^/]*"),
    "pip": _version_or("list show freeze check", r"--format=\w+|--files|--user|--not-required"),
    "pip3": _version_or("list show freeze check", r"--format=\w+|--files|--user|--not-required"),
    "go": _version_or("version"),
}
"""Commands that read, depending on their arguments (bug report G10)."""

HARMFUL_VARIABLE = re.compile(
    r"LD_.*|DYLD_.*|GIT_.*|.*PATH|.*PAGER|.*EDITOR|VISUAL|BROWSER|SHELL|SHELLOPTS|BASH.*|ENV|IFS|PS\d|PROMPT_COMMAND|"
    r".*OPTS|.*OPTIONS?|.*FLAGS|LESS.*|MORE|PYTHON.*|PERL.*|RUBY.*|NODE.*|JAVA.*|_JAVA.*|JDK.*|HOME|XDG_.*|GLIBC_.*|"
    r"MALLOC_.*|SSH_.*|TAPE|MAGIC|POSIX.*|.*_PROXY|.*_proxy|GREP_.*|RIPGREP_.*|RANDOM|SECONDS|OPTIND|HIST.*|FPATH|"
    r"ZDOTDIR|TMPDIR|TERMINFO.*|TERMCAP|LOCPATH|CC|CXX|RUSTC.*|CARGO.*|PIP_.*|UV_.*|NPM_.*|npm_.*|.*_COMMAND|"
    r"XZ_.*|GZIP|BZIP2?|ZIP.*|UNZIP.*|GLOBIGNORE|EXECIGNORE|FIGNORE|INPUTRC|EXINIT|.*VIMINIT|PWD|OLDPWD|.*_HOME|.*RC|"
    r"OPENSSL_.*|GNUTLS_.*|KRB5_.*|HOSTALIASES|LOCALDOMAIN|TIMEFORMAT|MAIL.*|COMP_.*|histchars|LDR_.*|DOCKER_.*|KUBE.*|"
    r".*_RSH|.*_SSH|.*ASKPASS|DEBUGINFOD.*|SYSTEMD_.*|DBUS_.*|DISPLAY|GPG_.*|MANOPT|MANROFFOPT|JQ_.*|AWK.*|BC_.*|EZA_.*|EXA_.*|NLSPATH|TZDIR"
)
"""Variables through which what runs, or how, can be changed."""
