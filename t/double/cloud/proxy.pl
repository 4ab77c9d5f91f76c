#!/usr/bin/perl
# A web proxy that passes connections through (CONNECT), such as companies have between their
# servers and the internet. For tests.
#
#   proxy.pl PORT LOG [STATUS]     writes the head of each request to LOG as a JSON line; with
#                                  STATUS it refuses each with that status
use strict;
use warnings;
use Mojo::IOLoop;
use Mojo::JSON qw(encode_json);

my ($port, $file, $status) = @ARGV;
open my $log, '>>', $file or die "$file: $!\n";
$log->autoflush(1);

sub tunnel {
    my ($from, $host, $to_port) = @_;
    Mojo::IOLoop->client({ address => $host, port => $to_port }, sub {
        my ($loop, $error, $to) = @_;
        if ($error) {
            $from->write("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
                sub { $_[0]->close_gracefully });
            return;
        }
        for my $pair ([$from, $to], [$to, $from]) {
            my ($in, $out) = @$pair;
            $in->unsubscribe('read');
            $in->on(read => sub { $out->write($_[1]) });
            $in->on(close => sub { $out->close_gracefully });
        }
        $from->write("HTTP/1.1 200 Connection established\r\n\r\n");
    });
}

Mojo::IOLoop->server({ address => '127.0.0.1', port => $port }, sub {
    my ($loop, $stream) = @_;
    my $head = '';
    $stream->timeout(0);
    $stream->on(read => sub {
        my ($from, $bytes) = @_;
        $head .= $bytes;
        return if $head !~ /\r\n\r\n/;
        print {$log} encode_json({ head => $head }), "\n";
        my ($host, $to_port) = $head =~ /\ACONNECT ([^:\s]+):(\d+) HTTP/;
        if ($status || !$host) {
            my $say = $status // 405;
            $from->write("HTTP/1.1 $say Refused\r\n"
                . ($say == 407 ? "Proxy-Authenticate: Basic realm=\"proxy\"\r\n" : '')
                . "Content-Length: 0\r\nConnection: close\r\n\r\n",
                sub { $_[0]->close_gracefully });
            return;
        }
        tunnel($from, $host, $to_port);
    });
});
Mojo::IOLoop->start;
