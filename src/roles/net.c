/* Has the network, and no file but those that say how names are looked up and whom to trust. Many requests are under way at
 * once. */
#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>

#include "roles/net_parts.h"

#define LOOK_AGAIN_MS 1000

static struct net_request *requests;
static CURLM *multi;

static struct net_request **find_request(uint64_t token)
{
    struct net_request **at = &requests;
    while (*at && (*at)->call->token != token)
        at = &(*at)->next;
    return at;
}

static void forget_request(struct net_request **at)
{
    struct net_request *r = *at;
    if (!r)
        return;
    *at = r->next;
    curl_multi_remove_handle(multi, r->curl);
    net_request_free(r);
}

static int cancel_request(int fd, uint64_t token)
{
    struct err err;
    struct net_request **at = find_request(token);
    if (!*at)
        return 0;
    forget_request(at);
    err_set(&err, ERR_CANCELLED, "the call was cancelled");
    return role_error(fd, token, &err);
}

static int begin_request(int fd, struct role_call *call)
{
    struct err err;
    struct net_request *r;
    if (net_request_begin(call, &r, &err) < 0) {
        int sent = role_error(fd, call->token, &err);
        role_call_free(call);
        return sent;
    }
    r->next = requests;
    requests = r;
    curl_multi_add_handle(multi, r->curl);
    return 0;
}

static int end_request(int fd, CURL *curl, CURLcode code)
{
    struct err err;
    struct net_request *r = NULL;
    union op_reply reply = {0};
    curl_easy_getinfo(curl, CURLINFO_PRIVATE, (char **)&r);
    int sent = net_request_end(r, code, &reply.http, &err) == 0
                   ? role_reply(fd, r->call, &reply)
                   : role_error(fd, r->call->token, &err);
    forget_request(find_request(r->call->token));
    return sent;
}

/* 1, 0 at the end of the socket, or -errno. */
static int take_calls(int fd)
{
    for (;;) {
        struct role_call *call;
        uint64_t token;
        int r = role_receive(fd, false, OP_IN_NET, &call, &token);
        if (r == -EAGAIN)
            return 1;
        if (r <= 0)
            return r;
        int sent = r == 1 ? begin_request(fd, call) : cancel_request(fd, token);
        if (sent < 0)
            return sent;
    }
}

static int give_answers(int fd)
{
    int left;
    int sent = 0;
    for (CURLMsg *m; sent >= 0 && (m = curl_multi_info_read(multi, &left));) {
        if (m->msg == CURLMSG_DONE)
            sent = end_request(fd, m->easy_handle, m->data.result);
    }
    return sent;
}

static int serve_requests(int fd)
{
    int running;
    int r = 1;
    while (r > 0) {
        struct curl_waitfd gate = {.fd = fd, .events = CURL_WAIT_POLLIN};
        curl_multi_perform(multi, &running);
        if (give_answers(fd) < 0)
            return 1;
        curl_multi_poll(multi, &gate, 1, LOOK_AGAIN_MS, NULL);
        r = take_calls(fd);
    }
    return r < 0;
}

/* What is loaded with the first use is loaded now. */
static int prepare_net(struct err *err)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
    struct addrinfo *found = NULL;
    if (getaddrinfo("127.0.0.1", NULL, &hints, &found) == 0)
        freeaddrinfo(found);
    multi = curl_global_init(CURL_GLOBAL_DEFAULT) == 0 ? curl_multi_init() : NULL;
    return multi ? 0 : err_set(err, ERR_INTERNAL, "libcurl cannot be used");
}

int main(int argc, char **argv)
{
    const struct served net = {.lock = ROLE_NET,
                               .of = OP_IN_NET,
                               .files = true,
                               .prepare = prepare_net,
                               .loop = serve_requests};
    return role_main(argc, argv, &net);
}
