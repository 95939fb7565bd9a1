"""The trees in which tests/e2e/search_rg.py searches: copies of real ones, and made ones with all that is odd."""

import itertools
import os
import pathlib
import re
import shutil
import sysconfig

import lib

PROJECT_FOLDERS = ("src", "docs", "tests/e2e", "tests/unit", "tests/contract")
# With some that are equal to others when case is ignored: the sign of Kelvin and the long s.
WORDS = """alpha beta Gamma delta_2 epsilon zeta Eta theta foo Foo FOO bar baz42 qux naïve Straße λόγος Мир x 日本 K ſ
    Kelvin""".split()
# Line ends and what comes close to one, by how often.
ENDS = ["\n"] * 12 + ["\r\n"] * 4 + ["\r\r\n", "\n\n", " \n", "\t\n", "\r", "\x0b\n", "\x0c\n", "\u2028\n", "\x85\n"]
NAMES = "a b main.c main.h util.py notes.md x.log y.log core build dist target .hidden .conf tmp README".split()
RULES = """*.log !y.log build build/ /build /a/ a/b **/b b/** a/**/x.log !main.c .* !.conf !.hidden tmp* *.[ch] [!x]*.log
    \\!odd # \\#c /*.md docs/ core/*.py !core/ * !*/ !*.py x?log /**/main.h **/tmp/** target/** !target/x.log""".split()


class Tree:
    """A folder in the workspace, with words out of its files for patterns that match."""

    def __init__(self, folder, words, files):
        self.folder = folder  # its name in the workspace
        self.words = words
        self.files = files  # some of their paths, seen from the workspace


