"""Which commands run what stands in their arguments or their input, and where it stands in them, as data."""

from __future__ import annotations

from harness.pipeline.shell.rules import names

PROGRAMS = names(
    "python pypy perl ruby node nodejs deno bun php lua luajit awk gawk mawk nawk sed gsed osascript R Rscript julia "
    "groovy scala ghc runghc swift jshell ipython guile racket sbcl emacs gnuplot octave m4"
)
"""Their arguments and input are program texts, which run commands by calls."""

OPENERS = names(
    "expect tclsh vi vim nvim view vimdiff gvim rvim rview vimx ex ed nano less more most tar bsdtar gtar zip rsync "
    "scp sftp ssh gdb lldb sqlite3 psql mysql mariadb nc ncat netcat socat tmux screen gcc cc g++ clang ld rg fd "
    "fdfind at batch crontab dc bind compgen complete enable hash alias sort split capsh setpriv sg runcon "
    "start-stop-daemon daemonize run-parts perf valgrind script ftp telnet wget curl lftp mutt mail mailx gpg openssl "
    "ip tcpdump watch parallel trap entr flock mapfile readarray let ld.so xdg-open dialog cpio ar strace ltrace find "
    "xterm gnome-terminal konsole pager sensible-pager sensible-editor editor"
)
"""They can run a command that stands in an option or an argument."""

TAKES_NAMES = names(
    "man info apropos apt apt-get dpkg make gmake systemctl service journalctl hg svn bzr fossil jj gh glab terraform "
    "tofu gsutil az pytest tox nox cargo rustup brew port pacman apk dnf yum zypper emerge snapcraft helm"
)
"""Their arguments are names of something else, so only options and texts with spaces in them are looked into."""

RUNNERS = {
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose"), names("exec run compose")),
    **dict.fromkeys(("kubectl", "oc"), names("exec run debug")),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), names("exec x dlx")),
    **dict.fromkeys(("poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "pixi", "uv"), names("run tool")),
    **dict.fromkeys(("bundle", "mise", "rtx", "asdf", "direnv", "rbenv", "pyenv", "opam", "stack"), names("exec x")),
    **dict.fromkeys(
        ("nix", "flatpak", "snap", "lxc", "lima", "distrobox", "toolbox"), names("run shell develop exec enter")
    ),
    **dict.fromkeys(("vagrant", "gcloud", "aws", "heroku", "fly"), names("ssh ssm run")),
    **dict.fromkeys(("npx", "pipx", "uvx", "bunx", "nix-shell"), names("")),
}
"""Tools of which only some subcommands run what follows; an empty set: any argument may be a command."""

RUNS_INPUT = PROGRAMS | names(
    "expect tclsh at batch crontab ed ex vi vim dc gdb lldb sqlite3 psql mysql mariadb make gmake xargs parallel ssh "
    "sftp ftp lftp mail bc nc ncat socat docker podman kubectl su-exec entr"
)
"""What they read from their input can be commands."""
