-- The version of a template that an admin approved for schedules. A schedule may write more rows than approval_above only with this version.
create table template_approvals (
  template_id text primary key references templates on delete cascade,
  org_id text not null references orgs on delete cascade,
  version bigint not null,
  digest text not null,
  approved_by text references people on delete set null,
  approved_at timestamptz not null default lading_now()
);
create index on template_approvals (org_id);
create index on template_approvals (approved_by);
