-- A sandbox of the CRM is an org of its own here. It may be tied to the production org that pays for it.
alter table orgs
  add column sandbox boolean not null default false,
  add constraint orgs_only_sandboxes_are_tied check (sandbox or sandbox_of is null),
  drop constraint orgs_sandbox_of_fkey,
  add constraint orgs_sandbox_of_fkey foreign key (sandbox_of) references orgs on delete set null;
create index on orgs (sandbox_of) where sandbox_of is not null;
