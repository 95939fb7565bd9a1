#include "cell/stub.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#define LOADED_AT 0x400000u
#define STATUS 126

#if defined(__x86_64__)

#define MACHINE EM_X86_64

/* mov REGISTER, value */
static void put_mov(struct buf *code, uint8_t opcode, uint32_t value)
{
    buf_add_char(code, (char)opcode);
    for (unsigned i = 0; i < 4; i++)
        buf_add_char(code, (char)(value >> 8 * i));
}

enum { EAX = 0xb8, EDX = 0xba, ESI = 0xbe, EDI = 0xbf };

static void put_syscall(struct buf *code, uint32_t number)
{
    put_mov(code, EAX, number);
    buf_add(code, "\x0f\x05", 2);
}

/* `text_at`: the address of the text. */
static void put_code(struct buf *code, uint32_t number, uint32_t text_at, uint32_t length)
{
    put_mov(code, EDI, STUB_MARK);
    put_mov(code, ESI, number);
    put_syscall(code, SYS_ptrace);
    put_mov(code, EDI, 2);
    put_mov(code, ESI, text_at);
    put_mov(code, EDX, length);
    put_syscall(code, SYS_write);
    put_mov(code, EDI, STATUS);
    put_syscall(code, SYS_exit_group);
}

#elif defined(__aarch64__)

#define MACHINE EM_AARCH64

static void put_word(struct buf *code, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++)
        buf_add_char(code, (char)(word >> 8 * i));
}

/* movz and movk: 16 bits each. */
static void put_mov(struct buf *code, uint32_t reg, uint32_t value)
{
    put_word(code, 0xd2800000u | (value & 0xffff) << 5 | reg);
    put_word(code, 0xf2a00000u | (value >> 16) << 5 | reg);
}

static void put_syscall(struct buf *code, uint32_t number)
{
    put_mov(code, 8, number);
    put_word(code, 0xd4000001u);
}

static void put_code(struct buf *code, uint32_t number, uint32_t text_at, uint32_t length)
{
    put_mov(code, 0, STUB_MARK);
    put_mov(code, 1, number);
    put_syscall(code, SYS_ptrace);
    put_mov(code, 0, 2);
    put_mov(code, 1, text_at);
    put_mov(code, 2, length);
    put_syscall(code, SYS_write);
    put_mov(code, 0, STATUS);
    put_syscall(code, SYS_exit_group);
}

#endif

#ifdef MACHINE

struct headers {
    Elf64_Ehdr file;
    Elf64_Phdr load;
    Elf64_Phdr stack;
};

/* One segment holds all of it. The second header says that the stack is not executable. */
static void put_headers(struct buf *out, uint64_t size)
{
    const struct headers h = {
        .file = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                             EV_CURRENT},
                 .e_type = ET_EXEC,
                 .e_machine = MACHINE,
                 .e_version = EV_CURRENT,
                 .e_entry = LOADED_AT + sizeof h,
                 .e_phoff = offsetof(struct headers, load),
                 .e_ehsize = sizeof h.file,
                 .e_phentsize = sizeof h.load,
                 .e_phnum = 2},
        .load = {.p_type = PT_LOAD,
                 .p_flags = PF_R | PF_X,
                 .p_vaddr = LOADED_AT,
                 .p_paddr = LOADED_AT,
                 .p_filesz = size,
                 .p_memsz = size,
                 .p_align = 0x10000},
        .stack = {.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W},
    };
    buf_add(out, &h, sizeof h);
}

void stub_write(struct buf *out, uint32_t number, const char *text)
{
    size_t length = strnlen(text, STUB_TEXT_MAX);
    BUF_AT_END struct buf code = BUF_INIT(256);
    /* Its length does not depend on the address that it is made with first. */
    put_code(&code, number, 0, (uint32_t)length);
    size_t text_at = sizeof(struct headers) + code.len;
    buf_done(&code);
    code = BUF_INIT(256);
    put_code(&code, number, (uint32_t)(LOADED_AT + text_at), (uint32_t)length);
    put_headers(out, text_at + length);
    buf_add(out, code.data, code.len);
    buf_add(out, text, length);
}

#else

void stub_write(struct buf *out, uint32_t number, const char *text)
{
    (void)out;
    (void)number;
    (void)text;
}

#endif
