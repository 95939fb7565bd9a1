/* What a binary file is, as a media type. */
#ifndef SANDGATE_CORE_FILE_KIND_H
#define SANDGATE_CORE_FILE_KIND_H

/* The first is that of files that are not recognised. */
#define FILE_KINDS(X)                                                                              \
    X(UNKNOWN, "application/octet-stream")                                                         \
    X(PNG, "image/png")                                                                            \
    X(JPEG, "image/jpeg")                                                                          \
    X(GIF, "image/gif")                                                                            \
    X(WEBP, "image/webp")                                                                          \
    X(BMP, "image/bmp")                                                                            \
    X(TIFF, "image/tiff")                                                                          \
    X(ICON, "image/x-icon")                                                                        \
    X(AVIF, "image/avif")                                                                          \
    X(HEIC, "image/heic")                                                                          \
    X(PSD, "image/vnd.adobe.photoshop")                                                            \
    X(PDF, "application/pdf")                                                                      \
    X(ZIP, "application/zip")                                                                      \
    X(GZIP, "application/gzip")                                                                    \
    X(BZIP2, "application/x-bzip2")                                                                \
    X(XZ, "application/x-xz")                                                                      \
    X(ZSTD, "application/zstd")                                                                    \
    X(LZ4, "application/x-lz4")                                                                    \
    X(SEVEN_ZIP, "application/x-7z-compressed")                                                    \
    X(RAR, "application/vnd.rar")                                                                  \
    X(TAR, "application/x-tar")                                                                    \
    X(ARCHIVE, "application/x-archive")                                                            \
    X(ELF, "application/x-elf")                                                                    \
    X(MACH, "application/x-mach-binary")                                                           \
    X(EXE, "application/vnd.microsoft.portable-executable")                                        \
    X(JAVA, "application/java-vm")                                                                 \
    X(WASM, "application/wasm")                                                                    \
    X(SQLITE, "application/vnd.sqlite3")                                                           \
    X(OLE, "application/x-ole-storage")                                                            \
    X(WAV, "audio/wav")                                                                            \
    X(MP3, "audio/mpeg")                                                                           \
    X(OGG, "audio/ogg")                                                                            \
    X(FLAC, "audio/flac")                                                                          \
    X(MIDI, "audio/midi")                                                                          \
    X(MP4, "video/mp4")                                                                            \
    X(QUICKTIME, "video/quicktime")                                                                \
    X(MATROSKA, "video/x-matroska")                                                                \
    X(AVI, "video/x-msvideo")                                                                      \
    X(WOFF, "font/woff")                                                                           \
    X(WOFF2, "font/woff2")                                                                         \
    X(TTF, "font/ttf")                                                                             \
    X(OTF, "font/otf")                                                                             \
    X(UTF16LE, "text/plain; charset=utf-16le")                                                     \
    X(UTF16BE, "text/plain; charset=utf-16be")

enum file_kind {
#define FILE_KIND(name, type) FILE_##name,
    FILE_KINDS(FILE_KIND)
#undef FILE_KIND
};
extern const char *const file_kind_names[]; /* NULL-ended */

#endif
