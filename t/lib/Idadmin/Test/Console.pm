package Idadmin::Test::Console;
# A caller of the console's API: signed in as a person, in a company, with the headers that a
# browser on a page of the console sends.
use strict;
use warnings;
use Idadmin::Test ();
use Exporter 'import';
use MIME::Base64 ();
use Test::More ();

our @EXPORT_OK = qw(refused);

# new(HTTPD, user => NAME, company => ID)
sub new {
    my ($class, $httpd, %how) = @_;
    return bless { httpd => $httpd, client => $httpd->client, company => $how{company},
        user => $how{user} }, $class;
}

sub _escaped { return $_[0] =~ s/([^A-Za-z0-9._~-])/sprintf '%%%02X', ord $1/ger }

# request(METHOD, PATH below /console/api, { arguments }, body => DATA, headers => { more }):
# as Idadmin::Test::Http answers. A header given as undef is not sent. It is made again where the
# store was late; so that a write can be, it has an Idempotency-Key, where its address takes one and
# the test does not name it.
sub request {
    my ($self, $method, $path, $arguments, %how) = @_;
    my %query = (companyId => $self->{company}, %{ $arguments // {} });
    my $query = join '&', map { "$_=" . _escaped($query{$_}) }
        grep { defined $query{$_} } sort keys %query;
    my %headers = ('Sec-Fetch-Site' => 'same-origin',
        defined $self->{user}
        ? (Authorization => 'Basic ' . MIME::Base64::encode_base64("$self->{user}:secret", ''))
        : (),
        $method eq 'GET' ? () : ('X-IdAdmin-Console' => 1),
        exists $how{body} ? ('Content-Type' => 'application/json') : (), %{ $how{headers} // {} });
    my $once = $method ne 'GET'
        && (exists $headers{'Idempotency-Key'} || $path =~ m{^/(?:keys?|tasks)\b});
    $headers{'Idempotency-Key'} = join '-', 'console', $$, ++our $writes
        if $method ne 'GET' && !$once;
    my $ask = sub { return $self->{client}->request($method,
        "/console/api$path" . (length $query ? "?$query" : ''), headers => \%headers,
        exists $how{body} ? (body => ref $how{body} ? Idadmin::Test::json_text($how{body})
            : $how{body}) : ()) };
    return $once ? $ask->() : $self->{httpd}->until_served($ask);
}

sub get { my ($self, $path, $arguments, %how) = @_;
    return $self->request('GET', $path, $arguments, %how) }

sub post { my ($self, $path, $body, $arguments, %how) = @_;
    return $self->request('POST', $path, $arguments, body => $body // {}, %how) }

# The data of an answer that must be good.
sub data {
    my ($self, $path, $arguments) = @_;
    my $answer = $self->get($path, $arguments);
    die "GET $path: $answer->{status} $answer->{body}\n" if $answer->{status} != 200;
    return $answer->{json}{data};
}

# An answer of this status that gives this reason.
sub refused {
    my ($answer, $status, $reason, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    Test::More::is_deeply([$answer->{status}, $answer->{json}{error}{reason}], [$status, $reason],
        $name)
        or Test::More::diag($answer->{body});
    return;
}

1;
