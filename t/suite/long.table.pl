# The long forms: what "make check-long" runs, by t/suite/long.pl, which tells the members. Each was
# measured on a quiet machine of two processors; all of it takes about a day's night.
(
    { name => 'model', program => 'unit/worker/model', engines => ['sqlite', 'postgresql'],
        with => { rounds => 10_000, seed => 7 } },
    { name => 'mcp-limits', program => 'unit/face/mcp_tools', with => { limits => 200 } },
)
