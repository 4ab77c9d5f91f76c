package LdapPeer::Message;
# LDAP messages (RFC 4511): requests as data, answers as bytes, encoded by Net::LDAP::ASN. Only what
# no well-formed answer has is put together here. Net::LDAP::Server, which uses the same encoding,
# sends no controls with a result and cannot be interrupted within an answer.
use strict;
use warnings;
use Exporter 'import';
use Convert::ASN1 ();
use Net::LDAP::ASN qw(LDAPRequest LDAPResponse SearchResultEntry AttributeSelection
    realSearchControlValue syncRequestValue syncStateValue syncDoneValue syncInfoValue);
use Net::LDAP::Filter ();

our @EXPORT_OK = qw(asked said);

our %oid = (
    paged    => '1.2.840.113556.1.4.319',    sync => '1.3.6.1.4.1.4203.1.9.1.1',
        state => '1.3.6.1.4.1.4203.1.9.1.2', done => '1.3.6.1.4.1.4203.1.9.1.3',
    info     => '1.3.6.1.4.1.4203.1.9.1.4',  dirsync => '1.2.840.113556.1.4.841',
    startTls => '1.3.6.1.4.1.1466.20037',
    notice   => '1.3.6.1.4.1.1466.20036',    password => '1.3.6.1.4.1.4203.1.11.1',
    whoami => '1.3.6.1.4.1.4203.1.11.3',
    postRead => '1.3.6.1.1.13.2',
    activeDirectory => '1.2.840.113556.1.4.800',
);

# -- requests

# Operation: the name in rules and log, the choice of its answer, its members by our names.
my %operations = (
    bindRequest => ['bind', 'bindResponse',
        sub { (dn => $_[0]{name}, password => $_[0]{authentication}{simple}) }],
    unbindRequest  => ['unbind',  undef, sub { () }],
    abandonRequest => ['abandon', undef, sub { () }],
    searchRequest  => ['search',  'searchResDone', sub { (dn => $_[0]{baseObject},
        scope => $_[0]{scope}, limit => $_[0]{sizeLimit},
        filter => $_[0]{filter}, attributes => $_[0]{attributes}) }],
    modifyRequest => ['modify', 'modifyResponse', sub { (dn => $_[0]{object}, changes => [map {
        [$_->{operation}, _attribute($_->{modification})] } @{ $_[0]{modification} }]) }],
    addRequest => ['add', 'addResponse', sub { (dn => $_[0]{objectName},
        attributes => [map { _attribute($_) } @{ $_[0]{attributes} }]) }],
    delRequest     => ['delete',  'delResponse',     sub { (dn => $_[0]) }],
    modDNRequest   => ['rename',  'modDNResponse',   sub { (dn => $_[0]{entry}) }],
    compareRequest => ['compare', 'compareResponse', sub { (dn => $_[0]{entry},
        attribute => $_[0]{ava}{attributeDesc}, value => $_[0]{ava}{assertionValue}) }],
    extendedReq => ['extended', 'extendedResp', sub { (oid => $_[0]{requestName}) }],
);

sub _attribute { return [$_[0]{type}, $_[0]{vals}] }

# { id, name, answer => choice of LDAPResponse, controls => { oid => value }, ... } of the bytes of
# one message; filter: as Net::LDAP::Filter has it.
sub parse {
    my ($bytes) = @_;
    my $message = $LDAPRequest->decode($bytes) or die 'no request: ' . $LDAPRequest->error . "\n";
    my ($choice) = grep { exists $message->{$_} } keys %operations;
    my ($name, $answer, $members) = @{ $operations{$choice} };
    return { id => $message->{messageID}, name => $name, answer => $answer,
        controls => { map { $_->{type} => $_->{value} // '' } @{ $message->{controls} // [] } },
        $members->($message->{$choice}) };
}

# As people write it; for scripts to match on.
sub filter_text { return (bless { %{ $_[0] } }, 'Net::LDAP::Filter')->as_string }

# -- answers

my %bare;    # by object identifier: "absent", "empty"

# From now on these (by name) have no value, or an empty one.
sub bare { my ($names) = @_; %bare = map { ($oid{$_} => $names->{$_}) } keys %{ $names // {} } }

sub _value {
    my ($member, $oid, $value) = @_;
    my $how = $bare{$oid} // '';
    return $how eq 'absent' ? () : ($member => $how eq 'empty' ? '' : $value // '');
}

# controls: [oid, value], ...
sub _message {
    my ($id, $choice, $answer, @controls) = @_;
    return $LDAPResponse->encode({ messageID => $id, protocolOp => { $choice => $answer }, @controls
        ? (controls => [map { { type => $_->[0], _value(value => @$_) } } @controls]) : () })
        // die "$choice: " . $LDAPResponse->error . "\n";
}

sub _result { my ($code, $text) = @_;
    return (resultCode => $code, matchedDN => '', errorMessage => $text) }

# result($request, code, text, controls => [...], referral => [urls])
sub result {
    my ($request, $code, $text, %more) = @_;
    return _message($request->{id}, $request->{answer}, { _result($code, $text),
        $more{referral} ? (referral => $more{referral}) : () }, @{ $more{controls} // [] });
}

sub _shown { my ($dn, $attributes) = @_;
    return { objectName => $dn,
        attributes => [map { { type => $_->[0], vals => $_->[1] } } @$attributes] } }

# attributes: [name, [values]], ...
sub entry { my ($request, $dn, $attributes, @controls) = @_;
    return _message($request->{id}, searchResEntry => _shown($dn, $attributes), @controls) }

# The value of a post-read control: an entry that is a plain sequence, as OpenLDAP sends it.
sub shown { my $bytes = $SearchResultEntry->encode(_shown(@_)); substr($bytes, 0, 1) = "\x30";
    return $bytes }

sub reference { my ($request, @urls) = @_;
    return _message($request->{id}, searchResRef => \@urls) }

# tag: instead of that of the name (an answer below 128 bytes has its name's tag at the tenth byte).
sub intermediate {
    my ($request, $oid, $value, $tag) = @_;
    my $bytes = _message($request->{id},
        intermediateResponse => { responseName => $oid, _value(responseValue => $oid, $value) });
    $bytes =~ s/^(\x30.\x02.{2,5}?\x79.)\x80/$1 . chr $tag/es if defined $tag;
    return $bytes;
}

# Notice of Disconnection (RFC 4511, 4.4.1), or an unsolicited notification of another name.
sub notice { my ($code, $text, $oid) = @_;
    return _message(0,
        extendedResp => { _result($code, $text), responseName => $oid // $oid{notice} }) }

# -- values of controls

my $dirsync = Convert::ASN1->new;
$dirsync->prepare('SEQUENCE { flag INTEGER, size INTEGER, cookie OCTET STRING }')
    or die $dirsync->error;
my %forms = (paged => $realSearchControlValue, dirsync => $dirsync, sync => $syncRequestValue,
    state => $syncStateValue, done => $syncDoneValue, info => $syncInfoValue,
    postRead => $AttributeSelection);

# What a control of a request says, by its name, or undef if it is not there.
sub asked {
    my ($request, $name) = @_;
    my $value = $request->{controls}{ $oid{$name} } // return undef;
    return $forms{$name}->decode($value) // die "$name: " . $forms{$name}->error . "\n";
}

# [oid, value] of a control, or the value of a part of an answer.
sub said { my ($name, $what) = @_;
    return [$oid{$name}, $forms{$name}->encode($what) // die "$name: " . $forms{$name}->error] }

1;
