"""Builds this package's wheel and source archive (PEP 517). The same files give the same bytes."""

import base64
import gzip
import hashlib
import io
import pathlib
import re
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE / "src" / "sandgate"
VERSION = re.search(r'^__version__ = "(.+)"$', (PACKAGE / "__init__.py").read_text(encoding="utf-8"), re.M)[1]
NAME = f"sandgate-{VERSION}"
INFO = f"{NAME}.dist-info"
EPOCH = (1980, 1, 1, 0, 0, 0)

METADATA = f"""\
Metadata-Version: 2.1
Name: sandgate
Version: {VERSION}
Summary: Runs the tool calls of a language-model agent in Sandgate's kernel sandbox
License: Apache-2.0
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Python: >=3.9
Description-Content-Type: text/markdown

"""

WHEEL = """\
Wheel-Version: 1.0
Generator: sandgate
Root-Is-Purelib: true
Tag: py3-none-any
"""


def metadata():
    return (METADATA + (HERE / "README.md").read_text(encoding="utf-8")).encode()


def package_files():
    return sorted(p for p in PACKAGE.iterdir() if p.suffix == ".py" or p.name == "py.typed")


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    contents = {f"sandgate/{p.name}": p.read_bytes() for p in package_files()}
    contents[f"{INFO}/METADATA"] = metadata()
    contents[f"{INFO}/WHEEL"] = WHEEL.encode()
    record = "".join(record_line(*item) for item in contents.items()) + f"{INFO}/RECORD,,\n"
    contents[f"{INFO}/RECORD"] = record.encode()
    name = f"{NAME}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in contents.items():
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    files = [HERE / "pyproject.toml", HERE / "backend.py", HERE / "README.md", *package_files()]
    files += sorted((HERE / "tests").glob("*.py"))
    contents = {str(p.relative_to(HERE)): p.read_bytes() for p in files}
    contents["PKG-INFO"] = metadata()
    name = f"{NAME}.tar.gz"
    with open(pathlib.Path(sdist_directory, name), "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path, data in contents.items():
                entry = tarfile.TarInfo(f"{NAME}/{path}")
                entry.size = len(data)
                entry.mode = 0o644
                archive.addfile(entry, io.BytesIO(data))
    return name
