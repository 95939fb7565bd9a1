/* Files and text: coreutils, search, archives, viewers. */
#include "policy/program_rows.h"

#define RUNS "runs a program"
#define WRITES "writes a file"

static const struct program_row rows[] = {
    {" find ", NULL, NULL, " delete ", ROW_ONE_DASH, "deletes"},
    {" find ", NULL, NULL, " files0-from ", ROW_ONE_DASH,
     "takes paths that are known only when it runs"},
    {" find ", NULL, NULL, " fprint fprint0 fprintf fls ", ROW_ONE_DASH, WRITES},
    {" fd fdfind ", NULL, "xXl", " exec exec-batch list-details ", 0, RUNS},
    {" rg ", NULL, "z", " pre hostname-bin search-zip ", ROW_WHOLE, RUNS},
    {" ag ", NULL, "z", " pager search-zip ", 0, RUNS},
    {" ack ack-grep ", NULL, NULL, " pager ackrc output ", 0, "runs code or a program"},
    {" zgrep zegrep zfgrep bzgrep xzgrep zcat zless zmore zdiff zcmp ldd dc ", NULL, NULL, NULL,
     ROW_ALWAYS, "runs programs"},
    {" fzf ", NULL, NULL, " preview bind listen with-shell ", ROW_WHOLE, RUNS},

    {" sort ", NULL, "oT", " output temporary-directory ", 0, WRITES},
    {" sort ", NULL, NULL, " compress-program ", 0, RUNS},
    {" shuf iconv ", NULL, "o", " output ", 0, WRITES},
    {" uniq ", NULL, NULL, NULL, 0, WRITES, 2},
    {" ptx xxd ", NULL, NULL, NULL, 0, WRITES, 2},
    {" split ", NULL, NULL, " filter ", 0, RUNS},
    {" install ginstall ", NULL, "s", " strip strip-program ", 0, RUNS},
    {" date ", NULL, "s", " set ", 0, "sets the clock"},
    {" hostname domainname ", NULL, "Fb", " file boot ", 0, "sets the name", 1},
    {" diff ", NULL, "l", " paginate ", 0, RUNS},
    {" sdiff ", NULL, "o", " output ", 0, WRITES},
    {" sdiff diff3 ", NULL, NULL, " diff-program ", 0, RUNS},
    {" patch ", NULL, "ge", " get ed ", 0, RUNS},
    {" patch ", NULL, "ordB", " output reject-file directory prefix ", 0, "writes elsewhere"},
    {" file ", NULL, "CzZ", " compile uncompress uncompress-noreport ", 0,
     "writes or runs something"},
    {" tree ", NULL, "oR", " output ", 0, WRITES},
    {" less ", NULL, "oOk", " log-file LOG-FILE lesskey-file lesskey-src lesskey-content ",
     ROW_PLUS, "writes a file or runs commands"},
    {" man apropos whatis ", NULL, "PHXC", " pager html gxditview config-file ", 0, RUNS},
    {" info ", NULL, "o", " output restore init-file ", 0, WRITES},
    {" bat batcat ", NULL, NULL, " pager config-file lessopen ", ROW_WHOLE, RUNS},
    {" delta ", NULL, NULL, " pager config ", ROW_WHOLE, RUNS},

    {" tar gtar ", NULL, "IF",
     " checkpoint-action to-command use-compress-program info-script new-volume-script rsh-command "
     "rmt-command ",
     ROW_OLD, RUNS},
    {" tar gtar ", NULL, "Tg", " files-from listed-incremental volno-file index-file remove-files ",
     ROW_OLD, "reads options or writes a file"},
    {" tar gtar cpio ", NULL, NULL, NULL, ROW_HOSTS, "reaches another machine"},
    {" bsdtar ", NULL, NULL, " use-compress-program options ", 0, RUNS},
    {" cpio ", NULL, NULL, " rsh-command ", 0, RUNS},
    {" zip ", NULL, "T", " test unzip-command ", 0, RUNS},
    {" zstd ", NULL, NULL, " output-dir-flat output-dir-mirror trace ", 0, WRITES},

    {" yq tomlq xq ", NULL, "is", " inplace in-place split-exp split-exp-file from-file ", 0,
     WRITES},
    {" xmllint ", NULL, NULL, " output o shell path load-trace ", ROW_ONE_DASH, WRITES},
    {" xsltproc ", NULL, NULL, " output o writesubtree path ", ROW_ONE_DASH, WRITES},
    {" pandoc ", NULL, NULL, " .lua ", ROW_HOLDS, "runs a script"},
    {" pandoc ", NULL, "oFLdV",
     " output filter lua-filter defaults pdf-engine pdf-engine-opt template extract-media data-dir "
     "syntax-definition log metadata-file reference-doc variable resource-path include-in-header ",
     0, "writes a file or runs a program"},
    {" exiftool ", NULL, NULL,
     " config if* o p printformat tagsfromfile execute* stay_open use w w+ w! w0* w+! textout* "
     "tagout* api userparam efile* overwrite* restore_original delete_original* @ ",
     ROW_ONE_DASH | ROW_LOOSE, "runs code or writes a file"},
    {" exiftool ", NULL, NULL, " ${ ", ROW_HOLDS, "may run code"},
    {" convert magick mogrify identify composite montage compare stream ", NULL, NULL,
     " write process script define ", ROW_ONE_DASH | ROW_RESPONSE,
     "runs a program or writes a file"},
    {" convert magick mogrify identify composite montage compare stream ", NULL, NULL,
     " +write |* msl:* ephemeral:* ", ROW_BARE, "runs a program or writes a file"},
    {" openssl ", NULL, NULL,
     " engine provider provider-path config out outdir writerand keyout keylogfile sess_out certsout "
     "CAserial CAcreateserial ",
     ROW_ONE_DASH, "loads code or writes a file"},
    {" gpg gpg2 ", NULL, "o",
     " output homedir options exec-path photo-viewer agent-program dirmngr-program keyserver "
     "log-file status-file attribute-file logger-file load-extension ",
     0, "writes a file or runs a program"},
    {" sqlite3 psql mysql mariadb redis-cli clickhouse-client bc m4 octave tclsh wish sftp ftp telnet "
     "nsupdate parted fdisk sfdisk ",
     NULL, NULL, NULL, ROW_INPUT, "reads commands from its input"},
    /* Their options and files hold commands too, of which some run programs. */
    {" cqlsh debugfs duckdb ed emacs emacsclient ex gnuplot lftp mongo mongosh nvim red rvim sqlcmd vi "
     "view vim vimdiff xfs_io ",
     NULL, NULL, NULL, ROW_ALWAYS, "has commands that run programs or write files"},
    {" clickhouse-client ", NULL, NULL, " outfile queries-file ", ROW_HOLDS | ROW_VARIES,
     "writes a file or reads a script"},
    {" octave ", NULL, NULL, " eval ", 0, "runs code"},
    {" sqlite3 ", NULL, NULL, " cmd init A* append zip vfs deserialize ", ROW_ONE_DASH,
     "runs commands of the shell"},
    {" sqlite3 ", NULL, NULL,
     " .a* .ba* .cd* .cl* .dbc* .dump* .e* .im* .io* .lo* .on* .op* .ou* .pr* .re* .sa* .ses* .sh* "
     ".sy* .te* .tr* .w* ",
     ROW_BARE, "runs a program or writes a file"},
    {" sqlite3 ", NULL, NULL,
     " readfile writefile edit load_extension fts3_tokenizer attach vacuum zipfile ",
     ROW_HOLDS | ROW_TOKENS | ROW_VARIES, "runs a program or writes a file"},
    {" psql ", NULL, "oLf", " output log-file file set variable ", 0,
     "writes a file or reads a script"},
    {" psql ", NULL, NULL, " \\ ", ROW_HOLDS | ROW_VARIES, "holds a command of psql"},
    {" mysql mariadb ", NULL, NULL,
     " tee pager init-command defaults-file defaults-extra-file defaults-group-suffix plugin-dir "
     "default-auth ",
     0, "writes a file or loads something"},
    {" mysql mariadb ", NULL, NULL, " \\ system source tee pager outfile dumpfile ",
     ROW_HOLDS | ROW_VARIES, "holds a command of mysql"},
    {" redis-cli ", NULL, NULL, " eval rdb functions-rdb pipe ", ROW_WHOLE,
     "runs a script or writes a file"},
};

const struct program_rows program_rows_files = {rows, ARRAY_LEN(rows)};
