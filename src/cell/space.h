/* Requests of ioctl(2) that every file system takes for fallocate(2). Linux has them in no header for programs. */
#ifndef SANDGATE_CELL_SPACE_H
#define SANDGATE_CELL_SPACE_H

#include <linux/ioctl.h>
#include <stdint.h>

struct space_resv {
    int16_t l_type;
    int16_t l_whence;
    int64_t l_start;
    int64_t l_len;
    int32_t l_sysid;
    uint32_t l_pid;
    int32_t l_pad[4];
};

#define FS_IOC_RESVSP _IOW('X', 40, struct space_resv)
#define FS_IOC_RESVSP64 _IOW('X', 42, struct space_resv)
#define FS_IOC_ZERO_RANGE _IOW('X', 57, struct space_resv)

#endif
