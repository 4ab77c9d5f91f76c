package Idadmin::Test::Load;
# Load on an httpd by wrk with the script t/tool/load.lua. Knows no API.
use strict;
use warnings;
use Idadmin::Test ();
use POSIX ();

sub skip_reason { return Idadmin::Test::program_path('wrk') ? '' : 'wrk is not installed' }

# run($port, connections, seconds, method, target, body => TEXT, headers => {...}, users => N) ->
# { requests (answered with 200), errors (other answers, broken connections), rate (a second),
# p50, p99, max (ms), statuses => { status => count } }, where status 0 counts broken connections.
# What "{n}" and "{u}" mean in target and body, load.lua says. A request without an answer at the
# end counts nowhere.
sub run {
    my ($class, $port, $connections, $seconds, $method, $target, %how) = @_;
    die skip_reason() . "\n" if skip_reason();
    my $headers = $how{headers} // {};
    # wrk takes whole seconds. SIGINT ends a run as its time would, at any fraction of one. On a
    # busy machine it can arrive before wrk waits for it: a run that ended without a word never
    # began.
    my $result;
    for (1 .. 20) {
        $result = Idadmin::Test::run_command(['timeout', '--preserve-status', '-s', 'INT',
            $seconds, 'wrk', '-t', $connections, '-c', $connections, '-d', int($seconds) + 10,
            '-s', Idadmin::Test::src_dir() . '/t/tool/load.lua', "http://127.0.0.1:$port", '--',
            $connections, $how{users} // 1, $method, $target, $how{body} // '',
            map {"$_: $headers->{$_}"} sort keys %$headers], timeout => $seconds + 120);
        last if $result->{exit} != 128 + POSIX::SIGINT() || length $result->{out};
    }
    my ($figures) = $result->{out} =~ /^(\{.*\})$/m;
    die "wrk: $result->{out}$result->{err}" if $result->{exit} || !$figures;
    return Idadmin::Test::json_data($figures);
}

1;
