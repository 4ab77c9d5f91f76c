# No write function of the store can be reached from a read operation. Checked in the machine code:
# from the functions in an operation's table entry, along every call, every address taken and every
# table of addresses, to everything that could run. On x86-64 with binutils; elsewhere only the
# databases are asked (unit/store/read_only).
use strict;
use warnings;
use Idadmin::Test;
use Test::More;

# (Not the archive: its members have no folder, and some share a name.)
my @objects = map { glob build_dir() . "/obj/$_.o" } qw(core/*/* core/*/*/* schema/*);
my $headers = run_command(['objdump', '-f', @objects]);
plan(skip_all => 'objdump is not here') if $headers->{exit};
plan(skip_all => 'not a build for x86-64') if $headers->{out} !~ /elf64-x86-64/;
plan(skip_all => 'instrumented code calls through tables of its own')
    if build_config()->{sanitizers};

# -- the graph: "object:symbol" for what is static, "symbol" for what is global

my (%symbols, %global, %edges, %calls_of);    # object -> section -> [[address, size, node]...]
for my $line (split /\n/, run_command(['objdump', '-t', @objects])->{out}) {
    our $object;
    if ($line =~ /^(\S+\.o):\s+file format/) { $object = $1; next }
    my ($address, $scope, $type, $section, $size,
        $name) =
        $line =~ /^([0-9a-f]{16}) (.)....(.)(?:.)? (\S+)\s+([0-9a-f]{16})\s+(?:\.hidden )?(\S+)$/
        or next;
    next if $section =~ /^\*/ || $name =~ /^\./ || hex($size) == 0;
    my $node = $scope eq 'g' ? $name : "$object:$name";
    $global{$name} = 1 if $scope eq 'g';
    push @{ $symbols{$object}{$section} }, [hex $address, hex $size, $node];
}

