# A thief of a backup gains no secret from the store's part, although it contains people and tasks.
# With the keys' part, which is stored separately, the thief
# still has no password and no API key. The page's steps after such a theft work as described.
use strict;
use warnings;
use utf8;
use Encode ();
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Slapd ();
use Idadmin::Test::Smtp ();
use Idadmin::Test::Stack;
use Idadmin::Test::Webhook ();
use Idadmin::Test::Workflows qw(act workflow);

my $reason = Idadmin::Test::Smtp->skip_reason;
plan skip_all => $reason if $reason;

my $smtp = Idadmin::Test::Smtp->new(auth => { user => 'identity', password => 'm4il-secret' });
my $hook = Idadmin::Test::Webhook->new;
my $stack;

sub back_up {
    my $to = tempdir() . '/backup-' . $stack->engine;
    mkdir $to or die "$to: $!\n";
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $to);
    $stack->ctl_ok('backup', "$to/store", '--keys', "$to/keys");
    return $to;
}

sub bytes_in { my ($dir) = @_; return join "\0", map { slurp($_) } glob "$dir/*" }

# name => what it must not hold, as text and as the bytes that hexadecimal digits stand for
sub secrets {
    my ($password) = @_;
    my $lib = "$stack->{base}/lib";
    my %of = ('bind password' => Idadmin::Test::Slapd::service_password(),
        'password of mail' => 'm4il-secret', 'initial password' => $password,
        'secret of webhooks' => slurp($hook->secret) =~ s/\s+\z//r,
        map({ ("API key $_" => $stack->key($_)->{apiKey}) } qw(full read)));
    my %key;
    for my $file (glob "$lib/*.key $lib/*.key.audit $lib/*.key.signing") {
        my $number;
        for my $line (grep {/\S/ && !/^-----/} split /\n/, slurp($file)) {
            $key{ $file =~ s{.*/}{}r . ' ' . ++$number } = $line =~ s/ new$//r;
        }
    }
    cmp_ok(scalar keys %key, '>=', 3, 'three keys of the service');
    return (\%of, \%key);
}

sub none_of {
    my ($bytes, $secrets, $where) = @_;
    for my $name (sort keys %$secrets) {
        my $text = $secrets->{$name};
        my @forms = ($text, $text =~ /\A(?:[0-9a-f]{2}){16,}\z/ ? pack 'H*', $text : ());
        ok(length $text > 8 && !grep({ index($bytes, $_) >= 0 } @forms), "no $name in $where");
    }
}

for_each_stack {
    ($stack) = @_;
    my $domain = $stack->domain;
    $stack->worker->stop;
    $stack->{worker} = $stack->new_worker(options => [$smtp->options]);
    my $document = $stack->tenant_document(
        notifications => [{ url => $hook->url('/ok'), secretFile => $hook->secret,
            events => ['task.done'], allowPrivate => JSON::PP::true() }],
        workflows => [workflow('Welcome', 'userCreate',
            act(sendInitialPassword => to => "first.line\@$domain"),
            act(callWebhook => url => $hook->url('/ok'), secretFile => $hook->secret,
                allowPrivate => JSON::PP::true()))]);
    $stack->apply_tenant($document);
    my $hire = $stack->post('/v1/api/user', { firstname => 'Åsa', surname => 'Öberg' });
    $stack->wait_task($hire->{json}{data}{taskId});
    my $mail = ($smtp->mail("first.line\@$domain"))[-1];    # the other engine's is older
    my ($password) = $mail->{body} =~ /^asa\.oberg\S*\n(\S{32})$/m or die "no password by mail\n";
    my $later = $stack->post('/v1/api/user', { firstname => 'Later', surname => 'Work',
        date => '2031-05-05', time => '09:00' })->{json}{data}{taskId};

    my $stolen = back_up();
    my ($of, $keys) = secrets($password);
    my $store = bytes_in("$stolen/store");
    ok(index($store, Encode::encode_utf8('Öberg')) >= 0 && index($store, $later) >= 0,
        'the thief of the store has people and queued work');
    none_of($store, $of, 'the store');
    none_of($store, $keys, 'the store');
    my $other = bytes_in("$stolen/keys");
    ok(!grep({ index($other, $_) < 0 } values %$keys), 'all keys lie in the other place');
    none_of($other, $of, 'the keys');

    # The page's steps after the theft of both.
    my $lib = "$stack->{base}/lib";
    my ($seal) = glob "$lib/*.key";
    $stack->worker->stop;
    $stack->ctl_ok('audit', $_) for qw(rotate-key ingest);
    unlink $seal or die "$seal: $!\n";
    $stack->ctl_ok('schema', 'upgrade');
    isnt(slurp($seal), slurp("$stolen/keys/seal.key"), 'a new seal key');
    $stack->apply_tenant($document);
    $stack->worker->start;
    my $after = $stack->post('/v1/api/user', { firstname => 'After', surname => 'Theft' });
    is($stack->wait_task($after->{json}{data}{taskId})->{state}, 'done',
        'with new keys work goes on');
    is($stack->ctl('audit', 'verify', 'nordic')->{exit}, 0, 'under a whole chain');
    $stack->worker->expect_log(qr/IDA0371/);    # earlier events, signed under the stolen key
};
done_testing();
