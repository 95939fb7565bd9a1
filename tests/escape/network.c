/* Sockets: other machines, this machine's services, the kernel's own. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_alg.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "attempts.h"

static enum outcome connect_and_send(int type, const void *address, size_t n, const char *what)
{
    int fd = socket(((const struct sockaddr *)address)->sa_family, type | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return judge(-1, "socket");
    long r = connect(fd, address, (socklen_t)n);
    if (r == 0)
        r = send(fd, "attempt", 7, MSG_NOSIGNAL);
    enum outcome outcome = judge(r, what);
    close(fd);
    return outcome;
}

/* The host's address and port. */
static enum outcome to_port(const struct attempt *a)
{
    uint16_t port = htons((uint16_t)strtoul(argument(1), NULL, 10));
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = port};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = port};
    int type = (int)a->args[0];
    if (inet_pton(AF_INET, argument(0), &v4.sin_addr) == 1)
        return connect_and_send(type, &v4, sizeof v4, argument(0));
    if (inet_pton(AF_INET6, argument(0), &v6.sin6_addr) == 1)
        return connect_and_send(type, &v6, sizeof v6, argument(0));
    return NOT_TRIED;
}

/* `@name` is an abstract one. */
static enum outcome to_unix(const struct attempt *a)
{
    (void)a;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strlen(argument(0));
    if (n >= sizeof address.sun_path)
        return NOT_TRIED;
    memcpy(address.sun_path, argument(0), n);
    if (address.sun_path[0] == '@')
        address.sun_path[0] = '\0';
    return connect_and_send(SOCK_STREAM, &address, offsetof(struct sockaddr_un, sun_path) + n,
                            argument(0));
}

/* Datagrams need no one to answer: that they have nowhere to go shows at once. */
static enum outcome to_name_server(const struct attempt *a)
{
    (void)a;
    static const char *const servers[] = {"8.8.8.8", "1.1.1.1", "169.254.169.254", "10.0.2.3"};
    enum outcome worst = STOPPED;
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
        inet_pton(AF_INET, servers[i], &to.sin_addr);
        worst = both(worst, connect_and_send(SOCK_DGRAM, &to, sizeof to, servers[i]));
    }
    return worst;
}

static enum outcome to_hypervisor(const struct attempt *a)
{
    (void)a;
    struct sockaddr_vm host = {
        .svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = 1024};
    return connect_and_send(SOCK_STREAM, &host, sizeof host, "the hypervisor");
}

static int route_request(struct nlmsghdr *request)
{
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
    } answer = {.error = {.error = -EIO}};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0)
        return -1;
    request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    if (send(fd, request, request->nlmsg_len, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0)
        answer.error.error = -EIO;
    close(fd);
    errno = -answer.error.error;
    return answer.error.error ? -1 : 0;
}

static enum outcome take_link_down(const struct attempt *a)
{
    (void)a;
    struct {
        struct nlmsghdr head;
        struct ifinfomsg info;
    } request = {
        .head = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_NEWLINK},
        .info = {.ifi_family = AF_UNSPEC, .ifi_index = 1, .ifi_change = IFF_UP},
    };
    return judge(route_request(&request.head), "the loopback down by netlink");
}

static enum outcome change_link(const struct attempt *a)
{
    (void)a;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "lo"};
    enum outcome worst = judge(ioctl(fd, SIOCSIFFLAGS, &request), "the loopback down by ioctl");
    request.ifr_mtu = 1280;
    worst = both(worst, judge(ioctl(fd, SIOCSIFMTU, &request), "its MTU"));
    close(fd);
    return worst;
}

/* Only a loopback. */
static enum outcome more_links(const struct attempt *a)
{
    (void)a;
    enum outcome outcome = STOPPED;
    struct if_nameindex *all = if_nameindex();
    for (struct if_nameindex *at = all; at && at->if_name; at++) {
        if (strcmp(at->if_name, "lo") == 0)
            continue;
        printf("there is %s\n", at->if_name);
        outcome = THROUGH;
    }
    if_freenameindex(all);
    return outcome;
}

/* The machine's sockets by name: its list is of the network namespace. */
static enum outcome find_socket(const struct attempt *a)
{
    (void)a;
    char line[4096];
    FILE *file = fopen("/proc/net/unix", "re");
    if (!file)
        return NOT_TRIED;
    enum outcome outcome = STOPPED;
    while (fgets(line, sizeof line, file)) {
        if (strstr(line, argument(0)))
            outcome = judge(0, "finding it in /proc/net/unix");
    }
    fclose(file);
    return outcome;
}

#define SOCKET(name_, violation_, ...)                                                             \
    {                                                                                              \
        .name = name_, .violation = "socket:" violation_, .call = SYS_socket, .args = {            \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define BARE_SOCKET(name_, violation_, ...)                                                        \
    {                                                                                              \
        .name = name_, .violation = "socket:" violation_, .bare = true, .call = SYS_socket,        \
        .args = {                                                                                  \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

const struct attempt network_attempts[] = {
    {.name = "to-tcp", .run = to_port, .argument = true, .args = {SOCK_STREAM}},
    {.name = "to-udp", .run = to_port, .argument = true, .args = {SOCK_DGRAM}},
    {.name = "to-unix", .run = to_unix, .argument = true},
    {.name = "find-socket", .run = find_socket, .argument = true},
    {.name = "to-name-server", .run = to_name_server},
    {.name = "to-hypervisor", .run = to_hypervisor, .violation = "socket:AF_VSOCK"},
    {.name = "netlink-link-down", .run = take_link_down, .bare = true},
    {.name = "ioctl-link-down", .run = change_link, .bare = true},
    {.name = "more-links", .run = more_links},
    BARE_SOCKET("socket-packet", "AF_PACKET", AF_PACKET, SOCK_RAW, 0),
    BARE_SOCKET("socket-raw", "SOCK_RAW", AF_INET, SOCK_RAW, IPPROTO_ICMP),
    BARE_SOCKET("socket-raw6", "SOCK_RAW", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6),
    BARE_SOCKET("socket-raw-flags", "SOCK_RAW", AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
                IPPROTO_RAW),
    BARE_SOCKET("netlink-generic", "AF_NETLINK", AF_NETLINK, SOCK_RAW, NETLINK_GENERIC),
    BARE_SOCKET("netlink-uevent", "AF_NETLINK", AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT),
    SOCKET("netlink-netfilter", "AF_NETLINK", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER),
    SOCKET("netlink-audit", "AF_NETLINK", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT),
    SOCKET("socket-alg", "AF_ALG", AF_ALG, SOCK_SEQPACKET, 0),
    SOCKET("socket-xdp", "AF_XDP", 44, SOCK_RAW, 0),
    SOCKET("socket-bluetooth", "AF_BLUETOOTH", AF_BLUETOOTH, SOCK_RAW, 0),
    SOCKET("socket-key", "AF_KEY", AF_KEY, SOCK_RAW, 2),
    SOCKET("socket-sctp", "protocol", AF_INET, SOCK_STREAM, IPPROTO_SCTP),
    {.name = "socketpair-tipc",
     .violation = "socketpair:AF_TIPC",
     .call = SYS_socketpair,
     .args = {AF_TIPC, SOCK_SEQPACKET, 0, 0}},
    {0},
};
