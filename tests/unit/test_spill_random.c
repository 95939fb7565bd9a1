/* Kept output against a list of texts. */
#include <cmocka.h>

#include "random.h"
#include "spill_parts.h"

struct model {
    struct spill *spill; /* NULL: ended */
    char id[SPILL_ID_MAX];
    struct buf streams[STREAMS];
    size_t kept[STREAMS];
    bool dropped;
};

enum { MODELS = 200, STREAM_MAX = 60, TOTAL_MAX = 400 };

struct history {
    struct model all[MODELS];
    size_t count;
    struct model *ended[MODELS]; /* in this order */
    size_t n_ended;
};

static size_t model_bytes(const struct history *h)
{
    size_t bytes = 0;
    for (size_t i = 0; i < h->count; i++)
        bytes += h->all[i].dropped ? 0 : h->all[i].kept[0] + h->all[i].kept[1];
    return bytes;
}

static bool model_drop(struct history *h)
{
    for (size_t i = 0; i < h->n_ended; i++) {
        if (!h->ended[i]->dropped)
            return h->ended[i]->dropped = true;
    }
    return false;
}

static void model_add(struct history *h, struct model *m, size_t stream, struct str bytes)
{
    struct buf *all = &m->streams[stream];
    bool whole = m->kept[stream] == all->len;
    buf_add(all, bytes.p, bytes.n);
    size_t want = all->len < STREAM_MAX ? all->len : STREAM_MAX;
    if (!whole || want == m->kept[stream])
        return;
    size_t more = want - m->kept[stream];
    while (model_bytes(h) + more > TOTAL_MAX && model_drop(h))
        ;
    size_t room = TOTAL_MAX - model_bytes(h);
    m->kept[stream] += more < room ? more : room;
}

static void check_model(const struct model *m)
{
    for (size_t i = 0; i < STREAMS; i++) {
        BUF_AT_END struct buf out = BUF_INIT(READ_MAX);
        struct spill_page page;
        const char *id = m->spill ? spill_id(m->spill) : m->id;
        bool gone = !m->spill && (m->dropped || m->kept[0] + m->kept[1] == 0);
        assert_int_equal(read_stream(id, (enum stream)i, &out, &page), gone ? -1 : 0);
        if (gone)
            continue;
        assert_int_equal(page.running, m->spill != NULL);
        assert_int_equal(page.total, m->streams[i].len);
        assert_int_equal(page.kept, m->kept[i]);
        assert_int_equal(out.len, m->kept[i]);
        if (out.len)
            assert_memory_equal(out.data, m->streams[i].data, out.len);
    }
}

static void random_step(struct history *h)
{
    struct model *m = h->count ? &h->all[random_below(h->count)] : NULL;
    size_t what = random_below(8);
    if (what == 0 && h->count < MODELS) {
        m = &h->all[h->count++];
        *m = (struct model){.spill = spill_open(&spills),
                            .streams = {BUF_INIT(READ_MAX), BUF_INIT(READ_MAX)}};
    } else if (what == 1 && m && m->spill) {
        spill_finish(m->spill, m->id);
        m->spill = NULL;
        h->ended[h->n_ended++] = m;
        assert_int_equal(m->id[0] != '\0', m->kept[0] + m->kept[1] > 0);
    } else if (m && m->spill) {
        char bytes[100];
        size_t stream = random_below(STREAMS);
        struct str text = {bytes, random_below(random_below(2) ? 10 : sizeof bytes)};
        random_bytes(bytes, sizeof bytes);
        spill_add(m->spill, (enum stream)stream, text);
        model_add(h, m, stream, text);
    }
}

static void as_a_list_of_texts(void **state)
{
    (void)state;
    random_begin();
    for (unsigned round = 0; round < random_rounds(30); round++) {
        struct history *h = mem_zero(sizeof *h);
        begin(STREAM_MAX, TOTAL_MAX);
        for (unsigned step = 0; step < 1500; step++) {
            random_step(h);
            if (h->count)
                check_model(&h->all[random_below(h->count)]);
            assert_int_equal(spills.bytes, model_bytes(h));
        }
        for (size_t i = 0; i < h->count; i++) {
            struct model *m = &h->all[i];
            check_model(m);
            if (m->spill)
                spill_finish(m->spill, m->id);
            buf_done(&m->streams[0]);
            buf_done(&m->streams[1]);
        }
        spills_done(&spills);
        assert_true(spills.count == 0 && spills.bytes == 0);
        free(h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(as_a_list_of_texts),
    };
    return cmocka_run_group_tests_name("spill_random", tests, NULL, NULL);
}
