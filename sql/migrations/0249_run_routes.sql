-- How a run finds the records of its rows: what its start asked for, and what each flow took and why.
alter table runs add column match_by text not null default 'query';
create table run_routes (
  run_no bigint not null references runs on delete cascade,
  flow_no smallint not null,
  match text not null,
  why text not null,
  primary key (run_no, flow_no)
);
