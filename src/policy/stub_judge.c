#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "policy/judge.h"
struct policy { const struct config *c; };
int policy_new(struct policy **r, const struct config *c, struct err *err){ (void)err; *r = mem_zero(sizeof **r); (*r)->c = c; return 0; }
void policy_free(struct policy *p){ free(p); }
int policy_judge(const struct policy *p, const struct policy_call *call, struct verdict *ret, policy_step_fn step, void *arg, struct err *err)
{
    (void)step;(void)arg;
    char path[96]; const char *action = NULL; unsigned i = 0;
    for (;; i++) { snprintf(path, sizeof path, "approval.rules[%u].toolName", i); const char *t = config_text(p->c, path); if (!t) break;
      if (fnmatch(t, call->name, 0) == 0) { snprintf(path, sizeof path, "approval.rules[%u].action", i); action = config_text(p->c, path); break; } }
    snprintf(ret->rule, sizeof ret->rule, "approval.rules[%u]", i);
    if (!action) { action = config_text(p->c, "approval.default"); snprintf(ret->rule, sizeof ret->rule, "approval.default"); }
    if (!action) action = call->own_hand || !(call->tool->capabilities & ~1u) ? "approve" : "prompt";
    if (strcmp(action, "deny") == 0) { err_set(err, ERR_POLICY_DENIED, "denied by %s", ret->rule); return err_reason(err, "denied_by_rule"); }
    ret->kind = strcmp(action, "prompt") == 0 ? VERDICT_ASK : VERDICT_ALLOW;
    if (strcmp(action, "budget") == 0) { ret->charges = mem_zero(sizeof *ret->charges); ret->n_charges = 1; 
      snprintf(path, sizeof path, "approval.rules[%u].budgetLimit", i);
      ret->charges[0] = (struct charge){.key = mem_format("rule:%u", i), .rule = "approval.rules[]", .limit = config_int(p->c, path)}; }
    return 0;
}
struct allowed *allowed_new(void){ return mem_zero(8); }
void allowed_free(struct allowed *a){ free(a); }
int allowed_add(struct allowed *a, struct str j, const char *n, struct err *e){ (void)a;(void)j;(void)n;(void)e; return 0; }
const char *allowed_find(const struct allowed *a, const struct policy_call *c, const char *d, const char *w){ (void)a;(void)c;(void)d;(void)w; return NULL; }
bool propose_rule(const struct policy_call *c, const char *d, const char *w, struct buf *o){ (void)c;(void)d;(void)w; buf_add_text(o, "{\"toolName\":\"x\"}"); return true; }
