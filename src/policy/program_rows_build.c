/* Builds and compilers. What they build runs code by nature; these options make it another build. */
#include "policy/program_rows.h"

#define RUNS "runs a program"
#define WRITES "writes a file"
#define OTHER "reads another configuration or runs another program"
#define LEADS_OUT "leads out of the folder"

static const struct program_row rows[] = {
    {" make gmake ", NULL, "fIE", " eval file makefile include-dir ", ROW_ASSIGNS,
     "reads another makefile or sets a variable"},
    {" make gmake ninja ", NULL, "C", " directory ", ROW_FOLDER, LEADS_OUT},
    {" ninja samu ", NULL, "ft", NULL, 0, "reads another file"},
    {" cmake ", NULL, NULL,
     " P* E* D* C* G* T* A* U* f* toolchain graphviz trace-redirect debugger-pipe profiling-output "
     "preset workflow find-package open install-prefix prefix component config system-information "
     "debugger* project-file sarif-output help-* ",
     ROW_ONE_DASH | ROW_ASSIGNS, "runs a script or sets a variable", 0,
     " DCMAKE_BUILD_TYPE=* DBUILD_TESTING=* DCMAKE_EXPORT_COMPILE_COMMANDS=* GNinja "},
    {" cmake ", NULL, "SBH", " build install ", ROW_ONE_DASH | ROW_FOLDER, LEADS_OUT},
    {" cmake ", NULL, NULL, NULL, ROW_OUTSIDE, LEADS_OUT},
    {" cmake ", NULL, NULL, NULL, ROW_REST, "hands options to the build tool", 0,
     " -j* -k -k0 -v -s 1 2 4 6 8 12 16 "},
    {" ctest ", NULL, NULL,
     " S* SP* D* T* M* O* A* tests-from-file exclude-from-file instrument* collect-instrumentation "
     "build-* test-command script script-new-process dashboard output-log "
     "output-junit submit-index extra-submit add-notes overwrite preset resource-spec-file "
     "test-output-* ",
     ROW_ONE_DASH, "runs a script or writes a file"},
    {" ctest ", NULL, NULL, " test-dir ", ROW_ONE_DASH | ROW_FOLDER, LEADS_OUT},
    {" meson ", NULL, "D",
     " native-file cross-file wrap wrapper gdb gdb-path logbase ninja-args vs-args xcode-args ", 0,
     OTHER},
    {" meson ", NULL, NULL,
     " prefix bindir datadir includedir infodir libdir libexecdir licensedir localedir localstatedir "
     "mandir sbindir sharedstatedir sysconfdir destdir pkg-config-path build. cmake-prefix-path python. "
     "backend wrap-mode ",
     0, OTHER},
    {" meson ", " setup ", NULL, NULL, ROW_OUTSIDE, LEADS_OUT},
    {" meson ", " devenv runpython init rewrite format fmt subprojects wrap env2mfile ", NULL, NULL,
     ROW_ALWAYS, "runs or changes more"},
    {" meson ", NULL, "C", " directory ", ROW_FOLDER, LEADS_OUT},
    {" just ", NULL, "fcdeg",
     " justfile global-justfile shell shell-arg shell-command set chooser dotenv-path "
     "dotenv-filename command edit init working-directory ",
     ROW_ASSIGNS, OTHER},
    {" task ", NULL, "tdg", " taskfile dir global output init experiments ", ROW_ASSIGNS, OTHER},
    {" scons ", NULL, "fCDuI", " file makefile sconstruct directory include-dir site-dir ",
     ROW_ASSIGNS, OTHER},
    {" bazel bazelisk ", NULL, NULL, " * ", ROW_ONE_DASH, OTHER, 0,
     " c c=* compilation_mode compilation_mode=* jobs jobs=* j keep_going nokeep_going k help version "
     "test_output test_output=* test_filter test_filter=* test_tag_filters=* test_size_filters=* "
     "test_lang_filters=* test_timeout=* test_summary=* runs_per_test=* flaky_test_attempts=* "
     "local_test_jobs=* build_tests_only build_tag_filters=* cache_test_results=* "
     "nocache_test_results verbose_failures subcommands s announce_rc color=* curses=* "
     "show_progress noshow_progress show_result=* nobuild loading_phase_threads=* output=* "
     "noimplicit_deps notool_deps order_output=* universe_scope=* "},
    {" ant ", NULL, NULL,
     " f file buildfile D* lib logger listener propertyfile inputhandler main find s l logfile ",
     ROW_ONE_DASH, OTHER},

    {" gcc g++ cc c++ cpp gfortran clang clang++ clang-cpp ", NULL, NULL,
     " wrapper specs* fplugin* iplugindir* B* Wp,* Xpreprocessor Xlinker Xclang* Xarch* Xassembler mllvm "
     "fmodule-mapper* fuse-ld=/* fuse-ld=.* ld-path* ccc-* fpass-plugin* load plugin* config* prefix* "
     "gcc-toolchain* gcc-install-dir* resource-dir* sysroot* isysroot "
     "for-linker* for-assembler* ",
     ROW_ONE_DASH | ROW_RESPONSE, "runs or loads something else"},
    {" gcc g++ cc c++ cpp gfortran clang clang++ clang-cpp ", NULL, NULL,
     " MF* MJ* dumpdir dumpbase fdump-* fopt-info* save-temps* fcallgraph-info* "
     "fdiagnostics-format=sarif-file* serialize-diagnostics* aux-info index-store-path* time=* "
     "fdiagnostics-add-output* fdiagnostics-set-output* foptimization-record-file* ftime-trace=* "
     "fprofile-dir* fprofile-generate=* fprofile-instr-generate=* fprofile-note* fprofile-use=* fauto-profile=* "
     "fdeps-file* fmodule-file* flto-incremental* fltrans-output-list* fresolution* fself-test* fsarif* "
     "fdiagnostics-format=json-file* fdiagnostics-format=sarif* foffload* output-pch* da dumpbase-ext "
     "fpre-include* fcompare-debug* V b "
     "fproc-stat-report=* fmodule-output=* fmodules-cache-path* fcrash-diagnostics-dir* driver-mode* ",
     ROW_ONE_DASH, WRITES},
    {" gcc g++ cc c++ gfortran clang clang++ ", NULL, NULL, " Wl,* Wa,* ", ROW_ONE_DASH,
     "hands options to the linker or the assembler", 0,
     " Wl,--as-needed Wl,--no-as-needed Wl,--gc-sections Wl,--no-undefined Wl,-z,defs Wl,-z,now "
     "Wl,-z,relro Wl,-z,relro,-z,now Wl,-z,noexecstack Wl,-O1 Wl,--build-id Wl,--hash-style=gnu "
     "Wl,--export-dynamic Wl,-E Wl,--start-group Wl,--end-group Wl,--whole-archive "
     "Wl,--no-whole-archive Wl,-Bstatic Wl,-Bdynamic Wl,--fatal-warnings Wl,--strip-all Wl,-s "
     "Wl,-Bsymbolic Wa,--noexecstack "},
    {" ld ld.bfd ld.gold ld.lld lld gold mold ", NULL, NULL,
     " pl* er* T* scr* Ma* mri* c default-s* dT dyn* I* dep* repro* out-im* remap* just-* R* "
     "version-sc* retain-* section-o* print-map-locals export-dynamic-symbol-l* ",
     ROW_ONE_DASH | ROW_RESPONSE, "loads something else or writes a file"},
    {" ar ranlib nm strings objdump objcopy strip size readelf addr2line ", NULL, NULL, " plugin ",
     ROW_RESPONSE, "loads something else"},
    {" ar ", NULL, NULL, " record-libdeps ", 0, "loads something else"},
    {" ar ", NULL, NULL, " output ", ROW_FOLDER, LEADS_OUT},
    {" as gas ", NULL, NULL, " MD* a* ", ROW_ONE_DASH | ROW_RESPONSE, WRITES},
    {" objcopy ", NULL, NULL,
     " dump-section split-dwo add-section update-section redefine-syms keep-symbols "
     "keep-global-symbols localize-symbols globalize-symbols strip-symbols weaken-symbols "
     "strip-unneeded-symbols add-gnu-debuglink ",
     0, "reads or writes another file"},
    {" strip ", NULL, "o", " output-file ", 0, WRITES},
    {" readelf objdump ", NULL, NULL, " debuginfod dwarf=follow* debug-dump=follow* ", 0,
     "reaches another machine"},
    {" protoc ", NULL, NULL, " * ", ROW_ONE_DASH | ROW_RESPONSE, "runs a plugin or writes more", 0,
     " I I* proto_path proto_path=* cpp_out=* csharp_out=* java_out=* kotlin_out=* objc_out=* "
     "php_out=* pyi_out=* python_out=* ruby_out=* error_format=* fatal_warnings version help h "},
    {" protoc ", NULL, NULL,
     " cpp_out csharp_out java_out kotlin_out objc_out php_out pyi_out python_out ruby_out ",
     ROW_ONE_DASH | ROW_FOLDER, LEADS_OUT},
    {" clang-tidy ", NULL, NULL,
     " load* fix* p config* export-fixes* vfsoverlay* extra-arg* store-check-profile* plugin* ",
     ROW_ONE_DASH | ROW_RESPONSE, OTHER},
    {" clang-format ", NULL, NULL, " i style=file:* ", ROW_ONE_DASH | ROW_RESPONSE,
     "writes files or reads another configuration"},
    {" cppcheck ", NULL, NULL,
     " addon addon-python clang config-excludes-file project rule-file output-file dump "
     "cppcheck-build-dir plist-output checkers-report executor library ",
     0, OTHER},
    {" ccache sccache distcc icecc bear scan-build hyperfine rlwrap faketime proot eatmydata numactl "
     "cpulimit dbus-run-session ssh-agent direnv mise asdf nix nix-shell gosu su-exec tini dumb-init "
     "xdg-open open apptainer caffeinate chronic devbox dlv gdbserver guix heaptrack ifne "
     "proxychains proxychains4 reflex rr runcon schroot singularity torify watchexec winpty ",
     NULL, NULL, NULL, ROW_ALWAYS, "starts the program that it is given"},

    {" cargo ",
     " add b bench build c check clean clippy d doc fetch fix fmt generate-lockfile help info init "
     "install locate-project login logout metadata new owner package pkgid publish r read-manifest "
     "remove report rm run rustc rustdoc search t test tree uninstall update vendor "
     "verify-project version yank nextest ",
     NULL, NULL, ROW_ALWAYS | ROW_EXCEPT | ROW_ALIAS,
     "is no subcommand that is known: it may be an alias"},
    {" cargo ", NULL, "CZ",
     " config manifest-path target-dir lockfile-path artifact-dir out-dir runner ", ROW_PLUS,
     OTHER},
    {" cargo ", " clippy ", "CZL", " fix codegen ", ROW_AFTER, OTHER},
    {" cargo ", " nextest ", NULL,
     " config-file tool-config-file extract-to archive-file user-config-file ", ROW_WHOLE,
     "reads another configuration or writes elsewhere"},
    {" cargo ", " rustc rustdoc ", NULL, NULL, ROW_ALWAYS, "hands options to the compiler"},
    {" cargo ", " install fix vendor publish login logout owner yank ", NULL, NULL, ROW_ALWAYS,
     "writes elsewhere or reaches out"},
    {" cargo ", " new init ", NULL, " vcs ", 0, RUNS},
    {" cargo ", " doc d ", NULL, " open ", 0, RUNS},
    {" cargo ", " fmt ", NULL, " config config-path emit ", ROW_AFTER, OTHER},
    {" cargo ", " test t bench ", NULL, " logfile ", ROW_AFTER, WRITES},
    {" cargo ", " add package search info ", NULL, " registry index git path ", 0,
     "installs from elsewhere"},
    {" rustc rustdoc ", NULL, "CZLo",
     " codegen extern out-dir sysroot test-builder test-runtool html-in-header theme "
     "output emit print ",
     ROW_RESPONSE | ROW_PLUS, "loads or writes something else"},
    {" rustc rustdoc ", NULL, NULL, " .json ", ROW_HOLDS, "reads another configuration"},
    {" rustdoc ", NULL, NULL,
     " runtool markdown-css html-before-content html-after-content markdown-before-content "
     "markdown-after-content extend-css check-theme persist-doctests scrape-examples-output-path "
     "doctest-compilation-args index-page static-root-path write-rendered-cci include-parts-dir "
     "parts-out-dir test-run-directory ",
     0, "loads or writes something else"},
    {" rustfmt ", NULL, NULL, " config config-path emit print-config ", ROW_PLUS, OTHER},
    {" rustup ", " run override self set toolchain ", NULL, NULL, ROW_ALWAYS,
     "changes which toolchain runs"},

    {" go ", NULL, NULL,
     " toolexec exec overlay modfile ldflags gcflags asmflags gccgoflags vettool pkgdir compiler mod "
     "fixtool http insecure ",
     ROW_ONE_DASH, "runs another program or reads another configuration"},
    {" go ", NULL, NULL,
     " o cpuprofile memprofile blockprofile mutexprofile trace coverprofile outputdir test.* "
     "debug-* artifacts ",
     ROW_ONE_DASH, WRITES},
    {" go ", NULL, NULL, " C ", ROW_ONE_DASH | ROW_FOLDER, LEADS_OUT},
    {" go ", " test ", NULL, " c fuzz* ", ROW_ONE_DASH, WRITES},
    {" go ", " vet fix ", NULL, " fix ", ROW_ONE_DASH, "writes files"},
    {" go ", " clean ", NULL, " modcache cache fuzzcache ", ROW_ONE_DASH, "removes more"},
    {" go ", " env ", NULL, " w u ", ROW_ONE_DASH, "changes the configuration"},
    {" go ", " tool bug telemetry ", NULL, NULL, ROW_ALWAYS, RUNS},
    {" gofmt goimports gofumpt ", NULL, NULL, " w cpuprofile memprofile trace ", ROW_ONE_DASH,
     "writes files"},
    {" gotestsum ", NULL, NULL, " post-run-command raw-command junitfile jsonfile* ", ROW_WHOLE,
     "runs a program or writes a file"},
    {" gotestsum ", NULL, NULL, NULL, ROW_REST, "hands options to `go test`", 0,
     " ./... -v -race -short -cover -count=* -run=* -timeout=* "},
    {" golangci-lint ", NULL, "c",
     " config output* out-* fix cpu-profile-path mem-profile-path trace-path ", 0, OTHER},
    {" golangci-lint ", " custom migrate ", NULL, NULL, ROW_ALWAYS, RUNS},
    {" staticcheck ", NULL, NULL, " debug.* ", ROW_ONE_DASH, WRITES},

    {" java jshell ", NULL, NULL,
     " javaagent* agentlib* agentpath* Xrun* XX:OnError* XX:OnOutOfMemoryError* XX:Flags* "
     "XX:VMOptionsFile* XX:ErrorFile* XX:HeapDumpPath* XX:LogFile* XX:SharedArchiveFile* Xbootclasspath* Xlog* Xloggc* patch-module* "
     "upgrade-module-path* R* J* ",
     ROW_ONE_DASH | ROW_RESPONSE, "loads something else or writes a file"},
    {" javac javadoc jar jlink ", NULL, NULL,
     " processor* J* Xplugin* doclet* docletpath* taglet* tagletpath* d s h A* "
     "upgrade-module-path system bootclasspath* ",
     ROW_ONE_DASH | ROW_RESPONSE, "loads something else or writes elsewhere"},
    {" kotlinc scalac ", NULL, NULL, " Xplugin* P* d J* kotlin-home script toolcp ",
     ROW_ONE_DASH | ROW_RESPONSE, OTHER},
    {" mvn mvnw mvnd ", NULL, NULL,
     " f* file s* settings gs* global-settings t toolchains gt* global-toolchains l log-file D* "
     "define P* activate-profiles b builder ",
     ROW_ONE_DASH, OTHER, 0,
     " DskipTests* Dtest=* Dmaven.test.skip* DfailIfNoTests* Dsurefire.failIfNoSpecifiedTests* "
     "fae ff fail-fast fail-at-end fail-never fn show-version strict-checksums "},
    /* Letters may be bundled. */
    {" mvn mvnw mvnd ", NULL, "fslbDP", NULL, 0, OTHER, 0,
     " pl am amd rf llr fae ff fn ntp nsu npu npr cpu up ssm itr DskipTests* Dtest=* "
     "Dmaven.test.skip* DfailIfNoTests* Dsurefire.failIfNoSpecifiedTests* "},
    {" mvn mvnw mvnd ", NULL, NULL,
     " is* install-settings it* install-toolchains ps* project-settings emp* ep* encrypt* l* ",
     ROW_ONE_DASH, OTHER, 0, " llr lax-checksums legacy-local-repository "},
    {" mvn mvnw mvnd ", NULL, NULL, " exec: exec-maven antrun gmaven groovy: ", ROW_HOLDS, RUNS},
    /* With two dashes they may be cut. */
    {" mvn mvnw mvnd ", NULL, NULL,
     " file settings global-settings toolchains global-toolchains log-file define activate-profiles "
     "builder ",
     0, OTHER},
    {" gradle gradlew ", NULL, NULL,
     " I* init-script b build-file c settings-file g gradle-user-home D* P* system-prop project-prop "
     "include-build project-cache-dir write-locks write-verification-metadata M F export-keys scan "
     "update-locks dependency-verification ",
     ROW_ONE_DASH, OTHER},
    {" gradle gradlew ", NULL, "bcgIDPMF", NULL, 0, OTHER},
    {" gradle gradlew ", NULL, NULL, " p project-dir ", ROW_ONE_DASH | ROW_FOLDER, LEADS_OUT},
    {" gradle gradlew ", NULL, "p", NULL, ROW_FOLDER, LEADS_OUT},
    {" sbt ", NULL, NULL, " D* J* java-home sbt-* addPluginSbtFile* script* client ", ROW_ONE_DASH,
     OTHER},

    {" dotnet msbuild ", NULL, NULL,
     " p:* property* logger* l:* dl:* distributedlogger* test-adapter-path* settings* s:* s diag* d:* "
     "collect* results-directory* r output* o o:* bl* binaryLogger* fl* flp* fileLogger* "
     "additionalprobingpath* additional-deps* depsfile* runtimeconfig* fx-version* roll-forward "
     "t:* target* artifacts-path* configfile* source* project* l d a restoreProperty* rp:* "
     "getResultOutputFile* inputResultsCaches* irc* outputResultsCache* orc* pp* preprocess* ts* "
     "distributedFileLogger* dfl* toolsversion* tv* validate* val* profileevaluation* isolate* ",
     ROW_ONE_DASH | ROW_LOOSE | ROW_RESPONSE | ROW_ASSIGNS, OTHER},
    {" dotnet msbuild ", NULL, NULL,
     " /p:* /property* /l:* /logger* /dl* /t:* /target* /bl* /fl* /o* /s* /d* /tl* /rp* /restore* /pp* "
     "/pre* /ts* /tv* /val* /irc* /inp* /get* /bin* /isolate* /tools* ",
     ROW_BARE | ROW_LOOSE, OTHER},
    {" dotnet ",
     " add build build-server clean dev-certs exec format fsi help list msbuild new nuget pack package "
     "project publish reference remove restore run script sdk sln solution store test tool user-secrets "
     "vstest watch workload ",
     NULL, NULL, ROW_ALWAYS | ROW_EXCEPT, "runs an assembly or a tool"},
    {" dotnet ", " exec fsi tool new nuget script workload dev-certs user-secrets ", NULL, NULL,
     ROW_ALWAYS, "runs or changes more"},
    {" swift swiftc ", NULL, NULL,
     " load-plugin* plugin-path* external-plugin* Xfrontend Xcc Xlinker tools-directory* toolchain* "
     "B* ld-path* use-ld* resource-dir* sdk* package-path scratch-path build-path Xswiftc Xcxx "
     "Xmanifest toolset swift-sdk* disable-sandbox config-path cache-path security-path netrc* "
     "destination pkg-config-path multiroot-data-file chdir C experimental-* ",
     ROW_ONE_DASH | ROW_RESPONSE, OTHER},
    {" swiftc swift ", NULL, NULL,
     " Xllvm output-file-map vfsoverlay* driver-use* driver-print* save-temps index-* emit-*path "
     "emit-module-path emit-dependencies-path emit-objc-header-path emit-tbd-path "
     "emit-loaded-module-trace-path emit-module-interface-path module-cache-path "
     "serialize-diagnostics-path access-notes-path working-directory* clang-scanner* ",
     ROW_ONE_DASH, "writes or reads something else"},
    {" ghc ghci runghc ", NULL, NULL, " pgm* F fplugin* plugin-package* package-db* B* opt* o* ",
     ROW_ONE_DASH | ROW_RESPONSE, OTHER},
    {" cabal stack ", NULL, NULL,
     " with-* config-file project-file project-dir builddir stack-yaml docker* ghc-option* extra-* "
     "nix* exec work-dir stack-root ",
     0, OTHER},
    {" pyenv rbenv nodenv goenv jenv plenv fnm volta nvm rye pixi opam ", NULL, NULL,
     " exec run x ", ROW_BARE, "starts the program that it is given"},
    {" cabal stack dune ", NULL, NULL, " exec runghc runhaskell script eval repl ghci utop ",
     ROW_BARE, RUNS},
    {" dune ", NULL, NULL, " root workspace config-file build-dir trace-file ", 0, OTHER},
    {" mix elixir ", NULL, "rS", " require pz pa erl app cookie rpc-eval eval ", 0, "runs code"},
};

const struct program_rows program_rows_build = {rows, ARRAY_LEN(rows)};
