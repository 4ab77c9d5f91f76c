package Idadmin::Test::Between;
# Stands between a page of the console and its service, in the browser: keeps a record of each call,
# and answers some of them otherwise, so that what is rare (each kind of need, a refusal, midnight)
# can be looked at.
use strict;
use warnings;
use Cpanel::JSON::XS ();

my $script = <<'JS';
(() => {
    const real = window.fetch, clock = Date.now;
    const between = window.between = {log: [], rules: {}, ahead: 0, waiting: 0};
    Date.now = () => clock() + between.ahead;
    window.fetch = async (to, options = {}) => {
        const url = new URL(to, location.href), method = options.method || 'GET';
        const path = url.pathname.replace(/.*\/api\//, '');
        const call = {method, path, query: url.search, body: options.body, from: location.hash,
            at: performance.now()};
        const rule = between.rules[`${method} ${path}`];
        between.log.push(call);
        between.waiting++;
        try {
            if (rule?.hold) await new Promise((go) => { rule.go = go; });
            if (rule?.lost) throw new TypeError('lost');
            if (rule?.status) {
                call.status = rule.status;
                return new Response(JSON.stringify({error: {code: 'STUB', message: 'as asked'}}),
                    {status: rule.status,
                     headers: {'Content-Type': 'application/json', ...rule.headers}});
            }
            if (rule?.change) delete options.headers['If-None-Match'];
            const answer = await real(to, options);
            call.status = answer.status;
            if (method !== 'GET' && answer.ok) call.answer = (await answer.clone().json()).data;
            if (!rule?.change && !between.ahead) return answer;
            const headers = new Headers(answer.headers);
            headers.set('Date', new Date(clock() + between.ahead).toUTCString());
            if (answer.status === 304) return new Response(null, {status: 304, headers});
            if (rule?.change) headers.delete('ETag');
            const body = await answer.json();
            if (rule?.change) rule.change(body.data);
            return new Response(JSON.stringify(body), {status: answer.status, headers});
        } finally { between.waiting--; }
    };
})();
JS

# new(BROWSER): for every document from now on.
sub new {
    my ($class, $browser) = @_;
    $browser->cdp('Page.addScriptToEvaluateOnNewDocument', source => $script);
    return bless { browser => $browser }, $class;
}

# rule('GET overview', '{lost: true}'): {status, headers}, {lost}, {hold} (until go()), or {change:
# (data) => ...}; undef ends it.
sub rule {
    my ($self, $call, $rule) = @_;
    return $self->{browser}->script("between.rules['$call'] = " . ($rule // 'null'));
}
sub go { my ($self, $call) = @_; return $self->{browser}->script("between.rules['$call'].go()") }

# What a GET of these members answers from now on: tells(overview => { needs => [...] }).
sub tells {
    my ($self, $path, $members) = @_;
    return $self->rule("GET $path", '{change: (data) => Object.assign(data, '
        . Cpanel::JSON::XS->new->ascii->canonical->encode($members) . ')}');
}

# The page's clock, and the server's as the page sees it, so many seconds ahead.
sub ahead { my ($self, $seconds) = @_;
    return $self->{browser}->script("between.ahead = $seconds * 1000") }

# Calls so far of 'GET pulse', with the status that was answered; of writes the answer too.
sub calls {
    my ($self, $call) = @_;
    return @{ $self->{browser}->script('return between.log.filter((one) => '
        . '`${one.method} ${one.path}` === arguments[0])', $call) };
}

1;
