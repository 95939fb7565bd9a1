#include "gate/explain_files.h"

#include <string.h>

#include "base/mem.h"
#include "core/guard.h"
#include "policy/facts.h"
#include "session/settings.h"

struct judged {
    struct guard *guard;
    policy_step_fn step;
    void *arg;
    bool writes; /* the paths at hand are changed */
    struct err *err;
};

static int refuse_guarded_place(struct judged *j, const struct place *place,
                                enum guard_verdict verdict, const char *rule)
{
    bool secret = verdict == GUARD_SECRET;
    const char *list = secret ? "files.secret" : "files.protected";
    FREE_AT_END char *name = mem_format("%s: %.200s", list, rule);
    FREE_AT_END char *why = mem_format("`%.200s` is %s", place->text,
                                       secret ? "secret: it is not read or changed"
                                              : "protected: it is not changed");
    j->step(j->arg, &(struct policy_step){name, "denies", why});
    return err_set(j->err, ERR_PERMISSION_DENIED, "`%.200s` is refused by the rule `%.200s` of %s",
                   place->text, rule, list);
}

static int judge_guarded_place(void *data, const struct arg *arg, const struct place *place)
{
    struct judged *j = data;
    const char *rule = "";
    (void)arg;
    if (place->state != PLACE_KNOWN || !place->rest)
        return 0;
    struct str path = {place->rest, strlen(place->rest)};
    enum guard_verdict verdict = guard_judge_link(j->guard, path, &rule);
    if (verdict == GUARD_OPEN || (verdict == GUARD_PROTECTED && !j->writes))
        return 0;
    return refuse_guarded_place(j, place, verdict, rule);
}

static int judge_call_places(struct judged *j, const struct policy_call *pc)
{
    FACTS_AT_END struct facts facts;
    facts_init(&facts, pc);
    if (!facts.tool || facts.needs & CAP_COMMAND)
        return 0;
    if (facts_each_path(&facts, ARG_READS, judge_guarded_place, j) != 0)
        return -1;
    j->writes = true;
    return facts_each_path(&facts, ARG_WRITES, judge_guarded_place, j) != 0 ? -1 : 0;
}

int explain_files(const struct call *call, const struct policy_call *pc, policy_step_fn step,
                  void *arg, struct err *err)
{
    BUF_AT_END struct buf rules = BUF_INIT(0);
    struct err ignored; /* rules that cannot be read keep the cell from starting */
    settings_pack_rules(call->workplace->config, false, (struct str){0}, &rules);
    struct judged j = {.step = step, .arg = arg, .err = err};
    j.guard = guard_new(buf_str(&rules), &ignored);
    int r = j.guard ? judge_call_places(&j, pc) : 0;
    guard_unref(j.guard);
    return r;
}
