-- Cells of a run whose value has no entry in the value map of the field, by flow and field.
create table unmapped_cells (
  run_no bigint not null references runs on delete cascade,
  flow_no smallint not null,
  field text not null,
  cells bigint not null,
  primary key (run_no, flow_no, field)
);
