/* git. Options before the subcommand, those that several subcommands share, and then each. */
#include "policy/program_rows.h"

#define RUNS "runs a program"
#define WRITES "writes a file"
#define TRANSPORTS " fetch pull push clone ls-remote fetch-pack send-pack archive remote submodule "

static const struct program_row rows[] = {
    {" git ", NULL, "cp",
     " config-env exec-path paginate git-dir work-tree namespace super-prefix ", ROW_BEFORE,
     "changes what git runs or where it looks"},
    /* A folder of the workspace may be a repository whose settings name programs. */
    {" git ", NULL, "C", NULL, ROW_BEFORE | ROW_HERE, "works in another folder"},
    /* Any other word may be an alias, or a program `git-WORD`. */
    {" git ",
     " add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore "
     "check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone column "
     "commit commit-graph commit-tree config count-objects describe diff diff-files diff-index "
     "diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch fmt-merge-msg "
     "for-each-ref format-patch fsck gc get-tar-commit-id grep hash-object help index-pack init "
     "interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge "
     "merge-base merge-file merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes "
     "pack-objects pack-redundant pack-refs patch-id prune prune-packed pull push range-diff "
     "read-tree rebase reflog remote repack replace request-pull rerere reset restore rev-list "
     "rev-parse revert rm send-pack shortlog show show-branch show-index show-ref sparse-checkout "
     "stage stash status stripspace submodule switch symbolic-ref tag unpack-file unpack-objects "
     "update-index update-ref update-server-info var verify-commit verify-pack verify-tag version "
     "whatchanged worktree write-tree ",
     NULL, NULL, ROW_ALWAYS | ROW_EXCEPT | ROW_ALIAS,
     "is no subcommand that is known: it may be an alias"},
    {" git ",
     " bisect config filter-branch difftool mergetool maintenance help verify-commit verify-tag ",
     NULL, NULL, ROW_ALWAYS, "runs programs or changes what git runs"},

    {" git ", NULL, NULL, " ext-diff textconv filters show-signature ", 0, RUNS},
    {" git ", NULL, NULL, " output output-directory ", 0, WRITES},
    {" git ", NULL, NULL, " help ", ROW_WHOLE, "starts a viewer"},
    {" git ", " log show shortlog rev-list reflog whatchanged stash diff-tree ", NULL, " %g ",
     ROW_HOLDS, "may verify a signature, which runs a program"},
    {" git ", " for-each-ref branch tag ", NULL, " %(signature ", ROW_HOLDS,
     "may verify a signature, which runs a program"},
    {" git ", " add stage ", "e", " edit ", 0, RUNS},
    {" git ", TRANSPORTS, NULL, " upload-pack receive-pack exec remote ", 0,
     "names the program of the other side"},
    {" git ", TRANSPORTS, NULL, " :: ", ROW_HOLDS | ROW_VARIES, "names a program that transports"},
    {" git ", " clone ", "u", NULL, 0, "names the program of the other side"},
    {" git ", " clone ", NULL, " bundle-uri ", 0, "reaches another machine"},
    {" git ", " submodule ", NULL, " reference reference-if-able ", 0,
     "reads another configuration"},
    {" git ", " init clone ", "c", " template config separate-git-dir reference reference-if-able ",
     0, "reads another configuration"},
    {" git ", " rebase ", "xi", " exec interactive edit-todo ", 0, RUNS},
    {" git ", " merge rebase pull ", "s", " strategy ", 0, "names a program that merges"},
    {" git ", " cherry-pick revert am ", NULL, " strategy ", 0, "names a program that merges"},
    {" git ", " commit commit-tree merge cherry-pick revert rebase am pull ", "S",
     " gpg-sign verify-signatures ", 0, RUNS},
    {" git ", " tag ", "suv", " sign local-user verify ", 0, RUNS},
    {" git ", " push ", NULL, " signed ", 0, RUNS},
    {" git ", " commit merge cherry-pick revert tag notes pull replace am ", "e",
     " edit reedit-message ", ROW_ONE_DASH, RUNS},
    {" git ", " commit merge cherry-pick revert tag notes pull replace am ", NULL,
     " edit reedit-message ", 0, RUNS},
    {" git ", " pull ", NULL, " rebase=i* ", 0, RUNS},
    {" git ", " notes ", NULL, " edit ", ROW_BARE, RUNS},
    {" git ", " am ", "i", " interactive directory ", 0, "runs a program or writes elsewhere"},
    {" git ", " worktree clone init bundle pack-objects ", NULL, NULL, ROW_OUTSIDE,
     "writes elsewhere"},
    {" git ", " multi-pack-index commit-graph repack ", NULL, " object-dir expire-to ", 0,
     "writes elsewhere"},
    {" git ", " grep ", "O", " open-files-in-pager ", 0, RUNS},
    {" git ", " branch ", NULL, " edit-description ", 0, RUNS},
    {" git ", " column interpret-trailers ", NULL, " command trailer ", 0, RUNS},
    {" git ", " interpret-trailers ", NULL, " in-place ", 0, WRITES},
    {" git ", " submodule ", NULL, " foreach ", ROW_BARE, RUNS},
    {" git ", " format-patch archive mailsplit index-pack ", "o", NULL, 0, WRITES},
    {" git ", " apply ", NULL, " unsafe-paths build-fake-ancestor directory ", 0, WRITES},
    {" git ", " checkout-index ", NULL, " prefix ", 0, WRITES},
    {" git ", " fast-export fast-import ", NULL,
     " export-marks import-marks import-marks-if-exists export-pack-edges allow-unsafe-features ",
     0, WRITES},
    {" git ", " mailinfo ", NULL, NULL, 0, WRITES, 2},
    {" git ", " update-index ", NULL, " fsmonitor index-info ", 0, "changes what git runs"},
    {" git ", " read-tree ", NULL, " index-output ", 0, WRITES},

    {" svn ", NULL, "x", " config-option config-dir diff-cmd diff3-cmd editor-cmd extensions ", 0,
     RUNS},
    {" svn ", NULL, NULL, " accept ", 0, RUNS, 0,
     " accept=postpone accept=p accept=working accept=base accept=mine-conflict accept=mc "
     "accept=theirs-conflict accept=tc accept=mine-full accept=mf accept=theirs-full accept=tf "},
    {" svn ", NULL, NULL, " svn+ ", ROW_HOLDS, "starts a program that transports"},
    {" hg chg ", NULL, NULL,
     " config config-file debugger tool ssh remotecmd command edit pager encoding ", 0, RUNS},
    {" hg chg ", NULL, NULL, " output bundle prefix style profile ", 0,
     "writes a file or reads another configuration"},
    {" hg chg ", NULL, "R", " repository cwd ", ROW_HERE, "works in another folder"},
    {" hg chg ",
     " pull push clone incoming in outgoing out bundle identify id commit ci import amend graft "
     "backout tag ",
     "e", NULL, 0, RUNS},
    {" hg chg ", " merge resolve update up co checkout graft backout rebase unshelve ", "t", NULL,
     0, RUNS},
    {" hg chg ", " commit ci amend revert shelve uncommit record qrecord absorb ", "i",
     " interactive ", 0, RUNS},
    {" hg chg ", " shelve unshelve histedit ", "e", NULL, 0, RUNS},
    {" hg chg ", NULL, NULL, " ssh:// +ssh ", ROW_HOLDS, "starts a program that transports"},
    {" hg chg ", " bisect ", "c", NULL, 0, RUNS},
    {" hg chg ", " cat export archive ", "o", NULL, 0, WRITES},
    {" hg chg ", " archive bundle clone init ", NULL, NULL, ROW_OUTSIDE, "writes elsewhere"},
    {" hg chg ", " serve debugshell extdiff email config histedit ", NULL, NULL, ROW_ALWAYS, RUNS},
    /* Any other word may be an alias, one that is cut, or one of an extension. */
    {" hg chg ",
     " abort add addremove amend annotate archive backout bisect blame bookmark bookmarks branch "
     "branches bundle cat checkout ci clone co commit config continue copy cp diff email export extdiff "
     "files forget graft grep heads help histedit identify id import in incoming init locate log "
     "manifest merge move mv out outgoing parents paths phase pull push rebase recover remove rename "
     "resolve revert rm rollback root serve shelve status st summary tag tags tip unbundle unshelve up "
     "update verify version ",
     NULL, NULL, ROW_ALWAYS | ROW_EXCEPT | ROW_ALIAS,
     "is no subcommand that is known: it may be an alias"},
    {" gh ", " alias api config extension extensions ext codespace cs auth ssh-key secret ", NULL,
     NULL, ROW_ALWAYS, "runs programs or changes what gh does"},
    {" gh ",
     " agent-task alias api attestation auth browse cache codespace completion config cs ext extension "
     "extensions gist gpg-key help issue label org pr preview project release repo rs ruleset run "
     "search secret ssh-key status variable version workflow ",
     NULL, NULL, ROW_ALWAYS | ROW_EXCEPT | ROW_ALIAS,
     "is no subcommand that is known: it may be an alias"},
    {" gh ", " api ", NULL, NULL, ROW_ALWAYS | ROW_ALIAS, "may be any request"},
    {" glab ", NULL, NULL, " alias api auth config ssh-key ", ROW_BARE,
     "runs programs or changes what glab does"},
    {" jj ", NULL, "Ri", " config config-file config-toml tool repository interactive ", 0, RUNS},
    {" jj ", NULL, NULL, " util fix config ", ROW_BARE, RUNS},
    {" gh ", NULL, "weF", " web editor body-file recover template input ", ROW_WHOLE,
     "starts a browser or an editor, or reads a file"},
};

const struct program_rows program_rows_git = {rows, ARRAY_LEN(rows)};
