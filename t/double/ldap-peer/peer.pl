#!/usr/bin/perl
# A scripted LDAP server for tests: speaks enough of the protocol for the connector, and misbehaves
# on demand as no real server does. One process for each connection.
#
#   peer.pl CONFIG.json      { sites: [[port, tlsPort], ...], directory (of its files),
#                            certificates: { good: {cert, key}, ... }, dialect, users, groups, sync,
#                            password }
# On `port` LDAP with StartTLS, on `tlsPort` LDAPS; sites show the same content, each with a script
# of its own. Written to the directory: "log" (a line per connection and request), read from it:
# "script.SITE.json", before every connection and every request, so that what is open changes its
# ways too:
#
#   { certificate: "good"|...,  range: 1500 (own value ranges),  stuck: 1 (always the first of
#                               them),  page: { most: N (cut silently), refuse: N (code `code` for
#                               more), total: N } , references: [urls],
#     bare: { CONTROL: "absent"|"empty" } (the value of each such control or part of an answer, by
#     its name in Message.pm),  with: [[REGEX of a DN, attribute, values...]] (shown beside what it
#     has),
#     cookieless: 1 (content synchronisation ends without a cookie),
#     rules: [ RULE, ... ] }      the first rule that matches is carried out
#   RULE: { on:
#   connect|handshake|bind|startTls|search|page|modify|add|delete|compare|extended|idle|any, filter:
#   REGEX of the filter, dn: REGEX, after: N entries,
#           skip: N matches, count: N matches, do: ... }
#     result      code, text, referral                          in place of the answer's end
#     close reset                                               the connection; reset: RST
#     silence                                                   takes everything, says nothing more
#     notice      code, text, oid, stay: 1                      Notice of Disconnection (or of
#                 another name), then close (or not)
#     nameless    oid, tag                                      a part of the answer whose object
#                 identifier is empty (or this, or tagged like this)
#     garbage huge feed                                         bytes that are no LDAP; a message of
#     2 GB announced; and 64 MB a second of it
#     references entries                                        to other servers, and of the first
#     person, without end
#     foreign                                                   the answer bears another message ID
#     drip        ms                                            from now on one byte each ms, below
#                 TLS
#     cut         bytes                                         below TLS: so many bytes more, then
#                 reset
#     stall       bytes                                         so many bytes more, then nothing
#     sleep       ms                                            and goes on as if nothing were
#   idle: { on: idle, ms, do: close|reset|notice }              when nothing was asked for so long
use strict;
use warnings;
use Cpanel::JSON::XS ();
use FindBin;
use lib "$FindBin::Bin/lib";
use Convert::ASN1 qw(asn_decode_length asn_decode_tag);
use IO::Select ();
use IO::Socket::INET ();
use IO::Socket::SSL ();
use LdapPeer::Content ();
use LdapPeer::Message qw(asked said);
use POSIX ();
use Socket qw(AF_UNIX SOCK_STREAM PF_UNSPEC SOL_SOCKET SO_LINGER IPPROTO_TCP TCP_NODELAY);
use Time::HiRes ();

