-- Formats that new code can read, and whether it writes them. A format is written at once in a new database. In others, processes of the
-- release before may still run, which cannot read it: a migration of the next release turns the switch on.
create table release_switches (name text primary key, is_on boolean not null);
insert into release_switches (name, is_on) select 'packed ledger', not exists (select from orgs);
