/* Packages, tests, linters and formatters of JavaScript, Python, Ruby and PHP. */
#include "policy/program_rows.h"

#define RUNS "runs a program"
#define WRITES "writes a file"
#define LOADS "loads or configures something else"
#define LEADS_OUT "leads out of the folder"

static const struct program_row rows[] = {
    {" npm npx pnpm pnpx yarn bun bunx ", NULL, NULL,
     " script-shell shell shell-emulator node-options userconfig globalconfig config config.* "
     "scripts-prepend-node-path git init-module init.module registry @* proxy https-proxy "
     "noproxy cafile cache cache-folder modules-folder global-folder global-style pack-destination "
     "logs-dir store-dir virtual-store-dir modules-dir use-yarnrc preload require viewer editor "
     "browser node-gyp python pnpmfile "
     "global-pnpmfile global-dir global-bin-dir state-dir node-version use-node-version "
     "node-linker ignore-scripts=false* call unsafe-perm global location "
     "outfile outdir target-dir compile inspect* cert key ",
     ROW_ANY_DASH, "reads another configuration or runs another program"},
    {" npm npx yarn pnpm pnpx ", NULL, "gc", NULL, 0,
     "reads another configuration or runs another program"},
    {" bun bunx ", NULL, "grc", NULL, 0, "reads another configuration or runs another program"},
    {" npm pnpm yarn bun ", NULL, "C", " prefix dir cwd local-prefix ", ROW_FOLDER | ROW_ANY_DASH,
     LEADS_OUT},
    {" npm pnpm yarn bun ",
     " config c set exec x dlx explore edit pkg set-script create init link login "
     "adduser token hook node env setup server store ",
     NULL, NULL, ROW_ALWAYS, "runs programs or changes what npm runs"},
    {" yarn pnpm ", " workspace workspaces ", NULL, " exec dlx node ", ROW_BARE, RUNS},
    {" deno ", NULL, "AcrL",
     " allow-* config import-map lock cert preload location unsafely-* reload inspect* v8-flags node-modules-dir "
     "output coverage env-file permission-set require conditions ",
     ROW_WHOLE, "allows more or configures something else"},
    {" deno ", " eval repl install compile upgrade serve jupyter publish ", NULL, NULL, ROW_ALWAYS,
     "runs or changes more"},
    {" jest ", NULL, NULL, " * ", ROW_ONE_DASH, LOADS, 0,
     " t t=* testNamePattern testNamePattern=* testPathPattern testPathPattern=* testPathPatterns "
     "testPathPatterns=* testPathIgnorePatterns=* testMatch=* testRegex=* bail bail=* b verbose silent "
     "runInBand i maxWorkers maxWorkers=* w=* maxConcurrency=* ci passWithNoTests noStackTrace color "
     "colors no-color no-colors forceExit detectOpenHandles detectLeaks showSeed randomize seed=* "
     "listTests testTimeout testTimeout=* expand e errorOnDeprecated clearMocks resetMocks restoreMocks "
     "no-cache logHeapUsage findRelatedTests runTestsByPath shard=* watchman=false useStderr coverage "
     "collectCoverage collectCoverageFrom=* coverageProvider=v8 coverageProvider=babel "
     "selectProjects ignoreProjects json help version "},
    {" vitest ", NULL, NULL, " * ", ROW_ONE_DASH, LOADS, 0,
     " run watch w no-watch bail bail=* silent silent=* hideSkippedTests maxWorkers maxWorkers=* "
     "minWorkers=* testNamePattern testNamePattern=* t t=* exclude exclude=* color no-color "
     "passWithNoTests allowOnly isolate no-isolate retry=* testTimeout testTimeout=* hookTimeout=* "
     "teardownTimeout=* logHeapUsage no-file-parallelism fileParallelism=false maxConcurrency=* "
     "shard=* dangerouslyIgnoreUnhandledErrors globals dom no-coverage coverage coverage.enabled* "
     "reporter=dot reporter=verbose reporter=default reporter=basic help version v "},
    {" mocha ", NULL, "rRunO",
     " require config package opts file loader import node-option reporter reporter-option* ui "
     "experimental-* extension inspect* ",
     ROW_LOOSE, LOADS},
    {" mocha ", NULL, NULL, " * ", ROW_ONE_DASH, LOADS, 0,
     " g g=* grep grep=* f f=* fgrep fgrep=* i invert b bail t t=* timeout timeout=* s s=* slow slow=* "
     "A async-only c color colors no-color no-colors exit no-exit check-leaks full-trace forbid-only "
     "forbid-pending parallel no-parallel j j=* jobs jobs=* retries retries=* dry-run recursive sort S "
     "diff no-diff inline-diffs allow-uncaught no-timeout no-timeouts fail-zero bail=* "
     "pass-on-failing-test-suite help h version V list-interfaces list-reporters reporter=spec "
     "reporter=dot reporter=min reporter=list reporter=tap reporter=json R=spec R=dot R=min R=list "
     "R=tap R=json "},
    {" mocha ", NULL, NULL, " init ", ROW_BARE, WRITES},
    {" jasmine ", NULL, NULL, " config helper require reporter ", ROW_LOOSE, LOADS},
    {" gulp grunt ", NULL, "fb", " gulpfile cwd require preload gruntfile base tasks npm ",
     ROW_LOOSE, LOADS},
    {" ava tap nyc c8 ", NULL, "rco",
     " require config nycrc-path cwd temp-dir report-dir reporter instrumenter node-arguments loader "
     "import plugin before after output-file test-arg node-arg hook-* ",
     ROW_LOOSE, LOADS},
    {" nyc ", NULL, "it", " cache-dir parser-plugins temp-directory ", ROW_LOOSE, LOADS},
    {" c8 ", NULL, NULL, " reports-dir temp-directory src resolve ", ROW_LOOSE, LOADS},
    {" ava ", NULL, "u", " update-snapshots environment-variables reset-cache ", ROW_LOOSE, LOADS},
    {" playwright ", NULL, "cu", " config output reporter tsconfig ui* update-snapshots ",
     ROW_LOOSE, LOADS},
    {" playwright ", " install codegen open show-report uninstall ", NULL, NULL, ROW_ALWAYS, RUNS},
    {" cypress ", NULL, "CPbor", " config config-file project browser reporter* env record key ",
     ROW_LOOSE, LOADS},
    {" eslint ", NULL, "cof",
     " config rulesdir plugin parser parser-options resolve-plugins-relative-to format output-file mcp "
     "fix cache cache-location cache-file prune-suppressions init env-info ignore-path flag inspect-config suppress-* "
     "suppressions-location ",
     ROW_LOOSE, LOADS, 0, " format=json format=stylish format=unix format=compact "},
    {" prettier ", NULL, "w",
     " config plugin plugin-search-dir write config-path parser ignore-path cache cache-location ",
     ROW_LOOSE, "loads something else or writes files"},
    {" stylelint ", NULL, "cfo",
     " config config-basedir custom-syntax custom-formatter formatter output-file fix cache "
     "cache-location "
     "ignore-path ",
     ROW_LOOSE, LOADS},
    {" biome ", NULL, NULL, " config-path write fix unsafe apply apply-unsafe vcs-root log-file ",
     ROW_LOOSE, "writes files or reads another configuration"},
    {" tsc ", NULL, NULL,
     " p project b build outDir outFile out declarationDir tsBuildInfoFile generateTrace "
     "generateCpuProfile plugins rootDir baseUrl init sourceRoot ",
     ROW_ONE_DASH | ROW_LOOSE | ROW_RESPONSE, "reads another configuration or writes elsewhere"},
    {" webpack vite rollup esbuild parcel swc babel turbo nx lerna ", NULL, "codp",
     " config config-* outdir outfile output-path output-file output* dist-dir plugin plugins presets merge env cwd cache-dir root inject* tsconfig* metafile servedir require file dir team token api ",
     ROW_LOOSE, LOADS},
    {" webpack ", NULL, NULL, " * ", ROW_ONE_DASH, LOADS, 0,
     " mode mode=* progress progress=* color no-color stats stats=* bail no-bail fail-on-warnings watch "
     "w node-env=production node-env=development devtool=false no-devtool help version v h "},
    {" vite ", NULL, NULL, " * ", ROW_ONE_DASH, LOADS, 0,
     " mode=production mode=development m=production m=development l l=* logLevel logLevel=* "
     "clearScreen clearScreen=* minify minify=* sourcemap sourcemap=* target=* watch w port port=* "
     "strictPort force debug=* help version v h "},
    {" vite ", NULL, NULL, NULL, ROW_OUTSIDE, LEADS_OUT},
    {" rollup ", NULL, NULL, " watch.* ", ROW_LOOSE, RUNS},
    {" turbo ", NULL, NULL, " graph profile anon-profile ", ROW_LOOSE, WRITES},
    {" parcel ", NULL, NULL, " reporter ", ROW_LOOSE, LOADS},
    {" nx ", NULL, NULL, " command commands ", ROW_LOOSE, RUNS},
    {" nodemon concurrently npm-run-all run-s run-p cross-env dotenv wireit ", NULL, NULL, NULL,
     ROW_ALWAYS, "starts programs that it is given"},

    {" pip pip3 pipx ", NULL, "ifterc",
     " index-url extra-index-url find-links target prefix root config-settings global-option "
     "install-option build-option python log log-file local-log proxy cert client-cert trusted-host editable requirement "
     "constraint report src user break-system-packages cache-dir dest wheel-dir "
     "keyring-provider no-build-isolation ",
     0, "installs from elsewhere or to elsewhere"},
    {" pip pip3 ", " config cache download wheel debug index ", NULL, NULL, ROW_ALWAYS,
     "writes elsewhere or reaches out"},
    {" pipx ", " run runpip inject environment ", NULL, NULL, ROW_ALWAYS, RUNS},
    {" uv ", NULL, "pifr",
     " config-file index index-url extra-index-url default-index find-links python with* cache-dir env-file "
     "target prefix config-setting* editable requirements constraints overrides build-constraints "
     "allow-insecure-host publish-url keyring-provider script system "
     "break-system-packages output-file no-build-isolation* ",
     ROW_WHOLE, "reads another configuration or installs from elsewhere"},
    {" uv poetry pdm hatch pipenv ", NULL, "Cp", " directory project work-dir ",
     ROW_FOLDER | ROW_WHOLE, LEADS_OUT},
    {" uv ", " tool ", NULL, " run install upgrade uninstall ", ROW_BARE, RUNS},
    {" poetry pdm hatch pipenv conda mamba ", " config shell self source env cache ", NULL, NULL,
     ROW_ALWAYS, "runs programs or changes the configuration"},
    {" poetry pdm hatch pipenv conda mamba ", NULL, "cr",
     " config index-url pypi-mirror channel prefix file override-channels python source "
     "requirements pre repository ",
     0, "reads another configuration or installs from elsewhere"},
    {" tox ", NULL, "cxC",
     " conf override workdir root develop installpkg force-dep discover result-json runner* "
     "toxworkdir index-url no-provision ",
     0, LOADS},
    {" tox ", " exec devenv quickstart ", NULL, NULL, ROW_ALWAYS, RUNS},
    {" nox ", NULL, "fpPd",
     " noxfile envdir default-venv-backend force-venv-backend extra-python* force-python "
     "download-python report python pythons ",
     0, LOADS},
    {" pytest py.test ", NULL, "pco",
     " rootdir confcutdir basetemp override-ini import-mode pdbcls config-file junitxml junit-xml "
     "log-file report-log resultlog html self-contained-html cov-config cov-report debug pastebin "
     "plugin ds dc rsyncdir dist tx px pyargs cache-dir "
     "alluredir json-report-file benchmark-* snapshot-update mpl-* memray-* mypy-config-file "
     "mypy-ini-file profile-svg pstats-dir regtest-reset force-regen typeguard-packages ",
     ROW_RESPONSE | ROW_WHOLE, LOADS, 0, " cov-report=term* benchmark-skip "},
    {" mypy dmypy ", NULL, NULL,
     " python-executable config-file custom-typeshed-dir custom-typing-module plugins cache-dir "
     "junit-xml any-exprs-report cobertura-xml-report html-report linecount-report linecoverage-report "
     "lineprecision-report txt-report xml-report xslt-html-report xslt-txt-report install-types "
     "cache-map pdb shadow-file package-root status-file log-file timing-stats line-checking-stats perf-stats-file ",
     ROW_RESPONSE, "runs, reads or writes something else"},
    {" pylint ", NULL, "f",
     " init-hook load-plugins rcfile output output-format extension-pkg-allow-list "
     "extension-pkg-whitelist unsafe-load-any-extension source-roots import-graph "
     "ext-import-graph int-import-graph generate-* spelling-private-dict-file "
     "spelling-store-unknown-words ",
     0, "runs code or writes a file", 0,
     " output-format=text output-format=json output-format=colorized "},
    {" flake8 ", NULL, NULL, " config append-config enable-extensions output-file tee ", 0, LOADS},
    {" ruff ", NULL, "o",
     " config output-file fix fix-only unsafe-fixes add-noqa cache-dir watch python ",
     ROW_RESPONSE | ROW_WHOLE, "writes a file or reads another configuration"},
    {" black ", NULL, "c", " config code ", 0, "reads another configuration"},
    {" isort ", NULL, NULL,
     " settings-path settings-file settings sp cr config-root virtual-env venv conda-env resolve-all-configs "
     "formatter ",
     0, LOADS},
    {" pyright basedpyright ", NULL, NULL,
     " p project pythonpath venvpath v venv-path typeshedpath t createstub watch w typeshed-path "
     "writebaseline baselinefile baseline-file ",
     ROW_ONE_DASH, LOADS},
    {" bandit ", NULL, "co", " configfile output ini baseline profile ", 0,
     "reads or writes another file"},
    {" pycodestyle pydocstyle autopep8 yapf pyflakes vulture ", NULL, "i",
     " config global-config in-place style add-* ", 0, "writes files or reads others"},
    {" coverage ", NULL, "do", " rcfile data-file directory ", 0, LOADS},
    {" coverage ", " run ", NULL, NULL, ROW_ALWAYS, RUNS},
    {" sphinx-build ", NULL, "cDdw", " conf-dir define doctree-dir warning-file ", 0, LOADS},
    {" mkdocs ", NULL, "fdt", " config-file site-dir theme ", 0, LOADS},
    {" hugo ", NULL, "dsclt",
     " config configDir destination source themesDir cacheDir contentDir layoutDir theme ",
     ROW_LOOSE, LOADS},
    {" jekyll ", NULL, "dscp", " destination source config plugins layouts ", 0, LOADS},
    {" pre-commit ", NULL, "c", " config commit-msg-filename ", 0, LOADS},
    {" pre-commit ", " install try-repo autoupdate init-templatedir migrate-config ", NULL, NULL,
     ROW_ALWAYS, "changes what git runs"},

    /* Some of these stay in the folder's settings. */
    {" bundle bundler ", NULL, NULL,
     " gemfile path binstubs standalone trust-policy shebang system target-rbconfig with without frozen "
     "deployment cache-path no-prune ",
     0, LOADS},
    {" bundle bundler ", " config open plugin console gem init env binstubs inject ", NULL, NULL,
     ROW_ALWAYS, RUNS},
    /* Any other word may be cut, or one of a plugin. */
    {" bundle bundler ",
     " add binstubs cache check clean config console doctor env exec fund gem help info init inject "
     "install issue licenses list lock open outdated package platform plugin pristine remove show "
     "update version viz ",
     NULL, NULL, ROW_ALWAYS | ROW_EXCEPT | ROW_ALIAS, "is no subcommand that is known"},
    {" gem ", NULL, "isnCP", " source install-dir bindir config-file trust-policy clear-sources ",
     0, "installs from elsewhere or to elsewhere"},
    {" rspec ", NULL, "rIoO",
     " require out options default-path bisect init deprecation-out drb drb-port ", 0,
     "loads something else or writes a file"},
    {" rspec ", NULL, "fX", " format ", 0, LOADS, 0,
     " fd fp fdocumentation fprogress fj fjson f=d f=p f=documentation f=progress f=j f=json "
     "format=d format=p format=documentation format=progress format=j format=json "},
    {" rake ", NULL, "fIrReEpgN",
     " rakefile libdir require rakelibdir rakelib execute execute-print execute-continue system "
     "suppress-* ",
     ROW_ASSIGNS, "runs code or sets a variable"},
    {" rake ", NULL, "C", " directory ", ROW_FOLDER, LEADS_OUT},
    {" rubocop standardrb ", NULL, "rcoaAxf",
     " require plugin config out autocorrect* auto-correct* auto-gen* fix* format init server* cache-root "
     "start-server restart-server stdin-file regenerate-todo ",
     0, "loads something else or writes a file"},
    {" cucumber ", NULL, "rfo", " require format out profile ", 0, LOADS},
    {" erb ", NULL, "r", NULL, 0, "runs code"},

    {" composer ", NULL, "d", " working-dir ", ROW_FOLDER, LEADS_OUT},
    {" composer ",
     " exec config global create-project self-update selfupdate init archive browse home ", NULL,
     NULL, ROW_ALWAYS, "runs programs or changes the configuration"},
    /* Any other word may be cut, or a script of the project. */
    {" composer ",
     " about archive audit browse bump cc check-platform-reqs clear-cache clearcache config "
     "create-project depends diagnose dump-autoload dumpautoload exec fund global help home i info init "
     "install licenses list outdated prohibits r reinstall remove require rm run run-script search "
     "self-update selfupdate show status suggests u uninstall update upgrade validate why why-not ",
     NULL, NULL, ROW_ALWAYS | ROW_EXCEPT | ROW_ALIAS, "is no subcommand that is known"},
    {" composer ", NULL, NULL, " repository repository-url plugin ", 0, "installs from elsewhere"},
    {" phpunit pest paratest ", NULL, "cd",
     " configuration bootstrap include-path extension printer loader log-* coverage-* testdox-* "
     "cache-directory cache-result-file generate-* migrate-configuration runner prepend "
     "list-tests-xml use-baseline ",
     0, LOADS, 0, " coverage-text "},
    {" phpstan psalm phan ", NULL, "cabro",
     " configuration autoload-file generate-baseline config root bootstrap* set-baseline plugin "
     "alter report output tmp-file instead-of pro fix error-format ",
     0, LOADS, 0, " error-format=json error-format=table error-format=raw error-format=github "},
    {" php-cs-fixer phpcs phpcbf pint ", NULL, "d",
     " config standard report-* bootstrap cache-file basepath runtime-set config-set path-mode ", 0,
     LOADS},
};

const struct program_rows program_rows_script = {rows, ARRAY_LEN(rows)};