my $json = Cpanel::JSON::XS->new->utf8;
my $config = $json->decode(slurp(shift // die "usage: peer.pl CONFIG.json\n"));
my $dir = $config->{directory};
my $content = LdapPeer::Content->new($config, "$dir/content");
my %oid = %LdapPeer::Message::oid;
my ($script, $script_seen) = ({}, '');
# of this process: its number, its site, the process below TLS, its streams
my ($name, $site, $wire, %open);

sub slurp { my ($file) = @_; open my $in, '<:raw', $file or die "$file: $!\n"; local $/;
    return <$in> // '' }

sub note {
    my ($text) = @_;
    open my $out, '>>:raw', "$dir/log" or return;
    syswrite $out, "$name $text\n";
}

sub script {
    my @stat = stat "$dir/script.$site.json";
    my $seen = join ' ', @stat ? @stat[1, 7, 9] : 0;
    if ($seen ne $script_seen) {
        my $read = @stat ? eval { $json->decode(slurp("$dir/script.$site.json")) } : {};
        ($script, $script_seen) = ($read, $seen) if $read;
    }
    return $script;
}

# Matches are counted over all connections: a file of one byte a match.
sub counted {
    my ($number, $rule) = @_;
    return 1 if !defined $rule->{skip} && !defined $rule->{count};
    my $file = "$dir/matches.$site." . ($script->{number} // 0) . ".$number";
    open my $out, '>>:raw', $file or die "$file: $!\n";
    syswrite $out, '.';
    my $nth = (-s $out) - ($rule->{skip} // 0);
    return $nth > 0 && (!defined $rule->{count} || $nth <= $rule->{count});
}

sub rule_for {
    my ($on, $request) = @_;
    my $rules = script()->{rules} // [];
    for my $n (0 .. $#$rules) {
        my $rule = $rules->[$n];
        next if $rule->{on} ne $on && !($rule->{on} eq 'any' && $request);
        next if defined $rule->{filter}
            && !($request && $request->{filter}
            && LdapPeer::Message::filter_text($request->{filter}) =~ /$rule->{filter}/i);
        next if defined $rule->{dn} && !($request && ($request->{dn} // '') =~ /$rule->{dn}/i);
        return $rule if counted($n, $rule);
    }
    return undef;
}

# -- ends

sub finish {
    my ($how) = @_;
    note("end $how");
    if ($wire) { order($how eq 'reset' ? 'R' : 'C'); waitpid $wire->{pid}, 0 }
    elsif ($how eq 'reset') { setsockopt $open{socket}, SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0 }
    POSIX::_exit(0);
}

# Until the other side has had enough.
sub silence {
    note('silent');
    while (1) {
        my $bytes = '';
        my $got = $open{tls} ? $open{tls}->sysread($bytes, 65536) : sysread $open{stream}, $bytes,
            65536;
        finish('close') if defined $got ? $got == 0 : !$!{EINTR} && !$!{EAGAIN};
    }
}

sub put {
    my ($bytes) = @_;
    my $at = 0;
    while ($at < length $bytes) {
        my $sent = $open{tls} ? $open{tls}->syswrite($bytes, length($bytes) - $at, $at)
            : syswrite $open{stream}, $bytes, length($bytes) - $at, $at;
        finish('close') if !$sent;
        $at += $sent;
    }
}

# -- the wire below TLS: a process of its own that can drip, cut and stall

sub order { my ($text) = @_; syswrite $wire->{orders}, "$text\n";
    sysread $wire->{answers}, my $done, 1 }

sub wire_begin {
    my ($socket) = @_;
    socketpair my $inner, my $outer, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die "socketpair: $!\n";
    pipe my $orders, my $say or die "pipe: $!\n";
    pipe my $answers, my $told or die "pipe: $!\n";
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        close $_ for $inner, $say, $answers;
        wire_run($socket, $outer, $orders, $told);
        POSIX::_exit(0);
    }
    close $_ for $outer, $orders, $told, $socket;
    $wire = { pid => $pid, orders => $say, answers => $answers };
    return $inner;
}

sub wire_run {
    my ($socket, $inner, $orders, $told) = @_;
    my $select = IO::Select->new($socket, $inner, $orders);
    my ($drip, $left, $then, $pending) = (0, undef, '', '');
    $SIG{PIPE} = 'IGNORE';
    while (1) {
        for my $ready ($select->can_read($drip && length $pending ? $drip / 1000 : undef)) {
            if ($ready == $orders) {
                my $line = '';
                if (!sysread $orders, $line, 100) { $select->remove($orders); next }
                my ($what, $number) = $line =~ /^(\w)(\d*)/;
                if    ($what eq 'D') { $drip = $number }
                elsif ($what eq 'X' || $what eq 'S') { ($left, $then) = ($number, $what) }
                elsif ($what eq 'R') { setsockopt $socket, SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0;
                    syswrite $told, '.'; return }
                elsif ($what eq 'C') {    # what is on its way goes out first
                    while (IO::Select->new($inner)->can_read(0)) {
                        sysread($inner, $pending, 65536, length $pending) or last }
                    syswrite $socket, $pending if !$drip && !defined $left;
                    syswrite $told, '.';
                    return;
                }
                syswrite $told, '.';
            }
            elsif ($ready == $inner) {
                my $got = sysread $inner, $pending, 65536, length $pending;
                if (!$got) { $select->remove($inner); return if !length $pending }
            }
            else {
                my $got = sysread $socket, my $bytes, 65536;
                return if !$got;
                syswrite $inner, $bytes;
            }
        }
        next if !length $pending;
        my $now = $drip ? 1 : length $pending;
        $now = $left if defined $left && $now > $left;
        if ($now) {
            my $sent = syswrite $socket, $pending, $now or return;
            substr($pending, 0, $sent) = '';
            $left -= $sent if defined $left;
            Time::HiRes::sleep($drip / 1000) if $drip;
        }
        if (defined $left && !$left) {
            if ($then eq 'X') { setsockopt $socket, SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0; return }
            $pending = '';
        }
    }
}

# -- faults

# Executes a rule. Returns 0 if the answer must continue, 1 if it is finished.
sub carry_out {
    my ($rule, $request) = @_;
    my $do = $rule->{do};
    note("fault $do");
    if    ($do eq 'result') { put(LdapPeer::Message::result($request, $rule->{code},
        $rule->{text} // '', ($rule->{referral} ? (referral => $rule->{referral}) : ())));
        return 1 }
    elsif ($do eq 'close' || $do eq 'reset') { finish($do) }
    elsif ($do eq 'silence') { silence() }
    elsif ($do eq 'notice') { put(LdapPeer::Message::notice($rule->{code} // 52,
        $rule->{text} // 'the server is going down', $rule->{oid}));
        $rule->{stay} ? silence() : finish('close') }
    elsif ($do eq 'nameless') {
        put(LdapPeer::Message::intermediate($request, $rule->{oid} // '', 'x', $rule->{tag})) }
    elsif ($do eq 'garbage') { put(join '', map { chr(($_ * 73 + 41) % 256) } 0 .. 499); silence() }
    elsif ($do eq 'huge') { put("\x30\x84\x7f\xff\xff\xff" . "\x02\x01\x01" x 100); silence() }
    elsif ($do eq 'feed') { put("\x30\x84\x7f\xff\xff\xff"); put("\x04\x82\x03\xe8" . 'x' x 1000)
        while 1 }
    elsif ($do eq 'references') {
        my $some = LdapPeer::Message::reference($request, 'ldap://elsewhere.example/') x 1000;
        put($some) while 1 }
    elsif ($do eq 'entries') {
        my $some = LdapPeer::Message::entry($request, $content->person_dn(1),
        attributes($content->with->{entries}{ lc $content->person_dn(1) }, $request)) x 1000;
        put($some) while 1 }
    elsif ($do eq 'drip' || $do eq 'cut'
        || $do eq 'stall') { order({ drip => 'D', cut => 'X', stall => 'S' }->{$do}
        . ($rule->{ms} // $rule->{bytes} // 100)) }
    elsif ($do eq 'sleep') { Time::HiRes::sleep($rule->{ms} / 1000) }
    elsif ($do eq 'foreign') { $request->{id} += 1000 }
    elsif ($do ne 'nothing') { die "unknown order $do\n" }
    return 0;
}

# -- requests

# The entries as [entry, attributes, controls...], the code of the end with its text, and the
# controls of the end.
sub answer_of {
    my ($request) = @_;
    my $page = script()->{page} // {};
    return ([[$content->root_dse, undef]], 0, '') if $request->{dn} eq '' && $request->{scope} == 0;
    return ([[$content->schema, undef]], 0, '') if $request->{dn} =~ /^cn=(?:subschema|aggregate)/i;
    my $found = $content->found($request);
    return ([], 32, 'no such object') if !$found;
    if (!$content->{ad} && (my $sync = asked($request, 'sync'))) {
        return ([], 12, 'critical extension is not recognized') if !$content->{sync};
        my $state = $content->with;
        my ($from) = ($sync->{cookie} // '') =~ /^csn=(\d+)$/;
        my @entries = map { [$_, undef,
            said(state => { state => $from ? 2 : 1, entryUUID => $_->{uuid} })] }
            grep { !$from || $_->{version} > $from } @$found;
        my @gone = $from ? map { $_->{uuid} } grep { $_->{version} > $from } @{ $state->{gone} }
            : ();
        push @entries, [undef, LdapPeer::Message::intermediate($request,
            @{ said(info => { syncIdSet => { refreshDeletes => 1, syncUUIDs => \@gone } }) })]
            if @gone;
        return (\@entries, 0, '',
            said(done => { script()->{cookieless} ? () : (cookie => "csn=$state->{version}"),
            $from ? (refreshDeletes => 1) : () }));
    }
    if ($content->{ad} && (my $dirsync = asked($request, 'dirsync'))) {
        my $state = $content->with;
        my ($from) = $dirsync->{cookie} =~ /^usn=(\d+)$/;
        my @entries = map { [$content->changed($_, $from), undef] }
            grep { !$from || $_->{version} > $from } @$found;
        push @entries, map { [$content->tombstone($_), undef] }
            grep { $from && $_->{version} > $from } @{ $state->{gone} };
        return (\@entries, 0, '',
            said(dirsync => { flag => 0, size => 0, cookie => "usn=$state->{version}" }));
    }
    if (my $paged = asked($request, 'paged')) {
        my ($at, $asked) = ($paged->{cookie} || 0, $paged->{size});
        return ([], $page->{code} // 11, 'illegal pagedResults page size')
            if $page->{refuse} && $asked > $page->{refuse} && !$page->{after};
        my $most = $page->{most} && $asked > $page->{most} ? $page->{most} : $asked;
        my $end = $at + $most < @$found ? $at + $most : @$found;
        # In mid-page: some entries first, and then the limit.
        if ($page->{refuse} && $asked > $page->{refuse} && $end > $at + $page->{after}) {
            return ([map { [$_, undef] } @$found[$at .. $at + $page->{after} - 1]],
                $page->{code} // 4, 'administrative limit');
        }
        if ($page->{total} && $end > $page->{total}) {
            return ([map { [$_, undef] } @$found[$at .. $page->{total} - 1]], $page->{code} // 4,
                'size limit');
        }
        return ([map { [$_, undef] } @$found[$at .. $end - 1]], 0, '',
            said(paged => { size => 0, cookie => $end < @$found ? $end : '' }));
    }
    my $limit = $request->{limit};
    return ([map { [$_, undef] } @$found[0 .. $limit - 1]], 4, 'size limit')
        if $limit && @$found > $limit;
    return ([map { [$_, undef] } @$found], 0, '');
}

# What is shown of an entry.
sub attributes {
    my ($entry, $request) = @_;
    my @more = map { my (undef, @attribute) = @$_; [shift @attribute, \@attribute] }
        grep { $entry->{dn} =~ /$_->[0]/i } @{ script()->{with} // [] };
    return [@{ $content->shown($entry, $request->{attributes}, script()->{range} // 0,
        script()->{stuck}) }, @more];
}

# The new entry, if the client requested it (RFC 4527).
sub post_read {
    my ($request) = @_;
    my $wanted = asked($request, 'postRead') // return ();
    my $entry = $content->with->{entries}{ lc $request->{dn} } // return ();
    return [$oid{postRead}, LdapPeer::Message::shown($entry->{dn},
        attributes($entry, { attributes => $wanted }))];
}

sub search {
    my ($request, $rule) = @_;
    my ($entries, $code, $text, @controls) = answer_of($request);
    my $sent = 0;
    my $bytes = '';
    for my $one (@$entries) {
        my ($entry, $raw, @with) = @$one;
        if ($rule && $sent == ($rule->{after} // 0)) {
            put($bytes);
            $bytes = '';
            return if carry_out($rule, $request);
            undef $rule;
        }
        $bytes .= $entry ? LdapPeer::Message::entry($request, $entry->{dn},
            attributes($entry, $request), @with) : $raw;
        $sent++;
        if (length $bytes > 60_000) { put($bytes); $bytes = '' }
    }
    put($bytes);
    return if $rule && carry_out($rule, $request);
    put(LdapPeer::Message::reference($request, $_))
        for $request->{scope} == 2 ? @{ script()->{references} // [] } : ();
    put(LdapPeer::Message::result($request, $code, $text, controls => \@controls));
}

sub answer {
    my ($request) = @_;
    my $kind = $request->{name};
    $kind = 'startTls' if $kind eq 'extended' && $request->{oid} eq $oid{startTls};
    $kind = 'page' if $kind eq 'search'
        && grep { defined $request->{controls}{ $oid{$_} } } qw(paged sync dirsync);
    LdapPeer::Message::bare(script()->{bare});
    note("$kind " . ($request->{dn} // '')
        . ($request->{filter} ? ' '
        . LdapPeer::Message::filter_text($request->{filter}) =~ s/[^\x20-\x7e]/?/gr : ''));
    finish('close') if $kind eq 'unbind';
    return if $kind eq 'abandon';
    my $rule = rule_for($kind, $request)
        // ($kind eq 'page' ? rule_for('search', $request) : undef);
    return search($request, $rule) if $kind eq 'search' || $kind eq 'page';
    # A write is done before its answer is lost, as in life, unless it is refused or the rule says
    # `before`.
    my $lost = $rule && $rule->{do} ne 'result' && !$rule->{before};
    return if $rule && !$lost && carry_out($rule, $request);
    my $code = 0;
    if    ($kind eq 'bind')   { $code = ($request->{password} // '') eq $config->{password} ? 0
        : 49 }
    elsif ($kind eq 'modify') { $code = $content->modify($request->{dn}, $request->{changes}) }
    elsif ($kind eq 'add')    { $code = $content->add($request->{dn}, $request->{attributes}) }
    elsif ($kind eq 'delete') { $code = $content->remove($request->{dn}) }
    elsif ($kind eq 'compare') {
        my $entry = $content->with->{entries}{ lc $request->{dn} };
        $code = !$entry ? 32 : (grep { lc eq lc $request->{value} } @{
            ($entry->{attributes}{ lc $request->{attribute} } // [0, []])->[1] }) ? 6 : 5;
    }
    elsif ($kind ne 'startTls' && $kind ne 'extended') { $code = 53 }
    return if $lost && carry_out($rule, $request);
    put(LdapPeer::Message::result($request, $code, '',
        controls => [$kind eq 'add' && !$code ? post_read($request) : ()]));
    protect() if $kind eq 'startTls';
}

# -- connections

sub protect {
    my $files = $config->{certificates}{ script()->{certificate} // 'good' }
        or die "no certificate\n";
    my $rule = rule_for('handshake');
    carry_out($rule, undef) if $rule;
    $open{tls} = IO::Socket::SSL->start_SSL($open{stream}, SSL_server => 1,
        SSL_cert_file => $files->{cert}, SSL_key_file => $files->{key},
        SSL_verify_mode => IO::Socket::SSL::SSL_VERIFY_NONE());
    if (!$open{tls}) { note('handshake failed ' . ($IO::Socket::SSL::SSL_ERROR // ''));
        finish('close') }
    note('protected');
}

# Bytes of the next message; ends with the connection.
sub next_message {
    my $idle = (grep { $_->{on} eq 'idle' } @{ script()->{rules} // [] })[0];
    while (1) {
        my ($tagged) = asn_decode_tag($open{input});
        my ($measured, $length) = asn_decode_length(substr $open{input}, $tagged // 0);
        return substr $open{input}, 0, $tagged + $measured + $length, ''
            if $tagged && $measured && length $open{input} >= $tagged + $measured + $length;
        my $pending = $open{tls} && $open{tls}->pending;
        if ($idle && !$pending && $open{bound}
            && !IO::Select->new($open{stream})->can_read($idle->{ms} / 1000)) { carry_out($idle,
            undef) }
        my $got = $open{tls} ? $open{tls}->sysread($open{input}, 65536, length $open{input})
            : sysread $open{stream}, $open{input}, 65536, length $open{input};
        finish('gone') if !$got;
    }
}

sub serve {
    my ($socket, $tls) = @_;
    $SIG{PIPE} = 'IGNORE';
    $SIG{CHLD} = 'DEFAULT';
    note('connection');
    setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;
    %open = (socket => $socket, stream => $socket, input => '');
    if (my $rule = rule_for('connect')) { carry_out($rule, undef) }
    $open{stream} = wire_begin($socket)
        if grep { $_->{do} =~ /^(?:drip|cut|stall)$/ } @{ script()->{rules} // [] };
    bless $open{stream}, 'IO::Socket::INET' if $wire;
    protect() if $tls;
    while (1) {
        my $bytes = next_message();
        my $request = LdapPeer::Message::parse($bytes);
        $open{bound} = 1 if $request->{name} eq 'bind';
        answer($request);
    }
}

$SIG{CHLD} = 'IGNORE';
my @listen = map { IO::Socket::INET->new(LocalAddr => $config->{address} // '127.0.0.1',
    LocalPort => $_, Proto => 'tcp', Listen => 64, ReuseAddr => 1) // die "port $_: $!\n" }
    map {@$_} @{ $config->{sites} };
my $select = IO::Select->new(@listen);
my $count = 0;
while (1) {
    for my $ready ($select->can_read) {
        my $socket = $ready->accept or next;
        $name = ++$count;
        my $pid = fork // next;
        if (!$pid) {
            my ($index) = grep { $listen[$_] == $ready } 0 .. $#listen;
            close $_ for @listen;
            $site = int $index / 2;
            eval { serve($socket, $index % 2) };
            note("died $@");
            POSIX::_exit(1);
        }
        close $socket;
    }
}