def words_of(texts):
    found = sorted({word for text in texts for word in re.findall(r"\w{2,12}", text)})
    return found[:: max(1, len(found) // 2000)]


def copy_tree(form, name, source, files):
    texts = []
    for path in files:
        target = form.base / "ws" / name / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        texts.append(path.read_bytes().decode("utf-8", "ignore"))
    return Tree(name, words_of(texts), [f"{name}/{path.relative_to(source)}" for path in files])


def some(paths, count, largest=200_000):
    """The same ones each time."""
    files = sorted(p for p in paths if p.is_file() and not p.is_symlink() and p.stat().st_size < largest)
    return files[:: max(1, len(files) // count)][:count]


def real_trees(form):
    own = [p for folder in PROJECT_FOLDERS for p in (lib.ROOT / folder).rglob("*.*") if "__pycache__" not in p.parts]
    yield copy_tree(form, "project", lib.ROOT, some(own, 100))
    for name, source, kind in [
        ("python", sysconfig.get_path("stdlib"), "*.py"),
        ("headers", "/usr/include", "**/*.h"),
    ]:
        files = some(pathlib.Path(source).glob(kind), 60)
        if files:
            yield copy_tree(form, name, pathlib.Path(source), files)


def odd_line(rng, lengths=(0, 1, 1, 2, 3, 5, 8)):
    words = [rng.choice(WORDS) for _ in range(rng.choice(lengths))]
    return rng.choice([" ", " ", "  ", "\t", "-", ".", ", ", "_", "\r"]).join(words)


def odd_text(rng, lines):
    return "".join(odd_line(rng) + rng.choice(ENDS) for _ in range(lines))


def large_text(rng):
    """More than is read at once, in few lines."""
    return "".join(odd_line(rng, (0, 20, 60, 100)) + rng.choice(ENDS) for _ in range(400))


def odd_files(rng):
    """Path and bytes of each."""
    for number in range(12):
        text = odd_text(rng, rng.randrange(1, 60))
        yield f"d{number % 4}/plain{number}.txt", text.encode()
        yield f"d{number % 4}/ascii{number}.c", text.encode("ascii", "ignore")
        # Not the byte that only goes on with a character: at the beginning of a line both engines take it together with
        # the line end before, where they look for the edges of words.
        yield f"d{number % 3}/latin{number}.txt", text.replace("\x85", "").encode("latin-1", "ignore")
    text = odd_text(rng, 40)
    yield "empty", b""
    yield "newline", b"\n"
    yield "newlines", b"\n\n\r\n\n"
    yield "no-end", b"first foo\nlast foo"
    yield "no-end-cr", b"first foo\r\nlast foo\r"
    yield "only-cr", b"foo\rbar\rbaz"
    yield "marked.txt", b"\xef\xbb\xbf" + text.encode()
    yield "mark-alone", b"\xef\xbb\xbf"
    yield "utf16le.txt", b"\xff\xfe" + text.encode("utf-16-le")
    yield "utf16be.txt", b"\xfe\xff" + text.encode("utf-16-be")
    yield "utf16-odd.txt", b"\xff\xfe" + "foo\nbar foo".encode("utf-16-le") + b"x"
    yield "utf16-half.txt", b"\xff\xfe" + "foo\n".encode("utf-16-le") + b"\x00\xd8" + " foo\n".encode("utf-16-le")
    yield "nul-first", b"\0foo\n" + text.encode()
    yield "nul-early", text.encode() + b"foo\0bar\n" + text.encode()
    yield "nul-last", text.encode() + b"\0"
    yield "broken.txt", b"foo \xff\xfe bar\nfoo \xe2\x82 bar\nfoo \xed\xa0\x80\nfoo \xf5\x80\xc0\xaf x\n" * 3
    yield "large.txt", large_text(rng).encode()
    yield "windows.txt", large_text(rng).replace("\r", "").replace("\n", "\r\n").encode()
    yield "long.txt", b"short foo\n" + b"y" * 70_000 + b" foo " + b"z" * 5_000 + b" bar\nfoo after\n" * 2
    yield "long-many.txt", b"foo bar " * 2_000 + b"\nfoo\n"
    yield "words.txt", b"foo foobar _foo foo_ foo-foo (foo) afoo fo\n-foo- foo. .foo\nx x_x xx x-x\n"
    yield "spaces in name.txt", b"foo bar\n"
    yield "näme.txt", b"foo bar\n"
    yield "node_modules/m/index.js", b"foo in modules\n"
    yield "d1/node_modules/n.js", b"foo in modules\n"
    yield ".git/config", b"foo in git\n"
    yield ".hidden.txt", b"foo hidden\n"
    yield ".dir/file.txt", b"foo in a hidden folder\n"
    yield ".dir/.deep", b"foo hidden twice\n"
    yield "ignored/file.txt", b"foo ignored\n"
    yield "d2/skipped.log", b"foo skipped\n"
    yield "d2/kept.log", b"foo kept\n"
    yield "d3/only-ignore.txt", b"foo by .ignore\n"
    yield ".kept-hidden", b"foo hidden but kept\n"
    yield ".gitignore", b"# comment\nignored/\r\n*.log\n!kept.log\n!.kept-hidden\n\n   \n"
    yield "d2/.gitignore", b"!nothing\nskipped.log\n"
    yield "d3/.ignore", b"only-ignore.txt\n"


def write_tree(form, name, files):
    for path, content in files:
        target = form.base / "ws" / name / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def odd_tree(form, rng):
    files = list(odd_files(rng))
    write_tree(form, "odd", files)
    folder = form.base / "ws" / "odd"
    os.symlink("words.txt", folder / "link.txt")
    os.symlink("d1", folder / "linked")
    os.symlink("..", folder / "d1" / "up")
    os.symlink("nowhere", folder / "broken-link")
    return Tree("odd", WORDS, [f"odd/{path}" for path, content in files if b"\0" not in content])


def late_tree(form, rng):
    """NULs at all distances, with nothing that makes ripgrep read more at once than it does at first: how much that is
    decides where it sees them."""
    text = "".join(large_text(rng) for _ in range(3)).encode()
    files = [(f"late{n}", text[: n * 16_000] + b"foo\0\nfoo\n" + text[:20_000]) for n in range(15)]
    write_tree(form, "late", files)
    return Tree("late", WORDS, [])


def ruled_trees(form, rng, count):
    """Small ones with rules in every folder."""
    for number in range(count):
        paths = {"/".join(rng.choices(NAMES, k=rng.choice([1, 2, 2, 3]))) for _ in range(25)}
        folders = {str(parent) for path in paths for parent in pathlib.PurePath(path).parents} - {"."}
        files = [(path, b"foo\n") for path in sorted(paths - folders)]
        for folder, kind in itertools.product([".", *sorted(folders)], (".gitignore", ".ignore")):
            if rng.random() < (0.8 if folder == "." and kind == ".gitignore" else 0.2):
                rules = rng.choices(RULES, k=rng.randrange(1, 6))
                files.append((f"{folder}/{kind}", "\n".join(rules).encode() + b"\n"))
        write_tree(form, f"ruled{number}", files)
        yield Tree(f"ruled{number}", ["foo"], [])


def own_all(form, folder):
    for parent, folders, names in os.walk(folder):
        for name in [".", *folders, *names]:
            form.own(pathlib.Path(parent, name))
