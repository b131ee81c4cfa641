-- Rows of external runs that were handed in and not sent, with the reason. At the end of the run those that were not sent after all are logged.
create table unsent_rows (
  run_no bigint not null references runs on delete cascade,
  module_no smallint not null,
  row_key text not null,
  flow_no smallint,
  row_number int,
  code text,
  message text not null,
  primary key (run_no, module_no, row_key)
);
