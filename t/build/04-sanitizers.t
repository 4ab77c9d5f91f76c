# The harness catches a sanitizer's report: a script whose tests all pass fails if a process it
# started wrote a report, whatever exit status that process and its parent had. Proved with
# deliberate faults, in a program and in a child of httpd.
use strict;
use warnings;
use Test::More;
use Idadmin::Test qw(build_config build_dir run_command slurp spew src_dir tempdir);

my $kind = build_config()->{sanitizers};
plan(skip_all => 'no sanitizer in this build') if !$kind;

my %set = map { /^(\w+) = (.*)$/ ? ($1 => $2) : () } split /\n/, slurp(build_dir() . '/config.mak');
my $dir = tempdir();

my $faults = <<'C';
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int shared;
static void *increment(void *unused) { shared++; return unused; }

static int fault(const char *name)
{
    if (strcmp(name, "race") == 0) {
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) {
            pthread_create(&threads[i], NULL, increment, NULL);
        }
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[i], NULL);
        }
        return shared;
    }
    char *volatile bytes = malloc(16);
    memset(bytes, 1, 16);
    if (strcmp(name, "overflow") == 0) {
        volatile int most = 0x7fffffff;
        most += bytes[0];
    }
    if (strcmp(name, "leak") != 0) {
        free(bytes);
    }
    int value = strcmp(name, "use-after-free") == 0 ? bytes[3] : 0;
    bytes = NULL;
    return value;
}
C

sub compiled {
    my ($name, $code, @flags) = @_;
    spew("$dir/$name.c", $faults . $code);
    my $made = run_command(['/bin/sh', '-c',
        "$set{CC} -D_GNU_SOURCE -pthread $set{SANITIZE} $set{CFLAGS} @flags -o '$dir/$name' "
        . "'$dir/$name.c'"]);
    is($made->{exit}, 0, "$name is compiled") or diag($made->{err});
    chmod 0755, "$dir/$name";
}

compiled('program',
    "#include <sys/wait.h>\n#include <unistd.h>\nint main(int count, char **argv) { siginfo_t i; "
    . "if (count > 2 && fork()) { waitid(P_ALL, 0, &i, WEXITED | WNOWAIT); return 0; } "
    . "return fault(argv[1]) == 0x1234; }\n");
compiled('module.so', <<'C', "$set{HTTPD_CFLAGS} $set{CORE_CFLAGS} -fPIC -shared");
#include <httpd.h>
#include <http_config.h>
#include <http_protocol.h>
static int handle(request_rec *r)
{
    if (!r->handler || strcmp(r->handler, "fault") != 0) {
        return DECLINED;
    }
    int faulty = fault(r->args ? r->args : "") < 0;
    return faulty ? HTTP_INTERNAL_SERVER_ERROR : ap_rputs("done\n", r) < 0;
}
static void hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_handler(handle, NULL, NULL, APR_HOOK_MIDDLE);
}
module AP_MODULE_DECLARE_DATA fault_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, hooks, 0};
C

# A script of its own, with this body, whose one test passes.
sub script {
    my ($body) = @_;
    spew("$dir/script.t",
        "use strict; use warnings; use Test::More; use Idadmin::Test; use "
        . "Idadmin::Test::Httpd;\n$body\nok(1, 'passed'); done_testing();\n");
    return run_command([$^X, '-I' . src_dir() . '/t/lib', "$dir/script.t"],
        env => { IDADMIN_BUILD => build_dir(), IDADMIN_SRC => src_dir(),
        map { $_ => undef } qw(ASAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS) });
}

my %report = (leak => qr/LeakSanitizer/, 'use-after-free' => qr/heap-use-after-free/,
    overflow => qr/signed integer overflow/, race => qr/data race/);
my @wrong = $kind eq 'thread' ? ('race') : qw(use-after-free overflow leak);

my $command = sub { my ($fault, $more) = @_;
    return "run_command(['$dir/program', '$fault'$more], user => Idadmin::Test::runtime_user());" };
my $httpd = sub {
    my ($fault) = @_;
    return "my \$httpd = Idadmin::Test::Httpd->new(start => 0, module => 0, children => 2, server "
        . "=> \"LoadModule fault_module $dir/module.so\\n<Location /x>\\nSetHandler "
        . "fault\\n</Location>\");\n"
        . "\$httpd->expect_log(qr/exit|signal/);\n\$httpd->start; eval { "
            . "\$httpd->client->request(GET => '/x?$fault') }; \$httpd->stop;";
};
my %run = ('a program' => sub { $command->($_[0], '') },
    'a child that nobody waits for' => sub { $command->($_[0], ", 'forked'") },
    'a child of httpd' => $httpd);
for my $where (sort keys %run) {
    my $good = script($run{$where}->('nothing'));
    is($good->{exit}, 0, "$where: nothing is wrong") or diag($good->{out}, $good->{err});
    for my $fault (grep { $where ne 'a child of httpd' || $_ ne 'leak' } @wrong) {
        my $ended = script($run{$where}->($fault));
        like($ended->{out}, qr/^ok 1 - passed$/m, "$where, $fault: its test passes");
        isnt($ended->{exit}, 0, 'and the script fails');
        like($ended->{err}, $report{$fault}, 'telling the report');
    }
}
done_testing();
