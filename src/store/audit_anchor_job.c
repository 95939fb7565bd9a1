#include "store/audit_private.h"

#include "base/processor.h"
#include "store/audit_anchor.h"

static int hand_over(const struct audit *a, const struct chain_head *head, struct err *err)
{
    char ts[CLOCK_TEXT_MAX];
    BUF_AT_END struct buf line = BUF_INIT(1024);
    struct json_out j = {.out = &line};
    clock_format_utc(clock_unix_ms(), ts);
    jo_open(&j, '{');
    jo_ktext(&j, "gate", a->gate);
    jo_kint(&j, "seq", head->seq);
    jo_ktext(&j, "hash", head->hash);
    jo_ktext(&j, "ts", ts);
    jo_close(&j, '}');
    buf_add_char(&line, '\n');
    return anchor_run(&a->options.anchor, buf_str(&line), err);
}

static void warn_once(struct audit *a, const struct err *err)
{
    if (!a->anchor_warned && a->options.warn)
        a->options.warn(a->options.warn_arg, err->message);
    a->anchor_warned = true;
}

static void anchor_in_pool(void *arg)
{
    struct audit *a = arg;
    processor_any();
    pthread_mutex_lock(&a->anchors);
    a->anchor_result = hand_over(a, &a->anchoring_head, &a->anchor_error);
    pthread_mutex_unlock(&a->anchors);
}

/* Of failures that follow each other the first is recorded: the record itself would else be a reason to try again. */
static void anchor_ended(struct audit *a)
{
    if (a->anchor_result == 0) {
        a->anchored = a->anchoring_head;
        a->anchor_failing = false;
        return;
    }
    warn_once(a, &a->anchor_error);
    if (!a->anchor_failing) {
        struct json_out *j = audit_begin(a, "anchor.failed", NULL);
        jo_kint(j, "head_seq", a->anchoring_head.seq);
        jo_ktext(j, "message", a->anchor_error.message);
        audit_end(a);
        audit_write_ended(a);
    }
    a->anchor_failing = true;
}

static void on_anchor_timer(uv_timer_t *timer)
{
    audit_anchor_next(timer->data);
}

static void anchor_left_pool(void *arg)
{
    struct audit *a = arg;
    a->anchoring = false;
    if (!a->closing) {
        anchor_ended(a);
        uv_timer_start(&a->anchor_timer, on_anchor_timer, a->options.anchor_ms, 0);
        audit_sync_next(a);
    }
    audit_unref(a);
}

/* The timer runs for as long as it is too early for the next. */
void audit_anchor_next(struct audit *a)
{
    if (!a->options.anchor.argv || a->anchoring || a->closing || a->noted.seq == a->anchored.seq ||
        uv_is_active((uv_handle_t *)&a->anchor_timer))
        return;
    a->anchoring = true;
    a->anchoring_head = a->noted;
    a->refs++;
    a->anchor_work = (struct background_job){
        .run = anchor_in_pool, .done = anchor_left_pool, .arg = a};
    background_add(a->background, &a->anchor_work);
}

void audit_anchor_init(struct audit *a)
{
    uv_timer_init(a->loop, &a->anchor_timer);
    uv_unref((uv_handle_t *)&a->anchor_timer);
    a->anchor_timer.data = a;
    a->refs++;
}

void audit_anchor_close(struct audit *a)
{
    struct err err;
    if (a->options.anchor.argv) {
        /* Waits for one that is under way: the last line shall be the last head. */
        if (a->anchoring)
            background_cancel(&a->anchor_work);
        pthread_mutex_lock(&a->anchors);
        if (a->safe.seq && hand_over(a, &a->safe, &err) < 0)
            warn_once(a, &err);
        pthread_mutex_unlock(&a->anchors);
    }
    uv_close((uv_handle_t *)&a->anchor_timer, audit_timer_closed);
}
