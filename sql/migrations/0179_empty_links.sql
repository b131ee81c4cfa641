-- The fields of a written row whose link was left empty, separated by commas. A retry of the run fills them. Null: none.
alter table chain_rows add column empty_links text;

-- How many rows each run wrote without the link in a field.
create table run_empty_links (
  run_no bigint not null references runs on delete cascade,
  flow_no smallint not null,
  field text not null,
  rows bigint not null,
  primary key (run_no, flow_no, field)
);
