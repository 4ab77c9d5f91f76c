package Idadmin::Test::People;
# The people of the tests' companies: the same twenty people on-premises (Slapd.pm) and in the cloud
# (t/double/cloud).
use strict;
use warnings;
use utf8;

# Local part, given name, surname, title, department; the first of each department leads it, Eva
# Berg leads them all.
our @people = (
    ['eva.berg',      'Eva',    'Berg',     'Chief executive',     'Management'],
    ['anna.lind',     'Anna',   'Lind',     'Sales manager',       'Sales'],
    ['bo.ek',         'Bo',     'Ek',       'Sales engineer',      'Sales'],
    ['carin.sjoberg', 'Carin',  'Sjöberg',  'Account manager',     'Sales'],
    ['david.holm',    'David',  'Holm',     'Account manager',     'Sales'],
    ['elin.strand',   'Elin',   'Strand',   'Sales assistant',     'Sales'],
    ['filip.nyman',   'Filip',  'Nyman',    'Head of finance',     'Finance'],
    ['greta.dahl',    'Greta',  'Dahl',     'Controller',          'Finance'],
    ['henrik.falk',   'Henrik', 'Falk',     'Accountant',          'Finance'],
    ['ida.wall',      'Ida',    'Wall',     'Payroll officer',     'Finance'],
    ['johan.asberg',  'Johan',  'Åsberg',   'Head of engineering', 'Engineering'],
    ['karin.hedlund', 'Karin',  'Hedlund',  'Developer',           'Engineering'],
    ['lars.moberg',   'Lars',   'Moberg',   'Developer',           'Engineering'],
    ['maria.oqvist',  'Maria',  'Öqvist',   'Developer',           'Engineering'],
    ['nils.palm',     'Nils',   'Palm',     'Tester',              'Engineering'],
    ['olga.ivanova',  'Olga',   'Ivanova',  'Architect',           'Engineering'],
    ['per.lundin',    'Per',    'Lundin',   'Head of people',      'People'],
    ['rut.sandell',   'Rut',    'Sandell',  'HR partner',          'People'],
    ['sten.vik',      'Sten',   'Vik',      'Recruiter',           'People'],
    ['tove.ahlgren',  'Tove',   'Ahlgren',  'HR assistant',        'People'],
);

1;
