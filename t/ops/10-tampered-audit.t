# Each manipulation of the audit log by an attacker who can write the store is detected and
# described, with the first affected record. No false alarms: after erasure, retention, a new key, a
# worker killed in the middle of ingestion.
use strict;
use warnings;
use utf8;
use Digest::SHA qw(hmac_sha256 hmac_sha256_hex sha256_hex);
use Test::More;
use Idadmin::Test;
use Idadmin::Test::Stack;

my @tables = qw(record chain checkpoint chain_key);
my ($stack, $base, $public, $file);

# -- what is in the log

sub spool_of {
    my ($dir, @records) = @_;
    mkdir $dir;
    spew("$dir/202611210930.audit", join '', map { "\x1e" . json_text($_) . "\n" } @records);
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $dir, "$dir/202611210930.audit");
    return $dir;
}

sub record {
    my ($tenant, %with) = @_;
    my $rid = sprintf '%026d', ++our $number;
    return { rid => $rid, tenant => $tenant, at => 1_795_000_000_000 + $number, actor => 'hr',
        category => 'api', label => 'HR', action => 'user.create', target => "p$number\@x.example",
        endpoint => 'POST /v1/api/user', parameters => '{"n":1}', outcome => 'ok', %with };
}

sub add {
    my ($tenant, $count, %with) = @_;
    return $stack->ctl_ok('audit', 'ingest',
        spool_of("$base/node" . ++our $node, map { record($tenant, %with) } 1 .. $count),
        '--json');
}

sub verify {
    my (@options) = @_;
    return $stack->ctl('audit', 'verify', 'nordic', '--json', @options);
}

sub whole {
    my ($what, $count) = @_;
    for my $options ([], ['--checkpoints', $file, '--key', $public]) {
        my $result = verify(@$options);
        is($result->{exit}, 0, "$what: whole" . (@$options ? ', by the checkpoints' : ''))
            or diag $result->{out}, $result->{err};
        is($result->{json}{records}, $count, 'with its records') if defined $count;
    }
}

# -- the store behind the worker's back

sub rows { my ($what) = @_; return $stack->sql("SELECT $what") }
sub keep { my ($name) = @_;
    $stack->sql("CREATE TABLE audit.${name}_$_ AS SELECT * FROM audit.$_") for @tables }
sub put_back { my ($name) = @_;
    $stack->sql(join ';', map { ("DELETE FROM audit.$_",
        "INSERT INTO audit.$_ SELECT * FROM audit.${name}_$_") } @tables) }

# What core/audit/chain.c makes hashes of.
sub joined { return join '', map { defined $_ ? length($_) . ":$_" : '-' } @_ }
sub mac { my ($key, @parts) = @_; my $text = joined(@parts);
    return hmac_sha256_hex(pack('Q>', length $text) . $text, $key) }
sub name_of { my ($key) = @_;
    return substr hmac_sha256_hex(pack('Q>', 9) . 'audit key', $key), 0, 16 }
