package Cloud::Faults;
# Faults by rule. A rule is a hash:
#   method, path   regular expressions over the method and the path below the version root
#                  ("/users/..."; token: "/token")
#   every => N     every Nth matching request (1: each); skip => K: not the first K; count => M: M
#                  times, then the rule is gone
#   when           "before" (default): instead of the request's effect; "after": the effect happens,
#                  the answer is lost or changed
#   do             "status": status, headers, body or error {code, message} (429: retryAfter, scope,
#                  information)
#                  "html": status (503), an error page of a gateway    "reset": TCP reset
#                  "hang": no answer for seconds (none: until released); "truncate": Content-Length
#                  too long, then closed
#                  "truncateReset": the same, then reset               "drip": a byte each ms
#                  milliseconds
#                  "delay": answers after ms                           "hold": answers when released
#                  "badJson": 200 with text that is no JSON
# Inside a batch only "status" and "html" concern the item; the others the whole call.
use strict;
use warnings;

sub new { my ($class) = @_; return bless { rules => [], next => 1, fired => 0 }, $class }

sub add {
    my ($self, $rule) = @_;
    my %rule = (every => 1, skip => 0, when => 'before', method => '.', path => '.', %$rule,
        id => $self->{next}++, seen => 0, fired => 0);
    die "unknown fault \"$rule{do}\"\n"
        if ($rule{do}
        // '') !~ /\A(?:status|html|reset|hang|truncate|truncateReset|drip|delay|hold|badJson)\z/;
    $rule{$_} = qr/$rule{$_}/ for qw(method path);
    push @{ $self->{rules} }, \%rule;
    return $rule{id};
}

sub clear { my ($self, $id) = @_;
    $self->{rules} = $id ? [grep { $_->{id} != $id } @{ $self->{rules} }] : [] }

# The first rule that fires for this request.
sub for_request {
    my ($self, $method, $path) = @_;
    for my $rule (@{ $self->{rules} }) {
        next if $method !~ $rule->{method} || $path !~ $rule->{path};
        next if ++$rule->{seen} <= $rule->{skip}
            || ($rule->{seen} - $rule->{skip}) % $rule->{every};
        $rule->{fired}++;
        $self->{fired}++;
        $self->clear($rule->{id}) if $rule->{count} && $rule->{fired} >= $rule->{count};
        return $rule;
    }
    return undef;
}

sub shown {
    my ($self) = @_;
    return [map { my %r = %$_; $r{$_} = "$r{$_}" for qw(method path); \%r } @{ $self->{rules} }];
}

1;