sub node_at {
    my ($object, $section, $address) = @_;
    for my $symbol (@{ $symbols{$object}{$section} // [] }) {
        return $symbol->[2] if $address >= $symbol->[0] && $address < $symbol->[0] + $symbol->[1];
    }
    return undef;
}

# What a relocation or an address in the text of objdump means.
sub target {
    my ($object, $word) = @_;
    my ($name, $offset) = $word =~ /^(.+?)(?:([+-]0x[0-9a-f]+))?$/;
    my $number = !defined $offset ? 0 : $offset =~ /^-/ ? -hex(substr $offset, 3)
        : hex(substr $offset, 3);
    return node_at($object, $name, $number) if $name =~ /^\./;
    return $global{$name} ? $name
        : exists $symbols{$object}
        && grep({ $_->[2] eq "$object:$name" } map {@$_} values %{ $symbols{$object} })
        ? "$object:$name" : $name;
}

{
    my ($object, $function);
    my $code = run_command(['objdump', '-dr', '--no-show-raw-insn', @objects])->{out};
    # what a relocation fills in shows the next instruction until then
    $code =~ s/ <[^>]+>(?=\n\s+[0-9a-f]+: R_X86_64_)//g;
    for my $line (split /\n/, $code) {
        if    ($line =~ /^(\S+\.o):\s+file format/)      { $object = $1 }
        elsif ($line =~ /^[0-9a-f]+ <([^>]+)>:$/)        {
            $function = target($object, $1 =~ s/\.cold$//r) }
        elsif ($line =~ /R_X86_64_\w+\s+(\S+)/) {
            my $word = $1;
            # relative to the instruction's end, four bytes behind the field
            if ($word =~ s/([+-])0x([0-9a-f]+)$//) {
                my $n = ($1 eq '-' ? -hex $2 : hex $2) + 4;
                $word .= $n < 0 ? sprintf '-0x%x', -$n : sprintf '+0x%x', $n;
            }
            my $to = target($object, $word);
            $edges{$function}{$to} = 1 if defined $to;
        }
        elsif ($line =~ /<([^>]+)>$/) {
            my $to = target($object, $1 =~ s/\+0x[0-9a-f]+$//r =~ s/\.cold$//r);
            $edges{$function}{$to} = 1 if defined $to && $to ne $function }
    }
    my $section;
    for my $line (split /\n/, run_command(['objdump', '-r', @objects])->{out}) {
        if    ($line =~ /^(\S+\.o):\s+file format/)            { $object  = $1 }
        elsif ($line =~ /^RELOCATION RECORDS FOR \[(\S+)\]:/)  { $section = $1 }
        elsif ($section && $section =~ /^\.data|^\.rodata/
            && $line =~ /^([0-9a-f]{16}) R_X86_64_64\s+(\S+)/) {
            my ($from, $to) = (node_at($object, $section, hex $1), target($object, $2));
            $edges{$from}{$to} = 1 if defined $from && defined $to;
        }
    }
}

sub reached {
    my (@roots) = @_;
    my %way = map { ($_ => '') } @roots;
    while (defined(my $node = shift @roots)) {
        for my $next (sort keys %{ $edges{$node} // {} }) {
            next if exists $way{$next};
            $way{$next} = $node;
            push @roots, $next;
        }
    }
    return \%way;
}

sub way_to {
    my ($way, $node) = @_;
    my @path = ($node);
    unshift @path, $way->{ $path[0] } while length($way->{ $path[0] } // '');
    return join ' -> ', @path;
}

# -- what writes, and what reads

my @writers = qw(store_write store_transaction db_begin db_schema_begin db_schema_set_version
    db_schema_wipe store_schema_upgrade);
my (%reads, %writes);
my $rows = operation_rows();
for my $symbol (keys %$rows) {
    $rows->{$symbol} =~ /IDA_SCOPE_WRITE/ ? ($writes{$symbol} = 1)
        : ($reads{$symbol} = ($rows->{$symbol} =~ /\.tool = "(\w+)"/ ? $1 : ''));
}
is(scalar(grep {length} values %reads), 11, 'the eleven tools are found among the reads');
cmp_ok(scalar keys %writes, '>=', 3, 'and operations that write');

# The eyes see: each operation that writes is found to reach what writes.
for my $symbol (sort keys %writes) {
    my $way = reached($symbol);
    ok((grep { exists $way->{$_} } @writers), "$symbol reaches a write function");
}
my %statements;
for my $symbol (sort keys %reads) {
    my $way = reached($symbol);
    cmp_ok(scalar keys %$way, '>', 20, "$symbol leads to " . keys(%$way) . ' places');
    my @bad = map { way_to($way, $_) } grep { exists $way->{$_} } @writers;
    is_deeply(\@bad, [], "$symbol reaches none");
}

# What is asked through the reading functions is a SELECT, so that these are no other door.
my %text;
my $table = run_command([split(' ', $ENV{CC} // 'cc'), '-E', '-P', '-I', src_dir(),
    src_dir() . '/schema/statements.c'])->{out};
for my $engine (qw(sqlite postgresql)) { # some are of one engine alone
    $text{$1} = $2 while $table =~ /\b${engine}_(\w+)\[\] =\s*"[\s"]*(\w+)/g;
}
cmp_ok(scalar keys %text, '>', 100, 'statements');
my $asked = 0;
for my $file (glob src_dir() . '/core/*/*.c') {
    my $code = slurp($file);
    while ($code =~ /\bstore_(?:read|rows|number|id)\(
            \s*\w+(?:->\w+)*,\s*\w+(?:->\w+)*,\s*([^,;]+),/gx) {
        my $what = $1;
        my @names = $what =~ /STMT_(\w+)/g;
        $asked += @names;
        for my $name (@names) {
            fail("$file: $name is read, and is no SELECT but $text{$name}")
                if ($text{$name} // '?') !~ /^(?:SELECT|WITH)$/i;
        }
    }
}
cmp_ok($asked, '>', 30, "$asked reading statements are SELECTs");
done_testing();
