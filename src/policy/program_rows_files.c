/* Files and text: coreutils, search, archives, viewers. */
#include "policy/program_rows.h"

#define RUNS "runs a program"
#define WRITES "writes a file"
#define LEADS_OUT "leads out of the folder"
#define ELSEWHERE "leads to another machine or reads another configuration"

static const struct program_row rows[] = {
    {" find ", NULL, NULL, " delete ", ROW_ONE_DASH, "deletes"},
    {" find ", NULL, NULL, " files0-from ", ROW_ONE_DASH,
     "takes paths that are known only when it runs"},
    {" find ", NULL, NULL, " fprint fprint0 fprintf fls ", ROW_ONE_DASH, WRITES},
    {" fd fdfind ", NULL, "xXl", " exec exec-batch list-details ", 0, RUNS},
    {" rg ", NULL, "z", " pre hostname-bin search-zip ", ROW_WHOLE, RUNS},
    {" ag ", NULL, "z", " pager search-zip ", 0, RUNS},
    {" ack ack-grep ", NULL, NULL, " pager ackrc output ", 0, "runs code or a program"},
    {" pcre2grep pcregrep ", NULL, NULL, " (?c ", ROW_HOLDS | ROW_VARIES,
     "may have a callout, which runs a program"},
    {" pcre2grep pcregrep ", NULL, "f", " file ", 0, "reads patterns, which may run a program"},
    {" ugrep ", NULL, "Q", " filter pager view query config save-config -* ", ROW_WHOLE,
     "runs a program or reads another configuration"},
    {" ug ", NULL, NULL, NULL, ROW_ALWAYS, "reads the folder's settings, which may name programs"},
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
    {" patch ", NULL, "ordBYz", " output reject-file directory prefix basename-prefix suffix ", 0,
     "writes elsewhere"},
    {" csplit ", NULL, "fb", " prefix suffix-format ", 0, "writes elsewhere"},
    {" file ", NULL, "CzZ", " compile uncompress uncompress-noreport ", 0,
     "writes or runs something"},
    {" tree ", NULL, "oR", " output ", 0, WRITES},
    {" less ", NULL, "oOktT",
     " log-file LOG-FILE lesskey-file lesskey-src lesskey-content tag tag-file cmd ", ROW_PLUS,
     "writes a file or runs commands"},
    {" man apropos whatis ", NULL, "PHXC", " pager html gxditview config-file ", 0, RUNS},
    {" man apropos whatis ", NULL, "MlpTtZm",
     " manpath local-file preprocessor troff-device troff ditroff systems ", 0,
     "reads other pages or runs another formatter"},
    {" info ", NULL, "o", " output restore init-file ", 0, WRITES},
    {" bat batcat ", NULL, NULL, " pager config-file lessopen ", ROW_WHOLE, RUNS},
    {" delta ", NULL, NULL, " pager config ", ROW_WHOLE, RUNS},

    {" tar gtar ", NULL, "IF",
     " checkpoint-action to-command use-compress-program info-script new-volume-script rsh-command "
     "rmt-command set-mtime-command ",
     ROW_OLD, RUNS},
    {" tar gtar ", NULL, "Tg", " files-from listed-incremental volno-file index-file remove-files ",
     ROW_OLD, "reads options or writes a file"},
    {" tar gtar cpio ", NULL, NULL, NULL, ROW_HOSTS, "reaches another machine"},
    {" bsdtar ", NULL, NULL, " use-compress-program options ", 0, RUNS},
    {" tar gtar bsdtar ", NULL, "P", " absolute-names absolute-paths ", ROW_OLD, LEADS_OUT},
    {" tar gtar bsdtar ", NULL, "C", " directory cd ", ROW_OLD | ROW_FOLDER, LEADS_OUT},
    {" tar gtar ", NULL, NULL, " one-top-level ", ROW_FOLDER, LEADS_OUT},
    {" cpio ", NULL, NULL, " rsh-command ", 0, RUNS},
    {" cpio ", NULL, "D", " directory ", ROW_FOLDER, LEADS_OUT},
    {" zip ", NULL, "T", " test unzip-command ", 0, RUNS},
    {" zip ", NULL, "bOm@", " temp-path output-file move logfile-path names-stdin ", 0,
     "writes elsewhere or removes files"},
    {" zip ", NULL, NULL, " lf* la* ", ROW_ONE_DASH, WRITES},
    {" unzip ", NULL, ":", NULL, 0, LEADS_OUT},
    {" unzip 7z 7za 7zr 7zz ", NULL, "do", NULL, ROW_FOLDER, LEADS_OUT},
    {" zstd ", NULL, NULL, " output-dir-flat output-dir-mirror trace ", 0, WRITES},

    {" gojq jaq yq tomlq xq ", NULL, "fL", " from-file library-path run-tests front-matter ", 0,
     "reads a script from elsewhere"},
    {" yq tomlq xq ", NULL, "is", " inplace in-place split-exp split-exp-file from-file ", 0,
     WRITES},
    {" yq ", NULL, NULL, " security-enable-system-operator ", 0, RUNS},
    {" xmlstarlet ", NULL, "L", " inplace ", 0, WRITES},
    {" xmllint ", NULL, NULL, " output o shell path load-trace ", ROW_ONE_DASH, WRITES},
    {" xsltproc ", NULL, NULL, " output o writesubtree path ", ROW_ONE_DASH, WRITES},
    {" pandoc ", NULL, NULL, " .lua ", ROW_HOLDS, "runs a script"},
    {" pandoc ", NULL, "oFLdV",
     " output filter lua-filter defaults pdf-engine pdf-engine-opt template extract-media data-dir "
     "syntax-definition log metadata-file reference-doc variable resource-path include-in-header ",
     0, "writes a file or runs a program"},
    {" asciidoctor asciidoctor-pdf ", NULL, "rITEDoB",
     " require load-path template-dir template-engine destination-dir out-file base-dir ", 0,
     "loads something else or writes elsewhere"},
    {" groff nroff troff ", NULL, "UlLXFMP", NULL, 0, "runs a program or reads other macros"},
    {" gs ghostscript ", NULL, NULL, " dNOSAFER* dDELAYSAFER* c I* permit-* ", ROW_ONE_DASH,
     "reaches more files or runs other code"},
    {" gs ghostscript ", NULL, NULL, " %pipe% | ", ROW_HOLDS | ROW_VARIES, RUNS},
    {" tex latex etex pdftex pdflatex xetex xelatex luatex lualatex luahbtex ", NULL, NULL,
     " shell-escape enable-write18 cnf-line lua luaonly fmt ini progname translate-file ",
     ROW_ANY_DASH, "runs programs or loads something else"},
    {" tex latex etex pdftex pdflatex xetex xelatex luatex lualatex luahbtex ", NULL, NULL,
     " output-directory ", ROW_ANY_DASH | ROW_FOLDER, LEADS_OUT},
    {" latexmk ", NULL, NULL,
     " e r latex* pdflatex* lualatex* xelatex* hlatex* dvi-filter* ps-filter* pretex* usepretex* "
     "shell-escape enable-write18 outdir* output-directory* auxdir* aux-directory* out2dir* pv* p "
     "print* view* new-viewer ",
     ROW_ONE_DASH, "runs a program or writes elsewhere", 0, " pdflatex lualatex xelatex "},
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
    {" openssl ", NULL, NULL,
     " engine_impl accept* www WWW HTTP rev gencrl revoke updatedb proxy* rand ", ROW_ONE_DASH,
     "listens, reaches out or changes more"},
    {" openssl ", NULL, NULL, " * ", ROW_ONE_DASH, "is not known as harmless", 0,
     " new subj subj=* days days=* key key=* batch utf8 in in=* inform=* inform outform=* outform noout text subject issuer serial dates startdate enddate "
     "fingerprint purpose modulus pubkey pubin pubout checkend checkend=* ext ext=* nameopt=* nameopt "
     "hash subject_hash issuer_hash email alias ocspid ocsp_uri CAfile untrusted show_chain verbose "
     "x509_strict partial_chain sha1 sha224 sha256 sha384 sha512 sha3-256 sha3-512 md5 blake2b512 "
     "blake2s256 hex base64 a r binary c d v b o f p digest signature verify help version check "
     "check_ss_sig verify_hostname certs info nokeys nocerts clcerts cacerts conv_form i print "
     "print_certs list cipher ciphers commands text_pub crl nodes connect connect=* servername servername=* showcerts brief quiet starttls starttls=* tls1_2 "
     "tls1_3 alpn alpn=* no_ign_eof bits 1 5 6 salt salt=* "},
    {" openssl ", NULL, NULL, " :// ", ROW_HOLDS, "reaches another machine"},
    {" openssl ", NULL, NULL, " org.openssl.engine: pkcs11: ", ROW_HOLDS, "loads code"},
    {" openssl ", NULL, NULL,
     " ca cmp engine fipsinstall ocsp pkcs11 rehash s_server s_time srp tsget ", ROW_BARE,
     "listens, reaches out or changes more"},
    {" gpg gpg2 ", NULL, NULL,
     " keyring primary-keyring secret-keyring no-default-keyring trustdb-name passphrase-file "
     "passphrase-fd command-file command-fd default-keyserver-url show-photos list-options "
     "verify-options auto-key-locate auto-key-retrieve auto-key-import keyserver-options http-proxy "
     "import fast-import delete-keys delete-secret-keys delete-secret-and-public-key edit-key gen-key "
     "generate-key full-generate-key quick-* export-secret-keys export-secret-subkeys recv-keys "
     "receive-keys refresh-keys search-keys fetch-keys send-keys locate-keys locate-external-keys "
     "server chuid card-edit card-status change-pin passwd gen-revoke generate-revocation "
     "tofu-db-format tofu-policy gpgconf-test sign-key lsign-key import-ownertrust rebuild-keydb-caches ",
     0, "changes keys or reaches out", 0, " verify sign "},
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
    {" sqlite3 ", NULL, NULL, " cmd init A* append zip vfs deserialize unsafe-testing ",
     ROW_ONE_DASH, "runs commands of the shell"},
    {" sqlite3 ", NULL, NULL,
     " .a* .ba* .cd* .cl* .dbc* .dump* .e* .fi* .im* .io* .lo* .on* .op* .ou* .pa* .pr* .re* .sa* "
     ".ses* .sh* .sy* .te* .tr* .un* .vf* .w* ",
     ROW_BARE, "runs a program or writes a file"},
    {" sqlite3 ", NULL, NULL,
     " readfile writefile edit load_extension fts3_tokenizer attach vacuum zipfile ",
     ROW_HOLDS | ROW_TOKENS | ROW_VARIES, "runs a program or writes a file"},
    {" psql ", NULL, "oLfvP", " output log-file file set variable pset ", 0,
     "writes a file or reads a script"},
    {" psql ", NULL, "h", " host ", 0, ELSEWHERE},
    {" psql pg_dump pg_dumpall pg_restore ", NULL, NULL,
     " :// host= hostaddr= service= sslkey= sslcert= sslrootcert= passfile= ", ROW_HOLDS,
     ELSEWHERE},
    {" psql ", NULL, NULL,
     " program lo_export lo_import pg_read_file pg_read_binary_file pg_ls_dir pg_execute_server_program ",
     ROW_HOLDS | ROW_TOKENS, "runs a program or writes a file"},
    {" pg_dump pg_dumpall pg_restore ", NULL, "fhLd",
     " file host use-list filter dbname globals-filter ", 0, "writes a file or leads elsewhere"},
    {" psql ", NULL, NULL, " \\ ", ROW_HOLDS | ROW_VARIES, "holds a command of psql"},
    {" mysql mariadb ", NULL, NULL,
     " tee pager init-command defaults-file defaults-extra-file defaults-group-suffix plugin-dir "
     "default-auth ",
     0, "writes a file or loads something"},
    {" mysql mariadb mysqldump mariadb-dump mysqladmin mariadb-admin mysqlimport mysqlcheck ", NULL,
     "hS",
     " host socket load-data-local-dir local-infile histignore ssl-key ssl-cert ssl-ca ssl-capath "
     "login-path enable-cleartext-plugin server-public-key-path protocol ",
     0, ELSEWHERE},
    {" mysqldump mariadb-dump mysqladmin mariadb-admin mysqlimport mysqlcheck ", NULL, "rT",
     " result-file tab log-error init-command defaults-file defaults-extra-file "
     "defaults-group-suffix plugin-dir default-auth dir ",
     0, "writes a file or loads something"},
    {" mysql mariadb ", NULL, NULL,
     " \\ system source tee pager outfile dumpfile infile load_file ", ROW_HOLDS | ROW_VARIES,
     "holds a command of mysql"},
    {" redis-cli ", NULL, NULL, " eval rdb functions-rdb pipe ", ROW_WHOLE,
     "runs a script or writes a file"},
};

const struct program_rows program_rows_files = {rows, ARRAY_LEN(rows)};
