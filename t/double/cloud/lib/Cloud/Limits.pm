package Cloud::Limits;
# The published limits as sliding windows: N units in any span of so many seconds. Refused requests
# count too, as in the API, unless countRefused is off.
use strict;
use warnings;
use Time::HiRes ();

my %defaults = (
    writes => { count => 3000, seconds => 150, scope => 'Tenant_Application/Write',
        information => 'WriteLimitExceeded' },
    units  => { count => 8000, seconds => 10,  scope => 'Tenant_Application/ReadWrite',
    information => 'ResourceUnitLimitExceeded' },
    reports => { count => 5, seconds => 10, scope => 'Tenant_Application/Read',
    information => 'ResourceUnitLimitExceeded' },
);

sub new { my ($class) = @_; return bless { on => 0, windows => {}, peak => {}, refused => {} },
    $class }

# set(undef) switches off; set({ writes => {count, seconds}, units => ..., reports => ...,
# countRefused => 0, retryAfter => 0 }); a name that is absent keeps the published number, 0 leaves
# that limit out.
sub set {
    my ($self, $how) = @_;
    %$self = (on => $how ? 1 : 0, windows => {}, peak => {}, refused => {}, countRefused => 1,
        retryAfter => 1, %{ $how // {} });
    for my $name (keys %defaults) {
        my $given = $how->{$name};
        $self->{windows}{$name} = { %{ $defaults{$name} }, %{ $given // {} }, times => [],
            sum => 0 } if $how && !(defined $given && !$given);
    }
}

# Charges a request. undef: it may pass; else the window that refuses it and the seconds until there
# is room.
sub charge {
    my ($self, %units) = @_;
    return (undef, 0) if !$self->{on};
    my $now = Time::HiRes::time();
    my ($refused, $wait);
    for my $name (sort keys %units) {
        my $window = $self->{windows}{$name} or next;
        my $cost   = $units{$name} or next;
        my $times  = $window->{times};
        $window->{sum} -= shift(@$times)->[1]
            while @$times && $times->[0][0] <= $now - $window->{seconds};
        if (!$refused && $window->{sum} + $cost > $window->{count}) {
            ($refused, $wait) = ($window, 1);
            $self->{refused}{$name}++;
            my $over = $window->{sum} + $cost - $window->{count};
            for my $entry (@$times) {
                $wait = $entry->[0] + $window->{seconds} - $now;
                last if ($over -= $entry->[1]) <= 0;
            }
            next if !$self->{countRefused};
        }
        push @$times, [$now, $cost];
        $window->{sum} += $cost;
        my $share = $window->{sum} / $window->{count};
        $self->{peak}{$name} = $share if $share > ($self->{peak}{$name} // 0);
    }
    return ($refused, $wait // 0);
}

# Share of the fullest window, for x-ms-throttle-limit-percentage.
sub fullest {
    my ($self) = @_;
    my $most = 0;
    for my $window (values %{ $self->{windows} }) {
        my $share = $window->{sum} / $window->{count};
        $most = $share if $share > $most;
    }
    return $most;
}

1;
