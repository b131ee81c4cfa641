-- The forecast that a run had at its start, and the CRM calls and credits that it cost, by kind of call.
create table run_forecasts (
  run_no bigint primary key references runs on delete cascade,
  forecast jsonb not null
);
create table run_costs (
  run_no bigint not null references runs on delete cascade,
  operation text not null,
  calls bigint not null,
  credits bigint not null,
  primary key (run_no, operation)
);