sub quoted { return defined $_[0] ? "'" . $_[0] =~ s/'/''/gr . "'" : 'NULL' }

# Rewrites the chain as an attacker does who knows its construction: under a key of his own, or
# (undef) as before there were keys. With no mac where he has no key.
sub write_anew {
    my ($key, $keyed_from) = @_;
    my ($previous, $last) = ('0' x 64, 0);
    my @do = $key ? 'UPDATE audit.record SET target_key = lower(target_key)' : ();
    for my $row (rows("seq, rid, at, category, outcome, personal_hash, question, next_key,"
        . " marks FROM audit.record WHERE tenant_id = 'nordic' ORDER BY seq")) {
        my ($seq, $rid, $at, $category, $outcome, $personal, $question, $next, $marks) = @$row;
        my @bare = map {s/(?<=[A-Z])[0-9a-f]+//gr} grep {defined} $marks; # as of an erased one
        my @parts = ($previous, $seq, 'nordic', $rid, $at, $category, $outcome, $personal);
        $previous = !$key ? sha256_hex(joined(@parts))
            : mac($key, @parts, 'record', $question, undef, @bare);
        push @do, "UPDATE audit.record SET hash = '$previous', next_key = NULL, key_id = "
            . quoted($key ? name_of($key) : undef) . ($key ? '' : ', marks = NULL')
            . " WHERE tenant_id = 'nordic' AND seq = $seq";
        $last = $seq;
    }
    my @head = $key ? (name_of($key), mac($key, 'head', 'nordic', $previous, $last, name_of($key),
        $keyed_from, 'broken', 0), mac($key, 'foot', 'nordic', '0' x 64, 0)) : (undef) x 3;
    push @do, "UPDATE audit.chain SET hash = '$previous', keyed_from = $keyed_from, key_id = "
        . quoted($head[0]) . ", head_mac = " . quoted($head[1]) . ", foot_mac = "
        . quoted($head[2]) . " WHERE tenant_id = 'nordic'";
    return join ';', @do;
}

# -- the company's life so far: 12 records from before there were keys, the boundary, 10 records, a
# checkpoint over 23, an older copy of the store, a new key, 6 records, a checkpoint over 30

sub live {
    my $key_file = "$base/" . ($stack->engine eq 'sqlite' ? 'lib/idadmin.key' : 'lib/seal.key')
        . '.audit';
    $stack->apply_tenant($stack->tenant_document(companyId => $_, upnDomain => "$_.example",
        emailDomain => "$_.example")) for qw(nordic other);
    $stack->ctl_ok(qw(key create other hr --access read-only --json)); # whose calls are added
    add(nordic => 12, at => (time - 60 * 86400) * 1000);
    $stack->sql("UPDATE audit.record SET target_key = upper(target_key) WHERE seq = 2");
    $stack->sql(write_anew(undef, 0));
    $stack->sql('DELETE FROM audit.chain_key');
    Idadmin::Test::secret_file($key_file, slurp($key_file) =~ s/\n/ new\n/r);
    $stack->ctl_ok('schema', 'upgrade');
    is(slurp($key_file) =~ /new/, '', 'the chain was moved to the key');
    is((rows("keyed_from FROM audit.chain WHERE tenant_id = 'nordic'"))[0][0], 13,
        'from a record on that says so');
    add(other => 8);
    add(nordic => 5);
    add(nordic => 5, action => 'user.get', endpoint => 'GET /v1/api/user');
    $stack->ctl_ok('audit', 'export', 'nordic');
    keep('old');
    my $before = (split /\n/, slurp($key_file))[0];
    my $new = $stack->ctl_ok('audit', 'rotate-key', '--json')->{key};
    my @keys = split /\n/, slurp($key_file);
    is(scalar @keys, 2, 'a second key');
    is($keys[0], $before, 'beside the first one');
    is(name_of(pack 'H*', $keys[1]), $new, 'which the command names');
    add(nordic => 6);
    $stack->ctl_ok('audit', 'export', 'nordic');
    spew($file, $stack->ctl('audit', 'checkpoints', 'nordic')->{out});
    Idadmin::Test::give_to(Idadmin::Test::runtime_user(), $file);
    is(join(' ', map { json_data($_)->{number} } split /\n/, slurp($file)), '23 30',
        'a checkpoint at each export');
    keep('now');
    return @keys;
}

# Each: what, how (SQL), the first record, what is said of it; `alone`: also without checkpoints.
sub tamperings {
    my (@keys) = @_;
    my $nordic = "WHERE tenant_id = 'nordic' AND";
    my $mine   = pack 'H*', 'ab' x 32;
    my $old    = pack 'H*', $keys[0];
    my $newest = pack 'H*', $keys[1];
    my $cut    = sub { my ($to) = @_;
        return "DELETE FROM audit.record $nordic seq > $to; UPDATE audit.chain SET seq = $to, hash "
            . "= (SELECT hash FROM audit.record $nordic seq = $to) WHERE tenant_id = 'nordic'" };
    my $shift = sub { my ($from, $by) = @_;
        return "UPDATE audit.record SET seq = -seq $nordic seq >= $from;"
            . "UPDATE audit.record SET seq = -seq + $by $nordic seq < 0" };
    return (
        ['another outcome', "UPDATE audit.record SET outcome = 'no' $nordic seq = 18", 18,
        qr/does not fit/],
        ['another time', "UPDATE audit.record SET at = at + 1 $nordic seq = 18", 18,
        qr/does not fit/],
        ['another category', "UPDATE audit.record SET category = 'portal' $nordic seq = 18", 18,
        qr/does not fit/],
        ['another identity', "UPDATE audit.record SET rid = 'x' $nordic seq = 18", 18,
        qr/does not fit/],
        ['another actor and its key',
        "UPDATE audit.record SET actor = 'eve', actor_key = 'eve' $nordic seq = 18", 18,
        qr/personal part/],
        ['another target, parameters, address',
        "UPDATE audit.record SET target = 'x', parameters = '{}', address = '::1' $nordic seq = 19",
        19, qr/personal part/],
        ['another key of an actor', "UPDATE audit.record SET actor_key = 'x' $nordic seq = 18", 18,
        qr/key of its actor/],
        ['another key of a target', "UPDATE audit.record SET target_key = 'x' $nordic seq = 18", 18,
        qr/key of its target/],
        ['a deed made a question', "UPDATE audit.record SET question = 1 $nordic seq = 18", 18,
        qr/question/],
        ['the same of a record from before keys',
        "UPDATE audit.record SET target_key = 'x', question = 1 $nordic seq = 3", 3,
        qr/key of its target/],
        ['a record from before keys', "UPDATE audit.record SET outcome = 'no' $nordic seq = 3", 3,
        qr/does not fit/],
        ['a record taken out', "DELETE FROM audit.record $nordic seq = 20", 20, qr/is missing/],
        ['a record taken out, the others moved up',
        "DELETE FROM audit.record $nordic seq = 20;" . $shift->(21, -1)
            . ";UPDATE audit.chain SET seq = 29 WHERE tenant_id = 'nordic'", 20,
        qr/one was taken out before it/],
        ['a record put in, the others moved down', $shift->(20, 1)
            . ";CREATE TABLE audit.made AS SELECT * FROM audit.now_record $nordic seq = 14;"
            . "UPDATE audit.made SET seq = 20, rid = 'made';INSERT INTO audit.record SELECT * FROM"
            . " audit.made;DROP TABLE audit.made;UPDATE audit.chain SET seq = 31 WHERE tenant_id ="
            . " 'nordic'", 20, qr/was put in/],
        ['two in exchanged order', "UPDATE audit.record SET seq = -seq $nordic seq IN (18, 20);"
            . "UPDATE audit.record SET seq = 38 + seq $nordic seq < 0", 18, qr/another order/],
        ['the newest record taken out', "DELETE FROM audit.record $nordic seq = 30", 30,
        qr/newest records were cut off/],
        ['the newest cut off, the end set back', $cut->(27), 27, qr/not the end that the worker/],
        ['all of it gone', "DELETE FROM audit.record WHERE tenant_id = 'nordic'", 1,
        qr/newest records were cut off/],
        ['all of it and the chain gone',
        "DELETE FROM audit.record WHERE tenant_id = 'nordic'; DELETE FROM audit.chain WHERE "
            . "tenant_id = 'nordic'", 1, qr/the checkpoint of .* is over record/],
        ['the head gone', "DELETE FROM audit.chain WHERE tenant_id = 'nordic'", 1, qr/.../],
        ['the chain written anew under no key',
        "UPDATE audit.record SET outcome = 'no' $nordic seq = 18", 23,
        qr/checkpoint of .* since record 1,.* written anew/, sub { write_anew(undef, 0) }],
        ['the same, with all checkpoints taken out',
        "UPDATE audit.record SET outcome = 'no' $nordic seq = 18;DELETE FROM audit.checkpoint", 30,
        qr/under no key/, sub { write_anew(undef, 0) }, 'alone'],
        ['the chain written anew under another key',
        "UPDATE audit.record SET outcome = 'no' $nordic seq = 18", 1, qr/not in the file/,
        sub { write_anew($mine, 1) }],
        ['the chain written anew under the key that was rotated away',
        "UPDATE audit.record SET outcome = 'no' $nordic seq = 18;DELETE FROM audit.checkpoint",
        30, qr/rotated away/, sub { write_anew($old, 1) }, 'alone'],
        ['the chain rewritten by an attacker who has the key itself',
        "UPDATE audit.record SET outcome = 'no' $nordic seq = 18", 23,
        qr/not the one that the checkpoint .* since record 1,/, sub { write_anew($newest, 1) }],
        ['the boundary moved on', "UPDATE audit.chain SET keyed_from = 20 WHERE tenant_id = "
            . "'nordic'", 13, qr/keys began later/],
        ['the boundary moved, records put back under no key',
        "UPDATE audit.record SET key_id = NULL $nordic seq <= 20;UPDATE audit.chain SET keyed_from "
            . "= 21 WHERE tenant_id = 'nordic'", 13, qr/does not fit/],
        ['one record put back under no key', "UPDATE audit.record SET key_id = NULL $nordic seq = "
            . "18", 18, qr/under no key/],
        ['the record of the rotation', "UPDATE audit.record SET next_key = NULL $nordic seq = 24",
        24, qr/does not fit/],
        ['the beginning cut off, the foot moved',
        "UPDATE audit.chain SET first_seq = 15, first_hash = (SELECT hash FROM audit.record $nordic"
            . " seq = 15) WHERE tenant_id = 'nordic';DELETE FROM audit.record $nordic seq <= 15",
        16, qr/not by retention/],
        ['only the foot moved', "UPDATE audit.chain SET first_seq = 15 WHERE tenant_id = 'nordic'",
        15, qr/before the beginning/],
        ['emptied like an erasure',
        "UPDATE audit.record SET salt = NULL, actor = NULL, actor_key = NULL, label = NULL, action "
            . "= NULL, target = NULL, target_key = NULL, endpoint = NULL, parameters = NULL, detail"
            . " = NULL, address = NULL, correlation = NULL "
            . "$nordic seq = 18", 18, qr/not by an erasure/],
        ['companies exchanged', join(';', map {
            my $table = $_;
            map { "UPDATE audit.$table SET tenant_id = '$_->[1]' WHERE tenant_id = '$_->[0]'" }
            ['nordic', 'x'], ['other', 'nordic'], ['x', 'other'] } qw(record chain)), 1,
        qr/is not where the worker let the chain begin/],
        ['an older copy of the store put back',
        join(';', map { ("DELETE FROM audit.$_", "INSERT INTO audit.$_ SELECT * FROM "
            . "audit.old_$_") } qw(record chain)), 23, qr/rotated away/],
        ['a stored checkpoint changed', "UPDATE audit.checkpoint SET at = at + 1 $nordic number = "
            . "23", 23, qr/checkpoint over record 23/],
        ['a stored checkpoint put in', "INSERT INTO audit.checkpoint (tenant_id, number, hash, "
            . "at, before, signature) SELECT tenant_id, 25, hash, at, before, signature"
            . " FROM audit.checkpoint $nordic number = 23", 25,
        qr/record 25 is not signed/],
        ['a stored checkpoint taken out', "DELETE FROM audit.checkpoint $nordic number = 23", 23,
        qr/not in the store/],
    );
}

sub tampered {
    for my $case (tamperings(@_)) {
        my ($what, $how, $first, $says, $then, $alone) = @$case;
        $stack->sql($how);
        $stack->sql($then->()) if $then;
        my $result = verify($alone ? () : ('--checkpoints', $file, '--key', $public));
        is($result->{exit}, 1, $what);
        is($result->{json}{brokenAt}, $first, 'its first record');
        like($result->{json}{reason} // '', $says, 'and what was done to it');
        put_back('now');
    }
    whole('all of it taken back', 30);
}

# The newest copy but one, with all that belonged to it then, its checkpoint too: the chain is of
# its time and whole, and only what left the machine knows better.
sub replayed {
    my ($key_file) = glob "$base/lib/*.audit";
    my $text = slurp($key_file);
    Idadmin::Test::secret_file($key_file, (split /\n/, $text)[0] . "\n");
    put_back('old');
    is(verify()->{exit}, 0, 'an old backup with its old key file: whole by itself');
    my $result = verify('--checkpoints', $file, '--key', $public);
    is($result->{json}{brokenAt}, 24, 'not by newer checkpoints');
    like($result->{json}{reason}, qr/older store was put back/, 'which say what was done');
    Idadmin::Test::secret_file($key_file, $text);
    put_back('now');
    spew("$file.changed", slurp($file) =~ s/"number":30/"number":29/r);
    $result = verify('--checkpoints', "$file.changed", '--key', $public);
    like($result->{json}{reason}, qr/in the file is not signed/, 'a changed file of checkpoints');
    $result = verify('--checkpoints', $file, '--key', 'ab' x 32);
    like($result->{json}{reason}, qr/not signed by the key/, 'another public key');
}

# What comes after a tampering is written, and does not heal it.
sub goes_on {
    $stack->sql("DELETE FROM audit.record WHERE tenant_id = 'nordic' AND seq > 27; UPDATE"
        . " audit.chain SET seq = 27, hash = (SELECT hash FROM audit.record WHERE tenant_id ="
        . " 'nordic' AND seq = 27) WHERE tenant_id = 'nordic'");
    my $result = add(nordic => 5);
    is($result->{records}, 5, 'records are taken behind an end that is not the worker\'s');
    $result = verify();
    is($result->{json}{brokenAt}, 28, 'where that shows for ever');
    like($result->{json}{reason}, qr/behind an end that was not the one/, 'and why');
    $result = $stack->ctl('audit', 'rotate-key');
    is($result->{exit}, 1, 'such a chain gets no new key');
    $result = $stack->ctl('audit', 'export', 'nordic');
    is($result->{exit}, 0, 'and is exported all the same') or diag $result->{err};
    put_back('now');
}

# Nor does schema upgrade, though it made the first boundary, take it for a store of that time.
sub upgraded_again {
    $stack->sql(write_anew(undef, 0));
    $stack->sql('DELETE FROM audit.chain_key; DELETE FROM audit.checkpoint');
    $stack->ctl_ok('schema', 'upgrade');
    like(verify()->{json}{reason}, qr/under no key/, 'an upgrade puts no name to it');
    add(nordic => 1);
    is(verify()->{json}{brokenAt}, 31, 'nor do later records');
    put_back('now');
}

# The key itself is lost: that is reported, and can be repaired without hiding anything.
sub lost {
    my ($key_file) = glob "$base/lib/*.audit";
    rename $key_file, "$key_file.away" or die $!;
    is(verify()->{exit}, 1, 'without the key nothing is proven');
    my $upgrade = $stack->ctl('schema', 'upgrade');
    is($upgrade->{exit}, 1, 'nor does a store get another one by itself');
    like($upgrade->{err}, qr/rotate-key --lost/, 'but by a word of its own');
    $stack->ctl_ok('audit', 'rotate-key', '--lost');
    is(add(nordic => 1)->{records}, 1, 'records are taken again');
    like(verify()->{json}{reason}, qr/not in the file of the keys/,
        'what was before is not proven');
    rename "$key_file.away", $key_file or die $!;
    put_back('now');
    whole('with the key back', 30);
}

# -- where nothing was done

# A rotation that died between the file and the chains.
sub interrupted {
    my ($key_file) = glob "$base/lib/*.audit";
    my $text = slurp($key_file);
    Idadmin::Test::secret_file($key_file, $text . 'cd' x 32 . " new\n");
    my $name = name_of(pack 'H*', 'cd' x 32);
    whole('with a key that was not moved to', 30);
    add(nordic => 2);
    is_deeply([rows("key_id FROM audit.record WHERE tenant_id = 'nordic' AND seq > 30 ORDER BY "
        . 'seq')], [[name_of(pack 'H*', (split /\n/, $text)[1])], [$name], [$name]],
        'the next records bring the chain to it');
    is($stack->ctl_ok('audit', 'rotate-key', '--json')->{key}, $name,
        'the command takes no further one');
    is(slurp($key_file), $text . 'cd' x 32 . "\n", 'but ends what was begun');
    is_deeply([rows('DISTINCT key_id FROM audit.chain')], [[$name]], 'for all chains');
    whole('after that', 33);
    Idadmin::Test::secret_file($key_file, $text);
    put_back('now');
}

sub another_key {
    my $other = Idadmin::Test::secret_file("$base/other.key", ('ab' x 32) . "\n");
    my $count = sub { $stack->sql('SELECT count(*) FROM audit_outbox') };
    my $waits = ($count->())[0][0];
    cmp_ok($waits, '>', 0, 'records wait in the outbox');
    for my $key ($other, "$base/no.key") {
        my $worker = $stack->new_worker(start => 0, options => ['--audit-key', $key]);
        like($worker->run('--once')->{err}, qr/IDA0418.*stay in spool and outbox/,
            'a worker without the key says so');
        is(($count->())[0][0], $waits, 'and takes nothing');
    }
}

# More than one transaction takes.
sub killed {
    my $many  = 8000;
    my $spool = $stack->spool;
    my $before = verify()->{json}{records};
    spool_of($spool, map { record('nordic') } 1 .. $many);
    my $worker = $stack->new_worker(start => 0,
        options => ['--audit-checkpoints', "$base/checkpoints"]);
    $worker->expect_log(qr/IDA0315/);    # there is no directory
    my $position = sub { (rows("coalesce(max(seq), 0) FROM audit.record WHERE tenant_id = "
        . "'nordic'"))[0][0] };
    for my $round (1 .. 3) {
        my $from = $position->();
        $worker->start;
        # A busy machine may keep us from looking until it has all.
        within(sub { $position->() > $from || !(() = glob "$spool/*.audit") });
        $worker->kill9;
    }
    $worker->start;
    ok(within(sub { !(() = glob "$spool/*.audit") }), 'all is ingested after three deaths');
    ok(within(sub { !($stack->sql('SELECT count(*) FROM audit_outbox'))[0][0] }),
        'the outbox too');
    ok(within(sub { -s "$base/checkpoints" }), 'the worker signs and sends by itself');
    ok(within(sub { (rows("min(seq) FROM audit.record WHERE tenant_id = 'nordic'"))[0][0]
        == 13 }), 'retention took the beginning');
    $worker->stop;
    my ($count) = rows("count(*) FROM audit.record WHERE tenant_id = 'nordic'");
    whole('killed in the middle of ingestion', $count->[0]);
    cmp_ok($count->[0], '>=', $before - 12 + $many, 'no record is lost');
    $stack->sql("UPDATE audit.chain SET first_seq = 12 + 8, first_hash = (SELECT hash FROM"
        . " audit.record WHERE tenant_id = 'nordic' AND seq = 20) WHERE tenant_id = 'nordic';"
        . "DELETE FROM audit.record WHERE tenant_id = 'nordic' AND seq <= 20");
    like(verify()->{json}{reason}, qr/not by retention/, 'what goes on from there by hand is seen');
    my $sent = run_command(['grep', '-c', '"tenant":"nordic"', "$base/checkpoints"]);
    cmp_ok($sent->{out}, '>=', 1, 'checkpoints left the machine');
}

sub erased_and_retained {
    my $target = (rows("target FROM audit.record WHERE tenant_id = 'nordic' AND target LIKE 'p%' "
        . 'ORDER BY seq DESC LIMIT 1'))[0][0];
    my $erased = $stack->ctl('erase', 'nordic', $target, '--json');
    is($erased->{exit}, 0, 'a person is erased') or diag $erased->{err};
    is($erased->{json}{auditRecords}, 1, 'from the record about them');
    whole('after erasure');
    $stack->apply_tenant($stack->tenant_document(companyId => 'nordic',
        upnDomain => 'nordic.example', emailDomain => 'nordic.example',
        retention => { taskHistoryDays => 30, auditDays => 30 }));
    is($stack->ctl('audit', 'rotate-key')->{exit}, 0, 'a third key');
    whole('after another rotation');
}

for_each_engine {
    my ($engine) = @_;
    $stack = Idadmin::Test::Stack->new(engine => $engine, slapd => 0, httpd => 0, worker => 0,
        tenant => 0);
    ($base, $file) = ($stack->{base}, "$stack->{base}/given.checkpoints");
    $public = $stack->ctl('audit', 'public-key')->{out} =~ s/\n//r;
    like($public, qr/^[0-9a-f]{64}$/, 'the public key');
    my @keys = live();
    whole('before anything was done', 30);
    cmp_ok(scalar(my @all = tamperings(@keys)), '>=', 25, 'tamperings');
    tampered(@keys);
    replayed();
    goes_on();
    upgraded_again();
    lost();
    interrupted();
    another_key();
    erased_and_retained();
    killed();
    $stack->stop;
};
done_testing();
