-- What a model has read and written for an org: tokens as the provider counts them, by the credits' period and the day (UTC) the answer came.
-- `failed`: answers that were of no use; they have tokens and no credits.
create table ai_usage (
  org_id text not null references orgs on delete cascade,
  period_start timestamptz not null,
  day date not null,
  feature text not null check (feature in ('auto_map', 'formula', 'chat')),
  requests bigint not null default 0,
  failed bigint not null default 0 check (failed <= requests),
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  credits bigint not null default 0,
  primary key (org_id, period_start, feature, day)
);
create index on ai_usage (day);
