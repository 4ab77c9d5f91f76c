package Cloud::Error;
# Refusals in the API's words. Handlers die with one; the server makes the answer from it.
use strict;
use warnings;
use Exporter 'import';
use Mojo::JSON qw(encode_json);
use POSIX ();

our @EXPORT = qw(refuse not_found bad_request conflict denied error_body);

# refuse($status, $code, $message, details => [[code, target, message]...], headers => {...})
sub refuse {
    my ($status, $code, $message, %more) = @_;
    die bless { status => $status, code => $code, message => $message, %more }, __PACKAGE__;
}

sub not_found {
    my ($what) = @_;
    refuse(404, 'Request_ResourceNotFound',
        "Resource '$what' does not exist or one of its queried reference-property objects are not "
        . "present.");
}

sub bad_request {
    my ($message, %more) = @_;
    my $target = delete $more{target};
    $more{details} //= [['InvalidValue', $target, $message]] if defined $target;
    refuse(400, 'Request_BadRequest', $message, %more);
}

sub conflict {
    my ($property) = @_;
    my $message = "Another object with the same value for property $property already exists.";
    refuse(400, 'Request_BadRequest', $message,
        details => [['ObjectConflict', $property, $message]]);
}

sub denied { refuse(403, 'Authorization_RequestDenied',
    $_[0] // 'Insufficient privileges to complete the operation.') }

sub error_body {
    my ($request, %error) = @_;
    my %inner = (date => POSIX::strftime('%Y-%m-%dT%H:%M:%S', gmtime),
        'request-id' => $request->{request_id},
        'client-request-id' => $request->{headers}{'client-request-id'} // $request->{request_id});
    my %body = (code => $error{code}, message => $error{message}, innerError => \%inner);
    $body{details} = [map { { code => $_->[0], target => $_->[1], message => $_->[2] } } @{
        $error{details} }] if $error{details};
    return encode_json({ error => \%body });
}

1;
