#include "work/file_kind.h"

#include <stdbool.h>
#include <string.h>

/* Two marks, both of which have to be there; the second may be empty. */
static const struct {
    enum file_kind kind;
    struct str mark;
    unsigned at;
    struct str more;
    unsigned more_at;
} marks[] = {
#define AT(bytes, offset) STR_INIT(bytes), (offset)
    {FILE_PNG, AT("\x89PNG", 0), AT("", 0)},
    {FILE_JPEG, AT("\xff\xd8\xff", 0), AT("", 0)},
    {FILE_GIF, AT("GIF8", 0), AT("", 0)},
    {FILE_WEBP, AT("RIFF", 0), AT("WEBP", 8)},
    {FILE_WAV, AT("RIFF", 0), AT("WAVE", 8)},
    {FILE_AVI, AT("RIFF", 0), AT("AVI ", 8)},
    {FILE_BMP, AT("BM", 0), AT("\0\0\0\0", 6)},
    {FILE_TIFF, AT("II*\0", 0), AT("", 0)},
    {FILE_TIFF, AT("MM\0*", 0), AT("", 0)},
    {FILE_ICON, AT("\0\0\1\0", 0), AT("\0", 5)},
    {FILE_AVIF, AT("ftypavi", 4), AT("", 0)},
    {FILE_HEIC, AT("ftyphei", 4), AT("", 0)},
    {FILE_QUICKTIME, AT("ftypqt  ", 4), AT("", 0)},
    {FILE_MP4, AT("ftyp", 4), AT("", 0)},
    {FILE_PSD, AT("8BPS\0", 0), AT("", 0)},
    {FILE_PDF, AT("%PDF-", 0), AT("", 0)},
    {FILE_ZIP, AT("PK\3\4", 0), AT("", 0)},
    {FILE_ZIP, AT("PK\5\6", 0), AT("", 0)},
    {FILE_GZIP, AT("\x1f\x8b", 0), AT("", 0)},
    {FILE_BZIP2, AT("BZh", 0), AT("1AY&SY", 4)},
    {FILE_XZ,
     AT("\xfd"
        "7zXZ\0",
        0),
     AT("", 0)},
    {FILE_ZSTD, AT("\x28\xb5\x2f\xfd", 0), AT("", 0)},
    {FILE_LZ4, AT("\x04\x22\x4d\x18", 0), AT("", 0)},
    {FILE_SEVEN_ZIP, AT("7z\xbc\xaf\x27\x1c", 0), AT("", 0)},
    {FILE_RAR, AT("Rar!\x1a\7", 0), AT("", 0)},
    {FILE_TAR, AT("ustar", 257), AT("", 0)},
    {FILE_ARCHIVE, AT("!<arch>\n", 0), AT("", 0)},
    {FILE_ELF,
     AT("\x7f"
        "ELF",
        0),
     AT("", 0)},
    {FILE_MACH, AT("\xcf\xfa\xed\xfe", 0), AT("", 0)},
    {FILE_MACH, AT("\xce\xfa\xed\xfe", 0), AT("", 0)},
    /* The same mark begins binaries for several processors, which count them here: few. */
    {FILE_MACH, AT("\xca\xfe\xba\xbe\0\0\0\1", 0), AT("", 0)},
    {FILE_MACH, AT("\xca\xfe\xba\xbe\0\0\0\2", 0), AT("", 0)},
    {FILE_JAVA, AT("\xca\xfe\xba\xbe", 0), AT("", 0)},
    {FILE_EXE, AT("MZ", 0), AT("", 0)},
    {FILE_WASM, AT("\0asm", 0), AT("", 0)},
    {FILE_SQLITE, AT("SQLite format 3\0", 0), AT("", 0)},
    {FILE_OLE, AT("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0), AT("", 0)},
    {FILE_MP3, AT("ID3", 0), AT("", 0)},
    {FILE_MP3, AT("\xff\xfb", 0), AT("", 0)},
    {FILE_OGG, AT("OggS", 0), AT("", 0)},
    {FILE_FLAC, AT("fLaC", 0), AT("", 0)},
    {FILE_MIDI, AT("MThd", 0), AT("", 0)},
    {FILE_MATROSKA, AT("\x1a\x45\xdf\xa3", 0), AT("", 0)},
    {FILE_WOFF, AT("wOFF", 0), AT("", 0)},
    {FILE_WOFF2, AT("wOF2", 0), AT("", 0)},
    {FILE_TTF, AT("\0\1\0\0", 0), AT("", 0)},
    {FILE_OTF, AT("OTTO", 0), AT("", 0)},
    {FILE_UTF16LE, AT("\xff\xfe", 0), AT("", 0)},
    {FILE_UTF16BE, AT("\xfe\xff", 0), AT("", 0)},
#undef AT
};

static bool has_mark_at(struct str beginning, struct str mark, unsigned at)
{
    return beginning.n >= at + mark.n && memcmp(beginning.p + at, mark.p, mark.n) == 0;
}

enum file_kind file_kind_of(struct str beginning)
{
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        if (has_mark_at(beginning, marks[i].mark, marks[i].at) &&
            has_mark_at(beginning, marks[i].more, marks[i].more_at))
            return marks[i].kind;
    }
    return FILE_UNKNOWN;
}
