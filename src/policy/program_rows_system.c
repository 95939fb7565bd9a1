/* The network, containers, services and the packages of the system. */
#include "policy/program_rows.h"

#define RUNS "runs a program"
#define WRITES "writes a file"
#define ELSEWHERE "leads to another machine or configuration"

static const struct program_row rows[] = {
    {" curl ", NULL, "oOJDcTKEnQ",
     " output output-dir remote-name remote-name-all remote-header-name dump-header cookie-jar "
     "upload-file config trace trace-ascii stderr libcurl etag-save hsts alt-svc engine cert key "
     "create-dirs netrc netrc-optional netrc-file egd-file random-file ssl-sessions etag-compare "
     "variable expand-* proxy-cert proxy-key quote prequote postquote mail-from mail-rcpt ",
     0, "writes a file or reads another configuration"},
    {" curl ", NULL, "x",
     " interface proxy preproxy socks4 socks4a socks5 socks5-hostname unix-socket abstract-unix-socket connect-to "
     "resolve doh-url dns-servers dns-interface dns-ipv4-addr dns-ipv6-addr ipfs-gateway proxy1.0 "
     "haproxy-clientip ",
     0, "leads to another machine"},
    {" curl ", NULL, NULL, " %output{ @ =< ", ROW_HOLDS, "writes a file or sends one"},
    {" wget wget2 ", NULL, "OPoaieBb",
     " output-document directory-prefix output-file append-output input-file execute config use-askpass "
     "post-file body-file save-cookies load-cookies warc-* rejected-log hsts-file base "
     "stats-* private-key certificate input-metalink metalink-* dns-servers background ",
     0, "writes elsewhere or reads another configuration"},
    {" aria2c ", NULL, "dliD",
     " dir log input-file save-session save-cookies load-cookies server-stat-of server-stat-if "
     "dht-file-path* daemon enable-rpc rpc-* all-proxy http-proxy https-proxy ftp-proxy interface "
     "private-key certificate netrc-path ",
     0, "writes elsewhere or reads another configuration"},
    {" wget wget2 aria2c ", NULL, NULL, " on-download-* on-bt-* conf-path use-askpass ", 0, RUNS},
    {" http https httpie xh ", NULL, "od",
     " output download session session-read-only config-dir plugins ", 0, WRITES},
    {" scp sftp ssh-copy-id ", NULL, "SoFDbJ", NULL, 0, "runs a program or reads a script"},
    {" sftp ", NULL, "s", NULL, 0, "names the program of the other side"},
    {" ssh-keygen ", NULL, "Dw", NULL, 0, "loads something else"},
    {" ssh-add ", NULL, "esS", NULL, 0, "loads something else"},
    {" rsync ", NULL, "eM",
     " rsh rsync-path remote-option daemon config dparam copy-as early-input ", 0, RUNS},
    {" rsync ", NULL, "T",
     " log-file write-batch only-write-batch read-batch temp-dir backup-dir partial-dir compare-dest "
     "files-from password-file link-dest copy-dest remove-source-files copy-devices write-devices "
     "sockopts address ",
     0, "reads or writes elsewhere"},
    {" nc ncat netcat ", NULL, "eco", " exec sh-exec lua-exec output hex-dump proxy ", 0, RUNS},
    {" socat ", NULL, NULL, NULL, ROW_ALWAYS, "may run programs and write files"},
    {" tcpdump tshark dumpcap ", NULL, "wzrFX", NULL, 0, "runs a program or writes a file"},
    {" nmap ", NULL, NULL,
     " script* o* iL datadir servicedb versiondb resume stylesheet excludefile ", ROW_ONE_DASH,
     "runs a script or writes a file"},
    {" dig host nslookup ", NULL, "fk", NULL, 0, "reads another file"},
    {" mail mailx sendmail mutt ", NULL, NULL, NULL, ROW_ALWAYS, "sends mail and may run programs"},

    {" docker podman nerdctl ", NULL, "vHcpP",
     " volume mount privileged pid userns ipc uts cgroupns cap-add device security-opt net network host "
     "context config tls* entrypoint env-file cidfile iidfile metadata-file output build-context "
     "secret ssh hooks-dir conmon runtime root runroot storage-* volumes-from label-file "
     "cgroup-parent add-host rootfs gpus builder cache-to cache-from file project-directory "
     "profile log-driver log-opt device-cgroup-rule group-add sysctl link link-local-ip publish "
     "publish-all oom-score-adj oom-kill-disable use-api-socket allow push pidfile conmon-pidfile "
     "seccomp-policy env-host sdnotify preserve-fd preserve-fds chrootdirs init-path decryption-key "
     "logfile sign-by signature-policy cpp-flag cgroup-manager tmpdir network-cmd-path "
     "network-config-dir cdi-spec-dir imagestore volumepath out cpu-profile memory-profile change input "
     "isolation pod* authfile cert-dir module connection identity url remote ",
     ROW_WHOLE, "gives a container more, or leads elsewhere"},
    {" docker podman nerdctl ", " exec cp context plugin swarm trust login machine unshare system ",
     NULL, NULL, ROW_ALWAYS, "runs programs or changes more"},
    {" docker podman nerdctl ", " save export load ", "oi", NULL, 0, "reads or writes a file"},
    {" docker ",
     " attach build builder buildx commit compose config container context cp create diff events exec "
     "export help history image images import info inspect kill load login logout logs manifest network "
     "node pause plugin port ps pull push rename restart rm rmi run save search secret service stack "
     "start stats stop swarm system tag top trust unpause update version volume wait ",
     NULL, NULL, ROW_ALWAYS | ROW_EXCEPT | ROW_ALIAS, "is no subcommand that is known"},
    {" docker podman nerdctl ", " build bake ", "fo", NULL, 0,
     "reads another file or writes elsewhere"},
    {" docker-compose ", NULL, "fHp",
     " file project-directory host env-file context tls* profile volume entrypoint ", 0,
     "reads another configuration"},
    {" kubectl oc ", NULL, "sk",
     " kubeconfig server token as as-group as-uid context cluster user filename kustomize cache-dir profile profile-output raw certificate-authority client-certificate client-key insecure-skip-tls-verify tls-server-name password username patch-file overrides template from-file from-env-file output-directory log-file proxy-url ",
     0, ELSEWHERE},
    {" kubectl oc ",
     " annotate apply autoscale create delete describe diff edit explain expose get label patch replace "
     "rollout scale set wait ",
     "f", NULL, 0, "reads a file"},
    {" kubectl oc ", " auth ", NULL, " reconcile ", ROW_BARE, "changes rights"},
    {" kubectl oc ", NULL, NULL, " log-dir log-file-max-size kuberc vmodule as-user-extra ",
     ROW_WHOLE, ELSEWHERE},
    {" kubectl oc ", " kustomize ", NULL, " :// github.com/ git:: ", ROW_HOLDS, ELSEWHERE},
    {" kubectl oc ", " exec cp debug edit proxy port-forward plugin attach run config ", NULL, NULL,
     ROW_ALWAYS, "runs programs or changes more"},
    {" kubectl oc ", NULL, NULL, " template-file= jsonpath-file= columns-file= ", ROW_HOLDS,
     "reads a file"},
    {" kubectl ",
     " annotate api-resources api-versions apply attach auth autoscale certificate cluster-info "
     "completion config cordon cp create debug delete describe diff drain edit events exec explain "
     "expose get help kustomize label logs options patch plugin port-forward proxy replace rollout run "
     "scale set taint top uncordon version wait ",
     NULL, NULL, ROW_ALWAYS | ROW_EXCEPT | ROW_ALIAS, "is no subcommand that is known"},
    {" kubectl oc ", " kustomize ", "oe",
     " enable-alpha-plugins enable-exec enable-helm helm-command output load-restrictor mount network* "
     "env ",
     0, "runs a program or writes a file"},
    {" kustomize ", NULL, "oe",
     " enable-alpha-plugins enable-exec enable-helm enable-star helm-command output load-restrictor "
     "mount network* env ",
     0, "runs a program or writes a file"},
    {" helm ", NULL, "f",
     " post-renderer* kubeconfig kube-* registry-config repository-config repository-cache output-dir repo "
     "ca-file cert-file key-file keyring values set-file plugin* destination untardir ",
     0, ELSEWHERE},
    {" helm ", " plugin registry create ", NULL, NULL, ROW_ALWAYS, RUNS},
    {" terraform tofu terragrunt ", NULL, NULL,
     " chdir* plugin-dir* backend-config* var-file* state* state-out* backup* out* from-module* "
     "config* generate-config-out* terragrunt-* working-dir* junit-xml* test-directory* cloud-run* "
     "json-into* ",
     ROW_ONE_DASH, "reads another configuration or writes elsewhere"},
    {" terraform tofu ", " providers ", NULL, " mirror lock ", ROW_BARE, "writes elsewhere"},
    {" terraform tofu ", " fmt ", NULL, NULL, ROW_OUTSIDE, "writes elsewhere"},
    {" terraform tofu ", NULL, NULL, " * ", ROW_ONE_DASH,
     "reads another configuration or writes elsewhere", 0,
     " no-color json input=false input=true lock=true lock-timeout=* refresh=false refresh=true refresh-only "
     "compact-warnings detailed-exitcode parallelism=* target target=* replace replace=* destroy "
     "auto-approve var var=* check diff recursive list=false list=true write=false backend=false "
     "get=true help version h raw filter=* verbose type=* draw-cycles "},
    {" terraform tofu ", " console login logout push rpcapi stacks force-unlock ", NULL, NULL,
     ROW_ALWAYS, "runs or changes more"},
    {" ansible ansible-playbook ansible-inventory ", NULL, "ieMam",
     " inventory* extra-vars module-path module-name args vault-* private-key key-file ssh-* sftp-* scp-* "
     "connection become* playbook-dir output export tree ",
     0, ELSEWHERE},
    {" cdk ", NULL, "ao", " app output plugin profile role-arn proxy ca-bundle-path ", 0,
     "runs a program or leads elsewhere"},
    {" gcloud ", NULL, NULL, " * ", ROW_ONE_DASH, ELSEWHERE, 0,
     " project project=* region region=* zone zone=* location location=* format=json format=yaml "
     "format=text format=none format=list format=config format=disable format=table* format=value* "
     "limit limit=* filter filter=* sort-by sort-by=* page-size page-size=* quiet q no-user-output-enabled "
     "verbosity verbosity=* uri flatten=* help h version v freshness=* order=* "},
    {" gcloud ", NULL, NULL,
     " ssh scp sftp ssh-keys start-iap-tunnel connect-to-serial-port interactive config auth init "
     "components meta emulators cloud-shell feedback survey docker get-credentials configure-docker "
     "export import connect browse clone local-run local code cli copy-files keys print-settings "
     "create-login-config install agents workstations alpha beta preview diagnose ",
     ROW_BARE, "runs programs or changes what gcloud does"},
    {" az ", NULL, NULL, " * ", ROW_ONE_DASH | ROW_RESPONSE, ELSEWHERE, 0,
     " o o=* output=json output=jsonc output=table output=tsv output=yaml output=yamlc output=none query "
     "query=* g g=* resource-group resource-group=* n n=* name name=* l l=* location location=* "
     "only-show-errors verbose debug help h ids show-details top top=* all no-wait "},
    {" az ", NULL, NULL, " =@ ", ROW_HOLDS, "reads a file"},
    {" az ", NULL, NULL,
     " login logout extension rest config configure alias cloud ssh run-command interactive set "
     "feedback find upgrade self-test invoke command get-credentials shell serial-console devops init cache "
     "acr install install-cli browse up bastion exec attach sshkey checkout connect proxy demo next survey "
     "create-for-rbac get-access-token download tunnel ",
     ROW_BARE, "runs programs or changes what az does"},
    {" aws ", " configure ", NULL, NULL, ROW_ALWAYS, "changes what aws runs"},
    {" aws gcloud az ", NULL, NULL,
     " endpoint-url profile cli-input-json cli-input-yaml ca-bundle no-verify-ssl outfile "
     "configuration account flags-file impersonate-service-account ",
     0, ELSEWHERE},

    {" systemctl ", NULL, "HM", " host machine root image ", 0, ELSEWHERE},
    {" systemctl ", " edit link import-environment set-environment ", NULL, NULL, ROW_ALWAYS,
     "runs an editor or changes more"},
    {" journalctl ", NULL, "DMi",
     " directory file root image flush rotate vacuum-size vacuum-time vacuum-files cursor-file machine setup-keys "
     "relinquish-var smart-relinquish-var sync update-catalog interval force ",
     0, "reads another log or changes this one"},
    {" dmesg ", NULL, "CcDEFn",
     " clear read-clear console-off console-on console-level file kmsg-file ", 0,
     "changes the log"},
    {" ip bridge tc ", NULL, "bn", " batch netns ", ROW_WHOLE, "reads a script or changes more"},
    {" ss ", NULL, "DKF", " diag kill filter ", 0, "reads a script or changes more"},
    {" ip ", NULL, NULL, " exec netns vrf ", ROW_BARE, RUNS},
    {" lsof ", NULL, "D", NULL, 0, WRITES},
    {" inotifywait inotifywatch ", NULL, "od", " outfile daemon ", 0, WRITES},
    {" cloc ", NULL, NULL,
     " config extract-with vcs report-file out sql counted ignored found categorized unicode strip-code "
     "strip-comments write-lang-def read-lang-def force-lang-def ",
     ROW_ANY_DASH, "runs a program or writes a file"},

    {" apt apt-get apt-cache aptitude ", NULL, "oc", " option config-file ", 0,
     "changes what it runs"},
    {" dpkg dpkg-deb ", NULL, NULL,
     " pre-invoke post-invoke root admindir instdir log status-logger ", 0, RUNS},
    {" dnf yum microdnf rpm ", NULL, "cDEr",
     " config setopt installroot enableplugin repofrompath define eval pipe root dbpath rcfile macros "
     "load undefine predefine ",
     0, "changes what it runs"},
    {" zypper ", NULL, "cRp",
     " config root installroot reposd-dir cache-dir plus-repo plus-content ", 0,
     "changes what it runs"},
    {" pacman ", NULL, "rb", " config hookdir root dbpath gpgdir sysroot cachedir logfile ", 0,
     "changes what it runs"},
    {" apk ", NULL, "Xp", " repository root keys-dir repositories-file allow-untrusted ", 0,
     "installs from elsewhere"},
    {" brew ", " services tap untap edit create sh ruby irb developer ", NULL, NULL, ROW_ALWAYS,
     "runs or changes more"},
};

const struct program_rows program_rows_system = {rows, ARRAY_LEN(rows)};
